// Reads subscripts (indexing.h), for Sinter's own sources.
#ifndef SINTER_FRONTEND_OPS_SUBSCRIPTS_H_
#define SINTER_FRONTEND_OPS_SUBSCRIPTS_H_

#include <optional>
#include <span>
#include <vector>

#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/indexing.h"

namespace sinter {

// The positions that a range takes of a dimension, ascending. The last comes first if `is_reversed`.
struct Positions {
  int64_t start = 0, limit = 0, step = 1;
  bool is_reversed = false;

  int64_t count() const { return (limit - start + step - 1) / step; }
};

// Returns x and the tensors among the subscripts.
std::vector<Tensor> TensorsOf(const Tensor& x, std::span<const Index> subscripts);

// Returns one entry for each dimension of x, and the new ones: the Ellipsis, or what is missing at the end,
// is replaced by ranges. Nullopt and an error of the call: too many.
std::optional<std::vector<Index::Kind>> ExpandSubscripts(Call& call, int64_t rank,
                                                         std::span<const Index> subscripts);

// Nullopt and an error of the call: the range, or the number, leaves dimension d, which has this size.
std::optional<Positions> PositionsOf(Call& call, const Range& range, int64_t d, int64_t size);
std::optional<Positions> PositionsOf(Call& call, int64_t number, int64_t d, int64_t size);
// False and an error of the call: no indices of dimension d.
bool CheckIndexTensor(Call& call, const Tensor& indices, int64_t d);
// Returns the range of a window with a number as its start; nullopt for other windows and wrong ones.
std::optional<Range> FixedRange(const Window& window, int64_t size);
// Returns the positions of a window with a tensor as its start: i32 or i64 [size], moved into the dimension.
std::optional<Tensor> PositionsOf(Call& call, const Window& window, int64_t d, int64_t size, Where where);

// As x[subscripts].
Tensor PartOf(const Tensor& x, std::span<const Index> subscripts, Where where);

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_SUBSCRIPTS_H_
