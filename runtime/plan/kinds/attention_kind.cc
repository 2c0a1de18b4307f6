// Attention by a library: fb::AttentionStep.
#include <cmath>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/plan/step_kind_functions.h"

namespace sinter {
namespace {

// Checks q, k and v, or the one packed tensor, at the front of `buffers`: operands of a step, or their
// gradients.
absl::Status CheckQueriesAndKeys(const fb::AttentionStep& s, const std::vector<const fb::Buffer*>& buffers) {
  const std::vector<int64_t> q = {s.batch(), s.queries(), s.heads(), s.width()};
  const std::vector<int64_t> k = {s.batch(), s.keys(), s.key_heads(), s.width()};
  if (s.packed()) {
    return CheckOperand(*buffers[0], "the packed tensor", s.dtype(),
                        {s.batch(), s.queries(), 3, s.heads(), s.width()});
  }
  SINTER_RETURN_IF_ERROR(CheckOperand(*buffers[0], "q", s.dtype(), q));
  SINTER_RETURN_IF_ERROR(CheckOperand(*buffers[1], "k", s.dtype(), k));
  return CheckOperand(*buffers[2], "v", s.dtype(), k);
}

// Checks what the masks of the step say by themselves.
absl::Status CheckMasks(const StepToVerify& o, const fb::AttentionStep& s) {
  const bool is_masked = s.window() != 0 || s.has_bias() || (s.causal() && s.keys() != s.queries());
  if (is_masked && o.plan.version() < Plan::LeastVersion({.masked_attention = true})) {
    return BadPlan("plans of version ", o.plan.version(), " have no attention with a window or a bias, and ",
                   "none that is causal with ", s.queries(), " positions of q and ", s.keys(), " of k");
  }
  if (s.window() < 0 || s.window() >= int64_t{1} << 31) {
    return BadPlan("the window ", s.window(), " of an attention is out of range");
  }
  if (!s.has_bias()) return absl::OkStatus();
  if (s.bias_dtype() != fb::DType::F32 && s.bias_dtype() != s.dtype()) {
    return BadPlan("the bias of an attention has element type ", static_cast<int>(s.bias_dtype()));
  }
  const auto broadcasts = [](int64_t size, int64_t whole) { return size == 1 || size == whole; };
  if (!broadcasts(s.bias_batch(), s.batch()) || !broadcasts(s.bias_heads(), s.heads()) ||
      !broadcasts(s.bias_queries(), s.queries())) {
    return BadPlan("the bias of an attention is for ", s.bias_batch(), " examples, ", s.bias_heads(),
                   " heads and ", s.bias_queries(), " positions, and q has ", s.batch(), ", ", s.heads(),
                   " and ", s.queries());
  }
  return absl::OkStatus();
}

// Checks the bias, behind q, k and v.
absl::Status CheckBias(const fb::AttentionStep& s, const std::vector<const fb::Buffer*>& inputs) {
  if (!s.has_bias()) return absl::OkStatus();
  return CheckOperand(*inputs[s.packed() ? 1 : 3], "the bias", s.bias_dtype(),
                      {s.bias_batch(), s.bias_heads(), s.bias_queries(), s.keys()});
}

}  // namespace

absl::Status VerifyAttention(const StepToVerify& o) {
  const fb::AttentionStep& s = *o.step.body_as_AttentionStep();
  if (s.dtype() != fb::DType::BF16 && s.dtype() != fb::DType::F16) {
    return BadPlan("element type ", static_cast<int>(s.dtype()),
                   " is not supported: attention is of bf16 or f16");
  }
  for (const int64_t size : {s.batch(), s.queries(), s.keys(), s.heads(), s.key_heads(), s.width()}) {
    // cuDNN counts sizes in 32 bits.
    if (size < 1 || size >= int64_t{1} << 31)
      return BadPlan("the size ", size, " of an attention is out of range");
  }
  if (s.heads() % s.key_heads() != 0) {
    return BadPlan(s.key_heads(), " heads of k do not divide ", s.heads(), " of q");
  }
  if (s.packed() && (s.keys() != s.queries() || s.key_heads() != s.heads())) {
    return BadPlan("q and k in one tensor have ", s.queries(), " and ", s.keys(), " positions of ", s.heads(),
                   " and ", s.key_heads(), " heads: they must be alike");
  }
  if ((s.causal() || s.window() != 0) && s.keys() < s.queries()) {
    return BadPlan("a masked attention has ", s.queries(), " positions of q and ", s.keys(),
                   " of k, of which q's are the last");
  }
  SINTER_RETURN_IF_ERROR(CheckMasks(o, s));
  if (!std::isfinite(s.scale())) return BadPlan("the scale of an attention is not finite");
  if (s.backward() && s.has_stats()) return BadPlan("the gradient of an attention gives no stats");
  const size_t given = (s.packed() ? 1 : 3) + (s.has_bias() ? 1 : 0);
  if (s.backward()) {
    SINTER_RETURN_IF_ERROR(CheckCounts(o, given + 3, s.packed() ? 1 : 3));
  } else {
    SINTER_RETURN_IF_ERROR(CheckCounts(o, given, s.has_stats() ? 2 : 1));
  }
  SINTER_RETURN_IF_ERROR(CheckQueriesAndKeys(s, o.inputs));
  SINTER_RETURN_IF_ERROR(CheckBias(s, o.inputs));
  const std::vector<int64_t> like_q = {s.batch(), s.queries(), s.heads(), s.width()};
  const std::vector<int64_t> rows = {s.batch(), s.heads(), s.queries()};
  if (!s.backward()) {
    SINTER_RETURN_IF_ERROR(CheckOperand(*o.outputs[0], "o", s.dtype(), like_q));
    return s.has_stats() ? CheckOperand(*o.outputs[1], "stats", fb::DType::F32, rows) : absl::OkStatus();
  }
  SINTER_RETURN_IF_ERROR(CheckOperand(*o.inputs[given], "o", s.dtype(), like_q));
  SINTER_RETURN_IF_ERROR(CheckOperand(*o.inputs[given + 1], "stats", fb::DType::F32, rows));
  SINTER_RETURN_IF_ERROR(CheckOperand(*o.inputs[given + 2], "g", s.dtype(), like_q));
  return CheckQueriesAndKeys(s, o.outputs);
}

std::string AttentionText(const fb::Plan&, const fb::Step& step) {
  const fb::AttentionStep& a = *step.body_as_AttentionStep();
  return absl::StrCat("attention ", a.backward() ? "backward " : "forward ", a.batch(), "x", a.heads(), "x",
                      a.queries(), "x", a.width(), " by ", a.keys(), a.causal() ? " causal" : "",
                      a.window() != 0 ? absl::StrCat(" window ", a.window()) : "",
                      a.has_bias() ? " biased" : "", a.packed() ? " packed" : "");
}

std::optional<ContractionType> AttentionContraction(const fb::Step& step) {
  return ContractionType{static_cast<DType>(step.body_as_AttentionStep()->dtype()), fb::MathMode::Ieee};
}

}  // namespace sinter
