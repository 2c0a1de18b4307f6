// Kernels that the user writes: a C++ body, run once for each element, on CPUs and GPUs. docs/user-kernels.md has the details.
//
//   const sn::ElementwiseKernel squared_diff("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_diff");
//   sn::Tensor z = squared_diff({x, y});           // x: f32[32,10], y: f32[10]; z: f32[32,10]
//
// Parameters are a type and a name each. A type is float64, float32, bfloat16, float16, int64, int32, int8, uint8, bool, or
// one letter, which the arguments decide. The body knows an element of a parameter by its name, its number as `i` and how
// many there are as `n`. Inputs broadcast as in NumPy; outputs have the shape that results. A parameter that begins with
// `raw` is an array, to be indexed by the body.
//
// Nothing is compiled before Compile(), which returns what the C++ compiler says, with the user's line. A wrong declaration
// is an error of the graph at the first call (tensor.h). Kernels are values: copying one is cheap.
#ifndef SINTER_FRONTEND_OPS_ELEMENTWISE_KERNEL_H_
#define SINTER_FRONTEND_OPS_ELEMENTWISE_KERNEL_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/frontend/graph/tensor.h"

namespace sinter {

class Builder;

// What a gradient is made of. Parameters that are not raw have one shape, that of the loop.
struct ElementwiseValues {
  std::vector<Tensor> inputs, outputs;
  std::vector<Tensor> gradients;  // Of the loss with respect to each output.
};

struct ElementwiseOptions {
  std::string preamble = {};  // Before the kernel: functions (written __device__ for GPUs), types, constants.
  // Before the loop over i. What it declares keeps its value from one i to the next.
  std::string prologue = {};
  std::string epilogue = {};  // Behind the loop.
  // The gradient with respect to each input, of the input's type; Tensor() for an input that is not of floats. Without this,
  // differentiating through the kernel is an error. It may use no tensor but its arguments.
  std::function<std::vector<Tensor>(const ElementwiseValues&)> gradient = {};
};

struct ElementwiseCall {
  // How many i there are. Where every input is raw or a number it must be given, and outputs that are not raw are vectors of
  // that size; elsewhere the inputs decide it.
  std::optional<int64_t> size = {};
  // Of each raw output. Elements that the body does not write have no particular value.
  std::vector<Shape> raw_shapes = {};
  // The function that the call is built in. Null: the one whose body runs.
  Builder* builder = nullptr;
};

class ElementwiseKernel {
 public:
  ElementwiseKernel(std::string_view inputs, std::string_view outputs, std::string_view body,
                    std::string_view name, ElementwiseOptions options = {}, Where where = Where::current());

  // Inputs are tensors or, where a parameter is not raw, numbers. Of a kernel with one output.
  Tensor operator()(const std::vector<Operand>& inputs, const ElementwiseCall& call = {},
                    Where where = Where::current()) const;
  // All outputs, in the order of their declaration.
  std::vector<Tensor> All(const std::vector<Operand>& inputs, const ElementwiseCall& call = {},
                          Where where = Where::current()) const;

 private:
  struct Definition;
  class Building;
  std::shared_ptr<const Definition> definition_;
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_ELEMENTWISE_KERNEL_H_
