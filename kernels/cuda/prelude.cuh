// The start of every generated CUDA kernel: type names, and small functions that cuda_printer.h calls.
// NVRTC compiles it without headers.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;

// n adjacent elements, read and written in accesses of up to 16 bytes.
template <typename T, int n>
struct alignas(sizeof(T) * n > 16 ? 16 : sizeof(T) * n) Vec {
  T v[n];
};

// sn_load reads memory that no thread writes while the kernel runs.
template <int bytes>
struct SnWord;
template <>
struct SnWord<1> {
  typedef unsigned char type;
};
template <>
struct SnWord<2> {
  typedef unsigned short type;
};
template <>
struct SnWord<4> {
  typedef unsigned int type;
};
template <>
struct SnWord<8> {
  typedef uint2 type;
};
template <>
struct SnWord<16> {
  typedef uint4 type;
};
template <typename T>
union SnBits {
  enum { kAccess = sizeof(T) > 16 ? 16 : sizeof(T), kWords = sizeof(T) / kAccess };
  typedef typename SnWord<kAccess>::type Word;
  Word words[kWords];
  T value;
  __device__ SnBits() {}
};
template <typename T>
__device__ __forceinline__ T sn_load(const T* p) {
  SnBits<T> bits;
#pragma unroll
  for (int i = 0; i < SnBits<T>::kWords; ++i) bits.words[i] = __ldg((const typename SnBits<T>::Word*)p + i);
  return bits.value;
}
// Streaming loads and stores: keep the cache for values that are read again. For the last read of a row, and
// for large results.
template <typename T>
__device__ __forceinline__ T sn_load_last(const T* p) {
  SnBits<T> bits;
#pragma unroll
  for (int i = 0; i < SnBits<T>::kWords; ++i) bits.words[i] = __ldcs((const typename SnBits<T>::Word*)p + i);
  return bits.value;
}
template <typename T>
__device__ __forceinline__ void sn_store_past(T* p, const T& value) {
  SnBits<T> bits;
  bits.value = value;
#pragma unroll
  for (int i = 0; i < SnBits<T>::kWords; ++i) __stcs((typename SnBits<T>::Word*)p + i, bits.words[i]);
}

// NaN wins, and +0 is greater than -0, as in arith.maximumf and arith.minimumf.
__device__ __forceinline__ float sn_max(float x, float y) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
}
__device__ __forceinline__ float sn_min(float x, float y) {
  float r;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
}
__device__ __forceinline__ double sn_max(double x, double y) { return x != x || y != y ? x + y : fmax(x, y); }
__device__ __forceinline__ double sn_min(double x, double y) { return x != x || y != y ? x + y : fmin(x, y); }
template <typename T>
__device__ __forceinline__ T sn_imax(T x, T y) {
  return x > y ? x : y;
}
template <typename T>
__device__ __forceinline__ T sn_imin(T x, T y) {
  return x < y ? x : y;
}
template <typename T>
__device__ __forceinline__ T sn_abs(T x) {
  return x < 0 ? T(-x) : x;
}

// Returns e^x in two instructions, as 2^(x log2(e)). The relative error is at most 2.4e-7 + 7.3e-8 |x|, from
// ex2.approx and from rounding its argument. Results below the smallest normal number are 0.
__device__ __forceinline__ float sn_exp(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x * 1.44269504f));
  return r;
}
// Returns 1 / x for x >= 1, with an error of at most one unit in the last place.
__device__ __forceinline__ float sn_reciprocal(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}
// Computes tanh from e^(-2 |x|). Near 0, where this loses leading digits, it uses the first terms of the
// series. The relative error is at most 2e-6; there are no branches.
__device__ __forceinline__ float sn_tanh(float x) {
  const float a = fabsf(x), e = sn_exp(-2.0f * a), square = x * x;
  const float far = copysignf(__fdividef(1.0f - e, 1.0f + e), x);
  const float near = x * fmaf(square, fmaf(square, 0.133333333f, -0.333333333f), 1.0f);
  return a < 0.13f ? near : far;
}
// Returns 1 + tanh(x) as 2 / (1 + e^(-2 x)), which loses no digits where tanh is near -1. The relative error
// is at most 6e-7 + 1.5e-7 |x|.
__device__ __forceinline__ float sn_one_plus_tanh(float x) {
  return 2.0f * sn_reciprocal(1.0f + sn_exp(-2.0f * x));
}

// bf16 and f16 as their bits, rounded to nearest even.
__device__ __forceinline__ float sn_from_bf16(u16 x) { return __uint_as_float((u32)x << 16); }
__device__ __forceinline__ u16 sn_to_bf16(float x) {
  u16 r;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}
__device__ __forceinline__ float sn_from_f16(u16 x) {
  float r;
  asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x));
  return r;
}
__device__ __forceinline__ u16 sn_to_f16(float x) {
  u16 r;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r) : "f"(x));
  return r;
}

// 8-bit floats as their bits, rounded to nearest even. Too large numbers become NaN in f8e4m3 and infinity in
// f8e5m2. NaN becomes 0x7f of the same sign.
//
// Returns the rounded bits of a magnitude that is not too large, from its bits as f32. For subnormal results
// it is added to a power of two whose last place is their unit.
template <int kMantissa, int kBias>
__device__ __forceinline__ u32 sn_round_to_f8(u32 magnitude) {
  const int drop = 23 - kMantissa;
  const u32 kSubnormals = (u32)(127 + 24 - kBias - kMantissa) << 23;
  const u32 rebiased = magnitude - ((u32)(127 - kBias) << 23);
  const u32 normal = (rebiased + ((1u << (drop - 1)) - 1u) + (rebiased >> drop & 1u)) >> drop;
  const u32 sum = __float_as_uint(__uint_as_float(magnitude) + __uint_as_float(kSubnormals));
  return magnitude >= (u32)(128 - kBias) << 23 ? normal : sum - kSubnormals;
}
__device__ __forceinline__ u8 sn_to_f8e4m3(float x) {
  const u32 word = __float_as_uint(x), magnitude = word & 0x7fffffffu, sign = word >> 24 & 0x80u;
#if __CUDA_ARCH__ >= 890
  u16 bits;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(0.0f), "f"(x));
#else
  const u32 bits = sign | sn_round_to_f8<3, 7>(magnitude);
#endif
  return (u8)(magnitude >= 0x43e80001u ? sign | 0x7fu : bits);
}
__device__ __forceinline__ u8 sn_to_f8e5m2(float x) {
  const u32 word = __float_as_uint(x), magnitude = word & 0x7fffffffu, sign = word >> 24 & 0x80u;
#if __CUDA_ARCH__ >= 890
  u16 bits;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(bits) : "f"(0.0f), "f"(x));
#else
  const u32 bits = sign | sn_round_to_f8<2, 15>(magnitude);
#endif
  const u32 large = sign | (magnitude > 0x7f800000u ? 0x7fu : 0x7cu);
  return (u8)(magnitude >= 0x47700000u ? large : bits);
}

// Returns the value of the lane whose number differs in the bits of `mask`. All lanes of the warp must take
// part.
template <typename T>
__device__ __forceinline__ T sn_shuffle_xor(T x, int mask) {
  return (T)__shfl_xor_sync(0xffffffffu, x, mask);
}
// Returns the value of the warp's first lane.
template <typename T>
__device__ __forceinline__ T sn_shuffle_first(T x) {
  return (T)__shfl_sync(0xffffffffu, x, 0);
}
__device__ __forceinline__ void sn_barrier() { __syncthreads(); }

// Prefetches the memory line of `p` into L2.
__device__ __forceinline__ void sn_prefetch(const void* p) {
  asm volatile("prefetch.global.L2 [%0];" : : "l"(p));
}

// Starts every kernel. Waits until the preceding kernel has ended and its results are readable, then allows
// the following kernel to start (programmatic dependent launch). With this order at most two kernels are in
// flight, so the L1 cache contents of the first are gone when the third starts.
__device__ __forceinline__ void sn_start() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
