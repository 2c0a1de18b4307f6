#include "sinter/frontend/train/plot_report.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "sinter/frontend/train/log_report.h"
#include "sinter/frontend/train/trainer.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"

namespace sinter::train {
namespace {

constexpr double kWidth = 640, kHeight = 400, kLeft = 70, kRight = 20, kTop = 20, kBottom = 45;

struct Point {
  double x, y;
};

// The least and the largest value on an axis, at a distance.
struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;

  void Include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  double PartAt(double value) const { return (value - low) / (high - low); }
};

std::vector<Point> PointsOf(const std::vector<Values>& entries, const std::string& key,
                            const std::string& x) {
  std::vector<Point> points;
  for (const Values& entry : entries) {
    const auto at = entry.find(x), value = entry.find(key);
    if (at == entry.end() || value == entry.end()) continue;
    if (std::isfinite(at->second) && std::isfinite(value->second))
      points.push_back({at->second, value->second});
  }
  return points;
}

std::string XmlText(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<')
      escaped += "&lt;";
    else if (c == '&')
      escaped += "&amp;";
    else
      escaped += c;
  }
  return escaped;
}

std::string Text(double x, double y, const char* anchor, const std::string& text) {
  return absl::StrFormat("<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
                         XmlText(text));
}

double XOf(const Range& range, double x) { return kLeft + range.PartAt(x) * (kWidth - kLeft - kRight); }
double YOf(const Range& range, double y) {
  return kHeight - kBottom - range.PartAt(y) * (kHeight - kTop - kBottom);
}

std::string Axes(const Range& xs, const Range& ys, const std::string& x) {
  constexpr int kTicks = 4;
  std::string svg =
      absl::StrFormat("<rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" fill=\"none\" stroke=\"#888\"/>\n",
                      kLeft, kTop, kWidth - kLeft - kRight, kHeight - kTop - kBottom);
  for (int tick = 0; tick <= kTicks; ++tick) {
    const double part = static_cast<double>(tick) / kTicks;
    const double at_x = xs.low + part * (xs.high - xs.low), at_y = ys.low + part * (ys.high - ys.low);
    svg += Text(XOf(xs, at_x), kHeight - kBottom + 16, "middle", absl::StrFormat("%.4g", at_x));
    svg += Text(kLeft - 6, YOf(ys, at_y) + 4, "end", absl::StrFormat("%.4g", at_y));
  }
  return svg + Text((kLeft + kWidth - kRight) / 2, kHeight - 8, "middle", x);
}

}  // namespace

std::string PlotSvg(const std::vector<Values>& entries, const std::vector<std::string>& keys,
                    const std::string& x) {
  // Colours that people who see colours differently can tell apart (Okabe and Ito).
  static constexpr std::array<const char*, 6> kColors = {"#0072b2", "#d55e00", "#009e73",
                                                         "#cc79a7", "#e69f00", "#56b4e9"};
  Range xs, ys;
  std::vector<std::vector<Point>> curves;
  for (const std::string& key : keys) {
    curves.push_back(PointsOf(entries, key, x));
    for (const Point& point : curves.back()) {
      xs.Include(point.x);
      ys.Include(point.y);
    }
  }
  for (Range* range : {&xs, &ys}) {
    if (range->low > range->high) *range = {0, 1};
    if (range->low == range->high) *range = {range->low - 0.5, range->high + 0.5};
  }
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%g\" height=\"%g\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      kWidth, kHeight);
  svg += Axes(xs, ys, x);
  for (size_t i = 0; i < keys.size(); ++i) {
    const char* const color = kColors[i % kColors.size()];
    std::string points;
    for (const Point& point : curves[i])
      absl::StrAppendFormat(&points, "%s%.1f,%.1f", points.empty() ? "" : " ", XOf(xs, point.x),
                            YOf(ys, point.y));
    absl::StrAppendFormat(
        &svg, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n", points, color);
    const double y = kTop + 16 + 15 * static_cast<double>(i);
    absl::StrAppendFormat(&svg, "<rect x=\"%g\" y=\"%g\" width=\"12\" height=\"3\" fill=\"%s\"/>\n",
                          kWidth - kRight - 22, y - 5, color);
    svg += Text(kWidth - kRight - 28, y, "end", keys[i]);
  }
  return svg + "</svg>\n";
}

absl::Status PlotReport::Start(Trainer& trainer) {
  if (keys_.empty()) return absl::InvalidArgumentError("has no keys to draw");
  if (trainer.Find<LogReport>() != nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError("it draws what a LogReport has logged; Extend(train::LogReport())");
}

absl::Status PlotReport::Run(Trainer& trainer) {
  const std::vector<Values>& entries = trainer.Find<LogReport>()->entries();
  if (entries.size() == drawn_ || !trainer.is_first()) return absl::OkStatus();
  drawn_ = entries.size();
  return WriteFileAtomically(trainer.OutFile(options_.file), PlotSvg(entries, keys_, options_.x));
}

}  // namespace sinter::train
