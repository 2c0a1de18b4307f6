#include "sinter/runtime/cuda/driver/architecture.h"

#include <charconv>
#include <optional>

namespace sinter {
namespace {

struct Target {
  int major;
  int minor;
  int speciality;  // 0: no suffix, 1: "f", 2: "a".
};

// Parses "sm_90", "sm_90a" or "sm_100f"; the last digit is the minor version.
std::optional<Target> Parse(std::string_view text) {
  constexpr std::string_view kPrefix = "sm_";
  if (text.substr(0, kPrefix.size()) != kPrefix) return std::nullopt;
  text.remove_prefix(kPrefix.size());
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 10) return std::nullopt;
  const std::string_view suffix = text.substr(static_cast<size_t>(end - text.data()));
  if (!suffix.empty() && suffix != "a" && suffix != "f") return std::nullopt;
  return Target{number / 10, number % 10, suffix == "a" ? 2 : suffix == "f" ? 1 : 0};
}

}  // namespace

int BestImage(const std::vector<std::string_view>& architectures, int major, int minor) {
  int best = -1, best_rank = -1;
  for (size_t i = 0; i < architectures.size(); ++i) {
    const std::optional<Target> target = Parse(architectures[i]);
    if (!target.has_value() || target->major != major || target->minor > minor) continue;
    if (target->speciality == 2 && target->minor != minor) continue;
    const int rank = target->minor * 3 + target->speciality;
    if (rank > best_rank) {
      best = static_cast<int>(i);
      best_rank = rank;
    }
  }
  return best;
}

}  // namespace sinter
