#include "sinter/runtime/host/build_cache.h"

#include <compare>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sinter {
namespace {

struct Key {
  int first = 0;
  std::string second;
  auto operator<=>(const Key&) const = default;
};

TEST(BuildCacheTest, EachKeyIsBuildCache) {
  BuildCache<Key, std::string> values;
  int built = 0;
  const auto get = [&](const Key& key) {
    return values.Get(key,
                      [&]() -> absl::StatusOr<std::string> { return key.second + std::to_string(++built); });
  };
  const std::string* const a = *get({1, "a"});
  const std::string* const b = *get({1, "b"});
  EXPECT_EQ(*a, "a1");
  EXPECT_EQ(*b, "b2");
  EXPECT_EQ(**get({2, "a"}), "a3");
  // Values keep their address.
  EXPECT_EQ(*get({1, "a"}), a);
  EXPECT_EQ(*get({1, "b"}), b);
  EXPECT_EQ(built, 3);
  EXPECT_EQ(values.size(), 3u);
}

TEST(BuildCacheTest, WhatFailsIsTriedAgain) {
  BuildCache<int, int> values;
  int tries = 0;
  const auto get = [&] {
    return values.Get(1, [&]() -> absl::StatusOr<int> {
      if (++tries < 3) return absl::UnavailableError("not yet");
      return tries;
    });
  };
  EXPECT_EQ(get().status(), absl::UnavailableError("not yet"));
  EXPECT_EQ(values.size(), 0u);
  EXPECT_FALSE(get().ok());
  EXPECT_EQ(**get(), 3);
  EXPECT_EQ(**get(), 3);
  EXPECT_EQ(tries, 3);
}

}  // namespace
}  // namespace sinter
