// The tokens of a text, and windows of them: what language models are trained on.
//
//   SINTER_ASSIGN_OR_RETURN(TokenSet text, TokenSet::ReadBytes("input.txt"));     // Every byte is a token, 0 to 255.
//   SINTER_ASSIGN_OR_RETURN(TokenSet train, text.Part(0, text.size() * 9 / 10));
//   SplitMix bits(seed, /*stream=*/step);
//   SINTER_RETURN_IF_ERROR(train.Draw(bits, x, y));      // x, y: i32 [batch, time]; y is x, one token on.
//
// A file stays open as long as a set of its tokens lives, and windows are read when they are asked for: it may be larger than
// the main memory. Who overwrites it meanwhile changes the tokens that follow; who shortens it gives DataLoss, no crash. Sets
// are cheap to copy. A batch depends on the bits alone, so that a run that draws those of step n from stream n resumes at any
// step.
//
// Files of token ids are little-endian u16: nothing else, or behind the header of llm.c's data files, which is 256 i32: 20240520,
// the version 1, the number of tokens, zeros.
//
// Errors: DataLoss for what such a file cannot be (an odd size, another number of tokens than its header says),
// Unimplemented for another version, InvalidArgument for no tokens, and those of runtime/formats/file.h, which reading windows
// may give too.
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
  static absl::StatusOr<TokenSet> FromVector(std::vector<uint16_t> tokens);

  int64_t size() const { return size_; }
  // The tokens from `begin` on, as many as `out` takes. InvalidArgument: there are not that many.
  absl::Status CopyTo(int64_t begin, std::span<int32_t> out) const;
  // The largest id; a model needs a larger vocabulary. Reads all tokens.
  absl::StatusOr<int32_t> Largest() const;

  // The tokens from `begin` to before `end`. InvalidArgument when there are none, or not that many.
  absl::StatusOr<TokenSet> Part(int64_t begin, int64_t end) const;

  // Fills x and y, both i32 [batch, time], with windows that start at random places. InvalidArgument: tensors of other types
  // or of different shapes, or no more tokens than a window has.
  absl::Status Draw(SplitMix& bits, HostTensor& x, HostTensor& y) const;
  // The same with windows that follow each other, from the token `first` on; InvalidArgument also where the tokens end.
  absl::Status Read(int64_t first, HostTensor& x, HostTensor& y) const;

 private:
  TokenSet() = default;
  absl::Status CheckWindows(const HostTensor& x, const HostTensor& y) const;
  absl::Status CopyWindow(int64_t start, int64_t row, HostTensor& x, HostTensor& y) const;

  // One of the two is null.
  std::shared_ptr<const FileReader> file_;
  std::shared_ptr<const std::vector<uint16_t>> words_;
  int64_t bytes_ = 2;  // Of a token in the file.
  int64_t first_ = 0;  // Where the set begins: a byte of the file, or an index into the words.
  int64_t size_ = 0;
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_TOKENS_H_
