// Prefix sums over adjacent threads, with the same bits in every run; all threads of the block take part.

// Returns the sum of the values that the lower threads of `lanes` adjacent threads own (a power of two up to
// 32). `total` is the sum of all.
template <int lanes, typename T>
__device__ __forceinline__ T ScanLanes(T own, T& total) {
  const int lane = threadIdx.x % lanes;
  T sum = own;
#pragma unroll
  for (int distance = 1; distance < lanes; distance *= 2) {
    const T lower = __shfl_up_sync(0xffffffffu, sum, distance, lanes);
    if (lane >= distance) sum = lower + sum;
  }
  total = __shfl_sync(0xffffffffu, sum, lanes - 1, lanes);
  const T before = __shfl_up_sync(0xffffffffu, sum, 1, lanes);
  return lane == 0 ? T(0) : before;
}

// Like ScanLanes, over a block. `warp_totals`: threads / 32 elements of shared memory that no thread has used
// since the last barrier. Two arrays used in turn meet this condition without another barrier.
template <int threads, typename T>
__device__ __forceinline__ T ScanBlock(T own, T& total, T* warp_totals) {
  const int warp = threadIdx.x / 32;
  T of_warp;
  const T before = ScanLanes<32>(own, of_warp);
  if (threadIdx.x % 32 == 0) warp_totals[warp] = of_warp;
  sn_barrier();
  T first = 0, all = 0;
#pragma unroll
  for (int w = 0; w < threads / 32; ++w) {
    if (w == warp) first = all;
    all += warp_totals[w];
  }
  total = all;
  return first + before;
}
