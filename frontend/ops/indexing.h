// Parts of a tensor by subscripts, as in NumPy.
//
//   Tensor first = x[0];                              // [8, 10] -> [10]: a number drops its dimension.
//   Tensor tail = x[{Range{}, Range{-3, {}}}];        // The last 3 columns: [8, 3].
//   Tensor odd = x[Range{1, {}, 2}];                  // Rows 1, 3, 5, 7.
//   Tensor mirrored = x[{Ellipsis, Range{.step = -1}}];
//   Tensor column = x[{Ellipsis, NewAxis, 2}];        // [8, 1].
//   Tensor rows = table[ids];                         // i32[2,5] ids of [50, 16]: [2, 5, 16].
//   Tensor picked = scores[{b.Iota(I32, {8}), labels}];  // One element of each row: [8].
//   Tensor near = x[Window{position, 3}];             // 3 rows from a start that is known when it runs.
//
// Subscripts stand for the dimensions in their order; missing ones at the end take all. An Ellipsis takes all
// of those that the others leave. Index tensors are i32 or i64, broadcast together, and must stand for
// adjacent dimensions; what they take has their dimensions. Their numbers do not count from the end. One out
// of range is an error only with CompileOptions::check_indices; without it, it is clamped to the range.
//
// Everything else is checked when the graph is built. Where NumPy would shorten a range, it is an error.
// scatter.h has the same subscripts for the parts that a new tensor replaces.
#ifndef SINTER_FRONTEND_OPS_INDEXING_H_
#define SINTER_FRONTEND_OPS_INDEXING_H_

#include <concepts>
#include <cstdint>
#include <optional>
#include <variant>

#include "sinter/frontend/graph/tensor.h"

namespace sinter {

// The positions from `start` up to, but not including, `limit`, or down to it if the step is negative. A
// missing start or limit is the dimension's end on that side. Negative ones count from the end.
struct Range {
  std::optional<int64_t> start = std::nullopt, limit = std::nullopt;
  int64_t step = 1;  // Not 0.
};

// `size` positions from `start` up, a number or an i32[] or i64[] tensor. A start with positions out of
// range is moved into it, as by JAX's dynamic_slice.
struct Window {
  Operand start;
  int64_t size = 1;
};

struct EllipsisIndex {};
struct NewAxisIndex {};
// All of the dimensions that the other subscripts leave.
inline constexpr EllipsisIndex Ellipsis{};
// A new dimension of size 1.
inline constexpr NewAxisIndex NewAxis{};

// A subscript, with the line of its use.
class Index {
 public:
  using Kind = std::variant<int64_t, Range, Window, EllipsisIndex, NewAxisIndex, Tensor>;

  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Index(T number, Where where = Where::current()) : kind_(static_cast<int64_t>(number)), where_(where) {}
  Index(const Range& range, Where where = Where::current()) : kind_(range), where_(where) {}
  Index(const Window& window, Where where = Where::current()) : kind_(window), where_(where) {}
  Index(EllipsisIndex ellipsis, Where where = Where::current()) : kind_(ellipsis), where_(where) {}
  Index(NewAxisIndex new_axis, Where where = Where::current()) : kind_(new_axis), where_(where) {}
  Index(const Tensor& indices, Where where = Where::current()) : kind_(indices), where_(where) {}

  const Kind& kind() const { return kind_; }
  Where where() const { return where_; }

 private:
  Kind kind_;
  Where where_;
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_INDEXING_H_
