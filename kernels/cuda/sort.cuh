// The elements of rows of kSize in ascending order, or in descending order if kDescending, and their
// positions. Equal elements keep their order, -0 is equal to 0, and NaN is the largest.
//
// Short rows: SortRow, a bitonic sort in shared memory (Batcher, "Sorting networks and their applications",
// 1968), one block for each row. Long rows: radix_sort.cuh sorts the numbers of all elements by the low word
// of their keys, by the high word if there is one, and then by their rows; TakeSorted writes the results.
//
// Constants: E; kSize; kDescending, 0 or 1. For SortRow also kPadded, the power of two from kSize on, and
// kThreads.
typedef E::Storage Storage;
typedef E::Compute Compute;
constexpr bool kIsSigned = Storage(-1) < Storage(1);

// A number whose order is that of the elements.
__device__ __forceinline__ u64 OrderOf(double x) {
  if (x != x) return ~0ull;
  const u64 bits = x == 0 ? 0ull : (u64)__double_as_longlong(x);
  return bits >> 63 ? ~bits : bits | 1ull << 63;
}
__device__ __forceinline__ u32 OrderOf(float x) {
  if (x != x) return ~0u;
  const u32 bits = x == 0 ? 0u : __float_as_uint(x);
  return bits >> 31 ? ~bits : bits | 1u << 31;
}
__device__ __forceinline__ u64 OrderOf(i64 x) { return (u64)x ^ 1ull << 63; }
__device__ __forceinline__ u32 OrderOf(i32 x) { return (u32)x ^ 1u << 31; }
__device__ __forceinline__ u64 OrderOf(u64 x) { return x; }
__device__ __forceinline__ u32 OrderOf(u32 x) { return x; }

// Floats compare as they compute. Integers compare as they are stored: they compute as unsigned numbers.
__device__ __forceinline__ u64 KeyOf(Storage x, double) { return OrderOf(double(E::load(x))); }
__device__ __forceinline__ u32 KeyOf(Storage x, float) { return OrderOf(float(E::load(x))); }
__device__ __forceinline__ u64 KeyOf(Storage x, u64) { return kIsSigned ? OrderOf((i64)x) : OrderOf((u64)x); }
__device__ __forceinline__ u32 KeyOf(Storage x, u32) { return kIsSigned ? OrderOf((i32)x) : OrderOf((u32)x); }
typedef decltype(KeyOf(Storage(), Compute())) Key;

__device__ __forceinline__ Key OrderedKey(Storage x) {
  const Key key = KeyOf(x, Compute());
  return kDescending ? ~key : key;
}

// Exchanges a and b if they are not in the order that `ascending` says. Equal keys are ordered by position.
__device__ __forceinline__ void Order(Key* keys, u16* positions, u32 a, u32 b, bool ascending) {
  const Key x = keys[a], y = keys[b];
  const u16 at_x = positions[a], at_y = positions[b];
  const bool is_behind = x > y || (x == y && at_x > at_y);
  if (is_behind != ascending) return;
  keys[a] = y, keys[b] = x;
  positions[a] = at_y, positions[b] = at_x;
}

// Reads the row once, and again from a cache, and writes the results once.
__device__ __forceinline__ void SortRow(const Storage* x, Storage* values, i32* positions) {
  __shared__ Key keys[kPadded];
  __shared__ u16 places[kPadded];
  const Storage* const row = x + idx(blockIdx.x) * kSize;
  for (u32 i = threadIdx.x; i < kPadded; i += kThreads) {
    keys[i] = i < kSize ? OrderedKey(sn_load(row + i)) : ~Key(0);
    places[i] = u16(i);
  }
  sn_barrier();
  for (u32 length = 2; length <= kPadded; length *= 2) {
    for (u32 distance = length / 2; distance > 0; distance /= 2) {
      for (u32 pair = threadIdx.x; pair < kPadded / 2; pair += kThreads) {
        const u32 a = pair / distance * (2 * distance) + pair % distance;
        Order(keys, places, a, a + distance, (a & length) == 0);
      }
      sn_barrier();
    }
  }
  const idx to = idx(blockIdx.x) * kSize;
  for (u32 i = threadIdx.x; i < kSize; i += kThreads) {
    values[to + i] = sn_load(row + places[i]);
    positions[to + i] = i32(places[i]);
  }
}

// A word of the keys of elements, which `numbers` name, or of all in their order if it is null.
template <int word>
struct ElementWords {
  const Storage* x;
  const u32* numbers;
  __device__ __forceinline__ u32 operator()(u32 position) const {
    return u32((u64)OrderedKey(sn_load(x + (numbers ? numbers[position] : position))) >> 32 * word);
  }
};
struct RowWords {
  const u32* numbers;
  __device__ __forceinline__ u32 operator()(u32 position) const { return numbers[position] / u32(kSize); }
};

// Reads the numbers and the elements that they name once, and writes the results once.
__device__ __forceinline__ void TakeSorted(const Storage* x, const u32* numbers, Storage* values,
                                           i32* positions) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= kElements) return;
  const u32 number = sn_load(numbers + i);
  values[i] = sn_load(x + number);
  positions[i] = i32(number % u32(kSize));
}
