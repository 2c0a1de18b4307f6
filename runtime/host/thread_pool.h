// The threads that run generated kernels, and the same ones that oneDNN uses.
//
//   SINTER_ASSIGN_OR_RETURN(ThreadPool pool, ThreadPool::Create());
//   pool.ParallelFor(rows, /*grain=*/16, [&](int64_t begin, int64_t end, int thread) { ... });
//
// Debian's and Ubuntu's oneDNN runs on OpenMP, so this pool is the OpenMP team of the calling thread: one set
// of threads for both, never two that compete for the cores. Consequences:
//  - A ThreadPool holds a number, costs nothing, and is copied freely. The threads start at the first
//  parallel call.
//  - Each thread of the program that calls ParallelFor has a team of its own: run plans from one thread at a
//  time, or
//    give each fewer threads.
//  - Call BindCallingThread() before calling oneDNN, so that it uses as many threads. Teams of one size are
//    kept; changing the size ends and starts threads, so never use two sizes in turn.
//  - After fork, a child must not call ParallelFor with several threads if its parent did: OpenMP does not survive fork, and
//    the child would wait for ever for threads that it does not have. CheckAfterFork says so.
//
// How idle threads wait. libgomp reads its environment once, before main, so a program cannot choose for
// itself:
//  - Nothing set: an idle thread spins 300,000 times (about 4 ms here), then sleeps. Within a step of some 50
//  short
//    kernels the threads never sleep, and an idle program uses no CPU. Right for Sinter on cores of its own.
//  - OMP_WAIT_POLICY=active spins practically for ever: as quick inside a step, but an idle server burns its
//  cores.
//  - OMP_WAIT_POLICY=passive wakes threads through the kernel each time. Right only where other programs want
//  the same
//    cores: a spinning thread there keeps the others off, and is itself put aside for milliseconds.
//  - With more threads than cores libgomp spins 100 times only. It does not see a CPU quota (cgroup) below
//    the number of cores: set SINTER_NUM_THREADS to the quota.
// An empty ParallelFor over 2 threads, median (2-core AMD EPYC VM, gcc 12, other programs running): 0.6
// to 1.4 us while the threads spin, 30 us when they sleep (passive). A step of 50 kernels of 10 us each: 535
// to 580 us, passive 1360 us. The first call starts the threads, about 0.5 ms. With three times more runnable
// programs than cores the 90th percentile of a call rises to a time slice of the kernel, 5 to 20 ms.
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

  // Works on units [begin, end). `thread` is the part's number, in [0, threads()), for scratch of its own.
  // Must not throw.
  using Work = void (*)(void* context, int64_t begin, int64_t end, int thread);

  // As many threads as SINTER_NUM_THREADS says, else as the process has cores. InvalidArgument for a variable
  // that is not a number in 1..1024.
  static absl::StatusOr<ThreadPool> Create();
  // The cores that the process may run on (its affinity mask).
  static int AvailableCores();

  // 1 <= threads <= kMaxThreads.
  explicit ThreadPool(int threads);

  int threads() const { return threads_; }

  // FailedPrecondition: this process was forked from one whose threads had begun, and cannot have several.
  absl::Status CheckAfterFork() const;

  // How many parts ParallelFor makes: ceil(units / grain), at most threads(), at least 1.
  int NumParts(int64_t units, int64_t grain) const;

  // Splits `units` into NumParts contiguous parts that differ by at most one unit, runs part t on thread t,
  // and returns when all are done. Which units a part has depends on units, grain and threads() only. `grain`
  // >= 1 is the least work worth a thread of its own: with units <= grain or one thread, the caller runs all
  // of it. No unit, no call. Within work that is itself parallel, the parts run one after the other, with the
  // same bounds. Allocates nothing.
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

  // Makes OpenMP code that the calling thread runs from now on, oneDNN's above all, use threads() threads.
  // Costs a few nanoseconds: call it at the start of every run.
  void BindCallingThread() const;

 private:
  int threads_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_THREAD_POOL_H_
