// The limited-memory BFGS method against a scalar reference, to the minimum of functions, and its errors.
#include "sinter/frontend/optim/lbfgs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::FloatNear;
using ::testing::Pointwise;

using LbfgsTest = DeviceTest;
using Doubles64 = std::vector<double>;

double DotOf(const Doubles64& x, const Doubles64& y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

double LargestOf(const Doubles64& x) {
  double most = 0;
  for (const double value : x) most = std::max(most, std::fabs(value));
  return most;
}

// One call after another of torch.optim.LBFGS(line_search_fn=None), written down from its documentation and
// the paper, with lists that grow.
class LbfgsReference {
 public:
  using Function = std::function<double(const Doubles64& x, Doubles64& gradient)>;
  LbfgsReference(const optim::Lbfgs& rule, double rate, Doubles64 x, Function function)
      : rule_(rule), rate_(rate), x_(std::move(x)), function_(std::move(function)) {}

  // Returns the loss at the beginning of the call.
  double Call() {
    Doubles64 g(x_.size());
    double loss = function_(x_, g);
    const double first = loss;
    if (LargestOf(g) <= rule_.tolerance_grad) return first;
    for (int64_t k = 1; k <= rule_.iterations; ++k) {
      Turn(g);
      const double last = loss;
      last_g_ = g;
      t_ = rate_;
      if (count_ == 1) {
        double sum = 0;
        for (const double value : g) sum += std::fabs(value);
        t_ *= std::min(1.0, 1 / sum);
      }
      if (DotOf(g, d_) > -rule_.tolerance_change || k > rule_.iterations) break;
      for (size_t i = 0; i < x_.size(); ++i) x_[i] += t_ * d_[i];
      if (k == rule_.iterations) break;
      loss = function_(x_, g);
      if (LargestOf(g) <= rule_.tolerance_grad || LargestOf(d_) * t_ <= rule_.tolerance_change ||
          std::fabs(loss - last) < rule_.tolerance_change) {
        break;
      }
    }
    return first;
  }
  const Doubles64& x() const { return x_; }
  int64_t count() const { return count_; }

 private:
  struct Pair {
    Doubles64 s, y;
    double rho;
  };
  // The next direction.
  void Turn(const Doubles64& g) {
    ++count_;
    const size_t n = g.size();
    if (count_ > 1) {
      Pair pair{d_, g, 0};
      for (size_t i = 0; i < n; ++i) pair.s[i] *= t_, pair.y[i] -= last_g_[i];
      const double ys = DotOf(pair.y, pair.s);
      if (ys > 1e-10) {
        if (static_cast<int64_t>(pairs_.size()) == rule_.history) pairs_.erase(pairs_.begin());
        pair.rho = 1 / ys;
        pairs_.push_back(pair);
        scale_ = ys / DotOf(pair.y, pair.y);
      }
    }
    d_ = g;
    for (double& value : d_) value = -value;
    Doubles64 alpha(pairs_.size());
    for (size_t i = pairs_.size(); i-- > 0;) {
      alpha[i] = DotOf(pairs_[i].s, d_) * pairs_[i].rho;
      for (size_t e = 0; e < n; ++e) d_[e] -= alpha[i] * pairs_[i].y[e];
    }
    for (double& value : d_) value *= scale_;
    for (size_t i = 0; i < pairs_.size(); ++i) {
      const double beta = DotOf(pairs_[i].y, d_) * pairs_[i].rho;
      for (size_t e = 0; e < n; ++e) d_[e] += (alpha[i] - beta) * pairs_[i].s[e];
    }
  }

  optim::Lbfgs rule_;
  double rate_;
  Doubles64 x_;
  Function function_;
  std::vector<Pair> pairs_;
  Doubles64 d_, last_g_;
  double t_ = 0, scale_ = 1;
  int64_t count_ = 0;
};

// sum of (a - x_i)^2 + b (x_{i+1} - x_i^2)^2, whose minimum is at (1, ..., 1) for a = 1.
double RosenbrockAt(const Doubles64& x, Doubles64& g, double b) {
  double sum = 0;
  std::fill(g.begin(), g.end(), 0);
  for (size_t i = 0; i + 1 < x.size(); ++i) {
    const double p = 1 - x[i], q = x[i + 1] - x[i] * x[i];
    sum += p * p + b * q * q;
    g[i] += -2 * p - 4 * b * q * x[i];
    g[i + 1] += 2 * b * q;
  }
  return sum;
}

Tensor Rosenbrock(const Tensor& x, double b) {
  const int64_t n = x.dim(0);
  const Tensor head = SliceDim(x, 0, 0, n - 1), tail = SliceDim(x, 0, 1, n);
  return Sum(Square(1.0 - head)) + Sum(Square(tail - Square(head))) * b;
}

// A graph whose function "step" calls the optimiser for a Rosenbrock function of `x` and of one more
// parameter, the last element.
Graph RosenbrockGraph(const optim::Lbfgs& rule, int64_t n, double b) {
  Graph graph("g");
  graph.Function("step", Mode::kTrain, [&](Builder& build) {
    const Variable x = build.MakeVariable("x", F64, {n - 1}), last = build.MakeVariable("last", F64, {1, 1});
    const auto fit = rule.Minimize(
        [&] { return Rosenbrock(Concat({build.Read(x), Reshape(build.Read(last), {1})}, 0), b); });
    build.Output("loss", fit.loss);
    build.Output("losses", fit.losses);
  });
  return graph;
}

Doubles64 Read64(Session& session, const std::string& name) {
  const auto value = session.ReadVariable(name);
  SINTER_CHECK(value.ok()) << value.status();
  const auto span = value->Span<double>();
  return Doubles64(span->begin(), span->end());
}

struct Setting {
  optim::Lbfgs rule;
  double rate;
  int calls;
};

TEST_F(LbfgsTest, FollowsTheReference) {
  const Setting settings[] = {
      {{.learning_rate = 1, .iterations = 5, .history = 4}, 1, 20},
      {{.learning_rate = 0.5, .iterations = 1, .history = 1}, 0.5, 100},
      {{.learning_rate = 0.3, .iterations = 4, .history = 100, .tolerance_change = 1e-3}, 0.3, 25},
      {{.learning_rate = 1, .iterations = 10, .history = 3, .tolerance_grad = 1e-2}, 1, 10}};
  for (const Setting& setting : settings) {
    SCOPED_TRACE(setting.rule.history);
    constexpr int64_t kCount = 6;
    const Graph graph = RosenbrockGraph(setting.rule, kCount, 1);
    Session session = MustStart(graph, {.device = TestDevice()});
    LbfgsReference reference(setting.rule, setting.rate, Doubles64(kCount, 0),
                             [](const Doubles64& x, Doubles64& g) { return RosenbrockAt(x, g, 1); });
    for (int call = 0; call < setting.calls; ++call) {
      const auto outputs = session.Run("step", {});
      ASSERT_TRUE(outputs.ok()) << outputs.status();
      EXPECT_NEAR((*outputs)["loss"].Span<double>()->front(), reference.Call(), 1e-9) << call;
      Doubles64 x = Read64(session, "x");
      x.push_back(Read64(session, "last")[0]);
      for (size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], reference.x()[i], 1e-7) << call;
    }
    const auto steps = session.ReadVariable("lbfgs/step");
    ASSERT_TRUE(steps.ok());
    EXPECT_EQ(steps->Span<int64_t>()->front(), reference.count());
  }
}

TEST_F(LbfgsTest, FindsTheMinimumOfRosenbrock) {
  const Graph graph = RosenbrockGraph({.iterations = 20, .history = 10}, 2, 100);
  Session session = MustStart(graph, {.device = TestDevice()});
  for (int call = 0; call < 5; ++call) ASSERT_TRUE(session.Run("step", {}).ok());
  EXPECT_NEAR(Read64(session, "x")[0], 1, 1e-5);
  EXPECT_NEAR(Read64(session, "last")[0], 1, 1e-5);
  const Doubles64 before = Read64(session, "x");
  ASSERT_TRUE(session.Run("step", {}).ok());
  EXPECT_NEAR(Read64(session, "x")[0], before[0], 1e-9);
}

// A network on `devices` CPU devices that share the batch. Returns the losses of all iterations.
std::vector<float> FitOn(int devices) {
  setenv("SINTER_CPU_DEVICES", "2", /*overwrite=*/1);
  Graph graph("g", {.seed = 5});
  const nn::Module net = nn::Sequential{nn::Linear(6), nn::Tanh(), nn::Linear(1)};
  graph.Function("fit", Mode::kTrain, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {16, 3}), y = b.Input("y", F32, {16, 1});
    const auto fit = optim::Lbfgs{.learning_rate = b.Scalar("rate"), .iterations = 6, .history = 5}.Minimize(
        [&] { return Mean(Square(net(x) - y)); });
    b.Output("losses", fit.losses);
  });
  CompileOptions options;
  for (int i = 0; i < devices && devices > 1; ++i) options.data_parallel.devices.push_back(Device::Cpu(i));
  Session session = MustStart(graph, options);
  std::vector<float> losses;
  for (int call = 0; call < 3; ++call) {
    const std::vector<float> part =
        Floats(session, "fit",
               {{"x", RandomFloats({16, 3}, 1)}, {"y", RandomFloats({16, 1}, 2)}, {"rate", 0.5}}, "losses");
    losses.insert(losses.end(), part.begin(), part.end());
  }
  unsetenv("SINTER_CPU_DEVICES");
  return losses;
}

TEST(LbfgsOnDevicesTest, GivesTheSameNumbers) {
  const std::vector<float> one = FitOn(1);
  EXPECT_LT(one.back(), 0.5f * one.front());
  EXPECT_THAT(FitOn(2), Pointwise(FloatNear(2e-4f), one));
}

Tensor SomeLoss(Builder& b) { return Sum(Square(b.Read(b.MakeVariable("w", F32, {2})))); }

class LbfgsErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(LbfgsErrorTest, Says) { ExpectSays(GetParam(), "lbfgs_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, LbfgsErrorTest,
    ::testing::Values(
        In("Iterations",
           [](Builder& b) { optim::Lbfgs{.iterations = 0}.Minimize([&] { return SomeLoss(b); }); },
           {"optim::Lbfgs", "makes 0 iterations with a history of 100; expected at least 1"}),
        In("Tolerance",
           [](Builder& b) { optim::Lbfgs{.tolerance_grad = -1}.Minimize([&] { return SomeLoss(b); }); },
           {"a tolerance_grad"}),
        In("Rate",
           [](Builder& b) { optim::Lbfgs{.learning_rate = -1}.Minimize([&] { return SomeLoss(b); }); },
           {"a learning rate"}),
        In("Rank",
           [](Builder& b) { optim::Lbfgs{}.Minimize([&] { return b.Read(b.MakeVariable("w", F32, {2})); }); },
           {"takes a function that returns a float loss of rank 0; Mean(loss) or Sum(loss) first"}),
        In("Nothing", [](Builder& b) { optim::Lbfgs{}.Minimize([&] { return b.Full(F32, {}, 1); }); },
           {"finds no trainable variable that the loss depends on"}),
        In("TwoKinds",
           [](Builder& b) {
             optim::Lbfgs{}.Minimize([&] { return SomeLoss(b); }, {.name = "adam"});
             optim::Adam{}.Minimize(SomeLoss(b), {.name = "adam"});
           },
           {"optim::Lbfgs"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
