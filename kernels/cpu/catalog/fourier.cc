// Discrete Fourier transforms of f32 or f64. A batch's transforms are shared among threads.
//
//   fft: input x[batch, n, 2]; output y, of its shape
//     parameters dtype, batch, n, inverse (0 or 1)
//   rfft: input x[batch, n]; output y[batch, n / 2 + 1, 2]
//     parameters dtype, batch, n
//   irfft: input x[batch, n / 2 + 1, 2]; output y[batch, n]
//     parameters dtype, batch, n
//
// Their results are those of ir/library/fourier_ops.td. The output of fft may be the input. On GPUs cuFFT
// computes them (runtime/cuda/steps/fourier_step.cc). They allocate memory: see
// kernels/cpu/fourier/fourier_transforms.h.
#include "sinter/kernels/cpu/catalog/catalog_kernels.h"
#include "sinter/kernels/cpu/element_types.h"
#include "sinter/kernels/cpu/fourier/fourier_transforms.h"

namespace sinter::kernels {
namespace {

enum FourierParameter { kFourierDType, kFourierBatch, kFourierSize, kFourierInverse };
constexpr std::string_view kFftParameters[] = {"dtype", "batch", "n", "inverse"};
constexpr std::string_view kRfftParameters[] = {"dtype", "batch", "n"};

// Checks the parameters, and operands of `in` and `out` numbers for each transform.
std::string CheckTransforms(std::span<const int64_t> p, std::span<const CatalogOperand> operands,
                            std::initializer_list<int64_t> in, std::initializer_list<int64_t> out) {
  const int64_t dtype = p[kFourierDType], n = p[kFourierSize];
  if (dtype != kF64 && dtype != kF32) {
    return "transforms are of f32 or f64, not of element type number " + std::to_string(dtype);
  }
  if (n < 1) return "transforms are of " + std::to_string(n) + " numbers, not of at least one";
  int64_t elements = 0;
  std::string problem = CheckSizes(in, &elements);
  if (problem.empty()) problem = CheckOperand(operands[0], "x", dtype, elements);
  if (problem.empty()) problem = CheckSizes(out, &elements);
  if (problem.empty()) problem = CheckOperand(operands[1], "the result", dtype, elements);
  return problem;
}

std::string CheckFft(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  if (p[kFourierInverse] != 0 && p[kFourierInverse] != 1) {
    return "inverse is " + std::to_string(p[kFourierInverse]) + ", not 0 or 1";
  }
  const int64_t batch = p[kFourierBatch], n = p[kFourierSize];
  return CheckTransforms(p, operands, {batch, n, 2}, {batch, n, 2});
}
std::string CheckRfft(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  const int64_t batch = p[kFourierBatch], n = p[kFourierSize];
  return CheckTransforms(p, operands, {batch, n}, {batch, n / 2 + 1, 2});
}
std::string CheckIrfft(std::span<const int64_t> p, std::span<const CatalogOperand> operands) {
  const int64_t batch = p[kFourierBatch], n = p[kFourierSize];
  return CheckTransforms(p, operands, {batch, n / 2 + 1, 2}, {batch, n});
}

int64_t NoFourierWorkspace(std::span<const int64_t>) { return 0; }

// Calls function(x, y) with the operands, as pointers to elements, if there is a transform.
template <typename F>
void WithOperands(const CatalogCall& call, F&& function) {
  if (call.parameters[kFourierBatch] == 0) return;
  if (call.parameters[kFourierDType] == kF64) {
    function(static_cast<const double*>(call.buffers[0]), static_cast<double*>(call.buffers[1]));
  } else {
    function(static_cast<const float*>(call.buffers[0]), static_cast<float*>(call.buffers[1]));
  }
}

void RunFft(const CatalogCall& call) {
  const std::span<const int64_t> p = call.parameters;
  WithOperands(call, [&](const auto* x, auto* y) {
    TransformComplex(call.parallel, p[kFourierBatch], p[kFourierSize], p[kFourierInverse] != 0, x, y);
  });
}
void RunRfft(const CatalogCall& call) {
  const std::span<const int64_t> p = call.parameters;
  WithOperands(call, [&](const auto* x, auto* y) {
    TransformReal(call.parallel, p[kFourierBatch], p[kFourierSize], x, y);
  });
}
void RunIrfft(const CatalogCall& call) {
  const std::span<const int64_t> p = call.parameters;
  WithOperands(call, [&](const auto* x, auto* y) {
    TransformToReal(call.parallel, p[kFourierBatch], p[kFourierSize], x, y);
  });
}

}  // namespace

CatalogKernel FftKernel() { return {"fft", 1, 1, kFftParameters, CheckFft, NoFourierWorkspace, RunFft}; }
CatalogKernel RfftKernel() { return {"rfft", 1, 1, kRfftParameters, CheckRfft, NoFourierWorkspace, RunRfft}; }
CatalogKernel IrfftKernel() {
  return {"irfft", 1, 1, kRfftParameters, CheckIrfft, NoFourierWorkspace, RunIrfft};
}

}  // namespace sinter::kernels
