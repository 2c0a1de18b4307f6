// Emulated devices themselves: one kernel, what their steps may write, and their errors.
#include "sinter/tests/runtime/emulated/emulated_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "sinter/codegen/cpu/compile_cpp.h"
#include "sinter/tests/frontend/run_graph.h"
#include "sinter/tests/runtime/emulated/emulated_code.h"
#include "sinter/tests/runtime/emulated/emulated_gpu.h"
#include "sinter/tests/runtime/emulated/emulated_memory.h"
#include "sinter/tests/runtime/emulated/library_steps.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

class EmulatedDevicesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!codegen::HasCppCompiler()) GTEST_SKIP() << "built without the Clang library";
  }
  Device device_ = Device::Of(RegisterEmulatedDevices(), 0);
};

Graph Exponentials() {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = b.Input("x", F32, {300});
    b.Output("y", Exp(x) + 2 * x);
  });
  return graph;
}

TEST_F(EmulatedDevicesTest, AKernelRuns) {
  EXPECT_EQ(device_.ToString(), "emulated:0");
  EXPECT_EQ(*Device::Parse("emulated:3"), Device::Of(RegisterEmulatedDevices(), 3));
  Session session = MustStart(Exponentials(), {.device = device_});
  std::vector<float> x(300);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.01f * static_cast<float>(i) - 1;
  const HostTensor input = *HostTensor::FromVector<float>({300}, x);
  for (int run = 1; run <= 3; ++run) {
    const std::vector<float> y = Floats(session, "f", {{"x", input}}, "y");
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(y[i], std::exp(x[i]) + 2 * x[i], 1e-5) << i;
    EXPECT_EQ(LatestEmulatedGpu(0)->kernel_launches(), run);
  }
}

// A plan names the kind, so it keeps its devices when it is saved.
TEST_F(EmulatedDevicesTest, APlanNamesThem) {
  const absl::StatusOr<Plan> plan = Compile(Exponentials(), {.device = device_});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->Devices(), ::testing::ElementsAre(device_));
  const fb::Plan& table = plan->table();
  ASSERT_EQ(table.gpu_kernels()->size(), 1u);
  ASSERT_EQ(table.gpu_kernels()->Get(0)->images()->size(), 1u);
  EXPECT_EQ(table.gpu_kernels()->Get(0)->images()->Get(0)->architecture()->str(), kEmulatedArchitecture);
}

TEST_F(EmulatedDevicesTest, MissingDevicesAndKernelsAreErrors) {
  absl::StatusOr<Plan> plan =
      Compile(Exponentials(), {.device = Device::Of(device_.kind(), kEmulatedDevices)});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(Session::Create(*std::move(plan)).status().message(),
              HasSubstr("emulated:4 does not exist: there are emulated:0 to emulated:3"));
  plan = Compile(Exponentials(), {.device = device_, .gpu_architectures = {"sm_90"}});
  if (absl::IsFailedPrecondition(plan.status())) GTEST_SKIP() << plan.status();  // No NVRTC.
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(Session::Create(*std::move(plan)).status().message(),
              HasSubstr("has code for sm_90, and not for emulated"));
}

// Returns the program of a kernel whose output `z` is an array of 300 floats.
Graph UserKernel(const std::string& body) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    const ElementwiseKernel kernel("T x", "raw T z", body, "user_kernel");
    b.Output("z", kernel({b.Input("x", F32, {300})}, {.raw_shapes = {{300}}}));
  });
  return graph;
}

TEST_F(EmulatedDevicesTest, FaultsOfKernelsAreErrorsOfTheRun) {
  const HostTensor x = *HostTensor::FromVector<float>({300}, std::vector<float>(300, 2));
  {
    Session session = MustStart(UserKernel("z[i] = x"), {.device = device_});
    EXPECT_EQ(Floats(session, "f", {{"x", x}}, "z"), std::vector<float>(300, 2));
  }
  Session session = MustStart(UserKernel("z[i + 1] = x"), {.device = device_});
  absl::Status status = session.Run("f", {{"x", x}}).status();
  status.Update(session.Synchronize());
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("writes beside its outputs"));
}

TEST_F(EmulatedDevicesTest, KernelsOfPtxAreErrorsOfCompile) {
  EXPECT_THAT(Compile(UserKernel("asm(\"trap;\"); z[i] = x"), {.device = device_}).status().message(),
              HasSubstr("has PTX, which is not emulated"));
}

TEST_F(EmulatedDevicesTest, AnArchitectureHasOneCompiler) {
  EXPECT_EQ(codegen::RegisterDeviceCodeCompiler(EmulatedCodeCompiler()).code(),
            absl::StatusCode::kAlreadyExists);
}

TEST_F(EmulatedDevicesTest, WritesBesideOutputsAreFound) {
  EmulatedMemory memory(device_);
  const absl::StatusOr<void*> piece = memory.Allocate(4096);
  ASSERT_TRUE(piece.ok()) << piece.status();
  auto* const bytes = static_cast<std::byte*>(*piece);
  std::fill_n(bytes, 4096, std::byte{1});
  const std::span<std::byte> first(bytes + 512, 100), adjacent(bytes + 612, 50);
  const auto after_writing = [&](ptrdiff_t at) {
    const WriteCheck check({first, adjacent});
    bytes[at] = std::byte{2};
    const bool ok = check.Finish("a step").ok();
    bytes[at] = std::byte{1};
    return ok;
  };
  for (const ptrdiff_t inside : {512, 611, 612, 661}) EXPECT_TRUE(after_writing(inside)) << inside;
  for (const ptrdiff_t beside : {511, 400, 662, 800}) EXPECT_FALSE(after_writing(beside)) << beside;
  EXPECT_TRUE(EmulatedMemory::CheckGuards().ok());
  const std::byte guard = std::exchange(bytes[-1], std::byte{0});
  EXPECT_EQ(EmulatedMemory::CheckGuards().code(), absl::StatusCode::kInternal);
  bytes[-1] = guard;
  memory.Free(*piece, 4096);
}

TEST_F(EmulatedDevicesTest, WritesOutsideAPieceEndTheProgram) {
  EXPECT_DEATH(
      {
        EmulatedMemory memory(Device::Of(RegisterEmulatedDevices(), 0));
        void* const piece = *memory.Allocate(64);
        static_cast<std::byte*>(piece)[64] = std::byte{0};
        memory.Free(piece, 64);
      },
      "was written outside its 64 bytes");
}

// The slope of an activation is the limit of differences.
TEST(EmulatedLibraryTest, ActivationsHaveTheirSlopes) {
  for (const fb::Activation activation : fb::EnumValuesActivation()) {
    for (const double x : {-2.5, -0.3, 0.4, 1.7}) {
      const double h = 1e-5;
      EXPECT_NEAR(ActivationSlope(activation, x),
                  (Activate(activation, x + h) - Activate(activation, x - h)) / (2 * h), 1e-8)
          << fb::EnumNameActivation(activation) << " at " << x;
    }
  }
}

}  // namespace
}  // namespace sinter
