// The CPUs that code can be compiled for, and that the code uses only their instructions.
#include "sinter/codegen/cpu/target_machine.h"

#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/codegen/cpu/shared_object.h"
#include "sinter/kernels/cpu/cpu_level.h"
#include "sinter/tests/codegen/kernel_module_builder.h"
#include "sinter/tests/codegen/plan_instructions.h"

namespace sinter::codegen {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

// Returns loops over floats, doubles and bytes.
std::unique_ptr<llvm::Module> Exponentials(KernelModule& kernels) {
  llvm::Type *f32 = kernels.F32(), *f64 = kernels.F64(), *i8 = llvm::Type::getInt8Ty(kernels.context());
  kernels.AddLoop("f32", {f32}, f32, kernels.Calling(llvm::Intrinsic::exp, f32));
  kernels.AddLoop("f64", {f64}, f64, kernels.Calling(llvm::Intrinsic::cos, f64));
  kernels.AddLoop("f16", {kernels.F16()}, kernels.F16(),
                  kernels.Calling(llvm::Intrinsic::exp, kernels.F16()));
  kernels.AddLoop("bf16", {f32}, kernels.Bf16(),
                  [&](auto& b, auto args) { return b.CreateFPTrunc(args[0], kernels.Bf16()); });
  kernels.AddLoop("i8", {i8, i8}, i8, [](auto& b, auto args) { return b.CreateMul(args[0], args[1]); });
  return kernels.Take();
}

TEST(CpuTargetTest, UnknownNamesGetTheNearestOnes) {
  absl::Status status = CpuTarget::Parse("znver44").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("unknown CPU \"znver44\""), HasSubstr("\"znver4\""), HasSubstr("\"native\"")));
}

TEST(CpuTargetTest, TargetsWithoutFusedMultiplyAddAreRefused) {
  absl::Status status = CpuTarget::Parse("x86-64-v2").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("the CPU \"x86-64-v2\" has no avx2"), HasSubstr("\"x86-64-v3\"")));
}

// A feature of a single vendor would tie a plan to this vendor without a benefit.
TEST(CpuTargetTest, UsesWhatAllMakersShare) {
  for (const char* cpu : {"znver4", "bdver4", "native"}) {
    CpuTarget target = CpuTarget::Parse(cpu).value();
    for (const char* feature : {"sse4a", "xop", "tbm", "fma4", "clzero", "vpclmulqdq", "avxvnni"}) {
      EXPECT_THAT(target.required_features, Not(Contains(feature))) << cpu;
      EXPECT_THAT(target.features, Not(HasSubstr(std::string("+") + feature))) << cpu;
    }
  }
  CpuTarget zen4 = CpuTarget::Parse("znver4").value();
  EXPECT_THAT(zen4.features, AllOf(HasSubstr("-sse4a"), Not(HasSubstr("+"))));
  KernelModule kernels;
  EXPECT_THAT(EmitAssembly(Exponentials(kernels), zen4).value(), HasSubstr("%zmm"));
  EXPECT_EQ(CpuTarget::Parse("x86-64-v3")->features, "");
  EXPECT_EQ(CpuTarget::Parse("x86-64-v4")->features, "");
}

TEST(CpuTargetTest, SeveralComeBestFirst) {
  std::vector<CpuTarget> targets = ParseCpuTargets({"x86-64-v3", "x86-64-v4", "znver4", "x86-64-v3"}).value();
  ASSERT_EQ(targets.size(), 3u);
  EXPECT_EQ(targets[0].cpu, "znver4");
  EXPECT_EQ(targets[1].cpu, "x86-64-v4");
  EXPECT_EQ(targets[2].cpu, "x86-64-v3");
  EXPECT_THAT(std::string(ParseCpuTargets({}).status().message()),
              HasSubstr("target_cpu names 0 CPUs; name 1 to 16"));
  EXPECT_THAT(std::string(ParseCpuTargets({"x86-64-v3", "z80"}).status().message()),
              HasSubstr("unknown CPU \"z80\""));
}

// Runs in separate processes: the variable must be set from the start.
TEST(CpuTargetTest, NativeIsNoMoreThanTheLevelAskedFor) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto native_is = [](const char* level) {
    setenv("SINTER_CPU_LEVEL", level, 1);
    absl::StatusOr<CpuTarget> host = CpuTarget::Parse("native");
    std::cerr << (host.ok() ? host->cpu : std::string(host.status().message()));
    std::exit(host.ok() ? 0 : 1);
  };
  EXPECT_EXIT(native_is("x86-64-v3"), ::testing::ExitedWithCode(0), "^x86-64-v3$");
  EXPECT_EXIT(native_is("x86-64-v2"), ::testing::ExitedWithCode(1), "the CPU \"x86-64-v2\" has no avx2");
}

TEST(CpuTargetTest, NamesWhatTheRuntimeMustCheck) {
  CpuTarget v3 = CpuTarget::Parse("x86-64-v3").value();
  EXPECT_THAT(v3.required_features,
              AllOf(Contains("avx"), Contains("avx2"), Contains("fma"), Not(Contains("avx512f"))));
  EXPECT_EQ(v3.vector_bits, 256);
  CpuTarget zen4 = CpuTarget::Parse("znver4").value();
  EXPECT_THAT(zen4.required_features,
              AllOf(Contains("avx512f"), Contains("avx512bf16"), Contains("avx512vl")));
  EXPECT_EQ(zen4.vector_bits, 512);
  CpuTarget host = CpuTarget::Parse("native").value();
  EXPECT_EQ(host.cpu, CpuTarget::Host()->cpu);
  EXPECT_NE(host.cpu, "native");
  EXPECT_THAT(host.features, Not(HasSubstr("+avx10")));
  EXPECT_EQ(sn_cpu_level() >= 4, host.vector_bits == 512);
}

// Exponentials in loops of the widest vectors, their remainder loops, and functions that the linker adds.
TEST(PlanInstructionsTest, FindsWhatTheTargetLacks) {
  const std::vector<std::string> v3 = CpuTarget::Parse("x86-64-v3")->required_features;
  for (const char* cpu : {"x86-64-v3", "x86-64-v4", "znver4", "native"}) {
    KernelModule kernels;
    CpuTarget target = CpuTarget::Parse(cpu).value();
    std::string bytes = EmitSharedObject(Exponentials(kernels), target).value();
    EXPECT_TRUE(CheckInstructions(bytes, target.required_features).ok())
        << CheckInstructions(bytes, target.required_features);
    if (target.vector_bits == 256) continue;
    EXPECT_THAT(std::string(CheckInstructions(bytes, v3).message()),
                HasSubstr("needs avx512f, which the target lacks"));
  }
  std::vector<std::string> no_fma = v3;
  std::erase(no_fma, "fma");
  KernelModule kernels;
  std::string bytes = EmitSharedObject(Exponentials(kernels), CpuTarget::Parse("x86-64-v3").value()).value();
  EXPECT_THAT(std::string(CheckInstructions(bytes, no_fma).message()), HasSubstr("needs fma"));
}

TEST(PlanInstructionsTest, KnowsWhatInstructionsNeed) {
  using Bytes = std::vector<uint8_t>;
  EXPECT_EQ(NeededFeature(Bytes{0x62, 0xf1, 0x7c, 0x48, 0x58, 0xc1}, "vaddps"), "avx512f");
  EXPECT_EQ(NeededFeature(Bytes{0x62, 0xf2, 0x7d, 0x48, 0x8d, 0xc1}, "vpermb"), "avx512vbmi");
  EXPECT_EQ(NeededFeature(Bytes{0x62, 0xf5, 0x7c, 0x48, 0x58, 0xc1}, "vaddph"), "avx512fp16");
  EXPECT_EQ(NeededFeature(Bytes{0xc5, 0xf8, 0x92, 0xc8}, "kmovw"), "avx512f");
  EXPECT_EQ(NeededFeature(Bytes{0xc4, 0xe2, 0x7d, 0x50, 0xc1}, "vpdpbusd"), "avxvnni");
  EXPECT_EQ(NeededFeature(Bytes{0xc4, 0xe3, 0xfd, 0x69, 0xc1, 0x20}, "vfmaddpd"), "fma4");
  EXPECT_EQ(NeededFeature(Bytes{0xc4, 0xe2, 0x7d, 0xa8, 0xc1}, "vfmadd213ps"), "fma");
  EXPECT_EQ(NeededFeature(Bytes{0x8f, 0xe9, 0x78, 0x81, 0xc1}, "vfrczps"), "xop");
  EXPECT_EQ(NeededFeature(Bytes{0x8f, 0xc0}, "popq"), "");
  EXPECT_EQ(NeededFeature(Bytes{0xf2, 0x0f, 0x2b, 0x07}, "movntsd"), "sse4a");
  EXPECT_EQ(NeededFeature(Bytes{0xc5, 0xfc, 0x58, 0xc1}, "vaddps"), "");
}

}  // namespace
}  // namespace sinter::codegen
