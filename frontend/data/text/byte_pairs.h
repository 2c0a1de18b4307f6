// The model of a tokenizer by byte pairs, as GPT-2's files have it, for Sinter's own sources.
//
// The bytes of a word are tokens first. Of all pairs of neighbours, the one that stands first in the list of
// merges becomes one token, the leftmost first, until no pair is in the list (Sennrich, Haddow and Birch,
// arXiv 1508.07909). A heap of pairs makes that n log n for a word of n bytes.
#ifndef SINTER_FRONTEND_DATA_TEXT_BYTE_PAIRS_H_
#define SINTER_FRONTEND_DATA_TEXT_BYTE_PAIRS_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/data/text/token_model.h"
#include "sinter/frontend/data/text/tokenizer.h"

namespace sinter::data {

class BytePairs final : public TokenModel {
 public:
  // Errors as Tokenizer::LoadBytePairs.
  static absl::StatusOr<std::shared_ptr<const BytePairs>> Load(const std::string& vocab_json,
                                                               const std::string& merges_txt,
                                                               const BytePairOptions& options);

  int32_t size() const override { return static_cast<int32_t>(bytes_.size()); }
  absl::Status Append(std::string_view text, bool parse_special, std::vector<int32_t>* ids) const override;
  absl::StatusOr<std::string> Decode(std::span<const int32_t> ids) const override;
  std::string Piece(int32_t id) const override { return bytes_[static_cast<size_t>(id)]; }
  std::optional<int32_t> Find(std::string_view token) const override;
  std::optional<int32_t> begin() const override;
  std::optional<int32_t> end() const override { return begin(); }

 private:
  struct Merge {
    uint32_t rank = 0;
    int32_t id = 0;  // Id of the merged token.
  };

  absl::Status ReadVocabulary(const std::string& path);
  absl::Status ReadMerges(const std::string& path);
  absl::Status FindSpecial(const std::string& path, const std::vector<std::string>& special);
  const Merge* FindMerge(int32_t left, int32_t right) const;
  absl::Status AppendWords(std::string_view text, std::vector<int32_t>* ids) const;
  absl::Status AppendWord(std::string_view word, std::vector<int32_t>* ids) const;

  WordPattern words_ = WordPattern::kGpt2;
  std::unordered_map<std::string, int32_t> ids_;  // By the token as vocab.json writes it.
  std::vector<std::string> bytes_;                // Bytes of each id; empty for ids without a token.
  std::array<int32_t, 256> byte_ids_ = {};        // -1 if the vocabulary lacks the byte.
  std::unordered_map<uint64_t, Merge> merges_;    // By the two ids.
  std::vector<std::pair<std::string, int32_t>> special_;
};

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_TEXT_BYTE_PAIRS_H_
