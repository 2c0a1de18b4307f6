// Programs with many ops and variables compile, and compile time grows about linearly with their length.
#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/frontend/sinter.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tests/frontend/parameter_updates.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

constexpr int64_t kLongBatch = 32, kLongWidth = 64;

// Trains a gated recurrent layer over `steps` inputs.
void Recurrence(Builder& b, int64_t steps) {
  const VariableInit small = {VariableInit::Kind::kUniform, -0.1, 0.1};
  auto weight = [&](const char* name) {
    return b.Read(b.MakeVariable(name, F32, {kLongWidth, kLongWidth}, {.init = small}));
  };
  Tensor x = b.Input("x", F32, {steps, kLongBatch, kLongWidth}),
         y = b.Input("y", F32, {kLongBatch, kLongWidth});
  Tensor wz = weight("wz"), uz = weight("uz"), wn = weight("wn"), un = weight("un");
  Tensor h = b.Zeros(F32, {kLongBatch, kLongWidth});
  for (int64_t t = 0; t < steps; ++t) {
    Tensor now = Squeeze(SliceDim(x, 0, t, t + 1), 0);
    Tensor z = Sigmoid(MatMul(now, wz) + MatMul(h, uz));
    h = z * h + (1.0 - z) * Tanh(MatMul(now, wn) + MatMul(h, un));
  }
  optim::Adam{}.Minimize(MseLoss(h, y));
}

void Chain(Builder& b, int64_t ops) {
  Tensor x = b.Input("x", F32, {kLongBatch, kLongWidth}), y = x;
  for (int64_t i = 0; i < ops; ++i) y = i % 2 == 0 ? y + 0.5 : y * x;
  b.Output("y", y);
}

// `count` inputs, with one output for each.
void Ports(Builder& b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    b.Output("y" + std::to_string(i), Tanh(b.Input("x" + std::to_string(i), F32, {kLongWidth})));
  }
}

// Trains a network of `blocks` equal residual blocks.
void Blocks(Builder& b, int64_t blocks) {
  Tensor x = b.Input("x", F32, {kLongBatch, kLongWidth}), h = x;
  for (int64_t i = 0; i < blocks; ++i) {
    auto weight = [&](const char* name, const Shape& shape) {
      return b.Read(b.MakeVariable(absl::StrCat("block", i, ".", name), F32, shape,
                                   {.init = {VariableInit::Kind::kUniform, -0.1, 0.1}}));
    };
    const Tensor norm = LayerNorm(h, weight("scale", {kLongWidth}), weight("offset", {kLongWidth}));
    const Tensor wide = Gelu(MatMul(norm, weight("in", {kLongWidth, kLongWidth})));
    h = h + MatMul(wide, weight("out", {kLongWidth, kLongWidth}));
  }
  optim::AdamW{}.Minimize(Mean(Square(h)));
}

Graph Make(void (*build)(Builder&, int64_t), int64_t length) {
  Graph graph("long");
  graph.Function("f", Mode::kTrain, [&](Builder& b) { build(b, length); });
  return graph;
}

// Returns the CPU time of all threads, the least of some runs, so that other load on the machine matters
// little.
double CompileSeconds(const Graph& graph, int times) {
  double least = 0;
  for (int i = 0; i < times; ++i) {
    const std::clock_t start = std::clock();
    absl::StatusOr<Plan> plan = Compile(graph);
    SINTER_CHECK(plan.ok()) << plan.status();
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    least = i == 0 ? seconds : std::min(least, seconds);
  }
  return least;
}

struct LongProgram {
  const char* name;
  void (*build)(Builder&, int64_t);
  int64_t length;
};

// Four times the length takes at most about four times as long. It would take sixteen times as long if each
// op looked at all others.
class LongProgramTest : public testing::TestWithParam<LongProgram> {};

TEST_P(LongProgramTest, CompilesInTimeThatGrowsWithItsLength) {
  const auto [name, build, length] = GetParam();
  const Graph one = Make(build, length), four = Make(build, 4 * length);
  double once = CompileSeconds(one, 2), four_times = CompileSeconds(four, 1);
  // A busy machine also costs CPU time, in caches. A second look tells that from a program that grows.
  if (four_times >= 8 * once) {
    once = std::min(once, CompileSeconds(one, 2));
    four_times = std::min(four_times, CompileSeconds(four, 2));
  }
  EXPECT_LT(four_times, 8 * once) << "seconds of " << 4 * length << "; of " << length << " " << once;
}

INSTANTIATE_TEST_SUITE_P(Programs, LongProgramTest,
                         testing::Values(LongProgram{"Recurrence", Recurrence, 64},
                                         LongProgram{"Chain", Chain, 250},
                                         LongProgram{"Parameters", Parameters, 300},
                                         LongProgram{"Ports", Ports, 500}),
                         [](const auto& info) { return info.param.name; });

// Only builds functions of many inputs, variables and outputs, because compilation takes longer.
TEST(ManyParametersTest, AreBuiltInTimeThatGrowsWithThem) {
  const auto seconds = [](void (*build)(Builder&, int64_t), int64_t count) {
    double least = 0;
    for (int time = 0; time < 3; ++time) {
      const std::clock_t start = std::clock();
      EXPECT_TRUE(Make(build, count).status().ok());
      const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
      least = time == 0 ? took : std::min(least, took);
    }
    return least;
  };
  for (const auto build : {Ports, Parameters}) {
    // Eight times as many would take 64 times as long if each argument or result copied the list of the
    // earlier ones.
    const double once = seconds(build, 500), eight_times = seconds(build, 4000);
    EXPECT_LT(eight_times, 20 * once) << once << " s and " << eight_times;
  }
}

// A GPU kernel has at most 4,095 pointers; 1,000 such updates use 6,000 buffers.
TEST(ManyParametersTest, AreUpdatedByMoreThanOneKernel) {
  Session session = MustStart(Make(Parameters, 1000));
  ASSERT_TRUE(session.Run("f", {}).ok());
  for (const char* name : {"p0", "p681", "p682", "p683", "p999"}) {
    for (float value : VariableFloats(session, name)) EXPECT_NEAR(value, 0.8, 1e-6) << name;
  }
}

// The gradients of many slices of a tensor are written directly to their places in its gradient. No kernel
// searches all slices for each element, as a joining kernel would, and nothing is added to zeros.
TEST(ManySlicesTest, GiveBackTheirGradientsInPlace) {
  for (const int64_t dim : {0, 1}) {
    constexpr int64_t kSlices = 40, kOthers = 4, kInner = 64;
    const Shape shape = dim == 0 ? Shape{kSlices, kOthers, kInner} : Shape{kOthers, kSlices, kInner};
    Graph graph("slices");
    graph.Function("f", Mode::kTrain, [&](Builder& b) {
      Variable v = b.MakeVariable("v", F32, shape, {.init = {VariableInit::Kind::kConstant, 0.5, 0}});
      Tensor x = b.Read(v), h = b.Zeros(F32, {kOthers, kInner});
      // All but the first and the last.
      for (int64_t t = 1; t + 1 < kSlices; ++t) {
        h = h + Square(Squeeze(SliceDim(x, dim, t, t + 1), dim)) * static_cast<double>(t);
      }
      optim::Sgd{.learning_rate = 0.125}.Minimize(Sum(h));
    });
    CompileReport report;
    absl::StatusOr<Plan> plan = Compile(graph, {.dump_stages = {"lower-to-plan"}}, &report);
    ASSERT_TRUE(plan.ok()) << plan.status();
    EXPECT_THAT(report.dumps["lower-to-plan"], testing::Not(testing::HasSubstr("sinter.concat")));
    EXPECT_THAT(report.dumps["lower-to-plan"], testing::Not(testing::HasSubstr("sinter.pad")));
    absl::StatusOr<Session> session = Session::Create(*std::move(plan), {.poison = true});
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(session->Run("f", {}).ok());
    const std::vector<float> values = VariableFloats(*session, "v");
    for (size_t i = 0; i < values.size(); ++i) {
      const auto row = static_cast<int64_t>(i) / kInner;
      const int64_t t = dim == 0 ? row / kOthers : row % kSlices;
      // 0.5 - 0.125 * 2 t * 0.5.
      const bool is_sliced = t > 0 && t + 1 < kSlices;
      ASSERT_EQ(values[i], is_sliced ? 0.5f - 0.125f * static_cast<float>(t) : 0.5f) << "slice " << t;
    }
  }
}

int Count(const std::string& text, const std::string& part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// The generated code does not grow with the number of equal blocks.
TEST(EqualBlocksTest, ShareTheirKernels) {
  auto functions = [](int64_t blocks) {
    CompileReport report;
    absl::StatusOr<Plan> plan = Compile(Make(Blocks, blocks), {.dump_stages = {"kernels"}}, &report);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return Count(report.dumps["kernels"], "func.func");
  };
  // Fewer parameters than this are updated by calls in a row rather than by a loop.
  constexpr int64_t kFewestBlocks = 8;
  const int few = functions(kFewestBlocks);
  EXPECT_GT(few, 4);
  EXPECT_EQ(functions(4 * kFewestBlocks), few);
}

}  // namespace
}  // namespace sinter
