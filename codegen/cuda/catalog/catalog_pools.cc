// Pooling and its gradients: kernels/cuda/pool.cuh.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "llvm/Support/MathExtras.h"
#include "sinter/codegen/cuda/catalog/catalog_text.h"
#include "sinter/codegen/cuda/gpu_units.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/kernels/cuda/embedded_cuda.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

using mlir::Value;

namespace {

// A thread computes several elements only if this many threads remain: about 500 for each multiprocessor of a
// large GPU.
constexpr int64_t kPoolThreads = 1 << 16;
// Fewest elements of a window for each of several threads that share it.
constexpr int64_t kOwnElements = 4;
// Limits of what a thread keeps in registers: elements of a line of windows, and of whole windows.
constexpr int64_t kMostLine = 24, kMostRunElements = 128;

// Images as [planes, height, width, lanes].
struct PoolShape {
  int64_t planes, lanes, in_h, in_w, out_h, out_w, elements;
  llvm::ArrayRef<int64_t> window, strides, padding;
  mlir::Type element;

  template <typename Op>
  PoolShape(Op op, Value unpooled, Value pooled, bool of_pooled)
      : window(op.getWindow()), strides(op.getStrides()), padding(op.getPadding()) {
    llvm::ArrayRef<int64_t> in = ir::TypeOf(unpooled).getShape(), out = ir::TypeOf(pooled).getShape();
    const bool last = op.getLayout() == ir::ImageLayout::nhwc;
    planes = last ? in[0] : in[0] * in[1];
    lanes = last ? in[3] : 1;
    in_h = in[last ? 1 : 2], in_w = in[last ? 2 : 3];
    out_h = out[last ? 1 : 2], out_w = out[last ? 2 : 3];
    element = ir::TypeOf(unpooled).getElementType();
    elements = ir::TypeOf(of_pooled ? pooled : unpooled).getNumElements();
  }

  int64_t window_elements() const { return window[0] * window[1]; }
  // True if no window reaches into padding.
  bool is_inside() const {
    return padding[0] == 0 && padding[2] == 0 && (out_h - 1) * strides[0] + window[0] <= in_h &&
           (out_w - 1) * strides[1] + window[1] <= in_w;
  }
  bool fits_index32() const {
    const int64_t largest =
        std::max({in_h + padding[0] + padding[1] + window[0] + strides[0],
                  in_w + padding[2] + padding[3] + window[1] + strides[1], window_elements(),
                  planes * lanes * in_h * in_w, planes * lanes * out_h * out_w});
    return FitsIndex32(largest);
  }
};

// Returns the neighbouring channels that a thread computes.
int64_t VectorOf(const PoolShape& shape) {
  int64_t vector = kAccessBytes / ir::ElementBytes(shape.element);
  while (vector > 1 && (shape.lanes % vector != 0 || shape.elements / vector < kPoolThreads)) vector /= 2;
  return vector;
}

// Returns the elements that a thread of a run reads at once: lines and runs start at multiples of them.
int64_t WideOf(const PoolShape& shape, int64_t run) {
  if (shape.out_w % run != 0) return 1;
  int64_t wide = kAccessBytes / ir::ElementBytes(shape.element);
  while (shape.in_w % wide != 0 || run * shape.strides[1] % wide != 0) wide /= 2;
  return wide;
}

// Returns the neighbouring pixels of a line of nchw that a thread computes: of the pooled image, or of the
// gradient. Runs that fill lines read or write several elements at once. Others are short, so that the
// threads of a warp read neighbouring elements.
int64_t RunOf(const PoolShape& shape, bool of_pooled) {
  if (shape.lanes != 1 || (of_pooled && !shape.is_inside())) return 1;
  const int64_t width = of_pooled ? shape.out_w : shape.in_w, bytes = ir::ElementBytes(shape.element);
  const auto fits = [&](int64_t run) {
    const int64_t runs = llvm::divideCeilSigned(width, run);
    if (run > width || shape.elements / width * runs < kPoolThreads) return false;
    if (!of_pooled) return run * ((run + shape.window[1] - 2) / shape.strides[1] + 1) <= kMostRunElements;
    return (run - 1) * shape.strides[1] + shape.window[1] <= kMostLine &&
           run * shape.window_elements() <= kMostRunElements;
  };
  for (int64_t run = std::min<int64_t>(of_pooled ? 8 : 4, kAccessBytes / bytes); run > 1; run /= 2) {
    if (width % run == 0 && fits(run) && (!of_pooled || WideOf(shape, run) > 1)) return run;
  }
  const int64_t run = 8 / bytes;
  const bool wastes_little = 4 * llvm::divideCeilSigned(width, run) * run <= 5 * width;
  return run > 1 && wastes_little && fits(run) ? run : 1;
}

// Returns the threads that share a window. Only large windows are shared, and only if lanes do not hold
// neighbouring channels, which would make the reads efficient.
int64_t ShareOf(const PoolShape& shape) {
  int64_t share = 1;
  while (shape.lanes == 1 && share < kWarp && share * 2 * kOwnElements <= shape.window_elements()) share *= 2;
  return share;
}

CatalogText TextOf(const PoolShape& shape, int64_t vector, int64_t run, int64_t units, int64_t share) {
  CatalogText text(shape.fits_index32() && FitsIndex32(units * share));
  text.Type("E", ElementName(shape.element));
  text.Number("kInH", shape.in_h).Number("kInW", shape.in_w);
  text.Number("kOutH", shape.out_h).Number("kOutW", shape.out_w).Number("kLanes", shape.lanes);
  text.Number("kWindowH", shape.window[0]).Number("kWindowW", shape.window[1]);
  text.Number("kWindowElements", shape.window_elements());
  text.Number("kStrideH", shape.strides[0]).Number("kStrideW", shape.strides[1]);
  text.Number("kPadTop", shape.padding[0]).Number("kPadLeft", shape.padding[2]);
  text.Number("kVector", vector).Number("kRun", run).Number("kWide", WideOf(shape, run));
  text.Number("kShare", share).Number("kUnits", units);
  text.Append(kernels::CudaText("pool"));
  return text;
}

// `function` of the text takes the operands, then the results.
template <typename Op>
absl::StatusOr<CudaCatalogCall> LowerPool(Op op, Value unpooled, Value pooled, bool of_pooled,
                                          std::string function) {
  if (op.getLayout() == ir::ImageLayout::nchw16n) {
    return absl::UnimplementedError(absl::StrCat(
        UserLine(op.getLoc()), ": ", op->getName().getStringRef().str(),
        " in layout nchw16n has no kernel for GPUs; expected nchw or nhwc, nchw16n is for CPUs"));
  }
  CudaCatalogCall call;
  PoolShape shape(op, unpooled, pooled, of_pooled);
  if (shape.elements == 0) return call;
  const int64_t vector = VectorOf(shape);
  const int64_t run = RunOf(shape, of_pooled);
  const int64_t share = run == 1 && llvm::isa<ir::AvgPool2dOp>(op) ? ShareOf(shape) : 1;
  if (share > 1) function = "AvgPoolShared";
  if (run > 1 && of_pooled) absl::StrAppend(&function, "Run");
  std::vector<CatalogArgument> inputs = {{In(op, 0), "const Storage"}};
  if (op->getNumOperands() > 1) inputs.push_back({In(op, 1), "const u8"});
  std::vector<CatalogArgument> outputs = {{Out(op, 0), "Storage"}};
  if (op->getNumResults() > 1) outputs.push_back({Out(op, 1), "u8"});
  std::string arguments = "$0";
  for (size_t i = 1; i < inputs.size() + outputs.size(); ++i) absl::StrAppend(&arguments, ", $", i);
  const int64_t width = of_pooled ? shape.out_w : shape.in_w;
  const int64_t units =
      run > 1 ? shape.elements / width * llvm::divideCeilSigned(width, run) : shape.elements / vector;
  const int64_t threads = units * share;
  call.launches.push_back(TextOf(shape, vector, run, units, share)
                              .Launch(op->getName().stripDialect().str(),
                                      absl::StrCat(function, "(", arguments, ")"), inputs, outputs,
                                      llvm::divideCeilSigned(threads, kCatalogBlock), kCatalogBlock));
  call.flops = 1.0 * ir::TypeOf(pooled).getNumElements() * shape.window_elements();
  SINTER_RETURN_IF_ERROR(CheckGrids(op, call));
  return call;
}

absl::StatusOr<CudaCatalogCall> LowerMaxPool(mlir::Operation* op) {
  auto pool = llvm::cast<ir::MaxPool2dOp>(op);
  return LowerPool(pool, pool.getX(), pool.getResult(), /*of_pooled=*/true, "MaxPool");
}
absl::StatusOr<CudaCatalogCall> LowerMaxPoolGrad(mlir::Operation* op) {
  auto pool = llvm::cast<ir::MaxPool2dGradOp>(op);
  return LowerPool(pool, pool.getResult(), pool.getG(), /*of_pooled=*/false, "MaxPoolGrad");
}
absl::StatusOr<CudaCatalogCall> LowerAvgPool(mlir::Operation* op) {
  auto pool = llvm::cast<ir::AvgPool2dOp>(op);
  return LowerPool(pool, pool.getX(), pool.getResult(), /*of_pooled=*/true, "AvgPool");
}
absl::StatusOr<CudaCatalogCall> LowerAvgPoolGrad(mlir::Operation* op) {
  auto pool = llvm::cast<ir::AvgPool2dGradOp>(op);
  return LowerPool(pool, pool.getResult(), pool.getG(), /*of_pooled=*/false, "AvgPoolGrad");
}

}  // namespace

void AddPoolKernels(CudaCatalog& catalog) {
  catalog.Add<ir::MaxPool2dOp>(LowerMaxPool);
  catalog.Add<ir::MaxPool2dGradOp>(LowerMaxPoolGrad);
  catalog.Add<ir::AvgPool2dOp>(LowerAvgPool);
  catalog.Add<ir::AvgPool2dGradOp>(LowerAvgPoolGrad);
}

}  // namespace sinter::codegen
