// The tokens of a text, and windows of them to train language models on.
//
//   SINTER_ASSIGN_OR_RETURN(TokenSet text, TokenSet::ReadBytes("input.txt"));  // A token a byte.
//   SINTER_ASSIGN_OR_RETURN(TokenSet train, text.Part(0, text.size() * 9 / 10));
//   SplitMix bits(seed, /*stream=*/step);
//   SINTER_RETURN_IF_ERROR(train.Draw(bits, x, y));  // i32 [batch, time]; y is x shifted by one token.
//
// A file stays open while a set of its tokens exists, and windows are read on demand, so the file may be
// larger than the main memory. If another program overwrites the file meanwhile, later reads see the new
// tokens; if it shortens the file, reads return DataLoss. Sets are cheap to copy. A batch depends only on the
// bits. A run that draws step n's batch from stream n can therefore resume at any step.
//
// A file of token ids is little-endian u16 or u32, with or without the header of llm.c's data files. That
// header is 256 i32: 20240520 and the version 1 (u16) or 20240801 and 7 (u32), the number of tokens, zeros.
//
// Errors: DataLoss for a malformed file (an odd size, a size that differs from its header), Unimplemented for
// another version, InvalidArgument for no tokens or the header of the other width, and the errors of
// runtime/formats/file.h, which reading windows may return too.
#ifndef SINTER_FRONTEND_DATA_TOKENS_H_
#define SINTER_FRONTEND_DATA_TOKENS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/data/splitmix.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

class TokenSet {
 public:
  static absl::StatusOr<TokenSet> ReadBytes(const std::string& path);
  static absl::StatusOr<TokenSet> ReadU16(const std::string& path);
  // For vocabularies above 65,536. An id of 2^31 or more is DataLoss when it is read.
  static absl::StatusOr<TokenSet> ReadU32(const std::string& path);
  static absl::StatusOr<TokenSet> FromVector(std::vector<uint16_t> tokens);

  int64_t size() const { return size_; }
  // Copies out.size() tokens, starting at `begin`. InvalidArgument if the set ends before.
  absl::Status CopyTo(int64_t begin, std::span<int32_t> out) const;
  // Returns the largest id; a model's vocabulary must be larger. Reads all tokens.
  absl::StatusOr<int32_t> Largest() const;

  // Returns the tokens in [begin, end). InvalidArgument if the range is empty or not within the set.
  absl::StatusOr<TokenSet> Part(int64_t begin, int64_t end) const;

  // Fills x and y, both i32 [batch, time], with windows that start at random positions. InvalidArgument for
  // tensors of another type or different shapes, or if the set has no more tokens than a window.
  absl::Status Draw(SplitMix& bits, HostTensor& x, HostTensor& y) const;
  // Like Draw, with consecutive windows that start at token `first`. InvalidArgument also if the set ends too
  // early.
  absl::Status Read(int64_t first, HostTensor& x, HostTensor& y) const;

 private:
  TokenSet() = default;
  static absl::StatusOr<TokenSet> ReadWide(const std::string& path, int64_t width, int32_t magic,
                                           int32_t version);
  absl::Status CheckWindows(const HostTensor& x, const HostTensor& y) const;
  absl::Status CopyWindow(int64_t start, int64_t row, HostTensor& x, HostTensor& y) const;

  // Exactly one of the two is not null.
  std::shared_ptr<const FileReader> file_;
  std::shared_ptr<const std::vector<uint16_t>> words_;
  int64_t bytes_ = 2;  // Bytes of a token in the file.
  int64_t first_ = 0;  // Start of the set: a byte offset in the file, or an index into the words.
  int64_t size_ = 0;
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_TOKENS_H_
