// The values that a caller gives the inputs of a function.
//
//   session.Run("train", {{"x", x}, {"lr", 0.1f}});      // Two Arguments.
#ifndef SINTER_RUNTIME_TENSOR_ARGUMENT_H_
#define SINTER_RUNTIME_TENSOR_ARGUMENT_H_

#include <string_view>

#include "sinter/runtime/host/number.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

// A named input value: a tensor, or a number for a rank-0 input, converted to the input's element type.
// Refers to the name and the tensor: both must live until the call returns.
class Argument {
 public:
  Argument(std::string_view name, const HostTensor& tensor) : name_(name), tensor_(&tensor) {}
  Argument(std::string_view name, Number number) : name_(name), number_(number) {}

  std::string_view name() const { return name_; }
  const HostTensor* tensor() const { return tensor_; }  // Null for a number.
  const Number& number() const { return number_; }

 private:
  std::string_view name_;
  const HostTensor* tensor_ = nullptr;
  Number number_ = 0;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_TENSOR_ARGUMENT_H_
