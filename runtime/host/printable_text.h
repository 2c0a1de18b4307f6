// Makes names from untrusted files safe to print: a terminal would execute control characters.
//
//   PrintableText("a\x1b[2Jb")     // "a\\x1b[2Jb": the escape character is spelt out.
#ifndef SINTER_RUNTIME_HOST_PRINTABLE_TEXT_H_
#define SINTER_RUNTIME_HOST_PRINTABLE_TEXT_H_

#include <string>
#include <string_view>

namespace sinter {

// Returns `text` as printable UTF-8. Each byte of a control character (C0, DEL, C1), of a character that
// changes the direction or ends the line, or of invalid UTF-8 becomes "\xNN". After 256 bytes of output the
// rest becomes "...".
std::string PrintableText(std::string_view text);

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_PRINTABLE_TEXT_H_
