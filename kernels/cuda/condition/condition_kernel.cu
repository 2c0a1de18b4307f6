// See condition_kernel.h. Clang compiles this file without CUDA's headers.
#include "sinter/kernels/cuda/condition/condition_kernel.h"

#define SINTER_KERNEL extern "C" __attribute__((global))

// A function of the driver (CUDA C++ Programming Guide, "Conditional Graph Nodes").
extern "C" __attribute__((device)) void cudaGraphSetConditional(unsigned long long handle, unsigned value);

namespace sinter::kernels {

SINTER_KERNEL void sinter_begin_trips(ConditionParameters p) {
  if (p.count != nullptr) *p.count = 0;
  cudaGraphSetConditional(p.handle, *p.flag != 0 && p.trips > 0);
}

SINTER_KERNEL void sinter_end_trip(ConditionParameters p) {
  const uint64_t count = *p.count + 1;
  *p.count = count;
  cudaGraphSetConditional(p.handle, *p.flag != 0 && count < p.trips);
}

}  // namespace sinter::kernels
