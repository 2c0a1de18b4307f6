// The gradients of attention with respect to k and v.
//
// A block has 128 keys of a head, 64 for each of two warpgroups, and runs over tiles of 64 queries, which a
// third warpgroup copies to shared memory ahead of them. Scores are transposed, so that p^T and ds^T are
// operands in registers: with p^T = exp(scale k q^T - stats), dp^T = v g^T and ds^T = p^T * (dp^T - D), the
// gradients are dv = p^T g and dk = scale ds^T q. Products of one warpgroup run while the other computes p
// and ds.
constexpr int kKeyStages = 5;
constexpr int kKeyTiles = (int(kKeys) + kRowTiles - 1) / kRowTiles;
// Shared memory: the stages, each a tile of q, of g and of row stats; twice k and v of a block; room for
// results.
constexpr int kKeyStageBytes = 2 * kTileBytes, kRowStatsBytes = kSide * 8, kKeyBlockBytes = 4 * kTileBytes;
constexpr int kBlocksAt = kKeyStages * kKeyStageBytes, kKeyRoomAt = kBlocksAt + 2 * kKeyBlockBytes,
              kRowStatsAt = kKeyRoomAt + 16 * kRoomBytes,
              kKeyBarriersAt = kRowStatsAt + kKeyStages * kRowStatsBytes,
              kKeySharedBytes = kKeyBarriersAt + (2 * kKeyStages + 2) * 8;
static_assert(kSharedBytes == kKeySharedBytes, "the launch has as much");

constexpr int kQuerySteps = (int(kQueries) + kSide - 1) / kSide;

// Returns the first tile of queries that sees key `key` or a later one.
__device__ __forceinline__ int FirstQueryTile(int key) {
  return kCausal ? sn_imin(sn_imax(key - kOffset, 0) / kSide, kQuerySteps) : 0;
}

typedef TileQueue<kKeyTiles, int(kKeyHeads)> KeyQueue;

__device__ __forceinline__ void SendKeyGrad(const Half* q, const Half* k, const Half* v, const Half* g,
                                            const float* row_stats, u32 shared, u32 block_empty,
                                            Producer<kKeyStages>& producer) {
  int block = 0;
  u32 block_phase = 1;
  for (KeyQueue queue; queue.more(); queue.Next()) {
    const int example = queue.example(), key_head = queue.head(), first = queue.rank() * kRowTiles;
    const int first_tile = FirstQueryTile(first);
    for (int member = 0; member < kGroup; ++member) {
      const int head = key_head * kGroup + member;
      const Half* const queries = QueryHead(q, example, head);
      const Half* const grads = OutputHead(g, example, head);
      for (int tile = first_tile; tile < kQuerySteps; ++tile) {
        producer.Acquire();
        if (member == 0 && tile == first_tile) {
          producer.Acquire(block_empty + block * 8, block_phase);
          const u32 to = shared + kBlocksAt + block * kKeyBlockBytes;
#pragma unroll 1
          for (int half = 0; half < 2; ++half) {
            const int row = first + half * kSide;
            SendRows(to + half * kTileBytes, KeyHead(k, example, key_head), kKeyStride, row, int(kKeys));
            SendRows(to + (2 + half) * kTileBytes, KeyHead(v, example, key_head), kKeyStride, row,
                     int(kKeys));
          }
          if ((block ^= 1) == 0) block_phase ^= 1;
        }
        const u32 stage = shared + producer.ring.slot * kKeyStageBytes;
        SendRows(stage, queries, kQueryStride, tile * kSide, int(kQueries));
        SendRows(stage + kTileBytes, grads, kOutputStride, tile * kSide, int(kQueries));
        const int thread = threadIdx.x % kProducerThreads, row = tile * kSide + thread;
        if (thread < kSide) {
          const bool exists = row < int(kQueries);
          const i64 of_head = i64(example * int(kHeads) + head) * kQueries;
          CopyAsync<8>(shared + kRowStatsAt + producer.ring.slot * kRowStatsBytes + thread * 8,
                       row_stats + 2 * (of_head + (exists ? row : 0)), exists);
        }
        producer.Commit();
      }
    }
  }
  producer.Finish();
}

// Operands of a warpgroup, of its 64 keys, and its sums.
struct KeyGradRows {
  u32 keys[4 * kPanels][4], values[4 * kPanels][4];
  float dk[kPanels][32], dv[kPanels][32];
};

// Starts the products of a tile, and first those of p and ds with the tile before it, if there is one: one
// group. Products that follow one another have different sums, so that none waits for the sums of the last.
template <bool is_first>
__device__ __forceinline__ void StartKeyProducts(KeyGradRows& rows, float (&s)[32], float (&dp)[32],
                                                 const u32 (&p_held)[4][4], const u32 (&ds)[4][4], u32 stage,
                                                 u32 stage_before, int adds) {
  static_assert(kPanels == 1, "a step of k is 16 columns of one panel, and 16 rows of the tile before");
  OrderRegisters();
  const u64 queries = DescribePanel(stage), grads = DescribePanel(stage + kTileBytes);
  const u64 queries_before = DescribePanel(stage_before),
            grads_before = DescribePanel(stage_before + kTileBytes);
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    if constexpr (!is_first) {
      AddHeld<true>(rows.dv[0], p_held[k], grads_before + k * (2048 >> 4), k > 0 ? 1 : adds);
      AddHeld<true>(rows.dk[0], ds[k], queries_before + k * (2048 >> 4), k > 0 ? 1 : adds);
    }
    if (k == 0) {
      MultiplyHeld(s, rows.keys[k], queries);
      MultiplyHeld(dp, rows.values[k], grads);
    } else {
      AddHeld<false>(s, rows.keys[k], queries + k * 2);
      AddHeld<false>(dp, rows.values[k], grads + k * 2);
    }
  }
  EndProducts();
}

// Loads stats and row sums of columns 8 j + 2 (lane % 4) + {0, 1}.
__device__ __forceinline__ float4 ColumnStats(u32 row_stats, int j) {
  float4 r;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(r.x), "=f"(r.y), "=f"(r.z), "=f"(r.w)
               : "r"(row_stats + j * 64 + threadIdx.x % 4 * 16)
               : "memory");
  return r;
}

// Computes p^T in place of s. `key`: the warpgroup's first key; `query`: the tile's first query.
__device__ __forceinline__ void KeyProbabilities(float (&s)[32], u32 row_stats, int key, int query) {
  const float factor = Scale() * 1.44269504f;
  if (kCausal && query + kOffset < key + kSide - 1) {
    const int lane = threadIdx.x % 32, of_warp = key + threadIdx.x % 128 / 32 * 16 + lane / 4;
#pragma unroll
    for (int e = 0; e < 32; ++e) {
      const int column = query + e / 4 * 8 + lane % 4 * 2 + e % 2;
      if (column + kOffset < of_warp + e / 2 % 2 * 8) s[e] = -__int_as_float(0x7f800000);
    }
  }
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float4 stats = ColumnStats(row_stats, j);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      s[4 * j + i] = Exp2(fmaf(s[4 * j + i], factor, i % 2 == 0 ? -stats.x : -stats.z));
    }
  }
}

// Computes p^T and ds^T of a tile whose products have ended.
__device__ __forceinline__ void KeyScoreGrads(float (&s)[32], float (&dp)[32], u32 (&p_held)[4][4],
                                              u32 (&ds)[4][4], u32 row_stats, int key, int query) {
  KeyProbabilities(s, row_stats, key, query);
  PackAll(p_held, s);
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    const float4 stats = ColumnStats(row_stats, j);
#pragma unroll
    for (int i = 0; i < 4; ++i) s[4 * j + i] *= dp[4 * j + i] - (i % 2 == 0 ? stats.y : stats.w);
  }
  PackAll(ds, s);
}

// The tiles of one head of queries. `adds`: 0 for the first of them, whose sums are new.
__device__ __forceinline__ void AddHeadOfQueries(KeyGradRows& rows, u32 shared, Ring<kKeyStages>& ring,
                                                 int key, int first_tile, int adds) {
  float s[32], dp[32];
  u32 p_held[4][4], ds[4][4];
  StartKeyProducts<true>(rows, s, dp, p_held, ds, shared + ring.slot * kKeyStageBytes, shared, 0);
  WaitForProducts<0>();
  for (int tile = first_tile;; ++tile, adds = 1) {
    const int slot = ring.slot;
    const u32 stage = shared + slot * kKeyStageBytes;
    ring.Advance();
    KeyScoreGrads(s, dp, p_held, ds, shared + kRowStatsAt + slot * kRowStatsBytes, key, tile * kSide);
    if (tile + 1 == kQuerySteps) {
      OrderRegisters();
      const u64 queries = DescribePanel(stage), grads = DescribePanel(stage + kTileBytes);
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        AddHeld<true>(rows.dv[0], p_held[k], grads + k * (2048 >> 4), k > 0 ? 1 : adds);
        AddHeld<true>(rows.dk[0], ds[k], queries + k * (2048 >> 4), k > 0 ? 1 : adds);
      }
      EndProducts();
      WaitForProducts<0>();
      ArriveWarp(ring.empty + slot * 8);
      return;
    }
    WaitFor(ring.Full(), ring.phase);
    StartKeyProducts<false>(rows, s, dp, p_held, ds, shared + ring.slot * kKeyStageBytes, stage, adds);
    WaitForProducts<0>();
    ArriveWarp(ring.empty + slot * 8);
  }
}

__device__ __forceinline__ void ComputeKeyGrad(Half* dk, Half* dv, u32 shared, u32 block_empty,
                                               Ring<kKeyStages>& ring) {
  const int half = Warpgroup(), warp = threadIdx.x / 32;
  int block = 0;
  for (KeyQueue queue; queue.more(); queue.Next(), block ^= 1) {
    const int example = queue.example(), head = queue.head(), first = queue.rank() * kRowTiles;
    const int key = first + half * kSide;
    const int first_tile = FirstQueryTile(first),
              own_tile = key < int(kKeys) ? FirstQueryTile(key) : kQuerySteps;
    const u32 held = shared + kBlocksAt + block * kKeyBlockBytes + half * kTileBytes;
    KeyGradRows rows;
    for (int member = 0; member < kGroup; ++member) {
      if (member == 0) {
        WaitFor(ring.Full(), ring.phase);
        HoldRows(rows.keys, held);
        HoldRows(rows.values, held + 2 * kTileBytes);
        ArriveWarp(block_empty + block * 8);
      }
      for (int tile = first_tile; tile < own_tile; ++tile, ring.Advance()) {
        WaitFor(ring.Full(), ring.phase);
        ArriveWarp(ring.Empty());
      }
      if (own_tile == kQuerySteps) continue;
      WaitFor(ring.Full(), ring.phase);
      AddHeadOfQueries(rows, shared, ring, key, own_tile, member > 0);
    }
    const u32 room = shared + kKeyRoomAt + warp * 2 * kRoomBytes;
    const int row = key + warp % 4 * 16;
    WaitForRooms();
    WriteRows(rows.dv, 1.f, room, KeyHead(dv, example, head), kKeyStride, row, int(kKeys));
    WriteRows(rows.dk, Scale(), room + kRoomBytes, KeyHead(dk, example, head), kKeyStride, row, int(kKeys));
  }
  WaitForRooms();
}

// Writes dk and dv. row_stats: what AttentionQueryGrad wrote.
__device__ __forceinline__ void AttentionKeyGrad(const Half* q, const Half* k, const Half* v, const Half* g,
                                                 const float* row_stats, Half* dk, Half* dv) {
  extern __shared__ __align__(1024) unsigned char memory[];
  const u32 shared = SharedAddress(memory), barriers = shared + kKeyBarriersAt;
  const u32 block_empty = barriers + 2 * kKeyStages * 8;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kKeyStages; ++i) {
      InitBarrier(barriers + i * 8, kProducerThreads / 32);
      InitBarrier(barriers + (kKeyStages + i) * 8, kConsumers * 4);
    }
    for (int i = 0; i < 2; ++i) InitBarrier(block_empty + i * 8, kConsumers * 4);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  sn_barrier();
  const Ring<kKeyStages> ring = {barriers, barriers + kKeyStages * 8};
  if (Warpgroup() == kConsumers) {
    KeepRegisters<24>();
    Producer<kKeyStages> producer = {ring};
    SendKeyGrad(q, k, v, g, row_stats, shared, block_empty, producer);
  } else {
    TakeRegisters<240>();
    Ring<kKeyStages> own = ring;
    ComputeKeyGrad(dk, dv, shared, block_empty, own);
  }
}
