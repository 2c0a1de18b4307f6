// Fused calls as CUDA launches: their number, their shapes, and which calls are refused.
//
// cuda_compile_test.cc in tests/numerics checks that NVRTC accepts the text. emulated_kernels_test.cc and
// emulated_schedules_test.cc there, and op_test.cc on a GPU, check the results.
#include "sinter/codegen/cuda/cuda_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "mlir/Parser/Parser.h"
#include "sinter/codegen/cuda/compile_cubins.h"
#include "sinter/codegen/cuda/nvrtc.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/runtime/plan/gpu_limits.h"
#include "sinter/tests/codegen/cuda_kernels_fixture.h"
#include "sinter/tests/codegen/gpu_call_text.h"

namespace sinter::codegen {
namespace {

using ::testing::HasSubstr;

// Returns a call of `count` independent updates, each with one input and one output.
std::string Updates(int count) {
  std::string buffers, ins, in_types, outs, arguments, ops, yielded, types;
  for (int i = 0; i < count; ++i) {
    const std::string comma = i == 0 ? "" : ", ";
    absl::StrAppend(&buffers, "  %x", i, " = plan.input \"x", i, "\" on <gpu, 0> : <tensor<8xf32>>\n  %y", i,
                    " = plan.alloc at ", 64 * i, " on <gpu, 0> : <tensor<8xf32>>\n");
    absl::StrAppend(&ins, comma, "%x", i);
    absl::StrAppend(&outs, comma, "%y", i);
    absl::StrAppend(&in_types, comma, "!plan.buffer<tensor<8xf32>>");
    absl::StrAppend(&arguments, comma, "%a", i, ": tensor<8xf32>");
    absl::StrAppend(&ops, "    %r", i, " = sinter.neg %a", i, " : tensor<8xf32>\n");
    absl::StrAppend(&yielded, comma, "%r", i);
    absl::StrAppend(&types, comma, "tensor<8xf32>");
  }
  return absl::StrCat(buffers, "  plan.call \"update\" ins(", ins, " : ", in_types, ") outs(", outs, " : ",
                      in_types, ") on <gpu, 0> {\n  ^bb0(", arguments, "):\n", ops, "    sinter.yield ",
                      yielded, " : ", types, "\n  } loc(\"model.cc\":5:1)\n");
}

TEST_F(CudaKernelsTest, RefusesMoreBuffersThanALaunchCarries) {
  const int most = static_cast<int>(kMaxGpuKernelBuffers) / 2;
  auto launches = Launches(Updates(most));
  ASSERT_TRUE(launches.ok()) << launches.status();
  ASSERT_EQ(launches->size(), 1u);
  EXPECT_EQ((*launches)[0].inputs.size() + (*launches)[0].outputs.size(), 2u * most);
  launches = Launches(Updates(most + 1));
  EXPECT_EQ(launches.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(launches.status().message(),
            "model.cc:5: the kernel 'update' works on 4096 buffers and a GPU kernel may have 4095; split the "
            "function "
            "that it belongs to");
}

// y = exp(x) and its column sums.
constexpr char kSums[] = R"mlir(
  %x = plan.input "x" on <gpu, 0> : <tensor<4096x512xf32>>
  %y = plan.alloc at 0 on <gpu, 0> : <tensor<4096x512xf32>>
  %s = plan.alloc at 8388608 on <gpu, 0> : <tensor<512xf32>>
  plan.call "sums" ins(%x : !plan.buffer<tensor<4096x512xf32>>)
      outs(%y, %s : !plan.buffer<tensor<4096x512xf32>>, !plan.buffer<tensor<512xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<4096x512xf32>):
    %e = sinter.exp %a : tensor<4096x512xf32>
    %r = sinter.sum %e [0] : tensor<4096x512xf32> -> tensor<512xf32>
    sinter.yield %e, %r : tensor<4096x512xf32>, tensor<512xf32>
  }
)mlir";

TEST_F(CudaKernelsTest, ChunksFillTheGpuAndStoreWhatNeedsNoSum) {
  auto launches = Launches(kSums);
  ASSERT_TRUE(launches.ok()) << launches.status();
  ASSERT_EQ(launches->size(), 2u);
  const CudaLaunch &chunks = (*launches)[0], &sums = (*launches)[1];
  EXPECT_GE(chunks.grid, 2 * 128);
  ASSERT_EQ(chunks.outputs.size(), 2u);
  EXPECT_EQ(chunks.outputs[0].kind, Slot::Kind::kWorkspace);
  EXPECT_EQ(chunks.outputs[1].kind, Slot::Kind::kOut);
  EXPECT_EQ(chunks.outputs[1].index, 0);
  ASSERT_EQ(sums.inputs.size(), 1u);
  EXPECT_EQ(sums.inputs[0], chunks.outputs[0]);
  ASSERT_EQ(sums.outputs.size(), 1u);
  EXPECT_EQ(sums.outputs[0].index, 1);
  // Each block of the first launch gives the partial sums of some columns over one chunk of the rows.
  EXPECT_EQ(chunks.grid % sums.inputs[0].type.getShape()[0], 0);
  ExpectCompiles();
}

TEST_F(CudaKernelsTest, InputsThatLieAcrossGoThroughSharedMemory) {
  for (const char* type : {"f32", "bf16", "f16", "f64", "i8"}) {
    auto launches = LaunchesOf(AddTransposedText(type));
    ASSERT_TRUE(launches.ok()) << launches.status();
    ASSERT_EQ(launches->size(), 1u);
    EXPECT_THAT(TextOf((*launches)[0]), HasSubstr("__shared__"));
    EXPECT_THAT(TextOf((*launches)[0]), HasSubstr("sn_barrier()"));
  }
  ExpectCompiles();
}

constexpr char kExponentials[] = R"mlir(
  %x = plan.input "x" on <gpu, 0> : <tensor<4096xf32>>
  %y = plan.alloc at 0 on <gpu, 0> : <tensor<4096xbf16>>
  plan.call "exponentials" ins(%x : !plan.buffer<tensor<4096xf32>>) outs(%y : !plan.buffer<tensor<4096xbf16>>)
      on <gpu, 0> {
  ^bb0(%a: tensor<4096xf32>):
    %e = sinter.exp %a : tensor<4096xf32>
    %t = sinter.tanh %e : tensor<4096xf32>
    %r = sinter.cast %t : tensor<4096xf32> -> tensor<4096xbf16>
    sinter.yield %r : tensor<4096xbf16>
  }
)mlir";

TEST_F(CudaKernelsTest, ExponentialsAreThePreludesAndResultsRoundedOnce) {
  auto launches = Launches(kExponentials);
  ASSERT_TRUE(launches.ok()) << launches.status();
  ASSERT_EQ(launches->size(), 1u);
  EXPECT_THAT(TextOf((*launches)[0]), HasSubstr(" = sn_exp("));
  EXPECT_THAT(TextOf((*launches)[0]), HasSubstr(" = sn_tanh("));
  const std::string& text = TextOf((*launches)[0]);
  EXPECT_EQ(CountOf(text, "sn_to_bf16("), CountOf(text, " = sn_tanh("));
  ExpectCompiles();
}

constexpr char kNarrowFloats[] = R"mlir(
  %x = plan.input "x" on <gpu, 0> : <tensor<4096xf32>>
  %y = plan.alloc at 0 on <gpu, 0> : <tensor<4096xf8E4M3FN>>
  %z = plan.alloc at 4096 on <gpu, 0> : <tensor<4096xf8E5M2>>
  plan.call "narrow" ins(%x : !plan.buffer<tensor<4096xf32>>)
      outs(%y, %z : !plan.buffer<tensor<4096xf8E4M3FN>>, !plan.buffer<tensor<4096xf8E5M2>>) on <gpu, 0> {
  ^bb0(%a: tensor<4096xf32>):
    %r = sinter.cast %a : tensor<4096xf32> -> tensor<4096xf8E4M3FN>
    %s = sinter.cast %a : tensor<4096xf32> -> tensor<4096xf8E5M2>
    sinter.yield %r, %s : tensor<4096xf8E4M3FN>, tensor<4096xf8E5M2>
  }
)mlir";

// One conversion an element, of the prelude; integer code would take 18 operations.
TEST_F(CudaKernelsTest, EightBitFloatsAreRoundedByThePrelude) {
  auto launches = Launches(kNarrowFloats);
  ASSERT_TRUE(launches.ok()) << launches.status();
  ASSERT_EQ(launches->size(), 1u);
  const std::string& text = TextOf((*launches)[0]);
  EXPECT_GT(CountOf(text, " = sn_to_f8e4m3("), 0);
  EXPECT_EQ(CountOf(text, " = sn_to_f8e4m3("), CountOf(text, " = sn_to_f8e5m2("));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("__float_as_uint")));
  ExpectCompiles();
}

constexpr char kGates[] = R"mlir(
  %x = plan.input "x" on <gpu, 0> : <tensor<4096xf32>>
  %y = plan.alloc at 0 on <gpu, 0> : <tensor<4096xf32>>
  %z = plan.alloc at 16384 on <gpu, 0> : <tensor<4096xf32>>
  plan.call "gates" ins(%x : !plan.buffer<tensor<4096xf32>>)
      outs(%y, %z : !plan.buffer<tensor<4096xf32>>, !plan.buffer<tensor<4096xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<4096xf32>):
    %g = sinter.gelu_tanh %a : tensor<4096xf32>
    %s = sinter.sigmoid %a : tensor<4096xf32>
    %d = sinter.div %g, %s : tensor<4096xf32>
    %t = sinter.tanh %d : tensor<4096xf32>
    sinter.yield %d, %t : tensor<4096xf32>, tensor<4096xf32>
  }
)mlir";

// gelu_tanh needs no tanh, and a sigmoid needs no full division. Other tanh and divisions stay.
TEST_F(CudaKernelsTest, OneAndTanhAndSigmoidsHaveShorterWays) {
  auto launches = Launches(kGates);
  ASSERT_TRUE(launches.ok()) << launches.status();
  ASSERT_EQ(launches->size(), 1u);
  const std::string text = TextOf((*launches)[0]);
  // Each element has one of each.
  const int elements = CountOf(text, "sn_one_plus_tanh(");
  EXPECT_GT(elements, 0);
  EXPECT_EQ(CountOf(text, "sn_reciprocal("), elements);
  EXPECT_EQ(CountOf(text, " / "), elements);
  EXPECT_EQ(CountOf(text, "sn_tanh("), elements);
  ExpectCompiles();
}

constexpr char kLongRows[] = R"mlir(
  %x = plan.input "x" on <gpu, 0> : <tensor<1024x50304xbf16>>
  %y = plan.alloc at 0 on <gpu, 0> : <tensor<1024xbf16>>
  plan.call "max" ins(%x : !plan.buffer<tensor<1024x50304xbf16>>) outs(%y : !plan.buffer<tensor<1024xbf16>>)
      on <gpu, 0> {
  ^bb0(%a: tensor<1024x50304xbf16>):
    %r = sinter.max %a [1] : tensor<1024x50304xbf16> -> tensor<1024xbf16>
    sinter.yield %r : tensor<1024xbf16>
  }
)mlir";

TEST_F(CudaKernelsTest, LongRowsLeaveRegistersToTheirThreads) {
  auto launches = Launches(kLongRows);
  ASSERT_TRUE(launches.ok()) << launches.status();
  ASSERT_EQ(launches->size(), 1u);
  EXPECT_EQ((*launches)[0].grid, 1024);
  // Two blocks on a multiprocessor, which has 65,536 registers.
  EXPECT_GE((*launches)[0].block, 512);
  EXPECT_GE(65536 / (2 * (*launches)[0].block), 40);
}

// Streaming loads and stores in the last pass over a row that no thread keeps in registers: the cache is free
// for values that are read again.
TEST_F(CudaKernelsTest, TheLastPassOverALongRowGoesPastTheCaches) {
  const auto count_of = [&](const std::string& what, const std::string& columns) {
    auto launches = Launches(absl::StrReplaceAll(R"mlir(
  %x = plan.input "x" on <gpu, 0> : <tensor<1024x$Cxf32>>
  %y = plan.alloc at 0 on <gpu, 0> : <tensor<1024x$Cxf32>>
  plan.call "shares" ins(%x : !plan.buffer<tensor<1024x$Cxf32>>) outs(%y : !plan.buffer<tensor<1024x$Cxf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<1024x$Cxf32>):
    %s = sinter.sum %a [1] : tensor<1024x$Cxf32> -> tensor<1024xf32>
    %b = sinter.broadcast %s [0] : tensor<1024xf32> -> tensor<1024x$Cxf32>
    %r = sinter.div %a, %b : tensor<1024x$Cxf32>
    sinter.yield %r : tensor<1024x$Cxf32>
  }
)mlir",
                                                 {{"$C", columns}}));
    EXPECT_TRUE(launches.ok()) << launches.status();
    if (!launches.ok() || launches->size() != 1) return -1;
    return CountOf(TextOf((*launches)[0]), what);
  };
  EXPECT_EQ(count_of("sn_load(", "50304"), 1);
  EXPECT_EQ(count_of("sn_load_last(", "50304"), 1);
  EXPECT_EQ(count_of("sn_store_past(", "50304"), 1);
  EXPECT_EQ(count_of("sn_load_last(", "4096"), 0);
  EXPECT_EQ(count_of("sn_store_past(", "4096"), 0);
  ExpectCompiles();
}

// Each read of a row that no thread keeps in registers is a loop over the row.
TEST_F(CudaKernelsTest, AMaximumAndTheExponentialsBehindItAreOneReadOfARow) {
  const auto reads_of = [&](const std::string& term, const std::string& results) -> int {
    auto launches = Launches(absl::StrReplaceAll(R"mlir(
  %x = plan.input "x" on <gpu, 0> : <tensor<1024x50304xf32>>
  %y = plan.alloc at 0 on <gpu, 0> : <tensor<1024xf32>>
  plan.call "sums" ins(%x : !plan.buffer<tensor<1024x50304xf32>>) outs(%y : !plan.buffer<tensor<1024xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<1024x50304xf32>):
    %m = sinter.max %a [1] : tensor<1024x50304xf32> -> tensor<1024xf32>
    %b = sinter.broadcast %m [0] : tensor<1024xf32> -> tensor<1024x50304xf32>
    %d = sinter.sub %a, %b : tensor<1024x50304xf32>
    %e = sinter.$TERM %d : tensor<1024x50304xf32>
    %s = sinter.sum %e [1] : tensor<1024x50304xf32> -> tensor<1024xf32>
    $RESULTS
  }
)mlir",
                                                 {{"$TERM", term}, {"$RESULTS", results}}));
    EXPECT_TRUE(launches.ok()) << launches.status();
    if (!launches.ok() || launches->size() != 1) return 0;
    return CountOf(TextOf((*launches)[0]), "for (idx");
  };
  const std::string sum = "sinter.yield %s : tensor<1024xf32>";
  EXPECT_EQ(reads_of("exp", sum), 1);
  // A sum of another function of x - max(x) cannot be rescaled.
  EXPECT_EQ(reads_of("abs", sum), 2);
  // If the same pass also sums another value that depends on the maximum, the passes stay separate.
  EXPECT_EQ(reads_of("exp", R"(
    %q = sinter.mul %e, %e : tensor<1024x50304xf32>
    %t = sinter.sum %q [1] : tensor<1024x50304xf32> -> tensor<1024xf32>
    %r = sinter.add %s, %t : tensor<1024xf32>
    sinter.yield %r : tensor<1024xf32>)"),
            2);
  ExpectCompiles();
}

// The more threads share a row, the longer they wait for each other.
TEST_F(CudaKernelsTest, ManyRowsOfThousandsHaveMoreOfThemInEachThread) {
  const auto block_of = [&](int rows, int columns) -> int64_t {
    const std::string text = absl::StrReplaceAll(kLongRows, {{"1024x50304", absl::StrCat(rows, "x", columns)},
                                                             {"1024xbf16", absl::StrCat(rows, "xbf16")}});
    auto launches = Launches(text);
    EXPECT_TRUE(launches.ok()) << launches.status();
    return launches.ok() && launches->size() == 1 ? (*launches)[0].block : 0;
  };
  EXPECT_LT(block_of(8192, 4096), block_of(8192, 16384));
  // Few rows need many threads per row.
  EXPECT_LT(block_of(8192, 4096), block_of(1024, 4096));
}

// Four blocks per multiprocessor leave 64 registers for a thread. Two sums of one operand over 8 columns use
// 32 of them.
TEST_F(CudaKernelsTest, ChunksOfColumnsAllFitAtOnce) {
  const std::string sums = R"mlir(
  %x = plan.input "x" on <gpu, 0> : <tensor<65536x256xbf16>>
  %s = plan.alloc at 0 on <gpu, 0> : <tensor<256xf32>>
  %t = plan.alloc at 1024 on <gpu, 0> : <tensor<256xf32>>
  plan.call "sums" ins(%x : !plan.buffer<tensor<65536x256xbf16>>)
      outs(%s, %t : !plan.buffer<tensor<256xf32>>, !plan.buffer<tensor<256xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<65536x256xbf16>):
    %x32 = sinter.cast %a : tensor<65536x256xbf16> -> tensor<65536x256xf32>
    %squares = sinter.mul %x32, %x32 : tensor<65536x256xf32>
    %sum = sinter.sum %x32 [0] : tensor<65536x256xf32> -> tensor<256xf32>
    %sum2 = sinter.sum %squares [0] : tensor<65536x256xf32> -> tensor<256xf32>
    sinter.yield %sum, %sum2 : tensor<256xf32>, tensor<256xf32>
  }
)mlir";
  auto launches = Launches(sums);
  ASSERT_TRUE(launches.ok()) << launches.status();
  ASSERT_EQ(launches->size(), 2u);
  EXPECT_THAT(TextOf((*launches)[0]), HasSubstr("__launch_bounds__(256, 4)"));
  EXPECT_THAT(TextOf((*launches)[0]), HasSubstr("Vec<u16, 8>"));
  // Nine column blocks, and as many chunks as fit the GPU at once: one more of each would be a second wave.
  auto wide = Launches(
      absl::StrReplaceAll(sums, {{"256xbf16", "2304xbf16"}, {"256xf32", "2304xf32"}, {"1024", "16384"}}));
  ASSERT_TRUE(wide.ok()) << wide.status();
  EXPECT_EQ((*wide)[0].grid % 9, 0);
  EXPECT_LE((*wide)[0].grid, 4 * 132);
  EXPECT_GT((*wide)[0].grid + 9, 4 * 132);
}

// Rows minus their sums, the column sums of x and the column sums of the difference.
std::string RowsAndColumns(int rows, int columns) {
  return absl::StrReplaceAll(
      R"mlir(
  %x = plan.input "x" on <gpu, 0> : <tensor<$RxCxf32>>
  %y = plan.alloc at 0 on <gpu, 0> : <tensor<$RxCxf32>>
  %s = plan.alloc at 100000000 on <gpu, 0> : <tensor<$Cxf32>>
  %t = plan.alloc at 100100000 on <gpu, 0> : <tensor<$Cxf32>>
  plan.call "columns" ins(%x : !plan.buffer<tensor<$RxCxf32>>)
      outs(%y, %s, %t : !plan.buffer<tensor<$RxCxf32>>, !plan.buffer<tensor<$Cxf32>>, !plan.buffer<tensor<$Cxf32>>)
      on <gpu, 0> {
  ^bb0(%a: tensor<$RxCxf32>):
    %all = sinter.sum %a [0] : tensor<$RxCxf32> -> tensor<$Cxf32>
    %row = sinter.sum %a [1] : tensor<$RxCxf32> -> tensor<$Rxf32>
    %rows = sinter.broadcast %row [0] : tensor<$Rxf32> -> tensor<$RxCxf32>
    %left = sinter.sub %a, %rows : tensor<$RxCxf32>
    %sum = sinter.sum %left [0] : tensor<$RxCxf32> -> tensor<$Cxf32>
    sinter.yield %left, %all, %sum : tensor<$RxCxf32>, tensor<$Cxf32>, tensor<$Cxf32>
  }
)mlir",
      {{"xC", absl::StrCat("x", columns)}, {"$C", absl::StrCat(columns)}, {"$R", absl::StrCat(rows)}});
}

TEST_F(CudaKernelsTest, APassOverRowsSumsTheirColumns) {
  auto launches = Launches(RowsAndColumns(16896, 128));
  ASSERT_TRUE(launches.ok()) << launches.status();
  ASSERT_EQ(launches->size(), 2u);
  const CudaLaunch& pass = (*launches)[0];
  const CudaLaunch& sums = (*launches)[1];
  ExpectOneWave(pass);
  EXPECT_THAT(TextOf(pass), HasSubstr("sn_prefetch("));  // Prefetches the next rows.
  ASSERT_EQ(pass.inputs.size(), 1u);
  ASSERT_EQ(pass.outputs.size(), 3u);  // y, and two partial results for the second launch.
  ASSERT_EQ(sums.inputs.size(), 2u);
  for (const Slot& partial : sums.inputs) {
    EXPECT_EQ(partial.kind, Slot::Kind::kWorkspace);
    EXPECT_EQ(partial.type.getShape()[0], pass.grid);
  }
  EXPECT_EQ(sums.outputs.size(), 2u);

  auto long_rows = Launches(RowsAndColumns(4224, 4096));
  ASSERT_TRUE(long_rows.ok()) << long_rows.status();
  ASSERT_EQ(long_rows->size(), 2u);
  ExpectOneWave((*long_rows)[0]);
  EXPECT_EQ(StoredWith((*long_rows), 0).size(), 3u);

  // Fewer rows do not justify this: the kernel that stores y sums no columns.
  auto few = Launches(RowsAndColumns(4223, 4096));
  ASSERT_TRUE(few.ok()) << few.status();
  for (const Slot& slot : StoredWith(*few, 0)) {
    if (slot.kind == Slot::Kind::kWorkspace) {
      EXPECT_EQ(slot.type.getRank(), 1) << "partial sums of columns";
    }
  }
  ExpectCompiles();
}

// x minus its column mean; as a norm, also divided by the root of the column variance.
std::string ScaledChannels(int rows, bool is_norm) {
  std::string text = R"mlir(
  %x = plan.input "x" on <gpu, 0> : <tensor<$Rx256xbf16>>
  %m = plan.input "m" on <gpu, 0> : <tensor<256xf32>>
  %v = plan.input "v" on <gpu, 0> : <tensor<256xf32>>
  %y = plan.alloc at 0 on <gpu, 0> : <tensor<$Rx256xbf16>>
  plan.call "norm" ins(%x, %m, %v : !plan.buffer<tensor<$Rx256xbf16>>, !plan.buffer<tensor<256xf32>>, !plan.buffer<tensor<256xf32>>)
      outs(%y : !plan.buffer<tensor<$Rx256xbf16>>) on <gpu, 0> {
  ^bb0(%a: tensor<$Rx256xbf16>, %b: tensor<256xf32>, %c: tensor<256xf32>):
    %wide = sinter.cast %a : tensor<$Rx256xbf16> -> tensor<$Rx256xf32>
    %mean = sinter.broadcast %b [1] : tensor<256xf32> -> tensor<$Rx256xf32>
    %left = sinter.sub %wide, %mean : tensor<$Rx256xf32>
    %root = sinter.sqrt %c : tensor<256xf32>
    %deviation = sinter.broadcast %root [1] : tensor<256xf32> -> tensor<$Rx256xf32>
    %normal = sinter.div %left, %deviation : tensor<$Rx256xf32>
    %index32 = sinter.cast $Y : tensor<$Rx256xf32> -> tensor<$Rx256xbf16>
    sinter.yield %index32 : tensor<$Rx256xbf16>
  }
)mlir";
  return absl::StrReplaceAll(text, {{"$R", absl::StrCat(rows)}, {"$Y", is_norm ? "%normal" : "%left"}});
}

TEST_F(CudaKernelsTest, WhatVariesAlongTheInnermostLoopAloneIsReadOnceAThread) {
  auto launches = Launches(ScaledChannels(33792, /*is_norm=*/true));
  ASSERT_TRUE(launches.ok()) << launches.status();
  ASSERT_EQ(launches->size(), 1u);
  EXPECT_GE((*launches)[0].grid, 8 * 132);  // Waves of blocks for every multiprocessor.
  EXPECT_THAT(TextOf((*launches)[0]), HasSubstr("__launch_bounds__(256, 3)"));
  const std::string& text = TextOf((*launches)[0]);
  EXPECT_EQ(CountOf(text, "sn_load(((const Vec<float, 8>*)"), 2);
  EXPECT_EQ(CountOf(text, "sn_load(((const Vec<u16, 8>*)"), 4);
  EXPECT_EQ(CountOf(text, "sqrtf("), 8);
  EXPECT_EQ(CountOf(text, "= Vec<u16, 8>{{"), 4);
  // All rows are loaded before the first is stored.
  EXPECT_LT(text.rfind("sn_load("), text.find("= Vec<u16, 8>{{"));

  // Many rows: a loop, after the values that are read once.
  launches = Launches(ScaledChannels(802816, /*is_norm=*/true));
  ASSERT_TRUE(launches.ok()) << launches.status();
  const std::string& loop = TextOf((*launches)[0]);
  EXPECT_EQ(CountOf(loop, "sn_load(((const Vec<float, 8>*)"), 2);
  EXPECT_EQ(CountOf(loop, "sn_load(((const Vec<u16, 8>*)"), 4);
  EXPECT_LT(loop.rfind("sn_load(((const Vec<float, 8>*)"), loop.find("for (idx"));
  ExpectCompiles();
}

TEST_F(CudaKernelsTest, FewRowsAndFewBytesAlongTheInnermostLoopHaveNoStrips) {
  // Too few blocks; then the mean has as many bytes per element as x and the result together.
  for (const auto& [rows, is_norm] : {std::pair(16880, true), std::pair(33792, false)}) {
    auto launches = Launches(ScaledChannels(rows, is_norm));
    ASSERT_TRUE(launches.ok()) << launches.status();
    ASSERT_EQ(launches->size(), 1u);
    EXPECT_THAT(TextOf((*launches)[0]), HasSubstr("__launch_bounds__(256)"));
  }
}

}  // namespace
}  // namespace sinter::codegen
