// Finds the quickest of several ways to do the same, in a bounded time.
//
//   SINTER_ASSIGN_OR_RETURN(const Quickest quickest, ChooseQuickest({.count = 8, .same_bits = ..., .seconds = ...}));
//
// First every candidate is timed briefly; then the few that came out best once more, in turns, so that a clock that drifts
// slows all of them alike. That takes about kTuningSeconds of a GPU; where a launch takes milliseconds, fewer candidates are
// looked at, those first that come first.
#ifndef SINTER_RUNTIME_CUDA_CONTEXT_QUICKEST_CHOICE_H_
#define SINTER_RUNTIME_CUDA_CONTEXT_QUICKEST_CHOICE_H_

#include <cstddef>
#include <functional>

#include "absl/status/statusor.h"

namespace sinter {

inline constexpr double kTuningSeconds = 0.05;
// Looked at however long they take.
inline constexpr size_t kLeastCandidates = 6;

struct Candidates {
  size_t count = 0;  // At least one; the first is right, and stays unless another is quicker.
  // Whether candidate i may be taken: asked of those alone that are quicker than the first.
  std::function<absl::StatusOr<bool>(size_t i)> same_bits;
  // Of one launch of candidate i, the mean of so many in a row. Unimplemented: the candidate does not run after all, and is left
  // out.
  std::function<absl::StatusOr<double>(size_t i, int launches)> seconds;
};

struct Quickest {
  size_t index = 0;
  // Of one launch: the first candidate, and this one.
  double first_seconds = 0, seconds = 0;
};

// For a tuning file: to a hundredth, and never 0.
double TunedMicroseconds(double seconds);

// Within 1 % the earlier one is taken. Errors are those of the functions.
absl::StatusOr<Quickest> ChooseQuickest(const Candidates& candidates);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_QUICKEST_CHOICE_H_
