#include "sinter/runtime/cpu/activation_pass.h"

#include <algorithm>

#include "sinter/kernels/cpu/math/activation.h"
#include "sinter/runtime/host/half.h"

namespace sinter {
namespace {

constexpr int64_t kActivationGrain = 1 << 12, kActivationBlock = 512;

void ActivateLowPrecision(int activation, BFloat16* data, int64_t count) {
  float block[kActivationBlock];
  for (int64_t done = 0; done < count; done += kActivationBlock) {
    const int64_t size = std::min(kActivationBlock, count - done);
    for (int64_t i = 0; i < size; ++i) block[i] = data[done + i].ToFloat();
    kernels::ActivateRow(activation, block, size);
    for (int64_t i = 0; i < size; ++i) data[done + i] = BFloat16::FromFloat(block[i]);
  }
}

}  // namespace

void ActivationPass::Run(void* data) const {
  if (activation_ == fb::Activation::None) return;
  const int activation = static_cast<int>(activation_);
  pool_->ParallelFor(elements_, kActivationGrain, [&](int64_t begin, int64_t end, int) {
    if (dtype_ == fb::DType::F32) {
      kernels::ActivateRow(activation, static_cast<float*>(data) + begin, end - begin);
    } else {
      ActivateLowPrecision(activation, static_cast<BFloat16*>(data) + begin, end - begin);
    }
  });
}

}  // namespace sinter
