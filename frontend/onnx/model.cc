#include "sinter/frontend/onnx/model.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/onnx/onnx_file.h"
#include "sinter/frontend/onnx/read_onnx_file.h"
#include "sinter/frontend/onnx/tensors.h"
#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// A model, and the bytes that its tensors are views of.
struct File {
  std::shared_ptr<const void> bytes;
  onnx::ModelProto model;
};

int64_t CountNodes(const onnx::GraphProto& graph) {
  int64_t count = std::ssize(graph.node);
  for (const onnx::NodeProto& node : graph.node) {
    for (const onnx::AttributeProto& attribute : node.attribute) {
      if (attribute.g.has_value()) count += CountNodes(*attribute.g);
    }
  }
  return count;
}

absl::Status CheckModel(const onnx::ModelProto& file, const std::string& name, const OnnxLimits& limits) {
  const auto bad = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", what));
  };
  if (!file.graph) return bad("no ONNX model: it has no graph");
  if (file.opset_import.empty() && file.ir_version >= 3) return bad("it imports no operator set");
  for (const onnx::OperatorSetIdProto& set : file.opset_import) {
    if (set.domain.empty() && set.version > kNewestOnnxVersion) {
      return absl::UnimplementedError(absl::StrCat(name, ": it uses version ", set.version,
                                                   " of the operator set; the newest that is read is ",
                                                   kNewestOnnxVersion));
    }
  }
  const int64_t nodes = CountNodes(*file.graph);
  if (nodes > limits.nodes) return bad(absl::StrCat("more than ", limits.nodes, " nodes"));
  return absl::OkStatus();
}

OnnxInput DescribeInput(const onnx::ValueInfoProto& info) {
  OnnxInput input{.name = info.name};
  const onnx::TypeProto* type = &info.type;
  if (type->optional_type.has_value()) {
    input.kind = OnnxInput::Kind::kOptional;
    type = &type->optional_type->elem_type;
  }
  if (type->sequence_type.has_value()) {
    if (input.kind != OnnxInput::Kind::kOptional) input.kind = OnnxInput::Kind::kList;
    type = &type->sequence_type->elem_type;
  }
  if (!type->tensor_type) return input;
  input.dtype = onnx::DTypeOfOnnx(type->tensor_type->elem_type);
  if (!type->tensor_type->shape) return input;
  input.shape.emplace();
  for (const onnx::DimensionProto& dim : type->tensor_type->shape->dim) {
    input.shape->push_back(std::max<int64_t>(dim.dim_value.value_or(-1), -1));
    input.dim_names.push_back(dim.dim_param);
  }
  return input;
}

}  // namespace

absl::StatusOr<OnnxModel> OnnxModel::Make(std::shared_ptr<const void> owner, std::string_view bytes,
                                          const std::string& name, const OnnxLimits& limits) {
  if (std::ssize(bytes) > limits.file_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(name, ": ", bytes.size(), " bytes; at most ",
                                                     limits.file_bytes,
                                                     " are read. Store the weights as external data"));
  }
  const auto file = std::make_shared<File>();
  file->bytes = std::move(owner);
  const absl::Status read = onnx::ReadOnnxFile(bytes, file->model);
  if (!read.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": no ONNX model, or a damaged one: ", read.message()));
  }
  SINTER_RETURN_IF_ERROR(CheckModel(file->model, name, limits));
  OnnxModel model;
  model.name_ = name;
  model.limits_ = limits;
  model.file_ = std::shared_ptr<const onnx::ModelProto>(file, &file->model);
  return model;
}

absl::StatusOr<OnnxModel> OnnxModel::Parse(std::string_view bytes, const std::string& name,
                                           const OnnxLimits& limits) {
  const auto copy = std::make_shared<const std::string>(bytes);
  return Make(copy, *copy, name, limits);
}

absl::StatusOr<OnnxModel> OnnxModel::Open(const std::string& path, const OnnxLimits& limits) {
  SINTER_ASSIGN_OR_RETURN(FileBytes file, FileBytes::Read(path, static_cast<uint64_t>(limits.file_bytes)));
  const auto bytes = std::make_shared<const FileBytes>(std::move(file));
  SINTER_ASSIGN_OR_RETURN(OnnxModel model, Make(bytes, bytes->text(), path, limits));
  model.folder_ = std::filesystem::absolute(path).parent_path().string();
  return model;
}

std::vector<OnnxInput> OnnxModel::inputs() const {
  std::set<std::string> values;
  for (const onnx::TensorProto& tensor : file_->graph->initializer) values.insert(tensor.name);
  for (const onnx::SparseTensorProto& tensor : file_->graph->sparse_initializer) {
    values.insert(tensor.values.name);
  }
  std::vector<OnnxInput> inputs;
  for (const onnx::ValueInfoProto& info : file_->graph->input) {
    if (!values.contains(info.name)) inputs.push_back(DescribeInput(info));
  }
  return inputs;
}

std::vector<std::string> OnnxModel::outputs() const {
  std::vector<std::string> names;
  for (const onnx::ValueInfoProto& info : file_->graph->output) names.push_back(info.name);
  return names;
}

}  // namespace sinter
