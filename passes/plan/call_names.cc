#include "sinter/passes/plan/call_names.h"

#include "llvm/ADT/StringExtras.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter {

namespace {

constexpr size_t kHintLength = 24;

// Returns the user's name of the op, such as "Linear(128)": the first name in the location.
llvm::StringRef FirstName(mlir::Location loc) {
  llvm::StringRef found;
  loc->walk([&](mlir::Location inner) {
    auto name = llvm::dyn_cast<mlir::NameLoc>(inner);
    if (!name) return mlir::WalkResult::advance();
    found = name.getName().getValue();
    return mlir::WalkResult::interrupt();
  });
  return found;
}

std::string Identifier(llvm::StringRef text) {
  std::string identifier;
  for (char c : text) {
    if (llvm::isAlnum(c)) {
      identifier += llvm::toLower(c);
    } else if (!identifier.empty() && identifier.back() != '_') {
      identifier += '_';
    }
    if (identifier.size() == kHintLength) break;
  }
  while (!identifier.empty() && identifier.back() == '_') identifier.pop_back();
  return identifier;
}

llvm::StringRef Mnemonic(mlir::Operation* op) { return op->getName().stripDialect(); }

}  // namespace

mlir::StringAttr CallNames::name(mlir::MLIRContext* context, llvm::StringRef kind, llvm::StringRef hint) {
  std::string text = (kind + "_" + llvm::Twine(count_++)).str();
  std::string suffix = Identifier(hint);
  if (!suffix.empty() && suffix != kind) text += "_" + suffix;
  return mlir::StringAttr::get(context, text);
}

mlir::StringAttr CallNames::nameFusion(ir::FusionOp fusion) {
  // The last op describes the kernel's purpose best.
  mlir::Block& body = fusion.getBody().front();
  mlir::Operation* last = body.getTerminator()->getOperands().back().getDefiningOp();
  llvm::StringRef hint = last ? FirstName(last->getLoc()) : "";
  if (hint.empty() && last) hint = Mnemonic(last);
  return name(fusion.getContext(), "fusion", hint);
}

mlir::StringAttr CallNames::nameLibraryCall(mlir::Operation* op) {
  return name(op->getContext(), Mnemonic(op), FirstName(op->getLoc()));
}

}  // namespace sinter
