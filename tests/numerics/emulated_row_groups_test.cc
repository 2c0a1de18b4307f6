// Row passes that also sum columns (codegen/cuda/cuda_row_groups.cc), run by the emulator (emulated_calls.h)
// and compared with the reference: threads that share a row, one or several rows per block, tails of rows and
// columns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "sinter/codegen/cpu/compile_cpp.h"
#include "sinter/tests/codegen/gpu_call_text.h"
#include "sinter/tests/numerics/emulated_calls.h"

namespace sinter::numerics {
namespace {

using codegen::GpuCallText;
using ::testing::Contains;

class EmulatedRowGroupsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!codegen::HasCppCompiler()) GTEST_SKIP() << "built without the Clang library";
  }

  // Replaces in `text`: $X by an f32 tensor type, $R by one number per row, $C by one number per column, and
  // $N by the tensor type in `dtype`.
  static std::string Of(const std::string& text, int rows, int columns, const std::string& dtype = "f32") {
    const std::string shape = absl::StrCat(rows, "x", columns);
    return absl::StrReplaceAll(text, {{"$X", absl::StrCat("tensor<", shape, "xf32>")},
                                      {"$N", absl::StrCat("tensor<", shape, "x", dtype, ">")},
                                      {"$R", absl::StrCat("tensor<", rows, "xf32>")},
                                      {"$C", absl::StrCat("tensor<", columns, "xf32>")}});
  }

  // The gradients of a norm: of x, of its scale (which updates the scale's momentum in place), and of its
  // offset. Also the column sums of x's gradient, which need the row sums.
  static EmulatedCall NormGradients(int rows, int columns, const std::string& dtype) {
    std::vector<std::string> ins, outs;
    for (const char* in : {"$N", "$N", "$R", "$R", "$C", "$C"}) ins.push_back(Of(in, rows, columns, dtype));
    for (const char* out : {"$N", "in5", "$C", "$C"}) outs.push_back(Of(out, rows, columns, dtype));
    const std::string body = R"(
    %x = sinter.cast %a0 : $N -> $X
    %dy = sinter.cast %a1 : $N -> $X
    %means = sinter.broadcast %a2 [0] : $R -> $X
    %scales = sinter.broadcast %a3 [0] : $R -> $X
    %centered = sinter.sub %x, %means : $X
    %normal = sinter.mul %centered, %scales : $X
    %weighted = sinter.mul %dy, %normal : $X
    %dscale = sinter.sum %weighted [0] : $X -> $C
    %doffset = sinter.sum %dy [0] : $X -> $C
    %weights = sinter.broadcast %a4 [1] : $C -> $X
    %g = sinter.mul %dy, %weights : $X
    %along = sinter.mul %g, %normal : $X
    %total = sinter.sum %along [1] : $X -> $R
    %all = sinter.sum %g [1] : $X -> $R
    %totals = sinter.broadcast %total [0] : $R -> $X
    %alls = sinter.broadcast %all [0] : $R -> $X
    %part = sinter.mul %normal, %totals : $X
    %rest = sinter.sub %g, %part : $X
    %dx = sinter.sub %rest, %alls : $X
    %bias = sinter.sum %dx [0] : $X -> $C
    %result = sinter.cast %dx : $X -> $N
    %momentum = sinter.add %a5, %dscale : $C
    sinter.yield %result, %momentum, %doffset, %bias : $N, $C, $C, $C)";
    return EmulateCall(GpuCallText(ins, outs, Of(body, rows, columns, dtype)), OpClass::kReduction, -1, 1);
  }
};

constexpr char kOneRowSum[] = R"(
    %all = sinter.sum %a0 [0] : $X -> $C
    %row = sinter.sum %a0 [1] : $X -> $R
    %rows = sinter.broadcast %row [0] : $R -> $X
    %left = sinter.sub %a0, %rows : $X
    %most = sinter.max %left [0] : $X -> $C
    sinter.yield %row, %left, %all, %most : $R, $X, $C, $C)";

TEST_F(EmulatedRowGroupsTest, SeveralRowsToABlock) {
  const int rows = 16901, columns = 128;
  const std::string x = Of("$X", rows, columns);
  EmulatedCall call = EmulateCall(
      GpuCallText({x}, {Of("$R", rows, columns), "in0", Of("$C", rows, columns), Of("$C", rows, columns)},
                  Of(kOneRowSum, rows, columns)),
      OpClass::kReduction);
  EXPECT_EQ(call.wrong, "");
  EXPECT_EQ(call.launches, 2);
  EXPECT_THAT(call.schedules, Contains("row in part of a warp kept with columns"));
}

// The only sum needs a barrier after it: without one, the next row's sum would overwrite the result.
TEST_F(EmulatedRowGroupsTest, ARowToABlockWithOneSum) {
  const int rows = 16897, columns = 514;
  const std::string x = Of("$X", rows, columns);
  EmulatedCall call = EmulateCall(
      GpuCallText({x}, {Of("$R", rows, columns), x, Of("$C", rows, columns), Of("$C", rows, columns)},
                  Of(kOneRowSum, rows, columns)),
      OpClass::kReduction);
  EXPECT_EQ(call.wrong, "");
  EXPECT_THAT(call.schedules, Contains("row in warps kept with columns"));
}

TEST_F(EmulatedRowGroupsTest, ColumnsThatNoVectorDivides) {
  const int rows = 16897, columns = 129;
  const std::string x = Of("$X", rows, columns);
  EmulatedCall call = EmulateCall(
      GpuCallText({x}, {Of("$R", rows, columns), x, Of("$C", rows, columns), Of("$C", rows, columns)},
                  Of(kOneRowSum, rows, columns)),
      OpClass::kReduction);
  EXPECT_EQ(call.wrong, "");
  EXPECT_EQ(call.launches, 2);
}

TEST_F(EmulatedRowGroupsTest, GradientsOfNorms) {
  EmulatedCall several_rows = NormGradients(16896, 136, "f16");
  EXPECT_EQ(several_rows.wrong, "");
  EXPECT_EQ(several_rows.launches, 2);
  EmulatedCall several_warps = NormGradients(16900, 520, "bf16");
  EXPECT_EQ(several_warps.wrong, "");
  EXPECT_EQ(several_warps.launches, 2);
}

// Two numbers for each column, and positions among the rows.
TEST_F(EmulatedRowGroupsTest, PositionsOfTheLargest) {
  const int rows = 16896, columns = 128;
  const std::string body = Of(R"(
    %row = sinter.sum %a0 [1] : $X -> $R
    %at = sinter.argmax %a0 dim 0 : $X -> tensor<128xi32>
    sinter.yield %row, %at : $R, tensor<128xi32>)",
                              rows, columns);
  EmulatedCall call =
      EmulateCall(GpuCallText({Of("$X", rows, columns)}, {Of("$R", rows, columns), "tensor<128xi32>"}, body),
                  OpClass::kReduction);
  EXPECT_EQ(call.wrong, "");
  EXPECT_EQ(call.launches, 2);
}

}  // namespace
}  // namespace sinter::numerics
