#include "sinter/runtime/tensor/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sinter/runtime/memory/process_allocator.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string MessageOf(const absl::Status& status) { return std::string(status.message()); }

CachingAllocator& Memory() { return *ProcessAllocator().value(); }

// While an object exists, the process may allocate only `bytes` more.
class TightLimit {
 public:
  explicit TightLimit(int64_t bytes) {
    Memory().FreeAllBlocks();
    EXPECT_TRUE(Memory().SetLimit({.bytes = Memory().TotalBytes() + bytes}).ok());
  }
  ~TightLimit() { EXPECT_TRUE(Memory().SetLimit({}).ok()); }
};

TEST(HostTensorTest, FromVectorOwnsAnAlignedCopy) {
  const HostTensor x = HostTensor::FromVector<float>({2, 3}, {1, 2, 3, 4, 5, 6}).value();
  EXPECT_EQ(x.ToString(), "f32[2,3]");
  EXPECT_EQ(x.dtype(), DType::kF32);
  EXPECT_EQ(x.rank(), 2);
  EXPECT_EQ(x.num_elements(), 6);
  EXPECT_EQ(x.num_bytes(), 24);
  EXPECT_TRUE(x.is_owning());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(x.data()) % HostTensor::kAlignment, 0u);
  EXPECT_THAT(x.Span<float>().value(), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST(HostTensorTest, HoldsEveryElementType) {
  EXPECT_EQ(HostTensor::FromVector<double>({1}, {2.5}).value().Span<double>().value()[0], 2.5);
  EXPECT_EQ(HostTensor::FromVector<int64_t>({1}, {-7}).value().Span<int64_t>().value()[0], -7);
  EXPECT_EQ(HostTensor::FromVector<int32_t>({1}, {-7}).value().Span<int32_t>().value()[0], -7);
  EXPECT_EQ(HostTensor::FromVector<int8_t>({1}, {-7}).value().ToString(), "i8[1]");
  EXPECT_EQ(HostTensor::FromVector<uint8_t>({1}, {255}).value().ToString(), "u8[1]");
  EXPECT_EQ(HostTensor::FromVector<Float16>({1}, {Float16::FromFloat(1)}).value().ToString(), "f16[1]");
  EXPECT_EQ(HostTensor::FromVector<BFloat16>({1}, {BFloat16::FromFloat(1)}).value().ToString(), "bf16[1]");
  const HostTensor flags = HostTensor::FromVector<bool>({3}, {true, false, true}).value();
  EXPECT_EQ(flags.ToString(), "i1[3]");
  EXPECT_EQ(flags.num_bytes(), 3);
  EXPECT_THAT(flags.Span<bool>().value(), ElementsAre(true, false, true));
}

TEST(HostTensorTest, ScalarsAndEmptyTensors) {
  const HostTensor scalar = HostTensor::FromVector<float>({}, {3}).value();
  EXPECT_EQ(scalar.ToString(), "f32[]");
  EXPECT_EQ(scalar.num_elements(), 1);
  const HostTensor empty = HostTensor::Zeros(DType::kI64, {4, 0, 2}).value();
  EXPECT_EQ(empty.ToString(), "i64[4,0,2]");
  EXPECT_EQ(empty.num_elements(), 0);
  EXPECT_NE(empty.data(), nullptr);
  EXPECT_TRUE(empty.Span<int64_t>().value().empty());
  EXPECT_EQ(HostTensor().ToString(), "f32[0]");
  // If a size is 0, the others do not matter.
  EXPECT_EQ(HostTensor::Zeros(DType::kF64, {INT64_MAX, INT64_MAX, 0}).value().num_bytes(), 0);
}

TEST(HostTensorTest, OwnedMemoryIsCountedUnderTheTensorsType) {
  const int64_t before = Memory().UsedBytes();
  HostTensor x = HostTensor::Zeros(DType::kF32, {1000}).value();
  EXPECT_EQ(Memory().UsedBytes() - before, 4096);
  EXPECT_THAT(Memory().DescribeHolders(), HasSubstr("4096 bytes (4.0 KiB) in 1: tensor f32[1000]"));
  const HostTensor copy = x.Clone().value();
  const HostTensor values = HostTensor::FromVector<float>({2}, {1, 2}).value();
  EXPECT_EQ(Memory().UsedBytes() - before, 4096 + 4096 + 512);
  // Borrowed, empty and moved-from tensors hold no memory.
  const HostTensor view = HostTensor::View(DType::kF32, {1000}, x.data()).value();
  const HostTensor empty = HostTensor::Zeros(DType::kF32, {0, 3}).value();
  EXPECT_TRUE(empty.is_owning());
  HostTensor moved = std::move(x);
  EXPECT_FALSE(x.is_owning());  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(Memory().UsedBytes() - before, 4096 + 4096 + 512);
  moved = HostTensor();
  EXPECT_EQ(Memory().UsedBytes() - before, 4096 + 512);
}

TEST(HostTensorTest, FreedMemoryServesTheNextTensor) {
  Memory().FreeAllBlocks();
  const void* data = nullptr;
  {
    const HostTensor x = HostTensor::Zeros(DType::kF32, {1000}).value();
    data = x.data();
  }
  const PoolStats freed = Memory().Stats();
  EXPECT_EQ(freed.free_bytes, 4096);
  const HostTensor y = HostTensor::Empty(DType::kI64, {500}).value();
  EXPECT_EQ(y.data(), data);
  const PoolStats reused = Memory().Stats();
  EXPECT_EQ(reused.raw_allocations, freed.raw_allocations);
  EXPECT_EQ(reused.total_bytes, freed.total_bytes);
  EXPECT_EQ(reused.free_bytes, 0);
}

TEST(HostTensorTest, ALimitNamesWhoHoldsWhat) {
  const TightLimit limit(4096);
  const HostTensor x = HostTensor::Zeros(DType::kF32, {512}).value();
  EXPECT_TRUE(HostTensor::Zeros(DType::kF32, {512}).ok());
  const absl::Status status = HostTensor::Zeros(DType::kI32, {3, 256}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_THAT(
      MessageOf(status),
      AllOf(HasSubstr("out of memory on cpu:0: 3072 bytes (3.0 KiB) asked for \"tensor i32[3,256]\""),
            HasSubstr("(SetLimit or SINTER_CPU_MEMORY_LIMIT)"), HasSubstr("the limit is reached; held by:\n"),
            HasSubstr("\n  2048 bytes (2.0 KiB) in 1: tensor f32[512]")));
  EXPECT_EQ(HostTensor::FromVector<float>({768}, std::vector<float>(768)).status().code(), status.code());
  const std::vector<float> memory(768);
  const HostTensor view = HostTensor::View(DType::kF32, {768}, memory.data()).value();
  EXPECT_EQ(view.Clone().status().code(), status.code());
}

TEST(HostTensorTest, ZerosIsWritable) {
  HostTensor x = HostTensor::Zeros(DType::kI32, {8, 16}).value();
  const std::span<int32_t> values = x.MutableSpan<int32_t>().value();
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0), 0);
  values[127] = 5;
  EXPECT_EQ(x.Span<int32_t>().value()[127], 5);
}

// In C++20 a range-for over `*temporary` needs a value: a reference into the temporary would dangle.
TEST(HostTensorTest, LoopsOverTheSpanOfATemporary) {
  HostTensor x = HostTensor::Zeros(DType::kF32, {3}).value();
  float next = 1;
  for (float& element : *x.MutableSpan<float>()) element = next++;
  for (float& element : x.MutableSpan<float>().value()) element *= 2;
  std::vector<float> seen;
  for (float element : *std::as_const(x).Span<float>()) seen.push_back(element);
  EXPECT_THAT(seen, ElementsAre(2, 4, 6));
  static_assert(!std::is_reference_v<decltype(*x.MutableSpan<float>())>);
  static_assert(!std::is_reference_v<decltype(x.Span<float>().value())>);
}

TEST(StatusTest, TwoAssignmentsMayStandOnOneLine) {
  auto sum = [](const absl::StatusOr<int>& a, const absl::StatusOr<int>& b) -> absl::StatusOr<int> {
    // clang-format off
    SINTER_ASSIGN_OR_RETURN(int x, a); SINTER_ASSIGN_OR_RETURN(int y, b);
    // clang-format on
    return x + y;
  };
  EXPECT_EQ(*sum(1, 2), 3);
  EXPECT_EQ(sum(1, absl::InternalError("no")).status(), absl::InternalError("no"));
}

TEST(HostTensorTest, BorrowsWithoutCopying) {
  std::vector<float> memory = {1, 2, 3, 4};
  HostTensor x = HostTensor::Borrow(DType::kF32, {2, 2}, memory.data()).value();
  EXPECT_FALSE(x.is_owning());
  x.MutableSpan<float>().value()[3] = 9;
  EXPECT_EQ(memory[3], 9);
  EXPECT_EQ(x.data(), memory.data());
  HostTensor copy = x.Clone().value();
  EXPECT_TRUE(copy.is_owning());
  memory[0] = 100;
  EXPECT_THAT(copy.Span<float>().value(), ElementsAre(1, 2, 3, 9));
}

TEST(HostTensorTest, ViewsAreReadOnly) {
  const std::vector<int32_t> memory = {1, 2};
  HostTensor x = HostTensor::View(DType::kI32, {2}, memory.data()).value();
  EXPECT_THAT(x.Span<int32_t>().value(), ElementsAre(1, 2));
  EXPECT_EQ(x.mutable_data(), nullptr);
  const absl::Status status = x.MutableSpan<int32_t>().status();
  EXPECT_TRUE(absl::IsFailedPrecondition(status));
  EXPECT_THAT(MessageOf(status), HasSubstr("i32[2] is a view of memory that may not be written"));
}

TEST(HostTensorTest, MovesLeaveAnEmptyTensor) {
  HostTensor x = HostTensor::FromVector<float>({2}, {1, 2}).value();
  const void* const data = x.data();
  HostTensor y = std::move(x);
  EXPECT_EQ(y.data(), data);
  EXPECT_EQ(x.num_elements(), 0);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(x.data(), nullptr);
  y = HostTensor::Zeros(DType::kU8, {3}).value();
  EXPECT_EQ(y.ToString(), "u8[3]");
}

TEST(HostTensorTest, RefusesTheWrongElementType) {
  HostTensor x = HostTensor::Zeros(DType::kF32, {2}).value();
  EXPECT_EQ(MessageOf(x.Span<double>().status()), "f32[2] is read or written as f64: its elements are f32");
  EXPECT_TRUE(absl::IsInvalidArgument(x.MutableSpan<int32_t>().status()));
}

TEST(HostTensorTest, RefusesBadShapesAndCounts) {
  EXPECT_EQ(MessageOf(HostTensor::FromVector<float>({2, 2}, {1, 2, 3}).status()),
            "f32[2,2] has 4 elements, but 3 values are given");
  EXPECT_THAT(MessageOf(HostTensor::Zeros(DType::kF32, {2, -1}).status()),
              HasSubstr("f32[2,-1] has a negative size, -1"));
  EXPECT_THAT(MessageOf(HostTensor::Zeros(DType::kF32, {0, -1}).status()), HasSubstr("negative size"));
  EXPECT_THAT(MessageOf(HostTensor::Zeros(DType::kF32, std::vector<int64_t>(9, 1)).status()),
              HasSubstr("has rank 9: at most 8"));
  EXPECT_TRUE(HostTensor::Zeros(DType::kF32, std::vector<int64_t>(8, 1)).ok());
  EXPECT_THAT(MessageOf(HostTensor::Zeros(DType::kF32, {INT64_MAX, 2}).status()),
              HasSubstr("more bytes than 64 bits can count"));
  EXPECT_THAT(MessageOf(HostTensor::FromVector<float>({INT64_MAX}, {}).status()), HasSubstr("64 bits"));
  EXPECT_TRUE(absl::IsResourceExhausted(HostTensor::Empty(DType::kU8, {INT64_MAX}).status()));
}

TEST(HostTensorTest, RefusesBadPointers) {
  EXPECT_THAT(MessageOf(HostTensor::Borrow(DType::kF32, {2}, nullptr).status()),
              HasSubstr("the pointer is null"));
  EXPECT_TRUE(HostTensor::Borrow(DType::kF32, {0}, nullptr).ok());
  alignas(8) char bytes[16] = {};
  EXPECT_THAT(MessageOf(HostTensor::View(DType::kF32, {2}, bytes + 1).status()),
              HasSubstr("is not aligned to 4 bytes"));
}

}  // namespace
}  // namespace sinter
