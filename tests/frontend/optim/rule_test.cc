// Rules of one's own, gradients in hand, the results of updates, and hyper-parameters that change.
#include "sinter/frontend/optim/rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

// As in the header's example, with a bound.
struct SignMomentum : optim::Rule<SignMomentum> {
  static constexpr char kName[] = "mine::SignMomentum";
  optim::Hyper learning_rate = 1e-4;
  optim::Hyper beta = 0.95;
  Tensor operator()(optim::Parameter& p) const {
    const Tensor m = p.At(beta) * p.Slot("m") + p.OneMinus(beta) * p.gradient;
    p.SetSlot("m", m);
    return p.value - p.At(learning_rate) * Sign(m) * p.Step() / p.BiasCorrection(beta);
  }
  std::vector<optim::Bounded> Bounds() const { return {{"a beta", beta, optim::kFraction}}; }
};

// A rule whose call operator does one thing.
struct Wrong : optim::Rule<Wrong> {
  static constexpr char kName[] = "Wrong";
  optim::Hyper learning_rate = 1;
  std::function<Tensor(optim::Parameter&)> update;
  Tensor operator()(optim::Parameter& p) const { return update(p); }
};

std::vector<std::string> NamesOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const Variable& v : graph.variables()) names.push_back(v.name());
  return names;
}

Variable Pair(Builder& b, const std::string& name, double value = 0) {
  return b.MakeVariable(name, F32, {2}, {.init = {.a = value}});
}

using RuleTest = DeviceTest;

TEST_F(RuleTest, OnesOwnFollowsItsFormula) {
  Graph graph("g");
  graph.Function("train", Mode::kTrain, [](Builder& b) {
    const Tensor target =
        b.Constant(*HostTensor::FromVector<float>({2}, {1e3f, -2e3f}));  // Far: no sign changes.
    SignMomentum{.learning_rate = b.Scalar("lr"), .beta = 0.75}.Minimize(
        Sum(Square(b.Read(Pair(b, "w")) - target)));
  });
  EXPECT_THAT(NamesOf(graph), UnorderedElementsAre("w", "signmomentum/m/w", "signmomentum/step"));
  Session session = MustStart(graph, {.device = TestDevice()});
  double w[] = {0, 0}, m[] = {0, 0};
  const double target[] = {1e3, -2e3};
  for (int step = 1; step <= 100; ++step) {
    ASSERT_TRUE(session.Run("train", {{"lr", 0.001f}}).ok());
    for (int i = 0; i < 2; ++i) {
      m[i] = 0.75 * m[i] + 0.25 * 2 * (w[i] - target[i]);
      w[i] -= 0.001 * (m[i] > 0 ? 1 : -1) * step / (1 - std::pow(0.75, step));
    }
  }
  const std::vector<float> actual = VariableFloats(session, "w");
  for (int i = 0; i < 2; ++i) EXPECT_NEAR(actual[i], w[i], 1e-4) << i;
}

TEST_F(RuleTest, OnesOwnHasGroupsAccumulationAndLossScale) {
  Graph graph("g");
  const optim::UpdateOptions<SignMomentum> options = {.groups = {{.of = Glob("c"), .rate_scale = 2}},
                                                      .loss_scale = optim::LossScale{.initial = 8}};
  graph.Function("accumulate", Mode::kTrain, [&](Builder& b) {
    SignMomentum{}.Accumulate(Sum(b.Read(Pair(b, "a")) + b.Read(Pair(b, "c"))), options);
  });
  graph.Function("update", Mode::kTrain, [&](Builder& b) {
    const auto update = SignMomentum{.learning_rate = 0.1, .beta = 0}.ApplyAccumulated(b, options);
    b.Output("step", update.Step());
    b.Output("applied", Cast(update.Applied(), I32));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const auto numbers = [&] {
    auto outputs = session.Run("update", {});
    SINTER_CHECK(outputs.ok()) << outputs.status();
    return std::vector<double>{*outputs->Scalar("step"), *outputs->Scalar("applied")};
  };
  EXPECT_THAT(numbers(), ElementsAre(0, 0));  // Nothing accumulated.
  ASSERT_TRUE(session.Run("accumulate", {}).ok());
  EXPECT_THAT(numbers(), ElementsAre(1, 1));
  EXPECT_NEAR(VariableFloats(session, "a")[0], -0.1, 1e-6);
  EXPECT_NEAR(VariableFloats(session, "c")[1], -0.2, 1e-6);
}

TEST_F(RuleTest, SlotsMayHaveShapesOfTheirOwn) {
  Graph graph("g");
  graph.Function("train", Mode::kTrain, [](Builder& b) {
    const Wrong largest{.update = [](optim::Parameter& p) {
      const Tensor norm = Maximum(p.Slot("norm", {}), Norm(p.gradient));
      p.SetSlot("norm", norm);
      return p.value - p.gradient / norm;
    }};
    largest.Minimize(Sum(b.Read(Pair(b, "w")) * b.Scalar("x")), {.name = "n"});
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  for (const float x : {1.0f, 4.0f, 2.0f}) ASSERT_TRUE(session.Run("train", {{"x", x}}).ok());
  EXPECT_NEAR(VariableFloats(session, "n/norm/w")[0], std::sqrt(32.0), 1e-5);
  EXPECT_NEAR(VariableFloats(session, "w")[0], -2.5 / std::sqrt(2.0), 1e-5);
}

TEST_F(RuleTest, ResultsAreTheGradientsNormAndWhetherItWasApplied) {
  Graph graph("g");
  graph.Function("train", Mode::kTrain, [](Builder& b) {
    const Tensor loss = Sum(b.Read(Pair(b, "w")) * b.Scalar("x"));
    const auto update =
        optim::Sgd{}.Minimize(loss, {.hooks = {optim::ClipNorm(1)}, .loss_scale = optim::LossScale{}});
    b.Output("norm", update.GradientNorm());
    b.Output("step", update.Step());
    b.Output("applied", Cast(update.Applied(), F32));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const auto run = [&](float x, const char* output) {
    auto outputs = session.Run("train", {{"x", x}});
    SINTER_CHECK(outputs.ok()) << outputs.status();
    return *outputs->Scalar(output);
  };
  EXPECT_NEAR(run(3, "norm"), 3 * std::sqrt(2.0), 1e-5);  // Before the clipping, and without the scale.
  EXPECT_EQ(run(3, "step"), 2);
  EXPECT_EQ(run(3, "applied"), 1);
  EXPECT_EQ(run(INFINITY, "applied"), 0);
  EXPECT_EQ(run(INFINITY, "step"), 3);  // The number of the last one that was applied.
}

// An unused result adds no op and no variable.
TEST(RuleResultTest, UnusedOnesCostNothing) {
  const auto text = [](bool uses) {
    Graph graph("g");
    graph.Function("train", Mode::kTrain, [&](Builder& b) {
      const auto update = optim::Sgd{}.Minimize(Sum(Square(b.Read(Pair(b, "w")))));
      if (uses) b.Output("norm", update.GradientNorm());
      if (uses) b.Output("step", update.Step());
    });
    EXPECT_TRUE(graph.status().ok()) << graph.status();
    return graph.ToString();
  };
  EXPECT_THAT(text(false), Not(HasSubstr("sqrt")));
  EXPECT_THAT(text(false), Not(HasSubstr("sgd/step")));
  EXPECT_THAT(text(true), HasSubstr("sqrt"));
  EXPECT_THAT(text(true), HasSubstr("sgd/step"));
}

TEST_F(RuleTest, GradientsInHandGiveWhatMinimizeGives) {
  Graph graph("g");
  graph.Function("train", Mode::kTrain, [](Builder& b) {
    const Variable w = Pair(b, "w", 1), v = Pair(b, "v", 1);
    const Tensor x = b.Scalar("x");
    optim::Adam{.learning_rate = 0.1}.Minimize(Sum(Square(b.Read(w)) * x), {.hooks = {optim::ClipNorm(1)}});
    const std::vector<Tensor> gradients = Gradients(Sum(Square(b.Read(v)) * x), {b.Read(v)});
    optim::Adam{.learning_rate = 0.1}.Apply({v}, gradients, {.hooks = {optim::ClipNorm(1)}});
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  for (const float x : {1.0f, -3.0f, 0.25f}) ASSERT_TRUE(session.Run("train", {{"x", x}}).ok());
  EXPECT_EQ(VariableFloats(session, "w"), VariableFloats(session, "v"));
  EXPECT_EQ(VariableFloats(session, "adam/m/w"), VariableFloats(session, "adam_2/m/v"));
  EXPECT_NE(VariableFloats(session, "w")[0], 1);
}

TEST_F(RuleTest, UnusedParametersAreSkippedOnRequest) {
  Graph graph("g");
  graph.Function("train", Mode::kTrain, [](Builder& b) {
    const Variable w = Pair(b, "w"), v = Pair(b, "v");
    optim::Sgd{.learning_rate = 1}.Minimize(Sum(b.Read(w)), {.parameters = {w, v}, .allow_unused = true});
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  ASSERT_TRUE(session.Run("train", {}).ok());
  EXPECT_THAT(VariableFloats(session, "w"), ElementsAre(-1, -1));
}

class RuleErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(RuleErrorTest, Says) { ExpectSays(GetParam(), "rule_test.cc:"); }

// A case whose rule is this call operator, over "w" of f32[2].
ErrorCase Updating(const std::string& name, const std::function<Tensor(optim::Parameter&)>& update,
                   const std::vector<std::string>& says) {
  return In(name, [=](Builder& b) { Wrong{.update = update}.Minimize(Sum(b.Read(Pair(b, "w")))); }, says);
}

// A case that applies gradients in hand to "w" of f32[2].
ErrorCase Applying(const std::string& name, const std::vector<Shape>& gradients,
                   const std::function<void(optim::UpdateOptions<optim::Sgd>&, const Variable&)>& change,
                   const std::vector<std::string>& says) {
  return In(
      name,
      [=](Builder& b) {
        const Variable w = Pair(b, "w");
        optim::UpdateOptions<optim::Sgd> options;
        if (change) change(options, w);
        std::vector<Tensor> made;
        for (const Shape& shape : gradients) made.push_back(X(b, shape));
        optim::Sgd{}.Apply({w}, made, options);
      },
      says);
}

using SgdOptions = optim::UpdateOptions<optim::Sgd>;

INSTANTIATE_TEST_SUITE_P(
    Cases, RuleErrorTest,
    ::testing::Values(
        In("Bound", [](Builder& b) { SignMomentum{.beta = 1}.Minimize(Sum(b.Read(Pair(b, "w")))); },
           {"mine::SignMomentum: Minimize(f32[]) needs a beta of at least 0 and below 1, got 1"}),
        In("NoParameters",
           [](Builder& b) {
             const nn::Module net = nn::Linear(1);
             optim::Sgd{}.Minimize(Sum(b.Read(Pair(b, "w"))), {.parameters = net.parameters()});
           },
           {"was given no parameters; a module has them after its first call"}),
        Updating("RuleShape", [](optim::Parameter& p) { return Sum(p.gradient); },
                 {"Wrong: Minimize(f32[]) has a rule that changes \"w\" from f32[2] to f32[]",
                  "of the parameter's shape"}),
        Updating("RuleFails", [](optim::Parameter& p) { return p.Fail("wants more"); },
                 {"Wrong: Minimize(f32[]) wants more"}),
        Updating("HyperType", [](optim::Parameter& p) { return p.value * p.At(p.gradient); },
                 {"takes a hyper-parameter that is a number, f32[] or a schedule, got f32[2]"}),
        Updating("SlotShapes",
                 [](optim::Parameter& p) {
                   p.SetSlot("s", p.Slot("s", {3}));
                   return p.value + p.Slot("s");
                 },
                 {"uses the slot \"s\" of \"w\" with two shapes, f32[3] and f32[2]"}),
        Applying("ApplyCount", {{2}, {2}}, nullptr,
                 {"optim::Sgd: Apply(f32[2], f32[2]) needs one gradient for each parameter, got 2 for 1"}),
        Applying("ApplyShape", {{3}}, nullptr,
                 {"needs a gradient of floats of the shape of \"w\", f32[2], got f32[3]"}),
        Applying("ApplyTwice", {{2}}, [](SgdOptions& o, const Variable& w) { o.parameters = {w}; },
                 {"takes the parameters as its first argument"}),
        Applying("ApplyScale", {{2}}, [](SgdOptions& o, const Variable&) { o.loss_scale.emplace(); },
                 {"takes gradients without a loss scale", "use Minimize"}),
        In("AccumulatedOthers",
           [](Builder& b) {
             const Variable w = Pair(b, "w"), v = Pair(b, "v");
             optim::Sgd{}.Accumulate(Sum(b.Read(w)));
             optim::Sgd{}.ApplyAccumulated(b, {.parameters = {w, v}});
           },
           {"was given 2 parameters that are not the 1, such as \"w\", whose gradients were accumulated"})),
    ErrorCaseName);

TEST(RuleResultTest, ResultsBelongToTheirFunction) {
  Graph graph("g");
  optim::UpdateResult update;
  graph.Function("one", Mode::kTrain,
                 [&](Builder& b) { update = optim::Adam{}.Minimize(Sum(b.Read(Pair(b, "w")))); });
  graph.Function("two", Mode::kTrain, [&](Builder& b) { b.Output("norm", update.GradientNorm()); });
  EXPECT_THAT(std::string(graph.status().message()), HasSubstr("optim::Adam's GradientNorm"));
  EXPECT_THAT(std::string(graph.status().message()), HasSubstr("rule_test.cc:"));
}

}  // namespace
}  // namespace sinter
