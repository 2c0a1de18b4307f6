// Sizes that follow from a step's table, for whoever verifies it and whoever runs it.
//
//   if (step.workspace_bytes() < BatchConvWorkspaceBytes(table)) ...
#ifndef SINTER_RUNTIME_PLAN_STEP_SIZES_H_
#define SINTER_RUNTIME_PLAN_STEP_SIZES_H_

#include <cstddef>

#include "runtime/plan_generated.h"
#include "sinter/kernels/image_geometry.h"

namespace sinter {

kernels::ConvGeometry ConvGeometryOf(const fb::ConvStep& table);
// Least Step.workspace_bytes of a convolution in layout nchw16n.
size_t BatchConvWorkspaceBytes(const fb::ConvStep& table);

}  // namespace sinter

#endif  // SINTER_RUNTIME_PLAN_STEP_SIZES_H_
