// Catches SIGTERM and SIGINT for a while. For Sinter's own sources.
//
//   SignalScope signals(/*active=*/true);
//   while (!signals.Caught()) ...
//
// The second signal has the effect that it had before. A signal that was ignored stays ignored. One scope at
// a time catches signals; a scope inside another one sees what that catches.
#ifndef SINTER_FRONTEND_TRAIN_SIGNALS_H_
#define SINTER_FRONTEND_TRAIN_SIGNALS_H_

#include <chrono>
#include <csignal>
#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "sinter/runtime/world/world.h"

namespace sinter::train {

class SignalScope {
 public:
  explicit SignalScope(bool active);
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

  // The signal's number; 0 if none has come.
  int Caught() const;
  static std::string NameOf(int signal) { return signal == SIGTERM ? "SIGTERM" : "SIGINT"; }

 private:
  bool active_;
  struct sigaction before_[2] = {};
};

// Tells all processes of a training after one and the same update that one of them has caught a signal.
//
//   SignalWatch watch(world, /*active=*/true);
//   SINTER_ASSIGN_OR_RETURN(std::optional<SignalWatch::Signal> signal, watch.After(update));
class SignalWatch {
 public:
  struct Signal {
    int number = 0;
    int rank = 0;  // The first process that caught it.
  };

  // Null: there is one process.
  SignalWatch(World* world, bool active) : world_(world), active_(active), scope_(active) {}

  // All processes ask after each update, from 1. Several processes exchange what they know every fifth of a
  // second, or after each longer update. Errors of the exchange: World::Exchange.
  absl::StatusOr<std::optional<Signal>> After(int64_t update);

 private:
  int64_t NextExchange(int64_t update);

  World* world_;
  bool active_;
  SignalScope scope_;
  int64_t next_ = 1, last_ = 0;  // Updates after which the processes exchange, and did last.
  std::chrono::steady_clock::time_point last_time_ = std::chrono::steady_clock::now();
};

}  // namespace sinter::train

#endif  // SINTER_FRONTEND_TRAIN_SIGNALS_H_
