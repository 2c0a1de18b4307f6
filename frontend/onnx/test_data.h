// Values in files as the ONNX standard's test data has them: a tensor, a list of tensors or an optional.
//
//   SINTER_ASSIGN_OR_RETURN(OnnxData data, ParseOnnxData(bytes, OnnxInput::Kind::kList));
#ifndef SINTER_FRONTEND_ONNX_TEST_DATA_H_
#define SINTER_FRONTEND_ONNX_TEST_DATA_H_

#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/frontend/onnx/model.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

struct OnnxData {
  OnnxInput::Kind kind = OnnxInput::Kind::kTensor;  // kOptional: without an element.
  // One of a tensor.
  std::vector<std::shared_ptr<const HostTensor>> tensors = {};
};
// Unimplemented for strings and other types that Sinter lacks.
absl::StatusOr<OnnxData> ParseOnnxData(std::string_view bytes, OnnxInput::Kind kind);
// The kind of each output of a model, in its order.
std::vector<OnnxInput::Kind> OnnxOutputKinds(const OnnxModel& model);

}  // namespace sinter

#endif  // SINTER_FRONTEND_ONNX_TEST_DATA_H_
