#include "sinter/passes/plan/assign_offsets.h"

#include <algorithm>
#include <limits>

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace sinter {

namespace {

int64_t Aligned(int64_t bytes) { return static_cast<int64_t>(llvm::alignTo(bytes, kArenaAlignment)); }

// Blocks sorted by offset, equal offsets in order of placement: a treap (Seidel and Aragon, "Randomized
// Search Trees", 1996). A node summarises the live ranges and offsets of its subtree, so that a query skips
// subtrees whose blocks are all alive together with a block, or none of them is.
class PlacedBlocks {
 public:
  explicit PlacedBlocks(MayShare may_share) : may_share_(may_share) {}

  void Insert(MemoryBlock* block) {
    priority_ = priority_ * 6364136223846793005u + 1442695040888963407u;  // Knuth's MMIX.
    nodes_.push_back({.block = block, .priority = priority_ >> 32});
    Update(static_cast<int>(nodes_.size()) - 1);
    root_ = InsertBelow(root_, static_cast<int>(nodes_.size()) - 1);
  }

  // Returns the start of the smallest gap (the first of equal ones) that holds `bytes` between the blocks
  // that `block` may not overlap; the end of these blocks if there is no gap.
  int64_t BestFit(const MemoryBlock& block, int64_t bytes) {
    Search search = {.block = block, .bytes = bytes};
    Visit(root_, search);
    return search.best >= 0 ? search.best : search.end;
  }

 private:
  struct Node {
    MemoryBlock* block;
    uint64_t priority;
    int left = -1, right = -1;
    // Summary of the subtree. No gap between two of its blocks is larger than `gap`.
    int64_t start = 0, end = 0, gap = 0;
    int64_t least_first = 0, most_first = 0, least_last = 0, most_last = 0;
  };
  struct Search {
    const MemoryBlock& block;
    int64_t bytes;
    // End of the visited blocks; the best gap, -1 if none.
    int64_t end = 0, best = -1, best_slack = std::numeric_limits<int64_t>::max();
  };

  static int64_t EndOf(const MemoryBlock& block) { return block.offset + Aligned(block.bytes); }

  void Update(int n) {
    Node& node = nodes_[n];
    const MemoryBlock& block = *node.block;
    node.start = block.offset, node.end = EndOf(block), node.gap = 0;
    node.least_first = node.most_first = block.first;
    node.least_last = node.most_last = block.last;
    if (node.left >= 0) {
      const Node& left = nodes_[node.left];
      node.gap = std::max(left.gap, node.start - left.end);
      node.start = left.start, node.end = std::max(left.end, node.end);
      Widen(node, left);
    }
    if (node.right >= 0) {
      const Node& right = nodes_[node.right];
      node.gap = std::max({node.gap, right.gap, right.start - node.end});
      node.end = std::max(node.end, right.end);
      Widen(node, right);
    }
  }
  static void Widen(Node& node, const Node& child) {
    node.least_first = std::min(node.least_first, child.least_first);
    node.most_first = std::max(node.most_first, child.most_first);
    node.least_last = std::min(node.least_last, child.least_last);
    node.most_last = std::max(node.most_last, child.most_last);
  }

  // Inserts `n` below `root` and returns the new root.
  int InsertBelow(int root, int n) {
    if (root < 0) return n;
    const bool goes_left = nodes_[n].block->offset < nodes_[root].block->offset;
    const int child = InsertBelow(goes_left ? nodes_[root].left : nodes_[root].right, n);
    (goes_left ? nodes_[root].left : nodes_[root].right) = child;
    if (nodes_[child].priority <= nodes_[root].priority) {
      Update(root);
      return root;
    }
    // Rotates the child above the root.
    int& turned = goes_left ? nodes_[child].right : nodes_[child].left;
    (goes_left ? nodes_[root].left : nodes_[root].right) = turned;
    turned = root;
    Update(root);
    Update(child);
    return child;
  }

  bool AreApart(const MemoryBlock& a, const MemoryBlock& b) const {
    if (a.first <= b.last && b.first <= a.last) return true;
    if (!may_share_) return false;
    return a.last < b.first ? !may_share_(a, b) : !may_share_(b, a);
  }

  void Visit(int n, Search& search) const {
    if (n < 0 || search.best_slack == 0) return;
    const Node& node = nodes_[n];
    const MemoryBlock& block = search.block;
    if (!may_share_ && (node.most_last < block.first || node.least_first > block.last)) return;
    const bool all_live = node.least_last >= block.first && node.most_first <= block.last;
    if (all_live && std::max(node.gap, node.start - search.end) < search.bytes) {
      search.end = std::max(search.end, node.end);
      return;
    }
    Visit(node.left, search);
    if (AreApart(*node.block, block)) {
      const int64_t slack = node.block->offset - search.end - search.bytes;
      if (slack >= 0 && slack < search.best_slack) search.best = search.end, search.best_slack = slack;
      search.end = std::max(search.end, EndOf(*node.block));
    }
    Visit(node.right, search);
  }

  MayShare may_share_;
  llvm::SmallVector<Node> nodes_;
  int root_ = -1;
  uint64_t priority_ = 1;
};

}  // namespace

int64_t AssignOffsets(llvm::ArrayRef<MemoryBlock*> blocks, MayShare may_share) {
  llvm::SmallVector<MemoryBlock*> order(blocks);
  llvm::stable_sort(order, [](const MemoryBlock* a, const MemoryBlock* b) {
    return a->bytes != b->bytes ? a->bytes > b->bytes : a->first < b->first;
  });
  PlacedBlocks placed(may_share);
  int64_t arena = 0;
  for (MemoryBlock* block : order) {
    const int64_t bytes = Aligned(block->bytes);
    block->offset = bytes == 0 ? 0 : placed.BestFit(*block, bytes);
    if (bytes == 0) continue;
    arena = std::max(arena, block->offset + bytes);
    placed.Insert(block);
  }
  return arena;
}

int64_t AssignOffsetsApart(llvm::ArrayRef<MemoryBlock*> blocks) {
  int64_t arena = 0;
  for (MemoryBlock* block : blocks) {
    block->offset = arena;
    arena += Aligned(block->bytes);
  }
  return arena;
}

}  // namespace sinter
