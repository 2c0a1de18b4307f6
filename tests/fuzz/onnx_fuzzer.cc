// Fuzzes ONNX files: any bytes give a model and its tensors, or an error, within the limits of memory.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sinter/frontend/onnx/model.h"
#include "sinter/frontend/onnx/onnx_file.h"
#include "sinter/frontend/onnx/tensors.h"
#include "sinter/frontend/onnx/test_data.h"
#include "sinter/runtime/host/status.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  for (const auto kind : {sinter::OnnxInput::Kind::kTensor, sinter::OnnxInput::Kind::kList,
                          sinter::OnnxInput::Kind::kOptional}) {
    sinter::ParseOnnxData(bytes, kind).IgnoreError();
  }
  const auto model = sinter::OnnxModel::Parse(bytes, "input", {.tensor_bytes = kMostBytes});
  if (!model.ok()) {
    SINTER_CHECK(!model.status().message().empty());
    return 0;
  }
  for (const sinter::OnnxInput& input : model->inputs()) {
    SINTER_CHECK(!input.shape || input.shape->size() == input.dim_names.size());
  }
  for (const sinter::onnx::TensorProto& tensor : model->file().graph->initializer) {
    const auto value = sinter::onnx::ReadOnnxTensor(tensor, {.max_bytes = kMostBytes});
    if (value.ok()) SINTER_CHECK(value->num_bytes() <= kMostBytes);
  }
  return 0;
}
