// Steps that copy whole buffers, shared among the threads.
#include <algorithm>
#include <cstring>

#include "sinter/runtime/cpu/steps.h"

namespace sinter {
namespace {

// Below this size, waking a thread costs more than the copy.
constexpr int64_t kGrainBytes = 1 << 18;
constexpr int64_t kLineBytes = 64;

class CopyStep : public Step {
 public:
  CopyStep(size_t bytes, const ThreadPool* pool) : bytes_(bytes), pool_(pool) {}

  absl::Status Run(const StepArgs& args) override {
    CopyBytes(args.buffers[1], args.buffers[0], bytes_, *pool_);
    return absl::OkStatus();
  }

 private:
  size_t bytes_;
  const ThreadPool* pool_;
};

}  // namespace

void CopyBytes(void* to, const void* from, size_t bytes, const ThreadPool& pool) {
  if (from == to) return;
  const int64_t lines = (static_cast<int64_t>(bytes) + kLineBytes - 1) / kLineBytes;
  pool.ParallelFor(lines, kGrainBytes / kLineBytes, [=](int64_t begin, int64_t end, int) {
    const size_t first = static_cast<size_t>(begin * kLineBytes);
    const size_t last = std::min(static_cast<size_t>(end * kLineBytes), bytes);
    std::memcpy(static_cast<std::byte*>(to) + first, static_cast<const std::byte*>(from) + first,
                last - first);
  });
}

absl::StatusOr<std::unique_ptr<Step>> MakeCopyStep(const fb::CopyStep& table, const StepContext& context) {
  return std::make_unique<CopyStep>(table.bytes(), context.pool);
}

}  // namespace sinter
