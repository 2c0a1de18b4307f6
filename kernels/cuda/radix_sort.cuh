// A stable sort of kSorted numbers by 32-bit keys: an LSD radix sort with 8 bits per pass.
// A number's position is the number of lower keys plus the number of equal keys before it. So the result does
// not depend on the order in which blocks run.
//
// A pass is three launches, CountDigits, PlaceTiles and MoveTile, over tiles of kTile adjacent elements. If
// there is only one tile, SortAlone does all passes in one block. Keys and numbers are functions of a
// position, so that the first pass can compute them.
//
// Constants: kSorted; kBlock, threads (256 or more); kItems, keys of a thread; kTiles.
constexpr u32 kDigits = 256;
constexpr u32 kWarps = kBlock / 32;
constexpr u32 kTile = kBlock * kItems;

struct StoredWords {
  const u32* words;
  __device__ __forceinline__ u32 operator()(u32 position) const { return words[position]; }
};
// Keys from indices below `size`; indices out of range sort last.
template <typename Index>
struct IndexKeys {
  const Index* indices;
  u32 size;
  __device__ __forceinline__ u32 operator()(u32 position) const {
    const i64 index = (i64)sn_load(indices + position);
    return index < 0 || index >= (i64)size ? size : u32(index);
  }
};
struct Positions {
  __device__ __forceinline__ u32 operator()(u32 position) const { return position; }
};

__device__ __forceinline__ u32 DigitOf(u32 key, int shift) { return key >> shift & (kDigits - 1); }

// Reads the keys once and writes counts[digit, tile].
template <typename Keys>
__device__ __forceinline__ void CountDigits(Keys keys, int shift, u32* counts) {
  __shared__ u32 shared[kDigits];
  for (u32 digit = threadIdx.x; digit < kDigits; digit += kBlock) shared[digit] = 0;
  sn_barrier();
  const u32 first = blockIdx.x * kTile;
#pragma unroll
  for (u32 i = 0; i < kItems; ++i) {
    const u32 position = first + i * kBlock + threadIdx.x;
    if (position < kSorted) atomicAdd(&shared[DigitOf(keys(position), shift)], 1u);
  }
  sn_barrier();
  for (u32 digit = threadIdx.x; digit < kDigits; digit += kBlock) {
    counts[digit * kTiles + blockIdx.x] = shared[digit];
  }
}

// One block for each digit. Replaces the counts by the number of the digit's keys in lower tiles, and writes
// the digit's total to totals[digit]. Reads and writes the counts.
__device__ __forceinline__ void PlaceTiles(u32* counts, u32* totals) {
  __shared__ u32 shared[2][kWarps];
  u32* const row = counts + (u64)blockIdx.x * kTiles;
  u32 before = 0;
  for (u32 first = 0, turn = 0; first < kTiles; first += kBlock, turn ^= 1) {
    const u32 tile = first + threadIdx.x;
    u32 total;
    const u32 lower = ScanBlock<kBlock>(tile < kTiles ? row[tile] : 0u, total, shared[turn]);
    if (tile < kTiles) row[tile] = before + lower;
    before += total;
  }
  if (threadIdx.x == 0) totals[blockIdx.x] = before;
}

// A block's keys and their ranks in its tile. Each warp ranks kItems rows of 32 adjacent keys.
struct Ranked {
  u32 keys[kItems];
  u32 ranks[kItems];  // Ranks among equal digits of the warp.

  static __device__ __forceinline__ u32 Position(u32 tile, u32 i) {
    return tile * kTile + (threadIdx.x / 32 * kItems + i) * 32 + threadIdx.x % 32;
  }

  // `counts` [kWarps, kDigits] is in shared memory. Afterwards it contains each warp's count of each digit.
  template <typename Keys>
  __device__ __forceinline__ Ranked(u32 tile, Keys from, int shift, u32* counts) {
#pragma unroll
    for (u32 i = 0; i < kItems; ++i) {
      const u32 position = Position(tile, i);
      keys[i] = position < kSorted ? from(position) : 0;
    }
    for (u32 i = threadIdx.x; i < kWarps * kDigits; i += kBlock) counts[i] = 0;
    sn_barrier();
    u32* const own = counts + threadIdx.x / 32 * kDigits;
    const u32 lower = (1u << threadIdx.x % 32) - 1;
#pragma unroll
    for (u32 i = 0; i < kItems; ++i) {
      const bool exists = Position(tile, i) < kSorted;
      const u32 digit = DigitOf(keys[i], shift);
      // Positions after the end match one another and are not counted.
      const u32 equal = __match_any_sync(0xffffffffu, exists ? digit : kDigits);
      const u32 ahead = __popc(equal & lower);
      ranks[i] = own[digit] + ahead;
      __syncwarp();
      if (exists && ahead == 0) own[digit] += __popc(equal);
      __syncwarp();
    }
    sn_barrier();
  }
};

// Replaces each warp's counts by the position of its first key with the digit. `start`: the first position of
// the tile's keys with digit threadIdx.x.
__device__ __forceinline__ void PlaceWarps(u32 start, u32* counts) {
  if (threadIdx.x < kDigits) {
    for (u32 w = 0; w < kWarps; ++w) {
      const u32 count = counts[w * kDigits + threadIdx.x];
      counts[w * kDigits + threadIdx.x] = start;
      start += count;
    }
  }
  sn_barrier();
}

template <bool keep_keys, typename Numbers, typename Number>
__device__ __forceinline__ void Move(const Ranked& ranked, u32 tile, int shift, const u32* places,
                                     Numbers numbers, u32* keys_to, Number* numbers_to) {
#pragma unroll
  for (u32 i = 0; i < kItems; ++i) {
    const u32 position = Ranked::Position(tile, i);
    if (position >= kSorted) continue;
    const u32 key = ranked.keys[i];
    const u32 to = places[threadIdx.x / 32 * kDigits + DigitOf(key, shift)] + ranked.ranks[i];
    if (keep_keys) keys_to[to] = key;
    numbers_to[to] = Number(numbers(position));
  }
}

// Reads the keys and numbers once and writes them to their positions; without keep_keys, writes only the
// numbers.
template <bool keep_keys, typename Keys, typename Numbers, typename Number>
__device__ __forceinline__ void MoveTile(Keys keys, Numbers numbers, int shift, const u32* counts,
                                         const u32* totals, u32* keys_to, Number* numbers_to) {
  __shared__ u32 shared[kWarps * kDigits];
  __shared__ u32 warp_totals[kWarps];
  const bool has_digit = threadIdx.x < kDigits;
  u32 all;
  u32 start = ScanBlock<kBlock>(has_digit ? totals[threadIdx.x] : 0u, all, warp_totals);
  if (has_digit) start += counts[threadIdx.x * kTiles + blockIdx.x];
  const Ranked ranked(blockIdx.x, keys, shift, shared);
  PlaceWarps(start, shared);
  Move<keep_keys>(ranked, blockIdx.x, shift, shared, numbers, keys_to, numbers_to);
}

// One pass of SortAlone.
template <bool keep_keys, typename Keys, typename Numbers, typename Number>
__device__ __forceinline__ void MoveAlone(Keys keys, Numbers numbers, int shift, u32* shared,
                                          u32* warp_totals, u32* keys_to, Number* numbers_to) {
  const Ranked ranked(0, keys, shift, shared);
  u32 count = 0, all;
  if (threadIdx.x < kDigits) {
    for (u32 w = 0; w < kWarps; ++w) count += shared[w * kDigits + threadIdx.x];
  }
  PlaceWarps(ScanBlock<kBlock>(count, all, warp_totals), shared);
  Move<keep_keys>(ranked, 0, shift, shared, numbers, keys_to, numbers_to);
  sn_barrier();
}

// Does all `passes` in one block; `keys` and `numbers` are buffers of [2, kSorted] for intermediate results.
// Reads the source once and writes the numbers, and with keep_keys also the keys. Intermediate results stay
// in caches.
template <int passes, bool keep_keys, typename Keys, typename Numbers, typename Number>
__device__ __forceinline__ void SortAlone(Keys source, Numbers source_numbers, u32* keys, u32* numbers,
                                          u32* keys_to, Number* numbers_to) {
  __shared__ u32 shared[kWarps * kDigits];
  __shared__ u32 warp_totals[kWarps];
  if constexpr (passes == 1) {
    MoveAlone<keep_keys>(source, source_numbers, 0, shared, warp_totals, keys_to, numbers_to);
  } else {
    MoveAlone<true>(source, source_numbers, 0, shared, warp_totals, keys, numbers);
    u32 from = 0;
    for (int pass = 1; pass < passes - 1; ++pass) {
      MoveAlone<true>(StoredWords{keys + from}, StoredWords{numbers + from}, pass * 8, shared, warp_totals,
                      keys + (kSorted - from), numbers + (kSorted - from));
      from = kSorted - from;
    }
    MoveAlone<keep_keys>(StoredWords{keys + from}, StoredWords{numbers + from}, passes * 8 - 8, shared,
                         warp_totals, keys_to, numbers_to);
  }
}
