#include "sinter/runtime/execute/launch_threads.h"

#include <algorithm>
#include <utility>

namespace sinter {
namespace {

// Tells the core that this thread only waits.
void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

}  // namespace

LaunchThreads::LaunchThreads(const std::vector<bool>& has_thread,
                             std::function<absl::Status(const Task&)> work,
                             std::function<void(const absl::Status&)> on_error)
    : work_(std::move(work)),
      on_error_(std::move(on_error)),
      may_spin_(std::thread::hardware_concurrency() >=
                kCoresPerThread * static_cast<unsigned>(std::ranges::count(has_thread, true))),
      lanes_(has_thread.size()) {
  for (size_t device = 0; device < has_thread.size(); ++device) {
    if (!has_thread[device]) continue;
    lanes_[device] = std::make_unique<Lane>();
    lanes_[device]->thread = std::thread([this, lane = lanes_[device].get()] { Serve(*lane); });
  }
}

LaunchThreads::~LaunchThreads() {
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    if (lane == nullptr) continue;
    WaitUntilDone(*lane);
    lane->posted = kEnd;
    lane->posted.notify_one();
    lane->thread.join();
  }
}

void LaunchThreads::Post(uint32_t device, const Task& task) {
  Lane& lane = *lanes_[device];
  const uint64_t number = lane.posted;
  for (uint64_t done = lane.done; number - done >= Lane::kSize; done = lane.done) {
    WaitForChange(lane.done, done);
  }
  lane.tasks[number % Lane::kSize] = task;
  lane.posted = number + 1;
  lane.posted.notify_one();
}

void LaunchThreads::Serve(Lane& lane) {
  for (uint64_t number = 0;; ++number) {
    while (lane.posted == number) WaitForChange(lane.posted, number);
    if (lane.posted == kEnd) return;
    if (!has_failed_) {
      absl::Status status = work_(lane.tasks[number % Lane::kSize]);
      if (!status.ok()) {
        {
          const std::lock_guard lock(mutex_);
          error_.Update(status);
          has_failed_ = true;
        }
        on_error_(status);
      }
    }
    lane.done = number + 1;
    lane.done.notify_one();
  }
}

void LaunchThreads::WaitUntilDone(const Lane& lane) const {
  const uint64_t posted = lane.posted;
  for (uint64_t done = lane.done; done != posted; done = lane.done) WaitForChange(lane.done, done);
}

void LaunchThreads::WaitForChange(const std::atomic<uint64_t>& number, uint64_t old) const {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + kSpin;
  while (may_spin_ && Clock::now() < end) {
    if (number != old) return;
    Pause();
  }
  number.wait(old);
}

absl::Status LaunchThreads::TakeError() {
  if (!has_failed_) return absl::OkStatus();
  const std::lock_guard lock(mutex_);
  return error_;
}

absl::Status LaunchThreads::Drain(uint32_t device) {
  if (!Has(device)) return absl::OkStatus();
  WaitUntilDone(*lanes_[device]);
  return TakeError();
}

absl::Status LaunchThreads::Drain() {
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    if (lane != nullptr) WaitUntilDone(*lane);
  }
  if (!has_failed_) return absl::OkStatus();
  const std::lock_guard lock(mutex_);
  has_failed_ = false;
  return std::exchange(error_, absl::OkStatus());
}

}  // namespace sinter
