// Tensors of ONNX files as HostTensors, and the numbers of element types there.
//
//   SINTER_ASSIGN_OR_RETURN(HostTensor value, ReadOnnxTensor(proto, {.folder = folder}));
#ifndef SINTER_FRONTEND_ONNX_TENSORS_H_
#define SINTER_FRONTEND_ONNX_TENSORS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "sinter/frontend/onnx/onnx_file.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::onnx {

inline constexpr int32_t kOnnxString = 8;

// nullopt for types that Sinter lacks: strings, complex numbers, numbers of 4 bits, other floats of 8 bits.
std::optional<DType> DTypeOfOnnx(int32_t type);
// "string", "complex64", ...
std::string OnnxTypeName(int32_t type);

struct TensorPlace {
  std::string folder = {};  // Folder of external data; empty: there may be none.
  int64_t max_bytes = int64_t{1} << 34;
};
// InvalidArgument if the data does not fit the type and dims, or lies outside of the folder; Unimplemented
// for a type that Sinter lacks.
absl::StatusOr<HostTensor> ReadOnnxTensor(const TensorProto& tensor, const TensorPlace& place);

}  // namespace sinter::onnx

#endif  // SINTER_FRONTEND_ONNX_TENSORS_H_
