// Lowers an attention op that passes/rewrite/decompose.cc kept whole to a step of a GPU.
#include "absl/strings/str_cat.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/codegen/steps/lowering.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/library/attention_shape.h"

namespace sinter::codegen {

using flatbuffers::FlatBufferBuilder;

namespace {

// The forward pass has two matmuls, Q K^T and P V; the gradient has five.
double Flops(const ir::AttentionShape& s, bool causal, int matmuls) {
  double scores = 1.0 * s.batch * s.heads * s.queries * s.keys;
  return (causal ? 0.5 : 1.0) * matmuls * 2 * scores * s.width;
}

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
  auto body = fb::CreateAttentionStep(builder, dtype, backward, s.packed, op.getCausal(), has_stats, s.batch,
                                      s.queries, s.keys, s.heads, s.key_heads, s.width,
                                      op.getScale().convertToDouble());
  return LibraryStep{fb::StepBody::AttentionStep, body.Union(), Flops(s, op.getCausal(), backward ? 5 : 2)};
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
