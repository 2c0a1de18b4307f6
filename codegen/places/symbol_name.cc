#include "sinter/codegen/places/symbol_name.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

namespace sinter::codegen {
namespace {

constexpr size_t kHashBytes = 4;

}  // namespace

std::string SymbolName(llvm::StringRef name) {
  std::string result;
  for (char c : name) result += llvm::isAlnum(c) ? c : '_';
  return result.empty() || llvm::isDigit(result[0]) ? "k" + result : result;
}

std::string ShortHash(llvm::StringRef text) {
  const auto digest = llvm::SHA256::hash(llvm::ArrayRef(text.bytes_begin(), text.size()));
  return llvm::toHex(llvm::ArrayRef(digest).take_front(kHashBytes), /*LowerCase=*/true);
}

}  // namespace sinter::codegen
