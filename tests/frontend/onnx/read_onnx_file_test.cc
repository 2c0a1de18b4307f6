#include "sinter/frontend/onnx/read_onnx_file.h"

#include "sinter/tests/frontend/onnx/write_onnx_file.h"
#include "sinter/tests/status_checks.h"

namespace sinter::onnx {
namespace {

using protozero::pbf_writer;

// A tensor with a value in each of its fields.
TensorProto FullTensor() {
  return {.dims = {2, -1, 300},
          .data_type = 7,
          .float_data = {1.5f, -2},
          .int32_data = {-5, 200000},
          .string_data = {"a", "b"},
          .int64_data = {INT64_MIN, 7},
          .name = "w",
          .raw_data = "raw",
          .double_data = {0.1, -1e300},
          .uint64_data = {UINT64_MAX, 1},
          .external_data = {{"location", "file"}, {"offset", "4"}},
          .data_location = 1};
}

void ExpectFullTensor(const TensorProto& tensor) {
  const TensorProto full = FullTensor();
  EXPECT_EQ(tensor.dims, full.dims);
  EXPECT_EQ(tensor.data_type, full.data_type);
  EXPECT_EQ(tensor.float_data, full.float_data);
  EXPECT_EQ(tensor.int32_data, full.int32_data);
  EXPECT_EQ(tensor.string_data, full.string_data);
  EXPECT_EQ(tensor.int64_data, full.int64_data);
  EXPECT_EQ(tensor.name, full.name);
  EXPECT_EQ(tensor.raw_data, full.raw_data);
  EXPECT_EQ(tensor.double_data, full.double_data);
  EXPECT_EQ(tensor.uint64_data, full.uint64_data);
  ASSERT_EQ(tensor.external_data.size(), 2u);
  EXPECT_EQ(tensor.external_data[1].key, "offset");
  EXPECT_EQ(tensor.external_data[1].value, "4");
  EXPECT_EQ(tensor.data_location, 1);
}

TEST(ReadOnnxFileTest, ReadsPackedAndUnpackedLists) {
  for (const Lists lists : {Lists::kPacked, Lists::kUnpacked}) {
    const std::string bytes = WriteOnnxFile(FullTensor(), lists);
    TensorProto tensor;
    ASSERT_OK(ReadOnnxFile(bytes, tensor));
    ExpectFullTensor(tensor);
  }
}

// The bytes of the standard's encoding, independent of a writer.
TEST(ReadOnnxFileTest, ReadsGivenBytes) {
  ModelProto model;
  // ir_version 8; an unknown field 99 with 2 bytes; a graph with the node "Relu"; the operator set 17.
  ASSERT_OK(ReadOnnxFile(
      std::string_view("\x08\x08\x9a\x06\x02zz\x3a\x08\x0a\x06\x22\x04Relu\x42\x02\x10\x11", 21), model));
  EXPECT_EQ(model.ir_version, 8);
  ASSERT_TRUE(model.graph.has_value());
  ASSERT_EQ(model.graph->node.size(), 1u);
  EXPECT_EQ(model.graph->node[0].op_type, "Relu");
  ASSERT_EQ(model.opset_import.size(), 1u);
  EXPECT_EQ(model.opset_import[0].version, 17);
}

ModelProto NestedModel() {
  ModelProto model;
  AttributeProto body{.name = "body"};
  body.g.emplace().node = {{.op_type = "Relu"}};
  AttributeProto number{.name = "alpha", .f = 0.5f, .ints = {1, 2}};
  model.graph.emplace().node = {{.op_type = "Loop", .attribute = {number, body}}};
  ValueInfoProto input{.name = "x"};
  input.type.sequence_type.emplace().elem_type.tensor_type = {.elem_type = 1};
  model.graph->input = {input};
  return model;
}

TEST(ReadOnnxFileTest, ReadsNestedMessages) {
  const std::string bytes = WriteOnnxFile(NestedModel());
  ModelProto model;
  ASSERT_OK(ReadOnnxFile(bytes, model));
  const std::vector<AttributeProto>& attributes = model.graph->node.at(0).attribute;
  ASSERT_EQ(attributes.size(), 2u);
  EXPECT_EQ(attributes[0].f, 0.5f);
  EXPECT_EQ(attributes[0].ints, (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(attributes[1].g->node.at(0).op_type, "Relu");
  EXPECT_EQ(model.graph->input.at(0).type.sequence_type->elem_type.tensor_type->elem_type, 1);
}

// A copy does not share the graphs of its attributes: functions are changed for each call.
TEST(ReadOnnxFileTest, CopiesAreDeep) {
  const ModelProto model = NestedModel();
  ModelProto copy = model;
  copy.graph->node[0].attribute[1].g->node[0].op_type = "Exp";
  EXPECT_EQ(model.graph->node[0].attribute[1].g->node[0].op_type, "Relu");
}

TEST(ReadOnnxFileTest, MergesAMessageThatComesTwice) {
  const std::string first = WriteOnnxFile(NestedModel());
  ModelProto second;
  second.graph.emplace().name = "late";
  ModelProto model;
  const std::string bytes = first + WriteOnnxFile(second);
  ASSERT_OK(ReadOnnxFile(bytes, model));
  EXPECT_EQ(model.graph->node.size(), 1u);
  EXPECT_EQ(model.graph->name, "late");
}

// Each place where a file may be cut short is an error, or the end of a field of the model.
TEST(ReadOnnxFileTest, NamesThePlaceOfATruncation) {
  const std::string bytes = WriteOnnxFile(NestedModel());
  int errors = 0;
  for (size_t size = 1; size < bytes.size(); ++size) {
    ModelProto model;
    const absl::Status status = ReadOnnxFile(std::string_view(bytes).substr(0, size), model);
    if (status.ok()) continue;
    ++errors;
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("ends within a value"));
  }
  EXPECT_GT(errors, 40);
}

// A model whose node 1 has an attribute of these bytes.
absl::Status StatusOfAttribute(const std::string& bytes) {
  std::string node, graph, file;
  pbf_writer(node).add_message(5, bytes);
  pbf_writer graph_writer(graph);
  graph_writer.add_message(1, std::string());
  graph_writer.add_message(1, node);
  pbf_writer(file).add_message(7, graph);
  ModelProto model;
  return ReadOnnxFile(file, model);
}

void ExpectBadAttribute(const std::string& bytes, const std::string& message) {
  EXPECT_ERROR(StatusOfAttribute(bytes), absl::StatusCode::kInvalidArgument,
               "graph.node[1].attribute[0]" + message);
}

TEST(ReadOnnxFileTest, NamesThePlaceOfAnError) {
  std::string bytes;
  pbf_writer(bytes).add_string(3, "text");
  ExpectBadAttribute(bytes, ".i: is a text or message in the file; it must be an integer");
  bytes.clear();
  pbf_writer(bytes).add_int64(1, 5);
  ExpectBadAttribute(bytes, ".name: is an integer in the file; it must be a text or message");
  bytes.clear();
  pbf_writer(bytes).add_double(2, 5);
  ExpectBadAttribute(bytes, ".f: is 8 bytes in the file; it must be 4 bytes");
  bytes.clear();
  pbf_writer(bytes).add_int64(6, 5);
  ExpectBadAttribute(bytes, ".g: is an integer in the file; it must be a text or message");
  bytes.clear();
  pbf_writer(bytes).add_bytes(7, "12345");
  ExpectBadAttribute(bytes, ".floats[0]: has a list whose bytes are no whole numbers");
  ExpectBadAttribute("\x42\x01\x80", ".ints[0]: ends within a value");
  ExpectBadAttribute("\x18" + std::string(11, '\x80') + "\x01", ".i: has an integer of more than 64 bits");
  ExpectBadAttribute("\x0a\x7fshort", ".name: ends within a value");
  ExpectBadAttribute("\x0b", ": has a field of a kind or number that protobuf does not have");
  ExpectBadAttribute(std::string(2, '\0'), ": has a field of a kind or number that protobuf does not have");
  EXPECT_OK(StatusOfAttribute(""));
}

TEST(ReadOnnxFileTest, RefusesDeepMessages) {
  GraphProto graph;
  for (int i = 0; i < 40; ++i) {
    AttributeProto attribute;
    attribute.g.emplace() = graph;
    graph = {.node = {{.attribute = {attribute}}}};
  }
  const std::string bytes = WriteOnnxFile(ModelProto{.graph = graph});
  ModelProto model;
  EXPECT_ERROR(ReadOnnxFile(bytes, model), absl::StatusCode::kInvalidArgument,
               "node[0].attribute[0].g: more than 100 messages in one another");
}

// Two bytes of the file make a node of some hundred bytes, so their number is bounded.
TEST(ReadOnnxFileTest, RefusesMoreMessagesThanItHasRoomFor) {
  std::string nodes;
  for (int64_t i = 0; i <= kMostOnnxValues; ++i) nodes += std::string_view("\x42\0", 2);
  ModelProto model;
  EXPECT_ERROR(ReadOnnxFile(nodes, model), absl::StatusCode::kInvalidArgument,
               "opset_import[4194304]: more than 4194304 messages and texts in the file");
}

}  // namespace
}  // namespace sinter::onnx
