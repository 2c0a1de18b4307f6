// The elements of a known tensor as integers or doubles, for folding and for operands that must be known.
//
//   const Numbers n = Numbers::Of(tensor);         // f32 as doubles, i32, u8 and i1 as int64_t.
//   HostTensor back = n.To(DType::kI64);
#ifndef SINTER_FRONTEND_ONNX_NUMBERS_H_
#define SINTER_FRONTEND_ONNX_NUMBERS_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/graph/tensor.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::onnx {

struct Numbers {
  Shape shape = {};
  bool is_real = false;
  std::vector<int64_t> whole = {};  // Unless is_real. u64 keeps its bits.
  std::vector<double> real = {};

  static Numbers Of(const HostTensor& tensor);
  // Converts as Cast does: floats to integers without their fraction and limited to the range, integers by
  // their low bits, and to i1 by whether they are not 0.
  absl::StatusOr<HostTensor> To(DType dtype) const;

  int64_t size() const { return static_cast<int64_t>(is_real ? real.size() : whole.size()); }
  double Real(int64_t i) const {
    return is_real ? real[static_cast<size_t>(i)] : static_cast<double>(whole[static_cast<size_t>(i)]);
  }
  int64_t Whole(int64_t i) const {
    return is_real ? static_cast<int64_t>(real[static_cast<size_t>(i)]) : whole[static_cast<size_t>(i)];
  }
};

// The number of elements. Sizes are those of a legal tensor.
int64_t CountOf(const Shape& shape);
// For each element of `to`, the place of the element of `from` that it shows when `from` broadcasts to it.
std::vector<int64_t> BroadcastPlaces(const Shape& from, const Shape& to);
// nullopt-like: false if the shapes do not broadcast.
bool BroadcastShapes(const Shape& a, const Shape& b, Shape& result);

}  // namespace sinter::onnx

#endif  // SINTER_FRONTEND_ONNX_NUMBERS_H_
