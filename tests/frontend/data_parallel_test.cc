// A program on several devices that share the batch gives the same results as on one device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kClasses = 4;

using MinimizeLoss = std::function<void(const Tensor& loss, const Operand& rate)>;

struct Net {
  int64_t rows = 12;
  bool batch_norm = false;
  double dropout = 0;
  MinimizeLoss minimize = [](const Tensor& loss, const Operand& rate) {
    optim::Sgd{.learning_rate = rate}.Minimize(loss);
  };
};

// A training function and an evaluation that counts correct results, for images of 6 x 6 and four classes.
Graph Build(const Net& net) {
  Graph graph("net", {.seed = 5});
  std::vector<nn::Module> layers = {nn::Conv2d(6, 3)};
  if (net.batch_norm) layers.push_back(nn::BatchNorm());
  layers.insert(layers.end(), {nn::Relu(), nn::MaxPool(2), nn::Flatten(), nn::Linear(8), nn::Relu()});
  if (net.dropout > 0) layers.push_back(nn::Dropout(net.dropout));
  layers.push_back(nn::Linear(kClasses));
  nn::Module model = nn::Sequential(layers);
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {net.rows, 1, 6, 6}), y = b.Input("y", I32, {net.rows});
    Tensor loss = SoftmaxCrossEntropy(model(x), y);
    net.minimize(loss, b.Scalar("lr"));
    b.Output("loss", loss);
  });
  graph.Function("eval", Mode::kEval, [&](Builder& b) {
    Tensor logits = model(b.Input("x", F32, {net.rows, 1, 6, 6}));
    Tensor hits = Equal(ArgMax(logits, -1), b.Input("y", I32, {net.rows}));
    b.Output("correct", Sum(Cast(hits, I32)));
    b.Output("logits", logits);
  });
  return graph;
}

std::vector<Device> Cpus(int n) {
  setenv("SINTER_CPU_DEVICES", "4", /*overwrite=*/1);
  std::vector<Device> devices;
  for (int i = 0; i < n; ++i) devices.push_back(Device::Cpu(i));
  return devices;
}

struct Trained {
  std::vector<double> losses;
  std::vector<float> logits, weights;
  double correct = 0;
};

struct Examples {
  HostTensor x, y;
};

Examples MakeExamples(int64_t rows) {
  std::vector<float> x(static_cast<size_t>(rows * 36));
  std::vector<int32_t> y(static_cast<size_t>(rows));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i % 101));
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<int32_t>(i * 7 % 5 % kClasses);
  return {HostTensor::FromVector<float>({rows, 1, 6, 6}, x).value(),
          HostTensor::FromVector<int32_t>({rows}, y).value()};
}

Trained Train(const Net& net, const DataParallel& parallel, int steps = 8) {
  Session session = MustStart(Build(net), {.data_parallel = parallel});
  Examples examples = MakeExamples(net.rows);
  Trained trained;
  for (int step = 0; step < steps; ++step) {
    auto out = session.Run("train", {{"x", examples.x}, {"y", examples.y}, {"lr", 0.1f}});
    SINTER_CHECK(out.ok()) << out.status();
    trained.losses.push_back(out->Scalar("loss").value());
  }
  auto out = session.Run("eval", {{"x", examples.x}, {"y", examples.y}});
  SINTER_CHECK(out.ok()) << out.status();
  trained.correct = out->Scalar("correct").value();
  trained.logits = ToFloats((*out)["logits"]);
  for (const VariableInfo& variable : session.variables()) {
    if (!variable.trainable) continue;
    std::vector<float> values = VariableFloats(session, variable.name);
    trained.weights.insert(trained.weights.end(), values.begin(), values.end());
  }
  return trained;
}

void ExpectNear(const std::vector<float>& a, const std::vector<float>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  double most = 0, largest = 1e-3;
  for (size_t i = 0; i < a.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(a[i]) - b[i]));
    largest = std::max(largest, std::abs(static_cast<double>(b[i])));
  }
  EXPECT_LE(most, tolerance * largest);
}

// Compares up to the order of sums.
void ExpectSame(const Trained& got, const Trained& want, double tolerance = 2e-5) {
  ASSERT_EQ(got.losses.size(), want.losses.size());
  for (size_t i = 0; i < got.losses.size(); ++i) {
    EXPECT_NEAR(got.losses[i], want.losses[i], tolerance * std::abs(want.losses[i])) << "step " << i;
  }
  EXPECT_EQ(got.correct, want.correct);
  ExpectNear(got.logits, want.logits, 10 * tolerance);
  ExpectNear(got.weights, want.weights, 10 * tolerance);
}

TEST(DataParallelTest, DevicesThatShareABatchComputeWhatOneDoes) {
  Trained one = Train({}, {});
  EXPECT_LT(one.losses.back(), one.losses.front());
  for (int n : {1, 2, 4}) {
    SCOPED_TRACE(n);
    ExpectSame(Train({}, {.devices = Cpus(n)}), one);
  }
}

// Parts of different sizes; with a single row there are more devices than rows.
TEST(DataParallelTest, ABatchNeedNotDivide) {
  for (int64_t rows : {7, 1}) {
    SCOPED_TRACE(rows);
    Net net{.rows = rows};
    ExpectSame(Train(net, {.devices = Cpus(4), .even = false}), Train(net, {}));
  }
}

TEST(DataParallelTest, EveryOptimizerIsTheSame) {
  const std::vector<MinimizeLoss> optimizers = {
      [](const Tensor& l, const Operand& r) {
        optim::Sgd{.learning_rate = r}.Minimize(l, {.hooks = {optim::Decay(0.1)}});
      },
      [](const Tensor& l, const Operand& r) { optim::Momentum{.learning_rate = r}.Minimize(l); },
      [](const Tensor& l, const Operand& r) {
        optim::Momentum{.learning_rate = r, .nesterov = true}.Minimize(l);
      },
      [](const Tensor& l, const Operand&) {
        optim::Adam{.learning_rate = 0.01}.Minimize(l, {.hooks = {optim::ClipNorm(0.5)}});
      },
      [](const Tensor& l, const Operand&) {
        optim::AdamW{.learning_rate = 0.01}.Minimize(l, {.hooks = {optim::ClipNorm(0.5)}});
      }};
  for (size_t i = 0; i < optimizers.size(); ++i) {
    SCOPED_TRACE(i);
    Net net{.minimize = optimizers[i]};
    Trained one = Train(net, {});
    // Adam divides by values as small as its epsilon, which amplifies rounding errors.
    const double tolerance = i < 3 ? 2e-5 : 2e-4;
    ExpectSame(Train(net, {.devices = Cpus(2)}), one, tolerance);
  }
}

// Both gradients are added before the exchange.
TEST(DataParallelTest, AWeightThatIsReadTwiceIsTheSame) {
  Graph graph("tied", {.seed = 3});
  graph.Function("train", Mode::kTrain, [](Builder& b) {
    Tensor x = Reshape(b.Input("x", F32, {12, 1, 6, 6}), {12, 36});
    Tensor w = b.Read(b.MakeVariable("w", F32, {36, 36}, {.init = nn::Normal(0.1).Resolve(0, 0)}));
    Tensor logits = MatMul(Relu(MatMul(x, w)), w);
    Tensor loss = SoftmaxCrossEntropy(logits, b.Input("y", I32, {12}));
    optim::Sgd{.learning_rate = 0.1}.Minimize(loss);
    b.Output("loss", loss);
  });
  auto trained = [&](const DataParallel& parallel) {
    Session session = MustStart(graph, {.data_parallel = parallel});
    Examples examples = MakeExamples(12);
    for (int step = 0; step < 5; ++step) {
      auto out = session.Run("train", {{"x", examples.x}, {"y", examples.y}});
      SINTER_CHECK(out.ok()) << out.status();
    }
    return VariableFloats(session, "w");
  };
  const std::vector<float> one = trained({});
  ExpectNear(trained({.devices = Cpus(3)}), one, 2e-5);
  CompileReport report;
  ASSERT_TRUE(Compile(graph, {.data_parallel = {.devices = Cpus(2)}, .report = true}, &report).ok());
  // The gradient and the loss.
  EXPECT_THAT(report.copies, Contains(HasSubstr("all_reduce of 5188 bytes over data (2)")));
}

// The mask depends on the example, not on the device that computes it.
TEST(DataParallelTest, DropoutDropsTheSame) {
  Net net{.dropout = 0.4};
  ExpectSame(Train(net, {.devices = Cpus(4)}), Train(net, {}));
}

TEST(DataParallelTest, SynchronizedBatchNormSeesTheWholeBatch) {
  Net net{.batch_norm = true};
  Trained one = Train(net, {});
  ExpectSame(Train(net, {.devices = Cpus(3), .batch_norm = BatchStatistics::kSynchronized}), one, 1e-4);
  // A device's own part has other statistics.
  Trained own = Train(net, {.devices = Cpus(3)});
  EXPECT_GT(std::abs(own.losses[0] - one.losses[0]), 1e-4);
  EXPECT_LT(own.losses.back(), own.losses.front());
}

// Returns the running mean and then the running variance after one step on the rows from `first`.
std::vector<float> RunningStatistics(const Net& net, int64_t first, const DataParallel& parallel) {
  constexpr int64_t kRows = 12;
  Session session = MustStart(Build(net), {.data_parallel = parallel});
  Examples all = MakeExamples(kRows);
  const float* x = all.x.Span<float>().value().data() + first * 36;
  const int32_t* y = all.y.Span<int32_t>().value().data() + first;
  const HostTensor images = HostTensor::View(F32, {net.rows, 1, 6, 6}, x).value();
  const HostTensor labels = HostTensor::View(I32, {net.rows}, y).value();
  auto out = session.Run("train", {{"x", images}, {"y", labels}, {"lr", 0.0f}});
  SINTER_CHECK(out.ok()) << out.status();
  std::vector<float> statistics;
  for (const VariableInfo& variable : session.variables()) {
    if (variable.name.find(".running_") == std::string::npos) continue;
    std::vector<float> values = VariableFloats(session, variable.name);
    statistics.insert(statistics.end(), values.begin(), values.end());
  }
  return statistics;
}

TEST(DataParallelTest, RunningStatisticsFollowTheAverageOfTheParts) {
  const std::vector<float> two = RunningStatistics({.rows = 12, .batch_norm = true}, 0, {.devices = Cpus(2)});
  std::vector<float> average = RunningStatistics({.rows = 6, .batch_norm = true}, 0, {});
  const std::vector<float> second = RunningStatistics({.rows = 6, .batch_norm = true}, 6, {});
  ASSERT_EQ(average.size(), 12u);  // Mean and variance of six channels.
  for (size_t i = 0; i < average.size(); ++i) average[i] = (average[i] + second[i]) / 2;
  const auto mean_of = [](const std::vector<float>& s) {
    return std::vector<float>(s.begin(), s.begin() + 6);
  };
  ExpectNear(mean_of(two), mean_of(average), 1e-6);
  // The unbiased variance uses the batch's sample count, not the part's: 192 and 96 pixels per channel.
  ExpectNear(two, average, 1e-3);
  double difference = 0;
  for (size_t i = 0; i < two.size(); ++i)
    difference = std::max<double>(difference, std::abs(two[i] - second[i]));
  EXPECT_GT(difference, 2e-3);
}

TEST(DataParallelTest, ARunRepeatsToTheBit) {
  Net net{.dropout = 0.4};
  Trained a = Train(net, {.devices = Cpus(4)}), b = Train(net, {.devices = Cpus(4)});
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.weights, b.weights);
}

TEST(DataParallelTest, TheReportListsWhatTravels) {
  CompileReport report;
  CompileOptions options{.data_parallel = {.devices = Cpus(2)}, .report = true};
  ASSERT_TRUE(Compile(Build({}), options, &report).ok());
  EXPECT_THAT(report.copies, Contains(AllOf(HasSubstr("all_reduce of "), HasSubstr("over data (2)"))));
  EXPECT_THAT(report.copies, Contains(HasSubstr("data_parallel_test.cc:")));
  // The caller wants all logits.
  EXPECT_THAT(report.copies, Contains(AllOf(HasSubstr("gathers a value of"), HasSubstr("12x4xf32"))));
  // In training and evaluation a device receives its own rows from the caller; devices exchange no rows.
  EXPECT_EQ(std::count_if(report.copies.begin(), report.copies.end(),
                          [](const std::string& line) {
                            return line.find(
                                       "gives a part of input \"x\" of 'tensor<12x1x6x6xf32>', 864 of 1728 "
                                       "bytes, from the caller to each rank") != std::string::npos;
                          }),
            2)
      << report.ToString();
  EXPECT_THAT(report.copies,
              Contains(HasSubstr("gives a part of input \"y\" of 'tensor<12xi32>', 24 of 48")));
  EXPECT_THAT(report.copies, Each(Not(HasSubstr("copies a value"))));
}

// An op that needs the whole batch receives the whole batch.
TEST(DataParallelTest, AnInputThatEveryDeviceReadsIsGivenWhole) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = b.Input("x", F32, {4, 6});
    b.Output("product", MatMul(x, Transpose(x, {1, 0})));
  });
  CompileReport report;
  ASSERT_TRUE(Compile(graph, {.data_parallel = {.devices = Cpus(2)}, .report = true}, &report).ok());
  EXPECT_THAT(report.copies, Contains(HasSubstr("gives input \"x\" of 'tensor<4x6xf32>', 96 bytes")));
}

std::string ErrorOf(const Graph& graph, const DataParallel& parallel) {
  absl::StatusOr<Plan> plan = Compile(graph, {.data_parallel = parallel});
  EXPECT_FALSE(plan.ok());
  return std::string(plan.status().message());
}

TEST(DataParallelTest, WhatCannotBeSharedIsRefusedWithTheUsersLine) {
  EXPECT_THAT(
      ErrorOf(Build({.rows = 10}), {.devices = Cpus(4)}),
      AllOf(HasSubstr("data_parallel_test.cc:"),
            HasSubstr(
                "has a batch of 10, which is not a multiple of the 4 devices; the nearest are 8 and 12")));
  EXPECT_THAT(ErrorOf(Build({.rows = 10, .batch_norm = true}), {.devices = Cpus(4), .even = false}),
              AllOf(HasSubstr("data_parallel_test.cc:"),
                    HasSubstr("set batch_norm = BatchStatistics::kSynchronized")));
  Graph placed("placed");
  placed.Function("f", Mode::kTrain, [](Builder& b) {
    DeviceScope scope(b, Device::Cpu(1));
    b.Output("y", Relu(b.Input("x", F32, {4})));
  });
  EXPECT_THAT(
      ErrorOf(placed, {.devices = Cpus(2)}),
      HasSubstr(
          "the program places ops on cpu:1, and uses 1 device in all: the first devices of the batch must "
          "be these"));
}

// The second device of each rank stays unused.
TEST(DataParallelTest, RanksKeepTheirDevicesIfNothingRunsOnSomeOfThem) {
  Graph graph("unread");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = b.Input("x", F32, {4, 6});
    {
      DeviceScope first(b, Device::Cpu(0));
      b.Output("sum", Sum(x));
    }
    DeviceScope second(b, Device::Cpu(1));
    Relu(Copy(x, Device::Cpu(1)));
  });
  absl::StatusOr<Plan> plan = Compile(graph, {.data_parallel = {.devices = Cpus(4)}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(plan->Devices(), ::testing::ElementsAre(Device::Cpu(0), Device::Cpu(2)));
}

// Text programs may contain constructs that `localise` never makes.
TEST(DataParallelTest, AnExchangeCarriesOneElementType) {
  Cpus(2);
  constexpr char kText[] = R"mlir(
    #d0 = #sinter.device<cpu, 0>
    #d1 = #sinter.device<cpu, 1>
    func.func @f(%x: tensor<4xf32> {sinter.input = "x", sinter.device = #d0},
                 %i: tensor<4xi32> {sinter.input = "i", sinter.device = #d0},
                 %y: tensor<4xf32> {sinter.input = "y", sinter.device = #d1},
                 %j: tensor<4xi32> {sinter.input = "j", sinter.device = #d1})
        -> (tensor<4xf32> {sinter.output = "sum", sinter.device = #d0}) {
      %a:2 = sinter.all_reduce sum %x, %i over [#d0, #d1] channel 0 {sinter.device = #d0} :
          (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
      %b:2 = sinter.all_reduce sum %y, %j over [#d0, #d1] channel 0 {sinter.device = #d1} :
          (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
      return %a#0 : tensor<4xf32>
    })mlir";
  absl::StatusOr<Plan> plan = CompileText(kText, "mixed.mlir");
  ASSERT_FALSE(plan.ok());
  EXPECT_THAT(std::string(plan.status().message()),
              AllOf(HasSubstr("mixed.mlir:9"),
                    HasSubstr("sinter.all_reduce carries tensors of several element types; use one each")));
}

}  // namespace
}  // namespace sinter
