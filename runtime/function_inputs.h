// The inputs of one function on their way to the devices that read them.
//
//   FunctionInputs inputs(plan, function, memory);
//   size_t bytes = inputs.DeviceBytes(1);                    // Needed on a GPU: a copy of each input that is read there.
//   SINTER_RETURN_IF_ERROR(inputs.Bind(values));             // At each run.
//   const std::byte* x = inputs.bound(0);                    // What CPUs read.
//
// CPUs read the caller's memory in place, unless it is not aligned, or is the session's own: that is copied to the staging
// memory first. Other devices have copies at fixed places: the small inputs are packed in the staging memory and uploaded as
// one, the large ones each.
#ifndef SINTER_RUNTIME_FUNCTION_INPUTS_H_
#define SINTER_RUNTIME_FUNCTION_INPUTS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/session_memory.h"

namespace sinter {

namespace fb {
struct Function;
struct Plan;
}  // namespace fb

namespace internal_session {

// What an input is bound to.
struct InputValue {
  bool is_set = false;
  const void* data = nullptr;  // Null: the number.
  alignas(8) std::byte number[8] = {};

  const void* address() const { return data == nullptr ? number : data; }
};

class FunctionInputs {
 public:
  // Lays the copies out, for the runtimes that memory.devices names. `memory` gets the rest before the first Bind.
  FunctionInputs(const fb::Plan& plan, const fb::Function& table, const Memory* memory);

  size_t StagingBytes() const { return staging_bytes_; }
  size_t DeviceBytes(uint32_t device) const { return devices_[device].bytes; }
  // Where a device that is not a CPU has its copy of an input that it reads.
  std::byte* DeviceAddress(uint32_t device, uint32_t input) const;

  // Brings the values to where they are read. All are set. Errors: those of uploads.
  absl::Status Bind(std::span<const InputValue> values);
  // In main memory, where it was found by Bind. Only of inputs that CPUs read or that are handed through.
  const std::byte* bound(size_t input) const { return bound_[input]; }

 private:
  struct DeviceCopy {
    uint32_t input;
    size_t offset;
  };
  struct DeviceLayout {
    std::vector<DeviceCopy> packed, single;
    size_t bytes = 0;           // Of all of them,
    size_t packed_bytes = 0;    // and of the packed ones, which come first.
    size_t staging_offset = 0;  // Where these are packed.
  };
  struct HostInput {
    size_t bytes = 0;
    bool is_read = false;
    size_t staging_offset = 0;
  };

  void LayOut(uint32_t device, const std::vector<bool>& is_read);
  absl::Status Upload(DeviceRuntime& runtime, const DeviceLayout& layout, std::byte* to,
                      std::span<const InputValue> values);

  const Memory* memory_;
  std::vector<HostInput> host_;
  std::vector<DeviceLayout> devices_;
  size_t staging_bytes_ = 0;
  std::vector<const std::byte*> bound_;
};

}  // namespace internal_session
}  // namespace sinter

#endif  // SINTER_RUNTIME_FUNCTION_INPUTS_H_
