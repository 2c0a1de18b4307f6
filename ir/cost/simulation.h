// A program of many ranks as plain structures, and its simulated run.
//
//   Simulation s;
//   s.programs = {{.lanes = 1, .steps = {{.seconds = 1e-3}}}};
//   s.program_of_rank = {0, 0};                                    // Two ranks.
//   s.partitions = {Partition::Of(2, {{0, 1}})};
//   s.exchanges = {{.partition = 0, .costs = {{.latency = 1e-5, .transfer = 1e-4}}}};
//   s.programs[0].steps.push_back({.after = {0}, .exchange = 0});
//   SINTER_ASSIGN_OR_RETURN(const SimulationResult result, Simulate(s));       // 1.11 ms
//
// A step starts when its lane has finished the steps before it and the steps that it names have ended. Of
// steps of one rank that run together, a later one has the part of the device that the earlier ones do not
// use. An exchange starts when the steps of all members have started, and ends for all members at once. It
// takes its latency, and then its transfer: exchanges that use a port at the same time share it fairly
// (max-min).
#ifndef SINTER_IR_COST_SIMULATION_H_
#define SINTER_IR_COST_SIMULATION_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sinter::cost {

inline constexpr uint32_t kNone = ~uint32_t{0};

struct SimulatedStep {
  double seconds = 0;                // Alone on its rank; unused for a member's part of an exchange.
  double share = 1;                  // Part of the device that it keeps busy, in (0, 1].
  uint32_t lane = 0;                 // Below RankProgram::lanes.
  std::vector<uint32_t> after = {};  // Earlier steps of the program, of any lane.
  uint32_t exchange = kNone;         // Index into Simulation::exchanges.
  std::string name = {};             // For errors and traces.
};

// The steps of a rank, in the order of their launch.
struct RankProgram {
  uint32_t lanes = 1;
  std::vector<SimulatedStep> steps = {};
};

// Disjoint groups of ranks.
struct Partition {
  std::vector<std::vector<uint32_t>> groups;  // Ranks, ascending.
  std::vector<uint32_t> group_of;             // By rank; kNone for ranks in no group.

  static Partition Of(uint32_t ranks, std::vector<std::vector<uint32_t>> groups);
};

// Time of an exchange, and what it uses of each member's ports. A rank has the ports [0, kPorts): its link
// within the node, and its link to other nodes.
inline constexpr uint32_t kPorts = 2;
struct ExchangeCost {
  double latency = 0;
  double transfer = 0;  // Alone.
  uint32_t port = 0;
};

// One exchange of the program: every group of the partition carries it out on its own.
struct SimulatedExchange {
  uint32_t partition = 0;
  std::vector<ExchangeCost> costs;  // One for all groups, or one for each.
};

struct Simulation {
  std::vector<RankProgram> programs;
  std::vector<uint32_t> program_of_rank;
  std::vector<Partition> partitions;
  std::vector<SimulatedExchange> exchanges;
  // A rank's steps take this many times as long; empty: 1 for all ranks.
  std::vector<double> slowdown;
  // Speed of a rank's steps during its exchanges' transfers, in (0, 1].
  double beside_exchange = 1;
};

struct SimulationOptions {
  // Each step of each rank takes 1 + jitter * x times as long, with x exponentially distributed, of mean 1,
  // and drawn from the seed, the rank and the step. Above 0 no rank equals another.
  double jitter = 0;
  uint64_t seed = 0;
  // Simulates equal ranks once (fold_ranks.h). The times are the same.
  bool fold = true;
};

// Seconds since the start.
struct StepTimes {
  // When it had a part of the device. For an exchange: when this rank began to wait for the other members.
  double begin = 0;
  double end = 0;
  bool operator==(const StepTimes&) const = default;
};

struct RankResult {
  uint32_t rank = 0;   // The first of the ranks with these times.
  uint32_t ranks = 1;  // Their number.
  std::vector<StepTimes> steps;
  double end = 0;
  double computing = 0;   // Time in which a step that is no exchange runs.
  double exchanging = 0;  // Time in which an exchange waits or runs.
  double exposed = 0;     // The part of `exchanging` in which no other step runs.
};

struct SimulationResult {
  double seconds = 0;
  uint64_t events = 0;
  std::vector<RankResult> ranks;  // Ascending by `rank`.
};

// InvalidArgument: the structures are wrong, or no rank can go on; the message names a rank and its step.
absl::StatusOr<SimulationResult> Simulate(const Simulation& simulation,
                                          const SimulationOptions& options = {});

}  // namespace sinter::cost

#endif  // SINTER_IR_COST_SIMULATION_H_
