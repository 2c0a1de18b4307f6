#include "sinter/frontend/onnx/test_data.h"

#include <utility>

#include "sinter/frontend/onnx/onnx_file.h"
#include "sinter/frontend/onnx/read_onnx_file.h"
#include "sinter/frontend/onnx/tensors.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

absl::Status AddTensor(const onnx::TensorProto& tensor, OnnxData& data) {
  SINTER_ASSIGN_OR_RETURN(HostTensor value, onnx::ReadOnnxTensor(tensor, {}));
  data.tensors.push_back(std::make_shared<const HostTensor>(std::move(value)));
  return absl::OkStatus();
}

absl::Status AddList(const onnx::SequenceProto& list, OnnxData& data) {
  data.kind = OnnxInput::Kind::kList;
  for (const onnx::TensorProto& tensor : list.tensor_values) {
    SINTER_RETURN_IF_ERROR(AddTensor(tensor, data));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<OnnxData> ParseOnnxData(std::string_view bytes, OnnxInput::Kind kind) {
  OnnxData data;
  if (kind == OnnxInput::Kind::kTensor) {
    onnx::TensorProto tensor;
    SINTER_RETURN_IF_ERROR(onnx::ReadOnnxFile(bytes, tensor));
    SINTER_RETURN_IF_ERROR(AddTensor(tensor, data));
  } else if (kind == OnnxInput::Kind::kList) {
    onnx::SequenceProto list;
    SINTER_RETURN_IF_ERROR(onnx::ReadOnnxFile(bytes, list));
    SINTER_RETURN_IF_ERROR(AddList(list, data));
  } else {
    onnx::OptionalProto optional;
    SINTER_RETURN_IF_ERROR(onnx::ReadOnnxFile(bytes, optional));
    if (optional.tensor_value) {
      SINTER_RETURN_IF_ERROR(AddTensor(*optional.tensor_value, data));
    } else if (optional.sequence_value) {
      SINTER_RETURN_IF_ERROR(AddList(*optional.sequence_value, data));
    } else {
      data.kind = OnnxInput::Kind::kOptional;
    }
  }
  return data;
}

std::vector<OnnxInput::Kind> OnnxOutputKinds(const OnnxModel& model) {
  std::vector<OnnxInput::Kind> kinds;
  for (const onnx::ValueInfoProto& info : model.file().graph->output) {
    kinds.push_back(info.type.optional_type.has_value()   ? OnnxInput::Kind::kOptional
                    : info.type.sequence_type.has_value() ? OnnxInput::Kind::kList
                                                          : OnnxInput::Kind::kTensor);
  }
  return kinds;
}

}  // namespace sinter
