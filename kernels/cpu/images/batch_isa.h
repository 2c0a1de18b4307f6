// The batch-blocked kernels for each instruction set; batch_conv.cc and batch_pool.cc select one.
//
// kernels/CMakeLists.txt compiles batch_conv_*.cc and batch_pool_planes.cc once for each -march, with
// SINTER_BATCH_ISA set to the Isa whose members they define. These files must not call inline functions of
// other headers: the linker keeps only one copy, which an older CPU may be unable to run.
//
//   WithIsa(pool.isa, [&](auto isa) { isa.AvgPool(pool, x, y, begin, end); });
#ifndef SINTER_KERNELS_CPU_IMAGES_BATCH_ISA_H_
#define SINTER_KERNELS_CPU_IMAGES_BATCH_ISA_H_

#include "sinter/kernels/cpu/images/batch_conv.h"
#include "sinter/kernels/cpu/images/batch_pool.h"
#include "sinter/kernels/cpu/isa.h"

namespace sinter::kernels {

// Returns the number of partial sums of a weight gradient: one for every few blocks of images.
int64_t WeightGradParts(const BatchConv& conv);

// The members have the contracts of the functions in batch_conv.h and batch_pool.h with the same names.
template <Isa isa>
struct BatchIsa {
  static int64_t ConvForwardUnits(const BatchConv& conv);
  static void ConvForward(const BatchConv& conv, const float* x, const float* weights, const float* bias,
                          bool relu, float* y, int64_t begin, int64_t end);
  static int64_t ConvInputGradUnits(const BatchConv& conv);
  static void ConvInputGrad(const BatchConv& conv, const float* g, const float* weights, float* dx,
                            int64_t begin, int64_t end);
  static int64_t ConvWeightGradUnits(const BatchConv& conv);
  static void ConvWeightGrad(const BatchConv& conv, const float* x, const float* g, float* workspace,
                             int64_t begin, int64_t end);

  static void MaxPool(const BatchPool& pool, const float* x, float* y, uint8_t* position, int64_t begin,
                      int64_t end);
  static void MaxPoolGrad(const BatchPool& pool, const float* g, const uint8_t* position, float* dx,
                          int64_t begin, int64_t end);
  static void AvgPool(const BatchPool& pool, const float* x, float* y, int64_t begin, int64_t end);
  static void AvgPoolGrad(const BatchPool& pool, const float* g, float* dx, int64_t begin, int64_t end);
};

template <typename F>
auto WithIsa([[maybe_unused]] Isa isa, F&& f) {
#if defined(__x86_64__)
  switch (isa) {
    case Isa::kV4:
      return f(BatchIsa<Isa::kV4>());
    case Isa::kV3:
      return f(BatchIsa<Isa::kV3>());
    case Isa::kBaseline:
      break;
  }
#endif
  return f(BatchIsa<Isa::kBaseline>());
}

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CPU_IMAGES_BATCH_ISA_H_
