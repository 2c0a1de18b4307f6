// Whole plans for GPUs, without a GPU: models train on emulated devices and agree with the CPU.
// Each kernel runs in one thread order; tests/numerics/emulated_*_test.cc run kernels in both orders.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/plan_generated.h"
#include "sinter/codegen/cpu/compile_cpp.h"
#include "sinter/frontend/linalg/linalg.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/tests/frontend/run_graph.h"
#include "sinter/tests/runtime/emulated/emulated_code.h"
#include "sinter/tests/runtime/emulated/emulated_devices.h"
#include "sinter/tests/runtime/emulated/emulated_gpu.h"
#include "sinter/tests/runtime/emulated/emulated_memory.h"

namespace sinter {
namespace {

constexpr int kSteps = 4;
constexpr int64_t kClasses = 10, kWords = 40;

Device Emulated(int32_t index) { return Device::Of(RegisterEmulatedDevices(), index); }

// A model with one function "train" of the inputs "x", "y" and "rate", and the tensors that it trains on.
struct Model {
  Graph graph;
  HostTensor x, y;
};

struct Trained {
  std::vector<double> losses;
  std::map<std::string, std::vector<float>> variables;  // All that training changes.
};

HostTensor Waves(std::vector<int64_t> shape) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<float>(i * i % 1013));
  return HostTensor::FromVector<float>(shape, values).value();
}

HostTensor Labels(std::vector<int64_t> shape, int64_t below) {
  int64_t count = 1;
  for (const int64_t size : shape) count *= size;
  std::vector<int32_t> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i * 7 % 29 % below);
  return HostTensor::FromVector<int32_t>(shape, values).value();
}

Model LeNet() {
  Model model{Graph("lenet", {.seed = 3}), Waves({8, 1, 28, 28}), Labels({8}, kClasses)};
  nn::Module net = nn::Sequential{nn::Conv2d(6, 5), nn::Relu(),          nn::MaxPool(2), nn::Conv2d(12, 5),
                                  nn::Tanh(),       nn::AvgPool(2),      nn::Flatten(),  nn::Linear(32),
                                  nn::Relu(),       nn::Linear(kClasses)};
  model.graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor loss = SoftmaxCrossEntropy(net(b.Input("x", F32, {8, 1, 28, 28})), b.Input("y", I32, {8}));
    optim::Sgd{.learning_rate = b.Scalar("rate")}.Minimize(loss);
    b.Output("loss", loss);
  });
  return model;
}

// In bf16, a library computes the attention as a whole. It has no bias, because the gradient of the keys'
// bias is 0 but for rounding, which AdamW would scale up. The epsilon keeps AdamW from doing so elsewhere.
Model GptOf(Precision precision, int64_t time, int64_t num_words, const Float8& float8 = {}) {
  constexpr int64_t kBatch = 2, kWidth = 32;
  Model model{Graph("gpt", {.seed = 5, .precision = precision, .float8 = float8}),
              Labels({kBatch, time}, num_words), Labels({kBatch, time}, num_words - 3)};
  nn::Embedding words(num_words, kWidth);
  nn::Module net = nn::Sequential{
      nn::Residual{nn::LayerNorm(), nn::MultiHeadAttention(2, {.causal = true, .bias = false})},
      nn::Residual{nn::LayerNorm(), nn::Linear(4 * kWidth, {.out_dim = "mlp"}), nn::GeluTanh(),
                   nn::Linear(kWidth, {.in_dim = "mlp"})},
      nn::LayerNorm(), nn::Linear(num_words)};
  model.graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", I32, {kBatch, time}), y = b.Input("y", I32, {kBatch, time});
    Tensor loss = SoftmaxCrossEntropy(net(words(x)), y);
    optim::AdamW{.learning_rate = b.Scalar("rate"), .epsilon = 1e-3, .weight_decay = 0.1}.Minimize(
        loss, {.hooks = {optim::ClipNorm(1)}});
    b.Output("loss", loss);
  });
  return model;
}
Model Gpt(Precision precision) { return GptOf(precision, 16, kWords); }

// In bf16, the channels of images are adjacent, and those of the first convolution are padded.
Model ResNet(Precision precision) {
  Model model{Graph("resnet", {.seed = 7, .precision = precision}), Waves({4, 3, 16, 16}),
              Labels({4}, kClasses)};
  const auto conv = [](int64_t channels, int64_t stride) {
    return nn::Sequential{
        nn::Conv2d(channels, 3, {.strides = {stride, stride}, .padding = {1, 1, 1, 1}, .bias = false}),
        nn::BatchNorm()};
  };
  const std::vector<nn::Module> same = {conv(8, 1), nn::Relu(), conv(8, 1)};
  const std::vector<nn::Module> half = {conv(16, 2), nn::Relu(), conv(16, 1)};
  nn::Module net = nn::Sequential{
      conv(8, 1),         nn::Relu(),          nn::MaxPool(2),
      nn::Residual(same), nn::Relu(),          nn::Residual(half, nn::Conv2d(16, 1, {.strides = {2, 2}})),
      nn::Relu(),         nn::GlobalAvgPool(), nn::Linear(kClasses)};
  model.graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor loss = SoftmaxCrossEntropy(net(b.Input("x", F32, {4, 3, 16, 16})), b.Input("y", I32, {4}));
    optim::Momentum{.learning_rate = b.Scalar("rate")}.Minimize(loss);
    b.Output("loss", loss);
  });
  return model;
}

// Sums of convolutions and their inputs, without norms.
Model Residuals(Precision precision) {
  Model model{Graph("residuals", {.seed = 7, .precision = precision}), Waves({4, 3, 16, 16}),
              Labels({4}, kClasses)};
  const auto conv = [] { return nn::Conv2d(8, 3, {.padding = {1, 1, 1, 1}}); };
  nn::Module net = nn::Sequential{conv(),
                                  nn::Residual{conv(), nn::Relu(), conv()},
                                  nn::Relu(),
                                  nn::Residual{conv(), nn::Relu(), conv()},
                                  nn::Relu6(),
                                  conv(),
                                  nn::GlobalAvgPool(),
                                  nn::Linear(kClasses)};
  model.graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor loss = SoftmaxCrossEntropy(net(b.Input("x", F32, {4, 3, 16, 16})), b.Input("y", I32, {4}));
    optim::Momentum{.learning_rate = b.Scalar("rate")}.Minimize(loss);
    b.Output("loss", loss);
  });
  return model;
}

// A layer that multiplies spectra by complex weights.
Model SpectralModel() {
  constexpr int64_t kPoints = 24;
  Model model{Graph("spectral", {.seed = 4}), Waves({8, kPoints}), Labels({8}, kClasses)};
  nn::Module net = nn::Sequential{nn::Relu(), nn::Linear(kClasses)};
  model.graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Variable weights =
        b.MakeVariable("weights", F32, {kPoints / 2 + 1, 2}, {.init = nn::Normal(1).Resolve(0, 0)});
    const Tensor spectrum = ComplexMul(Rfft(b.Input("x", F32, {8, kPoints})), b.Read(weights));
    Tensor loss = SoftmaxCrossEntropy(net(Irfft(spectrum, {.n = kPoints})), b.Input("y", I32, {8}));
    optim::Sgd{.learning_rate = b.Scalar("rate")}.Minimize(loss);
    b.Output("loss", loss);
  });
  return model;
}

// Factors of matrices between layers: a solution, and values that do not depend on the signs of vectors.
// Steps for eigenvalues and singular values are not captured here.
Model MatrixModel() {
  constexpr int64_t kRows = 6;
  Model model{Graph("matrices", {.seed = 6}), Waves({8, kRows * kRows}), Labels({8}, kClasses)};
  nn::Module net = nn::Sequential{nn::Linear(8), nn::Tanh(), nn::Linear(kClasses)};
  model.graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Variable weights =
        b.MakeVariable("weights", F32, {kRows, kRows}, {.init = nn::Normal(1).Resolve(0, 0)});
    const Tensor x = Reshape(b.Input("x", F32, {8, kRows * kRows}), {8, kRows, kRows});
    const Tensor w = b.Read(weights);
    const Tensor one = Cast(Equal(b.Iota(I32, {kRows, kRows}, 0), b.Iota(I32, {kRows, kRows}, 1)), F32);
    const Tensor gram = MatMul(w, Transpose(w, {1, 0})) + one * 3.0;
    const Tensor solved = linalg::Solve(gram, x);
    const Tensor white = linalg::TriangularSolve(linalg::Cholesky(gram), solved);
    Tensor loss = SoftmaxCrossEntropy(net(Reshape(white, {8, kRows * kRows})), b.Input("y", I32, {8}));
    loss = loss + 0.01 * Sum(Log(linalg::Eigh(gram).values)) + 0.01 * Sum(linalg::Svd(w + one).s) +
           0.01 * Sum(Square(linalg::Qr(w + one).r));
    optim::Sgd{.learning_rate = b.Scalar("rate")}.Minimize(loss);
    b.Output("loss", loss);
  });
  return model;
}

// The library steps and kernels of function 0 on a device, by kind of step. With a mesh each rank's device
// runs the steps of the first rank's.
std::map<fb::StepBody, int64_t> StepsOn(const Plan& plan, Device device) {
  std::map<fb::StepBody, int64_t> counts;
  if (plan.table().mesh()) device = Emulated(0);
  for (const fb::Step* step : *plan.table().functions()->Get(0)->steps()) {
    if (DeviceOf(plan.table(), step->device()) == device) ++counts[step->body_type()];
  }
  return counts;
}

// The device ran every kernel and library call of the plan in each run, and replayed captures from the second
// run on.
void ExpectRanThePlan(const Plan& plan, Device device) {
  SCOPED_TRACE(device.ToString());
  const EmulatedGpu* const gpu = LatestEmulatedGpu(device.index());
  ASSERT_NE(gpu, nullptr);
  std::map<fb::StepBody, int64_t> steps = StepsOn(plan, device);
  EXPECT_GT(steps[fb::StepBody::GpuKernelStep], 0);
  EXPECT_EQ(gpu->kernel_launches(), kSteps * steps[fb::StepBody::GpuKernelStep]);
  EXPECT_EQ(gpu->library_calls(),
            kSteps * (steps[fb::StepBody::MatmulStep] + steps[fb::StepBody::ConvStep] +
                      steps[fb::StepBody::AttentionStep] + steps[fb::StepBody::CatalogStep]));
  EXPECT_GT(gpu->counts().captures, 0);
  EXPECT_EQ(gpu->counts().launches, (kSteps - 1) * gpu->counts().captures);
}

Trained Train(const Model& model, const CompileOptions& options, const std::vector<Device>& devices) {
  Session session = MustStart(model.graph, options);
  Trained trained;
  for (int step = 0; step < kSteps; ++step) {
    auto out = session.Run("train", {{"x", model.x}, {"y", model.y}, {"rate", 0.02f}});
    SINTER_CHECK(out.ok()) << out.status();
    trained.losses.push_back(out->Scalar("loss").value());
  }
  const absl::Status status = session.Synchronize();
  SINTER_CHECK(status.ok()) << status;
  for (const VariableInfo& variable : session.variables()) {
    if (variable.dtype == DType::kF32)
      trained.variables[variable.name] = VariableFloats(session, variable.name);
  }
  for (const Device device : devices) ExpectRanThePlan(session.plan(), device);
  EXPECT_TRUE(EmulatedMemory::CheckGuards().ok());
  return trained;
}

// Compares results in f32, which differ by the order of sums alone: relative to a loss, and to the largest
// element of a variable.
void ExpectSame(const Trained& got, const Trained& want) {
  constexpr double kTolerance = 1e-5;
  ASSERT_EQ(got.losses.size(), want.losses.size());
  for (size_t i = 0; i < got.losses.size(); ++i) {
    EXPECT_NEAR(got.losses[i], want.losses[i], kTolerance * std::abs(want.losses[i])) << "step " << i;
  }
  for (const auto& [name, values] : want.variables) {
    const auto found = got.variables.find(name);
    ASSERT_NE(found, got.variables.end()) << name;
    ASSERT_EQ(found->second.size(), values.size()) << name;
    double largest = 1e-3, most = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      largest = std::max<double>(largest, std::abs(values[i]));
      most = std::max<double>(most, std::abs(values[i] - found->second[i]));
    }
    EXPECT_LE(most, kTolerance * largest) << name;
  }
}

// Returns the Euclidean distance of all variables.
double Distance(const Trained& a, const Trained& b) {
  double squares = 0;
  for (const auto& [name, values] : a.variables) {
    const std::vector<float>& others = b.variables.at(name);
    for (size_t i = 0; i < values.size(); ++i) squares += std::pow(values[i] - others[i], 2);
  }
  return std::sqrt(squares);
}

class EmulatedModelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!codegen::HasCppCompiler()) GTEST_SKIP() << "built without the Clang library";
  }

  static Trained TrainOnOne(const Model& model) {
    SCOPED_TRACE("one device");
    return Train(model, {.device = Emulated(0)}, {Emulated(0)});
  }
  static Trained TrainOnTwo(const Model& model) {
    SCOPED_TRACE("two devices");
    CompileOptions shared;
    shared.data_parallel = {.devices = {Emulated(0), Emulated(1)},
                            .batch_norm = BatchStatistics::kSynchronized};
    return Train(model, shared, shared.data_parallel.devices);
  }

  // One device, and two that share each batch, compute what a CPU does.
  static void ExpectTrainsAsOnTheCpu(const Model& model) {
    const Trained want = Train(model, {}, {});
    EXPECT_LT(want.losses.back(), want.losses.front());
    ExpectSame(TrainOnOne(model), want);
    ExpectSame(TrainOnTwo(model), want);
  }

  // In bf16, devices round at other places than a CPU, because fusion decides where values are stored. So the
  // results may be as far from those in f32 as the CPU's results in bf16 are.
  static void ExpectTrainsInBf16(const std::function<Model(Precision)>& make) {
    const Trained exact = Train(make(Precision::kF32), {}, {});
    const Model model = make(Precision::kBf16);
    const double bound = 1.2 * Distance(Train(model, {}, {}), exact);
    for (const Trained& got : {TrainOnOne(model), TrainOnTwo(model)}) {
      EXPECT_GT(Distance(got, exact), 0);
      EXPECT_LE(Distance(got, exact), bound);
      for (size_t i = 0; i < exact.losses.size(); ++i) {
        EXPECT_NEAR(got.losses[i], exact.losses[i], 5e-3 * exact.losses[i]) << "step " << i;
      }
    }
  }
};

// Ranks that share batch, heads, hidden units and words, and the storage of variables, or rows in between.
// Exchanges may travel in parts.
TEST_F(EmulatedModelsTest, GptOnAMeshOfFour) {
  const Model model = Gpt(Precision::kF32);
  const Trained want = Train(model, {}, {});
  for (int level : {1, 3}) {
    SCOPED_TRACE(level);
    CompileOptions options{.device = Emulated(0)};
    options.mesh.axes = {{"data", 2}, {"tensor", 2}};
    options.verify_each_pass = true;
    options.parallel = {parallel::Data{}, parallel::Tensor{.rows = level == 1},
                        parallel::Zero{.level = level, .least_bytes = 256}};
    options.exchange_parts = level == 3 ? 2 : 1;
    ExpectSame(Train(model, options, {Emulated(0), Emulated(1), Emulated(2), Emulated(3)}), want);
  }
}

// The second rank's part of an input begins at no multiple of the 16 bytes that a kernel reads at once: 36
// bytes into the labels, and 86,472 into the features. Those are so large that a kernel copies them for a
// product.
TEST_F(EmulatedModelsTest, PartsOfInputsThatAreNotAligned) {
  constexpr int64_t kBatch = 17, kFeatures = 2402;
  Model model{Graph("mlp", {.seed = 9}), Waves({kBatch, kFeatures}), Labels({kBatch}, kClasses)};
  nn::Module net = nn::Sequential{nn::Linear(8), nn::Tanh(), nn::Linear(kClasses)};
  model.graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {kBatch, kFeatures});
    Tensor loss = SoftmaxCrossEntropy(net(x * 0.5), b.Input("y", I32, {kBatch})) + Mean(net(x));
    optim::Sgd{.learning_rate = b.Scalar("rate")}.Minimize(loss);
    b.Output("loss", loss);
  });
  const Trained want = Train(model, {}, {});
  CompileOptions options;
  options.data_parallel = {.devices = {Emulated(0), Emulated(1)}, .even = false};
  ExpectSame(Train(model, options, {Emulated(0)}), want);
}

// A thread has four short rows. It reads their labels at once, in the loop over the classes and behind it.
TEST_F(EmulatedModelsTest, SmoothedLossOfManyShortRows) {
  constexpr int64_t kRows = 1 << 15, kFew = 5;
  Model model{Graph("smoothed", {.seed = 8}), Waves({kRows, kFew}), Labels({kRows}, kFew)};
  model.graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Tensor weights = b.Read(b.MakeVariable("weights", F32, {kRows, kFew}));
    Tensor loss = SoftmaxCrossEntropy(b.Input("x", F32, {kRows, kFew}) + weights, b.Input("y", I32, {kRows}),
                                      {.label_smoothing = 0.1});
    optim::Sgd{.learning_rate = b.Scalar("rate")}.Minimize(loss);
    b.Output("loss", loss);
  });
  ExpectSame(TrainOnOne(model), Train(model, {}, {}));
}

// The four linear layers of a block, each with the products of both gradients.
TEST_F(EmulatedModelsTest, GptInFloat8) {
  const std::pair<Float8Recipe, int> recipes[] = {{Float8Recipe::kTensorwise, 12},
                                                  {Float8Recipe::kRowwise, 12},
                                                  {Float8Recipe::kRowwiseWithWeightGradientInBf16, 8}};
  for (const auto& [recipe, products] : recipes) {
    SCOPED_TRACE(static_cast<int>(recipe));
    const Model model = GptOf(Precision::kBf16, 16, kWords, {.recipe = recipe, .least_features = 16});
    const CompileOptions options{.device = Emulated(0), .gpu_architectures = {kEmulatedArchitecture}};
    absl::StatusOr<Plan> plan = Compile(model.graph, options);
    ASSERT_TRUE(plan.ok()) << plan.status();
    int scaled = 0;
    for (const fb::Step* step : *plan->table().functions()->Get(0)->steps()) {
      const fb::MatmulStep* matmul = step->body_as_MatmulStep();
      scaled += matmul != nullptr && matmul->scales() != fb::MatmulScales::None;
    }
    EXPECT_EQ(scaled, products);
    const Trained want = Train(model, {}, {}), got = Train(model, options, {Emulated(0)});
    for (size_t i = 0; i < want.losses.size(); ++i) {
      EXPECT_NEAR(got.losses[i], want.losses[i], 5e-3 * want.losses[i]) << "step " << i;
    }
  }
}

TEST_F(EmulatedModelsTest, LeNet) { ExpectTrainsAsOnTheCpu(LeNet()); }

TEST_F(EmulatedModelsTest, ResNet) { ExpectTrainsAsOnTheCpu(ResNet(Precision::kF32)); }

TEST_F(EmulatedModelsTest, ResNetInBf16) { ExpectTrainsInBf16(ResNet); }

// The relus behind residual sums, and relu6, store their masks as bits for their gradients.
TEST_F(EmulatedModelsTest, ResidualsWithPackedMasks) {
  Trained exact;
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    const Model model = Residuals(precision);
    CompileOptions whole = {.device = Emulated(0), .pack_masks = PackMasks::kNever, .report = true};
    CompileOptions packed = whole;
    packed.pack_masks = PackMasks::kAlways;
    CompileReport report;
    const absl::Status status = Compile(model.graph, packed, &report).status();
    ASSERT_TRUE(status.ok()) << status;
    const auto is_packed = [](const std::string& line) {
      return line.find(": packed into bits, ") != std::string::npos;
    };
    EXPECT_GE(std::ranges::count_if(report.fusion, is_packed), 2) << testing::PrintToString(report.fusion);
    const Trained want = Train(model, whole, {Emulated(0)}), got = Train(model, packed, {Emulated(0)});
    if (precision == Precision::kF32) {
      ExpectSame(got, want);
      exact = want;
    } else {
      EXPECT_LE(Distance(got, exact), 1.2 * Distance(want, exact));
    }
  }
}

TEST_F(EmulatedModelsTest, FourierTransforms) {
  ExpectTrainsAsOnTheCpu(SpectralModel());
  const absl::StatusOr<Plan> plan = Compile(SpectralModel().graph, {.device = Emulated(0)});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GE(StepsOn(*plan, Emulated(0))[fb::StepBody::CatalogStep], 3);
}

TEST_F(EmulatedModelsTest, Matrices) {
  ExpectTrainsAsOnTheCpu(MatrixModel());
  const absl::StatusOr<Plan> plan = Compile(MatrixModel().graph, {.device = Emulated(0)});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_GE(StepsOn(*plan, Emulated(0))[fb::StepBody::CatalogStep], 7);
}

TEST_F(EmulatedModelsTest, Gpt) { ExpectTrainsAsOnTheCpu(Gpt(Precision::kF32)); }

TEST_F(EmulatedModelsTest, GptInBf16WithAttentionOfALibrary) {
  ExpectTrainsInBf16(Gpt);
  const absl::StatusOr<Plan> plan = Compile(Gpt(Precision::kBf16).graph, {.device = Emulated(0)});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(StepsOn(*plan, Emulated(0))[fb::StepBody::AttentionStep], 2);
}

// Kernels of gradients store again what the forward pass stored. The logits make the peak.
TEST_F(EmulatedModelsTest, GptThatStoresValuesAgain) {
  Trained exact;
  for (const Precision precision : {Precision::kF32, Precision::kBf16}) {
    const Model model = GptOf(precision, 64, 1000);
    CompileOptions kept = {.device = Emulated(0), .store_again = StoreAgain::kNever, .report = true};
    CompileOptions again = kept;
    again.store_again = StoreAgain::kAlways;
    CompileReport report;
    ASSERT_TRUE(Compile(model.graph, again, &report).ok());
    const auto is_again = [](const std::string& line) { return line.find(" again, ") != std::string::npos; };
    EXPECT_GT(std::ranges::count_if(report.memory, is_again), 0);
    const Trained want = Train(model, kept, {Emulated(0)}), got = Train(model, again, {Emulated(0)});
    if (precision == Precision::kF32) {
      ExpectSame(got, want);
      exact = want;
    } else {
      EXPECT_LE(Distance(got, exact), 1.2 * Distance(want, exact));
    }
  }
}

// One half of the model on each device: values and gradients are copied.
TEST_F(EmulatedModelsTest, AModelOverTwoDevices) {
  const auto make = [](Device first_device, Device second_device) {
    Model model{Graph("halves", {.seed = 3}), Waves({8, 20}), Labels({8}, kClasses)};
    nn::Module first = nn::Linear(16), second = nn::Linear(kClasses);
    first.Named("first").To(first_device);
    second.Named("second").To(second_device);
    model.graph.Function("train", Mode::kTrain, [&](Builder& b) {
      Tensor h = Tanh(first(b.Input("x", F32, {8, 20})));
      Tensor loss = SoftmaxCrossEntropy(second(Copy(h, second_device)), b.Input("y", I32, {8}));
      optim::AdamW{.learning_rate = b.Scalar("rate")}.Minimize(loss, {.hooks = {optim::ClipNorm(0.5)}});
      b.Output("loss", loss);
    });
    return model;
  };
  const Trained want = Train(make(Device::Cpu(), Device::Cpu()), {}, {});
  ExpectSame(Train(make(Emulated(0), Emulated(1)), {}, {Emulated(0), Emulated(1)}), want);
  ExpectSame(Train(make(Device::Cpu(), Emulated(0)), {}, {Emulated(0)}), want);
}

}  // namespace
}  // namespace sinter
