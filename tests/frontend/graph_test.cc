#include "sinter/frontend/graph/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;

TEST(GraphTest, RunsArithmeticWithBroadcasts) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = b.Input("x", F32, {2, 3}), row = b.Input("row", F32, {3});
    b.Output("y", 2.0 * x + row - 1.0);
  });
  Session session = MustStart(graph);
  HostTensor x = *HostTensor::FromVector<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  HostTensor row = *HostTensor::FromVector<float>({3}, {10, 20, 30});
  EXPECT_THAT(Floats(session, "f", {{"x", x}, {"row", row}}, "y"), ElementsAre(11, 23, 35, 17, 29, 41));
}

TEST(GraphTest, SoftplusIsStableEverywhere) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = b.Input("x", F32, {5});
    b.Output("y", Maximum(x, 0.0) + Log1p(Exp(-Abs(x))));
  });
  Session session = MustStart(graph);
  HostTensor x = *HostTensor::FromVector<float>({5}, {-1000, -1, 0, 1, 1000});
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "y"),
              Pointwise(FloatNear(1e-6), {0.f, 0.31326169f, 0.69314718f, 1.31326169f, 1000.f}));
}

// The relative error is that of exp and log1p, until exp(-x) is no longer a normal number.
TEST(GraphTest, LogSigmoidKeepsItsDigitsEverywhere) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = b.Input("x", F32, {9});
    Tensor y = LogSigmoid(x);
    b.Output("y", y);
    b.Output("dx", Gradients(Sum(y), {x})[0]);
  });
  Session session = MustStart(graph);
  constexpr float kInf = std::numeric_limits<float>::infinity();
  HostTensor x = *HostTensor::FromVector<float>({9}, {-kInf, -1000, -20, -1, 0, 1, 20, 80, kInf});
  const std::vector<float> y = {-kInf,
                                -1000,
                                -20.0000000021f,
                                -1.31326169f,
                                -0.69314718f,
                                -0.31326169f,
                                -2.06115362e-9f,
                                -1.80485139e-35f,
                                0};
  const std::vector<float> dx = {1, 1, 1, 0.73105858f, 0.5f, 0.26894142f, 2.06115362e-9f, 1.80485139e-35f, 0};
  const std::vector<float> got = Floats(session, "f", {{"x", x}}, "y");
  const std::vector<float> slope = Floats(session, "f", {{"x", x}}, "dx");
  for (size_t i = 0; i < y.size(); ++i) {
    if (std::isinf(y[i])) {
      EXPECT_EQ(got[i], y[i]);
    } else {
      EXPECT_NEAR(got[i], y[i], 1e-6 * std::abs(y[i])) << i;
    }
    EXPECT_NEAR(slope[i], dx[i], 1e-6 * dx[i]) << i;
  }
  graph.Function("g", Mode::kTrain, [](Builder& b) { LogSigmoid(b.Input("x", I32, {2})); });
  EXPECT_THAT(std::string(Compile(graph).status().message()),
              HasSubstr("LogSigmoid(i32[2]) takes floats (f64, f32, bf16, f16); Cast(x, F32) first"));
}

// The gradient of each result goes to the element that it is.
TEST(GraphTest, TopKAndItsGradient) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = b.Input("x", F32, {2, 4});
    const auto [values, positions] = TopK(x, 2);
    b.Output("values", values);
    b.Output("positions", Cast(positions, F32));
    b.Output("dx", Gradients(Sum(Square(values)), {x})[0]);
  });
  Session session = MustStart(graph);
  HostTensor x = *HostTensor::FromVector<float>({2, 4}, {1, 5, 3, 5, -1, -2, -3, -4});
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "values"), ElementsAre(5, 5, -1, -2));
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "positions"), ElementsAre(1, 3, 0, 1));
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "dx"), ElementsAre(0, 10, 0, 10, -2, -4, 0, 0));
}

TEST(GraphTest, VariablesAreSharedByFunctions) {
  Graph graph("counter");
  Variable count = graph.Variable("count", F32, {2}, {.init = {.a = 3}});
  graph.Function("add", Mode::kTrain,
                 [&](Builder& b) { b.Assign(count, b.Read(count) + b.Input("x", F32, {2})); });
  graph.Function("get", Mode::kTrain, [&](Builder& b) { b.Output("count", b.Read(count)); });
  Session session = MustStart(graph);
  HostTensor x = *HostTensor::FromVector<float>({2}, {1, 10});
  ASSERT_TRUE(session.Run("add", {{"x", x}}).ok());
  ASSERT_TRUE(session.Run("add", {{"x", x}}).ok());
  EXPECT_THAT(Floats(session, "get", {}, "count"), ElementsAre(5, 23));
}

TEST(GraphTest, ReadAfterAssignSeesTheNewValue) {
  Graph graph("g");
  Variable v = graph.Variable("v", F32, {}, {.init = {.a = 1}});
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    Tensor before = b.Read(v);
    b.Assign(v, before + 1.0);
    b.Output("before", before);
    b.Output("after", b.Read(v) * 10.0);
  });
  Session session = MustStart(graph);
  auto outputs = session.Run("f", {});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(*outputs->Scalar("before"), 1);
  EXPECT_EQ(*outputs->Scalar("after"), 20);
}

TEST(GraphTest, SwapsVariables) {
  Graph graph("g");
  Variable a = graph.Variable("a", F32, {3}, {.init = {.a = 1}}),
           z = graph.Variable("z", F32, {3}, {.init = {.a = 2}});
  graph.Function("swap", Mode::kTrain, [&](Builder& b) {
    Tensor old = b.Read(a);
    b.Assign(a, b.Read(z));
    b.Assign(z, old);
  });
  Session session = MustStart(graph);
  ASSERT_TRUE(session.Run("swap", {}).ok());
  EXPECT_THAT(VariableFloats(session, "a"), ElementsAre(2, 2, 2));
  EXPECT_THAT(VariableFloats(session, "z"), ElementsAre(1, 1, 1));
}

TEST(GraphTest, GradientOfAnExpression) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = b.Input("x", F32, {3});
    b.Output("g", Gradients(Sum(Exp(x) * x), {x})[0]);
  });
  Session session = MustStart(graph);
  HostTensor x = *HostTensor::FromVector<float>({3}, {-1, 0, 2});
  std::vector<float> expected;
  for (float v : {-1.f, 0.f, 2.f}) expected.push_back(std::exp(v) * (v + 1));
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "g"), Pointwise(FloatNear(1e-5), expected));
}

// x also enters the loss through Floor, which has no gradient; `unused` does not enter it.
TEST(GraphTest, GradientsAreZerosOnlyWhereAsked) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = b.Input("x", F32, {3}), unused = b.Input("unused", F32, {2});
    std::vector<Tensor> g = Gradients(Sum(x * Floor(x)), {x, unused}, {.allow_unused = true});
    b.Output("g", g[0]);
    b.Output("zeros", g[1]);
  });
  Session session = MustStart(graph);
  HostTensor x = *HostTensor::FromVector<float>({3}, {1.5, 2.5, -0.5}), unused = *HostTensor::Zeros(F32, {2});
  auto outputs = session.Run("f", {{"x", x}, {"unused", unused}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(ToFloats((*outputs)["g"]), ElementsAre(1, 2, -1));
  EXPECT_THAT(ToFloats((*outputs)["zeros"]), ElementsAre(0, 0));
}

// A variable behind StopGradient is not trained. Weight decay or Adam's moments would otherwise move it.
TEST(GraphTest, MinimizeLeavesWhatNoGradientReaches) {
  Graph graph("g");
  Variable w = graph.Variable("w", F32, {}, {.init = {.a = 1}}),
           u = graph.Variable("u", F32, {}, {.init = {.a = 1}});
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    optim::Adam{.learning_rate = 0.5}.Minimize(b.Read(w) * StopGradient(b.Read(u)),
                                               {.hooks = {optim::Decay(1)}});
  });
  Session session = MustStart(graph);
  ASSERT_TRUE(session.Run("f", {}).ok());
  EXPECT_NEAR(VariableFloats(session, "w")[0], 0.5, 1e-6);
  EXPECT_EQ(VariableFloats(session, "u")[0], 1);
}

// The loss uses the variable's value between two updates.
TEST(GraphTest, MinimizeFindsTheValueThatTheLossWasComputedFrom) {
  Graph graph("g");
  Variable w = graph.Variable("w", F32, {}, {.init = {.a = 1}});
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    optim::Sgd{.learning_rate = 1.0}.Minimize(b.Read(w) * 0.25);  // 0.75
    Tensor between = Square(b.Read(w));                           // Its gradient is 1.5.
    optim::Sgd{.learning_rate = 1.0}.Minimize(b.Read(w) * 0.5);   // 0.25
    optim::Sgd{.learning_rate = 1.0}.Minimize(between);           // -1.25
  });
  Session session = MustStart(graph);
  ASSERT_TRUE(session.Run("f", {}).ok());
  EXPECT_NEAR(VariableFloats(session, "w")[0], -1.25, 1e-6);
}

// Handles of a function whose body threw are rejected, even if nothing else of the function remains.
TEST(GraphTest, HandlesOfADroppedFunctionAreRefused) {
  Graph graph("g");
  Tensor tensor;
  Variable variable;
  EXPECT_THROW(graph.Function("f", Mode::kTrain,
                              [&](Builder& b) {
                                variable = b.MakeVariable("v", F32, {2});
                                tensor = b.Read(variable) + 1.0;
                                DeviceScope scope(b, Device::Cpu(0));
                                throw std::runtime_error("no data");
                              }),
               std::runtime_error);
  EXPECT_TRUE(graph.status().ok());
  EXPECT_EQ(tensor.device(), Device::Cpu(0));
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    b.Output("y", tensor * 2.0);
    b.Read(variable);
    b.Assign(variable, b.Zeros(F32, {2}));
  });
  const std::string says(graph.status().message());
  EXPECT_THAT(says, HasSubstr("takes a tensor of the function \"f\", which is finished"));
  EXPECT_THAT(says, HasSubstr("Read of \"v\" takes a variable of a function whose body threw"));
  EXPECT_THAT(says, HasSubstr("Assign to \"v\""));
}

// A body that throws has no effect: names, random streams, optimisers, errors and modules are free again.
TEST(GraphTest, ABodyThatThrowsLeavesNothing) {
  auto build = [](Graph& graph, const std::function<void()>& fail, nn::Module& outside) {
    graph.Function("train", Mode::kTrain, [&](Builder& b) {
      nn::Linear inside(2);
      Tensor h = Dropout(inside(b.Input("x", F32, {4, 3})), 0.5);
      Tensor loss = Mean(Square(outside(h)));
      optim::Adam{.learning_rate = 0.1}.Minimize(loss);
      b.Log("loss", loss);
      b.Output("loss", loss);
      fail();
    });
  };
  auto with = [](nn::Module& module) { module.Named("outside"); };
  Graph expected("g"), graph("g");
  nn::Module first = nn::Linear(1), second = nn::Linear(1);
  with(first);
  with(second);
  build(expected, [] {}, first);
  EXPECT_THROW(build(graph, [] { throw std::runtime_error("no data"); }, second), std::runtime_error);
  EXPECT_TRUE(graph.variables().empty());
  build(graph, [] {}, second);
  ASSERT_TRUE(graph.status().ok()) << graph.status();
  EXPECT_EQ(graph.ToString(), expected.ToString());
  EXPECT_TRUE(Compile(graph).ok());
}

TEST(GraphTest, RandomNumbersChangeWithTheStepAndRepeatWithTheSeed) {
  auto build = [](int64_t seed) {
    Graph graph("g", {.seed = seed});
    graph.Function("f", Mode::kTrain, [](Builder& b) { b.Output("u", b.RandomUniform(F32, {1000})); });
    return graph;
  };
  Session first = MustStart(build(1)), again = MustStart(build(1)), other = MustStart(build(2));
  std::vector<float> u1 = Floats(first, "f", {}, "u"), u2 = Floats(first, "f", {}, "u");
  EXPECT_NE(u1, u2);
  EXPECT_EQ(Floats(again, "f", {}, "u"), u1);
  EXPECT_NE(Floats(other, "f", {}, "u"), u1);
  double mean = 0;
  for (float u : u1) {
    EXPECT_GE(u, 0);
    EXPECT_LT(u, 1);
    mean += u / 1000;
  }
  EXPECT_NEAR(mean, 0.5, 0.05);
}

TEST(GraphTest, SameGraphGivesTheSameBytes) {
  auto compile = [] {
    Graph graph("g");
    nn::Module net = nn::Sequential{nn::Linear(8), nn::Relu(), nn::Linear(3)};
    graph.Function("train", Mode::kTrain, [&](Builder& b) {
      Tensor loss = SoftmaxCrossEntropy(net(b.Input("x", F32, {4, 5})), b.Input("y", I32, {4}));
      optim::Sgd{.learning_rate = 0.1}.Minimize(loss);
      b.Output("loss", loss);
    });
    return *Compile(graph);
  };
  Plan first = compile(), second = compile();
  EXPECT_TRUE(std::ranges::equal(first.bytes(), second.bytes()));
  EXPECT_EQ(first.hash(), second.hash());
}

TEST(GraphTest, PrintsTheProgramAndCompilesItFromText) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) { b.Output("y", Relu(b.Input("x", F32, {4}))); });
  std::string text = graph.ToString();
  EXPECT_THAT(text, HasSubstr("sinter.relu"));
  absl::StatusOr<Plan> plan = CompileText(text, "models/other.mlir");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->name(), "g");
  EXPECT_THAT(std::string(CompileText("func.func @f() {", "broken.mlir").status().message()),
              HasSubstr("broken.mlir:1"));
}

TEST(GraphTest, NamesPlansOfUnnamedTextByItsFile) {
  const std::string text = R"(
func.func @f(%x: tensor<4xf32> {sinter.input = "x"}) -> (tensor<4xf32> {sinter.output = "y"}) {
  %y = sinter.relu %x : tensor<4xf32>
  return %y : tensor<4xf32>
})";
  for (const auto& [file, name] : {std::pair<std::string, std::string>{"models/lenet.mlir", "lenet"},
                                   {"lenet.v2.mlir", "lenet.v2"},
                                   {"lenet", "lenet"},
                                   {"", ""}}) {
    absl::StatusOr<Plan> plan = CompileText(text, file);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_EQ(plan->name(), name) << file;
  }
}

TEST(GraphTest, ReportsStagesFusionAndDumps) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = b.Input("x", F32, {64, 32});
    b.Output("y", Softmax(x * 2.0 + 1.0));
  });
  CompileReport report;
  ASSERT_TRUE(Compile(graph, {.dump_stages = {"fuse"}, .report = true}, &report).ok());
  EXPECT_THAT(report.dumps["fuse"], HasSubstr("sinter.fusion"));
  EXPECT_GT(report.stage_ms.size(), 10u);
  EXPECT_FALSE(report.fusion.empty());
  ASSERT_EQ(report.kernels.size(), 1u);
  EXPECT_THAT(report.kernels[0], HasSubstr("graph_test.cc"));
  EXPECT_THAT(report.kernels[0], HasSubstr("on cpu:0: cpu.fused, 0 bytes of workspace"));
  EXPECT_THAT(report.ToString(), HasSubstr("graph_test.cc"));
}

TEST(GraphTest, ReportsWhereTheTimeGoes) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) { b.Output("y", Softmax(b.Input("x", F32, {64, 32}))); });
  CompileReport report;
  const auto start = std::chrono::steady_clock::now();
  ASSERT_TRUE(Compile(graph, {}, &report).ok());
  const double elapsed =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  double total = 0;
  std::map<std::string, double> ms;
  for (const auto& [stage, time] : report.stage_ms) {
    EXPECT_TRUE(ms.emplace(stage, time).second) << stage;
    EXPECT_GE(time, 0) << stage;
    total += time;
  }
  EXPECT_LE(total, elapsed);
  EXPECT_GE(total, 0.5 * elapsed);
  // "emit" does not include LLVM's time for CPU code. There is no GPU code.
  EXPECT_GT(ms["shared-object"], ms["emit"]);
  EXPECT_EQ(ms["cubins"], 0);
}

TEST(GraphTest, SessionsOfDifferentPlansLiveSideBySide) {
  auto start = [](double factor) {
    Graph graph("g");
    graph.Function("f", Mode::kTrain,
                   [&](Builder& b) { b.Output("y", Exp(b.Input("x", F32, {2})) * factor); });
    return MustStart(graph);
  };
  Session one = start(1.0), two = start(2.0);
  HostTensor x = *HostTensor::Zeros(F32, {2});
  EXPECT_THAT(Floats(one, "f", {{"x", x}}, "y"), ElementsAre(1, 1));
  EXPECT_THAT(Floats(two, "f", {{"x", x}}, "y"), ElementsAre(2, 2));
}

TEST(GraphTest, FunctionsWithZeroSizedTensorsRun) {
  Graph graph("g");
  nn::Linear linear(3);
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {0, 4});
    b.Output("y", linear(x));
    b.Output("sum", Sum(linear(x)));
  });
  Session session = MustStart(graph);
  HostTensor x = *HostTensor::Zeros(F32, {0, 4});
  auto outputs = session.Run("f", {{"x", x}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ((*outputs)["y"].num_elements(), 0);
  EXPECT_EQ(*outputs->Scalar("sum"), 0);
}

}  // namespace
}  // namespace sinter
