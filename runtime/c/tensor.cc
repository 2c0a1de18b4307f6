// Tensors in main memory.
#include <memory>
#include <utility>
#include <vector>

#include "sinter/runtime/c/call.h"
#include "sinter/runtime/c/handles.h"
#include "sinter/runtime/memory/device.h"

namespace sinter::c_interface {

uint32_t TensorStorage::Flags() const {
  uint32_t flags = 0;
  if (tensor.is_read_only()) flags |= SN_TENSOR_READ_ONLY;
  if (tensor.is_owning()) flags |= SN_TENSOR_OWNS;
  if (is_copy) flags |= SN_TENSOR_COPIED;
  return flags;
}

sn_info InfoOf(const HostTensor& tensor) {
  return {nullptr, static_cast<sn_dtype>(tensor.dtype()), tensor.rank(), tensor.shape().data()};
}

sn_info InfoOf(const TensorInfo& info) {
  return {info.name.c_str(), static_cast<sn_dtype>(info.dtype), static_cast<int32_t>(info.shape.size()),
          info.shape.data()};
}

absl::Status GiveTensor(HostTensor tensor, std::shared_ptr<const void> owner, sn_tensor** out) {
  TensorStorage storage{std::move(tensor), std::move(owner)};
  *out = new sn_tensor{std::make_shared<const TensorStorage>(std::move(storage))};
  return absl::OkStatus();
}

absl::Status GiveView(const HostTensor& tensor, std::shared_ptr<const void> owner, sn_tensor** out) {
  SINTER_ASSIGN_OR_RETURN(HostTensor view, HostTensor::View(tensor.dtype(), tensor.shape(), tensor.data()));
  return GiveTensor(std::move(view), std::move(owner), out);
}

absl::Status CheckHostDevice(const char* device) {
  if (device == nullptr) return absl::OkStatus();
  SINTER_ASSIGN_OR_RETURN(const Device named, Device::Parse(device));
  if (named.is_host()) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      "tensors in the memory of ", named.ToString(),
      ": this version takes inputs from main memory and gives outputs there; copy the values to main "
      "memory, a run copies them to the device"));
}

namespace {

struct Description {
  DType dtype;
  std::vector<int64_t> shape;
};

absl::StatusOr<Description> Describe(sn_dtype dtype, int32_t rank, const int64_t* shape) {
  if (dtype < 0 || dtype >= kNumDTypes) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no element type ", dtype, ": the largest is ", kNumDTypes - 1));
  }
  if (rank < 0 || rank > HostTensor::kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("a rank of ", rank, ": ranks are 0 to ", HostTensor::kMaxRank));
  }
  if (rank > 0) SINTER_RETURN_IF_ERROR(CheckPointer(shape, "shape"));
  Description description{static_cast<DType>(dtype), {}};
  if (rank > 0) description.shape.assign(shape, shape + rank);
  return description;
}

}  // namespace
}  // namespace sinter::c_interface

using namespace sinter::c_interface;  // NOLINT(google-build-using-namespace): the functions below are C.

sn_code sn_tensor_borrow(sn_dtype dtype, int32_t rank, const int64_t* shape, void* data, const char* device,
                         sn_tensor** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    *out = nullptr;
    SINTER_RETURN_IF_ERROR(CheckHostDevice(device));
    SINTER_ASSIGN_OR_RETURN(Description is, Describe(dtype, rank, shape));
    SINTER_ASSIGN_OR_RETURN(sinter::HostTensor tensor,
                            sinter::HostTensor::Borrow(is.dtype, std::move(is.shape), data));
    return GiveTensor(std::move(tensor), nullptr, out);
  });
}

sn_code sn_tensor_empty(sn_dtype dtype, int32_t rank, const int64_t* shape, const char* device,
                        sn_tensor** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    *out = nullptr;
    SINTER_RETURN_IF_ERROR(CheckHostDevice(device));
    SINTER_ASSIGN_OR_RETURN(Description is, Describe(dtype, rank, shape));
    SINTER_ASSIGN_OR_RETURN(sinter::HostTensor tensor,
                            sinter::HostTensor::Empty(is.dtype, std::move(is.shape)));
    return GiveTensor(std::move(tensor), nullptr, out);
  });
}

sn_code sn_tensor_copy(const sn_tensor* tensor, sn_tensor** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    SINTER_RETURN_IF_ERROR(CheckPointer(tensor, "tensor"));
    SINTER_ASSIGN_OR_RETURN(sinter::HostTensor copy, tensor->storage->tensor.Clone());
    return GiveTensor(std::move(copy), nullptr, out);
  });
}

void sn_tensor_free(sn_tensor* tensor) { delete tensor; }

sn_code sn_tensor_info(const sn_tensor* tensor, sn_info* out, void** data) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(tensor, "tensor"));
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    *out = InfoOf(tensor->storage->tensor);
    if (data != nullptr) *data = const_cast<void*>(tensor->storage->tensor.data());
    return absl::OkStatus();
  });
}

uint32_t sn_tensor_flags(const sn_tensor* tensor) { return tensor == nullptr ? 0 : tensor->storage->Flags(); }
