// See exchange_kernel.h. Clang compiles this file without CUDA's headers.
//
// The order of accesses follows the memory model of PTX (PTX ISA, chapter "Memory Consistency Model"): what
// the threads of a block did before a barrier is visible to whoever reads, with acquire, a number that a
// thread of the block stored with release after it.
#include "sinter/kernels/cuda/exchange/exchange_kernel.h"

#define SINTER_KERNEL extern "C" __attribute__((global))
#define SINTER_DEVICE static inline __attribute__((device))

namespace sinter::kernels {
namespace {

using Word4 = uint32_t __attribute__((vector_size(16)));

constexpr int kUnrolled = 8;      // Elements that a thread has under way.
constexpr uint32_t kLooks = 256;  // Between two looks at `is_over`, which is in main memory.

SINTER_DEVICE uint32_t Thread() { return __nvvm_read_ptx_sreg_tid_x(); }
SINTER_DEVICE uint32_t Block() { return __nvvm_read_ptx_sreg_ctaid_x(); }
SINTER_DEVICE uint32_t Blocks() { return __nvvm_read_ptx_sreg_nctaid_x(); }

SINTER_DEVICE void Publish(uint32_t* to, uint32_t value) {
  asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

SINTER_DEVICE uint32_t Look(const uint32_t* from) {
  uint32_t value;
  asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}

template <typename Parameters>
SINTER_DEVICE void Mark(const Parameters& p, uint32_t value) {
  if (p.mark == nullptr || Block() != 0 || Thread() != 0) return;
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(p.mark), "r"(value) : "memory");
}

// Tells the others that this block has come to a meeting. What its threads did before is visible to those who
// wait for it.
template <typename Parameters>
SINTER_DEVICE void Come(const Parameters& p, uint32_t meeting) {
  __nvvm_bar0_or(0);
  if (Thread() >= p.peers) return;
  const ExchangePeer& peer = p.peer[Thread()];
  const uint32_t at = 2 * Block() + meeting;
  const uint32_t count = peer.count[at] + 1;
  peer.count[at] = count;
  Publish(peer.there + at, count);
}

// Waits until the others have come as often as this block had `ago` times ago. False if the exchanges are
// over.
template <typename Parameters>
SINTER_DEVICE bool Await(const Parameters& p, uint32_t meeting, uint32_t ago) {
  bool is_over = false;
  if (Thread() < p.peers) {
    const ExchangePeer& peer = p.peer[Thread()];
    const uint32_t at = 2 * Block() + meeting;
    const uint32_t count = peer.count[at] - ago;
    // The counts wrap around.
    for (uint32_t looks = 1; static_cast<int32_t>(Look(peer.here + at) - count) < 0; ++looks) {
      if (looks % kLooks == 0 && Look(p.is_over) != 0) {
        is_over = true;
        break;
      }
    }
  }
  return __nvvm_bar0_or(is_over ? 1 : 0) == 0;
}

// False if the exchanges are over.
template <typename Parameters>
SINTER_DEVICE bool Meets(const Parameters& p, uint32_t meeting) {
  Come(p, meeting);
  return Await(p, meeting, 0);
}

// Copies this block's share. The distance between a thread's elements is a constant, for fewer registers.
template <typename T>
SINTER_DEVICE void Copy(const ExchangeMove& move) {
  const uint64_t count = move.bytes / sizeof(T);
  const uint64_t share = (count + Blocks() - 1) / Blocks();
  const uint64_t begin = share * Block();
  const uint64_t end = begin + share < count ? begin + share : count;
  const T* from = reinterpret_cast<const T*>(move.from) + begin + Thread();
  T* to = reinterpret_cast<T*>(move.to) + begin + Thread();
  for (int64_t left = static_cast<int64_t>(end - begin - Thread()); left > 0;
       left -= kUnrolled * kExchangeThreads) {
    T values[kUnrolled];
#pragma unroll
    for (int k = 0; k < kUnrolled; ++k) {
      if (k * int64_t{kExchangeThreads} < left) values[k] = from[k * kExchangeThreads];
    }
#pragma unroll
    for (int k = 0; k < kUnrolled; ++k) {
      if (k * int64_t{kExchangeThreads} < left) to[k * kExchangeThreads] = values[k];
    }
    from += kUnrolled * kExchangeThreads, to += kUnrolled * kExchangeThreads;
  }
}

struct F32 {
  float bits;
};
struct Bf16 {
  uint16_t bits;
};
struct F16 {
  uint16_t bits;
};

SINTER_DEVICE float Wide(F32 x) { return x.bits; }
SINTER_DEVICE float Wide(Bf16 x) { return __builtin_bit_cast(float, uint32_t{x.bits} << 16); }
SINTER_DEVICE float Wide(F16 x) {
  float wide;
  asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
  return wide;
}
SINTER_DEVICE void Round(float x, F32& to) { to.bits = x; }
SINTER_DEVICE void Round(float x, Bf16& to) { asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(to.bits) : "f"(x)); }
SINTER_DEVICE void Round(float x, F16& to) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(to.bits) : "f"(x)); }

template <typename T, uint32_t kCount>
struct alignas(sizeof(T) * kCount) Unit {
  T element[kCount];
};

// Adds a round's units of this thread.
template <typename T, uint32_t kCount>
SINTER_DEVICE bool AddRound(const SumParameters& p, uint32_t round) {
  using One = Unit<T, kCount>;
  float sums[kSumUnits][kCount];
  uint32_t of[kSumUnits], at[kSumUnits];
  const uint32_t begin = (round * Blocks() + Block()) * kSumUnits * kExchangeThreads + Thread();
#pragma unroll
  for (uint32_t k = 0; k < kSumUnits; ++k) {
    // The tensors follow each other.
    at[k] = begin + k * kExchangeThreads;
    for (of[k] = 0; of[k] < p.sums && at[k] >= p.sum[of[k]].units; ++of[k]) at[k] -= p.sum[of[k]].units;
  }
  for (uint32_t rank = 0; rank < p.terms; ++rank) {
    One terms[kSumUnits];
#pragma unroll
    for (uint32_t k = 0; k < kSumUnits; ++k) {
      if (of[k] < p.sums) terms[k] = reinterpret_cast<const One*>(p.sum[of[k]].term[rank])[at[k]];
    }
#pragma unroll
    for (uint32_t k = 0; k < kSumUnits; ++k) {
#pragma unroll
      for (uint32_t e = 0; e < kCount; ++e) {
        const float term = Wide(terms[k].element[e]);
        sums[k][e] = rank == 0 ? term : sums[k][e] + term;
      }
    }
  }
  if (p.meets_in_rounds != 0 && !Meets(p, 1)) return false;
#pragma unroll
  for (uint32_t k = 0; k < kSumUnits; ++k) {
    if (of[k] == p.sums) continue;
    One sum;
#pragma unroll
    for (uint32_t e = 0; e < kCount; ++e) Round(sums[k][e] / p.divisor, sum.element[e]);
    reinterpret_cast<One*>(p.sum[of[k]].to)[at[k]] = sum;
  }
  return true;
}

template <typename T>
SINTER_DEVICE bool Add(const SumParameters& p) {
  for (uint32_t round = 0; round < p.rounds; ++round) {
    const bool has_added =
        p.has_units_of_16 != 0 ? AddRound<T, 16 / sizeof(T)>(p, round) : AddRound<T, 1>(p, round);
    if (!has_added) return false;
  }
  return p.meets_in_rounds != 0 || Meets(p, 1);
}

// Elements of a tensor that one thread moves at once: kCount, or the last ones of the tensor.
template <uint32_t kCount>
struct UnitPlace {
  uint32_t tensor;    // Index in p.tensor; p.tensors if there is no such unit.
  uint32_t unit;      // In the tensor.
  uint32_t elements;  // At most kCount.
};

// Unit k of this thread in a share of a round. The units of the tensors follow each other.
template <uint32_t kCount>
SINTER_DEVICE UnitPlace<kCount> PlaceOf(const ShareParameters& p, uint32_t round, uint32_t share,
                                        uint32_t k) {
  constexpr uint32_t kChunk = kSumUnits * kExchangeThreads;
  uint32_t at = ((round * Blocks() + Block()) * p.ranks + share) * kChunk + k * kExchangeThreads + Thread();
  uint32_t tensor = 0;
  for (; tensor < p.tensors; ++tensor) {
    const uint32_t units = (p.tensor[tensor].elements + kCount - 1) / kCount;
    if (at < units) break;
    at -= units;
  }
  if (tensor == p.tensors) return {tensor, 0, 0};
  const uint32_t left = p.tensor[tensor].elements - at * kCount;
  return {tensor, at, left < kCount ? left : kCount};
}

template <typename T, uint32_t kCount>
SINTER_DEVICE void Load(const unsigned char* tensor, const UnitPlace<kCount>& place, Unit<T, kCount>& to) {
  if (place.elements == kCount) {
    to = reinterpret_cast<const Unit<T, kCount>*>(tensor)[place.unit];
    return;
  }
#pragma unroll
  for (uint32_t e = 0; e < kCount; ++e) {
    if (e < place.elements) to.element[e] = reinterpret_cast<const T*>(tensor)[place.unit * kCount + e];
  }
}

template <typename T, uint32_t kCount>
SINTER_DEVICE void Store(const Unit<T, kCount>& from, const UnitPlace<kCount>& place, unsigned char* tensor) {
  if (place.elements == kCount) {
    reinterpret_cast<Unit<T, kCount>*>(tensor)[place.unit] = from;
    return;
  }
#pragma unroll
  for (uint32_t e = 0; e < kCount; ++e) {
    if (e < place.elements) reinterpret_cast<T*>(tensor)[place.unit * kCount + e] = from.element[e];
  }
}

// Returns this thread's first unit of the term of `rank` in the workspace of `adder`. The next ones follow
// kExchangeThreads units apart.
template <typename One>
SINTER_DEVICE One* Term(const ShareParameters& p, uint32_t round, uint32_t adder, uint32_t rank) {
  const uint32_t buffer = Block() * kShareBuffers + round % kShareBuffers;
  const uint32_t place = buffer * (p.ranks - 1) + (rank < adder ? rank : rank - 1);
  return reinterpret_cast<One*>(p.workspace[adder] + uint64_t{place} * kShareBytes) + Thread();
}

// Sends this rank's terms of a round to those who add them, its neighbour first.
template <typename T, uint32_t kCount>
SINTER_DEVICE void SendTerms(const ShareParameters& p, uint32_t round) {
  using One = Unit<T, kCount>;
  for (uint32_t i = 1; i < p.ranks; ++i) {
    const uint32_t adder = (p.rank + i) % p.ranks;
    UnitPlace<kCount> places[kSumUnits];
    One units[kSumUnits];
#pragma unroll
    for (uint32_t k = 0; k < kSumUnits; ++k) {
      places[k] = PlaceOf<kCount>(p, round, adder, k);
      if (places[k].tensor < p.tensors) Load(p.tensor[places[k].tensor].from, places[k], units[k]);
    }
    One* const to = Term<One>(p, round, adder, p.rank);
#pragma unroll
    for (uint32_t k = 0; k < kSumUnits; ++k) {
      if (places[k].tensor < p.tensors) to[k * kExchangeThreads] = units[k];
    }
  }
}

// Adds this rank's share of a round, in the order of the ranks, and sends the sums to all.
template <typename T, uint32_t kCount>
SINTER_DEVICE void AddShare(const ShareParameters& p, uint32_t round) {
  using One = Unit<T, kCount>;
  UnitPlace<kCount> places[kSumUnits];
  float sums[kSumUnits][kCount];
#pragma unroll
  for (uint32_t k = 0; k < kSumUnits; ++k) places[k] = PlaceOf<kCount>(p, round, p.rank, k);
  for (uint32_t rank = 0; rank < p.ranks; ++rank) {
    One terms[kSumUnits];
    const One* const from = Term<One>(p, round, p.rank, rank);
#pragma unroll
    for (uint32_t k = 0; k < kSumUnits; ++k) {
      if (places[k].tensor == p.tensors) continue;
      if (rank == p.rank) {
        Load(p.tensor[places[k].tensor].from, places[k], terms[k]);
      } else {
        terms[k] = from[k * kExchangeThreads];
      }
    }
#pragma unroll
    for (uint32_t k = 0; k < kSumUnits; ++k) {
#pragma unroll
      for (uint32_t e = 0; e < kCount; ++e) {
        const float term = Wide(terms[k].element[e]);
        sums[k][e] = rank == 0 ? term : sums[k][e] + term;
      }
    }
  }
#pragma unroll
  for (uint32_t k = 0; k < kSumUnits; ++k) {
    if (places[k].tensor == p.tensors) continue;
    One sum;
#pragma unroll
    for (uint32_t e = 0; e < kCount; ++e) Round(sums[k][e] / p.divisor, sum.element[e]);
    const SharedTensor& tensor = p.tensor[places[k].tensor];
    for (uint32_t i = 0; i < p.ranks; ++i) Store(sum, places[k], tensor.to[(p.rank + i) % p.ranks]);
  }
}

template <typename T, uint32_t kCount>
SINTER_DEVICE bool AddInShares(const ShareParameters& p) {
  for (uint32_t round = 0; round <= p.rounds; ++round) {
    if (round < p.rounds) {
      SendTerms<T, kCount>(p, round);
      Come(p, 1);
    }
    if (round == 0) continue;
    // The terms of the round before have come.
    if (!Await(p, 1, round < p.rounds ? 1 : 0)) return false;
    AddShare<T, kCount>(p, round - 1);
  }
  return Meets(p, 1);
}

template <typename T>
SINTER_DEVICE bool AddInShares(const ShareParameters& p) {
  return p.has_units_of_1 != 0 ? AddInShares<T, 1>(p) : AddInShares<T, 16 / sizeof(T)>(p);
}

}  // namespace

SINTER_KERNEL __attribute__((launch_bounds(kExchangeThreads))) void sinter_exchange(
    const ExchangeParameters p) {
  if (p.meets_before != 0) {
    Mark(p, p.peers == 0 ? 1 : 2 * p.peer[0].count[0] + 1);
    if (!Meets(p, 0)) return;
  }
  for (uint32_t i = 0; i < p.moves; ++i) {
    const ExchangeMove& move = p.move[i];
    const uint64_t bits =
        reinterpret_cast<uint64_t>(move.from) | reinterpret_cast<uint64_t>(move.to) | move.bytes;
    if (bits % sizeof(Word4) == 0) {
      Copy<Word4>(move);
    } else if (bits % sizeof(uint32_t) == 0) {
      Copy<uint32_t>(move);
    } else {
      Copy<unsigned char>(move);
    }
  }
  if (p.meets_after != 0 && Meets(p, 1)) Mark(p, 0);
}

SINTER_KERNEL __attribute__((launch_bounds(kExchangeThreads))) void sinter_exchange_sum(
    const SumParameters p) {
  Mark(p, p.peers == 0 ? 1 : 2 * p.peer[0].count[0] + 1);
  if (!Meets(p, 0)) return;
  bool has_added = false;
  if (p.type == SumType::kF32) has_added = Add<F32>(p);
  if (p.type == SumType::kBf16) has_added = Add<Bf16>(p);
  if (p.type == SumType::kF16) has_added = Add<F16>(p);
  if (has_added) Mark(p, 0);
}

SINTER_KERNEL __attribute__((launch_bounds(kExchangeThreads))) void sinter_exchange_shares(
    const ShareParameters p) {
  Mark(p, p.peers == 0 ? 1 : 2 * p.peer[0].count[0] + 1);
  if (!Meets(p, 0)) return;
  bool has_added = false;
  if (p.type == SumType::kF32) has_added = AddInShares<F32>(p);
  if (p.type == SumType::kBf16) has_added = AddInShares<Bf16>(p);
  if (p.type == SumType::kF16) has_added = AddInShares<F16>(p);
  if (has_added) Mark(p, 0);
}

}  // namespace sinter::kernels
