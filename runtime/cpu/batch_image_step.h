// Makes the steps of convolutions and pools in layout nchw16n, [N / 16, C, H, W, 16].
//
// The tables must have passed plan_verifier.h.
//
//   if (table.layout() == fb::ImageLayout::Nchw16n) return MakeBatchConvStep(table, context);
#ifndef SINTER_RUNTIME_CPU_BATCH_IMAGE_STEP_H_
#define SINTER_RUNTIME_CPU_BATCH_IMAGE_STEP_H_

#include <memory>

#include "runtime/plan_generated.h"
#include "sinter/runtime/device/step.h"

namespace sinter {

std::unique_ptr<Step> MakeBatchConvStep(const fb::ConvStep& table, const StepContext& context);
std::unique_ptr<Step> MakeBatchPoolStep(const fb::PoolStep& table, const StepContext& context);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CPU_BATCH_IMAGE_STEP_H_
