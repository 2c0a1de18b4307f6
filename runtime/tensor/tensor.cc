#include "sinter/runtime/tensor/tensor.h"

#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/memory/process_allocator.h"

namespace sinter {
namespace {

static_assert(CachingAllocator::kUnit % HostTensor::kAlignment == 0);

// The address of owning tensors without elements.
alignas(HostTensor::kAlignment) char nowhere[HostTensor::kAlignment];

}  // namespace

std::string ShapeToString(DType dtype, std::span<const int64_t> shape) {
  std::string text = absl::StrCat(std::string(DTypeName(dtype)), "[");
  for (size_t i = 0; i < shape.size(); ++i) absl::StrAppend(&text, i == 0 ? "" : ",", shape[i]);
  return text + "]";
}

absl::StatusOr<int64_t> DenseBytes(DType dtype, std::span<const int64_t> shape) {
  if (shape.size() > HostTensor::kMaxRank) {
    return absl::InvalidArgumentError(absl::StrCat(ShapeToString(dtype, shape), " has rank ", shape.size(),
                                                   ": at most ", HostTensor::kMaxRank, " is possible"));
  }
  int64_t bytes = SizeOf(dtype);
  bool empty = false;
  for (const int64_t size : shape) {
    if (size < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat(ShapeToString(dtype, shape), " has a negative size, ", size, ": sizes are 0 or more"));
    }
    empty |= size == 0;
  }
  if (empty) return int64_t{0};
  for (const int64_t size : shape) {
    if (bytes > std::numeric_limits<int64_t>::max() / size) {
      return absl::InvalidArgumentError(
          absl::StrCat(ShapeToString(dtype, shape), " has more bytes than 64 bits can count"));
    }
    bytes *= size;
  }
  return bytes;
}

HostTensor::HostTensor(HostTensor&& other) noexcept { *this = std::move(other); }

HostTensor& HostTensor::operator=(HostTensor&& other) noexcept {
  if (this == &other) return *this;
  dtype_ = other.dtype_;
  read_only_ = std::exchange(other.read_only_, false);
  is_owning_ = std::exchange(other.is_owning_, false);
  shape_ = std::move(other.shape_);
  num_elements_ = std::exchange(other.num_elements_, 0);
  data_ = std::exchange(other.data_, nullptr);
  owned_ = std::move(other.owned_);
  other.shape_.clear();
  return *this;
}

absl::StatusOr<HostTensor> HostTensor::Describe(DType dtype, std::vector<int64_t> shape) {
  SINTER_ASSIGN_OR_RETURN(const int64_t bytes, DenseBytes(dtype, shape));
  HostTensor tensor;
  tensor.dtype_ = dtype;
  tensor.shape_ = std::move(shape);
  tensor.num_elements_ = bytes / SizeOf(dtype);
  return tensor;
}

absl::StatusOr<HostTensor> HostTensor::Empty(DType dtype, std::vector<int64_t> shape) {
  SINTER_ASSIGN_OR_RETURN(CachingAllocator* const memory, ProcessAllocator());
  return Empty(dtype, std::move(shape), *memory);
}

absl::StatusOr<HostTensor> HostTensor::Empty(DType dtype, std::vector<int64_t> shape,
                                             CachingAllocator& memory) {
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, Describe(dtype, std::move(shape)));
  if (!memory.device().is_host()) {
    return absl::InvalidArgumentError(
        absl::StrCat(tensor.ToString(), " is in main memory, and the allocator has memory of ",
                     memory.device().ToString(), ": use PinnedHost(", memory.device().ToString(), ")"));
  }
  SINTER_ASSIGN_OR_RETURN(tensor.owned_,
                          memory.Allocate(tensor.num_bytes(), absl::StrCat("tensor ", tensor.ToString())));
  tensor.is_owning_ = true;
  tensor.data_ = tensor.num_elements_ > 0 ? tensor.owned_.ptr() : nowhere;
  return tensor;
}

absl::StatusOr<HostTensor> HostTensor::Zeros(DType dtype, std::vector<int64_t> shape) {
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, Empty(dtype, std::move(shape)));
  std::memset(tensor.data_, 0, static_cast<size_t>(tensor.num_bytes()));
  return tensor;
}

absl::StatusOr<HostTensor> HostTensor::Borrow(DType dtype, std::vector<int64_t> shape, void* data) {
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, Describe(dtype, std::move(shape)));
  if (tensor.num_elements_ > 0 && data == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("no data for ", tensor.ToString(), ": the pointer is null"));
  }
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(SizeOf(dtype)) != 0) {
    return absl::InvalidArgumentError(absl::StrCat("the data of ", tensor.ToString(), " is not aligned to ",
                                                   SizeOf(dtype), " bytes, the size of an element"));
  }
  tensor.data_ = data;
  return tensor;
}

absl::StatusOr<HostTensor> HostTensor::View(DType dtype, std::vector<int64_t> shape, const void* data) {
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, Borrow(dtype, std::move(shape), const_cast<void*>(data)));
  tensor.read_only_ = true;
  return tensor;
}

absl::StatusOr<HostTensor> HostTensor::Clone() const {
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, Empty(dtype_, shape_));
  if (num_bytes() > 0) std::memcpy(tensor.data_, data_, static_cast<size_t>(num_bytes()));
  return tensor;
}

absl::Status HostTensor::CheckAccess(DType asked, bool writing) const {
  if (asked != dtype_) {
    return absl::InvalidArgumentError(absl::StrCat(ToString(), " is read or written as ",
                                                   std::string(DTypeName(asked)), ": its elements are ",
                                                   std::string(DTypeName(dtype_))));
  }
  if (writing && read_only_) {
    return absl::FailedPreconditionError(absl::StrCat(
        ToString(), " is a view of memory that may not be written: Clone it, or Borrow instead"));
  }
  return absl::OkStatus();
}

absl::Status HostTensor::CheckCount(size_t values) const {
  if (values == static_cast<size_t>(num_elements_)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(ToString(), " has ", num_elements_, " elements, but ", values, " values are given"));
}

}  // namespace sinter
