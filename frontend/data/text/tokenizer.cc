#include "sinter/frontend/data/text/tokenizer.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/data/sets/lines.h"
#include "sinter/frontend/data/text/byte_pairs.h"
#include "sinter/frontend/data/text/sentence_pieces.h"
#include "sinter/frontend/data/text/utf8.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {

absl::StatusOr<Tokenizer> Tokenizer::Load(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    return LoadBytePairs(path + "/vocab.json", path + "/merges.txt");
  }
  SINTER_ASSIGN_OR_RETURN(std::shared_ptr<const TokenModel> model, LoadSentencePieces(path));
  return Tokenizer(std::move(model));
}

absl::StatusOr<Tokenizer> Tokenizer::LoadBytePairs(const std::string& vocab_json,
                                                   const std::string& merges_txt,
                                                   const BytePairOptions& options) {
  SINTER_ASSIGN_OR_RETURN(std::shared_ptr<const TokenModel> model,
                          BytePairs::Load(vocab_json, merges_txt, options));
  return Tokenizer(std::move(model));
}

absl::StatusOr<std::vector<int32_t>> Tokenizer::Ids(std::string_view text,
                                                    const EncodeOptions& options) const {
  if (const std::optional<size_t> bad = FindBadUtf8(text); bad.has_value()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the text is no UTF-8: byte ", *bad, " is 0x",
                     absl::Hex(static_cast<uint8_t>(text[*bad]), absl::kZeroPad2)));
  }
  if ((options.begin && !begin().has_value()) || (options.end && !end().has_value())) {
    return absl::InvalidArgumentError(
        absl::StrCat("the tokenizer's model has no token of ",
                     options.begin && !begin().has_value() ? "a beginning" : "an end"));
  }
  const int64_t extra = (options.begin ? 1 : 0) + (options.end ? 1 : 0);
  if (options.max_length < 0 || (options.max_length > 0 && options.max_length < extra)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "max_length is ", options.max_length, ", which has no room for the tokens of beginning and end"));
  }
  std::vector<int32_t> ids;
  if (options.begin) ids.push_back(*begin());
  SINTER_RETURN_IF_ERROR(model_->Append(text, options.parse_special, &ids));
  const auto room = static_cast<size_t>(options.max_length - (options.end ? 1 : 0));
  if (options.max_length > 0 && ids.size() > room) ids.resize(room);
  if (options.end) ids.push_back(*end());
  return ids;
}

absl::StatusOr<HostTensor> Tokenizer::Encode(std::string_view text, const EncodeOptions& options) const {
  SINTER_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, Ids(text, options));
  return HostTensor::FromVector({1, static_cast<int64_t>(ids.size())}, ids);
}

absl::StatusOr<Example> Tokenizer::Encode(Example example, const EncodeOptions& options, size_t field) const {
  if (field >= example.fields.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Encode is to read field ", field, ", but the example has ", example.fields.size(), " fields"));
  }
  SINTER_ASSIGN_OR_RETURN(const std::string text, TextOf(example.fields[field]));
  SINTER_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, Ids(text, options));
  SINTER_ASSIGN_OR_RETURN(example.fields[field],
                          HostTensor::FromVector({static_cast<int64_t>(ids.size())}, ids));
  return example;
}

MapFunction Tokenizer::EncodeMap(const EncodeOptions& options, size_t field) const {
  return [tokenizer = *this, options, field](Example example, SplitMix&) {
    return tokenizer.Encode(std::move(example), options, field);
  };
}

absl::StatusOr<std::string> Tokenizer::Decode(std::span<const int32_t> ids) const {
  for (const int32_t id : ids) {
    if (id >= 0 && id < size()) continue;
    return absl::InvalidArgumentError(absl::StrCat("there is no id ", id, " in a vocabulary of ", size()));
  }
  return model_->Decode(ids);
}

std::string Tokenizer::Decode(int32_t id) const {
  return id >= 0 && id < size() ? model_->Piece(id) : std::string();
}

int32_t Tokenizer::size() const { return model_->size(); }
std::optional<int32_t> Tokenizer::Find(std::string_view token) const { return model_->Find(token); }
std::optional<int32_t> Tokenizer::begin() const { return model_->begin(); }
std::optional<int32_t> Tokenizer::end() const { return model_->end(); }

}  // namespace sinter::data
