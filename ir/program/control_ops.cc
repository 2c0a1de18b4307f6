#include "llvm/ADT/BitVector.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/PatternMatch.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"
#include "sinter/ir/dialect/tensor_types.h"

#define GET_OP_CLASSES
#include "ir/control_ops.cc.inc"

namespace sinter::ir {

void AddControlOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/control_ops.cc.inc"
      >();
}

namespace {

template <typename Loop>
mlir::LogicalResult CheckGuard(Loop loop) {
  if (!loop.getGuarded()) return mlir::success();
  auto flag = mlir::RankedTensorType::get({}, mlir::IntegerType::get(loop.getContext(), 1));
  if (loop.getCarries().empty() || loop.getCarries()[0].getType() != flag) {
    return loop.emitOpError("is guarded by its first carry; expected one of type tensor<i1>");
  }
  const size_t carries = loop.getCarries().size();
  if (loop.getTrips() > 1 && (!loop.getSlices().empty() || loop.getNumResults() > carries)) {
    return loop.emitOpError() << "ends by its guard after any of " << static_cast<int64_t>(loop.getTrips())
                              << " trips, and has slices or stacks; expected carries and invariants alone";
  }
  return mlir::success();
}

// Checks the types of a loop against those of one trip: the body's arguments, without the trip's number, and
// what it yields.
template <typename Loop>
mlir::LogicalResult CheckTrip(Loop loop, mlir::TypeRange arguments, mlir::TypeRange yields) {
  const int64_t trips = loop.getTrips();
  if (trips < 0 || trips >= int64_t{1} << 31) {
    return loop.emitOpError() << "makes " << trips << " trips; expected 0 to 2147483647";
  }
  const size_t carries = loop.getCarries().size(), slices = loop.getSlices().size();
  if (mlir::failed(CheckGuard(loop))) return mlir::failure();
  if (arguments.size() != loop.getNumOperands()) {
    return loop.emitOpError() << "has " << loop.getNumOperands() << " operands and a body of "
                              << arguments.size() << " arguments; expected one for each";
  }
  if (yields.size() != loop.getNumResults() || yields.size() < carries) {
    return loop.emitOpError() << "has " << carries << " carries, " << loop.getNumResults()
                              << " results and a body that yields " << yields.size()
                              << "; expected the carries, then the stacks";
  }
  for (auto [i, operand] : llvm::enumerate(loop->getOperands())) {
    const bool is_slice = i >= carries && i < carries + slices;
    const mlir::Type whole = is_slice ? ScanOp::stackType(arguments[i], trips) : arguments[i];
    if (operand.getType() == whole) continue;
    return loop.emitOpError() << "operand " << i << " is " << operand.getType() << " and the body's argument "
                              << arguments[i] << "; expected " << whole;
  }
  for (auto [i, result] : llvm::enumerate(loop->getResults())) {
    const bool is_stack = i >= carries;
    const mlir::Type whole = is_stack ? ScanOp::stackType(yields[i], trips) : yields[i];
    if (result.getType() != whole) {
      return loop.emitOpError() << "result " << i << " is " << result.getType() << " and the body yields "
                                << yields[i] << "; expected " << whole;
    }
    if (!is_stack && yields[i] != arguments[i]) {
      return loop.emitOpError() << "gets carry " << i << " as " << arguments[i] << " and yields " << yields[i]
                                << "; expected the same type";
    }
  }
  return mlir::success();
}

}  // namespace

// scan
// -----------------------------------------------------------------------------------------------------------

mlir::RankedTensorType ScanOp::stackType(mlir::Type slice, int64_t trips) {
  auto type = llvm::cast<mlir::RankedTensorType>(slice);
  llvm::SmallVector<int64_t> shape = {trips};
  llvm::append_range(shape, type.getShape());
  return mlir::RankedTensorType::get(shape, type.getElementType());
}

mlir::Block::BlockArgListType ScanOp::carryArguments() {
  return block().getArguments().slice(1, getCarries().size());
}
mlir::Block::BlockArgListType ScanOp::sliceArguments() {
  return block().getArguments().slice(1 + getCarries().size(), getSlices().size());
}
mlir::Block::BlockArgListType ScanOp::invariantArguments() {
  return block().getArguments().drop_front(1 + getCarries().size() + getSlices().size());
}
mlir::ValueRange ScanOp::nextCarries() { return yield().getValues().take_front(getCarries().size()); }
mlir::ValueRange ScanOp::stacked() { return yield().getValues().drop_front(getCarries().size()); }

mlir::LogicalResult ScanOp::verify() {
  auto yield = block().empty() ? nullptr : llvm::dyn_cast<YieldOp>(block().back());
  if (!yield) return emitOpError("has a region that does not end in sinter.yield");
  auto number = mlir::RankedTensorType::get({}, mlir::IntegerType::get(getContext(), 64));
  if (block().getNumArguments() == 0 || block().getArgument(0).getType() != number) {
    return emitOpError("has a region whose first argument is not the trip; expected tensor<i64>");
  }
  mlir::TypeRange arguments = block().getArgumentTypes();
  return CheckTrip(*this, arguments.drop_front(1), yield.getValues().getTypes());
}

mlir::LogicalResult ScanOp::canonicalize(ScanOp scan, mlir::PatternRewriter& rewriter) {
  const size_t carries = scan.getCarries().size(), slices = scan.getSlices().size();
  llvm::SmallVector<mlir::Value> kept_slices, kept_invariants, yields, results;
  llvm::SmallVector<mlir::Type> types;
  llvm::BitVector is_unread(scan.block().getNumArguments());
  for (auto [i, operand] : llvm::enumerate(scan->getOperands().drop_front(carries))) {
    if (scan.block().getArgument(1 + carries + i).use_empty()) {
      is_unread.set(1 + carries + i);
    } else {
      (i < slices ? kept_slices : kept_invariants).push_back(operand);
    }
  }
  for (auto [i, result] : llvm::enumerate(scan.getResults())) {
    if (i >= carries && result.use_empty()) continue;
    types.push_back(result.getType());
    results.push_back(result);
    yields.push_back(scan.yield().getValues()[i]);
  }
  if (is_unread.none() && results.size() == scan.getNumResults()) return mlir::failure();
  auto smaller =
      rewriter.create<ScanOp>(scan.getLoc(), types, scan.getTripsAttr(), scan.getReverseAttr(),
                              scan.getGuardedAttr(), scan.getCarries(), kept_slices, kept_invariants);
  smaller->setDiscardableAttrs(scan->getDiscardableAttrDictionary());
  rewriter.modifyOpInPlace(scan.yield(), [&] { scan.yield().getValuesMutable().assign(yields); });
  rewriter.modifyOpInPlace(scan, [&] { scan.block().eraseArguments(is_unread); });
  rewriter.inlineRegionBefore(scan.getBody(), smaller.getBody(), smaller.getBody().end());
  for (auto [old, now] : llvm::zip_equal(results, smaller.getResults()))
    rewriter.replaceAllUsesWith(old, now);
  rewriter.eraseOp(scan);
  return mlir::success();
}

// sinter.scan 8 reverse guarded carry(%h : types) over(%x : types) with(%w : types) -> (types) { ^bb0(...):
// ... }
void ScanOp::print(mlir::OpAsmPrinter& p) {
  p << ' ' << static_cast<int64_t>(getTrips());
  if (getReverse()) p << " reverse";
  if (getGuarded()) p << " guarded";
  for (auto [name, operands] : {std::pair<llvm::StringRef, mlir::ValueRange>("carry", getCarries()),
                                {"over", getSlices()},
                                {"with", getInvariants()}}) {
    if (operands.empty()) continue;
    p << ' ' << name << '(' << operands << " : " << operands.getTypes() << ')';
  }
  p << " -> (" << getResults().getTypes() << ')';
  p.printOptionalAttrDictWithKeyword(
      (*this)->getAttrs(),
      {getTripsAttrName(), getReverseAttrName(), getGuardedAttrName(), getOperandSegmentSizesAttrName()});
  p << ' ';
  p.printRegion(getBody());
}

mlir::ParseResult ScanOp::parse(mlir::OpAsmParser& parser, mlir::OperationState& result) {
  int64_t trips = 0;
  if (parser.parseInteger(trips)) return mlir::failure();
  result.addAttribute("trips", parser.getBuilder().getI64IntegerAttr(trips));
  for (llvm::StringRef name : {"reverse", "guarded"}) {
    if (mlir::succeeded(parser.parseOptionalKeyword(name)))
      result.addAttribute(name, parser.getBuilder().getUnitAttr());
  }
  llvm::SmallVector<int32_t> sizes;
  for (llvm::StringRef name : {"carry", "over", "with"}) {
    llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand> operands;
    llvm::SmallVector<mlir::Type> types;
    const auto where = parser.getCurrentLocation();
    if (mlir::succeeded(parser.parseOptionalKeyword(name)) &&
        (parser.parseLParen() || parser.parseOperandList(operands) || parser.parseColonTypeList(types) ||
         parser.parseRParen() || parser.resolveOperands(operands, types, where, result.operands))) {
      return mlir::failure();
    }
    sizes.push_back(static_cast<int32_t>(operands.size()));
  }
  result.getOrAddProperties<Properties>().setOperandSegmentSizes(sizes);
  if (parser.parseArrow() || parser.parseLParen()) return mlir::failure();
  if (parser.parseOptionalRParen()) {
    if (parser.parseTypeList(result.types) || parser.parseRParen()) return mlir::failure();
  }
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes)) return mlir::failure();
  // Value names are local to the region, as in sinter.fusion.
  const auto where = parser.getCurrentLocation();
  mlir::Region* body = result.addRegion();
  if (parser.parseRegion(*body, /*arguments=*/{}, /*enableNameShadowing=*/true)) return mlir::failure();
  if (body->empty())
    return parser.emitError(where, "has an empty region; expected ops that end in sinter.yield");
  return mlir::success();
}

// loop
// -----------------------------------------------------------------------------------------------------------

mlir::LogicalResult LoopOp::verify() {
  if (getNumResults() >= getCarries().size()) return mlir::success();
  return emitOpError() << "has " << getCarries().size() << " carries and " << getNumResults()
                       << " results; expected the carries, then the stacks";
}

mlir::LogicalResult LoopOp::verifySymbolUses(mlir::SymbolTableCollection& symbols) {
  auto module = (*this)->getParentOfType<mlir::ModuleOp>();
  mlir::Operation* found = symbols.lookupSymbolIn(module, getBodyAttr());
  // Once it is lowered, the function works on buffers, and its plan.function has the types.
  if (found && !llvm::isa<mlir::func::FuncOp>(found)) return mlir::success();
  auto function = llvm::cast_or_null<mlir::func::FuncOp>(found);
  if (!function || !function.isPrivate() || function.isExternal()) {
    return emitOpError() << "runs " << getBodyAttr() << "; expected a private function of the module";
  }
  return CheckTrip(*this, function.getArgumentTypes(), function.getResultTypes());
}

FactorRule LoopOp::getFactorRule() { return WholeFactors(*this); }

// The carry after the last trip may be where the first one was.
bool LoopOp::mayUpdateInPlace(unsigned operand, unsigned result) {
  return operand == result && operand < getCarries().size();
}

}  // namespace sinter::ir
