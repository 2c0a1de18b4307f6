// Ranks of a world on a simulated network and clock, all in one thread: what they do depends on the seed alone.
//
//   SimulatedRanks ranks(seed, {.ranks = 3, .fault = SimulatedFault::kDeath, .victim = 1, .at = std::chrono::seconds(2)});
//   ranks.Run([&](World& world) { ... session.Run(...) ... });
//   EXPECT_TRUE(ranks.has_ended(0));
//
// The world is the one of production (runtime/world/message_world.h), and whoever is alive is judged by runtime/host/liveness.h. Simulated are
// the messages and the beats, which take any time; messages of one kind and tag from one rank to another stay in order, others
// overtake each other. Small messages are copied when they are sent. Large ones are read when they arrive and written a while
// later, as by a network that reaches memory by itself: whoever returns to its caller before gets an error of AddressSanitizer,
// and counts as `early_returns`.
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
  kStop,         // Neither it nor its beats go on for some seconds, as by SIGSTOP.
  kUnplugged,    // Nothing passes any more between the victim and the next rank.
  kTermination,  // It gets SIGTERM.
  kNetwork,      // Its next call of the network fails.
  kSlow,         // It computes for some seconds: no fault at all.
};

struct SimulationOptions {
  int ranks = 2;
  SimulatedFault fault = SimulatedFault::kNone;
  int victim = 0;
  std::chrono::microseconds at = {};  // Of the virtual time.
  int machines = 1;  // Ranks of one see each other's processes; rank r is on machine r % machines.
};

class SimulatedRanks {
 public:
  using Time = MessageTransport::Time;
  using Duration = std::chrono::microseconds;

  SimulatedRanks(uint64_t seed, const SimulationOptions& options);
  ~SimulatedRanks();

  // Runs the program as each rank, which leaves the world at its end; until all have ended, or the limit is reached.
  void Run(const std::function<void(World&)>& program, Duration limit = std::chrono::seconds(60));
  // Of a program: works for so long without a word to the others.
  void Compute(World& world, Duration time);

  // Whether a rank's program has ended, rather than hangs; a rank that died has not. The stacks of both are unwound when Run
  // returns, by errors that nobody hears of.
  bool has_ended(int rank) const;
  bool has_died(int rank) const;
  // Exchanges that returned while one of their messages could still be written, without a word.
  int early_returns() const { return early_returns_; }
  Duration now() const { return now_; }
  // Of the simulation's own chance, for the program.
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
  // Of the fiber that runs: until the time, or until something comes for the rank.
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
