#include "sinter/kernels/cpu/images/batch_pool.h"

#include "sinter/kernels/cpu/images/batch_isa.h"

namespace sinter::kernels {

int64_t BatchPoolUnits(const BatchPool& pool) { return pool.blocks * pool.channels; }

void BatchMaxPool(const BatchPool& pool, const float* x, float* y, uint8_t* position, int64_t begin,
                  int64_t end) {
  WithIsa(pool.isa, [&](auto isa) { isa.MaxPool(pool, x, y, position, begin, end); });
}
void BatchMaxPoolGrad(const BatchPool& pool, const float* g, const uint8_t* position, float* dx,
                      int64_t begin, int64_t end) {
  WithIsa(pool.isa, [&](auto isa) { isa.MaxPoolGrad(pool, g, position, dx, begin, end); });
}
void BatchAvgPool(const BatchPool& pool, const float* x, float* y, int64_t begin, int64_t end) {
  WithIsa(pool.isa, [&](auto isa) { isa.AvgPool(pool, x, y, begin, end); });
}
void BatchAvgPoolGrad(const BatchPool& pool, const float* g, float* dx, int64_t begin, int64_t end) {
  WithIsa(pool.isa, [&](auto isa) { isa.AvgPoolGrad(pool, g, dx, begin, end); });
}

}  // namespace sinter::kernels
