// The devices and libraries of this machine, as Sinter finds them: what `sinter devices` prints.
//
//   const MachineReport report = ReadMachine();
//   std::cout << MachineText(report);
#ifndef SINTER_TOOLS_DOCTOR_MACHINE_REPORT_H_
#define SINTER_TOOLS_DOCTOR_MACHINE_REPORT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/memory/backend.h"
#include "sinter/runtime/memory/device_info.h"

namespace sinter::tools {

// One device that is there. `status` is an error if it does not respond; then only the name is known.
struct DeviceReport {
  DeviceInfo info = {};
  absl::Status status = {};
};

// One kind of devices.
struct KindReport {
  std::string name = {};        // "gpu".
  absl::Status available = {};  // Why there is no such device.
  std::vector<DeviceReport> devices = {};
  std::vector<LibraryReport> libraries = {};
};

struct MachineReport {
  std::string version = {};  // "0.1.0".
  int cores = 0;             // Number of cores that this process may run on.
  // Vector instructions of the CPU that plans ask for: "avx2", "avx512f".
  std::vector<std::string> vectors = {};
  absl::Status cpu = {};  // Why this CPU cannot run Sinter.
  std::vector<KindReport> kinds = {};
};

// Opens the libraries of all kinds of devices, and makes a context on each GPU, which takes memory there.
MachineReport ReadMachine();

std::string MachineText(const MachineReport& report);
// One JSON object: "version", "plan_versions", "cpu", "kinds" with "devices" and "libraries". Sizes are in
// bytes.
std::string MachineJson(const MachineReport& report);

// "sinter 0.1.0, reads plans of versions 1 to 9".
std::string VersionText();

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_DOCTOR_MACHINE_REPORT_H_
