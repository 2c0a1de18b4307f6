// Threads that give devices their work, one a device, so that a call which waits for another device's does not keep that
// device from being given it.
//
//   LaunchThreads threads({false, true, true}, work, on_error);   // For devices 1 and 2 of the plan.
//   threads.Post(1, {LaunchThreads::Kind::kLaunch, 4});           // work(task) is called by the thread of device 1.
//   threads.Post(2, {LaunchThreads::Kind::kLaunch, 5});
//   SINTER_RETURN_IF_ERROR(threads.Drain());                      // Until all is given; the first error.
//
// Why: the launch of a graph that holds an exchange may not return before the other members' graphs are launched too, says
// the documentation of NCCL (docs/decisions/0010-one-launching-thread-a-gpu.md).
//
// Each thread does its tasks in the order in which they were posted. After an error nothing more is done until Drain has
// returned it. Post and Drain are for one thread; posting allocates nothing.
#ifndef SINTER_RUNTIME_EXECUTE_LAUNCH_THREADS_H_
#define SINTER_RUNTIME_EXECUTE_LAUNCH_THREADS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "absl/status/status.h"

namespace sinter {

class LaunchThreads {
 public:
  enum class Kind : uint8_t { kRecord, kLaunch, kStep };
  struct Task {
    Kind kind;
    size_t index;  // Of a launch, or of a step.
  };

  // A thread for each device that `has_thread` says yes for. `on_error` is called at once by the thread that fails, so that
  // whatever others wait for can be given up.
  LaunchThreads(const std::vector<bool>& has_thread, std::function<absl::Status(const Task&)> work,
                std::function<void(const absl::Status&)> on_error);
  // After what was posted.
  ~LaunchThreads();
  LaunchThreads(const LaunchThreads&) = delete;
  LaunchThreads& operator=(const LaunchThreads&) = delete;

  bool Has(uint32_t device) const { return device < lanes_.size() && lanes_[device] != nullptr; }
  void Post(uint32_t device, const Task& task);
  // Until this device's thread has nothing left, or all have. A device without a thread has nothing.
  absl::Status Drain(uint32_t device);
  absl::Status Drain();

 private:
  // A queue with one writer and one reader.
  struct Lane {
    static constexpr size_t kSize = 64;  // Post waits when it is full.

    Task tasks[kSize];
    std::atomic<uint64_t> posted = 0, done = 0;
    std::thread thread;
  };

  static constexpr uint64_t kEnd = ~uint64_t{0};

  void Serve(Lane& lane);
  void WaitUntilDone(const Lane& lane) const;
  absl::Status TakeError();

  std::function<absl::Status(const Task&)> work_;
  std::function<void(const absl::Status&)> on_error_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // By device.
  std::atomic<bool> has_failed_ = false;
  std::mutex mutex_;
  absl::Status error_;  // The first.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_LAUNCH_THREADS_H_
