// The kernels of exchanges between GPUs that can access each other's memory: their parameters and their PTX.
//
//   cudaLibraryLoadData(&library, ExchangePtx(), ...);
//   cudaLibraryGetKernel(&kernel, library, kExchangeKernel);
//
// Each GPU of an exchange launches the kernel with the same grid. A block meets the same block of the other
// GPUs: each tells the others that it has come, and waits for them.
//
// kExchangeKernel moves elements: after a meeting a block writes its share of every move, which may be into
// another GPU's memory, and meets the others again: now all have what was sent to them. A launch may also do
// a part of this, so that copy engines move elements in between. One with moves has kExchangeThreads threads
// a block.
//
// kSumKernel adds the terms of all ranks, in the order of the ranks. After a meeting it reads kSumUnits units
// of each thread from every rank, in as many rounds as are needed. If a result may have the place of a term
// that another GPU reads, a meeting in each round lets all read before any writes. Otherwise one meeting ends
// the last round: now all have read. It has kExchangeThreads threads a block.
//
// kShareKernel adds whole tensors too, each GPU a share for all. In each round a block sends its terms of the
// others' shares to their workspaces, adds its own share, from the terms that have come, and sends the sum to
// all. A round has a chunk of kSumUnits units of each thread from every share. A workspace has kShareBuffers
// rounds, so that the terms of some travel while others are added: a block may send those of round r when
// the others have added round r - kShareBuffers. They have if they have sent round r - kShareBuffers + 2, for
// which this block waits before it adds that round. It has kExchangeThreads threads a block.
//
// Contract: constant data without dependencies. runtime/cuda/peer/peer_exchanges.h launches the kernel.
#ifndef SINTER_KERNELS_CUDA_EXCHANGE_EXCHANGE_KERNEL_H_
#define SINTER_KERNELS_CUDA_EXCHANGE_EXCHANGE_KERNEL_H_

#include <cstdint>

namespace sinter::kernels {

inline constexpr char kExchangeKernel[] = "sinter_exchange";
inline constexpr char kSumKernel[] = "sinter_exchange_sum";
inline constexpr char kShareKernel[] = "sinter_exchange_shares";
inline constexpr uint32_t kExchangeThreads = 512;
inline constexpr uint32_t kMostExchangeBlocks = 32;
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

enum class SumType : uint32_t { kF32, kBf16, kF16 };
// A unit is 16 bytes if all addresses and sizes are multiples of that, else one element.
inline constexpr uint32_t kSumUnits = 4;
inline constexpr uint32_t kMostSums = 8;

struct ExchangeSum {
  const unsigned char* term[kMostExchangePeers + 1];  // By rank.
  unsigned char* to;
  uint32_t units;
};

// f32 sums are f32; bf16 and f16 are added as f32 and rounded once.
struct SumParameters {
  const uint32_t* is_over;  // As in ExchangeParameters.
  uint32_t* mark;
  uint32_t peers, terms, sums, rounds;
  SumType type;
  uint32_t has_units_of_16;  // 0: a unit is one element.
  uint32_t meets_in_rounds;  // 0: no result has the place of a term that another GPU reads.
  float divisor;             // Divides the sum: the number of ranks for a mean, else 1.
  ExchangePeer peer[kMostExchangePeers];
  ExchangeSum sum[kMostSums];
};

inline constexpr uint32_t kMostShareBlocks = 16;
inline constexpr uint32_t kShareBuffers = 4;
// Bytes of a chunk: units of 16 bytes, or as many elements.
inline constexpr uint32_t kShareBytes = kSumUnits * kExchangeThreads * 16;
inline constexpr uint32_t kMostShared = 16;

struct SharedTensor {
  const unsigned char* from;                  // This rank's term.
  unsigned char* to[kMostExchangePeers + 1];  // The results, by rank. Its own may have the place of its term.
  uint32_t elements;
};

struct ShareParameters {
  const uint32_t* is_over;  // As in ExchangeParameters.
  uint32_t* mark;
  uint32_t peers, ranks, rank, tensors, rounds;
  SumType type;
  // 1: a unit is one element. Else it is 16 bytes, or the rest of a tensor, and all addresses are multiples
  // of that.
  uint32_t has_units_of_1;
  float divisor;
  ExchangePeer peer[kMostExchangePeers];
  // By rank. The others' terms for a rank: by block, buffer, and rank, itself left out.
  unsigned char* workspace[kMostExchangePeers + 1];
  SharedTensor tensor[kMostShared];
};

// Returns the PTX of the kernels, for sm_80 and later. Ends with a zero.
const char* ExchangePtx();

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CUDA_EXCHANGE_EXCHANGE_KERNEL_H_
