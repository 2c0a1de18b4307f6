// A part of a tensor: a box of a view of it, in which each dimension is a product of extents.
//
//   // Heads 6 to 11 of three tensors that f32[768,2304] packs: a view [768, 3, 12, 64].
//   const std::vector<BoxExtent> extents = {{768, 768, 0}, {3, 3, 0}, {12, 6, 6}, {64, 64, 0}};
//   const TensorBox box(extents);
//   box.num_elements();                                            // 768 * 3 * 6 * 64
//   box.ForEachRun(0, box.num_elements(), [&](int64_t part, int64_t whole, int64_t count) {
//     std::copy_n(tensor + whole, count, values + part);           // The box's elements, row-major.
//   });
//
// Boxes of one tensor with equal sizes of their extents are equal if they hold the same elements.
#ifndef SINTER_RUNTIME_TENSOR_TENSOR_BOX_H_
#define SINTER_RUNTIME_TENSOR_TENSOR_BOX_H_

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sinter/runtime/host/dtype.h"

namespace sinter {

// Iterations [first, first + part) of `size`.
struct BoxExtent {
  int64_t size = 1;
  int64_t part = 1;
  int64_t first = 0;

  friend auto operator<=>(const BoxExtent&, const BoxExtent&) = default;
};

class TensorBox {
 public:
  // All elements of a tensor.
  static TensorBox Whole(int64_t elements);
  // Major first. Each has 1 <= part, 0 <= first and first + part <= size.
  explicit TensorBox(std::span<const BoxExtent> extents);

  bool is_whole() const { return extents_.size() == 1 && extents_[0].part == extents_[0].size; }
  int64_t num_elements() const;
  // Elements of the tensor.
  int64_t whole_elements() const;
  // Returns how many elements of the box come before element `whole` of the tensor, which may be its end.
  int64_t CountBefore(int64_t whole) const;
  // As few extents as describe the box: one if its elements follow each other in the tensor.
  std::span<const BoxExtent> extents() const { return extents_; }

  // Calls f(part, whole, count) for elements [begin, begin + count) of the box, which lie within it, in
  // order: elements [part, part + count) of the box are elements [whole, whole + count) of the tensor. Both
  // rise from call to call.
  template <typename F>
  void ForEachRun(int64_t begin, int64_t count, F&& f) const {
    const BoxExtent& inner = extents_.back();
    while (count > 0) {
      const int64_t at = begin % inner.part, length = std::min(inner.part - at, count);
      f(begin, RowAt(begin / inner.part) + inner.first + at, length);
      begin += length;
      count -= length;
    }
  }

  friend auto operator<=>(const TensorBox&, const TensorBox&) = default;

 private:
  // The tensor's element at which the innermost extent of the box's row `row` begins.
  int64_t RowAt(int64_t row) const {
    int64_t at = 0, stride = extents_.back().size;
    for (size_t i = extents_.size() - 1; i-- > 0; row /= extents_[i].part, stride *= extents_[i].size) {
      at += (extents_[i].first + row % extents_[i].part) * stride;
    }
    return at;
  }

  std::vector<BoxExtent> extents_;  // At least one.
};

// Copies elements [begin, begin + count) of the box, from or to the dense tensor, whose elements have `size`
// bytes. `part` is the first of them.
void TakePart(const TensorBox& box, int64_t begin, int64_t count, const void* tensor, int64_t size,
              void* part);
void PutPart(const TensorBox& box, int64_t begin, int64_t count, const void* part, int64_t size,
             void* tensor);
// Adds the elements to those of the tensor. They are f32 or f64.
void AddPart(const TensorBox& box, int64_t begin, int64_t count, const void* part, DType dtype, void* tensor);

}  // namespace sinter

#endif  // SINTER_RUNTIME_TENSOR_TENSOR_BOX_H_
