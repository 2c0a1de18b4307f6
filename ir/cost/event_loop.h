// EventLoop: the discrete events of a simulated run.
//
//   EventLoop loop(simulation, /*jitter=*/0, /*seed=*/0);
//   if (absl::Status status = loop.Run(); !status.ok()) return status;
//   const std::vector<StepTimes> times = loop.TakeTimes(/*rank=*/3);
//
// Simulate (simulation.h) is the way in. Events of equal times happen in the order in which they were made,
// so the same simulation has the same events. Steps and transfers have work left and a speed: a change of
// speed replaces their last event.
#ifndef SINTER_IR_COST_EVENT_LOOP_H_
#define SINTER_IR_COST_EVENT_LOOP_H_

#include <cstdint>
#include <queue>
#include <vector>

#include "absl/status/status.h"
#include "sinter/ir/cost/port_sharing.h"
#include "sinter/ir/cost/simulation.h"

namespace sinter::cost {

class EventLoop {
 public:
  // The simulation must be valid, and must outlive the loop.
  EventLoop(const Simulation& simulation, double jitter, uint64_t seed);

  absl::Status Run();

  // After Run.
  std::vector<StepTimes> TakeTimes(uint32_t rank) { return std::move(ranks_[rank].times); }
  uint64_t events() const { return events_; }

 private:
  enum class Kind : uint8_t { kStepEnds, kLatencyEnds, kTransferEnds };
  struct Event {
    double time;
    uint64_t number;
    Kind kind;
    uint32_t rank;     // The rank of a step.
    uint32_t item;     // A lane of the rank, or an instance of an exchange.
    uint32_t version;  // The item's version when the event was made.

    bool operator>(const Event& other) const {
      return time != other.time ? time > other.time : number > other.number;
    }
  };
  // Work that is done at a speed.
  struct Progress {
    double left = 0, speed = 1, since = 0;
    uint32_t version = 0;

    void AdvanceTo(double now) { left -= (now - since) * speed, since = now; }
  };
  struct Lane {
    size_t next = 0;  // Position in ProgramOrder::lanes.
    bool is_busy = false;
    bool has_begun = false;  // StepTimes::begin.
    Progress progress;
  };
  struct Rank {
    std::vector<Lane> lanes;
    std::vector<uint32_t> waits_for;  // By step: steps that have not ended.
    std::vector<StepTimes> times;
    uint32_t transfers = 0;         // Exchanges of this rank whose transfer runs.
    std::vector<uint32_t> running;  // Lanes with a step that is no exchange, in the order of their starts.
    size_t left = 0;                // Steps that have not ended.
  };
  // The order that the ranks of a program share.
  struct ProgramOrder {
    std::vector<std::vector<uint32_t>> lanes;      // The steps of each lane.
    std::vector<std::vector<uint32_t>> followers;  // By step: steps that wait for it.
  };
  // One group's part of an exchange.
  struct Instance {
    uint32_t exchange = 0, group = 0;
    std::vector<std::pair<uint32_t, uint32_t>> arrived;  // Ranks and their steps.
    Progress progress;
  };

  const RankProgram& ProgramOf(uint32_t rank) const {
    return simulation_.programs[simulation_.program_of_rank[rank]];
  }
  const ProgramOrder& OrderOf(uint32_t rank) const { return orders_[simulation_.program_of_rank[rank]]; }
  const ExchangeCost& CostOf(const Instance& instance) const;
  double SecondsOf(uint32_t rank, uint32_t step) const;

  void Push(double time, Kind kind, uint32_t rank, uint32_t item, uint32_t version);
  void Handle(const Event& event);
  void TryStart(uint32_t rank, uint32_t lane);
  void Arrive(uint32_t rank, uint32_t step);
  void StepEnds(uint32_t rank, uint32_t step);
  void BeginTransfer(uint32_t index);
  void EndTransfer(uint32_t index);
  void Complete(uint32_t index);
  // Sets the speeds of transfers as the ports are shared now.
  void ShareAgain(const std::vector<uint32_t>& instances);
  // Sets the speeds of the rank's running steps.
  void SetSpeeds(uint32_t rank);
  absl::Status Stuck() const;

  const Simulation& simulation_;
  const double jitter_;
  const uint64_t seed_;
  std::vector<ProgramOrder> orders_;
  std::vector<Rank> ranks_;
  std::vector<uint32_t> first_instance_;  // By exchange.
  std::vector<Instance> instances_;
  PortSharing ports_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> queue_;
  double now_ = 0;
  uint64_t pushed_ = 0, events_ = 0;
  absl::Status error_;
};

}  // namespace sinter::cost

#endif  // SINTER_IR_COST_EVENT_LOOP_H_
