// Programs with matmuls of uneven sizes, their gradients included, give the same results with padded matmuls:
// the reference evaluates them before and after the pass.
#include <random>

#include "gtest/gtest.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/passes/passes.h"
#include "sinter/tests/numerics/comparison.h"
#include "sinter/tests/numerics/op_cases.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::numerics {
namespace {

using mlir::func::FuncOp;
using reference::Value;

// In all programs $T is the element type and $M the math of products.

// A loss over classes, with the gradients of the logits' operands and of a bias.
constexpr char kHead[] = R"(
func.func @f(%x: tensor<12x5x$T>, %w: tensor<11x5x$T>, %b: tensor<11x$T>)
    -> (tensor<12xf32>, tensor<12x5x$T>, tensor<11x5x$T>, tensor<11x$T>) {
  %l = sinter.matmul %x, %w math $M {transpose_b} : (tensor<12x5x$T>, tensor<11x5x$T>) -> tensor<12x11x$T>
  %bb = sinter.broadcast %b [1] : tensor<11x$T> -> tensor<12x11x$T>
  %lb = sinter.add %l, %bb : tensor<12x11x$T>
  %y = sinter.iota 0 : tensor<12xi32>
  %two = sinter.constant dense<2> : tensor<12xi32>
  %label = sinter.sub %y, %two : tensor<12xi32>
  %each = sinter.softmax_cross_entropy none %lb, %label : tensor<12x11x$T>, tensor<12xi32> -> tensor<12x$T>
  %wide = sinter.cast %each : tensor<12x$T> -> tensor<12xf32>
  %part = sinter.slice %wide [2] [12] [1] : tensor<12xf32> -> tensor<10xf32>
  %loss = sinter.sum %part [0] : tensor<10xf32> -> tensor<f32>
  %d:3 = sinter.gradients %loss wrt %x, %w, %b : (tensor<f32>, tensor<12x5x$T>, tensor<11x5x$T>, tensor<11x$T>)
    -> (tensor<12x5x$T>, tensor<11x5x$T>, tensor<11x$T>)
  return %wide, %d#0, %d#1, %d#2 : tensor<12xf32>, tensor<12x5x$T>, tensor<11x5x$T>, tensor<11x$T>
}
)";

// Attention of 7 queries to 11 keys, a batch of products, written by hand.
constexpr char kAttention[] = R"(
func.func @f(%q: tensor<2x3x7x5x$T>, %k: tensor<2x3x11x5x$T>, %v: tensor<2x3x11x5x$T>)
    -> (tensor<2x3x7x5x$T>, tensor<2x3x7x5x$T>, tensor<2x3x11x5x$T>, tensor<2x3x11x5x$T>) {
  %s = sinter.matmul %q, %k math $M {transpose_b} : (tensor<2x3x7x5x$T>, tensor<2x3x11x5x$T>) -> tensor<2x3x7x11x$T>
  %i = sinter.iota 2 : tensor<2x3x7x11xi32>
  %j = sinter.iota 3 : tensor<2x3x7x11xi32>
  %seen = sinter.compare ge %i, %j : tensor<2x3x7x11xi32> -> tensor<2x3x7x11xi1>
  %low = sinter.constant dense<-30.0> : tensor<2x3x7x11x$T>
  %m = sinter.select %seen, %s, %low : tensor<2x3x7x11xi1>, tensor<2x3x7x11x$T>
  %p = sinter.softmax %m dim 3 : tensor<2x3x7x11x$T> -> tensor<2x3x7x11x$T>
  %o = sinter.matmul %p, %v math $M : (tensor<2x3x7x11x$T>, tensor<2x3x11x5x$T>) -> tensor<2x3x7x5x$T>
  %wide = sinter.cast %o : tensor<2x3x7x5x$T> -> tensor<2x3x7x5xf32>
  %squares = sinter.square %wide : tensor<2x3x7x5xf32>
  %loss = sinter.sum %squares [0, 1, 2, 3] : tensor<2x3x7x5xf32> -> tensor<f32>
  %d:3 = sinter.gradients %loss wrt %q, %k, %v
    : (tensor<f32>, tensor<2x3x7x5x$T>, tensor<2x3x11x5x$T>, tensor<2x3x11x5x$T>)
    -> (tensor<2x3x7x5x$T>, tensor<2x3x11x5x$T>, tensor<2x3x11x5x$T>)
  return %o, %d#0, %d#1, %d#2
    : tensor<2x3x7x5x$T>, tensor<2x3x7x5x$T>, tensor<2x3x11x5x$T>, tensor<2x3x11x5x$T>
}
)";

// Two layers with a norm before each, a sigmoid, which is not 0 at 0, a product of a product, and reshapes.
constexpr char kLayers[] = R"(
func.func @f(%x: tensor<3x5x11x$T>, %w: tensor<11x13x$T>, %v: tensor<13x11x$T>, %u: tensor<11x7x$T>, %g: tensor<11x$T>)
    -> (tensor<3x5x7x$T>, tensor<3x5x11x$T>, tensor<11x13x$T>, tensor<13x11x$T>, tensor<11x7x$T>, tensor<11x$T>, tensor<3x5xi64>) {
  %n = sinter.rms_norm %x, %g {epsilon = 1.0e-5 : f64} : (tensor<3x5x11x$T>, tensor<11x$T>) -> tensor<3x5x11x$T>
  %r = sinter.reshape %n : tensor<3x5x11x$T> -> tensor<15x11x$T>
  %h = sinter.matmul %r, %w math $M : (tensor<15x11x$T>, tensor<11x13x$T>) -> tensor<15x13x$T>
  %a = sinter.sigmoid %h : tensor<15x13x$T>
  %o = sinter.matmul %a, %v math $M : (tensor<15x13x$T>, tensor<13x11x$T>) -> tensor<15x11x$T>
  %back = sinter.reshape %o : tensor<15x11x$T> -> tensor<3x5x11x$T>
  %sum = sinter.add %x, %back : tensor<3x5x11x$T>
  %n2 = sinter.rms_norm %sum, %g {epsilon = 1.0e-5 : f64} : (tensor<3x5x11x$T>, tensor<11x$T>) -> tensor<3x5x11x$T>
  %best = sinter.argmax %n2 dim 2 : tensor<3x5x11x$T> -> tensor<3x5xi64>
  %r2 = sinter.reshape %n2 : tensor<3x5x11x$T> -> tensor<15x11x$T>
  %z = sinter.matmul %r2, %u math $M : (tensor<15x11x$T>, tensor<11x7x$T>) -> tensor<15x7x$T>
  %z3 = sinter.reshape %z : tensor<15x7x$T> -> tensor<3x5x7x$T>
  %wide = sinter.cast %z3 : tensor<3x5x7x$T> -> tensor<3x5x7xf32>
  %e = sinter.exp %wide : tensor<3x5x7xf32>
  %loss = sinter.sum %e [0, 1, 2] : tensor<3x5x7xf32> -> tensor<f32>
  %d:5 = sinter.gradients %loss wrt %x, %w, %v, %u, %g
    : (tensor<f32>, tensor<3x5x11x$T>, tensor<11x13x$T>, tensor<13x11x$T>, tensor<11x7x$T>, tensor<11x$T>)
    -> (tensor<3x5x11x$T>, tensor<11x13x$T>, tensor<13x11x$T>, tensor<11x7x$T>, tensor<11x$T>)
  return %z3, %d#0, %d#1, %d#2, %d#3, %d#4, %best
    : tensor<3x5x7x$T>, tensor<3x5x11x$T>, tensor<11x13x$T>, tensor<13x11x$T>, tensor<11x7x$T>, tensor<11x$T>, tensor<3x5xi64>
}
)";

// All forms of a product with a bias, an addend, or an activation; results that the program returns.
constexpr char kForms[] = R"(
func.func @f(%a: tensor<7x9x$T>, %at: tensor<9x7x$T>, %b: tensor<9x11x$T>, %bt: tensor<11x9x$T>, %c: tensor<11x$T>, %d: tensor<7x11x$T>)
    -> (tensor<7x11x$T>, tensor<7x11x$T>, tensor<7x11x$T>, tensor<7x11xf32>, tensor<7x$T>, tensor<7x$T>) {
  %nn = sinter.matmul %a, %b bias %c activation gelu_tanh math $M
    : (tensor<7x9x$T>, tensor<9x11x$T>, tensor<11x$T>) -> tensor<7x11x$T>
  %nt = sinter.matmul %a, %bt addend %d math $M {transpose_b}
    : (tensor<7x9x$T>, tensor<11x9x$T>, tensor<7x11x$T>) -> tensor<7x11x$T>
  %tn = sinter.matmul %at, %b bias %c activation sigmoid math $M {transpose_a}
    : (tensor<9x7x$T>, tensor<9x11x$T>, tensor<11x$T>) -> tensor<7x11x$T>
  %tt = sinter.matmul %at, %bt math $M {transpose_a, transpose_b} : (tensor<9x7x$T>, tensor<11x9x$T>) -> tensor<7x11xf32>
  %least = sinter.min %nn [1] : tensor<7x11x$T> -> tensor<7x$T>
  %product = sinter.prod %tn [1] : tensor<7x11x$T> -> tensor<7x$T>
  return %nn, %nt, %tn, %tt, %least, %product
    : tensor<7x11x$T>, tensor<7x11x$T>, tensor<7x11x$T>, tensor<7x11xf32>, tensor<7x$T>, tensor<7x$T>
}
)";

struct Case {
  const char* name;
  const char* text;
};

class PadProductsTest : public ::testing::TestWithParam<std::tuple<Case, std::string>> {
 protected:
  PadProductsTest() : context_(Registry(), mlir::MLIRContext::Threading::DISABLED) {
    context_.loadAllAvailableDialects();
  }
  static mlir::DialectRegistry Registry() {
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    return registry;
  }

  // Runs the passes up to this one, and this one if `pads`.
  mlir::OwningOpRef<mlir::ModuleOp> Prepared(const std::string& text, bool pads) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    if (!module) return module;
    mlir::PassManager manager(&context_);
    manager.addNestedPass<FuncOp>(createDifferentiate());
    manager.addNestedPass<FuncOp>(createDecompose());
    manager.addPass(createPropagatePlacement({.device = "gpu:0"}));
    manager.addNestedPass<FuncOp>(mlir::createCanonicalizerPass());
    manager.addNestedPass<FuncOp>(mlir::createCSEPass());
    if (pads) manager.addNestedPass<FuncOp>(createPadProducts({.always = true}));
    manager.addNestedPass<FuncOp>(mlir::createCanonicalizerPass());
    EXPECT_TRUE(mlir::succeeded(manager.run(*module)));
    return module;
  }

  static std::vector<Value> Inputs(FuncOp function) {
    std::mt19937 random(5);
    std::uniform_real_distribution<double> uniform(-1, 1);
    std::vector<Value> inputs;
    for (mlir::Type type : function.getArgumentTypes()) {
      inputs.push_back(reference::ZerosOf(type));
      // Numbers that bf16 has too.
      for (double& real : inputs.back().reals) real = std::round(uniform(random) * 64) / 64;
    }
    return inputs;
  }

  mlir::MLIRContext context_;
};

bool HasUnevenRows(mlir::Value value) {
  const mlir::RankedTensorType type = ir::TypeOf(value);
  return type.getShape().back() * ir::ElementBytes(type.getElementType()) % 16 != 0;
}

TEST_P(PadProductsTest, PaddingKeepsTheMeaning) {
  const auto& [program, type] = GetParam();
  const std::string text = Replace(Replace(program.text, "$T", type), "$M", type == "f32" ? "tf32" : "ieee");
  auto plain = Prepared(text, false), padded = Prepared(text, true);
  ASSERT_TRUE(plain && padded) << text;
  int products = 0;
  padded->walk([&](ir::MatmulOp op) {
    ++products;
    for (mlir::Value value : {mlir::Value(op.getA()), mlir::Value(op.getB()), mlir::Value(op.getResult())}) {
      EXPECT_FALSE(HasUnevenRows(value)) << ir::stringifyMathMode(op.getMath()).str();
    }
  });
  EXPECT_GT(products, 0);
  auto plain_function = plain->lookupSymbol<FuncOp>("f"), padded_function = padded->lookupSymbol<FuncOp>("f");
  const std::vector<Value> inputs = Inputs(plain_function);
  auto want = reference::EvaluateFunction(plain_function, inputs, {.keep_double = true});
  auto got = reference::EvaluateFunction(padded_function, inputs, {.keep_double = true});
  ASSERT_TRUE(want.ok()) << want.status();
  ASSERT_TRUE(got.ok()) << got.status();
  ASSERT_EQ(got->size(), want->size());
  for (size_t i = 0; i < want->size(); ++i) {
    EXPECT_EQ(Disagreement((*got)[i], (*want)[i], OpClass::kTranscendental), "") << "result " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, PadProductsTest,
                         ::testing::Combine(::testing::Values(Case{"head", kHead},
                                                              Case{"attention", kAttention},
                                                              Case{"layers", kLayers}, Case{"forms", kForms}),
                                            ::testing::Values("bf16", "f16", "f32")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + "_" + std::get<1>(info.param);
                         });

}  // namespace
}  // namespace sinter::numerics
