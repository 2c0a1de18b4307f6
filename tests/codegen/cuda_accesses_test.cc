// The accesses of fused kernels: parts of concats, slices, and rows in short pieces.
#include "absl/strings/str_replace.h"
#include "sinter/tests/codegen/cuda_kernels_fixture.h"

namespace sinter::codegen {
namespace {

using ::testing::HasSubstr;

// A rotary embedding: a thread computes neighbours of both halves, with whole accesses.
constexpr char kRotary[] = R"(
  %x = plan.input "x" on <gpu, 0> : <tensor<512x64xbf16>>
  %c = plan.input "c" on <gpu, 0> : <tensor<512x32xbf16>>
  %y = plan.alloc at 0 on <gpu, 0> : <tensor<512x64xbf16>>
  plan.call "rotary" ins(%x, %c : !plan.buffer<tensor<512x64xbf16>>, !plan.buffer<tensor<512x32xbf16>>)
      outs(%y : !plan.buffer<tensor<512x64xbf16>>) on <gpu, 0> {
  ^bb0(%a: tensor<512x64xbf16>, %b: tensor<512x32xbf16>):
    %low = sinter.slice %a [0, 0] [512, 32] [1, 1] : tensor<512x64xbf16> -> tensor<512x32xbf16>
    %high = sinter.slice %a [0, 32] [512, 64] [1, 1] : tensor<512x64xbf16> -> tensor<512x32xbf16>
    %p = sinter.mul %low, %b : tensor<512x32xbf16>
    %q = sinter.mul %high, %b : tensor<512x32xbf16>
    %r = sinter.concat %p, %q dim 1 : (tensor<512x32xbf16>, tensor<512x32xbf16>) -> tensor<512x64xbf16>
    sinter.yield %r : tensor<512x64xbf16>
  })";

TEST_F(CudaKernelsTest, PartsOfAConcatAreStoredInWholeAccesses) {
  auto launches = Launches(kRotary);
  ASSERT_TRUE(launches.ok()) << launches.status();
  ASSERT_EQ(launches->size(), 1u);
  const std::string& text = TextOf((*launches)[0]);
  EXPECT_EQ(CountOf(text, "sn_load(((const Vec<u16, 8>*)"), 3) << text;
  EXPECT_EQ(CountOf(text, "sn_load(((const u16*)"), 0);
  EXPECT_EQ((*launches)[0].grid * (*launches)[0].block, 512 * 32 / 8);
  ExpectCompiles();
}

// Parts that begin at odd elements have accesses of one element, and neighbours in neighbouring threads.
TEST_F(CudaKernelsTest, PartsAtOddElementsHaveNarrowAccesses) {
  auto launches = Launches(absl::StrReplaceAll(kRotary, {{"512x32xbf16", "512x31xbf16"},
                                                         {"[512, 32]", "[512, 31]"},
                                                         {"[0, 32] [512, 64]", "[0, 31] [512, 62]"},
                                                         {"512x64xbf16", "512x62xbf16"}}));
  ASSERT_TRUE(launches.ok()) << launches.status();
  ASSERT_EQ(launches->size(), 1u);
  EXPECT_EQ(CountOf(TextOf((*launches)[0]), "Vec<"), CountOf(TextOf((*launches)[0]), "Vec<T"));
  ExpectCompiles();
}

// Rows of 120 elements in pieces of 15: several threads share a row, and blocks have several rows.
TEST_F(CudaKernelsTest, RowsInShortPiecesAreSharedByThreads) {
  auto launches = Launches(R"(
  %x = plan.input "x" on <gpu, 0> : <tensor<8x229x15xf32>>
  %y = plan.alloc at 0 on <gpu, 0> : <tensor<229xf32>>
  plan.call "sum" ins(%x : !plan.buffer<tensor<8x229x15xf32>>) outs(%y : !plan.buffer<tensor<229xf32>>) on <gpu, 0> {
  ^bb0(%a: tensor<8x229x15xf32>):
    %s = sinter.sum %a [0, 2] : tensor<8x229x15xf32> -> tensor<229xf32>
    sinter.yield %s : tensor<229xf32>
  })");
  ASSERT_TRUE(launches.ok()) << launches.status();
  ASSERT_EQ(launches->size(), 1u);
  EXPECT_GE((*launches)[0].grid * (*launches)[0].block, 229 * 8);
  EXPECT_THAT(TextOf((*launches)[0]), HasSubstr("sn_shuffle_xor("));
  ExpectCompiles();
}

}  // namespace
}  // namespace sinter::codegen
