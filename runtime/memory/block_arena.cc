#include "sinter/runtime/memory/block_arena.h"

#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"

namespace sinter::internal_allocator {

bool BlockOrder::operator()(const Block* a, const Block* b) const {
  return a->bytes != b->bytes ? a->bytes < b->bytes : std::less<const char*>()(a->ptr, b->ptr);
}
bool BlockOrder::operator()(const Block* a, int64_t bytes) const { return a->bytes < bytes; }

BlockArenas::~BlockArenas() {
  SINTER_CHECK(arenas_.empty()) << used_bytes_ << " bytes used and " << free_bytes_ << " free at the end";
}

Arena& BlockArenas::ArenaOf(StreamId stream) {
  const auto [entry, fresh] = arenas_.try_emplace(stream);
  // Written only once: the holders of blocks read `stream` without a lock.
  if (fresh) entry->second.stream = stream;
  return entry->second;
}

Block* BlockArenas::NewBlock(Arena& arena, char* ptr, int64_t bytes) {
  Block* const block = new Block;
  block->ptr = ptr;
  block->bytes = bytes;
  block->arena = &arena;
  block->node = arena.free.extract(arena.free.insert(block).first);
  ++arena.blocks;
  return block;
}

void BlockArenas::DeleteBlock(Block* block) noexcept {
  --block->arena->blocks;
  delete block;
}

void BlockArenas::InsertFree(Block* block) noexcept {
  block->arena->free.insert(std::move(block->node));
  free_bytes_ += block->bytes;
  ++free_blocks_;
}

void BlockArenas::RemoveFree(Block* block) noexcept {
  block->node = block->arena->free.extract(block);
  free_bytes_ -= block->bytes;
  --free_blocks_;
}

void BlockArenas::MarkUsed(Block* block) noexcept {
  block->used = true;
  block->used_prev = nullptr;
  block->used_next = first_used_;
  if (first_used_ != nullptr) first_used_->used_prev = block;
  first_used_ = block;
  used_bytes_ += block->bytes;
}

Block* BlockArenas::TakeBestFit(StreamId stream, int64_t bytes) {
  const auto arena = arenas_.find(stream);
  if (arena == arenas_.end()) return nullptr;
  const auto found = arena->second.free.lower_bound(bytes);
  if (found == arena->second.free.end()) return nullptr;
  Block* const block = *found;
  // Made first, because only this allocation can throw.
  Block* rest = nullptr;
  if (block->bytes > bytes) rest = NewBlock(*block->arena, block->ptr + bytes, block->bytes - bytes);
  RemoveFree(block);
  if (rest != nullptr) {
    block->bytes = bytes;
    rest->prev = block;
    rest->next = block->next;
    if (rest->next != nullptr) rest->next->prev = rest;
    block->next = rest;
    InsertFree(rest);
  }
  MarkUsed(block);
  return block;
}

Block* BlockArenas::AddSegment(StreamId stream, void* ptr, int64_t bytes) {
  Block* const block = NewBlock(ArenaOf(stream), static_cast<char*>(ptr), bytes);
  MarkUsed(block);
  return block;
}

void BlockArenas::AbsorbNext(Block* block) noexcept {
  Block* const next = block->next;
  block->bytes += next->bytes;
  block->next = next->next;
  if (block->next != nullptr) block->next->prev = block;
  DeleteBlock(next);
}

void BlockArenas::Release(Block* block) noexcept {
  used_bytes_ -= block->bytes;
  (block->used_prev != nullptr ? block->used_prev->used_next : first_used_) = block->used_next;
  if (block->used_next != nullptr) block->used_next->used_prev = block->used_prev;
  block->used = false;
  if (block->next != nullptr && !block->next->used) {
    RemoveFree(block->next);
    AbsorbNext(block);
  }
  if (block->prev != nullptr && !block->prev->used) {
    block = block->prev;
    RemoveFree(block);
    AbsorbNext(block);
  }
  InsertFree(block);
}

std::vector<Segment> BlockArenas::TakeFreeSegments(std::optional<StreamId> stream) {
  std::vector<Segment> segments;
  for (auto arena = arenas_.begin(); arena != arenas_.end();) {
    FreeSet& free = arena->second.free;
    for (auto it = free.begin(); it != free.end() && arena->first == stream.value_or(arena->first);) {
      Block* const block = *it++;
      if (block->prev != nullptr || block->next != nullptr) continue;
      segments.push_back({arena->first, block->ptr, block->bytes});
      RemoveFree(block);
      DeleteBlock(block);
    }
    arena = arena->second.blocks == 0 ? arenas_.erase(arena) : std::next(arena);
  }
  return segments;
}

int64_t BlockArenas::SplitFreeBytes() const {
  int64_t bytes = 0;
  for (const auto& [stream, arena] : arenas_) {
    for (const Block* block : arena.free) {
      if (block->prev != nullptr || block->next != nullptr) bytes += block->bytes;
    }
  }
  return bytes;
}

absl::Status BlockArenas::CheckInvariants() const {
  const auto broken = [](const Block* block, const char* what) {
    return absl::InternalError(
        absl::StrCat("block of ", block->bytes, " bytes, ", block->used ? "used" : "free", ": ", what));
  };
  const auto check = [&](const Block* block) {
    if (block->bytes <= 0) return broken(block, "has no bytes");
    if (block->used != !block->node.empty()) return broken(block, "has its free node in the wrong place");
    if (const Block* next = block->next; next != nullptr) {
      if (next->prev != block) return broken(block, "is not the left neighbour of its right neighbour");
      if (next->ptr != block->ptr + block->bytes) return broken(block, "does not end where the next begins");
      if (next->arena != block->arena) return broken(block, "has a neighbour in another arena");
      if (!next->used && !block->used) return broken(block, "is not merged with its free neighbour");
    }
    if (block->prev != nullptr && block->prev->next != block) return broken(block, "has a wrong left link");
    return absl::OkStatus();
  };
  int64_t used = 0, free = 0, free_blocks = 0, blocks = 0, arena_blocks = 0;
  for (const Block* block = first_used_; block != nullptr; block = block->used_next, ++blocks) {
    SINTER_RETURN_IF_ERROR(check(block));
    if (!block->used) return broken(block, "is listed as used");
    if (block->asked_bytes > block->bytes) return broken(block, "is smaller than what was asked");
    used += block->bytes;
  }
  for (const auto& [stream, arena] : arenas_) {
    if (arena.blocks == 0) return absl::InternalError("an arena without blocks was kept");
    arena_blocks += arena.blocks;
    for (const Block* block : arena.free) {
      SINTER_RETURN_IF_ERROR(check(block));
      if (block->used || block->arena != &arena) return broken(block, "is in the wrong free set");
      free += block->bytes;
      ++free_blocks;
    }
  }
  if (used != used_bytes_ || free != free_bytes_ || free_blocks != free_blocks_ ||
      blocks + free_blocks != arena_blocks) {
    return absl::InternalError(absl::StrCat("counters say used ", used_bytes_, ", free ", free_bytes_, " in ",
                                            free_blocks_, " blocks; found ", used, ", ", free, " in ",
                                            free_blocks, "; ", arena_blocks, " blocks counted, ",
                                            blocks + free_blocks, " found"));
  }
  return absl::OkStatus();
}

}  // namespace sinter::internal_allocator
