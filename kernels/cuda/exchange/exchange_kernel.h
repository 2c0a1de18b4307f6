// The kernel of exchanges between GPUs that can access each other's memory: its parameters and its PTX.
//
//   cudaLibraryLoadData(&library, ExchangePtx(), ...);
//   cudaLibraryGetKernel(&kernel, library, kExchangeKernel);
//
// Each GPU of an exchange launches it with the same grid. A block meets the same block of the other GPUs:
// each tells the others that it has come, and waits for them. Then it writes its share of every move, which
// may be into another GPU's memory, and meets them again: now all have what was sent to them. A launch may
// also do a part of this, so that copy engines move elements in between. One with moves has kExchangeThreads
// threads a block.
//
// Contract: constant data without dependencies. runtime/cuda/peer/peer_exchanges.h launches the kernel.
#ifndef SINTER_KERNELS_CUDA_EXCHANGE_EXCHANGE_KERNEL_H_
#define SINTER_KERNELS_CUDA_EXCHANGE_EXCHANGE_KERNEL_H_

#include <cstdint>

namespace sinter::kernels {

inline constexpr char kExchangeKernel[] = "sinter_exchange";
inline constexpr uint32_t kExchangeThreads = 512;
inline constexpr uint32_t kMostExchangeBlocks = 8;
inline constexpr uint32_t kMostExchangePeers = 15;
inline constexpr uint32_t kMostExchangeMoves = 144;

// Another GPU. Each array has a number for each meeting of each block, that of block 0 first: 2 * block is
// the first meeting, 2 * block + 1 the second. All begin with zeros.
struct ExchangePeer {
  uint32_t* there;  // In its memory: how often this GPU has come.
  uint32_t* here;   // In this GPU's memory: how often the other has come.
  uint32_t* count;  // In this GPU's memory: how often this GPU has come.
};

struct ExchangeMove {
  const unsigned char* from;  // In this GPU's memory.
  unsigned char* to;          // In any GPU's memory.
  uint64_t bytes;
};

struct ExchangeParameters {
  const uint32_t* is_over;  // While it is not 0, no block waits.
  // Not 0 from the first meeting to the end of the second, and then another number each time. Null: none.
  uint32_t* mark;
  uint32_t meets_before, meets_after;  // 0: not.
  uint32_t peers, moves;
  ExchangePeer peer[kMostExchangePeers];
  ExchangeMove move[kMostExchangeMoves];
};

// Returns the PTX of the kernel, for sm_80 and later. Ends with a zero.
const char* ExchangePtx();

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CUDA_EXCHANGE_EXCHANGE_KERNEL_H_
