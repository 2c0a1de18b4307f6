#include "sinter/tests/numerics/test_device.h"

#include <cstdlib>

#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/device_info.h"

namespace sinter::numerics {

Device TestDevice() {
  const char* name = std::getenv("SINTER_TEST_DEVICE");
  if (!name) return Device::Cpu();
  absl::StatusOr<Device> device = Device::Parse(name);
  SINTER_CHECK(device.ok()) << std::string(device.status().message());
  return *device;
}

std::string MissingTestDevice() {
  Device device = TestDevice();
  if (!device.is_gpu()) {
    return std::string(CheckDevice(device).message());
  }
  if (device.index() < NumGpus()) return "";
  return device.ToString() + ": this machine has " + std::to_string(NumGpus()) + " GPUs";
}

}  // namespace sinter::numerics
