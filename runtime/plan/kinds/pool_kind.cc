// Pooling of images: fb::PoolStep.
#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/plan/step_kind_functions.h"
#include "sinter/runtime/plan/step_text.h"

namespace sinter {

absl::Status VerifyPool(const StepToVerify& o) {
  const fb::PoolStep& s = *o.step.body_as_PoolStep();
  if (s.kind() > fb::PoolKind::MAX)
    return BadPlan("pooling kind ", static_cast<int>(s.kind()), " does not exist");
  SINTER_RETURN_IF_ERROR(CheckImages(s.layout(), s.dtype()));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.in_size(), "in_size", 2, 0));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.out_size(), "out_size", 2, 0));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.window(), "window", 2, 1));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.strides(), "strides", 2, 1));
  SINTER_RETURN_IF_ERROR(CheckSizes(s.padding(), "padding", 4, 0));
  SINTER_RETURN_IF_ERROR(
      CheckWindow(*s.in_size(), *s.out_size(), *s.window(), *s.strides(), *s.padding(), nullptr));
  if (s.layout() == fb::ImageLayout::Nchw16n) {
    SINTER_RETURN_IF_ERROR(CheckBatchBlocks(s.batch(), s.dtype(), fb::Activation::None, *s.in_size()));
  }
  const bool max = s.kind() == fb::PoolKind::Max || s.kind() == fb::PoolKind::MaxGrad;
  for (int i = 0; i < 4; ++i) {
    if (s.padding()->Get(i) >= s.window()->Get(i / 2)) {
      return BadPlan("padding of ", s.padding()->Get(i), " leaves windows of ", s.window()->Get(i / 2),
                     " without elements");
    }
  }
  if (max && s.window()->Get(0) * s.window()->Get(1) > 256) {
    return BadPlan("a window of ", s.window()->Get(0), " x ", s.window()->Get(1),
                   " has more than 256 positions");
  }
  SINTER_RETURN_IF_ERROR(
      CheckCounts(o, s.kind() == fb::PoolKind::MaxGrad ? 2 : 1, s.kind() == fb::PoolKind::Max ? 2 : 1));
  const std::vector<int64_t> large = {s.batch(), s.channels(), s.in_size()->Get(0), s.in_size()->Get(1)};
  const std::vector<int64_t> small = {s.batch(), s.channels(), s.out_size()->Get(0), s.out_size()->Get(1)};
  const bool forward = s.kind() == fb::PoolKind::Max || s.kind() == fb::PoolKind::Avg;
  SINTER_RETURN_IF_ERROR(CheckOperand(*o.inputs[0], "input 0", s.dtype(), forward ? large : small));
  SINTER_RETURN_IF_ERROR(CheckOperand(*o.outputs[0], "output 0", s.dtype(), forward ? small : large));
  if (!max) return absl::OkStatus();
  return CheckOperand(forward ? *o.outputs[1] : *o.inputs[1], "the positions", fb::DType::U8, small);
}

std::string PoolText(const fb::Plan&, const fb::Step& step) {
  const fb::PoolStep& p = *step.body_as_PoolStep();
  return absl::StrCat("pool ", SnakeCase(fb::EnumNamePoolKind(p.kind())), " ", p.batch(), "x", p.channels(),
                      "x", SizesText(p.in_size()), " to ", SizesText(p.out_size()), " window ",
                      SizesText(p.window()), " ", SnakeCase(fb::EnumNameImageLayout(p.layout())));
}

}  // namespace sinter
