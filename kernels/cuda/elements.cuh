// Element types of buffers, for kernels that are written once for all types.
// E::Storage is the type in memory and E::Compute the type of arithmetic. 16-bit floats compute in float.
// Integers compute as unsigned integers of the same width, at least 32 bits, so that they wrap. E::Long is
// the type of long sums.
template <typename S, typename C, typename L>
struct PlainElement {
  typedef S Storage;
  typedef C Compute;
  typedef L Long;
  static __device__ __forceinline__ C load(S x) { return C(x); }
  static __device__ __forceinline__ S store(C x) { return S(x); }
};
typedef PlainElement<double, double, double> F64;
typedef PlainElement<float, float, double> F32;
typedef PlainElement<i64, u64, u64> I64;
typedef PlainElement<i32, u32, u32> I32;
typedef PlainElement<i8, u32, u32> I8;
typedef PlainElement<u8, u32, u32> U8;
typedef PlainElement<i16, u32, u32> I16;
typedef PlainElement<u16, u32, u32> U16;
typedef PlainElement<u32, u32, u32> U32;
typedef PlainElement<u64, u64, u64> U64;
struct Bf16 {
  typedef u16 Storage;
  typedef float Compute;
  typedef double Long;
  static __device__ __forceinline__ float load(u16 x) { return sn_from_bf16(x); }
  static __device__ __forceinline__ u16 store(float x) { return sn_to_bf16(x); }
};
struct F16 {
  typedef u16 Storage;
  typedef float Compute;
  typedef double Long;
  static __device__ __forceinline__ float load(u16 x) { return sn_from_f16(x); }
  static __device__ __forceinline__ u16 store(float x) { return sn_to_f16(x); }
};

// Reads n adjacent elements, in one access if the address is aligned. `aligned` is the same for all threads
// of a block.
template <int n, typename T>
__device__ __forceinline__ Vec<T, n> ReadPack(const T* p, bool aligned) {
  if (aligned) return sn_load((const Vec<T, n>*)p);
  Vec<T, n> pack;
#pragma unroll
  for (int i = 0; i < n; ++i) pack.v[i] = sn_load(p + i);
  return pack;
}
// Like ReadPack, for memory that this kernel may write.
template <int n, typename T>
__device__ __forceinline__ Vec<T, n> ReadPackWritten(const T* p, bool aligned) {
  if (aligned) return *(const Vec<T, n>*)p;
  Vec<T, n> pack;
#pragma unroll
  for (int i = 0; i < n; ++i) pack.v[i] = p[i];
  return pack;
}
template <int n, typename T>
__device__ __forceinline__ void WritePack(T* p, const Vec<T, n>& pack, bool aligned) {
  if (aligned) {
    *(Vec<T, n>*)p = pack;
    return;
  }
#pragma unroll
  for (int i = 0; i < n; ++i) p[i] = pack.v[i];
}
template <int n, typename T>
__device__ __forceinline__ bool IsPackAligned(const T* p) {
  return (u64)p % alignof(Vec<T, n>) == 0;
}
