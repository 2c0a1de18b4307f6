// Tensors from and to DLPack.
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sinter/runtime/c/call.h"
#include "sinter/runtime/c/dlpack_layout.h"
#include "sinter/runtime/c/handles.h"

namespace sinter::c_interface {
namespace {

std::optional<DType> FindDType(const dlpack::DataType& type) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    const DTypeFamily family = RecordOf(dtype).family;
    uint8_t code = dlpack::kFloat;
    if (dtype == DType::kBf16) code = dlpack::kBfloat;
    if (family == DTypeFamily::kSigned) code = dlpack::kInt;
    if (family == DTypeFamily::kUnsigned) code = dlpack::kUInt;
    if (family == DTypeFamily::kBool) code = dlpack::kBool;
    if (dtype == DType::kF8E4M3) code = dlpack::kFloat8E4M3;
    if (dtype == DType::kF8E5M2) code = dlpack::kFloat8E5M2;
    if (type.code == code && type.bits == 8 * SizeOf(dtype)) return dtype;
  }
  return std::nullopt;
}

dlpack::DataType DataTypeOf(DType dtype) {
  dlpack::DataType type = {0, static_cast<uint8_t>(8 * SizeOf(dtype)), 1};
  while (FindDType(type) != dtype) ++type.code;
  return type;
}

absl::Status CheckDevice(const dlpack::Device& device) {
  if (device.type == dlpack::kCpu || device.type == dlpack::kCudaHost) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat(
      "a DLPack tensor in the memory of device type ", device.type, ", number ", device.id,
      ": this version takes main memory only (types 1 and 3); copy the tensor to the CPU, a run copies "
      "it to its device"));
}

// OK if the strides are those of a dense row-major tensor. Strides of dimensions of size 1 do not matter, and
// none do without elements.
absl::Status CheckStrides(const dlpack::Tensor& from, const std::vector<int64_t>& shape) {
  if (from.strides == nullptr) return absl::OkStatus();
  for (const int64_t size : shape) {
    if (size == 0) return absl::OkStatus();
  }
  int64_t dense = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] != 1 && from.strides[i] != dense) {
      return absl::InvalidArgumentError(
          absl::StrCat("a DLPack tensor with stride ", from.strides[i], " of dimension ", i,
                       " where a dense row-major one has ", dense,
                       ": make it contiguous first (numpy.ascontiguousarray, torch.Tensor.contiguous)"));
    }
    dense *= shape[i];
  }
  return absl::OkStatus();
}

// Makes a tensor over `from`, whose memory `owner` keeps; a copy if the memory is not aligned to the size of
// an element.
absl::Status Take(const dlpack::Tensor& from, bool is_read_only, std::shared_ptr<const void> owner,
                  sn_tensor** out) {
  SINTER_RETURN_IF_ERROR(CheckDevice(from.device));
  if (from.ndim < 0 || from.ndim > HostTensor::kMaxRank) {
    return absl::InvalidArgumentError(
        absl::StrCat("a DLPack tensor of rank ", from.ndim, ": ranks are 0 to ", HostTensor::kMaxRank));
  }
  const std::optional<DType> dtype = FindDType(from.dtype);
  if (!dtype || from.dtype.lanes != 1) {
    return absl::InvalidArgumentError(absl::StrCat("a DLPack tensor of type code ", int{from.dtype.code},
                                                   " with ", int{from.dtype.bits}, " bits and ",
                                                   from.dtype.lanes, " lanes: no element type is like it"));
  }
  if (from.ndim > 0) SINTER_RETURN_IF_ERROR(CheckPointer(from.shape, "dl_tensor.shape"));
  std::vector<int64_t> shape;
  if (from.ndim > 0) shape.assign(from.shape, from.shape + from.ndim);
  SINTER_RETURN_IF_ERROR(DenseBytes(*dtype, shape).status());
  SINTER_RETURN_IF_ERROR(CheckStrides(from, shape));
  auto* const data = static_cast<std::byte*>(from.data) + (from.data == nullptr ? 0 : from.byte_offset);
  TensorStorage storage;
  if (reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(SizeOf(*dtype)) != 0) {
    SINTER_ASSIGN_OR_RETURN(storage.tensor, HostTensor::Empty(*dtype, std::move(shape)));
    std::memcpy(storage.tensor.mutable_data(), data, static_cast<size_t>(storage.tensor.num_bytes()));
    storage.is_copy = true;
  } else {
    auto view = is_read_only ? HostTensor::View(*dtype, std::move(shape), data)
                             : HostTensor::Borrow(*dtype, std::move(shape), data);
    SINTER_ASSIGN_OR_RETURN(storage.tensor, std::move(view));
    storage.owner = std::move(owner);
  }
  *out = new sn_tensor{std::make_shared<const TensorStorage>(std::move(storage))};
  return absl::OkStatus();
}

template <typename Managed>
void Delete(Managed* managed) {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

// A managed tensor that holds a tensor of ours: what `manager_ctx` points to.
template <typename Managed>
struct Given {
  std::shared_ptr<const TensorStorage> storage;
  std::vector<int64_t> strides;
  Managed managed = {};
};

template <typename Managed>
Managed* Give(const std::shared_ptr<const TensorStorage>& storage) {
  auto given = std::make_unique<Given<Managed>>();
  given->storage = storage;
  const HostTensor& tensor = storage->tensor;
  given->strides.resize(tensor.shape().size());
  int64_t dense = 1;
  for (size_t i = tensor.shape().size(); i-- > 0;) {
    given->strides[i] = dense;
    dense *= tensor.shape()[i];
  }
  dlpack::Tensor& to = given->managed.dl_tensor;
  to.data = tensor.num_elements() == 0 ? nullptr : const_cast<void*>(tensor.data());
  to.device = {dlpack::kCpu, 0};
  to.ndim = tensor.rank();
  to.dtype = DataTypeOf(tensor.dtype());
  to.shape = const_cast<int64_t*>(tensor.shape().data());
  to.strides = given->strides.data();
  given->managed.manager_ctx = given.get();
  given->managed.deleter = [](Managed* managed) {
    delete static_cast<Given<Managed>*>(managed->manager_ctx);
  };
  return &given.release()->managed;
}

}  // namespace
}  // namespace sinter::c_interface

using namespace sinter::c_interface;  // NOLINT(google-build-using-namespace): the functions below are C.

sn_code sn_tensor_from_dlpack(DLManagedTensorVersioned* managed, sn_tensor** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(managed, "managed"));
    const std::shared_ptr<const void> owner(managed, [managed](const void*) { Delete(managed); });
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    *out = nullptr;
    if (managed->version.major != sinter::dlpack::kMajor) {
      return absl::InvalidArgumentError(absl::StrCat("a DLPack tensor of version ", managed->version.major,
                                                     ".", managed->version.minor, ": this version reads ",
                                                     sinter::dlpack::kMajor, ".x"));
    }
    return Take(managed->dl_tensor, (managed->flags & sinter::dlpack::kReadOnly) != 0, owner, out);
  });
}

sn_code sn_tensor_from_dlpack_unversioned(DLManagedTensor* managed, sn_tensor** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(managed, "managed"));
    const std::shared_ptr<const void> owner(managed, [managed](const void*) { Delete(managed); });
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    *out = nullptr;
    return Take(managed->dl_tensor, /*is_read_only=*/false, owner, out);
  });
}

sn_code sn_tensor_to_dlpack(const sn_tensor* tensor, DLManagedTensorVersioned** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    *out = nullptr;
    SINTER_RETURN_IF_ERROR(CheckPointer(tensor, "tensor"));
    DLManagedTensorVersioned* const managed = Give<DLManagedTensorVersioned>(tensor->storage);
    managed->version = {sinter::dlpack::kMajor, sinter::dlpack::kMinor};
    managed->flags = tensor->storage->tensor.is_read_only() ? sinter::dlpack::kReadOnly : 0;
    *out = managed;
    return absl::OkStatus();
  });
}

sn_code sn_tensor_to_dlpack_unversioned(const sn_tensor* tensor, DLManagedTensor** out) {
  return Call([&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR(CheckPointer(out, "out"));
    *out = nullptr;
    SINTER_RETURN_IF_ERROR(CheckPointer(tensor, "tensor"));
    if (tensor->storage->tensor.is_read_only()) {
      return absl::FailedPreconditionError(
          "the tensor is read-only, which DLPack's unversioned structure cannot say: give a copy "
          "(sn_tensor_copy), "
          "or use sn_tensor_to_dlpack");
    }
    *out = Give<DLManagedTensor>(tensor->storage);
    return absl::OkStatus();
  });
}
