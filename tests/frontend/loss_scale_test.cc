// Dynamic loss scaling: a step that overflows changes only the scale.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

using Minimize = std::function<void(const Tensor& loss)>;

// A regression in f16 whose loss is multiplied by the input "boost".
Graph Regression(const Minimize& minimize) {
  Graph graph("g", {.seed = 5, .precision = Precision::kF16});
  nn::Module net = nn::Sequential{nn::Linear(8), nn::Tanh(), nn::Linear(1)};
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {4, 3});
    Tensor loss = Mean(Square(net(x) - 0.5)) * b.Scalar("boost");
    minimize(loss);
    b.Output("loss", loss);
  });
  return graph;
}

// Returns all variables but the scale and its counter.
std::map<std::string, std::vector<char>> State(Session& session) {
  std::map<std::string, std::vector<char>> state;
  for (const VariableInfo& variable : session.variables()) {
    if (variable.name.ends_with("/loss_scale") || variable.name.ends_with("/good_steps")) continue;
    HostTensor tensor = *session.ReadVariable(variable.name);
    const char* bytes = static_cast<const char*>(tensor.data());
    state[variable.name].assign(bytes, bytes + variable.bytes);
  }
  return state;
}

int64_t Integer(Session& session, std::string_view name) {
  return (*session.ReadVariable(name)->Span<int64_t>())[0];
}

void Step(Session& session, float boost) {
  static const HostTensor x =
      *HostTensor::FromVector<float>({4, 3}, {1, 2, 3, -1, 0.5, 2, 0.25, -3, 1, 0, 1, -1});
  auto outputs = session.Run("train", {{"x", x}, {"boost", boost}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
}

// Good, good, bad, good: the bad step changes only the scale and its counter, and training continues.
void ExpectSkipsTheBadStep(const std::string& name, const Minimize& minimize) {
  SCOPED_TRACE(name);
  const std::string scale = name + "/loss_scale", good_steps = name + "/good_steps";
  Session session = MustStart(Regression(minimize));
  Step(session, 1);
  Step(session, 1);
  EXPECT_EQ(VariableFloats(session, scale)[0], 1024);
  EXPECT_EQ(Integer(session, good_steps), 2);
  auto before = State(session);
  Step(session, 1e30f);
  EXPECT_EQ(State(session), before);
  EXPECT_EQ(VariableFloats(session, scale)[0], 512);
  EXPECT_EQ(Integer(session, good_steps), 0);
  Step(session, 1);
  EXPECT_NE(State(session), before);
  for (float v : VariableFloats(session, "0.weight")) EXPECT_TRUE(std::isfinite(v));
  EXPECT_EQ(VariableFloats(session, scale)[0], 512);
  EXPECT_EQ(Integer(session, good_steps), 1);
}

constexpr optim::LossScale kScale = {.initial = 1024};

TEST(LossScaleTest, EveryOptimiserSkipsABadStep) {
  for (double clip : {0.0, 0.5}) {
    auto skips = [=]<typename R>(const std::string& name, const R& rule) {
      optim::UpdateOptions<R> options = {.loss_scale = kScale};
      if (clip > 0) options.hooks = {optim::ClipNorm(clip)};
      ExpectSkipsTheBadStep(name, [=](const Tensor& loss) { rule.Minimize(loss, options); });
    };
    skips("sgd", optim::Sgd{.learning_rate = 0.1});
    skips("momentum", optim::Momentum{.learning_rate = 0.1});
    skips("nesterov", optim::Momentum{.learning_rate = 0.1, .nesterov = true});
    skips("adam", optim::Adam{.learning_rate = 0.1});
    skips("adamw", optim::AdamW{.learning_rate = 0.1});
  }
}

// w = 1 and loss = boost * w^2, in f32: loss scaling alone.
Graph Square1(const optim::LossScale& scale) {
  Graph graph("g");
  Variable w = graph.Variable("w", F32, {}, {.init = {.a = 1}});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    optim::Sgd{.learning_rate = 0.1}.Minimize(Square(b.Read(w)) * b.Scalar("boost"), {.loss_scale = scale});
  });
  return graph;
}

TEST(LossScaleTest, TheScaleDoublesAfterGoodSteps) {
  Session session = MustStart(Square1({.initial = 4, .double_after = 3}));
  std::vector<float> scales;
  for (int i = 0; i < 7; ++i) {
    ASSERT_TRUE(session.Run("train", {{"boost", 1.0f}}).ok());
    scales.push_back(VariableFloats(session, "sgd/loss_scale")[0]);
  }
  EXPECT_THAT(scales, ::testing::ElementsAre(4, 4, 8, 8, 8, 16, 16));
}

TEST(LossScaleTest, ABadStepStartsTheCountAgain) {
  Session session = MustStart(Square1({.initial = 4, .double_after = 2}));
  std::vector<float> scales;
  for (float boost : {1.0f, INFINITY, 1.0f, 1.0f, 1.0f}) {
    ASSERT_TRUE(session.Run("train", {{"boost", boost}}).ok());
    scales.push_back(VariableFloats(session, "sgd/loss_scale")[0]);
  }
  EXPECT_THAT(scales, ::testing::ElementsAre(4, 2, 2, 4, 4));
}

TEST(LossScaleTest, TheScaleStaysBetweenOneAndItsLimit) {
  Session high = MustStart(Square1({.initial = 16777216, .double_after = 1}));
  ASSERT_TRUE(high.Run("train", {{"boost", 1.0f}}).ok());
  EXPECT_EQ(VariableFloats(high, "sgd/loss_scale")[0], 16777216);
  Session low = MustStart(Square1({.initial = 2}));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(low.Run("train", {{"boost", NAN}}).ok());
  EXPECT_EQ(VariableFloats(low, "sgd/loss_scale")[0], 1);
  EXPECT_EQ(VariableFloats(low, "w")[0], 1);
}

TEST(LossScaleTest, ScalingByPowersOfTwoChangesNoBitInF32) {
  Graph plain("g");
  Variable w = plain.Variable("w", F32, {}, {.init = {.a = 1}});
  plain.Function("train", Mode::kTrain, [&](Builder& b) {
    optim::Sgd{.learning_rate = 0.1}.Minimize(Square(b.Read(w)) * b.Scalar("boost"));
  });
  Session expected = MustStart(plain), scaled = MustStart(Square1({}));
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(expected.Run("train", {{"boost", 0.3f}}).ok());
    ASSERT_TRUE(scaled.Run("train", {{"boost", 0.3f}}).ok());
  }
  EXPECT_EQ(VariableFloats(scaled, "w"), VariableFloats(expected, "w"));
}

// Parameters on two devices: one bad gradient stops both updates.
TEST(LossScaleTest, DevicesSkipTogether) {
  setenv("SINTER_CPU_DEVICES", "2", /*overwrite=*/1);
  Graph graph("g");
  Variable a = graph.Variable("a", F32, {2}, {.init = {.a = 1}, .device = Device::Cpu(0)});
  Variable c = graph.Variable("c", F32, {2}, {.init = {.a = 1}, .device = Device::Cpu(1)});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor far = Copy(Sum(Square(b.Read(c))) * Copy(b.Scalar("boost"), Device::Cpu(1)), Device::Cpu(0));
    optim::Adam{.learning_rate = 0.1}.Minimize(Sum(Square(b.Read(a))) + far,
                                               {.hooks = {optim::ClipNorm(1)}, .loss_scale = kScale});
  });
  Session session = MustStart(graph);
  ASSERT_TRUE(session.Run("train", {{"boost", 1.0f}}).ok());
  auto before = State(session);
  ASSERT_TRUE(session.Run("train", {{"boost", INFINITY}}).ok());
  EXPECT_EQ(State(session), before);
  EXPECT_EQ(VariableFloats(session, "adam/loss_scale")[0], 512);
  ASSERT_TRUE(session.Run("train", {{"boost", 1.0f}}).ok());
  EXPECT_NE(State(session), before);
  unsetenv("SINTER_CPU_DEVICES");
}

TEST(LossScaleTest, OptionsThatMakeNoSenseAreErrors) {
  for (optim::LossScale scale : {optim::LossScale{.initial = 0}, optim::LossScale{.initial = 1e9},
                                 optim::LossScale{.double_after = 0}}) {
    absl::Status status = Square1(scale).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("a first loss scale from 1 to 2^24"));
    EXPECT_THAT(std::string(status.message()), HasSubstr("loss_scale_test.cc:"));
  }
}

}  // namespace
}  // namespace sinter
