// Threads that launch work on devices, one per device, so that a blocking launch delays no other device.
//
//   LaunchThreads threads({false, true, true}, work, on_error);   // For devices 1 and 2 of the plan.
//   threads.Post(1, {LaunchThreads::Kind::kLaunch, 4});           // The thread of device 1 calls work(task).
//   threads.Post(2, {LaunchThreads::Kind::kLaunch, 5});
//   SINTER_RETURN_IF_ERROR(threads.Drain());                      // Waits for all; returns the first error.
//
// Reason: the launch of a graph with a collective may return only after the other members' graphs are
// launched too, according to the documentation of NCCL (docs/decisions/0010-one-launching-thread-a-gpu.md).
//
// Each thread runs its tasks in the order of the posts. After an error the threads skip all tasks until
// Drain() for all devices has returned the error. Only one thread may call Post and Drain. Post allocates
// nothing.
//
// Waking a thread that sleeps takes longer than the launch of a small program. So a thread that waits first
// looks again and again for kSpin, if the machine has cores to spare.
#ifndef SINTER_RUNTIME_EXECUTE_LAUNCH_THREADS_H_
#define SINTER_RUNTIME_EXECUTE_LAUNCH_THREADS_H_

#include <atomic>
#include <chrono>
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
  enum class Kind : uint8_t { kInputs, kCapture, kLaunch, kStep };
  struct Task {
    Kind kind;
    size_t index;  // Index of a device, a launch or a step.
  };

  // Starts a thread for each device with `has_thread`. A failing thread calls `on_error` immediately, so that
  // blocked waits of other threads can be aborted.
  LaunchThreads(const std::vector<bool>& has_thread, std::function<absl::Status(const Task&)> work,
                std::function<void(const absl::Status&)> on_error);
  // Waits for all posted tasks.
  ~LaunchThreads();
  LaunchThreads(const LaunchThreads&) = delete;
  LaunchThreads& operator=(const LaunchThreads&) = delete;

  bool Has(uint32_t device) const { return device < lanes_.size() && lanes_[device] != nullptr; }
  void Post(uint32_t device, const Task& task);
  // Waits until this device's thread, or all threads, have no task left. Returns at once for a device without
  // a thread.
  absl::Status Drain(uint32_t device);
  absl::Status Drain();

 private:
  // A queue with one writer and one reader.
  struct Lane {
    static constexpr size_t kSize = 64;  // Post waits while the lane is full.

    Task tasks[kSize];
    std::atomic<uint64_t> posted = 0, done = 0;
    std::thread thread;
  };

  static constexpr uint64_t kEnd = ~uint64_t{0};
  // Small programs run again within this time.
  static constexpr std::chrono::microseconds kSpin{300};
  static constexpr unsigned kCoresPerThread = 4;

  void Serve(Lane& lane);
  void WaitUntilDone(const Lane& lane) const;
  // Returns when `number` is no longer `old`.
  void WaitForChange(const std::atomic<uint64_t>& number, uint64_t old) const;
  absl::Status TakeError();

  std::function<absl::Status(const Task&)> work_;
  std::function<void(const absl::Status&)> on_error_;
  const bool may_spin_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // By device.
  std::atomic<bool> has_failed_ = false;
  std::mutex mutex_;
  absl::Status error_;  // The first error.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_EXECUTE_LAUNCH_THREADS_H_
