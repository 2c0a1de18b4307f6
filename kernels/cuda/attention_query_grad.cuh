// The gradient of attention with respect to q, and the stats of each row that the gradients of k and v read.
//
// A block has 128 queries of a head, 64 for each of two warpgroups, and runs over tiles of 64 keys, which a
// third warpgroup copies to shared memory ahead of them. With p = exp(scale q k^T - stats), dp = g v^T and
// the row sums D of g * o, the gradient is scale ds k, where ds = p * (dp - D). Products of one
// warpgroup run while the other computes p and ds.
constexpr int kQueryStages = 6;
constexpr int kQueryTiles = (int(kQueries) + kRowTiles - 1) / kRowTiles;
// Shared memory: the stages, each a tile of k and of v; twice q, g and o of a block and its stats; room for
// results.
constexpr int kQueryStageBytes = 2 * kTileBytes, kBlockTile = 2 * kTileBytes, kHeldBytes = 3 * kBlockTile;
constexpr int kHeldAt = kQueryStages * kQueryStageBytes, kRoomAt = kHeldAt + 2 * kHeldBytes,
              kStatsAt = kRoomAt + 8 * kRoomBytes, kStatsBytes = kRowTiles * 4,
              kQueryBarriersAt = kStatsAt + 2 * kStatsBytes,
              kQuerySharedBytes = kQueryBarriersAt + (2 * kQueryStages + 2) * 8;
static_assert(kSharedBytes == kQuerySharedBytes, "the launch has as much");

// Returns the number of tiles of keys that rows [row, row + rows) see.
__device__ __forceinline__ int KeyTilesOf(int row, int rows) {
  if (row >= int(kQueries)) return 0;
  int end = int(kKeys);
  if (kCausal) end = sn_imin(end, sn_imin(row + rows, int(kQueries)) + kOffset);
  return (end + kSide - 1) / kSide;
}

typedef TileQueue<kQueryTiles, int(kHeads)> QueryQueue;

__device__ __forceinline__ int FirstQuery(const QueryQueue& queue) {
  return (kCausal ? kQueryTiles - 1 - queue.rank() : queue.rank()) * kRowTiles;
}

__device__ __forceinline__ void SendQueryGrad(const Half* q, const Half* k, const Half* v, const Half* o,
                                              const float* stats, const Half* g, u32 shared, u32 held_empty,
                                              Producer<kQueryStages>& producer) {
  int block = 0;
  u32 held_phase = 1;
  for (QueryQueue queue; queue.more(); queue.Next()) {
    const int example = queue.example(), head = queue.head(), first = FirstQuery(queue);
    const Half* const keys = KeyHead(k, example, head / kGroup);
    const Half* const values = KeyHead(v, example, head / kGroup);
    const int tiles = KeyTilesOf(first, kRowTiles);
    for (int tile = 0; tile < tiles; ++tile) {
      producer.Acquire();
      const u32 stage = shared + producer.ring.slot * kQueryStageBytes;
      SendRows(stage, keys, kKeyStride, tile * kSide, int(kKeys));
      SendRows(stage + kTileBytes, values, kKeyStride, tile * kSide, int(kKeys));
      if (tile == 0) {
        producer.Acquire(held_empty + block * 8, held_phase);
#pragma unroll 1
        for (int half = 0; half < 2; ++half) {
          const u32 to = shared + kHeldAt + block * kHeldBytes + half * kTileBytes;
          const int row = first + half * kSide;
          SendRows(to, QueryHead(q, example, head), kQueryStride, row, int(kQueries));
          SendRows(to + kBlockTile, OutputHead(g, example, head), kOutputStride, row, int(kQueries));
          SendRows(to + 2 * kBlockTile, OutputHead(o, example, head), kOutputStride, row, int(kQueries));
        }
        const int thread = threadIdx.x % kProducerThreads;
        const bool exists = first + thread < int(kQueries);
        CopyAsync<4>(shared + kStatsAt + block * kStatsBytes + thread * 4,
                     stats + i64(example * int(kHeads) + head) * kQueries + (exists ? first + thread : 0),
                     exists);
        if ((block ^= 1) == 0) held_phase ^= 1;
      }
      producer.Commit();
    }
  }
  producer.Finish();
}

// A warpgroup's 64 queries: what it holds of them, and its sums.
struct QueryGradRows {
  u32 q[4 * kPanels][4], g[4 * kPanels][4];
  float sums[kPanels][32];
  float log_sum[2], row_sum[2];  // Numbers of rows lane / 4 and lane / 4 + 8; log_sum in powers of 2.
};

__device__ __forceinline__ void HoldQueries(QueryGradRows& rows, u32 tile, u32 stats, float* row_stats,
                                            int row) {
  const int lane = threadIdx.x % 32, of_warp = threadIdx.x % 128 / 32 * 16 + lane / 4;
  u32 o[4 * kPanels][4];
  HoldRows(rows.q, tile);
  HoldRows(rows.g, tile + kBlockTile);
  HoldRows(o, tile + 2 * kBlockTile);
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    float sum = 0;
#pragma unroll
    for (int k = 0; k < 4 * kPanels; ++k) {
#pragma unroll
      for (int j = i; j < 4; j += 2) {
        sum += Low(rows.g[k][j]) * Low(o[k][j]) + High(rows.g[k][j]) * High(o[k][j]);
      }
    }
    sum += sn_shuffle_xor(sum, 1);
    sum += sn_shuffle_xor(sum, 2);
    float log_sum;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(log_sum) : "r"(stats + (of_warp + i * 8) * 4) : "memory");
    // A query that sees no key has minus infinity; plus infinity makes its probabilities 0.
    log_sum = log_sum == -__int_as_float(0x7f800000) ? -log_sum : log_sum * 1.44269504f;
    rows.log_sum[i] = log_sum, rows.row_sum[i] = sum;
    if (lane % 4 == 0 && row + of_warp + i * 8 < int(kQueries)) {
      *(float2*)(row_stats + 2 * (of_warp + i * 8)) = make_float2(log_sum, sum);
    }
  }
}

// Starts the products of a tile, and first those of ds with the tile before it, if there is one: one group.
// Products that follow one another have different sums, so that none waits for the sums of the last.
template <bool is_first>
__device__ __forceinline__ void StartQueryProducts(QueryGradRows& rows, float (&s)[32], float (&dp)[32],
                                                   const u32 (&ds)[4][4], u32 stage, u32 stage_before,
                                                   int adds) {
  static_assert(kPanels == 1, "a step of k is 16 columns of one panel, and 16 rows of the tile before");
  OrderRegisters();
  const u64 keys = DescribePanel(stage), values = DescribePanel(stage + kTileBytes),
            keys_before = DescribePanel(stage_before);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if constexpr (!is_first)
      AddHeld<true>(rows.sums[0], ds[k], keys_before + k * (2048 >> 4), k > 0 ? 1 : adds);
    if (k == 0) {
      MultiplyHeld(s, rows.q[k], keys);
      MultiplyHeld(dp, rows.g[k], values);
    } else {
      AddHeld<false>(s, rows.q[k], keys + k * 2);
      AddHeld<false>(dp, rows.g[k], values + k * 2);
    }
  }
  EndProducts();
}

// Computes p in place of s, for keys from `key`. `row`: the warpgroup's first query.
__device__ __forceinline__ void QueryProbabilities(const QueryGradRows& rows, float (&s)[32], int key,
                                                   int row) {
  const float factor = Scale() * 1.44269504f;
  const bool ragged = int(kKeys) % kSide != 0 && key + kSide > int(kKeys);
  if (ragged || (kCausal && key + kSide - 1 > row + kOffset)) {
    const int lane = threadIdx.x % 32, of_warp = row + threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
    for (int e = 0; e < 32; ++e) {
      int last = int(kKeys) - 1;
      if (kCausal) last = sn_imin(last, of_warp + e / 2 % 2 * 8 + kOffset);
      if (key + e / 4 * 8 + lane % 4 * 2 + e % 2 > last) s[e] = -__int_as_float(0x7f800000);
    }
  }
#pragma unroll
  for (int e = 0; e < 32; ++e) s[e] = Exp2(fmaf(s[e], factor, -rows.log_sum[e / 2 % 2]));
}

// Computes ds of a tile whose products have ended.
__device__ __forceinline__ void QueryScoreGrads(const QueryGradRows& rows, float (&s)[32], float (&dp)[32],
                                                u32 (&ds)[4][4], int key, int row) {
  QueryProbabilities(rows, s, key, row);
#pragma unroll
  for (int e = 0; e < 32; ++e) s[e] *= dp[e] - rows.row_sum[e / 2 % 2];
  PackAll(ds, s);
}

__device__ __forceinline__ void ComputeQueryGrad(float* row_stats, Half* dq, u32 shared, u32 held_empty,
                                                 Ring<kQueryStages>& ring) {
  const int half = Warpgroup(), warp = threadIdx.x / 32;
  int block = 0;
  for (QueryQueue queue; queue.more(); queue.Next(), block ^= 1) {
    const int example = queue.example(), head = queue.head(), first = FirstQuery(queue);
    const int row = first + half * kSide, tiles = KeyTilesOf(row, kSide);
    const int all_tiles = KeyTilesOf(first, kRowTiles);
    const u32 held = shared + kHeldAt + block * kHeldBytes + half * kTileBytes;
    QueryGradRows rows;
    WaitFor(ring.Full(), ring.phase);
    HoldQueries(rows, held, shared + kStatsAt + block * kStatsBytes + half * kSide * 4,
                row_stats + 2 * (i64(example * int(kHeads) + head) * kQueries + row), row);
    ArriveWarp(held_empty + block * 8);
    if (tiles > 0) {
      float s[32], dp[32];
      u32 ds[4][4];
      StartQueryProducts<true>(rows, s, dp, ds, shared + ring.slot * kQueryStageBytes, shared, 0);
      WaitForProducts<0>();
      for (int tile = 0;; ++tile) {
        const int slot = ring.slot;
        ring.Advance();
        QueryScoreGrads(rows, s, dp, ds, tile * kSide, row);
        const u32 stage = shared + slot * kQueryStageBytes;
        if (tile + 1 == tiles) {
          OrderRegisters();
          const u64 keys = DescribePanel(stage);
#pragma unroll
          for (int k = 0; k < 4; ++k) {
            AddHeld<true>(rows.sums[0], ds[k], keys + k * (2048 >> 4), k > 0 || tile > 0);
          }
          EndProducts();
          WaitForProducts<0>();
          ArriveWarp(ring.empty + slot * 8);
          break;
        }
        WaitFor(ring.Full(), ring.phase);
        StartQueryProducts<false>(rows, s, dp, ds, shared + ring.slot * kQueryStageBytes, stage, tile > 0);
        WaitForProducts<0>();
        ArriveWarp(ring.empty + slot * 8);
      }
    }
    for (int tile = tiles; tile < all_tiles; ++tile, ring.Advance()) {
      WaitFor(ring.Full(), ring.phase);
      ArriveWarp(ring.Empty());
    }
    WaitForRooms();
    WriteRows(rows.sums, Scale(), shared + kRoomAt + warp * kRoomBytes, QueryHead(dq, example, head),
              kQueryStride, row + warp % 4 * 16, int(kQueries));
  }
  WaitForRooms();
}

// Writes dq, and to row_stats, for each row of scores, stats in powers of 2 and the sum of g * o.
__device__ __forceinline__ void AttentionQueryGrad(const Half* q, const Half* k, const Half* v, const Half* o,
                                                   const float* stats, const Half* g, float* row_stats,
                                                   Half* dq) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 shared = SharedAddress(memory), barriers = shared + kQueryBarriersAt;
  const u32 held_empty = barriers + 2 * kQueryStages * 8;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kQueryStages; ++i) {
      InitBarrier(barriers + i * 8, kProducerThreads / 32);
      InitBarrier(barriers + (kQueryStages + i) * 8, kConsumers * 4);
    }
    for (int i = 0; i < 2; ++i) InitBarrier(held_empty + i * 8, kConsumers * 4);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  sn_barrier();
  const Ring<kQueryStages> ring = {barriers, barriers + kQueryStages * 8};
  if (Warpgroup() == kConsumers) {
    KeepRegisters<24>();
    Producer<kQueryStages> producer = {ring};
    SendQueryGrad(q, k, v, o, stats, g, shared, held_empty, producer);
  } else {
    TakeRegisters<240>();
    Ring<kQueryStages> own = ring;
    ComputeQueryGrad(row_stats, dq, shared, held_empty, own);
  }
}
