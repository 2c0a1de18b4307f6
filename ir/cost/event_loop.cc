#include "sinter/ir/cost/event_loop.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace sinter::cost {
namespace {

// Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014): SplitMix64.
uint64_t Mixed(uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// Exponentially distributed, of mean 1.
double Exponential(uint64_t seed, uint32_t rank, uint32_t step) {
  const uint64_t bits = Mixed(Mixed(Mixed(seed) ^ rank) ^ step);
  const double uniform = static_cast<double>(bits >> 11) * 0x1p-53;  // [0, 1)
  return -std::log1p(-uniform);
}

}  // namespace

EventLoop::EventLoop(const Simulation& simulation, double jitter, uint64_t seed)
    : simulation_(simulation),
      jitter_(jitter),
      seed_(seed),
      ranks_(simulation.program_of_rank.size()),
      ports_(simulation.program_of_rank.size() * kPorts) {
  for (const RankProgram& program : simulation_.programs) {
    ProgramOrder& order = orders_.emplace_back();
    order.lanes.resize(program.lanes);
    order.followers.resize(program.steps.size());
    for (uint32_t i = 0; i < program.steps.size(); ++i) {
      order.lanes[program.steps[i].lane].push_back(i);
      for (const uint32_t before : program.steps[i].after) order.followers[before].push_back(i);
    }
  }
  for (uint32_t r = 0; r < ranks_.size(); ++r) {
    const RankProgram& program = ProgramOf(r);
    ranks_[r].lanes.resize(program.lanes);
    ranks_[r].times.resize(program.steps.size());
    ranks_[r].left = program.steps.size();
    for (const SimulatedStep& step : program.steps) {
      ranks_[r].waits_for.push_back(static_cast<uint32_t>(step.after.size()));
    }
  }
  for (uint32_t e = 0; e < simulation_.exchanges.size(); ++e) {
    first_instance_.push_back(static_cast<uint32_t>(instances_.size()));
    const Partition& partition = simulation_.partitions[simulation_.exchanges[e].partition];
    for (uint32_t g = 0; g < partition.groups.size(); ++g) {
      instances_.push_back({.exchange = e, .group = g, .arrived = {}, .progress = {}});
    }
  }
}

const ExchangeCost& EventLoop::CostOf(const Instance& instance) const {
  const std::vector<ExchangeCost>& costs = simulation_.exchanges[instance.exchange].costs;
  return costs.size() == 1 ? costs[0] : costs[instance.group];
}

double EventLoop::SecondsOf(uint32_t rank, uint32_t step) const {
  double seconds = ProgramOf(rank).steps[step].seconds;
  if (!simulation_.slowdown.empty()) seconds *= simulation_.slowdown[rank];
  return jitter_ == 0 ? seconds : seconds * (1 + jitter_ * Exponential(seed_, rank, step));
}

void EventLoop::Push(double time, Kind kind, uint32_t rank, uint32_t item, uint32_t version) {
  queue_.push({time, pushed_++, kind, rank, item, version});
}

absl::Status EventLoop::Run() {
  for (uint32_t r = 0; r < ranks_.size(); ++r) {
    for (uint32_t lane = 0; lane < ranks_[r].lanes.size(); ++lane) TryStart(r, lane);
  }
  while (!queue_.empty() && error_.ok()) {
    const Event event = queue_.top();
    queue_.pop();
    const uint32_t version = event.kind == Kind::kStepEnds
                                 ? ranks_[event.rank].lanes[event.item].progress.version
                                 : instances_[event.item].progress.version;
    if (event.version != version) continue;
    now_ = event.time;
    ++events_;
    Handle(event);
  }
  if (!error_.ok()) return error_;
  const bool is_done = std::ranges::all_of(ranks_, [](const Rank& rank) { return rank.left == 0; });
  return is_done ? absl::OkStatus() : Stuck();
}

void EventLoop::Handle(const Event& event) {
  switch (event.kind) {
    case Kind::kStepEnds:
      return StepEnds(event.rank,
                      OrderOf(event.rank).lanes[event.item][ranks_[event.rank].lanes[event.item].next]);
    case Kind::kLatencyEnds:
      return BeginTransfer(event.item);
    case Kind::kTransferEnds:
      return EndTransfer(event.item);
  }
}

void EventLoop::TryStart(uint32_t rank, uint32_t index) {
  Rank& r = ranks_[rank];
  Lane& lane = r.lanes[index];
  const std::vector<uint32_t>& steps = OrderOf(rank).lanes[index];
  if (lane.is_busy || lane.next == steps.size() || r.waits_for[steps[lane.next]] > 0) return;
  const uint32_t step = steps[lane.next];
  lane.is_busy = true;
  r.times[step].begin = now_;
  if (ProgramOf(rank).steps[step].exchange != kNone) return Arrive(rank, step);
  lane.progress = {SecondsOf(rank, step), 0, now_, lane.progress.version + 1};
  lane.has_begun = false;
  r.running.push_back(index);
  SetSpeeds(rank);
}

void EventLoop::Arrive(uint32_t rank, uint32_t step) {
  const uint32_t exchange = ProgramOf(rank).steps[step].exchange;
  const Partition& partition = simulation_.partitions[simulation_.exchanges[exchange].partition];
  const uint32_t group = partition.group_of[rank];
  if (group == kNone) {
    error_ = absl::InvalidArgumentError(absl::StrCat("rank ", rank, " has step ", step, " (",
                                                     ProgramOf(rank).steps[step].name,
                                                     ") of an exchange in which it has no group"));
    return;
  }
  const uint32_t index = first_instance_[exchange] + group;
  Instance& instance = instances_[index];
  instance.arrived.emplace_back(rank, step);
  if (instance.arrived.size() < partition.groups[group].size()) return;
  ++instance.progress.version;
  Push(now_ + CostOf(instance).latency, Kind::kLatencyEnds, 0, index, instance.progress.version);
}

void EventLoop::StepEnds(uint32_t rank, uint32_t step) {
  Rank& r = ranks_[rank];
  const uint32_t index = ProgramOf(rank).steps[step].lane;
  Lane& lane = r.lanes[index];
  r.times[step].end = now_;
  --r.left;
  lane.is_busy = false;
  ++lane.next;
  ++lane.progress.version;
  if (ProgramOf(rank).steps[step].exchange == kNone) {
    std::erase(r.running, index);
    SetSpeeds(rank);
  }
  TryStart(rank, index);
  for (const uint32_t follower : OrderOf(rank).followers[step]) {
    if (--r.waits_for[follower] == 0) TryStart(rank, ProgramOf(rank).steps[follower].lane);
  }
}

void EventLoop::BeginTransfer(uint32_t index) {
  Instance& instance = instances_[index];
  const ExchangeCost& cost = CostOf(instance);
  if (cost.transfer == 0) return Complete(index);
  instance.progress.left = cost.transfer;
  instance.progress.since = now_;
  std::vector<uint32_t> ports;
  for (const auto& [rank, step] : instance.arrived) {
    ports.push_back(rank * kPorts + cost.port);
    if (ranks_[rank].transfers++ == 0) SetSpeeds(rank);
  }
  ports_.Add(index, std::move(ports));
  ShareAgain({index});
}

void EventLoop::EndTransfer(uint32_t index) {
  const std::vector<uint32_t> others = ports_.Remove(index);
  for (const auto& [rank, step] : instances_[index].arrived) {
    if (--ranks_[rank].transfers == 0) SetSpeeds(rank);
  }
  if (!others.empty()) ShareAgain(others);
  Complete(index);
}

void EventLoop::Complete(uint32_t index) {
  Instance& instance = instances_[index];
  ++instance.progress.version;
  // The end of a step can let the same instance start anew: a program may have an exchange twice.
  const std::vector<std::pair<uint32_t, uint32_t>> members = std::move(instance.arrived);
  instance.arrived.clear();
  for (const auto& [rank, step] : members) StepEnds(rank, step);
}

void EventLoop::ShareAgain(const std::vector<uint32_t>& instances) {
  for (const auto& [index, speed] : ports_.SpeedsBeside(instances)) {
    Progress& progress = instances_[index].progress;
    progress.AdvanceTo(now_);
    progress.speed = speed;
    ++progress.version;
    Push(now_ + std::max(0.0, progress.left) / speed, Kind::kTransferEnds, 0, index, progress.version);
  }
}

void EventLoop::SetSpeeds(uint32_t rank) {
  Rank& r = ranks_[rank];
  const double most = r.transfers > 0 ? simulation_.beside_exchange : 1;
  double free = 1;  // Part of the device.
  for (const uint32_t index : r.running) {
    Lane& lane = r.lanes[index];
    const uint32_t step = OrderOf(rank).lanes[index][lane.next];
    const double share = ProgramOf(rank).steps[step].share;
    const double part = std::min(1.0, free / share);
    free = part < 1 ? 0 : free - share;
    Progress& progress = lane.progress;
    if (progress.speed == most * part && lane.has_begun) continue;
    progress.AdvanceTo(now_);
    progress.speed = most * part;
    ++progress.version;
    if (part == 0) continue;
    if (!lane.has_begun) r.times[step].begin = now_;
    lane.has_begun = true;
    Push(now_ + std::max(0.0, progress.left) / progress.speed, Kind::kStepEnds, rank, index,
         progress.version);
  }
}

absl::Status EventLoop::Stuck() const {
  for (uint32_t r = 0; r < ranks_.size(); ++r) {
    for (uint32_t lane = 0; lane < ranks_[r].lanes.size(); ++lane) {
      if (!ranks_[r].lanes[lane].is_busy) continue;
      const uint32_t step = OrderOf(r).lanes[lane][ranks_[r].lanes[lane].next];
      const uint32_t exchange = ProgramOf(r).steps[step].exchange;
      const Partition& partition = simulation_.partitions[simulation_.exchanges[exchange].partition];
      const Instance& instance = instances_[first_instance_[exchange] + partition.group_of[r]];
      for (const uint32_t member : partition.groups[partition.group_of[r]]) {
        if (std::ranges::any_of(instance.arrived, [&](const auto& a) { return a.first == member; })) continue;
        return absl::InvalidArgumentError(absl::StrCat(
            "the ranks wait for each other: rank ", r, " waits in step ", step, " (",
            ProgramOf(r).steps[step].name, ") for rank ", member, ", which does not come to it"));
      }
    }
  }
  return absl::InvalidArgumentError("the ranks wait for each other");
}

}  // namespace sinter::cost
