#include "sinter/passes/partition/reshard_reasons.h"

#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/op_requests.h"
#include "sinter/passes/partition/variable_cuts.h"

namespace sinter {

using ir::Sharding;
using mlir::Operation;
using mlir::StringAttr;
using mlir::Value;

namespace {
// Limit of wayTo: a gradient's way goes through the whole model.
constexpr size_t kMostLines = 6;
}  // namespace

llvm::SmallVector<Value> ReshardReasons::wayBack(Value value, StringAttr axis) const {
  struct Place {
    Value value;
    unsigned next = 0;  // The operand of its op to try next.
  };
  llvm::SmallVector<Place> places = {{value}};
  llvm::DenseSet<Value> visited = {value};
  const auto way = [&] {
    return llvm::SmallVector<Value>(llvm::map_range(places, [](const Place& place) { return place.value; }));
  };
  llvm::SmallVector<Value> first;
  while (!places.empty()) {
    Place& last = places.back();
    Operation* op = last.value.getDefiningOp();
    if (!op) return way();
    Value found;
    while (!found && last.next < op->getNumOperands()) {
      const Value operand = op->getOperand(last.next++);
      const Sharding* parts = parts_.find(operand);
      const bool has_parts = parts && (parts->isCutBy(axis) || parts->isPartialOver(axis));
      if (has_parts && visited.insert(operand).second) found = operand;
    }
    if (found) {
      places.push_back({found});
      continue;
    }
    if (first.empty()) first = way();
    places.pop_back();
  }
  return first;
}

// Returns the function's argument because of which the axis cuts the value, or the op that first cuts it.
Value ReshardReasons::causeOf(Value value, StringAttr axis) const { return wayBack(value, axis).back(); }

llvm::SmallVector<mlir::Attribute> ReshardReasons::wayTo(Value value, StringAttr axis) const {
  llvm::SmallVector<mlir::Attribute> lines;
  for (const Value visited : wayBack(value, axis)) {
    const mlir::Attribute line = mlir::LocationAttr(visited.getLoc());
    if (visited.getDefiningOp() && lines.size() < kMostLines && !llvm::is_contained(lines, line)) {
      lines.push_back(line);
    }
  }
  return {lines.rbegin(), lines.rend()};
}

// Returns "input \"x\"", "variable \"w\"", or the name of an op.
std::string ReshardReasons::nameOf(Value value) const {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  if (!argument) return ("the " + value.getDefiningOp()->getName().stripDialect() + " here").str();
  const unsigned i = argument.getArgNumber();
  mlir::func::FuncOp function = function_;
  if (auto input = function.getArgAttrOfType<StringAttr>(i, ir::kInputAttr)) {
    return ("input \"" + input.getValue() + "\"").str();
  }
  return ("variable \"" + VariableOfArgument(function, i) + "\"").str();
}

std::string ReshardReasons::nameOf(Operation* reader) {
  if (reader->hasTrait<mlir::OpTrait::IsTerminator>()) return "the end of the function";
  return reader->getName().stripDialect().str();
}

mlir::LogicalResult ReshardReasons::checkGather(Value value, const Sharding& to, Operation* reader) const {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
  const bool is_input = argument && VariableOfArgument(function_, argument.getArgNumber()).empty();
  if (is_input || reader->hasTrait<mlir::OpTrait::IsTerminator>() || reader->hasAttr(ir::kGathersAttr)) {
    return mlir::success();
  }
  for (StringAttr axis : mesh_.getNames()) {
    if (!parts_.find(value)->isCutBy(axis) || to.isCutBy(axis)) continue;
    if (parts_.kindOf(value, axis) != CutKind::kWork) continue;
    auto error = reader->emitOpError()
                 << "needs all of a value of " << value.getType() << ", of which each rank of axis " << axis
                 << " has a part; cut what it reads in the same way, or let values be "
                    "gathered by Reshards::kAutomatic";
    const Value cause = causeOf(value, axis);
    error.attachNote(cause.getLoc()) << "axis " << axis << " cuts it because it cuts " << nameOf(cause);
    return mlir::failure();
  }
  return mlir::success();
}

void ReshardReasons::explain(ir::ReshardOp made, Operation* reader) const {
  const Sharding from = *parts_.find(made.getX()), to = Sharding::Of(made.getTo());
  mlir::Builder builder(made.getContext());
  std::string text;
  Value cause = made.getX();
  StringAttr cut_by;
  const auto* combined =
      llvm::find_if(from.partial, [&](StringAttr axis) { return !to.isPartialOver(axis); });
  if (combined != from.partial.end()) {
    cut_by = *combined;
    cause = causeOf(cause, cut_by);
    const Sharding* const parts = parts_.find(cause);
    const bool is_kept = llvm::isa<mlir::BlockArgument>(cause) && parts && parts->isPartialOver(*combined);
    text = "the ranks have terms of a value that " + nameOf(reader) + " reads, because ";
    text += is_kept ? "each rank of axis \"" + combined->str() + "\" keeps its own terms of "
                    : "axis \"" + combined->str() + "\" cuts ";
    text += nameOf(cause);
    const bool are_rows = llvm::any_of(from.partial, [&](StringAttr one) {
      return to.isCutBy(one) && parts_.kindOf(made.getX(), one) == CutKind::kRows;
    });
    if (are_rows) text += "; each rank gets some rows of the sum";
  }
  for (StringAttr axis : mesh_.getNames()) {
    if (!text.empty() || !from.isCutBy(axis) || to.isCutBy(axis)) continue;
    cause = causeOf(cause, axis);
    cut_by = axis;
    const CutKind kind = parts_.kindOf(made.getX(), axis);
    text = nameOf(reader) + " reads all of a value, of which the ranks have " +
           (kind == CutKind::kRows ? "rows" : "parts") + " because axis \"" + axis.str() + "\" cuts " +
           nameOf(cause) + (kind == CutKind::kStored ? " for storage" : "");
  }
  if (text.empty()) return;
  llvm::SmallVector<mlir::Attribute> because = {builder.getStringAttr(text),
                                                mlir::LocationAttr(cause.getLoc())};
  for (const mlir::Attribute line : wayTo(made.getX(), cut_by)) {
    if (line != because[1]) because.push_back(line);
  }
  made->setAttr(ir::kBecauseAttr, builder.getArrayAttr(because));
}

}  // namespace sinter
