// Exponentials that end in one scaling instruction have the bits of those that end in two multiplications.
#include "sinter/codegen/cpu/scale_floats.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "sinter/kernels/cpu/math/vector_math.h"
#include "sinter/tests/codegen/kernel_runner.h"

namespace sinter::codegen {
namespace {

// Returns every 4,099th bit pattern: infinities, NaN, and arguments with denormal, zero and infinite results
// too.
std::vector<float> Numbers() {
  std::vector<float> numbers;
  for (uint64_t bits = 0; bits < uint64_t{1} << 32; bits += 4099) {
    auto low = static_cast<uint32_t>(bits);
    numbers.emplace_back();
    std::memcpy(&numbers.back(), &low, sizeof(low));
  }
  for (float x = -104.5f; x < -86.5f; x += 1.0f / 4096) numbers.push_back(x);
  return numbers;
}

TEST(ScaleFloatsTest, KeepsTheBits) {
  std::vector<float> x = Numbers(), y(x.size());
  std::string type = "tensor<" + std::to_string(x.size()) + "xf32>";
  KernelRunner runner(
      CallText({type}, {type}, "    %r = sinter.exp %a0 : " + type + "\n    sinter.yield %r : " + type));
  ASSERT_TRUE(runner.status().ok()) << runner.status();
  EXPECT_THAT(runner.Assembly("x86-64-v4"), testing::HasSubstr("vscalefps"));
  EXPECT_THAT(runner.Assembly("x86-64-v3"), testing::Not(testing::HasSubstr("vscalef")));
  runner.Run({x.data()}, {y.data()}, 3);
  for (size_t i = 0; i < x.size(); ++i) {
    float expected = sn_exp_f32(x[i]);
    bool same = std::bit_cast<uint32_t>(expected) == std::bit_cast<uint32_t>(y[i]) ||
                (std::isnan(expected) && std::isnan(y[i]));
    ASSERT_TRUE(same) << x[i] << " gives " << y[i] << ", not " << expected;
  }
}

}  // namespace
}  // namespace sinter::codegen
