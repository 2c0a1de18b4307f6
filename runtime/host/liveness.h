// Tracks which ranks are alive, from the beats that the ranks send each other several times a second.
//
// The class uses neither network nor clock: the transport passes in beats and times.
//
//   Liveness liveness(rank, size, std::chrono::seconds(4), now);
//   liveness.Hear(2, beat, now);                       // For each beat received.
//   liveness.Tick(now);                                // Several times a second: finds silent ranks.
//   const Liveness::Said said = liveness.said();       // Beat for the other ranks; send it repeatedly.
//   if (std::optional<std::string> failure = liveness.failure()) ...         // "rank 2 does not answer"
//
// A rank reports its findings to all others, so that all give the same reason at nearly the same time. The
// first reason counts. A process that was itself stopped for a while does not blame the others.
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

#include "sinter/runtime/host/rank_places.h"

namespace sinter {

class Liveness {
 public:
  using Time = std::chrono::steady_clock::time_point;

  enum class State : int32_t { kAlive, kLeaving, kBroken, kWaiting };
  // Sent as raw bytes.
  struct Beat {
    State state = State::kAlive;
    // kBroken: the reason. kWaiting: the exchange in which the rank waits. kAlive: its last exchange.
    char text[252] = {};
  };
  struct Said {
    Beat beat;
    uint64_t number;  // Increases with each new beat to send.
  };

  // A rank counts as failed after `silence` without a beat.
  Liveness(int rank, int size, std::chrono::milliseconds silence, Time now);

  // The first failure of any rank. nullopt if there is none.
  std::optional<std::string> failure() const;
  bool HasLeft(int rank) const;
  bool HaveAllLeft() const;

  // Sets the beat for the other ranks, kLeaving or kBroken. kBroken also sets this rank's failure.
  void Say(State state, std::string_view reason);
  Said said() const;
  // Sets this rank's place in the beats: the exchange in which it waits, or the last one. Changes nothing
  // after Say.
  void SayPlace(std::string_view operation, bool is_waiting);
  // Describes where all ranks are, as far as their beats say (rank_places.h).
  std::string DescribePlaces() const;

  void Hear(int rank, const Beat& beat, Time now);
  // Call once per round of beats, after Hear.
  void Tick(Time now);
  // Reports that the rank's process is gone.
  void HasEnded(int rank);

 private:
  struct Peer {
    Time heard;
    bool has_left = false;
  };

  void Fail(std::string reason);

  const int rank_;
  const std::chrono::milliseconds silence_;
  mutable std::mutex mutex_;  // Guards the members below.
  std::vector<Peer> peers_;   // By rank; this rank's entry is unused.
  RankPlaces places_;
  Beat own_;
  uint64_t saying_ = 1;
  std::optional<std::string> failure_;
  Time last_tick_;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_LIVENESS_H_
