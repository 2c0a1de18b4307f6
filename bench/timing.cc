#include "sinter/bench/timing.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <ctime>
#include <map>
#include <vector>

#include "sinter/runtime/host/status.h"
#include "sinter/runtime/host/thread_pool.h"

namespace sinter::bench {

namespace {

double WallMs() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double ProcessorMs() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) / 1e6;
}

}  // namespace

absl::StatusOr<Timing> TimeMs(const std::function<absl::Status()>& call, double seconds, int at_least,
                              int warm_up) {
  for (int i = 0; i < warm_up; ++i) SINTER_RETURN_IF_ERROR(call());
  std::vector<double> wall;
  double cpu = 1e30, begin = WallMs();
  while (static_cast<int>(wall.size()) < at_least || WallMs() - begin < seconds * 1e3) {
    double used = ProcessorMs(), before = WallMs();
    SINTER_RETURN_IF_ERROR(call());
    wall.push_back(WallMs() - before);
    cpu = std::min(cpu, ProcessorMs() - used);
  }
  std::ranges::sort(wall);
  size_t middle = wall.size() / 2;
  double median = wall.size() % 2 ? wall[middle] : (wall[middle - 1] + wall[middle]) / 2;
  return Timing{median, wall[0], cpu, static_cast<int>(wall.size())};
}

absl::StatusOr<Timing> TimeRuns(Session& session, BoundFunction& function, Device device, double seconds,
                                const Bursts& bursts) {
  int burst = 1;
  auto call = [&]() -> absl::Status {
    for (int i = 0; i < burst; ++i) SINTER_RETURN_IF_ERROR(function.Run());
    return session.Synchronize();
  };
  SINTER_RETURN_IF_ERROR(call());
  const double before = WallMs();
  SINTER_RETURN_IF_ERROR(call());
  if (device.is_gpu())
    burst = static_cast<int>(std::clamp(bursts.burst_ms / (WallMs() - before), 1.0, 1.0 * bursts.most_runs));
  SINTER_ASSIGN_OR_RETURN(Timing t, TimeMs(call, seconds, bursts.at_least));
  return Timing{t.ms / burst, t.min_ms / burst, t.cpu_ms / burst, t.runs * burst};
}

Timing TimeCopy(int threads, double seconds) {
  const size_t bytes = static_cast<size_t>(kCopyBytes) / 2, part = bytes / static_cast<size_t>(threads);
  std::vector<char> source(bytes, 1), target(bytes, 2);
  ThreadPool pool(threads);
  auto copy = [&] {
    pool.ParallelFor(threads, 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        size_t offset = static_cast<size_t>(i) * part;
        std::memcpy(target.data() + offset, source.data() + offset, i + 1 == threads ? bytes - offset : part);
      }
    });
    return absl::OkStatus();
  };
  return TimeMs(copy, seconds).value();
}

double CopyGBps(int threads) {
  static std::map<int, double> measured;
  auto found = measured.find(threads);
  if (found == measured.end())
    found = measured.emplace(threads, kCopyBytes / TimeCopy(threads, 1).min_ms / 1e6).first;
  return found->second;
}

int BenchThreads() {
  absl::StatusOr<ThreadPool> pool = ThreadPool::Create();
  SINTER_CHECK(pool.ok()) << pool.status();
  return pool->threads();
}

}  // namespace sinter::bench
