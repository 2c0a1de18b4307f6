// Checks and reads UTF-8 (RFC 3629).
//
//   std::optional<size_t> bad = FindBadUtf8(text);       // nullopt if all of it is UTF-8
#ifndef SINTER_FRONTEND_DATA_TEXT_UTF8_H_
#define SINTER_FRONTEND_DATA_TEXT_UTF8_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sinter::data {

// Returns the position of the first byte of what is no character: a stray or missing continuation, a form
// that is longer than needed, half of a surrogate pair, or a number above 0x10ffff. nullopt if there is none.
std::optional<size_t> FindBadUtf8(std::string_view text);

// Returns the character at *at, which must be valid, and moves *at behind it.
char32_t NextCharacter(std::string_view text, size_t* at);

void AppendUtf8(char32_t character, std::string* to);

// True for the characters of Unicode's property White_Space.
bool IsWhiteSpace(char32_t character);

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_TEXT_UTF8_H_
