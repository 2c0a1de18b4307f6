// Copies of whole buffers, shared among the threads.
#include <cstring>

#include "sinter/runtime/steps.h"

namespace sinter {
namespace {

// Less than this is copied sooner than another thread is told.
constexpr int64_t kGrainBytes = 1 << 18;
constexpr int64_t kLineBytes = 64;

class CopyStep : public Step {
 public:
  CopyStep(size_t bytes, const ThreadPool* pool) : bytes_(bytes), pool_(pool) {}

  absl::Status Run(const StepArgs& args) override {
    const std::byte* const from = static_cast<const std::byte*>(args.buffers[0]);
    std::byte* const to = static_cast<std::byte*>(args.buffers[1]);
    if (from == to) return absl::OkStatus();
    const int64_t lines = (static_cast<int64_t>(bytes_) + kLineBytes - 1) / kLineBytes;
    pool_->ParallelFor(lines, kGrainBytes / kLineBytes, [&](int64_t begin, int64_t end, int) {
      const size_t first = static_cast<size_t>(begin * kLineBytes);
      const size_t last = std::min(static_cast<size_t>(end * kLineBytes), bytes_);
      std::memcpy(to + first, from + first, last - first);
    });
    return absl::OkStatus();
  }

 private:
  size_t bytes_;
  const ThreadPool* pool_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeCopyStep(const fb::CopyStep& table, const StepContext& context) {
  return std::make_unique<CopyStep>(table.bytes(), context.pool);
}

}  // namespace sinter
