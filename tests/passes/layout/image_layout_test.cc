// A network and its gradients give the same results in every image layout.
#include <random>

#include "gtest/gtest.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/passes/passes.h"
#include "sinter/tests/numerics/comparison.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::numerics {
namespace {

using mlir::func::FuncOp;
using reference::Value;

// Bias, batch statistics, relu, both pools, a residual, ops along one dimension, and ops that cut the batch.
constexpr char kNetwork[] = R"(
func.func @f(%x: tensor<32x2x6x7xf32>, %w: tensor<3x2x3x3xf32>, %b: tensor<3xf32>, %v: tensor<3x3x2x2xf32>)
    -> (tensor<f32>, tensor<32x2x6x7xf32>, tensor<3x2x3x3xf32>, tensor<3xf32>, tensor<3x3x2x2xf32>,
        tensor<32x3x3xi64>, tensor<31x3x3x3xf32>) {
  %y = sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<32x2x6x7xf32>, tensor<3x2x3x3xf32>) -> tensor<32x3x6x7xf32>
  %bb = sinter.broadcast %b [1] : tensor<3xf32> -> tensor<32x3x6x7xf32>
  %yb = sinter.add %y, %bb : tensor<32x3x6x7xf32>
  %mean = sinter.sum %yb [0, 2, 3] : tensor<32x3x6x7xf32> -> tensor<3xf32>
  %means = sinter.broadcast %mean [1] : tensor<3xf32> -> tensor<32x3x6x7xf32>
  %centred = sinter.sub %yb, %means : tensor<32x3x6x7xf32>
  %r = sinter.relu %centred : tensor<32x3x6x7xf32>
  %each = sinter.sum %r [2, 3] : tensor<32x3x6x7xf32> -> tensor<32x3xf32>
  %scale = sinter.broadcast %each [0, 1] : tensor<32x3xf32> -> tensor<32x3x6x7xf32>
  %scaled = sinter.mul %r, %scale : tensor<32x3x6x7xf32>
  %m, %at = sinter.max_pool2d %scaled {window = array<i64: 3, 3>, strides = array<i64: 1, 2>, padding = array<i64: 0, 1, 1, 0>}
    : tensor<32x3x6x7xf32> -> tensor<32x3x5x3xf32>, tensor<32x3x5x3xui8>
  %a = sinter.avg_pool2d %m {window = array<i64: 2, 1>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>}
    : tensor<32x3x5x3xf32> -> tensor<32x3x4x3xf32>
  %c = sinter.conv2d %a, %v {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 1, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64}
    : (tensor<32x3x4x3xf32>, tensor<3x3x2x2xf32>) -> tensor<32x3x3x3xf32>
  %p = sinter.pad %c value 0.5 low [0, 0, 1, 0] high [0, 0, 0, 2] interior [0, 0, 0, 0] : tensor<32x3x3x3xf32> -> tensor<32x3x4x5xf32>
  %s = sinter.slice %p [0, 0, 1, 1] [32, 3, 4, 4] [1, 1, 1, 1] : tensor<32x3x4x5xf32> -> tensor<32x3x3x3xf32>
  %turned = sinter.reverse %s [3] : tensor<32x3x3x3xf32>
  %joined = sinter.concat %turned, %c dim 1 : (tensor<32x3x3x3xf32>, tensor<32x3x3x3xf32>) -> tensor<32x6x3x3xf32>
  %best = sinter.argmax %joined dim 1 : tensor<32x6x3x3xf32> -> tensor<32x3x3xi64>
  %later = sinter.slice %turned [1, 0, 0, 0] [32, 3, 3, 3] [1, 1, 1, 1] : tensor<32x3x3x3xf32> -> tensor<31x3x3x3xf32>
  %flat = sinter.reshape %joined : tensor<32x6x3x3xf32> -> tensor<32x54xf32>
  %column = sinter.iota 1 : tensor<32x54xf32>
  %weighted = sinter.mul %flat, %column : tensor<32x54xf32>
  %loss = sinter.sum %weighted [0, 1] : tensor<32x54xf32> -> tensor<f32>
  %d:4 = sinter.gradients %loss wrt %x, %w, %b, %v
    : (tensor<f32>, tensor<32x2x6x7xf32>, tensor<3x2x3x3xf32>, tensor<3xf32>, tensor<3x3x2x2xf32>)
    -> (tensor<32x2x6x7xf32>, tensor<3x2x3x3xf32>, tensor<3xf32>, tensor<3x3x2x2xf32>)
  return %loss, %d#0, %d#1, %d#2, %d#3, %best, %later
    : tensor<f32>, tensor<32x2x6x7xf32>, tensor<3x2x3x3xf32>, tensor<3xf32>, tensor<3x3x2x2xf32>, tensor<32x3x3xi64>, tensor<31x3x3x3xf32>
}
)";

std::vector<Value> Inputs(FuncOp function) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<Value> inputs;
  for (mlir::Type type : function.getArgumentTypes()) {
    inputs.push_back(reference::ZerosOf(type));
    for (double& real : inputs.back().reals) real = static_cast<float>(uniform(random));
  }
  return inputs;
}

TEST(ImageLayoutTest, EveryLayoutKeepsTheMeaning) {
  mlir::DialectRegistry registry;
  ir::RegisterDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::vector<Value> want;
  for (ir::ImageLayout layout : {ir::ImageLayout::nchw, ir::ImageLayout::nhwc, ir::ImageLayout::nchw16n}) {
    SCOPED_TRACE(ir::stringifyImageLayout(layout).str());
    auto module = mlir::parseSourceString<mlir::ModuleOp>(kNetwork, &context);
    ASSERT_TRUE(module);
    mlir::PassManager manager(&context);
    manager.addNestedPass<FuncOp>(createDifferentiate());
    manager.addNestedPass<FuncOp>(createDecompose());
    AssignLayoutsOptions options;
    options.layout = ir::stringifyImageLayout(layout).str();
    manager.addNestedPass<FuncOp>(createAssignLayouts(options));
    manager.addNestedPass<FuncOp>(mlir::createCanonicalizerPass());
    ASSERT_TRUE(mlir::succeeded(manager.run(*module)));
    auto function = module->lookupSymbol<FuncOp>("f");
    int moved = 0, other = 0;
    function.walk([&](mlir::Operation* op) {
      auto has = op->getAttrOfType<ir::ImageLayoutAttr>("layout");
      if (has) ++(has.getValue() == layout ? moved : other);
    });
    EXPECT_EQ(other, 0);
    EXPECT_GT(moved, 0);
    auto got = reference::EvaluateFunction(function, Inputs(function), {.keep_double = true});
    ASSERT_TRUE(got.ok()) << got.status();
    if (want.empty()) want = *got;
    for (size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(Disagreement((*got)[i], want[i], OpClass::kTranscendental), "") << "result " << i;
    }
  }
}

}  // namespace
}  // namespace sinter::numerics
