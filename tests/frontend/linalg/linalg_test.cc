// Linear algebra against known factors and residuals, gradients against finite differences, and errors.
// SINTER_TEST_DEVICE=gpu:0 runs the tests on this GPU.
#include "sinter/frontend/linalg/linalg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sinter/frontend/control/loops.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/tests/frontend/builder_values.h"
#include "sinter/tests/frontend/error_case.h"

namespace sinter {
namespace {

using ::testing::DoubleNear;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsNan;
using ::testing::Pointwise;

using LinalgTest = DeviceTest;

const std::vector<double> kMatrix = {2, -1, 0.5, 0.3, 1.5, -0.7, -0.4, 0.9, 3};
const std::vector<double> kSides = {1, 0.2, -0.5, 2, 0.7, -1.1};

Tensor Swapped(const Tensor& x) { return Transpose(x, {1, 0}); }
// A positive definite matrix that depends on all elements of x.
Tensor DefiniteOf(const Tensor& x) { return MatMul(x, Swapped(x)); }

auto IsNear(std::vector<double> want) { return Pointwise(DoubleNear(1e-12), std::move(want)); }

TEST_F(LinalgTest, KnownFactors) {
  Values got = Compute([](Builder& b) {
    const Tensor a = Vector(b, {4, 12, -16, 12, 37, -43, -16, -43, 98}, {3, 3});
    b.Output("cholesky", linalg::Cholesky(a));
    const linalg::EighResult eigh = linalg::Eigh(Vector(b, {2, 1, 1, 2}, {2, 2}));
    b.Output("values", eigh.values);
    const linalg::SvdResult svd = linalg::Svd(Vector(b, {3, 0, 4, 5}, {2, 2}));
    b.Output("s", svd.s);
    b.Output("svd", MatMul(svd.u * ExpandDims(svd.s, 0), svd.vh));
    const linalg::QrResult qr = linalg::Qr(Vector(b, {3, 4}, {2, 1}), linalg::QrMode::kComplete);
    b.Output("q", qr.q);
    b.Output("r", qr.r);
    const Tensor c = Vector(b, {1, 2, 4, 2}, {2, 2});
    b.Output("solve", linalg::Solve(c, Vector(b, {5, 8})));
    b.Output("inv", linalg::Inv(c));
    b.Output("det", linalg::Det(c));
    const linalg::SlogDetResult slogdet = linalg::SlogDet(c);
    b.Output("sign", slogdet.sign);
    b.Output("logabsdet", slogdet.logabsdet);
  });
  EXPECT_THAT(got["cholesky"], IsNear({2, 0, 0, 6, 1, 0, -8, 5, 3}));
  EXPECT_THAT(got["values"], IsNear({1, 3}));
  EXPECT_THAT(got["s"], IsNear({std::sqrt(45.0), std::sqrt(5.0)}));
  EXPECT_THAT(got["svd"], IsNear({3, 0, 4, 5}));
  EXPECT_THAT(got["q"], IsNear({-0.6, -0.8, -0.8, 0.6}));
  EXPECT_THAT(got["r"], IsNear({-5, 0}));
  EXPECT_THAT(got["solve"], IsNear({1, 2}));
  EXPECT_THAT(got["inv"], IsNear({-1.0 / 3, 1.0 / 3, 2.0 / 3, -1.0 / 6}));
  EXPECT_THAT(got["det"], IsNear({-6}));
  EXPECT_THAT(got["sign"], ElementsAre(-1));
  EXPECT_THAT(got["logabsdet"], IsNear({std::log(6.0)}));
}

// Factors multiply to the matrix, and Q, U and V are orthonormal.
TEST_F(LinalgTest, Residuals) {
  for (const auto& [m, n] : {std::pair<int64_t, int64_t>{40, 23}, {23, 40}, {30, 30}, {1, 7}, {150, 70}}) {
    std::vector<double> values;
    for (int64_t i = 0; i < 2 * m * n; ++i) values.push_back(std::sin(static_cast<double>(i * i % 1009)));
    Values got = Compute([&, m = m, n = n](Builder& b) {
      const Tensor a = Vector(b, values, {2, m, n});
      const auto turned = [](const Tensor& x) { return Transpose(x, {0, 2, 1}); };
      const auto unit = [&](const Tensor& x) { return MatMul(turned(x), x); };
      const linalg::QrResult qr = linalg::Qr(a), complete = linalg::Qr(a, linalg::QrMode::kComplete);
      b.Output("zero qr", MatMul(qr.q, qr.r) - a);
      b.Output("zero complete", MatMul(complete.q, complete.r) - a);
      b.Output("one q", unit(qr.q));
      b.Output("one complete", unit(complete.q));
      const linalg::SvdResult svd = linalg::Svd(a);
      b.Output("zero svd", MatMul(svd.u * ExpandDims(svd.s, -2), svd.vh) - a);
      b.Output("one u", unit(svd.u));
      b.Output("one v", unit(turned(svd.vh)));
      const Tensor p = unit(a);
      const linalg::EighResult eigh = linalg::Eigh(p);
      b.Output("zero eigh", MatMul(p, eigh.vectors) - eigh.vectors * ExpandDims(eigh.values, -2));
      b.Output("one vectors", unit(eigh.vectors));
      // A matrix of full rank.
      const Tensor d = p + Cast(Equal(b.Iota(I32, {n, n}, 0), b.Iota(I32, {n, n}, 1)), F64);
      const Tensor l = linalg::Cholesky(d);
      b.Output("zero cholesky", MatMul(l, turned(l)) - d);
      b.Output("one inverse", MatMul(linalg::Inv(d), d));
      b.Output("zero logdet", linalg::SlogDet(d).logabsdet - 2 * Sum(Log(Diagonal(l)), {-1}));
    });
    for (const auto& [name, elements] : got) {
      const bool is_one = name.substr(0, 3) == "one";
      const size_t size = static_cast<size_t>(std::lround(std::sqrt(elements.size() / 2.0)));
      for (size_t i = 0; i < elements.size(); ++i) {
        const bool on_diagonal = is_one && i / size % size == i % size;
        ASSERT_NEAR(elements[i], on_diagonal ? 1 : 0, 1e-9) << name << " of " << m << "x" << n << ", " << i;
      }
    }
  }
}

TEST_F(LinalgTest, TriangularSystems) {
  Values got = Compute([](Builder& b) {
    const Tensor a = Vector(b, {2, 99, 3, 4}, {2, 2}), sides = Vector(b, {2, 4, 11, 16}, {2, 2});
    b.Output("lower", linalg::TriangularSolve(a, sides));
    b.Output("unit", linalg::TriangularSolve(a, sides, {.unit_diagonal = true}));
    b.Output("transposed", linalg::TriangularSolve(a, sides, {.transpose = true}));
    b.Output("right", linalg::TriangularSolve(a, sides, {.left = false}));
    b.Output("upper", linalg::TriangularSolve(Swapped(a), sides, {.upper = true}));
    // The matrix of each of two systems.
    const Tensor many = linalg::TriangularSolve(a, Vector(b, {2, 11, 4, 16}, {2, 2, 1}));
    b.Output("broadcast", many);
  });
  EXPECT_THAT(got["lower"], IsNear({1, 2, 2, 2.5}));
  EXPECT_THAT(got["unit"], IsNear({2, 4, 5, 4}));
  EXPECT_THAT(got["transposed"], IsNear({1 - 3 * 2.75 / 2, 2 - 3 * 4 / 2.0, 2.75, 4}));
  EXPECT_THAT(got["right"], IsNear({(2 - 3.0) / 2, 1, (11 - 12.0) / 2, 4}));
  EXPECT_THAT(got["upper"], IsNear(got["transposed"]));
  EXPECT_THAT(got["broadcast"], IsNear({1, 2, 2, 2.5}));
}

TEST_F(LinalgTest, FailuresAreNan) {
  Values got = Compute([](Builder& b) {
    const Tensor a = Vector(b, {1, 2, 2, 1, 4, 0, 0, 9}, {2, 2, 2});
    b.Output("cholesky", linalg::Cholesky(a));
    const Tensor nan = Vector(b, {std::nan(""), 0, 0, 1}, {2, 2});
    b.Output("eigh", linalg::Eigh(nan).values);
    b.Output("svd", linalg::Svd(nan).s);
    b.Output("det", linalg::Det(Vector(b, {1, 2, 2, 4}, {2, 2})));
  });
  EXPECT_THAT(std::vector<double>(got["cholesky"].begin(), got["cholesky"].begin() + 4), Each(IsNan()));
  EXPECT_THAT(std::vector<double>(got["cholesky"].begin() + 4, got["cholesky"].end()), IsNear({2, 0, 0, 3}));
  EXPECT_THAT(got["eigh"], Each(IsNan()));
  EXPECT_THAT(got["svd"], Each(IsNan()));
  EXPECT_THAT(got["det"], ElementsAre(0));
}

TEST_F(LinalgTest, EmptyMatrices) {
  Values got = Compute([](Builder& b) {
    const Tensor none = b.Zeros(F64, {2, 0, 0});
    b.Output("det", linalg::Det(none));
    b.Output("logabsdet", linalg::SlogDet(none).logabsdet);
    b.Output("cholesky", linalg::Cholesky(none));
    b.Output("q", linalg::Qr(b.Zeros(F64, {3, 0}), linalg::QrMode::kComplete).q);
    b.Output("solve", linalg::Solve(b.Zeros(F64, {0, 3, 3}), b.Zeros(F64, {3, 2})));
  });
  EXPECT_THAT(got["det"], ElementsAre(1, 1));
  EXPECT_THAT(got["logabsdet"], ElementsAre(0, 0));
  EXPECT_THAT(got["q"], ElementsAre(1, 0, 0, 0, 1, 0, 0, 0, 1));
}

TEST_F(LinalgTest, Gradients) {
  const auto weighted = [](Builder& b, const Tensor& x) {
    std::vector<double> weights;
    int64_t count = 1;
    for (int64_t size : x.shape()) count *= size;
    for (int64_t i = 0; i < count; ++i) weights.push_back(1 + 0.37 * static_cast<double>(i));
    return Sum(x * Vector(b, weights, x.shape()));
  };
  const auto check = [&](const std::function<Tensor(Builder&, const Tensor&)>& y) {
    ExpectGradient(kMatrix, {3, 3}, [&](Builder& b, const Tensor& x) { return weighted(b, y(b, x)); });
  };
  const auto sides = [](Builder& b) { return Vector(b, kSides, {3, 2}); };
  check([](Builder&, const Tensor& x) { return linalg::Cholesky(DefiniteOf(x)); });
  check([&](Builder& b, const Tensor& x) { return linalg::TriangularSolve(x, sides(b)); });
  check([&](Builder& b, const Tensor& x) { return linalg::Solve(x, sides(b)); });
  check([](Builder&, const Tensor& x) { return linalg::Inv(x); });
  check([](Builder&, const Tensor& x) { return ExpandDims(linalg::Det(x), 0); });
  check([](Builder&, const Tensor& x) { return ExpandDims(linalg::SlogDet(x).logabsdet, 0); });
  check([](Builder&, const Tensor& x) { return linalg::Qr(x).q; });
  check([](Builder&, const Tensor& x) { return linalg::Qr(x).r; });
  check([](Builder&, const Tensor& x) { return linalg::Eigh(DefiniteOf(x)).values; });
  check([](Builder&, const Tensor& x) { return Square(linalg::Eigh(DefiniteOf(x)).vectors); });
  check([](Builder&, const Tensor& x) { return linalg::Svd(x).s; });
  check([](Builder&, const Tensor& x) { return Square(linalg::Svd(x).u); });
  check([](Builder&, const Tensor& x) { return Square(linalg::Svd(x).vh); });
}

// The gradient with respect to right-hand sides, which broadcast.
TEST_F(LinalgTest, GradientsOfSides) {
  ExpectGradient(kSides, {3, 2}, [](Builder& b, const Tensor& x) {
    const Tensor a =
        Vector(b, {2, -1, 0.5, 0.3, 1.5, -0.7, -0.4, 0.9, 3, 1, 0, 0, 2, 3, 0, 1, 1, 1}, {2, 3, 3});
    return Sum(Square(linalg::Solve(a, x))) + Sum(Square(linalg::TriangularSolve(a, x, {.upper = true})));
  });
}

// Steps of the QR algorithm keep the eigenvalues. On a GPU the body of While is not captured, and the others
// are.
TEST_F(LinalgTest, InLoops) {
  struct State {
    Tensor a, trips;
  };
  const auto step = [](const Tensor& a) {
    const linalg::QrResult qr = linalg::Qr(a);
    const Tensor next = MatMul(qr.r, qr.q);
    const Tensor l = linalg::Cholesky(0.5 * (next + Swapped(next)));
    return linalg::Solve(Swapped(l), MatMul(Swapped(l), MatMul(l, Swapped(l))));
  };
  Values got = Compute(
      [&](Builder& b) {
        const Tensor a = Vector(b, {4, 1, -0.5, 1, 3, 0.7, -0.5, 0.7, 2}, {3, 3});
        b.Output("want", linalg::Eigh(a).values);
        const State last = While(
            State{a, b.Zeros(I32, {})}, [](const State& s) { return s.trips < 5; },
            [&](const State& s) { return State{step(s.a), s.trips + 1}; });
        const auto [scanned, values] = Scan(a, Steps{5}, [&](const Tensor& x, const Tensor&) {
          const Tensor next = step(x);
          return std::pair(next, linalg::Eigh(next).values);
        });
        b.Output("while", last.a);
        b.Output("scan", scanned);
        b.Output("values", linalg::Eigh(last.a).values);
        b.Output("stacked", values);
      },
      /*runs=*/4);
  EXPECT_THAT(got["values"], IsNear(got["want"]));
  EXPECT_THAT(got["while"], IsNear(got["scan"]));
  for (size_t trip = 0; trip < 5; ++trip) {
    const auto first = got["stacked"].begin() + static_cast<ptrdiff_t>(3 * trip);
    EXPECT_THAT(std::vector<double>(first, first + 3), IsNear(got["want"])) << trip;
  }
}

// The gradient of symmetric matrices is symmetric, as PyTorch's and JAX's.
TEST_F(LinalgTest, SymmetricGradients) {
  Values got = Compute([](Builder& b) {
    const Tensor a = Vector(b, {4, 12, -16, 12, 37, -43, -16, -43, 98}, {3, 3});
    const Tensor cholesky = Gradients(Sum(linalg::Cholesky(a)), {a})[0];
    b.Output("cholesky", cholesky - Swapped(cholesky));
    const Tensor eigh = Gradients(Sum(linalg::Eigh(a).values * Vector(b, {1, 2, 3})), {a})[0];
    b.Output("eigh", eigh - Swapped(eigh));
  });
  EXPECT_THAT(got["cholesky"], IsNear(std::vector<double>(9, 0)));
  EXPECT_THAT(got["eigh"], IsNear(std::vector<double>(9, 0)));
}

TEST_F(LinalgTest, CompleteQrHasNoGradient) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    const Tensor x = b.Input("x", F64, {4, 2});
    b.Output("g", Gradients(Sum(linalg::Qr(x, linalg::QrMode::kComplete).q), {x})[0]);
  });
  const absl::Status status = Compile(graph).status();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr("qr_complete"));
}

CompileOptions ForGpu() { return {.device = Device::Gpu(), .gpu_architectures = {"sm_90"}}; }

TEST_F(LinalgTest, AGpuTakesEveryOp) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    const Tensor x = b.Input("x", F32, {5, 3, 3}), p = MatMul(x, Transpose(x, {0, 2, 1}));
    const linalg::SvdResult svd = linalg::Svd(x);
    const linalg::EighResult eigh = linalg::Eigh(p);
    const Tensor loss = Sum(linalg::Cholesky(p)) + Sum(linalg::Solve(x, p)) + Sum(linalg::Qr(x).r) +
                        Sum(eigh.values * eigh.values) + Sum(svd.s);
    b.Output("complete", linalg::Qr(x, linalg::QrMode::kComplete).q);
    b.Output("g", Gradients(loss, {x})[0]);
  });
  const absl::StatusOr<Plan> plan = Compile(graph, ForGpu());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->Devices(), ElementsAre(Device::Gpu()));
}

TEST_F(LinalgTest, AGpuRefusesLongMatricesWithTheLine) {
  Graph graph("g");
  graph.Function("f", Mode::kEval,
                 [](Builder& b) { b.Output("r", linalg::Qr(b.Input("x", F32, {3000000000, 1})).r); });
  const absl::Status status = Compile(graph, ForGpu()).status();
  ASSERT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  for (const char* text :
       {"linalg_test.cc:", "no library computes this sinter.qr on", "at most 2147483647 rows, columns",
        "not 3000000000; place it on a CPU: DeviceScope(b, Device::Cpu()) around the call"}) {
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }
}

// The way out that the message names: this op alone is on a CPU.
TEST_F(LinalgTest, ACpuHelpsAGpu) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    const Tensor x = b.Input("x", F32, {3, 3});
    const Tensor y = Exp(x);
    Tensor l;
    {
      DeviceScope on(b, Device::Cpu());
      l = linalg::Cholesky(Copy(y, Device::Cpu()));
    }
    const Tensor z = Copy(l, y) * 2.0;
    b.Output("z", z);
    b.Output("g", Gradients(Sum(z), {x})[0]);
  });
  ASSERT_TRUE(graph.status().ok()) << graph.status();
  const absl::StatusOr<Plan> plan = Compile(graph, ForGpu());
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->Devices(), testing::UnorderedElementsAre(Device::Gpu(), Device::Cpu()));
}

class LinalgErrorsTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(LinalgErrorsTest, Says) { ExpectSays(GetParam(), "linalg_test.cc:"); }

INSTANTIATE_TEST_SUITE_P(
    Linalg, LinalgErrorsTest,
    ::testing::Values(
        In("Integers", [](Builder& b) { linalg::Cholesky(X(b, {2, 2}, I32)); },
           {"linalg::Cholesky(", "takes f32 or f64; Cast(x, F32) first"}),
        In("Halves", [](Builder& b) { linalg::Eigh(X(b, {2, 2}, BF16)); },
           {"linalg::Eigh(", "takes f32 or f64; Cast(x, F32) first"}),
        In("Rank", [](Builder& b) { linalg::Svd(X(b, {2})); },
           {"linalg::Svd(", "takes matrices [..., m, n]: at least two dimensions"}),
        In("NotSquare", [](Builder& b) { linalg::Cholesky(X(b, {4, 2, 3})); },
           {"takes square matrices [..., n, n], got 2 rows and 3 columns"}),
        In("EighNotSquare", [](Builder& b) { linalg::Eigh(X(b)); }, {"takes square matrices"}),
        In("QrRank", [](Builder& b) { linalg::Qr(X(b, {3})); }, {"linalg::Qr(", "takes matrices"}),
        In("Sides", [](Builder& b) { linalg::TriangularSolve(X(b, {3, 3}), X(b, {2, 3})); },
           {"linalg::TriangularSolve(", "needs right-hand sides [..., 3, k]"}),
        In("SidesOfRight",
           [](Builder& b) { linalg::TriangularSolve(X(b, {3, 3}), X(b, {3, 2}), {.left = false}); },
           {"needs right-hand sides [..., k, 3]"}),
        In("Types", [](Builder& b) { linalg::Solve(X(b, {3, 3}), X(b, {3, 3}, F64)); },
           {"linalg::Solve(", "takes operands of one element type"}),
        In("Broadcast", [](Builder& b) { linalg::Solve(X(b, {2, 3, 3}), X(b, {4, 3, 3})); },
           {"has leading dimensions that do not broadcast"}),
        In("InvNotSquare", [](Builder& b) { linalg::Inv(X(b)); }, {"linalg::Inv(", "takes square matrices"}),
        In("DetNotSquare", [](Builder& b) { linalg::Det(X(b)); }, {"linalg::Det(", "takes square matrices"}),
        In("SlogDetNotSquare", [](Builder& b) { linalg::SlogDet(X(b)); },
           {"linalg::SlogDet(", "takes square matrices"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
