// User kernels: a C++ body that runs once for each element, on CPUs and GPUs.
// See docs/user-kernels.md.
//
//   const sn::ElementwiseKernel squared_diff("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_diff");
//   sn::Tensor z = squared_diff({x, y});           // x: f32[32,10], y: f32[10]; z: f32[32,10]
//
// A parameter is a type and a name. A type is float64, float32, bfloat16, float16, an integer,
// bool, or one letter whose type the arguments decide. In the body, a parameter's name is its element, `i` is
// the element's index, and `n` is the number of elements. Inputs broadcast as in NumPy; outputs have the
// broadcast shape. A parameter declared `raw` is an array that the body indexes.
//
// Compile() compiles the kernels and returns the C++ compiler's errors with the user's line. A wrong
// declaration is an error of the graph at the first call (tensor.h). Kernels are values and cheap to copy.
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

// The tensors that a gradient is computed from. Parameters that are not raw have the shape of the loop.
struct ElementwiseValues {
  std::vector<Tensor> inputs, outputs;
  std::vector<Tensor> gradients;  // Gradients of the loss with respect to each output.
};

struct ElementwiseOptions {
  // Code before the kernel: functions (declared __device__ for GPUs), types, constants.
  std::string preamble = {};
  // Code before the loop over i. Its variables keep their values from one i to the next.
  std::string prologue = {};
  std::string epilogue = {};  // Code after the loop.
  // Returns the gradient with respect to each input, in the input's type; Tensor() for an input that is not
  // of floats. Without this function, differentiating through the kernel is an error. It may use no tensors
  // but its arguments.
  std::function<std::vector<Tensor>(const ElementwiseValues&)> gradient = {};
};

struct ElementwiseCall {
  // The number of iterations, `n`. Required if every input is raw or a number; outputs that are not raw are
  // then vectors of this size. Otherwise the inputs decide it, and setting it is an error.
  std::optional<int64_t> size = {};
  // The shape of each raw output. Elements that the body does not write have undefined values.
  std::vector<Shape> raw_shapes = {};
  // The function that the call adds to. Null: the function whose body is running.
  Builder* builder = nullptr;
};

class ElementwiseKernel {
 public:
  ElementwiseKernel(std::string_view inputs, std::string_view outputs, std::string_view body,
                    std::string_view name, ElementwiseOptions options = {}, Where where = Where::current());

  // Calls a kernel that has one output. Inputs are tensors, or numbers for parameters that are not raw.
  Tensor operator()(const std::vector<Operand>& inputs, const ElementwiseCall& call = {},
                    Where where = Where::current()) const;
  // Returns all outputs, in the order of their declaration.
  std::vector<Tensor> All(const std::vector<Operand>& inputs, const ElementwiseCall& call = {},
                          Where where = Where::current()) const;

 private:
  struct Definition;
  class Building;
  std::shared_ptr<const Definition> definition_;
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_ELEMENTWISE_KERNEL_H_
