#include "sinter/ir/fusion_domain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "sinter/ir/ops.h"

namespace sinter::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class FusionDomainTest : public ::testing::Test {
 protected:
  FusionDomainTest() {
    mlir::DialectRegistry registry;
    RegisterDialects(registry);
    context_ = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  }

  // The body of the one sinter.fusion in a function of `text`.
  mlir::Block& BodyOf(const std::string& text) {
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, context_.get());
    mlir::Block* body = nullptr;
    module_->walk([&](FusionOp fusion) { body = &fusion.getBody().front(); });
    return *body;
  }
  std::string Refusal(const std::string& text) {
    std::string why;
    EXPECT_TRUE(mlir::failed(AnalyzeFusion(BodyOf(text), &why)));
    return why;
  }

  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

TEST_F(FusionDomainTest, BodiesWithoutWorkAreNoKernels) {
  EXPECT_EQ(Refusal(R"(
func.func @f() {
  sinter.fusion() -> () {
    sinter.yield
  }
  return
})"),
            "nothing is stored");
  EXPECT_EQ(Refusal(R"(
func.func @f(%x: tensor<4xf32>) {
  %r:2 = sinter.fusion(%x : tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%a: tensor<4xf32>):
    %0 = sinter.neg %a : tensor<4xf32>
    sinter.yield %0, %a : tensor<4xf32>, tensor<4xf32>
  }
  return
})"),
            "an input is handed out unchanged");
}

// A reduction in chunks stores its full results in other loops: they must not take the place of what it reads.
constexpr char kNormalize[] = R"(
func.func @f(%x: tensor<ROWSx16x1x2xf32>) {
  %r = sinter.fusion(%x : tensor<ROWSx16x1x2xf32>) -> (tensor<ROWSx16x1x2xf32>) {
  ^bb0(%a: tensor<ROWSx16x1x2xf32>):
    %0 = sinter.sum %a [0, 2] : tensor<ROWSx16x1x2xf32> -> tensor<16x2xf32>
    %1 = sinter.broadcast %0 [1, 3] : tensor<16x2xf32> -> tensor<ROWSx16x1x2xf32>
    %2 = sinter.sub %a, %1 : tensor<ROWSx16x1x2xf32>
    sinter.yield %2 : tensor<ROWSx16x1x2xf32>
  }
  return
})";

TEST_F(FusionDomainTest, ReductionsInChunksHaveNoInPlacePairs) {
  const auto with_rows = [](const std::string& rows) {
    std::string text = kNormalize;
    for (size_t at; (at = text.find("ROWS")) != std::string::npos;) text.replace(at, 4, rows);
    return text;
  };
  EXPECT_THAT(InPlacePairs(BodyOf(with_rows("64"))), ElementsAre(Pair(0u, 0u)));
  EXPECT_TRUE(InPlacePairs(BodyOf(with_rows("8192"))).empty());
}

bool OnCpu(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> reduced) {
  return IsCutInChunks(shape, reduced, DeviceKind::cpu);
}
bool OnGpu(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> reduced) {
  return IsCutInChunks(shape, reduced, DeviceKind::gpu);
}

TEST(IsCutInChunksTest, AsksForManyElementsAndFewUnits) {
  EXPECT_TRUE(OnCpu({131072}, {0}));
  EXPECT_FALSE(OnCpu({131071}, {0}));
  EXPECT_FALSE(OnCpu({1 << 20}, {}));
  EXPECT_TRUE(OnCpu({15, 1 << 20}, {1}));  // 15 rows,
  EXPECT_FALSE(OnCpu({16, 1 << 20}, {1}));
  EXPECT_TRUE(OnCpu({1 << 20, 15 * 32}, {0}));  // 15 units of 32 columns,
  EXPECT_FALSE(OnCpu({1 << 20, 15 * 32 + 1}, {0}));
  EXPECT_TRUE(OnCpu({3, 1 << 20, 5 * 32}, {1}));  // 3 rows of 5 such units.
  EXPECT_FALSE(OnCpu({4, 1 << 20, 4 * 32}, {1}));
}

TEST(IsCutInChunksTest, AsksOnGpusForLongUnitsThatLeaveMultiprocessorsIdle) {
  EXPECT_TRUE(OnGpu({65, 16384}, {1}));
  EXPECT_FALSE(OnGpu({66, 16384}, {1}));
  EXPECT_FALSE(OnGpu({65, 16383}, {1}));
  EXPECT_TRUE(OnGpu({512, 512}, {0}));  // 16 units of 32 columns and 512 rows.
  EXPECT_FALSE(OnGpu({511, 512}, {0}));
  EXPECT_TRUE(OnGpu({1024, 263 * 32}, {0}));
  EXPECT_FALSE(OnGpu({1024, 264 * 32}, {0}));
  EXPECT_TRUE(OnGpu({8192, 2}, {0}));  // One narrow unit.
  EXPECT_TRUE(OnGpu({256, 20, 26, 26}, {0, 2, 3}));
  EXPECT_FALSE(OnGpu({1 << 20}, {}));
}

// Dimensions of size 1 are no loops.
TEST(IsCutInChunksTest, PassesOverDimensionsOfSizeOne) {
  for (auto is_cut : {&OnCpu, &OnGpu}) {
    EXPECT_TRUE(is_cut({1 << 20, 16, 1, 2}, {0, 2}));
    EXPECT_TRUE(is_cut({1 << 20, 1}, {0}));
    EXPECT_FALSE(is_cut({1 << 20, 1}, {1}));
    EXPECT_FALSE(is_cut({0, 1 << 20}, {1}));
  }
}

}  // namespace
}  // namespace sinter::ir
