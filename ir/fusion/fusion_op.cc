// The verifier and the text of sinter.fusion: see program_ops.td.
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/fusion/fusion_domain.h"

namespace sinter::ir {
namespace {

template <typename Values>
mlir::LogicalResult SameTypes(FusionOp op, llvm::StringRef outside, mlir::ValueRange outer,
                              llvm::StringRef inside, Values inner) {
  if (outer.size() != inner.size()) {
    return op.emitOpError() << "has " << outer.size() << " " << outside << "s and " << inner.size() << " "
                            << inside << "s; expected as many";
  }
  for (auto [i, a, b] : llvm::enumerate(outer, inner)) {
    if (a.getType() != b.getType()) {
      return op.emitOpError() << outside << " " << i << " is " << a.getType() << ", the region's " << inside
                              << " " << b.getType();
    }
  }
  return mlir::success();
}

}  // namespace

mlir::LogicalResult FusionOp::verify() {
  mlir::Block& block = getBody().front();
  auto yield = block.empty() ? nullptr : llvm::dyn_cast<YieldOp>(block.back());
  if (!yield) return emitOpError("has a region that does not end in sinter.yield");
  if (mlir::failed(SameTypes(*this, "input", getInputs(), "argument", block.getArguments())) ||
      mlir::failed(SameTypes(*this, "output", getOutputs(), "result", yield.getValues()))) {
    return mlir::failure();
  }
  return VerifyFusedBody(*this, block);
}

// sinter.fusion(%a, %b : types) -> (types) attributes {...} { ^bb0(...): ... }
void FusionOp::print(mlir::OpAsmPrinter& p) {
  p << '(';
  if (!getInputs().empty()) p << getInputs() << " : " << getInputs().getTypes();
  p << ") -> (" << getOutputs().getTypes() << ')';
  p.printOptionalAttrDictWithKeyword((*this)->getAttrs());
  p << ' ';
  p.printRegion(getBody());
}

mlir::ParseResult FusionOp::parse(mlir::OpAsmParser& parser, mlir::OperationState& result) {
  llvm::SmallVector<mlir::OpAsmParser::UnresolvedOperand> operands;
  llvm::SmallVector<mlir::Type> types;
  auto where = parser.getCurrentLocation();
  if (parser.parseLParen()) return mlir::failure();
  if (parser.parseOptionalRParen()) {
    if (parser.parseOperandList(operands) || parser.parseColonTypeList(types) || parser.parseRParen() ||
        parser.resolveOperands(operands, types, where, result.operands)) {
      return mlir::failure();
    }
  }
  if (parser.parseArrow() || parser.parseLParen()) return mlir::failure();
  if (parser.parseOptionalRParen()) {
    if (parser.parseTypeList(result.types) || parser.parseRParen()) return mlir::failure();
  }
  if (parser.parseOptionalAttrDictWithKeyword(result.attributes)) return mlir::failure();
  mlir::Region* body = result.addRegion();
  // Value names are local to the region; otherwise an operand could name a value that only the region
  // defines.
  if (parser.parseRegion(*body, /*arguments=*/{}, /*enableNameShadowing=*/true)) return mlir::failure();
  if (body->empty())
    return parser.emitError(where, "has an empty region; expected ops that end in sinter.yield");
  return mlir::success();
}

}  // namespace sinter::ir
