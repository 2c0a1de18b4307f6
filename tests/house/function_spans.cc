#include "sinter/tests/house/function_spans.h"

#include <algorithm>
#include <regex>

namespace sinter::house {
namespace {

constexpr size_t kNoCode = std::string::npos;

// Returns the column of each line's first character of code; kNoCode for blank and skipped lines.
std::vector<size_t> Columns(const std::vector<std::string>& lines) {
  static const std::regex kRawString("R\"([^( ]*)\\(");
  std::vector<size_t> columns;
  std::string raw_string_end;
  bool in_directive = false;
  for (const std::string& line : lines) {
    if (!raw_string_end.empty()) {
      columns.push_back(kNoCode);
      if (line.find(raw_string_end) != std::string::npos) raw_string_end.clear();
      continue;
    }
    in_directive |= line[0] == '#';
    columns.push_back(in_directive ? kNoCode : line.find_first_not_of(' '));
    in_directive &= line.ends_with('\\');
    for (std::sregex_iterator it(line.begin(), line.end(), kRawString), none; it != none; ++it) {
      std::string end = ")" + it->str(1) + "\"";
      if (line.find(end, it->position() + it->length()) == std::string::npos) raw_string_end = end;
    }
  }
  return columns;
}

// Returns the lines from `first` to the first line that ends with an opening brace, joined.
std::string Opening(const std::vector<std::string>& lines, size_t first, size_t last) {
  std::string text;
  for (size_t i = first; i < last; ++i) {
    text += lines[i].substr(std::min(lines[i].find_first_not_of(' '), lines[i].size())) + " ";
    if (lines[i].ends_with('{')) break;
  }
  return text;
}

bool IsFunction(const std::string& opening) {
  static const std::regex kOther(
      "^((namespace|class|struct|enum|union|extern|if|for|while|switch|do|else|try|case|default|return)\\b|"
      "\\}|//).*");
  return opening.find('(') != std::string::npos && !std::regex_match(opening, kOther) &&
         !opening.ends_with("= { ");
}

}  // namespace

std::vector<FunctionSpan> FunctionSpans(const SourceFile& file) {
  const std::vector<std::string>& lines = file.lines;
  const std::vector<size_t> columns = Columns(lines);
  std::vector<FunctionSpan> spans;
  for (size_t last = 1; last < lines.size(); ++last) {
    if (columns[last] == kNoCode || lines[last][columns[last]] != '}') continue;
    size_t first = last;
    // Lines between the two braces are indented further or have no code.
    do {
      --first;
    } while (first > 0 && columns[first] > columns[last]);
    if (columns[first] != columns[last]) continue;
    std::string opening = Opening(lines, first, last);
    if (IsFunction(opening)) spans.push_back({opening, first + 1, last - first + 1});
  }
  return spans;
}

}  // namespace sinter::house
