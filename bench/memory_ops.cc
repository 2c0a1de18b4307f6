#include "sinter/bench/memory_ops.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/bench/workloads.h"
#include "sinter/runtime/host/status.h"

namespace sinter::bench {

namespace {

constexpr int64_t kElements = int64_t{1} << 28, kOpRows = 1 << 16, kOpColumns = 4096;
constexpr int64_t kExamples = 16384, kClasses = 50304, kLabels = 50257;
// Copies per run. A GPU reaches only two thirds of the rate if a graph contains a single copy.
constexpr int kCopies = 4;
constexpr char kCopy[] = "copy_f32", kCrossEntropy[] = "softmax_xent_fwd_bwd_bf16",
               kAdamW[] = "adamw_f32_gpt2";

Tensor Drawn(Builder& b, std::string_view name, DType dtype, const Shape& shape) {
  const VariableInit normal{VariableInit::Kind::kNormal, 0, 1};
  return b.Read(b.MakeVariable(name, dtype, shape, {.init = normal, .trainable = false}));
}

void Copies(Builder& b, const Shape& shape) {
  Tensor x = Drawn(b, "x", F32, shape);
  for (int i = 0; i < kCopies; ++i) x = Clone(x);
  b.Output("y", x);
}

template <DType kType>
void Chain(Builder& b, const Shape& shape) {
  Tensor x = Drawn(b, "x", kType, shape), z = Drawn(b, "z", kType, shape);
  b.Output("y", GeluTanh(x * 1.5 + 0.5) * Sigmoid(z) + x);
}

void BiasGeluResidual(Builder& b, const Shape& shape) {
  Tensor h = Drawn(b, "h", BF16, shape), bias = Drawn(b, "bias", BF16, {shape.back()});
  b.Output("y", GeluTanh(h + bias) + Drawn(b, "residual", BF16, shape));
}

// Returns the layer norm over the last dimension, with scale and offset in x's type.
Tensor Norm(Builder& b, const Tensor& x) {
  const Shape vector = {x.dim(-1)};
  return LayerNorm(x, Drawn(b, "scale", BF16, vector), Drawn(b, "offset", BF16, vector));
}

void LayerNormAlone(Builder& b, const Shape& shape) { b.Output("y", Norm(b, Drawn(b, "h", BF16, shape))); }

void AddLayerNorm(Builder& b, const Shape& shape) {
  Tensor sum = Drawn(b, "h", BF16, shape) + Drawn(b, "residual", BF16, shape);
  b.Output("sum", sum);
  b.Output("y", Norm(b, sum));
}

void SoftmaxAlone(Builder& b, const Shape& shape) { b.Output("y", Softmax(Drawn(b, "h", BF16, shape))); }

// Adds the sum along dimension kDim, computed in f32 like its result.
template <int64_t kDim>
void SumAlong(Builder& b, const Shape& shape) {
  b.Output("y", Sum(Cast(Drawn(b, "h", BF16, shape), F32), {kDim}));
}

// Layer norm with the gradients of all three operands. Also outputs the result, as PyTorch does.
void LayerNormWithGradients(Builder& b, const Shape& shape) {
  const Shape vector = {shape.back()};
  Tensor h = Drawn(b, "h", BF16, shape), dy = Drawn(b, "dy", BF16, shape);
  Tensor scale = Drawn(b, "scale", BF16, vector), offset = Drawn(b, "offset", BF16, vector);
  Tensor y = LayerNorm(h, scale, offset);
  // The gradient of sum(y * dy) with respect to y is dy, so it needs no computation.
  std::vector<Tensor> d = Gradients(Sum(y * dy), {h, scale, offset});
  b.Output("y", y);
  b.Output("dh", d[0]);
  b.Output("dscale", d[1]);
  b.Output("doffset", d[2]);
}

// The mean loss in f32 and the gradient of the logits in their own type.
void CrossEntropyWithGradient(Builder& b, const Shape& shape) {
  Tensor logits = Drawn(b, "logits", BF16, shape);
  Tensor labels = b.Read(b.MakeVariable("labels", I32, {shape[0]}, {.trainable = false}));
  Tensor loss = SoftmaxCrossEntropy(Cast(logits, F32), labels);
  b.Output("loss", loss);
  b.Output("dlogits", Gradients(loss, {logits})[0]);
}

struct Definition {
  std::string_view name;
  Shape shape;
  double bytes = 0;  // Least bytes moved per element of `shape`, counted as the peers count them.
  std::function<void(Builder&, const Shape&)> body;
};

// Returns all ops except the optimizer, which has many tensors.
const std::vector<Definition>& Definitions() {
  static const auto* const kDefinitions = new std::vector<Definition>{
      {kCopy, {kElements}, 8, Copies},
      {"chain_f32", {kElements}, 12, Chain<F32>},
      {"chain_bf16", {kElements}, 6, Chain<BF16>},
      {"bias_gelu_residual_bf16", {kOpRows, kOpColumns}, 6, BiasGeluResidual},
      {"layernorm_bf16", {kOpRows, kOpColumns}, 4, LayerNormAlone},
      {"add_layernorm_bf16", {kOpRows, kOpColumns}, 8, AddLayerNorm},
      {"softmax_bf16", {kOpRows, kOpColumns}, 4, SoftmaxAlone},
      {"rowsum_bf16", {kOpRows, kOpColumns}, 2, SumAlong<1>},
      {"colsum_bf16", {kOpRows, kOpColumns}, 2, SumAlong<0>},
      {"layernorm_fwd_bwd_bf16", {kOpRows, kOpColumns}, 10, LayerNormWithGradients},
      {kCrossEntropy, {kExamples, kClasses}, 6, CrossEntropyWithGradient}};
  return *kDefinitions;
}

// Returns the shapes of GPT-2's 148 parameters (124,475,904 elements) in PyTorch's layers.
std::vector<Shape> GptShapes() {
  const GptSizes s;
  const int64_t d = s.width;
  std::vector<Shape> shapes = {{s.vocabulary, d}, {s.context, d}};
  const std::vector<Shape> block = {{d}, {d}, {3 * d, d}, {3 * d}, {d, d},     {d},
                                    {d}, {d}, {4 * d, d}, {4 * d}, {d, 4 * d}, {d}};
  for (int64_t i = 0; i < s.layers; ++i) shapes.insert(shapes.end(), block.begin(), block.end());
  shapes.insert(shapes.end(), 2, Shape{d});
  return shapes;
}

Shape Divided(Shape shape, int64_t scale) {
  shape[0] = std::max<int64_t>(1, shape[0] / scale);
  return shape;
}

int64_t ElementsOf(const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t size : shape) elements *= size;
  return elements;
}

// AdamW: reads parameter, gradient and two moments; writes all but the gradient.
MemoryOp AdamW(int64_t scale) {
  MemoryOp op{.name = kAdamW, .graph = Graph(kAdamW), .shape = {0}, .values = {}};
  op.graph.Function("run", Mode::kTrain, [&](Builder& b) {
    // The gradient of sum(p * g) with respect to p is g, so it needs no computation.
    std::vector<Variable> parameters;
    Tensor loss;
    for (const Shape& full : GptShapes()) {
      const Shape shape = Divided(full, scale);
      op.shape[0] += ElementsOf(shape);
      const size_t i = parameters.size();
      const VariableInit normal{VariableInit::Kind::kNormal, 0, 1};
      parameters.push_back(b.MakeVariable(absl::StrCat("p", i), F32, shape, {.init = normal}));
      Tensor term = Sum(b.Read(parameters.back()) * Drawn(b, absl::StrCat("g", i), F32, shape));
      loss = loss.ok() ? loss + term : term;
    }
    optim::AdamW{}.Minimize(loss, {.parameters = parameters});
  });
  op.minimal_bytes = 28 * static_cast<double>(op.shape[0]);
  return op;
}

}  // namespace

std::vector<std::string> MemoryOpNames() {
  std::vector<std::string> names;
  for (const Definition& definition : Definitions()) names.emplace_back(definition.name);
  names.emplace_back(kAdamW);
  return names;
}

absl::StatusOr<MemoryOp> MakeMemoryOp(std::string_view name, int64_t scale) {
  if (scale < 1) return absl::InvalidArgumentError(absl::StrCat("a scale is at least 1, not ", scale));
  if (name == kAdamW) return AdamW(scale);
  const auto found = std::ranges::find(Definitions(), name, &Definition::name);
  if (found == Definitions().end()) {
    return absl::NotFoundError(absl::StrCat("no workload \"", std::string(name), "\"; there are ",
                                            absl::StrJoin(MemoryOpNames(), " ")));
  }
  const Shape shape = Divided(found->shape, scale);
  MemoryOp op{.name = std::string(name),
              .graph = Graph(name),
              .shape = shape,
              .minimal_bytes = found->bytes * static_cast<double>(ElementsOf(shape)),
              .repeats = name == kCopy ? kCopies : 1,
              .values = {}};
  if (name == kCrossEntropy) op.values.push_back({"labels", Integers(2, {shape[0]}, kLabels)});
  op.graph.Function("run", Mode::kTrain, [&](Builder& b) { found->body(b, shape); });
  return op;
}

absl::Status SetValues(Session& session, const MemoryOp& op) {
  for (const NamedTensor& value : op.values) {
    SINTER_RETURN_IF_ERROR(session.WriteVariable(value.name, value.tensor));
  }
  return absl::OkStatus();
}

}  // namespace sinter::bench
