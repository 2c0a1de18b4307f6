#include "sinter/runtime/memory/process_allocator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {
namespace {

using ::testing::ExitedWithCode;
using ::testing::HasSubstr;

TEST(ProcessAllocatorTest, EachDeviceHasOne) {
  CachingAllocator* const memory = ProcessAllocator().value();
  EXPECT_EQ(memory->device(), Device::Cpu());
  EXPECT_EQ(ProcessAllocator(Device::Cpu()).value(), memory);
  CachingAllocator* const second = ProcessAllocator(Device::Cpu(1)).value();
  EXPECT_NE(second, memory);
  EXPECT_EQ(second->device(), Device::Cpu(1));
  EXPECT_EQ(ProcessAllocator(Device::Cpu(1)).value(), second);
}

TEST(ProcessAllocatorTest, NamesTheDeviceThatItCannotServe) {
  const absl::Status status = ProcessAllocator(Device::Gpu(200)).status();
  EXPECT_EQ(status, CheckDevice(Device::Gpu(200)));
  EXPECT_THAT(std::string(status.message()), HasSubstr("gpu:200"));
}

TEST(ProcessAllocatorTest, TensorsOfManyThreadsAreCounted) {
  CachingAllocator& memory = *ProcessAllocator().value();
  const int64_t before = memory.UsedBytes();
  std::vector<HostTensor> kept(4);
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kept.size(); ++t) {
    threads.emplace_back([&kept, t] {
      for (int64_t i = 0; i < 500; ++i) {
        HostTensor next = HostTensor::Zeros(DType::kI32, {1 + (i * 37) % 1000}).value();
        next.MutableSpan<int32_t>().value()[0] = static_cast<int32_t>(t);
        kept[t] = std::move(next);  // Frees the previous tensor.
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  int64_t bytes = 0;
  for (size_t t = 0; t < kept.size(); ++t) {
    EXPECT_EQ(kept[t].Span<int32_t>().value()[0], static_cast<int32_t>(t));
    bytes += (kept[t].num_bytes() + 511) / 512 * 512;
  }
  EXPECT_EQ(memory.UsedBytes() - before, bytes);
  EXPECT_TRUE(memory.CheckInvariants().ok()) << memory.CheckInvariants();
  kept.clear();
  EXPECT_EQ(memory.UsedBytes(), before);
}

// Constructed before the allocator, and so destroyed after everything that a test makes.
HostTensor freed_at_exit;

// The allocator reads the environment when it is created. This process already has one, so each test runs in
// a new process.
class ProcessAllocatorDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(ProcessAllocatorDeathTest, OutlivesStaticTensors) {
  const auto run = [] {
    freed_at_exit = HostTensor::Zeros(DType::kF32, {int64_t{1} << 20}).value();
    static HostTensor another = HostTensor::Zeros(DType::kF32, {3}).value();
    std::exit(0);
  };
  EXPECT_EXIT(run(), ExitedWithCode(0), "");
}

TEST_F(ProcessAllocatorDeathTest, TakesItsLimitFromTheEnvironment) {
  const auto run = [] {
    setenv("SINTER_CPU_MEMORY_LIMIT", "4096", 1);
    std::cerr << HostTensor::Zeros(DType::kU8, {4096}).status() << "; "
              << HostTensor::Zeros(DType::kU8, {4097}).status();
    std::exit(0);
  };
  EXPECT_EXIT(run(), ExitedWithCode(0),
              "OK; RESOURCE_EXHAUSTED: out of memory on cpu:0: 4608 bytes .4.5 KiB. asked for "
              "\"tensor u8.4097.\".*limit 4096 bytes .4.0 KiB. .SetLimit or SINTER_CPU_MEMORY_LIMIT.");
}

TEST_F(ProcessAllocatorDeathTest, RefusesABadLimitUntilItIsGood) {
  const auto run = [] {
    setenv("SINTER_CPU_MEMORY_LIMIT", "half", 1);
    std::cerr << HostTensor::Zeros(DType::kU8, {1}).status() << "; ";
    setenv("SINTER_CPU_MEMORY_LIMIT", "50%", 1);
    std::cerr << HostTensor::Zeros(DType::kU8, {1}).status();
    std::exit(0);
  };
  EXPECT_EXIT(run(), ExitedWithCode(0),
              "INVALID_ARGUMENT: SINTER_CPU_MEMORY_LIMIT is \"half\": write a number of bytes.*; OK");
}

}  // namespace
}  // namespace sinter
