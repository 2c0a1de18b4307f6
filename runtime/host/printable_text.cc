#include "sinter/runtime/host/printable_text.h"

#include <cstddef>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace sinter {
namespace {

constexpr size_t kMostBytes = 256;

struct Character {
  size_t bytes = 1;
  bool is_printable = false;
};

bool IsPrintable(uint32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return false;
  // Line and paragraph separators, and characters that change the text direction (Unicode 15, Bidi_Control).
  const bool turns = code == 0x061c || code == 0x200e || code == 0x200f ||
                     (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
  return !turns && (code < 0xd800 || code > 0xdfff) && code <= 0x10ffff;
}

// Returns the first character of a non-empty text (RFC 3629).
Character Decode(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {1, IsPrintable(first)};
  const size_t bytes = first >= 0xf0 && first < 0xf8 ? 4 : first >= 0xe0 && first < 0xf0 ? 3 : 2;
  if (first < 0xc2 || first >= 0xf8 || text.size() < bytes) return {};
  uint32_t code = first & (0x7f >> bytes);
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes]) return {};
  return {bytes, IsPrintable(code)};
}

}  // namespace

std::string PrintableText(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    if (out.size() >= kMostBytes) return out + "...";
    const Character character = Decode(text);
    for (size_t i = 0; i < character.bytes; ++i) {
      if (character.is_printable) {
        out += text[i];
      } else {
        absl::StrAppend(&out, "\\x", absl::Hex(static_cast<uint8_t>(text[i]), absl::kZeroPad2));
      }
    }
    text.remove_prefix(character.bytes);
  }
  return out;
}

}  // namespace sinter
