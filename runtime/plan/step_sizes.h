// Sizes that follow from a step's table, for whoever verifies it and whoever runs it.
//
//   if (step.workspace_bytes() < BatchConvWorkspaceBytes(table)) ...
#ifndef SINTER_RUNTIME_PLAN_STEP_SIZES_H_
#define SINTER_RUNTIME_PLAN_STEP_SIZES_H_

#include <cstddef>

#include "runtime/plan_generated.h"
#include "sinter/kernels/cpu/images/batch_conv.h"

namespace sinter {

// The convolution of a step in layout nchw16n, as kernels/cpu takes it.
kernels::BatchConv BatchConvGeometry(const fb::ConvStep& table, kernels::Isa isa);
// Least Step.workspace_bytes of such a step.
size_t BatchConvWorkspaceBytes(const fb::ConvStep& table);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_STEP_SIZES_H_
