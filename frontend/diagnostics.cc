#include "sinter/frontend/diagnostics.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "mlir/IR/Location.h"

namespace sinter {

namespace {

// The first file line below `loc`, and the innermost name above it.
void Find(mlir::Location loc, std::string& name, std::string& line) {
  if (auto file = llvm::dyn_cast<mlir::FileLineColLoc>(loc)) {
    if (line.empty()) line = absl::StrCat(file.getFilename().str(), ":", file.getLine());
  } else if (auto named = llvm::dyn_cast<mlir::NameLoc>(loc)) {
    if (name.empty()) name = named.getName().str();
    Find(named.getChildLoc(), name, line);
  } else if (auto fused = llvm::dyn_cast<mlir::FusedLoc>(loc)) {
    for (mlir::Location part : fused.getLocations()) {
      if (line.empty()) Find(part, name, line);
    }
  } else if (auto call = llvm::dyn_cast<mlir::CallSiteLoc>(loc)) {
    Find(call.getCallee(), name, line);
  }
}

std::string Text(mlir::Diagnostic& diagnostic) {
  std::string text = absl::StrCat(LocationString(diagnostic.getLocation()), ": ", diagnostic.str());
  for (mlir::Diagnostic& note : diagnostic.getNotes()) {
    absl::StrAppend(&text, "\n  ", LocationString(note.getLocation()), ": ", note.str());
  }
  return text;
}

}  // namespace

std::string LocationString(mlir::Location loc) {
  std::string name, line;
  Find(loc, name, line);
  if (line.empty()) line = "(no line)";
  return name.empty() ? line : absl::StrCat(line, ": ", name);
}

Diagnostics::Diagnostics(mlir::MLIRContext* context)
    : handler_(context, [this](mlir::Diagnostic& diagnostic) {
        bool error = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
        (error ? errors_ : remarks_).push_back(Text(diagnostic));
        return mlir::success();
      }) {}

absl::Status Diagnostics::Error(std::string_view stage) const {
  if (errors_.empty())
    return absl::InternalError(absl::StrCat("stage ", std::string(stage), " failed without a message"));
  return absl::InvalidArgumentError(absl::StrJoin(errors_, "\n"));
}

std::vector<std::string> Diagnostics::TakeRemarks() { return std::exchange(remarks_, {}); }

}  // namespace sinter
