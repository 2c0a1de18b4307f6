// Parts of an HTML page, for reports that are one file and need no network.
//
//   std::string body = HtmlHeading(2, "Memory");
//   body += HtmlTable({"step", "bytes"}, {{"3", "1.2 kB"}});
//   std::cout << HtmlPage("gpt2.plan", body);
//
// All text from plans is untrusted and goes through HtmlText.
#ifndef SINTER_TOOLS_REPORT_HTML_H_
#define SINTER_TOOLS_REPORT_HTML_H_

#include <string>
#include <vector>

namespace sinter::tools {

// Returns `text` with the characters that HTML or XML could read as markup, and control characters, replaced.
std::string HtmlText(const std::string& text);

// `text` and `title` need not be escaped.
std::string HtmlHeading(int level, const std::string& text);
std::string HtmlParagraph(const std::string& text);

// A cell of a table.
struct HtmlCell {
  std::string text;
  bool is_number = false;  // Aligned to the right.
  double share = 0;        // In [0, 1]: the length of a bar behind the text. 0: no bar.
  double sort_by = 0;      // For numbers: the order of the rows when a reader sorts the column.
};

// A table that a click on a column's head sorts.
std::string HtmlTable(const std::vector<std::string>& heads, const std::vector<std::vector<HtmlCell>>& rows);

// Returns the whole page: `body` is HTML. The style and the script are in the page.
std::string HtmlPage(const std::string& title, const std::string& body);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_REPORT_HTML_H_
