// Memory of emulated GPUs: main memory with guard bytes around each piece and a check of what a step writes.
//
//   WriteCheck check({{y, bytes}});                     // Before a step that writes y.
//   ...
//   SINTER_RETURN_IF_ERROR(check.Finish("kernel \"add\""));
//
// Free checks the guards of a piece and ends the program if they changed. CheckGuards checks those of all
// pieces, because allocators keep pieces for later.
#ifndef SINTER_TESTS_RUNTIME_EMULATED_EMULATED_MEMORY_H_
#define SINTER_TESTS_RUNTIME_EMULATED_EMULATED_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/memory/device_memory.h"

namespace sinter {

class EmulatedMemory : public HostMemory {
 public:
  // Bytes before and after each piece.
  static constexpr int64_t kGuardBytes = HostMemory::kAlignment;

  explicit EmulatedMemory(Device device) : HostMemory(device) {}

  absl::StatusOr<void*> Allocate(int64_t bytes) override;
  void Free(void* ptr, int64_t bytes) noexcept override;

  // Internal: bytes beside a live piece of any emulated device were written.
  static absl::Status CheckGuards();
};

// Finds writes beside the buffers that a step may write: it compares the bytes around them before and after.
class WriteCheck {
 public:
  // Bytes before and after each buffer that are compared, as far as they belong to the same piece of memory.
  static constexpr int64_t kCheckedBytes = 256;

  explicit WriteCheck(const std::vector<std::span<std::byte>>& outputs);
  // Internal: the step named `what` wrote beside its outputs.
  absl::Status Finish(const std::string& what) const;

 private:
  struct Range {
    const std::byte* begin;
    std::vector<std::byte> bytes;
  };
  std::vector<Range> beside_;
};

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_EMULATED_EMULATED_MEMORY_H_
