#include "sinter/passes/plan/row_exchanges.h"

#include <map>

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/passes/plan/call_parts.h"
#include "sinter/passes/plan/plan_steps.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

namespace {

// The dimension of which the factor is the outermost part; kWhole if the value does not name the factor.
// nullopt if it names the factor in another way.
std::optional<int64_t> DimOf(const ir::ValueFactors& value, unsigned factor) {
  std::optional<int64_t> found;
  for (auto [d, dim] : llvm::enumerate(value)) {
    if (!llvm::is_contained(dim, factor)) continue;
    if (dim.front() != factor || found) return std::nullopt;
    found = static_cast<int64_t>(d);
  }
  return found.value_or(-1);
}

// True if the value is the same along a dimension, whatever its rows are.
bool IsEqualAlong(Value value, int64_t dim) {
  Operation* op = value.getDefiningOp();
  if (!op) return false;
  if (auto constant = llvm::dyn_cast<ir::ConstantOp>(op)) {
    return llvm::isa<mlir::SplatElementsAttr>(constant.getValue());
  }
  if (auto iota = llvm::dyn_cast<ir::IotaOp>(op)) return static_cast<int64_t>(iota.getDim()) != dim;
  if (llvm::isa<ir::BroadcastOp>(op)) {
    const ir::FactorRule rule = ir::FactorsOf(op);
    return llvm::none_of(rule.results[0][dim], [&](unsigned f) { return rule.operandNames(0, f); });
  }
  return llvm::isa<ir::PointwiseInterface>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return IsEqualAlong(operand, dim); });
}

bool IsAll(const BufferOffset& place, Value buffer) {
  return place.offset == 0 && BytesOf(buffer) == BytesOf(place.root);
}

}  // namespace

RowExchanges::RowExchanges(llvm::ArrayRef<Operation*> steps, int64_t count) : steps_(steps), count_(count) {
  for (unsigned s = 0; s < steps.size(); ++s) visit(s);
  std::map<unsigned, Family> by_leader;
  for (unsigned s = 0; s < steps.size(); ++s) {
    if (linked_.findValue(s) != linked_.end()) by_leader[linked_.getLeaderValue(s)].push_back(s);
  }
  for (const unsigned exchange : forbidden_) by_leader.erase(linked_.getLeaderValue(exchange));
  for (auto& [leader, family] : by_leader) families_.push_back(std::move(family));
}

// Returns an exchange of the family whose rows the buffer has.
std::optional<unsigned> RowExchanges::movedIn(Value buffer) {
  const BufferOffset place = Resolve(buffer);
  auto found = moved_.find(place.root);
  if (found == moved_.end()) return std::nullopt;
  if (!IsAll(place, buffer)) forbid(found->second);
  return found->second;
}

void RowExchanges::visit(unsigned s) {
  auto call = llvm::dyn_cast<plan_ir::CallOp>(steps_[s]);
  Operation* const op = call ? call.libraryOp() : nullptr;
  if (llvm::isa_and_nonnull<ir::ReduceScatterOp>(op) && !movedIn(call.getIns()[0]) &&
      CallParts::Of(call, count_)) {
    const BufferOffset place = Resolve(call.getOuts()[0]);
    linked_.insert(s);
    moved_[place.root] = s;
    if (!IsAll(place, call.getOuts()[0]) || IsHandedOut(place.root)) forbid(s);
    return;
  }
  if (llvm::isa_and_nonnull<ir::AllGatherOp>(op)) {
    const auto from = movedIn(call.getIns()[0]);
    if (!from) return;
    auto scatter = llvm::cast<ir::ReduceScatterOp>(CollectiveOf(steps_[*from])->op);
    const bool gathers =
        CallParts::Of(call, count_) && llvm::cast<ir::AllGatherOp>(op).getGroup() == scatter.getGroup();
    gathers ? static_cast<void>(linked_.unionSets(*from, s)) : forbid(*from);
    return;
  }
  if (call) return visitCall(s, call);
  for (Value buffer : steps_[s]->getOperands()) {
    if (const auto from = movedIn(buffer)) forbid(*from);
  }
}

// Other exchanges combine the same rows of all ranks only if the ranks have the same rows.
void RowExchanges::visitCall(unsigned s, plan_ir::CallOp call) {
  MovedDims dims;
  std::optional<unsigned> family;
  mlir::Block& body = call.getBody().front();
  for (auto [tensor, buffer] : llvm::zip_equal(body.getArguments(), call.getIns())) {
    const auto from = movedIn(buffer);
    if (!from) continue;
    if (family) linked_.unionSets(*family, *from);
    family = from;
    dims[tensor] = *CallParts::OutermostDim(ir::TypeOf(tensor));
  }
  bool follows = true;
  if (family) {
    follows = !CollectiveOf(call) &&
              llvm::all_of(body.without_terminator(), [&](Operation& op) { return follow(&op, dims); });
    if (!follows) forbid(*family);
  }
  for (auto [tensor, buffer] : llvm::zip_equal(body.getTerminator()->getOperands(), call.getOuts())) {
    const BufferOffset place = Resolve(buffer);
    auto found = dims.find(tensor);
    const bool is_moved = follows && found != dims.end();
    if (auto other = moved_.find(place.root); other != moved_.end()) forbid(other->second);
    if (!is_moved) continue;
    moved_[place.root] = *family;
    if (!IsAll(place, buffer) || IsHandedOut(place.root) || !place.root.getDefiningOp<plan_ir::AllocOp>() ||
        found->second != CallParts::OutermostDim(ir::TypeOf(tensor))) {
      forbid(*family);
    }
  }
}

// Finds the results of an op that have other rows. Returns false if the op computes something else from them.
bool RowExchanges::follow(Operation* op, MovedDims& dims) const {
  std::optional<unsigned> factor;
  const ir::FactorRule rule = ir::FactorsOf(op);
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto found = dims.find(operand);
    if (found == dims.end()) continue;
    const unsigned own = rule.operands[i][found->second].front();
    if (factor && *factor != own) return false;
    factor = own;
  }
  if (!factor) return true;
  const ir::Factor& rows = rule.factors[*factor];
  if (rows.is_counted || rows.kind == ir::FactorKind::kWhole || rows.kind == ir::FactorKind::kOwned ||
      rows.size % count_ != 0) {
    return false;
  }
  for (auto [operand, names] : llvm::zip_equal(op->getOperands(), rule.operands)) {
    const std::optional<int64_t> dim = DimOf(names, *factor);
    if (!dim) return false;
    auto found = dims.find(operand);
    const int64_t moved = found == dims.end() ? -1 : found->second;
    if (moved != *dim && (moved != -1 || !IsEqualAlong(operand, *dim))) return false;
  }
  for (auto [result, names] : llvm::zip_equal(op->getResults(), rule.results)) {
    const std::optional<int64_t> dim = DimOf(names, *factor);
    if (!dim) return false;
    if (*dim != -1) dims[result] = *dim;
  }
  return true;
}

}  // namespace sinter
