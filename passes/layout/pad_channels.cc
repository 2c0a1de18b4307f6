#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/ir/target/tf32_kernels.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_PADCHANNELS
#include "passes/passes.h.inc"

using ir::TypeOf;
using llvm::SmallVector;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;

namespace {

constexpr int64_t kOfImages = 3, kOfWeights = 1;  // Dimensions of the channels.

Value Padded(mlir::OpBuilder& builder, Value value, int64_t dim, int64_t more) {
  ir::GraphBuilder b(builder, value.getLoc());
  const SmallVector<int64_t> none(TypeOf(value).getRank(), 0);
  SmallVector<int64_t> high = none;
  high[dim] = more;
  return b.pad(b.wrap(value), none, high, none, 0).value;
}

// Returns the first elements along each dimension, as many as `like` has.
Value CutOff(mlir::OpBuilder& builder, Value value, RankedTensorType like) {
  ir::GraphBuilder b(builder, value.getLoc());
  const SmallVector<int64_t> starts(like.getRank(), 0), strides(like.getRank(), 1);
  return b.slice(b.wrap(value), starts, like.getShape(), strides).value;
}

RankedTensorType Wider(RankedTensorType type, int64_t dim, int64_t more) {
  SmallVector<int64_t> shape(type.getShape());
  shape[dim] += more;
  return RankedTensorType::get(shape, type.getElementType());
}

// Returns the number of missing channels; 0 if the op would not gain.
template <typename Op>
int64_t Lacking(Op op, Value images) {
  const int64_t multiple = ir::TargetModel::Of(op.getOperation()).channel_multiple;
  const bool gains = op.getGroups() == 1 && op.getLayout() == ir::ImageLayout::nhwc &&
                     TypeOf(images).getElementType().getIntOrFloatBitWidth() == 16 &&
                     TypeOf(images).getNumElements() > 0;
  const int64_t channels = TypeOf(images).getDimSize(kOfImages);
  return gains ? (multiple - channels % multiple) % multiple : 0;
}

// Replaces `op` by a clone with other operands. The clone's result has `more` extra channels along `dim`,
// which are sliced off; without `dim` the result keeps its type.
void Replace(Operation* op, llvm::ArrayRef<Value> operands, std::optional<int64_t> dim, int64_t more) {
  ir::PlacedBuilder builder(op);
  Operation* clone = builder.clone(*op);
  for (auto [number, operand] : llvm::enumerate(operands)) clone->setOperand(number, operand);
  const RankedTensorType type = TypeOf(op->getResult(0));
  Value result = clone->getResult(0);
  if (dim) {
    result.setType(Wider(type, *dim, more));
    builder.setInsertionPointAfter(clone);
    result = CutOff(builder, result, type);
  }
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

class PadChannelsPass : public impl::PadChannelsBase<PadChannelsPass> {
 public:
  using PadChannelsBase::PadChannelsBase;
  void runOnOperation() override {
    SmallVector<Operation*> ops;
    getOperation().walk([&](Operation* op) { ops.push_back(op); });
    for (Operation* op : ops) {
      ir::PlacedBuilder builder(op);
      llvm::TypeSwitch<Operation*>(op)
          .Case([&](ir::Conv2dOp conv) {
            const int64_t more = Lacking(conv, conv.getX());
            if (more == 0 || ir::tf32::Computes(conv)) return;
            Value x = Padded(builder, conv.getX(), kOfImages, more);
            Replace(conv, {x, Padded(builder, conv.getWeights(), kOfWeights, more)}, std::nullopt, more);
          })
          .Case([&](ir::Conv2dWeightGradOp conv) {
            const int64_t more = Lacking(conv, conv.getX());
            if (more == 0) return;
            Replace(conv, {Padded(builder, conv.getX(), kOfImages, more)}, kOfWeights, more);
          })
          .Case([&](ir::Conv2dInputGradOp conv) {
            const int64_t more = Lacking(conv, conv.getResult());
            if (more == 0) return;
            Replace(conv, {conv.getG(), Padded(builder, conv.getWeights(), kOfWeights, more)}, kOfImages,
                    more);
          });
    }
  }
};

}  // namespace
}  // namespace sinter
