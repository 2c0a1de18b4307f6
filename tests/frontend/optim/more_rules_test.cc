// Rules of Chainer, epsilons inside of roots, Lookahead and constant loss scales, against references.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/optim/rule_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

RuleCase GravesRule() {
  return {"RmsPropGraves",
          [](const Tensor& loss, const Tensor& lr) {
            MinimizeAs(optim::RmsPropGraves{.learning_rate = lr}, loss);
          },
          [] {
            return [n = Doubles(kSize, 0), m = Doubles(kSize, 0), delta = Doubles(kSize, 0)](
                       Doubles& w, const Doubles& g, double lr, int) mutable {
              for (size_t i = 0; i < kSize; ++i) {
                n[i] = 0.95 * n[i] + 0.05 * g[i] * g[i];
                m[i] = 0.95 * m[i] + 0.05 * g[i];
                delta[i] = 0.9 * delta[i] - lr * g[i] / std::sqrt(n[i] - m[i] * m[i] + 1e-4);
                w[i] += delta[i];
              }
            };
          }};
}

RuleCase Smorms3Rule() {
  return {"Smorms3",
          [](const Tensor& loss, const Tensor& lr) { MinimizeAs(optim::Smorms3{.learning_rate = lr}, loss); },
          [] {
            return [memory = Doubles(kSize, 1), m = Doubles(kSize, 0), n = Doubles(kSize, 0)](
                       Doubles& w, const Doubles& g, double lr, int) mutable {
              for (size_t i = 0; i < kSize; ++i) {
                const double r = 1 / (memory[i] + 1);
                m[i] = (1 - r) * m[i] + r * g[i];
                n[i] = (1 - r) * n[i] + r * g[i] * g[i];
                const double x = m[i] * m[i] / (n[i] + 1e-16);
                w[i] -= g[i] * std::min(x, lr) / (std::sqrt(n[i]) + 1e-16);
                memory[i] = 1 + memory[i] * (1 - x);
              }
            };
          },
          0, 1e-4};
}

RuleCase MsvagRule() {
  return {"Msvag",
          [](const Tensor& loss, const Tensor& lr) {
            MinimizeAs(optim::Msvag{.learning_rate = lr, .weight_decay = 0.1}, loss);
          },
          [] {
            return [moments = MomentsReference{0.9, 0.9}](Doubles& w, const Doubles& g, double lr,
                                                          int step) mutable {
              moments.Take(g);
              const double power = std::pow(0.9, step);
              const double rho = std::min(
                  0.9999, 0.1 * 0.1 * (1 - power * power) / ((1 - power) * (1 - power) * (1 - 0.9 * 0.9)));
              for (size_t i = 0; i < kSize; ++i) {
                const double mean = moments.first(i, step), square = mean * mean;
                const double s = (moments.second(i, step) - square) / (1 - rho);
                // An element whose gradients were all 0 makes no step.
                const double factor = square == 0 ? 0 : std::clamp(square / (square + rho * s), 0.0, 1.0);
                w[i] -= lr * (mean * factor + 0.1 * w[i]);
              }
            };
          }};
}

// The rules that divide by a root of a mean, with an epsilon large enough to see where it is.
constexpr double kInside = 0.01;

// Returns the reference of a decaying mean, or of a sum if `decay` is 1.
std::function<std::function<void(Doubles&, Doubles, double, int)>()> RootReference(double decay) {
  return [=] {
    return [decay, s = Doubles(kSize, 0)](Doubles& w, const Doubles& g, double lr, int) mutable {
      for (size_t i = 0; i < kSize; ++i) {
        s[i] = decay * s[i] + (decay == 1 ? 1 : 1 - decay) * g[i] * g[i];
        w[i] -= lr * g[i] / std::sqrt(s[i] + kInside);
      }
    };
  };
}

// Returns the reference of AdamW.
std::function<std::function<void(Doubles&, Doubles, double, int)>()> AdamReference(double decay) {
  return [=] {
    return [decay, moments = MomentsReference{0.9, 0.99}](Doubles& w, const Doubles& g, double lr,
                                                          int step) mutable {
      moments.Take(g);
      for (size_t i = 0; i < kSize; ++i) {
        const double root = std::sqrt(moments.second(i, step) + kInside);
        w[i] -= lr * (moments.first(i, step) / root + decay * w[i]);
      }
    };
  };
}

std::vector<RuleCase> InsideRules() {
  return {
      {"AdaGradInside",
       [](const Tensor& loss, const Tensor& lr) {
         MinimizeAs(optim::AdaGrad{.learning_rate = lr, .epsilon = kInside, .epsilon_inside_root = true},
                    loss);
       },
       RootReference(1)},
      {"RmsPropInside",
       [](const Tensor& loss, const Tensor& lr) {
         MinimizeAs(
             optim::RmsProp{
                 .learning_rate = lr, .alpha = 0.9, .epsilon = kInside, .epsilon_inside_root = true},
             loss);
       },
       RootReference(0.9)},
      {"AdamInside",
       [](const Tensor& loss, const Tensor& lr) {
         MinimizeAs(
             optim::Adam{.learning_rate = lr, .beta2 = 0.99, .epsilon = kInside, .epsilon_inside_root = true},
             loss);
       },
       AdamReference(0)},
      {"AdamWInside",
       [](const Tensor& loss, const Tensor& lr) {
         MinimizeAs(optim::AdamW{.learning_rate = lr,
                                 .beta2 = 0.99,
                                 .epsilon = kInside,
                                 .weight_decay = 0.1,
                                 .epsilon_inside_root = true},
                    loss);
       },
       AdamReference(0.1)}};
}

// NAdam and RAdam, whose roots are the same.
std::vector<RuleCase> InsideMomentRules() {
  return {{"NAdamInside",
           [](const Tensor& loss, const Tensor& lr) {
             MinimizeAs(optim::NAdam{.learning_rate = lr,
                                     .beta2 = 0.99,
                                     .epsilon = kInside,
                                     .epsilon_inside_root = true,
                                     .momentum_decay = 0},
                        loss);
           },
           [] {
             return [moments = MomentsReference{0.9, 0.99}](Doubles& w, const Doubles& g, double lr,
                                                            int step) mutable {
               moments.Take(g);
               for (size_t i = 0; i < kSize; ++i) {
                 const double ahead = 0.9 * moments.m[i] / (1 - std::pow(0.9, step + 1)) +
                                      0.1 * g[i] / (1 - std::pow(0.9, step));
                 w[i] -= lr * ahead / std::sqrt(moments.second(i, step) + kInside);
               }
             };
           }},
          {"RAdamInside",
           [](const Tensor& loss, const Tensor& lr) {
             MinimizeAs(
                 optim::RAdam{
                     .learning_rate = lr, .beta2 = 0.99, .epsilon = kInside, .epsilon_inside_root = true},
                 loss);
           },
           [] {
             return [moments = MomentsReference{0.9, 0.99}](Doubles& w, const Doubles& g, double lr,
                                                            int step) mutable {
               moments.Take(g);
               const double most = 199, decayed = std::pow(0.99, step);
               const double length = most - 2 * step * decayed / (1 - decayed);
               const double rectified =
                   std::sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length));
               for (size_t i = 0; i < kSize; ++i) {
                 const double root = std::sqrt(moments.second(i, step) + kInside);
                 w[i] -= lr * moments.first(i, step) * (length > 5 ? rectified / root : 1);
               }
             };
           }}};
}

// Lookahead around Momentum, with slow weights that start as w does.
RuleCase LookaheadRule() {
  return {"Lookahead",
          [](const Tensor& loss, const Tensor& lr) {
            MinimizeAs(optim::Momentum{.learning_rate = lr}, loss,
                       {.lookahead = optim::Lookahead{.every = 3, .rate = 0.4}});
          },
          [] {
            return [v = Doubles(kSize, 0), slow = Doubles(kSize, 0.75)](Doubles& w, const Doubles& g,
                                                                        double lr, int step) mutable {
              for (size_t i = 0; i < kSize; ++i) {
                v[i] = 0.9 * v[i] + g[i];
                w[i] -= lr * v[i];
                if (step % 3 == 0) w[i] = slow[i] += 0.4 * (w[i] - slow[i]);
              }
            };
          },
          0,
          3e-5,
          /*of_rows=*/false};
}

std::vector<RuleCase> MoreRules() {
  std::vector<RuleCase> rules = {GravesRule(), Smorms3Rule(), MsvagRule(), LookaheadRule()};
  for (const auto& some : {InsideRules(), InsideMomentRules()}) {
    rules.insert(rules.end(), some.begin(), some.end());
  }
  return rules;
}

using MoreRulesTest = DeviceTest;

TEST_F(MoreRulesTest, FollowTheirFormulas) {
  for (const RuleCase& rule : MoreRules()) ExpectRule(rule, {.device = TestDevice()});
}

TEST_F(MoreRulesTest, OfRowsThatAreReadFollowTheirFormulas) {
  for (const RuleCase& rule : MoreRules()) ExpectRuleOfRows(rule, {.device = TestDevice()});
}

TEST(MoreRulesOnTwoDevicesTest, FollowTheirFormulas) {
  for (const RuleCase& rule : MoreRules()) ExpectRuleOnTwoDevices(rule);
}

// Gradients of zero make no step.
TEST_F(MoreRulesTest, MakeNoStepOfZeros) {
  Graph graph("g");
  const Variable w = graph.Variable("w", F32, {kSize}, {.init = {.a = 0.75}});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Tensor loss = Sum(b.Read(w)) * b.Scalar("x");
    optim::Smorms3{}.Minimize(loss);
    optim::RmsPropGraves{}.Minimize(loss);
    optim::Msvag{}.Minimize(loss);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  ASSERT_TRUE(session.Run("train", {{"x", 0.0f}}).ok());
  EXPECT_THAT(VariableFloats(session, "w"), ::testing::Each(0.75f));
}

// A function that takes "x" from w, which begins at 8, with options.
Session StartTaking(const optim::UpdateOptions<optim::Sgd>& options) {
  Graph graph("g");
  const Variable w = graph.Variable("w", F32, {}, {.init = {.a = 8}});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const auto update = optim::Sgd{.learning_rate = 1}.Minimize(b.Read(w) * b.Scalar("x"), options);
    b.Output("applied", Cast(update.Applied(), F32));
  });
  return MustStart(graph, {.device = TestDevice()});
}

TEST_F(MoreRulesTest, LookaheadKeepsItsState) {
  Session session = StartTaking({.lookahead = optim::Lookahead{.every = 2, .rate = 0.25}});
  const std::vector<float> fast = {7, 7.5f, 6.5f, 7}, slow = {8, 7.5f, 7.5f, 7};
  for (size_t step = 0; step < fast.size(); ++step) {
    ASSERT_TRUE(session.Run("train", {{"x", 1.0f}}).ok());
    EXPECT_EQ(VariableFloats(session, "w")[0], fast[step]) << step;
    EXPECT_EQ(VariableFloats(session, "sgd/slow/w")[0], slow[step]) << step;
  }
  EXPECT_EQ((*session.ReadVariable("sgd/lookahead_steps")->Span<int64_t>())[0], 4);
}

TEST_F(MoreRulesTest, LookaheadDoesNotCountDroppedUpdates) {
  Session session = StartTaking(
      {.loss_scale = optim::LossScale{.initial = 2}, .lookahead = optim::Lookahead{.every = 2, .rate = 0.5}});
  for (const float x : {INFINITY, 1.0f, NAN, 1.0f}) ASSERT_TRUE(session.Run("train", {{"x", x}}).ok());
  EXPECT_EQ(VariableFloats(session, "w")[0], 7);
  EXPECT_EQ((*session.ReadVariable("sgd/lookahead_steps")->Span<int64_t>())[0], 2);
}

TEST_F(MoreRulesTest, AConstantLossScaleStaysAndDropsNothing) {
  Session session =
      StartTaking({.loss_scale = optim::LossScale{.initial = 8, .double_after = 1, .constant = true}});
  for (int step = 0; step < 3; ++step) {
    EXPECT_EQ(Floats(session, "train", {{"x", 1.0f}}, "applied")[0], 1);
    EXPECT_EQ(VariableFloats(session, "sgd/loss_scale")[0], 8);
  }
  EXPECT_EQ(VariableFloats(session, "w")[0], 5);
  EXPECT_EQ(Floats(session, "train", {{"x", INFINITY}}, "applied")[0], 1);
  EXPECT_EQ(VariableFloats(session, "w")[0], -INFINITY);
  EXPECT_EQ(VariableFloats(session, "sgd/loss_scale")[0], 8);
}

class MoreRulesErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(MoreRulesErrorTest, Says) { ExpectSays(GetParam(), "more_rules_test.cc:"); }

Tensor MoreRulesLoss(Builder& b) { return Sum(Square(nn::Linear(2)(X(b)))); }

INSTANTIATE_TEST_SUITE_P(
    Cases, MoreRulesErrorTest,
    ::testing::Values(
        In("GravesEpsilon", [](Builder& b) { optim::RmsPropGraves{.epsilon = 0}.Minimize(MoreRulesLoss(b)); },
           {"optim::RmsPropGraves: Minimize(f32[]) needs an epsilon above 0, got 0"}),
        In("GravesAlpha", [](Builder& b) { optim::RmsPropGraves{.alpha = 1}.Minimize(MoreRulesLoss(b)); },
           {"an alpha"}),
        In("GravesMomentum",
           [](Builder& b) { optim::RmsPropGraves{.momentum = -1}.Minimize(MoreRulesLoss(b)); },
           {"a momentum"}),
        In("Smorms3Epsilon", [](Builder& b) { optim::Smorms3{.epsilon = 0}.Minimize(MoreRulesLoss(b)); },
           {"Smorms3", "an epsilon above 0"}),
        In("MsvagBeta", [](Builder& b) { optim::Msvag{.beta = 1}.Minimize(MoreRulesLoss(b)); },
           {"Msvag", "a beta"}),
        In("MsvagDecay", [](Builder& b) { optim::Msvag{.weight_decay = -1}.Minimize(MoreRulesLoss(b)); },
           {"a weight decay"}),
        In("LookaheadPeriod",
           [](Builder& b) {
             optim::Sgd{}.Minimize(MoreRulesLoss(b), {.lookahead = optim::Lookahead{.every = 0}});
           },
           {"needs a period of .lookahead of at least 1, got 0"}),
        In("LookaheadRate",
           [](Builder& b) {
             optim::Sgd{}.Minimize(MoreRulesLoss(b), {.lookahead = optim::Lookahead{.rate = 1.5}});
           },
           {"a rate of .lookahead", "got 1.5"}),
        In("ConstantScale",
           [](Builder& b) {
             optim::Sgd{}.Minimize(MoreRulesLoss(b),
                                   {.loss_scale = optim::LossScale{.initial = 0, .constant = true}});
           },
           {"a first loss scale from 1 to 2^24"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
