#include "sinter/runtime/plan/step_sizes.h"

#include "sinter/kernels/cpu/images/batch_conv.h"

namespace sinter {

kernels::ConvGeometry ConvGeometryOf(const fb::ConvStep& t) {
  return {.batch = t.batch(),
          .in_channels = t.in_channels(),
          .out_channels = t.out_channels(),
          .groups = t.groups(),
          .in_h = t.in_size()->Get(0),
          .in_w = t.in_size()->Get(1),
          .out_h = t.out_size()->Get(0),
          .out_w = t.out_size()->Get(1),
          .kernel_h = t.kernel()->Get(0),
          .kernel_w = t.kernel()->Get(1),
          .stride_h = t.strides()->Get(0),
          .stride_w = t.strides()->Get(1),
          .pad_top = t.padding()->Get(0),
          .pad_left = t.padding()->Get(2),
          .dilation_h = t.dilations()->Get(0),
          .dilation_w = t.dilations()->Get(1),
          .pad_bottom = t.padding()->Get(1),
          .pad_right = t.padding()->Get(3)};
}

size_t BatchConvWorkspaceBytes(const fb::ConvStep& table) {
  if (table.kind() != fb::ConvKind::WeightGrad) return 0;
  return kernels::BatchConvWeightGradWorkspaceBytes({ConvGeometryOf(table), kernels::Isa::kBaseline});
}

}  // namespace sinter
