// The perceptron that examples/parallel_mlp splits across two devices: its exact copies and its results.
#include "sinter/examples/parallel_mlp/parallel_mlp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <regex>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMlpRows = 6, kFeatures = 12;
constexpr Device kFirst = Device::Cpu(0), kSecond = Device::Cpu(1);

ParallelMlpOptions On(Device device0, Device device1) {
  return {.units = 16, .classes = 10, .device0 = device0, .device1 = device1};
}

// Returns "6x12 to 1" for each plan.copy between devices, in the order of the steps.
std::vector<std::string> Copies(const std::string& plan, const std::string& function) {
  std::vector<std::string> copies;
  const size_t begin = plan.find("plan.function @" + function), end = plan.find("\n  }", begin);
  const std::string body = plan.substr(begin, end - begin);
  static const std::regex copy(
      R"(plan\.copy %([0-9]+) to %([0-9]+) on <cpu, ([01])> : <tensor<([0-9x]+)xf32>>)");
  for (std::sregex_iterator it(body.begin(), body.end(), copy), none; it != none; ++it) {
    const std::string source = (*it)[1], to = (*it)[3];
    std::smatch made;
    const std::regex definition("%" + source + " = plan\\.[a-z]+ [^\n]*<cpu, ([01])>");
    const bool known = std::regex_search(body, made, definition);
    if (known && made[1] != to) copies.push_back((*it)[4].str() + " to " + to);
  }
  return copies;
}

std::vector<std::string> CopiesOf(const std::string& function, Device device0, Device device1) {
  CompileReport report;
  CompileOptions options{.dump_stages = {"lower-to-plan"}, .report = true};
  absl::StatusOr<Plan> plan =
      Compile(BuildParallelMlp(On(device0, device1), kMlpRows, kFeatures), options, &report);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return Copies(report.dumps["lower-to-plan"], function);
}

// x to 1, z1 to 0, z0 to 1, y1 to 0.
TEST(ParallelMlpTest, AForwardPassHasFourCopies) {
  EXPECT_THAT(CopiesOf("predict", kFirst, kSecond),
              ElementsAre("6x12 to 1", "6x16 to 0", "6x16 to 1", "6x10 to 0"));
}

// The loss's gradient goes to 1, then the gradients of z0 and z1 are copied. x needs none.
TEST(ParallelMlpTest, ABackwardPassHasThreeMore) {
  std::vector<std::string> copies = CopiesOf("train", kFirst, kSecond);
  ASSERT_EQ(copies.size(), 7u);
  EXPECT_THAT(std::vector<std::string>(copies.begin(), copies.begin() + 4),
              ElementsAre("6x12 to 1", "6x16 to 0", "6x16 to 1", "6x10 to 0"));
  std::vector<std::string> backward(copies.begin() + 4, copies.end());
  EXPECT_THAT(backward, ::testing::UnorderedElementsAre("6x10 to 1", "6x16 to 0", "6x16 to 1"));
}

TEST(ParallelMlpTest, TheReportListsThem) {
  CompileReport report;
  absl::StatusOr<Plan> plan =
      Compile(BuildParallelMlp(On(kFirst, kSecond), kMlpRows, kFeatures), {.report = true}, &report);
  ASSERT_TRUE(plan.ok()) << plan.status();
  int asked = 0, gradients = 0, inputs = 0;
  for (const std::string& line : report.copies) {
    EXPECT_THAT(line, HasSubstr("parallel_mlp.h:"));
    asked += line.find("asked for here") != std::string::npos;
    gradients += line.find("the gradient of the copy here") != std::string::npos;
    inputs += line.find("gives input \"lr\"") != std::string::npos;
  }
  EXPECT_EQ(asked, 8);  // Four of the prediction, four of the training step.
  EXPECT_EQ(gradients, 3);
  EXPECT_EQ(inputs, 1);
  EXPECT_EQ(report.copies.size(), 12u);
}

TEST(ParallelMlpTest, OnOneDeviceNoCopyIsLeft) {
  for (Device device : {kFirst, kSecond}) {
    for (const char* function : {"train", "predict"})
      EXPECT_THAT(CopiesOf(function, device, device), IsEmpty());
  }
}

TEST(ParallelMlpTest, EverythingIsWhereItWasPut) {
  absl::StatusOr<Plan> plan = Compile(BuildParallelMlp(On(kFirst, kSecond), kMlpRows, kFeatures));
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->Devices(), ElementsAre(kFirst, kSecond));
  for (const VariableInfo& variable : plan->Variables()) {
    const bool second = variable.name.find("first1") == 0 || variable.name.find("second1") == 0;
    EXPECT_EQ(variable.device, second ? kSecond : kFirst) << variable.name;
  }
}

// Runs on virtual CPU devices.
class ParallelMlpRunTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("SINTER_CPU_DEVICES", "2", /*overwrite=*/1); }
  void TearDown() override { unsetenv("SINTER_CPU_DEVICES"); }

  struct Numbers {
    std::vector<double> losses;
    std::vector<float> logits;
  };

  static Numbers Train(Device device0, Device device1) {
    Session session = MustStart(BuildParallelMlp(On(device0, device1), kMlpRows, kFeatures));
    std::vector<float> values(kMlpRows * kFeatures);
    std::vector<int32_t> classes(kMlpRows);
    for (size_t i = 0; i < values.size(); ++i) values[i] = 0.1f * static_cast<float>((i * 7) % 23) - 1;
    for (size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<int32_t>(i * 3 % 10);
    HostTensor x = *HostTensor::FromVector<float>({kMlpRows, kFeatures}, values);
    HostTensor y = *HostTensor::FromVector<int32_t>({kMlpRows}, classes);
    Numbers numbers;
    for (int step = 0; step < 10; ++step) {
      auto out = session.Run("train", {{"x", x}, {"y", y}, {"lr", 0.2f}});
      EXPECT_TRUE(out.ok()) << out.status();
      numbers.losses.push_back(*out->Scalar("loss"));
    }
    numbers.logits = Floats(session, "predict", {{"x", x}}, "logits");
    return numbers;
  }
};

TEST_F(ParallelMlpRunTest, TwoDevicesComputeWhatOneDoes) {
  Numbers two = Train(kFirst, kSecond), one = Train(kFirst, kFirst), other = Train(kSecond, kSecond);
  ASSERT_EQ(two.logits.size(), one.logits.size());
  for (size_t i = 0; i < one.logits.size(); ++i) {
    EXPECT_NEAR(two.logits[i], one.logits[i], 1e-5f * (1 + std::abs(one.logits[i]))) << i;
    EXPECT_EQ(other.logits[i], one.logits[i]) << i;
  }
  for (size_t i = 0; i < one.losses.size(); ++i)
    EXPECT_NEAR(two.losses[i], one.losses[i], 1e-5 * one.losses[i]);
  EXPECT_LT(one.losses.back(), 0.9 * one.losses.front());
}

}  // namespace
}  // namespace sinter
