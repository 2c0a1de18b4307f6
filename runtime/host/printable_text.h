// Names from files that nobody vouches for, as messages show them: a terminal does what control characters say.
//
//   absl::StrCat("two tensors are named '", PrintableText(name), "'");     // "a\x1b[2Jb": the escape is spelt out.
#ifndef SINTER_RUNTIME_HOST_PRINTABLE_TEXT_H_
#define SINTER_RUNTIME_HOST_PRINTABLE_TEXT_H_

#include <string>
#include <string_view>

namespace sinter {

// Printable UTF-8. Control characters (C0, DEL, C1), those that turn the direction or the line, and bytes that are not UTF-8
// become "\xNN", a byte each. After 256 bytes it ends in "...".
std::string PrintableText(std::string_view text);

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_PRINTABLE_TEXT_H_
