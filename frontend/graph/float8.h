// Products of linear layers in floats of 8 bits, for GraphOptions::float8.
//
//   sn::Graph graph("gpt2", {.precision = sn::Precision::kBf16,
//                            .float8 = {.recipe = sn::Float8Recipe::kTensorwise}});
//
// Each operand of a product is multiplied by a scale that brings its largest magnitude to the largest number
// of an 8-bit float, rounded to that type (nearest, ties to even), and the sum is multiplied by the scales'
// reciprocals. The scales come from the values at hand, in every run. Forward and both gradients of a layer
// are such products. Sums are in f32, those of gradients in full on every device; tensor cores of sm_89 and
// sm_90 sum the forward products in fewer bits. Variables, updates and everything between products keep their
// types.
//
// GPUs need compute capability 8.9 or newer for kTensorwise, and 9.0 for the other recipes; Compile returns
// InvalidArgument if an architecture of the plan lacks it, or if no product of the graph is such a layer.
// CPUs round to 8 bits as well, and multiply in bf16: for tests, not for speed.
#ifndef SINTER_FRONTEND_GRAPH_FLOAT8_H_
#define SINTER_FRONTEND_GRAPH_FLOAT8_H_

#include <cstdint>
#include <string>
#include <vector>

namespace sinter {

// The scales and types of operands, as in torchao's float8 training.
enum class Float8Recipe {
  kNone,
  // One scale for each operand. Activations and weights are F8E4M3, gradients F8E5M2.
  kTensorwise,
  // A scale for each row or column along the dimension that the product sums over, rounded down to a power of
  // two. All operands are F8E4M3. Torchao's "rowwise".
  kRowwise,
  // As kRowwise, but one scale for the weights in the gradient of a layer's input, and gradients of weights
  // are products of bf16. Torchao's "rowwise_with_gw_hp".
  kRowwiseWithWeightGradientInBf16,
};

struct Float8 {
  Float8Recipe recipe = Float8Recipe::kNone;
  // The layers: matmuls of bf16 (GraphOptions::precision is kBf16) by a variable with at least this many rows
  // and columns, if all sizes are multiples of 16. CompileReport::casts has a line for each matmul.
  int64_t least_features = 256;
  // True: also the product that gives the logits of a classification.
  bool logits = false;
  // Variables stay in bf16 if their names have one of these parts, such as "blocks/0".
  std::vector<std::string> exclude = {};
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_GRAPH_FLOAT8_H_
