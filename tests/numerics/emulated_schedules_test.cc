// Fused calls at sizes that reach each schedule of codegen/cuda/cuda_schedule.h, with tails. The emulator
// (emulated_calls.h) runs them and the reference checks the results.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "sinter/codegen/cpu/compile_cpp.h"
#include "sinter/tests/codegen/gpu_call_text.h"
#include "sinter/tests/numerics/emulated_calls.h"

namespace sinter::numerics {
namespace {

using codegen::AddTransposedText;
using codegen::GpuCallText;
using codegen::SoftmaxText;
using ::testing::Contains;
using ::testing::ElementsAre;

class EmulatedSchedulesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!codegen::HasCppCompiler()) GTEST_SKIP() << "built without the Clang library";
  }

  // Replaces `$T` by the element type.
  static std::string Of(const std::string& text, const std::string& dtype) {
    return absl::StrReplaceAll(text, {{"$T", dtype}});
  }
  static std::string Tensor(const std::string& shape, const std::string& dtype) {
    return absl::StrCat("tensor<", shape, shape.empty() ? "" : "x", dtype, ">");
  }

  // Emulates `op` (sum, max, ...) of x over `dims`.
  static EmulatedCall Reduce(const std::string& op, const std::string& from, const std::string& dims,
                             const std::string& to, const std::string& dtype, OpClass op_class) {
    const std::string x = Tensor(from, dtype), r = Tensor(to, dtype);
    return EmulateCall(GpuCallText({x}, {r},
                                   absl::StrCat("%r = sinter.", op, " %a0 ", dims, " : ", x, " -> ", r,
                                                "\nsinter.yield %r : ", r)),
                       op_class);
  }

  static EmulatedCall Softmax(const std::string& rows, const std::string& length, const std::string& dtype,
                              bool in_place = false) {
    return EmulateCall(SoftmaxText(rows, length, dtype, in_place), OpClass::kComposite);
  }

  // Emulates (x - a) * exp(b) + c in place, with a, b and c along the last dimension.
  static EmulatedCall ScaledRows(const std::string& shape, const std::string& dims,
                                 const std::string& along) {
    const std::string x = Tensor(shape, "f32"), c = Tensor(along, "f32");
    const std::string body = absl::StrReplaceAll(R"(
    %a = sinter.broadcast %a1 $D : $C -> $X
    %left = sinter.sub %a0, %a : $X
    %e = sinter.exp %a2 : $C
    %b = sinter.broadcast %e $D : $C -> $X
    %scaled = sinter.mul %left, %b : $X
    %c = sinter.broadcast %a3 $D : $C -> $X
    %r = sinter.add %scaled, %c : $X
    sinter.yield %r : $X)",
                                                 {{"$X", x}, {"$C", c}, {"$D", dims}});
    return EmulateCall(GpuCallText({x, c, c, c}, {"in0"}, body), OpClass::kTranscendental);
  }

  // Column reductions in several phases.
  static std::string SquaresText(const std::string& columns) {
    const std::string x = Tensor(absl::StrCat("50x", columns), "f32"), c = Tensor(columns, "f32");
    const std::string body = absl::StrReplaceAll(R"(
    %m = sinter.max %a0 [0] : $X -> $C
    %mb = sinter.broadcast %m [1] : $C -> $X
    %d = sinter.sub %a0, %mb : $X
    %q = sinter.mul %d, %d : $X
    %v = sinter.sum %q [0] : $X -> $C
    %vb = sinter.broadcast %v [1] : $C -> $X
    %y = sinter.mul %d, %vb : $X
    sinter.yield %y, %m, %v : $X, $C, $C)",
                                                 {{"$X", x}, {"$C", c}});
    return GpuCallText({x}, {x, c, c}, body);
  }

  // Adds the sum of each row to its value in place.
  static std::string AddToRowsText(const std::string& length) {
    const std::string x = Tensor(absl::StrCat("21x", length), "f32");
    const std::string body = absl::StrReplaceAll(R"(
    %b = sinter.broadcast %a1 [0] : tensor<21xf32> -> $X
    %p = sinter.mul %a0, %b : $X
    %s = sinter.sum %p [1] : $X -> tensor<21xf32>
    %r = sinter.add %s, %a1 : tensor<21xf32>
    sinter.yield %r : tensor<21xf32>)",
                                                 {{"$X", x}});
    return GpuCallText({x, "tensor<21xf32>"}, {"in1"}, body);
  }
};

TEST_F(EmulatedSchedulesTest, FlatLoopsAndTheirTails) {
  for (const char* dtype : {"f64", "f32", "bf16", "f16"}) {
    for (const char* length : {"1", "31", "37", "2048", "4099"}) {
      const std::string x = Tensor(length, dtype);
      EmulatedCall call =
          EmulateCall(GpuCallText({x, x}, {x, "in1"},
                                  Of("%e = sinter.exp %a0 : $T\n%s = sinter.add %a0, %a1 : $T\n"
                                     "sinter.yield %e, %s : $T, $T",
                                     x)),
                      OpClass::kTranscendental);
      EXPECT_EQ(call.wrong, "");
      EXPECT_THAT(call.schedules, ElementsAre("flat"));
    }
  }
}

TEST_F(EmulatedSchedulesTest, UpdatesSideBySideInOneLaunch) {
  std::vector<std::string> ins, outs;
  std::string body, results, types;
  for (int i = 0; i < 5; ++i) {
    const std::string x = Tensor(std::to_string(i == 3 ? 7 : 1000 * i + 33), "f32"), n = std::to_string(i);
    ins.push_back(x);
    ins.push_back(x);
    outs.push_back("in" + std::to_string(2 * i));
    absl::StrAppend(&body, "%r", n, " = sinter.sub %a", 2 * i, ", %a", 2 * i + 1, " : ", x, "\n");
    absl::StrAppend(&results, i ? ", " : "", "%r", n);
    absl::StrAppend(&types, i ? ", " : "", x);
  }
  EmulatedCall call =
      EmulateCall(GpuCallText(ins, outs, absl::StrCat(body, "sinter.yield ", results, " : ", types)),
                  OpClass::kArithmetic);
  EXPECT_EQ(call.wrong, "");
  EXPECT_EQ(call.launches, 1);
}

TEST_F(EmulatedSchedulesTest, MapsOfSeveralLoops) {
  for (const char* dtype : {"f32", "bf16"}) {
    for (const char* inner : {"40", "41", "42", "3"}) {
      const std::string x = Tensor(absl::StrCat("37x", inner), dtype), b = Tensor(inner, dtype);
      EmulatedCall call =
          EmulateCall(GpuCallText({x, b}, {x},
                                  absl::StrCat("%b = sinter.broadcast %a1 [1] : ", b, " -> ", x,
                                               "\n%r = sinter.mul %a0, %b : ", x, "\nsinter.yield %r : ", x)),
                      OpClass::kArithmetic);
      EXPECT_EQ(call.wrong, "");
      EXPECT_THAT(call.schedules, ElementsAre("map"));
    }
  }
}

TEST_F(EmulatedSchedulesTest, MapsWhoseThreadsComputeSeveralVectors) {
  const std::string x = Tensor("2112x1024", "f32"), b = Tensor("1024", "f32");
  EmulatedCall call =
      EmulateCall(GpuCallText({x, b}, {"in0"},
                              absl::StrCat("%b = sinter.broadcast %a1 [1] : ", b, " -> ", x,
                                           "\n%r = sinter.mul %a0, %b : ", x, "\nsinter.yield %r : ", x)),
                  OpClass::kArithmetic);
  EXPECT_EQ(call.wrong, "");
  EXPECT_THAT(call.schedules, ElementsAre("map unrolled"));
}

TEST_F(EmulatedSchedulesTest, StripsOfWhatVariesAlongTheInnermostLoopAlone) {
  // Several rows per block; row lengths that are no multiple of the block's vectors, and an odd number of
  // rows; single elements, with rows in two loops.
  for (const auto& [shape, dims, along] :
       {std::tuple("16896x128", "[1]", "128"), std::tuple("3607x600", "[1]", "600"),
        std::tuple("77x5x2879", "[2]", "2879")}) {
    EmulatedCall call = ScaledRows(shape, dims, along);
    EXPECT_EQ(call.wrong, "");
    EXPECT_THAT(call.schedules, ElementsAre("strips"));
  }
}

TEST_F(EmulatedSchedulesTest, StripsInALoop) {
  EmulatedCall call = ScaledRows("2883601x3", "[1]", "3");
  EXPECT_EQ(call.wrong, "");
  EXPECT_THAT(call.schedules, ElementsAre("strips in a loop"));
}

// Each vector of eight elements is also a sum: the bits of its signs. Several rows per block with an odd
// number of rows, and numbers along the rows for which threads have more registers; then no rows of several
// vectors.
TEST_F(EmulatedSchedulesTest, StripsThatSumTheirVectors) {
  const auto signs = [](const std::string& rows, const std::string& vectors, int along) {
    const std::string x = Tensor(absl::StrCat(rows, "x", vectors, "x8"), "bf16"),
                      c = Tensor(absl::StrCat(vectors, "x8"), "f32"),
                      wide = Tensor(absl::StrCat(rows, "x", vectors, "x8"), "f32"),
                      bytes = Tensor(absl::StrCat(rows, "x", vectors, "x8"), "ui8"),
                      mask = Tensor(absl::StrCat(rows, "x", vectors, "x8"), "i1"),
                      packed = Tensor(absl::StrCat(rows, "x", vectors), "ui8");
    std::string body = absl::StrCat("%x0 = sinter.cast %a0 : ", x, " -> ", wide, "\n");
    std::vector<std::string> inputs = {x};
    for (int i = 1; i <= along; ++i) {
      inputs.push_back(c);
      absl::StrAppend(&body, "%c", i, " = sinter.broadcast %a", i, " [1, 2] : ", c, " -> ", wide, "\n%x", i,
                      i % 2 == 0 ? " = sinter.sub" : " = sinter.add", " %x", i - 1, ", %c", i, " : ", wide,
                      "\n");
    }
    absl::StrAppend(&body, "%y = sinter.cast %x", along, " : ", wide, " -> ", x,
                    "\n%zero = sinter.constant dense<0.0> : ", x, "\n%k = sinter.compare gt %y, %zero : ", x,
                    " -> ", mask, "\n%u = sinter.cast %k : ", mask, " -> ", bytes,
                    "\n%i = sinter.iota 2 : ", bytes, "\n%h = sinter.shift_left %u, %i : ", bytes,
                    "\n%p = sinter.sum %h [2] : ", bytes, " -> ", packed, "\nsinter.yield %y, %p : ", x, ", ",
                    packed);
    return EmulateCall(GpuCallText(inputs, {"in0", packed}, body), OpClass::kArithmetic);
  };
  EmulatedCall call = signs("16897", "32", 8);
  EXPECT_EQ(call.wrong, "");
  EXPECT_THAT(call.schedules, ElementsAre("strips"));
  EmulatedCall single = signs("16897", "1", 4);
  EXPECT_EQ(single.wrong, "");
  EXPECT_THAT(single.schedules, ElementsAre("row in part of a warp kept"));
}

TEST_F(EmulatedSchedulesTest, SquaresOfInputsThatLieAcross) {
  for (const char* dtype : {"f64", "f32", "bf16", "i8"}) {
    EmulatedCall call = EmulateCall(AddTransposedText(dtype), OpClass::kArithmetic);
    EXPECT_EQ(call.wrong, "");
    EXPECT_THAT(call.schedules, ElementsAre("tiles"));
  }
}

TEST_F(EmulatedSchedulesTest, RowsOfAWarpAndOfSeveral) {
  for (const char* dtype : {"f64", "f32", "bf16", "f16"}) {
    EmulatedCall part = Softmax("33", "45", dtype);
    EXPECT_EQ(part.wrong, "");
    EXPECT_THAT(part.schedules, ElementsAre("row in part of a warp kept"));
    EmulatedCall warp = Softmax("19", "250", dtype);
    EXPECT_EQ(warp.wrong, "");
    EXPECT_THAT(warp.schedules, ElementsAre("row in a warp kept"));
    EmulatedCall warps = Softmax("3", "3001", dtype);
    EXPECT_EQ(warps.wrong, "");
    EXPECT_THAT(warps.schedules, ElementsAre("row in warps kept"));
  }
  EmulatedCall many = Softmax("4227", "300", "f32");
  EXPECT_EQ(many.wrong, "");
  EXPECT_THAT(many.schedules, ElementsAre("row in a warp kept"));
}

TEST_F(EmulatedSchedulesTest, RowsThatRegistersDoNotHold) {
  EmulatedCall softmax = Softmax("66", "33003", "f32");
  EXPECT_EQ(softmax.wrong, "");
  EXPECT_THAT(softmax.schedules, ElementsAre("row in warps read again"));
  EmulatedCall max = Reduce("max", "66x40000", "[1]", "66", "bf16", OpClass::kExact);
  EXPECT_EQ(max.wrong, "");
  EXPECT_THAT(max.schedules, ElementsAre("row in warps read again"));
}

// x = op(y) gives special values: log of 0 is -inf (for some rows in all elements), log of negative numbers
// is NaN, 1 / 0 is inf. In other rows the running maximum changes often.
TEST_F(EmulatedSchedulesTest, ExponentialsSummedWhereTheirMaximumIsFound) {
  const std::string body = R"(
    %rb = sinter.broadcast %a1 [0] : $R -> $X
    %far = sinter.add %a0, %rb : $X
    %none = sinter.constant dense<0.0> : $X
    %one = sinter.constant dense<1.0> : $X
    %some = sinter.maximum %far, %none : $X
    %x = sinter.$OP : $X
    %m = sinter.max %x [1] : $X -> $R
    %mb = sinter.broadcast %m [0] : $R -> $X
    %s = sinter.sub %x, %mb : $X
    %e = sinter.exp %s : $X
    %t = sinter.sum %e [1] : $X -> $R
    %l = sinter.sum %far [1] : $X -> $R
    sinter.yield %m, %t, %l : $R, $R, $R)";
  const std::string x = "tensor<70x33003xf32>", r = "tensor<70xf32>";
  for (const char* op : {"log %some", "log %far", "div %one, %some"}) {
    const std::string text = absl::StrReplaceAll(body, {{"$X", x}, {"$R", r}, {"$OP", op}});
    EmulatedCall call = EmulateCall(GpuCallText({x, r}, {r, r, r}, text), OpClass::kComposite);
    EXPECT_EQ(call.wrong, "") << op;
    EXPECT_THAT(call.schedules, ElementsAre("row in warps read again"));
  }
  EmulatedCall far = EmulateCall(SoftmaxText("66", "33003", "f32"), OpClass::kComposite, -300, 300);
  EXPECT_EQ(far.wrong, "");
  EmulatedCall f64 = EmulateCall(SoftmaxText("66", "33003", "f64"), OpClass::kComposite, -300, 300);
  EXPECT_EQ(f64.wrong, "");
}

TEST_F(EmulatedSchedulesTest, RowsInPlace) {
  for (const char* length : {"45", "250", "3000", "3001"}) {
    EmulatedCall call = Softmax("5", length, "f32", /*in_place=*/true);
    EXPECT_EQ(call.wrong, "");
  }
  EmulatedCall again = Softmax("66", "32776", "bf16", /*in_place=*/true);
  EXPECT_EQ(again.wrong, "");
  EXPECT_THAT(again.schedules, ElementsAre("row in warps read again"));
}

TEST_F(EmulatedSchedulesTest, ResultsOfRowsInPlaceOfARowsValue) {
  for (const char* length : {"45", "250", "3001"}) {
    EXPECT_EQ(EmulateCall(AddToRowsText(length), OpClass::kReduction).wrong, "");
  }
}

TEST_F(EmulatedSchedulesTest, RowsInChunks) {
  for (const char* dtype : {"f64", "f32", "i32"}) {
    for (const char* shape : {"65536", "300007", "2x40004"}) {
      const bool rows = std::string(shape) == "2x40004";
      EmulatedCall call =
          Reduce("sum", shape, rows ? "[1]" : "[0]", rows ? "2" : "", dtype, OpClass::kReduction);
      EXPECT_EQ(call.wrong, "");
      EXPECT_THAT(call.schedules, ElementsAre("row combine", "row partial"));
      EXPECT_EQ(call.launches, 2);
    }
  }
  for (const char* dtype : {"f32", "bf16", "i8"}) {
    EmulatedCall call = EmulateCall(GpuCallText({Tensor("300007", dtype)}, {"tensor<i64>"},
                                                Of("%r = sinter.argmax %a0 dim 0 : tensor<300007x$T> -> "
                                                   "tensor<i64>\nsinter.yield %r : tensor<i64>",
                                                   dtype)),
                                    OpClass::kExact, -1, 1);
    EXPECT_EQ(call.wrong, "");
    EXPECT_THAT(call.schedules, ElementsAre("row combine", "row partial"));
  }
}

TEST_F(EmulatedSchedulesTest, Columns) {
  for (const char* dtype : {"f64", "f32", "bf16", "i32"}) {
    for (const char* columns : {"64", "70", "33"}) {
      const std::string from = absl::StrCat("301x", columns);
      EmulatedCall call = Reduce("sum", from, "[0]", columns, dtype, OpClass::kReduction);
      EXPECT_EQ(call.wrong, "");
      EXPECT_THAT(call.schedules, ElementsAre("column whole"));
    }
    EmulatedCall middle = Reduce("max", "5x77x36", "[1]", "5x36", dtype, OpClass::kExact);
    EXPECT_EQ(middle.wrong, "");
    EmulatedCall wide = Reduce("max", "9x8500", "[0]", "8500", dtype, OpClass::kExact);
    EXPECT_EQ(wide.wrong, "");
    EXPECT_THAT(wide.schedules, ElementsAre("column whole"));
  }
}

TEST_F(EmulatedSchedulesTest, ColumnsInChunks) {
  for (auto [dtype, columns] :
       {std::pair("f32", "96"), std::pair("f32", "33"), std::pair("bf16", "64"), std::pair("bf16", "9")}) {
    const std::string from = absl::StrCat("8195x", columns);
    EmulatedCall call = Reduce("max", from, "[0]", columns, dtype, OpClass::kExact);
    EXPECT_EQ(call.wrong, "");
    EXPECT_THAT(call.schedules, Contains("column partial"));
  }
}

TEST_F(EmulatedSchedulesTest, ChunksStoreWhatNeedsNoSum) {
  for (const char* dtype : {"f32", "bf16"}) {
    const std::string body = R"(
    %e = sinter.exp %a0 : tensor<4100x96x$T>
    %m = sinter.max %e [0] : tensor<4100x96x$T> -> tensor<96x$T>
    %n = sinter.min %a0 [0] : tensor<4100x96x$T> -> tensor<96x$T>
    sinter.yield %e, %m, %n : tensor<4100x96x$T>, tensor<96x$T>, tensor<96x$T>)";
    EmulatedCall call =
        EmulateCall(GpuCallText({Tensor("4100x96", dtype)}, {"in0", Tensor("96", dtype), Tensor("96", dtype)},
                                Of(body, dtype)),
                    OpClass::kTranscendental);
    EXPECT_EQ(call.wrong, "");
    EXPECT_THAT(call.schedules, Contains("column partial"));
    EXPECT_THAT(call.schedules, Contains("column combine"));
  }
}

// Sums after a norm and a relu, with two large operands and four numbers per column. A thread has 4 columns
// in bf16 and 2 in f32.
TEST_F(EmulatedSchedulesTest, ChunksWhoseColumnsNeedManyRegisters) {
  for (const char* dtype : {"f32", "bf16"}) {
    for (const char* columns : {"96", "36"}) {
      const std::string n = Tensor(absl::StrCat("8195x", columns), dtype), c = Tensor(columns, "f32");
      const std::string body =
          absl::StrReplaceAll(R"(
    %g = sinter.cast %a0 : $N -> $X
    %x = sinter.cast %a1 : $N -> $X
    %mean = sinter.broadcast %a2 [1] : $C -> $X
    %deviation = sinter.broadcast %a3 [1] : $C -> $X
    %scale = sinter.broadcast %a4 [1] : $C -> $X
    %offset = sinter.broadcast %a5 [1] : $C -> $X
    %left = sinter.sub %x, %mean : $X
    %normal = sinter.mul %left, %deviation : $X
    %scaled = sinter.mul %normal, %scale : $X
    %y = sinter.add %scaled, %offset : $X
    %r = sinter.relu %y : $X
    %m = sinter.mul %r, %g : $X
    %p = sinter.mul %m, %normal : $X
    %s = sinter.sum %m [0] : $X -> $C
    %t = sinter.sum %p [0] : $X -> $C
    sinter.yield %s, %t : $C, $C)",
                              {{"$N", n}, {"$C", c}, {"$X", Tensor(absl::StrCat("8195x", columns), "f32")}});
      EmulatedCall call = EmulateCall(GpuCallText({n, n, c, c, c, c}, {c, c}, body), OpClass::kReduction);
      EXPECT_EQ(call.wrong, "");
      EXPECT_THAT(call.schedules, Contains("column partial"));
    }
  }
}

TEST_F(EmulatedSchedulesTest, ColumnsInPhases) {
  for (const char* columns : {"40", "33"}) {
    EmulatedCall call = EmulateCall(SquaresText(columns), OpClass::kComposite);
    EXPECT_EQ(call.wrong, "");
    EXPECT_THAT(call.schedules, Contains("column whole"));
  }
}

// Row reductions use blocks of 256 threads if their launch has other jobs.
TEST_F(EmulatedSchedulesTest, ReductionsSideBySideInOneLaunch) {
  const std::string body = R"(
    %r = sinter.sum %a0 [1] : tensor<9x3001xf32> -> tensor<9xf32>
    %s = sinter.max %a1 [1] : tensor<40x77xf32> -> tensor<40xf32>
    %t = sinter.min %a2 [0] : tensor<50x40xf32> -> tensor<40xf32>
    %u = sinter.neg %a3 : tensor<45xf32>
    sinter.yield %r, %s, %t, %u : tensor<9xf32>, tensor<40xf32>, tensor<40xf32>, tensor<45xf32>)";
  EmulatedCall call = EmulateCall(
      GpuCallText({"tensor<9x3001xf32>", "tensor<40x77xf32>", "tensor<50x40xf32>", "tensor<45xf32>"},
                  {"tensor<9xf32>", "tensor<40xf32>", "tensor<40xf32>", "tensor<45xf32>"}, body),
      OpClass::kReduction);
  EXPECT_EQ(call.wrong, "");
  EXPECT_EQ(call.launches, 1);
}

// Checks the check itself: removing any barrier gives wrong results.
TEST_F(EmulatedSchedulesTest, EveryBarrierIsNeeded) {
  constexpr char kBarrier[] = "sn_barrier();";
  for (const std::string& text :
       {SoftmaxText("3", "3001", "f32"), AddTransposedText("f32"), SquaresText("33")}) {
    size_t barriers = 1;
    for (size_t without = 0; without < barriers; ++without) {
      EmulatedCalls calls;
      calls.set_rewrite([&](std::string kernel) {
        std::vector<size_t> places;
        for (size_t at = 0; (at = kernel.find(kBarrier, at)) != std::string::npos; ++at) places.push_back(at);
        barriers = places.size();
        return barriers == 0 ? kernel : kernel.erase(places[without], sizeof(kBarrier) - 1);
      });
      ASSERT_TRUE(calls.AddCall(text, OpClass::kComposite, -2, 2).ok());
      EXPECT_NE(calls.Judge().size(), 0u) << "without barrier " << without << " of\n" << text;
    }
    EXPECT_GT(barriers, 0u) << text;
  }
}

}  // namespace
}  // namespace sinter::numerics
