// Mixtures of experts against a loop over tokens in double precision.
#include "sinter/frontend/nn/mixture_of_experts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/nn/module_values.h"

namespace sinter {
namespace {

using MixtureOfExpertsTest = DeviceTest;

constexpr size_t kTokens = 10, kIn = 4, kHidden = 6, kExperts = 3;

struct Want {
  std::vector<double> y = std::vector<double>(kTokens * kIn, 0);
  double balance = 0, z = 0, dropped = 0;
};

std::vector<double> Part(const std::vector<double>& w, size_t expert, size_t size) {
  return {w.begin() + static_cast<long>(expert * size), w.begin() + static_cast<long>((expert + 1) * size)};
}

std::vector<double> ExpertOf(Values& w, size_t expert, const std::vector<double>& x, bool gated) {
  std::vector<double> hidden = Product(x, Part(w["up"], expert, kIn * kHidden), kIn, kHidden);
  if (gated) {
    const std::vector<double> gate = Product(x, Part(w["gate"], expert, kIn * kHidden), kIn, kHidden);
    for (size_t i = 0; i < kHidden; ++i) hidden[i] *= gate[i] / (1 + std::exp(-gate[i]));
  } else {
    for (double& h : hidden) h = 0.5 * h * (1 + std::erf(h / std::sqrt(2.0)));
  }
  return Product(hidden, Part(w["down"], expert, kHidden * kIn), kHidden, kIn);
}

Want MixtureOf(Values& w, const std::vector<double>& x, const nn::MoeOptions& o, size_t capacity) {
  Want want;
  const std::vector<double> logits = Product(x, w["router"], kIn, kExperts);
  std::vector<std::vector<size_t>> order(kTokens, std::vector<size_t>(kExperts));
  std::vector<std::vector<double>> p(kTokens, std::vector<double>(kExperts));
  std::vector<double> share(kExperts, 0), mean(kExperts, 0);
  for (size_t t = 0; t < kTokens; ++t) {
    double sum = 0;
    for (size_t e = 0; e < kExperts; ++e) sum += p[t][e] = std::exp(logits[t * kExperts + e]);
    want.z += std::log(sum) * std::log(sum) / kTokens;
    for (size_t e = 0; e < kExperts; ++e) mean[e] += (p[t][e] /= sum) / kTokens;
    std::iota(order[t].begin(), order[t].end(), 0);
    std::ranges::sort(order[t], [&](size_t a, size_t b) { return p[t][a] > p[t][b]; });
    share[order[t][0]] += 1.0 / kTokens;
  }
  for (size_t e = 0; e < kExperts; ++e) want.balance += kExperts * share[e] * mean[e];
  std::vector<size_t> taken(kExperts, 0);
  const auto each = static_cast<size_t>(o.experts_per_token);
  for (size_t k = 0; k < each; ++k) {
    for (size_t t = 0; t < kTokens; ++t) {
      const size_t e = order[t][k];
      if (taken[e]++ >= capacity) {
        want.dropped += 1.0 / static_cast<double>(kTokens * each);
        continue;
      }
      double all = 0;
      for (size_t i = 0; i < each; ++i) all += p[t][order[t][i]];
      const std::vector<double> row(x.begin() + static_cast<long>(t * kIn),
                                    x.begin() + static_cast<long>((t + 1) * kIn));
      const std::vector<double> out = ExpertOf(w, e, row, o.gated);
      for (size_t i = 0; i < kIn; ++i) want.y[t * kIn + i] += p[t][e] / (o.normalized ? all : 1) * out[i];
    }
  }
  return want;
}

TEST_F(MixtureOfExpertsTest, LikeALoopOverTokens) {
  const std::vector<double> x = Waves(kTokens * kIn);
  struct Case {
    nn::MoeOptions options;
    size_t capacity;
  };
  for (const Case& c : {Case{{.hidden = kHidden, .experts_per_token = 2, .capacity_factor = 10}, 10},
                        Case{{.hidden = kHidden, .experts_per_token = 2, .capacity_factor = 0.6}, 4},
                        Case{{.hidden = kHidden,
                              .experts_per_token = 1,
                              .capacity_factor = 1,
                              .gated = true,
                              .normalized = false},
                             4}}) {
    ModuleRun run([&](Builder& b) {
      const nn::MoeResult r = nn::MixtureOfExperts(kExperts, c.options)(Vector(b, x, {2, 5, 4}));
      b.Output("y", r.y);
      b.Output("balance", r.balance_loss);
      b.Output("z", r.z_loss);
      b.Output("dropped", r.dropped);
    });
    const Want want = MixtureOf(run.variables, x, c.options, c.capacity);
    ExpectNear(run.outputs["y"], want.y);
    EXPECT_NEAR(run.outputs["balance"][0], want.balance, 1e-12);
    EXPECT_NEAR(run.outputs["z"][0], want.z, 1e-12);
    EXPECT_NEAR(run.outputs["dropped"][0], want.dropped, 1e-12);
    if (c.options.capacity_factor < 1) {
      EXPECT_GT(want.dropped, 0);
    }
  }
}

TEST_F(MixtureOfExpertsTest, HasTheGradientOfDifferences) {
  ExpectGradient(Waves(12), {3, 4}, [](Builder&, const Tensor& x) {
    const nn::MoeResult r = nn::MixtureOfExperts(3, {.hidden = 5})(x);
    return Sum(Square(r.y)) + r.balance_loss + r.z_loss;
  });
}

class MoeErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(MoeErrorTest, Says) { ExpectSays(GetParam(), "mixture_of_experts_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, MoeErrorTest,
    ::testing::Values(In("Rank", [](Builder& b) { nn::MixtureOfExperts(3)(X(b, {3})); },
                         {"MixtureOfExperts(3)", "takes floats [..., width] of rank 2 or more"}),
                      In("TopK", [](Builder& b) { nn::MixtureOfExperts(3, {.experts_per_token = 4})(X(b)); },
                         {"has 3 experts, of which a token takes 4; expected 1 to all of them"}),
                      In("Hidden", [](Builder& b) { nn::MixtureOfExperts(3, {.hidden = -1})(X(b)); },
                         {"has -1 hidden elements"}),
                      In("Factor", [](Builder& b) { nn::MixtureOfExperts(3, {.capacity_factor = 0})(X(b)); },
                         {"a capacity_factor"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
