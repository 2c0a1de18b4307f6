// The messages of an ONNX file as structs, with the names of the standard.
//
// Source: onnx.proto of IR version 10, and onnx-data.proto for lists and optionals. Fields that the importer
// has no use for are left out.
//
//   ModelProto model;
//   SINTER_RETURN_IF_ERROR(ReadOnnxFile(bytes, model));          // read_onnx_file.h
//   for (const NodeProto& node : model.graph->node) ...
//
// A repeated field is a vector, an optional one whose presence counts is an optional. Texts are bytes that
// need not be UTF-8. Large data is a view of the file's bytes, which must live as long as the message.
#ifndef SINTER_FRONTEND_ONNX_ONNX_FILE_H_
#define SINTER_FRONTEND_ONNX_ONNX_FILE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sinter::onnx {

// An optional message of a type that may contain messages of its own type. Copies are deep.
template <typename Message>
class Nested {
 public:
  // Bodies in place of `= default`, which would need the whole type where a message declares a member.
  Nested() noexcept {}  // NOLINT(modernize-use-equals-default)
  Nested(Nested&& other) noexcept : message_(std::move(other.message_)) {}
  Nested(const Nested& other) { *this = other; }
  Nested& operator=(Nested&& other) noexcept {
    message_ = std::move(other.message_);
    return *this;
  }
  Nested& operator=(const Nested& other) {
    if (this != &other) message_ = other.has_value() ? std::make_unique<Message>(*other) : nullptr;
    return *this;
  }
  ~Nested() {}  // NOLINT(modernize-use-equals-default)

  bool has_value() const { return message_ != nullptr; }
  Message& emplace() {
    message_ = std::make_unique<Message>();
    return *message_;
  }
  Message& operator*() { return *message_; }
  const Message& operator*() const { return *message_; }
  Message* operator->() { return message_.get(); }
  const Message* operator->() const { return message_.get(); }

 private:
  std::unique_ptr<Message> message_;
};

struct OperatorSetIdProto {
  std::string domain = {};
  int64_t version = 0;
};

struct StringStringEntryProto {
  std::string key = {}, value = {};
};

struct TensorProto {
  std::vector<int64_t> dims = {};
  int32_t data_type = 0;  // tensors.h
  std::vector<float> float_data = {};
  std::vector<int32_t> int32_data = {};
  std::vector<std::string_view> string_data = {};
  std::vector<int64_t> int64_data = {};
  std::string name = {};
  std::optional<std::string_view> raw_data = {};
  std::vector<double> double_data = {};
  std::vector<uint64_t> uint64_data = {};
  std::vector<StringStringEntryProto> external_data = {};
  int32_t data_location = 0;  // 1: external.
};

struct SparseTensorProto {
  TensorProto values = {}, indices = {};
  std::vector<int64_t> dims = {};
};

struct DimensionProto {
  std::optional<int64_t> dim_value = {};
  std::string dim_param = {};
};

struct TensorShapeProto {
  std::vector<DimensionProto> dim = {};
};

struct TensorTypeProto {
  int32_t elem_type = 0;
  std::optional<TensorShapeProto> shape = {};
};

struct WrappedTypeProto;

struct TypeProto {
  std::optional<TensorTypeProto> tensor_type = {};
  Nested<WrappedTypeProto> sequence_type = {}, optional_type = {};
};

// The type of the items of a list, or of the element of an optional.
struct WrappedTypeProto {
  TypeProto elem_type = {};
};

struct ValueInfoProto {
  std::string name = {};
  TypeProto type = {};
};

struct GraphProto;

struct AttributeProto {
  std::string name = {};
  float f = 0;
  int64_t i = 0;
  std::optional<std::string> s = {};
  Nested<TensorProto> t = {};
  Nested<GraphProto> g = {};
  std::vector<float> floats = {};
  std::vector<int64_t> ints = {};
  std::vector<std::string> strings = {};
  Nested<TypeProto> tp = {};
  int32_t type = 0;  // Kind of value; 0 in files of the first version.
  std::string ref_attr_name = {};
  Nested<SparseTensorProto> sparse_tensor = {};
};

struct NodeProto {
  std::vector<std::string> input = {}, output = {};
  std::string name = {}, op_type = {};
  std::vector<AttributeProto> attribute = {};
  std::string domain = {}, overload = {};
};

struct GraphProto {
  std::vector<NodeProto> node = {};
  std::string name = {};
  std::vector<TensorProto> initializer = {};
  std::vector<ValueInfoProto> input = {}, output = {};
  std::vector<SparseTensorProto> sparse_initializer = {};
};

struct FunctionProto {
  std::string name = {};
  std::vector<std::string> input = {}, output = {}, attribute = {};
  std::vector<NodeProto> node = {};
  std::vector<OperatorSetIdProto> opset_import = {};
  std::string domain = {};
  std::vector<AttributeProto> attribute_proto = {};
  std::string overload = {};
};

struct ModelProto {
  int64_t ir_version = 0;
  std::string producer_name = {};
  std::optional<GraphProto> graph = {};
  std::vector<OperatorSetIdProto> opset_import = {};
  std::vector<FunctionProto> functions = {};
};

// Values in the standard's test data.
struct SequenceProto {
  int32_t elem_type = 0;
  std::vector<TensorProto> tensor_values = {};
};

struct OptionalProto {
  int32_t elem_type = 0;
  std::optional<TensorProto> tensor_value = {};
  std::optional<SequenceProto> sequence_value = {};
};

}  // namespace sinter::onnx

#endif  // SINTER_FRONTEND_ONNX_ONNX_FILE_H_
