// Runs one block of a CUDA kernel on the CPU: the threads are fibers, and accesses to memory are checked.
//
//   SimtBlock block("sum_1a2b", entry, 0, /*threads=*/256, ThreadOrder::kAscending);
//   block.AddRegion("buffer 0", data, bytes);                        // readable memory
//   for (uint32_t i = 0; i < grid; ++i) SINTER_RETURN_IF_ERROR(block.Run(i, grid, pointers));
//
// A thread runs until it synchronises or ends. Then the first ready thread in the given order runs. So the
// order decides which of two threads is first between two synchronisations: different results in the two
// orders reveal a missing barrier. A shuffle completes when all live lanes of its mask have reached it. A
// barrier completes when all threads of the block have reached it. Shared memory is poisoned when a block
// begins.
//
// An error names the kernel, the block and the threads. FAILED_PRECONDITION: no thread can continue (a GPU
// would hang). OUT_OF_RANGE: an access outside the buffers or shared arrays. INVALID_ARGUMENT: an unaligned
// access, or too much shared memory.
//
// A process runs one block at a time.
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

// The byte of unwritten memory: -27 million as f32, -27 million as bf16, -1.4e57 as f64.
inline constexpr std::byte kSimtPoison{0xcb};
// Guard bytes before and after every buffer and shared array.
inline constexpr int64_t kSimtGuardBytes = 1024;

// Poisoned memory with guards. It begins `offset` bytes after a multiple of 256.
class SimtBuffer {
 public:
  explicit SimtBuffer(int64_t bytes, int64_t offset = 0);

  std::byte* data() const { return begin_; }
  int64_t bytes() const { return bytes_; }
  void Poison();
  // True if a guard byte changed; `at` is then its offset from the buffer's begin.
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

  // Adds memory that sn_load may read and returns its number. was_loaded() is true if a kernel has read it.
  size_t AddRegion(std::string name, const std::byte* begin, int64_t bytes);
  bool was_loaded(size_t region) const { return regions_[region].loaded; }

  absl::Status Run(uint32_t block, uint32_t grid, void* const* buffers);

  static SimtBlock& Running();
  // Functions that the kernel's text calls.
  void Barrier();
  uint64_t Shuffle(SimtShuffle kind, uint32_t mask, uint64_t bits, int argument, int width);
  char* Shared(uint32_t slot, uint32_t bytes);
  void Read(const void* from, uint32_t bytes);
  [[noreturn]] void Misaligned(const void* at, uint32_t bytes);
  // The main function of a fiber: runs threads one after another.
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
  // Bit masks, with one bit for each lane.
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
  // Runs the next ready thread on its fiber. Returns when `fiber` runs again.
  void Continue(int fiber, bool fiber_is_free);
  void EndThread();
  void TryShuffle(int number, uint32_t mask);
  // Ends the block with message_ and the current thread.
  [[noreturn]] void Fail(absl::StatusCode code);
  std::string Describe(const Thread& thread) const;
  std::string DescribeAll() const;
  // Describes the region that contains the address or is nearest to it, and the offset.
  std::string Near(const void* at) const;
  absl::Status CheckShared() const;

  std::string kernel_;
  SimtEntry entry_;
  uint32_t number_;
  ThreadOrder order_;
  std::vector<Thread> threads_;
  std::vector<Warp> warps_;
  std::vector<uint64_t> ready_;  // One bit for each thread, by its position in the order.
  std::vector<Region> regions_;
  std::map<uint32_t, std::unique_ptr<SimtBuffer>> shared_;
  size_t last_region_ = 0;
  int64_t shared_bytes_ = 0;
  void* const* buffers_ = nullptr;
  int current_ = 0, live_ = 0, at_barrier_ = 0;
  std::string message_;
  absl::Status error_;
};

// Math functions and functions of the running block that a kernel's text calls, in the order of the kernel's
// table.
const std::vector<SimtHostFunction>& SimtHostFunctions();
// The memory for threadIdx, blockIdx, blockDim and gridDim.
const SimtIndex* SimtIndices();

}  // namespace sinter::codegen

#endif  // SINTER_TESTS_CODEGEN_SIMT_BLOCK_H_
