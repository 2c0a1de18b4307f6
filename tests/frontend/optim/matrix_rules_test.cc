// Compares the rules of matrices with references in double over 100 steps, on one device and on two.
#include "sinter/frontend/optim/matrix_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

constexpr int kMatrixSteps = 100;

// A small matrix of doubles.
struct Matrix {
  size_t rows, columns;
  std::vector<double> values = std::vector<double>(rows * columns, 0);
  double& at(size_t i, size_t j) { return values[i * columns + j]; }
  double at(size_t i, size_t j) const { return values[i * columns + j]; }
};

Matrix Transposed(const Matrix& a) {
  Matrix result{a.columns, a.rows};
  for (size_t i = 0; i < a.rows; ++i) {
    for (size_t j = 0; j < a.columns; ++j) result.at(j, i) = a.at(i, j);
  }
  return result;
}

Matrix Product(const Matrix& a, const Matrix& b) {
  Matrix result{a.rows, b.columns};
  for (size_t i = 0; i < a.rows; ++i) {
    for (size_t j = 0; j < b.columns; ++j) {
      for (size_t k = 0; k < a.columns; ++k) result.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return result;
}

double Norm2(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x * x;
  return std::sqrt(sum);
}
double Rms(const std::vector<double>& v) { return Norm2(v) / std::sqrt(static_cast<double>(v.size())); }

// One step of a reference on w with gradients g; `step` counts from 1.
using MatrixReference = std::function<void(Matrix& w, const Matrix& g, double lr, int step)>;
using MatrixMinimize = std::function<void(const Tensor& loss, const Tensor& lr)>;

double TargetOf(size_t i) { return 4 * std::sin(static_cast<double>(3 * i + 1)) + (i % 2 ? 6 : -6); }
double ScaleOf(size_t i) { return 0.5 + 0.25 * static_cast<double>(i % 4); }

// Trains sum(scale * (w - target)^2) with a variable of this shape, which the reference sees as a matrix. The
// two rows of the batch are targets whose mean is the target, so that neither has the gradient of both.
void ExpectFollowsOn(const CompileOptions& options, const Shape& shape, Matrix w,
                     const MatrixMinimize& minimize, MatrixReference reference) {
  Graph graph("g");
  const Variable variable = graph.Variable("w", F32, shape, {.init = {.a = 0.75}});
  std::vector<float> target, scale;
  for (size_t i = 0; i < w.values.size(); ++i) {
    w.values[i] = 0.75;
    target.push_back(static_cast<float>(TargetOf(i)));
    scale.push_back(static_cast<float>(ScaleOf(i)));
  }
  Shape batch = shape;
  batch.insert(batch.begin(), 2);
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Tensor difference = b.Read(variable) - b.Input("target", F32, batch);
    minimize(Mean(Square(difference) * b.Constant(*HostTensor::FromVector<float>(shape, scale))) *
                 static_cast<double>(w.values.size()),
             b.Scalar("lr"));
  });
  std::vector<float> targets;
  for (const float way : {-0.5f, 0.5f}) {
    for (const float t : target) targets.push_back(t + way);
  }
  const HostTensor input = *HostTensor::FromVector<float>(batch, targets);
  Session session = MustStart(graph, options);
  for (int step = 1; step <= kMatrixSteps; ++step) {
    const auto lr = static_cast<float>(0.02 / (1 + 0.01 * step));
    ASSERT_TRUE(session.Run("train", {{"lr", lr}, {"target", input}}).ok());
    Matrix g = w;
    for (size_t i = 0; i < g.values.size(); ++i) g.values[i] = 2 * scale[i] * (w.values[i] - target[i]);
    reference(w, g, lr, step);
  }
  const std::vector<float> actual = VariableFloats(session, "w");
  for (size_t i = 0; i < actual.size(); ++i) EXPECT_NEAR(actual[i], w.values[i], 5e-5) << i;
}

void ExpectFollows(const Shape& shape, const Matrix& w, const MatrixMinimize& minimize,
                   const MatrixReference& reference) {
  ExpectFollowsOn({.device = TestDevice()}, shape, w, minimize, reference);
  if (TestDevice().is_gpu()) return;
  SCOPED_TRACE("two devices");
  setenv("SINTER_CPU_DEVICES", "2", /*overwrite=*/1);
  CompileOptions two;
  two.mesh.axes = {{"data", 2}};
  two.parallel = {parallel::Data{}};
  ExpectFollowsOn(two, shape, w, minimize, reference);
  unsetenv("SINTER_CPU_DEVICES");
}

Matrix Orthogonal(const Matrix& matrix) {
  const bool is_tall = matrix.rows > matrix.columns;
  Matrix x = is_tall ? Transposed(matrix) : matrix;
  const double norm = Norm2(x.values) + 1e-7;
  for (double& value : x.values) value /= norm;
  for (int i = 0; i < 5; ++i) {
    const Matrix a = Product(x, Transposed(x)), a2 = Product(a, a), ax = Product(a, x), a2x = Product(a2, x);
    for (size_t k = 0; k < x.values.size(); ++k) {
      x.values[k] = 3.4445 * x.values[k] - 4.775 * ax.values[k] + 2.0315 * a2x.values[k];
    }
  }
  return is_tall ? Transposed(x) : x;
}

MatrixReference MuonReference(bool nesterov, double decay) {
  return [=, m = std::vector<double>()](Matrix& w, const Matrix& g, double lr, int) mutable {
    m.resize(w.values.size());
    Matrix step = g;
    for (size_t i = 0; i < m.size(); ++i) {
      m[i] = 0.95 * m[i] + 0.05 * g.values[i];
      step.values[i] = nesterov ? 0.95 * m[i] + 0.05 * g.values[i] : m[i];
    }
    const double ratio = static_cast<double>(w.rows) / static_cast<double>(w.columns);
    const Matrix o = Orthogonal(step);
    for (size_t i = 0; i < m.size(); ++i) {
      w.values[i] -= lr * (std::sqrt(std::max(1.0, ratio)) * o.values[i] + decay * w.values[i]);
    }
  };
}

// Applies the clipped, relative step of Adafactor along g / sqrt(v).
void StepOfAdafactor(Matrix& w, const Matrix& g, const std::vector<double>& v, double lr, int step) {
  std::vector<double> u(v.size());
  for (size_t i = 0; i < v.size(); ++i) u[i] = g.values[i] / std::sqrt(v[i]);
  const double clip = std::max(1.0, Rms(u) / 0.5);
  const double rate = std::max(1e-3, Rms(w.values)) * std::min(lr, 1 / std::sqrt(step));
  for (size_t i = 0; i < v.size(); ++i) w.values[i] -= rate * u[i] / clip;
}

MatrixReference AdafactorReference(bool factored) {
  return [=, r = std::vector<double>(), c = std::vector<double>(), whole = std::vector<double>()](
             Matrix& w, const Matrix& g, double lr, int step) mutable {
    r.resize(w.rows);
    c.resize(w.columns);
    whole.resize(w.values.size());
    const double beta = 1 - std::pow(step, -0.8);
    for (double& x : r) x *= beta;
    for (double& x : c) x *= beta;
    double sum = 0;
    for (size_t i = 0; i < w.rows; ++i) {
      for (size_t j = 0; j < w.columns; ++j) {
        const double square = g.at(i, j) * g.at(i, j) + 1e-30;
        r[i] += (1 - beta) * square;
        c[j] += (1 - beta) * square;
        double& v = whole[i * w.columns + j];
        v = beta * v + (1 - beta) * square;
      }
      sum += r[i];
    }
    std::vector<double> v = whole;
    for (size_t i = 0; factored && i < v.size(); ++i) v[i] = r[i / w.columns] * c[i % w.columns] / sum;
    StepOfAdafactor(w, g, v, lr, step);
  };
}

using MatrixRulesTest = DeviceTest;

TEST_F(MatrixRulesTest, MuonOfWideAndTallMatrices) {
  for (const auto& [rows, columns] : {std::pair(3, 4), std::pair(4, 2), std::pair(1, 3)}) {
    for (const bool nesterov : {true, false}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << columns << ", " << nesterov);
      ExpectFollows(
          {rows, columns}, {static_cast<size_t>(rows), static_cast<size_t>(columns)},
          [=](const Tensor& loss, const Tensor& lr) {
            optim::Muon{.learning_rate = lr, .nesterov = nesterov, .weight_decay = 0.1}.Minimize(loss);
          },
          MuonReference(nesterov, 0.1));
    }
  }
}

TEST_F(MatrixRulesTest, AdafactorOfMatricesAndVectors) {
  const auto minimize = [](const Tensor& loss, const Tensor& lr) {
    optim::Adafactor{.learning_rate = lr, .clip = 0.5}.Minimize(loss);
  };
  ExpectFollows({3, 4}, {3, 4}, minimize, AdafactorReference(/*factored=*/true));
  ExpectFollows({4, 2}, {4, 2}, minimize, AdafactorReference(/*factored=*/true));
  ExpectFollows({1, 4, 2}, {4, 2}, minimize, AdafactorReference(/*factored=*/true));
  ExpectFollows({5}, {1, 5}, minimize, AdafactorReference(/*factored=*/false));
}

// The second moment of a matrix is a row and a column.
TEST_F(MatrixRulesTest, AdafactorNeedsLittleMemory) {
  Graph graph("g");
  graph.Function("train", Mode::kTrain, [](Builder& b) {
    optim::Adafactor{}.Minimize(Sum(Square(b.Read(b.MakeVariable("w", F32, {30, 40})))));
  });
  int64_t elements = 0;
  for (const Variable& v : graph.variables()) {
    int64_t size = 1;
    for (const int64_t dim : v.shape()) size *= dim;
    if (v.name() != "w") elements += size;
  }
  EXPECT_EQ(elements, 30 + 40 + 1);  // And the count of steps.
}

class MatrixRuleErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(MatrixRuleErrorTest, Says) { ExpectSays(GetParam(), "matrix_rules_test.cc:"); }

template <typename R>
ErrorCase RuleWith(const std::string& name, const R& rule, const std::vector<std::string>& says) {
  return In(name, [=](Builder& b) { rule.Minimize(Sum(Square(nn::Linear(2)(X(b))))); }, says);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, MatrixRuleErrorTest,
    ::testing::Values(
        RuleWith("MuonOfABias", optim::Muon{},
                 {"optim::Muon: Minimize(f32[]) updates matrices only, and \"bias\" is f32[2]",
                  "list the matrices in .parameters"}),
        RuleWith("MuonMomentum", optim::Muon{.momentum = 1}, {"a momentum of at least 0 and below 1, got 1"}),
        RuleWith("MuonDecay", optim::Muon{.weight_decay = -1}, {"a weight decay of at least 0, got -1"}),
        RuleWith("MuonEpsilon", optim::Muon{.epsilon = -1}, {"an epsilon of at least 0, got -1"}),
        RuleWith("MuonIterations", optim::Muon{.iterations = 0},
                 {"a number of iterations of at least 1, got 0"}),
        RuleWith("AdafactorDecay", optim::Adafactor{.decay = -1}, {"a decay of at least 0, got -1"}),
        RuleWith("AdafactorEpsilon1", optim::Adafactor{.epsilon1 = 0}, {"an epsilon1 above 0, got 0"}),
        RuleWith("AdafactorEpsilon2", optim::Adafactor{.epsilon2 = -1},
                 {"an epsilon2 of at least 0, got -1"}),
        RuleWith("AdafactorClip", optim::Adafactor{.clip = 0}, {"a clip above 0, got 0"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
