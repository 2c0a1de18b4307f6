// The plan file's content hash: SHA-256 of the file with the hash's own bytes zero.
//
//   WriteContentHash(bytes, offset);
#ifndef SINTER_CODEGEN_CONTENT_HASH_H_
#define SINTER_CODEGEN_CONTENT_HASH_H_

#include <cstddef>
#include <string>

namespace sinter::codegen {

inline constexpr size_t kContentHashBytes = 32;

// Overwrites the kContentHashBytes at `offset` with the hash of `bytes`.
void WriteContentHash(std::string& bytes, size_t offset);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CONTENT_HASH_H_
