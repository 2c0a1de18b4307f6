#include "sinter/frontend/data/text/split_words.h"

#include <re2/re2.h>

#include <cstddef>
#include <string>

#include "sinter/frontend/data/text/utf8.h"
#include "sinter/runtime/host/status.h"

namespace sinter::data {
namespace {

// The characters of White_Space, within brackets: \s of RE2 has those of ASCII only.
#define SINTER_SPACES \
  R"(\t\n\v\f\r \x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})"

const re2::RE2& PatternOf(WordPattern pattern) {
  // Never destroyed: threads may still use them when the process ends.
  static const auto* const gpt2 = new re2::RE2(
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{L}\p{N})" SINTER_SPACES "]+|[" SINTER_SPACES "]+");
  static const auto* const gpt4 = new re2::RE2(
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\p{L}\p{N})" SINTER_SPACES
      R"(]+[\r\n]*|[)" SINTER_SPACES R"(]*[\r\n]+|[)" SINTER_SPACES "]+");
  return pattern == WordPattern::kGpt2 ? *gpt2 : *gpt4;
}

#undef SINTER_SPACES

// Returns the start of the last character of valid UTF-8.
size_t LastCharacter(std::string_view text) {
  size_t at = text.size() - 1;
  while ((static_cast<uint8_t>(text[at]) & 0xc0u) == 0x80u) --at;
  return at;
}

}  // namespace

void SplitWords(std::string_view text, WordPattern pattern, const std::function<void(std::string_view)>& f) {
  const re2::RE2& words = PatternOf(pattern);
  SINTER_CHECK(words.ok()) << words.error();
  while (!text.empty()) {
    const re2::StringPiece rest(text.data(), text.size());
    re2::StringPiece match;
    const bool found = words.Match(rest, 0, rest.size(), re2::RE2::ANCHOR_START, &match, 1);
    SINTER_CHECK(found && !match.empty()) << "a character that no pattern of words has";
    std::string_view word = text.substr(0, match.size());
    const size_t last = LastCharacter(word);
    size_t at = last;
    const char32_t character = NextCharacter(word, &at);
    // Only the alternative of spaces ends in one; in GPT-4's pattern others end in line breaks.
    const bool breaks = pattern == WordPattern::kGpt4 && (character == '\r' || character == '\n');
    const bool is_spaces = IsWhiteSpace(character) && !breaks;
    if (is_spaces && last > 0 && word.size() < text.size()) word = word.substr(0, last);
    f(word);
    text.remove_prefix(word.size());
  }
}

}  // namespace sinter::data
