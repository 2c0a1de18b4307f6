#include "sinter/runtime/session/initial_value_prefetch.h"

#include <algorithm>

#include "absl/status/status.h"

namespace sinter {
namespace {

constexpr int kOthers = 4;

}  // namespace

void InitialValuePrefetch::Add(size_t key, const InitialValues& values, DType dtype, const TensorBox& box) {
  const int64_t bytes = box.num_elements() * SizeOf(dtype);
  using Kind = InitialValues::Kind;
  const bool is_random =
      values.kind == Kind::kUniform || values.kind == Kind::kNormal || values.kind == Kind::kTruncatedNormal;
  if (!is_random || bytes == 0 || bytes > left_) return;
  left_ -= bytes;
  items_.emplace(key, Item{.values = values, .dtype = dtype, .box = box});
}

void InitialValuePrefetch::Start(const ThreadPool& pool) {
  if (items_.empty()) return;
  // Leaves kOthers cores free, but uses at least half: device initialization has threads of its own, and one
  // that shares a core with a worker delays the whole team.
  const ThreadPool most(std::max(pool.threads() - kOthers, (pool.threads() + 1) / 2));
  thread_ = std::thread([this, pool = most] {
    for (auto& [key, item] : items_) {
      if (is_abandoned_) return;
      const int64_t elements = item.box.num_elements(), bytes = elements * SizeOf(item.dtype);
      const absl::StatusOr<void*> data = HostMemory().Allocate(bytes);
      if (!data.ok()) return;
      item.data = {static_cast<std::byte*>(*data), Free{bytes}};
      const absl::Status filled =
          FillInitialPart(item.values, item.dtype, item.box, 0, elements, item.data.get(), pool);
      // The caller recomputes the values and gets the error.
      if (!filled.ok()) item.data.reset();
    }
  });
}

const std::byte* InitialValuePrefetch::Find(size_t key) {
  Wait();
  const auto found = items_.find(key);
  return found == items_.end() ? nullptr : found->second.data.get();
}

}  // namespace sinter
