// Gradients with respect to values that rewrites would fold, join or look through.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;

const std::vector<float> kX = {1, 2, 3, 4, 5, 6};

// Runs a function of x, f32[2, 3], and returns its outputs by name.
std::map<std::string, std::vector<float>> RunOn(const std::function<void(Builder&, const Tensor&)>& body) {
  Graph graph("gradient_points");
  graph.Function("f", Mode::kTrain, [&](Builder& b) { body(b, b.Input("x", F32, {2, 3})); });
  Session session = MustStart(graph);
  auto outputs = session.Run("f", {{"x", *HostTensor::FromVector<float>({2, 3}, kX)}});
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::map<std::string, std::vector<float>> results;
  for (size_t i = 0; outputs.ok() && i < outputs->size(); ++i) {
    results[std::string(outputs->name(i))] = ToFloats(outputs->tensor(i));
  }
  return results;
}

TEST(GradientPointsTest, ConstantThatIsReshaped) {
  auto results = RunOn([](Builder& b, const Tensor& x) {
    const Tensor c = b.Constant(*HostTensor::FromVector<float>({6}, {1, -1, 2, -2, 3, -3}));
    b.Output("g", Gradients(Sum(Reshape(c, {2, 3}) * x), {c})[0]);
    b.Output("transposed", Gradients(Sum(Transpose(Reshape(c, {3, 2}), {1, 0}) * x), {c})[0]);
  });
  EXPECT_THAT(results["g"], ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(results["transposed"], ElementsAre(1, 4, 2, 5, 3, 6));
}

// The loss could be computed from constants alone.
TEST(GradientPointsTest, ConstantsThatFoldWhole) {
  auto results = RunOn([](Builder& b, const Tensor& x) {
    const Tensor c = b.Full(F32, {3}, 2.0);
    b.Output("g", Gradients(Sum(Square(c + 1.0) * 0.5), {c})[0]);
    b.Output("x", x);
  });
  EXPECT_THAT(results["g"], ElementsAre(3, 3, 3));
}

TEST(GradientPointsTest, EqualConstantsStayApart) {
  auto results = RunOn([](Builder& b, const Tensor& x) {
    const Tensor c = b.Ones(F32, {2, 3}), d = b.Ones(F32, {2, 3});
    const std::vector<Tensor> g = Gradients(Sum(c * x) + Sum(d * 10.0), {c, d});
    b.Output("c", g[0]);
    b.Output("d", g[1]);
  });
  EXPECT_THAT(results["c"], ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(results["d"], ElementsAre(10, 10, 10, 10, 10, 10));
}

TEST(GradientPointsTest, EqualExpressionsStayApart) {
  auto results = RunOn([](Builder& b, const Tensor& x) {
    const Tensor c = x * 2.0, d = x * 2.0;
    const Tensor loss = Sum(c * 3.0) + Sum(d * d);
    const std::vector<Tensor> g = Gradients(loss, {c, d});
    b.Output("c", g[0]);
    b.Output("d", g[1]);
    b.Output("x", Gradients(loss, {x})[0]);
  });
  EXPECT_THAT(results["c"], ElementsAre(3, 3, 3, 3, 3, 3));
  EXPECT_THAT(results["d"], ElementsAre(4, 8, 12, 16, 20, 24));
  EXPECT_THAT(results["x"], ElementsAre(14, 22, 30, 38, 46, 54));
}

// Rewrites replace a transpose of a transpose, and a product of a transposed tensor, by their operands.
TEST(GradientPointsTest, ValuesThatRewritesLookThrough) {
  auto results = RunOn([](Builder& b, const Tensor& x) {
    const Tensor t = Transpose(x, {1, 0});
    b.Output("product", Gradients(Sum(MatMul(t, x)), {t})[0]);
    b.Output("twice", Gradients(Sum(Transpose(t, {1, 0}) * x), {t})[0]);
    const Tensor flat = Reshape(x, {6});
    b.Output("reshaped", Gradients(Sum(Reshape(flat, {3, 2}) * t), {flat})[0]);
    const Tensor same = x * 1.0;
    b.Output("same", Gradients(Sum(Square(same)), {same})[0]);
  });
  EXPECT_THAT(results["product"], ElementsAre(6, 15, 6, 15, 6, 15));
  EXPECT_THAT(results["twice"], ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(results["reshaped"], ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(results["same"], ElementsAre(2, 4, 6, 8, 10, 12));
}

TEST(GradientPointsTest, AnyNumberOfGradientsOfAValue) {
  auto results = RunOn([](Builder& b, const Tensor& x) {
    const Tensor h = Square(x);
    const Tensor slope = Gradients(Sum(Square(h)), {h})[0];
    b.Output("slope", slope);
    b.Output("curve", Gradients(Sum(slope * h), {h})[0]);
    const Tensor loss = Sum(h);
    b.Output("itself", Gradients(loss, {loss, h})[0]);
    b.Output("ones", Gradients(loss, {h})[0]);
  });
  EXPECT_THAT(results["slope"], ElementsAre(2, 8, 18, 32, 50, 72));
  EXPECT_THAT(results["curve"], ElementsAre(4, 16, 36, 64, 100, 144));
  EXPECT_THAT(results["itself"], ElementsAre(1));
  EXPECT_THAT(results["ones"], ElementsAre(1, 1, 1, 1, 1, 1));
}

// The body of a loop is not yet part of the function while it is built.
TEST(GradientPointsTest, ValuesOfABody) {
  auto results = RunOn([](Builder& b, const Tensor& x) {
    const Tensor twice = x * 2.0;
    auto slopes = [&](None, const Tensor& row) {
      const Tensor square = Square(row), same = Square(row);
      const std::vector<Tensor> g = Gradients(Sum(square * row) + Sum(same * 5.0), {square, same});
      return std::pair(None{}, Concat(g, 0));
    };
    b.Output("rows", Scan(None{}, x, slopes).second);
    // A value from around the body.
    auto outer = [&](const Tensor& sum, const Tensor& row) {
      return std::pair(sum + Sum(row * twice), None{});
    };
    const Tensor sum = Scan(b.Zeros(F32, {}), x, outer).first;
    b.Output("around", Gradients(sum, {twice})[0]);
  });
  EXPECT_THAT(results["rows"], ElementsAre(1, 2, 3, 5, 5, 5, 4, 5, 6, 5, 5, 5));
  EXPECT_THAT(results["around"], ElementsAre(5, 7, 9, 5, 7, 9));
}

TEST(GradientPointsTest, TouchedRowsOfABody) {
  Graph graph("rows");
  nn::Embedding words(10, 2, {.weight = nn::Constant(1.0)});
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    const Tensor ids = b.Input("ids", I32, {2, 2});
    auto step = [&](None, const Tensor& i) {
      const Tensor loss = Sum(words(i) * 3.0);
      optim::Sgd{.learning_rate = 1.0}.Minimize(loss,
                                                {.groups = {{.of = Glob("*"), .touched_rows_only = true}}});
      return std::pair(None{}, loss);
    };
    b.Output("losses", Scan(None{}, ids, step).second);
  });
  Session session = MustStart(graph);
  const HostTensor ids = *HostTensor::FromVector<int32_t>({2, 2}, {1, 4, 4, 4});
  EXPECT_THAT(Floats(session, "f", {{"ids", ids}}, "losses"), ElementsAre(12, -24));
  EXPECT_THAT(VariableFloats(session, "weight"),
              ElementsAre(1, 1, -2, -2, 1, 1, 1, 1, -8, -8, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1));
}

}  // namespace
}  // namespace sinter
