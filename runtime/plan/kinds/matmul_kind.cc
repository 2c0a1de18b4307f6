// Matrix matmuls: fb::MatmulStep.
#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/gpu_limits.h"
#include "sinter/runtime/plan/matmul_slots.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/plan/step_kind_functions.h"
#include "sinter/runtime/plan/step_text.h"

namespace sinter {
namespace {

// Checks what a matmul of 8-bit floats is limited to.
absl::Status CheckScaled(const StepToVerify& o, const fb::MatmulStep& s) {
  if (o.plan.version() < Plan::LeastVersion({.float8_matmul = true})) {
    return BadPlan("plans of version ", o.plan.version(), " have no matmul with scales of its operands");
  }
  if (s.scales() > fb::MatmulScales::MAX)
    return BadPlan("scales ", static_cast<int>(s.scales()), " do not exist");
  for (const fb::DType dtype : {s.dtype(), s.dtype_b()}) {
    if (dtype != fb::DType::F8E4M3 && dtype != fb::DType::F8E5M2)
      return BadPlan("matmuls with scales of their operands are of f8e4m3 and f8e5m2");
  }
  if (s.has_bias() || s.has_addend() || s.has_scale() || s.is_gradient() || s.result_is_i32() ||
      s.activation() != fb::Activation::None || s.math() != fb::MathMode::Ieee) {
    return BadPlan("a matmul with scales of its operands has no epilogue");
  }
  fb::MatmulStepT table;
  s.UnPackTo(&table);
  const std::string_view problem = CublasFloat8Problem(table);
  return problem.empty() ? absl::OkStatus() : BadPlan("it has 8-bit floats, but ", std::string(problem));
}

// Checks the combinations that only some matmuls may have.
absl::Status CheckMatmulVariant(const StepToVerify& o, const fb::MatmulStep& s) {
  if (s.scales() != fb::MatmulScales::None) return CheckScaled(o, s);
  const bool is_low_precision = s.dtype() == fb::DType::BF16 || s.dtype() == fb::DType::F16;
  if (s.result_is_f32() && !is_low_precision)
    return BadPlan("only matmuls of bf16 and f16 have a result of f32 for it");
  if (s.result_is_i32() && (s.dtype() != fb::DType::I8 || s.is_gradient()))
    return BadPlan("only matmuls of i8 have a result of i32 for it");
  if (s.result_is_i32() && o.plan.version() < Plan::LeastVersion({.wide_integer_matmul = true})) {
    return BadPlan("plans of version ", o.plan.version(), " have no matmul of i8 with a result of i32");
  }
  if ((s.has_addend() || s.has_scale()) && !IsFloat(static_cast<DType>(s.dtype()))) {
    return BadPlan("matmuls of integers have neither addend nor scale");
  }
  if (s.is_gradient() && (s.has_bias() || s.has_addend() || s.has_scale())) {
    return BadPlan("a matmul with an activation's gradient has neither bias, addend nor scale");
  }
  if (s.is_gradient() && s.activation() == fb::Activation::None) {
    return BadPlan("it has the gradient of no activation");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyMatmul(const StepToVerify& o) {
  const fb::MatmulStep& s = *o.step.body_as_MatmulStep();
  const bool is_scaled = s.scales() != fb::MatmulScales::None;
  if (!is_scaled) SINTER_RETURN_IF_ERROR(CheckDType(s.dtype(), /*floats_only=*/false));
  SINTER_RETURN_IF_ERROR(CheckMath(s.math()));
  if (!is_scaled) SINTER_RETURN_IF_ERROR(CheckActivation(s.activation(), s.dtype()));
  SINTER_RETURN_IF_ERROR(CheckMatmulVariant(o, s));
  const MatmulSlots slots(s);
  SINTER_RETURN_IF_ERROR(
      CheckCounts(o, static_cast<size_t>(slots.inputs), static_cast<size_t>(slots.outputs)));
  const fb::DType of_result = MatmulResultDType(s);
  const fb::DType of_scale = s.dtype() == fb::DType::F64 ? fb::DType::F64 : fb::DType::F32;
  const std::vector<int64_t> result = {s.batch(), s.m(), s.n()};
  const bool by_row = s.scales() == fb::MatmulScales::Rows;
  const std::vector<int64_t> rows = by_row ? std::vector<int64_t>{s.m()} : std::vector<int64_t>{},
                             columns = by_row ? std::vector<int64_t>{s.n()} : std::vector<int64_t>{};
  const struct {
    const std::vector<const fb::Buffer*>& buffers;
    int slot;
    const char* what;
    fb::DType dtype;
    std::vector<int64_t> sizes;
  } operands[] = {{o.inputs, slots.a, "a", s.dtype(), {s.batch(), s.m(), s.k()}},
                  {o.inputs, slots.b, "b", MatmulDTypeOfB(s), {s.batch(), s.k(), s.n()}},
                  {o.inputs, slots.bias, "the bias", of_result, {s.n()}},
                  {o.inputs, slots.addend, "the addend", of_result, result},
                  {o.inputs, slots.scale, "the scale", of_scale, {}},
                  {o.inputs, slots.preactivation, "the preactivation", of_result, result},
                  {o.inputs, slots.scale_a, "the scale of a", fb::DType::F32, rows},
                  {o.inputs, slots.scale_b, "the scale of b", fb::DType::F32, columns},
                  {o.outputs, slots.result, "the result", of_result, result}};
  for (const auto& operand : operands) {
    if (operand.slot < 0) continue;
    SINTER_RETURN_IF_ERROR(CheckOperand(*operand.buffers[static_cast<size_t>(operand.slot)], operand.what,
                                        operand.dtype, operand.sizes));
  }
  const Device device = DeviceOf(o.plan, o.step.device());
  const bool is_for_gpus = s.is_gradient() || is_scaled;
  if (!is_for_gpus || TraitsOf(device.kind()).runs_gpu_libraries) return absl::OkStatus();
  return BadPlan("it runs on ", device.ToString(), ", and a matmul with ",
                 is_scaled ? "scales of its operands" : "an activation's gradient", " is a step of GPUs");
}

std::string MatmulText(const fb::Plan&, const fb::Step& step) {
  const fb::MatmulStep& m = *step.body_as_MatmulStep();
  std::string batch = m.batch() == 1 ? "" : absl::StrCat(m.batch(), " of ");
  std::string text = absl::StrCat("matmul ", batch, m.m(), "x", m.n(), "x", m.k(),
                                  m.transpose_a() ? " a^t" : "", m.transpose_b() ? " b^t" : "");
  if (m.scales() != fb::MatmulScales::None) {
    absl::StrAppend(&text, " ", std::string(DTypeName(static_cast<DType>(m.dtype()))), " ",
                    std::string(DTypeName(static_cast<DType>(m.dtype_b()))),
                    m.scales() == fb::MatmulScales::Rows ? " scales of rows" : " scales");
  }
  if (m.has_scale()) text += " scale";
  if (m.is_gradient()) text += " gradient of";
  text += EpilogueText(m.has_bias(), m.activation());
  if (m.has_addend()) text += " addend";
  return text + (m.result_is_f32() ? " to f32" : m.result_is_i32() ? " to i32" : "");
}

std::optional<ContractionType> MatmulContraction(const fb::Step& step) {
  const fb::MatmulStep& s = *step.body_as_MatmulStep();
  return ContractionType{static_cast<DType>(s.dtype()), s.math()};
}

}  // namespace sinter
