// Compares the rules that PyTorch has too with the formulas of torch.optim, in double over 100 steps.
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

using StepOfRule = std::function<void(Doubles&, Doubles, double, int)>;

// Returns the reference of torch.optim.SGD. Rows that are read later have a step above 1 when they are read
// first, and start from a velocity of 0.
StepOfRule TorchSgd(double momentum, double dampening, bool nesterov, double decay) {
  return [=, v = Doubles(kSize, 0)](Doubles& w, const Doubles& g, double lr, int step) mutable {
    for (size_t i = 0; i < kSize; ++i) {
      const double d = g[i] + decay * w[i];
      v[i] = step == 1 ? d : momentum * v[i] + (1 - dampening) * d;
      w[i] -= lr * (momentum == 0 ? d : nesterov ? d + momentum * v[i] : v[i]);
    }
  };
}

RuleCase SgdCase(const std::string& name, double momentum, double dampening, bool nesterov, double decay) {
  return {name,
          [=](const Tensor& loss, const Tensor& lr) {
            const std::vector<optim::Hook> hooks = {optim::Decay(decay)};
            if (momentum == 0) return MinimizeAs(optim::Sgd{.learning_rate = lr}, loss, {.hooks = hooks});
            MinimizeAs(
                optim::Momentum{
                    .learning_rate = lr, .momentum = momentum, .nesterov = nesterov, .dampening = dampening},
                loss, {.hooks = hooks});
          },
          [=] { return TorchSgd(momentum, dampening, nesterov, decay); }};
}

// Returns the reference of torch.optim.Adam and AdamW.
StepOfRule TorchAdam(bool amsgrad, double decay, bool is_decoupled) {
  return [=, m = Doubles(kSize, 0), v = Doubles(kSize, 0), largest = Doubles(kSize, 0)](
             Doubles& w, const Doubles& g, double lr, int step) mutable {
    for (size_t i = 0; i < kSize; ++i) {
      const double d = is_decoupled ? g[i] : g[i] + decay * w[i];
      if (is_decoupled) w[i] *= 1 - lr * decay;
      m[i] += (d - m[i]) * 0.1;
      v[i] = 0.95 * v[i] + 0.05 * d * d;
      largest[i] = std::max(largest[i], v[i]);
      const double correction = std::sqrt(1 - std::pow(0.95, step));
      const double root = std::sqrt(amsgrad ? largest[i] : v[i]) / correction + 1e-8;
      w[i] -= lr / (1 - std::pow(0.9, step)) * m[i] / root;
    }
  };
}

RuleCase AdamCase(const std::string& name, bool amsgrad, double decay, bool is_decoupled) {
  return {name,
          [=](const Tensor& loss, const Tensor& lr) {
            if (is_decoupled) {
              MinimizeAs(
                  optim::AdamW{.learning_rate = lr, .beta2 = 0.95, .amsgrad = amsgrad, .weight_decay = decay},
                  loss);
            } else {
              MinimizeAs(optim::Adam{.learning_rate = lr, .beta2 = 0.95, .amsgrad = amsgrad}, loss,
                         {.hooks = {optim::Decay(decay)}});
            }
          },
          [=] { return TorchAdam(amsgrad, decay, is_decoupled); }};
}

RuleCase AdagradCase() {
  return {"TorchAdagrad",
          [](const Tensor& loss, const Tensor& lr) {
            MinimizeAs(optim::AdaGrad{.learning_rate = lr, .rate_decay = 0.02, .initial_sum = 0.3}, loss);
          },
          [] {
            return [sum = Doubles(kSize, 0.3)](Doubles& w, const Doubles& g, double lr, int step) mutable {
              const double rate = lr / (1 + (step - 1) * 0.02);
              for (size_t i = 0; i < kSize; ++i) {
                sum[i] += g[i] * g[i];
                w[i] -= rate * g[i] / (std::sqrt(sum[i]) + 1e-10);
              }
            };
          }};
}

// The reference computes the product of the momenta from the number of the step, which all rows share.
RuleCase NAdamCase(double decay) {
  return {"TorchNAdam",
          [=](const Tensor& loss, const Tensor& lr) {
            MinimizeAs(optim::NAdam{.learning_rate = lr, .beta2 = 0.99, .momentum_decay = decay}, loss);
          },
          [=] {
            return [decay, moments = MomentsReference{0.9, 0.99}](Doubles& w, const Doubles& g, double lr,
                                                                  int step) mutable {
              moments.Take(g);
              const auto mu = [&](int t) { return 0.9 * (1 - 0.5 * std::pow(0.96, t * decay)); };
              double product = 1;
              for (int t = 1; t <= step; ++t) product *= mu(t);
              for (size_t i = 0; i < kSize; ++i) {
                const double root = std::sqrt(moments.second(i, step)) + 1e-8;
                w[i] -= lr * (1 - mu(step)) / (1 - product) * g[i] / root;
                w[i] -= lr * mu(step + 1) / (1 - product * mu(step + 1)) * moments.m[i] / root;
              }
            };
          }};
}

// torch.optim.RAdam rectifies above a length of 5, with the epsilon beside the root before its correction: so
// epsilon * sqrt(1 - beta2^t) is what PyTorch adds to sqrt(v / (1 - beta2^t)) here.
RuleCase RAdamCase() {
  return {"TorchRAdam",
          [](const Tensor& loss, const Tensor& lr) {
            MinimizeAs(optim::RAdam{.learning_rate = lr, .beta2 = 0.99}, loss);
          },
          [] {
            return [moments = MomentsReference{0.9, 0.99}](Doubles& w, const Doubles& g, double lr,
                                                           int step) mutable {
              moments.Take(g);
              const double most = 2 / (1 - 0.99) - 1, power = std::pow(0.99, step);
              const double length = most - 2 * step * power / (1 - power);
              for (size_t i = 0; i < kSize; ++i) {
                double adaptive = 1;
                if (length > 5) {
                  adaptive =
                      std::sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) *
                      std::sqrt(1 - power) / (std::sqrt(moments.v[i]) + 1e-8);
                }
                w[i] -= lr * moments.first(i, step) * adaptive;
              }
            };
          }};
}

RuleCase RpropCase() {
  return {"TorchRprop",
          [](const Tensor& loss, const Tensor& lr) {
            // The rate matters in the first step of an element alone: a number, because rows start late.
            MinimizeAs(optim::Rprop{.learning_rate = lr * 0 + 0.04, .least = 0.001, .most = 0.3}, loss);
          },
          [] {
            return [size = Doubles(kSize, 0.04f), last = Doubles(kSize, 0)](Doubles& w, Doubles g, double,
                                                                            int) mutable {
              for (size_t i = 0; i < kSize; ++i) {
                const double way = g[i] * last[i];
                const double factor = way > 0 ? 1.2 : way < 0 ? 0.5 : 1;
                size[i] = std::clamp(size[i] * factor, 0.001, 0.3);
                if (way < 0) g[i] = 0;
                w[i] -= (g[i] > 0 ? 1 : g[i] < 0 ? -1 : 0) * size[i];
                last[i] = g[i];
              }
            };
          },
          0, 2e-3};
}

RuleCase AsgdCase() {
  return {"TorchAsgd",
          [](const Tensor& loss, const Tensor& lr) {
            MinimizeAs(optim::Asgd{.learning_rate = lr * 0 + 0.05, .lambda = 0.1}, loss);
          },
          [] {
            return [](Doubles& w, const Doubles& g, double, int step) {
              const double lr = 0.05f;
              const double eta = lr / std::pow(1 + 0.1 * lr * (step - 1), 0.75);
              for (size_t i = 0; i < kSize; ++i) w[i] = w[i] * (1 - 0.1 * eta) - eta * g[i];
            };
          }};
}

std::vector<RuleCase> TorchRules() {
  return {SgdCase("TorchSgd", 0, 0, false, 0.01),
          SgdCase("TorchMomentum", 0.8, 0, false, 0.01),
          SgdCase("TorchNesterov", 0.8, 0, true, 0.01),
          SgdCase("TorchDampening", 0.8, 0.3, false, 0.01),
          AdamCase("TorchAdam", false, 0.2, false),
          AdamCase("TorchAdamAmsgrad", true, 0.2, false),
          AdamCase("TorchAdamW", false, 0.2, true),
          AdamCase("TorchAdamWAmsgrad", true, 0.2, true),
          AdagradCase(),
          NAdamCase(0.004),
          NAdamCase(0.5),
          RAdamCase(),
          RpropCase(),
          AsgdCase()};
}

using TorchRulesTest = DeviceTest;

TEST_F(TorchRulesTest, FollowTheirFormulas) {
  for (const RuleCase& rule : TorchRules()) ExpectRule(rule, {.device = TestDevice()});
}

TEST_F(TorchRulesTest, OfRowsThatAreReadFollowTheirFormulas) {
  for (const RuleCase& rule : TorchRules()) ExpectRuleOfRows(rule, {.device = TestDevice()});
}

TEST(TorchRulesOnTwoDevicesTest, FollowTheirFormulas) {
  for (const RuleCase& rule : TorchRules()) ExpectRuleOnTwoDevices(rule);
}

// torch.optim.ASGD keeps "ax", the mean of the parameters from step t0 + 2 on, and the last value before it.
TEST_F(TorchRulesTest, AsgdHasPyTorchsAverage) {
  constexpr int64_t kT0 = 5;
  Graph graph("g");
  const Variable w = graph.Variable("w", F32, {}, {.init = {.a = 2}});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    optim::Asgd{.learning_rate = 0.1, .lambda = 0.2}.Minimize(Square(b.Read(w) - b.Scalar("x")),
                                                              {.average = optim::Swa{.start = kT0 + 1}});
  });
  graph.Function("average", Mode::kEval, [&](Builder& b) {
    const optim::UseAverages averages(b);
    b.Output("w", b.Read(w));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  double now = 2, eta = 0.1, mu = 1, ax = 0;
  for (int step = 1; step <= 20; ++step) {
    const float x = step % 2 ? 1 : -1;
    ASSERT_TRUE(session.Run("train", {{"x", x}}).ok());
    const double g = 2 * (now - x);
    now *= 1 - 0.2 * eta;
    now -= eta * g;
    ax = mu == 1 ? now : ax + (now - ax) * mu;
    eta = 0.1 / std::pow(1 + 0.2 * 0.1 * step, 0.75);
    mu = 1 / std::max(1.0, static_cast<double>(step - kT0));
    EXPECT_NEAR(Floats(session, "average", {}, "w")[0], ax, 1e-5) << step;
  }
}

class TorchRulesErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(TorchRulesErrorTest, Says) { ExpectSays(GetParam(), "torch_rules_test.cc:"); }

template <typename R>
ErrorCase TorchRuleWith(const std::string& name, const R& rule, const std::vector<std::string>& says) {
  return In(name, [=](Builder& b) { rule.Minimize(Sum(Square(nn::Linear(2)(X(b))))); }, says);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, TorchRulesErrorTest,
    ::testing::Values(
        TorchRuleWith("Dampening", optim::Momentum{.dampening = 2}, {"a dampening", "got 2"}),
        TorchRuleWith("NesterovAndDampening", optim::Momentum{.nesterov = true, .dampening = 0.5},
                      {"optim::Nesterov: Minimize(f32[]) has nesterov, which looks ahead along the whole "
                       "gradient, and a dampening; leave out one"}),
        TorchRuleWith("NAdamDecay", optim::NAdam{.momentum_decay = -1},
                      {"a momentum_decay of at least 0, got -1"}),
        TorchRuleWith("AdaGradDecay", optim::AdaGrad{.rate_decay = -1}, {"a rate_decay of at least 0"}),
        TorchRuleWith("AdaGradSum", optim::AdaGrad{.initial_sum = -1}, {"an initial_sum of at least 0"}),
        TorchRuleWith("RpropRate", optim::Rprop{.learning_rate = 0}, {"a learning rate above 0, got 0"}),
        TorchRuleWith("RpropShrink", optim::Rprop{.shrink = 1}, {"a shrink", "got 1"}),
        TorchRuleWith("RpropGrow", optim::Rprop{.grow = 1}, {"a grow above 1, got 1"}),
        TorchRuleWith("RpropLeast", optim::Rprop{.least = 0}, {"a least size above 0, got 0"}),
        TorchRuleWith("RpropMost", optim::Rprop{.most = 0}, {"a most size above 0, got 0"}),
        TorchRuleWith("AsgdLambda", optim::Asgd{.lambda = -1}, {"a lambda of at least 0, got -1"}),
        TorchRuleWith("AsgdAlpha", optim::Asgd{.alpha = -1}, {"an alpha of at least 0, got -1"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
