// Clocks and the roof that streaming kernels are held against.
//
//   Timing t = TimeMs([&] { return train.Run(); });
//   Timing s = *TimeRuns(session, train, Device::Gpu(0));    // What a training loop sees.
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

// Calls for `seconds`, at least `at_least` times, after `warm_up` calls: as measure.py does.
absl::StatusOr<Timing> TimeMs(const std::function<absl::Status()>& call, double seconds = 3,
                              int at_least = 10, int warm_up = 3);

// Of one run among many, in a burst without waiting in between: what a training loop sees. On a CPU, which waits anyway, a
// burst is one run; on a GPU some, so that the wait at their end does not count, nor what launching costs beside it.
absl::StatusOr<Timing> TimeRuns(Session& session, BoundFunction& function, Device device, double seconds = 3);

// The C library's memcpy of 2^24 floats, one part a thread.
Timing TimeCopy(int threads, double seconds = 3);
constexpr double kCopyBytes = 2.0 * 4 * (1 << 24);  // Read plus written.
// The best rate of TimeCopy, measured once a process.
double CopyGBps(int threads);

// As many as the process may run on, or SINTER_NUM_THREADS.
int BenchThreads();

}  // namespace sinter::bench

#endif  // SINTER_BENCH_TIMING_H_
