#include "absl/strings/str_cat.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/importing.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/runtime/host/status.h"

// Optimisers of the preview of training: the rate, the number of updates, then the tensors, their gradients
// and the states of each.
namespace sinter::onnx {
namespace {

constexpr std::string_view kTraining = "ai.onnx.preview.training";

// Calls `update` for each tensor with its gradient and states; it returns the new tensor and states.
template <typename Update>
absl::StatusOr<Values> EachTensor(Node& node, size_t states, Update update) {
  const size_t groups = 2 + states, count = node.num_inputs() < 2 ? 0 : (node.num_inputs() - 2) / groups;
  if (count == 0 || 2 + count * groups != node.num_inputs())
    return node.Bad("its operands are no whole groups");
  std::vector<std::vector<Tensor>> results(1 + states);
  for (size_t i = 0; i < count; ++i) {
    std::vector<Tensor> xs;
    for (size_t k = 0; k < groups; ++k) xs.push_back(node.In(2 + k * count + i));
    const std::vector<Tensor> made = update(xs);
    for (size_t k = 0; k < made.size(); ++k) results[k].push_back(made[k]);
  }
  Values values;
  for (const std::vector<Tensor>& group : results) {
    for (const Tensor& tensor : group) values.push_back(tensor);
  }
  return values;
}

// The number of updates as a number of x's type.
Tensor Count(Node& node, DType dtype) { return Cast(Reshape(node.In(1), {}), dtype); }
Tensor Rate(Node& node, DType dtype) { return Cast(Reshape(node.In(0), {}), dtype); }

absl::StatusOr<Values> AdagradOf(Node& node) {
  const double decay = node.Real("decay_factor", 0), epsilon = node.Real("epsilon", 1e-6),
               norm = node.Real("norm_coefficient", 0);
  return EachTensor(node, 1, [&](const std::vector<Tensor>& xs) {
    const DType dtype = xs[0].dtype();
    const Tensor rate = Rate(node, dtype) / (1 + Count(node, dtype) * decay);
    const Tensor gradient = xs[1] + xs[0] * norm;
    const Tensor sum = xs[2] + Square(gradient);
    return std::vector<Tensor>{xs[0] - rate * gradient / (Sqrt(sum) + epsilon), sum};
  });
}

absl::StatusOr<Values> AdamOf(Node& node) {
  const double alpha = node.Real("alpha", 0.9), beta = node.Real("beta", 0.999),
               epsilon = node.Real("epsilon", 1e-6);
  const double norm = node.Real("norm_coefficient", 0), norm_behind = node.Real("norm_coefficient_post", 0);
  return EachTensor(node, 2, [&](const std::vector<Tensor>& xs) {
    const DType dtype = xs[0].dtype();
    const Tensor count = Count(node, dtype), rate = Rate(node, dtype);
    const Tensor gradient = xs[1] + xs[0] * norm;
    const Tensor v = xs[2] * alpha + gradient * (1 - alpha), h = xs[3] * beta + Square(gradient) * (1 - beta);
    const Tensor one = node.b().Full(dtype, {}, 1);
    const Tensor corrected = rate * Sqrt(one - Pow(one * beta, count)) / (one - Pow(one * alpha, count));
    const Tensor used = Select(count > 0, corrected, rate);
    return std::vector<Tensor>{(xs[0] - used * v / (Sqrt(h) + epsilon)) * (1 - norm_behind), v, h};
  });
}

absl::StatusOr<Values> MomentumOf(Node& node) {
  const double alpha = node.Real("alpha", 0), beta = node.Real("beta", 0),
               norm = node.Real("norm_coefficient", 0);
  const bool nesterov = node.Text("mode", "standard") == "nesterov";
  return EachTensor(node, 1, [&](const std::vector<Tensor>& xs) {
    const DType dtype = xs[0].dtype();
    const Tensor gradient = xs[1] + xs[0] * norm;
    // The first gradient counts whole.
    const Tensor part = Select(Count(node, dtype) > 0, node.Number(beta, dtype), node.Number(1, dtype));
    const Tensor v = xs[2] * alpha + gradient * part;
    return std::vector<Tensor>{xs[0] - Rate(node, dtype) * (nesterov ? gradient + v * alpha : v), v};
  });
}

// The gradients of y towards `xs`, which are operands of nodes before.
absl::StatusOr<Values> GradientOf(Node& node) {
  const std::vector<std::string> names = node.Texts("xs");
  if (names.empty() || names.size() > node.num_inputs()) return node.Bad("names more values than it takes");
  SINTER_ASSIGN_OR_RETURN(const Value y, node.importing().Lookup(node.Text("y", "")));
  std::vector<Tensor> xs;
  for (const std::string& name : names) {
    SINTER_ASSIGN_OR_RETURN(const Value x, node.importing().Lookup(name));
    xs.push_back(node.TensorOf(x));
  }
  return Values(Gradients(Sum(node.TensorOf(y)), xs, {.allow_unused = true}));
}

constexpr OpRecord kOptimizers[] = {
    {"Adagrad", 1, AdagradOf, kTraining},
    {"Adam", 1, AdamOf, kTraining},
    {"Gradient", 1, GradientOf, kTraining},
    {"Momentum", 1, MomentumOf, kTraining},
};

}  // namespace

std::span<const OpRecord> OptimizerOps() { return kOptimizers; }

}  // namespace sinter::onnx
