#include "sinter/frontend/graph/diagnostics.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"

namespace sinter {

namespace {

// The most bytes of a message or note (constants may be long), and the most errors kept.
constexpr size_t kLongest = 1000, kMostErrors = 20;

// Finds the first file line in `loc` and the outermost name above it.
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

// Returns the line and the text; only the text if there is no line.
std::string Located(mlir::Location loc, const std::string& text) {
  if (llvm::isa<mlir::UnknownLoc>(loc)) return text;
  return absl::StrCat(LocationString(loc), ": ", text);
}

// Replaces every match of `pattern` by the result of `replace` for its groups.
std::string Replace(llvm::StringRef text, const char* pattern,
                    const std::function<std::string(llvm::ArrayRef<llvm::StringRef>)>& replace) {
  const llvm::Regex regex(pattern);
  std::string result;
  llvm::SmallVector<llvm::StringRef> groups;
  while (regex.match(text, &groups)) {
    const size_t begin = static_cast<size_t>(groups[0].data() - text.data());
    absl::StrAppend(&result, text.take_front(begin).str(), replace(groups));
    text = text.drop_front(begin + groups[0].size());
  }
  return absl::StrCat(result, text.str());
}

// Returns Sinter's name of an element type: u16 for ui16, f8e4m3 for f8E4M3FN.
std::string ElementName(llvm::StringRef type) {
  if (type.consume_front("ui")) return absl::StrCat("u", type.str());
  type.consume_back("FN");
  return type.lower();
}

// Rewrites an error in the builder's words: "'sinter.pad' op of 'tensor<2xui8>'" becomes "pad of u8[2]".
// Passes write errors in the IR's words, for tests and for readers of IR.
std::string Plain(const std::string& text) {
  using Groups = llvm::ArrayRef<llvm::StringRef>;
  std::string plain = Replace(text, "'[a-z_]+\\.([a-z0-9_.]+)'( op)?", [](Groups g) { return g[1].str(); });
  plain =
      Replace(plain, "'?(tensor|memref)<([0-9?]+x)*(u?[if][0-9]+(E[0-9]M[0-9](FN)?)?|bf16)(, [^>]*>?)?>'?",
              [](Groups g) {
                llvm::StringRef inside = g[0].drop_front(g[0].find('<') + 1);
                const size_t element = inside.find(g[3]);
                llvm::SmallVector<llvm::StringRef> sizes;
                inside.take_front(element).split(sizes, 'x', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
                return absl::StrCat(ElementName(g[3]), "[", llvm::join(sizes, ","), "]");
              });
  plain =
      Replace(plain, "'(u?[if][0-9]+(E[0-9]M[0-9](FN)?)?|bf16)'", [](Groups g) { return ElementName(g[1]); });
  plain = Replace(plain, "#sinter.device<([a-z]+), ([0-9]+)>",
                  [](Groups g) { return absl::StrCat(g[1].str(), ":", g[2].str()); });
  if (plain.size() <= kLongest) return plain;
  return absl::StrCat(plain.substr(0, kLongest / 2), " ... ", plain.substr(plain.size() - kLongest / 2));
}

std::string Text(mlir::Diagnostic& diagnostic, bool is_error) {
  auto in_words = [&](const std::string& text) { return is_error ? Plain(text) : text; };
  std::string text = Located(diagnostic.getLocation(), in_words(diagnostic.str()));
  for (mlir::Diagnostic& note : diagnostic.getNotes()) {
    absl::StrAppend(&text, "\n  ", Located(note.getLocation(), in_words(note.str())));
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
    : context_(context),
      printed_ops_(context->shouldPrintOpOnDiagnostic()),
      handler_(context, [this](mlir::Diagnostic& diagnostic) {
        const bool is_error = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
        if (is_error && errors_.size() >= kMostErrors) {
          ++more_errors_;
        } else {
          (is_error ? errors_ : remarks_).push_back(Text(diagnostic, is_error));
        }
        return mlir::success();
      }) {
  // Otherwise an error includes the op as text; for a module that is the whole program.
  context_->printOpOnDiagnostic(false);
}

Diagnostics::~Diagnostics() { context_->printOpOnDiagnostic(printed_ops_); }

absl::Status Diagnostics::Error(std::string_view stage) const {
  if (errors_.empty())
    return absl::InternalError(absl::StrCat("stage ", std::string(stage), " failed without a message"));
  return absl::InvalidArgumentError(
      absl::StrCat(absl::StrJoin(errors_, "\n"),
                   more_errors_ > 0 ? absl::StrCat("\nand ", more_errors_, " errors more") : ""));
}

std::vector<std::string> Diagnostics::TakeRemarks() { return std::exchange(remarks_, {}); }

}  // namespace sinter
