#include "sinter/runtime/execute/launch_order.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sinter/runtime/plan/buffer_range.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/plan/plan_devices.h"

namespace sinter {
namespace {

constexpr size_t kNone = ~size_t{0};

class Orderer {
 public:
  Orderer(const fb::Function& function, const std::vector<bool>& is_host, const LocalDevices& local)
      : function_(function),
        is_host_(is_host),
        local_(local),
        groups_(LocalGroups(function, local)),
        open_(local.count, kNone),
        given_(local.count, 1),
        known_(local.count, std::vector<size_t>(local.count, 0)),
        writes_(local.count) {}

  void Add(uint32_t index) {
    const fb::Step& step = *function_.steps()->Get(index);
    const uint32_t device = step.device();
    const bool is_between = IsBetweenDevices(function_, step);
    // Main memory replaces the source of an input copy if the source device is in another process.
    const bool is_of_input = IsCopyOfInput(function_, step);
    const bool has_source = is_between && local_.Has(SourceOf(step));
    if (!local_.Has(device) || (is_between && !has_source && !is_of_input)) {
      if (is_between && !is_of_input && (local_.Has(device) || has_source)) AddBetweenProcesses(index);
      return;
    }
    if (next_group_ < groups_.size() && groups_[next_group_].steps.front() == index) {
      const CollectiveGroup& group = groups_[next_group_++];
      if (is_host_[device]) return AddCollective(group);
      AddWaits(group);
    }
    if (index <= last_member_) return;
    const std::vector<BufferRange> writes = WritesOf(step);
    std::vector<uint32_t> others;
    if (!is_host_[device]) {
      others = ReadersOf(device, writes);
      if (has_source) AddIfBehind(step, others);
    }
    for (const uint32_t other : others) {
      Learn(device, other);
      open_[Here(other)] = kNone;
    }
    if (!others.empty() || is_between) open_[Here(device)] = kNone;
    const size_t number = ++given_[Here(device)];
    for (const BufferRange& range : writes) writes_[Here(device)].push_back({number, range});
    if (has_source) {
      const fb::Buffer& from = *function_.buffers()->Get(step.inputs()->Get(0));
      open_[Here(from.device())] = kNone;
      if (!is_host_[device] && !is_host_[from.device()]) {
        reads_.push_back({from.device(), device, number, RangeOf(from)});
      }
    }
    Place(index, device, std::move(others), is_between);
  }

  LaunchOrder Finish() {
    ForgetKnownReads();
    for (const Read& read : reads_) {
      const Wait wait = {read.owner, read.reader};
      if (std::ranges::find(order_.last, wait) == order_.last.end()) order_.last.push_back(wait);
    }
    return std::move(order_);
  }

 private:
  // The work of a device is numbered. Number 1 stands for all work before this run.
  struct Write {
    size_t number;
    BufferRange range;
  };
  struct Read {
    uint32_t owner, reader;
    size_t number;  // Number in the reader's work.
    BufferRange range;
  };

  uint32_t Here(uint32_t device) const { return device - local_.first; }
  uint32_t SourceOf(const fb::Step& copy) const {
    return function_.buffers()->Get(copy.inputs()->Get(0))->device();
  }

  // A copy between CPUs of two processes, one of them this process. It keeps its place in the order, like any
  // other step.
  void AddBetweenProcesses(uint32_t index) {
    const fb::Step& copy = *function_.steps()->Get(index);
    const uint32_t device = local_.Has(copy.device()) ? copy.device() : SourceOf(copy);
    open_[Here(device)] = kNone;
    order_.launches.push_back({.device = device, .steps = {index}, .is_between = true});
  }

  // Adds the members of a collective on CPUs.
  void AddCollective(const CollectiveGroup& group) {
    for (const uint32_t index : group.steps) {
      const fb::Step& step = *function_.steps()->Get(index);
      const uint32_t device = step.device();
      open_[Here(device)] = kNone;
      const size_t number = ++given_[Here(device)];
      for (const BufferRange& range : WritesOf(step)) writes_[Here(device)].push_back({number, range});
    }
    last_member_ = group.steps.back();
    const uint32_t first = function_.steps()->Get(group.steps.front())->device();
    order_.launches.push_back({.device = first, .steps = group.steps, .is_collective = true});
  }

  // Adds all waits of a GPU collective's members before any member. With a wait between the members, one
  // member could wait for another that waits for it in the exchange.
  void AddWaits(const CollectiveGroup& group) {
    for (const uint32_t index : group.steps) {
      const fb::Step& step = *function_.steps()->Get(index);
      const uint32_t device = step.device();
      std::vector<uint32_t> others = ReadersOf(device, WritesOf(step));
      if (others.empty()) continue;
      for (const uint32_t other : others) {
        Learn(device, other);
        open_[Here(other)] = kNone;
      }
      open_[Here(device)] = kNone;
      order_.launches.push_back({.device = device, .others = std::move(others)});
    }
  }

  std::vector<BufferRange> WritesOf(const fb::Step& step) const {
    std::vector<BufferRange> ranges;
    for (size_t i = 0; step.outputs() != nullptr && i < step.outputs()->size(); ++i) {
      ranges.push_back(RangeOf(*function_.buffers()->Get(step.outputs()->Get(i))));
    }
    const uint64_t begin = step.workspace_offset();
    ranges.push_back({fb::Space::Arena, 0, begin, begin + step.workspace_bytes()});
    return ranges;
  }

  // Returns the devices that may still be reading bytes that `device` is about to write.
  std::vector<uint32_t> ReadersOf(uint32_t device, const std::vector<BufferRange>& writes) const {
    std::vector<uint32_t> readers;
    for (const Read& read : reads_) {
      if (read.owner != device || known_[Here(device)][Here(read.reader)] >= read.number) continue;
      const bool overwritten =
          std::ranges::any_of(writes, [&](const BufferRange& range) { return range.Overlaps(read.range); });
      if (overwritten && std::ranges::find(readers, read.reader) == readers.end()) {
        readers.push_back(read.reader);
      }
    }
    return readers;
  }

  // Adds the source device of a copy if that device may still be writing the source.
  void AddIfBehind(const fb::Step& copy, std::vector<uint32_t>& others) const {
    const fb::Buffer& from = *function_.buffers()->Get(copy.inputs()->Get(0));
    const uint32_t other = from.device();
    if (is_host_[other] || std::ranges::find(others, other) != others.end()) return;
    const size_t known = known_[Here(copy.device())][Here(other)];
    bool is_behind = known == 0;
    const BufferRange range = RangeOf(from);
    const std::vector<Write>& writes = writes_[Here(other)];
    for (auto write = writes.rbegin(); write != writes.rend() && write->number > known; ++write) {
      is_behind = is_behind || write->range.Overlaps(range);
    }
    if (is_behind) others.push_back(other);
  }

  // After a wait, `device` also comes after all work that `other` comes after.
  void Learn(uint32_t device, uint32_t other) {
    for (uint32_t d = 0; d < local_.count; ++d) {
      known_[Here(device)][d] = std::max(known_[Here(device)][d], known_[Here(other)][d]);
    }
    known_[Here(device)][Here(other)] = given_[Here(other)];
    ForgetKnownReads();
  }

  void ForgetKnownReads() {
    std::erase_if(
        reads_, [&](const Read& read) { return known_[Here(read.owner)][Here(read.reader)] >= read.number; });
  }

  void Place(uint32_t index, uint32_t device, std::vector<uint32_t> others, bool is_between) {
    std::vector<Launch>& launches = order_.launches;
    // CPU steps run on the thread that launches the other devices' work. So they must not move before their
    // place in the plan.
    const bool is_last = open_[Here(device)] == launches.size() - 1;
    if (open_[Here(device)] != kNone && (!is_host_[device] || is_last)) {
      launches[open_[Here(device)]].steps.push_back(index);
      return;
    }
    if (!is_between) open_[Here(device)] = launches.size();
    launches.push_back(
        {.device = device, .steps = {index}, .others = std::move(others), .is_between = is_between});
  }

  const fb::Function& function_;
  const std::vector<bool>& is_host_;
  const LocalDevices local_;
  const std::vector<CollectiveGroup> groups_;
  size_t next_group_ = 0;
  int64_t last_member_ = -1;  // Last step of the latest collective launch.
  LaunchOrder order_;
  // The lists below are for the local devices; Here gives a device's place.
  std::vector<size_t> open_;   // Per device: its launch that still takes steps.
  std::vector<size_t> given_;  // Per device: number of its latest work.
  // known_[Here(d)][Here(e)]: later work of d comes after e's work up to this number.
  std::vector<std::vector<size_t>> known_;
  std::vector<std::vector<Write>> writes_;  // Per device, in order.
  // Reads of one GPU's memory by another GPU that the owner has not yet waited for.
  std::vector<Read> reads_;
};

}  // namespace

LaunchOrder MakeLaunchOrder(const fb::Plan& plan, const fb::Function& function,
                            const std::vector<bool>& is_host, const LocalDevices* local) {
  const LocalDevices all = {.first = 0, .count = NumDevices(plan)};
  Orderer orderer(function, is_host, local == nullptr ? all : *local);
  for (uint32_t i = 0; function.steps() != nullptr && i < function.steps()->size(); ++i) orderer.Add(i);
  return orderer.Finish();
}

std::vector<CollectiveGroup> LocalGroups(const fb::Function& function, const LocalDevices& local) {
  std::vector<CollectiveGroup> groups;
  const uint32_t count = function.steps() == nullptr ? 0 : function.steps()->size();
  uint32_t next = 0;
  for (uint32_t first = 0; first < count; first = next) {
    next = EndOfChannel(function, first);
    if (function.steps()->Get(first)->body_as_CollectiveStep() == nullptr) continue;
    CollectiveGroup group;
    for (uint32_t step = first; step < next; ++step) {
      if (local.Has(function.steps()->Get(step)->device())) group.steps.push_back(step);
    }
    if (!group.steps.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<Launch> PartsOf(Launch launch, absl::FunctionRef<bool(uint32_t step)> can_be_captured) {
  std::vector<Launch> parts;
  if (launch.is_between || launch.is_collective || std::ranges::all_of(launch.steps, can_be_captured)) {
    parts.push_back(std::move(launch));
    return parts;
  }
  for (const uint32_t step : launch.steps) {
    if (parts.empty() || can_be_captured(parts.back().steps.back()) != can_be_captured(step)) {
      parts.push_back({.device = launch.device});
    }
    parts.back().steps.push_back(step);
  }
  parts.front().others = std::move(launch.others);
  return parts;
}

}  // namespace sinter
