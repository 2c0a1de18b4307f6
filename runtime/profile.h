// Where the time of runs goes, step by step.
//
//   Profile profile;
//   for (int i = 0; i < 10; ++i) SINTER_RETURN_IF_ERROR(train.Run(&profile));
//   for (const StepTimes& s : profile.steps) std::cout << s.name << " " << s.seconds_min * 1e3 << " ms\n";
//
// Runs of one function add up; a run of another function starts the profile anew. The first run with a profile
// allocates its entries. Timing costs some 50 ns a step on a CPU. On other devices every step is waited for, so that its time
// is its own; a run without a profile is quicker than the sum.
#ifndef SINTER_RUNTIME_PROFILE_H_
#define SINTER_RUNTIME_PROFILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/runtime/device.h"

namespace sinter {

struct StepTimes {
  std::string name;
  std::string_view kind;  // "kernel", "matmul", "conv", "pool", "copy", a catalogue kernel's name.
  Device device;          // That ran it.
  std::vector<std::string> locations;  // The user's lines that the step computes: "lenet.cc:12: Linear(128)".
  double seconds_total = 0;            // Over `runs`.
  double seconds_min = 0;
  double flops = 0;  // Of one run.
  double bytes = 0;  // The least that one run must read and write.
};

struct Profile {
  std::string function;
  int64_t runs = 0;
  double seconds_total = 0;  // Of whole runs, checks and copies of inputs included.
  std::vector<StepTimes> steps;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_PROFILE_H_
