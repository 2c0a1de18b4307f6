#include "sinter/tools/report/html.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sinter::tools {
namespace {

constexpr char kStyle[] = R"(
body { font: 14px/1.45 Helvetica, Arial, sans-serif; color: #1c2d44; margin: 24px auto; max-width: 1200px; padding: 0 16px; }
h1 { font-size: 24px; } h2 { font-size: 19px; margin-top: 36px; border-bottom: 1px solid #c8d2df; } h3 { font-size: 15px; }
table { border-collapse: collapse; margin: 8px 0 20px; } th { cursor: pointer; text-align: left; background: #f4f7fb; }
th, td { padding: 3px 10px; border-bottom: 1px solid #e3e9f0; vertical-align: top; }
td.number { text-align: right; white-space: nowrap; } td { overflow-wrap: anywhere; }
svg { background: #fff; border: 1px solid #c8d2df; max-width: 100%; } .note { color: #55657a; }
)";

// Sorts the rows of a table by the column whose head is clicked; the second click reverses the order.
constexpr char kScript[] = R"(
document.querySelectorAll("table").forEach(function (table) {
  var heads = table.querySelectorAll("th");
  heads.forEach(function (head, column) {
    var up = false;
    head.addEventListener("click", function () {
      var body = table.tBodies[0], rows = Array.from(body.rows);
      up = !up;
      rows.sort(function (a, b) {
        var x = a.cells[column].dataset.key, y = b.cells[column].dataset.key;
        var order = x !== undefined ? parseFloat(x) - parseFloat(y)
                                    : a.cells[column].textContent.localeCompare(b.cells[column].textContent);
        return up ? order : -order;
      });
      rows.forEach(function (row) { body.appendChild(row); });
    });
  });
});
document.body.dataset.ready = "yes";
)";

}  // namespace

std::string HtmlText(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        // A control character is no part of a document.
        escaped += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
  }
  return escaped;
}

std::string HtmlHeading(int level, const std::string& text) {
  return absl::StrCat("<h", level, ">", HtmlText(text), "</h", level, ">\n");
}

std::string HtmlParagraph(const std::string& text) { return absl::StrCat("<p>", HtmlText(text), "</p>\n"); }

std::string HtmlTable(const std::vector<std::string>& heads, const std::vector<std::vector<HtmlCell>>& rows) {
  std::string html = "<table><thead><tr>";
  for (const std::string& head : heads) absl::StrAppend(&html, "<th>", HtmlText(head), "</th>");
  html += "</tr></thead><tbody>\n";
  for (const std::vector<HtmlCell>& row : rows) {
    html += "<tr>";
    for (const HtmlCell& cell : row) {
      html += "<td";
      if (cell.is_number) absl::StrAppendFormat(&html, " class=\"number\" data-key=\"%.9g\"", cell.sort_by);
      if (cell.share > 0) {
        absl::StrAppendFormat(
            &html, " style=\"background: linear-gradient(to left, #cfe3d3 %.1f%%, transparent 0)\"",
            100 * cell.share);
      }
      absl::StrAppend(&html, ">", HtmlText(cell.text), "</td>");
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table>\n";
}

std::string HtmlPage(const std::string& title, const std::string& body) {
  return absl::StrCat("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>",
                      HtmlText(title), "</title><style>", kStyle, "</style></head><body>\n", body, "<script>",
                      kScript, "</script></body></html>\n");
}

}  // namespace sinter::tools
