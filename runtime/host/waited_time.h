// Adds up the time that a process waits while it runs.
//
//   WaitedTime waited(Clock::now());
//   while (!done) {                                   // Several rounds a second.
//     if (waited.At(Clock::now()) > limit) ...
//   }
//
// A longer pause between two rounds is no wait: the process itself was stopped, as by a scheduler that
// suspends a whole job. Its limits must not pass meanwhile.
#ifndef SINTER_RUNTIME_HOST_WAITED_TIME_H_
#define SINTER_RUNTIME_HOST_WAITED_TIME_H_

#include <algorithm>
#include <chrono>

namespace sinter {

class WaitedTime {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // The most that one round counts.
  static constexpr std::chrono::milliseconds kLongestRound{1000};

  explicit WaitedTime(Time now) : looked_(now) {}

  Time::duration At(Time now) {
    sum_ += std::min<Time::duration>(now - looked_, kLongestRound);
    looked_ = now;
    return sum_;
  }

 private:
  Time looked_;
  Time::duration sum_{0};
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_WAITED_TIME_H_
