// Tensors of the reference evaluator: floats are held as double, integers as int64_t.
//
//   Value x = Value::Zeros(DType::kF32, {2, 3});
//   x.reals[4] = Round(DType::kF32, 0.1);                   // 0.1 rounded to f32
//   ForEachIndex(x.shape, [&](const Shape& at) { ... x.reals[Offset(x.shape, at)] ... });
#ifndef SINTER_TESTS_REFERENCE_VALUE_H_
#define SINTER_TESTS_REFERENCE_VALUE_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "sinter/runtime/host/dtype.h"

namespace sinter::reference {

using Shape = std::vector<int64_t>;

int64_t NumElements(const Shape& shape);
// Returns the row-major offset of the element.
int64_t Offset(const Shape& shape, const Shape& at);
// Visits all indices in row-major order: once, without coordinates, for rank 0; never if a size is 0.
void ForEachIndex(const Shape& shape, const std::function<void(const Shape& at)>& visit);

struct Value {
  DType dtype = DType::kF64;
  Shape shape;
  std::vector<double> reals;  // Elements of floats.
  std::vector<int64_t> ints;  // Elements of the other types: u8 is 0 to 255, i1 is 0 or 1; u64 as its bits.

  static Value Zeros(DType dtype, Shape shape);

  bool is_real() const { return IsFloat(dtype) || IsStored(dtype); }
  int64_t size() const { return NumElements(shape); }
  // Copies element `from` of `source`, which has the same dtype, to element `to`.
  void Copy(int64_t to, const Value& source, int64_t from);
  // Returns any element as a double.
  double Number(int64_t i) const;
};

// Returns the nearest value of the float type (ties to even); infinity beyond the largest, or NaN in f8e4m3.
// 8-bit floats round from f32.
double Round(DType dtype, double x);
// Returns the value of the integer type that is equal modulo 2^bits.
int64_t Wrap(DType dtype, int64_t x);
// True if integer a is less than b; u64 are given as their bits.
bool IsLess(DType dtype, int64_t a, int64_t b);
// Smallest and largest value of an integer type; of u64 as its bits.
int64_t Lowest(DType dtype);
int64_t Highest(DType dtype);
// Truncates towards zero and saturates; NaN gives 0.
int64_t ToInteger(DType dtype, double x);

}  // namespace sinter::reference

#endif  // SINTER_TESTS_REFERENCE_VALUE_H_
