#include "sinter/codegen/content_hash.h"

#include <algorithm>
#include <array>

#include "llvm/Support/SHA256.h"
#include "sinter/runtime/status.h"

namespace sinter::codegen {

void WriteContentHash(std::string& bytes, size_t offset) {
  SINTER_CHECK(offset + kContentHashBytes <= bytes.size());
  auto place = bytes.begin() + offset;
  std::fill(place, place + kContentHashBytes, '\0');
  llvm::SHA256 sha;
  sha.update(llvm::StringRef(bytes));
  std::array<uint8_t, kContentHashBytes> hash = sha.final();
  std::copy(hash.begin(), hash.end(), place);
}

}  // namespace sinter::codegen
