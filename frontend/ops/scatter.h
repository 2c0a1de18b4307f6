// Tensors like another but for some of their elements, and sorted tensors.
//
//   Tensor y = x.At({0}).Set(row);                        // x with another first row.
//   Tensor z = x.At({Ellipsis, Range{0, 2}}).Mul(0.5);    // The first two columns halved.
//   Tensor counts = b.Zeros(I32, {10}).At({digits}).Add(1);
//   Tensor k = cache.At({Range{}, Window{length, 1}}).Set(new_k);  // One position of a cache [8, 512, 64].
//   b.Assign(table, b.Read(table).At({ids}).Add(-0.1 * g));        // In place.
//
// The subscripts are those of indexing.h, without NewAxis. The compiler computes the new tensor in the
// memory of the old one where nothing reads the old one later, as for a variable that is assigned: then only
// the part is read and written.
#ifndef SINTER_FRONTEND_OPS_SCATTER_H_
#define SINTER_FRONTEND_OPS_SCATTER_H_

#include <initializer_list>
#include <vector>

#include "sinter/frontend/graph/tensor.h"
#include "sinter/frontend/ops/indexing.h"

namespace sinter {

// The fate of an element that an index names.
enum class ScatterKind {
  kSet,  // The update replaces it. Of several updates of an element the last one stays.
  kAdd,
  kMax,
  kMin,
  kMul,
};

// A part of a tensor. Each method returns a tensor of x's type in which the part is changed. `values` are a
// number or a tensor of x's element type, and broadcast to the part's shape. An index out of range changes
// nothing, and is an error with CompileOptions::check_indices. Where indices name an element twice, its
// updates count in their order, so that results repeat to the bit.
class Place {
 public:
  // For Tensor::At.
  Place(const Tensor& x, std::vector<Index> subscripts) : x_(x), subscripts_(std::move(subscripts)) {}

  Tensor Set(const Operand& values, Where where = Where::current()) const {
    return Combine(ScatterKind::kSet, values, where);
  }
  Tensor Add(const Operand& values, Where where = Where::current()) const {
    return Combine(ScatterKind::kAdd, values, where);
  }
  Tensor Max(const Operand& values, Where where = Where::current()) const {
    return Combine(ScatterKind::kMax, values, where);
  }
  Tensor Min(const Operand& values, Where where = Where::current()) const {
    return Combine(ScatterKind::kMin, values, where);
  }
  Tensor Mul(const Operand& values, Where where = Where::current()) const {
    return Combine(ScatterKind::kMul, values, where);
  }

 private:
  Tensor Combine(ScatterKind kind, const Operand& values, Where where) const;

  Tensor x_;
  std::vector<Index> subscripts_;
};

// x with result[..., indices[i...], ...] combined with updates[..., i..., ...] along `dim`. Updates have the
// dimensions of the indices in place of `dim`. Takes numbers. An index out of range changes nothing.
// Gradients: of kSet and kAdd in x and updates; kMax and kMin share an element's gradient evenly among those
// that are equal to the result; kMul as for a product.
Tensor Scatter(const Tensor& x, const Tensor& indices, const Tensor& updates, int64_t dim, ScatterKind kind,
               Where where = Where::current());

// JAX's dynamic_slice and dynamic_update_slice: a part of the given sizes, or of the update's sizes, from
// `starts` on, one for each dimension of x. Starts are numbers, or i32[] or i64[] tensors, and are moved so
// that the part is within x.
Tensor DynamicSlice(const Tensor& x, const std::vector<Operand>& starts, const Shape& sizes,
                    Where where = Where::current());
Tensor DynamicUpdateSlice(const Tensor& x, const Tensor& update, const std::vector<Operand>& starts,
                          Where where = Where::current());

// The elements along `dim` in order, and their positions (i32). Takes numbers. Equal elements keep their
// order; NaN is the largest. The gradient goes to the elements at the positions.
struct SortOptions {
  int64_t dim = -1;
  bool descending = false;
};
struct SortResult {
  Tensor values, positions;
};
SortResult Sort(const Tensor& x, SortOptions options = {}, Where where = Where::current());
Tensor ArgSort(const Tensor& x, SortOptions options = {}, Where where = Where::current());

// The position in `sorted`, an ascending tensor of rank 1, before which each value would keep it sorted
// (i32): the first such position, or the last one if `right`, as in NumPy.
Tensor SearchSorted(const Tensor& sorted, const Tensor& values, bool right = false,
                    Where where = Where::current());
// How often each number from 0 to bins - 1 occurs among the i32 or i64 numbers of x (i32[bins]); or the sum
// of the weights, of x's shape, where it occurs. Other numbers do not count.
Tensor BinCount(const Tensor& x, int64_t bins, Where where = Where::current());
Tensor BinCount(const Tensor& x, const Tensor& weights, int64_t bins, Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_SCATTER_H_
