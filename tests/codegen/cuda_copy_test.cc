// Copies within a GPU: which of them are kernels, and that the kernels copy every byte.
#include "sinter/codegen/cuda/catalog/cuda_copy.h"

#include <gtest/gtest.h>

#include <cstring>

#include "mlir/IR/MLIRContext.h"
#include "sinter/codegen/cpu/compile_cpp.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/tests/codegen/simt_emulator.h"

namespace sinter::codegen {
namespace {

class CudaCopyTest : public ::testing::Test {
 protected:
  CudaCopyTest() { context_.loadDialect<ir::SinterDialect>(); }

  // Copies between two ranges of an arena. The second one starts `offset` bytes after the end of the first.
  std::optional<CudaCatalogLaunch> Copy(int64_t bytes, int64_t offset = 256, int to_gpu = 0) {
    BufferRegion from = {.space = BufferRegion::Space::kArena,
                         .device = ir::DeviceAttr::gpu(&context_, 0),
                         .offset = 0,
                         .bytes = bytes};
    BufferRegion to = from;
    to.device = ir::DeviceAttr::gpu(&context_, to_gpu);
    to.offset = (bytes + 15) / 16 * 16 + offset;
    return CudaCopy(from, to);
  }

  mlir::MLIRContext context_;
};

TEST_F(CudaCopyTest, SmallOnesThoseToOthersAndThoseThatAreNotAlignedAreTheDrivers) {
  EXPECT_TRUE(Copy(1 << 16).has_value());
  EXPECT_FALSE(Copy((1 << 16) - 1).has_value());
  EXPECT_FALSE(Copy(1 << 16, 8).has_value());
  EXPECT_FALSE(Copy(1 << 16, 256, 1).has_value());
  EXPECT_FALSE(Copy(1 << 16, -16).has_value());  // The ranges overlap.
  BufferRegion on_cpu = {.space = BufferRegion::Space::kArena, .device = ir::DeviceAttr::cpu(&context_, 0)};
  on_cpu.bytes = 1 << 20;
  BufferRegion other = on_cpu;
  other.offset = 1 << 20;
  EXPECT_FALSE(CudaCopy(on_cpu, other).has_value());
}

TEST_F(CudaCopyTest, EveryByteIsCopied) {
  if (!HasCppCompiler()) GTEST_SKIP() << "built without the Clang library";
  for (const int64_t bytes : {int64_t{1} << 16, (int64_t{1} << 16) + 15, int64_t{3} * 16384 * 4 + 1}) {
    SCOPED_TRACE(bytes);
    const std::optional<CudaCatalogLaunch> launch = Copy(bytes);
    ASSERT_TRUE(launch.has_value());
    auto gpu = SimtEmulator::Compile({launch->source()});
    ASSERT_TRUE(gpu.ok()) << gpu.status();
    SimtBuffer from(bytes), to(bytes);
    for (int64_t i = 0; i < bytes; ++i) from.data()[i] = static_cast<std::byte>(i * i % 251);
    const absl::Status status = (*gpu)->Run(0, launch->grid, launch->block, {&from, &to});
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(std::memcmp(from.data(), to.data(), static_cast<size_t>(bytes)), 0);
  }
}

}  // namespace
}  // namespace sinter::codegen
