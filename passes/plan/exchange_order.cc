#include "sinter/passes/plan/exchange_order.h"

#include <optional>
#include <tuple>
#include <vector>

#include "llvm/ADT/MapVector.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/plan/plan_steps.h"

namespace sinter {

using mlir::Operation;

namespace {

// Progress of one device: its ready steps and its started exchanges.
struct DeviceProgress {
  llvm::SmallVector<unsigned> ready;
  // Positions of the gathers that have not begun. The last one is the next.
  llvm::SmallVector<size_t> gathers;
  size_t taken = 0;
  unsigned begun = 0, joined = 0;      // Exchanges, numbered from 1 on this device.
  unsigned gathers_ahead = 0;          // Gathers that no step has read yet.
  double computes = 0, exchanges = 0;  // When the device is done with what it has taken, if times are known.
};

bool IsGather(Operation* step) {
  const auto collective = CollectiveOf(step);
  return collective && llvm::isa<ir::AllGatherOp>(collective->op);
}

// When a step ends that takes `seconds` alone, if exchanges run beside it until `exchanges`.
double EndOf(double begin, double seconds, double exchanges, double speed) {
  const double beside = std::min(std::max(exchanges - begin, 0.0), seconds / speed);
  return begin + beside + (seconds - beside * speed);
}

class Orderer {
 public:
  Orderer(llvm::ArrayRef<unsigned> order, const StepDependences& dependences, unsigned gathers_ahead,
          const StepCosts& costs)
      : dependences_(dependences),
        gathers_ahead_(gathers_ahead),
        costs_(costs),
        ends_(order.size(), 0),
        exchange_(order.size(), 0),
        position_(order.size()),
        is_collective_(order.size()),
        is_unread_gather_(order.size()) {
    for (auto [s, step] : llvm::enumerate(dependences.steps)) {
      is_collective_[s] = CollectiveOf(step).has_value();
      is_unread_gather_[s] = IsGather(step) && !dependences.after(s).empty();
      waiting_.push_back(dependences.before(s).size());
    }
    findPositions(order);
    for (auto [s, step] : llvm::enumerate(dependences.steps)) {
      DeviceProgress& device = devices_[ir::DeviceOf(step)];
      if (waiting_[s] == 0) device.ready.push_back(s);
      if (is_unread_gather_[s]) device.gathers.push_back(position_[s]);
    }
    for (auto& [attribute, device] : devices_) llvm::sort(device.gathers, std::greater<>());
  }

  llvm::SmallVector<unsigned> run() {
    llvm::SmallVector<unsigned> order;
    while (DeviceProgress* device = behindMost()) order.push_back(take(*device));
    return order;
  }

 private:
  // A step's position is that in the order. A gather comes right before its first reader.
  void findPositions(llvm::ArrayRef<unsigned> order) {
    for (auto [position, step] : llvm::enumerate(order)) position_[step] = position;
    std::vector<std::tuple<size_t, bool, size_t, unsigned>> keys;
    for (unsigned s = 0; s < position_.size(); ++s) {
      size_t needed = position_[s];
      if (is_unread_gather_[s]) {
        needed = order.size();
        for (unsigned next : dependences_.after(s)) needed = std::min(needed, position_[next]);
      }
      keys.push_back({needed, !is_unread_gather_[s], position_[s], s});
    }
    llvm::sort(keys);
    for (auto [position, key] : llvm::enumerate(keys)) position_[std::get<3>(key)] = position;
  }

  // Returns the device with the fewest taken steps among those with a ready step.
  DeviceProgress* behindMost() {
    DeviceProgress* found = nullptr;
    for (auto& [attribute, device] : devices_) {
      if (!device.ready.empty() && (!found || device.taken < found->taken)) found = &device;
    }
    return found;
  }

  unsigned take(DeviceProgress& device) {
    size_t first = position_.size();
    for (unsigned s : device.ready) first = std::min(first, position_[s]);
    auto score = [&](unsigned s) {
      const bool must_wait = mustWait(device, s);
      // A gather that must wait never fills the time of another exchange. It comes when it is next anyway.
      return std::make_tuple(must_wait && position_[s] != first, must_wait || !is_collective_[s],
                             exchangeToWaitFor(device, s), position_[s]);
    };
    auto* best = std::min_element(device.ready.begin(), device.ready.end(),
                                  [&](unsigned a, unsigned b) { return score(a) < score(b); });
    const unsigned step = *best;
    device.ready.erase(best);
    ++device.taken;
    device.joined = std::max(device.joined, exchangeToWaitFor(device, step));
    if (is_collective_[step]) exchange_[step] = ++device.begun;
    if (costs_.seconds) end(device, step);
    if (is_unread_gather_[step]) {
      ++device.gathers_ahead;
      llvm::erase(device.gathers, position_[step]);
    }
    for (unsigned before : dependences_.before(step)) {
      if (!is_unread_gather_[before]) continue;
      is_unread_gather_[before] = false;
      --devices_[ir::DeviceOf(dependences_.steps[before])].gathers_ahead;
    }
    for (unsigned next : dependences_.after(step)) {
      if (--waiting_[next] == 0) devices_[ir::DeviceOf(dependences_.steps[next])].ready.push_back(next);
    }
    return step;
  }

  void end(DeviceProgress& device, unsigned step) {
    double begin = device.computes;
    for (unsigned before : dependences_.before(step)) begin = std::max(begin, ends_[before]);
    if (is_collective_[step]) {
      ends_[step] = device.exchanges = std::max(begin, device.exchanges) + costs_.seconds(step);
    } else {
      ends_[step] = device.computes =
          EndOf(begin, costs_.seconds(step), device.exchanges, costs_.beside_exchange);
    }
  }

  // True for a gather that would take memory long before it is read: others run ahead or come before it.
  bool mustWait(const DeviceProgress& device, unsigned s) const {
    if (!is_unread_gather_[s]) return false;
    return device.gathers_ahead >= gathers_ahead_ || position_[s] != device.gathers.back();
  }

  // Returns the latest running exchange that the step needs; 0 if none.
  unsigned exchangeToWaitFor(const DeviceProgress& device, unsigned step) const {
    unsigned latest = 0;
    for (unsigned before : dependences_.before(step)) {
      if (costs_.seconds && ends_[before] <= device.computes) continue;
      latest = std::max(latest, exchange_[before]);
    }
    return latest > device.joined ? latest : 0;
  }

  const StepDependences& dependences_;
  const unsigned gathers_ahead_;
  const StepCosts costs_;
  llvm::SmallVector<double> ends_;        // When the steps taken end, if times are known.
  llvm::SmallVector<unsigned> waiting_;   // For each step: its predecessors that are still to come.
  llvm::SmallVector<unsigned> exchange_;  // For each started collective: its number on its device.
  llvm::SmallVector<size_t> position_;
  llvm::SmallVector<bool> is_collective_, is_unread_gather_;
  llvm::MapVector<ir::DeviceAttr, DeviceProgress> devices_;
};

}  // namespace

bool ExchangesOnGpus(llvm::ArrayRef<Operation*> steps) {
  return llvm::any_of(steps, [](Operation* step) {
    return CollectiveOf(step) && ir::TargetModel::Of(step).exchanges_beside_steps;
  });
}

bool HasGathers(llvm::ArrayRef<Operation*> steps) { return llvm::any_of(steps, IsGather); }

llvm::SmallVector<unsigned> OrderForExchanges(llvm::ArrayRef<unsigned> order,
                                              const StepDependences& dependences, unsigned gathers_ahead,
                                              const StepCosts& costs) {
  return Orderer(order, dependences, gathers_ahead, costs).run();
}

OrderTimes TimesInOrder(llvm::ArrayRef<unsigned> order, const StepDependences& dependences,
                        const StepCosts& costs) {
  struct Times {
    double computes = 0, exchanges = 0;  // When the device is done with what it has begun.
  };
  struct Meeting {
    unsigned missing = 0;  // Members that are still to come.
    double begin = 0;
    llvm::SmallVector<unsigned> members;
  };
  const llvm::ArrayRef<Operation*> steps = dependences.steps;
  llvm::SmallVector<std::optional<ir::Collective>> collectives;
  llvm::DenseMap<int64_t, Meeting> meetings;
  for (Operation* step : steps) {
    collectives.push_back(CollectiveOf(step));
    // An exchange over axes is one op.
    if (collectives.back() && collectives.back()->axes.empty()) {
      ++meetings[collectives.back()->channel].missing;
    }
  }
  llvm::MapVector<ir::DeviceAttr, Times> devices;
  llvm::SmallVector<double> ends(order.size(), 0);
  OrderTimes times;
  times.exposed.assign(order.size(), 0);
  for (const unsigned step : order) {
    Times& device = devices[ir::DeviceOf(steps[step])];
    double begin = device.computes;
    std::optional<unsigned> awaited;
    for (unsigned before : dependences.before(step)) {
      if (ends[before] <= begin) continue;
      begin = ends[before];
      awaited = collectives[before] ? std::optional(before) : std::nullopt;
    }
    const auto& collective = collectives[step];
    if (!collective) {
      if (awaited) times.exposed[*awaited] += begin - device.computes;
      device.computes = ends[step] =
          EndOf(begin, costs.seconds(step), device.exchanges, costs.beside_exchange);
      continue;
    }
    Meeting alone;
    Meeting& meeting = collective->axes.empty() ? meetings[collective->channel] : alone;
    meeting.begin = std::max({meeting.begin, begin, device.exchanges});
    meeting.members.push_back(step);
    if (meeting.missing > 0 && --meeting.missing > 0) continue;
    const double end = meeting.begin + costs.seconds(step);
    for (unsigned member : meeting.members) {
      ends[member] = devices[ir::DeviceOf(steps[member])].exchanges = end;
    }
  }
  if (!ends.empty()) times.seconds = *std::max_element(ends.begin(), ends.end());
  return times;
}

}  // namespace sinter
