// Moves the inputs of one function to the local devices that read them.
//
//   FunctionInputs inputs(plan, function, memory);
//   size_t bytes = inputs.DeviceBytes(1);                    // For copies of the inputs on a GPU.
//   SINTER_RETURN_IF_ERROR(inputs.Bind(values));             // At each run: what CPUs read.
//   SINTER_RETURN_IF_ERROR(inputs.Upload(1));                // What device 1 reads.
//   const std::byte* x = inputs.bound(0);                    // Address that CPUs read.
//   SINTER_RETURN_IF_ERROR(inputs.FinishUploads());          // The caller's tensors may change.
//
// CPUs read the caller's memory in place. If that memory is unaligned or belongs to the session, it is first
// copied to a staging buffer. The staging buffer of a large input is allocated when the input is copied for
// the first time, which is rare. Other devices have copies at fixed addresses. Small inputs are packed in one
// staging buffer and uploaded together; large inputs are uploaded separately, from the caller's memory if the
// device reads it (PinnedHost). Uploads may overlap with the previous run (DeviceRuntime::UploadInputs). Only
// the bytes between the first and the last byte that a device reads are moved.
//
// With several processes a caller may pass only the rows of an input that its devices read (Rows).
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

// The value bound to an input.
struct InputValue {
  bool is_set = false;
  const void* data = nullptr;  // Null for a number.
  size_t first_byte = 0;       // Offset of `data` in the input.
  alignas(8) std::byte number[8] = {};

  // Address of byte `begin` of the input.
  const std::byte* At(size_t begin) const {
    return (data == nullptr ? number : static_cast<const std::byte*>(data)) + (begin - first_byte);
  }
};

class FunctionInputs {
 public:
  // Lays out the copies for the runtimes in memory.devices. The other fields of `memory` are set before the
  // first Bind.
  FunctionInputs(const fb::Plan& plan, const fb::Function& table, const SessionBuffers* memory);

  size_t StagingBytes() const { return staging_bytes_; }
  size_t DeviceBytes(uint32_t device) const { return devices_[device].bytes; }
  // Address of the first byte of a whole input on a non-CPU device. The device may hold only a part of the
  // input.
  std::byte* DeviceAddress(uint32_t device, uint32_t input) const;

  // Elements [begin, end) along the first dimension that this process reads. [0, 0) if it reads nothing.
  // nullopt if the bytes read are not whole rows, or if the input has no rows.
  struct RowRange {
    int64_t begin, end;
  };
  std::optional<RowRange> Rows(size_t input) const;

  // Copies the values to the places where CPUs read them. All values must be set; they are kept by reference
  // until FinishUploads.
  absl::Status Bind(std::span<const InputValue> values);
  // True if the device has copies of inputs.
  bool uploads(uint32_t device) const { return devices_[device].bytes > 0; }
  // True if a device has copies of so large inputs that their uploads should run side by side.
  bool has_large_uploads() const { return has_large_uploads_; }
  // Copies the values to a device. Several threads may serve different devices.
  absl::Status Upload(uint32_t device);
  // Waits until the caller's tensors may change.
  absl::Status FinishUploads();
  // Address of the input's first byte in main memory, set by Bind. Valid only for inputs that CPUs read or
  // that are also outputs, and only for the bytes read.
  const std::byte* bound(size_t input) const { return bound_[input]; }

 private:
  // Bytes of an input that are read. The input is not read if end < begin.
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
    size_t offset;  // Offset of the hull's first byte.
    Hull hull;
  };
  struct DeviceLayout {
    std::vector<DeviceCopy> packed, single;
    std::vector<DeviceRuntime::InputPiece> pieces;  // For one run.
    size_t bytes = 0;                               // All copies.
    size_t packed_bytes = 0;                        // The packed copies, which come first.
    size_t staging_offset = 0;                      // Place of the packed copies in the staging buffer.
  };
  struct HostInput {
    Hull hull;
    size_t staging_offset = 0;
    // Index among the large inputs, which have separate staging buffers.
    std::optional<size_t> large;
  };

  std::vector<std::vector<Hull>> FindHulls(const fb::Function& table) const;
  void LayOut(uint32_t device, const std::vector<Hull>& hulls);

  const SessionBuffers* memory_;
  absl::StatusOr<std::byte*> StagingOf(const HostInput& input) const;

  std::vector<HostInput> host_;
  std::vector<Hull> all_;  // Hulls over all local devices, by input.
  std::vector<size_t> row_bytes_, rows_;
  std::vector<DeviceLayout> devices_;
  size_t staging_bytes_ = 0;
  bool has_large_uploads_ = false;
  std::span<const InputValue> values_;  // Values of the current run.
  std::vector<const std::byte*> bound_;
};

}  // namespace internal_session
}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_FUNCTION_INPUTS_H_
