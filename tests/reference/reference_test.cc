// Tests the reference evaluator against numbers known from other sources.
#include "sinter/tests/reference/reference.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Parser/Parser.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/tests/reference/random.h"

namespace sinter::reference {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ReferenceTest : public ::testing::Test {
 protected:
  ReferenceTest() {
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    context_.appendDialectRegistry(registry);
    context_.loadAllAvailableDialects();
  }

  absl::StatusOr<std::vector<Value>> Run(const std::string& body, const std::vector<Value>& inputs = {},
                                         EvaluateOptions options = {}) {
    module_ = mlir::parseSourceString<mlir::ModuleOp>(body, &context_);
    if (!module_) return absl::InvalidArgumentError("does not parse");
    return EvaluateFunction(*module_->getOps<mlir::func::FuncOp>().begin(), inputs, options);
  }

  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

TEST_F(ReferenceTest, EveryOpHasAFunction) { EXPECT_THAT(OpsWithoutReference(&context_), ElementsAre()); }

TEST_F(ReferenceTest, RoundsToStorageUnlessAskedNotTo) {
  const char* text = R"(func.func @f() -> tensor<f32> {
    %0 = sinter.constant dense<1.0> : tensor<f32>
    %1 = sinter.constant dense<3.0> : tensor<f32>
    %2 = sinter.div %0, %1 : tensor<f32>
    return %2 : tensor<f32>
  })";
  auto rounded = Run(text);
  ASSERT_TRUE(rounded.ok()) << rounded.status();
  EXPECT_EQ((*rounded)[0].reals[0], static_cast<double>(1.0f / 3.0f));
  auto kept = Run(text, {}, {.keep_double = true});
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ((*kept)[0].reals[0], 1.0 / 3.0);
}

TEST_F(ReferenceTest, EvaluatesTheRegionOfAFusion) {
  auto r = Run(R"(func.func @f(%x: tensor<2xi32>) -> tensor<i32> {
    %0 = sinter.fusion(%x : tensor<2xi32>) -> (tensor<i32>) {
    ^bb0(%a: tensor<2xi32>):
      %1 = sinter.square %a : tensor<2xi32>
      %2 = sinter.sum %1 [0] : tensor<2xi32> -> tensor<i32>
      sinter.yield %2 : tensor<i32>
    }
    return %0 : tensor<i32>
  })",
               {Value{DType::kI32, {2}, {}, {3, 4}}});
  ASSERT_TRUE(r.ok()) << r.status();
  EXPECT_EQ((*r)[0].ints[0], 25);
}

TEST_F(ReferenceTest, SaysWhichInputDoesNotFit) {
  auto r = Run("func.func @f(%x: tensor<2xi32>) -> tensor<2xi32> { return %x : tensor<2xi32> }",
               {Value{DType::kI64, {2}, {}, {3, 4}}});
  EXPECT_THAT(std::string(r.status().message()), HasSubstr("input 0 is not a tensor<2xi32>"));
}

TEST_F(ReferenceTest, AsksForDifferentiateFirst) {
  auto r = Run(R"(func.func @f(%x: tensor<f32>) -> tensor<f32> {
    %0 = sinter.gradients %x wrt %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  })",
               {Value{DType::kF32, {}, {1.0}, {}}});
  EXPECT_THAT(std::string(r.status().message()), HasSubstr("run differentiate first"));
}

// The known answers of the authors' Random123 (kat_vectors, philox4x32 with 10 rounds).
TEST(PhiloxTest, GivesTheAuthorsKnownAnswers) {
  EXPECT_THAT(Philox(0, 0, 0, 0), ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
  EXPECT_THAT(Philox(-1, 0xffffffff, 0xffffffffu, ~uint64_t{0}),
              ElementsAre(0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu));
  EXPECT_THAT(Philox(0x299f31d0a4093822, 0x03707344, 0x13198a2eu, 0x85a308d3243f6a88u),
              ElementsAre(0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u));
  // The step's high word goes into the key. Key and counter are the same here as in the check above.
  EXPECT_THAT(Philox(0x299f31d0a4093822 ^ (int64_t{0x12345678} << 32), 0x1234567803707344, 0x13198a2eu,
                     0x85a308d3243f6a88u),
              ElementsAre(0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u));
}

TEST(RoundTest, RoundsToNearestEven) {
  EXPECT_EQ(Round(DType::kBf16, 1 + 0x1p-8), 1);
  EXPECT_EQ(Round(DType::kBf16, 1 + 3 * 0x1p-8), 1 + 0x1p-6);
  EXPECT_EQ(Round(DType::kF16, 65519.0), 65504.0);
  EXPECT_EQ(Round(DType::kF16, 65520.0), std::numeric_limits<double>::infinity());
  EXPECT_EQ(Round(DType::kF16, 0x1.8p-25), 0x1p-24);
  EXPECT_EQ(Round(DType::kF16, -0x1p-25), 0);
  for (double x : {0.1, -3.7e-40, 1e-46, 3.5e38, 1e300, 7.0 / 3}) {
    EXPECT_EQ(Round(DType::kF32, x), static_cast<double>(static_cast<float>(x))) << x;
  }
}

TEST(IntegerTest, WrapsAndSaturates) {
  EXPECT_EQ(Wrap(DType::kI8, 128), -128);
  EXPECT_EQ(Wrap(DType::kU8, -1), 255);
  EXPECT_EQ(Wrap(DType::kI32, int64_t{1} << 31), -(int64_t{1} << 31));
  EXPECT_EQ(ToInteger(DType::kI8, -3.9), -3);
  EXPECT_EQ(ToInteger(DType::kI8, 300), 127);
  EXPECT_EQ(ToInteger(DType::kU8, -5), 0);
  EXPECT_EQ(ToInteger(DType::kI64, 1e30), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(ToInteger(DType::kI64, std::nan("")), 0);
}

}  // namespace
}  // namespace sinter::reference
