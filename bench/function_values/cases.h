// Calls of the public functions with definite options and drawn inputs, for bench/function_values.cc.
//
//   const FunctionCase kCases[] = {
//       {"Exp", {Floats({3, 5})}, [](const Call& x) { return Exp(x[0]); }},
//   };
//
// A name is that of the function; a suffix after a dot names the options. torch_functions.py and
// torch_layers.py in bench/peers/functions/ compute the same from the same inputs.
#ifndef SINTER_BENCH_FUNCTION_VALUES_CASES_H_
#define SINTER_BENCH_FUNCTION_VALUES_CASES_H_

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sinter/frontend/sinter.h"

namespace sinter::bench {

// The numbers of an input: from `low` up to, but not including, `high`.
struct FunctionInput {
  // kDistinct: whole numbers that are all different.
  enum class Kind { kReal, kWhole, kDistinct, kTruth };
  Kind kind = Kind::kReal;
  Shape shape;
  double low = 0, high = 1;

  DType dtype() const {
    if (kind == Kind::kReal) return F32;
    return kind == Kind::kTruth ? I1 : I32;
  }
};

inline FunctionInput Floats(Shape shape, double low = -2, double high = 2) {
  return {FunctionInput::Kind::kReal, std::move(shape), low, high};
}
inline FunctionInput Integers(Shape shape, double low, double high) {
  return {FunctionInput::Kind::kWhole, std::move(shape), low, high};
}
inline FunctionInput Distinct(Shape shape, double high) {
  return {FunctionInput::Kind::kDistinct, std::move(shape), 0, high};
}
inline FunctionInput Truths(Shape shape) { return {FunctionInput::Kind::kTruth, std::move(shape)}; }

// The inputs of a call, in their order.
struct Call {
  Builder& b;
  std::vector<Tensor> inputs;

  const Tensor& operator[](size_t i) const { return inputs[i]; }
};

// The results of a call, in their order.
struct Results {
  Results(const Tensor& one) : tensors{one} {}
  Results(std::initializer_list<Tensor> several) : tensors(several) {}
  Results(std::vector<Tensor> several) : tensors(std::move(several)) {}

  std::vector<Tensor> tensors;
};

struct FunctionCase {
  std::string name;
  std::vector<FunctionInput> inputs;
  std::function<Results(const Call&)> call;
  Mode mode = Mode::kEval;
  // Runs with the same inputs. With several, the results are those of the last one, without gradients.
  int runs = 1;
};

std::span<const FunctionCase> PointwiseFunctions();
std::span<const FunctionCase> ShapeFunctions();
std::span<const FunctionCase> LinearFunctions();
std::span<const FunctionCase> ImageFunctions();
std::span<const FunctionCase> LayerFunctions();
std::span<const FunctionCase> LossFunctions();
std::span<const FunctionCase> OptimizerFunctions();
std::span<const FunctionCase> EdgeFunctions();

}  // namespace sinter::bench

#endif  // SINTER_BENCH_FUNCTION_VALUES_CASES_H_
