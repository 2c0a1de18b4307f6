// Messages for wrong options, misused modules, wrong names and wrong gradients.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sinter/tests/frontend/error_case.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

class ModelErrorTest : public ::testing::TestWithParam<ErrorCase> {};

TEST_P(ModelErrorTest, NamesLineMistakeAndFix) { ExpectSays(GetParam(), "model_errors_test.cc:"); }

// Returns a body that minimises, so that the optimiser's options are checked.
template <typename Optimizer>
std::function<void(Builder&)> With(const Optimizer& optimizer,
                                   const optim::UpdateOptions<Optimizer>& options = {}) {
  return [=](Builder& b) { optimizer.Minimize(Sum(nn::Linear(1)(X(b))), options); };
}

std::function<void(Builder&)> Starting(const nn::Initializer& initializer) {
  return [=](Builder& b) { nn::Linear(1, {.weight = initializer})(X(b)); };
}

std::vector<ErrorCase> OptionCases() {
  using VI = VariableInit;
  return {
      In("SgdRate", With(optim::Sgd{.learning_rate = -1.0}),
         {"optim::Sgd: Minimize(f32[]) needs a learning rate of at least 0, got -1"}),
      In("SgdRateNan", With(optim::Sgd{.learning_rate = NAN}), {"a learning rate of at least 0, got nan"}),
      In("SgdDecay", With(optim::Sgd{}, {.hooks = {optim::Decay(-0.1)}}),
         {"Minimize(f32[]) has a hook, Decay, that needs a rate of at least 0, got -0.1"}),
      In("SgdClip", With(optim::Sgd{}, {.hooks = {optim::ClipNorm(0)}}), {"a norm above 0, got 0"}),
      In("MomentumMomentum", With(optim::Momentum{.momentum = 1}),
         {"a momentum of at least 0 and below 1, got 1"}),
      In("MomentumRate", With(optim::Momentum{.learning_rate = INFINITY}),
         {"a learning rate of at least 0, got inf"}),
      In("AdamBeta1", With(optim::Adam{.beta1 = 2}), {"a beta1 of at least 0 and below 1, got 2"}),
      In("AdamBeta2", With(optim::Adam{.beta2 = -0.5}), {"a beta2 of at least 0 and below 1, got -0.5"}),
      In("AdamEpsilon", With(optim::Adam{.epsilon = -1e-8}), {"an epsilon of at least 0, got -1e-08"}),
      In("AdamWBeta1", With(optim::AdamW{.beta1 = 1}), {"a beta1 of at least 0 and below 1, got 1"}),
      In("AdamWDecay", With(optim::AdamW{.weight_decay = -1}), {"a weight decay of at least 0, got -1"}),
      In("LossScale", With(optim::Sgd{}, {.loss_scale = optim::LossScale{.initial = NAN}}),
         {"a first loss scale from 1"}),
      In("AccumulateOptions",
         [](Builder& b) { optim::Adam{.beta1 = 2}.Accumulate(Sum(nn::Linear(1)(X(b)))); }, {"a beta1"}),
      In("BatchNormMomentum", [](Builder& b) { nn::BatchNorm({.momentum = 1.5})(X(b)); },
         {"BatchNorm: of f32[2,3] needs a momentum of at least 0 and at most 1, got 1.5"}),
      In("BatchNormEpsilon", [](Builder& b) { nn::BatchNorm({.epsilon = -1})(X(b)); },
         {"an epsilon of at least 0"}),
      In("LayerNormEpsilonInfinite", [](Builder& b) { nn::LayerNorm{INFINITY}(X(b)); },
         {"an epsilon", "got inf"}),
      In("RmsNormEpsilon", [](Builder& b) { nn::RmsNorm{-1}(X(b)); }, {"an epsilon of at least 0, got -1"}),
      In("HuberDeltaNan", [](Builder& b) { HuberLoss(X(b), X(b), NAN); }, {"a delta above 0, got nan"}),
      In("LeakyReluAlpha", [](Builder& b) { LeakyRelu(X(b), NAN); }, {"an alpha that is finite, got nan"}),
      In("EluAlpha", [](Builder& b) { nn::Elu{INFINITY}(X(b)); }, {"an alpha that is finite, got inf"}),
      In("RandomInfinite", [](Builder& b) { b.RandomUniform(F32, {2}, 0, INFINITY); },
         {"finite low < high, got 0 and inf"}),
      In("RandomMean", [](Builder& b) { b.RandomNormal(F32, {2}, NAN); }, {"a mean that is finite"}),
      In("RandomDeviation", [](Builder& b) { b.RandomNormal(F32, {2}, 0, -1); },
         {"a standard deviation of at least 0"}),
      {"DropoutWhenPredicting",
       [](Graph& g) { g.Function("f", Mode::kEval, [](Builder& b) { nn::Dropout{-0.5}(X(b)); }); },
       {"Dropout(-0.5)", "a probability of at least 0 and at most 1, got -0.5"}},
      In("LinearFeatures", [](Builder& b) { nn::Linear(0)(X(b)); }, {"at least one output feature"}),
      In("ConvChannelsOut", [](Builder& b) { nn::Conv2d(0, 3)(X(b, {1, 1, 8, 8})); },
         {"at least one output channel"}),
      In("ConvKernel", [](Builder& b) { nn::Conv2d(3, 0)(X(b, {1, 1, 8, 8})); }, {"a window of 1x1 or more"}),
      In("EmbeddingCount", [](Builder& b) { nn::Embedding(0, 3)(X(b, {2}, I32)); }, {"at least one vector"}),
      In("AttendWidth", [](Builder& b) { nn::Embedding(4, 3).Attend(X(b, {2, 4})); },
         {"attends to floats [..., 3]"}),
      In("InitNormal", Starting(nn::Normal(-1)),
         {"\"weight\" needs an initialiser with a deviation of at least 0, got -1"}),
      In("InitUniform", Starting(nn::Uniform(1, 0)), {"an initialiser with low <= high, got 1 and 0"}),
      In("InitInfinite", Starting(nn::Uniform(0, INFINITY)), {"finite numbers, got 0 and inf"}),
      In("InitOrthogonal",
         [](Builder& b) { b.MakeVariable("v", F32, {2}, {.init = {VI::Kind::kOrthogonal, 1}}); },
         {"\"v\" of f32[2] cannot start orthogonal, which takes rank 2 or more"}),
      In("InitFraction", [](Builder& b) { b.MakeVariable("v", I32, {2}, {.init = {.a = 0.5}}); },
         {"\"v\" of i32[2] cannot start from its initial value: 0.5 is not a number of type i32"}),
      In("InitTooLarge", [](Builder& b) { b.MakeVariable("v", U8, {2}, {.init = {.a = 256}}); },
         {"256 is not a number of type u8"}),
      In("InitNegativeByte", [](Builder& b) { b.MakeVariable("v", U8, {2}, {.init = {.a = -1}}); },
         {"-1 is not a number of type u8"}),
  };
}

std::vector<ErrorCase> OwnershipCases() {
  return {
      In("TwoModules",
         [](Builder& b) {
           nn::Linear a(3), c(3);
           c(a(X(b)));
         },
         {"Linear(3): Variable \"weight\" is of another module, Linear(3), first used at ",
          "model_errors_test.cc:", ".Named(\"second\")", "use one module twice"}),
      In("TwoNamedModules",
         [](Builder& b) {
           nn::Module a = nn::Linear(3), c = nn::Linear(4);
           c.Named("net")(a.Named("net")(X(b)));
         },
         {"net Linear(4): Variable \"net.weight\" is of another module, Linear(3)"}),
      In("TwoBatchNorms",
         [](Builder& b) {
           nn::BatchNorm a, c;
           c(a(X(b)));
         },
         {"BatchNorm: Variable \"scale\" is of another module, BatchNorm"}),
      In("ModuleAndVariable",
         [](Builder& b) {
           b.MakeVariable("weight", F32, {3, 3});
           nn::Linear(3)(X(b));
         },
         {"\"weight\" is of the program itself, which made it at ", ".Named("}),
      In("LinearOfTwoWidths",
         [](Builder& b) {
           nn::Linear linear(3);
           linear(X(b, {2, 5}));
           linear(X(b, {2, 6}));
         },
         {"Linear(3): of f32[2,6] was first used with 5 inputs at ", "model_errors_test.cc:",
          "and here with 6 inputs; its \"weight\" stays f32[5,3]: use another module here"}),
      In("LinearOfTwoTypes",
         [](Builder& b) {
           nn::Linear linear(3);
           linear(X(b, {2, 5}));
           linear(X(b, {2, 5}, BF16));
         },
         {"was first used with 5 inputs of f32 at ", "and here with 5 inputs of bf16"}),
      In("ConvOfTwoDepths",
         [](Builder& b) {
           nn::Conv2d conv(3, 1);
           conv(X(b, {1, 2, 4, 4}));
           conv(X(b, {1, 4, 4, 4}));
         },
         {"was first used with 2 channels at ", "and here with 4 channels"}),
      In("NamedTooLate",
         [](Builder& b) {
           nn::Module net = nn::Sequential{nn::Linear(3)};
           net(X(b));
           net.Named("net");
         },
         {"Named(\"net\") comes after the first use of Sequential(1) at ", "made \"0.weight\""}),
  };
}

std::vector<ErrorCase> NameCases() {
  return {
      In("VariableControl", [](Builder& b) { b.MakeVariable("a\nb", F32, {}); },
         {"Variable \"a\\nb\" holds a control character"}),
      {"FunctionOfAVariablesName",
       [](Graph& g) {
         g.Variable("v", F32, {});
         g.Function("v", Mode::kTrain, [](Builder&) {});
       },
       {"Function \"v\" has the name of the variable made at "}},
      In("VariableOfAFunctionsName", [](Builder& b) { b.MakeVariable("f", F32, {}); },
         {"Variable \"f\" has the name of a function"}),
      In("VariableNoName", [](Builder& b) { b.MakeVariable("", F32, {}); }, {"Variable \"\" has no name"}),
      In("InputControl", [](Builder& b) { b.Input("a\tb", F32, {}); }, {"Input \"a\\tb\" holds a control"}),
      In("OutputNoName", [](Builder& b) { b.Output("", X(b)); }, {"Output \"\" has no name"}),
      In("ModuleControl", [](Builder& b) { nn::Module(nn::Linear(3)).Named("a\x01")(X(b)); },
         {"holds a control"}),
      In("OptimiserControl", With(optim::Adam{}, {.name = "a\nb"}), {"holds a control character"}),
      {"FunctionControl",
       [](Graph& g) { g.Function("a\n", Mode::kTrain, [](Builder&) {}); },
       {"Function \"a\\n\" holds"}},
  };
}

std::vector<ErrorCase> GradientCases() {
  return {
      In("GradientUnused", [](Builder& b) { Gradients(Sum(X(b)), {X(b, {2})}); },
         {"Gradients(f32[], f32[2]) would give zeros for value 0, f32[2]: the loss does not depend on it",
          "{.allow_unused = true}"}),
      In("GradientOfArgMax",
         [](Builder& b) {
           Tensor x = X(b);
           Gradients(Sum(X(b, {2})) * Sum(Cast(ArgMax(x, 1), F32)), {x});
         },
         {"value 0, f32[2,3]: the loss depends on it by ArgMax at ",
          "model_errors_test.cc:", "through which no gradient flows"}),
      In("GradientOfFloor",
         [](Builder& b) {
           Tensor x = X(b);
           Gradients(Sum(Floor(x * 2.0)), {x});
         },
         {"depends on it by Floor at "}),
      In("GradientOfComparison",
         [](Builder& b) {
           Tensor x = X(b);
           Gradients(Sum(Select(x > 0.0, 1.0, 0.0)), {x});
         },
         {"depends on it by Greater at "}),
      In("GradientStopped",
         [](Builder& b) {
           Tensor x = X(b);
           Gradients(Sum(Square(StopGradient(x))), {x});
         },
         {"depends on it by StopGradient at "}),
      In("GradientAfterMinimize",
         [](Builder& b) {
           Variable v = b.MakeVariable("v", F32, {2});
           Tensor loss = Sum(Square(b.Read(v)));
           optim::Sgd{}.Minimize(loss);
           Gradients(loss, {b.Read(v)});
         },
         {"would give zeros for variable \"v\": it was assigned", "read it where the loss does"}),
      In("MinimizeOverArgMax",
         [](Builder& b) {
           Variable v = b.MakeVariable("v", F32, {2}), w = b.MakeVariable("w", F32, {2});
           Tensor loss = Sum(b.Read(w) * Cast(ArgMax(b.Read(v), 0), F32));
           optim::Sgd{}.Minimize(loss, {.parameters = {w, v}});
         },
         {"was given \"v\", which no gradient reaches: the loss depends on it by ArgMax at "}),
      In("MinimizeRank", [](Builder& b) { optim::Sgd{}.Minimize(nn::Linear(1)(X(b))); },
         {"Minimize(f32[2,1]) takes a float loss of rank 0"}),
  };
}

INSTANTIATE_TEST_SUITE_P(Option, ModelErrorTest, ::testing::ValuesIn(OptionCases()), ErrorCaseName);
INSTANTIATE_TEST_SUITE_P(Ownership, ModelErrorTest, ::testing::ValuesIn(OwnershipCases()), ErrorCaseName);
INSTANTIATE_TEST_SUITE_P(Name, ModelErrorTest, ::testing::ValuesIn(NameCases()), ErrorCaseName);
INSTANTIATE_TEST_SUITE_P(Gradient, ModelErrorTest, ::testing::ValuesIn(GradientCases()), ErrorCaseName);

// Each wrong call gives one message, not one for each variable.
TEST(ModelErrorsTest, AModuleThatIsNotItsOwnSaysItOnce) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    nn::BatchNorm a, c;
    b.Output("y", c(a(X(b))));
  });
  EXPECT_THAT(std::string(graph.status().message()), ::testing::Not(HasSubstr("errors in graph")));
}

}  // namespace
}  // namespace sinter
