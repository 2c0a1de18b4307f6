#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"
#include "sinter/ir/library/image_sizes.h"
#include "sinter/ir/library/linear_checks.h"
#include "sinter/kernels/image_geometry.h"

// clang-format off: the enums come after the header that declares them.
#include "ir/linear_enums.cc.inc"
// clang-format on
#define GET_OP_CLASSES
#include "ir/linear_ops.cc.inc"

namespace sinter::ir {

using kernels::WindowExtent;
using kernels::WindowPositions;
using llvm::ArrayRef;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::Value;

void AddLinearOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/linear_ops.cc.inc"
      >();
}

int64_t ChannelDim(ImageLayout layout) { return layout == ImageLayout::nhwc ? 3 : 1; }

std::string SizesText(ArrayRef<int64_t> sizes) {
  std::string text = "[";
  for (auto [i, size] : llvm::enumerate(sizes)) text += (i == 0 ? "" : ", ") + std::to_string(size);
  return text + "]";
}

LogicalResult CheckActivation(mlir::Operation* op, Activation activation, MathMode math, mlir::Type element) {
  if (activation != Activation::none && !llvm::isa<mlir::FloatType>(element)) {
    return op->emitOpError() << "applies " << stringifyActivation(activation) << " to " << element
                             << "; expected a floating-point element type";
  }
  if (math != MathMode::ieee && !element.isF32()) {
    return op->emitOpError() << "has math mode " << stringifyMathMode(math) << " for " << element
                             << "; expected ieee, the other modes are for f32";
  }
  return mlir::success();
}

namespace {

// Bound of windows, strides and image sizes. Larger ones could overflow the size arithmetic, and no plan
// holds them.
constexpr int64_t kLargest = (int64_t{1} << 31) - 1;

LogicalResult CheckList(mlir::Operation* op, llvm::StringRef name, ArrayRef<int64_t> values, size_t size,
                        int64_t least) {
  auto bad = [&](int64_t v) { return v < least || v > kLargest; };
  if (values.size() == size && llvm::none_of(values, bad)) return mlir::success();
  return op->emitOpError() << "has " << name << " " << SizesText(values) << "; expected " << size
                           << (size == 4 ? " numbers [top, bottom, left, right]" : " numbers [height, width]")
                           << " from " << least << " to " << kLargest;
}

LogicalResult CheckElements(mlir::Operation* op, mlir::Type expected) {
  auto check = [&](llvm::StringRef what, unsigned i, mlir::Type type) -> LogicalResult {
    mlir::Type element = llvm::cast<RankedTensorType>(type).getElementType();
    if (element == expected) return mlir::success();
    return op->emitOpError() << "has " << what << " " << i << " of element type " << element << "; expected "
                             << expected << " as the first operand has";
  };
  for (auto [i, type] : llvm::enumerate(op->getOperandTypes())) {
    if (mlir::failed(check("operand", i, type))) return mlir::failure();
  }
  return check("result", 0, op->getResult(0).getType());
}

LogicalResult CheckRank(mlir::Operation* op, llvm::StringRef what, RankedTensorType type, int64_t rank) {
  if (type.getRank() != rank) {
    return op->emitOpError() << "has " << what << " of type " << type << "; expected rank " << rank;
  }
  if (llvm::any_of(type.getShape(), [](int64_t size) { return size > kLargest; })) {
    return op->emitOpError() << "has " << what << " of type " << type << "; expected dimensions up to "
                             << kLargest;
  }
  return mlir::success();
}

LogicalResult CheckImages(mlir::Operation* op, llvm::StringRef what, RankedTensorType type,
                          ImageLayout layout) {
  if (layout != ImageLayout::nchw16n) return CheckRank(op, what, type, 4);
  if (mlir::failed(CheckRank(op, what, type, 5))) return mlir::failure();
  if (type.getShape().back() != kImagesOfBlock || !type.getElementType().isF32()) {
    return op->emitOpError() << "has " << what << " of type " << type
                             << " in layout nchw16n; expected f32 and a last dimension of 16";
  }
  return mlir::success();
}

// Checks a convolution given its images, weights and outputs, for any of the three ops.
template <typename Op>
LogicalResult CheckConv(Op op, RankedTensorType images, RankedTensorType weights, RankedTensorType outputs) {
  if (mlir::failed(CheckImages(op, "images", images, op.getLayout())) ||
      mlir::failed(CheckRank(op, "weights", weights, 4)) ||
      mlir::failed(CheckImages(op, "outputs", outputs, op.getLayout())) ||
      mlir::failed(CheckList(op, "strides", op.getStrides(), 2, 1)) ||
      mlir::failed(CheckList(op, "padding", op.getPadding(), 4, 0)) ||
      mlir::failed(CheckList(op, "dilations", op.getDilations(), 2, 1)) ||
      mlir::failed(CheckElements(op, images.getElementType())) ||
      mlir::failed(CheckActivation(op, op.getActivation(), op.getMath(), images.getElementType()))) {
    return mlir::failure();
  }
  ImageSizes x(images.getShape(), op.getLayout()), y(outputs.getShape(), op.getLayout());
  ArrayRef<int64_t> w = weights.getShape(), pad = op.getPadding(), stride = op.getStrides(),
                    dilation = op.getDilations();
  int64_t groups = op.getGroups();
  if (groups < 1 || x.channels % groups != 0 || w[0] % groups != 0) {
    return op.emitOpError() << "has " << groups << " groups for " << x.channels << " input and " << w[0]
                            << " output channels; expected a number of groups that divides both";
  }
  if (w[1] != x.channels / groups) {
    return op.emitOpError() << "has weights " << SizesText(w) << " for images of " << x.channels
                            << " channels in " << groups << " groups; expected " << x.channels / groups
                            << " input channels, the second dimension";
  }
  if (w[2] < 1 || w[3] < 1) {
    return op.emitOpError() << "has weights " << SizesText(w) << "; expected a window of at least 1x1";
  }
  ImageSizes want = x;
  want.channels = w[0];
  want.height = WindowPositions(x.height, pad[0], pad[1], WindowExtent(w[2], dilation[0]), stride[0]);
  want.width = WindowPositions(x.width, pad[2], pad[3], WindowExtent(w[3], dilation[1]), stride[1]);
  if (want.height < 1 || want.width < 1) {
    return op.emitOpError() << "has a window " << w[2] << "x" << w[3] << " with dilations "
                            << SizesText(dilation) << " that does not fit into images of " << x.height << "x"
                            << x.width << " with padding " << SizesText(pad);
  }
  if (y.shape(op.getLayout()) != want.shape(op.getLayout())) {
    return op.emitOpError() << "relates images " << SizesText(images.getShape()) << " and weights "
                            << SizesText(w) << " to outputs " << SizesText(outputs.getShape())
                            << "; expected outputs " << SizesText(want.shape(op.getLayout()));
  }
  return mlir::success();
}

template <typename Op>
LogicalResult CheckPool(Op op, RankedTensorType images, RankedTensorType outputs) {
  if (mlir::failed(CheckImages(op, "images", images, op.getLayout())) ||
      mlir::failed(CheckImages(op, "outputs", outputs, op.getLayout())) ||
      mlir::failed(CheckList(op, "window", op.getWindow(), 2, 1)) ||
      mlir::failed(CheckList(op, "strides", op.getStrides(), 2, 1)) ||
      mlir::failed(CheckList(op, "padding", op.getPadding(), 4, 0))) {
    return mlir::failure();
  }
  if (images.getElementType() != outputs.getElementType()) {
    return op.emitOpError() << "relates images of " << images.getElementType() << " to outputs of "
                            << outputs.getElementType() << "; expected one element type";
  }
  ArrayRef<int64_t> window = op.getWindow(), pad = op.getPadding(), stride = op.getStrides();
  // A window fully inside the padding would have no largest element.
  if (std::max(pad[0], pad[1]) >= window[0] || std::max(pad[2], pad[3]) >= window[1]) {
    return op.emitOpError() << "has padding " << SizesText(pad) << " for a window of " << SizesText(window)
                            << "; expected padding smaller than the window";
  }
  ImageSizes x(images.getShape(), op.getLayout()), y(outputs.getShape(), op.getLayout());
  ImageSizes want = x;
  want.height = WindowPositions(x.height, pad[0], pad[1], window[0], stride[0]);
  want.width = WindowPositions(x.width, pad[2], pad[3], window[1], stride[1]);
  if (want.height < 1 || want.width < 1) {
    return op.emitOpError() << "has a window " << SizesText(window) << " that does not fit into images of "
                            << x.height << "x" << x.width << " with padding " << SizesText(pad);
  }
  if (y.shape(op.getLayout()) != want.shape(op.getLayout())) {
    return op.emitOpError() << "relates images " << SizesText(images.getShape()) << " to outputs "
                            << SizesText(outputs.getShape()) << "; expected outputs "
                            << SizesText(want.shape(op.getLayout()));
  }
  return mlir::success();
}

// Positions are stored in 8 bits.
template <typename Op>
LogicalResult CheckPositions(Op op, RankedTensorType outputs) {
  ArrayRef<int64_t> window = op.getWindow();
  if (window[0] > 256 || window[1] > 256 || window[0] * window[1] > 256) {
    return op.emitOpError() << "has a window of " << SizesText(window) << "; expected at most 256 elements";
  }
  if (op.getPosition().getType().getShape() != outputs.getShape()) {
    return op.emitOpError() << "has positions of shape " << SizesText(op.getPosition().getType().getShape())
                            << "; expected " << SizesText(outputs.getShape());
  }
  return mlir::success();
}

}  // namespace

// conv2d
// -----------------------------------------------------------------------------------------------------------

LogicalResult Conv2dOp::verify() {
  if (mlir::failed(CheckConv(*this, getX().getType(), getWeights().getType(), getResult().getType()))) {
    return mlir::failure();
  }
  int64_t channels = getWeights().getType().getDimSize(0);
  if (getBias() && getBias().getType().getShape() != ArrayRef<int64_t>({channels})) {
    return emitOpError() << "has a bias of shape " << SizesText(getBias().getType().getShape())
                         << "; expected [" << channels << "]";
  }
  if (getLayout() == ImageLayout::nchw16n && getActivation() != Activation::none &&
      getActivation() != Activation::relu) {
    return emitOpError() << "applies " << stringifyActivation(getActivation())
                         << " in layout nchw16n; expected relu or none";
  }
  return mlir::success();
}

LogicalResult Conv2dInputGradOp::verify() {
  if (getActivation() != Activation::none)
    return emitOpError("has an activation; expected none on a gradient");
  return CheckConv(*this, getResult().getType(), getWeights().getType(), getG().getType());
}

LogicalResult Conv2dWeightGradOp::verify() {
  if (getActivation() != Activation::none)
    return emitOpError("has an activation; expected none on a gradient");
  return CheckConv(*this, getX().getType(), getResult().getType(), getG().getType());
}

namespace {

// Creates another op of the same convolution as `like`. Each of the three ops is linear in both operands; its
// gradients are the other two.
template <typename Op, typename Like>
Expr SameConv(Like like, mlir::Type type, Expr x, Expr y) {
  GraphBuilder& b = *x.builder;
  mlir::OperationState state(b.loc(), Op::getOperationName());
  state.addOperands({x.value, y.value});
  state.addTypes(type);
  for (auto attribute : like->getAttrs()) {
    if (attribute.getName() != like.getActivationAttrName()) state.attributes.push_back(attribute);
  }
  return b.wrap(b.builder().create(state)->getResult(0));
}

}  // namespace

llvm::SmallVector<Expr> Conv2dOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr g = output_gradients[0], x = b.wrap(getX()), w = b.wrap(getWeights());
  llvm::SmallVector<Expr> gradients = {SameConv<Conv2dInputGradOp>(*this, x.type(), g, w),
                                       SameConv<Conv2dWeightGradOp>(*this, w.type(), x, g)};
  if (getBias()) {
    llvm::SmallVector<int64_t> dims = {0, 2, 3};
    if (getLayout() == ImageLayout::nhwc) dims = {0, 1, 2};
    if (getLayout() == ImageLayout::nchw16n) dims = {0, 2, 3, 4};
    gradients.push_back(b.sum(g, dims));
  }
  return gradients;
}

llvm::SmallVector<Expr> Conv2dInputGradOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr u = output_gradients[0], g = b.wrap(getG()), w = b.wrap(getWeights());
  return {SameConv<Conv2dOp>(*this, g.type(), u, w), SameConv<Conv2dWeightGradOp>(*this, w.type(), u, g)};
}

llvm::SmallVector<Expr> Conv2dWeightGradOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  Expr u = output_gradients[0], x = b.wrap(getX()), g = b.wrap(getG());
  return {SameConv<Conv2dInputGradOp>(*this, x.type(), g, u), SameConv<Conv2dOp>(*this, g.type(), x, u)};
}

// Pools
// -----------------------------------------------------------------------------------------------------------

LogicalResult MaxPool2dOp::verify() {
  if (mlir::failed(CheckPool(*this, getX().getType(), getResult().getType()))) return mlir::failure();
  return CheckPositions(*this, getResult().getType());
}

LogicalResult MaxPool2dGradOp::verify() {
  if (mlir::failed(CheckPool(*this, getResult().getType(), getG().getType()))) return mlir::failure();
  return CheckPositions(*this, getG().getType());
}

LogicalResult AvgPool2dOp::verify() { return CheckPool(*this, getX().getType(), getResult().getType()); }
LogicalResult AvgPool2dGradOp::verify() { return CheckPool(*this, getResult().getType(), getG().getType()); }

llvm::SmallVector<Expr> MaxPool2dOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  if (!output_gradients[0]) return {Expr()};
  return {b.wrap(b.builder().create<MaxPool2dGradOp>(b.loc(), getX().getType(), output_gradients[0].value,
                                                     getPosition(), getWindow(), getStrides(), getPadding(),
                                                     getLayout()))};
}

llvm::SmallVector<Expr> AvgPool2dOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  return {b.wrap(b.builder().create<AvgPool2dGradOp>(b.loc(), getX().getType(), output_gradients[0].value,
                                                     getWindow(), getStrides(), getPadding(), getLayout()))};
}

llvm::SmallVector<Expr> AvgPool2dGradOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  return {b.wrap(b.builder().create<AvgPool2dOp>(b.loc(), getG().getType(), output_gradients[0].value,
                                                 getWindow(), getStrides(), getPadding(), getLayout()))};
}

}  // namespace sinter::ir
