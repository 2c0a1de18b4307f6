// Modules whose nn::Linear keep weights of few bits, against the same modules with floats.
#include "sinter/frontend/nn/quantized_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sinter/frontend/nn/layers.h"
#include "sinter/frontend/nn/transformer.h"
#include "sinter/tests/frontend/builder_values.h"
#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

nn::Module Net() {
  return nn::Sequential{nn::LayerNorm(), nn::Linear(96), nn::Gelu(), nn::Linear(64, {.bias = false})};
}

Session Start(nn::Module net, int64_t rows) {
  Graph graph("g", {.seed = 5});
  graph.Function("f", Mode::kEval, [&](Builder& b) { b.Output("y", net(b.Input("x", F32, {rows, 2, 64}))); });
  return MustStart(graph, {.device = TestDevice()});
}

std::vector<double> ResultOf(Session& session, const HostTensor& x) {
  auto outputs = session.Run("f", {{"x", x}});
  SINTER_CHECK(outputs.ok()) << outputs.status();
  return Doubles((*outputs)["y"]);
}

// The root of the mean square of the difference over that of the numbers.
double RelativeError(const std::vector<double>& got, const std::vector<double>& want) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  return std::sqrt(difference / size);
}

HostTensor Inputs(int64_t rows) {
  std::vector<float> x(static_cast<size_t>(rows * 128));
  for (size_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i * i % 97)));
  return *HostTensor::FromVector<float>({rows, 2, 64}, x);
}

using QuantizedWeightsTest = DeviceTest;

TEST_F(QuantizedWeightsTest, ModulesStayNearTheirFloats) {
  const struct {
    nn::QuantizeWeightsOptions options;
    double least, most;  // Bounds of the error: rounding must show.
  } kinds[] = {{{.bits = 8}, 1e-4, 0.01},
               {{.bits = 8, .group = 32}, 1e-4, 0.01},
               {{.bits = 8, .quantize_inputs = true}, 1e-4, 0.02},
               {{.bits = 4, .group = 32}, 0.01, 0.2}};
  for (const int64_t rows : {1, 20}) {
    Session floats = Start(Net(), rows);
    const std::vector<double> want = ResultOf(floats, Inputs(rows));
    for (const auto& [options, least, most] : kinds) {
      SCOPED_TRACE(testing::Message()
                   << options.bits << " bits, groups of " << options.group << ", " << rows);
      Session session = Start(nn::QuantizeWeights(Net(), options), rows);
      for (const VariableInfo& variable : floats.variables()) {
        const HostTensor value = *floats.ReadVariable(variable.name);
        const bool is_linear = variable.name == "1.weight" || variable.name == "3.weight";
        const absl::Status status = is_linear ? nn::WriteQuantized(session, variable.name, value)
                                              : session.WriteVariable(variable.name, value);
        ASSERT_TRUE(status.ok()) << status;
      }
      const double error = RelativeError(ResultOf(session, Inputs(rows)), want);
      EXPECT_GT(error, least);
      EXPECT_LT(error, most);
      EXPECT_FALSE(session.ReadVariable("1.weight").ok());
    }
  }
}

// Attention and feed-forward parts are made of nn::Linear.
TEST_F(QuantizedWeightsTest, ReachesTheLinearLayersOfATransformer) {
  Graph graph("g");
  const auto block = nn::QuantizeWeights(nn::TransformerEncoderBlock(4), {.bits = 4});
  graph.Function("f", Mode::kEval,
                 [&](Builder& b) { b.Output("y", block(b.Input("x", F32, {1, 8, 64}), {})); });
  ASSERT_TRUE(graph.status().ok()) << graph.status();
  int values = 0;
  for (const Variable& variable : block.state()) values += variable.name().ends_with("weight_values");
  EXPECT_GE(values, 4);
  for (const Variable& variable : block.parameters()) {
    EXPECT_LE(variable.shape().size(), 1u) << variable.name() << " is a matrix of floats";
  }
}

TEST_F(QuantizedWeightsTest, ClonesKeepWeightsInFewBits) {
  Graph graph("g");
  nn::Module net = nn::QuantizeWeights(Net());
  nn::Module twin = net.Clone(nn::Copying::kShare);
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {1, 64});
    b.Output("y", net(x) + twin(x));
  });
  ASSERT_TRUE(graph.status().ok()) << graph.status();
  EXPECT_EQ(twin.state().size(), 4u);
}

TEST_F(QuantizedWeightsTest, WrongWrites) {
  Session session = Start(nn::QuantizeWeights(Net()), 1);
  const HostTensor square = *HostTensor::Zeros(DType::kF32, {64, 64});
  const absl::Status unknown = nn::WriteQuantized(session, "2.weight", square);
  EXPECT_EQ(unknown.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(unknown.message()), HasSubstr("\"2.weight\" is no weight of an nn::Linear"));
  const absl::Status shape = nn::WriteQuantized(session, "1.weight", square);
  EXPECT_EQ(shape.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(shape.message()), HasSubstr("got f32[64,64]; expected [64,96]: inputs, outputs"));
}

class QuantizedWeightsErrorsTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(QuantizedWeightsErrorsTest, Says) { ExpectSays(GetParam(), "quantized_weights_test.cc:"); }

INSTANTIATE_TEST_SUITE_P(
    QuantizedWeights, QuantizedWeightsErrorsTest,
    ::testing::Values(
        In("Bits", [](Builder& b) { nn::QuantizeWeights(nn::Linear(4), {.bits = 2})(X(b, {2, 32})); },
           {"Linear(4)", "of QuantizeWeights has 2 bits; expected 8 or 4"}),
        In("Group", [](Builder& b) { nn::QuantizeWeights(nn::Linear(4), {.group = 48})(X(b, {2, 96})); },
           {"has groups of 48 for rows of 96 elements"}),
        In("Inputs",
           [](Builder& b) {
             nn::QuantizeWeights(nn::Linear(4), {.bits = 4, .quantize_inputs = true})(X(b, {2, 96}));
           },
           {"has quantised inputs, which need weights of 8 bits with a scale a row"}),
        In("Type", [](Builder& b) { nn::QuantizeWeights(nn::Linear(4))(X(b, {2, 96}, F64)); },
           {"QuantizedMatMul(", "takes x of f32, bf16 or f16"}),
        In("AfterTheFirstUse",
           [](Builder& b) {
             nn::Linear layer(4);
             layer(X(b, {2, 32}));
             nn::QuantizeWeights(layer);
           },
           {"QuantizeWeights comes after the first use of Linear(4) at", "call it before"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
