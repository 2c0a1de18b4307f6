#include "sinter/runtime/values_ahead.h"

#include <new>

#include "absl/status/status.h"

namespace sinter {

void ValuesAhead::Add(size_t key, const InitialValues& values, DType dtype, int64_t elements) {
  const int64_t bytes = elements * SizeOf(dtype);
  const bool is_random =
      values.kind == InitialValues::Kind::kUniform || values.kind == InitialValues::Kind::kNormal;
  if (!is_random || bytes == 0 || bytes > left_) return;
  left_ -= bytes;
  items_.emplace(key, Item{.values = values, .dtype = dtype, .elements = elements});
}

void ValuesAhead::Start(const ThreadPool& pool) {
  if (items_.empty()) return;
  thread_ = std::thread([this, pool] {
    for (auto& [key, item] : items_) {
      if (is_abandoned_) return;
      // Not the process's pool of memory, which would keep it.
      const auto bytes = static_cast<size_t>(item.elements * SizeOf(item.dtype));
      item.data.reset(new (std::nothrow) std::byte[bytes]);
      if (item.data == nullptr) return;
      const absl::Status filled =
          FillInitialElements(item.values, item.dtype, 0, item.elements, item.data.get(), pool);
      // The caller will hear why.
      if (!filled.ok()) item.data.reset();
    }
  });
}

const std::byte* ValuesAhead::Find(size_t key) {
  Wait();
  const auto found = items_.find(key);
  return found == items_.end() ? nullptr : found->second.data.get();
}

}  // namespace sinter
