// A dense row-major tensor in main memory, for the inputs and outputs of plans.
//
//   SINTER_ASSIGN_OR_RETURN(HostTensor x, HostTensor::FromVector<float>({2, 3}, {1, 2, 3, 4, 5, 6}));
//   SINTER_ASSIGN_OR_RETURN(std::span<float> values, x.MutableSpan<float>());
//   values[5] = 7;
//   x.ToString()                                               // "f32[2,3]"
//   SINTER_ASSIGN_OR_RETURN(HostTensor view, HostTensor::View(DType::kI32, {4}, labels));   // No copy.
//
// The rank is 0 (a scalar with one element) to 8. Sizes count elements; a size of 0 is legal and gives a
// tensor without elements. An owning tensor's data is aligned to 64 bytes and its pointer is never null. The
// memory of a borrowing tensor must outlive it. Tensors are movable; Clone copies. C++ element types: double,
// float, BFloat16, Float16, int8_t to int64_t, uint8_t to uint64_t, bool, Float8E4M3, Float8E5M2.
//
// Owned memory comes from the process-wide caching allocator (runtime/memory/process_allocator.h). It counts
// the memory in units of 512 bytes, tagged "tensor f32[2,3]". It keeps freed memory for the next tensor or
// session. Any thread may free a tensor at any time until the process ends. New memory has unspecified
// contents, so Empty tensors are uninitialized.
#ifndef SINTER_RUNTIME_TENSOR_TENSOR_H_
#define SINTER_RUNTIME_TENSOR_TENSOR_H_

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/host/element_types.h"
#include "sinter/runtime/host/half.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/caching_allocator.h"

namespace sinter {

// Returns text such as "f32[2,3]", or "f32[]" for a scalar.
std::string ShapeToString(DType dtype, std::span<const int64_t> shape);

// Returns the bytes of a dense tensor. InvalidArgument for a rank above 8, a negative size, or 2^63 bytes or
// more.
absl::StatusOr<int64_t> DenseBytes(DType dtype, std::span<const int64_t> shape);

// A span of a tensor's elements, or an error. Unlike absl::StatusOr, operator* returns the span by value. So
// a loop over a temporary, `for (float& x : *t.MutableSpan<float>())`, is safe.
template <typename T>
class SpanOr : public absl::StatusOr<std::span<T>> {
 public:
  using Base = absl::StatusOr<std::span<T>>;
  using Base::Base;
  std::span<T> operator*() const { return Base::operator*(); }
  std::span<T> value() const { return Base::value(); }
};

class HostTensor {
 public:
  static constexpr int kMaxRank = 8;
  static constexpr int64_t kAlignment = 64;

  // Makes an f32[0] tensor that owns nothing.
  HostTensor() = default;
  HostTensor(HostTensor&& other) noexcept;
  HostTensor& operator=(HostTensor&& other) noexcept;

  // Make owning tensors. Empty leaves the values undefined. InvalidArgument for a bad shape or a bad limit in
  // the environment; ResourceExhausted if memory or the limit is too small, with the allocator's list of its
  // largest users.
  static absl::StatusOr<HostTensor> Empty(DType dtype, std::vector<int64_t> shape);
  // The same in memory of this allocator, such as PinnedHost(Device::Gpu(0)): a GPU copies inputs from there
  // without a copy by the CPU. The allocator must outlive the tensor. InvalidArgument also if its memory is
  // no main memory.
  static absl::StatusOr<HostTensor> Empty(DType dtype, std::vector<int64_t> shape, CachingAllocator& memory);
  static absl::StatusOr<HostTensor> Zeros(DType dtype, std::vector<int64_t> shape);
  // Makes an owning copy of `values`, in row-major order. InvalidArgument if their number does not match the
  // shape.
  template <typename T>
  static absl::StatusOr<HostTensor> FromVector(std::vector<int64_t> shape, const std::vector<T>& values);

  // Make borrowing tensors. `data` holds the elements, aligned to the element type; null only if there are
  // none. A View cannot be written through.
  static absl::StatusOr<HostTensor> Borrow(DType dtype, std::vector<int64_t> shape, void* data);
  static absl::StatusOr<HostTensor> View(DType dtype, std::vector<int64_t> shape, const void* data);

  // Returns an owning copy.
  absl::StatusOr<HostTensor> Clone() const;

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& shape() const { return shape_; }
  int rank() const { return static_cast<int>(shape_.size()); }
  int64_t num_elements() const { return num_elements_; }
  int64_t num_bytes() const { return num_elements_ * SizeOf(dtype_); }
  bool is_owning() const { return is_owning_; }
  bool is_read_only() const { return read_only_; }

  const void* data() const { return data_; }
  // Returns null for a View.
  void* mutable_data() { return read_only_ ? nullptr : data_; }

  // Return the elements in row-major order. InvalidArgument if T is not the element type; FailedPrecondition
  // for a mutable span of a View.
  template <typename T>
  SpanOr<const T> Span() const;
  template <typename T>
  SpanOr<T> MutableSpan();

  // Returns the type and shape without values: "f32[2,3]".
  std::string ToString() const { return ShapeToString(dtype_, shape_); }

 private:
  static absl::StatusOr<HostTensor> Describe(DType dtype, std::vector<int64_t> shape);
  absl::Status CheckAccess(DType asked, bool writing) const;
  absl::Status CheckCount(size_t values) const;

  DType dtype_ = DType::kF32;
  bool read_only_ = false;
  bool is_owning_ = false;
  std::vector<int64_t> shape_ = {0};
  int64_t num_elements_ = 0;
  void* data_ = nullptr;
  Allocation owned_;  // Also empty for an owning tensor without elements.
};

template <typename T>
absl::StatusOr<HostTensor> HostTensor::FromVector(std::vector<int64_t> shape, const std::vector<T>& values) {
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, Describe(DTypeOf<T>(), shape));
  SINTER_RETURN_IF_ERROR(tensor.CheckCount(values.size()));
  SINTER_ASSIGN_OR_RETURN(tensor, Empty(DTypeOf<T>(), std::move(shape)));
  std::copy(values.begin(), values.end(), static_cast<T*>(tensor.data_));
  return tensor;
}

template <typename T>
SpanOr<const T> HostTensor::Span() const {
  SINTER_RETURN_IF_ERROR(CheckAccess(DTypeOf<T>(), /*writing=*/false));
  return std::span<const T>(static_cast<const T*>(data_), static_cast<size_t>(num_elements_));
}

template <typename T>
SpanOr<T> HostTensor::MutableSpan() {
  SINTER_RETURN_IF_ERROR(CheckAccess(DTypeOf<T>(), /*writing=*/true));
  return std::span<T>(static_cast<T*>(data_), static_cast<size_t>(num_elements_));
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_TENSOR_TENSOR_H_
