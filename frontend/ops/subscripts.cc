#include "sinter/frontend/ops/subscripts.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {
namespace {

std::string TextOf(const Range& range) {
  const auto text = [](const std::optional<int64_t>& number) {
    return number.has_value() ? absl::StrCat(*number) : std::string("{}");
  };
  const std::string step = range.step == 1 ? "" : absl::StrCat(", ", range.step);
  return absl::StrCat("Range{", text(range.start), ", ", text(range.limit), step, "}");
}

}  // namespace

std::vector<Tensor> TensorsOf(const Tensor& x, std::span<const Index> subscripts) {
  std::vector<Tensor> tensors = {x};
  for (const Index& subscript : subscripts) {
    if (const Tensor* const indices = std::get_if<Tensor>(&subscript.kind())) tensors.push_back(*indices);
    if (const Window* const window = std::get_if<Window>(&subscript.kind())) {
      if (window->start.is_tensor()) tensors.push_back(window->start.tensor());
    }
  }
  return tensors;
}

std::optional<std::vector<Index::Kind>> ExpandSubscripts(Call& call, int64_t rank,
                                                         std::span<const Index> subscripts) {
  int64_t named = 0, ellipses = 0;
  for (const Index& subscript : subscripts) {
    if (std::holds_alternative<EllipsisIndex>(subscript.kind())) {
      ++ellipses;
    } else if (!std::holds_alternative<NewAxisIndex>(subscript.kind())) {
      ++named;
    }
  }
  if (ellipses > 1) {
    call.Fail("has more than one Ellipsis");
    return std::nullopt;
  }
  if (named > rank) {
    call.Fail(absl::StrCat("has ", named, named == 1 ? " subscript for " : " subscripts for ", rank,
                           rank == 1 ? " dimension" : " dimensions"));
    return std::nullopt;
  }
  const auto rest = static_cast<size_t>(rank - named);
  std::vector<Index::Kind> entries;
  for (const Index& subscript : subscripts) {
    if (std::holds_alternative<EllipsisIndex>(subscript.kind())) {
      entries.insert(entries.end(), rest, Index::Kind(Range{}));
    } else {
      entries.push_back(subscript.kind());
    }
  }
  if (ellipses == 0) entries.insert(entries.end(), rest, Index::Kind(Range{}));
  return entries;
}

std::optional<Positions> PositionsOf(Call& call, const Range& range, int64_t d, int64_t size) {
  const auto fail = [&](const char* why) -> std::optional<Positions> {
    call.Fail(absl::StrCat(TextOf(range), " of dimension ", d, ", whose size is ", size, ": ", why));
    return std::nullopt;
  };
  if (range.step == 0) return fail("the step is 0");
  const bool is_down = range.step < 0;
  const int64_t last = is_down ? size - 1 : size;
  for (const std::optional<int64_t>& number : {range.start, range.limit}) {
    if (number && (*number < -size || *number > last)) return fail("it leaves the dimension");
  }
  const auto counted = [&](int64_t number) { return number < 0 ? number + size : number; };
  // Going down, the limit is the position before the first one.
  const int64_t start = range.start ? counted(*range.start) : is_down ? size - 1 : 0;
  const int64_t limit = range.limit ? counted(*range.limit) : is_down ? -1 : size;
  const int64_t low = is_down ? limit + 1 : start, high = is_down ? start + 1 : limit;
  if (low > high) return fail(is_down ? "it begins below its limit" : "it begins above its limit");
  // A longer step takes one position too.
  const int64_t longest = std::max<int64_t>(size, 1);
  const int64_t step = std::abs(std::clamp(range.step, -longest, longest));
  if (!is_down) return Positions{low, high, step, false};
  const int64_t count = (high - low + step - 1) / step;
  return Positions{count == 0 ? low : start - (count - 1) * step, high, step, true};
}

std::optional<Positions> PositionsOf(Call& call, int64_t number, int64_t d, int64_t size) {
  const int64_t at = number < 0 ? number + size : number;
  if (at >= 0 && at < size) return Positions{at, at + 1};
  call.Fail(absl::StrCat("has no position ", number, " in dimension ", d, ", whose size is ", size));
  return std::nullopt;
}

bool CheckIndexTensor(Call& call, const Tensor& indices, int64_t d) {
  if (indices.dtype() == I32 || indices.dtype() == I64) return true;
  call.Fail(indices.dtype() == I1 ? absl::StrCat("takes no mask, as dimension ", d,
                                                 " has: use Select, or the positions of what you want")
                                  : std::string("takes i32 or i64 indices; Cast(indices, I32) first"));
  return false;
}

std::optional<Range> FixedRange(const Window& window, int64_t size) {
  if (window.start.is_tensor() || !window.start.number().is_integer()) return std::nullopt;
  if (window.size < 0 || window.size > size) return std::nullopt;
  const int64_t start = std::clamp<int64_t>(window.start.number().integer(), 0, size - window.size);
  return Range{start, start + window.size};
}

std::optional<Tensor> PositionsOf(Call& call, const Window& window, int64_t d, int64_t size, Where where) {
  if (window.size < 0 || window.size > size) {
    call.Fail(absl::StrCat("has a window of ", window.size, " positions in dimension ", d, ", whose size is ",
                           size));
    return std::nullopt;
  }
  const bool is_tensor = window.start.is_tensor();
  if (is_tensor && (window.start.tensor().rank() != 0 || !CheckIndexTensor(call, window.start.tensor(), d))) {
    call.Fail(absl::StrCat("has a window that starts at ", window.start.tensor().ToString(),
                           "; a start is a number, i32[] or i64[]"));
    return std::nullopt;
  }
  if (!is_tensor) {
    call.Fail(absl::StrCat("has a window that starts at ", window.start.number().ToString(),
                           "; a start is a whole number"));
    return std::nullopt;
  }
  const Tensor steps =
      call.Done(call.b().iota({window.size}, call.element(window.start.tensor().dtype()), 0));
  const Tensor start = Clamp(window.start.tensor(), 0, static_cast<double>(size - window.size), where);
  return Operand(steps, where) + Operand(start, where);
}

}  // namespace sinter
