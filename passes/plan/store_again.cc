#include <algorithm>
#include <optional>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SetVector.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/op_prices.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/plan/exchange_order.h"
#include "sinter/passes/plan/live_ranges.h"
#include "sinter/passes/plan/rematerialisation.h"
#include "sinter/passes/plan/step_graph.h"

namespace sinter {

#define GEN_PASS_DEF_STOREAGAIN
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;

// Rounds of choosing; each looks at another peak.
constexpr int kPeakRounds = 4;
// Smaller parts of the peak are not worth the search.
constexpr int64_t kPartsOfPeak = 2048;
// Inputs that the kernel does not read yet have at most this part of the value's bytes.
constexpr int64_t kPartsOfValue = 16;
constexpr size_t kMostMoved = 8;     // Steps that move behind a kernel for one value.
constexpr size_t kMostHosts = 8;     // Kernels that are tried for one value.
constexpr size_t kSpareBuffers = 8;  // A kernel's buffers of workspace.

// A value that the kernel at the step again.before stores again.
struct Choice {
  Rematerialisation again;
  int64_t last_early = 0;                   // The last step that reads the value as it was first stored.
  llvm::SmallVector<unsigned> moved = {};   // The steps that move behind the kernel, ascending.
  llvm::SmallVector<Value> kept_long = {};  // Memory that lives until there because of them.
  double seconds = 0;

  bool coversStep(int64_t step) const { return last_early < step && step < again.before; }
  double bytesPerSecond() const { return static_cast<double>(again.saved_bytes) / seconds; }
};

double TotalBytes(Operation* step) {
  double bytes = 0;
  for (Value buffer : step->getOperands()) bytes += static_cast<double>(BytesOf(buffer));
  return bytes;
}

// One peak of a function's device: what to store again to lower it.
class PeakSearch {
 public:
  PeakSearch(plan_ir::FunctionOp function, ir::DeviceAttr device, bool in_place, size_t most_buffers)
      : device_(device),
        most_buffers_(most_buffers),
        plan_(function, in_place),
        uses_(function),
        graph_(plan_.steps()),
        alive_(plan_.bytesAlive(device)),
        function_(function) {
    for (const LiveRanges::Block& block : plan_.blocks()) {
      for (Value alloc : block.allocs) block_of_[alloc] = &block;
    }
  }

  int64_t peak() const { return *std::max_element(alive_.begin(), alive_.end()); }

  // Stores values again for at most `budget` seconds, which it reduces. Returns the values.
  llvm::SmallVector<Choice> lower(double& budget) {
    const LiveRanges::Peak peak = plan_.peakOf(device_);
    llvm::SmallVector<Choice> choices, taken;
    for (const LiveRanges::Block* block : peak.alive) {
      if (block->allocs.size() != 1 || block->memory.bytes < peak.bytes / kPartsOfPeak) continue;
      if (std::optional<Choice> choice = cheapest(block->allocs[0], peak.step)) choices.push_back(*choice);
    }
    for (;;) {
      const Choice* best = nullptr;
      const auto* top = std::max_element(alive_.begin(), alive_.end());
      for (const Choice& choice : choices) {
        if (!choice.coversStep(top - alive_.begin()) || choice.seconds > budget) continue;
        if (best && best->bytesPerSecond() >= choice.bytesPerSecond()) continue;
        if (lowers(choice, *top) && isApart(choice, taken)) best = &choice;
      }
      if (!best) break;
      taken.push_back(*best);
      budget -= best->seconds;
      count(*best, alive_);
      uses_.insertInto(best->again, peak.step);
      llvm::erase_if(choices, [&](const Choice& c) { return c.again.alloc == taken.back().again.alloc; });
      // The kernel has another body now.
      llvm::erase_if(choices, [&](const Choice& c) {
        return c.again.before == taken.back().again.before && !fits(c.again);
      });
    }
    if (!taken.empty()) moveReaders(taken);
    return taken;
  }

  llvm::ArrayRef<Operation*> steps() const { return uses_.steps(); }

 private:
  bool fits(const Rematerialisation& again) const {
    Operation* host = uses_.steps()[again.before];
    return host->getNumOperands() + again.inputs.size() + 1 + kSpareBuffers <= most_buffers_ &&
           uses_.fits(again);
  }

  // Returns the kernel that stores the value again at the lowest price, the first of equal ones.
  std::optional<Choice> cheapest(Value alloc, int64_t peak) {
    llvm::ArrayRef<int64_t> uses = uses_.usesOf(alloc);
    const auto* late = llvm::upper_bound(uses, peak);
    if (late == uses.begin() || late == uses.end()) return std::nullopt;
    std::optional<Choice> best;
    for (int64_t host : hostsOf(uses_.steps()[uses.front()], peak)) {
      if (llvm::is_contained(uses, host)) continue;
      std::optional<Rematerialisation> again = uses_.findFor(alloc, peak, host);
      if (!again) continue;
      Choice choice = {.again = *again, .last_early = late[-1]};
      choice.seconds = price(*again);
      if (choice.seconds <= 0 || (best && best->seconds <= choice.seconds)) continue;
      if (findMoved(uses, peak, choice) && fits(*again)) best = choice;
    }
    return best;
  }

  // Returns the generated kernels after the peak that read large operands or other results of the step.
  llvm::SmallVector<int64_t> hostsOf(Operation* step, int64_t peak) const {
    llvm::SetVector<Value> roots;
    int64_t most = 0;
    for (Value buffer : step->getOperands()) most = std::max(most, BytesOf(buffer));
    for (Value buffer : step->getOperands()) {
      if (BytesOf(buffer) * kPartsOfValue > most) roots.insert(Resolve(buffer).root);
    }
    llvm::SetVector<int64_t> hosts;
    for (Value root : roots) {
      for (int64_t use : uses_.usesOf(root)) {
        auto call = llvm::dyn_cast<plan_ir::CallOp>(uses_.steps()[use]);
        if (use > peak && call && !call.libraryOp() && ir::DeviceOf(call) == device_) hosts.insert(use);
      }
    }
    llvm::SmallVector<int64_t> sorted = hosts.takeVector();
    llvm::sort(sorted);
    if (sorted.size() > kMostHosts) sorted.resize(kMostHosts);
    return sorted;
  }

  // Returns the seconds by which the kernel becomes slower; 0 if it would read further large values.
  double price(const Rematerialisation& again) {
    Operation* host = uses_.steps()[again.before];
    int64_t added = again.saved_bytes;
    for (auto [value, buffer] : again.inputs) {
      const BufferOffset place = Resolve(buffer);
      const bool is_read = llvm::any_of(ReadsOf(host), [&](Value in) {
        const BufferOffset other = Resolve(in);
        return other.root == place.root && other.offset == place.offset && in.getType() == buffer.getType();
      });
      if (is_read) continue;
      if (BytesOf(buffer) * kPartsOfValue > again.saved_bytes) return 0;
      added += BytesOf(buffer);
    }
    const double before = TotalBytes(host);
    return prices_.secondsOfReading(device_, before + static_cast<double>(added)) -
           prices_.secondsOfReading(device_, before);
  }

  // Finds the readers between the peak and the kernel, and what depends on them there. False if the kernel
  // itself does, or if they are too many.
  bool findMoved(llvm::ArrayRef<int64_t> uses, int64_t peak, Choice& choice) const {
    llvm::SetVector<unsigned> moved;
    const unsigned host = choice.again.before;
    for (int64_t use : uses) {
      if (use > peak && use < host) moved.insert(use);
    }
    for (size_t i = 0; i < moved.size(); ++i) {
      if (moved.size() > kMostMoved) return false;
      for (unsigned next : graph_.after(moved[i])) {
        if (next == host || next < moved[i]) return false;
        if (next < host) moved.insert(next);
      }
    }
    choice.moved = moved.takeVector();
    llvm::sort(choice.moved);
    llvm::SetVector<Value> kept;
    for (unsigned step : choice.moved) {
      for (Value in : ReadsOf(uses_.steps()[step])) {
        const Value root = Resolve(in).root;
        auto block = block_of_.find(root);
        if (root == choice.again.alloc || block == block_of_.end()) continue;
        if (block->second->device == device_ && block->second->memory.last < host) kept.insert(root);
      }
    }
    choice.kept_long = kept.takeVector();
    return true;
  }

  // Changes `alive` to the bytes at each step with the value stored again.
  void count(const Choice& choice, llvm::MutableArrayRef<int64_t> alive) const {
    const int64_t host = choice.again.before;
    for (int64_t s = choice.last_early + 1; s < host; ++s) alive[s] -= choice.again.saved_bytes;
    alive[host] += choice.again.saved_bytes;
    for (Value root : choice.kept_long) {
      const MemoryBlock& memory = block_of_.find(root)->second->memory;
      for (int64_t s = memory.last + 1; s <= host; ++s) alive[s] += memory.bytes;
    }
  }

  // True if no step that the choice gives more memory reaches the peak.
  bool lowers(const Choice& choice, int64_t peak) const {
    llvm::SmallVector<int64_t> then = alive_;
    count(choice, then);
    for (size_t s = 0; s < then.size(); ++s) {
      if (then[s] > alive_[s] && then[s] >= peak) return false;
    }
    return true;
  }

  // True if the choice neither reads a value that another one does not keep, nor moves what that one moves.
  static bool isApart(const Choice& a, llvm::ArrayRef<Choice> taken) {
    auto reads = [](const Choice& x, Value alloc) {
      return llvm::any_of(x.again.inputs, [&](auto& input) { return Resolve(input.second).root == alloc; });
    };
    auto moves = [](const Choice& x, unsigned step) { return llvm::is_contained(x.moved, step); };
    return llvm::none_of(taken, [&](const Choice& b) {
      if (reads(a, b.again.alloc) || reads(b, a.again.alloc)) return true;
      if (moves(a, b.again.before) || moves(b, a.again.before)) return true;
      if (a.again.before == b.again.before) return false;
      return llvm::any_of(a.moved, [&](unsigned step) { return moves(b, step); });
    });
  }

  void moveReaders(llvm::ArrayRef<Choice> taken) {
    llvm::DenseMap<unsigned, llvm::SetVector<unsigned>> behind;
    llvm::DenseSet<unsigned> moved;
    for (const Choice& choice : taken) {
      behind[choice.again.before].insert(choice.moved.begin(), choice.moved.end());
      moved.insert(choice.moved.begin(), choice.moved.end());
    }
    llvm::SmallVector<Operation*> order;
    for (unsigned s = 0; s < uses_.steps().size(); ++s) {
      if (moved.contains(s)) continue;
      order.push_back(uses_.steps()[s]);
      llvm::SmallVector<unsigned> late = behind.lookup(s).takeVector();
      llvm::sort(late);
      for (unsigned step : late) order.push_back(uses_.steps()[step]);
    }
    ArrangeBody(function_, order);
  }

  ir::DeviceAttr device_;
  size_t most_buffers_;
  LiveRanges plan_;
  StepUses uses_;
  StepGraph graph_;
  llvm::SmallVector<int64_t> alive_;  // With what has been taken.
  llvm::DenseMap<Value, const LiveRanges::Block*> block_of_;
  OpPrices prices_;
  plan_ir::FunctionOp function_;
};

class StoreAgainPass : public impl::StoreAgainBase<StoreAgainPass> {
 public:
  using StoreAgainBase::StoreAgainBase;
  void runOnOperation() override {
    plan_ir::FunctionOp function = getOperation();
    const llvm::SmallVector<Operation*> steps = StepsOf(function);
    if (function.getFragment() || ExchangesOnGpus(steps)) return;
    for (ir::DeviceAttr device : function.deviceList()) {
      if (!ir::TargetModel::Of(device).has_own_memory) continue;
      if (LiveRanges(function, in_place).peakOf(device).bytes < least_bytes) continue;
      OpPrices prices;
      double budget = 0;
      for (Operation* step : steps) {
        if (ir::DeviceOf(step) == device) budget += part * prices.secondsOfStep(step);
      }
      for (int round = 0; round < kPeakRounds; ++round) {
        PeakSearch search(function, device, in_place, most_buffers);
        const llvm::SmallVector<Choice> taken = search.lower(budget);
        if (taken.empty()) break;
        if (report) say(taken, search.steps());
      }
    }
  }

 private:
  static void say(llvm::ArrayRef<Choice> taken, llvm::ArrayRef<Operation*> steps) {
    for (const Choice& choice : taken) {
      const Rematerialisation& again = choice.again;
      auto remark = mlir::emitRemark(again.alloc.getLoc())
                    << "stores " << llvm::cast<plan_ir::BufferType>(again.alloc.getType()).getTensor()
                    << " again, " << again.saved_bytes << " bytes that are not kept";
      remark.attachNote(steps[again.before]->getLoc()) << "in this kernel";
    }
  }
};

}  // namespace
}  // namespace sinter
