// The rows of a table that a loss reads, and their gradients. For Sinter's own sources only.
//
// An embedding reads some rows of its table. The gradient of all others is zero, so an update that looks at
// the rows alone needs time for as many rows as were read, however long the table is.
#ifndef SINTER_FRONTEND_OPTIM_TOUCHED_ROWS_H_
#define SINTER_FRONTEND_OPTIM_TOUCHED_ROWS_H_

#include <optional>
#include <vector>

#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/optim/update.h"
#include "sinter/frontend/optim/update_targets.h"

namespace sinter::optim {

// Different rows of a table, in ascending order.
struct Rows {
  // i32 or i64 [n]: as many as were read. If rows were read twice there are fewer; the last ones are then the
  // number of rows of the table, which no row has.
  Tensor numbers;

  // Returns the rows of `table`, zeros for those that no row has.
  Tensor Of(const Tensor& table, Where where) const;
  // Returns the table with new rows.
  Tensor In(const Tensor& table, const Tensor& rows, Where where) const;
};

// The reads of a table from which a loss was computed.
class RowReads {
 public:
  // Nullopt, with an error kept: the loss reads the table by something else than Gather along dimension 0.
  static std::optional<RowReads> Find(Call& call, const Tensor& loss, const Target& target);

  // The values that were read. Combine takes their gradients.
  const std::vector<Tensor>& values() const { return values_; }

  // The gradient of each different row: the sum of those of its reads, in their order. So it has the bits of
  // the gradient of the whole table.
  struct Combined {
    Rows rows;
    Tensor gradient;
  };
  Combined Combine(Call& call, const std::vector<Tensor>& gradients, DType dtype) const;

 private:
  RowReads(const Variable& table, FunctionBuilder* function) : table_(table), function_(function) {}

  Variable table_;
  FunctionBuilder* function_;
  std::vector<Tensor> indices_, values_;
};

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_TOUCHED_ROWS_H_
