// The threads that run generated kernels and oneDNN.
//
//   SINTER_ASSIGN_OR_RETURN(ThreadPool pool, ThreadPool::Create());
//   pool.ParallelFor(rows, /*grain=*/16, [&](int64_t begin, int64_t end, int thread) { ... });
//
// oneDNN in Debian and Ubuntu uses OpenMP. This pool is therefore the OpenMP team of the calling thread: both
// use one set of threads, and no two sets compete for the cores. Consequences:
//  - A ThreadPool holds only a number, costs nothing, and is copied freely. The first parallel call starts
//    the threads.
//  - Each program thread that calls ParallelFor has a team of its own. Run plans from one thread at a time,
//    or give each thread a smaller team.
//  - Call BindCallingThread() before calling oneDNN, so that it uses the same number of threads. A team is
//    kept as long as its size is unchanged. A change of size ends and starts threads, so never alternate two
//    sizes.
//  - After fork, a child must not call ParallelFor with several threads if its parent did. OpenMP does not
//    survive fork: the child would wait forever for threads that it does not have. CheckAfterFork detects
//    this.
//
// How idle threads wait. libgomp reads its environment once, before main, so a program cannot choose itself:
//  - By default an idle thread spins 300,000 times (about 4 ms here), then sleeps. Within a step of about 50
//    short kernels the threads never sleep, and an idle program uses no CPU. Right if Sinter has its own
//    cores.
//  - OMP_WAIT_POLICY=active spins practically forever: equally fast inside a step, but an idle server keeps
//    its cores busy.
//  - OMP_WAIT_POLICY=passive wakes threads through the kernel each time. Right only if other programs need
//    the same cores: a spinning thread would keep them off the core, and would itself be suspended for
//    milliseconds.
//  - With more threads than cores libgomp spins only 100 times. It does not see a CPU quota (cgroup) below
//    the number of cores: set SINTER_NUM_THREADS to the quota.
// Median times of an empty ParallelFor over 2 threads (2-core AMD EPYC VM, gcc 12, other programs running):
// 0.6 to 1.4 us while the threads spin, 30 us when they sleep (passive). A step of 50 kernels of 10 us each:
// 535 to 580 us; passive 1360 us. The first call starts the threads, about 0.5 ms. With three times more
// runnable programs than cores, the 90th percentile of a call rises to a time slice of the kernel, 5 to 20
// ms.
#ifndef SINTER_RUNTIME_HOST_THREAD_POOL_H_
#define SINTER_RUNTIME_HOST_THREAD_POOL_H_

#include <cstdint>
#include <memory>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinter {

class ThreadPool {
 public:
  static constexpr int kMaxThreads = 1024;

  // Processes units [begin, end). `thread` is the part's number in [0, threads()), for its own scratch. Must
  // not throw.
  using Work = void (*)(void* context, int64_t begin, int64_t end, int thread);

  // Uses SINTER_NUM_THREADS threads, or one per available core if it is unset. InvalidArgument if the
  // variable is not a number in 1..1024.
  static absl::StatusOr<ThreadPool> Create();
  // Returns the number of cores that the process may run on (its affinity mask).
  static int AvailableCores();

  // Requires 1 <= threads <= kMaxThreads.
  explicit ThreadPool(int threads);

  int threads() const { return threads_; }

  // FailedPrecondition if this process was forked from one that had started threads, and needs more than one.
  absl::Status CheckAfterFork() const;

  // Returns the number of parts that ParallelFor makes: ceil(units / grain), at least 1, at most threads().
  int NumParts(int64_t units, int64_t grain) const;

  // Splits `units` into NumParts contiguous parts that differ by at most one unit, runs part t on thread t,
  // and returns when all are done. The bounds of the parts depend only on units, grain and threads(). `grain`
  // >= 1 is the least work worth a thread. The caller runs everything itself if units <= grain or there is
  // one thread. With no units there is no call. Inside parallel work the parts run one after another, with
  // the same bounds. Allocates nothing.
  void ParallelFor(int64_t units, int64_t grain, Work work, void* context) const;

  template <typename F>
    requires std::is_invocable_v<F&, int64_t, int64_t, int>
  void ParallelFor(int64_t units, int64_t grain, F&& function) const {
    using Function = std::remove_reference_t<F>;
    ParallelFor(
        units, grain,
        [](void* context, int64_t begin, int64_t end, int thread) {
          (*static_cast<Function*>(context))(begin, end, thread);
        },
        const_cast<void*>(static_cast<const void*>(std::addressof(function))));
  }

  // Makes OpenMP code that the calling thread runs later, oneDNN's above all, use threads() threads. Costs a
  // few nanoseconds: call it at the start of every run.
  void BindCallingThread() const;

 private:
  int threads_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_THREAD_POOL_H_
