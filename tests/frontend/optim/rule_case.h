// Compares rules of optimisers with references in double over 100 steps, on one device and on two, of a whole
// parameter and of the rows that are read.
//
//   for (const RuleCase& rule : rules) ExpectRule(rule, {.device = TestDevice()});
//   for (const RuleCase& rule : rules) ExpectRuleOfRows(rule, {.device = TestDevice()});
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
  double decay = 0;     // Added to the gradient.
  double near = 3e-5;   // The relative error that rounding makes.
  bool of_rows = true;  // False: its step of a row depends on all rows.
};

// True while MinimizeAs updates the touched rows only.
inline bool rule_touches_rows = false;

// Minimizes the loss by a rule, in the way of the running test.
template <typename R>
void MinimizeAs(const R& rule, const Tensor& loss, optim::UpdateOptions<R> options = {}) {
  if (rule_touches_rows) options.groups.push_back({.of = Glob("w"), .touched_rows_only = true});
  rule.Minimize(loss, options);
}

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

inline void ExpectNearRule(const RuleCase& rule, const float* actual, const Doubles& expected) {
  for (size_t i = 0; i < kSize; ++i) {
    // The sign of a mean near 0 differs in double: such steps of Lion go the other way.
    const double near = rule.name == "Lion" ? 0.06 : rule.near * std::max(1.0, std::fabs(expected[i]));
    EXPECT_NEAR(actual[i], expected[i], near) << i;
  }
}

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
  ExpectNearRule(rule, VariableFloats(session, "w").data(), expected);
}

inline constexpr int64_t kRuleRows = 4, kRuleReads = 4;

// Trains rows of a table. Row 0 is read by each step and twice, the last row never. Each row follows a
// reference of its own, which only steps that read the row change.
inline void ExpectRuleOfRows(const RuleCase& rule, const CompileOptions& options) {
  if (!rule.of_rows) return;
  SCOPED_TRACE(rule.name + " of rows");
  Graph graph("g");
  const Variable w = graph.Variable("w", F32, {kRuleRows, kSize}, {.init = {.a = 0.75}});
  rule_touches_rows = true;
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Tensor scale = b.Constant(*HostTensor::FromVector<float>({kSize}, kRuleScale));
    const Tensor rows = Gather(b.Read(w), b.Input("ids", I32, {kRuleReads}), 0);
    rule.minimize(Mean(scale * Square(rows - b.Input("target", F32, {kRuleReads, kSize}))) * kSize,
                  b.Scalar("lr"));
  });
  rule_touches_rows = false;
  Session session = MustStart(graph, options);
  std::vector<Doubles> expected(kRuleRows, Doubles(kSize, 0.75));
  std::vector<std::function<void(Doubles&, Doubles, double, int)>> references;
  for (int64_t row = 0; row < kRuleRows; ++row) references.push_back(rule.reference());
  for (int step = 1; step <= kRuleSteps; ++step) {
    const auto lr = static_cast<float>(0.05 / (1 + 0.01 * step));
    const std::vector<int32_t> ids = {0, step % 3, step / 2 % 3, 0};
    std::vector<float> target;
    for (int64_t read = 0; read < kRuleReads; ++read) {
      for (const float t : kRuleTarget) target.push_back(t + 0.25f * static_cast<float>(read));
    }
    ASSERT_TRUE(session
                    .Run("train", {{"lr", lr},
                                   {"ids", *HostTensor::FromVector<int32_t>({kRuleReads}, ids)},
                                   {"target", *HostTensor::FromVector<float>({kRuleReads, kSize}, target)}})
                    .ok());
    for (int32_t row = 0; row < kRuleRows; ++row) {
      if (std::ranges::find(ids, row) == ids.end()) continue;
      Doubles& now = expected[row];
      Doubles g(kSize);
      for (size_t i = 0; i < kSize; ++i) {
        for (size_t read = 0; read < ids.size(); ++read) {
          if (ids[read] == row) g[i] += 2 * kRuleScale[i] * (now[i] - target[read * kSize + i]) / kRuleReads;
        }
        g[i] += rule.decay * now[i];
      }
      references[row](now, g, lr, step);
    }
  }
  const std::vector<float> actual = VariableFloats(session, "w");
  for (int64_t row = 0; row < kRuleRows; ++row) {
    SCOPED_TRACE(row);
    ExpectNearRule(rule, actual.data() + row * kSize, expected[row]);
  }
}

// As the two above, on two CPU devices with a half of the batch each.
inline void ExpectRuleOnTwoDevices(const RuleCase& rule) {
  setenv("SINTER_CPU_DEVICES", "2", /*overwrite=*/1);
  CompileOptions options;
  options.mesh.axes = {{"data", 2}};
  options.parallel = {parallel::Data{}};
  ExpectRule(rule, options);
  ExpectRuleOfRows(rule, options);
  unsetenv("SINTER_CPU_DEVICES");
}

}  // namespace sinter

#endif  // SINTER_TESTS_FRONTEND_OPTIM_RULE_CASE_H_
