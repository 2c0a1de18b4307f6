// Small ONNX models, made by tests in memory.
//
//   ModelWriter m(17);
//   m.Input("x", 1, {2, 3});
//   m.Node("Relu", {"x"}, {"y"});
//   m.Output("y");
//   OnnxModel model = m.Model();
#ifndef SINTER_TESTS_FRONTEND_ONNX_MODEL_WRITER_H_
#define SINTER_TESTS_FRONTEND_ONNX_MODEL_WRITER_H_

#include <string>
#include <vector>

#include "sinter/frontend/onnx/model.h"
#include "sinter/tests/frontend/onnx/write_onnx_file.h"
#include "sinter/tests/status_checks.h"

namespace sinter {

inline constexpr int32_t kOnnxF32 = 1, kOnnxI64 = 7, kOnnxBool = 9;

class ModelWriter {
 public:
  explicit ModelWriter(int64_t version) {
    file_.ir_version = 8;
    file_.opset_import = {{.version = version}};
    file_.graph.emplace().name = "g";
  }

  // A size of -1 is open and named "n".
  void Input(const std::string& name, int32_t type, const std::vector<int64_t>& shape) {
    onnx::TensorTypeProto tensor{.elem_type = type};
    tensor.shape.emplace();
    for (const int64_t size : shape) {
      onnx::DimensionProto& dim = tensor.shape->dim.emplace_back();
      if (size < 0) {
        dim.dim_param = "n";
      } else {
        dim.dim_value = size;
      }
    }
    graph().input.push_back({.name = name, .type = {.tensor_type = tensor}});
  }
  void Output(const std::string& name) { graph().output.push_back({.name = name}); }

  // The node is valid until the next one is added.
  onnx::NodeProto& Node(const std::string& op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs) {
    return Add(graph(), op, inputs, outputs);
  }
  static onnx::NodeProto& Add(onnx::GraphProto& graph, const std::string& op,
                              const std::vector<std::string>& inputs,
                              const std::vector<std::string>& outputs) {
    graph.node.push_back({.input = inputs, .output = outputs, .op_type = op});
    return graph.node.back();
  }
  static onnx::AttributeProto& Attribute(onnx::NodeProto& node, const std::string& name) {
    node.attribute.push_back({.name = name});
    return node.attribute.back();
  }

  void Ints(const std::string& name, const std::vector<int64_t>& values) {
    graph().initializer.push_back({.dims = {static_cast<int64_t>(values.size())},
                                   .data_type = kOnnxI64,
                                   .int64_data = values,
                                   .name = name});
  }
  onnx::TensorProto& Floats(const std::string& name, const std::vector<int64_t>& shape,
                            const std::vector<float>& values) {
    graph().initializer.push_back({.dims = shape, .data_type = kOnnxF32, .float_data = values, .name = name});
    return graph().initializer.back();
  }

  onnx::ModelProto& file() { return file_; }
  onnx::GraphProto& graph() { return *file_.graph; }
  std::string Bytes() const { return onnx::WriteOnnxFile(file_); }
  OnnxModel Model() const {
    absl::StatusOr<OnnxModel> model = OnnxModel::Parse(Bytes(), "m.onnx");
    SINTER_CHECK(model.ok()) << model.status();
    return *std::move(model);
  }

 private:
  onnx::ModelProto file_;
};

}  // namespace sinter

#endif  // SINTER_TESTS_FRONTEND_ONNX_MODEL_WRITER_H_
