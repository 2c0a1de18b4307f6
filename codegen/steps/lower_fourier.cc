// Lowers Fourier transforms to kernels of the catalogue (kernels/cpu/catalog/fourier.cc, which begins with
// their parameters). On GPUs the step has the same name and parameters, and cuFFT computes it.
#include <cmath>

#include "sinter/codegen/steps/lowering.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter::codegen {

using flatbuffers::FlatBufferBuilder;

namespace {

struct Transforms {
  int64_t dtype, batch = 1, n;

  // Reads the sizes of x: the last dimension, or the one before pairs, is transformed.
  Transforms(mlir::Value x, bool is_complex) {
    const llvm::ArrayRef<int64_t> shape = ir::ShapeOf(x).drop_back(is_complex ? 1 : 0);
    dtype = static_cast<int64_t>(DTypeOf(ir::TypeOf(x).getElementType()));
    n = shape.back();
    for (const int64_t size : shape.drop_back(1)) batch *= size;
  }
  // 5 n log2 n a transform of complex numbers, which is how libraries count.
  double flops() const {
    return 5.0 * static_cast<double>(batch) * static_cast<double>(n) * std::log2(static_cast<double>(n));
  }
};

LibraryStep FourierCall(const char* kernel, FlatBufferBuilder& builder, llvm::ArrayRef<int64_t> parameters,
                        double flops) {
  auto name = builder.CreateString(kernel);
  auto numbers = builder.CreateVector(parameters.data(), parameters.size());
  return {fb::StepBody::CatalogStep, fb::CreateCatalogStep(builder, name, numbers).Union(), flops};
}

absl::StatusOr<LibraryStep> LowerFft(mlir::Operation* op, FlatBufferBuilder& builder) {
  auto fft = llvm::cast<ir::FftOp>(op);
  const Transforms of(fft.getX(), /*is_complex=*/true);
  return FourierCall("fft", builder, {of.dtype, of.batch, of.n, fft.getInverse()}, of.flops());
}
absl::StatusOr<LibraryStep> LowerRfft(mlir::Operation* op, FlatBufferBuilder& builder) {
  const Transforms of(op->getOperand(0), /*is_complex=*/false);
  return FourierCall("rfft", builder, {of.dtype, of.batch, of.n}, of.flops() / 2);
}
absl::StatusOr<LibraryStep> LowerIrfft(mlir::Operation* op, FlatBufferBuilder& builder) {
  const Transforms of(op->getResult(0), /*is_complex=*/false);
  return FourierCall("irfft", builder, {of.dtype, of.batch, of.n}, of.flops() / 2);
}

}  // namespace

void PopulateFourierLowerings(LibraryLowerings& lowerings) {
  lowerings.Add<ir::FftOp>(LowerFft);
  lowerings.Add<ir::RfftOp>(LowerRfft);
  lowerings.Add<ir::IrfftOp>(LowerIrfft);
}

}  // namespace sinter::codegen
