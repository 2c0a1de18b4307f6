// Reads the bytes of ONNX's protobuf messages (https://protobuf.dev/programming-guides/encoding).
//
//   ModelProto model;
//   SINTER_RETURN_IF_ERROR(ReadOnnxFile(bytes, model));
//
// Any bytes are safe to read, and the memory for them is bounded. The message must not outlive the bytes.
#ifndef SINTER_FRONTEND_ONNX_READ_ONNX_FILE_H_
#define SINTER_FRONTEND_ONNX_READ_ONNX_FILE_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "sinter/frontend/onnx/onnx_file.h"

namespace sinter::onnx {

inline constexpr int kDeepestOnnxMessage = 100;               // Messages in one another.
inline constexpr int64_t kMostOnnxValues = int64_t{1} << 22;  // Messages and texts in a file.

// InvalidArgument for bytes that are no such message, with the place of the first error, such as
// "graph.node[3].attribute[0].ints: ends within a value". Fields of other numbers are skipped.
absl::Status ReadOnnxFile(std::string_view bytes, ModelProto& model);
absl::Status ReadOnnxFile(std::string_view bytes, TensorProto& tensor);
absl::Status ReadOnnxFile(std::string_view bytes, SequenceProto& list);
absl::Status ReadOnnxFile(std::string_view bytes, OptionalProto& optional);

}  // namespace sinter::onnx

#endif  // SINTER_FRONTEND_ONNX_READ_ONNX_FILE_H_
