// Lowers an attention op that passes/rewrite/decompose.cc kept whole to a step of a GPU.
#include "absl/strings/str_cat.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/codegen/steps/lowering.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/library/attention_shape.h"

namespace sinter::codegen {

using flatbuffers::FlatBufferBuilder;

namespace {

template <typename Op>
absl::StatusOr<LibraryStep> LowerAttentionOp(Op op, bool backward, bool has_stats,
                                             FlatBufferBuilder& builder) {
  ir::AttentionShape s = ir::AttentionShape::Of(op.getInputs());
  fb::DType dtype = DTypeOf(s.element);
  const std::string reason = TargetOf(op).libraries->againstAttention(s, op.getScale().convertToDouble());
  if (!reason.empty()) {
    return absl::UnimplementedError(
        absl::StrCat(UserLine(op.getLoc()), ": no library computes this ", op.getOperationName().str(),
                     " whole: ", reason, "; decompose it into matmuls and a softmax before lower-to-plan"));
  }
  fb::AttentionStepT step;
  step.dtype = dtype, step.backward = backward, step.packed = s.packed, step.has_stats = has_stats;
  step.batch = s.batch, step.queries = s.queries, step.keys = s.keys;
  step.heads = s.heads, step.key_heads = s.key_heads, step.width = s.width;
  step.scale = op.getScale().convertToDouble(), step.causal = op.getCausal(), step.window = op.getWindow();
  if (op.getBias()) {
    auto bias = ir::TypeOf(op.getBias());
    step.has_bias = true, step.bias_dtype = DTypeOf(bias.getElementType());
    step.bias_batch = bias.getDimSize(0), step.bias_heads = bias.getDimSize(1);
    step.bias_queries = bias.getDimSize(2);
  }
  // The forward pass has two products, Q K^T and P V; the gradient has five.
  const double products = backward ? 5 : 2;
  return LibraryStep{
      .type = fb::StepBody::AttentionStep,
      .body = fb::CreateAttentionStep(builder, &step).Union(),
      .flops = products * 2 * s.seenScores(op.getCausal(), op.getWindow()) * static_cast<double>(s.width),
      .content = {.masked_attention =
                      step.has_bias || step.window > 0 || (step.causal && step.queries != step.keys)}};
}

absl::StatusOr<LibraryStep> LowerAttention(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto attention = llvm::cast<ir::AttentionOp>(op);
  return LowerAttentionOp(attention, false, static_cast<bool>(attention.getStats()), builder);
}
absl::StatusOr<LibraryStep> LowerAttentionGrad(mlir::Operation* op, FlatBufferBuilder& builder) {
  return LowerAttentionOp(llvm::cast<ir::AttentionGradOp>(op), true, false, builder);
}

}  // namespace

void PopulateAttentionLowerings(LibraryLowerings& lowerings) {
  lowerings.Add<ir::AttentionOp>(LowerAttention);
  lowerings.Add<ir::AttentionGradOp>(LowerAttentionGrad);
}

}  // namespace sinter::codegen
