// Placement in the builder and in the compiler: devices of tensors, copies, errors, the plan.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr Device kCpu1 = Device::Cpu(1);

// Compiles for virtual CPU devices, and keeps the IR of a stage.
CompileReport MustCompile(const Graph& graph, CompileOptions options = {},
                          const std::string& stage = "lower-to-plan") {
  CompileReport report;
  options.report = true;
  options.dump_stages = {stage};
  absl::StatusOr<Plan> plan = Compile(graph, options, &report);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return report;
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(PlacementTest, ScopesNestAndEnd) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = b.Input("x", F32, {4});
    EXPECT_EQ(x.device(), Device::Cpu());
    {
      DeviceScope outer(b, Device::Gpu(1));
      EXPECT_EQ(b.Input("y", F32, {4}).device(), Device::Gpu(1));
      EXPECT_EQ(b.Zeros(F32, {4}).device(), Device::Gpu(1));
      {
        DeviceScope inner(b, Device::Gpu(2));
        EXPECT_EQ(b.Scalar("lr").device(), Device::Gpu(2));
        EXPECT_EQ(b.Read(b.MakeVariable("w", F32, {4})).device(), Device::Gpu(2));
        DeviceScope none(b, std::nullopt);
        EXPECT_EQ(b.Zeros(F32, {4}).device(), Device::Gpu(2));
      }
      EXPECT_EQ(b.Zeros(F32, {4}).device(), Device::Gpu(1));
    }
    EXPECT_EQ(b.Zeros(F32, {4}).device(), Device::Cpu());
    b.Output("x", x);
  });
  EXPECT_TRUE(graph.status().ok()) << graph.status();
}

TEST(PlacementTest, ATensorIsWhereItsOperandsAre) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = Copy(b.Input("x", F32, {4}), Device::Gpu(1));
    Tensor y = Relu(x * 2.0);
    EXPECT_EQ(y.device(), Device::Gpu(1));
    EXPECT_EQ(Clone(y).device(), Device::Gpu(1));
    EXPECT_EQ(Copy(y, Device::Cpu()).device(), Device::Cpu());
    EXPECT_EQ(Copy(Sum(y), b.Input("z", F32, {4})).device(), Device::Cpu());
    EXPECT_EQ(Gradients(Sum(y), {x})[0].device(), Device::Gpu(1));
  });
  EXPECT_TRUE(graph.status().ok()) << graph.status();
}

// To() also moves parameters that exist already; a part may be on another device.
TEST(PlacementTest, ModulesMove) {
  Graph graph("g");
  nn::Module head = nn::Linear(2);
  nn::Module net = nn::Sequential{nn::Linear(3), nn::BatchNorm(), head};
  auto apply = [&](const std::string& name) {
    graph.Function(name, Mode::kTrain, [&](Builder& b) {
      Tensor x = b.Input("x", F32, {8, 4});
      Tensor y = net(x);
      if (name == "after") {
        EXPECT_EQ(y.device(), Device::Gpu(1));
      }
    });
  };
  apply("before");
  net.To(Device::Gpu(0));
  head.To(Device::Gpu(1));
  std::string text = graph.ToString();
  EXPECT_EQ(Count(text, "{sinter.device = #sinter.device<gpu, 0>}\n"), 6)
      << text;  // Two, and BatchNorm's four.
  EXPECT_EQ(Count(text, "{sinter.device = #sinter.device<gpu, 1>}\n"), 2) << text;
  EXPECT_EQ(&net.To(Device::Gpu(1)), &net);
  apply("after");
  EXPECT_TRUE(graph.status().ok()) << graph.status();
}

TEST(PlacementTest, MixingIsAnErrorWithBothLinesAndTheFix) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    DeviceScope first(b, Device::Gpu(0));
    Tensor x = b.Ones(F32, {2, 3});
    DeviceScope second(b, Device::Gpu(1));
    Tensor y = b.Ones(F32, {2, 3});
    b.Output("z", x + y);
  });
  const int line = __LINE__ - 2;
  absl::Status status = Compile(graph).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  auto at = [](int l) { return HasSubstr("placement_test.cc:" + std::to_string(l) + ":"); };
  EXPECT_THAT(std::string(status.message()),
              AllOf(at(line), HasSubstr("add mixes devices: it runs on gpu:1 and its operand 0 is on gpu:0"),
                    HasSubstr("Copy(x, Device::Gpu(1))"),
                    HasSubstr("CompileOptions::copies = Copies::kAutomatic"), at(line - 1), at(line - 3)));
}

// Nothing runs on the device of the options, nor do gradients.
TEST(PlacementTest, AProgramWholeOnTheFirstCpuStaysThere) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    const Tensor x = Exp(b.Input("x", F32, {4, 4}));
    DeviceScope on(b, Device::Cpu());
    const Tensor y = Sum(Tanh(x));
    b.Output("y", y);
    b.Output("dx", Gradients(y, {x})[0]);
  });
  const absl::StatusOr<Plan> plan = Compile(graph, {.device = kCpu1});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->Devices(), ElementsAre(Device::Cpu()));
}

TEST(PlacementTest, AutomaticCopiesAreListed) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = Copy(Exp(b.Input("x", F32, {2, 3})), kCpu1);
    Tensor z = b.Input("z", F32, {2, 3});
    DeviceScope on(b, Device::Cpu());
    Tensor y = Exp(z);
    b.Output("sum", y + x);
    b.Output("difference", y - x);
  });
  CompileReport report = MustCompile(graph, {.copies = Copies::kAutomatic});
  EXPECT_THAT(
      report.copies,
      ElementsAre(
          AllOf(HasSubstr("placement_test.cc:"), HasSubstr("24 bytes, from cpu:0 to cpu:1: asked for here")),
          AllOf(HasSubstr("placement_test.cc:"),
                HasSubstr("24 bytes, from cpu:1 to cpu:0: it is read there, and copies are automatic"))));
  EXPECT_THAT(report.ToString(), HasSubstr("copies are automatic"));
}

TEST(PlacementTest, ACopyToItsOwnDeviceIsNoneAndACloneIsOne) {
  for (Device device : {Device::Cpu(), kCpu1}) {
    Graph graph("g");
    graph.Function("f", Mode::kTrain, [&](Builder& b) {
      DeviceScope on(b, device);
      Tensor y = Exp(b.Input("x", F32, {3}));
      b.Output("y", y);
      b.Output("same", -Copy(y, device));
      b.Output("clone", Clone(y));
      b.Output("other", Clone(y));
    });
    CompileReport report = MustCompile(graph);
    EXPECT_THAT(report.copies, IsEmpty());
    EXPECT_EQ(Count(report.dumps["lower-to-plan"], "plan.copy"), 2);
  }
}

// Everything is on one device, which is not the default. All of the plan must name it.
TEST(PlacementTest, TheDefaultDeviceHoldsEverything) {
  Graph graph("g");
  nn::Module net = nn::Sequential{nn::Linear(16), nn::Relu(), nn::Dropout(0.5), nn::Linear(4)};
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {8, 10});
    Tensor loss = SoftmaxCrossEntropy(net(x), b.Input("y", I32, {8}));
    optim::Adam{.learning_rate = b.Scalar("lr")}.Minimize(loss, {.hooks = {optim::ClipNorm(1)}});
    b.Output("loss", loss);
    b.Output("table", b.Constant(*HostTensor::FromVector<float>({3}, {1, 2, 3})));
  });
  CompileReport report = MustCompile(graph, {.device = kCpu1}, "all");
  EXPECT_THAT(report.copies, IsEmpty());
  std::istringstream lines(report.dumps["plan-memory"]);
  int placed = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!std::regex_search(line, std::regex("plan\\.(input|variable|constant|alloc|call|copy)"))) continue;
    ++placed;
    EXPECT_THAT(line, HasSubstr(" on <cpu, 1>"));
  }
  EXPECT_GT(placed, 20);
  EXPECT_THAT(report.dumps["plan-memory"],
              HasSubstr("plan.function @train on [#sinter.device<cpu, 1>] arena"));
  // No stage mentions cpu:0.
  for (const auto& [stage, text] : report.dumps) EXPECT_THAT(text, Not(HasSubstr("<cpu, 0>"))) << stage;
}

// Returns the ops of a stage's IR without a device attribute. Fusion bodies and constant expressions are
// exempt.
std::vector<std::string> Unplaced(const std::string& text) {
  static const std::regex op("    (%[0-9a-z_]+)(:[0-9]+)? = sinter\\.[a-z0-9_]+"), value("%[0-9a-z_]+");
  std::vector<std::string> unplaced;
  std::set<std::string> constants;
  std::istringstream lines(text);
  bool in_fusion = false;
  for (std::string line; std::getline(lines, line);) {
    std::smatch found;
    if (line.find("func.func") != std::string::npos) constants.clear();
    if (in_fusion) {
      in_fusion = line.rfind("    }", 0) != 0;
    } else if (std::regex_search(line, found, op) && line.find("sinter.gradients") == std::string::npos) {
      in_fusion = line.find("sinter.fusion") != std::string::npos;
      const bool placed =
          line.find("#sinter.device<") != std::string::npos || line.find("sinter.copy") != std::string::npos;
      bool constant = true;
      const std::string operands = line.substr(line.find('='));
      for (std::sregex_iterator it(operands.begin(), operands.end(), value), end; it != end; ++it) {
        constant &= constants.count(it->str()) != 0;
      }
      if (!placed && constant) constants.insert(found[1]);
      if (!placed && !constant) unplaced.push_back(line);
    }
  }
  return unplaced;
}

// Checks every stage that works on tensors.
TEST(PlacementTest, EveryStageKeepsThePlaces) {
  Graph graph("g");
  nn::Module first = nn::Sequential{nn::Conv2d(8, 3), nn::BatchNorm(), nn::Relu(), nn::Flatten()};
  nn::Module second = nn::Sequential{nn::Linear(16), nn::Gelu(), nn::Dropout(0.25), nn::Linear(4)};
  first.Named("first").To(Device::Cpu());
  second.Named("second").To(kCpu1);
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor h = first(b.Input("x", F32, {16, 3, 8, 8}));
    Tensor loss = SoftmaxCrossEntropy(second(Copy(h, kCpu1)), b.Input("y", I32, {16}));
    optim::AdamW{.learning_rate = b.Scalar("lr")}.Minimize(loss, {.hooks = {optim::ClipNorm(1)}});
    b.Output("loss", loss);
  });
  CompileReport report = MustCompile(graph, {.check_indices = true, .verify_each_pass = true}, "all");
  for (const std::string& stage : StageNames()) {
    if (stage == "lower-to-plan") break;
    EXPECT_THAT(Unplaced(report.dumps[stage]), IsEmpty()) << "after " << stage;
    EXPECT_GT(Count(report.dumps[stage], "= sinter."), 10) << stage;
  }
}

// One copy of the scalars that the updates share, one round trip for the norm, and no other implicit copy.
TEST(PlacementTest, OptimisersWorkOnEveryDevice) {
  Graph graph("g");
  nn::Module first = nn::Linear(16), second = nn::Linear(4);
  first.Named("first").To(Device::Cpu());
  second.Named("second").To(kCpu1);
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor h = Relu(first(b.Input("x", F32, {8, 10})));
    Tensor loss = SoftmaxCrossEntropy(second(Copy(h, kCpu1)), b.Input("y", I32, {8}));
    optim::Adam{.learning_rate = b.Scalar("lr")}.Minimize(loss, {.hooks = {optim::ClipNorm(1)}});
    b.Output("loss", loss);
  });
  CompileReport report = MustCompile(graph);
  int large = 0;
  for (const std::string& line : report.copies) {
    bool scalar = line.find(" 4 bytes") != std::string::npos || line.find(" 8 bytes") != std::string::npos;
    if (!scalar) ++large;
  }
  EXPECT_EQ(large, 2) << report.ToString();  // h, and its gradient.
  EXPECT_THAT(report.copies, ::testing::Contains(HasSubstr("gives input \"lr\" of")));
  // Slots are on their parameters' devices.
  const std::string& text = report.dumps["lower-to-plan"];
  EXPECT_THAT(text, HasSubstr("sinter.variable @\"adam/m/second.weight\" : tensor<16x4xf32>"));
  for (const char* name : {"second.weight", "adam/m/second.weight", "adam/v/second.bias"}) {
    std::smatch found;
    std::regex line("sinter\\.variable @\"?" + std::string(name) + "[\" ][^\n]*");
    ASSERT_TRUE(std::regex_search(text, found, line)) << name;
    EXPECT_THAT(found.str(), HasSubstr("#sinter.device<cpu, 1>"));
  }
}

// A norm over two devices, with random masks and step counters.
TEST(PlacementTest, TwoDevicesTrainAsOneDoes) {
  setenv("SINTER_CPU_DEVICES", "2", /*overwrite=*/1);
  std::vector<std::vector<float>> weights;
  for (Device device : {Device::Cpu(), kCpu1}) {
    Graph graph("g");
    nn::Module first = nn::Sequential{nn::Linear(16), nn::Dropout(0.5)}, second = nn::Linear(4);
    first.Named("first").To(Device::Cpu());
    second.Named("second").To(device);
    graph.Function("train", Mode::kTrain, [&](Builder& b) {
      Tensor h = Relu(first(b.Input("x", F32, {8, 10})));
      Tensor loss = SoftmaxCrossEntropy(second(Copy(h, device)), b.Input("y", I32, {8}));
      optim::AdamW{.learning_rate = b.Scalar("lr")}.Minimize(loss, {.hooks = {optim::ClipNorm(0.1)}});
      b.Output("loss", loss);
    });
    Session session = MustStart(graph);
    std::vector<float> values(80);
    for (size_t i = 0; i < values.size(); ++i) values[i] = 0.1f * static_cast<float>((i * 7) % 23) - 1;
    HostTensor x = *HostTensor::FromVector<float>({8, 10}, values);
    HostTensor y = *HostTensor::FromVector<int32_t>({8}, {0, 1, 2, 3, 0, 1, 2, 3});
    for (int step = 0; step < 5; ++step) {
      auto out = session.Run("train", {{"x", x}, {"y", y}, {"lr", 0.05f}});
      ASSERT_TRUE(out.ok()) << out.status();
    }
    weights.push_back(VariableFloats(session, "first.0.weight"));
    for (float w : VariableFloats(session, "second.weight")) weights.back().push_back(w);
  }
  unsetenv("SINTER_CPU_DEVICES");
  for (size_t i = 0; i < weights[0].size(); ++i) EXPECT_NEAR(weights[0][i], weights[1][i], 1e-5) << i;
}

TEST(PlacementTest, ThePlanSaysWhereThingsAre) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = b.Input("x", F32, {64});
    Tensor w = b.Read(b.MakeVariable("w", F32, {64}, {.device = kCpu1}));
    b.Output("y", Exp(Copy(x, kCpu1) * w) + w);
    b.Output("z", Exp(x));
  });
  absl::StatusOr<Plan> plan = Compile(graph);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->Devices(), ElementsAre(Device::Cpu(), kCpu1));
  ASSERT_EQ(plan->Variables().size(), 1u);
  EXPECT_EQ(plan->Variables()[0].device, kCpu1);
  std::vector<int64_t> arenas = plan->Functions()[0].device_arena_bytes;
  ASSERT_EQ(arenas.size(), 2u);
  EXPECT_GE(arenas[0], 256);
  EXPECT_GE(arenas[1], 256);
}

}  // namespace
}  // namespace sinter
