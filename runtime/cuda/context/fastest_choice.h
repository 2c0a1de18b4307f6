// Finds the fastest of several equivalent candidates in a bounded time.
//
//   const Candidates candidates = {.count = 8, .same_bits = ..., .seconds = ...};
//   SINTER_ASSIGN_OR_RETURN(const Fastest fastest, ChooseFastest(candidates));
//
// First every candidate is timed briefly. Then the best few are timed again in turns, so that a drifting
// clock rate affects all of them alike. This takes about kTuningSeconds of GPU time. If a launch takes
// milliseconds, only the first candidates are timed.
#ifndef SINTER_RUNTIME_CUDA_CONTEXT_FASTEST_CHOICE_H_
#define SINTER_RUNTIME_CUDA_CONTEXT_FASTEST_CHOICE_H_

#include <cstddef>
#include <functional>

#include "absl/status/statusor.h"

namespace sinter {

inline constexpr double kTuningSeconds = 0.05;
// Minimum number of candidates to time, regardless of their duration.
inline constexpr size_t kLeastCandidates = 6;

struct Candidates {
  size_t count = 0;  // At least 1. Candidate 0 is valid, and is chosen unless another one is faster.
  // True if candidate i is allowed. Called only for candidates that are faster than candidate 0.
  std::function<absl::StatusOr<bool>(size_t i)> same_bits;
  // Returns the seconds of one launch of candidate i, averaged over `launches` launches in a row.
  // Unimplemented if the candidate does not run; it is then skipped.
  std::function<absl::StatusOr<double>(size_t i, int launches)> seconds;
};

struct Fastest {
  size_t index = 0;
  // Seconds of one launch of candidate 0 and of the chosen candidate.
  double first_seconds = 0, seconds = 0;
};

// Returns microseconds for a tuning file: rounded to 0.01, and at least 0.01.
double TunedMicroseconds(double seconds);

// Returns the fastest candidate; differences below 1 % favour the earlier one. Returns the errors of the
// functions.
absl::StatusOr<Fastest> ChooseFastest(const Candidates& candidates);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_FASTEST_CHOICE_H_
