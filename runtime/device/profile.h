// Where the time of runs goes, step by step.
//
//   Profile profile;
//   for (int i = 0; i < 10; ++i) SINTER_RETURN_IF_ERROR(train.Run(&profile));
//   for (const StepTimes& s : profile.steps) std::cout << s.name << " " << s.seconds_min * 1e3 << " ms\n";
//
// Runs of one function add up; a run of another function starts the profile anew. The first run with a profile
// allocates its entries. Timing costs some 50 ns a step on a CPU. On a GPU the steps run as they do without a profile, recorded
// and in order, with marks between them that take the time (runtime/device/stopwatch.h); what a mark costs is measured and taken off.
// Each step's time is its own, the pause in front of it included: a collective is waited for by its own device, and a
// step that would start before the one in front of it has ended starts behind it. So the sum may be more than a run without a
// profile takes. In a function's first run, in which libraries set themselves up, every step is waited for instead, which adds
// some 10 us to each.
#ifndef SINTER_RUNTIME_DEVICE_PROFILE_H_
#define SINTER_RUNTIME_DEVICE_PROFILE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/runtime/memory/device.h"

namespace sinter {

struct StepTimes {
  std::string name;
  std::string_view kind;  // "kernel", "matmul", "conv", "pool", "copy", a catalogue kernel's name.
  Device device;          // That ran it.
  std::vector<std::string> locations;  // The user's lines that the step computes: "lenet.cc:12: Linear(128)".
  double seconds_total = 0;            // Over `runs`.
  double seconds_min = 0;
  double begin_seconds = 0;  // In the last run, since its beginning on the step's device.
  double flops = 0;          // Of one run.
  double bytes = 0;          // The least that one run must read and write.
};

struct Profile {
  std::string function;
  int64_t runs = 0;
  double seconds_total = 0;    // Of whole runs, checks and copies of inputs included.
  double seconds_of_mark = 0;  // Taken off each step's time on a GPU: the most of all devices.
  std::vector<StepTimes> steps;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_PROFILE_H_
