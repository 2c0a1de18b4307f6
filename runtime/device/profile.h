// The profile of a function: the time that its runs spend in each step.
//
//   Profile profile;
//   for (int i = 0; i < 10; ++i) SINTER_RETURN_IF_ERROR(train.Run(&profile));
//   for (const StepTimes& s : profile.steps) std::cout << s.name << " " << s.seconds_min * 1e3 << " ms\n";
//
// Runs of one function add up; a run of another function restarts the profile. The first run with a profile
// allocates its entries. Timing costs about 50 ns per step on a CPU.
//
// On a GPU the steps run as without a profile, captured and in order. Events between the steps take the times
// (runtime/device/event_timer.h); the measured cost of an event is subtracted. A step's time includes the
// pause before the step. The device waits for its own collectives, and a step that could start before its
// predecessor ends waits for that end. So the sum may exceed the time of a run without a profile. In a
// function's first run libraries initialise themselves: that run waits after every step, which adds about 10
// us per step.
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
  std::string_view kind;  // "kernel", "matmul", "conv", "pool", "copy", or a catalogue kernel's name.
  Device device;          // Device that ran the step.
  // The user's lines that the step computes: "lenet.cc:12: Linear(128)".
  std::vector<std::string> locations;
  double seconds_total = 0;  // Sum over `runs`.
  double seconds_min = 0;
  double begin_seconds = 0;  // Start in the last run, since that run began on the step's device.
  double flops = 0;          // Per run.
  double bytes = 0;          // Lower bound of the bytes that one run reads and writes.
};

struct Profile {
  // Set before a run: GPUs run exchanges beside other steps, as in runs without a profile, and a step's time
  // begins when it has what it waits for. So times overlap, and show an ordinary run. Otherwise nothing else
  // runs during an exchange, and its time is its own. Change it only between functions or profiles.
  bool exchanges_beside = false;
  std::string function;
  int64_t runs = 0;
  double seconds_total = 0;  // Whole runs, including checks and copies of inputs.
  // Cost of an event, subtracted from each step's time on a GPU: the maximum over all devices.
  double seconds_per_event = 0;
  std::vector<StepTimes> steps;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_DEVICE_PROFILE_H_
