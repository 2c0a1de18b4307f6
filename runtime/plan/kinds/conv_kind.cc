// Convolutions of images: fb::ConvStep.
#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/plan/step_kind_functions.h"
#include "sinter/runtime/plan/step_sizes.h"
#include "sinter/runtime/plan/step_text.h"

namespace sinter {

absl::Status VerifyConv(const StepToVerify& o) {
  const fb::ConvStep& s = *o.step.body_as_ConvStep();
  if (s.kind() > fb::ConvKind::MAX)
    return BadPlan("convolution kind ", static_cast<int>(s.kind()), " does not exist");
  SINTER_RETURN_IF_ERROR(CheckImages(s.layout(), s.dtype()));
  SINTER_RETURN_IF_ERROR(CheckMath(s.math()));
  SINTER_RETURN_IF_ERROR(CheckActivation(s.activation(), s.dtype()));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.in_size(), "in_size", 2, 0));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.out_size(), "out_size", 2, 0));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.kernel(), "kernel", 2, 1));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.strides(), "strides", 2, 1));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.padding(), "padding", 4, 0));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.dilations(), "dilations", 2, 1));
  SINTER_RETURN_IF_ERROR(
      CheckWindow(*s.in_size(), *s.out_size(), *s.kernel(), *s.strides(), *s.padding(), s.dilations()));
  if (s.groups() < 1 || s.in_channels() % s.groups() != 0 || s.out_channels() % s.groups() != 0) {
    return BadPlan(s.groups(), " groups do not divide ", s.in_channels(), " and ", s.out_channels(),
                   " channels");
  }
  if (s.layout() == fb::ImageLayout::Nchw16n) {
    SINTER_RETURN_IF_ERROR(CheckBatchBlocks(s.batch(), s.dtype(), s.activation(), *s.in_size()));
  }
  const bool forward = s.kind() == fb::ConvKind::Forward;
  if (!forward && (s.has_bias() || s.activation() != fb::Activation::None)) {
    return BadPlan("the gradient of a convolution has neither bias nor activation");
  }
  SINTER_RETURN_IF_ERROR(CheckCounts(o, s.has_bias() ? 3 : 2, 1));
  const kernels::ConvGeometry g = ConvGeometryOf(s);
  const std::vector<int64_t> x = {g.batch, g.in_channels, g.in_h, g.in_w};
  const std::vector<int64_t> y = {g.batch, g.out_channels, g.out_h, g.out_w};
  const std::vector<int64_t> w = {g.out_channels, g.group_channels(), g.kernel_h, g.kernel_w};
  const bool input_grad = s.kind() == fb::ConvKind::InputGrad;
  SINTER_RETURN_IF_ERROR(CheckOperand(*o.inputs[0], "input 0", s.dtype(), input_grad ? y : x));
  SINTER_RETURN_IF_ERROR(
      CheckOperand(*o.inputs[1], "input 1", s.dtype(), s.kind() == fb::ConvKind::WeightGrad ? y : w));
  if (s.has_bias())
    SINTER_RETURN_IF_ERROR(CheckOperand(*o.inputs[2], "the bias", s.dtype(), {s.out_channels()}));
  SINTER_RETURN_IF_ERROR(CheckOperand(*o.outputs[0], "the result", s.dtype(),
                                      forward      ? y
                                      : input_grad ? x
                                                   : w));
  const uint64_t workspace = s.layout() == fb::ImageLayout::Nchw16n ? BatchConvWorkspaceBytes(s) : 0;
  if (o.step.workspace_bytes() >= workspace) return absl::OkStatus();
  return BadPlan("the convolution needs ", workspace, " bytes of workspace, and has ",
                 o.step.workspace_bytes());
}

std::string ConvText(const fb::Plan&, const fb::Step& step) {
  const fb::ConvStep& c = *step.body_as_ConvStep();
  std::string groups = c.groups() == 1 ? "" : absl::StrCat(" groups ", c.groups());
  return absl::StrCat("conv ", SnakeCase(fb::EnumNameConvKind(c.kind())), " ", c.batch(), "x",
                      c.in_channels(), "x", SizesText(c.in_size()), " to ", c.out_channels(), "x",
                      SizesText(c.out_size()), " kernel ", SizesText(c.kernel()), groups, " ",
                      SnakeCase(fb::EnumNameImageLayout(c.layout())),
                      EpilogueText(c.has_bias(), c.activation()));
}

std::optional<ContractionType> ConvContraction(const fb::Step& step) {
  const fb::ConvStep& s = *step.body_as_ConvStep();
  return ContractionType{static_cast<DType>(s.dtype()), s.math()};
}

}  // namespace sinter
