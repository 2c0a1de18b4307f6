#include "sinter/passes/place_blocks.h"

#include <algorithm>
#include <limits>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace sinter {

namespace {

int64_t Aligned(int64_t bytes) { return static_cast<int64_t>(llvm::alignTo(bytes, kArenaAlignment)); }

// The start of the smallest gap among `taken` (by offset) that holds `bytes`, else the end of them all.
int64_t BestFit(llvm::ArrayRef<MemoryBlock*> taken, int64_t bytes) {
  int64_t end = 0, best = -1, best_slack = std::numeric_limits<int64_t>::max();
  for (const MemoryBlock* block : taken) {
    int64_t slack = block->offset - end - bytes;
    if (slack >= 0 && slack < best_slack) best = end, best_slack = slack;
    end = std::max(end, block->offset + Aligned(block->bytes));
  }
  return best >= 0 ? best : end;
}

bool AreApart(const MemoryBlock& a, const MemoryBlock& b, MayShare may_share) {
  if (a.first <= b.last && b.first <= a.last) return true;
  if (!may_share) return false;
  return a.last < b.first ? !may_share(a, b) : !may_share(b, a);
}

}  // namespace

int64_t PlaceBlocks(llvm::ArrayRef<MemoryBlock*> blocks, MayShare may_share) {
  llvm::SmallVector<MemoryBlock*> order(blocks);
  llvm::stable_sort(order, [](const MemoryBlock* a, const MemoryBlock* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->first < b->first;
  });
  llvm::SmallVector<MemoryBlock*> placed;  // By offset.
  int64_t arena = 0;
  for (MemoryBlock* block : order) {
    llvm::SmallVector<MemoryBlock*> taken;
    for (MemoryBlock* other : placed) {
      if (AreApart(*other, *block, may_share)) taken.push_back(other);
    }
    block->offset = block->bytes == 0 ? 0 : BestFit(taken, Aligned(block->bytes));
    if (block->bytes == 0) continue;
    arena = std::max(arena, block->offset + Aligned(block->bytes));
    auto by_offset = [](const MemoryBlock* a, const MemoryBlock* b) { return a->offset < b->offset; };
    placed.insert(std::upper_bound(placed.begin(), placed.end(), block, by_offset), block);
  }
  return arena;
}

int64_t PlaceBlocksApart(llvm::ArrayRef<MemoryBlock*> blocks) {
  int64_t arena = 0;
  for (MemoryBlock* block : blocks) {
    block->offset = arena;
    arena += Aligned(block->bytes);
  }
  return arena;
}

}  // namespace sinter
