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

// Returns one number of each row, [n], along the other dimensions of a shape [n, ...].
Tensor AlongRows(const Tensor& of_row, const Shape& shape, Where where);

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

// The gradient of each different row: the sum of those of its reads, in their order. So it has the bits of
// the gradient of the whole table.
struct RowGradients {
  Rows rows;
  Tensor gradient;
};

// Returns the sums of gradients by row of `table`. The numbers of rows, i32 or i64, are one list with the
// gradients. As many rows come out as numbers go in.
RowGradients SumByRow(Call& call, const Variable& table, const std::vector<Tensor>& numbers,
                      const std::vector<Tensor>& gradients);
// The type of the numbers of a table's rows. The number of rows is itself a number.
DType RowNumberType(const Variable& table);

// The reads of a table from which a loss was computed.
class RowReads {
 public:
  // Nullopt, with an error kept: the loss reads the table by something else than Gather along dimension 0.
  static std::optional<RowReads> Find(Call& call, const Tensor& loss, const Target& target);

  // The values that were read. Combine takes their gradients.
  const std::vector<Tensor>& values() const { return values_; }

  RowGradients Combine(Call& call, const std::vector<Tensor>& gradients, DType dtype) const;

 private:
  RowReads(const Variable& table, FunctionBuilder* function) : table_(table), function_(function) {}

  Variable table_;
  FunctionBuilder* function_;
  std::vector<Tensor> indices_, values_;
};

// Sums of gradients of touched rows, between Accumulate and ApplyAccumulated: AddToRowSums for the former,
// TakeRowSums for the latter. An optimiser has room for as many different rows of a table as the program
// says. The rows are the variable "<name>/accumulated_rows/<parameter>", in ascending order, and then the
// number of rows of the table, which no row has; their sums are "<name>/accumulated_of_rows/<parameter>".

// True if a function that was built before sums gradients of touched rows of the parameter.
bool HasRowSums(Update& u, const Variable& parameter);
// Adds gradients to the sums of their rows. If the rows then have no room, all sums become NaN: sums without
// some rows would train something else.
void AddToRowSums(Call& call, Update& u, const Variable& table, const RowGradients& more, int64_t room);
// Returns the sums and empties them if `counts`, i1[].
RowGradients TakeRowSums(Update& u, const Variable& table, const Tensor& counts);

}  // namespace sinter::optim

#endif  // SINTER_FRONTEND_OPTIM_TOUCHED_ROWS_H_
