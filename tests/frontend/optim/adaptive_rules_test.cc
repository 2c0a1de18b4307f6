// Compares each rule with a reference in double over 100 steps.
#include "sinter/frontend/optim/adaptive_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/optim/rule_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

std::vector<RuleCase> ScaledRules() {
  return {
      {"AdaGrad",
       [](const Tensor& loss, const Tensor& lr) {
         MinimizeAs(optim::AdaGrad{.learning_rate = lr}, loss, {.hooks = {optim::Decay(0.01)}});
       },
       [] {
         return [s = Doubles(kSize, 0)](Doubles& w, const Doubles& g, double lr, int) mutable {
           for (size_t i = 0; i < kSize; ++i) {
             s[i] += g[i] * g[i];
             w[i] -= lr * g[i] / (std::sqrt(s[i]) + 1e-10);
           }
         };
       },
       0.01},
      {"AdaDelta",
       [](const Tensor& loss, const Tensor& lr) {
         MinimizeAs(optim::AdaDelta{.learning_rate = lr, .rho = 0.95}, loss);
       },
       [] {
         return [s = Doubles(kSize, 0), u = Doubles(kSize, 0)](Doubles& w, const Doubles& g, double lr,
                                                               int) mutable {
           for (size_t i = 0; i < kSize; ++i) {
             s[i] = 0.95 * s[i] + 0.05 * g[i] * g[i];
             const double d = g[i] * std::sqrt(u[i] + 1e-6) / std::sqrt(s[i] + 1e-6);
             u[i] = 0.95 * u[i] + 0.05 * d * d;
             w[i] -= lr * d;
           }
         };
       }},
  };
}

std::vector<RuleCase> RmsRules() {
  return {
      {"RmsProp",
       [](const Tensor& loss, const Tensor& lr) {
         MinimizeAs(optim::RmsProp{.learning_rate = lr, .alpha = 0.9}, loss);
       },
       [] {
         return [s = Doubles(kSize, 0)](Doubles& w, const Doubles& g, double lr, int) mutable {
           for (size_t i = 0; i < kSize; ++i) {
             s[i] = 0.9 * s[i] + 0.1 * g[i] * g[i];
             w[i] -= lr * g[i] / (std::sqrt(s[i]) + 1e-8);
           }
         };
       }},
      {"RmsPropCentered",
       [](const Tensor& loss, const Tensor& lr) {
         MinimizeAs(
             optim::RmsProp{
                 .learning_rate = lr, .alpha = 0.9, .epsilon = 0.1, .momentum = 0.5, .centered = true},
             loss);
       },
       [] {
         return [s = Doubles(kSize, 0), mean = Doubles(kSize, 0), v = Doubles(kSize, 0)](
                    Doubles& w, const Doubles& g, double lr, int) mutable {
           for (size_t i = 0; i < kSize; ++i) {
             s[i] = 0.9 * s[i] + 0.1 * g[i] * g[i];
             mean[i] = 0.9 * mean[i] + 0.1 * g[i];
             v[i] = 0.5 * v[i] + g[i] / (std::sqrt(std::max(0.0, s[i] - Squared(mean[i]))) + 0.1);
             w[i] -= lr * v[i];
           }
         };
       }},
  };
}

std::vector<RuleCase> MomentRules() {
  return {
      {"Adamax",
       [](const Tensor& loss, const Tensor& lr) {
         MinimizeAs(optim::Adamax{.learning_rate = lr, .beta2 = 0.9}, loss);
       },
       [] {
         return [m = Doubles(kSize, 0), u = Doubles(kSize, 0)](Doubles& w, const Doubles& g, double lr,
                                                               int step) mutable {
           for (size_t i = 0; i < kSize; ++i) {
             m[i] = 0.9 * m[i] + 0.1 * g[i];
             u[i] = std::max(0.9 * u[i], std::fabs(g[i]) + 1e-8);
             w[i] -= lr / (1 - std::pow(0.9, step)) * m[i] / u[i];
           }
         };
       }},
      {"NAdam",
       [](const Tensor& loss, const Tensor& lr) {
         MinimizeAs(optim::NAdam{.learning_rate = lr, .beta2 = 0.99, .momentum_decay = 0}, loss,
                    {.hooks = {optim::Decay(0.02)}});
       },
       [] {
         return [moments = MomentsReference{0.9, 0.99}](Doubles& w, const Doubles& g, double lr,
                                                        int step) mutable {
           moments.Take(g);
           for (size_t i = 0; i < kSize; ++i) {
             const double ahead =
                 0.9 * moments.m[i] / (1 - std::pow(0.9, step + 1)) + 0.1 * g[i] / (1 - std::pow(0.9, step));
             w[i] -= lr * ahead / (std::sqrt(moments.second(i, step)) + 1e-8);
           }
         };
       },
       0.02},
  };
}

std::vector<RuleCase> RectifiedRules() {
  return {
      {"RAdam",
       [](const Tensor& loss, const Tensor& lr) {
         MinimizeAs(optim::RAdam{.learning_rate = lr, .beta2 = 0.99}, loss);
       },
       [] {
         return [moments = MomentsReference{0.9, 0.99}](Doubles& w, const Doubles& g, double lr,
                                                        int step) mutable {
           moments.Take(g);
           const double most = 2 / 0.01 - 1, decayed = std::pow(0.99, step);
           const double length = most - 2 * step * decayed / (1 - decayed);
           const double rectified =
               std::sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length));
           for (size_t i = 0; i < kSize; ++i) {
             const double scale = length > 5 ? rectified / (std::sqrt(moments.second(i, step)) + 1e-8) : 1;
             w[i] -= lr * moments.first(i, step) * scale;
           }
         };
       }},
      {"Lion",
       [](const Tensor& loss, const Tensor& lr) {
         MinimizeAs(optim::Lion{.learning_rate = lr, .beta2 = 0.95, .weight_decay = 0.1}, loss);
       },
       [] {
         return [m = Doubles(kSize, 0)](Doubles& w, const Doubles& g, double lr, int) mutable {
           for (size_t i = 0; i < kSize; ++i) {
             const double mixed = 0.9 * m[i] + 0.1 * g[i];
             w[i] -= lr * ((mixed > 0 ? 1 : mixed < 0 ? -1 : 0) + 0.1 * w[i]);
             m[i] = 0.95 * m[i] + 0.05 * g[i];
           }
         };
       }},
  };
}

std::vector<RuleCase> NormRules() {
  return {
      {"Lamb",
       [](const Tensor& loss, const Tensor& lr) {
         MinimizeAs(optim::Lamb{.learning_rate = lr, .beta2 = 0.99, .weight_decay = 0.1}, loss);
       },
       [] {
         return [moments = MomentsReference{0.9, 0.99}](Doubles& w, const Doubles& g, double lr,
                                                        int step) mutable {
           moments.Take(g);
           Doubles update(kSize);
           for (size_t i = 0; i < kSize; ++i) {
             update[i] = moments.first(i, step) / (std::sqrt(moments.second(i, step)) + 1e-6) + 0.1 * w[i];
           }
           const double trust = NormOf(w) / NormOf(update);
           for (size_t i = 0; i < kSize; ++i) w[i] -= lr * trust * update[i];
         };
       },
       0, 3e-5, /*of_rows=*/false},
      {"AmsGrad",
       [](const Tensor& loss, const Tensor& lr) {
         MinimizeAs(optim::Adam{.learning_rate = lr, .beta2 = 0.9, .amsgrad = true}, loss);
       },
       [] {
         return [moments = MomentsReference{0.9, 0.9}, largest = Doubles(kSize, 0)](
                    Doubles& w, const Doubles& g, double lr, int step) mutable {
           moments.Take(g);
           for (size_t i = 0; i < kSize; ++i) {
             largest[i] = std::max(largest[i], moments.v[i]);
             w[i] -= lr * moments.first(i, step) / (std::sqrt(largest[i] / (1 - std::pow(0.9, step))) + 1e-8);
           }
         };
       }},
  };
}

// The reference of AdaBound, with final_rate 0.02 and gamma 0.05.
std::function<void(Doubles&, Doubles, double, int)> AdaBoundReference(bool amsbound) {
  return [amsbound, moments = MomentsReference{0.9, 0.99}, largest = Doubles(kSize, 0)](
             Doubles& w, const Doubles& g, double lr, int step) mutable {
    moments.Take(g);
    const double c1 = 1 - std::pow(0.9, step), c2 = 1 - std::pow(0.99, step);
    const double low = 0.02 * (1 - 1 / (0.05 * step + 1)), high = 0.02 * (1 + 1 / (0.05 * step));
    for (size_t i = 0; i < kSize; ++i) {
      largest[i] = std::max(largest[i], moments.v[i]);
      const double v = amsbound ? largest[i] : moments.v[i];
      w[i] -= moments.m[i] * std::clamp(lr * std::sqrt(c2) / c1 / (std::sqrt(v) + 1e-8), low, high);
    }
  };
}

std::vector<RuleCase> BoundRules() {
  const auto minimize = [](bool amsbound) {
    return [=](const Tensor& loss, const Tensor& lr) {
      MinimizeAs(
          optim::AdaBound{
              .learning_rate = lr, .beta2 = 0.99, .final_rate = 0.02, .gamma = 0.05, .amsbound = amsbound},
          loss);
    };
  };
  return {{"AdaBound", minimize(false), [] { return AdaBoundReference(false); }},
          {"AmsBound", minimize(true), [] { return AdaBoundReference(true); }}};
}

// Momentum with the rate inside of the velocity, as Chainer's MomentumSGD and NesterovAG have it.
std::vector<RuleCase> VelocityRules() {
  const auto rule = [](bool nesterov) {
    return RuleCase{
        nesterov ? "NesterovAg" : "MomentumSgd",
        [=](const Tensor& loss, const Tensor& lr) {
          MinimizeAs(optim::Momentum{.learning_rate = lr, .nesterov = nesterov, .rate_in_velocity = true},
                     loss);
        },
        [=] {
          return [nesterov, v = Doubles(kSize, 0)](Doubles& w, const Doubles& g, double lr, int) mutable {
            for (size_t i = 0; i < kSize; ++i) {
              if (nesterov) w[i] += 0.9 * 0.9 * v[i] - (1 + 0.9) * lr * g[i];
              v[i] = 0.9 * v[i] - lr * g[i];
              if (!nesterov) w[i] += v[i];
            }
          };
        }};
  };
  return {rule(false), rule(true)};
}

// LARS: Momentum after the hook, both decaying.
std::vector<RuleCase> LarsRules() {
  return {{"Lars",
           [](const Tensor& loss, const Tensor& lr) {
             MinimizeAs(optim::Momentum{.learning_rate = lr, .rate_in_velocity = true}, loss,
                        {.hooks = {optim::Lars({.trust = 0.1, .decay = 0.2})}});
           },
           [] {
             return [v = Doubles(kSize, 0)](Doubles& w, const Doubles& g, double lr, int) mutable {
               const double factor = 0.1 * NormOf(w) / (NormOf(g) + 0.2 * NormOf(w));
               for (size_t i = 0; i < kSize; ++i) {
                 v[i] = 0.9 * v[i] + lr * factor * (g[i] + 0.2 * w[i]);
                 w[i] -= v[i];
               }
             };
           },
           0, 3e-5, /*of_rows=*/false}};
}

std::vector<RuleCase> Rules() {
  std::vector<RuleCase> rules;
  for (const auto& some : {ScaledRules(), RmsRules(), MomentRules(), RectifiedRules(), NormRules(),
                           BoundRules(), VelocityRules(), LarsRules()}) {
    rules.insert(rules.end(), some.begin(), some.end());
  }
  return rules;
}

using AdaptiveRulesTest = DeviceTest;

TEST_F(AdaptiveRulesTest, FollowTheirFormulas) {
  for (const RuleCase& rule : Rules()) ExpectRule(rule, {.device = TestDevice()});
}

TEST_F(AdaptiveRulesTest, OfRowsThatAreReadFollowTheirFormulas) {
  for (const RuleCase& rule : Rules()) ExpectRuleOfRows(rule, {.device = TestDevice()});
}

TEST(AdaptiveRulesOnTwoDevicesTest, FollowTheirFormulas) {
  for (const RuleCase& rule : Rules()) ExpectRuleOnTwoDevices(rule);
}

TEST_F(AdaptiveRulesTest, GroupsAndPartsOfABatchWork) {
  Graph graph("g");
  nn::Linear layer(2);
  graph.Function("accumulate", Mode::kTrain, [&](Builder& b) {
    const Tensor loss = Mean(Square(layer(b.Input("x", F32, {4, 3}))));
    b.Output("loss", loss);
    optim::Lamb{}.Accumulate(loss);
  });
  graph.Function("update", Mode::kTrain, [&](Builder& b) {
    const auto no_decay = [](optim::Lamb& o) { o.weight_decay = 0; };
    optim::Lamb{.learning_rate = 0.1}.ApplyAccumulated(
        b,
        {.groups = {{.of = RankBelow(2), .rate_scale = 0, .with = no_decay}}, .hooks = {optim::ClipNorm(1)}});
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = *HostTensor::FromVector<float>({4, 3}, {1, 2, 3, -1, 0, 2, 0.5, 1, -2, 3, 1, 0});
  const float first = Floats(session, "accumulate", {{"x", x}}, "loss")[0];
  ASSERT_TRUE(session.Run("accumulate", {{"x", x}}).ok());
  ASSERT_TRUE(session.Run("update", {}).ok());
  EXPECT_LT(Floats(session, "accumulate", {{"x", x}}, "loss")[0], first);
  EXPECT_THAT(VariableFloats(session, "bias"), ::testing::Each(0));
}

class AdaptiveRuleErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(AdaptiveRuleErrorTest, Says) { ExpectSays(GetParam(), "adaptive_rules_test.cc:"); }

// A loss of a variable, to minimize.
Tensor Loss(Builder& b) { return Sum(Square(nn::Linear(2)(X(b)))); }

INSTANTIATE_TEST_SUITE_P(
    Cases, AdaptiveRuleErrorTest,
    ::testing::Values(
        In("AdaDeltaRho", [](Builder& b) { optim::AdaDelta{.rho = 1}.Minimize(Loss(b)); },
           {"AdaDelta", "a rho"}),
        In("AdaDeltaEpsilon", [](Builder& b) { optim::AdaDelta{.epsilon = 0}.Minimize(Loss(b)); },
           {"an epsilon"}),
        In("AdaGradEpsilon", [](Builder& b) { optim::AdaGrad{.epsilon = -1}.Minimize(Loss(b)); },
           {"AdaGrad", "an epsilon"}),
        In("RmsPropAlpha", [](Builder& b) { optim::RmsProp{.alpha = 2}.Minimize(Loss(b)); },
           {"RmsProp", "an alpha"}),
        In("RmsPropMomentum", [](Builder& b) { optim::RmsProp{.momentum = 1}.Minimize(Loss(b)); },
           {"a momentum"}),
        In("AdamaxBeta", [](Builder& b) { optim::Adamax{.beta1 = -1}.Minimize(Loss(b)); },
           {"Adamax", "a beta1"}),
        In("NAdamBeta", [](Builder& b) { optim::NAdam{.beta2 = 1}.Minimize(Loss(b)); }, {"NAdam", "a beta2"}),
        In("RAdamBeta", [](Builder& b) { optim::RAdam{.beta2 = 0.5}.Minimize(Loss(b)); },
           {"RAdam", "a beta2"}),
        In("AdaBoundGamma", [](Builder& b) { optim::AdaBound{.gamma = 0}.Minimize(Loss(b)); },
           {"optim::AdaBound: Minimize(f32[]) needs a gamma above 0, got 0"}),
        In("AdaBoundRate", [](Builder& b) { optim::AdaBound{.final_rate = -1}.Minimize(Loss(b)); },
           {"a final_rate of at least 0"}),
        In("LionBeta", [](Builder& b) { optim::Lion{.beta2 = 1}.Minimize(Loss(b)); }, {"Lion", "a beta2"}),
        In("LambRate", [](Builder& b) { optim::Lamb{.learning_rate = -1}.Minimize(Loss(b)); },
           {"Lamb", "a learning rate"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
