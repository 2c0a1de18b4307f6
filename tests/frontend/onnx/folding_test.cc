// Values that are known while importing: what is folded equals what the compiled op computes, to the bit.
#include "sinter/frontend/onnx/import.h"
#include "sinter/tests/frontend/onnx/model_writer.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

std::shared_ptr<const HostTensor> Shared(absl::StatusOr<HostTensor> tensor) {
  SINTER_CHECK(tensor.ok()) << tensor.status();
  return std::make_shared<const HostTensor>(*std::move(tensor));
}

// Runs a model of one op on two operands, given at the run, or bound and so folded.
std::string Bytes(const OnnxModel& model,
                  const std::map<std::string, std::shared_ptr<const HostTensor>>& operands, bool folds) {
  OnnxOptions options;
  std::vector<Argument> arguments;
  for (const auto& [name, value] : operands) {
    if (folds) {
      options.bind[name] = value;
    } else {
      arguments.emplace_back(name, *value);
    }
  }
  const absl::StatusOr<Graph> graph = ImportGraph(model, options);
  SINTER_CHECK(graph.ok()) << graph.status();
  // Folding leaves no op behind.
  if (folds) {
    EXPECT_EQ(graph->ToString().find("sinter.add"), std::string::npos);
  }
  Session session = MustStart(*graph);
  const absl::StatusOr<Outputs> outputs = session.Run("main", arguments);
  SINTER_CHECK(outputs.ok()) << outputs.status();
  const HostTensor& y = (*outputs)["y"];
  return y.ToString() + std::string(static_cast<const char*>(y.data()), static_cast<size_t>(y.num_bytes()));
}

TEST(FoldingTest, EqualsTheCompiledOps) {
  const std::vector<int64_t> a = {-7, 5, 0, 9, -3, INT64_MAX}, b = {2, -2, 3, 9, -1, 2};
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Min", "Max", "Equal", "Less", "GreaterOrEqual"}) {
    ModelWriter m(17);
    m.Input("a", kOnnxI64, {6});
    m.Input("b", kOnnxI64, {6});
    m.Node(op, {"a", "b"}, {"y"});
    m.Output("y");
    const std::map<std::string, std::shared_ptr<const HostTensor>> operands = {
        {"a", Shared(HostTensor::FromVector<int64_t>({6}, a))},
        {"b", Shared(HostTensor::FromVector<int64_t>({6}, b))}};
    EXPECT_EQ(Bytes(m.Model(), operands, true), Bytes(m.Model(), operands, false)) << op;
  }
  for (const char* op : {"Add", "Sub", "Mul", "Div", "Less"}) {
    ModelWriter m(17);
    m.Input("a", kOnnxF32, {4});
    m.Input("b", kOnnxF32, {4});
    m.Node(op, {"a", "b"}, {"y"});
    m.Output("y");
    const std::map<std::string, std::shared_ptr<const HostTensor>> operands = {
        {"a", Shared(HostTensor::FromVector<float>({4}, {0.1f, -3.7f, 1e20f, 5}))},
        {"b", Shared(HostTensor::FromVector<float>({4}, {0.3f, 0.7f, 3e15f, -7}))}};
    EXPECT_EQ(Bytes(m.Model(), operands, true), Bytes(m.Model(), operands, false)) << op;
  }
}

// Shape, Gather, Concat and Reshape, as exporters flatten.
TEST(FoldingTest, ShapeChainsVanish) {
  ModelWriter m(13);
  m.Input("x", kOnnxF32, {-1, 3, 4});
  m.Ints("first", {0});
  m.Ints("rest", {-1});
  m.Node("Shape", {"x"}, {"shape"});
  m.Node("Gather", {"shape", "first"}, {"n"});
  m.Node("Concat", {"n", "rest"}, {"to"}).attribute = {{.name = "axis", .i = 0}};
  m.Node("Reshape", {"x", "to"}, {"y"});
  m.Output("y");
  const absl::StatusOr<Graph> graph = ImportGraph(m.Model(), {.dims = {{"n", 5}}});
  ASSERT_TRUE(graph.ok()) << graph.status();
  EXPECT_NE(graph->ToString().find("-> tensor<5x12xf32>"), std::string::npos) << graph->ToString();
  EXPECT_EQ(graph->ToString().find("gather"), std::string::npos) << graph->ToString();
}

TEST(FoldingTest, AsksForValuesThatDecideShapes) {
  ModelWriter m(13);
  m.Input("x", kOnnxF32, {6});
  m.Input("s", kOnnxI64, {2});
  m.Node("Reshape", {"x", "s"}, {"y"});
  m.Output("y");
  const absl::StatusOr<Graph> graph = ImportGraph(m.Model());
  EXPECT_ERROR(graph, absl::StatusCode::kUnimplemented, "VALUE_NEEDED: m.onnx:0: Reshape 'y': operand 1");
  EXPECT_EQ(OnnxErrorCode(graph.status()), "VALUE_NEEDED");
  EXPECT_EQ(OnnxInputsToBind(graph.status()), std::vector<std::string>{"s"});
  EXPECT_OK(ImportGraph(m.Model(), {.bind = {{"s", Shared(HostTensor::FromVector<int64_t>({2}, {2, -1}))}}}));
}

}  // namespace
}  // namespace sinter
