// Returns a tensor's bytes, for code that moves data without interpreting it.
//
//   SINTER_RETURN_IF_ERROR(file.Write(BytesOf(tensor)));
#ifndef SINTER_RUNTIME_TENSOR_TENSOR_BYTES_H_
#define SINTER_RUNTIME_TENSOR_TENSOR_BYTES_H_

#include <cstddef>
#include <span>

#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

inline std::span<const std::byte> BytesOf(const HostTensor& tensor) {
  return {static_cast<const std::byte*>(tensor.data()), static_cast<size_t>(tensor.num_bytes())};
}

// Requires a writable tensor: not a View.
inline std::span<std::byte> MutableBytesOf(HostTensor& tensor) {
  return {static_cast<std::byte*>(tensor.mutable_data()), static_cast<size_t>(tensor.num_bytes())};
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_TENSOR_TENSOR_BYTES_H_
