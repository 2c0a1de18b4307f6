// Streams memory that is too large for the cache: stores past the cache, and prefetches.
//
// An ordinary store first reads its cache line, so a kernel that writes a large output moves three bytes for
// every two. A core can have few lines in flight, and these reads take their places. Non-temporal stores
// avoid the reads. An attribute of a function's pointer parameter permits streaming:
//
//   "sinter-streamed"="0"       Stores to it become non-temporal if they are aligned whole vectors.
//   "sinter-streamed"="2048"    Vector loads of it, beside such stores, are prefetched this many bytes ahead.
//
//   ... optimise ...
//   StreamMemory(module);       // Other loads and stores stay unchanged.
//
// Contract: the results keep their bits. A function with such stores ends in a fence, so that its caller may
// pass the memory to another thread as after ordinary stores.
#ifndef SINTER_CODEGEN_CPU_STREAMING_MEMORY_H_
#define SINTER_CODEGEN_CPU_STREAMING_MEMORY_H_

#include <cstdint>

namespace llvm {
class Module;
}  // namespace llvm

namespace sinter::codegen {

inline constexpr char kStreamedAttribute[] = "sinter-streamed";

// The least size of a buffer that streams. A kernel and the reader of its output use three such buffers,
// which exceed caches of 32 to 48 MiB. Measured on an Intel Xeon with 48 MiB (docs/performance-notes.md): two
// kernels in sequence break even at 4 MiB, and take 0.6 times as long at 16 MiB. With a cache that is faster
// relative to its memory, the break-even is higher.
inline constexpr int64_t kStreamedBytes = int64_t{16} << 20;

// Prefetch distance for contiguous accesses: the best of 0.5, 1, 2 and 4 KiB (docs/performance-notes.md).
inline constexpr int64_t kPrefetchBytes = 2048;

void StreamMemory(llvm::Module& module);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_STREAMING_MEMORY_H_
