#include "sinter/tools/report/memory_map.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/tools/peak_memory.h"
#include "sinter/tools/plan_text.h"
#include "sinter/tools/report/html.h"

namespace sinter::tools {
namespace {

constexpr double kWidth = 1150, kHeight = 420, kLeft = 78, kTop = 12, kBottom = 34;
// More rectangles are slow to draw, and too small to see.
constexpr size_t kMostValues = 4000;

// A colour of the text's own, pale enough for black text on it.
std::string ColorOf(const std::string& text) {
  const size_t hash = std::hash<std::string>()(text);
  return absl::StrFormat("hsl(%d,55%%,%d%%)", static_cast<int>(hash % 360),
                         static_cast<int>(58 + hash / 360 % 22));
}

std::string Axes(double bytes, uint32_t steps, double width, double height) {
  std::string svg;
  for (int i = 0; i <= 4; ++i) {
    const double y = kTop + height * (1 - i / 4.0);
    absl::StrAppendFormat(&svg, "<line x1=\"%g\" x2=\"%g\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#dde4ec\"/>",
                          kLeft, kLeft + width, y, y);
    absl::StrAppendFormat(&svg, "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", kLeft - 6, y + 4,
                          BytesText(bytes * i / 4));
    const uint32_t step = steps * static_cast<uint32_t>(i) / 4;
    absl::StrAppendFormat(&svg, "<text x=\"%.1f\" y=\"%g\" text-anchor=\"%s\">step %d</text>\n",
                          kLeft + width * i / 4, kTop + height + 20, i == 4 ? "end" : "middle", step);
  }
  return svg;
}

}  // namespace

std::string MemoryMapSvg(const fb::Plan& plan, const fb::Function& function, uint32_t device) {
  const auto bytes = static_cast<double>(ArenaBytes(function, device));
  const uint32_t steps = OrEmpty(function.steps()).size();
  if (bytes == 0 || steps == 0) return "";
  std::vector<LiveValue> values = FindLiveValues(function, device);
  std::ranges::stable_sort(values, std::greater<>(), &LiveValue::bytes);
  const size_t left_out = values.size() - std::min(values.size(), kMostValues);
  values.resize(values.size() - left_out);
  const double width = kWidth - kLeft - 12, height = kHeight - kTop - kBottom;
  std::string svg =
      absl::StrFormat("<svg viewBox=\"0 0 %g %g\" width=\"%g\" font-size=\"11\">\n", kWidth, kHeight, kWidth);
  svg += Axes(bytes, steps, width, height);
  for (const LiveValue& value : values) {
    const fb::Buffer& buffer = *function.buffers()->Get(value.buffer);
    const std::string lines = LocationsText(plan, *function.steps()->Get(value.first_step), 3);
    const double x = kLeft + width * value.first_step / steps;
    const double end = kLeft + width * std::min(value.last_step + 1, steps) / steps;
    const double y = kTop + height * (1 - static_cast<double>(buffer.offset() + buffer.bytes()) / bytes);
    absl::StrAppendFormat(
        &svg,
        "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"%s\" stroke=\"#fff\" "
        "stroke-width=\"0.3\"><title>%s</title></rect>\n",
        x, y, std::max(end - x, 0.3), std::max(height * static_cast<double>(buffer.bytes()) / bytes, 0.3),
        ColorOf(lines),
        HtmlText(absl::StrCat(TypeText(*buffer.type()), ", ", BytesText(static_cast<double>(value.bytes)),
                              ", steps ", value.first_step, " to ", value.last_step, ": ", lines)));
  }
  svg += "</svg>\n";
  if (left_out > 0) svg += HtmlParagraph(absl::StrCat(left_out, " small values are not drawn."));
  return svg;
}

}  // namespace sinter::tools
