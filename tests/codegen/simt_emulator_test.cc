// The emulator itself: its results, and the kernel mistakes that it must detect.
#include "sinter/tests/codegen/simt_emulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "sinter/codegen/cpu/compile_cpp.h"
#include "sinter/runtime/host/float8.h"
#include "sinter/runtime/host/half.h"

namespace sinter::codegen {
namespace {

using ::testing::HasSubstr;

CudaSource Kernel(int buffers, int block, const std::string& body) {
  return {.symbol = "k",
          .text = absl::StrCat("struct Buffers {\n  char* p[", buffers,
                               "];\n};\nextern \"C\" __global__ void __launch_bounds__(", block,
                               ") k(const __grid_constant__ Buffers b) {\n  sn_start();\n",
                               "  const int thread = threadIdx.x, block = blockIdx.x;\n", body, "}\n")};
}

class SimtEmulatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!HasCppCompiler()) GTEST_SKIP() << "built without the Clang library";
  }

  // Runs `body` on `buffers` with `grid` blocks of `block` threads.
  static absl::Status Run(const std::string& body, int grid, int block,
                          const std::vector<SimtBuffer*>& buffers) {
    auto gpu = SimtEmulator::Compile({Kernel(static_cast<int>(buffers.size()), block, body)});
    if (!gpu.ok()) return gpu.status();
    return (*gpu)->Run(0, grid, block, buffers);
  }

  static void ExpectError(const absl::Status& status, absl::StatusCode code, const std::string& message) {
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
  }

  template <typename T>
  static T* As(const SimtBuffer& buffer) {
    return reinterpret_cast<T*>(buffer.data());
  }
};

TEST_F(SimtEmulatorTest, ThreadsOfABlockAddUpThroughShufflesBarriersAndSharedMemory) {
  constexpr int kBlocks = 3, kThreads = 96;
  SimtBuffer x(kBlocks * kThreads * 4), sums(kBlocks * 4);
  for (int i = 0; i < kBlocks * kThreads; ++i) As<uint32_t>(x)[i] = i * i + 1;
  absl::Status status = Run(R"(
  __shared__ u32 parts_[3];
  u32 v = sn_load(((const u32*)b.p[0]) + block * blockDim.x + thread);
  for (int mask = 16; mask > 0; mask /= 2) v += sn_shuffle_xor(v, mask);
  if (thread % 32 == 0) parts_[thread / 32] = v;
  sn_barrier();
  if (thread == 0) ((u32*)b.p[1])[block] = parts_[0] + parts_[1] + parts_[2] + (gridDim.x - 3);
)",
                            kBlocks, kThreads, {&x, &sums});
  ASSERT_TRUE(status.ok()) << status;
  for (int block = 0; block < kBlocks; ++block) {
    uint32_t want = 0;
    for (int i = 0; i < kThreads; ++i) want += As<uint32_t>(x)[block * kThreads + i];
    EXPECT_EQ(As<uint32_t>(sums)[block], want);
  }
}

TEST_F(SimtEmulatorTest, FindsAMissingBarrier) {
  SimtBuffer y(64 * 4);
  const std::string write = "  __shared__ u32 s_[64];\n  s_[thread] = thread;\n",
                    read = "  ((u32*)b.p[0])[thread] = s_[63 - thread];\n";
  EXPECT_TRUE(Run(write + "  sn_barrier();\n" + read, 1, 64, {&y}).ok());
  EXPECT_EQ(As<uint32_t>(y)[5], 58u);
  ExpectError(Run(write + read, 1, 64, {&y}), absl::StatusCode::kFailedPrecondition,
              "kernel k writes other bits to buffer 0 when its threads run from the last to the first");
}

TEST_F(SimtEmulatorTest, FindsSharedMemoryThatIsUsedAgainTooEarly) {
  SimtBuffer y(64 * 4);
  const std::string
      first =
          "  __shared__ u32 s_[64];\n  s_[thread] = thread;\n  sn_barrier();\n"
          "  const u32 v = s_[63 - thread];\n",
      second = "  s_[thread] = 2 * v;\n  sn_barrier();\n  ((u32*)b.p[0])[thread] = s_[63 - thread];\n";
  EXPECT_TRUE(Run(first + "  sn_barrier();\n" + second, 1, 64, {&y}).ok());
  ExpectError(Run(first + second, 1, 64, {&y}), absl::StatusCode::kFailedPrecondition, "other bits");
}

TEST_F(SimtEmulatorTest, FindsBlocksThatWriteTheSamePlace) {
  SimtBuffer y(4);
  ExpectError(Run("  ((u32*)b.p[0])[0] = block;\n", 2, 1, {&y}), absl::StatusCode::kFailedPrecondition,
              "other bits");
}

TEST_F(SimtEmulatorTest, FindsThreadsThatWaitForever) {
  SimtBuffer y(64 * 4);
  ExpectError(Run("  if (thread < 32) sn_barrier();\n", 2, 64, {&y}), absl::StatusCode::kFailedPrecondition,
              "kernel k, block 0: nothing can go on: threads 0 to 31 at the barrier; threads 32 to 63 ended");
  ExpectError(
      Run("  if (thread < 8) sn_barrier(); else sn_shuffle_xor(thread, 1);\n", 1, 64, {&y}),
      absl::StatusCode::kFailedPrecondition,
      "threads 0 to 7 at the barrier; threads 8 to 31 at a shuffle by xor, mask 0xffffffff; threads 32 to "
      "63");
  ExpectError(
      Run("  if (thread < 16) sn_shuffle_first(thread); else sn_shuffle_xor(thread, 1);\n", 1, 32, {&y}),
      absl::StatusCode::kFailedPrecondition, "threads 0 to 15 at a shuffle by index");
  ExpectError(Run("  __shfl_xor_sync(0xffff0000u, thread, 1);\n", 1, 32, {&y}),
              absl::StatusCode::kFailedPrecondition,
              "block 0, thread 0 shuffles by the mask 0xffff0000, which is without it");
}

TEST_F(SimtEmulatorTest, LanesThatHaveEndedGiveGarbage) {
  SimtBuffer y(32 * 4);
  ASSERT_TRUE(Run("  if (thread == 1) return;\n  ((u32*)b.p[0])[thread] = sn_shuffle_xor((u32)thread, 1);\n",
                  1, 32, {&y})
                  .ok());
  EXPECT_EQ(As<uint32_t>(y)[0], 0xcbcbcbcbu);
  EXPECT_EQ(As<uint32_t>(y)[2], 3u);
}

TEST_F(SimtEmulatorTest, MemoryThatNothingWroteIsGarbageInEachBlock) {
  SimtBuffer y(2 * 32 * 4);
  absl::Status status =
      Run("  __shared__ u32 s_[33];\n  ((u32*)b.p[0])[block * 32 + thread] = s_[thread + 1];\n  s_[thread] = "
          "7;\n",
          2, 32, {&y});
  // The last thread reads unwritten memory. In one of the two orders, the other threads read their
  // neighbour's value.
  ExpectError(status, absl::StatusCode::kFailedPrecondition, "other bits");
  status = Run(
      "  __shared__ u32 s_[32];\n  ((u32*)b.p[0])[block * 32 + thread] = s_[thread];\n  s_[thread] = 7;\n", 2,
      32, {&y});
  ASSERT_TRUE(status.ok()) << status;
  for (int i = 0; i < 64; ++i) EXPECT_EQ(As<uint32_t>(y)[i], 0xcbcbcbcbu);
}

TEST_F(SimtEmulatorTest, FindsAccessesOutsideOfMemory) {
  SimtBuffer x(32 * 4), y(32 * 4);
  ExpectError(Run("  ((u32*)b.p[1])[thread + 1] = sn_load((const u32*)b.p[0] + thread);\n", 1, 32, {&x, &y}),
              absl::StatusCode::kOutOfRange, "kernel k: byte 128 of buffer 1 is written, which has 128");
  ExpectError(Run("  ((u32*)b.p[1])[thread] = sn_load((const u32*)b.p[0] + thread - 1);\n", 1, 32, {&x, &y}),
              absl::StatusCode::kOutOfRange,
              "block 0, thread 0 reads 4 bytes at byte -4 of buffer 0, which has 128");
  ExpectError(Run("  __shared__ u32 s_[31];\n  s_[thread] = thread;\n", 1, 32, {&x, &y}),
              absl::StatusCode::kOutOfRange, "byte 124 of shared array 0 is written, which has 124");
}

TEST_F(SimtEmulatorTest, FindsAccessesThatAreNotAligned) {
  SimtBuffer x(64, /*offset=*/8), y(64);
  const std::string
      load = "  ((Vec<float, 4>*)b.p[1])[thread] = sn_load((const Vec<float, 4>*)b.p[0] + thread);\n",
      store = "  ((Vec<float, 4>*)b.p[0])[thread] = Vec<float, 4>{{1.0f, 2.0f, 3.0f, 4.0f}};\n",
      plain =
          "  const Vec<float, 4> v = *((const Vec<float, 4>*)b.p[0] + thread);\n"
          "  ((float*)b.p[1])[thread] = v.v[2];\n";
  for (const std::string& body : {load, store, plain}) {
    ExpectError(Run(body, 1, 4, {&x, &y}), absl::StatusCode::kInvalidArgument,
                "accesses 16 bytes at once at byte 0 of buffer 0, which has 64");
    SimtBuffer aligned(64);
    absl::Status status = Run(body, 1, 4, {&aligned, &y});
    EXPECT_TRUE(status.ok()) << status;
  }
}

TEST_F(SimtEmulatorTest, FindsChangesOfMemoryThatIsReadAsUnchanged) {
  SimtBuffer x(32 * 4);
  ExpectError(Run("  ((u32*)b.p[0])[thread] = sn_load((const u32*)b.p[0] + thread) + 1;\n", 1, 32, {&x}),
              absl::StatusCode::kFailedPrecondition,
              "kernel k reads buffer 0 as memory that nothing writes while it runs, and changes byte 0");
  EXPECT_TRUE(Run("  ((u32*)b.p[0])[thread] = ((u32*)b.p[0])[thread] + 1;\n", 1, 32, {&x}).ok());
}

// Numbers from below the least result to too large ones, those beside every tie, and NaN.
TEST_F(SimtEmulatorTest, ThePreludesEightBitFloatsAreThoseOfTheHost) {
  std::vector<float> numbers = {0.0f, -0.0f, std::numeric_limits<float>::infinity(),
                                -std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()};
  for (uint32_t bits = 0x36000000u; bits < 0x48000000u; bits += 0x8000u) {
    for (const uint32_t beside : {bits - 1, bits, bits + 1}) {
      numbers.push_back(std::bit_cast<float>(beside)), numbers.push_back(-numbers.back());
    }
  }
  const size_t n = numbers.size();
  SimtBuffer x(n * sizeof(float)), e4m3(n), e5m2(n);
  std::memcpy(x.data(), numbers.data(), n * sizeof(float));
  absl::Status status = Run(absl::StrCat("  for (u32 i = thread; i < ", n, "; i += 32) {\n",
                                         "    const float u = sn_load((const float*)b.p[0] + i);\n",
                                         "    ((u8*)b.p[1])[i] = sn_to_f8e4m3(u);\n",
                                         "    ((u8*)b.p[2])[i] = sn_to_f8e5m2(u);\n  }\n"),
                            1, 32, {&x, &e4m3, &e5m2});
  ASSERT_TRUE(status.ok()) << status;
  for (size_t i = 0; i < n; ++i) {
    ASSERT_EQ(As<uint8_t>(e4m3)[i], Float8E4M3::FromFloat(numbers[i]).bits) << numbers[i];
    ASSERT_EQ(As<uint8_t>(e5m2)[i], Float8E5M2::FromFloat(numbers[i]).bits) << numbers[i];
  }
}

TEST_F(SimtEmulatorTest, RefusesWhatAGpuWouldAndWhatItDoesNotKnow) {
  SimtBuffer x(4);
  ExpectError(Run("  asm volatile(\"exit;\");\n", 1, 1, {&x}), absl::StatusCode::kInvalidArgument,
              "the kernel k has PTX, which is not emulated");
  ExpectError(Run("  __shared__ double a_[6000];\n  __shared__ double c_[200];\n  a_[0] = c_[0] = thread;\n",
                  1, 1, {&x}),
              absl::StatusCode::kInvalidArgument, "shares 49600 bytes with its block, which has 49152");
  auto unknown = SimtEmulator::Compile({{.symbol = "k", .text = "extern \"C\" __global__ void k() {}\n"}});
  ExpectError(unknown.status(), absl::StatusCode::kInvalidArgument,
              "the kernel k has no struct of char* p[n], or no __launch_bounds__");
  ExpectError(Run("  no_such_function();\n", 1, 1, {&x}), absl::StatusCode::kInvalidArgument,
              "no_such_function");
  auto gpu = SimtEmulator::Compile({Kernel(1, 64, "")});
  ASSERT_TRUE(gpu.ok()) << gpu.status();
  ExpectError((*gpu)->Run(0, 1, 96, {&x}), absl::StatusCode::kInvalidArgument,
              "kernel k for up to 64 threads and 1 buffers is launched with 1 blocks, 96 threads, 1 buffers");
  EXPECT_TRUE((*gpu)->Run(0, 2, 64, {&x}).ok());
}

TEST_F(SimtEmulatorTest, SeveralAtATimeRunTheirOwnKernels) {
  std::vector<std::unique_ptr<SimtEmulator>> gpus;
  for (int i = 0; i < 3; ++i) {
    auto gpu = SimtEmulator::Compile({Kernel(1, 1, absl::StrCat("  *(u32*)b.p[0] = ", 10 + i, ";\n"))});
    ASSERT_TRUE(gpu.ok()) << gpu.status();
    gpus.push_back(*std::move(gpu));
  }
  SimtBuffer y(4);
  for (uint32_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(gpus[i]->Run(0, 1, 1, {&y}).ok());
    EXPECT_EQ(As<uint32_t>(y)[0], 10 + i);
  }
}

TEST_F(SimtEmulatorTest, ThePreludesMathematicsKeepsItsBounds) {
  constexpr int kCount = 4096;
  SimtBuffer x(kCount * 4), exps(kCount * 4), tanhs(kCount * 4), sums(kCount * 4), parts(kCount * 4);
  for (int i = 0; i < kCount; ++i) As<float>(x)[i] = -80.0f + 160.0f * static_cast<float>(i) / kCount;
  absl::Status status = Run(R"(
  const int i = block * 128 + thread;
  const float x = sn_load((const float*)b.p[0] + i);
  ((float*)b.p[1])[i] = sn_exp(x);
  ((float*)b.p[2])[i] = sn_tanh(x / 16.0f);
  ((float*)b.p[3])[i] = sn_one_plus_tanh(x / 4.0f);
  ((float*)b.p[4])[i] = sn_reciprocal(81.0f + x);
)",
                            kCount / 128, 128, {&x, &exps, &tanhs, &sums, &parts});
  ASSERT_TRUE(status.ok()) << status;
  for (int i = 0; i < kCount; ++i) {
    const double at = As<float>(x)[i], e = std::exp(at), t = std::tanh(at / 16);
    EXPECT_LE(std::fabs(As<float>(exps)[i] - e), (2.4e-7 + 7.3e-8 * std::fabs(at)) * e) << at;
    EXPECT_LE(std::fabs(As<float>(tanhs)[i] - t), 2e-6 * std::fabs(t)) << at;
    const double sum = 2 / (1 + std::exp(-at / 2)), part = 1 / (81 + at);
    EXPECT_LE(std::fabs(As<float>(sums)[i] - sum), (6e-7 + 1.5e-7 * std::fabs(at / 4)) * sum) << at;
    EXPECT_LE(std::fabs(As<float>(parts)[i] - part), 1.2e-7 * part) << at;
  }
}

TEST_F(SimtEmulatorTest, ThePreludesExtremesAndHalvesAreThoseOfTheOps) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float values[] = {0.0f, -0.0f, 1.0f, nan};
  SimtBuffer x(16), high(64), low(64), halves(2 * 65536 * 2);
  std::memcpy(x.data(), values, sizeof(values));
  absl::Status status = Run(R"(
  const float u = sn_load((const float*)b.p[0] + thread / 4), v = sn_load((const float*)b.p[0] + thread % 4);
  ((float*)b.p[1])[thread] = sn_max(u, v);
  ((float*)b.p[2])[thread] = sn_min(u, v);
  for (u32 i = thread; i < 65536; i += 16) {
    ((u16*)b.p[3])[i] = sn_to_bf16(sn_from_bf16(i));
    ((u16*)b.p[3])[65536 + i] = sn_to_f16(sn_from_f16(i));
  }
)",
                            1, 16, {&x, &high, &low, &halves});
  ASSERT_TRUE(status.ok()) << status;
  for (int i = 0; i < 16; ++i) {
    const float u = values[i / 4], v = values[i % 4], most = As<float>(high)[i], least = As<float>(low)[i];
    EXPECT_EQ(std::isnan(most), std::isnan(u) || std::isnan(v));
    EXPECT_EQ(std::isnan(least), std::isnan(u) || std::isnan(v));
    if (std::isnan(most)) continue;
    EXPECT_EQ(most, std::max(u, v));
    EXPECT_EQ(least, std::min(u, v));
    if (u == v) EXPECT_EQ(std::signbit(most), std::signbit(u) && std::signbit(v));
    if (u == v) EXPECT_EQ(std::signbit(least), std::signbit(u) || std::signbit(v));
  }
  for (uint32_t i = 0; i < 65536; ++i) {
    const uint16_t bits = static_cast<uint16_t>(i);
    if (!std::isnan(BFloat16{bits}.ToFloat())) EXPECT_EQ(As<uint16_t>(halves)[i], bits);
    if (!std::isnan(Float16{bits}.ToFloat())) EXPECT_EQ(As<uint16_t>(halves)[65536 + i], bits);
  }
}

}  // namespace
}  // namespace sinter::codegen
