// Names of generated functions: the user's kernel name and a hash of the text, so equal texts share a name.
//
//   // "squared_diff_9f86d081"
//   std::string symbol = absl::StrCat(SymbolName("squared diff"), "_", ShortHash(text));
#ifndef SINTER_CODEGEN_PLACES_SYMBOL_NAME_H_
#define SINTER_CODEGEN_PLACES_SYMBOL_NAME_H_

#include <string>

#include "llvm/ADT/StringRef.h"

namespace sinter::codegen {

// Returns a C identifier: other characters become "_", and a "k" is put before a leading digit or an empty
// name.
std::string SymbolName(llvm::StringRef name);

// Returns the first 4 bytes of the text's SHA-256, as 8 lower-case hexadecimal digits.
std::string ShortHash(llvm::StringRef text);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLACES_SYMBOL_NAME_H_
