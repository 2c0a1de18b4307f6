// Programs on meshes of several axes: options, errors, exchanges with their reasons, parts of variables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan_generated.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Pointwise;

constexpr int64_t kRows = 8, kWidth = 16, kHidden = 32;

// A residual MLP with AdamW. Its first layer's outputs and its second layer's inputs are "mlp".
Graph BuildMlp(int64_t hidden = kHidden) {
  Graph graph("net", {.seed = 3});
  nn::Module net =
      nn::Residual{nn::Linear(hidden, {.out_dim = "mlp"}), nn::Relu(), nn::Linear(kWidth, {.in_dim = "mlp"})};
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor loss = Mean(Square(net(b.Input("x", F32, {kRows, kWidth}))));
    optim::AdamW{.learning_rate = 0.01}.Minimize(loss, {.hooks = {optim::ClipNorm(1)}});
    b.Output("loss", loss);
  });
  return graph;
}

CompileOptions OnMesh(std::vector<MeshAxis> axes, std::vector<parallel::Tactic> tactics) {
  CompileOptions options;
  options.mesh.axes = std::move(axes);
  options.parallel = std::move(tactics);
  return options;
}

std::string ErrorOf(const Graph& graph, const CompileOptions& options) {
  const absl::StatusOr<Plan> plan = Compile(graph, options);
  EXPECT_FALSE(plan.ok());
  return std::string(plan.status().message());
}

TEST(ParallelTest, OptionsThatDoNotFitAreRefused) {
  using parallel::Data;
  using parallel::Tensor;
  using parallel::Zero;
  const Graph graph = BuildMlp();
  const MeshAxis data{"data", 2}, tensor{"tensor", 2};
  EXPECT_THAT(ErrorOf(graph, OnMesh({}, {Data{}})), HasSubstr("needs a mesh with axes"));
  CompileOptions both = OnMesh({data}, {Data{}});
  both.data_parallel.devices = {Device::Cpu(0), Device::Cpu(1)};
  EXPECT_THAT(ErrorOf(graph, both), HasSubstr("has both a mesh and data_parallel"));
  EXPECT_THAT(ErrorOf(graph, OnMesh({{"2d", 2}}, {})), HasSubstr("has the name \"2d\""));
  EXPECT_THAT(ErrorOf(graph, OnMesh({data, data}, {})),
              HasSubstr("two axes of the mesh have the name \"data\""));
  EXPECT_THAT(ErrorOf(graph, OnMesh({{"data", 0}}, {})), HasSubstr("has size 0; give at least 1"));
  EXPECT_THAT(ErrorOf(graph, OnMesh({{"data", int64_t{1} << 40}}, {})),
              HasSubstr("has more than 1048576 ranks"));
  EXPECT_THAT(ErrorOf(graph, OnMesh(std::vector<MeshAxis>(9, data), {})), HasSubstr("has 9 axes; at most 8"));
  EXPECT_THAT(
      ErrorOf(graph, OnMesh({data}, {Data{}, Tensor{}})),
      HasSubstr("parallel::Tensor names axis \"tensor\", and the mesh is (data 2); name one of its axes"));
  EXPECT_THAT(ErrorOf(graph, OnMesh({tensor}, {Zero{}})), HasSubstr("parallel::Zero names axis \"data\""));
  EXPECT_THAT(ErrorOf(graph, OnMesh({tensor}, {Data{}})), HasSubstr("parallel::Data names axis \"data\""));
  EXPECT_THAT(ErrorOf(graph, OnMesh({data}, {Data{}, Data{}})), HasSubstr("parallel::Data is given twice"));
  EXPECT_THAT(ErrorOf(graph, OnMesh({data}, {Zero{.level = 4}})),
              HasSubstr("level is 4; the levels are 1, 2 and 3"));
  EXPECT_THAT(ErrorOf(graph, OnMesh({tensor}, {Tensor{.dims = {}}})), HasSubstr("dims is empty"));
  CompileOptions listed = OnMesh({data, tensor}, {Data{}});
  listed.mesh.devices = {Device::Cpu(0), Device::Cpu(1)};
  EXPECT_THAT(ErrorOf(graph, listed),
              HasSubstr("has 4 ranks of 1 device, and Mesh::devices lists 2; list 4 or none"));
}

TEST(ParallelTest, DimensionsThatDoNotDivideAreRefusedWithTheUsersLine) {
  EXPECT_THAT(ErrorOf(BuildMlp(33), OnMesh({{"tensor", 2}}, {parallel::Tensor{}})),
              AllOf(HasSubstr("parallel_test.cc:"),
                    HasSubstr("variable \"0.weight\" has 33 mlp, which the 2 ranks of "
                              "axis \"tensor\" do not divide")));
  EXPECT_THAT(ErrorOf(BuildMlp(), OnMesh({{"tensor", 2}}, {parallel::Tensor{.dims = {"experts"}}})),
              HasSubstr("no variable has one; the names of this program are mlp"));
}

TEST(ParallelTest, NamesOfDimensionsFitTheShape) {
  auto error_of = [](std::vector<DimName> dims) {
    Graph graph("g");
    graph.Variable("w", F32, {4, 6}, {.dims = std::move(dims)});
    return std::string(graph.status().message());
  };
  EXPECT_EQ(error_of({"a", {{3}, {2, "b"}}}), "");
  EXPECT_THAT(error_of({"a"}),
              AllOf(HasSubstr("parallel_test.cc:"), HasSubstr("has 2 dimensions and names for 1")));
  EXPECT_THAT(error_of({"a", {{3}, {3, "b"}}}),
              HasSubstr("names extents of dimension 1 whose product is not its size of 6"));
  EXPECT_THAT(error_of({"a b", ""}), HasSubstr("has a dimension of the name \"a b\""));
}

// The plan's exchanges have the reasons of the report's, each text once, with the lines by way of which.
void ExpectReasonsOf(const Plan& plan, const CompileReport& report) {
  std::multiset<std::string> of_plan, of_report;
  const auto* const reasons = plan.table().exchange_reasons();
  ASSERT_NE(reasons, nullptr);
  for (const fb::Step* step : *plan.table().functions()->Get(0)->steps()) {
    const fb::CollectiveStep* const exchange = step->body_as_CollectiveStep();
    if (exchange == nullptr) continue;
    ASSERT_GT(exchange->reason(), 0u);
    const fb::ExchangeReason& reason = *reasons->Get(exchange->reason() - 1);
    ASSERT_GT(reason.locations()->size(), 0u);
    const fb::SourceLocation& line = *plan.table().locations()->Get(reason.locations()->Get(0));
    of_plan.insert(absl::StrCat(reason.text()->str(), " (", line.file()->str(), ":", line.line(), ": ",
                                line.what()->str(), ")"));
  }
  for (const Exchange& exchange : report.exchanges) of_report.insert(exchange.because);
  EXPECT_EQ(of_plan, of_report);
  std::set<std::pair<std::string, std::vector<uint32_t>>> different;
  bool has_way = false;
  for (const fb::ExchangeReason* reason : *reasons) {
    different.insert({reason->text()->str(), {reason->locations()->begin(), reason->locations()->end()}});
    has_way = has_way || reason->locations()->size() > 1;
  }
  EXPECT_EQ(different.size(), reasons->size()) << "equal reasons are stored once";
  EXPECT_TRUE(has_way);
}

// The layers of an MLP need one exchange of activations in each direction; gradients, one for each variable.
TEST(ParallelTest, ExchangesAreListedWithTheirReasons) {
  CompileReport report;
  const CompileOptions options = OnMesh({{"data", 2}, {"tensor", 4}}, {parallel::Data{}, parallel::Tensor{}});
  const absl::StatusOr<Plan> plan = Compile(BuildMlp(), options, &report);
  ASSERT_TRUE(plan.ok()) << plan.status();
  ExpectReasonsOf(*plan, report);
  EXPECT_EQ(ExchangedBytes(report.exchanges, "all_gather"), 0);
  // The second layer's terms; those of the norm of all gradients.
  EXPECT_EQ(ExchangedBytes(report.exchanges, "all_reduce", "tensor"), 4 * (kRows / 2 * kWidth + 1));
  EXPECT_THAT(
      report.ToString(),
      AllOf(
          HasSubstr("train: all_reduce over tensor (4 ranks), 1 tensor, 256 bytes: the ranks have terms of a "
                    "value that add reads, because axis \"tensor\" cuts variable \"0.weight\""),
          HasSubstr("cuts input \"x\" ("), HasSubstr("parallel_test.cc:")))
      << report.ToString();
}

// A causal mask has parts too, because the heads of the scores to which it is added do. It is not the cause.
TEST(ParallelTest, ReasonsNameVariablesAndInputsNotConstants) {
  Graph graph("g", {.seed = 3});
  nn::Module net = nn::Sequential{nn::Residual{nn::MultiHeadAttention(4, {.causal = true})},
                                  nn::Residual{nn::MultiHeadAttention(4, {.causal = true})}};
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor loss = Mean(Square(net(b.Input("x", F32, {4, 8, kWidth}))));
    optim::AdamW{.learning_rate = 0.01}.Minimize(loss);
    b.Output("loss", loss);
  });
  const CompileOptions options = OnMesh(
      {{"data", 2}, {"tensor", 2}},
      {parallel::Data{}, parallel::Tensor{.rows = true}, parallel::Zero{.level = 1, .least_bytes = 64}});
  CompileReport report;
  ASSERT_TRUE(Compile(graph, options, &report).ok());
  ASSERT_GT(report.exchanges.size(), 8u);
  for (const Exchange& exchange : report.exchanges) {
    EXPECT_THAT(exchange.because, ::testing::ContainsRegex("(variable|input) \"")) << exchange.kind;
  }
}

// The sum of the layer's terms travels in parts, with the same bytes in all, and its reason says so.
TEST(ParallelTest, ExchangesTravelInPartsIfAskedFor) {
  CompileOptions options = OnMesh({{"tensor", 2}}, {parallel::Tensor{}});
  options.exchange_parts = -1;
  EXPECT_THAT(
      ErrorOf(BuildMlp(), options),
      HasSubstr("exchange_parts is -1: give a number of parts, 1 for none, or 0 to let the compiler"));
  for (const int64_t parts : {1, 4}) {
    options.exchange_parts = parts;
    const absl::StatusOr<Plan> plan = Compile(BuildMlp(), options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    int64_t sums = 0, elements = 0;
    for (const fb::Step* step : *plan->table().functions()->Get(0)->steps()) {
      const fb::CollectiveStep* const exchange = step->body_as_CollectiveStep();
      if (exchange == nullptr || exchange->elements()->Get(0) == 1) continue;
      ++sums;
      elements += exchange->elements()->Get(0);
      const std::string text = plan->table().exchange_reasons()->Get(exchange->reason() - 1)->text()->str();
      EXPECT_EQ(text.ends_with("; in 4 parts, each beside the computation of another"), parts == 4) << text;
    }
    EXPECT_EQ(sums, parts);
    EXPECT_EQ(elements, kRows * kWidth);
  }
}

// The sum of the layer's terms is a shift to the other rank and an addition; a scattered gradient is an
// exchange of parts.
TEST(ParallelTest, SumsGoByCopiesIfAskedFor) {
  CompileOptions options = OnMesh({{"tensor", 2}}, {parallel::Tensor{}});
  options.copied_sum_bytes = -1;
  EXPECT_THAT(ErrorOf(BuildMlp(), options),
              HasSubstr("copied_sum_bytes is -1: give the bytes of the smallest sums that are exchanged by"));
  const auto kinds = [](const CompileOptions& o) {
    CompileReport report;
    EXPECT_TRUE(Compile(BuildMlp(), o, &report).ok());
    std::set<std::string> found;
    for (const Exchange& exchange : report.exchanges) found.insert(std::string(exchange.kind));
    return found;
  };
  const int64_t bytes = kRows * kWidth * 4;
  options.copied_sum_bytes = bytes + 1;
  EXPECT_THAT(kinds(options), Not(Contains("ring_shift")));
  options.copied_sum_bytes = bytes;
  EXPECT_THAT(kinds(options), Contains("ring_shift"));
  options = OnMesh({{"data", 2}}, {parallel::Data{}, parallel::Zero{.level = 3, .least_bytes = 1}});
  options.copied_sum_bytes = 1;
  const std::set<std::string> of_zero = kinds(options);
  EXPECT_THAT(of_zero, Contains("all_to_all"));
  EXPECT_THAT(of_zero, Not(Contains("reduce_scatter")));
}

// Five examples on two ranks: also where tokens of all examples are the rows of a product, a rank computes
// those of its own three or two. Only gradients and the loss travel.
TEST(ParallelTest, PartsOfAnUnevenBatchStayApart) {
  Graph graph("g", {.seed = 3});
  nn::Module net = nn::Sequential{nn::Residual{nn::LayerNorm(), nn::MultiHeadAttention(4, {.causal = true})},
                                  nn::Linear(2 * kWidth), nn::GeluTanh(), nn::Linear(kWidth)};
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor rows = Reshape(net(b.Input("x", F32, {5, 8, kWidth})), {-1, kWidth});
    Tensor loss = SoftmaxCrossEntropy(rows, Flatten(b.Input("y", I32, {5, 8}), 0));
    optim::AdamW{.learning_rate = 0.01}.Minimize(loss);
    b.Output("loss", loss);
  });
  CompileReport report;
  const absl::StatusOr<Plan> plan =
      Compile(graph, OnMesh({{"data", 2}}, {parallel::Data{.even = false}}), &report);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(ExchangedBytes(report.exchanges, "all_gather"), 0);
  int64_t parameters = 0;
  for (const VariableInfo& variable : plan->Variables()) {
    if (variable.name.find("adamw") == std::string::npos) {
      parameters +=
          std::accumulate(variable.shape.begin(), variable.shape.end(), int64_t{1}, std::multiplies<>());
    }
  }
  EXPECT_EQ(ExchangedBytes(report.exchanges, "all_reduce"), 4 * (parameters + 1)) << report.ToString();
}

TEST(ParallelTest, AnOpThatNeedsAllOfAValueIsAnErrorUnlessAskedFor) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = Square(b.Input("x", F32, {8, 4}));
    b.Output("y", MatMul(x, Transpose(x, {1, 0})));
  });
  CompileOptions options = OnMesh({{"data", 2}}, {parallel::Data{}});
  EXPECT_THAT(ErrorOf(graph, options), AllOf(HasSubstr("needs all of a value of"),
                                             HasSubstr("of which each rank of axis \"data\" has a part"),
                                             HasSubstr("Reshards::kAutomatic"),
                                             HasSubstr("axis \"data\" cuts it because it cuts input \"x\"")));
  options.reshards = Reshards::kAutomatic;
  CompileReport report;
  ASSERT_TRUE(Compile(graph, options, &report).ok());
  EXPECT_EQ(ExchangedBytes(report.exchanges, "all_gather", "data"), 4 * 4 * 4 + 4 * 8 * 4);
}

// Eight residual MLPs with norms, on rows of 1 MiB.
constexpr int64_t kExamples = 8, kTokens = 128, kFeatures = 256;

Graph BuildBlocks() {
  Graph graph("net", {.seed = 3});
  std::vector<nn::Module> layers = {nn::Linear(kFeatures)};
  for (int i = 0; i < 8; ++i) {
    layers.push_back(nn::Residual{nn::LayerNorm(), nn::Linear(kFeatures, {.out_dim = "mlp"}), nn::Relu(),
                                  nn::Linear(kFeatures, {.in_dim = "mlp"}), nn::Dropout(0.1)});
  }
  nn::Module net = nn::Sequential(layers);
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor loss = Mean(Square(net(b.Input("x", F32, {kExamples, kTokens, kFeatures}))));
    optim::AdamW{.learning_rate = 0.01}.Minimize(loss);
    b.Output("loss", loss);
  });
  return graph;
}

TEST(ParallelTest, RowsTakeLessMemory) {
  setenv("SINTER_CPU_DEVICES", "2", /*overwrite=*/1);
  const Graph graph = BuildBlocks();
  int64_t arenas[2];
  CompileReport reports[2];
  for (bool rows : {false, true}) {
    const CompileOptions options = OnMesh({{"tensor", 2}}, {parallel::Tensor{.rows = rows}});
    absl::StatusOr<Plan> plan = Compile(graph, options, &reports[rows]);
    ASSERT_TRUE(plan.ok()) << plan.status();
    arenas[rows] = Session::Create(*std::move(plan))->memory().arena;
  }
  EXPECT_LT(arenas[1], 0.75 * static_cast<double>(arenas[0]));
  constexpr int64_t kRowBytes = 4 * kExamples * kTokens * kFeatures;
  EXPECT_EQ(ExchangedBytes(reports[0].exchanges, "reduce_scatter"), 0);
  EXPECT_EQ(ExchangedBytes(reports[0].exchanges, "all_reduce"), 16 * kRowBytes);
  // The sums of each block and of its gradient are scattered. The blocks and their gradients gather rows: but
  // the first block, which comes before any sum. Five blocks gather theirs again for the gradients of
  // weights.
  EXPECT_EQ(ExchangedBytes(reports[1].exchanges, "reduce_scatter"), 16 * kRowBytes);
  EXPECT_EQ(ExchangedBytes(reports[1].exchanges, "all_gather"), (7 + 8 + 5) * kRowBytes / 2);
  EXPECT_THAT(
      reports[1].ToString(),
      AllOf(HasSubstr("axis \"tensor\" cuts variable \"1.1.weight\"; each rank gets some rows of the sum"),
            HasSubstr("matmul reads all of a value, of which the ranks have rows because axis")));
}

// Losses of three steps.
std::vector<float> Losses(const Graph& graph, const CompileOptions& options, CompileReport* report) {
  const absl::StatusOr<Plan> plan = Compile(graph, options, report);
  EXPECT_TRUE(plan.ok()) << plan.status();
  absl::StatusOr<Session> session = Session::Create(plan->Share());
  EXPECT_TRUE(session.ok()) << session.status();
  std::vector<float> losses;
  for (int step = 0; step < 3; ++step) {
    const absl::StatusOr<Outputs> outputs = session->Run("train", {});
    EXPECT_TRUE(outputs.ok()) << outputs.status();
    losses.push_back((*outputs->Get("loss").value()->Span<float>())[0]);
  }
  return losses;
}

// Data that stay on the devices, with examples that the axis data cuts or not.
TEST(ParallelTest, DataInVariablesHaveRows) {
  setenv("SINTER_CPU_DEVICES", "4", /*overwrite=*/1);
  Graph graph("net", {.seed = 3});
  nn::Module net = nn::Residual{nn::Linear(kHidden, {.out_dim = "mlp"}), nn::Relu(),
                                nn::Linear(kWidth, {.in_dim = "mlp"})};
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Variable x = b.MakeVariable(
        "x", F32, {kRows, kWidth},
        {.init = {VariableInit::Kind::kNormal, 0, 1}, .trainable = false, .dims = {"examples", ""}});
    Tensor loss = Mean(Square(net(b.Read(x))));
    optim::Sgd{.learning_rate = 0.01}.Minimize(loss);
    b.Output("loss", loss);
  });
  const parallel::Tensor examples = {.axis = "data", .dims = {"examples"}}, rows = {.rows = true};
  const std::vector<float> alone = Losses(graph, {}, nullptr);
  EXPECT_LT(alone[2], alone[0]);
  CompileReport report;
  CompileOptions options = OnMesh({{"data", 2}, {"tensor", 2}}, {examples, rows});
  options.report = true;
  EXPECT_THAT(Losses(graph, options, &report), Pointwise(FloatNear(1e-5F), alone));
  EXPECT_GT(ExchangedBytes(report.exchanges, "reduce_scatter", "tensor"), 0);
  EXPECT_THAT(report.copies, Not(Contains(HasSubstr("has all rows"))));
  options = OnMesh({{"tensor", 2}}, {rows});
  options.report = true;
  report = {};
  EXPECT_THAT(Losses(graph, options, &report), Pointwise(FloatNear(1e-5F), alone));
  EXPECT_EQ(ExchangedBytes(report.exchanges, "reduce_scatter"), 0);
  EXPECT_THAT(report.copies,
              Contains(HasSubstr("every rank of axis \"tensor\" has all rows in function \"train\": rows are "
                                 "those of a batch, and no input has one")));
}

TEST(ParallelTest, RowsThatDoNotDivideStayWholeAndAreListed) {
  CompileReport report;
  CompileOptions options = OnMesh({{"tensor", 16}}, {parallel::Tensor{.rows = true}});
  options.report = true;
  ASSERT_TRUE(Compile(BuildMlp(), options, &report).ok());
  EXPECT_EQ(ExchangedBytes(report.exchanges, "reduce_scatter"), 0);
  EXPECT_THAT(report.copies,
              Contains(AllOf(HasSubstr("parallel_test.cc:"),
                             HasSubstr("every rank of axis \"tensor\" has all rows of a value of "
                                       "'tensor<8x16xf32>', which has parts [8, 16]"))));
}

// ZeRO exchanges what a sum of all gradients would: scattered gradients and gathered parameters.
TEST(ParallelTest, ZeroScattersGradientsAndGathersParameters) {
  constexpr int64_t kWeights = 4 * 2 * kWidth * kHidden;
  for (int level : {1, 3}) {
    CompileReport report;
    const CompileOptions options =
        OnMesh({{"data", 2}}, {parallel::Data{}, parallel::Zero{.level = level, .least_bytes = 1024}});
    ASSERT_TRUE(Compile(BuildMlp(), options, &report).ok());
    EXPECT_EQ(ExchangedBytes(report.exchanges, "reduce_scatter"), kWeights);
    EXPECT_EQ(ExchangedBytes(report.exchanges, "all_gather"), kWeights / 2) << report.ToString();
  }
}

// BuildMlp in two functions: gradients are added up over runs of "accumulate", and "update" applies them.
Graph BuildAccumulatingMlp() {
  Graph graph("net", {.seed = 3});
  nn::Module net = nn::Residual{nn::Linear(kHidden, {.out_dim = "mlp"}), nn::Relu(),
                                nn::Linear(kWidth, {.in_dim = "mlp"})};
  graph.Function("accumulate", Mode::kTrain, [&](Builder& b) {
    Tensor loss = Mean(Square(net(b.Input("x", F32, {kRows, kWidth}))));
    optim::AdamW{}.Accumulate(loss);
    b.Output("loss", loss);
  });
  graph.Function("update", Mode::kTrain, [](Builder& b) {
    optim::AdamW{.learning_rate = 0.01}.ApplyAccumulated(b, {.hooks = {optim::ClipNorm(1)}});
  });
  return graph;
}

// The runs that accumulate exchange the loss over the batch and activations; the update exchanges each
// gradient once. Parts of sums need a scattered gradient in each run.
TEST(ParallelTest, AccumulatedGradientsTravelOnce) {
  using parallel::Data;
  using parallel::Zero;
  constexpr int64_t kBytes = 4 * (2 * kWidth * kHidden + kHidden + kWidth),
                    kWeights = 4 * 2 * kWidth * kHidden;
  const auto bytes = [](const std::vector<MeshAxis>& axes, const std::vector<parallel::Tactic>& tactics,
                        const std::string& function, const std::string& kind, const std::string& axis) {
    CompileReport report;
    EXPECT_TRUE(Compile(BuildAccumulatingMlp(), OnMesh(axes, tactics), &report).ok());
    std::erase_if(report.exchanges, [&](const Exchange& e) { return e.function != function; });
    return ExchangedBytes(report.exchanges, kind, axis);
  };
  const std::vector<MeshAxis> data = {{"data", 2}}, both = {{"data", 2}, {"tensor", 4}},
                              hybrid = {{"replica", 2}, {"data", 2}};
  EXPECT_EQ(bytes(data, {Data{}}, "accumulate", "", ""), 4);
  EXPECT_EQ(bytes(data, {Data{}}, "update", "", ""), kBytes);
  const std::vector<parallel::Tactic> tensor = {Data{}, parallel::Tensor{}};
  EXPECT_EQ(bytes(both, tensor, "accumulate", "", "data"), 4);
  EXPECT_EQ(bytes(both, tensor, "update", "", "data"), kWeights / 4 + 4 * (kHidden / 4 + kWidth));
  // Slots are parts: their gradients are scattered, and new parameters gathered.
  const std::vector<parallel::Tactic> slots = {Data{}, Zero{.level = 1, .least_bytes = 1024}};
  EXPECT_EQ(bytes(data, slots, "accumulate", "", ""), 4);
  EXPECT_EQ(bytes(data, slots, "update", "reduce_scatter", ""), kWeights);
  EXPECT_EQ(bytes(data, slots, "update", "all_gather", ""), kWeights / 2);
  // Sums are parts too; along "replica" they are terms.
  const std::vector<parallel::Tactic> sums = {Data{.axes = {"replica", "data"}},
                                              Zero{.level = 2, .least_bytes = 1024}};
  EXPECT_EQ(bytes(hybrid, sums, "accumulate", "reduce_scatter", "data"), kWeights);
  EXPECT_EQ(bytes(hybrid, sums, "accumulate", "", "replica"), 4);
  EXPECT_EQ(bytes(hybrid, sums, "update", "", "replica"), kWeights / 2 + 4 * (kHidden + kWidth));
}

// The program sees the sum of the ranks' gradients, and a checkpoint between the runs loads on any mesh.
TEST(ParallelTest, AccumulatedGradientsAreWholeForTheProgram) {
  setenv("SINTER_CPU_DEVICES", "4", /*overwrite=*/1);
  const Graph graph = BuildAccumulatingMlp();
  const CompileOptions mesh = OnMesh({{"data", 2}, {"tensor", 2}}, {parallel::Data{}, parallel::Tensor{}});
  Session one = MustStart(graph), four = MustStart(graph, mesh), other = MustStart(graph, mesh);
  const auto accumulate = [](Session& session, float scale) {
    std::vector<float> x;
    for (int i = 0; i < kRows * kWidth; ++i) x.push_back(scale * static_cast<float>(i * i % 17));
    const HostTensor input = *HostTensor::FromVector<float>({kRows, kWidth}, x);
    ASSERT_TRUE(session.Run("accumulate", {{"x", input}}).ok());
  };
  const auto expect_same = [&](Session& session) {
    for (const VariableInfo& info : one.variables()) {
      if (info.dtype != F32) continue;
      const std::vector<float> want = VariableFloats(one, info.name),
                               got = VariableFloats(session, info.name);
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_NEAR(got[i], want[i], 1e-5f * (1 + std::abs(want[i]))) << info.name << "[" << i << "]";
      }
    }
  };
  const std::string path = ::testing::TempDir() + "accumulated.safetensors";
  for (Session* session : {&one, &four}) {
    accumulate(*session, 0.5f);
    accumulate(*session, -0.25f);
  }
  int sums = 0;
  for (const VariableInfo& info : four.variables()) sums += info.is_sum;
  EXPECT_EQ(sums, 4);
  ASSERT_NO_FATAL_FAILURE(expect_same(four));
  ASSERT_TRUE(SaveCheckpoint(four, path).ok());
  ASSERT_TRUE(LoadCheckpoint(other, path).ok());
  ASSERT_NO_FATAL_FAILURE(expect_same(other));
  for (Session* session : {&one, &four, &other}) {
    accumulate(*session, 0.125f);
    ASSERT_TRUE(session->Run("update", {}).ok());
  }
  ASSERT_NO_FATAL_FAILURE(expect_same(four));
  ASSERT_NO_FATAL_FAILURE(expect_same(other));
}

// Ranks hold parts, and the program sees whole variables.
TEST(ParallelTest, VariablesKeepTheirShapes) {
  setenv("SINTER_CPU_DEVICES", "4", /*overwrite=*/1);
  const Graph graph = BuildMlp();
  Session one = MustStart(graph, {}),
          four = MustStart(graph, OnMesh({{"data", 2}, {"tensor", 2}},
                                         {parallel::Data{}, parallel::Tensor{}, parallel::Zero{.level = 3}}));
  for (const VariableInfo& info : one.variables()) {
    EXPECT_EQ(four.ReadVariable(info.name)->ToString(), one.ReadVariable(info.name)->ToString()) << info.name;
  }
  EXPECT_LT(four.memory().variables / 4, one.memory().variables);
}

}  // namespace
}  // namespace sinter
