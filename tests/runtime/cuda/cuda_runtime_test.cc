#include "sinter/runtime/cuda/cuda_runtime.h"

#include <cstdlib>
#include <numeric>
#include <utility>

#include "gmock/gmock.h"
#include "sinter/runtime/cuda/context/staging_ring.h"
#include "sinter/runtime/cuda/driver/cuda_memory.h"
#include "sinter/runtime/cuda/steps/cuda_steps.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tests/runtime/cuda/gpu_steps.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

TEST(CudaRuntimeMakingTest, RefusesWhatIsNoGpu) {
  const absl::Status status = MakeCudaRuntime(Device::Cpu()).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(status.message(), "cpu:0 is no GPU");
}

TEST(CudaRuntimeMakingTest, SaysWhichGpusThereAre) {
  const absl::Status status = MakeCudaRuntime(Device::Gpu(1000)).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("there is no gpu:1000: "));
}

TEST(CudaRuntimeMakingTest, RefusesAnUnreadableChoiceOfPeerAccess) {
  setenv("SINTER_DISABLE_P2P", "yes", 1);
  const absl::Status status = MakeCudaRuntime(Device::Gpu(0)).status();
  unsetenv("SINTER_DISABLE_P2P");
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("SINTER_DISABLE_P2P is \"yes\": write 1"));
}

// Returns the libraries that a GPU opens for a plan with this step.
template <typename AddStep>
std::pair<bool, bool> LibrariesFor(const AddStep& add) {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0), Device::Cpu(0)});
  TestFunction f(plan, "f");
  add(f);
  const Plan made = *plan.Make();
  const CudaLibraries libraries = LibrariesOf(made.table());
  return {libraries.cublaslt, libraries.cudnn};
}

TEST(CudaRuntimeMakingTest, OpensCufftForTransformsOnGpus) {
  for (const uint32_t device : {0, 1}) {
    TestPlan plan;
    plan.UseDevices({Device::Gpu(0), Device::Cpu(0)});
    TestFunction f(plan, "f");
    const uint32_t x = f.Arena(DType::kF32, {2, 3, 2}, device);
    f.Catalog("fft", {1, 2, 3, 0}, {x}, {f.Arena(DType::kF32, {2, 3, 2}, device)});
    const Plan made = *plan.Make();
    EXPECT_EQ(LibrariesOf(made.table()).cufft, device == 0);
    EXPECT_FALSE(LibrariesOf(made.table()).cudnn);
  }
}

TEST(CudaRuntimeMakingTest, OpensTheLibrariesOfMatrices) {
  const auto libraries_of = [](const std::string& kernel, const std::vector<int64_t>& parameters,
                               size_t inputs, const std::vector<DType>& outputs) {
    TestPlan plan;
    plan.UseDevices({Device::Gpu(0)});
    TestFunction f(plan, "f");
    std::vector<uint32_t> in, out;
    for (size_t i = 0; i < inputs; ++i) in.push_back(f.Arena(DType::kF32, {0}));
    for (const DType dtype : outputs) out.push_back(f.Arena(dtype, {0}));
    f.Catalog(kernel, parameters, in, out);
    const Plan made = *plan.Make();
    const CudaLibraries libraries = LibrariesOf(made.table());
    EXPECT_FALSE(libraries.cublaslt);
    return std::pair(libraries.cublas, libraries.cusolver);
  };
  EXPECT_EQ(libraries_of("cholesky", {1, 0, 2}, 1, {DType::kF32}), std::pair(false, true));
  EXPECT_EQ(libraries_of("triangular_solve", {1, 0, 2, 2, 0, 0, 0, 0}, 2, {DType::kF32}),
            std::pair(true, false));
  EXPECT_EQ(libraries_of("lu", {1, 0, 2}, 1, {DType::kF32, DType::kI32}), std::pair(true, true));
}

TEST(CudaRuntimeMakingTest, OpensTheLibrariesOfStepsOnGpus) {
  const auto matmul_on = [](uint32_t device) {
    return [device](TestFunction& f) {
      fb::MatmulStepT step;
      step.batch = 1, step.m = step.n = step.k = 2, step.dtype = fb::DType::F32;
      const uint32_t a = f.Arena(DType::kF32, {2, 2}, device);
      f.Matmul(step, {a, a}, {f.Arena(DType::kF32, {2, 2}, device)});
    };
  };
  EXPECT_EQ(LibrariesFor(matmul_on(0)), std::pair(true, false));
  EXPECT_EQ(LibrariesFor(matmul_on(1)), std::pair(false, false));
  EXPECT_EQ(LibrariesFor([](TestFunction& f) {
              fb::AttentionStepT step;
              step.dtype = fb::DType::BF16, step.batch = 2, step.queries = step.keys = 4,
              step.heads = step.key_heads = 3, step.width = 8, step.packed = true, step.scale = 0.5;
              f.Attention(step, {f.Arena(DType::kBf16, {2, 4, 3, 3, 8})},
                          {f.Arena(DType::kBf16, {2, 4, 3, 8})});
            }),
            std::pair(false, true));
}

std::vector<uint32_t> Numbers(size_t count, uint32_t first = 0) {
  std::vector<uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

class CudaRuntimeTest : public GpuTest {
 protected:
  Allocation Take(DeviceRuntime& gpu, size_t bytes) {
    return gpu.allocator().Allocate(static_cast<int64_t>(bytes), "test").value();
  }
  std::vector<uint32_t> Read(DeviceRuntime& gpu, const void* from, size_t count) {
    std::vector<uint32_t> numbers(count);
    const absl::Status status = gpu.Download(numbers.data(), from, count * sizeof(uint32_t));
    EXPECT_TRUE(status.ok()) << status;
    return numbers;
  }
};

TEST_F(CudaRuntimeTest, IsWhatItSays) {
  EXPECT_EQ(gpu().device(), Device::Gpu(0));
  EXPECT_FALSE(gpu().is_host_memory());
  EXPECT_EQ(gpu().allocator().device(), Device::Gpu(0));
  EXPECT_EQ(gpu().alignment() % 64, 0);
}

// Fills the ring of pinned memory several times, and ends neither at a slot nor at a multiple of 4.
TEST_F(CudaRuntimeTest, LargeTransfersComeBackWhole) {
  const size_t count = 5 * StagingRing::kSlots * StagingRing::kSlotBytes / 2 / sizeof(uint32_t) + 12345;
  std::vector<uint32_t> numbers = Numbers(count);
  const Allocation memory = Take(gpu(), count * sizeof(uint32_t));
  const DeviceRuntime::Traffic before = gpu().traffic();
  ASSERT_TRUE(gpu().Upload(memory.ptr(), numbers.data(), count * sizeof(uint32_t)).ok());
  // The caller may overwrite the data as soon as Upload returns.
  std::fill(numbers.begin(), numbers.end(), 0);
  EXPECT_EQ(Read(gpu(), memory.ptr(), count), Numbers(count));
  EXPECT_EQ(gpu().traffic().uploaded - before.uploaded, static_cast<int64_t>(count * sizeof(uint32_t)));
  EXPECT_EQ(gpu().traffic().downloaded - before.downloaded, static_cast<int64_t>(count * sizeof(uint32_t)));
  EXPECT_EQ(gpu().traffic().downloads - before.downloads, 1);
  EXPECT_EQ(gpu().traffic().copied, before.copied);
}

TEST_F(CudaRuntimeTest, ManySmallUploadsArriveInOrder) {
  constexpr size_t kCount = 50'000;
  const Allocation memory = Take(gpu(), kCount * sizeof(uint32_t));
  for (uint32_t pass = 0; pass < 2; ++pass) {
    for (uint32_t i = 0; i < kCount; ++i) {
      const uint32_t value = i + pass;
      ASSERT_TRUE(gpu().Upload(static_cast<uint32_t*>(memory.ptr()) + i, &value, sizeof(value)).ok());
    }
  }
  EXPECT_EQ(Read(gpu(), memory.ptr(), kCount), Numbers(kCount, 1));
}

TEST_F(CudaRuntimeTest, WorkRunsInTheOrderGiven) {
  constexpr size_t kBytes = 1 << 20;
  const Allocation memory = Take(gpu(), kBytes);
  const std::vector<uint32_t> numbers = Numbers(kBytes / sizeof(uint32_t));
  ASSERT_TRUE(gpu().Upload(memory.ptr(), numbers.data(), kBytes).ok());
  ASSERT_TRUE(gpu().Fill(memory.ptr(), 1, kBytes).ok());
  EXPECT_THAT(Read(gpu(), memory.ptr(), 1000), Each(0x01010101u));
  ASSERT_TRUE(gpu().Fill(memory.ptr(), 2, kBytes).ok());
  ASSERT_TRUE(gpu().Upload(memory.ptr(), numbers.data(), kBytes).ok());
  EXPECT_EQ(Read(gpu(), memory.ptr(), numbers.size()), numbers);
}

TEST_F(CudaRuntimeTest, NothingIsAlsoTransferred) {
  EXPECT_TRUE(gpu().Upload(nullptr, nullptr, 0).ok());
  EXPECT_TRUE(gpu().Download(nullptr, nullptr, 0).ok());
  EXPECT_TRUE(gpu().Fill(nullptr, 0, 0).ok());
  EXPECT_TRUE(gpu().Synchronize().ok());
}

// A run's uploads, steps, launches and downloads request no memory from the driver.
TEST_F(CudaRuntimeTest, SteadyStateAllocatesNothing) {
  const Allocation memory = Take(gpu(), 8 << 20);
  std::vector<uint32_t> numbers = Numbers((8 << 20) / sizeof(uint32_t));
  const CudaDriverCalls before = CountCudaDriverCalls();
  for (int run = 0; run < 20; ++run) {
    ASSERT_TRUE(gpu().Upload(memory.ptr(), numbers.data(), 8 << 20).ok());
    ASSERT_TRUE(gpu().Download(numbers.data(), memory.ptr(), 8 << 20).ok());
    const Allocation cached = Take(gpu(), 4096);
  }
  // The first 4096 bytes may be new.
  EXPECT_LE(CountCudaDriverCalls().allocations, before.allocations + 1);
  EXPECT_EQ(CountCudaDriverCalls().frees, before.frees);
}

TEST_F(CudaRuntimeTest, CapturedWorkRunsAtEachLaunchOnly) {
  const Allocation memory = Take(gpu(), 64);
  ASSERT_TRUE(gpu().Fill(memory.ptr(), 0, 64).ok());
  absl::StatusOr<std::unique_ptr<CapturedGraph>> captured =
      gpu().Capture([&] { return gpu().Fill(memory.ptr(), 7, 64); });
  ASSERT_TRUE(captured.ok()) << captured.status();
  EXPECT_THAT(Read(gpu(), memory.ptr(), 16), Each(0u));
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE((*captured)->Launch().ok());
    EXPECT_THAT(Read(gpu(), memory.ptr(), 16), Each(0x07070707u));
    ASSERT_TRUE(gpu().Fill(memory.ptr(), 0, 64).ok());
  }
}

TEST_F(CudaRuntimeTest, AFailedCaptureLeavesNothingBehind) {
  const absl::Status status = gpu().Capture([] { return absl::InternalError("step 3 failed"); }).status();
  EXPECT_EQ(status, absl::InternalError("step 3 failed"));
  EXPECT_TRUE(gpu().Synchronize().ok());
  // A wait during a capture makes the capture fail.
  EXPECT_FALSE(gpu().Capture([&] { return gpu().Synchronize(); }).ok());
  const Allocation memory = Take(gpu(), 64);
  ASSERT_TRUE(gpu().Fill(memory.ptr(), 3, 64).ok());
  EXPECT_THAT(Read(gpu(), memory.ptr(), 16), Each(0x03030303u));
}

TEST_F(CudaRuntimeTest, RefusesAnAllocatorOfAnotherDevice) {
  const auto pool = CachingAllocator::Create(std::make_unique<HostMemory>()).value();
  const absl::Status status = MakeCudaRuntime(Device::Gpu(0), {.allocator = pool.get()}).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_EQ(status.message(), "an allocator of cpu:0 cannot serve gpu:0");
}

// An event takes the time at its place in the work, launched directly or captured.
TEST_F(CudaRuntimeTest, AStopwatchTimesWorkWhereItRuns) {
  constexpr size_t kLarge = 256 << 20, kSmall = 4;
  const Allocation memory = Take(gpu(), kLarge);
  absl::StatusOr<std::unique_ptr<EventTimer>> timer = gpu().MakeEventTimer(4);
  ASSERT_TRUE(timer.ok()) << timer.status();
  EXPECT_GE((*timer)->SecondsPerEvent(), 0);
  EXPECT_LT((*timer)->SecondsPerEvent(), 1e-5);
  const auto work = [&]() -> absl::Status {
    SINTER_RETURN_IF_ERROR((*timer)->RecordEvent(0));
    SINTER_RETURN_IF_ERROR(gpu().Fill(memory.ptr(), 1, kSmall));
    SINTER_RETURN_IF_ERROR((*timer)->RecordEvent(1));
    SINTER_RETURN_IF_ERROR(gpu().Fill(memory.ptr(), 2, kLarge));
    SINTER_RETURN_IF_ERROR((*timer)->RecordEvent(2));
    SINTER_RETURN_IF_ERROR(gpu().Fill(memory.ptr(), 3, kSmall));
    return (*timer)->RecordEvent(3);
  };
  absl::StatusOr<std::unique_ptr<CapturedGraph>> captured = gpu().Capture(work);
  ASSERT_TRUE(captured.ok()) << captured.status();
  for (const bool replays : {false, true, true}) {
    const absl::Status status = replays ? (*captured)->Launch() : work();
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_TRUE(gpu().Synchronize().ok());
    double seconds[3];
    for (size_t i = 0; i < 3; ++i) seconds[i] = (*timer)->SecondsBetween(i, i + 1).value();
    // 10 us would be 25 TB/s, which no GPU reaches; 2.6 ms are 100 GB/s.
    EXPECT_GT(seconds[1], 1e-5);
    EXPECT_LT(seconds[1], 2.6e-3);
    EXPECT_GT(seconds[0], 0);
    EXPECT_LT(seconds[0], seconds[1]);
    EXPECT_LT(seconds[2], seconds[1]);
    EXPECT_NEAR((*timer)->SecondsBetween(0, 3).value(), seconds[0] + seconds[1] + seconds[2], 2e-6);
  }
}

class CudaPeerTest : public CudaRuntimeTest, public ::testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    CudaRuntimeTest::SetUp();
    if (IsSkipped()) return;
    other_index_ = NumCudaDevices() > 1 ? 1 : 0;
    if (GetParam()) setenv("SINTER_DISABLE_P2P", "1", 1);
  }
  void TearDown() override { unsetenv("SINTER_DISABLE_P2P"); }

  int other_index_ = 0;
};

TEST_P(CudaPeerTest, CopiesAfterWaiting) {
  absl::StatusOr<std::unique_ptr<DeviceRuntime>> other = MakeCudaRuntime(Device::Gpu(other_index_));
  ASSERT_TRUE(other.ok()) << other.status();
  const size_t count = 3 * StagingRing::kSlots * StagingRing::kSlotBytes / 2 / sizeof(uint32_t) + 77;
  const size_t bytes = count * sizeof(uint32_t);
  const Allocation from = Take(**other, bytes), to = Take(gpu(), bytes);
  for (uint32_t run = 0; run < 3; ++run) {
    const std::vector<uint32_t> numbers = Numbers(count, run);
    // The upload has not finished when the copy is requested.
    ASSERT_TRUE((*other)->Upload(from.ptr(), numbers.data(), bytes).ok());
    ASSERT_TRUE(gpu().WaitFor(**other).ok());
    const DeviceRuntime::Traffic before = gpu().traffic();
    const absl::Status status = gpu().CopyFrom(**other, to.ptr(), from.ptr(), bytes);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(gpu().traffic().copied - before.copied, static_cast<int64_t>(bytes));
    EXPECT_EQ(gpu().traffic().uploaded, before.uploaded);
    ASSERT_TRUE((*other)->WaitFor(gpu()).ok());
    ASSERT_EQ(Read(gpu(), to.ptr(), count), numbers);
  }
  EXPECT_TRUE(gpu().WaitFor(gpu()).ok());
}

INSTANTIATE_TEST_SUITE_P(Ways, CudaPeerTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "through_pinned" : "direct"; });

}  // namespace
}  // namespace sinter
