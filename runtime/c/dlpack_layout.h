// Structures of DLPack 1.1 in memory, as its header dlpack/dlpack.h defines them. They are written out here,
// for distributions ship a header without the versioned structure.
//
//   struct DLManagedTensorVersioned* managed = ...;
//   managed->dl_tensor.shape[0]
//
// A reader of another major version may use only `version`, `manager_ctx`, `deleter` and `flags`.
#ifndef SINTER_RUNTIME_C_DLPACK_LAYOUT_H_
#define SINTER_RUNTIME_C_DLPACK_LAYOUT_H_

#include <cstddef>
#include <cstdint>

namespace sinter::dlpack {

inline constexpr uint32_t kMajor = 1, kMinor = 1;

// Kinds of memory that are main memory for this process.
inline constexpr int32_t kCpu = 1, kCudaHost = 3;

// Codes of element types.
inline constexpr uint8_t kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kBool = 6, kFloat8E4M3 = 10,
                         kFloat8E5M2 = 12;

inline constexpr uint64_t kReadOnly = 1;

struct Version {
  uint32_t major, minor;
};
struct Device {
  int32_t type, id;
};
struct DataType {
  uint8_t code, bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t ndim;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // In elements; null: dense and row-major.
  uint64_t byte_offset;
};

}  // namespace sinter::dlpack

struct DLManagedTensor {
  sinter::dlpack::Tensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};

struct DLManagedTensorVersioned {
  sinter::dlpack::Version version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  sinter::dlpack::Tensor dl_tensor;
};

static_assert(offsetof(sinter::dlpack::Tensor, device) == 8 && offsetof(sinter::dlpack::Tensor, ndim) == 16 &&
              offsetof(sinter::dlpack::Tensor, dtype) == 20 &&
              offsetof(sinter::dlpack::Tensor, shape) == 24 &&
              offsetof(sinter::dlpack::Tensor, strides) == 32 &&
              offsetof(sinter::dlpack::Tensor, byte_offset) == 40 && sizeof(sinter::dlpack::Tensor) == 48);
static_assert(offsetof(DLManagedTensor, manager_ctx) == 48 && offsetof(DLManagedTensor, deleter) == 56 &&
              sizeof(DLManagedTensor) == 64);
static_assert(offsetof(DLManagedTensorVersioned, manager_ctx) == 8 &&
              offsetof(DLManagedTensorVersioned, deleter) == 16 &&
              offsetof(DLManagedTensorVersioned, flags) == 24 &&
              offsetof(DLManagedTensorVersioned, dl_tensor) == 32 && sizeof(DLManagedTensorVersioned) == 80);

#endif  // SINTER_RUNTIME_C_DLPACK_LAYOUT_H_
