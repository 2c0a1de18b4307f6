#include "sinter/runtime/memory/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <set>
#include <unordered_set>

#include "absl/hash/hash.h"
#include "sinter/runtime/memory/backend.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/memory/device_memory.h"
#include "sinter/runtime/memory/memory_limit.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

TEST(DeviceTest, IsAValue) {
  EXPECT_EQ(Device(), Device::Cpu());
  EXPECT_EQ(Device::Cpu(), Device::Cpu(0));
  EXPECT_EQ(Device::Gpu(), Device::Gpu(0));
  EXPECT_NE(Device::Gpu(1), Device::Gpu(0));
  EXPECT_NE(Device::Cpu(1), Device::Gpu(1));
  EXPECT_LT(Device::Cpu(7), Device::Gpu(0));
  EXPECT_TRUE(Device::Gpu(3).is_gpu());
  EXPECT_FALSE(Device::Gpu(3).is_cpu());
  EXPECT_EQ(Device::Gpu(3).index(), 3);
}

TEST(DeviceTest, Hashes) {
  const std::unordered_set<Device> devices = {Device::Cpu(0), Device::Cpu(0), Device::Gpu(0), Device::Gpu(1)};
  EXPECT_EQ(devices.size(), 3u);
  EXPECT_EQ(absl::Hash<Device>()(Device::Gpu(2)), absl::Hash<Device>()(Device::Gpu(2)));
}

TEST(DeviceTest, TextIsStableAndReadsBack) {
  EXPECT_EQ(Device::Cpu().ToString(), "cpu:0");
  EXPECT_EQ(Device::Gpu(12).ToString(), "gpu:12");
  for (const Device device : {Device::Cpu(), Device::Cpu(3), Device::Gpu(), Device::Gpu(2147483647)}) {
    EXPECT_EQ(Device::Parse(device.ToString()).value(), device);
  }
  EXPECT_EQ(Device::Parse("cpu").value(), Device::Cpu());
  EXPECT_EQ(Device::Parse("gpu").value(), Device::Gpu());
}

TEST(DeviceTest, RefusesOtherText) {
  for (const char* text : {"", "tpu:0", "cpu:", ":0", "gpu:-1", "gpu:01", "gpu:1 ", "GPU:0", "gpu:x",
                           "gpu:1:2", "gpu:2147483648", "cpu0"}) {
    const absl::StatusOr<Device> device = Device::Parse(text);
    ASSERT_TRUE(absl::IsInvalidArgument(device.status())) << text;
    EXPECT_THAT(std::string(device.status().message()),
                HasSubstr(std::string("\"") + text + "\" is not a device"));
    EXPECT_THAT(std::string(device.status().message()), HasSubstr("cpu:0 or gpu:1"));
  }
}

// Registered once in this program.
DeviceKind TestKind() {
  static const DeviceKind kind = *RegisterDeviceKind({.name = "test_kind", .runs_gpu_kernels = true});
  return kind;
}

TEST(DeviceKindTest, ARegisteredKindHasDevicesLikeOthers) {
  const Device device = Device::Of(TestKind(), 3);
  EXPECT_EQ(device.ToString(), "test_kind:3");
  EXPECT_EQ(Device::Parse("test_kind:3").value(), device);
  EXPECT_EQ(Device::Parse("test_kind").value(), Device::Of(TestKind(), 0));
  EXPECT_FALSE(device.is_cpu() || device.is_gpu() || device.is_host());
  EXPECT_TRUE(Device::Cpu(1).is_host());
  EXPECT_FALSE(Device::Gpu(1).is_host());
  EXPECT_NE(device, Device::Gpu(3));
  EXPECT_LT(Device::Gpu(9), Device::Of(TestKind(), 0));
  EXPECT_EQ((std::unordered_set<Device>{device, device, Device::Gpu(3), Device::Cpu(3)}.size()), 3u);
  EXPECT_NE(absl::Hash<Device>()(device), absl::Hash<Device>()(Device::Gpu(3)));
  EXPECT_EQ(MemoryLimitVariable(TestKind()), "SINTER_TEST_KIND_MEMORY_LIMIT");
  EXPECT_THAT(std::string(Device::Parse("tpu:0").status().message()),
              HasSubstr("write cpu, gpu or test_kind, a colon"));
}

TEST(DeviceKindTest, HasTheTraitsItWasRegisteredWith) {
  EXPECT_TRUE(TraitsOf(TestKind()).runs_gpu_kernels);
  EXPECT_FALSE(TraitsOf(TestKind()).runs_cpu_kernels || TraitsOf(TestKind()).runs_gpu_libraries);
  EXPECT_TRUE(TraitsOf(DeviceKind::kCpu).runs_cpu_kernels);
  EXPECT_FALSE(TraitsOf(DeviceKind::kCpu).runs_gpu_kernels);
  EXPECT_TRUE(TraitsOf(DeviceKind::kGpu).runs_gpu_kernels && TraitsOf(DeviceKind::kGpu).runs_gpu_libraries);
  EXPECT_EQ(FindDeviceKind("test_kind"), TestKind());
  EXPECT_EQ(FindDeviceKind("no_kind"), std::nullopt);
}

TEST(DeviceKindTest, IsRegisteredOnceAndByAPlainName) {
  EXPECT_EQ(RegisterDeviceKind({.name = DeviceKindName(TestKind())}).status(),
            absl::AlreadyExistsError("there are devices of kind test_kind already"));
  EXPECT_TRUE(absl::IsAlreadyExists(RegisterDeviceKind({.name = "gpu"}).status()));
  for (const char* const name : {"", "Tpu", "a:b", "1a", "a b", "a\x1b"}) {
    const absl::Status status = RegisterDeviceKind({.name = name}).status();
    ASSERT_TRUE(absl::IsInvalidArgument(status)) << name;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("cannot name a kind of devices: write lower-case letters"));
  }
}

TEST(DeviceKindTest, WithoutABackEndItsDevicesCannotBeUsed) {
  EXPECT_EQ(FindBackend(TestKind()).status(),
            absl::FailedPreconditionError(
                "test_kind: this program has no back end for such devices; register one (RegisterBackend)"));
  const Device third = Device::Of(TestKind(), 2);
  EXPECT_EQ(FindBackend(third).status(), CheckDevice(third));
  EXPECT_EQ(
      CheckDevice(third),
      absl::FailedPreconditionError(
          "test_kind:2: this program has no back end for such devices; register one (RegisterBackend)"));
  EXPECT_TRUE(absl::IsAlreadyExists(RegisterBackend(*Backends().front())));
}

TEST(HostMemoryTest, ServesSmallAndHugePieces) {
  HostMemory memory;
  EXPECT_EQ(memory.device(), Device::Cpu());
  for (const int64_t bytes : {int64_t{1}, int64_t{513}, HostMemory::kHugeBytes - 1, HostMemory::kHugeBytes,
                              HostMemory::kHugeBytes + 12345}) {
    const absl::StatusOr<void*> ptr = memory.Allocate(bytes);
    ASSERT_TRUE(ptr.ok()) << ptr.status();
    EXPECT_EQ(reinterpret_cast<uintptr_t>(*ptr) % HostMemory::kAlignment, 0u);
    memory.Fill(*ptr, 0x5a, bytes);
    EXPECT_EQ(static_cast<const unsigned char*>(*ptr)[0], 0x5a);
    EXPECT_EQ(static_cast<const unsigned char*>(*ptr)[bytes - 1], 0x5a);
    memory.Free(*ptr, bytes);
  }
}

TEST(HostMemoryTest, KnowsWhatThereIs) {
  HostMemory memory(Device::Cpu(2));
  EXPECT_EQ(memory.device(), Device::Cpu(2));
  EXPECT_GT(memory.FreeBytes(), 0);
  EXPECT_GE(memory.TotalBytes(), memory.FreeBytes());
  EXPECT_LT(memory.TotalBytes(), int64_t{1} << 50);
}

// The kernel would grant both allocations and end the process when it touches the memory.
TEST(HostMemoryTest, TwoPiecesThatFitSinglyDoNotFitTogether) {
  HostMemory memory;
  const int64_t most = memory.FreeBytes() / 10 * 7;
  const absl::StatusOr<void*> first = memory.Allocate(most);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_LT(memory.FreeBytes(), most);
  EXPECT_TRUE(absl::IsResourceExhausted(memory.Allocate(most).status()));
  memory.Free(*first, most);
  // Allocates only a part: other processes may use memory meanwhile.
  const absl::StatusOr<void*> again = memory.Allocate(most / 2);
  ASSERT_TRUE(again.ok()) << again.status();
  memory.Free(*again, most / 2);
}

TEST(HostMemoryTest, KnowsWhatIsNotTouchedYet) {
  constexpr int64_t kBytes = 4 * HostMemory::kHugeBytes;
  HostMemory memory;
  const int64_t before = HostMemory::UntouchedBytes();
  const absl::StatusOr<void*> piece = memory.Allocate(kBytes);
  ASSERT_TRUE(piece.ok()) << piece.status();
  EXPECT_EQ(HostMemory::UntouchedBytes(), before + kBytes);
  memory.Fill(*piece, 1, kBytes / 2);
  EXPECT_EQ(HostMemory::UntouchedBytes(), before + kBytes / 2);
  memory.Fill(*piece, 1, kBytes);
  EXPECT_EQ(HostMemory::UntouchedBytes(), before);
  memory.Free(*piece, kBytes);
  EXPECT_EQ(HostMemory::UntouchedBytes(), before);
}

TEST(HostMemoryTest, RefusesWhatDoesNotFitAndBadSizes) {
  HostMemory memory;
  const absl::Status status = memory.Allocate(memory.TotalBytes() * 2).status();
  ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("main memory has no room for"));
  EXPECT_TRUE(absl::IsInvalidArgument(memory.Allocate(0).status()));
  EXPECT_THAT(std::string(memory.Allocate(-1).status().message()),
              HasSubstr("cannot allocate -1 bytes of main memory"));
}

}  // namespace
}  // namespace sinter
