// Names of generated functions: what the user calls a kernel, and a hash of its text, so that equal texts have one name.
//
//   std::string symbol = absl::StrCat(SymbolName("squared diff"), "_", ShortHash(text));   // "squared_diff_9f86d081"
#ifndef SINTER_CODEGEN_PLACES_SYMBOL_NAME_H_
#define SINTER_CODEGEN_PLACES_SYMBOL_NAME_H_

#include <string>

#include "llvm/ADT/StringRef.h"

namespace sinter::codegen {

// An identifier of C: other characters become "_", and one that would begin with a digit or be empty begins with "k".
std::string SymbolName(llvm::StringRef name);

// The first 4 bytes of the text's SHA-256, as 8 lower-case hexadecimal digits.
std::string ShortHash(llvm::StringRef text);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLACES_SYMBOL_NAME_H_
