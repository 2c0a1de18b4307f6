// Matrix products, convolutions and pooling: calls of oneDNN.
//
// An op's math mode allows the library to be less exact than its element type; on the CPU all compute in full.
#include "sinter/codegen/lowering.h"
#include "sinter/ir/ops.h"

namespace sinter::codegen {

using flatbuffers::FlatBufferBuilder;
using llvm::ArrayRef;
using mlir::Value;

namespace {

ArrayRef<int64_t> ShapeOf(Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()).getShape(); }
fb::DType DTypeOf(Value v) {
  return codegen::DTypeOf(llvm::cast<mlir::RankedTensorType>(v.getType()).getElementType());
}

auto Numbers(FlatBufferBuilder& builder, ArrayRef<int64_t> values) {
  return builder.CreateVector(values.data(), values.size());
}

// The enums of ir/linear_ops.td and of plan.fbs number their cases alike.
static_assert(static_cast<int>(ir::Activation::silu) == static_cast<int>(fb::Activation_Silu));
static_assert(static_cast<int>(ir::ImageLayout::nhwc) == static_cast<int>(fb::ImageLayout_Nhwc));

struct Image {
  int64_t batch, channels, height, width;
  Image(Value v, ir::ImageLayout layout) {
    ArrayRef<int64_t> s = ShapeOf(v);
    bool nchw = layout == ir::ImageLayout::nchw;
    batch = s[0], channels = s[nchw ? 1 : 3], height = s[nchw ? 2 : 1], width = s[nchw ? 3 : 2];
  }
};

absl::StatusOr<LibraryStep> LowerMatmul(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto matmul = llvm::cast<ir::MatmulOp>(op);
  ArrayRef<int64_t> a = ShapeOf(matmul.getA()), result = ShapeOf(matmul.getResult());
  int64_t batch = 1, m = result[result.size() - 2], n = result.back();
  int64_t k = matmul.getTransposeA() ? a[a.size() - 2] : a.back();
  for (int64_t size : result.drop_back(2)) batch *= size;
  auto body = fb::CreateMatmulStep(
      builder, batch, m, n, k, matmul.getTransposeA(), matmul.getTransposeB(), DTypeOf(matmul.getA()),
      static_cast<fb::Activation>(matmul.getActivation()), bool(matmul.getBias()));
  return LibraryStep{fb::StepBody_MatmulStep, body.Union(), 2.0 * batch * m * n * k};
}

template <typename Op>
LibraryStep Convolution(Op op, fb::ConvKind kind, Value in, Value out, Value weights, bool has_bias,
                        FlatBufferBuilder& builder) {
  Image from(in, op.getLayout()), to(out, op.getLayout());
  ArrayRef<int64_t> kernel = ShapeOf(weights).drop_front(2);
  auto in_size = Numbers(builder, {from.height, from.width}),
       out_size = Numbers(builder, {to.height, to.width});
  auto kernel_size = Numbers(builder, kernel), strides = Numbers(builder, op.getStrides());
  auto padding = Numbers(builder, op.getPadding()), dilations = Numbers(builder, op.getDilations());
  auto body = fb::CreateConvStep(builder, kind, static_cast<fb::ImageLayout>(op.getLayout()), DTypeOf(in),
                                 from.batch, from.channels, to.channels, in_size, out_size, kernel_size,
                                 strides, padding, dilations, op.getGroups(),
                                 static_cast<fb::Activation>(op.getActivation()), has_bias);
  double flops = 2.0 * to.batch * to.channels * to.height * to.width * (from.channels / op.getGroups()) *
                 kernel[0] * kernel[1];
  return {fb::StepBody_ConvStep, body.Union(), flops};
}

absl::StatusOr<LibraryStep> LowerConv2d(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto conv = llvm::cast<ir::Conv2dOp>(op);
  return Convolution(conv, fb::ConvKind_Forward, conv.getX(), conv.getResult(), conv.getWeights(),
                     bool(conv.getBias()), builder);
}
absl::StatusOr<LibraryStep> LowerConv2dInputGrad(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto conv = llvm::cast<ir::Conv2dInputGradOp>(op);
  return Convolution(conv, fb::ConvKind_InputGrad, conv.getResult(), conv.getG(), conv.getWeights(), false,
                     builder);
}
absl::StatusOr<LibraryStep> LowerConv2dWeightGrad(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto conv = llvm::cast<ir::Conv2dWeightGradOp>(op);
  return Convolution(conv, fb::ConvKind_WeightGrad, conv.getX(), conv.getG(), conv.getResult(), false,
                     builder);
}

template <typename Op>
LibraryStep Pooling(Op op, fb::PoolKind kind, Value unpooled, Value pooled, FlatBufferBuilder& builder) {
  Image large(unpooled, op.getLayout()), small(pooled, op.getLayout());
  auto in_size = Numbers(builder, {large.height, large.width});
  auto out_size = Numbers(builder, {small.height, small.width});
  auto window = Numbers(builder, op.getWindow()), strides = Numbers(builder, op.getStrides());
  auto padding = Numbers(builder, op.getPadding());
  auto body =
      fb::CreatePoolStep(builder, kind, static_cast<fb::ImageLayout>(op.getLayout()), DTypeOf(unpooled),
                         large.batch, large.channels, in_size, out_size, window, strides, padding);
  double flops =
      1.0 * small.batch * small.channels * small.height * small.width * op.getWindow()[0] * op.getWindow()[1];
  return {fb::StepBody_PoolStep, body.Union(), flops};
}

absl::StatusOr<LibraryStep> LowerMaxPool(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto pool = llvm::cast<ir::MaxPool2dOp>(op);
  return Pooling(pool, fb::PoolKind_Max, pool.getX(), pool.getResult(), builder);
}
absl::StatusOr<LibraryStep> LowerMaxPoolGrad(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto pool = llvm::cast<ir::MaxPool2dGradOp>(op);
  return Pooling(pool, fb::PoolKind_MaxGrad, pool.getResult(), pool.getG(), builder);
}
absl::StatusOr<LibraryStep> LowerAvgPool(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto pool = llvm::cast<ir::AvgPool2dOp>(op);
  return Pooling(pool, fb::PoolKind_Avg, pool.getX(), pool.getResult(), builder);
}
absl::StatusOr<LibraryStep> LowerAvgPoolGrad(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto pool = llvm::cast<ir::AvgPool2dGradOp>(op);
  return Pooling(pool, fb::PoolKind_AvgGrad, pool.getResult(), pool.getG(), builder);
}

}  // namespace

void PopulateLinearLowerings(LibraryLowerings& lowerings) {
  lowerings.Add<ir::MatmulOp>(LowerMatmul);
  lowerings.Add<ir::Conv2dOp>(LowerConv2d);
  lowerings.Add<ir::Conv2dInputGradOp>(LowerConv2dInputGrad);
  lowerings.Add<ir::Conv2dWeightGradOp>(LowerConv2dWeightGrad);
  lowerings.Add<ir::MaxPool2dOp>(LowerMaxPool);
  lowerings.Add<ir::MaxPool2dGradOp>(LowerMaxPoolGrad);
  lowerings.Add<ir::AvgPool2dOp>(LowerAvgPool);
  lowerings.Add<ir::AvgPool2dGradOp>(LowerAvgPoolGrad);
}

}  // namespace sinter::codegen
