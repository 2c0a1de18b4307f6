// Options and report for the choice of algorithms for GPU matmuls and convolutions.
//
//   SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan), {.tuning = {.save = true}}));
//   for (const TuningChoice& choice : session.tuning().choices) std::cout << choice.key.problem << "\n";
//
// cuBLASLt has many algorithms for a matmul, and its first proposal is not always the fastest. For each
// different matmul of its plan, a session takes the choice in the tuning file; else the choice that this
// process has measured before; else it measures now, in Session::Create. The file is the one beside the plan
// ("model.plan.tuning"), unless the options name another. `sinter tune model.plan` writes it; a session
// writes it if `save` is set.
//
// cuDNN likewise has engines for a convolution, kept in the same file. The fastest engine may give other
// bits, so engines are measured where the file keeps the choice: by a session that saves, such as that of
// `sinter tune`. Any other session takes the file's engine, else the first deterministic one.
//
// Bits: the same plan with the same tuning file gives the same bits in every process, on the same GPU model
// with the same versions of cuBLASLt and cuDNN. Without a file, this holds for all modes but kAnyBits. The
// first file of a plan with convolutions may change its bits, unless it is made in mode kSameBits.
//
// A bad tuning file never keeps a plan from running. A file that cannot be read or written is reported here
// and on standard error. The session then continues as if there were no file, and does not change it.
#ifndef SINTER_RUNTIME_DEVICE_TUNING_H_
#define SINTER_RUNTIME_DEVICE_TUNING_H_

#include <algorithm>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace sinter {

// The first three are the values 0, 1 and 2 of SINTER_GPU_TUNE.
enum class TuningMode {
  kFirstChoice,   // The libraries' first choices. Reads no file and measures nothing.
  kSameBits,      // The fastest algorithm with the bits of the first choice.
  kAnyBits,       // The fastest of all algorithms.
  kSavedEngines,  // kSameBits, and the fastest engine of each convolution if the session saves its choices.
};

struct TuningOptions {
  // Empty: the value of SINTER_GPU_TUNING_FILE; else the plan's path with ".tuning" appended; else no file.
  std::string file = {};
  // Adds measured choices to the file, creating it if necessary. SINTER_GPU_TUNE_SAVE=1 does the same.
  bool save = false;
  // Measures again what the file or this process already knows.
  bool again = false;
  // nullopt: the value of SINTER_GPU_TUNE; kSavedEngines if it is unset.
  std::optional<TuningMode> mode = std::nullopt;
};

// The matmul or convolution, the device and the library that a choice is for.
struct TuningKey {
  std::string device;   // "NVIDIA H100 80GB HBM3, sm_90, 132 multiprocessors".
  std::string library;  // "cuBLASLt 13.1.0".
  std::string problem;  // "bf16 Ieee 1x8x4x2 (batch, m, n, k), a transposed, aligned to 16".

  auto operator<=>(const TuningKey&) const = default;
};

enum class ChoiceSource {
  kFile,
  kMeasured,     // In this session.
  kProcess,      // When an earlier session of this process was created.
  kFirstChoice,  // Not measured; `reason` says why.
};

struct TuningChoice {
  TuningKey key;
  ChoiceSource source = ChoiceSource::kFirstChoice;
  std::string reason = {};
  // Microseconds per launch; 0 if not measured.
  double first_us = 0, chosen_us = 0;
  bool any_bits = false;  // True if the bits may differ from the library's first choice.
};

struct TuningReport {
  // The file that was read or looked for; empty if there is none.
  std::string file;
  // Error that kept the file or a choice in it from being used, or the file from being written.
  absl::Status status;
  // Each different matmul and convolution of the plan once, in step order.
  std::vector<TuningChoice> choices;

  int64_t Count(ChoiceSource source) const {
    return std::ranges::count(choices, source, &TuningChoice::source);
  }
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_TUNING_H_
