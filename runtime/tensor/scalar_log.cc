#include "sinter/runtime/tensor/scalar_log.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"

namespace sinter {

bool IsLogVariable(std::string_view name) {
  return name.starts_with(kLogPrefix) || name.starts_with(kLogCountPrefix);
}

absl::StatusOr<LogValues> TakeLogValues(const HostTensor& ring, int64_t& last_number) {
  if (ring.dtype() != DType::kF64 || ring.shape().size() != 2 || ring.shape()[0] != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("the log is kept in a variable of type ", ring.ToString(), ", not of f64[2, capacity]"));
  }
  SINTER_ASSIGN_OR_RETURN(const std::span<const double> cells, ring.Span<double>());
  const size_t capacity = cells.size() / 2;
  // Skip numbers that no counter can reach: another program may have written to the variable.
  constexpr double kMost = 9007199254740992;  // 2^53
  std::vector<std::pair<int64_t, double>> found;
  for (size_t i = 0; i < capacity; ++i) {
    const double number = cells[capacity + i];
    if (!(number > static_cast<double>(last_number) && number <= kMost)) continue;
    found.emplace_back(static_cast<int64_t>(number), cells[i]);
  }
  std::ranges::sort(found, {}, &std::pair<int64_t, double>::first);
  LogValues result;
  if (found.empty()) return result;
  for (const auto& [number, value] : found) result.values.push_back(value);
  const int64_t newest = found.back().first;
  result.lost = std::max<int64_t>(newest - last_number - static_cast<int64_t>(found.size()), 0);
  last_number = newest;
  return result;
}

}  // namespace sinter
