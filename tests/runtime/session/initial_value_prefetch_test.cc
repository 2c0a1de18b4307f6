#include "sinter/runtime/session/initial_value_prefetch.h"

#include <cstring>
#include <vector>

#include "gtest/gtest.h"

namespace sinter {
namespace {

using ValuesKind = InitialValues::Kind;

constexpr int64_t kCount = 50001;
constexpr InitialValues kNormal = {.kind = ValuesKind::kNormal, .a = 1, .b = 2, .seed = 5};
constexpr InitialValues kUniform = {.kind = ValuesKind::kUniform, .a = 1, .b = 2, .seed = 6};

bool IsThat(const std::byte* got, const InitialValues& values) {
  std::vector<float> want(kCount);
  EXPECT_TRUE(FillInitialElements(values, DType::kF32, 0, kCount, want.data(), ThreadPool(1)).ok());
  return got != nullptr && std::memcmp(got, want.data(), kCount * sizeof(float)) == 0;
}

TEST(InitialValuePrefetchTest, AreThoseOfTheInitializer) {
  for (const int threads : {1, 2, 7}) {
    InitialValuePrefetch ahead;
    ahead.Add(3, kNormal, DType::kF32, TensorBox::Whole(kCount));
    ahead.Add(1, kUniform, DType::kF32, TensorBox::Whole(kCount));
    ahead.Start(ThreadPool(threads));
    EXPECT_TRUE(IsThat(ahead.Find(3), kNormal)) << threads;
    EXPECT_TRUE(IsThat(ahead.Find(1), kUniform)) << threads;
    EXPECT_EQ(ahead.Find(2), nullptr);
  }
}

TEST(InitialValuePrefetchTest, OnlyWhatIsRandomAndFits) {
  InitialValuePrefetch ahead(/*most_bytes=*/2 * kCount * 4);
  ahead.Add(0, {.a = 1}, DType::kF32, TensorBox::Whole(kCount));
  ahead.Add(1, {.kind = ValuesKind::kOrthogonal, .a = 1}, DType::kF32, TensorBox::Whole(kCount));
  ahead.Add(2, kNormal, DType::kF32, TensorBox::Whole(0));
  ahead.Add(3, kNormal, DType::kF32, TensorBox::Whole(kCount));
  ahead.Add(4, kNormal, DType::kF64, TensorBox::Whole(kCount));
  ahead.Add(5, kUniform, DType::kF32, TensorBox::Whole(kCount));
  ahead.Add(6, kNormal, DType::kF32, TensorBox::Whole(1));
  ahead.Start(ThreadPool(2));
  for (const size_t key : {0u, 1u, 2u, 4u, 6u}) EXPECT_EQ(ahead.Find(key), nullptr) << key;
  EXPECT_TRUE(IsThat(ahead.Find(3), kNormal));
  EXPECT_TRUE(IsThat(ahead.Find(5), kUniform));
}

TEST(InitialValuePrefetchTest, WhatCannotBeIsLeftToTheCaller) {
  InitialValuePrefetch ahead;
  ahead.Add(0, kNormal, DType::kI32, TensorBox::Whole(kCount));
  ahead.Start(ThreadPool(2));
  EXPECT_EQ(ahead.Find(0), nullptr);
}

TEST(InitialValuePrefetchTest, NobodyNeedsToWait) {
  InitialValuePrefetch idle, busy;
  idle.Start(ThreadPool(2));
  busy.Add(0, kNormal, DType::kF32, TensorBox::Whole(kCount));
  busy.Start(ThreadPool(2));
}

}  // namespace
}  // namespace sinter
