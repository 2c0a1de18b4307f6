// The inputs of one function on their way to the devices of this process that read them.
//
//   FunctionInputs inputs(plan, function, memory);
//   size_t bytes = inputs.DeviceBytes(1);                    // Needed on a GPU: a copy of each input that is read there.
//   SINTER_RETURN_IF_ERROR(inputs.Bind(values));             // At each run.
//   const std::byte* x = inputs.bound(0);                    // What CPUs read.
//
// CPUs read the caller's memory in place, unless it is not aligned, or is the session's own: that is copied to the staging
// memory first. Staging memory for large inputs is taken when one must be copied for the first time: mostly none ever is.
// Other devices have copies at fixed places: the small inputs are packed in the staging memory and uploaded as one, the large
// ones each, while the device may still be at work on the last run's (DeviceRuntime::UploadInputs). Of an input only the bytes
// are moved that are read: from the first byte of a device's buffers in it to the last.
//
// Among several processes a caller may give those rows of an input alone that its devices read (Rows).
#ifndef SINTER_RUNTIME_EXECUTE_FUNCTION_INPUTS_H_
#define SINTER_RUNTIME_EXECUTE_FUNCTION_INPUTS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/execute/session_memory.h"

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
  size_t first_byte = 0;       // Of the input: what lies at `data`.
  alignas(8) std::byte number[8] = {};

  // Where byte `begin` of the input is.
  const std::byte* At(size_t begin) const {
    return (data == nullptr ? number : static_cast<const std::byte*>(data)) + (begin - first_byte);
  }
};

class FunctionInputs {
 public:
  // Lays the copies out, for the runtimes that memory.devices names. `memory` gets the rest before the first Bind.
  FunctionInputs(const fb::Plan& plan, const fb::Function& table, const Memory* memory);

  size_t StagingBytes() const { return staging_bytes_; }
  size_t DeviceBytes(uint32_t device) const { return devices_[device].bytes; }
  // Where a device that is not a CPU would have the beginning of an input that it reads, if it had it all.
  std::byte* DeviceAddress(uint32_t device, uint32_t input) const;

  // All that this process reads of an input, if these are whole rows: elements [begin, end) along the first dimension. Else,
  // and of numbers: nothing.
  struct RowRange {
    int64_t begin, end;
  };
  std::optional<RowRange> Rows(size_t input) const;

  // Brings the values to where they are read. All are set. Errors: those of uploads.
  absl::Status Bind(std::span<const InputValue> values);
  // In main memory, where it was found by Bind: where the input would begin. Only of inputs that CPUs read or that are handed
  // through, and only their bytes that are.
  const std::byte* bound(size_t input) const { return bound_[input]; }

 private:
  // Bytes of an input that are read; nobody does if the end is before the beginning.
  struct Hull {
    size_t begin = ~size_t{0}, end = 0;

    bool is_read() const { return begin <= end; }
    size_t bytes() const { return end > begin ? end - begin : 0; }
    void Add(size_t first, size_t last) {
      begin = std::min(begin, first);
      end = std::max(end, last);
    }
    void Add(const Hull& other) {
      if (other.is_read()) Add(other.begin, other.end);
    }
  };
  struct DeviceCopy {
    uint32_t input;
    size_t offset;  // Of the hull's first byte.
    Hull hull;
  };
  struct DeviceLayout {
    std::vector<DeviceCopy> packed, single;
    std::vector<DeviceRuntime::InputPiece> pieces;  // Of one run.
    size_t bytes = 0;                               // Of all of them,
    size_t packed_bytes = 0;                        // and of the packed ones, which come first.
    size_t staging_offset = 0;                      // Where these are packed.
  };
  struct HostInput {
    Hull hull;
    size_t staging_offset = 0;
    std::optional<size_t>
        large;  // Of the large inputs it is this one, and has no place in the staging memory.
  };

  std::vector<std::vector<Hull>> FindHulls(const fb::Function& table) const;
  void LayOut(uint32_t device, const std::vector<Hull>& hulls);
  absl::Status Upload(const DevicePlaces& places, DeviceLayout& layout, std::span<const InputValue> values);

  const Memory* memory_;
  absl::StatusOr<std::byte*> StagingOf(const HostInput& input) const;

  std::vector<HostInput> host_;
  std::vector<Hull> all_;  // Of all devices here, by input.
  std::vector<size_t> row_bytes_, rows_;
  std::vector<DeviceLayout> devices_;
  size_t staging_bytes_ = 0;
  std::vector<const std::byte*> bound_;
};

}  // namespace internal_session
}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_FUNCTION_INPUTS_H_
