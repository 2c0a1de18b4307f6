// Compares rules of optimisers with references in double over 100 steps, on one device and on two.
//
//   for (const RuleCase& rule : rules) ExpectRule(rule, {.device = TestDevice()});
#ifndef SINTER_TESTS_FRONTEND_OPTIM_RULE_CASE_H_
#define SINTER_TESTS_FRONTEND_OPTIM_RULE_CASE_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {

inline constexpr int kRuleSteps = 100;
inline constexpr size_t kSize = 5;
using Doubles = std::vector<double>;

// The loss is sum(scale * (w - target)^2).
inline const std::vector<float> kRuleTarget = {1, -2, 0.5, 3, -0.25};
inline const std::vector<float> kRuleScale = {1, 0.1f, 3, 0.5, 2};

struct RuleCase {
  std::string name;
  std::function<void(const Tensor& loss, const Tensor& lr)> minimize;
  // Returns a reference with its own state: it changes w from gradients g in a step that counts from 1.
  std::function<std::function<void(Doubles& w, Doubles g, double lr, int step)>()> reference;
  double decay = 0;    // Added to the gradient.
  double near = 3e-5;  // The relative error that rounding makes.
};

inline double Squared(double x) { return x * x; }
inline double NormOf(const Doubles& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}

// The corrected moments of Adam.
struct MomentsReference {
  double beta1, beta2;
  Doubles m = Doubles(kSize, 0), v = Doubles(kSize, 0);
  void Take(const Doubles& g) {
    for (size_t i = 0; i < kSize; ++i) {
      m[i] = beta1 * m[i] + (1 - beta1) * g[i];
      v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
    }
  }
  double first(size_t i, int step) const { return m[i] / (1 - std::pow(beta1, step)); }
  double second(size_t i, int step) const { return v[i] / (1 - std::pow(beta2, step)); }
};

// Trains by the rule. The two rows of the batch are targets whose mean is kRuleTarget, so that neither has
// the gradient of both.
inline void ExpectRule(const RuleCase& rule, const CompileOptions& options) {
  SCOPED_TRACE(rule.name);
  Graph graph("g");
  const Variable w = graph.Variable("w", F32, {kSize}, {.init = {.a = 0.75}});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Tensor scale = b.Constant(*HostTensor::FromVector<float>({kSize}, kRuleScale));
    const Tensor off = b.Read(w) - b.Input("target", F32, {2, kSize});
    rule.minimize(Mean(scale * Square(off)) * kSize, b.Scalar("lr"));
  });
  std::vector<float> rows;
  for (const float way : {-0.25f, 0.25f}) {
    for (const float target : kRuleTarget) rows.push_back(target + way);
  }
  const HostTensor target = *HostTensor::FromVector<float>({2, kSize}, rows);
  Session session = MustStart(graph, options);
  Doubles expected(kSize, 0.75);
  const auto reference = rule.reference();
  for (int step = 1; step <= kRuleSteps; ++step) {
    const double lr = 0.05 / (1 + 0.01 * step);
    ASSERT_TRUE(session.Run("train", {{"lr", static_cast<float>(lr)}, {"target", target}}).ok());
    Doubles g(kSize);
    for (size_t i = 0; i < kSize; ++i) {
      g[i] = 2 * kRuleScale[i] * (expected[i] - kRuleTarget[i]) + rule.decay * expected[i];
    }
    reference(expected, g, static_cast<float>(lr), step);
  }
  const std::vector<float> actual = VariableFloats(session, "w");
  for (size_t i = 0; i < kSize; ++i) {
    // The sign of a mean near 0 differs in double: such steps of Lion go the other way.
    const double near = rule.name == "Lion" ? 0.06 : rule.near * std::max(1.0, std::fabs(expected[i]));
    EXPECT_NEAR(actual[i], expected[i], near) << i;
  }
}

// As ExpectRule, on two CPU devices with a row of the batch each.
inline void ExpectRuleOnTwoDevices(const RuleCase& rule) {
  setenv("SINTER_CPU_DEVICES", "2", /*overwrite=*/1);
  CompileOptions options;
  options.mesh.axes = {{"data", 2}};
  options.parallel = {parallel::Data{}};
  ExpectRule(rule, options);
  unsetenv("SINTER_CPU_DEVICES");
}

}  // namespace sinter

#endif  // SINTER_TESTS_FRONTEND_OPTIM_RULE_CASE_H_
