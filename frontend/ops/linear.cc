// Matmuls, convolutions and pooling of the builder.
#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/broadcasting.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/literals.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/kernels/image_geometry.h"

namespace sinter {

namespace {

// Kernels support no larger images, windows, strides or paddings. Up to this bound the sums below fit in 64
// bits.
constexpr int64_t kLargest = (int64_t{1} << 31) - 1;

// True if all numbers are from `least` to kLargest; else keeps an error.
bool CheckWindow(Call& call, std::string_view what, llvm::ArrayRef<int64_t> numbers, int64_t least) {
  for (int64_t n : numbers) {
    if (n >= least && n <= kLargest) continue;
    call.Fail(absl::StrCat("needs ", std::string(what), " from ", least, " to ", kLargest, ", got ", n));
    return false;
  }
  return true;
}

std::string Pair(int64_t h, int64_t w) { return absl::StrCat(h, "x", w); }

// Returns the leading dimensions of `shape`, without the last two.
Shape BatchOf(const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); }

Shape WithMatrix(Shape batch, const Shape& from) {
  batch.insert(batch.end(), from.end() - 2, from.end());
  return batch;
}

// Returns the output height and width of a pooling window; nullopt, with an error kept, if it does not fit.
std::optional<std::array<int64_t, 2>> PoolSize(Call& call, const Tensor& x,
                                               const std::array<int64_t, 2>& window,
                                               const std::array<int64_t, 2>& strides,
                                               const std::array<int64_t, 4>& padding) {
  if (x.rank() != 4 || !IsFloat(x.dtype())) {
    call.Fail("takes float images of shape [N, C, H, W]");
    return std::nullopt;
  }
  if (!CheckWindow(call, "windows", window, 1) || !CheckWindow(call, "strides", strides, 1) ||
      !CheckWindow(call, "images of sizes", x.shape(), 0)) {
    return std::nullopt;
  }
  for (int i = 0; i < 4; ++i) {
    if (padding[i] < 0 || padding[i] >= window[i / 2]) {
      call.Fail(absl::StrCat("needs paddings of at least 0 and less than the window, got ", padding[i]));
      return std::nullopt;
    }
  }
  std::array<int64_t, 2> size;
  for (int i = 0; i < 2; ++i) {
    size[i] =
        kernels::WindowPositions(x.dim(2 + i), padding[2 * i], padding[2 * i + 1], window[i], strides[i]);
  }
  if (size[0] < 1 || size[1] < 1) {
    call.Fail(absl::StrCat("has a window of ", Pair(window[0], window[1]),
                           " over padded images smaller than that"));
    return std::nullopt;
  }
  return size;
}

std::array<int64_t, 2> StridesOr(const std::array<int64_t, 2>& strides,
                                 const std::array<int64_t, 2>& window) {
  return strides == std::array<int64_t, 2>{0, 0} ? window : strides;
}

}  // namespace

Tensor MatMul(const Tensor& a, const Tensor& b, MatMulOptions options, Where where) {
  Call call("MatMul", where, {a, b});
  if (!call.ok()) return {};
  if (a.dtype() != b.dtype()) return call.Fail(MixedTypes(a.dtype(), b.dtype()));
  if (!IsFloat(a.dtype())) return call.Fail("takes floats; Cast(x, F32) first");
  if (a.rank() < 2 || b.rank() < 2)
    return call.Fail("takes tensors of rank 2 or more; ExpandDims adds a dimension");
  Shape sa = a.shape(), sb = b.shape();
  int64_t m = a.dim(options.transpose_a ? -1 : -2), ka = a.dim(options.transpose_a ? -2 : -1);
  int64_t kb = b.dim(options.transpose_b ? -1 : -2), n = b.dim(options.transpose_b ? -2 : -1);
  if (ka != kb) {
    std::string hint;
    if (a.dim(-1) == b.dim(-1) && !options.transpose_b) hint = "; did you mean transpose_b?";
    if (a.dim(-2) == b.dim(-2) && !options.transpose_a && hint.empty()) hint = "; did you mean transpose_a?";
    return call.Fail(absl::StrCat("has inner sizes ", ka, " and ", kb, ", which must be equal", hint));
  }
  std::optional<Shape> batch = BroadcastShapes({BatchOf(sa), BatchOf(sb)});
  if (!batch) return call.Fail("takes leading dimensions that broadcast");
  ir::GraphBuilder& g = call.b();
  Shape shape = *batch, batch_a = WithMatrix(*batch, sa), batch_b = WithMatrix(*batch, sb);
  shape.insert(shape.end(), {m, n});
  for (const Shape& s : {shape, batch_a, batch_b}) {
    if (!call.CheckShape(a.dtype(), s)) return {};
  }
  ir::Expr xa = BroadcastExpr(g, call.expr(0), batch_a);
  ir::Expr xb = BroadcastExpr(g, call.expr(1), batch_b);
  mlir::Value result = g.builder().create<ir::MatmulOp>(
      call.loc(), call.type(a.dtype(), shape), xa.value, xb.value, mlir::Value(), options.transpose_a,
      options.transpose_b, ir::Activation::none, static_cast<ir::MathMode>(options.math));
  return call.Done(result);
}

Tensor Conv2d(const Tensor& x, const Tensor& weights, const Conv2dOptions& options, Where where) {
  Call call("Conv2d", where, {x, weights});
  if (!call.ok()) return {};
  if (x.rank() != 4) return call.Fail("takes images of shape [N, C, H, W]");
  if (weights.rank() != 4) return call.Fail("takes weights of shape [C_out, C_in / groups, kh, kw]");
  if (!IsFloat(x.dtype()) || x.dtype() != weights.dtype())
    return call.Fail("takes floats of one element type");
  int64_t groups = options.groups;
  if (groups < 1 || x.dim(1) % groups != 0 || weights.dim(0) % groups != 0) {
    return call.Fail(absl::StrCat("has ", groups, " groups, which must divide ", x.dim(1), " input and ",
                                  weights.dim(0), " output channels"));
  }
  if (x.dim(1) / groups != weights.dim(1)) {
    return call.Fail(absl::StrCat("has images of ", x.dim(1), " channels in ", groups,
                                  " groups and weights for ", weights.dim(1),
                                  "; they must be equal a group"));
  }
  if (!CheckWindow(call, "strides", options.strides, 1) ||
      !CheckWindow(call, "dilations", options.dilations, 1) ||
      !CheckWindow(call, "paddings", options.padding, 0) ||
      !CheckWindow(call, "images of sizes", x.shape(), 0) ||
      !CheckWindow(call, "weights of sizes", weights.shape(), 0)) {
    return {};
  }
  Shape shape = {x.dim(0), weights.dim(0)};
  for (int i = 0; i < 2; ++i) {
    int64_t size = kernels::WindowPositions(x.dim(2 + i), options.padding[2 * i], options.padding[2 * i + 1],
                                            kernels::WindowExtent(weights.dim(2 + i), options.dilations[i]),
                                            options.strides[i]);
    if (size < 1 || weights.dim(2 + i) < 1) {
      return call.Fail(absl::StrCat("has a window of ", Pair(weights.dim(2), weights.dim(3)),
                                    " that does not fit images of ", Pair(x.dim(2), x.dim(3))));
    }
    shape.push_back(size);
  }
  mlir::OpBuilder& builder = call.b().builder();
  auto* context = builder.getContext();
  mlir::Value result = builder.create<ir::Conv2dOp>(
      call.loc(), call.type(x.dtype(), shape), call.value(0), call.value(1), mlir::Value(),
      builder.getDenseI64ArrayAttr(options.strides), builder.getDenseI64ArrayAttr(options.padding),
      builder.getDenseI64ArrayAttr(options.dilations), builder.getI64IntegerAttr(groups),
      ir::ImageLayoutAttr::get(context, ir::ImageLayout::nchw),
      ir::ActivationAttr::get(context, ir::Activation::none),
      ir::MathModeAttr::get(context, static_cast<ir::MathMode>(options.math)));
  return call.Done(result);
}

Tensor MaxPool2d(const Tensor& x, std::array<int64_t, 2> window, const Pool2dOptions& options, Where where) {
  Call call("MaxPool2d", where, {x});
  if (!call.ok()) return {};
  auto strides = StridesOr(options.strides, window);
  auto size = PoolSize(call, x, window, strides, options.padding);
  if (!size) return {};
  if (window[0] * window[1] > 256) return call.Fail("has a window of more than 256 elements");
  Shape shape = {x.dim(0), x.dim(1), (*size)[0], (*size)[1]};
  mlir::OpBuilder& builder = call.b().builder();
  auto op = builder.create<ir::MaxPool2dOp>(
      call.loc(), call.type(x.dtype(), shape), call.type(DType::kU8, shape), call.value(0),
      builder.getDenseI64ArrayAttr(window), builder.getDenseI64ArrayAttr(strides),
      builder.getDenseI64ArrayAttr(options.padding),
      ir::ImageLayoutAttr::get(builder.getContext(), ir::ImageLayout::nchw));
  return call.Done(op.getResult());
}

Tensor AvgPool2d(const Tensor& x, std::array<int64_t, 2> window, const Pool2dOptions& options, Where where) {
  Call call("AvgPool2d", where, {x});
  if (!call.ok()) return {};
  auto strides = StridesOr(options.strides, window);
  auto size = PoolSize(call, x, window, strides, options.padding);
  if (!size) return {};
  mlir::OpBuilder& builder = call.b().builder();
  mlir::Value result = builder.create<ir::AvgPool2dOp>(
      call.loc(), call.type(x.dtype(), {x.dim(0), x.dim(1), (*size)[0], (*size)[1]}), call.value(0),
      builder.getDenseI64ArrayAttr(window), builder.getDenseI64ArrayAttr(strides),
      builder.getDenseI64ArrayAttr(options.padding),
      ir::ImageLayoutAttr::get(builder.getContext(), ir::ImageLayout::nchw));
  return call.Done(result);
}

}  // namespace sinter
