#include "sinter/frontend/data/text/byte_pairs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <queue>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/data/text/split_words.h"
#include "sinter/frontend/data/text/utf8.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/untrusted_bytes.h"

namespace sinter::data {
namespace {

// More than any vocabulary has; a larger id would only use memory.
constexpr int64_t kMostIds = int64_t{1} << 24;

// The characters that stand for bytes in the files: printable ones for themselves, the others, in order, the
// characters from 256 on.
std::array<char32_t, 256> CharactersOfBytes() {
  std::array<char32_t, 256> characters = {};
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool is_printable = (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    characters[byte] = is_printable ? byte : next++;
  }
  return characters;
}

// Returns the bytes that a token stands for. A token with other characters, such as an added one, is itself.
std::string BytesOfToken(const std::string& token) {
  static const auto* const bytes = [] {
    auto* const map = new std::unordered_map<char32_t, char>;
    const std::array<char32_t, 256> characters = CharactersOfBytes();
    for (size_t byte = 0; byte < 256; ++byte) map->emplace(characters[byte], static_cast<char>(byte));
    return map;
  }();
  std::string result;
  for (size_t at = 0; at < token.size();) {
    const auto found = bytes->find(NextCharacter(token, &at));
    if (found == bytes->end()) return token;
    result += found->second;
  }
  return result;
}

uint64_t KeyOf(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

// A token of a word that is being merged.
struct Part {
  int32_t id = 0;  // -1: merged into the one in front.
  size_t previous = 0;
  size_t next = 0;
};

struct Candidate {
  uint32_t rank = 0;
  size_t at = 0;  // The left part.
  int32_t left = 0, right = 0, merged = 0;

  bool operator>(const Candidate& other) const { return std::tie(rank, at) > std::tie(other.rank, other.at); }
};

}  // namespace

absl::Status BytePairs::ReadVocabulary(const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(const FileBytes file, FileBytes::Read(path));
  const auto json = nlohmann::json::parse(file.text(), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.empty()) {
    return absl::DataLossError(
        absl::StrCat(path, ": is no vocabulary: it must be a JSON object of tokens and ids"));
  }
  for (const auto& [token, id] : json.items()) {
    const int64_t number = id.is_number_integer() ? id.get<int64_t>() : -1;
    if (number < 0 || number >= kMostIds) {
      return absl::DataLossError(absl::StrCat(path, ": the id of '", token, "' is ", id.dump(),
                                              "; ids are numbers from 0 to ", kMostIds - 1));
    }
    const auto place = static_cast<size_t>(number);
    if (place >= bytes_.size()) bytes_.resize(place + 1);
    if (!bytes_[place].empty()) {
      return absl::DataLossError(
          absl::StrCat(path, ": two tokens have the id ", number, ", one is '", token, "'"));
    }
    bytes_[place] = BytesOfToken(token);
    ids_.emplace(token, static_cast<int32_t>(number));
  }
  const std::array<char32_t, 256> characters = CharactersOfBytes();
  for (size_t byte = 0; byte < 256; ++byte) {
    std::string token;
    AppendUtf8(characters[byte], &token);
    byte_ids_[byte] = Find(token).value_or(-1);
  }
  return absl::OkStatus();
}

absl::Status BytePairs::ReadMerges(const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(const FileBytes file, FileBytes::Read(path));
  std::string_view rest = file.text();
  uint32_t rank = 0;
  for (int line_number = 1; !rest.empty(); ++line_number) {
    std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || (line_number == 1 && line.starts_with("#version"))) continue;
    const size_t space = line.find(' ');
    const std::string left(line.substr(0, space));
    const std::string right(space == std::string_view::npos ? "" : line.substr(space + 1));
    if (left.empty() || right.empty() || right.find(' ') != std::string::npos) {
      return absl::DataLossError(absl::StrCat(path, ":", line_number, ": is no merge: '", std::string(line),
                                              "'; a line has two tokens with a space between"));
    }
    const std::optional<int32_t> a = Find(left), b = Find(right), merged = Find(left + right);
    if (!a.has_value() || !b.has_value() || !merged.has_value()) {
      const std::string& lacking = !a.has_value() ? left : !b.has_value() ? right : left + right;
      return absl::DataLossError(
          absl::StrCat(path, ":", line_number, ": the vocabulary lacks the token '", lacking, "'"));
    }
    merges_.emplace(KeyOf(*a, *b), Merge{rank++, *merged});
  }
  return absl::OkStatus();
}

absl::Status BytePairs::FindSpecial(const std::string& path, const std::vector<std::string>& special) {
  for (const std::string& token : special) {
    const std::optional<int32_t> id = Find(token);
    if (token.empty() || !id.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " lacks the special token '", token,
                       "'; name those it has in BytePairOptions::special, or none"));
    }
    special_.emplace_back(token, *id);
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<const BytePairs>> BytePairs::Load(const std::string& vocab_json,
                                                                 const std::string& merges_txt,
                                                                 const BytePairOptions& options) {
  auto model = std::make_shared<BytePairs>();
  model->words_ = options.words;
  SINTER_RETURN_IF_ERROR(WithinMemory(vocab_json, [&] { return model->ReadVocabulary(vocab_json); }));
  SINTER_RETURN_IF_ERROR(WithinMemory(merges_txt, [&] { return model->ReadMerges(merges_txt); }));
  SINTER_RETURN_IF_ERROR(model->FindSpecial(vocab_json, options.special));
  return model;
}

std::optional<int32_t> BytePairs::Find(std::string_view token) const {
  const auto found = ids_.find(std::string(token));
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::optional<int32_t> BytePairs::begin() const {
  if (special_.empty()) return std::nullopt;
  return special_[0].second;
}

const BytePairs::Merge* BytePairs::FindMerge(int32_t left, int32_t right) const {
  const auto found = merges_.find(KeyOf(left, right));
  return found == merges_.end() ? nullptr : &found->second;
}

absl::Status BytePairs::AppendWord(std::string_view word, std::vector<int32_t>* ids) const {
  std::vector<Part> parts(word.size());
  for (size_t i = 0; i < word.size(); ++i) {
    const auto byte = static_cast<uint8_t>(word[i]);
    parts[i] = {byte_ids_[byte], i - 1, i + 1};  // In front of the first is SIZE_MAX.
    if (parts[i].id >= 0) continue;
    return absl::InvalidArgumentError(absl::StrCat("the vocabulary has no token for the byte 0x",
                                                   absl::Hex(byte, absl::kZeroPad2), " of '",
                                                   std::string(word), "'"));
  }
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> candidates;
  const auto consider = [&](size_t at) {
    if (at >= parts.size() || parts[at].next >= parts.size()) return;
    const int32_t left = parts[at].id, right = parts[parts[at].next].id;
    if (const Merge* merge = FindMerge(left, right))
      candidates.push({merge->rank, at, left, right, merge->id});
  };
  for (size_t i = 0; i + 1 < parts.size(); ++i) consider(i);
  while (!candidates.empty()) {
    const Candidate best = candidates.top();
    candidates.pop();
    Part& left = parts[best.at];
    // Merges have changed one of the two since.
    if (left.id != best.left || left.next >= parts.size() || parts[left.next].id != best.right) continue;
    Part& right = parts[left.next];
    left.id = best.merged;
    right.id = -1;
    left.next = right.next;
    if (left.next < parts.size()) parts[left.next].previous = best.at;
    consider(left.previous);
    consider(best.at);
  }
  for (size_t i = 0; i < parts.size(); i = parts[i].next) ids->push_back(parts[i].id);
  return absl::OkStatus();
}

absl::Status BytePairs::AppendWords(std::string_view text, std::vector<int32_t>* ids) const {
  absl::Status status;
  SplitWords(text, words_, [&](std::string_view word) {
    if (status.ok()) status = AppendWord(word, ids);
  });
  return status;
}

absl::Status BytePairs::Append(std::string_view text, bool parse_special, std::vector<int32_t>* ids) const {
  while (parse_special && !text.empty()) {
    // The first special token, and the longest of those that begin there.
    size_t at = std::string_view::npos;
    const std::pair<std::string, int32_t>* first = nullptr;
    for (const auto& token : special_) {
      const size_t found = text.find(token.first);
      if (found == std::string_view::npos) continue;
      if (first != nullptr && (found > at || (found == at && token.first.size() < first->first.size())))
        continue;
      at = found;
      first = &token;
    }
    if (first == nullptr) break;
    SINTER_RETURN_IF_ERROR(AppendWords(text.substr(0, at), ids));
    ids->push_back(first->second);
    text.remove_prefix(at + first->first.size());
  }
  return AppendWords(text, ids);
}

absl::StatusOr<std::string> BytePairs::Decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) text += bytes_[static_cast<size_t>(id)];
  return text;
}

}  // namespace sinter::data
