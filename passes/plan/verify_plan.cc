#include <map>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/plan/plan_steps.h"

namespace sinter {

#define GEN_PASS_DEF_VERIFYPLAN
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;

// Bytes [begin, end) of one memory: a device's arena, a variable (by name), an input or a constant (by
// value).
struct Range {
  const void* space = nullptr;
  int64_t begin = 0, end = 0;
  Value value;  // The buffer (before views) whose contents the bytes are.

  bool overlaps(const Range& other) const {
    return space == other.space && begin < other.end && other.begin < end;
  }
};

// The value whose contents each byte of every memory holds.
class Ownership {
 public:
  void write(const Range& range, Operation* writer) {
    // Also skips ranges whose end overflows 64 bits and seems to be before the begin: the plan is refused for
    // those.
    if (range.begin >= range.end) return;
    auto& owners = owners_[range.space];
    cut(owners, range.begin);
    cut(owners, range.end);
    owners.erase(owners.lower_bound(range.begin), owners.lower_bound(range.end));
    owners[range.begin] = {range.end, range.value, writer};
  }

  // Returns the writer of the first byte in the range that does not belong to `range.value`; nullopt if all
  // bytes do. Null if no step wrote the byte.
  std::optional<Operation*> stranger(const Range& range) {
    auto& owners = owners_[range.space];
    int64_t at = range.begin;
    auto it = owners.upper_bound(at);
    if (it != owners.begin()) --it;
    for (; at < range.end; ++it) {
      if (it == owners.end()) return nullptr;
      if (it->second.end <= at) continue;
      if (it->first > at) return nullptr;
      if (it->second.value != range.value) return it->second.writer;
      at = it->second.end;
    }
    return std::nullopt;
  }

 private:
  struct Owner {
    int64_t end;
    Value value;
    Operation* writer;
  };

  // Makes `at` a border between owners.
  static void cut(std::map<int64_t, Owner>& owners, int64_t at) {
    auto it = owners.lower_bound(at);
    if (it == owners.begin()) return;
    --it;
    if (it->second.end <= at) return;
    owners[at] = it->second;
    it->second.end = at;
  }

  llvm::DenseMap<const void*, std::map<int64_t, Owner>> owners_;
};

class Simulation {
 public:
  explicit Simulation(plan_ir::FunctionOp function) : function_(function) {}

  mlir::LogicalResult run();

 private:
  mlir::LogicalResult declare(Operation& op);
  mlir::LogicalResult checkDevices(Operation* step);
  mlir::LogicalResult checkCollectives();
  mlir::FailureOr<Range> rangeOf(Value buffer, Operation* user);
  mlir::LogicalResult runCall(plan_ir::CallOp call);
  mlir::LogicalResult checkRead(const Range& range, Operation* step, const llvm::Twine& what);
  mlir::LogicalResult checkWrite(const Range& range, Operation* step, const llvm::Twine& what);
  mlir::LogicalResult checkOverlaps(plan_ir::CallOp call, llvm::ArrayRef<Range> ins,
                                    llvm::ArrayRef<Range> outs);

  plan_ir::FunctionOp function_;
  Ownership owners_;
  llvm::DenseSet<Value> written_;  // Buffers (before views) that some step writes.
  // For each variable: the value that is read before any write.
  llvm::DenseMap<const void*, Value> first_values_;
};

mlir::LogicalResult Simulation::run() {
  if (!function_.getArenaBytes()) return function_.emitOpError("has no arena: run sinter-plan-memory first");
  function_.walk([&](Operation* step) {
    auto call = llvm::dyn_cast<plan_ir::CallOp>(step);
    if (!call && !llvm::isa<plan_ir::CopyOp>(step)) return;
    for (Value out : call ? mlir::ValueRange(call.getOuts()) : step->getOperands().drop_front(1)) {
      while (auto view = out.getDefiningOp<plan_ir::ViewOp>()) out = view.getSource();
      written_.insert(out);
    }
  });
  for (Operation& op : function_.getBody().front()) {
    if (mlir::failed(declare(op))) return mlir::failure();
  }
  if (mlir::failed(checkCollectives())) return mlir::failure();
  for (Operation& op : function_.getBody().front()) {
    if (mlir::failed(checkDevices(&op))) return mlir::failure();
    if (auto call = llvm::dyn_cast<plan_ir::CallOp>(op)) {
      if (mlir::failed(runCall(call))) return mlir::failure();
    } else if (auto copy = llvm::dyn_cast<plan_ir::CopyOp>(op)) {
      auto source = rangeOf(copy.getSource(), copy), target = rangeOf(copy.getTarget(), copy);
      if (mlir::failed(source) || mlir::failed(target)) return mlir::failure();
      if (mlir::failed(checkRead(*source, copy, "the source"))) return mlir::failure();
      if (mlir::failed(checkWrite(*target, copy, "the target"))) return mlir::failure();
      if (source->overlaps(*target)) return copy.emitOpError("copies bytes onto themselves");
      owners_.write(*target, copy);
    }
  }
  // Outputs are read after the last step.
  for (auto output : function_.getBody().getOps<plan_ir::OutputOp>()) {
    auto range = rangeOf(output.getBuffer(), output);
    if (mlir::failed(range) ||
        mlir::failed(checkRead(*range, output, "output \"" + output.getName() + "\""))) {
      return mlir::failure();
    }
  }
  return mlir::success();
}

// Every device must run the same collectives in the same order, or they deadlock. Adjacent members, in the
// order of the group, ensure this.
mlir::LogicalResult Simulation::checkCollectives() {
  llvm::SmallVector<Operation*> steps = StepsOf(function_);
  llvm::DenseSet<int64_t> done;
  for (size_t s = 0; s < steps.size();) {
    auto first = CollectiveOf(steps[s]);
    if (!first) {
      ++s;
      continue;
    }
    if (!done.insert(first->channel).second) {
      return steps[s]->emitOpError()
             << "is of channel " << first->channel
             << ", whose members lie apart: devices would wait for each other for ever";
    }
    for (auto [rank, device] : llvm::enumerate(first->group)) {
      auto member = s + rank < steps.size() ? CollectiveOf(steps[s + rank]) : std::nullopt;
      bool fits = member && member->channel == first->channel && member->group == first->group &&
                  ir::DeviceOf(steps[s + rank]) == device;
      if (!fits) {
        return steps[s]->emitOpError()
               << "is of channel " << first->channel << ", which lacks its member of rank " << rank << " on "
               << device.text() << " behind it";
      }
    }
    // A member along axes stands for all members.
    s += std::max<size_t>(first->group.size(), 1);
  }
  return mlir::success();
}

// A call accesses only memory of its own device; only a copy reads another device's memory.
mlir::LogicalResult Simulation::checkDevices(Operation* step) {
  auto copy = llvm::dyn_cast<plan_ir::CopyOp>(step);
  if (!copy && !llvm::isa<plan_ir::CallOp>(step)) return mlir::success();
  ir::DeviceAttr on = ir::DeviceOf(step);
  for (Value buffer : copy ? step->getOperands().drop_front(1) : step->getOperands()) {
    ir::DeviceAttr device = ir::DeviceOf(buffer);
    if (device == on) continue;
    auto error = step->emitOpError() << "runs on " << on.text() << " and "
                                     << (copy ? "copies to " : "uses a buffer of ") << device.text();
    error.attachNote(buffer.getLoc()) << "the buffer is here";
    return error;
  }
  return mlir::success();
}

// Inputs, constants and the old values of variables exist from the start.
mlir::LogicalResult Simulation::declare(Operation& op) {
  if (auto alloc = llvm::dyn_cast<plan_ir::AllocOp>(op)) {
    if (!alloc.getOffset()) return alloc.emitOpError("has no place in the arena");
    int64_t begin = *alloc.getOffset(), end = begin + alloc.getBuffer().getType().getBytes();
    int64_t arena = *function_.arenaBytesOf(ir::DeviceOf(alloc.getOperation()));
    if (begin < 0 || end > arena) {
      return alloc.emitOpError() << "takes bytes " << begin << " to " << end << " of an arena of " << arena;
    }
    if (begin % 64 != 0)
      return alloc.emitOpError() << "begins at " << begin << ", which is not a multiple of 64";
  } else if (llvm::isa<plan_ir::InputOp, plan_ir::ConstantOp, plan_ir::RankValueOp>(op)) {
    owners_.write(*rangeOf(op.getResult(0), &op), &op);
  } else if (auto variable = llvm::dyn_cast<plan_ir::VariableOp>(op)) {
    // The plan.variable that no step writes is the old value; there may be only one.
    if (written_.contains(variable.getBuffer())) return mlir::success();
    Range range = *rangeOf(variable.getBuffer(), variable);
    if (!first_values_.try_emplace(range.space, range.value).second) {
      return variable.emitOpError("is the second one for a value that no step writes");
    }
    owners_.write(range, variable);
  }
  return mlir::success();
}

mlir::FailureOr<Range> Simulation::rangeOf(Value buffer, Operation* user) {
  int64_t bytes = llvm::cast<plan_ir::BufferType>(buffer.getType()).getBytes(), offset = 0;
  while (auto view = buffer.getDefiningOp<plan_ir::ViewOp>()) {
    offset += view.getOffset();
    buffer = view.getSource();
  }
  Range range{buffer.getAsOpaquePointer(), offset, offset + bytes, buffer};
  if (auto variable = buffer.getDefiningOp<plan_ir::VariableOp>()) {
    range.space = variable.getVariableAttr().getAsOpaquePointer();
  } else if (auto alloc = buffer.getDefiningOp<plan_ir::AllocOp>()) {
    if (!alloc.getOffset()) return alloc.emitOpError("has no place in the arena");
    range.space = ir::DeviceOf(buffer).getAsOpaquePointer();
    range.begin += *alloc.getOffset();
    range.end += *alloc.getOffset();
  }
  return range;
}

mlir::LogicalResult Simulation::checkRead(const Range& range, Operation* step, const llvm::Twine& what) {
  auto stranger = owners_.stranger(range);
  if (!stranger) return mlir::success();
  auto error = step->emitOpError() << "reads " << what;
  if (!*stranger) {
    error << " before it was written";
    return error;
  }
  if (auto variable = range.value.getDefiningOp<plan_ir::VariableOp>()) {
    error << " of variable @" << variable.getVariable() << " when it holds another value";
  } else {
    error << " after its bytes " << range.begin << " to " << range.end << " were reused";
  }
  error.attachNote((*stranger)->getLoc()) << "by this step";
  return error;
}

mlir::LogicalResult Simulation::checkWrite(const Range& range, Operation* step, const llvm::Twine& what) {
  if (!llvm::isa<plan_ir::InputOp, plan_ir::ConstantOp, plan_ir::RankValueOp>(range.value.getDefiningOp())) {
    return mlir::success();
  }
  return step->emitOpError() << "writes " << what << ", which is read-only";
}

// Inputs and outputs of a call must not overlap, except pairs that may share memory.
mlir::LogicalResult Simulation::checkOverlaps(plan_ir::CallOp call, llvm::ArrayRef<Range> ins,
                                              llvm::ArrayRef<Range> outs) {
  auto is_pair = [&](size_t in, size_t out) {
    llvm::ArrayRef<int64_t> pairs = call.getInPlace().value_or(llvm::ArrayRef<int64_t>());
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (pairs[i] == static_cast<int64_t>(in) && pairs[i + 1] == static_cast<int64_t>(out)) return true;
    }
    return false;
  };
  for (size_t o = 0; o < outs.size(); ++o) {
    for (size_t other = 0; other < o; ++other) {
      if (outs[o].overlaps(outs[other])) {
        return call.emitOpError() << "writes outs " << other << " and outs " << o << " to the same bytes";
      }
    }
    for (size_t i = 0; i < ins.size(); ++i) {
      if (!ins[i].overlaps(outs[o])) continue;
      if (is_pair(i, o) && ins[i].begin == outs[o].begin && ins[i].end == outs[o].end) continue;
      return call.emitOpError() << "writes outs " << o << " over ins " << i << ", which it still reads";
    }
  }
  return mlir::success();
}

mlir::LogicalResult Simulation::runCall(plan_ir::CallOp call) {
  llvm::SmallVector<Range> ins, outs;
  for (auto [i, in] : llvm::enumerate(call.getIns())) {
    auto range = rangeOf(in, call);
    if (mlir::failed(range)) return mlir::failure();
    ins.push_back(*range);
    if (mlir::failed(checkRead(*range, call, "ins " + llvm::Twine(i)))) return mlir::failure();
  }
  for (auto [i, out] : llvm::enumerate(call.getOuts())) {
    auto range = rangeOf(out, call);
    if (mlir::failed(range)) return mlir::failure();
    outs.push_back(*range);
    if (mlir::failed(checkWrite(*range, call, "outs " + llvm::Twine(i)))) return mlir::failure();
  }
  if (mlir::failed(checkOverlaps(call, ins, outs))) return mlir::failure();
  if (int64_t bytes = call.getWorkspaceBytes(); bytes > 0) {
    if (!call.getWorkspaceOffset()) return call.emitOpError("has a workspace without a place in the arena");
    ir::DeviceAttr device = ir::DeviceOf(call);
    int64_t begin = *call.getWorkspaceOffset(), arena = *function_.arenaBytesOf(device);
    Range workspace{device.getAsOpaquePointer(), begin, begin + bytes, Value()};
    if (begin < 0 || begin + bytes > arena) {
      return call.emitOpError() << "has a workspace at bytes " << begin << " to " << begin + bytes
                                << " of an arena of " << arena;
    }
    for (llvm::ArrayRef<Range> ranges : {llvm::ArrayRef<Range>(ins), llvm::ArrayRef<Range>(outs)}) {
      for (const Range& range : ranges) {
        if (range.overlaps(workspace))
          return call.emitOpError("has a workspace over bytes that it reads or writes");
      }
    }
    owners_.write(workspace, call);
  }
  for (const Range& out : outs) owners_.write(out, call);
  return mlir::success();
}

class VerifyPlanPass : public impl::VerifyPlanBase<VerifyPlanPass> {
 public:
  using VerifyPlanBase::VerifyPlanBase;
  void runOnOperation() override {
    if (mlir::failed(Simulation(getOperation()).run())) return signalPassFailure();
    markAllAnalysesPreserved();
  }
};

}  // namespace
}  // namespace sinter
