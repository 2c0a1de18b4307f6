// A symbolic tensor: the value of an expression in a function that is being built.
//
//   sn::Tensor y = sn::Relu(x * 2.0 + bias);      // x: f32[32,10], bias: f32[10]; shapes broadcast as in
//   NumPy y.shape();                                    // {32, 10}
//
// A Tensor is a cheap handle, copied freely and valid in the function that made it. Nothing is computed while a
// graph is built. A wrong call does not throw: the graph keeps the error, with the caller's line, the call
// returns a tensor that is not ok(), calls on such a tensor do nothing, and Compile() returns all errors together.
// A tensor that no call made, one of another graph or function, and one whose graph has been destroyed are errors
// of the function that uses them; the first of these is reported where its graph has no other error.
#ifndef SINTER_FRONTEND_GRAPH_TENSOR_H_
#define SINTER_FRONTEND_GRAPH_TENSOR_H_

#include <concepts>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/number.h"
#include "sinter/runtime/memory/device.h"

namespace sinter {

// The element types, by short name: sn::F32.
inline constexpr DType F64 = DType::kF64, F32 = DType::kF32, BF16 = DType::kBf16, F16 = DType::kF16;
inline constexpr DType I64 = DType::kI64, I32 = DType::kI32, I8 = DType::kI8, U8 = DType::kU8,
                       I1 = DType::kI1;

using Shape = std::vector<int64_t>;
// The user's line. Every builder call takes one, by default that of the call.
using Where = std::source_location;

// The most elements that a tensor may have, dimensions of size 0 counted as 1: 1 PiB of f64. Larger ones are errors, also
// where they would be computed piece by piece and never be in memory.
inline constexpr int64_t kMaxElements = int64_t{1} << 47;

class FunctionState;

class Tensor {
 public:
  // Not ok(): what a failed call returns.
  Tensor() = default;
  Tensor(FunctionState* function, const void* value);

  // False also when its graph has been destroyed.
  bool ok() const { return value_ != nullptr && function() != nullptr; }
  // Of a tensor that is not ok(): rank 0, f32, cpu:0.
  const Shape shape() const;
  int64_t rank() const { return static_cast<int64_t>(shape().size()); }
  // The size of a dimension; negative ones count from the end. 1 when there is no such dimension.
  int64_t dim(int64_t d) const;
  int64_t size() const;  // Elements.
  DType dtype() const;
  // Where the graph places it: by a scope, a copy, a module, or as what it is computed from. What nothing places is on
  // CompileOptions::device, or with its users; here it is cpu:0.
  Device device() const;
  // "f32[32,10]".
  std::string ToString() const;

  // For Sinter's own sources. Null: none made it, or its graph has been destroyed.
  FunctionState* function() const { return function_ ? *function_ : nullptr; }
  const void* value() const { return value_; }
  bool outlived_its_graph() const { return function_ && !*function_; }

 private:
  std::shared_ptr<FunctionState*> function_;  // Shared with the function, which leaves null there.
  const void* value_ = nullptr;
};

// A tensor or a number, and the line where it was used: what operators take, since an operator cannot have a
// default argument. A number takes the element type of the other operand, which must hold it (CheckNumber in
// runtime/host/number.h): `x * 0.5` of integers is an error, Cast(x, F32) * 0.5 is not. Whole numbers are exact.
class Operand {
 public:
  Operand(const Tensor& tensor, Where where = Where::current())
      : tensor_(tensor), is_tensor_(true), where_(where) {}
  template <typename T>
    requires std::integral<T> || std::floating_point<T>
  Operand(T number, Where where = Where::current()) : number_(number), where_(where) {}
  Operand(Number number, Where where = Where::current()) : number_(number), where_(where) {}

  bool is_tensor() const { return is_tensor_; }
  const Tensor& tensor() const { return tensor_; }
  const Number& number() const { return number_; }
  Where where() const { return where_; }

 private:
  Tensor tensor_;
  Number number_ = 0;
  bool is_tensor_ = false;
  Where where_;
};

// "f32[32,10]".
std::string TypeString(DType dtype, const Shape& shape);

}  // namespace sinter

namespace sn = sinter;

#endif  // SINTER_FRONTEND_GRAPH_TENSOR_H_
