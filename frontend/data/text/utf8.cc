#include "sinter/frontend/data/text/utf8.h"

namespace sinter::data {
namespace {

// Returns the bytes of the character that begins with this byte; 0 if none does.
size_t LengthFrom(uint8_t first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first < 0xe0) return 2;
  if (first >= 0xe0 && first < 0xf0) return 3;
  if (first >= 0xf0 && first < 0xf5) return 4;
  return 0;
}

}  // namespace

char32_t NextCharacter(std::string_view text, size_t* at) {
  const auto first = static_cast<uint8_t>(text[*at]);
  const size_t length = LengthFrom(first);
  char32_t character = length == 1 ? first : first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    character = (character << 6) | (static_cast<uint8_t>(text[*at + i]) & 0x3fu);
  }
  *at += length;
  return character;
}

std::optional<size_t> FindBadUtf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t begin = at, length = LengthFrom(static_cast<uint8_t>(text[at]));
    if (length == 0 || length > text.size() - at) return begin;
    for (size_t i = 1; i < length; ++i) {
      if ((static_cast<uint8_t>(text[at + i]) & 0xc0u) != 0x80u) return begin;
    }
    const char32_t character = NextCharacter(text, &at);
    const bool is_long = (length == 3 && character < 0x800) || (length == 4 && character < 0x10000);
    if (is_long || character > 0x10ffff || (character >= 0xd800 && character < 0xe000)) return begin;
  }
  return std::nullopt;
}

void AppendUtf8(char32_t character, std::string* to) {
  if (character < 0x80) {
    to->push_back(static_cast<char>(character));
    return;
  }
  const int continuations = character < 0x800 ? 1 : character < 0x10000 ? 2 : 3;
  const uint32_t begin = 0xf00u >> (continuations + 1) & 0xffu;
  to->push_back(static_cast<char>(begin | (character >> (6 * continuations))));
  for (int i = continuations - 1; i >= 0; --i) {
    to->push_back(static_cast<char>(0x80u | ((character >> (6 * i)) & 0x3fu)));
  }
}

bool IsWhiteSpace(char32_t c) {
  return (c >= 0x9 && c <= 0xd) || c == ' ' || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

}  // namespace sinter::data
