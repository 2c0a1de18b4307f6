// Running products and extremes against loops, forwards and backwards, and their gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

using RunningTest = DeviceTest;
using Combine = std::function<double(double, double)>;
using RunningOp = std::function<Tensor(const Tensor&, int64_t dim, bool reverse)>;

struct RunningKind {
  RunningOp op;
  Combine combine;
};
const RunningKind kKinds[] = {
    {[](const Tensor& x, int64_t dim, bool reverse) { return CumProd(x, dim, reverse); },
     std::multiplies<>()},
    {[](const Tensor& x, int64_t dim, bool reverse) { return CumMax(x, dim, reverse); },
     [](double a, double b) { return std::max(a, b); }},
    {[](const Tensor& x, int64_t dim, bool reverse) { return CumMin(x, dim, reverse); },
     [](double a, double b) { return std::min(a, b); }},
};

constexpr int64_t kOuter = 3, kInner = 2;

// Returns what a loop makes of x [kOuter, n, kInner] along dimension 1.
std::vector<float> Looped(const std::vector<float>& x, int64_t n, bool reverse, const Combine& combine) {
  std::vector<float> y(x);
  for (int64_t row = 0; row < kOuter * kInner; ++row) {
    double so_far = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = (row / kInner * n + (reverse ? n - 1 - i : i)) * kInner + row % kInner;
      so_far = i == 0 ? x[at] : combine(so_far, x[at]);
      y[at] = static_cast<float>(so_far);
    }
  }
  return y;
}

std::vector<float> RunningInputs(int64_t n) {
  std::vector<float> x;
  for (int64_t i = 0; i < kOuter * n * kInner; ++i)
    x.push_back(0.75f + 0.125f * static_cast<float>((i * 7 + i / 5) % 5));
  return x;
}

TEST_F(RunningTest, EqualLoops) {
  for (const RunningKind& kind : kKinds) {
    for (const int64_t n : {1, 2, 3, 8, 21}) {
      for (const bool reverse : {false, true}) {
        Graph graph("g");
        graph.Function("f", Mode::kEval, [&](Builder& b) {
          b.Output("y", kind.op(b.Input("x", F32, {kOuter, n, kInner}), -2, reverse));
        });
        Session session = MustStart(graph, {.device = TestDevice()});
        const std::vector<float> x = RunningInputs(n), want = Looped(x, n, reverse, kind.combine);
        const HostTensor input = *HostTensor::FromVector<float>({kOuter, n, kInner}, x);
        const std::vector<float> got = Floats(session, "f", {{"x", input}}, "y");
        ASSERT_EQ(got.size(), want.size());
        for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-6 * std::abs(want[i])) << n;
      }
    }
  }
}

TEST_F(RunningTest, WholeNumbers) {
  Graph graph("g");
  graph.Function("f", Mode::kEval, [](Builder& b) {
    const Tensor x = b.Iota(I32, {5}) * 3 - 4;  // -4, -1, 2, 5, 8.
    b.Output("y", Cast(Stack({CumProd(x, 0), CumMax(-x, 0), CumMin(x, 0, true)}), F32));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  EXPECT_EQ(Floats(session, "f", {}, "y"),
            (std::vector<float>{-4, 4, 8, 40, 320, 4, 4, 4, 4, 4, -4, -1, 2, 5, 8}));
}

// Each gradient against differences; one element is zero, by which a gradient of quotients would divide.
TEST_F(RunningTest, Gradients) {
  constexpr int64_t kElements = 6;
  std::vector<float> x = {0.5f, -1.25f, 0, 1.5f, 0.75f, -2};
  for (const RunningKind& kind : kKinds) {
    Graph graph("g");
    graph.Function("f", Mode::kEval, [&](Builder& b) {
      const Tensor in = b.Input("x", F32, {kElements});
      const Tensor loss = Sum(kind.op(in, 0, false) * (Cast(b.Iota(I32, {kElements}), F32) + 1.0));
      b.Output("loss", loss);
      b.Output("dx", sinter::Gradients(loss, {in})[0]);
    });
    Session session = MustStart(graph, {.device = TestDevice()});
    const HostTensor input = *HostTensor::FromVector<float>({kElements}, x);
    const std::vector<float> gradient = Floats(session, "f", {{"x", input}}, "dx");
    std::vector<float> differences;
    for (size_t i = 0; i < x.size(); ++i) {
      const auto loss = [&](float step) {
        std::vector<float> moved = x;
        moved[i] += step;
        const HostTensor at = *HostTensor::FromVector<float>({kElements}, moved);
        return Floats(session, "f", {{"x", at}}, "loss")[0];
      };
      differences.push_back((loss(1.0f / 64) - loss(-1.0f / 64)) * 32);
    }
    EXPECT_THAT(gradient, Pointwise(FloatNear(2e-4f), differences));
  }
}

class RunningErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(RunningErrorTest, Says) { ExpectSays(GetParam(), "running_test.cc:"); }

INSTANTIATE_TEST_SUITE_P(Cases, RunningErrorTest,
                         ::testing::Values(In("Dim", [](Builder& b) { CumMax(X(b), 2); },
                                              {"CumMax(f32[2,3])", "no dimension 2"}),
                                           In("Bools", [](Builder& b) { CumProd(X(b, {2}, I1), 0); },
                                              {"CumProd(i1[2])", "takes numbers, not i1"})),
                         ErrorCaseName);

}  // namespace
}  // namespace sinter
