#include "sinter/ir/parse_program.h"

#include <string>

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "mlir/Parser/Parser.h"

namespace sinter::ir {

namespace {

// Larger numbers are clamped to this.
constexpr uint64_t kLargestNumber = uint64_t{1} << 40;

// Reads MLIR's tokens just far enough to find names of values and the numbers after them.
class Reader {
 public:
  explicit Reader(llvm::StringRef text) : text_(text) {}

  bool atEnd() const { return at_ >= text_.size(); }
  unsigned line() const { return line_; }

  // Skips a string, a comment or one character of any other token.
  void skip() {
    if (text_[at_] == '"') {
      for (next(); !atEnd() && text_[at_] != '"' && text_[at_] != '\n'; next()) {
        if (text_[at_] == '\\') next();
      }
      next();
    } else if (text_.substr(at_).starts_with("//")) {
      while (!atEnd() && text_[at_] != '\n') next();
    } else {
      next();
    }
  }

  // Skips the space and comments allowed between a name and its number.
  void skipSpace() {
    while (!atEnd() && (llvm::isSpace(text_[at_]) || text_.substr(at_).starts_with("//"))) skip();
  }

  // Returns the name "%x" that begins here; empty if none does.
  llvm::StringRef name() {
    const size_t begin = at_;
    if (text_[at_] != '%') return {};
    next();
    while (!atEnd() && (llvm::isAlnum(text_[at_]) || llvm::StringRef("_$.-").contains(text_[at_]))) next();
    return text_.slice(begin, at_);
  }

  // Returns the number of "#7" if that comes next; else 0.
  uint64_t number() {
    if (atEnd() || text_[at_] != '#') return 0;
    uint64_t number = 0;
    for (next(); !atEnd() && llvm::isDigit(text_[at_]); next()) {
      number = std::min(kLargestNumber, number * 10 + static_cast<uint64_t>(text_[at_] - '0'));
    }
    return number;
  }

 private:
  void next() {
    if (atEnd()) return;
    if (text_[at_] == '\n') ++line_;
    ++at_;
  }

  llvm::StringRef text_;
  size_t at_ = 0;
  unsigned line_ = 1;
};

mlir::LogicalResult CheckResultNumbers(llvm::StringRef text, llvm::StringRef name,
                                       mlir::MLIRContext* context) {
  llvm::StringMap<uint64_t> largest;  // By name.
  uint64_t sum = 0;
  for (Reader reader(text); !reader.atEnd();) {
    const llvm::StringRef value = reader.name();
    if (value.empty()) {
      reader.skip();
      continue;
    }
    reader.skipSpace();
    const unsigned line = reader.line();
    const uint64_t number = reader.number();
    uint64_t& known = largest[value];
    if (number <= known) continue;
    sum += number - known;
    known = number;
    if (sum <= text.size()) continue;
    auto error = mlir::emitError(mlir::FileLineColLoc::get(context, name, line, 1)) << value << "#";
    (number < kLargestNumber ? error << number : error << "...")
        << " is a result that no op of this text can have; results are counted from 0";
    return error;
  }
  return mlir::success();
}

}  // namespace

mlir::OwningOpRef<mlir::ModuleOp> ParseProgram(llvm::StringRef text, llvm::StringRef name,
                                               mlir::MLIRContext* context) {
  if (mlir::failed(CheckResultNumbers(text, name, context))) return {};
  const std::string terminated = text.str();  // The lexer reads up to a terminating zero.
  return mlir::parseSourceString<mlir::ModuleOp>(terminated, mlir::ParserConfig(context), name);
}

}  // namespace sinter::ir
