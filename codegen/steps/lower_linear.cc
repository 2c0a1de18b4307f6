// Lowers matmuls, convolutions and pooling to library calls.
// An op's math mode allows a library to be less exact than the element type. The CPU always computes in full
// precision.
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/codegen/steps/lowering.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/library/image_sizes.h"
#include "sinter/ir/library/matmul_sizes.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/kernels/cpu/images/batch_conv.h"
#include "sinter/kernels/cpu/math/activation.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

using flatbuffers::FlatBufferBuilder;
using ir::ShapeOf;
using llvm::ArrayRef;
using mlir::Value;

namespace {

fb::DType DTypeOf(Value v) { return codegen::DTypeOf(ir::TypeOf(v).getElementType()); }

auto Numbers(FlatBufferBuilder& builder, ArrayRef<int64_t> values) {
  return builder.CreateVector(values.data(), values.size());
}

// The enums of ir/library/linear_ops.td, of plan.fbs and of the kernels have the same cases with the same
// values.
struct SameActivation {
  ir::Activation op;
  fb::Activation plan;
  SnActivation kernel;
};
constexpr SameActivation kActivations[] = {
    {ir::Activation::none, fb::Activation::None, SN_NO_ACTIVATION},
    {ir::Activation::relu, fb::Activation::Relu, SN_RELU},
    {ir::Activation::gelu, fb::Activation::Gelu, SN_GELU},
    {ir::Activation::gelu_tanh, fb::Activation::GeluTanh, SN_GELU_TANH},
    {ir::Activation::sigmoid, fb::Activation::Sigmoid, SN_SIGMOID},
    {ir::Activation::tanh, fb::Activation::Tanh, SN_TANH},
    {ir::Activation::silu, fb::Activation::Silu, SN_SILU},
};
constexpr std::pair<ir::MathMode, fb::MathMode> kMathModes[] = {
    {ir::MathMode::ieee, fb::MathMode::Ieee},
    {ir::MathMode::tf32, fb::MathMode::Tf32},
    {ir::MathMode::bf16x3, fb::MathMode::Bf16x3},
};
constexpr std::pair<ir::ImageLayout, fb::ImageLayout> kImageLayouts[] = {
    {ir::ImageLayout::nchw, fb::ImageLayout::Nchw},
    {ir::ImageLayout::nhwc, fb::ImageLayout::Nhwc},
    {ir::ImageLayout::nchw16n, fb::ImageLayout::Nchw16n},
};

// Returns true if the list has all cases from 0 to `last`, each with its own number.
template <size_t kCases>
constexpr bool HasAll(const SameActivation (&list)[kCases], unsigned last) {
  for (size_t i = 0; i < kCases; ++i) {
    const SameActivation& same = list[i];
    if (static_cast<size_t>(same.op) != i || static_cast<size_t>(same.plan) != i ||
        static_cast<size_t>(same.kernel) != i)
      return false;
  }
  return kCases == last + 1;
}
template <typename Op, typename Plan, size_t kCases>
constexpr bool HasAll(const std::pair<Op, Plan> (&list)[kCases], unsigned last) {
  for (size_t i = 0; i < kCases; ++i) {
    if (static_cast<size_t>(list[i].first) != i || static_cast<size_t>(list[i].second) != i) return false;
  }
  return kCases == last + 1 && static_cast<size_t>(Plan::MAX) == last;
}
static_assert(HasAll(kActivations, ir::getMaxEnumValForActivation()) &&
              static_cast<unsigned>(fb::Activation::MAX) == ir::getMaxEnumValForActivation());
static_assert(HasAll(kMathModes, ir::getMaxEnumValForMathMode()));
static_assert(HasAll(kImageLayouts, ir::getMaxEnumValForImageLayout()));

// Returns the fields that all matmuls have; the other fields have their defaults.
template <typename Op>
fb::MatmulStepT MatmulTable(Op op) {
  const ir::MatmulSizes s = ir::MatmulSizes::Of(op);
  fb::MatmulStepT table;
  table.batch = s.batch, table.m = s.m, table.n = s.n, table.k = s.k;
  table.transpose_a = op.getTransposeA(), table.transpose_b = op.getTransposeB();
  table.dtype = DTypeOf(op.getA());
  const fb::DType of_result = DTypeOf(op.getResult());
  table.result_is_f32 = of_result != table.dtype && of_result == fb::DType::F32;
  table.result_is_i32 = of_result != table.dtype && of_result == fb::DType::I32;
  table.activation = static_cast<fb::Activation>(op.getActivation());
  table.math = static_cast<fb::MathMode>(op.getMath());
  return table;
}

LibraryStep Matmul(const fb::MatmulStepT& table, FlatBufferBuilder& builder) {
  return {.type = fb::StepBody::MatmulStep,
          .body = fb::CreateMatmulStep(builder, &table).Union(),
          .flops = 2.0 * table.batch * table.m * table.n * table.k,
          .content = {.wide_integer_matmul = table.result_is_i32,
                      .float8_matmul = table.scales != fb::MatmulScales::None}};
}

absl::StatusOr<LibraryStep> LowerMatmul(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto matmul = llvm::cast<ir::MatmulOp>(op);
  fb::MatmulStepT table = MatmulTable(matmul);
  table.has_bias = static_cast<bool>(matmul.getBias());
  table.has_addend = static_cast<bool>(matmul.getAddend());
  table.has_scale = static_cast<bool>(matmul.getScale());
  return Matmul(table, builder);
}

// Only if a library of the target has the gradient.
absl::StatusOr<LibraryStep> LowerMatmulGrad(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto gradient = llvm::cast<ir::MatmulGradOp>(op);
  fb::MatmulStepT table = MatmulTable(gradient);
  table.is_gradient = true;
  const std::string reason = TargetOf(op).libraries->againstMatmulGradient(
      ir::MatmulSizes::Of(gradient), gradient.getA().getType().getElementType(),
      gradient.getType().getElementType(), gradient.getActivation());
  if (reason.empty()) return Matmul(table, builder);
  return absl::UnimplementedError(absl::StrCat(UserLine(op->getLoc()), ": no library computes this ",
                                               op->getName().getStringRef().str(), " in one call: ", reason,
                                               "; decompose it before lower-to-plan"));
}

// Only if the target's library computes it; sinter-decompose leaves no others.
absl::StatusOr<LibraryStep> LowerScaledMatmul(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto product = llvm::cast<ir::ScaledMatmulOp>(op);
  if (const std::string reason = TargetOf(op).libraries->againstScaledMatmul(product); !reason.empty()) {
    return absl::UnimplementedError(absl::StrCat(UserLine(op->getLoc()),
                                                 ": no library computes this sinter.scaled_matmul: ", reason,
                                                 "; decompose it before lower-to-plan"));
  }
  fb::MatmulStepT table;
  table.batch = 1, table.m = product.getType().getDimSize(0), table.n = product.getType().getDimSize(1);
  table.k = product.getA().getType().getDimSize(1);
  table.transpose_b = true;
  table.dtype = DTypeOf(product.getA()), table.dtype_b = DTypeOf(product.getB());
  table.result_is_f32 = product.getType().getElementType().isF32();
  table.scales =
      product.getScaleA().getType().getRank() == 1 ? fb::MatmulScales::Rows : fb::MatmulScales::Tensors;
  table.fast_sums = product.getFast();
  return Matmul(table, builder);
}

template <typename Op>
LibraryStep Convolution(Op op, fb::ConvKind kind, Value in, Value out, Value weights, bool has_bias,
                        FlatBufferBuilder& builder) {
  const kernels::ConvGeometry g = ir::ConvGeometryOf(op, in, weights, out);
  auto in_size = Numbers(builder, {g.in_h, g.in_w}), out_size = Numbers(builder, {g.out_h, g.out_w});
  auto kernel_size = Numbers(builder, {g.kernel_h, g.kernel_w}), strides = Numbers(builder, op.getStrides());
  auto padding = Numbers(builder, op.getPadding()), dilations = Numbers(builder, op.getDilations());
  auto body = fb::CreateConvStep(
      builder, kind, static_cast<fb::ImageLayout>(op.getLayout()), DTypeOf(in), g.batch, g.in_channels,
      g.out_channels, in_size, out_size, kernel_size, strides, padding, dilations, g.groups,
      static_cast<fb::Activation>(op.getActivation()), has_bias, static_cast<fb::MathMode>(op.getMath()));
  return {fb::StepBody::ConvStep, body.Union(), g.flops()};
}

// OK if the target's library can apply the convolution's activation.
absl::Status CheckActivation(ir::Conv2dOp op) {
  const std::string reason = TargetOf(op).libraries->againstEpilogue(op, op.getActivation());
  if (reason.empty()) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat(UserLine(op->getLoc()), ": this convolution applies no ",
                   ir::stringifyActivation(op.getActivation()).str(), ": ", reason,
                   "; leave it out of the convolution and write it as an op behind it"));
}

absl::StatusOr<LibraryStep> LowerConv2d(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto conv = llvm::cast<ir::Conv2dOp>(op);
  SINTER_RETURN_IF_ERROR(CheckActivation(conv));
  return Convolution(conv, fb::ConvKind::Forward, conv.getX(), conv.getResult(), conv.getWeights(),
                     static_cast<bool>(conv.getBias()), builder);
}
absl::StatusOr<LibraryStep> LowerConv2dInputGrad(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto conv = llvm::cast<ir::Conv2dInputGradOp>(op);
  return Convolution(conv, fb::ConvKind::InputGrad, conv.getResult(), conv.getG(), conv.getWeights(), false,
                     builder);
}
absl::StatusOr<LibraryStep> LowerConv2dWeightGrad(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto conv = llvm::cast<ir::Conv2dWeightGradOp>(op);
  LibraryStep step =
      Convolution(conv, fb::ConvKind::WeightGrad, conv.getX(), conv.getG(), conv.getResult(), false, builder);
  if (conv.getLayout() == ir::ImageLayout::nchw16n) {
    const kernels::BatchConv batch{ir::ConvGeometryOf(conv, conv.getX(), conv.getResult(), conv.getG())};
    step.workspace_bytes = static_cast<int64_t>(kernels::BatchConvWeightGradWorkspaceBytes(batch));
  }
  return step;
}

template <typename Op>
LibraryStep Pooling(Op op, fb::PoolKind kind, Value unpooled, Value pooled, FlatBufferBuilder& builder) {
  const ir::ImageSizes large(unpooled, op.getLayout()), small(pooled, op.getLayout());
  auto in_size = Numbers(builder, {large.height, large.width});
  auto out_size = Numbers(builder, {small.height, small.width});
  auto window = Numbers(builder, op.getWindow()), strides = Numbers(builder, op.getStrides());
  auto padding = Numbers(builder, op.getPadding());
  auto body =
      fb::CreatePoolStep(builder, kind, static_cast<fb::ImageLayout>(op.getLayout()), DTypeOf(unpooled),
                         large.batch, large.channels, in_size, out_size, window, strides, padding);
  double flops =
      1.0 * small.batch * small.channels * small.height * small.width * op.getWindow()[0] * op.getWindow()[1];
  return {fb::StepBody::PoolStep, body.Union(), flops};
}

absl::StatusOr<LibraryStep> LowerMaxPool(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto pool = llvm::cast<ir::MaxPool2dOp>(op);
  return Pooling(pool, fb::PoolKind::Max, pool.getX(), pool.getResult(), builder);
}
absl::StatusOr<LibraryStep> LowerMaxPoolGrad(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto pool = llvm::cast<ir::MaxPool2dGradOp>(op);
  return Pooling(pool, fb::PoolKind::MaxGrad, pool.getResult(), pool.getG(), builder);
}
absl::StatusOr<LibraryStep> LowerAvgPool(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto pool = llvm::cast<ir::AvgPool2dOp>(op);
  return Pooling(pool, fb::PoolKind::Avg, pool.getX(), pool.getResult(), builder);
}
absl::StatusOr<LibraryStep> LowerAvgPoolGrad(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto pool = llvm::cast<ir::AvgPool2dGradOp>(op);
  return Pooling(pool, fb::PoolKind::AvgGrad, pool.getResult(), pool.getG(), builder);
}

}  // namespace

void PopulateLinearLowerings(LibraryLowerings& lowerings) {
  lowerings.Add<ir::MatmulOp>(LowerMatmul);
  lowerings.Add<ir::MatmulGradOp>(LowerMatmulGrad);
  lowerings.Add<ir::ScaledMatmulOp>(LowerScaledMatmul);
  lowerings.Add<ir::Conv2dOp>(LowerConv2d);
  lowerings.Add<ir::Conv2dInputGradOp>(LowerConv2dInputGrad);
  lowerings.Add<ir::Conv2dWeightGradOp>(LowerConv2dWeightGrad);
  lowerings.Add<ir::MaxPool2dOp>(LowerMaxPool);
  lowerings.Add<ir::MaxPool2dGradOp>(LowerMaxPoolGrad);
  lowerings.Add<ir::AvgPool2dOp>(LowerAvgPool);
  lowerings.Add<ir::AvgPool2dGradOp>(LowerAvgPoolGrad);
}

}  // namespace sinter::codegen
