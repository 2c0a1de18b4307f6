// A symbolic tensor: the value of an expression in a function that is being built.
//
//   sn::Tensor y = sn::Relu(x * 2.0 + bias);      // x: f32[32,10], bias: f32[10]; they broadcast like NumPy.
//   y.shape();                                    // {32, 10}
//
// A Tensor is a cheap handle, copied freely and valid in the function that made it. Building a graph computes
// nothing. A wrong call does not throw. The graph keeps the error with the caller's line, and the call
// returns a tensor that is not ok(). Calls with such a tensor do nothing, and Compile() returns all errors
// together. Using a default-constructed tensor, a tensor of another graph or function, or a tensor whose
// graph has been destroyed is an error of the function that uses it. A default-constructed tensor is reported
// only if its graph has no other error.
#ifndef SINTER_FRONTEND_GRAPH_TENSOR_H_
#define SINTER_FRONTEND_GRAPH_TENSOR_H_

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <string>
#include <vector>

#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/number.h"
#include "sinter/runtime/memory/device.h"

namespace sinter {

// Short names of the element types: sn::F32.
inline constexpr DType F64 = DType::kF64, F32 = DType::kF32, BF16 = DType::kBf16, F16 = DType::kF16;
inline constexpr DType I64 = DType::kI64, I32 = DType::kI32, I16 = DType::kI16, I8 = DType::kI8;
inline constexpr DType U64 = DType::kU64, U32 = DType::kU32, U16 = DType::kU16, U8 = DType::kU8;
inline constexpr DType I1 = DType::kI1, F8E4M3 = DType::kF8E4M3, F8E5M2 = DType::kF8E5M2;

using Shape = std::vector<int64_t>;
// The user's line. Every builder call takes one; the default is the line of the call.
using Where = std::source_location;

// The most elements of a tensor, with dimensions of size 0 counted as 1: 1 PiB of f64. A larger tensor is an
// error, even one that would be computed in pieces and never be in memory whole.
inline constexpr int64_t kMaxElements = int64_t{1} << 47;

class FunctionBuilder;
class Index;
class Place;

class Tensor {
 public:
  // A tensor that is not ok(), as a failed call returns it.
  Tensor() = default;
  Tensor(FunctionBuilder* function, const void* value);

  // False also after the graph has been destroyed.
  bool ok() const { return value_ != nullptr && function() != nullptr; }
  // A tensor that is not ok() has rank 0, f32 and cpu:0.
  const Shape shape() const;
  int64_t rank() const { return static_cast<int64_t>(shape().size()); }
  // The size of dimension `d`; a negative `d` counts from the end. 1 if there is no such dimension.
  int64_t dim(int64_t d) const;
  int64_t size() const;  // Number of elements.
  DType dtype() const;
  // The device on which the graph places the tensor: by a scope, a copy, a module, or the operands. For an
  // unplaced tensor this returns cpu:0; the compiler places it on CompileOptions::device or on the device of
  // its users.
  Device device() const;
  // "f32[32,10]".
  std::string ToString() const;

  // Part of the tensor, as x[0] or x[{Ellipsis, Range{1, -1}}] (frontend/ops/indexing.h).
  Tensor operator[](const Index& subscript) const;
  Tensor operator[](std::initializer_list<Index> subscripts) const;
  // A part that a new tensor replaces, as x.At({0}).Set(row) (frontend/ops/scatter.h).
  Place At(std::initializer_list<Index> subscripts) const;

  // For Sinter's own sources. Null if no call made the tensor, or if its graph has been destroyed.
  FunctionBuilder* function() const { return function_ ? *function_ : nullptr; }
  const void* value() const { return value_; }
  bool outlived_its_graph() const { return function_ && !*function_; }

 private:
  std::shared_ptr<FunctionBuilder*> function_;  // Shared with the function, whose destructor sets it to null.
  const void* value_ = nullptr;
};

// A tensor or a number, with the line of its use. Operators take Operands because an operator cannot have a
// default argument for the line. A number takes the element type of the other operand, which must hold it
// (CheckNumber in runtime/host/number.h): `x * 0.5` of integers is an error, Cast(x, F32) * 0.5 is not. Whole
// numbers are exact.
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
