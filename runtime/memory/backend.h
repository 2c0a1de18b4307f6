// One kind of device that the runtime can drive: which devices of it there are, their memory, their runtimes.
//
//   SINTER_ASSIGN_OR_RETURN(const Backend* backend, FindBackend(device));
//   SINTER_RETURN_IF_ERROR(backend->Check(device.index()));
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory, backend->MakeMemory(device));
//
// A back end is one folder (runtime/cpu, runtime/cuda) and one row in runtime/backends.cc. Nothing else names
// it. A program may register more, each for a kind of devices that it has registered too
// (runtime/memory/device.h).
#ifndef SINTER_RUNTIME_MEMORY_BACKEND_H_
#define SINTER_RUNTIME_MEMORY_BACKEND_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/memory/device_memory.h"

namespace sinter {

class CachingAllocator;
class DeviceRuntime;
struct DeviceInfo;
struct StepContext;

namespace fb {
struct Plan;
}  // namespace fb

// A library that a kind's devices use, as this machine has it.
struct LibraryReport {
  std::string name;          // "cuBLASLt".
  std::string version = {};  // "13.1.0"; empty if the library cannot be used.
  std::string path = {};     // The file that was opened; empty if the library cannot be used.
  absl::Status status = {};  // Why it cannot be used.
};

// A reason why a plan cannot run on a device, or is slower there than it could be.
struct PlanFinding {
  bool is_fatal = false;
  std::string text = {};  // With the nearest fix.
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual DeviceKind kind() const = 0;
  // Number of devices; 0 if the kind cannot be used here. Does not create a context on any of them.
  virtual int Count() const = 0;
  // OK if the device exists. Else says which devices there are, or why there is none
  // (runtime/memory/device_info.h).
  virtual absl::Status Check(int32_t index) const = 0;
  // Architectures of the devices, each once, as plans name them: "sm_90".
  virtual std::vector<std::string> Architectures() const = 0;
  // Sets the name, the architecture and the compute capability. The device has passed Check.
  virtual absl::Status Describe(DeviceInfo& info) const = 0;
  // Raw memory of a device, for allocators. Errors: those of Check.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> MakeMemory(Device device) const = 0;
  // Main memory that the kind's devices copy from and to by themselves. Null: no memory is better for them
  // than any other.
  virtual absl::StatusOr<std::unique_ptr<DeviceMemory>> MakePinnedMemory() const { return nullptr; }
  // Opens the libraries that the kind's steps may call, and says what it found.
  virtual std::vector<LibraryReport> Libraries() const { return {}; }
  // Compares the plan's code and its steps' libraries with the device that `info` describes (QueryDevice).
  // Looks at no memory.
  virtual std::vector<PlanFinding> CheckPlan(const fb::Plan& /*plan*/, const DeviceInfo& /*info*/) const {
    return {};
  }
  // Drives a device that has passed Check. `allocator` is the device's, and outlives the runtime.
  virtual absl::StatusOr<std::unique_ptr<DeviceRuntime>> MakeRuntime(Device device,
                                                                     CachingAllocator* allocator,
                                                                     const StepContext& context) const = 0;
};

// The back ends of this build, in the order of their kinds, then the registered ones. Later registrations do
// not change it.
std::span<const Backend* const> Backends();
// Adds a back end, which must live until the process ends. Thread-safe. AlreadyExists: the kind has a back
// end.
absl::Status RegisterBackend(const Backend& backend);
// FailedPrecondition: the kind has no back end; the message says how to get one.
absl::StatusOr<const Backend*> FindBackend(DeviceKind kind);
// The same for a device, which the message names. The device need not exist.
absl::StatusOr<const Backend*> FindBackend(Device device);

}  // namespace sinter

#endif  // SINTER_RUNTIME_MEMORY_BACKEND_H_
