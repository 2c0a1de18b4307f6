// The bookkeeping of a caching allocator: which blocks exist, which are free, who holds the rest. No lock, no
// device call, no policy; CachingAllocator adds those. Not a public header.
//
//   BlockArenas arenas;
//   Block* a = arenas.AddSegment(/*stream=*/0, ptr, 1024);   // Fresh from the device, in use.
//   arenas.Release(a);                                       // Cached.
//   Block* b = arenas.TakeBestFit(0, 512);                   // Splits: 512 in use, 512 cached.
//
// A segment is one piece of raw memory, a chain of blocks in the order of their addresses. No two neighbours
// in it are both free. Each stream's arena indexes its free blocks by size and address in one ordered set, so
// best fit takes O(log n) and there are no bins to leak or to compact.
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

// By size, then by address: the first block not less than a size is the best fit.
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
  // The block's place in the free set while it is not in there: putting it back allocates nothing.
  FreeSet::node_type node;
  // Only meaningful while in use.
  int64_t asked_bytes = 0;
  std::string tag;
  Block* used_prev = nullptr;
  Block* used_next = nullptr;
};

struct Arena {
  StreamId stream = 0;
  FreeSet free;
  int64_t blocks = 0;  // Free and used; the arena goes away with its last one.
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
  // Every segment must have been taken out.
  ~BlockArenas();

  // The smallest free block of the stream with at least `bytes`, cut to size and in use; null when there is
  // none.
  Block* TakeBestFit(StreamId stream, int64_t bytes);
  // A new segment that is one block, in use.
  Block* AddSegment(StreamId stream, void* ptr, int64_t bytes);
  // Makes a block in use free and merges it with its free neighbours; `block` may not exist afterwards.
  void Release(Block* block) noexcept;
  // Removes the segments that are free as a whole, of one stream or of all.
  std::vector<Segment> TakeFreeSegments(std::optional<StreamId> stream);

  int64_t used_bytes() const { return used_bytes_; }
  int64_t free_bytes() const { return free_bytes_; }
  int64_t free_blocks() const { return free_blocks_; }
  // Free bytes in segments of which a part is in use.
  int64_t SplitFreeBytes() const;
  // Blocks in use, linked by used_next, newest first.
  const Block* first_used() const { return first_used_; }
  absl::Status CheckInvariants() const;

 private:
  Arena& ArenaOf(StreamId stream);
  Block* NewBlock(Arena& arena, char* ptr, int64_t bytes);
  void DeleteBlock(Block* block) noexcept;
  void InsertFree(Block* block) noexcept;
  void RemoveFree(Block* block) noexcept;
  void MarkUsed(Block* block) noexcept;
  // Makes `block` cover its free neighbour to the right too.
  void AbsorbNext(Block* block) noexcept;

  std::map<StreamId, Arena> arenas_;
  Block* first_used_ = nullptr;
  int64_t used_bytes_ = 0;
  int64_t free_bytes_ = 0;
  int64_t free_blocks_ = 0;
};

}  // namespace sinter::internal_allocator

#endif  // SINTER_RUNTIME_MEMORY_BLOCK_ARENA_H_
