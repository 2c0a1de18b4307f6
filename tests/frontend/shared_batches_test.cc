// Loops and buckets on devices that share the batch: the same results as on one device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "sinter/tests/frontend/run_graph.h"
#include "sinter/tests/status_checks.h"

namespace sinter {
namespace {

using testing::FloatNear;
using testing::Pointwise;

CompileOptions SharedBy(int count) {
  setenv("SINTER_CPU_DEVICES", "4", /*overwrite=*/1);
  CompileOptions options;
  for (int i = 0; i < count && count > 1; ++i) options.data_parallel.devices.push_back(Device::Cpu(i));
  return options;
}

// Two layers, both directions, then the mean over time.
Tensor Summary(const nn::Lstm& lstm, const nn::Linear& head, const Tensor& x) {
  return head(Mean(lstm(x).first, {1}));
}

struct TrainedSequences {
  std::vector<float> losses, scores, weights;
};

TrainedSequences TrainSequences(int devices) {
  constexpr int64_t kRows = 12, kSteps = 5, kWide = 3;
  Graph graph("sequences", {.seed = 3});
  nn::Lstm lstm(4, {.layers = 2, .bidirectional = true});
  nn::Linear head(2);
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Tensor y = Summary(lstm, head, b.Input("x", F32, {kRows, kSteps, kWide}));
    const Tensor loss = SoftmaxCrossEntropy(y, b.Input("t", I32, {kRows}));
    optim::Adam{.learning_rate = 0.02}.Minimize(loss);
    b.Output("loss", loss);
  });
  graph.Function("eval", Mode::kEval, [&](Builder& b) {
    b.Output("y", Summary(lstm, head, b.Input("x", F32, {kRows, kSteps, kWide})));
  });
  Session session = MustStart(graph, SharedBy(devices));
  const HostTensor x = RandomFloats({kRows, kSteps, kWide}, 1);
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < kRows; ++i) labels.push_back(static_cast<int32_t>(i * i % 3 % 2));
  const HostTensor t = *HostTensor::FromVector<int32_t>({kRows}, labels);
  TrainedSequences trained;
  for (int step = 0; step < 8; ++step)
    trained.losses.push_back(Floats(session, "train", {{"x", x}, {"t", t}}, "loss")[0]);
  trained.scores = Floats(session, "eval", {{"x", x}}, "y");
  for (const VariableInfo& variable : session.variables()) {
    if (!variable.trainable) continue;
    const std::vector<float> values = VariableFloats(session, variable.name);
    trained.weights.insert(trained.weights.end(), values.begin(), values.end());
  }
  return trained;
}

TEST(SharedBatchesTest, RecurrentLayersTrainTheSame) {
  const TrainedSequences one = TrainSequences(1);
  EXPECT_LT(one.losses.back(), one.losses.front());
  for (const int devices : {2, 3}) {
    SCOPED_TRACE(devices);
    const TrainedSequences several = TrainSequences(devices);
    EXPECT_THAT(several.losses, Pointwise(FloatNear(2e-5f), one.losses));
    EXPECT_THAT(several.scores, Pointwise(FloatNear(2e-4f), one.scores));
    EXPECT_THAT(several.weights, Pointwise(FloatNear(2e-4f), one.weights));
  }
}

// A loop whose end depends on the whole batch ends on all devices at once; one that counts, and branches,
// work on parts of the batch.
TEST(SharedBatchesTest, LoopsThatEndByDataTrainTheSame) {
  struct State {
    Tensor x, count;
  };
  const auto train = [](int devices) {
    Graph graph("ends");
    graph.Function("train", Mode::kTrain, [&](Builder& b) {
      const Tensor x = b.Input("x", F32, {12, 3}), limit = b.Input("limit", F32, {});
      const Variable w = b.MakeVariable("w", F32, {3}, {.init = nn::Uniform(0.5, 1).Resolve(0, 0)});
      const State small = While(
          State{x, b.Zeros(F32, {})}, [](const State& s) { return Sum(Square(s.x)) > 0.5; },
          [](const State& s) { return State{s.x * 0.5, s.count + 1}; }, {.at_most = 20});
      const State counted = While(
          State{small.x, b.Zeros(F32, {})}, [&](const State& s) { return s.count < limit; },
          [&](const State& s) { return State{Tanh(s.x * b.Read(w)), s.count + 1}; }, {.at_most = 4});
      const Tensor y =
          Cond(limit > 2.0, [&] { return counted.x * b.Read(w); }, [&] { return counted.x + b.Read(w); });
      const Tensor loss = Mean(Square(y - 1.0));
      optim::Sgd{.learning_rate = 0.5}.Minimize(loss);
      b.Output("loss", loss);
      b.Output("trips", small.count);
    });
    Session session = MustStart(graph, SharedBy(devices));
    const HostTensor x = RandomFloats({12, 3}, 1);
    std::vector<float> seen;
    for (const float limit : {1, 3, 0, 4, 2, 3}) {
      auto outputs = session.Run("train", {{"x", x}, {"limit", *HostTensor::FromVector<float>({}, {limit})}});
      SINTER_CHECK(outputs.ok()) << outputs.status();
      seen.push_back(ToFloats((*outputs)["loss"])[0]);
      seen.push_back(ToFloats((*outputs)["trips"])[0]);
    }
    const std::vector<float> weights = VariableFloats(session, "w");
    seen.insert(seen.end(), weights.begin(), weights.end());
    return seen;
  };
  const std::vector<float> one = train(1);
  EXPECT_GT(one[1], 1);
  for (const int devices : {2, 3}) EXPECT_THAT(train(devices), Pointwise(FloatNear(1e-5f), one)) << devices;
}

// Rows that pad the batch are on the last device alone.
TEST(SharedBatchesTest, BucketsTrainTheSame) {
  const auto losses = [](int devices) {
    Graph graph("buckets");
    nn::Linear layer(1);
    graph.Buckets("train", Mode::kTrain, {4, 8}, [&](Builder& b, int64_t rows) {
      const Tensor x = b.Input("x", F32, {rows, 3});
      const Tensor error = Reshape(layer(x), {rows}) - Sum(x, {1});
      const Tensor loss = Sum(Select(b.Valid(), Square(error), 0.0)) / Cast(b.Length(), F32);
      optim::Sgd{.learning_rate = 0.2}.Minimize(loss);
      b.Output("loss", loss);
      b.Output("error", error);
    });
    Session session = MustStart(graph, SharedBy(devices));
    std::vector<float> seen;
    for (const int64_t rows : {1, 3, 4, 5, 8, 2, 7}) {
      const HostTensor x = RandomFloats({rows, 3}, static_cast<uint32_t>(rows));
      auto run = session.Run("train", {{"x", x}});
      SINTER_CHECK(run.ok()) << run.status();
      seen.push_back(static_cast<float>(*run->Scalar("loss")));
      const std::vector<float> error = ToFloats((*run)["error"]);
      EXPECT_EQ(error.size(), static_cast<size_t>(rows));
      seen.insert(seen.end(), error.begin(), error.end());
    }
    return seen;
  };
  EXPECT_THAT(losses(2), Pointwise(FloatNear(2e-5f), losses(1)));
}

}  // namespace
}  // namespace sinter
