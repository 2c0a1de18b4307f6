#include "sinter/frontend/optim/touched_rows.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/gradient_reach.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/ops/scatter.h"

namespace sinter::optim {

namespace {

// Takes one position of each row along the other dimensions of the table.
Tensor Along(const Tensor& of_row, const Shape& shape, Where where) {
  Shape spread(shape.size(), 1);
  spread[0] = of_row.dim(0);
  return BroadcastTo(Reshape(of_row, spread, where), shape, where);
}

}  // namespace

Tensor Rows::Of(const Tensor& table, Where where) const {
  const Tensor rows = Gather(table, numbers, 0, where);
  const Operand limit(table.dim(0), where), none(0, where);
  return Select(Operand(Along(Operand(numbers, where) < limit, rows.shape(), where), where),
                Operand(rows, where), none);
}

Tensor Rows::In(const Tensor& table, const Tensor& rows, Where where) const {
  return Scatter(table, numbers, rows, 0, ScatterKind::kSet, where);
}

std::optional<RowReads> RowReads::Find(Call& call, const Tensor& loss, const Target& target) {
  const auto value_of = [](const Tensor& x) { return mlir::Value::getFromOpaquePointer(x.value()); };
  RowReads reads(target.variable, &call.function());
  const GradientReach reach(value_of(loss));
  for (mlir::Operation* user : value_of(target.in_loss).getUsers()) {
    const bool is_reached = llvm::any_of(user->getResults(), [&](mlir::Value v) { return reach.Reaches(v); });
    if (!is_reached) continue;
    auto gather = llvm::dyn_cast<ir::GatherOp>(user);
    if (!gather || gather.getDim() != 0) {
      call.Fail(absl::StrCat("updates the touched rows only of \"", target.variable.name(),
                             "\", but the loss reads it by ", user->getName().stripDialect().str(),
                             gather ? " along another dimension" : "",
                             ", whose gradient is that of all rows; read it by Gather along dimension 0 "
                             "(nn::Embedding) alone, or "
                             "leave out touched_rows_only"));
      return std::nullopt;
    }
    if (gather.getIndices().getType().getNumElements() == 0) continue;
    reads.indices_.emplace_back(reads.function_, gather.getIndices().getAsOpaquePointer());
    reads.values_.emplace_back(reads.function_, gather.getResult().getAsOpaquePointer());
  }
  if (!reads.values_.empty()) return reads;
  call.Fail(absl::StrCat("updates the touched rows only of \"", target.variable.name(),
                         "\", of which the loss reads none"));
  return std::nullopt;
}

RowReads::Combined RowReads::Combine(Call& call, const std::vector<Tensor>& gradients, DType dtype) const {
  const Where where = call.where();
  const int64_t rows = table_.shape()[0];
  // The number of rows is itself a number.
  const DType index = rows < std::numeric_limits<int32_t>::max() ? I32 : I64;
  Shape shape = table_.shape();
  std::vector<Tensor> numbers, parts;
  for (size_t i = 0; i < indices_.size(); ++i) {
    const int64_t count = shape[0] = indices_[i].size();
    numbers.push_back(Reshape(Cast(Clamp(indices_[i], 0, rows - 1, where), index, where), {count}, where));
    parts.push_back(Reshape(Cast(gradients[i], dtype, where), shape, where));
  }
  const SortResult sorted = Sort(numbers.size() == 1 ? numbers[0] : Concat(numbers, 0, where), {}, where);
  const Tensor together = parts.size() == 1 ? parts[0] : Concat(parts, 0, where);
  const int64_t count = shape[0] = sorted.values.size();
  // The place of each read's row among the different ones.
  const auto fill = [&](const Shape& of, DType type, double value) {
    return call.Done(call.b().full(of, call.element(type), value));
  };
  Tensor places = fill({1}, I32, 0);
  if (count > 1) {
    const Tensor next = Slice(sorted.values, {1}, {count}, {}, where);
    const Tensor last = Slice(sorted.values, {0}, {count - 1}, {}, where);
    const Tensor is_new = Cast(NotEqual(Operand(next, where), Operand(last, where)), I32, where);
    places = CumSum(Concat({places, is_new}, 0, where), 0, /*reverse=*/false, where);
  }
  const Tensor in_order = Gather(together, sorted.positions, 0, where);
  const Tensor none = fill({count}, index, static_cast<double>(rows));
  return {{Scatter(none, places, sorted.values, 0, ScatterKind::kSet, where)},
          ScatterAdd(fill(shape, dtype, 0), places, in_order, 0, where)};
}

}  // namespace sinter::optim
