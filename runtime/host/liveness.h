// Who of the ranks is alive, as far as this one knows: what it hears from the others several times a second, and what it tells
// them. Knows neither a network nor the time: whoever carries the beats says when they come.
//
//   Liveness liveness(rank, size, std::chrono::seconds(4), now);
//   liveness.Hear(2, beat, now);                       // As beats come,
//   liveness.Tick(now);                                // then several times a second: who has been silent for too long?
//   const Liveness::Said said = liveness.said();       // What the others are to be told, each once and then again and again.
//   if (std::optional<std::string> failure = liveness.failure()) ...         // `rank 2 does not answer`
//
// What one rank finds of another it tells all, so that all give the same reason at nearly the same time. The first reason
// counts. A process that was itself stopped for a while does not blame the others.
//
// Thread-safe.
#ifndef SINTER_RUNTIME_HOST_LIVENESS_H_
#define SINTER_RUNTIME_HOST_LIVENESS_H_

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sinter {

class Liveness {
 public:
  using Time = std::chrono::steady_clock::time_point;

  enum class State : int32_t { kAlive, kLeaving, kBroken };
  // Travels as its bytes.
  struct Beat {
    State state = State::kAlive;
    char reason[252] = {};  // Of what is broken.
  };
  struct Said {
    Beat beat;
    uint64_t number;  // Another one each time that something new is said.
  };

  // A rank that was not heard for `silence` does not answer.
  Liveness(int rank, int size, std::chrono::milliseconds silence, Time now);

  // The first thing that went wrong anywhere; nothing while nothing has.
  std::optional<std::string> failure() const;
  bool HasLeft(int rank) const;
  bool HaveAllLeft() const;

  // Sets what others are told from now on. kBroken is this rank's failure too.
  void Say(State state, std::string_view reason);
  Said said() const;

  void Hear(int rank, const Beat& beat, Time now);
  // Once for each round of beats, after what was heard.
  void Tick(Time now);
  // It was seen that its process is gone.
  void HasEnded(int rank);

 private:
  struct Peer {
    Time heard;
    bool has_left = false;
  };

  void Fail(std::string reason);

  const int rank_;
  const std::chrono::milliseconds silence_;
  mutable std::mutex mutex_;  // Of what follows.
  std::vector<Peer> peers_;   // By rank; this one's says nothing.
  Beat own_;
  uint64_t saying_ = 1;
  std::optional<std::string> failure_;
  Time last_tick_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_LIVENESS_H_
