// Compares the gradients of every differentiable op with finite differences of the reference, in double.
#include <cmath>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/passes/passes.h"
#include "sinter/tests/numerics/op_cases.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::numerics {
namespace {

using reference::Value;

constexpr double kStep = 1e-6, kRelative = 1e-5, kAbsolute = 2e-6;
constexpr int64_t kLargest = 120;  // Most elements of an operand for a gradient check.

std::string AllDims(const Value& value) {
  std::string dims;
  for (size_t d = 0; d < value.shape.size(); ++d) dims += (d ? ", " : "") + std::to_string(d);
  return "[" + dims + "]";
}

bool IsReal(const std::string& type) { return ZerosOfText(type).is_real(); }

// An op as a scalar function: the sum of its results' elements, each times a weight that is an argument.
struct ScalarFunction {
  OpCase op;
  std::string arguments, body;  // `body` ends in %loss.
  std::vector<std::string> types;
  std::vector<size_t> wanted;  // Indices of the operands with gradients.

  explicit ScalarFunction(const OpCase& c) : op(c) {
    auto concrete = [](const std::string& text) { return Replace(Replace(text, "$T", "f64"), "$F", "f"); };
    op.functions = concrete(c.functions);
    for (size_t i = 0; i < c.operands.size(); ++i) {
      types.push_back(concrete(c.operands[i].type));
      arguments += (i ? ", %" : "%") + OperandName(i) + ": " + types.back();
      if (IsReal(types.back())) wanted.push_back(i);
    }
    body = "  " + concrete(c.body) + "\n";
    std::string sum;
    for (size_t i = 0; i < c.results.size(); ++i) {
      std::string type = concrete(c.results[i]), n = std::to_string(i);
      if (!IsReal(type)) continue;
      op.operands.push_back({type, -1, 1});
      types.push_back(type);
      arguments += ", %w" + n + ": " + type;
      body += "  %p" + n + " = sinter.mul " + ResultName(c, i) + ", %w" + n + " : " + type + "\n";
      body += "  %s" + n + " = sinter.sum %p" + n + " " + AllDims(ZerosOfText(type)) + " : " + type +
              " -> tensor<f64>\n";
      if (!sum.empty()) body += "  %t" + n + " = sinter.add " + sum + ", %s" + n + " : tensor<f64>\n";
      sum = sum.empty() ? "%s" + n : "%t" + n;
    }
    body += "  %zero = sinter.constant dense<0.0> : tensor<f64>\n  %loss = sinter.add " + sum +
            ", %zero : tensor<f64>\n";
  }

  // Returns the text "%gradient:2 = sinter.gradients ..." for `loss`.
  std::string Gradients(const std::string& name, const std::string& loss) const {
    std::string xs, ts;
    for (size_t i : wanted) {
      xs += (xs.empty() ? "%" : ", %") + OperandName(i);
      ts += (ts.empty() ? "" : ", ") + types[i];
    }
    return "  %" + name + ":" + std::to_string(wanted.size()) + " = sinter.gradients " + loss + " wrt " + xs +
           " : (tensor<f64>, " + ts + ") -> (" + ts + ")\n";
  }
  std::string Return(const std::string& name) const {
    std::string values, ts;
    for (size_t k = 0; k < wanted.size(); ++k) {
      values += (k ? ", %" : "%") + name + "#" + std::to_string(k);
      ts += (k ? ", " : "") + types[wanted[k]];
    }
    return "  return " + values + " : " + ts + "\n}\n";
  }
  std::string ResultTypes() const {
    std::string ts;
    for (size_t k = 0; k < wanted.size(); ++k) ts += (k ? ", " : "") + types[wanted[k]];
    return "(" + ts + ")";
  }
  std::string Module() const {
    return "func.func @loss(" + arguments + ") -> tensor<f64> {\n" + body +
           "  return %loss : tensor<f64>\n}\n" + "func.func @gradient(" + arguments + ") -> " +
           ResultTypes() + " {\n" + body + Gradients("gradient", "%loss") + Return("gradient") + op.functions;
  }
  // Returns a module for a second-order gradient: the loss is the sum of the squares of the first operand's
  // gradient.
  std::string SecondOrderModule() const {
    std::string x = types[wanted[0]];
    std::string inner =
        body + Gradients("gradient", "%loss") + "  %squares = sinter.square %gradient#0 : " + x +
        "\n  %inner = sinter.sum %squares " + AllDims(ZerosOfText(x)) + " : " + x + " -> tensor<f64>\n";
    return "func.func @loss(" + arguments + ") -> tensor<f64> {\n" + inner +
           "  return %inner : tensor<f64>\n}\n" + "func.func @gradient(" + arguments + ") -> " +
           ResultTypes() + " {\n" + inner + Gradients("second", "%inner") + Return("second") + op.functions;
  }
};

class GradientTest : public ::testing::Test {
 protected:
  GradientTest() {
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    context_.appendDialectRegistry(registry);
    context_.loadAllAvailableDialects();
  }

  void Check(const ScalarFunction& f, const std::string& text) {
    SCOPED_TRACE(f.op.name + "\n" + text);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    ASSERT_TRUE(module) << "does not parse";
    mlir::PassManager manager(&context_);
    manager.addNestedPass<mlir::func::FuncOp>(createDifferentiate());
    ASSERT_TRUE(mlir::succeeded(manager.run(*module))) << "does not differentiate";
    auto loss = module->lookupSymbol<mlir::func::FuncOp>("loss");
    std::vector<Value> inputs = MakeOperands(f.op, "f64", 7);
    auto gradients =
        reference::EvaluateFunction(module->lookupSymbol<mlir::func::FuncOp>("gradient"), inputs);
    ASSERT_TRUE(gradients.ok()) << gradients.status();
    for (size_t k = 0; k < f.wanted.size(); ++k) {
      Value& x = inputs[f.wanted[k]];
      for (size_t i = 0; i < x.reals.size(); ++i) {
        double want = Slope(loss, inputs, x.reals[i]), got = (*gradients)[k].reals[i];
        ASSERT_LE(std::fabs(got - want), kRelative * std::fabs(want) + kAbsolute)
            << "operand " << f.wanted[k] << ", element " << i << " at " << x.reals[i] << ": the gradient is "
            << got << ", the slope " << want;
      }
    }
  }

  // Returns the central difference with respect to `element`, which is an element of `inputs`.
  static double Slope(mlir::func::FuncOp loss, const std::vector<Value>& inputs, double& element) {
    double x = element, values[2];
    for (int side : {0, 1}) {
      element = side ? x + kStep : x - kStep;
      values[side] = (*reference::EvaluateFunction(loss, inputs))[0].reals[0];
    }
    element = x;
    return (values[1] - values[0]) / (2 * kStep);
  }

  static bool IsChecked(const OpCase& c) {
    if (!c.has_gradient || c.special_values || c.dtypes.find("f64") == std::string::npos) return false;
    bool any_result = false, any_operand = false;
    for (const std::string& type : c.results) any_result |= IsReal(Replace(type, "$T", "f64"));
    for (const OperandCase& operand : c.operands) {
      Value value = ZerosOfText(Replace(operand.type, "$T", "f64"));
      if (value.size() > kLargest) return false;
      any_operand |= value.is_real();
    }
    return any_result && any_operand;
  }

  mlir::MLIRContext context_;
};

TEST_F(GradientTest, AgreesWithFiniteDifferences) {
  int checked = 0;
  for (const OpCase& c : AllOpCases()) {
    if (!IsChecked(c)) continue;
    ScalarFunction f(c);
    Check(f, f.Module());
    ++checked;
  }
  EXPECT_GT(checked, 200);
}

TEST_F(GradientTest, OfGradientsAgreesWithFiniteDifferences) {
  const std::set<std::string> names = {"exp_7x",
                                       "log_7x",
                                       "sqrt_7x",
                                       "rsqrt_7x",
                                       "reciprocal_7x",
                                       "sin_7x",
                                       "tanh_7x",
                                       "sigmoid_7x",
                                       "silu_7x",
                                       "softplus_7x",
                                       "log_sigmoid_7x",
                                       "gelu_7x",
                                       "gelu_tanh_7x",
                                       "erf_7x",
                                       "mul_7x",
                                       "div_7x",
                                       "pow_7x",
                                       "atan2_7x",
                                       "softmax_last",
                                       "matmul_plain",
                                       "conv2d_padded",
                                       "layer_norm_rows",
                                       "sum_middle",
                                       "logsumexp_middle",
                                       "log_softmax_last",
                                       "prod_middle",
                                       "norm_middle",
                                       "softmax_cross_entropy_matrix_mean_i32",
                                       "batch_norm_training_last",
                                       "avg_pool2d_padded",
                                       "cumsum_rows",
                                       "take_along",
                                       "gather"};
  size_t checked = 0;
  for (const OpCase& c : AllOpCases()) {
    if (names.count(c.name) == 0 || !IsChecked(c)) continue;
    ScalarFunction f(c);
    Check(f, f.SecondOrderModule());
    ++checked;
  }
  EXPECT_EQ(checked, names.size());
}

// A case without a unique slope, with the gradient that the op record specifies.
struct Convention {
  const char* name;
  const char* body;
  std::vector<double> x, gradient;
};

TEST_F(GradientTest, FollowsTheRecordsWhereThereIsNoSlope) {
  const Convention conventions[] = {
      {"relu at 0", "%r = sinter.relu %a : tensor<2xf64>", {0, -0.0}, {0, 0}},
      {"abs at 0", "%r = sinter.abs %a : tensor<2xf64>", {0, 3}, {0, 1}},
      {"maximum splits a tie", "%r = sinter.maximum %a, %a : tensor<2xf64>", {1, 2}, {1, 1}},
      {"norm at 0",
       "%0 = sinter.norm %a [0] : tensor<2xf64> -> tensor<f64>\n"
       "  %r = sinter.broadcast %0 [] : tensor<f64> -> tensor<2xf64>",
       {0, 0},
       {0, 0}},
      {"max shares a tie",
       "%0 = sinter.max %a [0] : tensor<2xf64> -> tensor<f64>\n"
       "  %r = sinter.broadcast %0 [] : tensor<f64> -> tensor<2xf64>",
       {4, 4},
       {1, 1}},
      {"prod with one zero",
       "%0 = sinter.prod %a [0] : tensor<2xf64> -> tensor<f64>\n"
       "  %r = sinter.broadcast %0 [] : tensor<f64> -> tensor<2xf64>",
       {0, 4},
       {8, 0}},
      {"prod with two zeros",
       "%0 = sinter.prod %a [0] : tensor<2xf64> -> tensor<f64>\n"
       "  %r = sinter.broadcast %0 [] : tensor<f64> -> tensor<2xf64>",
       {0, 0},
       {0, 0}},
      {"pow of 0 to 0",
       "%0 = sinter.constant dense<[2.0, 1.0]> : tensor<2xf64>\n"
       "  %r = sinter.pow %a, %0 : tensor<2xf64>",
       {0, 0},
       {0, 1}},
      {"clamp outside",
       "%r = sinter.clamp %a {low = 0.0 : f64, high = 1.0 : f64} : tensor<2xf64>",
       {2, 0.5},
       {0, 1}},
      {"stop_gradient",
       "%0 = sinter.stop_gradient %a : tensor<2xf64>\n  %r = sinter.mul %0, %a : tensor<2xf64>",
       {2, 3},
       {2, 3}},
  };
  for (const Convention& c : conventions) {
    OpCase op{c.name, OpClass::kExact, c.body, {{"tensor<2xf64>"}}, {"tensor<2xf64>"}, "f64"};
    ScalarFunction f(op);
    auto module = mlir::parseSourceString<mlir::ModuleOp>(f.Module(), &context_);
    ASSERT_TRUE(module) << c.name;
    mlir::PassManager manager(&context_);
    manager.addNestedPass<mlir::func::FuncOp>(createDifferentiate());
    ASSERT_TRUE(mlir::succeeded(manager.run(*module))) << c.name;
    auto gradient =
        reference::EvaluateFunction(module->lookupSymbol<mlir::func::FuncOp>("gradient"),
                                    {Value{DType::kF64, {2}, c.x, {}}, Value{DType::kF64, {2}, {1, 1}, {}}});
    ASSERT_TRUE(gradient.ok()) << c.name << gradient.status();
    EXPECT_THAT((*gradient)[0].reals, ::testing::ElementsAreArray(c.gradient)) << c.name;
  }
}

// Every op that has a gradient, and can pass one from floats to floats, must be in the table.
TEST_F(GradientTest, EveryDifferentiableOpHasACase) {
  std::string texts;
  for (const OpCase& c : AllOpCases()) texts += IsChecked(c) ? c.body + "\n" : "";
  for (mlir::RegisteredOperationName op : context_.getRegisteredOperations()) {
    if (!op.hasInterface<ir::DifferentiableInterface>()) continue;
    std::string name = op.getStringRef().str();
    if (name == "sinter.any" || name == "sinter.all" || name == "sinter.stop_gradient")
      continue;  // No gradient flows.
    // Nor does one flow to the integers of these.
    if (name.rfind("sinter.bitwise_", 0) == 0 || name.rfind("sinter.shift_", 0) == 0) continue;
    // It has no f64: quantization_test compares its gradients with those of the dense matrix.
    if (name == "sinter.quantized_matmul") continue;
    // It rounds to 8 bits: float8_products_test compares its gradients with products of rounded operands.
    if (name == "sinter.float8_matmul") continue;
    EXPECT_NE(texts.find(name + " "), std::string::npos) << name << " has no gradient case in op_cases.h";
  }
}

}  // namespace
}  // namespace sinter::numerics
