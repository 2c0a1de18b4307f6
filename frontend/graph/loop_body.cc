// The bodies of loops while they are built: part of FunctionBuilder (graph_state.h).
#include "llvm/ADT/SetVector.h"
#include "sinter/frontend/graph/graph_state.h"

namespace sinter {

mlir::Block& FunctionBuilder::EnterBody(int64_t trips, const std::vector<mlir::Type>& types,
                                        mlir::Location loc) {
  OpenBody& body = bodies_.emplace_back(
      OpenBody{std::make_unique<mlir::Region>(), trips, loc, builder_.saveInsertionPoint(), {}});
  for (const auto& [name, values] : values_) body.values_before[name] = values.size();
  mlir::Block& block = body.region->emplaceBlock();
  block.addArgument(mlir::RankedTensorType::get({}, builder_.getIntegerType(64)), loc);
  for (mlir::Type type : types) block.addArgument(type, loc);
  builder_.setInsertionPointToEnd(&block);
  return block;
}

bool FunctionBuilder::IsOpen(mlir::Value value) const {
  mlir::Block* const block = value.getParentBlock();
  if (block == &func_.getBody().front()) return true;
  return std::ranges::any_of(bodies_, [&](const OpenBody& body) { return &body.region->front() == block; });
}

// The first read of a variable adds an argument, which the function has from then on.
size_t FunctionBuilder::CountBefore(const OpenBody& body, const std::string& name) const {
  const auto before = body.values_before.find(name);
  if (before != body.values_before.end() && before->second > 0) return before->second;
  const std::vector<mlir::Value>& values = values_.at(name);
  auto first = values.empty() ? mlir::BlockArgument() : llvm::dyn_cast<mlir::BlockArgument>(values.front());
  if (!first || first.getOwner() != &func_.getBody().front()) return 0;
  auto variable =
      argument_attributes_[first.getArgNumber()].getAs<mlir::FlatSymbolRefAttr>(ir::kVariableAttr);
  return variable && variable.getValue() == name ? 1 : 0;
}

void FunctionBuilder::ForgetValuesOf(const OpenBody& body) {
  for (auto& [name, values] : values_) values.resize(std::min(values.size(), CountBefore(body, name)));
}

void FunctionBuilder::DropBody() {
  ForgetValuesOf(bodies_.back());
  builder_.restoreInsertionPoint(bodies_.back().before);
  bodies_.pop_back();
}

// A variable that the body assigned is a carry: what the body read of it before is the value of the trip.
void FunctionBuilder::CarryVariables(OpenBody& body, LoopValues& loop, std::vector<ir::VariableOp>& carried) {
  for (ir::VariableOp variable : assigned_) {
    const std::string name = variable.getSymName().str();
    std::vector<mlir::Value>& values = values_.at(name);
    const mlir::Value last = values.back();
    const size_t before = CountBefore(body, name);
    if (values.size() <= before) continue;
    if (before == 0) values.clear();
    const mlir::Value old = before == 0 ? Read(variable) : values[before - 1];
    loop.first.push_back(old);
    loop.next.push_back(last);
    carried.push_back(variable);
  }
}

// Adds carries for what a loop yields beyond those that it has. They begin as zeros: no trip reads them.
void FunctionBuilder::AddUnreadCarries(OpenBody& body, LoopValues& loop) {
  mlir::Block& block = body.region->front();
  const mlir::OpBuilder::InsertPoint inside = builder_.saveInsertionPoint();
  builder_.restoreInsertionPoint(body.before);
  ir::GraphBuilder b(builder_, body.loc);
  while (loop.first.size() < loop.next.size())
    loop.first.push_back(b.zeros(b.wrap(loop.next[loop.first.size()])).value);
  builder_.restoreInsertionPoint(inside);
  for (size_t i = block.getNumArguments() - 1 - loop.slices.size(); i < loop.first.size(); ++i)
    block.insertArgument(static_cast<unsigned>(1 + i), loop.first[i].getType(), body.loc);
}

llvm::SmallVector<mlir::Value> FunctionBuilder::FinishBody(LoopValues loop) {
  OpenBody body = std::move(bodies_.back());
  mlir::Block& block = body.region->front();
  AddUnreadCarries(body, loop);
  const size_t own = loop.first.size();
  std::vector<ir::VariableOp> carried;
  CarryVariables(body, loop, carried);
  if (loop.is_default && carried.empty() && block.empty()) {
    ForgetValuesOf(body);
    builder_.restoreInsertionPoint(body.before);
    bodies_.pop_back();
    loop.next[0] = loop.first[0];
    return loop.next;
  }
  const auto replace = [&](mlir::Value from, mlir::Value to) {
    from.replaceUsesWithIf(to, [&](mlir::OpOperand& use) { return use.getOwner()->getBlock() == &block; });
    for (llvm::SmallVector<mlir::Value>* list : {&loop.next, &loop.stacked})
      std::replace(list->begin(), list->end(), from, to);
  };
  for (size_t i = own; i < loop.first.size(); ++i) {
    replace(loop.first[i],
            block.insertArgument(static_cast<unsigned>(1 + i), loop.first[i].getType(), body.loc));
  }
  llvm::SetVector<mlir::Value> around;
  const auto note = [&](mlir::Value value) {
    if (value.getParentBlock() != &block) around.insert(value);
  };
  for (mlir::Operation& op : block) {
    for (mlir::Value operand : op.getOperands()) note(operand);
  }
  for (mlir::Value value : loop.next) note(value);
  for (mlir::Value value : loop.stacked) note(value);
  for (mlir::Value value : around) replace(value, block.addArgument(value.getType(), value.getLoc()));
  llvm::SmallVector<mlir::Value> yields = loop.next;
  yields.append(loop.stacked);
  builder_.setInsertionPointToEnd(&block);
  builder_.create<ir::YieldOp>(body.loc, yields);
  ForgetValuesOf(body);
  builder_.restoreInsertionPoint(body.before);
  bodies_.pop_back();
  llvm::SmallVector<mlir::Type> types;
  for (mlir::Value value : loop.next) types.push_back(value.getType());
  for (mlir::Value value : loop.stacked) types.push_back(ir::ScanOp::stackType(value.getType(), body.trips));
  auto scan = builder_.create<ir::ScanOp>(body.loc, types, body.trips, loop.reverse, loop.is_guarded,
                                          loop.first, loop.slices, around.getArrayRef());
  scan.getBody().takeBody(*body.region);
  for (auto [i, variable] : llvm::enumerate(carried)) Assign(variable, scan.getResult(own + i));
  llvm::SmallVector<mlir::Value> results(scan.getResults().take_front(own));
  llvm::append_range(results, scan.stacks());
  return results;
}

}  // namespace sinter
