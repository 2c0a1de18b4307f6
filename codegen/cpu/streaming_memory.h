// Memory that is too large to be found in the cache again: stores past the cache, and prefetches.
//
// An ordinary store reads its line into the cache first, so a kernel that writes a large output moves three bytes for each
// two; a core can have few lines under way, and these reads take their places. Non-temporal stores do without. What may
// stream is said by an attribute of a function's pointer parameter:
//
//   "sinter-streamed"="0"       stores to it are non-temporal, where they are whole vectors proven to be aligned;
//   "sinter-streamed"="2048"    vector loads of it, beside such stores, are prefetched so many bytes ahead.
//
//   ... optimise ...
//   StreamMemory(module);       // Other loads and stores stay as they are; so do all without the attribute.
//
// Contract: the results keep their bits. A function with such stores ends in a fence, so that its caller may hand the
// memory to another thread as after ordinary stores.
#ifndef SINTER_CODEGEN_CPU_STREAMING_MEMORY_H_
#define SINTER_CODEGEN_CPU_STREAMING_MEMORY_H_

#include <cstdint>

namespace llvm {
class Module;
}  // namespace llvm

namespace sinter::codegen {

inline constexpr char kStreamedAttribute[] = "sinter-streamed";

// Buffers of this size stream. A kernel and the one that reads its output touch three such buffers, which no cache of 32 to
// 48 MiB holds. Measured on an Intel Xeon with 48 MiB (docs/performance-notes.md): two kernels, one after the other, break
// even at 4 MiB, and take 0.6 times as long at 16; where a cache is quicker beside its memory, the break-even lies higher.
inline constexpr int64_t kStreamedBytes = int64_t{16} << 20;

// How far ahead of a load its prefetch is, where neighbours follow each other: the best of 0.5, 1, 2 and 4 KiB
// (docs/performance-notes.md).
inline constexpr int64_t kPrefetchBytes = 2048;

void StreamMemory(llvm::Module& module);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_STREAMING_MEMORY_H_
