// Parts that attention's kernels for Hopper share: where a tile of q, k or v is in memory, how a warpgroup of
// producers copies tiles to shared memory, and how consumers write their sums.
//
// Constants: kBatch, kHeads, kKeyHeads, kQueries, kKeys, kWidth, 64; kCausal, kPacked, kPaired,
// kIsBf16; kScaleBits, the bits of the scale as f32.
typedef u16 Half;

constexpr int kPanels = kWidth / 64, kSide = 64, kPanelBytes = kSide * 128,
              kTileBytes = kPanels * kPanelBytes;
constexpr int kRowTiles = 128;  // Rows of a block: 64 for each of its two warpgroups of consumers.
constexpr int kConsumers = 2, kProducerThreads = 128;
constexpr int kAttentionThreads = 128 * kConsumers + kProducerThreads;
constexpr int kGroup = kHeads / kKeyHeads;
// By how much the position of a query exceeds its number.
constexpr int kOffset = int(kKeys) - int(kQueries);
constexpr i64 kQueryStride = (kPacked ? 3 : 1) * i64(kHeads) * kWidth;
constexpr i64 kKeyStride = kPacked ? kQueryStride : i64(kKeyHeads) * kWidth;
constexpr int kPart = int(kHeads) * int(kWidth);  // Elements of q before those of k, if packed.
constexpr i64 kOutputStride = i64(kHeads) * kWidth;

// Returns the number of the thread's warpgroup, in a way that shows the compiler that it is one for a warp.
__device__ __forceinline__ int Warpgroup() { return sn_shuffle_first(int(threadIdx.x) / 128); }

__device__ __forceinline__ float Scale() { return __uint_as_float(u32(kScaleBits)); }

// Returns the first element of a head of one example.
template <typename T>
__device__ __forceinline__ T* QueryHead(T* q, int example, int head) {
  return q + i64(example) * kQueries * kQueryStride + head * int(kWidth);
}
template <typename T>
__device__ __forceinline__ T* KeyHead(T* k, int example, int head) {
  return k + i64(example) * kKeys * kKeyStride + head * int(kWidth);
}
template <typename T>
__device__ __forceinline__ T* OutputHead(T* o, int example, int head) {
  return o + i64(example) * kQueries * kOutputStride + head * int(kWidth);
}

// The tiles of a block, in order: a block takes every gridDim.x-th item. With a causal mask an item is a pair
// of tiles of one head, a long one and a short one, whose work is the same for all pairs.
template <int tiles, int heads>
struct TileQueue {
  static constexpr int kPairs = kPaired ? (tiles + 1) / 2 : tiles;
  int item, part;
  __device__ __forceinline__ TileQueue() : item(blockIdx.x), part(0) {}
  __device__ __forceinline__ bool more() const { return item < int(kBatch) * heads * kPairs; }
  __device__ __forceinline__ int pair() const { return item % kPairs; }
  __device__ __forceinline__ int head() const { return item / kPairs % heads; }
  __device__ __forceinline__ int example() const { return item / kPairs / heads; }
  // The number of the tile counted from that with the most work.
  __device__ __forceinline__ int rank() const { return part == 0 ? pair() : tiles - 1 - pair(); }
  __device__ __forceinline__ void Next() {
    if (kPaired && part == 0 && pair() != tiles - 1 - pair()) {
      part = 1;
    } else {
      part = 0, item += gridDim.x;
    }
  }
};

// Starts to copy 64 rows [row, row + 64) of a head, with zeros from row `end`.
__device__ __forceinline__ void SendRows(u32 to, const Half* head, i64 stride, int row, int end) {
  const int thread = threadIdx.x % kProducerThreads, part = thread % 8, first = thread / 8;
  const Half* from = head + (row + first) * stride + part * 8;
  to += first * 128 + ((part ^ (first % 8)) << 4);
#pragma unroll
  for (int i = 0; i < kSide / 16; ++i, from += 16 * stride) {
    const bool exists = row + first + i * 16 < end;
#pragma unroll
    for (int panel = 0; panel < kPanels; ++panel) {
      CopyAsync<16>(to + panel * kPanelBytes + i * 2048, exists ? from + panel * 64 : head, exists);
    }
  }
}

// Signals of a ring of `stages` stages of shared memory. Producers run `kLag` stages ahead of their signals.
template <int stages>
struct Ring {
  static constexpr int kLag = 2;
  u32 full, empty;  // Addresses of `stages` barriers each.
  int slot = 0;
  u32 phase = 0;
  __device__ __forceinline__ void Advance() {
    if (++slot == stages) slot = 0, phase ^= 1;
  }
  __device__ __forceinline__ u32 Full() const { return full + slot * 8; }
  __device__ __forceinline__ u32 Empty() const { return empty + slot * 8; }
};

// The producers' side: each warp signals a stage when its copies have arrived.
template <int stages>
struct Producer {
  Ring<stages> ring;
  int pending = 0, oldest = 0;  // Stages without a signal, and the slot of the oldest.
  // Waits until consumers have left a place. If they have not, they may need stages that have no signal yet.
  __device__ __forceinline__ void Acquire(u32 empty, u32 parity) {
    if (__all_sync(0xffffffffu, IsComplete(empty, parity))) return;
    Finish();
    WaitFor(empty, parity);
  }
  __device__ __forceinline__ void Acquire() { WaitFor(ring.Empty(), ring.phase ^ 1); }
  __device__ __forceinline__ void SignalOldest() {
    PublishToMatrixUnits();
    ArriveWarp(ring.full + oldest * 8);
    if (++oldest == stages) oldest = 0;
    --pending;
  }
  __device__ __forceinline__ void Commit() {
    EndCopies();
    ring.Advance();
    if (++pending <= Ring<stages>::kLag) return;
    WaitForCopies<Ring<stages>::kLag>();
    SignalOldest();
  }
  __device__ __forceinline__ void Finish() {
    WaitForCopies<0>();
    while (pending > 0) SignalOldest();
  }
};

__device__ __forceinline__ float Exp2(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
// Rounds two values to one register, x in the low half. Volatile, to stay before the next OrderRegisters.
__device__ __forceinline__ u32 Pack(float x, float y) {
  u32 r;
  asm volatile("cvt.rn." SN_TYPE "x2.f32 %0, %1, %2;" : "=r"(r) : "f"(y), "f"(x));
  return r;
}
__device__ __forceinline__ float Low(u32 x) {
  return kIsBf16 ? __uint_as_float(x << 16) : sn_from_f16(u16(x & 0xffff));
}
__device__ __forceinline__ float High(u32 x) {
  return kIsBf16 ? __uint_as_float(x & 0xffff0000u) : sn_from_f16(u16(x >> 16));
}
// Rounds sums of 64 columns to operands of MultiplyHeld: 4 steps of 16 elements of k.
__device__ __forceinline__ void PackAll(u32 (&to)[4][4], const float (&from)[32]) {
#pragma unroll
  for (int i = 0; i < 16; ++i) to[i / 4][i % 4] = Pack(from[2 * i], from[2 * i + 1]);
}

// Loads rows [16 warp, 16 warp + 16) of a tile as operands of MultiplyHeld, for the warp of a warpgroup.
__device__ __forceinline__ void HoldRows(u32 (&to)[4 * kPanels][4], u32 tile) {
  const int lane = threadIdx.x % 32, row = threadIdx.x % 128 / 32 * 16 + lane % 16;
#pragma unroll
  for (int k = 0; k < 4 * kPanels; ++k) {
    LoadMatrices(to[k],
                 tile + k / 4 * kPanelBytes + row * 128 + (((k % 4 * 2 + lane / 16) ^ (row % 8)) << 4));
  }
}

// Shared memory of a warp for 16 rows of results: rows of 128 bytes, 144 apart, so that writes meet no bank
// twice.
constexpr int kRoomPitch = 144, kRoomBytes = kPanels * 16 * kRoomPitch;

// Waits until the copies that WriteRows started have read the warp's rooms.
__device__ __forceinline__ void WaitForRooms() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
  __syncwarp();
}

// Starts to write the warp's 16 rows of sums, times `factor`, to rows [row, row + 16) of a head, before row
// `end`. `room` is free: see WaitForRooms.
__device__ __forceinline__ void WriteRows(const float (&sums)[kPanels][32], float factor, u32 room, Half* to,
                                          i64 stride, int row, int end) {
  const int lane = threadIdx.x % 32, group = lane / 4;
#pragma unroll
  for (int panel = 0; panel < kPanels; ++panel) {
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const u32 value = Pack(sums[panel][2 * i] * factor, sums[panel][2 * i + 1] * factor);
      const u32 at = room + (panel * 16 + group + i % 2 * 8) * kRoomPitch + i / 2 * 16 + lane % 4 * 4;
      asm volatile("st.shared.u32 [%0], %1;" ::"r"(at), "r"(value) : "memory");
    }
  }
  PublishToMatrixUnits();
  __syncwarp();
  const int of_warp = lane % 16;
  if (lane < 16 * kPanels && row + of_warp < end) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 128;" ::"l"(
                     to + (row + of_warp) * stride + lane / 16 * 64),
                 "r"(room + lane * kRoomPitch)
                 : "memory");
  }
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
