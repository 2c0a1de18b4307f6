#include "sinter/passes/plan/live_ranges.h"

#include "sinter/passes/plan/exchange_order.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

LiveRanges::LiveRanges(plan_ir::FunctionOp function, bool in_place,
                       llvm::ArrayRef<ir::DeviceAttr> side_by_side)
    : function_(function), side_by_side_(side_by_side), steps_(StepsOf(function)) {
  if (!side_by_side.empty()) order_.emplace(function);
  collectBlocks();
  if (in_place) shareInPlace();
  keepWhileExchanged();
  for (auto [s, step] : llvm::enumerate(steps_)) {
    auto call = llvm::dyn_cast<plan_ir::CallOp>(step);
    int64_t when = s;
    if (call && call.getWorkspaceBytes() > 0) {
      int64_t bytes = call.getWorkspaceBytes();
      blocks_.push_back({{}, call, ir::DeviceOf(call), {bytes, when, when, 0}, false, {when}});
    }
  }
  llvm::erase_if(blocks_, [](const Block& block) { return block.shared_away; });
}

llvm::SmallVector<int64_t> LiveRanges::place(bool reuse) {
  arenas_.clear();
  for (ir::DeviceAttr device : function_.deviceList()) {
    llvm::SmallVector<MemoryBlock*> memory;
    llvm::DenseMap<const MemoryBlock*, const Block*> block_of;
    for (Block& block : blocks_) {
      if (block.device != device) continue;
      memory.push_back(&block.memory);
      block_of[&block.memory] = &block;
    }
    auto may_share = [&](const MemoryBlock& earlier, const MemoryBlock& later) {
      return llvm::all_of(block_of[&later]->uses,
                          [&](int64_t step) { return isDoneBefore(*block_of[&earlier], step); });
    };
    if (!reuse) {
      arenas_.push_back(AssignOffsetsApart(memory));
    } else if (runsSideBySide(device)) {
      arenas_.push_back(AssignOffsets(memory, may_share));
    } else {
      arenas_.push_back(AssignOffsets(memory));
    }
  }
  return arenas_;
}

void LiveRanges::apply() {
  mlir::Builder builder(function_.getContext());
  for (Block& block : blocks_) {
    auto offset = builder.getI64IntegerAttr(block.memory.offset);
    for (Value alloc : block.allocs) alloc.getDefiningOp<plan_ir::AllocOp>().setOffsetAttr(offset);
    if (block.call) block.call.setWorkspaceOffsetAttr(offset);
  }
  function_.setArenaBytesAttr(builder.getI64IntegerAttr(arenas_[0]));
  llvm::ArrayRef<int64_t> more = llvm::ArrayRef(arenas_).drop_front();
  function_.setMoreArenaBytesAttr(more.empty() ? nullptr : builder.getDenseI64ArrayAttr(more));
}

void LiveRanges::collectBlocks() {
  int64_t never = steps_.size();
  for (auto alloc : function_.getBody().getOps<plan_ir::AllocOp>()) {
    Value value = alloc.getBuffer();
    block_of_[value] = blocks_.size();
    blocks_.push_back({{value}, nullptr, ir::DeviceOf(value), {BytesOf(value), never, -1, 0}, false});
  }
  for (auto [s, step] : llvm::enumerate(steps_)) {
    for (Value buffer : step->getOperands()) {
      auto it = block_of_.find(Resolve(buffer).root);
      if (it == block_of_.end()) continue;
      Block& block = blocks_[it->second];
      block.memory.first = std::min<int64_t>(block.memory.first, s);
      block.memory.last = std::max<int64_t>(block.memory.last, s);
      if (block.uses.empty() || block.uses.back() != static_cast<int64_t>(s)) block.uses.push_back(s);
    }
  }
  for (Block& block : blocks_) {
    // Outputs stay valid until the next run.
    if (IsHandedOut(block.allocs[0])) block.memory.last = never;
    if (block.memory.last < 0) block.memory = {block.memory.bytes, 0, 0, 0};
  }
}

// A GPU's collective may run until a step touches its results. Its operands live as long; otherwise the next
// step that reuses their bytes would wait for it.
void LiveRanges::keepWhileExchanged() {
  for (auto [s, step] : llvm::enumerate(steps_)) {
    if (!ExchangesOnGpus(step)) continue;
    auto touches = [&](Operation* other) {
      return llvm::any_of(other->getOperands(), [&](Value buffer) {
        return llvm::any_of(WritesOf(step), [&](Value out) { return Overlap(buffer, out); });
      });
    };
    size_t end = s + 1;
    while (end < steps_.size() && !touches(steps_[end])) ++end;
    for (Value in : ReadsOf(step)) {
      auto it = block_of_.find(Resolve(in).root);
      if (it == block_of_.end()) continue;
      MemoryBlock& memory = blocks_[it->second].memory;
      memory.last = std::max<int64_t>(memory.last, end - 1);
    }
  }
}

void LiveRanges::shareInPlace() {
  for (auto [s, step] : llvm::enumerate(steps_)) {
    auto call = llvm::dyn_cast<plan_ir::CallOp>(step);
    if (!call || !call.getInPlace()) continue;
    llvm::ArrayRef<int64_t> pairs = *call.getInPlace();
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) share(call, s, pairs[i], pairs[i + 1]);
  }
}

// Lets the call's output take over the memory of an input without later readers.
void LiveRanges::share(plan_ir::CallOp call, int64_t step, int64_t in, int64_t out) {
  BufferOffset input = Resolve(call.getIns()[in]), output = Resolve(call.getOuts()[out]);
  auto from = block_of_.find(input.root), to = block_of_.find(output.root);
  if (from == block_of_.end() || to == block_of_.end() || from->second == to->second) return;
  Block& old_block = blocks_[from->second];
  Block& new_block = blocks_[to->second];
  if (new_block.memory.first != step || new_block.memory.bytes > old_block.memory.bytes) return;
  for (auto [k, other] : llvm::enumerate(call.getIns())) {
    auto it = block_of_.find(Resolve(other).root);
    if (static_cast<int64_t>(k) != in && it != block_of_.end() && it->second == from->second) return;
  }
  if (old_block.memory.last == step) {
    if (input.offset != 0 || output.offset != 0) return;
    if (runsSideBySide(old_block.device) && !isDoneBefore(old_block, step)) return;
  } else if (input.offset != output.offset || !diesByParts(old_block, new_block)) {
    return;
  }
  unsigned kept = from->second;
  for (Value alloc : new_block.allocs) {
    block_of_[alloc] = kept;
    old_block.allocs.push_back(alloc);
  }
  old_block.memory.last = std::max(old_block.memory.last, new_block.memory.last);
  llvm::append_range(old_block.uses, new_block.uses);
  llvm::sort(old_block.uses);
  old_block.uses.erase(llvm::unique(old_block.uses), old_block.uses.end());
  new_block.shared_away = true;
}

// True if each byte of the old block is read for the last time before the new block is written there, or by
// the call that writes it: a part of a call that reads the same part.
bool LiveRanges::diesByParts(const Block& old_block, const Block& new_block) const {
  if (old_block.memory.bytes != new_block.memory.bytes) return false;
  if (old_block.memory.last >= static_cast<int64_t>(steps_.size())) return false;
  struct Access {
    int64_t step;
    unsigned operand;
    int64_t begin, end;
  };
  auto accessesOf = [&](const Block& block) {
    llvm::SmallVector<Access> accesses;
    for (int64_t step : block.uses) {
      for (auto [i, buffer] : llvm::enumerate(steps_[step]->getOperands())) {
        const BufferOffset place = Resolve(buffer);
        auto found = block_of_.find(place.root);
        if (found == block_of_.end() || &blocks_[found->second] != &block) continue;
        accesses.push_back({step, static_cast<unsigned>(i), place.offset, place.offset + BytesOf(buffer)});
      }
    }
    return accesses;
  };
  auto mayOverwrite = [&](const Access& was, const Access& is) {
    auto call = llvm::dyn_cast<plan_ir::CallOp>(steps_[is.step]);
    if (!call || !call.getInPlace() || was.begin != is.begin || was.end != is.end) return false;
    llvm::ArrayRef<int64_t> pairs = *call.getInPlace();
    const int64_t ins = call.getIns().size();
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (pairs[i] == was.operand && ins + pairs[i + 1] == is.operand) return true;
    }
    return false;
  };
  const bool by_values = runsSideBySide(old_block.device);
  const llvm::SmallVector<Access> news = accessesOf(new_block);
  return llvm::all_of(accessesOf(old_block), [&](const Access& was) {
    return llvm::all_of(news, [&](const Access& is) {
      if (was.end <= is.begin || is.end <= was.begin) return true;
      if (was.step == is.step) return mayOverwrite(was, is);
      return was.step < is.step && (!by_values || order_->comesAfter(is.step, was.step));
    });
  });
}

bool LiveRanges::isDoneBefore(const Block& block, int64_t step) const {
  return llvm::all_of(block.uses, [&](int64_t use) { return use == step || order_->comesAfter(step, use); });
}

llvm::SmallVector<int64_t> LiveRanges::bytesAlive(ir::DeviceAttr device) const {
  llvm::SmallVector<int64_t> alive(steps_.size() + 1, 0);  // First the change of the bytes at each step.
  for (const Block& block : blocks_) {
    if (block.device != device || block.memory.last < block.memory.first) continue;
    alive[std::min<size_t>(block.memory.first, steps_.size())] += block.memory.bytes;
    if (block.memory.last < static_cast<int64_t>(steps_.size()))
      alive[block.memory.last + 1] -= block.memory.bytes;
  }
  for (size_t s = 1; s < alive.size(); ++s) alive[s] += alive[s - 1];
  alive.pop_back();
  return alive;
}

LiveRanges::Peak LiveRanges::peakOf(ir::DeviceAttr device) const {
  Peak peak;
  for (auto [s, bytes] : llvm::enumerate(bytesAlive(device))) {
    if (peak.step < 0 || bytes > peak.bytes) peak.step = s, peak.bytes = bytes;
  }
  for (const Block& block : blocks_) {
    const MemoryBlock& memory = block.memory;
    const bool is_alive =
        block.device == device && memory.first <= peak.step && peak.step <= memory.last && memory.bytes > 0;
    if (is_alive) peak.alive.push_back(&block);
  }
  return peak;
}

void NoteHolder(mlir::InFlightDiagnostic& diagnostic, const LiveRanges::Block& block) {
  plan_ir::CallOp call = block.call;
  if (call) {
    diagnostic.attachNote(call->getLoc())
        << block.memory.bytes << " bytes of workspace of " << call.getName();
    return;
  }
  Value alloc = block.allocs.back();
  diagnostic.attachNote(alloc.getLoc())
      << block.memory.bytes << " bytes: " << llvm::cast<plan_ir::BufferType>(alloc.getType()).getTensor();
}

}  // namespace sinter
