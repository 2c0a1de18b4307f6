#include "sinter/frontend/onnx/import.h"

#include <cmath>

#include "sinter/tests/frontend/onnx/model_writer.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

// A small net with weights: y = Tanh(x w + b).
ModelWriter SmallNet() {
  ModelWriter m(17);
  m.Input("x", kOnnxF32, {2, 3});
  m.Floats("w", {3, 32}, std::vector<float>(96, 0.25f));
  m.Floats("b", {32}, std::vector<float>(32, 0.1f));
  m.Node("Gemm", {"x", "w", "b"}, {"h"});
  m.Node("Tanh", {"h"}, {"y"});
  m.Output("y");
  return m;
}

TEST(OnnxImportTest, ComputesWhatTheModelSays) {
  absl::StatusOr<Graph> graph = ImportGraph(SmallNet().Model());
  ASSERT_TRUE(graph.ok()) << graph.status();
  Session session = MustStart(*graph);
  const HostTensor x = *HostTensor::FromVector<float>({2, 3}, {1, 2, 3, -1, 0, 1});
  const std::vector<float> y = Floats(session, "main", {{"x", x}}, "y");
  ASSERT_EQ(y.size(), 64u);
  EXPECT_NEAR(y[0], std::tanh(1.6), 1e-6);
  EXPECT_NEAR(y[32], std::tanh(0.1), 1e-6);
}

// The gradients of a loss of an imported net, against differences.
TEST(OnnxImportTest, HasGradients) {
  const OnnxModel model = SmallNet().Model();
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {2, 3});
    const absl::StatusOr<OnnxValues> y =
        Import(b, model, {{"x", x}}, {.weights = OnnxOptions::Weights::kTrainable, .prefix = "net/"});
    ASSERT_TRUE(y.ok()) << y.status();
    const Tensor w = b.Read(b.MakeVariable("net/w", F32, {3, 32}));
    const Tensor loss = Mean(Square(y->at("y")));
    const std::vector<Tensor> gradients = Gradients(loss, {x, w});
    b.Output("loss", loss);
    b.Output("dx", gradients[0]);
    b.Output("dw", gradients[1]);
  });
  ASSERT_EQ(graph.variables().size(), 1u);  // The bias is short, so it stays a constant.
  EXPECT_EQ(graph.variables()[0].name(), "net/w");
  EXPECT_TRUE(graph.variables()[0].trainable());
  Session session = MustStart(graph);
  const std::vector<float> at = {0.5f, -0.25f, 1, 0.75f, -1, 0.25f};
  const auto run = [&](const std::vector<float>& values, std::string_view output) {
    const HostTensor x = *HostTensor::FromVector<float>({2, 3}, values);
    return Floats(session, "f", {{"x", x}}, output);
  };
  const std::vector<float> dx = run(at, "dx"), dw = run(at, "dw");
  for (size_t i = 0; i < at.size(); ++i) {
    std::vector<float> up = at, down = at;
    up[i] += 0.01f;
    down[i] -= 0.01f;
    EXPECT_NEAR(dx[i], (run(up, "loss")[0] - run(down, "loss")[0]) / 0.02, 2e-4) << i;
  }
  absl::StatusOr<HostTensor> w = session.ReadVariable("net/w");
  ASSERT_TRUE(w.ok()) << w.status();
  EXPECT_EQ(ToFloats(*w), std::vector<float>(96, 0.25f));
  const auto loss_with = [&](float change) {
    HostTensor changed = *w->Clone();
    (*changed.MutableSpan<float>())[5] += change;
    EXPECT_OK(session.WriteVariable("net/w", changed));
    return run(at, "loss")[0];
  };
  EXPECT_NEAR(dw[5], (loss_with(0.02f) - loss_with(-0.02f)) / 0.04, 1e-4);
}

// Both branches of a condition that the run decides.
TEST(OnnxImportTest, ConditionsOfTheRun) {
  ModelWriter m(17);
  m.Input("c", kOnnxBool, {});
  m.Input("x", kOnnxF32, {2});
  onnx::NodeProto& node = m.Node("If", {"c"}, {"y"});
  for (const char* branch : {"then_branch", "else_branch"}) {
    onnx::GraphProto& body = ModelWriter::Attribute(node, branch).g.emplace();
    ModelWriter::Add(body, branch[0] == 't' ? "Neg" : "Exp", {"x"}, {"r"});
    body.output.push_back(
        {.name = "r", .type = {.tensor_type = onnx::TensorTypeProto{.elem_type = kOnnxF32}}});
  }
  m.Output("y");
  absl::StatusOr<Graph> graph = ImportGraph(m.Model());
  ASSERT_TRUE(graph.ok()) << graph.status();
  Session session = MustStart(*graph);
  const HostTensor x = *HostTensor::FromVector<float>({2}, {0, 1});
  EXPECT_EQ(Floats(session, "main", {{"c", 1}, {"x", x}}, "y"), (std::vector<float>{0, -1}));
  EXPECT_NEAR(Floats(session, "main", {{"c", 0}, {"x", x}}, "y")[1], std::exp(1.0), 1e-6);
}

// A function of the file, with an attribute that the call gives.
TEST(OnnxImportTest, CallsFunctions) {
  ModelWriter m(17);
  m.file().opset_import.push_back({.domain = "own", .version = 1});
  onnx::NodeProto inner{.input = {"a"}, .output = {"r"}, .op_type = "LeakyRelu"};
  ModelWriter::Attribute(inner, "alpha").ref_attr_name = "slope";
  m.file().functions.push_back(
      {.name = "Leak", .input = {"a"}, .output = {"r"}, .node = {inner}, .domain = "own"});
  m.Input("x", kOnnxF32, {2});
  onnx::NodeProto& call = m.Node("Leak", {"x"}, {"y"});
  call.domain = "own";
  ModelWriter::Attribute(call, "slope").f = 0.5f;
  m.Output("y");
  absl::StatusOr<Graph> graph = ImportGraph(m.Model());
  ASSERT_TRUE(graph.ok()) << graph.status();
  Session session = MustStart(*graph);
  const HostTensor x = *HostTensor::FromVector<float>({2}, {-2, 3});
  EXPECT_EQ(Floats(session, "main", {{"x", x}}, "y"), (std::vector<float>{-1, 3}));
  // A function that calls itself.
  m.file().functions[0].node[0].op_type = "Leak";
  m.file().functions[0].node[0].domain = "own";
  EXPECT_ERROR(ImportGraph(m.Model()), absl::StatusCode::kInvalidArgument, "in a circle");
}

// Numbers that a float of 8 bits cannot hold become its largest one, unless the model says otherwise.
TEST(OnnxImportTest, CastsToFloatsOf8Bits) {
  for (const bool saturates : {true, false}) {
    ModelWriter m(19);
    m.Input("x", kOnnxF32, {3});
    onnx::NodeProto& node = m.Node("Cast", {"x"}, {"small"});
    node.attribute = {{.name = "to", .i = 17}};
    if (!saturates) ModelWriter::Attribute(node, "saturate").i = 0;
    m.Node("Cast", {"small"}, {"y"}).attribute = {{.name = "to", .i = 1}};
    m.Output("y");
    absl::StatusOr<Graph> graph = ImportGraph(m.Model());
    ASSERT_TRUE(graph.ok()) << graph.status();
    Session session = MustStart(*graph);
    const HostTensor x = *HostTensor::FromVector<float>({3}, {1.25f, 1000, -1000});
    const std::vector<float> y = Floats(session, "main", {{"x", x}}, "y");
    EXPECT_EQ(y[0], 1.25f);
    EXPECT_EQ(std::isnan(y[1]) && std::isnan(y[2]), !saturates);
    EXPECT_EQ(y[1] == 448 && y[2] == -448, saturates);
  }
}

absl::Status StatusOfOp(const std::string& op, const std::string& domain = "") {
  ModelWriter m(17);
  m.Input("x", kOnnxF32, {2, 3});
  m.Node(op, {"x"}, {"y"}).domain = domain;
  m.Output("y");
  return ImportGraph(m.Model()).status();
}

TEST(OnnxImportTest, NamesWhatItCannotImport) {
  EXPECT_ERROR(StatusOfOp("NoSuchOp"), absl::StatusCode::kUnimplemented,
               "OP: m.onnx: no converter for NoSuchOp of version 17 (1)");
  EXPECT_ERROR(StatusOfOp("Relu", "com.vendor"), absl::StatusCode::kUnimplemented,
               "DOMAIN: m.onnx: no converter for com.vendor.Relu");
  EXPECT_ERROR(StatusOfOp("NonZero"), absl::StatusCode::kUnimplemented,
               "SIZE_DEPENDS_ON_VALUES: m.onnx:0: NonZero 'y'");
  EXPECT_ERROR(StatusOfOp("Bernoulli"), absl::StatusCode::kUnimplemented, "OTHER_RANDOM_GENERATOR: m.onnx:0");
  EXPECT_ERROR(StatusOfOp("StringNormalizer"), absl::StatusCode::kUnimplemented, "STRINGS: m.onnx:0");
  EXPECT_ERROR(StatusOfOp("Not"), absl::StatusCode::kUnimplemented, "OP_FORM: m.onnx:0: Not 'y'");
  EXPECT_ERROR(StatusOfOp("Where"), absl::StatusCode::kInvalidArgument,
               "an operand that the op needs is missing");
}

TEST(OnnxImportTest, SaysWhichSizeIsOpen) {
  ModelWriter m(17);
  m.Input("x", kOnnxF32, {-1, 3});
  m.Node("Relu", {"x"}, {"y"});
  m.Output("y");
  EXPECT_ERROR(ImportGraph(m.Model()), absl::StatusCode::kUnimplemented,
               "OPEN_SIZE: size 0 ('n') of input 'x' is not given: --dim n=1 or --shape x=-1,3");
  EXPECT_ERROR(ImportGraph(m.Model(), {.shapes = {{"x", {2, 4}}}}), absl::StatusCode::kInvalidArgument,
               "shape [2,4] for input 'x': the model has [-1,3]");
  EXPECT_OK(ImportGraph(m.Model(), {.shapes = {{"x", {2, 3}}}}));
  EXPECT_OK(ImportGraph(m.Model(), {.dims = {{"n", 7}}}));
}

TEST(OnnxImportTest, RefusesContradictions) {
  ModelWriter unknown(17);
  unknown.Node("Relu", {"nothing"}, {"y"});
  unknown.Output("y");
  EXPECT_ERROR(ImportGraph(unknown.Model()), absl::StatusCode::kInvalidArgument,
               "m.onnx:0: Relu 'y': reads 'nothing', which no node before it makes");
  ModelWriter twice(17);
  twice.Input("x", kOnnxF32, {1});
  twice.Node("Relu", {"x"}, {"y"});
  twice.Node("Exp", {"x"}, {"y"});
  twice.Output("y");
  EXPECT_ERROR(ImportGraph(twice.Model()), absl::StatusCode::kInvalidArgument,
               "makes 'y', which exists already");
  Graph graph("g");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor x = b.Input("x", I32, {2, 3});
    EXPECT_ERROR(Import(b, SmallNet().Model(), {{"x", x}}), absl::StatusCode::kInvalidArgument,
                 "the model takes f32");
    EXPECT_ERROR(Import(b, SmallNet().Model(), {{"z", x}}), absl::StatusCode::kInvalidArgument,
                 "no input 'z'");
  });
}

}  // namespace
}  // namespace sinter
