#include "sinter/runtime/cuda/context/fastest_choice.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

constexpr double kLeastGain = 0.99;
// Duration of one sample: long compared with the error of the events' clock.
constexpr double kSampleSeconds = 4e-4;
constexpr int kMaxLaunches = 50;
constexpr int kScreenings = 2;
// Share of the time for the first timing of all candidates.
constexpr double kScreeningShare = 0.6;
// Maximum number of finalists besides candidate 0, and their maximum time relative to the best finalist.
constexpr size_t kFinalists = 3;
constexpr double kFinalistsWithin = 1.05;
constexpr int kLeastFinals = 2, kFinals = 7;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Race {
 public:
  explicit Race(const Candidates& candidates)
      : candidates_(candidates), best_(candidates.count), finals_(candidates.count) {}

  absl::StatusOr<Fastest> Run() {
    SINTER_RETURN_IF_ERROR(Screen());
    SINTER_RETURN_IF_ERROR(FindFinalists());
    if (finalists_.size() == 1) return Fastest{0, best_[0], best_[0]};
    SINTER_RETURN_IF_ERROR(RunFinals());
    Fastest fastest = {.first_seconds = Median(finals_[0])};
    fastest.seconds = fastest.first_seconds;
    std::sort(finalists_.begin(), finalists_.end());
    for (const size_t i : finalists_) {
      const double seconds = Median(finals_[i]);
      if (seconds >= kLeastGain * fastest.seconds) continue;
      fastest.index = i;
      fastest.seconds = seconds;
    }
    return fastest;
  }

 private:
  absl::StatusOr<double> Sample(size_t i) {
    SINTER_ASSIGN_OR_RETURN(const double seconds, candidates_.seconds(i, launches_));
    spent_ += seconds * launches_;
    return seconds;
  }

  absl::Status Screen() {
    SINTER_ASSIGN_OR_RETURN(const double once, Sample(0));
    launches_ =
        static_cast<int>(std::clamp(kSampleSeconds / std::max(once, 1e-7), 1.0, double{kMaxLaunches}));
    const double each = kScreenings * launches_ * std::max(once, 1e-7);
    const double affordable = kScreeningShare * kTuningSeconds / each;
    const size_t wanted = std::max(kLeastCandidates, static_cast<size_t>(affordable));
    for (size_t i = 0; i < std::min(candidates_.count, wanted); ++i) order_.push_back(i);
    for (int pass = 0; pass < kScreenings; ++pass) {
      std::vector<size_t> left;
      for (const size_t i : order_) {
        absl::StatusOr<double> seconds = Sample(i);
        if (absl::IsUnimplemented(seconds.status()) && i > 0) continue;
        SINTER_RETURN_IF_ERROR(seconds.status());
        best_[i] = pass == 0 ? *seconds : std::min(best_[i], *seconds);
        left.push_back(i);
      }
      order_ = std::move(left);
    }
    return absl::OkStatus();
  }

  absl::Status FindFinalists() {
    std::stable_sort(order_.begin(), order_.end(),
                     [this](size_t a, size_t b) { return best_[a] < best_[b]; });
    finalists_ = {0};
    for (const size_t i : order_) {
      if (finalists_.size() > kFinalists || best_[i] >= best_[0]) break;
      if (finalists_.size() > 1 && best_[i] > kFinalistsWithin * best_[finalists_[1]]) break;
      SINTER_ASSIGN_OR_RETURN(const bool counts, candidates_.same_bits(i));
      if (counts) finalists_.push_back(i);
    }
    return absl::OkStatus();
  }

  absl::Status RunFinals() {
    for (int pass = 0; pass < kFinals && (pass < kLeastFinals || spent_ < kTuningSeconds); ++pass) {
      for (const size_t i : finalists_) {
        SINTER_ASSIGN_OR_RETURN(const double seconds, Sample(i));
        finals_[i].push_back(seconds);
      }
    }
    return absl::OkStatus();
  }

  const Candidates& candidates_;
  int launches_ = 1;
  double spent_ = 0;
  std::vector<double> best_;  // Best screening time of each candidate.
  std::vector<size_t> order_, finalists_;
  std::vector<std::vector<double>> finals_;
};

}  // namespace

double TunedMicroseconds(double seconds) { return std::max(std::round(seconds * 1e8) / 100, 0.01); }

absl::StatusOr<Fastest> ChooseFastest(const Candidates& candidates) { return Race(candidates).Run(); }

}  // namespace sinter
