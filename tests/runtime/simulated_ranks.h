// Runs the ranks of a world on a simulated network and clock, in one thread and reproducibly by seed.
//
//   SimulatedRanks ranks(seed, {.ranks = 3, .fault = SimulatedFault::kDeath, .victim = 1});
//   ranks.Run([&](World& world) { ... session.Run(...) ... });
//   EXPECT_TRUE(ranks.has_ended(0));
//
// The world is the one of production (runtime/world/message_world.h), and runtime/host/liveness.h decides who
// is alive. Only messages and beats are simulated; they may take any time. Messages of one kind and tag from
// one rank to another stay in order; others may overtake each other. Small messages are copied when they are
// sent. Large messages are read on arrival and written a while later, as by a network that accesses memory
// directly. An exchange that returns to its caller too early therefore causes an AddressSanitizer error and
// counts in `early_returns`.
#ifndef SINTER_TESTS_RUNTIME_SIMULATED_RANKS_H_
#define SINTER_TESTS_RUNTIME_SIMULATED_RANKS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "sinter/runtime/world/message_world.h"
#include "sinter/runtime/world/world.h"
#include "sinter/tests/codegen/simt_fibers.h"

namespace sinter {

enum class SimulatedFault : uint8_t {
  kNone,
  kDeath,        // The victim's process ends, as by SIGKILL.
  kStop,         // The victim and its beats stop for some seconds, as by SIGSTOP.
  kUnplugged,    // No message passes between the victim and the next rank.
  kTermination,  // The victim gets SIGTERM.
  kNetwork,      // The victim's next network call fails.
  kSlow,         // The victim and its beats stop for less than a second: no fault.
};

struct SimulationOptions {
  int ranks = 2;
  SimulatedFault fault = SimulatedFault::kNone;
  int victim = 0;
  std::chrono::microseconds at = {};  // Virtual time of the fault.
  std::chrono::milliseconds patience = MessageWorld::kPatience;
  int machines = 1;  // Ranks of a machine see each other's processes; rank r is on machine r % machines.
};

class SimulatedRanks {
 public:
  using Time = MessageTransport::Time;
  using Duration = std::chrono::microseconds;

  SimulatedRanks(uint64_t seed, const SimulationOptions& options);
  ~SimulatedRanks();

  // Runs the program once per rank; a rank leaves the world at the end. Returns when all have ended, or at
  // the limit.
  void Run(const std::function<void(World&)>& program, Duration limit = std::chrono::seconds(60));
  // Called by a program: computes for `time` without contact to the other ranks.
  void Compute(World& world, Duration time);

  // True if the rank's program has ended: it neither hangs nor died. When Run returns, it unwinds the stacks
  // of hung and dead ranks with errors, which are ignored.
  bool has_ended(int rank) const;
  bool has_died(int rank) const;
  // Number of exchanges that returned, without reporting it, while one of their messages could still be
  // written.
  int early_returns() const { return early_returns_; }
  Duration now() const { return now_; }
  // Random number from the simulation's seed, for the program.
  uint64_t Random(uint64_t limit) { return random_() % limit; }

 private:
  class Transport;
  class CheckedWorld;
  struct Rank;

  static void FiberMain();
  void RunRank(Rank& rank);
  void At(Duration time, std::function<void()> event) {
    events_.emplace(std::make_pair(time, ++events_made_), std::move(event));
  }
  void Inject();
  void Hear(Rank& to, Rank& from, const Liveness::Said& said);
  void Unwind(Rank& rank);
  void Beat(int rank);
  // Called on a rank's fiber: sleeps until the time, or until something arrives for the rank.
  void Sleep(Rank& rank, Duration time);
  void Resume(Rank& rank);
  Duration Delay();
  bool IsCut(int a, int b) const;

  static SimulatedRanks* current_;

  const SimulationOptions options_;
  std::mt19937_64 random_;
  Duration now_ = {};
  std::map<std::pair<Duration, uint64_t>, std::function<void()>> events_;  // By time, then by age.
  uint64_t events_made_ = 0;
  codegen::SimtFibers fibers_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  const std::function<void(World&)>* program_ = nullptr;
  Rank* running_ = nullptr;
  bool is_cut_ = false;
  int early_returns_ = 0;
};

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_SIMULATED_RANKS_H_
