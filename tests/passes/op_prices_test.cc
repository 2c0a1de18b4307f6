#include "sinter/passes/op_prices.h"

#include <string>

#include "gtest/gtest.h"
#include "mlir/Parser/Parser.h"
#include "sinter/ir/cost/builtin_costs.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/register_dialects.h"

namespace sinter {
namespace {

using cost::Contraction;
using cost::ContractionKind;

mlir::DialectRegistry Dialects() {
  mlir::DialectRegistry registry;
  ir::RegisterDialects(registry);
  return registry;
}

class OpPricesTest : public testing::Test {
 protected:
  OpPricesTest() : context_(Dialects()), costs_(*cost::FindBuiltinCosts("h200")) {}

  // The time of the only op with this name.
  double SecondsOf(const std::string& text, const std::string& name) {
    mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    EXPECT_TRUE(module);
    double seconds = -1;
    if (module) {
      module->walk([&](mlir::Operation* op) {
        if (op->getName().getStringRef() == name) seconds = OpPrices().seconds(op);
      });
    }
    return seconds;
  }

  mlir::MLIRContext context_;
  const cost::DeviceCosts costs_;
};

TEST_F(OpPricesTest, KnowContractions) {
  EXPECT_DOUBLE_EQ(SecondsOf(R"(func.func @f(%a: tensor<512x64xbf16>, %b: tensor<512x128xbf16>)
        -> tensor<64x128xbf16> {
      %c = sinter.matmul %a, %b {transpose_a, sinter.device = #sinter.device<gpu, 0>}
          : (tensor<512x64xbf16>, tensor<512x128xbf16>) -> tensor<64x128xbf16>
      return %c : tensor<64x128xbf16>
    })",
                             "sinter.matmul"),
                   costs_
                       .Price(Contraction{.arithmetic = cost::Arithmetic::kBf16,
                                          .layout = cost::Layout::kTransposedA,
                                          .m = 64,
                                          .n = 128,
                                          .k = 512,
                                          .flops = 2.0 * 64 * 128 * 512,
                                          .bytes = 2.0 * (512 * 64 + 512 * 128 + 64 * 128)})
                       ->seconds);
  EXPECT_DOUBLE_EQ(
      SecondsOf(R"(func.func @f(%x: tensor<8x3x10x10xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<8x4x8x8xf32> {
      %y = sinter.conv2d %x, %w
          {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>,
           groups = 1 : i64, sinter.device = #sinter.device<gpu, 0>}
          : (tensor<8x3x10x10xf32>, tensor<4x3x3x3xf32>) -> tensor<8x4x8x8xf32>
      return %y : tensor<8x4x8x8xf32>
    })",
                "sinter.conv2d"),
      costs_
          .Price(Contraction{.kind = ContractionKind::kConvForward,
                             .m = 8 * 64,
                             .n = 4,
                             .k = 27,
                             .window = 9,
                             .flops = 2.0 * 8 * 64 * 4 * 27,
                             .bytes = 4.0 * (8 * 300 + 108 + 8 * 256)})
          ->seconds);
}

TEST_F(OpPricesTest, KnowMemoryAndExchanges) {
  EXPECT_DOUBLE_EQ(SecondsOf(R"(func.func @f(%a: tensor<1024xf32>) -> tensor<1024xf32> {
      %c = sinter.exp %a {sinter.device = #sinter.device<gpu, 0>} : tensor<1024xf32>
      return %c : tensor<1024xf32>
    })",
                             "sinter.exp"),
                   costs_.Seconds(cost::KernelWork{.bytes = 8192}));
  const char* exchanges = R"(module attributes {sinter.mesh = #sinter.mesh<data 2>} {
    func.func @f(%a: tensor<1024xf32>) -> (tensor<2048xf32>, tensor<512xf32>) {
      %c = sinter.all_gather %a sizes [] over ["data"] channel 0 {sinter.device = #sinter.device<gpu, 0>}
          : tensor<1024xf32> -> tensor<2048xf32>
      %d = sinter.reduce_scatter sum %a sizes [] over ["data"] channel 1
          {sinter.device = #sinter.device<gpu, 0>}
          : tensor<1024xf32> -> tensor<512xf32>
      return %c, %d : tensor<2048xf32>, tensor<512xf32>
    }
  })";
  const cost::GroupPlace two = {.ranks = 2, .nodes = 1, .fewest_on_a_node = 2};
  EXPECT_DOUBLE_EQ(SecondsOf(exchanges, "sinter.all_gather"),
                   costs_.Price({cost::ExchangeKind::kAllGather, 8192}, two)->seconds());
  EXPECT_DOUBLE_EQ(SecondsOf(exchanges, "sinter.reduce_scatter"),
                   costs_.Price({cost::ExchangeKind::kReduceScatter, 4096}, two)->seconds());
  // Sixteen ranks have two nodes of eight.
  OpPrices prices;
  const auto gpu = ir::DeviceAttr::get(&context_, ir::DeviceKind::gpu, 0);
  EXPECT_DOUBLE_EQ(
      prices.secondsOfExchange(gpu, cost::ExchangeKind::kAllReduce, 1e6, 16),
      costs_.Price({cost::ExchangeKind::kAllReduce, 1e6}, {.ranks = 16, .nodes = 2, .fewest_on_a_node = 8})
          ->seconds());
}

// A plan.call has the time of the op that it holds; a fused group that of its operands and results.
TEST_F(OpPricesTest, AreThoseOfCallsToo) {
  const auto call = [](const std::string& op) {
    return R"(plan.function @f on [#sinter.device<gpu, 0>] {
      %x = plan.input "x" on <gpu, 0> : !plan.buffer<tensor<64x64xf32>>
      %y = plan.alloc on <gpu, 0> : !plan.buffer<tensor<64x64xf32>>
      plan.call "c" ins(%x : !plan.buffer<tensor<64x64xf32>>)
          outs(%y : !plan.buffer<tensor<64x64xf32>>) on <gpu, 0> {
      ^bb0(%i: tensor<64x64xf32>):
        %r = )" +
           op + R"(
        sinter.yield %r : tensor<64x64xf32>
      }
      plan.output "y" %y : !plan.buffer<tensor<64x64xf32>>
    })";
  };
  EXPECT_DOUBLE_EQ(SecondsOf(call("sinter.neg %i : tensor<64x64xf32>"), "plan.call"),
                   costs_.Seconds(cost::KernelWork{.bytes = 2 * 64 * 64 * 4}));
  EXPECT_DOUBLE_EQ(
      SecondsOf(call("sinter.matmul %i, %i : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>"),
                "plan.call"),
      costs_
          .Price(
              Contraction{.m = 64, .n = 64, .k = 64, .flops = 2.0 * 64 * 64 * 64, .bytes = 2 * 64 * 64 * 4})
          ->seconds);
}

}  // namespace
}  // namespace sinter
