#include "absl/strings/str_cat.h"
#include "sinter/frontend/linalg/linalg.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/runtime/host/status.h"

// Products of matrices.
namespace sinter::onnx {
namespace {

// As NumPy's matmul: a vector on either side is a matrix of one row or column, whose dimension is dropped.
Tensor MatrixProduct(Tensor a, Tensor b) {
  const bool row = a.rank() == 1, column = b.rank() == 1;
  if (row) a = ExpandDims(a, 0);
  if (column) b = ExpandDims(b, 1);
  Tensor y = MatMul(a, b);
  if (column) y = Squeeze(y, -1);
  if (row) y = Squeeze(y, column ? -1 : -2);
  return y;
}

absl::StatusOr<Values> MatMulOf(Node& node) {
  const Tensor a = node.In(0), b = node.In(1);
  if (a.rank() == 0 || b.rank() == 0) return node.Bad("takes no scalars");
  return Values(MatrixProduct(a, b));
}

absl::StatusOr<Values> GemmOf(Node& node) {
  const double alpha = node.Real("alpha", 1), beta = node.Real("beta", 1);
  Tensor y = MatMul(node.In(0), node.In(1),
                    {.transpose_a = node.Int("transA", 0) != 0, .transpose_b = node.Int("transB", 0) != 0});
  if (alpha != 1) y = y * alpha;
  if (!node.Has(2) || beta == 0) return Values(y);
  const Tensor c = node.In(2);
  return Values(y + (beta == 1 ? c : c * beta));
}

absl::StatusOr<Values> EinsumOf(Node& node) {
  const std::string equation = node.Text("equation", "");
  return Values(Einsum(equation, node.AllIn()));
}

absl::StatusOr<Values> DetOf(Node& node) { return Values(linalg::Det(node.In(0))); }

constexpr OpRecord kMatrices[] = {
    {"Det", 11, DetOf},
    {"Einsum", 12, EinsumOf},
    {"Gemm", 1, GemmOf},
    {"MatMul", 1, MatMulOf},
};

}  // namespace

std::span<const OpRecord> MatrixOps() { return kMatrices; }

}  // namespace sinter::onnx
