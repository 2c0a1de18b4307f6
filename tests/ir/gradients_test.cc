// Compares every gradient with central differences, in f64.
#include <gmock/gmock.h>

#include <cmath>

#include "mlir/IR/Verifier.h"
#include "sinter/tests/ir/interpreter.h"
#include "sinter/tests/ir/program_text.h"

namespace sinter::ir {
namespace {

using Numbers = std::vector<double>;

struct Case {
  std::string name;
  // One op over %a, %b, %c. The test differentiates with respect to the arguments of float types.
  std::string op;
  std::vector<std::string> types;
  std::vector<Numbers> arguments;
};

class GradientsTest : public ProgramText {
 protected:
  // The loss is the sum of the result's elements, each times a fixed weight of its own.
  static double Weight(size_t i) { return 1 + 0.37 * static_cast<double>(i); }

  void Check(const Case& c) {
    std::string text = "func.func @f(";
    for (size_t i = 0; i < c.types.size(); ++i) {
      text +=
          (i > 0 ? ", %" : "%") + std::string(1, static_cast<char>('a' + i)) + ": tensor<" + c.types[i] + ">";
    }
    mlir::func::FuncOp function = Parse(text + ") {\n %r = " + c.op + "\n return\n}");
    ASSERT_TRUE(function);
    mlir::Operation* op = &function.front().front();
    mlir::Value result = op->getResult(0);
    mlir::OpBuilder builder(function.front().getTerminator());
    GraphBuilder b(builder, op->getLoc());
    function.insertArgument(c.types.size(), result.getType(), {}, op->getLoc());
    Expr g = b.wrap(function.getArgument(c.types.size()));
    llvm::SmallVector<Expr> gradients = llvm::cast<DifferentiableInterface>(op).buildGradient(b, {g});
    ASSERT_EQ(gradients.size(), op->getNumOperands());
    ASSERT_TRUE(succeeded(mlir::verify(function)));

    Numbers weights(g.type().getNumElements());
    for (size_t i = 0; i < weights.size(); ++i) weights[i] = Weight(i);
    for (size_t operand = 0; operand < gradients.size(); ++operand) {
      bool is_float = c.types[operand].ends_with("f64");
      ASSERT_EQ(static_cast<bool>(gradients[operand]), is_float) << "operand " << operand;
      if (!is_float) continue;
      EXPECT_EQ(gradients[operand].value.getType(), op->getOperand(operand).getType());
      Interpreter run(&context_);
      for (size_t i = 0; i < c.arguments.size(); ++i) run.Set(function.getArgument(i), c.arguments[i]);
      run.Set(g.value, weights);
      Numbers got = run.Get(gradients[operand].value), want = Differences(c, function, result, operand);
      ASSERT_EQ(got.size(), want.size());
      for (size_t i = 0; i < got.size(); ++i)
        EXPECT_NEAR(got[i], want[i], 1e-6 * (1 + std::abs(want[i]))) << i;
    }
  }

  Numbers Differences(const Case& c, mlir::func::FuncOp function, mlir::Value result, size_t operand) {
    constexpr double kStep = 1e-6;
    auto loss = [&](size_t i, double change) {
      Interpreter run(&context_);
      for (size_t k = 0; k < c.arguments.size(); ++k) {
        Numbers values = c.arguments[k];
        if (k == operand) values[i] += change;
        run.Set(function.getArgument(k), values);
      }
      double total = 0;
      const Numbers& elements = run.Get(result);
      for (size_t e = 0; e < elements.size(); ++e) total += elements[e] * Weight(e);
      return total;
    };
    Numbers slopes;
    for (size_t i = 0; i < c.arguments[operand].size(); ++i) {
      slopes.push_back((loss(i, kStep) - loss(i, -kStep)) / (2 * kStep));
    }
    return slopes;
  }
};

const Numbers kSix = {0.5, -1.25, 2.0, 0.75, -0.3, 1.1};

TEST_F(GradientsTest, Shape) {
  const std::vector<Case> cases = {
      {"reshape", "sinter.reshape %a : tensor<2x3xf64> -> tensor<3x2xf64>", {"2x3xf64"}, {kSix}},
      {"transpose",
       "sinter.transpose %a [2, 0, 1] : tensor<1x2x3xf64> -> tensor<3x1x2xf64>",
       {"1x2x3xf64"},
       {kSix}},
      {"broadcast new", "sinter.broadcast %a [1] : tensor<3xf64> -> tensor<2x3xf64>", {"3xf64"}, {{1, 2, 3}}},
      {"broadcast repeated",
       "sinter.broadcast %a [0, 2] : tensor<2x1xf64> -> tensor<2x2x3xf64>",
       {"2x1xf64"},
       {{1, 2}}},
      {"broadcast unit",
       "sinter.broadcast %a [0, 1] : tensor<1x2xf64> -> tensor<1x2xf64>",
       {"1x2xf64"},
       {{1, 2}}},
      {"broadcast permuted",
       "sinter.broadcast %a [2, 0] : tensor<3x2xf64> -> tensor<2x2x3xf64>",
       {"3x2xf64"},
       {kSix}},
      {"broadcast scalar", "sinter.broadcast %a [] : tensor<f64> -> tensor<2x3xf64>", {"f64"}, {{4}}},
      {"slice", "sinter.slice %a [1] [6] [3] : tensor<6xf64> -> tensor<2xf64>", {"6xf64"}, {kSix}},
      {"slice of nothing", "sinter.slice %a [2] [2] [1] : tensor<6xf64> -> tensor<0xf64>", {"6xf64"}, {kSix}},
      {"concat",
       "sinter.concat %a, %b dim 1 : (tensor<2x1xf64>, tensor<2x2xf64>) -> tensor<2x3xf64>",
       {"2x1xf64", "2x2xf64"},
       {{1, 2}, {3, 4, 5, 6}}},
      {"pad",
       "sinter.pad %a value 2.0 low [1, 0] high [0, 2] interior [0, 1] : tensor<2x3xf64> -> tensor<3x7xf64>",
       {"2x3xf64"},
       {kSix}},
      {"reverse", "sinter.reverse %a [0, 1] : tensor<2x3xf64>", {"2x3xf64"}, {kSix}},
      {"gather",
       "sinter.gather %a[%b] dim 1 : tensor<2x3xf64>, tensor<4xi64> -> tensor<2x4xf64>",
       {"2x3xf64", "4xi64"},
       {kSix, {2, 2, -1, 7}}},
      {"take_along",
       "sinter.take_along %a[%b] dim 0 : tensor<3x2xf64>, tensor<2x2xi32> -> tensor<2x2xf64>",
       {"3x2xf64", "2x2xi32"},
       {kSix, {2, 9, 2, -4}}},
      {"take_along last",
       "sinter.take_along %a[%b] dim 1 : tensor<2x3xf64>, tensor<2x2xi64> -> tensor<2x2xf64>",
       {"2x3xf64", "2x2xi64"},
       {kSix, {1, 1, 0, 2}}},
      {"scatter_add",
       "sinter.scatter_add %a[%b], %c dim 0 : tensor<2x2xf64>, tensor<3xi64>, tensor<3x2xf64>",
       {"2x2xf64", "3xi64", "3x2xf64"},
       {{1, 2, 3, 4}, {1, -1, 1}, kSix}},
      {"scatter set",
       "sinter.scatter set %a[%b], %c dim 0 : tensor<2x2xf64>, tensor<3xi64>, tensor<3x2xf64>",
       {"2x2xf64", "3xi64", "3x2xf64"},
       {{1, 2, 3, 4}, {1, -1, 1}, kSix}},
      {"scatter max",
       "sinter.scatter max %a[%b], %c dim 1 : tensor<2x3xf64>, tensor<2xi32>, tensor<2x2xf64>",
       {"2x3xf64", "2xi32", "2x2xf64"},
       {{1, 2.5, 3, 4, 5, 6}, {1, 1}, {2, 3, 5.5, 4.5}}},
      {"scatter min",
       "sinter.scatter min %a[%b], %c dim 0 : tensor<4xf64>, tensor<4xi32>, tensor<4xf64>",
       {"4xf64", "4xi32", "4xf64"},
       {{1, 2.5, 3, 4}, {1, 1, 0, 7}, {2, 3, 5.5, 4.5}}},
      {"scatter mul",
       "sinter.scatter mul %a[%b], %c dim 0 : tensor<5xf64>, tensor<7xi32>, tensor<7xf64>",
       {"5xf64", "7xi32", "7xf64"},
       {{1, 2.5, 3, 4, 0}, {1, 1, 0, 7, 3, 2, 2}, {2, 3, 0, 4.5, -2, 0, 0}}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Check(c);
  }
}

TEST_F(GradientsTest, Reductions) {
  const std::vector<Case> cases = {
      {"sum", "sinter.sum %a [0] : tensor<2x3xf64> -> tensor<3xf64>", {"2x3xf64"}, {kSix}},
      {"sum of all", "sinter.sum %a [0, 1] : tensor<2x3xf64> -> tensor<f64>", {"2x3xf64"}, {kSix}},
      {"prod", "sinter.prod %a [1] : tensor<2x3xf64> -> tensor<2xf64>", {"2x3xf64"}, {kSix}},
      {"prod with a zero",
       "sinter.prod %a [1] : tensor<2x3xf64> -> tensor<2xf64>",
       {"2x3xf64"},
       {{0, 2, 3, 4, 0, 5}}},
      {"prod with two zeros", "sinter.prod %a [0] : tensor<3xf64> -> tensor<f64>", {"3xf64"}, {{0, 2, 0}}},
      {"max", "sinter.max %a [1] : tensor<2x3xf64> -> tensor<2xf64>", {"2x3xf64"}, {kSix}},
      {"min", "sinter.min %a [0, 1] : tensor<2x3xf64> -> tensor<f64>", {"2x3xf64"}, {kSix}},
      // At a tie of two, a central difference measures half of the slope.
      {"max tied", "sinter.max %a [0] : tensor<3xf64> -> tensor<f64>", {"3xf64"}, {{1, 3, 3}}},
      {"cumsum", "sinter.cumsum %a dim 1 : tensor<2x3xf64>", {"2x3xf64"}, {kSix}},
      {"cumsum reverse", "sinter.cumsum %a dim 0 {reverse} : tensor<2x3xf64>", {"2x3xf64"}, {kSix}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Check(c);
  }
}

TEST_F(GradientsTest, PointwiseOfOne) {
  for (const char* op :
       {"sigmoid", "relu",       "silu",  "softplus", "log_sigmoid", "gelu", "gelu_tanh", "neg",
        "abs",     "exp",        "expm1", "square",   "sin",         "cos",  "tan",       "tanh",
        "erf",     "reciprocal", "exp2",  "atan",     "sinh",        "cosh", "asinh"}) {
    SCOPED_TRACE(op);
    Check({op, "sinter." + std::string(op) + " %a : tensor<6xf64>", {"6xf64"}, {kSix}});
  }
  for (const char* op : {"log", "log1p", "sqrt", "rsqrt", "log2", "log10"}) {
    SCOPED_TRACE(op);
    Check({op, "sinter." + std::string(op) + " %a : tensor<3xf64>", {"3xf64"}, {{0.25, 1, 3.5}}});
  }
  for (const char* op : {"sinter.leaky_relu %a {alpha = 0.1 : f64}", "sinter.elu %a {alpha = 1.5 : f64}",
                         "sinter.clamp %a {low = -0.5 : f64, high = 1.0 : f64}"}) {
    SCOPED_TRACE(op);
    Check({op, op + std::string(" : tensor<6xf64>"), {"6xf64"}, {kSix}});
  }
}

TEST_F(GradientsTest, PointwiseOfSeveral) {
  const Numbers y = {1.5, 0.8, -2.2, 3.1, 1.9, -0.4};
  for (const char* op : {"add", "sub", "mul", "div", "maximum", "minimum", "atan2", "rem"}) {
    SCOPED_TRACE(op);
    Check({op, "sinter." + std::string(op) + " %a, %b : tensor<6xf64>", {"6xf64", "6xf64"}, {kSix, y}});
  }
  Check({"pow", "sinter.pow %a, %b : tensor<3xf64>", {"3xf64", "3xf64"}, {{0.5, 2, 3}, {2, -1.5, 0}}});
  Check({"tie", "sinter.maximum %a, %b : tensor<1xf64>", {"1xf64", "1xf64"}, {{2}, {2}}});
  Check({"select",
         "sinter.select %a, %b, %c : tensor<2xi1>, tensor<2xf64>",
         {"2xi1", "2xf64", "2xf64"},
         {{0, 1}, {1, 2}, {3, 4}}});
}

TEST_F(GradientsTest, PowAtZeroHasNoNan) {
  mlir::func::FuncOp function = Parse(
      "func.func @f(%x: tensor<2xf64>, %y: tensor<2xf64>, %g: tensor<2xf64>) {\n"
      " %r = sinter.pow %x, %y : tensor<2xf64>\n return\n}");
  auto pow = llvm::cast<PowOp>(function.front().front());
  mlir::OpBuilder builder(function.front().getTerminator());
  GraphBuilder b(builder, pow.getLoc());
  llvm::SmallVector<Expr> gradients = pow.buildGradient(b, {b.wrap(function.getArgument(2))});
  Interpreter run(&context_);
  run.Set(function.getArgument(0), {0, 0});
  run.Set(function.getArgument(1), {0, 2});
  run.Set(function.getArgument(2), {1, 1});
  EXPECT_THAT(run.Get(gradients[0].value), testing::ElementsAre(0, 0));
  EXPECT_THAT(run.Get(gradients[1].value), testing::ElementsAre(0, 0));
}

}  // namespace
}  // namespace sinter::ir
