// Products, sums in Einstein's notation, linear algebra, Fourier transforms and complex numbers.
#include "sinter/bench/function_values/cases.h"

namespace sinter::bench {

namespace {

// Returns a well-conditioned positive definite matrix of any matrix.
Tensor Definite(const Tensor& x) {
  return MatMul(x, x, {.transpose_b = true}) + DiagEmbed(x[{Ellipsis, 0}] * 0.0 + 2.0);
}

// Returns a matrix whose diagonal dominates.
Tensor Dominant(const Tensor& x) { return x + DiagEmbed(x[{Ellipsis, 0}] * 0.0 + 4.0); }

FunctionCase EinsumOf(std::string name, std::string equation, std::vector<FunctionInput> inputs) {
  return {std::move(name), std::move(inputs),
          [equation](const Call& x) { return Einsum(equation, x.inputs); }};
}

const FunctionCase kProducts[] = {
    {"MatMul", {Floats({5, 7}), Floats({7, 4})}, [](const Call& x) { return MatMul(x[0], x[1]); }},
    {"MatMul.batch",
     {Floats({3, 1, 5, 7}), Floats({2, 7, 4})},
     [](const Call& x) { return MatMul(x[0], x[1]); }},
    {"MatMul.transposed",
     {Floats({2, 7, 5}), Floats({2, 4, 7})},
     [](const Call& x) { return MatMul(x[0], x[1], {.transpose_a = true, .transpose_b = true}); }},
    {"MatMul.integers",
     {Integers({5, 7}, -9, 9), Integers({7, 4}, -9, 9)},
     [](const Call& x) { return MatMul(x[0], x[1]); }},
    {"MatMul.large",
     {Floats({65, 130}), Floats({130, 70})},
     [](const Call& x) { return MatMul(x[0], x[1]); }},
    EinsumOf("Einsum.attention", "bhid,bhjd->bhij", {Floats({2, 3, 4, 5}), Floats({2, 3, 6, 5})}),
    EinsumOf("Einsum.ellipsis", "...ij,j->...i", {Floats({2, 3, 4}), Floats({4})}),
    EinsumOf("Einsum.three", "ab,bc,cd->ad", {Floats({2, 3}), Floats({3, 4}), Floats({4, 5})}),
    EinsumOf("Einsum.trace", "bii->b", {Floats({3, 4, 4})}),
    EinsumOf("Einsum.outer", "i,j->ji", {Floats({3}), Floats({4})}),
    EinsumOf("Einsum.implicit", "ij,jk", {Floats({3, 4}), Floats({4, 2})}),
};

const FunctionCase kMatrices[] = {
    {"linalg.Cholesky", {Floats({2, 5, 5})}, [](const Call& x) { return linalg::Cholesky(Definite(x[0])); }},
    {"linalg.TriangularSolve",
     {Floats({2, 5, 5}), Floats({5, 3})},
     [](const Call& x) { return linalg::TriangularSolve(Dominant(x[0]), x[1]); }},
    {"linalg.TriangularSolve.options",
     {Floats({2, 5, 5}), Floats({2, 3, 5})},
     [](const Call& x) {
       return Results{linalg::TriangularSolve(Dominant(x[0]), x[1], {.upper = true, .left = false}),
                      linalg::TriangularSolve(x[0] * 0.3, Transpose(x[1], {0, 2, 1}),
                                              {.transpose = true, .unit_diagonal = true})};
     }},
    {"linalg.Qr",
     {Floats({2, 6, 4})},
     [](const Call& x) {
       const linalg::QrResult qr =
           linalg::Qr(x[0] + Cast(Equal(x.b.Iota(I32, {6, 4}, 0), x.b.Iota(I32, {6, 4}, 1)), F32) * 3.0);
       return Results{qr.q, qr.r};
     }},
    {"linalg.Eigh",
     {Floats({2, 4, 4})},
     [](const Call& x) {
       const linalg::EighResult eigh = linalg::Eigh(x[0] + Transpose(x[0], {0, 2, 1}));
       return Results{eigh.values, MatMul(eigh.vectors * ExpandDims(Exp(eigh.values * 0.3), 1), eigh.vectors,
                                          {.transpose_b = true})};
     }},
    {"linalg.Svd",
     {Floats({2, 5, 3})},
     [](const Call& x) {
       const linalg::SvdResult svd = linalg::Svd(x[0]);
       return Results{svd.s, MatMul(svd.u * ExpandDims(Sqrt(svd.s), 1), svd.vh)};
     }},
    {"linalg.Solve",
     {Floats({2, 5, 5}), Floats({2, 5, 3})},
     [](const Call& x) { return linalg::Solve(Dominant(x[0]), x[1]); }},
    {"linalg.Solve.vector",
     {Floats({5, 5}), Floats({5})},
     [](const Call& x) { return linalg::Solve(Dominant(x[0]), x[1]); }},
    {"linalg.Inv", {Floats({2, 5, 5})}, [](const Call& x) { return linalg::Inv(Dominant(x[0])); }},
    {"linalg.Det", {Floats({3, 4, 4})}, [](const Call& x) { return linalg::Det(Dominant(x[0])); }},
    {"linalg.SlogDet",
     {Floats({3, 4, 4})},
     [](const Call& x) {
       const linalg::SlogDetResult slogdet = linalg::SlogDet(Dominant(x[0]));
       return Results{slogdet.sign, slogdet.logabsdet};
     }},
};

const FunctionCase kTransforms[] = {
    {"Fft", {Floats({3, 12, 2})}, [](const Call& x) { return Fft(x[0]); }},
    {"Fft.options",
     {Floats({7, 3, 2})},
     [](const Call& x) {
       return Results{Fft(x[0], {.n = 9, .dim = 0, .norm = FftNorm::kOrtho}),
                      Fft(x[0], {.n = 5, .dim = 0, .norm = FftNorm::kForward})};
     }},
    {"Ifft", {Floats({3, 10, 2})}, [](const Call& x) { return Ifft(x[0]); }},
    {"Rfft",
     {Floats({3, 9})},
     [](const Call& x) { return Results{Rfft(x[0]), Rfft(x[0], {.n = 8, .norm = FftNorm::kForward})}; }},
    {"Irfft",
     {Floats({3, 6, 2})},
     [](const Call& x) { return Results{Irfft(x[0]), Irfft(x[0], {.n = 9, .norm = FftNorm::kOrtho})}; }},
    {"Fft2", {Floats({2, 4, 6, 2})}, [](const Call& x) { return Fft2(x[0]); }},
    {"Ifft2", {Floats({2, 4, 6, 2})}, [](const Call& x) { return Ifft2(x[0]); }},
    {"Rfft2", {Floats({2, 4, 6})}, [](const Call& x) { return Rfft2(x[0], {.norm = FftNorm::kOrtho}); }},
    {"Irfft2", {Floats({2, 4, 4, 2})}, [](const Call& x) { return Irfft2(x[0]); }},
    {"Fftn", {Floats({3, 4, 5, 2})}, [](const Call& x) { return Fftn(x[0]); }},
    {"Ifftn", {Floats({3, 4, 5, 2})}, [](const Call& x) { return Ifftn(x[0], {.dims = {0, 2}}); }},
    {"Rfftn", {Floats({3, 4, 5})}, [](const Call& x) { return Rfftn(x[0], {.sizes = {6, 4}}); }},
    {"Irfftn", {Floats({3, 4, 4, 2})}, [](const Call& x) { return Irfftn(x[0], {.sizes = {3, 4, 7}}); }},
    {"FftShift",
     {Floats({5, 4, 2}), Floats({5, 4})},
     [](const Call& x) {
       return Results{FftShift(x[0]), FftShift(x[1], {.dims = {0}, .is_real = true}), IfftShift(x[0])};
     }},
    {"FftFreq",
     {Floats({9})},
     [](const Call& x) {
       return Results{x[0] * FftFreq(x.b, 9, {.spacing = 0.5}), FftFreq(x.b, 8), RfftFreq(x.b, 9)};
     }},
    {"ComplexMul", {Floats({3, 4, 2}), Floats({4, 2})}, [](const Call& x) { return ComplexMul(x[0], x[1]); }},
    {"ComplexFrom",
     {Floats({3, 4}), Floats({4})},
     [](const Call& x) {
       const Tensor z = ComplexFrom(x[0], x[1]);
       return Results{ComplexConj(z), ComplexReal(z) * ComplexImag(z)};
     }},
    {"ComplexAbs",
     {Floats({3, 4, 2})},
     [](const Call& x) { return Results{ComplexAbs(x[0]), ComplexAngle(x[0])}; }},
    {"Stft",
     {Floats({2, 50}), Floats({12}, 0.2, 1)},
     [](const Call& x) { return Stft(x[0], x[1], {.n_fft = 16, .hop = 5}); }},
    {"Stft.options",
     {Floats({50}), Floats({16}, 0.2, 1)},
     [](const Call& x) {
       return Stft(x[0], x[1], {.n_fft = 16, .center = false, .normalized = true, .onesided = false});
     }},
    {"Istft",
     {Floats({2, 9, 10, 2}), Floats({16}, 0.4, 1)},
     [](const Call& x) { return Istft(x[0], x[1], {.n_fft = 16, .hop = 5, .length = 44}); }},
    {"Windows",
     {Floats({9})},
     [](const Call& x) {
       return Results{x[0] * HannWindow(x.b, 9), HammingWindow(x.b, 9), BlackmanWindow(x.b, 9),
                      HannWindow(x.b, 8, {.periodic = false})};
     }},
};

std::vector<FunctionCase> AllLinear() {
  std::vector<FunctionCase> all(std::begin(kProducts), std::end(kProducts));
  all.insert(all.end(), std::begin(kMatrices), std::end(kMatrices));
  all.insert(all.end(), std::begin(kTransforms), std::end(kTransforms));
  return all;
}

}  // namespace

std::span<const FunctionCase> LinearFunctions() {
  static const std::vector<FunctionCase> all = AllLinear();
  return all;
}

}  // namespace sinter::bench
