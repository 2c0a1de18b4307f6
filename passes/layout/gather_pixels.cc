#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/ir/target/tf32_kernels.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_GATHERPIXELS
#include "passes/passes.h.inc"

using ir::Expr;
using ir::TypeOf;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Operation;
using mlir::RankedTensorType;
using mlir::Value;

namespace {

// Channels of a block: a pixel with more has enough alone.
constexpr int64_t kMostChannels = 16;

// One direction of the convolution, in blocks.
struct Blocks {
  int64_t front = 0;              // Zeros before the weights, so that windows begin at block borders.
  int64_t taps = 0;               // Taps of the weights.
  int64_t before = 0, after = 0;  // Blocks of zeros around the images.

  Blocks(int64_t size, int64_t out, int64_t kernel, int64_t padding, int64_t stride) {
    front = (stride - padding % stride) % stride;
    taps = (kernel + front + stride - 1) / stride;
    before = (padding + front) / stride;
    after = out + taps - 1 - before - size / stride;
  }
};

struct Gathered {
  Value images;                      // In the user's order.
  int64_t stride, channels, padded;  // Channels of a pixel, without and with padding.
  SmallVector<Blocks, 2> blocks;
  ArrayRef<int64_t> kernel;
};

// Returns the user's images if `x` is a transpose of them, with casts; else null.
Value UsersImages(Value x) {
  while (auto cast = x.getDefiningOp<ir::CastOp>()) x = cast->getOperand(0);
  auto transpose = x.getDefiningOp<ir::TransposeOp>();
  return transpose && transpose.getPermutation() == ArrayRef<int64_t>{0, 2, 3, 1} ? transpose.getX()
                                                                                  : Value();
}

template <typename Op>
std::optional<Gathered> Gather(Op op, Value x, Value y, ArrayRef<int64_t> weights) {
  const int64_t read_together = ir::TargetModel::Of(op.getOperation()).channel_multiple;
  if (read_together == 1 || op.getGroups() != 1) return std::nullopt;
  if (op.getLayout() != ir::ImageLayout::nhwc || TypeOf(x).getElementTypeBitWidth() != 16)
    return std::nullopt;
  Gathered g{UsersImages(x), op.getStrides()[0], TypeOf(x).getDimSize(3), 0, {}, weights.drop_front(2)};
  const int64_t pixels = g.stride * g.stride;
  if (!g.images || g.stride < 2 || op.getStrides()[1] != g.stride || op.getDilations()[0] != 1 ||
      op.getDilations()[1] != 1 || g.channels * pixels > kMostChannels || TypeOf(x).getNumElements() == 0) {
    return std::nullopt;
  }
  g.padded = g.channels;
  while (g.padded * pixels % read_together != 0) ++g.padded;
  for (int d = 0; d < 2; ++d) {
    const int64_t size = TypeOf(x).getDimSize(d + 1);
    g.blocks.push_back(
        Blocks(size, TypeOf(y).getDimSize(d + 1), g.kernel[d], op.getPadding()[2 * d], g.stride));
    if (size % g.stride != 0 || g.blocks[d].after < 0) return std::nullopt;
  }
  return g;
}

// [n, c, h, w] to blocks surrounded by zeros, [n, h', w', stride * stride * padded].
Value BlocksOfImages(mlir::OpBuilder& builder, const Gathered& g, mlir::Type element) {
  ir::GraphBuilder b(builder, g.images.getLoc());
  const int64_t s = g.stride;
  ArrayRef<int64_t> shape = TypeOf(g.images).getShape();
  Expr split = b.reshape(b.wrap(g.images), {shape[0], shape[1], shape[2] / s, s, shape[3] / s, s});
  Expr gathered = b.cast(b.transpose(split, {0, 2, 4, 3, 5, 1}), element);
  const Blocks &h = g.blocks[0], &w = g.blocks[1];
  Expr padded = b.pad(gathered, {0, h.before, w.before, 0, 0, 0},
                      {0, h.after, w.after, 0, 0, g.padded - g.channels}, {0, 0, 0, 0, 0, 0}, 0);
  return b.reshape(padded, {shape[0], padded.shape()[1], padded.shape()[2], s * s * g.padded}).value;
}

// [out, c, kh, kw] to [out, stride * stride * padded, taps, taps], and the gradient of that back.
Value BlocksOfWeights(mlir::OpBuilder& builder, const Gathered& g, Value weights) {
  ir::GraphBuilder b(builder, weights.getLoc());
  const Blocks &h = g.blocks[0], &w = g.blocks[1];
  const int64_t s = g.stride, out = TypeOf(weights).getDimSize(0);
  Expr padded = b.pad(
      b.wrap(weights), {0, 0, h.front, w.front},
      {0, g.padded - g.channels, h.taps * s - h.front - g.kernel[0], w.taps * s - w.front - g.kernel[1]},
      {0, 0, 0, 0}, 0);
  Expr split = b.reshape(padded, {out, g.padded, h.taps, s, w.taps, s});
  return b.reshape(b.transpose(split, {0, 3, 5, 1, 2, 4}), {out, s * s * g.padded, h.taps, w.taps}).value;
}
Value WeightsOfBlocks(mlir::OpBuilder& builder, const Gathered& g, Value blocks) {
  ir::GraphBuilder b(builder, blocks.getLoc());
  const Blocks &h = g.blocks[0], &w = g.blocks[1];
  const int64_t s = g.stride, out = TypeOf(blocks).getDimSize(0);
  Expr split = b.reshape(b.wrap(blocks), {out, s, s, g.padded, h.taps, w.taps});
  Expr joined = b.reshape(b.transpose(split, {0, 3, 4, 1, 5, 2}), {out, g.padded, h.taps * s, w.taps * s});
  return b
      .slice(joined, {0, 0, h.front, w.front},
             {out, g.channels, h.front + g.kernel[0], w.front + g.kernel[1]}, {1, 1, 1, 1})
      .value;
}

// Clones the op for blocks, without stride and padding.
template <typename Op>
Op CloneForBlocks(mlir::OpBuilder& builder, Op op, ArrayRef<Value> operands) {
  auto clone = llvm::cast<Op>(builder.clone(*op.getOperation()));
  for (auto [number, operand] : llvm::enumerate(operands)) clone->setOperand(number, operand);
  clone.setStrides({1, 1});
  clone.setPadding({0, 0, 0, 0});
  return clone;
}

class GatherPixelsPass : public impl::GatherPixelsBase<GatherPixelsPass> {
 public:
  using GatherPixelsBase::GatherPixelsBase;
  void runOnOperation() override {
    SmallVector<Operation*> ops;
    getOperation().walk([&](Operation* op) { ops.push_back(op); });
    for (Operation* op : ops) {
      ir::PlacedBuilder builder(op);
      if (auto conv = llvm::dyn_cast<ir::Conv2dOp>(op)) {
        auto g = Gather(conv, conv.getX(), conv.getResult(), TypeOf(conv.getWeights()).getShape());
        if (!g || ir::tf32::Computes(conv)) continue;
        Value x = BlocksOfImages(builder, *g, TypeOf(conv.getX()).getElementType());
        auto clone = CloneForBlocks(builder, conv, {x, BlocksOfWeights(builder, *g, conv.getWeights())});
        op->getResult(0).replaceAllUsesWith(clone.getResult());
        op->erase();
      } else if (auto conv = llvm::dyn_cast<ir::Conv2dWeightGradOp>(op)) {
        RankedTensorType type = conv.getResult().getType();
        auto g = Gather(conv, conv.getX(), conv.getG(), type.getShape());
        if (!g) continue;
        Value x = BlocksOfImages(builder, *g, TypeOf(conv.getX()).getElementType());
        auto clone = CloneForBlocks(builder, conv, {x, conv.getG()});
        clone.getResult().setType(RankedTensorType::get(
            {type.getDimSize(0), g->stride * g->stride * g->padded, g->blocks[0].taps, g->blocks[1].taps},
            type.getElementType()));
        op->getResult(0).replaceAllUsesWith(WeightsOfBlocks(builder, *g, clone.getResult()));
        op->erase();
      }
    }
  }
};

}  // namespace
}  // namespace sinter
