#include "sinter/passes/plan/exchange_order.h"

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

// Gathers that run ahead of the steps that read them. Each holds the memory of what it gathers.
constexpr unsigned kGathersAhead = 2;

// Progress of one device: its ready steps and its started exchanges.
struct DeviceProgress {
  llvm::SmallVector<unsigned> ready;
  // Positions of the gathers that have not begun. The last one is the next.
  llvm::SmallVector<size_t> gathers;
  size_t taken = 0;
  unsigned begun = 0, joined = 0;  // Exchanges, numbered from 1 on this device.
  unsigned gathers_ahead = 0;      // Gathers that no step has read yet.
};

bool IsGather(Operation* step) {
  const auto collective = CollectiveOf(step);
  return collective && llvm::isa<ir::AllGatherOp>(collective->op);
}

class Orderer {
 public:
  Orderer(llvm::ArrayRef<Operation*> order, const StepDependences& dependences)
      : dependences_(dependences),
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

  llvm::SmallVector<Operation*> run() {
    llvm::SmallVector<Operation*> order;
    while (DeviceProgress* device = behindMost()) order.push_back(take(*device));
    return order;
  }

 private:
  // A step's position is that in the order. A gather comes right before its first reader.
  void findPositions(llvm::ArrayRef<Operation*> order) {
    llvm::DenseMap<Operation*, unsigned> number;
    for (auto [s, step] : llvm::enumerate(dependences_.steps)) number[step] = s;
    for (auto [position, step] : llvm::enumerate(order)) position_[number[step]] = position;
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

  Operation* take(DeviceProgress& device) {
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
    return dependences_.steps[step];
  }

  // True for a gather that would take memory long before it is read: others run ahead or come before it.
  bool mustWait(const DeviceProgress& device, unsigned s) const {
    if (!is_unread_gather_[s]) return false;
    return device.gathers_ahead >= kGathersAhead || position_[s] != device.gathers.back();
  }

  // Returns the latest running exchange that the step needs; 0 if none.
  unsigned exchangeToWaitFor(const DeviceProgress& device, unsigned step) const {
    unsigned latest = 0;
    for (unsigned before : dependences_.before(step)) latest = std::max(latest, exchange_[before]);
    return latest > device.joined ? latest : 0;
  }

  const StepDependences& dependences_;
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

llvm::SmallVector<Operation*> OrderForExchanges(llvm::ArrayRef<Operation*> order,
                                                const StepDependences& dependences) {
  return Orderer(order, dependences).run();
}

}  // namespace sinter
