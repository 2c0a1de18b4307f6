#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/runtime/host/status.h"

// Activations.
namespace sinter::onnx {
namespace {

absl::StatusOr<Values> ReluOf(Node& node) { return Values(Relu(node.In(0))); }
absl::StatusOr<Values> SigmoidOf(Node& node) { return Values(Sigmoid(node.In(0))); }
absl::StatusOr<Values> SoftplusOf(Node& node) { return Values(Softplus(node.In(0))); }
absl::StatusOr<Values> SoftsignOf(Node& node) { return Values(Softsign(node.In(0))); }
absl::StatusOr<Values> MishOf(Node& node) { return Values(Mish(node.In(0))); }
absl::StatusOr<Values> HardSwishOf(Node& node) { return Values(HardSwish(node.In(0))); }
absl::StatusOr<Values> LeakyReluOf(Node& node) {
  return Values(LeakyRelu(node.In(0), node.Real("alpha", 0.01)));
}
absl::StatusOr<Values> EluOf(Node& node) { return Values(Elu(node.In(0), node.Real("alpha", 1))); }
absl::StatusOr<Values> CeluOf(Node& node) { return Values(Celu(node.In(0), node.Real("alpha", 1))); }

absl::StatusOr<Values> SeluOf(Node& node) {
  const double alpha = node.Real("alpha", node.version() < 6 ? 1.6732 : 1.67326319217681884765625);
  const double gamma = node.Real("gamma", node.version() < 6 ? 1.0507 : 1.05070102214813232421875);
  return Values(Elu(node.In(0), alpha) * gamma);
}

absl::StatusOr<Values> HardSigmoidOf(Node& node) {
  return Values(Clamp(node.In(0) * node.Real("alpha", 0.2) + node.Real("beta", 0.5), 0, 1));
}

absl::StatusOr<Values> PReluOf(Node& node) {
  const Tensor x = node.In(0);
  Tensor slope = node.In(1);
  // Before version 7, one slope a channel.
  if (node.version() < 7 && slope.size() > 1 && slope.rank() == 1) slope = AlongAxis(slope, 1, x.rank());
  return Values(Select(x < 0, slope * x, x));
}

absl::StatusOr<Values> ThresholdedReluOf(Node& node) {
  return Values(Threshold(node.In(0), node.Real("alpha", 1), 0));
}

absl::StatusOr<Values> ShrinkOf(Node& node) {
  const Tensor given = node.In(0);
  // Integers are shrunk as floats.
  const Tensor x = IsFloat(given.dtype()) ? given : Cast(given, DType::kF32);
  const double lambda = node.Real("lambd", 0.5), bias = node.Real("bias", 0);
  const Tensor y = Select(x < -lambda, x + bias, Select(x > lambda, x - bias, x * 0));
  return Values(IsFloat(given.dtype()) ? y : Cast(y, given.dtype()));
}

absl::StatusOr<Values> GeluOf(Node& node) {
  const Tensor x = node.In(0);
  return Values(node.Text("approximate", "none") == "tanh" ? GeluTanh(x) : Gelu(x));
}

// Applies `function` along dimension 1 of x as a matrix, flattened at the axis.
template <typename Function>
Tensor OnMatrix(Node& node, Function function) {
  const Tensor x = node.In(0);
  const Shape shape = x.shape();
  const auto axis = static_cast<size_t>(node.Axis(node.Int("axis", 1), x.rank()));
  const Shape matrix = {Product(shape, 0, axis), Product(shape, axis, shape.size())};
  return Reshape(function(Reshape(x, matrix), 1), shape);
}

template <typename Function>
absl::StatusOr<Values> AlongRows(Node& node, Function function) {
  if (node.version() < 13) return Values(OnMatrix(node, function));
  return Values(function(node.In(0), node.Axis(node.Int("axis", -1), node.In(0).rank())));
}

Tensor HardmaxAlong(const Tensor& x, int64_t axis) {
  if (!x.ok() || axis >= x.rank()) return {};
  const Tensor first = ExpandDims(ArgMax(x, axis), axis);
  const Tensor position = Builder(x.function()).Iota(DType::kI32, x.shape(), axis);
  return Cast(Equal(position, first), x.dtype());
}

absl::StatusOr<Values> SoftmaxOf(Node& node) {
  return AlongRows(node, [](const Tensor& x, int64_t axis) { return Softmax(x, axis); });
}
absl::StatusOr<Values> LogSoftmaxOf(Node& node) {
  return AlongRows(node, [](const Tensor& x, int64_t axis) { return LogSoftmax(x, axis); });
}
absl::StatusOr<Values> HardmaxOf(Node& node) { return AlongRows(node, HardmaxAlong); }

constexpr OpRecord kActivations[] = {
    {"Celu", 12, CeluOf},
    {"Elu", 1, EluOf},
    {"Gelu", 20, GeluOf},
    {"HardSigmoid", 1, HardSigmoidOf},
    {"HardSwish", 14, HardSwishOf},
    {"Hardmax", 1, HardmaxOf},
    {"LeakyRelu", 1, LeakyReluOf},
    {"LogSoftmax", 1, LogSoftmaxOf},
    {"Mish", 18, MishOf},
    {"PRelu", 1, PReluOf},
    {"Relu", 1, ReluOf},
    {"Selu", 1, SeluOf},
    {"Shrink", 9, ShrinkOf},
    {"Sigmoid", 1, SigmoidOf},
    {"Softmax", 1, SoftmaxOf},
    {"Softplus", 1, SoftplusOf},
    {"Softsign", 1, SoftsignOf},
    {"ThresholdedRelu", 10, ThresholdedReluOf},
};

}  // namespace

std::span<const OpRecord> ActivationOps() { return kActivations; }

}  // namespace sinter::onnx
