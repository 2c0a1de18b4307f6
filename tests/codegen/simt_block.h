// One block of an emulated GPU's kernel: its threads, as fibers of this process, and the memory that they share.
//
//   SimtBlock block("sum_1a2b", entry, 0, /*threads=*/256, ThreadOrder::kAscending);
//   block.AddRegion("buffer 0", data, bytes);                        // what may be read
//   for (uint32_t i = 0; i < grid; ++i) SINTER_RETURN_IF_ERROR(block.Run(i, grid, pointers));
//
// A thread runs until it synchronises or ends; then the first of those that can go on does, in the given order. So of any two
// threads the one or the other is first between two synchronisations, by the order: results that differ show a barrier that is
// missing. A shuffle is done when all lanes of its mask that have not ended are at it, a barrier when all threads of the block
// are. Shared memory is poisoned when a block begins. An error names the kernel, the block and the threads:
// FAILED_PRECONDITION, nothing can go on (a GPU would hang); OUT_OF_RANGE, an access outside the buffers or the shared arrays;
// INVALID_ARGUMENT, one that is not aligned, or more shared memory than there is.
//
// One block runs at a time in a process.
#ifndef SINTER_TESTS_CODEGEN_SIMT_BLOCK_H_
#define SINTER_TESTS_CODEGEN_SIMT_BLOCK_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sinter/tests/codegen/simt_text.h"

namespace sinter::codegen {

enum class ThreadOrder { kAscending, kDescending };

// What memory holds that nothing has written: as f32 -27 million, as bf16 -27 million, as f64 -1.6e57.
inline constexpr std::byte kSimtPoison{0xcb};
// In front of and behind every buffer and shared array.
inline constexpr int64_t kSimtGuardBytes = 1024;

// Memory with guards. Begins `offset` bytes behind a multiple of 256, poisoned.
class SimtBuffer {
 public:
  explicit SimtBuffer(int64_t bytes, int64_t offset = 0);

  std::byte* data() const { return begin_; }
  int64_t bytes() const { return bytes_; }
  void Poison();
  // Where the first changed guard byte is, from the buffer's begin; nothing changed: 0 with false.
  bool FindChangedGuard(int64_t& at) const;

 private:
  std::vector<std::byte> memory_;
  std::byte* begin_;
  int64_t bytes_;
};

class SimtBlock {
 public:
  SimtBlock(std::string kernel, SimtEntry entry, uint32_t number, int threads, ThreadOrder order);
  ~SimtBlock();

  // Memory that sn_load may read. `was_loaded` of the region with this number says whether it did.
  size_t AddRegion(std::string name, const std::byte* begin, int64_t bytes);
  bool was_loaded(size_t region) const { return regions_[region].loaded; }

  absl::Status Run(uint32_t block, uint32_t grid, void* const* buffers);

  static SimtBlock& Running();
  // What the kernel's text calls.
  void Barrier();
  uint64_t Shuffle(SimtShuffle kind, uint32_t mask, uint64_t bits, int argument, int width);
  char* Shared(uint32_t slot, uint32_t bytes);
  void Read(const void* from, uint32_t bytes);
  [[noreturn]] void Misaligned(const void* at, uint32_t bytes);
  // What a fiber does: one thread after the other.
  void RunThreads();

 private:
  enum class State { kReady, kBarrier, kShuffle, kEnded };
  struct Thread {
    State state = State::kReady;
    int fiber = -1;
    SimtShuffle kind = SimtShuffle::kXor;
    uint32_t mask = 0;
    uint64_t bits = 0;
    int argument = 0, width = 32;
  };
  // By the bits of its lanes.
  struct Warp {
    uint32_t live = 0, at_shuffle = 0;
  };
  struct Region {
    std::string name;
    const std::byte* begin;
    int64_t bytes;
    bool loaded = false;
  };

  void MakeReady(int thread);
  int TakeReady();
  // Lets the next thread go on, on its fiber; returns when it is this fiber's turn again.
  void Continue(int fiber, bool fiber_is_free);
  void EndThread();
  void TryShuffle(int number, uint32_t mask);
  // Ends the block with message_ and where it was.
  [[noreturn]] void Fail(absl::StatusCode code);
  std::string Describe(const Thread& thread) const;
  std::string DescribeAll() const;
  // The region that the address is in or near, and where in it.
  std::string Near(const void* at) const;
  absl::Status CheckShared() const;

  std::string kernel_;
  SimtEntry entry_;
  uint32_t number_;
  ThreadOrder order_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<uint64_t> ready_;  // A bit for each thread, by its place in the order.
  std::vector<Region> regions_;
  std::map<uint32_t, std::unique_ptr<SimtBuffer>> shared_;
  size_t last_region_ = 0;
  int64_t shared_bytes_ = 0;
  void* const* buffers_ = nullptr;
  int current_ = 0, live_ = 0, at_barrier_ = 0;
  std::string message_;
  absl::Status error_;
};

// Mathematics and the block that runs: the functions that a kernel's text calls, in the order of its table.
const std::vector<SimtHostFunction>& SimtHostFunctions();
// Where the text reads threadIdx and the like.
const SimtIndex* SimtIndices();

}  // namespace sinter::codegen

#endif  // SINTER_TESTS_CODEGEN_SIMT_BLOCK_H_
