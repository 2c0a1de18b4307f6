#include "sinter/frontend/ops/kernel_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sinter {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(KernelParametersTest, AreATypeAndAName) {
  auto parsed =
      ParseKernelParameters(" T x,raw U  table , float32 scale,\n bool on, raw bfloat16 w, i8 small");
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_THAT(*parsed, SizeIs(6));
  const std::vector<KernelParameter>& p = *parsed;
  EXPECT_EQ(p[0].name, "x");
  EXPECT_EQ(p[0].placeholder, 'T');
  EXPECT_FALSE(p[0].raw);
  EXPECT_EQ(p[1].name, "table");
  EXPECT_EQ(p[1].placeholder, 'U');
  EXPECT_TRUE(p[1].raw);
  EXPECT_EQ(p[2].name, "scale");
  EXPECT_EQ(p[2].placeholder, 0);
  EXPECT_EQ(p[2].dtype, DType::kF32);
  EXPECT_EQ(p[3].dtype, DType::kI1);
  EXPECT_EQ(p[4].dtype, DType::kBf16);
  EXPECT_TRUE(p[4].raw);
  EXPECT_EQ(p[5].dtype, DType::kI8);
}

TEST(KernelParametersTest, MayBeNone) {
  auto parsed = ParseKernelParameters("  ");
  ASSERT_TRUE(parsed.ok());
  EXPECT_THAT(*parsed, IsEmpty());
}

TEST(KernelParametersTest, RefusesWhatIsNotOne) {
  const std::pair<const char*, const char*> cases[] = {
      {"T", "has the parameter \"T\": write a type and a name, such as T x or raw float32 x"},
      {"T x,, T y", "has the parameter \"\": write a type and a name"},
      {"T x y", "write a type and a name"},
      {"raw x", "write a type and a name"},
      {"float31 x", "there is no type float31; types are float64, float32, bfloat16"},
      {"T 2x", "its name is not one of C++"},
      {"T x*", "its name is not one of C++"},
      {"T i", "i is reserved, as are i, n, words of C++"},
      {"T n", "n is reserved"},
      {"T _ind", "_ind is reserved"},
      {"T sn_x", "sn_x is reserved"},
      {"T while", "while is reserved"},
      {"T int64", "int64 is reserved"},
      {"T NULL", "NULL is reserved"},
  };
  for (const auto& [text, says] : cases) {
    auto parsed = ParseKernelParameters(text);
    EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(says)) << text;
  }
}

TEST(KernelParametersTest, RefusesNamesThatMeanTwoThings) {
  auto x = ParseKernelParameters("T x"), y = ParseKernelParameters("T y"),
       t = ParseKernelParameters("float32 T");
  ASSERT_TRUE(x.ok() && y.ok() && t.ok());
  EXPECT_TRUE(CheckKernelParameters(*x, *y).ok());
  EXPECT_THAT(std::string(CheckKernelParameters(*x, *x).message()),
              HasSubstr("has two parameters named x; rename one"));
  EXPECT_THAT(std::string(CheckKernelParameters(*x, *t).message()),
              HasSubstr("has the parameter T and the type T; rename one"));
}

}  // namespace
}  // namespace sinter
