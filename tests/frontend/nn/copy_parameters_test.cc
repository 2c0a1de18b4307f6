// Copies of parameters between modules.
#include "sinter/frontend/nn/copy_parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinter/frontend/nn/layers.h"
#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/nn/module_values.h"

namespace sinter {
namespace {

using CopyParametersTest = DeviceTest;

nn::Module Net(const std::string& name) {
  nn::Module net = nn::Sequential{nn::Linear(3), nn::BatchNorm(), nn::Linear(2).Named("head")};
  return net.Named(name);
}

TEST_F(CopyParametersTest, TargetsFollow) {
  Graph graph("g", {.seed = 4});
  nn::Module actor = Net("actor"), target = Net("target");
  target.Freeze();
  graph.Function("start", Mode::kEval, [&](Builder& b) {
    const Tensor x = b.Ones(F64, {2, 4});
    actor(x), target(x);
    nn::CopyParameters(b, actor, target);
  });
  graph.Function("follow", Mode::kEval, [&](Builder& b) { nn::CopyParameters(b, actor, target, 0.25); });
  Session session = MustStart(graph, {.device = TestDevice()});
  const auto read = [&](const std::string& name) { return Doubles(*session.ReadVariable(name)); };
  EXPECT_NE(read("target.0.weight"), read("actor.0.weight"));
  ASSERT_TRUE(session.Run("start", {}).ok());
  for (const std::string name : {"0.weight", "0.bias", "1.scale", "1.running_mean", "head.weight"}) {
    EXPECT_EQ(read("target." + name), read("actor." + name)) << name;
  }
  ASSERT_TRUE(session.WriteVariable("actor.head.bias", *HostTensor::FromVector<double>({2}, {4, -8})).ok());
  ASSERT_TRUE(session.Run("follow", {}).ok());
  ExpectNear(read("target.head.bias"), {1, -2});
  ASSERT_TRUE(session.Run("follow", {}).ok());
  ExpectNear(read("target.head.bias"), {1.75, -3.5});
  ExpectNear(read("actor.head.bias"), {4, -8});
}

class CopyErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(CopyErrorTest, Says) { ExpectSays(GetParam(), "copy_parameters_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, CopyErrorTest,
    ::testing::Values(In("Unused",
                         [](Builder& b) {
                           nn::Module used = Net("a");
                           used(X(b, {2, 4}));
                           nn::CopyParameters(b, used, Net("b"));
                         },
                         {"CopyParameters", "the second has none: use it before"}),
                      In("Counterpart",
                         [](Builder& b) {
                           nn::Module a = nn::Linear(2).Named("a"), c = nn::Linear(3).Named("c");
                           a(X(b)), c(X(b));
                           nn::CopyParameters(b, a, c);
                         },
                         {"finds no counterpart of type f32[2] for \"a.bias\" in the other module"}),
                      In("Rate",
                         [](Builder& b) {
                           nn::Module a = nn::Linear(2).Named("a");
                           a(X(b));
                           nn::CopyParameters(b, a, a, 2);
                         },
                         {"a rate"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
