// Numbers as text and back, to the bit, for the states and files of the training loop.
//
//   ExactText(0.1)                           // "0.1": the shortest text that gives the number again.
//   double x;  ParseNumber("1e-3", x)        // True.
#ifndef SINTER_FRONTEND_TRAIN_NUMBER_TEXT_H_
#define SINTER_FRONTEND_TRAIN_NUMBER_TEXT_H_

#include <charconv>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

// Returns "nan", "inf" or "-inf" for these.
inline std::string ExactText(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  char text[32];
  const std::to_chars_result end = std::to_chars(text, text + sizeof(text), number);
  return std::string(text, end.ptr);
}

// True if the whole text is a number, which is then in `number`.
inline bool ParseNumber(std::string_view text, double& number) {
  const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}
inline bool ParseNumber(std::string_view text, int64_t& number) {
  const std::from_chars_result end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc() && end.ptr == text.data() + text.size();
}

// Returns the parts of a text between single spaces.
inline std::vector<std::string> SplitWords(std::string_view text, char mark = ' ') {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = text.find(mark);
    words.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return words;
}

}  // namespace sinter

#endif  // SINTER_FRONTEND_TRAIN_NUMBER_TEXT_H_
