// Collectives in programs with explicit placement: results, gradients, errors, two kinds of parallelism.
#include "sinter/frontend/ops/collectives.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Exchange = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// Runs on CPUs and on GPUs. A test skips if it needs more GPUs than there are.
class CollectivesTest : public ::testing::TestWithParam<DeviceKind> {
 protected:
  void SetUp() override { setenv("SINTER_CPU_DEVICES", "4", /*overwrite=*/1); }
  void TearDown() override { unsetenv("SINTER_CPU_DEVICES"); }

  static bool Has(int devices) { return GetParam() == DeviceKind::kCpu || NumGpus() >= devices; }
  static std::string Lacks(int devices) {
    return absl::StrCat(devices, " GPUs are needed, and there are ", NumGpus());
  }
  static Device At(int i) { return GetParam() == DeviceKind::kCpu ? Device::Cpu(i) : Device::Gpu(i); }
};

// Returns the operand of member i: (i + 1) times 1, 2, 3, ...
Tensor Member(Builder& b, int i, const Shape& shape) {
  int64_t size = 1;
  for (int64_t d : shape) size *= d;
  std::vector<float> values;
  for (int64_t k = 0; k < size; ++k) values.push_back(static_cast<float>((i + 1) * (k + 1)));
  return b.Constant(*HostTensor::FromVector<float>(shape, values));
}

// Returns the result of every member of an exchange. Each device has one tensor of these shapes.
std::vector<std::vector<float>> Received(const std::function<Device(int)>& at,
                                         const std::vector<Shape>& shapes, const Exchange& exchange) {
  Graph graph("g");
  size_t results = 0;
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    std::vector<Tensor> tensors;
    for (size_t i = 0; i < shapes.size(); ++i) {
      DeviceScope on(b, at(static_cast<int>(i)));
      tensors.push_back(Member(b, static_cast<int>(i), shapes[i]) * 1.0);
    }
    std::vector<Tensor> received = exchange(tensors);
    results = received.size();
    for (size_t i = 0; i < received.size(); ++i) {
      EXPECT_EQ(received[i].device(), at(static_cast<int>(i)));
      b.Output(absl::StrCat(i), received[i]);
    }
  });
  Session session = MustStart(graph);
  std::vector<std::vector<float>> values;
  for (size_t i = 0; i < results; ++i) values.push_back(Floats(session, "f", {}, absl::StrCat(i)));
  return values;
}

// Ones times 1 on the first device, times 2 on the second, and so on. Every device receives the sum.
TEST_P(CollectivesTest, SumsOfOnesAreOnEveryDevice) {
  if (!Has(2)) GTEST_SKIP() << Lacks(2);
  for (int devices = 2; devices <= 4 && Has(devices); ++devices) {
    Graph graph("g");
    graph.Function("f", Mode::kTrain, [&](Builder& b) {
      std::vector<Tensor> data;
      for (int i = 0; i < devices; ++i) {
        DeviceScope on(b, At(i));
        data.push_back(b.Ones(F32, {1, 2}) * (i + 1.0));
      }
      std::vector<Tensor> sums = AllReduce(data);
      for (int i = 0; i < devices; ++i) {
        EXPECT_EQ(sums[i].device(), At(i));
        b.Output(absl::StrCat("before", i), data[i]);
        b.Output(absl::StrCat("after", i), sums[i]);
      }
    });
    Session session = MustStart(graph);
    auto out = session.Run("f", {});
    ASSERT_TRUE(out.ok()) << out.status();
    const auto pairs = devices * (devices + 1) / 2;
    const float sum = static_cast<float>(pairs);
    for (int i = 0; i < devices; ++i) {
      const float own = static_cast<float>(i + 1);
      EXPECT_THAT(ToFloats((*out)[absl::StrCat("before", i)]), ElementsAre(own, own));
      EXPECT_THAT(ToFloats((*out)[absl::StrCat("after", i)]), ElementsAre(sum, sum));
    }
  }
}

// arange(20) as 4 x 5: two rows on each device.
TEST_P(CollectivesTest, RowsGoToTheirDevices) {
  if (!Has(2)) GTEST_SKIP() << Lacks(2);
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {4, 5});
    std::vector<Tensor> parts;
    for (int i = 0; i < 2; ++i) {
      parts.push_back(Copy(SliceDim(x, 0, 2 * i, 2 * i + 2), At(i)));
      b.Output(absl::StrCat("part", i), parts.back() * 1.0);
    }
    b.Output("whole", AllGather(parts)[1]);
  });
  Session session = MustStart(graph, {.device = At(0)});
  std::vector<float> values(20);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  auto out = session.Run("f", {{"x", *HostTensor::FromVector<float>({4, 5}, values)}});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(ToFloats((*out)["part0"]), std::vector<float>(values.begin(), values.begin() + 10));
  EXPECT_EQ(ToFloats((*out)["part1"]), std::vector<float>(values.begin() + 10, values.end()));
  EXPECT_EQ(ToFloats((*out)["whole"]), values);
}

TEST_P(CollectivesTest, EveryKindGivesItsMembersTheirs) {
  if (!Has(2)) GTEST_SKIP() << Lacks(2);
  const auto at = [](int i) { return At(i); };
  using Values = std::vector<float>;
  const auto reduce_by = [](ReduceOp combine) {
    return [combine](const std::vector<Tensor>& x) { return AllReduce(x, combine); };
  };
  EXPECT_THAT(Received(at, {{2}, {2}}, reduce_by(ReduceOp::kMean)),
              ElementsAre(Values{1.5, 3}, Values{1.5, 3}));
  EXPECT_THAT(Received(at, {{2}, {2}}, reduce_by(ReduceOp::kMax)), ElementsAre(Values{2, 4}, Values{2, 4}));
  EXPECT_THAT(Received(at, {{2}, {2}}, reduce_by(ReduceOp::kMin)), ElementsAre(Values{1, 2}, Values{1, 2}));
  EXPECT_THAT(Received(at, {{1}, {2}}, [](const std::vector<Tensor>& x) { return AllGather(x); }),
              ElementsAre(Values{1, 2, 4}, Values{1, 2, 4}));
  EXPECT_THAT(Received(at, {{3}, {3}}, [](const std::vector<Tensor>& x) { return ReduceScatter(x); }),
              ElementsAre(Values{3, 6}, Values{9}));
  EXPECT_THAT(Received(at, {{2}, {2}}, [](const std::vector<Tensor>& x) { return AllToAll(x); }),
              ElementsAre(Values{1, 2}, Values{2, 4}));
  for (int64_t by : {1, -1, 3}) {
    EXPECT_THAT(Received(at, {{2}, {2}}, [by](const std::vector<Tensor>& x) { return RingShift(x, by); }),
                ElementsAre(Values{2, 4}, Values{1, 2}));
  }
  EXPECT_THAT(Received(at, {{2}, {2}}, [](const std::vector<Tensor>& x) { return RingShift(x, 2); }),
              ElementsAre(Values{1, 2}, Values{2, 4}));
  EXPECT_THAT(Received(at, {{2}, {2}},
                       [&](const std::vector<Tensor>& x) { return Broadcast(x[1] + 1.0, {at(0), at(1)}); }),
              ElementsAre(Values{3, 5}, Values{3, 5}));
  EXPECT_THAT(Received(at, {{2}, {2}},
                       [](const std::vector<Tensor>& x) {
                         return std::vector<Tensor>{Reduce(x, ReduceOp::kSum, 0)};
                       }),
              ElementsAre(Values{3, 6}));
  // A single member exchanges nothing.
  EXPECT_THAT(Received(at, {{2}}, reduce_by(ReduceOp::kMean)), ElementsAre(Values{1, 2}));
}

// Three places on a ring of four is one place back; the blocks of four devices visit every device in turn.
TEST_P(CollectivesTest, BlocksTravelAroundARing) {
  if (!Has(4)) GTEST_SKIP() << Lacks(4);
  const auto at = [](int i) { return At(i); };
  const std::vector<Shape> shapes(4, Shape{1});
  using Values = std::vector<float>;
  EXPECT_THAT(Received(at, shapes, [](const std::vector<Tensor>& x) { return RingShift(x, 3); }),
              ElementsAre(Values{2}, Values{3}, Values{4}, Values{1}));
  EXPECT_THAT(Received(at, shapes,
                       [](std::vector<Tensor> x) {
                         std::vector<Tensor> sums = x;
                         for (int step = 1; step < 4; ++step) {
                           x = RingShift(x);
                           for (size_t i = 0; i < x.size(); ++i) sums[i] = sums[i] * 10.0 + x[i];
                         }
                         return sums;
                       }),
              ElementsAre(Values{1432}, Values{2143}, Values{3214}, Values{4321}));
}

// Returns the gradients of sum(w * y) with respect to each member's operand. y is the result of the first or
// last member.
std::vector<std::vector<float>> GradientsOf(const std::function<Device(int)>& at, const Shape& shape,
                                            bool of_last, const Exchange& exchange) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    std::vector<Tensor> tensors;
    for (int i = 0; i < 2; ++i) {
      DeviceScope on(b, at(i));
      tensors.push_back(b.Input(absl::StrCat("x", i), F32, shape));
    }
    std::vector<Tensor> received = exchange(tensors);
    Tensor y = of_last ? received.back() : received.front();
    DeviceScope on(b, y.device());
    std::vector<Tensor> gradients =
        Gradients(Sum(Member(b, 0, y.shape()) * y), tensors, {.allow_unused = true});
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(gradients[i].device(), at(i));
      b.Output(absl::StrCat(i), gradients[i]);
    }
  });
  Session session = MustStart(graph);
  int64_t size = 1;
  for (int64_t d : shape) size *= d;
  HostTensor x = *HostTensor::FromVector<float>(shape, std::vector<float>(static_cast<size_t>(size), 1));
  auto out = session.Run("f", {{"x0", x}, {"x1", x}});
  SINTER_CHECK(out.ok()) << out.status();
  return {ToFloats((*out)["0"]), ToFloats((*out)["1"])};
}

// The loss may depend on only one member.
TEST_P(CollectivesTest, GradientsGoBackToAllMembers) {
  if (!Has(2)) GTEST_SKIP() << Lacks(2);
  const auto at = [](int i) { return At(i); };
  using Values = std::vector<float>;
  using Tensors = std::vector<Tensor>;
  for (bool of_last : {false, true}) {
    SCOPED_TRACE(of_last);
    EXPECT_THAT(GradientsOf(at, {2}, of_last, [](const Tensors& x) { return AllReduce(x); }),
                ElementsAre(Values{1, 2}, Values{1, 2}));
    EXPECT_THAT(GradientsOf(at, {2}, of_last, [](const Tensors& x) { return AllReduce(x, ReduceOp::kMean); }),
                ElementsAre(Values{0.5, 1}, Values{0.5, 1}));
    EXPECT_THAT(GradientsOf(at, {2}, of_last, [](const Tensors& x) { return AllGather(x); }),
                ElementsAre(Values{1, 2}, Values{3, 4}));
    const Values scattered = of_last ? Values{0, 0, 1} : Values{1, 2, 0};
    EXPECT_THAT(GradientsOf(at, {3}, of_last, [](const Tensors& x) { return ReduceScatter(x); }),
                ElementsAre(scattered, scattered));
    const Values first = of_last ? Values{0, 1} : Values{1, 0},
                 second = of_last ? Values{0, 2} : Values{2, 0};
    EXPECT_THAT(GradientsOf(at, {2}, of_last, [](const Tensors& x) { return AllToAll(x); }),
                ElementsAre(first, second));
    const Values none = {0, 0}, all = {1, 2};
    EXPECT_THAT(GradientsOf(at, {2}, of_last, [](const Tensors& x) { return RingShift(x); }),
                ElementsAre(of_last ? all : none, of_last ? none : all));
    EXPECT_THAT(GradientsOf(at, {2}, of_last,
                            [](const Tensors& x) { return Tensors{Reduce(x, ReduceOp::kMean, 1)}; }),
                ElementsAre(Values{0.5, 1}, Values{0.5, 1}));
    EXPECT_THAT(
        GradientsOf(at, {2}, of_last, [&](const Tensors& x) { return Broadcast(x[1], {at(0), at(1)}); }),
        ElementsAre(Values{0, 0}, Values{1, 2}));
  }
  EXPECT_THAT(GradientsOf(at, {4}, false, [](const Tensors& x) { return ReduceScatter(x, ReduceOp::kMean); }),
              ElementsAre(Values{0.5, 1, 0, 0}, Values{0.5, 1, 0, 0}));
}

constexpr int64_t kRows = 8, kIn = 6, kHidden = 5, kOut = 3;

// Four devices: the batch is split in halves. For each half the first layer is on one device, the second on
// the next.
Graph TwoByTwo(const std::function<Device(int)>& at, int copies) {
  Graph graph("hybrid", {.seed = 4});
  std::vector<std::vector<Variable>> weights(static_cast<size_t>(copies));
  for (int c = 0; c < copies; ++c) {
    const auto add = [&](const char* name, const Shape& shape, int device) {
      const VariableInit normal{.kind = VariableInit::Kind::kNormal, .b = 0.5};
      VariableOptions options{.init = normal, .device = at(device)};
      weights[c].push_back(graph.Variable(absl::StrCat(name, c), F32, shape, options));
    };
    add("first", {kIn, kHidden}, 2 * c);
    add("second", {kHidden, kOut}, 2 * c + 1);
  }
  graph.Function("start", Mode::kTrain, [&](Builder& b) {
    for (size_t layer = 0; copies > 1 && layer < 2; ++layer) {
      const int stage = static_cast<int>(layer);
      std::vector<Tensor> same = Broadcast(b.Read(weights[0][layer]), {at(stage), at(2 + stage)});
      b.Assign(weights[1][layer], same[1]);
    }
    b.Output("done", b.Ones(F32, {}));
  });
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    std::vector<Tensor> losses;
    std::vector<std::vector<Tensor>> gradients(2);  // By layer, then by copy.
    Tensor x = b.Input("x", F32, {kRows, kIn}), y = b.Input("y", F32, {kRows, kOut});
    for (int c = 0; c < copies; ++c) {
      const int64_t rows = kRows / copies;
      Tensor own = Copy(SliceDim(x, 0, c * rows, (c + 1) * rows), at(2 * c));
      Tensor want = Copy(SliceDim(y, 0, c * rows, (c + 1) * rows), at(2 * c + 1));
      Tensor h = Tanh(MatMul(own, b.Read(weights[c][0])));
      losses.push_back(Mean(Square(MatMul(Copy(h, at(2 * c + 1)), b.Read(weights[c][1])) - want)));
      std::vector<Tensor> g = Gradients(losses.back(), {b.Read(weights[c][0]), b.Read(weights[c][1])});
      for (size_t layer = 0; layer < 2; ++layer) gradients[layer].push_back(g[layer]);
    }
    for (size_t layer = 0; layer < 2; ++layer) {
      std::vector<Tensor> mean = AllReduce(gradients[layer], ReduceOp::kMean);
      for (int c = 0; c < copies; ++c) {
        b.Assign(weights[c][layer], b.Read(weights[c][layer]) - mean[c] * 0.5);
      }
    }
    b.Output("loss", AllReduce(losses, ReduceOp::kMean)[0]);
  });
  return graph;
}

// Two copies of a manually placed model, each with half of the batch, learn like one copy with the whole
// batch.
TEST_P(CollectivesTest, TwoByTwoDevicesTrainAsOnePairDoes) {
  if (!Has(4)) GTEST_SKIP() << Lacks(4);
  std::vector<float> x(kRows * kIn), y(kRows * kOut);
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i % 37));
  for (size_t i = 0; i < y.size(); ++i) y[i] = std::cos(static_cast<float>(i * 5 % 11));
  std::vector<std::vector<float>> losses, firsts;
  for (int copies : {1, 2}) {
    Session session = MustStart(TwoByTwo([](int i) { return At(i); }, copies), {.device = At(0)});
    ASSERT_TRUE(session.Run("start", {}).ok());
    losses.emplace_back();
    for (int step = 0; step < 6; ++step) {
      auto out = session.Run("train", {{"x", *HostTensor::FromVector<float>({kRows, kIn}, x)},
                                       {"y", *HostTensor::FromVector<float>({kRows, kOut}, y)}});
      ASSERT_TRUE(out.ok()) << out.status();
      losses.back().push_back(static_cast<float>(out->Scalar("loss").value()));
    }
    firsts.push_back(VariableFloats(session, "first0"));
    if (copies == 2) {
      EXPECT_EQ(VariableFloats(session, "first1"), firsts.back());
    }
  }
  EXPECT_LT(losses[0].back(), losses[0].front());
  for (size_t i = 0; i < losses[0].size(); ++i) EXPECT_NEAR(losses[0][i], losses[1][i], 1e-4) << i;
  for (size_t i = 0; i < firsts[0].size(); ++i) EXPECT_NEAR(firsts[0][i], firsts[1][i], 1e-4) << i;
}

// The second device's rows begin at byte 36 of x and byte 12 of the labels: libraries and kernels must still
// read them.
TEST_P(CollectivesTest, ABatchIsSharedWhereverItsRowsBegin) {
  if (!Has(2)) GTEST_SKIP() << Lacks(2);
  std::vector<float> values(18);
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i));
  const HostTensor x = *HostTensor::FromVector<float>({6, 3}, values);
  const HostTensor y = *HostTensor::FromVector<int32_t>({6}, {0, 1, 2, 3, 0, 1});
  std::vector<std::vector<float>> losses;
  for (int devices : {1, 2}) {
    Graph graph("net", {.seed = 2});
    nn::Module model = nn::Sequential{nn::Linear(16), nn::Relu(), nn::Linear(4)};
    graph.Function("train", Mode::kTrain, [&](Builder& b) {
      Tensor loss = SoftmaxCrossEntropy(model(b.Input("x", F32, {6, 3})), b.Input("y", I32, {6}));
      optim::Sgd{.learning_rate = 0.5}.Minimize(loss);
      b.Output("loss", loss);
    });
    CompileOptions options{.device = At(0)};
    for (int i = 0; devices > 1 && i < devices; ++i) options.data_parallel.devices.push_back(At(i));
    Session session = MustStart(graph, options);
    losses.emplace_back();
    for (int step = 0; step < 5; ++step)
      losses.back().push_back(Floats(session, "train", {{"x", x}, {"y", y}}, "loss")[0]);
  }
  EXPECT_LT(losses[0].back(), losses[0].front());
  for (size_t i = 0; i < losses[0].size(); ++i) EXPECT_NEAR(losses[0][i], losses[1][i], 1e-4) << i;
}

INSTANTIATE_TEST_SUITE_P(On, CollectivesTest, ::testing::Values(DeviceKind::kCpu, DeviceKind::kGpu),
                         [](const auto& info) { return info.param == DeviceKind::kCpu ? "Cpus" : "Gpus"; });

// Returns the compiler's message for a function; it contains the line of the call.
std::string ErrorOf(const std::function<void(Builder&)>& body) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, body);
  absl::StatusOr<Plan> plan = Compile(graph);
  EXPECT_FALSE(plan.ok());
  EXPECT_THAT(std::string(plan.status().message()), HasSubstr("collectives_test.cc:"));
  return std::string(plan.status().message());
}

Tensor On(Builder& b, Device device, const Shape& shape = {2, 3}, DType dtype = F32) {
  DeviceScope on(b, device);
  return b.Zeros(dtype, shape);
}

TEST(CollectiveErrorsTest, NameLineMistakeAndFix) {
  const Device c0 = Device::Cpu(0), c1 = Device::Cpu(1);
  EXPECT_THAT(ErrorOf([](Builder&) { AllReduce({}); }),
              HasSubstr("AllReduce takes one tensor a device, and is given none"));
  EXPECT_THAT(
      ErrorOf([&](Builder& b) { AllReduce({On(b, c0), On(b, c1), On(b, c0)}); }),
      HasSubstr("AllReduce(f32[2,3], f32[2,3], f32[2,3]) meets on cpu:0 twice, as members 0 and 2; each "
                "member has a device of its own"));
  EXPECT_THAT(
      ErrorOf([&](Builder& b) { AllReduce({On(b, c0), On(b, c1, {3, 2})}); }),
      HasSubstr("needs equal element types and equal shapes, and tensor 1 is f32[3,2] where tensor 0 is "
                "f32[2,3]"));
  EXPECT_THAT(ErrorOf([&](Builder& b) { AllReduce({On(b, c0), On(b, c1, {2, 3}, F64)}); }),
              HasSubstr("tensor 1 is f64[2,3]"));
  EXPECT_THAT(ErrorOf([&](Builder& b) { AllReduce({On(b, c0, {2}, I1), On(b, c1, {2}, I1)}); }),
              HasSubstr("takes numbers, not i1"));
  EXPECT_THAT(
      ErrorOf([&](Builder& b) { AllReduce({On(b, c0), b.Input("x", F32, {2, 3})}); }),
      AllOf(HasSubstr("nothing places tensor 1"), HasSubstr("DeviceScope, or Copy(x, device) first")));
  EXPECT_THAT(ErrorOf([&](Builder& b) { AllReduce({On(b, c0), On(b, Device::Gpu(0))}); }),
              HasSubstr("meets on cpu:0 and on gpu:0; CPUs exchange with CPUs"));
  EXPECT_THAT(ErrorOf([&](Builder& b) { AllGather({On(b, c0), On(b, c1, {4, 2})}); }),
              HasSubstr("equal shapes but for dimension 0"));
  EXPECT_THAT(ErrorOf([&](Builder& b) { AllGather({On(b, c0, {}), On(b, c1, {})}); }),
              HasSubstr("takes tensors of rank 1 or more"));
  EXPECT_THAT(ErrorOf([&](Builder& b) { AllToAll({On(b, c0, {3}), On(b, c1, {3})}); }),
              HasSubstr("cuts 3 rows for 2 members"));
  EXPECT_THAT(ErrorOf([&](Builder& b) { RingShift({On(b, c0), On(b, c1, {4, 2})}); }),
              HasSubstr("needs equal element types and equal shapes, and tensor 1 is f32[4,2]"));
  EXPECT_THAT(ErrorOf([&](Builder& b) { Reduce({On(b, c0), On(b, c1)}, ReduceOp::kSum, 2); }),
              HasSubstr("has root 2; members count from 0 to 1"));
  EXPECT_THAT(ErrorOf([&](Builder& b) { Broadcast(On(b, c0), {c1}); }),
              HasSubstr("sends from cpu:0, and that is not among those that receive; name cpu:0 too"));
  EXPECT_THAT(ErrorOf([&](Builder& b) { Broadcast(On(b, c0), {c0, c1, c1}); }),
              HasSubstr("meets on cpu:1 twice"));
  EXPECT_THAT(ErrorOf([&](Builder& b) { Broadcast(On(b, c0), {}); }), HasSubstr("is given none"));
  EXPECT_THAT(ErrorOf([&](Builder& b) { Broadcast(On(b, c0), {c0, Device::Cpu(-1)}); }),
              HasSubstr("devices count from 0"));
}

TEST(CollectiveErrorsTest, WhatHasNoGradientSaysSo) {
  EXPECT_THAT(ErrorOf([](Builder& b) {
                Tensor x = On(b, Device::Cpu(0)) * 1.0, y = On(b, Device::Cpu(1)) * 1.0;
                b.Output("g", Gradients(Sum(AllReduce({x, y}, ReduceOp::kMax)[0]), {x})[0]);
              }),
              HasSubstr("combines by max and has no gradient; expected sum or mean"));
}

}  // namespace
}  // namespace sinter
