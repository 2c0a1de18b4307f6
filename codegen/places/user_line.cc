#include "sinter/codegen/places/user_line.h"

#include "absl/strings/str_cat.h"
#include "llvm/ADT/STLExtras.h"

namespace sinter::codegen {

namespace {

void Visit(mlir::Location loc, const std::string& what, llvm::SmallVector<UserLocation>& found) {
  if (auto line = llvm::dyn_cast<mlir::FileLineColLoc>(loc)) {
    UserLocation user{line.getFilename().str(), line.getLine(), what};
    if (!llvm::is_contained(found, user)) found.push_back(user);
  } else if (auto name = llvm::dyn_cast<mlir::NameLoc>(loc)) {
    Visit(name.getChildLoc(), name.getName().str(), found);
  } else if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(loc)) {
    Visit(call.getCallee(), what, found);
    Visit(call.getCaller(), what, found);
  } else if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(loc)) {
    for (mlir::Location part : fused.getLocations()) Visit(part, what, found);
  } else if (auto opaque = llvm::dyn_cast<mlir::OpaqueLoc>(loc)) {
    Visit(opaque.getFallbackLocation(), what, found);
  }
}

}  // namespace

llvm::SmallVector<UserLocation> UserLocations(mlir::Location loc) {
  llvm::SmallVector<UserLocation> found;
  Visit(loc, "", found);
  return found;
}

std::string UserLine(mlir::Location loc) {
  llvm::SmallVector<UserLocation> found = UserLocations(loc);
  if (found.empty()) return "unknown line";
  return absl::StrCat(found.front().file, ":", found.front().line);
}

}  // namespace sinter::codegen
