#include "sinter/frontend/optim/touched_rows.h"

#include <limits>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/gradient_reach.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/frontend/ops/scatter.h"
#include "sinter/ir/dialect/op_requests.h"

namespace sinter::optim {

Tensor AlongRows(const Tensor& of_row, const Shape& shape, Where where) {
  Shape spread(shape.size(), 1);
  spread[0] = of_row.dim(0);
  return BroadcastTo(Reshape(of_row, spread, where), shape, where);
}

namespace {

// Returns the result of an op with row numbers, of which some may be that of no row.
Tensor MayHaveNoRow(const Tensor& result) {
  if (result.ok()) ir::LeaveUnchecked(mlir::Value::getFromOpaquePointer(result.value()));
  return result;
}

// Returns the result of an op that asks for all rows of its operands, of which devices that share the batch
// have parts each.
Tensor OfAllRanks(const Tensor& result) {
  if (result.ok()) ir::RequestGathers(mlir::Value::getFromOpaquePointer(result.value()));
  return result;
}

Tensor Together(const std::vector<Tensor>& parts, Where where) {
  return parts.size() == 1 ? parts[0] : OfAllRanks(Concat(parts, 0, where));
}

}  // namespace

Tensor Rows::Of(const Tensor& table, Where where) const {
  const Tensor rows = MayHaveNoRow(Gather(table, numbers, 0, where));
  const Operand limit(table.dim(0), where), none(0, where);
  return Select(Operand(AlongRows(Operand(numbers, where) < limit, rows.shape(), where), where),
                Operand(rows, where), none);
}

Tensor Rows::In(const Tensor& table, const Tensor& rows, Where where) const {
  return MayHaveNoRow(Scatter(table, numbers, rows, 0, ScatterKind::kSet, where));
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

DType RowNumberType(const Variable& table) {
  return table.shape()[0] < std::numeric_limits<int32_t>::max() ? I32 : I64;
}

RowGradients SumByRow(Call& call, const Variable& table, const std::vector<Tensor>& numbers,
                      const std::vector<Tensor>& gradients) {
  const Where where = call.where();
  const SortResult sorted = Sort(Together(numbers, where), {}, where);
  OfAllRanks(sorted.values);
  const int64_t count = sorted.values.size();
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
  const Tensor together = Together(gradients, where);
  const Tensor in_order = OfAllRanks(Gather(together, sorted.positions, 0, where));
  const Tensor none = fill({count}, sorted.values.dtype(), static_cast<double>(table.shape()[0]));
  return {{Scatter(none, places, sorted.values, 0, ScatterKind::kSet, where)},
          ScatterAdd(fill(together.shape(), together.dtype(), 0), places, in_order, 0, where)};
}

RowGradients RowReads::Combine(Call& call, const std::vector<Tensor>& gradients, DType dtype) const {
  const Where where = call.where();
  const int64_t rows = table_.shape()[0];
  const DType index = RowNumberType(table_);
  Shape shape = table_.shape();
  std::vector<Tensor> numbers, parts;
  for (size_t i = 0; i < indices_.size(); ++i) {
    const int64_t count = shape[0] = indices_[i].size();
    numbers.push_back(Reshape(Cast(Clamp(indices_[i], 0, rows - 1, where), index, where), {count}, where));
    parts.push_back(Reshape(Cast(gradients[i], dtype, where), shape, where));
  }
  return SumByRow(call, table_, numbers, parts);
}

namespace {

constexpr std::string_view kRowsOfSums = "accumulated_rows";
constexpr std::string_view kSumsOfRows = "accumulated_of_rows";

std::string RowsName(const Variable& table) {
  return absl::StrCat(std::string(kRowsOfSums), "/", table.name());
}

// The two variables; not ok, with an error kept, if they cannot be made.
struct RowSums {
  Variable rows, sums;
  RowSums(Update& u, const Variable& table, int64_t room) {
    Shape shape = table.shape();
    shape[0] = room;
    rows = u.State(RowsName(table), RowNumberType(table), {room}, static_cast<double>(table.shape()[0]));
    if (rows.ok()) sums = u.Slot(table, kSumsOfRows, shape);
  }
  bool ok() const { return rows.ok() && sums.ok(); }
};

}  // namespace

bool HasRowSums(Update& u, const Variable& parameter) {
  const GraphState& graph = u.builder().function()->graph();
  return u.FindsOwner() && graph.variable_ops.contains(absl::StrCat(u.prefix(), "/", RowsName(parameter)));
}

void AddToRowSums(Call& call, Update& u, const Variable& table, const RowGradients& more, int64_t room) {
  const RowSums kept(u, table, room);
  if (!kept.ok()) return;
  const Where where = call.where();
  const RowGradients all =
      SumByRow(call, table, {u.Read(kept.rows), more.rows.numbers}, {u.Read(kept.sums), more.gradient});
  const Tensor beyond = Slice(all.rows.numbers, {room}, {room + 1}, {}, where);
  const Tensor is_full = u.At(Reshape(beyond, {}, where)) < u.At(static_cast<double>(table.shape()[0]));
  Shape end = more.gradient.shape();
  end[0] = room;
  const Tensor sums = Slice(all.gradient, Shape(end.size(), 0), end, {}, where);
  u.Assign(kept.rows, Slice(all.rows.numbers, {0}, {room}, {}, where));
  u.Assign(kept.sums, Select(u.At(is_full), u.At(std::numeric_limits<double>::quiet_NaN()), u.At(sums)));
}

RowGradients TakeRowSums(Update& u, const Variable& table, const Tensor& counts) {
  GraphState& graph = u.builder().function()->graph();
  const int64_t room =
      VariableOf(graph, graph.variable_ops.at(absl::StrCat(u.prefix(), "/", RowsName(table)))).shape()[0];
  const RowSums kept(u, table, room);
  if (!kept.ok()) return {};
  const Tensor rows = u.Read(kept.rows), sums = u.Read(kept.sums);
  const auto here = [&](const Tensor& like) {
    return u.At(IsPlaced(like) ? Copy(counts, like, u.where()) : counts);
  };
  u.AssignAlways(kept.rows, Select(here(rows), u.At(static_cast<double>(table.shape()[0])), u.At(rows)));
  u.AssignAlways(kept.sums, Select(here(sums), u.At(0.0), u.At(sums)));
  return {{rows}, sums};
}

}  // namespace sinter::optim
