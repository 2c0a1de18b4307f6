// Bookkeeping of a caching allocator: existing blocks, free blocks and the holders of the others.
//
// This class has no lock, calls no device and has no policy; CachingAllocator adds those. Not a public
// header.
//
//   BlockArenas arenas;
//   Block* a = arenas.AddSegment(/*stream=*/0, ptr, 1024);   // Fresh from the device, in use.
//   arenas.Release(a);                                       // Cached.
//   Block* b = arenas.TakeBestFit(0, 512);                   // Splits: 512 in use, 512 cached.
//
// A segment is one piece of raw memory: a chain of blocks in address order. Two adjacent blocks are never
// both free. Each stream's arena keeps its free blocks in one ordered set, by size and address. Best fit
// takes O(log n); there are no bins to compact.
#ifndef SINTER_RUNTIME_MEMORY_BLOCK_ARENA_H_
#define SINTER_RUNTIME_MEMORY_BLOCK_ARENA_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/memory/device_memory.h"

namespace sinter::internal_allocator {

struct Arena;
struct Block;

// Orders by size, then by address. The first block not smaller than a size is the best fit.
struct BlockOrder {
  using is_transparent = void;
  bool operator()(const Block* a, const Block* b) const;
  bool operator()(const Block* a, int64_t bytes) const;
};
using FreeSet = std::set<Block*, BlockOrder>;

struct Block {
  char* ptr = nullptr;
  int64_t bytes = 0;
  Arena* arena = nullptr;
  bool used = false;
  Block* prev = nullptr;  // Neighbours in the segment.
  Block* next = nullptr;
  // The block's set node while the block is in use. Freeing the block reinserts the node without an
  // allocation.
  FreeSet::node_type node;
  // Valid only while the block is in use.
  int64_t asked_bytes = 0;
  std::string tag;
  Block* used_prev = nullptr;
  Block* used_next = nullptr;
};

struct Arena {
  StreamId stream = 0;
  FreeSet free;
  int64_t blocks = 0;  // Free and used. The arena is erased with its last block.
};

struct Segment {
  StreamId stream = 0;
  void* ptr = nullptr;
  int64_t bytes = 0;
};

class BlockArenas {
 public:
  BlockArenas() = default;
  BlockArenas(const BlockArenas&) = delete;
  BlockArenas& operator=(const BlockArenas&) = delete;
  // All segments must have been removed.
  ~BlockArenas();

  // Returns the stream's smallest free block of at least `bytes`, cut to size and marked as used. Null if
  // there is none.
  Block* TakeBestFit(StreamId stream, int64_t bytes);
  // Adds a segment that is one used block.
  Block* AddSegment(StreamId stream, void* ptr, int64_t bytes);
  // Frees a used block and merges it with free neighbours. `block` may be deleted.
  void Release(Block* block) noexcept;
  // Removes the segments that are entirely free, of one stream or of all.
  std::vector<Segment> TakeFreeSegments(std::optional<StreamId> stream);

  int64_t used_bytes() const { return used_bytes_; }
  int64_t free_bytes() const { return free_bytes_; }
  int64_t free_blocks() const { return free_blocks_; }
  // Free bytes in segments that are partly in use.
  int64_t SplitFreeBytes() const;
  // Blocks in use, linked by used_next. The newest is first.
  const Block* first_used() const { return first_used_; }
  absl::Status CheckInvariants() const;

 private:
  Arena& ArenaOf(StreamId stream);
  Block* NewBlock(Arena& arena, char* ptr, int64_t bytes);
  void DeleteBlock(Block* block) noexcept;
  void InsertFree(Block* block) noexcept;
  void RemoveFree(Block* block) noexcept;
  void MarkUsed(Block* block) noexcept;
  // Extends `block` over its free right neighbour.
  void AbsorbNext(Block* block) noexcept;

  std::map<StreamId, Arena> arenas_;
  Block* first_used_ = nullptr;
  int64_t used_bytes_ = 0;
  int64_t free_bytes_ = 0;
  int64_t free_blocks_ = 0;
};

}  // namespace sinter::internal_allocator

#endif  // SINTER_RUNTIME_MEMORY_BLOCK_ARENA_H_
