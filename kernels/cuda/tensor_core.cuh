// Multiplies small tiles on tensor cores, with operands rounded to tf32 and sums in f32.
//
// The 32 threads of a warp hold a [16, 8], b [8, 8] and the sums [16, 8]. With row = lane / 4 and k = lane %
// 4, a thread has a[row][k], a[row + 8][k], a[row][k + 4], a[row + 8][k + 4]; b[k][row], b[k + 4][row]; and
// the sums of rows `row` (first two) and row + 8, columns 2 k and 2 k + 1.
__device__ __forceinline__ float RoundToTf32(float x) {
#if __CUDA_ARCH__ >= 800
  u32 bits;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(x));
  return __uint_as_float(bits);
#else
  return x;
#endif
}

// Computes sums += a b.
__device__ __forceinline__ void MultiplyTiles(float (&sums)[4], const float (&a)[4], const float (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(__float_as_uint(a[0])), "r"(__float_as_uint(a[1])), "r"(__float_as_uint(a[2])),
        "r"(__float_as_uint(a[3])), "r"(__float_as_uint(b[0])), "r"(__float_as_uint(b[1])));
#else
  // GPUs without tf32 compute in f32.
  const int row = threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    const float top = __shfl_sync(0xffffffffu, a[k / 4 * 2], row * 4 + k % 4);
    const float bottom = __shfl_sync(0xffffffffu, a[k / 4 * 2 + 1], row * 4 + k % 4);
    const float left = __shfl_sync(0xffffffffu, b[k / 4], column * 4 + k % 4);
    const float right = __shfl_sync(0xffffffffu, b[k / 4], column * 4 + 4 + k % 4);
    sums[0] += top * left;
    sums[1] += top * right;
    sums[2] += bottom * left;
    sums[3] += bottom * right;
  }
#endif
}
