#include "sinter/runtime/plan/step_sizes.h"

namespace sinter {

kernels::BatchConv BatchConvGeometry(const fb::ConvStep& t, kernels::Isa isa) {
  kernels::BatchConv conv;
  conv.isa = isa;
  conv.blocks = t.batch() / kernels::kBatchBlock;
  conv.in_channels = t.in_channels(), conv.out_channels = t.out_channels(), conv.groups = t.groups();
  conv.in_h = t.in_size()->Get(0), conv.in_w = t.in_size()->Get(1);
  conv.out_h = t.out_size()->Get(0), conv.out_w = t.out_size()->Get(1);
  conv.kernel_h = t.kernel()->Get(0), conv.kernel_w = t.kernel()->Get(1);
  conv.stride_h = t.strides()->Get(0), conv.stride_w = t.strides()->Get(1);
  conv.pad_top = t.padding()->Get(0), conv.pad_left = t.padding()->Get(2);
  conv.dilation_h = t.dilations()->Get(0), conv.dilation_w = t.dilations()->Get(1);
  return conv;
}

size_t BatchConvWorkspaceBytes(const fb::ConvStep& table) {
  if (table.kind() != fb::ConvKind::WeightGrad) return 0;
  return kernels::BatchConvWeightGradWorkspaceBytes(BatchConvGeometry(table, kernels::Isa::kBaseline));
}

}  // namespace sinter
