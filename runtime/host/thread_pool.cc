#include "sinter/runtime/host/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/process_forks.h"
#include "sinter/runtime/host/status.h"

// The runtime interface of libgomp, to which `#pragma omp parallel` compiles. It is called directly because
// Clang's own pragma needs another OpenMP library: so both compilers share one team of threads with oneDNN.
// (LLVM's OpenMP library has these entry points, too.)
extern "C" {
void GOMP_parallel(void (*function)(void*), void* data, unsigned num_threads, unsigned flags);
int omp_get_num_threads();
int omp_get_thread_num();
void omp_set_num_threads(int threads);
}

// ThreadSanitizer cannot see libgomp's barriers: tell it what they order.
#if defined(__SANITIZE_THREAD__)
#define SINTER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SINTER_TSAN 1
#endif
#endif
#ifdef SINTER_TSAN
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

namespace sinter {
namespace {

constexpr char kThreadsVariable[] = "SINTER_NUM_THREADS";

#ifdef SINTER_TSAN
void TsanAcquire(void* address) { __tsan_acquire(address); }
void TsanRelease(void* address) { __tsan_release(address); }
#else
void TsanAcquire(void*) {}
void TsanRelease(void*) {}
#endif

// 1 + the fork count of the process, this one or an ancestor, that first started a team of several threads; 0
// if none did.
std::atomic<uint32_t> team_begun = 0;

void SayTeamBegins(int threads) {
  if (threads > 1 && team_begun.load(std::memory_order_relaxed) == 0) {
    team_begun.store(ForkCount() + 1, std::memory_order_relaxed);
  }
}

struct Task {
  ThreadPool::Work work;
  void* context;
  int64_t units;
  int parts;
  char forked = 0;  // Addresses for ThreadSanitizer.
  char joined = 0;
};

// Runs the parts of one thread of the team: a single part, unless nested parallelism made the team smaller
// than requested.
void RunParts(void* data) {
  Task& task = *static_cast<Task*>(data);
  TsanAcquire(&task.forked);
  const int64_t size = task.units / task.parts;
  const int64_t longer = task.units % task.parts;  // The first parts have one unit more.
  const int team = omp_get_num_threads();
  for (int part = omp_get_thread_num(); part < task.parts; part += team) {
    const int64_t begin = part * size + std::min<int64_t>(part, longer);
    task.work(task.context, begin, begin + size + (part < longer ? 1 : 0), part);
  }
  TsanRelease(&task.joined);
}

}  // namespace

int ThreadPool::AvailableCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  int cores = 0;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) cores = CPU_COUNT(&set);
  // The set cannot hold more than 1024 cores.
  if (cores == 0) cores = static_cast<int>(std::thread::hardware_concurrency());
  return std::clamp(cores, 1, kMaxThreads);
}

absl::StatusOr<ThreadPool> ThreadPool::Create() {
  const char* const variable = std::getenv(kThreadsVariable);
  if (variable == nullptr || *variable == '\0') return ThreadPool(AvailableCores());
  const std::string_view text = variable;
  int threads = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), threads);
  if (error != std::errc() || end != text.data() + text.size() || threads < 1 || threads > kMaxThreads) {
    return absl::InvalidArgumentError(absl::StrCat(kThreadsVariable, " is \"", variable,
                                                   "\": write a number of threads from 1 to ", kMaxThreads,
                                                   ", or unset it to use all ", AvailableCores(), " cores"));
  }
  return ThreadPool(threads);
}

ThreadPool::ThreadPool(int threads) : threads_(threads) {
  SINTER_CHECK(threads >= 1 && threads <= kMaxThreads) << "with " << threads << " threads";
}

int ThreadPool::NumParts(int64_t units, int64_t grain) const {
  if (units <= grain) return 1;
  const int64_t parts = (units - 1) / std::max<int64_t>(grain, 1) + 1;
  return static_cast<int>(std::min<int64_t>(parts, threads_));
}

void ThreadPool::ParallelFor(int64_t units, int64_t grain, Work work, void* context) const {
  if (units <= 0) return;
  Task task{.work = work, .context = context, .units = units, .parts = NumParts(units, grain)};
  if (task.parts == 1) {
    work(context, 0, units, 0);
    return;
  }
  SayTeamBegins(threads_);
  TsanRelease(&task.forked);
  // Always use the whole team, even for fewer parts. A smaller team would end threads that the next call
  // starts again.
  GOMP_parallel(RunParts, &task, static_cast<unsigned>(threads_), 0);
  TsanAcquire(&task.joined);
}

void ThreadPool::BindCallingThread() const {
  SayTeamBegins(threads_);
  omp_set_num_threads(threads_);
}

absl::Status ThreadPool::CheckAfterFork() const {
  const uint32_t begun = team_begun.load(std::memory_order_relaxed);
  if (threads_ == 1 || begun == 0 || begun == ForkCount() + 1) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "this process was forked from one that had started its threads, which did not come along, and cannot "
      "have ",
      threads_,
      ": fork before the first session runs, start the child with exec, or give it one thread "
      "(SessionOptions::threads = 1)"));
}

}  // namespace sinter
