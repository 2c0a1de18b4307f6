// Functions that time calls and runs, and the copy bandwidth as the limit of memory-bound kernels.
//
//   Timing t = TimeMs([&] { return train.Run(); });
//   Timing s = *TimeRuns(session, train, Device::Gpu(0));    // Time of a run in a training loop.
//   double gbps = CopyGBps(2);       // Bytes read plus written per second by two threads in memcpy.
#ifndef SINTER_BENCH_TIMING_H_
#define SINTER_BENCH_TIMING_H_

#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/session/session.h"

namespace sinter::bench {

struct Timing {
  double ms = 0;      // Median wall time.
  double min_ms = 0;  // Least wall time.
  double cpu_ms = 0;  // Least processor time over all threads.
  int runs = 0;
};

// Times `call` for `seconds` and at least `at_least` times, after `warm_up` calls, like measure.py.
absl::StatusOr<Timing> TimeMs(const std::function<absl::Status()>& call, double seconds = 3,
                              int at_least = 10, int warm_up = 3);

// The bursts of TimeRuns: each has as many runs as take `burst_ms`, but at most `most_runs`. Long runs need
// fewer of them to hide the wait at the end.
struct Bursts {
  double burst_ms = 500;
  int most_runs = 100;
  int at_least = 10;  // Number of bursts.
};
// Returns the time of one run in a burst without waits between runs, as in a training loop. On a CPU, which
// waits for each run, a burst is one run. On a GPU a burst has several runs, which hides the wait at its end
// and the launches.
absl::StatusOr<Timing> TimeRuns(Session& session, BoundFunction& function, Device device, double seconds = 3,
                                const Bursts& bursts = {});

// Times the C library's memcpy of 2^24 floats, one part per thread.
Timing TimeCopy(int threads, double seconds = 3);
constexpr double kCopyBytes = 2.0 * 4 * (1 << 24);  // Read plus written.
// Returns the best rate of TimeCopy, measured once per process.
double CopyGBps(int threads);

// Returns SINTER_NUM_THREADS, by default the number of cores that the process may use.
int BenchThreads();

}  // namespace sinter::bench

#endif  // SINTER_BENCH_TIMING_H_
