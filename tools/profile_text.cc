#include "sinter/tools/profile_text.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace sinter::tools {

namespace {

// Sums over a group of steps.
struct Total {
  std::string name;
  int steps = 0;
  double seconds = 0, bytes = 0, flops = 0;
  double bound_seconds = 0;  // Least possible time of the steps with a known bound.
  double bounded = 0;        // Measured time of those steps.
  std::string limit;         // "memory" or "compute" if it limits all steps, else "both".

  void Add(const Total& other) {
    steps += other.steps;
    seconds += other.seconds;
    bytes += other.bytes;
    flops += other.flops;
    bound_seconds += other.bound_seconds;
    bounded += other.bounded;
    if (other.limit.empty()) return;
    limit = limit.empty() || limit == other.limit ? other.limit : "both";
  }
};

Total TotalOf(const ProfiledStep& step, std::string name) {
  Total total;
  total.name = std::move(name);
  total.steps = 1;
  total.seconds = step.seconds;
  total.bytes = step.bytes;
  total.flops = step.flops;
  if (step.bound.seconds <= 0) return total;
  total.bound_seconds = step.bound.seconds;
  total.bounded = step.seconds;
  total.limit = step.bound.limit;
  return total;
}

// Returns `amount` per second in units of 1e9; "-" if either is 0.
std::string Rate(double amount, double seconds) {
  return amount > 0 && seconds > 0 ? absl::StrFormat("%.1f", amount / seconds / 1e9) : "-";
}

std::string Percent(double part, double whole) {
  return part > 0 && whole > 0 ? absl::StrFormat("%.1f", 100 * part / whole) : "-";
}

constexpr char kHead[] = "%6s %11s %7s %9s %10s %10s %-8s %s\n";
constexpr char kRow[] = "%6d %11.4f %7.1f %9s %10s %10s %-8s %s\n";

std::string Head(const char* first, const char* last) {
  return absl::StrFormat(kHead, first, "ms", "%", "GB/s", "GFLOP/s", "roofline %", "bound", last);
}

// `first` is a number of steps or the index of a step.
std::string Row(int first, const Total& total, const FunctionProfile& profile) {
  const double share = profile.run_seconds > 0 ? 100 * total.seconds / profile.run_seconds : 0;
  return absl::StrFormat(kRow, first, total.seconds * 1e3, share, Rate(total.bytes, total.seconds),
                         Rate(total.flops, total.seconds), Percent(total.bound_seconds, total.bounded),
                         total.limit.empty() ? "-" : total.limit, total.name);
}

std::string HeadText(const FunctionProfile& p) {
  const double steps = p.StepSeconds(), gap = p.run_seconds - steps;
  std::string devices;
  for (const Device device : p.devices)
    absl::StrAppend(&devices, devices.empty() ? "" : ", ", device.ToString());
  std::string text = absl::StrFormat("function %s of plan %s on %s: %d steps, %d runs\n", p.function, p.plan,
                                     devices, p.steps.size(), p.repeat);
  const double share = p.run_seconds > 0 ? 100 / p.run_seconds : 0;
  absl::StrAppendFormat(&text, "  run   %11.4f ms  without a profile, the median\n", p.run_seconds * 1e3);
  absl::StrAppendFormat(&text, "  steps %11.4f ms  %.1f %%: the sum of their medians\n", steps * 1e3,
                        share * steps);
  absl::StrAppendFormat(&text, "  gap   %11.4f ms  %.1f %%\n", gap * 1e3, share * gap);
  if (p.seconds_per_event > 0) {
    absl::StrAppendFormat(
        &text,
        "  events%11.4f ms  %.2f us each (measured between small fills, subtracted from every "
        "step); a run with events %.4f ms\n",
        p.seconds_per_event * static_cast<double>(p.steps.size()) * 1e3, p.seconds_per_event * 1e6,
        p.marked_seconds * 1e3);
  }
  return text;
}

std::string RooflineText(const FunctionProfile& p) {
  if (p.rooflines.empty()) return "";
  std::string text = "\nroofline, measured first\n";
  for (const Roofline& roofline : p.rooflines) {
    absl::StrAppendFormat(&text, "  %-6s copy of %.0f MiB %10.1f GB/s\n", roofline.device.ToString(),
                          roofline.copied_bytes / (1 << 20), roofline.bytes_per_second / 1e9);
    for (const auto& [type, matmul] : roofline.matmuls) {
      absl::StrAppendFormat(&text, "  %-6s %s matmul of %d  %.1f GFLOP/s\n", roofline.device.ToString(),
                            type.ToString(), matmul.size, matmul.flops_per_second / 1e9);
    }
  }
  return text;
}

// Groups the steps by `key(step)`. The group with the most time is first.
template <typename Key>
std::vector<Total> Totals(const FunctionProfile& p, const Key& key) {
  std::map<std::string, Total> by_key;
  for (const ProfiledStep& step : p.steps) {
    Total& total = by_key[key(step)];
    total.name = key(step);
    total.Add(TotalOf(step, ""));
  }
  std::vector<Total> totals;
  for (auto& [name, total] : by_key) totals.push_back(std::move(total));
  std::ranges::stable_sort(totals, std::ranges::greater(), &Total::seconds);
  return totals;
}

std::string NameOf(const ProfiledStep& step) { return absl::StrCat(step.what, "; ", step.lines); }

// Returns the row for the steps that a shortened table omits.
std::string OthersRow(Total others, const FunctionProfile& p) {
  if (others.steps == 0) return "";
  others.name = absl::StrCat("the other ", others.steps, others.steps == 1 ? " step" : " steps");
  return Row(0, others, p).replace(0, 6, "     -");
}

std::string KindsText(const FunctionProfile& p) {
  std::string text = "\nby kind\n" + Head("steps", "kind");
  const bool has_several = p.devices.size() > 1;
  const auto key = [&](const ProfiledStep& step) {
    return has_several ? absl::StrCat(step.kind, " on ", step.device.ToString()) : step.kind;
  };
  for (const Total& total : Totals(p, key)) absl::StrAppend(&text, Row(total.steps, total, p));
  return text;
}

std::string AlikeText(const FunctionProfile& p, size_t most) {
  const std::vector<Total> totals = Totals(p, NameOf);
  if (totals.size() == p.steps.size()) return "";
  std::string text = "\nidentical steps, summed\n" + Head("steps", "what");
  Total others;
  for (size_t i = 0; i < totals.size(); ++i) {
    if (i < most) {
      absl::StrAppend(&text, Row(totals[i].steps, totals[i], p));
    } else {
      others.Add(totals[i]);
    }
  }
  return text + OthersRow(others, p);
}

std::string StepsText(const FunctionProfile& p, size_t most) {
  std::string text = "\nstep by step\n" + Head("step", "what");
  std::vector<size_t> order(p.steps.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](size_t i) { return p.steps[i].seconds; });
  Total others;
  for (size_t i = 0; i < order.size(); ++i) {
    const ProfiledStep& step = p.steps[order[i]];
    if (i < most) {
      absl::StrAppend(&text, Row(static_cast<int>(order[i]), TotalOf(step, NameOf(step)), p));
    } else {
      others.Add(TotalOf(step, ""));
    }
  }
  return text + OthersRow(others, p);
}

}  // namespace

std::string ProfileText(const FunctionProfile& profile, int most_steps) {
  const size_t most = most_steps > 0 ? static_cast<size_t>(most_steps) : profile.steps.size();
  return absl::StrCat(HeadText(profile), RooflineText(profile), KindsText(profile), AlikeText(profile, most),
                      StepsText(profile, most));
}

}  // namespace sinter::tools
