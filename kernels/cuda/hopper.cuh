// Hopper's matrix instructions for a warpgroup (wgmma), barriers in shared memory and asynchronous copies.
// Needs an architecture-specific target (sm_90a).
//
// An operand in shared memory is a panel: rows of 64 elements of 16 bits, 128 bytes each, in which part c of
// 16 bytes of row r is at part c ^ (r % 8) (the 128-byte swizzle). A panel starts at a multiple of 1024
// bytes.

__device__ __forceinline__ u32 SharedAddress(const void* p) { return (u32)__cvta_generic_to_shared(p); }

// Barriers: `arrivals` of Arrive complete a phase. WaitFor returns when the phase of this parity is complete.
__device__ __forceinline__ void InitBarrier(u32 barrier, u32 arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
__device__ __forceinline__ void Arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
// One arrival for a warp, after what all its lanes did with shared memory.
__device__ __forceinline__ void ArriveWarp(u32 barrier) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) Arrive(barrier);
}
__device__ __forceinline__ bool IsComplete(u32 barrier, u32 parity) {
  u32 done;
  asm volatile(
      "{\n.reg .pred p;\n"
      "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n"
      "selp.u32 %0, 1, 0, p;\n}"
      : "=r"(done)
      : "r"(barrier), "r"(parity)
      : "memory");
  return done != 0;
}
__device__ __forceinline__ void WaitFor(u32 barrier, u32 parity) {
  while (!IsComplete(barrier, parity)) {
  }
}

// Starts an asynchronous copy of `bytes` bytes, or of zeros if not `exists`.
template <int bytes>
__device__ __forceinline__ void CopyAsync(u32 to, const void* from, bool exists) {
  const int read = exists ? bytes : 0;
  if constexpr (bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(read) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;" ::"r"(to), "l"(from), "r"(read), "n"(bytes)
                 : "memory");
  }
}
__device__ __forceinline__ void EndCopies() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int later>
__device__ __forceinline__ void WaitForCopies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(later) : "memory");
}
// Makes this thread's writes to shared memory visible to matrix instructions and bulk copies.
__device__ __forceinline__ void PublishToMatrixUnits() { asm volatile("fence.proxy.async;" ::: "memory"); }

// Changes the registers of each thread of a warpgroup.
template <int count>
__device__ __forceinline__ void KeepRegisters() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(count));
}
template <int count>
__device__ __forceinline__ void TakeRegisters() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(count));
}

// Describes an operand that starts at `address`. If rows run along k, k advances by 32 bytes for 16 elements.
// If rows run across k, 16 rows advance by 2048 bytes.
__device__ __forceinline__ u64 DescribePanel(u32 address) {
  const u32 low = (address >> 4) | (64u << 16);
  u64 r;
  asm("mov.b64 %0, {%1, %2};" : "=l"(r) : "r"(low), "r"((1u << 30) | 64u));
  return r;
}

// Matrix instructions are asynchronous: OrderRegisters before the first one that follows writes of its
// registers, EndProducts to end a group, and WaitForProducts<n> until at most the n latest groups run.
__device__ __forceinline__ void OrderRegisters() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void EndProducts() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
template <int later>
__device__ __forceinline__ void WaitForProducts() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(later) : "memory");
}

#define SN_SUMS32(d)                                                                                        \
  "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),           \
      "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]), \
      "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]),            \
      "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]),            \
      "+f"(d[30]), "+f"(d[31])
#define SN_NEW32(d)                                                                                         \
  "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3]), "=f"(d[4]), "=f"(d[5]), "=f"(d[6]), "=f"(d[7]),           \
      "=f"(d[8]), "=f"(d[9]), "=f"(d[10]), "=f"(d[11]), "=f"(d[12]), "=f"(d[13]), "=f"(d[14]), "=f"(d[15]), \
      "=f"(d[16]), "=f"(d[17]), "=f"(d[18]), "=f"(d[19]), "=f"(d[20]), "=f"(d[21]), "=f"(d[22]),            \
      "=f"(d[23]), "=f"(d[24]), "=f"(d[25]), "=f"(d[26]), "=f"(d[27]), "=f"(d[28]), "=f"(d[29]),            \
      "=f"(d[30]), "=f"(d[31])
#define SN_SUMS32_TEXT                                                                                    \
  "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, " \
  "%22, %23, %24, %25, %26, %27, %28, %29, %30, %31}"

// Computes d = a b for 64 rows and 64 columns and 16 elements of k; AddHeld, d += a b. The 128 threads of a
// warpgroup hold d: with row = 16 warp + lane / 4, d[4 j + i] is in row + i / 2 * 8, column 8 j + i % 2 + 2
// (lane % 4). They hold a: a[0] and a[2] are elements 2 (lane % 4) + {0, 1} and + {8, 9} of `row`, a[1] and
// a[3] those of row + 8. b's rows run along k, or across k if `across`.
__device__ __forceinline__ void MultiplyHeld(float (&d)[32], const u32 (&a)[4], u64 b) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, 0, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." SN_TYPE "." SN_TYPE " " SN_SUMS32_TEXT
      ", {%32, %33, %34, %35}, %36, p, 1, 1, 0;\n}"
      : SN_NEW32(d)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
// `adds`: 0 for d = a b.
template <bool across>
__device__ __forceinline__ void AddHeld(float (&d)[32], const u32 (&a)[4], u64 b, int adds = 1) {
  asm volatile(
      "{\n.reg .pred p;\nsetp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32." SN_TYPE "." SN_TYPE " " SN_SUMS32_TEXT
      ", {%32, %33, %34, %35}, %36, p, 1, 1, %38;\n}"
      : SN_SUMS32(d)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(adds), "n"(int(across)));
}

// Loads four 8 x 8 matrices of 16-bit elements, whose rows are at the addresses of 8 lanes each.
__device__ __forceinline__ void LoadMatrices(u32 (&r)[4], u32 address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(address)
               : "memory");
}
