// Turns text into ids of a vocabulary, and back.
//
//   SINTER_ASSIGN_OR_RETURN(auto words, data::Tokenizer::Load("tokenizer.model"));
//   SINTER_ASSIGN_OR_RETURN(HostTensor prompt, words.Encode("Once upon a time"));        // i32 [1, t]
//   std::cout << words.Decode(id);                                                       // As ids come.
//
//   SINTER_ASSIGN_OR_RETURN(data::Dataset text, data::Lines("corpus.txt"));
//   data::Dataset ids = text.Map(words.EncodeMap({.end = true, .max_length = 512}), {"ids"});
//
// Models: SentencePiece's files, unigram or BPE, by the SentencePiece library; and byte pairs as GPT-2 has
// them: vocab.json and merges.txt (Radford et al., "Language Models are Unsupervised Multitask Learners",
// 2019). Text is UTF-8; other bytes are an error. Letters, numbers and spaces are those of the version of
// Unicode that the RE2 library knows, so characters that are newer than the library may be split otherwise.
//
// A tokenizer is a cheap handle. Several threads may use it at once.
#ifndef SINTER_FRONTEND_DATA_TEXT_TOKENIZER_H_
#define SINTER_FRONTEND_DATA_TEXT_TOKENIZER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/data/dataset.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::data {

class TokenModel;

struct EncodeOptions {
  bool begin = false;      // Puts the model's token of a beginning in front.
  bool end = false;        // Puts the model's token of an end behind.
  int64_t max_length = 0;  // Leaves out ids at the text's end, so that at most so many are left. 0: no limit.
  // Special tokens in the text, such as "<|endoftext|>", become their ids; else they are text like any other.
  // Set it for text that the program writes, not for text of others. Byte pairs only: SentencePiece's models
  // say themselves which of their tokens are found in text.
  bool parse_special = false;
};

// How the text is cut into words before byte pairs are merged within each.
enum class WordPattern {
  kGpt2,  // GPT-2, GPT-3, RoBERTa.
  kGpt4,  // GPT-4's cl100k: numbers of 3 digits at most, line breaks with the punctuation in front of them.
};

struct BytePairOptions {
  WordPattern words = WordPattern::kGpt2;
  // Tokens that no text makes unless parse_special. The first one is the token of a beginning and an end.
  // Empty: none.
  std::vector<std::string> special = {"<|endoftext|>"};
};

class Tokenizer {
 public:
  // A SentencePiece model file, or a folder with GPT-2's vocab.json and merges.txt. Errors: those of
  // runtime/formats/file.h; DataLoss, with the file, for one that is no such model.
  static absl::StatusOr<Tokenizer> Load(const std::string& path);

  // Byte pairs from these two files. InvalidArgument for a special token that the vocabulary lacks. DataLoss:
  // another form of file, two tokens with one id, or a merge of tokens or to a token that the vocabulary
  // lacks.
  static absl::StatusOr<Tokenizer> LoadBytePairs(const std::string& vocab_json, const std::string& merges_txt,
                                                 const BytePairOptions& options = {});

  // Returns the ids. InvalidArgument: the text is no UTF-8 (the message has the place), the model has no
  // token of a beginning or an end, parse_special with SentencePiece, a byte that the vocabulary lacks, or a
  // max_length that has no room for beginning and end.
  absl::StatusOr<std::vector<int32_t>> Ids(std::string_view text, const EncodeOptions& options = {}) const;

  // The same as i32 [1, length].
  absl::StatusOr<HostTensor> Encode(std::string_view text, const EncodeOptions& options = {}) const;
  // The example with ids, i32 [length], in place of the text in `field`, u8 [bytes].
  absl::StatusOr<Example> Encode(Example example, const EncodeOptions& options = {}, size_t field = 0) const;
  // The same as a function of Dataset::Map.
  MapFunction EncodeMap(const EncodeOptions& options = {}, size_t field = 0) const;

  // Returns the text. It is no UTF-8 if the ids end within a character. InvalidArgument for an id that is not
  // in the vocabulary.
  absl::StatusOr<std::string> Decode(std::span<const int32_t> ids) const;
  // Returns the text of one id among others: a space that begins the word stays, and a piece of a character
  // is not completed. Empty for an id that is not in the vocabulary.
  std::string Decode(int32_t id) const;

  int32_t size() const;  // Size of the vocabulary: ids are below it.
  // Returns the id of a token, as the vocabulary writes it. nullopt if there is none.
  std::optional<int32_t> Find(std::string_view token) const;
  std::optional<int32_t> begin() const;
  std::optional<int32_t> end() const;

 private:
  explicit Tokenizer(std::shared_ptr<const TokenModel> model) : model_(std::move(model)) {}

  std::shared_ptr<const TokenModel> model_;
};

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_TEXT_TOKENIZER_H_
