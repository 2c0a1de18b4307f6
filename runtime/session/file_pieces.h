// The pieces of a file's tensors, which several threads read or write.
//
//   FilePieces pieces;
//   for (size_t i = 0; i < parts.size(); ++i) pieces.Add(i, parts[i].elements, /*size=*/4);
//   SINTER_RETURN_IF_ERROR(pieces.ForEach(pool.threads(), [&](const FilePiece& piece, std::byte* memory) {
//     return Write(parts[piece.item], piece.first, piece.count, memory);
//   }));
//
// Checksums, copies and the system's own work on files take more time than a quick disk, so one thread is not
// enough for it.
#ifndef SINTER_RUNTIME_SESSION_FILE_PIECES_H_
#define SINTER_RUNTIME_SESSION_FILE_PIECES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/formats/file.h"

namespace sinter::internal_session {

// Elements [first, first + count) of the caller's item.
struct FilePiece {
  size_t item;
  int64_t first, count;
};

class FilePieces {
 public:
  // The most of a piece.
  static constexpr int64_t kBytes = int64_t{4} << 20;
  // The pieces of a part can go past the page cache.
  static constexpr int64_t kAlignment = SharedFile::kAlignment;
  // `memory`: the calling thread's own, aligned to kAlignment; holds any piece, and 2 * kAlignment bytes
  // more.
  using Work = std::function<absl::Status(const FilePiece& piece, std::byte* memory)>;

  // Adds the pieces of an item: `elements` of `size` bytes. If it begins at `offset` in the file and is in
  // one piece there, all pieces but the first begin at multiples of kAlignment.
  void Add(size_t item, int64_t elements, int64_t size, uint64_t offset = 0);
  // Calls `work` for each piece, about in the order of Add, on `threads` threads, but at least 2 and at most
  // 8. Returns the first error, after which no piece begins. ResourceExhausted: no memory.
  absl::Status ForEach(int threads, const Work& work) const;

 private:
  std::vector<FilePiece> pieces_;
  int64_t most_bytes_ = 0;  // Bytes of the largest piece.
};

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_SESSION_FILE_PIECES_H_
