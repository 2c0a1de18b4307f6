#include "sinter/kernels/cpu/images/batch_conv.h"

#include "sinter/kernels/cpu/images/batch_isa.h"

namespace sinter::kernels {

namespace {

// More parts give more parallelism and better use of caches. Fewer parts need fewer sums over lanes and
// parts.
constexpr int64_t kPartBlocks = 4, kMaxParts = 16;

}  // namespace

int64_t WeightGradParts(const BatchConv& conv) {
  const int64_t parts = conv.blocks() / kPartBlocks;
  return parts < 1 ? 1 : parts > kMaxParts ? kMaxParts : parts;
}

int64_t BatchConvForwardUnits(const BatchConv& conv) {
  return WithIsa(conv.isa, [&](auto isa) { return isa.ConvForwardUnits(conv); });
}
void BatchConvForward(const BatchConv& conv, const float* x, const float* weights, const float* bias,
                      bool relu, float* y, int64_t begin, int64_t end) {
  WithIsa(conv.isa, [&](auto isa) { isa.ConvForward(conv, x, weights, bias, relu, y, begin, end); });
}

int64_t BatchConvInputGradUnits(const BatchConv& conv) {
  return WithIsa(conv.isa, [&](auto isa) { return isa.ConvInputGradUnits(conv); });
}
void BatchConvInputGrad(const BatchConv& conv, const float* g, const float* weights, float* dx, int64_t begin,
                        int64_t end) {
  WithIsa(conv.isa, [&](auto isa) { isa.ConvInputGrad(conv, g, weights, dx, begin, end); });
}

int64_t BatchConvWeightGradElements(const BatchConv& conv) {
  return conv.out_channels * (conv.in_channels / conv.groups) * conv.kernel_h * conv.kernel_w;
}
size_t BatchConvWeightGradWorkspaceBytes(const BatchConv& conv) {
  return static_cast<size_t>(WeightGradParts(conv) * BatchConvWeightGradElements(conv)) * sizeof(float);
}
int64_t BatchConvWeightGradUnits(const BatchConv& conv) {
  return WithIsa(conv.isa, [&](auto isa) { return isa.ConvWeightGradUnits(conv); });
}
void BatchConvWeightGrad(const BatchConv& conv, const float* x, const float* g, float* workspace,
                         int64_t begin, int64_t end) {
  WithIsa(conv.isa, [&](auto isa) { isa.ConvWeightGrad(conv, x, g, workspace, begin, end); });
}
void BatchConvAddWeightGrads(const BatchConv& conv, const float* workspace, float* dw, int64_t begin,
                             int64_t end) {
  const int64_t elements = BatchConvWeightGradElements(conv), parts = WeightGradParts(conv);
  for (int64_t i = begin; i < end; ++i) {
    float sum = workspace[i];
    for (int64_t p = 1; p < parts; ++p) sum += workspace[p * elements + i];
    dw[i] = sum;
  }
}

}  // namespace sinter::kernels
