#include "sinter/passes/plan/call_parts.h"

#include "sinter/ir/dialect/factor_rule.h"
#include "sinter/ir/dialect/local_op.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/sharding_rule.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/fusion/buffer_aliases.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/plan/plan_steps.h"

namespace sinter {

using ir::kWhole;
using ir::TypeOf;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;

namespace {

RankedTensorType TensorOf(Value buffer) {
  return llvm::cast<plan_ir::BufferType>(buffer.getType()).getTensor();
}

// True for an exchange of equal parts of dimension 0.
bool MovesRows(Operation* op) {
  auto scatter = llvm::dyn_cast<ir::ReduceScatterOp>(op);
  auto gather = llvm::dyn_cast<ir::AllGatherOp>(op);
  return (scatter && scatter.getSizes().empty()) || (gather && gather.getSizes().empty());
}

RankedTensorType PartOf(RankedTensorType type, int64_t dim, int64_t count) {
  return ir::Resized(type, dim, type.getDimSize(dim) / count);
}

}  // namespace

std::optional<int64_t> CallParts::OutermostDim(RankedTensorType type) {
  for (auto [d, size] : llvm::enumerate(type.getShape())) {
    if (size != 1) return static_cast<int64_t>(d);
  }
  return std::nullopt;
}

std::optional<CallParts> CallParts::Of(plan_ir::CallOp call, int64_t count) {
  CallParts parts(call, count);
  if (!parts.findCuts() || !parts.markOperands() || !parts.isLegal()) return std::nullopt;
  return parts;
}

// From the results, which are cut, back to what they are computed from.
bool CallParts::findCuts() {
  mlir::Block& body = call_.getBody().front();
  for (Value result : body.getTerminator()->getOperands()) {
    const std::optional<int64_t> dim = OutermostDim(TypeOf(result));
    if (!dim || !cut(result, *dim)) return false;
  }
  return llvm::all_of(llvm::reverse(body.without_terminator()), [&](Operation& op) { return follow(&op); });
}

// Returns false if the value is needed in another form already, or has no such parts.
bool CallParts::cut(Value tensor, int64_t dim) {
  if (dim != kWhole && TypeOf(tensor).getDimSize(dim) % count_ != 0) return false;
  return dims_.try_emplace(tensor, dim).first->second == dim;
}

// The op's results are cut along one factor, which all of them name, and so are the operands that name it.
bool CallParts::follow(Operation* op) {
  if (MovesRows(op)) return dims_.lookup(op->getResult(0)) == 0 && cut(op->getOperand(0), 0);
  std::optional<unsigned> factor;
  bool is_read = false;
  const ir::FactorRule rule = ir::FactorsOf(op);
  for (auto [r, result] : llvm::enumerate(op->getResults())) {
    auto found = dims_.find(result);
    is_read |= found != dims_.end();
    if (found == dims_.end() || found->second == kWhole) continue;
    factor = rule.results[r][found->second].front();
  }
  if (!is_read) return true;
  if (!factor) {
    return llvm::all_of(op->getOperands(), [&](Value operand) { return cut(operand, kWhole); });
  }
  const ir::Factor& cut_factor = rule.factors[*factor];
  if (cut_factor.kind != ir::FactorKind::kParallel || cut_factor.size % count_ != 0) return false;
  factors_[op] = *factor;
  // The dimension of which the factor is the outermost part; kWhole if the value does not name it.
  auto dimOf = [&](const ir::ValueFactors& value) -> std::optional<int64_t> {
    int64_t found = kWhole;
    for (auto [d, dim] : llvm::enumerate(value)) {
      if (!llvm::is_contained(dim, *factor)) continue;
      if (dim.front() != *factor || found != kWhole) return std::nullopt;
      found = static_cast<int64_t>(d);
    }
    return found;
  };
  for (auto [result, names] : llvm::zip_equal(op->getResults(), rule.results)) {
    const std::optional<int64_t> dim = dimOf(names);
    if (!dim || *dim == kWhole || !cut(result, *dim)) return false;
  }
  return llvm::all_of(llvm::zip_equal(op->getOperands(), rule.operands), [&](auto each) {
    const std::optional<int64_t> dim = dimOf(std::get<1>(each));
    return dim && cut(std::get<0>(each), *dim);
  });
}

bool CallParts::markOperands() {
  mlir::Block& body = call_.getBody().front();
  const int64_t alignment = ir::TargetModel::Of(ir::DeviceOf(call_)).library_alignment;
  for (auto [tensor, buffer] : llvm::zip_equal(body.getArguments(), call_.getIns())) {
    auto found = dims_.find(tensor);
    is_cut_.push_back(found != dims_.end() && found->second != kWhole);
    if (is_cut_.back() && found->second != OutermostDim(TensorOf(buffer))) return false;
  }
  for (Value out : call_.getOuts()) {
    const Value root = Resolve(out).root;
    if (!root.getDefiningOp<plan_ir::AllocOp>()) return false;
    if (llvm::any_of(root.getUsers(), [](Operation* user) { return llvm::isa<plan_ir::CopyOp>(user); }))
      return false;
    is_cut_.push_back(true);
  }
  return llvm::all_of(llvm::enumerate(call_->getOperands()), [&](auto each) {
    return !is_cut_[each.index()] || BytesOf(each.value()) / count_ % alignment == 0;
  });
}

// A kernel of fewer rows may need another form, which not every group of ops has.
bool CallParts::isLegal() const {
  if (call_.libraryOp()) return true;
  mlir::OpBuilder builder(call_.getContext());
  plan_ir::CallOp part = llvm::cast<plan_ir::CallOp>(call_->cloneWithoutRegions());
  buildBody(part, count_ - 1);
  std::string why;
  const bool is_legal = mlir::succeeded(ir::AnalyzeFusion(part.getBody().front(), &why));
  part.erase();
  return is_legal;
}

Value CallParts::partOf(mlir::OpBuilder& builder, Value buffer, int64_t k) const {
  const RankedTensorType type = TensorOf(buffer);
  auto part = plan_ir::BufferType::get(builder.getContext(), PartOf(type, *OutermostDim(type), count_));
  return builder.create<plan_ir::ViewOp>(call_.getLoc(), part, buffer, k * part.getBytes());
}

void CallParts::buildBody(plan_ir::CallOp part, int64_t k) const {
  mlir::Block& from = call_.getBody().front();
  mlir::Block& to = part.getBody().emplaceBlock();
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(&to);
  mlir::IRMapping mapping;
  for (mlir::BlockArgument argument : from.getArguments()) {
    RankedTensorType type = TypeOf(argument);
    if (is_cut_[argument.getArgNumber()]) type = PartOf(type, *OutermostDim(type), count_);
    mapping.map(argument, to.addArgument(type, argument.getLoc()));
  }
  for (Operation& op : from.without_terminator()) {
    auto factor = factors_.find(&op);
    if (factor == factors_.end()) {
      // Ops that nothing reads have no form.
      if (llvm::none_of(op.getResults(), [&](Value result) { return dims_.contains(result); })) continue;
      Operation* clone = builder.clone(op, mapping);
      if (MovesRows(clone)) clone->getResult(0).setType(PartOf(TypeOf(clone->getResult(0)), 0, count_));
      continue;
    }
    const ir::FactorRule rule = ir::FactorsOf(&op);
    llvm::SmallVector<ir::FactorPart> parts = ir::WholeParts(rule);
    const int64_t size = parts[factor->second].size / count_;
    parts[factor->second] = {size, builder.getI64IntegerAttr(k * size)};
    llvm::SmallVector<Value> operands;
    for (Value operand : op.getOperands()) operands.push_back(mapping.lookup(operand));
    const llvm::SmallVector<Value> made = ir::BuildOnPart(builder, &op, operands, rule, parts);
    for (auto [result, value] : llvm::zip_equal(op.getResults(), made)) mapping.map(result, value);
  }
  llvm::SmallVector<Value> results;
  for (Value result : from.getTerminator()->getOperands()) results.push_back(mapping.lookup(result));
  builder.create<ir::YieldOp>(call_.getLoc(), results);
}

plan_ir::CallOp CallParts::build(mlir::OpBuilder& builder, int64_t k) const {
  llvm::SmallVector<Value> ins, outs;
  for (auto [i, buffer] : llvm::enumerate(call_->getOperands())) {
    const bool is_in = i < call_.getIns().size();
    (is_in ? ins : outs).push_back(is_cut_[i] ? partOf(builder, buffer, k) : buffer);
  }
  const auto name = builder.getStringAttr(call_.getName() + "_part" + llvm::Twine(k));
  auto part = builder.create<plan_ir::CallOp>(call_.getLoc(), ins, outs, name, builder.getI64IntegerAttr(0),
                                              mlir::IntegerAttr(), mlir::DenseI64ArrayAttr(),
                                              call_.getDeviceAttr(), mlir::StringAttr());
  buildBody(part, k);
  llvm::SmallVector<int64_t> pairs;
  if (!part.libraryOp()) {
    for (auto [in, out] : ir::BufferAliases(part.getBody().front())) pairs.append({in, out});
  } else if (call_.getInPlace()) {
    for (size_t i = 0; i + 1 < call_.getInPlace()->size(); i += 2) {
      const int64_t in = (*call_.getInPlace())[i], out = (*call_.getInPlace())[i + 1];
      if (BytesOf(ins[in]) == BytesOf(outs[out])) pairs.append({in, out});
    }
  }
  if (!pairs.empty()) part.setInPlaceAttr(builder.getDenseI64ArrayAttr(pairs));
  return part;
}

}  // namespace sinter
