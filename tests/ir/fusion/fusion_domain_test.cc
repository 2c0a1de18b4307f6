#include "sinter/ir/fusion/fusion_domain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/fusion/buffer_aliases.h"
#include "sinter/ir/register_dialects.h"

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

  // Returns the body of the only sinter.fusion in a function of `text`.
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

// A chunked reduction stores its full results in separate loops, so these results must not overwrite its
// inputs.
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
  EXPECT_THAT(BufferAliases(BodyOf(with_rows("64"))), ElementsAre(Pair(0u, 0u)));
  EXPECT_TRUE(BufferAliases(BodyOf(with_rows("8192"))).empty());
}

bool OnCpu(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> reduced) {
  return IsChunked(shape, reduced, DeviceKind::cpu);
}
bool OnGpu(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> reduced) {
  return IsChunked(shape, reduced, DeviceKind::gpu);
}

TEST(IsCutInChunksTest, AsksForManyElementsAndFewUnits) {
  EXPECT_TRUE(OnCpu({131072}, {0}));
  EXPECT_FALSE(OnCpu({131071}, {0}));
  EXPECT_FALSE(OnCpu({1 << 20}, {}));
  EXPECT_TRUE(OnCpu({15, 1 << 20}, {1}));  // 15 rows.
  EXPECT_FALSE(OnCpu({16, 1 << 20}, {1}));
  EXPECT_TRUE(OnCpu({1 << 20, 15 * 32}, {0}));  // 15 units of 32 columns.
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
  EXPECT_TRUE(OnGpu({8192, 2}, {0}));  // One unit of 2 columns.
  EXPECT_TRUE(OnGpu({256, 20, 26, 26}, {0, 2, 3}));
  EXPECT_FALSE(OnGpu({1 << 20}, {}));
}

// Dimensions of size 1 form no loop.
TEST(IsCutInChunksTest, PassesOverDimensionsOfSizeOne) {
  for (auto is_cut : {&OnCpu, &OnGpu}) {
    EXPECT_TRUE(is_cut({1 << 20, 16, 1, 2}, {0, 2}));
    EXPECT_TRUE(is_cut({1 << 20, 1}, {0}));
    EXPECT_FALSE(is_cut({1 << 20, 1}, {1}));
    EXPECT_FALSE(is_cut({0, 1 << 20}, {1}));
  }
}

// A row sum, the rows minus this sum, and the column sums of %a and of the difference. One column sum updates
// %b in place.
constexpr char kRowsAndColumns[] = R"(
func.func @f(%x: tensor<16896x128xf32>, %p: tensor<128xf32>) {
  %r:4 = sinter.fusion(%x, %p : tensor<16896x128xf32>, tensor<128xf32>)
      -> (tensor<16896xf32>, tensor<16896x128xf32>, tensor<128xf32>, tensor<128xf32>) {
  ^bb0(%a: tensor<16896x128xf32>, %b: tensor<128xf32>):
    %all = sinter.sum %a [0] : tensor<16896x128xf32> -> tensor<128xf32>
    %row = sinter.sum %a [1] : tensor<16896x128xf32> -> tensor<16896xf32>
    %rows = sinter.broadcast %row [0] : tensor<16896xf32> -> tensor<16896x128xf32>
    %left = sinter.sub %a, %rows : tensor<16896x128xf32>
    %sum = sinter.sum %left [0] : tensor<16896x128xf32> -> tensor<128xf32>
    %new = sinter.add %b, %sum : tensor<128xf32>
    sinter.yield %row, %left, %all, %new : tensor<16896xf32>, tensor<16896x128xf32>, tensor<128xf32>, tensor<128xf32>
  }
  return
})";

TEST_F(FusionDomainTest, OneNestReducesRowsAndTheirColumns) {
  mlir::Block& body = BodyOf(kRowsAndColumns);
  std::string why;
  auto domain = AnalyzeFusion(body, &why);
  ASSERT_TRUE(mlir::succeeded(domain)) << why;
  ASSERT_EQ(domain->nests.size(), 1u);
  const LoopNest& nest = domain->nests[0];
  EXPECT_EQ(domain->kind(), "row");
  EXPECT_THAT(nest.reduced, ElementsAre(1));
  EXPECT_EQ(nest.reductions.size(), 1u);
  EXPECT_EQ(nest.column_reductions.size(), 2u);
  EXPECT_EQ(nest.rows(), 16896);
  EXPECT_EQ(nest.columns(), 128);
  EXPECT_TRUE(nest.column_values.contains(body.getArgument(1)));
  EXPECT_FALSE(nest.column_values.contains(body.getArgument(0)));
  EXPECT_TRUE(nest.column_values.contains(body.getTerminator()->getOperand(3)));
  EXPECT_FALSE(nest.column_values.contains(body.getTerminator()->getOperand(0)));
  EXPECT_THAT(BufferAliases(body), ElementsAre(Pair(0u, 1u), Pair(1u, 2u), Pair(1u, 3u)));
}

// The two halves of a rotary embedding share the inputs' halves: one loop over a half, which stores both.
TEST_F(FusionDomainTest, PartsOfAConcatAreStoredByTheLoopsThatComputeThem) {
  mlir::Block& body = BodyOf(R"(
func.func @f(%x: tensor<6x8xf32>, %c: tensor<6x4xf32>) {
  %r = sinter.fusion(%x, %c : tensor<6x8xf32>, tensor<6x4xf32>) -> (tensor<6x8xf32>) {
  ^bb0(%a: tensor<6x8xf32>, %b: tensor<6x4xf32>):
    %low = sinter.slice %a [0, 0] [6, 4] [1, 1] : tensor<6x8xf32> -> tensor<6x4xf32>
    %high = sinter.slice %a [0, 4] [6, 8] [1, 1] : tensor<6x8xf32> -> tensor<6x4xf32>
    %p = sinter.mul %low, %b : tensor<6x4xf32>
    %q = sinter.mul %high, %b : tensor<6x4xf32>
    %y = sinter.concat %p, %q dim 1 : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x8xf32>
    sinter.yield %y : tensor<6x8xf32>
  }
  return
})");
  std::string why;
  auto domain = AnalyzeFusion(body, &why);
  ASSERT_TRUE(mlir::succeeded(domain)) << why;
  ASSERT_EQ(domain->nests.size(), 1u);
  EXPECT_EQ(domain->kind(), "map");
  EXPECT_THAT(domain->nests[0].shape, ElementsAre(6, 4));
  EXPECT_EQ(domain->nests[0].stored.size(), 2u);
  EXPECT_THAT(domain->nests[0].outputs, ElementsAre(0, 0));
  EXPECT_TRUE(domain->isConnected());
  // Elements of x are read after others of y are stored.
  EXPECT_TRUE(BufferAliases(body).empty());
}

TEST_F(FusionDomainTest, PartsOfOtherShapesHaveLoopsOfTheirOwn) {
  mlir::Block& body = BodyOf(R"(
func.func @f(%x: tensor<6x3xf32>, %z: tensor<6x5xf32>) {
  %r = sinter.fusion(%x, %z : tensor<6x3xf32>, tensor<6x5xf32>) -> (tensor<6x8xf32>) {
  ^bb0(%a: tensor<6x3xf32>, %b: tensor<6x5xf32>):
    %p = sinter.neg %a : tensor<6x3xf32>
    %y = sinter.concat %p, %b dim 1 : (tensor<6x3xf32>, tensor<6x5xf32>) -> tensor<6x8xf32>
    sinter.yield %y : tensor<6x8xf32>
  }
  return
})");
  std::string why;
  auto domain = AnalyzeFusion(body, &why);
  ASSERT_TRUE(mlir::succeeded(domain)) << why;
  EXPECT_EQ(domain->kind(), "horizontal");
  ASSERT_EQ(domain->nests.size(), 2u);
  EXPECT_THAT(domain->nests[0].shape, ElementsAre(6, 3));
  EXPECT_THAT(domain->nests[1].shape, ElementsAre(6, 5));
  EXPECT_TRUE(domain->nests[1].ops.empty());  // A copy of an input.
  EXPECT_TRUE(domain->isConnected());
}

// Another op of the kernel reads the concat, so each of its elements is chosen from the parts.
TEST_F(FusionDomainTest, AConcatThatIsReadIsAnIndexMap) {
  mlir::Block& body = BodyOf(R"(
func.func @f(%x: tensor<6x4xf32>) {
  %r:2 = sinter.fusion(%x : tensor<6x4xf32>) -> (tensor<6x8xf32>, tensor<6x8xf32>) {
  ^bb0(%a: tensor<6x4xf32>):
    %p = sinter.neg %a : tensor<6x4xf32>
    %y = sinter.concat %a, %p dim 1 : (tensor<6x4xf32>, tensor<6x4xf32>) -> tensor<6x8xf32>
    %z = sinter.exp %y : tensor<6x8xf32>
    sinter.yield %y, %z : tensor<6x8xf32>, tensor<6x8xf32>
  }
  return
})");
  std::string why;
  auto domain = AnalyzeFusion(body, &why);
  ASSERT_TRUE(mlir::succeeded(domain)) << why;
  ASSERT_EQ(domain->nests.size(), 1u);
  EXPECT_THAT(domain->nests[0].shape, ElementsAre(6, 8));
}

// A step counter, updated in place, and a number computed from it.
TEST_F(FusionDomainTest, NumbersMadeOfEachOtherAreOneLoop) {
  mlir::Block& body = BodyOf(R"(
func.func @f(%t: tensor<i64>) {
  %r:2 = sinter.fusion(%t : tensor<i64>) -> (tensor<i64>, tensor<f32>) {
  ^bb0(%a: tensor<i64>):
    %one = sinter.constant dense<1> : tensor<i64>
    %next = sinter.add %a, %one : tensor<i64>
    %float = sinter.cast %next : tensor<i64> -> tensor<f32>
    %rate = sinter.exp %float : tensor<f32>
    sinter.yield %next, %rate : tensor<i64>, tensor<f32>
  }
  return
})");
  std::string why;
  auto domain = AnalyzeFusion(body, &why);
  ASSERT_TRUE(mlir::succeeded(domain)) << why;
  EXPECT_EQ(domain->nests.size(), 1u);
  EXPECT_THAT(BufferAliases(body), ElementsAre(Pair(0u, 0u)));
}

// Two updates with the same rate.
TEST_F(FusionDomainTest, ANumberTiesNoLoopsToEachOther) {
  mlir::Block& body = BodyOf(R"(
func.func @f(%rate: tensor<f32>, %p: tensor<8xf32>, %q: tensor<8xf32>) {
  %r:2 = sinter.fusion(%rate, %p, %q : tensor<f32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  ^bb0(%a: tensor<f32>, %b: tensor<8xf32>, %c: tensor<8xf32>):
    %two = sinter.constant dense<2.0> : tensor<f32>
    %twice = sinter.mul %a, %two : tensor<f32>
    %rates = sinter.broadcast %twice [] : tensor<f32> -> tensor<8xf32>
    %x = sinter.mul %b, %rates : tensor<8xf32>
    %y = sinter.mul %c, %rates : tensor<8xf32>
    sinter.yield %x, %y : tensor<8xf32>, tensor<8xf32>
  }
  return
})");
  std::string why;
  auto domain = AnalyzeFusion(body, &why);
  ASSERT_TRUE(mlir::succeeded(domain)) << why;
  EXPECT_EQ(domain->kind(), "horizontal");
  ASSERT_EQ(domain->nests.size(), 2u);
  EXPECT_EQ(domain->nests[0].ops.size(), 4u);  // All ops but the other update's multiplication.
  EXPECT_THAT(BufferAliases(body), ElementsAre(Pair(1u, 0u), Pair(2u, 1u)));
}

// Returns the reason why the body is not a legal fusion.
std::string WhyNot(mlir::Block& body) {
  std::string why;
  EXPECT_TRUE(mlir::failed(AnalyzeFusion(body, &why)));
  return why;
}

// A sum over the rows is complete only after the last row.
TEST_F(FusionDomainTest, SumsOverRowsGoIntoNoRow) {
  std::string text = kRowsAndColumns;
  const std::string from = "%row = sinter.sum %a [1]";
  text.replace(text.find(from), from.size(),
               "%alls = sinter.broadcast %all [1] : tensor<128xf32> -> tensor<16896x128xf32>\n"
               "    %less = sinter.sub %a, %alls : tensor<16896x128xf32>\n"
               "    %row = sinter.sum %less [1]");
  EXPECT_EQ(WhyNot(BodyOf(text)), "the result of sinter.sum, over all rows, goes into one of them");
  text = kRowsAndColumns;
  const std::string rows = "%rows = sinter.broadcast %row [0] : tensor<16896xf32>";
  text.replace(text.find(rows), rows.size(), "%rows = sinter.broadcast %all [1] : tensor<128xf32>");
  EXPECT_EQ(WhyNot(BodyOf(text)), "the result of sinter.sum, over all rows, goes into one of them");
}

TEST_F(FusionDomainTest, FewRowsAndTheirColumnsAreNoNest) {
  std::string text = kRowsAndColumns;
  for (size_t at; (at = text.find("16896")) != std::string::npos;) text.replace(at, 5, "16895");
  EXPECT_EQ(WhyNot(BodyOf(text)), "one reduces [16895, 128] along [1], the other [16895, 128] along [0]");
}

TEST_F(FusionDomainTest, OnePassHasNoMoreThanFourSumsOverItsRows) {
  std::string text = kRowsAndColumns;
  const std::string from = "    %new = sinter.add %b, %sum : tensor<128xf32>\n";
  std::string more, sum = "%sum";
  for (int i = 0; i < 3; ++i) {
    const std::string n = std::to_string(i);
    more += "    %most" + n + " = sinter.max %a [0] : tensor<16896x128xf32> -> tensor<128xf32>\n";
    more += "    %sum" + n + " = sinter.add " + sum + ", %most" + n + " : tensor<128xf32>\n";
    sum = "%sum" + n;
  }
  text.replace(text.find(from), from.size(),
               more + "    %new = sinter.add %b, " + sum + " : tensor<128xf32>\n");
  EXPECT_EQ(WhyNot(BodyOf(text)), "5 reductions over the rows are more than one pass can have");
}

TEST(SumsColumnsTest, AsksForManyRowsThatRegistersHold) {
  EXPECT_TRUE(SumsColumns({16896, 768}, {1}, {0}));
  EXPECT_FALSE(SumsColumns({16895, 768}, {1}, {0}));
  EXPECT_TRUE(SumsColumns({32, 1024, 768}, {2}, {0, 1}));
  EXPECT_TRUE(SumsColumns({2112, 64, 128}, {1, 2}, {0}));
  EXPECT_TRUE(SumsColumns({4224, 4096}, {1}, {0}));  // 16 rows for each of 2 * 132 blocks.
  EXPECT_FALSE(SumsColumns({4223, 4096}, {1}, {0}));
  EXPECT_FALSE(SumsColumns({1 << 20, 8193}, {1}, {0}));
  EXPECT_FALSE(SumsColumns({1 << 20, 127}, {1}, {0}));
  // The reduced dimension is strided in memory; only some of the other dimensions are summed.
  EXPECT_FALSE(SumsColumns({768, 16896}, {0}, {1}));
  EXPECT_FALSE(SumsColumns({32, 1024, 768}, {2}, {0}));
  EXPECT_FALSE(SumsColumns({32768, 768}, {1}, {1}));
}

}  // namespace
}  // namespace sinter::ir
