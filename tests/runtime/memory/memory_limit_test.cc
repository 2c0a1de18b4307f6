#include "sinter/runtime/memory/memory_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>

namespace sinter {
namespace {

using ::testing::HasSubstr;

TEST(MemoryLimitTest, Resolves) {
  EXPECT_EQ(MemoryLimit{}.Resolve(1000).value(), 0);
  EXPECT_EQ(MemoryLimit{.bytes = 0}.Resolve(1000).value(), 0);
  EXPECT_EQ(MemoryLimit{.bytes = 4096}.Resolve(1000).value(), 4096);
  EXPECT_EQ(MemoryLimit{.fraction = 0.25}.Resolve(1000).value(), 250);
  EXPECT_EQ(MemoryLimit{.fraction = 1.0}.Resolve(1000).value(), 1000);
  EXPECT_EQ(MemoryLimit{.fraction = 0.0}.Resolve(1000).value(), 0);
}

TEST(MemoryLimitTest, RefusesBadValues) {
  const auto message = [](const MemoryLimit& limit) {
    const absl::Status status = limit.Resolve(1000).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  EXPECT_THAT(message({.bytes = 5, .fraction = 0.5}), HasSubstr("both in bytes (5) and as a fraction (0.5)"));
  EXPECT_THAT(message({.bytes = -1}), HasSubstr("-1 bytes is negative"));
  EXPECT_THAT(message({.fraction = 1.5}), HasSubstr("1.5 of the device is outside 0..1"));
  EXPECT_THAT(message({.fraction = -0.1}), HasSubstr("outside 0..1"));
  EXPECT_THAT(message({.fraction = std::nan("")}), HasSubstr("outside 0..1"));
}

TEST(MemoryLimitTest, ReadsText) {
  EXPECT_EQ(ParseMemoryLimit("1073741824", "x").value().bytes, 1073741824);
  EXPECT_EQ(ParseMemoryLimit("0", "x").value().bytes, 0);
  EXPECT_DOUBLE_EQ(ParseMemoryLimit("50%", "x").value().fraction.value(), 0.5);
  EXPECT_DOUBLE_EQ(ParseMemoryLimit("12.5%", "x").value().fraction.value(), 0.125);
  for (const char* text :
       {"", "%", "-1", "101%", "-5%", "nan%", "1G", "0.5", "5%%", " 5", "99999999999999999999"}) {
    const absl::Status status = ParseMemoryLimit(text, "SOURCE").status();
    ASSERT_TRUE(absl::IsInvalidArgument(status)) << text;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string("SOURCE is \"") + text + "\": write"));
  }
}

TEST(MemoryLimitTest, ReadsTheEnvironmentOfTheKind) {
  setenv("SINTER_CPU_MEMORY_LIMIT", "25%", 1);
  setenv("SINTER_GPU_MEMORY_LIMIT", "lots", 1);
  EXPECT_DOUBLE_EQ(MemoryLimitFromEnvironment(DeviceKind::kCpu).value().fraction.value(), 0.25);
  EXPECT_THAT(std::string(MemoryLimitFromEnvironment(DeviceKind::kGpu).status().message()),
              HasSubstr("SINTER_GPU_MEMORY_LIMIT is \"lots\""));
  setenv("SINTER_CPU_MEMORY_LIMIT", "", 1);
  EXPECT_FALSE(MemoryLimitFromEnvironment(DeviceKind::kCpu).value().fraction.has_value());
  unsetenv("SINTER_CPU_MEMORY_LIMIT");
  unsetenv("SINTER_GPU_MEMORY_LIMIT");
  EXPECT_FALSE(MemoryLimitFromEnvironment(DeviceKind::kGpu).value().bytes.has_value());
}

}  // namespace
}  // namespace sinter
