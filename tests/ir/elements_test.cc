// The elements that each fusible op and each reduction defines.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include "sinter/ir/scalar/philox.h"
#include "sinter/tests/ir/interpreter.h"
#include "sinter/tests/ir/program_text.h"

namespace sinter::ir {
namespace {

using testing::ElementsAre;
using testing::Pointwise;
using Numbers = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class ElementsTest : public ProgramText {
 protected:
  // Runs one op. `op` is the op's text without the result; its operands are %a, %b, %c of the given types.
  Numbers Run(const std::string& op, const std::vector<std::string>& types, std::vector<Numbers> arguments) {
    std::string text = "func.func @f(";
    for (size_t i = 0; i < types.size(); ++i) {
      text +=
          (i > 0 ? ", %" : "%") + std::string(1, static_cast<char>('a' + i)) + ": tensor<" + types[i] + ">";
    }
    mlir::func::FuncOp function = Parse(text + ") {\n %r = " + op + "\n return\n}");
    if (!function) return {};
    Interpreter run(&context_);
    for (size_t i = 0; i < types.size(); ++i) run.Set(function.getArgument(i), arguments[i]);
    return run.Get(function.front().front().getResult(0));
  }
};

TEST_F(ElementsTest, Iota) {
  EXPECT_THAT(Run("sinter.iota 0 : tensor<2x3xi32>", {}, {}), ElementsAre(0, 0, 0, 1, 1, 1));
  EXPECT_THAT(Run("sinter.iota 1 : tensor<2x3xbf16>", {}, {}), ElementsAre(0, 1, 2, 0, 1, 2));
}

TEST_F(ElementsTest, SplatConstants) {
  EXPECT_THAT(Run("sinter.constant dense<2.5> : tensor<2xf16>", {}, {}), ElementsAre(2.5, 2.5));
  EXPECT_THAT(Run("sinter.constant dense<200> : tensor<1xui8>", {}, {}), ElementsAre(200));
  EXPECT_THAT(Run("sinter.constant dense<-9007199254740993> : tensor<i64>", {}, {}),
              ElementsAre(-9007199254740992.0));
}

TEST_F(ElementsTest, ReshapeKeepsRowMajorOrder) {
  Numbers x(24);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  for (const char* shape : {"6x4", "24", "4x6", "1x2x1x3x4x1", "2x12", "3x2x2x2", "8x3"}) {
    EXPECT_EQ(Run("sinter.reshape %a : tensor<2x3x4xf32> -> tensor<" + std::string(shape) + "xf32>",
                  {"2x3x4xf32"}, {x}),
              x);
  }
  EXPECT_THAT(Run("sinter.reshape %a : tensor<f32> -> tensor<1x1xf32>", {"f32"}, {{7}}), ElementsAre(7));
  EXPECT_THAT(Run("sinter.reshape %a : tensor<0x3xf32> -> tensor<5x0xf32>", {"0x3xf32"}, {{}}),
              ElementsAre());
}

TEST_F(ElementsTest, Transpose) {
  EXPECT_THAT(Run("sinter.transpose %a [1, 0] : tensor<2x3xf32> -> tensor<3x2xf32>", {"2x3xf32"},
                  {{1, 2, 3, 4, 5, 6}}),
              ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(Run("sinter.transpose %a [2, 0, 1] : tensor<1x2x3xf32> -> tensor<3x1x2xf32>", {"1x2x3xf32"},
                  {{1, 2, 3, 4, 5, 6}}),
              ElementsAre(1, 4, 2, 5, 3, 6));
}

TEST_F(ElementsTest, Broadcast) {
  EXPECT_THAT(Run("sinter.broadcast %a [0, 1] : tensor<2x1xf32> -> tensor<2x3xf32>", {"2x1xf32"}, {{1, 2}}),
              ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(Run("sinter.broadcast %a [1] : tensor<3xf32> -> tensor<2x3xf32>", {"3xf32"}, {{1, 2, 3}}),
              ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_THAT(
      Run("sinter.broadcast %a [1, 0] : tensor<2x2xf32> -> tensor<2x2xf32>", {"2x2xf32"}, {{1, 2, 3, 4}}),
      ElementsAre(1, 3, 2, 4));
}

TEST_F(ElementsTest, SliceAndReverse) {
  EXPECT_THAT(
      Run("sinter.slice %a [1] [6] [2] : tensor<7xf32> -> tensor<3xf32>", {"7xf32"}, {{0, 1, 2, 3, 4, 5, 6}}),
      ElementsAre(1, 3, 5));
  EXPECT_THAT(Run("sinter.reverse %a [1] : tensor<2x2xf32>", {"2x2xf32"}, {{1, 2, 3, 4}}),
              ElementsAre(2, 1, 4, 3));
}

TEST_F(ElementsTest, ConcatReadsEachOperandInRange) {
  EXPECT_THAT(
      Run("sinter.concat %a, %b, %c dim 0 : (tensor<2xf32>, tensor<0xf32>, tensor<3xf32>) -> tensor<5xf32>",
          {"2xf32", "0xf32", "3xf32"}, {{1, 2}, {}, {3, 4, 5}}),
      ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Run("sinter.concat %a, %b, %c dim 1 : (tensor<2x1xi32>, tensor<2x2xi32>, tensor<2x1xi32>) -> "
                  "tensor<2x4xi32>",
                  {"2x1xi32", "2x2xi32", "2x1xi32"}, {{1, 5}, {2, 3, 6, 7}, {4, 8}}),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
}

TEST_F(ElementsTest, PadAroundAndBetween) {
  EXPECT_THAT(Run("sinter.pad %a value 9.0 low [1] high [2] interior [1] : tensor<3xf32> -> tensor<8xf32>",
                  {"3xf32"}, {{1, 2, 3}}),
              ElementsAre(9, 1, 9, 2, 9, 3, 9, 9));
  EXPECT_THAT(
      Run("sinter.pad %a value 0.0 low [0, 1] high [1, 0] interior [0, 0] : tensor<1x2xi8> -> tensor<2x3xi8>",
          {"1x2xi8"}, {{1, 2}}),
      ElementsAre(0, 1, 2, 0, 0, 0));
  EXPECT_THAT(Run("sinter.pad %a value 9.0 low [1] high [1] interior [0] : tensor<0xf32> -> tensor<2xf32>",
                  {"0xf32"}, {{}}),
              ElementsAre(9, 9));
}

TEST_F(ElementsTest, GatherClampsIndices) {
  EXPECT_THAT(Run("sinter.gather %a[%b] dim 0 : tensor<3x2xf32>, tensor<4xi64> -> tensor<4x2xf32>",
                  {"3x2xf32", "4xi64"}, {{1, 2, 3, 4, 5, 6}, {2, 0, -1, 9}}),
              ElementsAre(5, 6, 1, 2, 1, 2, 5, 6));
  EXPECT_THAT(Run("sinter.gather %a[%b] dim 1 : tensor<2x3xf32>, tensor<2x1xi32> -> tensor<2x2x1xf32>",
                  {"2x3xf32", "2x1xi32"}, {{1, 2, 3, 4, 5, 6}, {2, 0}}),
              ElementsAre(3, 1, 6, 4));
  EXPECT_THAT(Run("sinter.gather %a[%b] dim 0 : tensor<3xf32>, tensor<i64> -> tensor<f32>", {"3xf32", "i64"},
                  {{1, 2, 3}, {1}}),
              ElementsAre(2));
}

TEST_F(ElementsTest, TakeAlongClampsIndices) {
  EXPECT_THAT(Run("sinter.take_along %a[%b] dim 1 : tensor<2x3xf32>, tensor<2x2xi64> -> tensor<2x2xf32>",
                  {"2x3xf32", "2x2xi64"}, {{1, 2, 3, 4, 5, 6}, {2, -5, 0, 7}}),
              ElementsAre(3, 1, 4, 6));
}

TEST_F(ElementsTest, OneHotOutOfRangeIsZero) {
  EXPECT_THAT(Run("sinter.one_hot %a : tensor<3xi32> -> tensor<3x2xf32>", {"3xi32"}, {{1, 2, -1}}),
              ElementsAre(0, 1, 0, 0, 0, 0));
}

TEST_F(ElementsTest, Sums) {
  EXPECT_THAT(Run("sinter.sum %a [1] : tensor<2x3xf32> -> tensor<2xf32>", {"2x3xf32"}, {{1, 2, 3, 4, 5, 6}}),
              ElementsAre(6, 15));
  EXPECT_THAT(Run("sinter.sum %a [0, 2] : tensor<2x1x2xi8> -> tensor<1xi8>", {"2x1x2xi8"}, {{100, 20, 7, 1}}),
              ElementsAre(-128));
  EXPECT_THAT(Run("sinter.sum %a [1] : tensor<2x0xf32> -> tensor<2xf32>", {"2x0xf32"}, {{}}),
              ElementsAre(0, 0));
  EXPECT_THAT(Run("sinter.prod %a [0] : tensor<3xf32> -> tensor<f32>", {"3xf32"}, {{2, 3, 4}}),
              ElementsAre(24));
}

TEST_F(ElementsTest, ExtremesPropagateNan) {
  EXPECT_THAT(Run("sinter.max %a [0] : tensor<3xf32> -> tensor<f32>", {"3xf32"}, {{1, kNan, 3}}),
              Pointwise(testing::NanSensitiveDoubleEq(), Numbers{kNan}));
  EXPECT_THAT(Run("sinter.min %a [0] : tensor<3xf32> -> tensor<f32>", {"3xf32"}, {{1, kNan, 3}}),
              Pointwise(testing::NanSensitiveDoubleEq(), Numbers{kNan}));
  EXPECT_THAT(Run("sinter.max %a [0] : tensor<0xf32> -> tensor<f32>", {"0xf32"}, {{}}),
              ElementsAre(-kInfinity));
  EXPECT_THAT(Run("sinter.max %a [0] : tensor<2xui8> -> tensor<ui8>", {"2xui8"}, {{1, 200}}),
              ElementsAre(200));
  EXPECT_THAT(Run("sinter.min %a [0] : tensor<2xi8> -> tensor<i8>", {"2xi8"}, {{1, -100}}),
              ElementsAre(-100));
}

TEST_F(ElementsTest, AnyAndAll) {
  EXPECT_THAT(Run("sinter.any %a [1] : tensor<2x2xi1> -> tensor<2xi1>", {"2x2xi1"}, {{0, 1, 0, 0}}),
              ElementsAre(1, 0));
  EXPECT_THAT(Run("sinter.all %a [1] : tensor<2x2xi1> -> tensor<2xi1>", {"2x2xi1"}, {{0, 1, 1, 1}}),
              ElementsAre(0, 1));
}

TEST_F(ElementsTest, ArgReductions) {
  auto argmax = [&](const Numbers& x) {
    std::string n = std::to_string(x.size());
    return Run("sinter.argmax %a dim 0 : tensor<" + n + "xf32> -> tensor<i64>", {n + "xf32"}, {x})[0];
  };
  EXPECT_EQ(argmax({1, 3, 2, 3}), 1);
  EXPECT_EQ(argmax({1, kNan, 5, kNan}), 1);
  EXPECT_EQ(argmax({-kInfinity, -kInfinity}), 0);
  EXPECT_THAT(
      Run("sinter.argmin %a dim 0 : tensor<3x2xi32> -> tensor<2xi32>", {"3x2xi32"}, {{5, 1, 2, 2, 2, 1}}),
      ElementsAre(1, 0));
}

// Known answers from the authors' code (Random123, kat_vectors).
TEST_F(ElementsTest, PhiloxKnownAnswers) {
  Interpreter run(&context_);
  mlir::OpBuilder& builder = run.builder();
  ScalarBuilder s(builder, builder.getUnknownLoc());
  auto i64 = [&](uint64_t value) {
    auto attribute = builder.getI64IntegerAttr(static_cast<int64_t>(value));
    return s.wrap(builder.create<mlir::arith::ConstantOp>(s.loc(), attribute));
  };
  auto words = [&](uint64_t position, uint32_t stream, uint64_t step, uint64_t seed) {
    Numbers result;
    for (Scalar word : EmitPhilox(s, i64(seed), i64(step), stream, i64(position)))
      result.push_back(run.EvaluateNumber(word));
    return result;
  };
  EXPECT_THAT(words(0, 0, 0, 0), ElementsAre(0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u));
  EXPECT_THAT(words(~0ull, ~0u, 0xffffffff, ~0ull),
              ElementsAre(0x408f276du, 0x41c83b0eu, 0xa20bc7c6u, 0x6d5451fdu));
  EXPECT_THAT(words(0x85a308d3243f6a88, 0x13198a2e, 0x03707344, 0x299f31d0a4093822),
              ElementsAre(0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u));
  // The step's high word is combined with the key. Here key and counter equal those above.
  EXPECT_THAT(words(0x85a308d3243f6a88, 0x13198a2e, 0x1234567803707344,
                    0x299f31d0a4093822 ^ (uint64_t{0x12345678} << 32)),
              ElementsAre(0xd16cfe09u, 0x94fdccebu, 0x5001e420u, 0x24126ea1u));
}

TEST_F(ElementsTest, RandomNumbersDependOnSeedStepAndPosition) {
  std::string op =
      "sinter.random_uniform %a, %b stream 0 low 2.0 high 4.0 : tensor<i64>, tensor<i64> -> tensor<4x16xf32>";
  Numbers x = Run(op, {"i64", "i64"}, {{1}, {0}});
  for (double value : x) EXPECT_TRUE(value >= 2 && value < 4) << value;
  EXPECT_EQ(std::set<double>(x.begin(), x.end()).size(), x.size());
  EXPECT_EQ(x, Run(op, {"i64", "i64"}, {{1}, {0}}));
  EXPECT_NE(x, Run(op, {"i64", "i64"}, {{2}, {0}}));
  EXPECT_NE(x, Run(op, {"i64", "i64"}, {{1}, {1}}));
  // The first word of counter 0 and key 0; the op uses 24 of its bits.
  EXPECT_THAT(Run("sinter.random_uniform %a, %a stream 0 low 0.0 high 1.0 : tensor<i64>, tensor<i64> -> "
                  "tensor<1xf32>",
                  {"i64"}, {{0}}),
              ElementsAre(std::ldexp(0x6627e8, -24)));
}

TEST_F(ElementsTest, NormalAndBernoulliHaveTheirMoments) {
  Numbers x =
      Run("sinter.random_normal %a, %a stream 1 mean 3.0 stddev 2.0 : tensor<i64>, tensor<i64> -> "
          "tensor<1000xf32>",
          {"i64"}, {{5}});
  double sum = 0, squares = 0;
  for (double value : x) sum += value, squares += (value - 3) * (value - 3);
  EXPECT_NEAR(sum / 1000, 3, 0.25);
  EXPECT_NEAR(squares / 1000, 4, 0.7);
  Numbers b =
      Run("sinter.random_bernoulli %a, %a stream 2 probability 0.25 : tensor<i64>, tensor<i64> -> "
          "tensor<1000xi1>",
          {"i64"}, {{5}});
  EXPECT_NEAR(std::accumulate(b.begin(), b.end(), 0.0), 250, 60);
}

TEST_F(ElementsTest, CastsSaturate) {
  EXPECT_THAT(
      Run("sinter.cast %a : tensor<5xf32> -> tensor<5xi8>", {"5xf32"}, {{-1.9, 300, -300, kNan, 127.5}}),
      ElementsAre(-1, 127, -128, 0, 127));
  EXPECT_THAT(Run("sinter.cast %a : tensor<3xf32> -> tensor<3xui8>", {"3xf32"}, {{-1, 300, 200.5}}),
              ElementsAre(0, 255, 200));
  EXPECT_THAT(Run("sinter.cast %a : tensor<2xf32> -> tensor<2xi1>", {"2xf32"}, {{0, 0.5}}),
              ElementsAre(0, 1));
  EXPECT_THAT(Run("sinter.cast %a : tensor<1xf32> -> tensor<1xbf16>", {"1xf32"}, {{257}}), ElementsAre(256));
}

TEST_F(ElementsTest, IntegerDivisionNeverTraps) {
  EXPECT_THAT(Run("sinter.div %a, %b : tensor<4xi8>", {"4xi8", "4xi8"}, {{-7, 7, 5, -128}, {2, -2, 0, -1}}),
              ElementsAre(-3, -3, 0, -128));
  EXPECT_THAT(Run("sinter.rem %a, %b : tensor<4xi8>", {"4xi8", "4xi8"}, {{-7, 7, 5, -128}, {2, -2, 0, -1}}),
              ElementsAre(-1, 1, 0, 0));
}

}  // namespace
}  // namespace sinter::ir
