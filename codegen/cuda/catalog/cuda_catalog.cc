#include "sinter/codegen/cuda/catalog/cuda_catalog.h"

#include "absl/strings/str_cat.h"
#include "sinter/codegen/places/user_line.h"

namespace sinter::codegen {

const CudaCatalog& CudaCatalog::Default() {
  static const CudaCatalog& catalog = *[] {
    auto* made = new CudaCatalog;
    PopulateCudaCatalog(*made);
    return made;
  }();
  return catalog;
}

bool CudaCatalog::Has(mlir::Operation* op) const {
  auto found = entries_.find(op->getName().getStringRef());
  if (found == entries_.end()) return false;
  return !found->second.computes || found->second.computes(op);
}

absl::StatusOr<CudaCatalogCall> CudaCatalog::Lower(mlir::Operation* op) const {
  const std::string name = op->getName().getStringRef().str();
  auto found = entries_.find(name);
  if (found == entries_.end()) {
    return absl::UnimplementedError(
        absl::StrCat(UserLine(op->getLoc()), ": ", name, " has no kernel for GPUs"));
  }
  if (!Has(op)) {
    std::string type;
    llvm::raw_string_ostream(type) << op->getResult(0).getType();
    return absl::UnimplementedError(
        absl::StrCat(UserLine(op->getLoc()), ": ", name, " to ", type,
                     " has no kernel in the catalogue for GPUs; a library computes it"));
  }
  return found->second.lowering(op);
}

}  // namespace sinter::codegen
