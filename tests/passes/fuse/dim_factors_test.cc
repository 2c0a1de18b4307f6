// Tests the factors into which dimensions split.
#include "sinter/passes/fuse/dim_factors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter {
namespace {

using testing::ElementsAre;
using Dims = DimFactors::Dims;

// Adds a shape.
Dims Add(DimFactors& factors, std::initializer_list<int64_t> shape) {
  Dims dims;
  for (int64_t size : shape) dims.push_back(factors.add(size));
  return dims;
}

TEST(DimFactorsTest, SplitsUntilBothShapesHaveTheSameFactors) {
  DimFactors factors;
  const Dims image = Add(factors, {512, 2, 53, 7}), rows = Add(factors, {512, 1, 742});
  ASSERT_TRUE(factors.align(image, rows));
  EXPECT_THAT(factors.factors(image), ElementsAre(512, 2, 53, 7));
  EXPECT_THAT(factors.factors(rows), ElementsAre(512, 1, 2, 53, 7));
  EXPECT_EQ(factors.split(rows[2]), 371);
  factors.drop(rows[1]);
  EXPECT_THAT(factors.factors(rows), ElementsAre(512, 2, 53, 7));
}

TEST(DimFactorsTest, SplitsBothShapes) {
  DimFactors factors;
  const Dims a = Add(factors, {6, 4}), b = Add(factors, {2, 12});
  ASSERT_TRUE(factors.align(a, b));
  EXPECT_THAT(factors.factors(a), ElementsAre(2, 3, 4));
  EXPECT_THAT(factors.factors(b), ElementsAre(2, 3, 4));
}

TEST(DimFactorsTest, LeavesShapesWithoutCommonFactors) {
  DimFactors factors;
  const Dims a = Add(factors, {8, 4, 3}), b = Add(factors, {2, 4, 6, 2});
  EXPECT_FALSE(factors.align(a, b));
  EXPECT_THAT(factors.factors(a), ElementsAre(8, 4, 3));
  EXPECT_THAT(factors.factors(b), ElementsAre(2, 4, 6, 2));
  // The rule of the failed call is gone.
  const Dims c = Add(factors, {2, 4, 12});
  EXPECT_TRUE(factors.align(a, c));
  EXPECT_THAT(factors.factors(a), ElementsAre(2, 4, 4, 3));
  EXPECT_THAT(factors.factors(b), ElementsAre(2, 4, 6, 2));
}

TEST(DimFactorsTest, UnitedDimensionsSplitAlike) {
  DimFactors factors;
  const Dims a = Add(factors, {24}), b = Add(factors, {24}), c = Add(factors, {4, 6}),
             d = Add(factors, {2, 12}), e = Add(factors, {8, 3});
  factors.unite(a[0], b[0]);
  ASSERT_TRUE(factors.align(a, c));
  ASSERT_TRUE(factors.align(b, d));
  EXPECT_THAT(factors.factors(a), ElementsAre(2, 2, 6));
  // An earlier rule splits the dimensions of another shape.
  EXPECT_THAT(factors.factors(c), ElementsAre(2, 2, 6));
  ASSERT_TRUE(factors.align(b, e));
  EXPECT_THAT(factors.factors(c), ElementsAre(2, 2, 2, 3));
  EXPECT_THAT(factors.factors(d), ElementsAre(2, 2, 2, 3));
}

TEST(DimFactorsTest, PinnedDimensionsStayWhole) {
  DimFactors factors;
  const Dims a = Add(factors, {1, 12}), b = Add(factors, {3, 4});
  factors.pin(a[0]);
  factors.pin(a[1]);
  EXPECT_FALSE(factors.align(a, b));
  factors.drop(a[0]);
  EXPECT_THAT(factors.factors(a), ElementsAre(1, 12));
}

TEST(DimFactorsTest, PartsSplitAtTheirSteps) {
  DimFactors factors;
  const Dims qkv = Add(factors, {384}), q = Add(factors, {256}), k = Add(factors, {64}),
             heads = Add(factors, {4, 2, 32}), thirds = Add(factors, {3, 128});
  factors.bound(qkv[0], q[0], 128);
  factors.bound(qkv[0], k[0], 64);
  ASSERT_TRUE(factors.align(q, heads));
  EXPECT_THAT(factors.factors(qkv), ElementsAre(6, 2, 32));
  // The split at 64 is all of k.
  EXPECT_THAT(factors.factors(k), ElementsAre(2, 32));
  EXPECT_FALSE(factors.align(qkv, thirds));
  EXPECT_THAT(factors.factors(qkv), ElementsAre(6, 2, 32));
}

}  // namespace
}  // namespace sinter
