// Messages for wrong calls of the builder: the user's line, the call, and the nearest fix.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sinter/tests/frontend/error_case.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ErrorMessageTest : public ::testing::TestWithParam<ErrorCase> {};

TEST_P(ErrorMessageTest, NamesLineMistakeAndFix) { ExpectSays(GetParam(), "error_messages_test.cc:"); }

std::vector<ErrorCase> PointwiseCases() {
  return {
      In("AddShapes", [](Builder& b) { X(b, {2, 3}) + X(b, {2, 4}); },
         {"Add(f32[2,3], f32[2,4])", "broadcast"}),
      In("AddTypes", [](Builder& b) { X(b) + X(b, {2, 3}, I32); },
         {"mixes element types", "convert the i32: Cast(x, F32)"}),
      In("MulMask", [](Builder& b) { X(b, {4}, I1) * X(b, {4}); },
         {"Mul(i1[4], f32[4])", "convert the i1: Cast(x, F32)"}),
      In("AddHalves", [](Builder& b) { X(b, {4}, BF16) + X(b, {4}, F16); },
         {"convert the f16 and the bf16: Cast(x, F32)"}),
      In("AddBools", [](Builder& b) { X(b, {2}, I1) + X(b, {2}, I1); }, {"takes numbers, not i1"}),
      In("AndFloats", [](Builder& b) { X(b) && X(b); }, {"takes i1", "compare first"}),
      In("NotFloat", [](Builder& b) { !X(b); }, {"Not(f32[2,3])", "takes i1"}),
      In("PowInts", [](Builder& b) { Pow(X(b, {2}, I32), 2.0); }, {"Pow(i32[2])", "takes floats"}),
      In("ExpInt", [](Builder& b) { Exp(X(b, {2}, I32)); }, {"Exp(i32[2])", "Cast(x, F32) first"}),
      In("LogBool", [](Builder& b) { Log(X(b, {2}, I1)); }, {"Log(i1[2])", "takes floats"}),
      In("AbsBool", [](Builder& b) { Abs(X(b, {2}, I1)); }, {"Abs(i1[2])", "takes numbers"}),
      In("IsNanInt", [](Builder& b) { IsNan(X(b, {2}, I64)); }, {"IsNan(i64[2])", "takes floats"}),
      In("ClampBounds", [](Builder& b) { Clamp(X(b), 2, 1); }, {"Clamp", "low <= high", "2 and 1"}),
      In("SelectCondition", [](Builder& b) { Select(X(b), X(b), X(b)); }, {"i1 condition"}),
      In("SelectTypes", [](Builder& b) { Select(X(b) > 0.0, X(b), X(b, {2, 3}, F64)); },
         {"mixes element types"}),
      In("SelectShapes", [](Builder& b) { Select(X(b) > 0.0, X(b, {4}), 1.0); }, {"Select", "broadcast"}),
      In("CompareTypes", [](Builder& b) { X(b) < X(b, {2, 3}, I8); }, {"Less", "mixes element types"}),
  };
}

std::vector<ErrorCase> ShapeCases() {
  return {
      In("ReshapeCount", [](Builder& b) { Reshape(X(b), {4, 2}); },
         {"Reshape(f32[2,3])", "of 6 elements", "holds 8"}),
      In("ReshapeTwoUnknown", [](Builder& b) { Reshape(X(b), {-1, -1}); }, {"only one size may be -1"}),
      In("ReshapeDivide", [](Builder& b) { Reshape(X(b), {-1, 4}); }, {"does not divide"}),
      In("FlattenDim", [](Builder& b) { Flatten(X(b), 2); }, {"no dimension 2", "-2 to 1"}),
      In("ExpandDims", [](Builder& b) { ExpandDims(X(b), 5); }, {"no dimension 5", "-3 to 2"}),
      In("SqueezeSize", [](Builder& b) { Squeeze(X(b), 0); }, {"whose size is 2, not 1"}),
      In("SqueezeScalar", [](Builder& b) { Squeeze(X(b, {}), 0); }, {"the tensor has rank 0"}),
      In("TransposeLength", [](Builder& b) { Transpose(X(b), {0}); },
         {"one entry of the permutation a dimension: 2, got 1"}),
      In("TransposeTwice", [](Builder& b) { Transpose(X(b), {0, 0}); }, {"[0,0]", "names a dimension twice"}),
      In("BroadcastTo", [](Builder& b) { BroadcastTo(X(b), {2, 4}); }, {"does not broadcast to [2,4]"}),
      In("SliceRange", [](Builder& b) { Slice(X(b), {0, 0}, {2, 4}); },
         {"dimension 1 from 0 to 4 leaves its size 3"}),
      In("SliceStride", [](Builder& b) { Slice(X(b), {0, 0}, {2, 3}, {1, 0}); },
         {"strides of at least 1, got 0"}),
      In("SliceLength", [](Builder& b) { Slice(X(b), {0}, {2}); }, {"one entry of starts a dimension"}),
      In("SliceDim", [](Builder& b) { SliceDim(X(b), 3, 0, 1); }, {"no dimension 3"}),
      In("ConcatSizes", [](Builder& b) { Concat({X(b), X(b, {3, 4})}, 0); },
         {"equal sizes but for dimension 0"}),
      In("ConcatDim", [](Builder& b) { Concat({X(b), X(b)}, 2); }, {"no dimension 2"}),
      In("SplitTotal", [](Builder& b) { Split(X(b), {1, 1}, 1); },
         {"into [1,1], which is 2 in all", "of size 3"}),
      In("PadNegative", [](Builder& b) { Pad(X(b), {0, -1}, {0, 0}); }, {"paddings of at least 0"}),
      In("ReverseTwice", [](Builder& b) { Reverse(X(b), {1, -1}); }, {"names a dimension twice"}),
      In("GatherFloatIndex", [](Builder& b) { Gather(X(b), X(b), 0); }, {"i32 or i64 indices"}),
      In("GatherEmpty", [](Builder& b) { Gather(X(b, {0, 3}), X(b, {2}, I32), 0); }, {"dimension of size 0"}),
      In("GatherRank", [](Builder& b) { Gather(X(b, {1, 1, 1, 1, 1}), X(b, {1, 1, 1, 1, 1}, I32), 0); },
         {"rank 9"}),
      In("TakeAlongSizes", [](Builder& b) { TakeAlong(X(b), X(b, {3, 1}, I32), 1); },
         {"same sizes but for dimension 1"}),
      In("ScatterAddUpdates", [](Builder& b) { ScatterAdd(X(b), X(b, {5}, I32), X(b, {4, 3}), 0); },
         {"needs updates of type f32[5,3]"}),
      In("OneHotClasses", [](Builder& b) { OneHot(X(b, {2}, I32), -1); }, {"of -1 classes"}),
      In("OneHotBool", [](Builder& b) { OneHot(X(b, {2}, I32), 3, I1); }, {"gives numbers, not i1"}),
  };
}

std::vector<ErrorCase> ReduceAndLinearCases() {
  return {
      In("SumBool", [](Builder& b) { Sum(X(b, {2}, I1)); }, {"takes numbers; Cast(x, I32) first"}),
      In("SumDim", [](Builder& b) { Sum(X(b), {2}); }, {"no dimension 2"}),
      In("SumTwice", [](Builder& b) { Sum(X(b), {0, -2}); }, {"names a dimension twice"}),
      In("MeanInt", [](Builder& b) { Mean(X(b, {2}, I32)); }, {"Mean(i32[2])", "takes floats"}),
      In("AnyFloat", [](Builder& b) { Any(X(b)); }, {"takes i1"}),
      In("ArgMaxEmpty", [](Builder& b) { ArgMax(X(b, {2, 0}), 1); }, {"dimension of size 0"}),
      In("ArgMaxType", [](Builder& b) { ArgMax(X(b), 1, F32); }, {"gives i32 or i64"}),
      In("TopKTooLarge", [](Builder& b) { TopK(X(b), 4); },
         {"TopK(", "takes the 4 largest of rows of 3 elements"}),
      In("CumSumDim", [](Builder& b) { CumSum(X(b), 4); }, {"no dimension 4"}),
      In("MatMulInner", [](Builder& b) { MatMul(X(b, {2, 3}), X(b, {4, 5})); }, {"inner sizes 3 and 4"}),
      In("MatMulTranspose", [](Builder& b) { MatMul(X(b, {2, 3}), X(b, {4, 3})); },
         {"did you mean transpose_b?"}),
      In("MatMulRank", [](Builder& b) { MatMul(X(b, {3}), X(b, {3, 5})); }, {"rank 2 or more"}),
      In("MatMulTypes", [](Builder& b) { MatMul(X(b), X(b, {3, 2}, BF16)); },
         {"mixes element types", "convert the bf16: Cast(x, F32)"}),
      In("MatMulBools", [](Builder& b) { MatMul(X(b, {2, 3}, I1), X(b, {3, 2}, I1)); }, {"takes numbers"}),
      In("AttentionInts", [](Builder& b) { Attention(X(b, {2, 5, 3, 4, 8}, I32)); },
         {"Attention(i32[2,5,3,4,8])", "takes floats"}),
      In("AttentionPacked", [](Builder& b) { Attention(X(b, {2, 5, 4, 8})); },
         {"[batch, positions, 3, heads, width]"}),
      In("AttentionTypes",
         [](Builder& b) { Attention(X(b, {2, 5, 4, 8}), X(b, {2, 5, 4, 8}, BF16), X(b, {2, 5, 4, 8})); },
         {"mixes element types", "Cast(x, F32)"}),
      In("AttentionRank", [](Builder& b) { Attention(X(b, {2, 5, 8}), X(b, {2, 5, 8}), X(b, {2, 5, 8})); },
         {"[batch, positions, heads, width]"}),
      In("AttentionValues",
         [](Builder& b) { Attention(X(b, {2, 5, 4, 8}), X(b, {2, 5, 4, 8}), X(b, {2, 6, 4, 8})); },
         {"k and v of one shape"}),
      In("AttentionWidth",
         [](Builder& b) { Attention(X(b, {2, 5, 4, 8}), X(b, {2, 5, 4, 7}), X(b, {2, 5, 4, 7})); },
         {"one width, dimension 3"}),
      In("AttentionHeads",
         [](Builder& b) { Attention(X(b, {2, 5, 4, 8}), X(b, {2, 5, 3, 8}), X(b, {2, 5, 3, 8})); },
         {"has 3 heads of k, which must divide the 4 of q"}),
      In("AttentionNoKeys",
         [](Builder& b) { Attention(X(b, {2, 5, 4, 8}), X(b, {2, 0, 4, 8}), X(b, {2, 0, 4, 8})); },
         {"at least one position of k"}),
      In("AttentionCausal",
         [](Builder& b) {
           Attention(X(b, {2, 7, 4, 8}), X(b, {2, 6, 4, 8}), X(b, {2, 6, 4, 8}), {.causal = true});
         },
         {"is causal with 7 positions of q and 6 of k"}),
      In("AttentionScale", [](Builder& b) { Attention(X(b, {2, 5, 3, 4, 8}), {.scale = INFINITY}); },
         {"needs a finite scale, got inf"}),
      In("AttentionMath",
         [](Builder& b) { Attention(X(b, {2, 5, 3, 4, 8}, BF16), {.math = MathMode::kTf32}); },
         {"has a math mode, which is for products of f32"}),
      In("MatMulBatch", [](Builder& b) { MatMul(X(b, {2, 2, 3}), X(b, {3, 3, 4})); },
         {"leading dimensions that broadcast"}),
      In("ConvRank", [](Builder& b) { Conv2d(X(b), X(b, {1, 1, 1, 1})); }, {"images of shape [N, C, H, W]"}),
      In("ConvChannels", [](Builder& b) { Conv2d(X(b, {1, 3, 8, 8}), X(b, {4, 2, 3, 3})); },
         {"images of 3 channels", "weights for 2"}),
      In("ConvWindow", [](Builder& b) { Conv2d(X(b, {1, 1, 2, 2}), X(b, {4, 1, 3, 3})); },
         {"window of 3x3", "does not fit images of 2x2"}),
      In("ConvGroups", [](Builder& b) { Conv2d(X(b, {1, 3, 8, 8}), X(b, {4, 3, 3, 3}), {.groups = 2}); },
         {"2 groups", "divide 3 input and 4 output channels"}),
      In("ConvStride",
         [](Builder& b) { Conv2d(X(b, {1, 1, 8, 8}), X(b, {1, 1, 3, 3}), {.strides = {0, 1}}); },
         {"strides from 1 to 2147483647, got 0"}),
      In("PoolRank", [](Builder& b) { MaxPool2d(X(b), {2, 2}); }, {"float images of shape [N, C, H, W]"}),
      In("PoolWindow", [](Builder& b) { AvgPool2d(X(b, {1, 1, 2, 2}), {3, 3}); }, {"window of 3x3"}),
      In("PoolPadding", [](Builder& b) { AvgPool2d(X(b, {1, 1, 4, 4}), {2, 2}, {.padding = {2, 0, 0, 0}}); },
         {"less than the window"}),
      In("PoolTooLarge", [](Builder& b) { MaxPool2d(X(b, {1, 1, 32, 32}), {17, 17}); }, {"more than 256"}),
  };
}

std::vector<ErrorCase> NeuralCases() {
  return {
      In("SoftmaxInt", [](Builder& b) { Softmax(X(b, {2, 3}, I32)); }, {"takes floats"}),
      In("SoftmaxDim", [](Builder& b) { Softmax(X(b), 2); }, {"no dimension 2"}),
      In("LabelsShape", [](Builder& b) { SoftmaxCrossEntropy(X(b), X(b, {3}, I32)); },
         {"needs labels of type i32[2]", "without the classes"}),
      In("LabelsFloat", [](Builder& b) { SoftmaxCrossEntropy(X(b), X(b, {2})); }, {"i32 or i64 labels"}),
      In("LogitsInt", [](Builder& b) { SoftmaxCrossEntropy(X(b, {2, 3}, I32), X(b, {2}, I32)); },
         {"float logits"}),
      In("LayerNormScale", [](Builder& b) { LayerNorm(X(b), X(b, {2}), X(b, {3})); },
         {"parameters of type f32[3]"}),
      In("LayerNormEpsilon", [](Builder& b) { LayerNorm(X(b), X(b, {3}), X(b, {3}), -1); },
         {"epsilon of at least 0"}),
      In("DropoutRange", [](Builder& b) { Dropout(X(b), 1.5); }, {"at least 0 and at most 1, got 1.5"}),
      In("MseShapes", [](Builder& b) { MseLoss(X(b), X(b, {2, 1})); }, {"losses do not broadcast"}),
      In("HuberDelta", [](Builder& b) { HuberLoss(X(b), X(b), 0); }, {"delta above 0"}),
      In("GradientsRank",
         [](Builder& b) {
           auto x = X(b);
           Gradients(x, {x});
         },
         {"float loss of rank 0"}),
      In("GradientsInt", [](Builder& b) { Gradients(Sum(X(b)), {X(b, {2}, I32)}); },
         {"with respect to floats only"}),
      In("RandomRange", [](Builder& b) { b.RandomUniform(F32, {2}, 1, 0); }, {"low < high, got 1 and 0"}),
      In("RandomInt", [](Builder& b) { b.RandomNormal(I32, {2}); }, {"gives floats, not i32"}),
      In("RandomProbability", [](Builder& b) { b.RandomBernoulli({2}, 1.5); }, {"between 0 and 1, got 1.5"}),
      In("LinearScalar", [](Builder& b) { nn::Linear(3)(X(b, {})); }, {"Linear(3)", "rank 1 or more"}),
      In("ConvLayerRank", [](Builder& b) { nn::Conv2d(3, 3)(X(b)); }, {"Conv2d(3, 3x3)", "[N, C, H, W]"}),
      In("BatchNormRank", [](Builder& b) { nn::BatchNorm()(X(b, {3})); }, {"BatchNorm", "rank 2 or more"}),
      In("EmbeddingFloat", [](Builder& b) { nn::Embedding(5, 2)(X(b)); },
         {"Embedding(5, 2)", "i32 or i64 ids"}),
      In("AttentionLayerRank", [](Builder& b) { nn::MultiHeadAttention(2)(X(b)); },
         {"MultiHeadAttention(2)", "of f32[2,3]", "[batch, time, width]"}),
      In("AttentionLayerHeads", [](Builder& b) { nn::MultiHeadAttention(2)(X(b, {1, 2, 3})); },
         {"has 2 heads", "divide the width of 3"}),
      In("AttentionLayerNoHeads", [](Builder& b) { nn::MultiHeadAttention(0)(X(b, {1, 2, 3})); },
         {"has 0 heads", "at least 1"}),
      In("ResidualShape", [](Builder& b) { nn::Residual{nn::Linear(1)}(X(b)); },
         {"Residual(1)", "of f32[2,3]", "got f32[2,1]", "keep shape"}),
      In("ResidualShortcutShape", [](Builder& b) { nn::Residual({nn::Linear(1)}, nn::Linear(3))(X(b)); },
         {"Residual(1)", "of f32[2,3]", "got f32[2,1]", "and f32[2,3] from its shortcut", "one shape"}),
      In("GlobalAvgPoolRank", [](Builder& b) { nn::GlobalAvgPool()(X(b)); },
         {"GlobalAvgPool", "[N, C, H, W]"}),
      In("NothingAccumulated", [](Builder& b) { optim::Adam{}.ApplyAccumulated(b); },
         {"optim::Adam", "ApplyAccumulated finds no gradients", "calls Accumulate"}),
      In("NothingToTrain", [](Builder& b) { optim::Sgd{}.Minimize(Sum(X(b))); },
         {"optim::Sgd", "no trainable variable"}),
      In("RateShape",
         [](Builder& b) { optim::Sgd{.learning_rate = X(b, {2})}.Minimize(Sum(nn::Linear(1)(X(b)))); },
         {"number, f32[] or a schedule, got f32[2]"}),
  };
}

std::vector<ErrorCase> ProgramCases() {
  return {
      In("InputTwice",
         [](Builder& b) {
           b.Input("x", F32, {});
           b.Input("x", F32, {});
         },
         {"Input \"x\"", "exists already"}),
      In("InputNegative", [](Builder& b) { b.Input("x", F32, {-1}); }, {"negative size"}),
      In("InputRank", [](Builder& b) { b.Input("x", F32, Shape(9, 1)); }, {"rank 9", "up to 8"}),
      In("OutputTwice",
         [](Builder& b) {
           auto x = X(b);
           b.Output("y", x);
           b.Output("y", x);
         },
         {"Output \"y\""}),
      In("AssignType", [](Builder& b) { b.Assign(b.MakeVariable("v", F32, {2}), X(b, {3})); },
         {"Assign to \"v\"", "f32[2]"}),
      In("IotaDim", [](Builder& b) { b.Iota(I32, {3}, 1); }, {"no dimension 1"}),
      In("IotaBool", [](Builder& b) { b.Iota(I1, {3}); }, {"not in i1"}),
      {"FunctionTwice",
       [](Graph& g) {
         g.Function("f", Mode::kTrain, [](Builder&) {});
         g.Function("f", Mode::kTrain, [](Builder&) {});
       },
       {"Function \"f\" exists already"}},
      {"FunctionInFunction",
       [](Graph& g) {
         g.Function("f", Mode::kTrain, [&](Builder&) { g.Function("h", Mode::kTrain, [](Builder&) {}); });
       },
       {"Function \"h\" is built inside \"f\""}},
      {"FunctionNoName", [](Graph& g) { g.Function("", Mode::kTrain, [](Builder&) {}); }, {"has no name"}},
      {"VariableType",
       [](Graph& g) {
         g.Variable("v", F32, {2});
         g.Variable("v", F32, {3});
       },
       {"Variable \"v\"", "exists as f32[2]", "asked for as f32[3]"}},
      {"VariableRandomInt",
       [](Graph& g) { g.Variable("v", I32, {2}, {.init = {VariableInit::Kind::kNormal, 0, 1}}); },
       {"cannot start from random floats"}},
      {"VariableNegative", [](Graph& g) { g.Variable("v", F32, {-2}); }, {"negative size"}},
      {"FinishedFunction",
       [](Graph& g) {
         Tensor kept;
         g.Function("f", Mode::kTrain, [&](Builder& b) { kept = X(b); });
         g.Function("h", Mode::kTrain, [&](Builder&) { Exp(kept); });
       },
       {"the function \"f\", which is finished"}},
      {"TwoFunctions",
       [](Graph& g) {
         Tensor kept;
         g.Function("f", Mode::kTrain, [&](Builder& b) { kept = X(b); });
         g.Function("h", Mode::kTrain, [&](Builder& b) { X(b) + kept; });
       },
       {"Add(f32[2,3], f32[2,3]) takes a tensor of the function \"f\", which is finished"}},
      {"OtherGraphsModule",
       [](Graph& g) {
         static Graph other("other");
         nn::Linear linear(2);
         const std::string name = "f" + std::to_string(other.variables().size());
         linear.Named(name);
         other.Function(name, Mode::kTrain, [&](Builder& b) { linear(X(b)); });
         g.Function("f", Mode::kTrain, [&](Builder& b) { linear(X(b)); });
       },
       {"parameters in another graph"}},
  };
}

std::vector<ErrorCase> PlacementCases() {
  return {
      In("CopyNowhere", [](Builder& b) { Copy(X(b), Device::Gpu(-1)); },
         {"Copy names gpu:-1", "devices count from 0, as in gpu:0"}),
      In("CopyToAKindWithoutACompiler",
         [](Builder& b) {
           static const DeviceKind kind = *RegisterDeviceKind({.name = "foreign"});
           Copy(X(b), Device::Of(kind, 1));
         },
         {"Copy names foreign:1", "the compiler makes code for devices of kind cpu or gpu alone"}),
      In("ScopeNowhere", [](Builder& b) { DeviceScope on(b, Device::Cpu(-2)); },
         {"DeviceScope names cpu:-2", "as in cpu:0"}),
      In("VariableNowhere", [](Builder& b) { b.MakeVariable("w", F32, {2}, {.device = Device::Gpu(-1)}); },
         {"Variable \"w\" names gpu:-1"}),
      In("ModuleNowhere",
         [](Builder& b) {
           nn::Module linear = nn::Linear(2);
           linear(X(b));
           linear.To(Device::Gpu(-1));
         },
         {"To names gpu:-1"}),
      {"VariableOnTwoDevices",
       [](Graph& g) {
         g.Variable("w", F32, {2}, {.device = Device::Gpu(0)});
         g.Variable("w", F32, {2}, {.device = Device::Gpu(1)});
       },
       {"Variable \"w\"", "lives on gpu:0 and was asked for on gpu:1", "the same device"}},
  };
}

INSTANTIATE_TEST_SUITE_P(Pointwise, ErrorMessageTest, ::testing::ValuesIn(PointwiseCases()), ErrorCaseName);
INSTANTIATE_TEST_SUITE_P(Shape, ErrorMessageTest, ::testing::ValuesIn(ShapeCases()), ErrorCaseName);
INSTANTIATE_TEST_SUITE_P(Linear, ErrorMessageTest, ::testing::ValuesIn(ReduceAndLinearCases()),
                         ErrorCaseName);
INSTANTIATE_TEST_SUITE_P(Neural, ErrorMessageTest, ::testing::ValuesIn(NeuralCases()), ErrorCaseName);
INSTANTIATE_TEST_SUITE_P(Program, ErrorMessageTest, ::testing::ValuesIn(ProgramCases()), ErrorCaseName);
INSTANTIATE_TEST_SUITE_P(Placement, ErrorMessageTest, ::testing::ValuesIn(PlacementCases()), ErrorCaseName);

TEST(ErrorsTest, IndependentErrorsComeTogetherAndFollowUpsDoNot) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor broken = X(b, {2, 3}) + X(b, {2, 4});
    Tensor follows = Exp(broken) * 2.0;  // No message: its operand failed already.
    b.Output("y", Relu(follows));
    Reshape(X(b), {7});
  });
  std::string message(graph.status().message());
  EXPECT_THAT(message, AllOf(HasSubstr("2 errors in graph \"g\""), HasSubstr("Add("), HasSubstr("Reshape(")));
  EXPECT_THAT(message, ::testing::Not(HasSubstr("Exp")));
}

TEST(ErrorsTest, LineIsThatOfTheCall) {
  Graph graph("g");
  int line = 0;
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    Tensor x = X(b, {2, 3}), y = X(b, {2, 4});
    line = __LINE__ + 1;
    x* y;
  });
  EXPECT_THAT(std::string(graph.status().message()),
              HasSubstr("error_messages_test.cc:" + std::to_string(line) + ":"));
}

TEST(ErrorsTest, EmptyGraph) {
  Graph graph("empty");
  EXPECT_THAT(std::string(Compile(graph).status().message()), HasSubstr("has no function"));
}

TEST(ErrorsTest, UnknownStageAndTarget) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) { b.Output("y", X(b) + 1.0); });
  EXPECT_THAT(std::string(Compile(graph, {.dump_stages = {"fuze"}}).status().message()),
              AllOf(HasSubstr("\"fuze\""), HasSubstr("fuse")));
  // A name that the stage had in an earlier version.
  CompileReport report;
  ASSERT_TRUE(Compile(graph, {.dump_stages = {"schedule"}}, &report).ok());
  EXPECT_THAT(report.dumps["schedule"], HasSubstr("plan.function"));
  EXPECT_THAT(std::string(Compile(graph, {.target_cpu = "x86-64-v9"}).status().message()),
              HasSubstr("x86-64-v"));
}

}  // namespace
}  // namespace sinter
