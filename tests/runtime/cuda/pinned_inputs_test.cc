// Inputs in page-locked memory: the GPU copies them itself, and the caller may change them after Run.
#include <chrono>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/cuda/cuda_runtime.h"
#include "sinter/runtime/memory/process_allocator.h"
#include "sinter/tests/runtime/cuda/driver_plans.h"

namespace sinter {
namespace {

constexpr int64_t kSize = 64 << 10;

HostTensor Pinned() {
  absl::StatusOr<CachingAllocator*> memory = PinnedHost(Device::Gpu(0));
  EXPECT_TRUE(memory.ok()) << memory.status();
  return *HostTensor::Empty(DType::kF32, {kSize}, **memory);
}

void Fill(HostTensor& tensor, float value) {
  for (float& element : *tensor.MutableSpan<float>()) element = value;
}

TEST(PinnedInputsTest, TheGpuReadsTheCallersMemory) {
  const std::unique_ptr<DeviceRuntime> gpu = *MakeCudaRuntime(Device::Gpu(0));
  constexpr size_t kBytes = kSize * sizeof(float);
  const Allocation to = *gpu->allocator().Allocate(2 * kBytes, "inputs");
  const Allocation staging = *gpu->allocator().Allocate(2 * kBytes, "staging");
  HostTensor pinned = Pinned(), pageable = *HostTensor::Empty(DType::kF32, {kSize});
  std::vector<float> values(2 * kSize);
  for (const float value : {1.0f, 2.0f, 3.0f}) {
    Fill(pinned, value);
    Fill(pageable, -value);
    const DeviceRuntime::InputPiece pieces[] = {{0, pinned.data(), kBytes},
                                                {kBytes, pageable.data(), kBytes}};
    const int64_t before = gpu->traffic().from_pinned;
    ASSERT_TRUE(gpu->UploadInputs(to.ptr(), staging.ptr(), pieces, 2 * kBytes).ok());
    EXPECT_EQ(gpu->traffic().from_pinned - before, static_cast<int64_t>(kBytes)) << "only the pinned tensor";
    Fill(pageable, 100);
    ASSERT_TRUE(gpu->FinishInputs().ok());
    Fill(pinned, 200);
    ASSERT_TRUE(gpu->Download(values.data(), to.ptr(), 2 * kBytes).ok());
    EXPECT_EQ(values.front(), value);
    EXPECT_EQ(values[kSize - 1], value);
    EXPECT_EQ(values.back(), -value);
  }
}

TEST(PinnedInputsTest, MayChangeWhenRunReturns) {
  absl::StatusOr<Session> session = MakeDriverSession(ScalePlan(Device::Gpu(0), kSize));
  ASSERT_TRUE(session.ok()) << session.status();
  HostTensor x = Pinned(), t = Pinned();
  for (int run = 0; run < 6; ++run) {
    Fill(x, static_cast<float>(run));
    Fill(t, 7);
    absl::StatusOr<Outputs> out = session->Run("f", {{"x", x}, {"s", 2}, {"t", t}});
    ASSERT_TRUE(out.ok()) << out.status();
    Fill(x, -1);
    Fill(t, -1);
    const HostTensor& y = *out->Get("y").value();
    EXPECT_EQ(y.Span<float>().value().front(), 2.0f * static_cast<float>(run));
    EXPECT_EQ(y.Span<float>().value().back(), 2.0f * static_cast<float>(run));
  }
}

TEST(PinnedInputsTest, MemoryOfAGpuIsNoTensor) {
  EXPECT_EQ(HostTensor::Empty(DType::kF32, {2}, **ProcessAllocator(Device::Gpu(0))).status(),
            absl::InvalidArgumentError("f32[2] is in main memory, and the allocator has memory of gpu:0: use "
                                       "PinnedHost(gpu:0)"));
  EXPECT_EQ(*PinnedHost(Device::Gpu(0)), *PinnedHost(Device::Gpu(0)));
  EXPECT_EQ(*PinnedHost(Device::Cpu(0)), *ProcessAllocator());
  EXPECT_FALSE(PinnedHost(Device::Gpu(1000)).ok());
}

}  // namespace
}  // namespace sinter
