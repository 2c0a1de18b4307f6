// Graph::Buckets: each run against the same function of exactly the sizes that the run was given.
#include <gmock/gmock.h>

#include <stdexcept>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"
#include "sinter/tests/status_checks.h"

namespace sinter {
namespace {

using testing::AllOf;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

using BucketsTest = DeviceTest;

constexpr int64_t kChannels = 3;

// The mean over the steps that are valid, through a layer: f32[rows, 2].
Tensor Pooled(nn::Linear& layer, const Tensor& x, const Tensor& valid, const Tensor& length) {
  const Tensor mask = Reshape(Cast(valid, F32), {1, x.dim(1), 1});
  return layer(Sum(Tanh(x) * mask, {1}) / Cast(length, F32));
}

struct Pooling {
  Graph graph{"pooling"};
  nn::Linear layer{2};

  Pooling() {
    graph.Buckets("classify", Mode::kEval, {{1, 4}, {4, 4}, {4, 16}}, [&](Builder& b, const Shape& sizes) {
      const Tensor x = b.Input("x", F32, {sizes[0], sizes[1], kChannels});
      b.Output("y", Pooled(layer, x, b.Valid(1), b.Length(1)));
      b.Output("steps", Transpose(x, {2, 0, 1}) > 0.0);
      b.Output("twice", b.Input("scale", F32, {}) * 2.0);
      b.Output("bucket", b.Full(F32, {}, 100 * sizes[0] + sizes[1]));
    });
  }
  void AddExact(int64_t rows, int64_t time) {
    graph.Function("exact", Mode::kEval, [&](Builder& b) {
      const Tensor x = b.Input("x", F32, {rows, time, kChannels});
      b.Output("y", Pooled(layer, x, b.Full(I1, {time}, 1), b.Full(I32, {}, time)));
      b.Output("steps", Transpose(x, {2, 0, 1}) > 0.0);
    });
  }
};

TEST_F(BucketsTest, GiveWhatAFunctionOfTheExactSizesGives) {
  struct Sizes {
    int64_t rows, time;
    float bucket;
  };
  for (const Sizes& sizes :
       {Sizes{1, 1, 104}, {1, 4, 104}, {2, 3, 404}, {4, 4, 404}, {1, 5, 416}, {3, 16, 416}}) {
    Pooling pooling;
    pooling.AddExact(sizes.rows, sizes.time);
    Session session = MustStart(pooling.graph, {.device = TestDevice()});
    // Larger runs come first: nothing of them may count.
    const HostTensor large = RandomFloats({4, 16, kChannels}, 1), most = RandomFloats({4, 4, kChannels}, 2);
    ASSERT_OK(session.Run("classify", {{"x", large}, {"scale", 1}}).status());
    ASSERT_OK(session.Run("classify", {{"x", most}, {"scale", 1}}).status());
    const HostTensor x = RandomFloats({sizes.rows, sizes.time, kChannels}, 3);
    auto exact = session.Run("exact", {{"x", x}});
    ASSERT_OK(exact.status());
    const std::vector<float> y = ToFloats((*exact)["y"]);
    const auto steps = *(*exact)["steps"].Span<bool>();
    const std::vector<bool> want(steps.begin(), steps.end());
    auto run = session.Run("classify", {{"x", x}, {"scale", 4}});
    ASSERT_OK(run.status());
    EXPECT_EQ(ToFloats((*run)["bucket"])[0], sizes.bucket);
    EXPECT_EQ((*run)["y"].ToString(), ShapeToString(F32, std::vector<int64_t>{sizes.rows, 2}));
    EXPECT_THAT(ToFloats((*run)["y"]), Pointwise(FloatNear(1e-6f), y));
    EXPECT_EQ((*run)["steps"].shape(), (Shape{kChannels, sizes.rows, sizes.time}));
    const auto got = *(*run)["steps"].Span<bool>();
    EXPECT_EQ(std::vector<bool>(got.begin(), got.end()), want);
    EXPECT_EQ(*run->Scalar("twice"), 8);
  }
}

TEST_F(BucketsTest, RunFromAPlanFile) {
  Pooling pooling;
  absl::StatusOr<Plan> plan = Compile(pooling.graph, {.device = TestDevice()});
  ASSERT_OK(plan.status());
  const std::string path = testing::TempDir() + "/buckets.plan";
  ASSERT_OK(plan->Save(path));
  auto loaded = Plan::Load(path);
  ASSERT_OK(loaded.status());
  auto session = Session::Create(*std::move(loaded));
  ASSERT_OK(session.status());
  const HostTensor x = RandomFloats({2, 9, kChannels}, 4);
  auto run = session->Run("classify", {{"x", x}, {"scale", 1}});
  ASSERT_OK(run.status());
  EXPECT_EQ((*run)["y"].shape(), (Shape{2, 2}));
  // A bucket is a function like any other, whose lengths the caller sets.
  const HostTensor whole = RandomFloats({4, 16, kChannels}, 4);
  EXPECT_OK(session->Run("classify@4x16", {{"x", whole}, {"scale", 1}, {"length@1", 9}}).status());
}

// Trains on sequences of many lengths, once padded to buckets, once with a function for each length.
std::vector<float> TrainOnLengths(bool with_buckets) {
  Graph graph("train");
  nn::Linear layer(1);
  const auto train = [&](Builder& b, int64_t time, const Tensor& valid, const Tensor& length) {
    const Tensor x = b.Input("x", F32, {2, time, kChannels});
    const Tensor error = Reshape(layer(Tanh(x)), {2, time}) - Sum(x, {2});
    const Tensor loss = Sum(Select(valid, Square(error), 0.0)) / Cast(length, F32);
    optim::Adam{.learning_rate = 0.05}.Minimize(loss);
    b.Output("loss", loss);
  };
  if (with_buckets) {
    graph.Buckets("train", Mode::kTrain, {3, 8},
                  [&](Builder& b, int64_t time) { train(b, time, b.Valid(), b.Length()); });
  } else {
    for (int64_t time = 1; time <= 8; ++time) {
      graph.Function("train of " + std::to_string(time), Mode::kTrain,
                     [&](Builder& b) { train(b, time, b.Full(I1, {time}, 1), b.Full(I32, {}, time)); });
    }
  }
  Session session = MustStart(graph, {.device = TestDevice()});
  std::vector<float> losses;
  for (int64_t step = 0; step < 24; ++step) {
    const int64_t time = 1 + step * 3 % 8;
    const HostTensor x = RandomFloats({2, time, kChannels}, static_cast<uint32_t>(step));
    const std::string name = with_buckets ? "train" : "train of " + std::to_string(time);
    losses.push_back(Floats(session, name, {{"x", x}}, "loss")[0]);
  }
  return losses;
}

TEST_F(BucketsTest, TrainOneSetOfVariables) {
  const std::vector<float> exact = TrainOnLengths(false);
  EXPECT_THAT(TrainOnLengths(true), Pointwise(FloatNear(2e-5f), exact));
  EXPECT_LT(exact.back(), exact.front() / 2);
}

TEST_F(BucketsTest, SayWhatDoesNotFit) {
  Pooling pooling;
  Session session = MustStart(pooling.graph, {.device = TestDevice()});
  const auto error = [&](std::initializer_list<Argument> arguments) {
    return std::string(session.Run("classify", arguments).status().message());
  };
  const Argument scale("scale", 1);
  const HostTensor rows = RandomFloats({5, 4, kChannels}, 1), rank = RandomFloats({4, 4}, 1),
                   features = RandomFloats({1, 2, 4}, 1), empty = RandomFloats({0, 4, kChannels}, 1),
                   fits = RandomFloats({1, 2, kChannels}, 1);
  const HostTensor type = *HostTensor::Zeros(F64, {1, 2, kChannels});
  EXPECT_EQ(error({{"x", rows}, scale}),
            "cannot run \"classify\": no bucket has room for 5x4; there are 1x4, 4x4, 4x16");
  EXPECT_EQ(error({{"x", rank}, scale}),
            "cannot run \"classify\": input \"x\" is f32[4,4], it must have 3 dimensions");
  EXPECT_EQ(error({{"x", features}, scale}),
            "cannot run \"classify\": input \"x\" is f32[1,2,4], dimension 2 must be 3");
  EXPECT_EQ(error({{"x", empty}, scale}),
            "cannot run \"classify\": input \"x\" is f32[0,4,3], dimension 0 is empty");
  EXPECT_EQ(error({{"x", type}, scale}),
            "cannot run \"classify\": input \"x\" is f64[1,2,3], its type must be f32");
  EXPECT_EQ(error({{"x", fits}}), "cannot run \"classify@1x4\": input \"scale\", f32[], is missing");
  EXPECT_THAT(error({{"x", fits}, scale, {"z", 1}}), HasSubstr("there is no input \"z\""));
  EXPECT_THAT(error({scale}), AllOf(HasSubstr("input \"x\""), HasSubstr("is missing")));
  EXPECT_EQ(session.Bind("classify").status().message(),
            "\"classify\" has the buckets classify@1x4, classify@4x4, classify@4x16: bind one of them");
  EXPECT_OK(session.Bind("classify@1x4").status());
  EXPECT_OK(session.Run("classify", {{"x", fits}, scale}).status());
}

TEST_F(BucketsTest, CompareTheSizesOfInputs) {
  Graph graph("pairs");
  graph.Buckets("add", Mode::kEval, {2, 4}, [](Builder& b, int64_t n) {
    b.Output("sum", b.Input("x", F32, {n}) + b.Input("y", F32, {n}));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor two = RandomFloats({2}, 1), three = RandomFloats({3}, 2);
  EXPECT_EQ(session.Run("add", {{"x", two}, {"y", three}}).status().message(),
            "cannot run \"add\": input \"y\" is f32[3], dimension 0 must be 2, the size that input \"x\" has "
            "there");
  const auto sum = session.Run("add", {{"x", three}, {"y", three}});
  ASSERT_OK(sum.status());
  EXPECT_EQ((*sum)["sum"].ToString(), "f32[3]");
  EXPECT_EQ(ToFloats((*sum)["sum"])[2], 2 * ToFloats(three)[2]);
}

TEST(BucketsGraphTest, AreUndoneTogether) {
  Graph graph("undone");
  const auto build = [&](bool throws) {
    graph.Buckets("f", Mode::kEval, {1, 2}, [&](Builder& b, int64_t n) {
      b.Output("y", b.Input("x", F32, {n}) + b.Read(b.MakeVariable("v", F32, {})));
      if (throws && n == 2) throw std::runtime_error("body");
    });
  };
  const std::string before = graph.ToString();
  EXPECT_THROW(build(true), std::runtime_error);
  EXPECT_EQ(graph.ToString(), before);
  build(false);
  EXPECT_OK(graph.status());
}

// A case of two buckets, 1 and 2.
ErrorCase OfBuckets(std::string name, std::function<void(Builder&, int64_t)> body,
                    std::vector<std::string> says) {
  return {std::move(name), [=](Graph& g) { g.Buckets("f", Mode::kTrain, {1, 2}, body); }, std::move(says)};
}
ErrorCase OfSizes(std::string name, std::vector<Shape> sizes, std::vector<std::string> says) {
  const auto body = [](Builder& b, const Shape& s) { b.Output("y", Relu(b.Input("x", F32, s))); };
  return {std::move(name), [=](Graph& g) { g.Buckets("f", Mode::kEval, sizes, body); }, std::move(says)};
}

class BucketErrorsTest : public ::testing::TestWithParam<ErrorCase> {};

TEST_P(BucketErrorsTest, NamesLineMistakeAndFix) { ExpectSays(GetParam(), "buckets_test.cc:"); }

INSTANTIATE_TEST_SUITE_P(
    Buckets, BucketErrorsTest,
    testing::Values(
        OfSizes("One", {{4, 4}}, {"Buckets \"f\"", "two or more buckets", "make a Function"}),
        OfSizes("Equal", {{4}, {2}, {4}}, {"two buckets 4"}),
        OfSizes("Axes", {{4}, {2, 3}}, {"the bucket 4 and the bucket 2x3", "different numbers of axes"}),
        OfSizes("NoAxis", {{}, {}}, {"a bucket has no sizes"}),
        OfSizes("Zero", {{4}, {0}}, {"bucket 0 has a size below 1"}),
        OfSizes("Alike", {{4, 4}, {2, 2}}, {"axes 0 and 1", "give a bucket in which they differ"}),
        OfBuckets("Product",
                  [](Builder& b, int64_t n) { b.Output("y", Reshape(b.Input("x", F32, {n, 3}), {3 * n})); },
                  {"output \"y\" is f32[3] in \"f@1\" and f32[6] in \"f@2\"", "Reshape it"}),
        OfBuckets("Types",
                  [](Builder& b, int64_t n) { b.Output("y", Relu(b.Input("x", n == 1 ? F32 : F64, {n}))); },
                  {"input \"x\" is f32[1] in \"f@1\" and f64[2] in \"f@2\"", "differ in sizes alone"}),
        OfBuckets("FewerInputs",
                  [](Builder& b, int64_t n) {
                    b.Output("y", b.Input("x", F32, {n}));
                    if (n == 1) b.Input("z", F32, {});
                  },
                  {"input \"z\" is f32[] in \"f@1\", and \"f@2\" has no such input"}),
        OfBuckets("MoreOutputs",
                  [](Builder& b, int64_t n) {
                    b.Output("y", b.Input("x", F32, {n}));
                    if (n == 2) b.Output("z", b.Full(F32, {}, 1));
                  },
                  {"output \"z\" is f32[] in \"f@2\", and \"f@1\" has no such output"}),
        OfBuckets("NoInput", [](Builder& b, int64_t n) { b.Output("y", b.Full(F32, {n}, 1)); },
                  {"axis 0 is a dimension of no input"}),
        OfBuckets("BatchNorm", [](Builder& b, int64_t n) { nn::BatchNorm()(b.Input("x", F32, {n, 3})); },
                  {"BatchNormTraining", "count a bucket's padding", "norm of each row"}),
        OfBuckets("NoSuchAxis",
                  [](Builder& b, int64_t n) {
                    b.Valid(1);
                    b.Input("x", F32, {n});
                  },
                  {"Valid", "of axis 1: the bucket 1 has 1 axis"}),
        In("LengthElsewhere", [](Builder& b) { b.Length(); }, {"Length", "bodies of Graph::Buckets"}),
        In("LengthName", [](Builder& b) { b.Input("length@0", I32, {}); },
           {"name of what Builder::Length makes"}),
        ErrorCase{"FunctionName",
                  [](Graph& g) { g.Function("f@3x4", Mode::kEval, [](Builder&) {}); },
                  {"Function \"f@3x4\"", "name of a bucket"}}),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
