// Kernels that users write, from declaration to results, on the CPU or on the device in SINTER_TEST_DEVICE.
#include "sinter/frontend/ops/elementwise_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sinter/codegen/cpu/compile_cpp.h"
#include "sinter/codegen/cuda/nvrtc.h"
#include "sinter/runtime/host/half.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

template <typename T>
std::vector<T> Values(const HostTensor& tensor) {
  auto values = tensor.Span<T>();
  SINTER_CHECK(values.ok()) << values.status();
  return std::vector<T>(values->begin(), values->end());
}

std::vector<float> Ramp(size_t count, float from, float step) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = from + step * static_cast<float>(i);
  return values;
}

class ElementwiseKernelTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (TestDevice().is_gpu() && TestDevice().index() >= NumGpus()) GTEST_SKIP() << "this machine has 0 GPUs";
    if (TestDevice().is_cpu() && !codegen::HasCppCompiler())
      GTEST_SKIP() << "built without the Clang library";
  }

  static CompileOptions Options() { return {.device = TestDevice()}; }
  Session Start(const Graph& graph) { return MustStart(graph, Options()); }
};

const ElementwiseKernel& SquaredDiff() {
  static const ElementwiseKernel kernel("T x, T y", "T z", "z = (x - y) * (x - y)", "squared_diff",
                                        {.gradient = [](const ElementwiseValues& v) -> std::vector<Tensor> {
                                          Tensor d = 2.0 * (v.inputs[0] - v.inputs[1]) * v.gradients[0];
                                          return {d, -d};
                                        }});
  return kernel;
}

TEST_F(ElementwiseKernelTest, EqualsTheGraphOfPrimitiveOps) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = b.Input("x", F32, {100, 33}), y = b.Input("y", F32, {100, 33});
    Tensor d = x - y;
    b.Output("user", SquaredDiff()({x, y}));
    b.Output("ops", d * d);
  });
  Session session = Start(graph);
  HostTensor x = *HostTensor::FromVector<float>({100, 33}, Ramp(3300, -7, 0.37f));
  HostTensor y = *HostTensor::FromVector<float>({100, 33}, Ramp(3300, 11, -0.013f));
  auto outputs = session.Run("f", {{"x", x}, {"y", y}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(ToFloats((*outputs)["user"]), ToFloats((*outputs)["ops"]));
}

TEST_F(ElementwiseKernelTest, BroadcastsInputsAndTakesNumbers) {
  ElementwiseKernel kernel("T x, T row, T scale, int32 shift", "T z", "z = scale * (x + row) + shift",
                           "affine");
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    Tensor z = kernel({b.Input("x", F32, {2, 1}), b.Input("row", F32, {3}), 10.0, 5.0});
    EXPECT_EQ(z.shape(), (Shape{2, 3}));
    EXPECT_EQ(z.dtype(), F32);
    b.Output("z", z);
  });
  Session session = Start(graph);
  HostTensor x = *HostTensor::FromVector<float>({2, 1}, {1, 2});
  HostTensor row = *HostTensor::FromVector<float>({3}, {100, 200, 300});
  EXPECT_THAT(Floats(session, "f", {{"x", x}, {"row", row}}, "z"),
              ElementsAre(1015, 2015, 3015, 1025, 2025, 3025));
}

TEST_F(ElementwiseKernelTest, MixesElementTypes) {
  ElementwiseKernel kernel("T x, bfloat16 y, int8 k, bool on", "float32 z, T half, int64 wide",
                           "T sum = x + y; z = on ? sum * k : 0; half = sum / 2; wide = 4000000000 + k;",
                           "mixed");
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    std::vector<Tensor> all =
        kernel.All({Cast(b.Input("x", F32, {3}), F16), Cast(b.Input("y", F32, {3}), BF16),
                    b.Input("k", I8, {3}), b.Input("on", I1, {3})});
    EXPECT_EQ(all[1].dtype(), F16);
    b.Output("z", all[0]);
    b.Output("half", Cast(all[1], F32));
    b.Output("wide", all[2]);
  });
  Session session = Start(graph);
  HostTensor x = *HostTensor::FromVector<float>({3}, {1, 0.1f, -4});
  HostTensor y = *HostTensor::FromVector<float>({3}, {2, 3.14159f, 8});
  HostTensor k = *HostTensor::FromVector<int8_t>({3}, {-3, 5, 7});
  HostTensor on = *HostTensor::Zeros(I1, {3});
  const char bits[] = {1, 1, 0};
  std::memcpy(on.mutable_data(), bits, sizeof(bits));
  auto outputs = session.Run("f", {{"x", x}, {"y", y}, {"k", k}, {"on", on}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  // 0.1 in f16 and 3.14159 in bf16; their sum is rounded to neither.
  const float sum = 0.0999755859375f + 3.140625f;
  EXPECT_THAT(ToFloats((*outputs)["z"]), ElementsAre(-9, sum * 5, 0));
  EXPECT_THAT(ToFloats((*outputs)["half"]), ElementsAre(1.5f, Float16::FromFloat(sum / 2).ToFloat(), 2));
  EXPECT_THAT(Values<int64_t>((*outputs)["wide"]), ElementsAre(3999999997, 4000000005, 4000000007));
}

// Joins many arrays. Each i finds its array by bisection, starting from the array of the previous i.
TEST_F(ElementwiseKernelTest, GathersRawArraysWithStateBetweenIterations) {
  ElementwiseKernel gather("raw float32 a, raw float16 b, raw float32 c, raw T info", "raw float32 dst",
                           R"(
      int id_min = id_pre;
      int id_max = num_src;
      if (i < info[id_min]) id_min = 0;
      while (id_max - id_min > 1) {
        int id = (id_max + id_min) / 2;
        if (i < info[id]) id_max = id;
        else id_min = id;
      }
      int id = id_min;
      int i_src = i;
      if (id > 0) i_src -= info[id];
      if (id == 0) dst[i] = a[i_src];
      else if (id == 1) dst[i] = static_cast<float>(b[i_src]);
      else dst[i] = c[i_src];
      id_pre = id;
  )",
                           "memcpy_gather", {.prologue = "int num_src = 3; int id_pre = 0;"});
  const std::vector<float> a = Ramp(30001, 0, 1), b = Ramp(1999, -500, 0.5f), c = Ramp(54321, 7, -0.25f);
  const int64_t total = static_cast<int64_t>(a.size() + b.size() + c.size());
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& builder) {
    Tensor half = Cast(builder.Input("b", F32, {1999}), F16);
    builder.Output("dst", gather({builder.Input("a", F32, {30001}), half, builder.Input("c", F32, {54321}),
                                  builder.Input("info", I32, {3})},
                                 {.size = total, .raw_shapes = {{total}}}));
  });
  Session session = Start(graph);
  HostTensor info = *HostTensor::FromVector<int32_t>({3}, {0, 30001, 32000});
  std::vector<float> got = Floats(session, "f",
                                  {{"a", *HostTensor::FromVector<float>({30001}, a)},
                                   {"b", *HostTensor::FromVector<float>({1999}, b)},
                                   {"c", *HostTensor::FromVector<float>({54321}, c)},
                                   {"info", info}},
                                  "dst");
  std::vector<float> want(static_cast<size_t>(total));
  std::memcpy(want.data(), a.data(), a.size() * sizeof(float));
  std::memcpy(want.data() + a.size(), b.data(), b.size() * sizeof(float));
  std::memcpy(want.data() + a.size() + b.size(), c.data(), c.size() * sizeof(float));
  EXPECT_EQ(got, want);
}

TEST_F(ElementwiseKernelTest, KnowsNumberSizeTypesAndHelperFunctions) {
  ElementwiseKernel kernel("raw T x", "T z, int64 at",
                           "if (i % 2 == 0) return;  // Leaves zeros.\n"
                           "z = twice(x[n - 1 - i]) + T(x.size()); at = i + _ind.size()",
                           "names", {.preamble = "__device__ float twice(float x) { return 2 * x; }"});
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    std::vector<Tensor> all = kernel.All({b.Input("x", F32, {4})}, {.size = 3});
    EXPECT_EQ(all[0].shape(), Shape{3});
    b.Output("z", all[0]);
    b.Output("at", all[1]);
  });
  Session session = Start(graph);
  HostTensor x = *HostTensor::FromVector<float>({4}, {1, 10, 100, 1000});
  auto outputs = session.Run("f", {{"x", x}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(ToFloats((*outputs)["z"]), ElementsAre(0, 24, 0));
  EXPECT_THAT(Values<int64_t>((*outputs)["at"]), ElementsAre(0, 4, 0));
}

TEST_F(ElementwiseKernelTest, MayHaveNoTensorAndNoElements) {
  ElementwiseKernel count("", "int32 z", "z = i * i", "count");
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    b.Output("z", count({}, {.size = 5, .builder = &b}));
    b.Output("none", SquaredDiff()({b.Input("x", F32, {0, 3}), 1.0}));
  });
  Session session = Start(graph);
  auto outputs = session.Run("f", {{"x", *HostTensor::Zeros(F32, {0, 3})}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_THAT(Values<int32_t>((*outputs)["z"]), ElementsAre(0, 1, 4, 9, 16));
  EXPECT_EQ((*outputs)["none"].shape(), (std::vector<int64_t>{0, 3}));
}

TEST_F(ElementwiseKernelTest, GradientAgreesWithFiniteDifferences) {
  // A gradient of several outputs, with an integer and a raw input. The row is broadcast.
  ElementwiseKernel kernel("T x, raw T table, int32 at", "T p, T q", "p = x * table[at]; q = x * x;", "terms",
                           {.gradient = [](const ElementwiseValues& v) -> std::vector<Tensor> {
                             Tensor picked = Gather(v.inputs[1], v.inputs[2], 0);
                             Tensor x = v.gradients[0] * picked + 2.0 * v.gradients[1] * v.inputs[0];
                             Tensor none = 0.0 * v.inputs[1];
                             return {x, ScatterAdd(none, v.inputs[2], v.gradients[0] * v.inputs[0], 0),
                                     Tensor()};
                           }});
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F64, {3}), table = b.Input("table", F64, {4});
    Tensor at = b.Constant(*HostTensor::FromVector<int32_t>({3}, {2, 0, 2}));
    std::vector<Tensor> all = kernel.All({x, table, at});
    Tensor loss = Sum(Sin(all[0])) + Sum(all[1] * all[0]) + Sum(SquaredDiff()({x, 0.25}));
    std::vector<Tensor> gradients = Gradients(loss, {x, table});
    b.Output("loss", loss);
    b.Output("dx", gradients[0]);
    b.Output("dtable", gradients[1]);
  });
  Session session = Start(graph);
  std::vector<double> x = {0.3, -1.2, 0.7}, table = {0.5, 0.9, -0.4, 2};
  auto run = [&] {
    auto outputs = session.Run("f", {{"x", *HostTensor::FromVector<double>({3}, x)},
                                     {"table", *HostTensor::FromVector<double>({4}, table)}});
    SINTER_CHECK(outputs.ok()) << outputs.status();
    return *std::move(outputs);
  };
  // Copies the results: the next run overwrites them.
  Outputs outputs = run();
  const std::vector<double> dx = Values<double>(outputs["dx"]), dtable = Values<double>(outputs["dtable"]);
  for (auto [values, gradient] : {std::pair(&x, &dx), std::pair(&table, &dtable)}) {
    const std::vector<double>& got = *gradient;
    ASSERT_EQ(got.size(), values->size());
    for (size_t i = 0; i < values->size(); ++i) {
      constexpr double kStep = 1e-6;
      const double at = (*values)[i];
      (*values)[i] = at + kStep;
      const double above = Values<double>(run()["loss"])[0];
      (*values)[i] = at - kStep;
      const double below = Values<double>(run()["loss"])[0];
      (*values)[i] = at;
      EXPECT_NEAR(got[i], (above - below) / (2 * kStep), 1e-7) << i;
    }
  }
}

TEST_F(ElementwiseKernelTest, RunsOnTheDeviceOfItsInputs) {
  if (TestDevice().is_gpu()) GTEST_SKIP() << "uses two CPU devices";
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    Tensor x = Copy(b.Input("x", F32, {4}), Device::Cpu(1));
    Tensor z = SquaredDiff()({x, 1.0});
    EXPECT_EQ(z.device(), Device::Cpu(1));
    b.Output("dx", Gradients(Sum(z), {x})[0]);
  });
  absl::StatusOr<Plan> plan = Compile(graph);
  EXPECT_TRUE(plan.ok()) << plan.status();
}

TEST_F(ElementwiseKernelTest, BecomesVectorCode) {
  if (TestDevice().is_gpu()) GTEST_SKIP() << "of the CPU's code";
  ElementwiseKernel kernel("T x, T y", "T z", "z = exp(x) * (x - y)", "weigh");
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    b.Output("z", kernel({b.Input("x", F32, {1000}), b.Input("y", F32, {1000})}));
  });
  CompileReport report;
  CompileOptions options;
  options.target_cpu = "x86-64-v3";
  options.dump_stages = {"assembly"};
  setenv("SINTER_CPU_OPTIMIZATION", "3", /*overwrite=*/1);
  absl::StatusOr<Plan> plan = Compile(graph, options, &report);
  unsetenv("SINTER_CPU_OPTIMIZATION");
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(report.dumps["assembly"],
              AllOf(HasSubstr("vsubps"), HasSubstr("%ymm"), Not(HasSubstr("callq\texp"))));
}

TEST_F(ElementwiseKernelTest, PlansAreTheSameBytes) {
  auto build = [] {
    Graph graph("g");
    graph.Function("f", Mode::kTrain, [](Builder& b) {
      Tensor x = b.Input("x", F32, {8});
      b.Output("z", SquaredDiff()({x, 1.0}) + SquaredDiff()({x, 2.0}));
    });
    return Compile(graph, Options());
  };
  absl::StatusOr<Plan> first = build(), second = build();
  ASSERT_TRUE(first.ok()) << first.status();
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(std::ranges::equal(first->bytes(), second->bytes()));
}

// Returns the C++ compiler's message with the user's line.
std::string ErrorOfBody(const std::string& body, const CompileOptions& options,
                        ElementwiseOptions more = {}) {
  ElementwiseKernel kernel("T x", "T z", body, "bad", std::move(more));
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) { b.Output("z", kernel({b.Input("x", F32, {4})})); });
  absl::Status status = Compile(graph, options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  return std::string(status.message());
}

TEST_F(ElementwiseKernelTest, NamesTheLineOfABodyThatDoesNotCompile) {
  if (TestDevice().is_gpu()) GTEST_SKIP() << "of the CPU's compiler";
  EXPECT_THAT(ErrorOfBody("z = x;\nz = q * x;", {}),
              AllOf(HasSubstr("elementwise_kernel_test.cc:"), HasSubstr("the kernel \"bad\", defined at "),
                    HasSubstr("does not compile:\nbad (body):2:5: error: use of undeclared identifier 'q'")));
  EXPECT_THAT(ErrorOfBody("z = k", {}, {.prologue = "int k = later;"}),
              HasSubstr("bad (prologue):1:9: error:"));
  EXPECT_THAT(ErrorOfBody("z = x", {}, {.epilogue = "x;"}), HasSubstr("bad (epilogue):1:1: error:"));
  EXPECT_THAT(ErrorOfBody("z = x", {}, {.preamble = "int f( {}"}), HasSubstr("bad (preamble):1:"));
  EXPECT_THAT(ErrorOfBody("x = 1", {}), HasSubstr("const"));
  EXPECT_THAT(ErrorOfBody("break;", {}), HasSubstr("'break' statement not in loop"));
  EXPECT_THAT(ErrorOfBody("z = x", {}, {.preamble = "#include <cmath>"}),
              HasSubstr("'cmath' file not found"));
  EXPECT_THAT(ErrorOfBody("z = sinh(x)", {}), HasSubstr("use of undeclared identifier 'sinh'"));
  EXPECT_THAT(ErrorOfBody("z = sinhf(x)", {}, {.preamble = "extern \"C\" float sinhf(float);"}),
              AllOf(HasSubstr("the kernel \"bad\""),
                    HasSubstr("the function sinhf is declared, called and not defined")));
  EXPECT_THAT(
      ErrorOfBody("z = x + one", {}, {.preamble = "float f(); float one = f(); float f() { return 1; }"}),
      HasSubstr("must be constructed before it runs; give them constant initial values"));
}

TEST_F(ElementwiseKernelTest, NamesTheLineOfABodyThatNvrtcRefuses) {
  if (auto nvrtc = codegen::Nvrtc::Get(); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  CompileOptions options{.device = Device::Gpu(), .gpu_architectures = {"sm_90"}};
  EXPECT_THAT(ErrorOfBody("z = x;\nz = q * x;", options),
              AllOf(HasSubstr("elementwise_kernel_test.cc:"), HasSubstr("the kernel \"bad\", defined at "),
                    HasSubstr("does not compile:\n"),
                    HasSubstr("bad (body)(2): error: identifier \"q\" is undefined")));
  EXPECT_THAT(ErrorOfBody("z = k", options, {.prologue = "int k = later;"}),
              HasSubstr("bad (prologue)(1): error:"));
}

// Everything that the CPU tests use also compiles with NVRTC.
TEST_F(ElementwiseKernelTest, CompilesForGpus) {
  if (auto nvrtc = codegen::Nvrtc::Get(); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  ElementwiseKernel kernel(
      "T x, float16 h, bfloat16 w, raw float16 table, U k", "T z, float16 half, bool on",
      "id += abs(k); z = exp(x) * h + min(x, 2) + w + table[i % table.size()] + fmod(x, 2.f) + pow(x, 2) + "
      "rsqrtf(x);\n"
      "half = fma(x, x, T(M_PI)) + atan2(x, h) + copysign(1, x) + max(k, 3) + erf(h) + round(2.5);\n"
      "const float16* from = table + 1; on = isnan(x) || isfinite(x) || isinf(h) || x == INFINITY || from != "
      "NULL;\n"
      "if (n == _ind.size()) return; z += scale(x) + NAN;",
      "everything",
      {.preamble = "__device__ float scale(float x) { return sqrtf(x); }", .prologue = "int64_t id = 0;"});
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {2, 5});
    std::vector<Tensor> all =
        kernel.All({x, Cast(x, F16), Cast(x, BF16), Cast(x, F16), b.Input("k", I32, {5})});
    b.Output("z", all[0]);
    b.Output("half", all[1]);
    b.Output("on", all[2]);
  });
  CompileReport report;
  absl::StatusOr<Plan> plan = Compile(
      graph, {.device = Device::Gpu(), .gpu_architectures = {"sm_90"}, .dump_stages = {"cuda"}}, &report);
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_THAT(report.dumps["cuda"], HasSubstr("#line 1 \"everything (body)\""));
  EXPECT_TRUE(Compile(graph).ok());
}

TEST_F(ElementwiseKernelTest, WithoutAGradientDifferentiatingNamesTheLine) {
  ElementwiseKernel twice("T x", "T z", "z = 2 * x", "twice");
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {4});
    b.Output("dx", Gradients(Sum(twice({x})), {x})[0]);
  });
  absl::Status status = Compile(graph, Options()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("elementwise_kernel_test.cc:"),
            HasSubstr("\"twice\" has no gradient; give the kernel one, ElementwiseOptions::gradient, or use "
                      "StopGradient if that is intended"),
            HasSubstr("the gradient is wanted here")));
}

// Wrong calls and declarations ------------------------------------------------------------------------------

std::string ErrorOf(const std::function<void(Builder&, Tensor x)>& build) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [&](Builder& b) { build(b, b.Input("x", F32, {4})); });
  EXPECT_THAT(std::string(graph.status().message()), HasSubstr("elementwise_kernel_test.cc:"));
  return std::string(graph.status().message());
}

TEST(ElementwiseKernelErrorTest, OfDeclarations) {
  auto declared = [](const char* inputs, const char* outputs, const char* name) {
    return ErrorOf([&](Builder&, Tensor x) { ElementwiseKernel(inputs, outputs, "", name)({x}); });
  };
  EXPECT_THAT(declared("T i", "T z", "k"),
              HasSubstr("ElementwiseKernel \"k\" has the parameter \"T i\": i is reserved"));
  EXPECT_THAT(declared("T x", "Q2 z", "k"), HasSubstr("there is no type Q2"));
  EXPECT_THAT(declared("T x", "T x", "k"), HasSubstr("has two parameters named x"));
  EXPECT_THAT(declared("T x", "", "k"), HasSubstr("has no output"));
  EXPECT_THAT(declared("T x", "T z", ""), HasSubstr("has no name"));
}

TEST(ElementwiseKernelErrorTest, OfCalls) {
  ElementwiseKernel two("T x, T y", "T z", "z = x", "two"), pair("T x", "T z, T w", "", "pair");
  EXPECT_THAT(ErrorOf([&](Builder&, Tensor x) { two({x}); }), HasSubstr("two(f32[4]) takes 2 inputs, not 1"));
  EXPECT_THAT(
      ErrorOf([&](Builder&, Tensor x) { two({x, Cast(x, F64)}); }),
      HasSubstr(
          "takes another type for y than f64: T is f32 for the inputs before; convert it, Cast(x, f32)"));
  EXPECT_THAT(ErrorOf([&](Builder&, Tensor x) { ElementwiseKernel("int32 x", "T z", "", "k")({x}); }),
              HasSubstr("takes another type for x than f32: it is declared i32"));
  EXPECT_THAT(
      ErrorOf([&](Builder&, Tensor x) { ElementwiseKernel("T x", "U z", "", "k")({x}); }),
      HasSubstr(
          "cannot deduce the type U of the output z: no input has it; declare the output with a letter of "
          "the inputs, or with a type such as float32 z"));
  EXPECT_THAT(ErrorOf([&](Builder& b, Tensor x) { two({x, b.Input("y", F32, {3})}); }),
              HasSubstr("takes shapes that broadcast"));
  EXPECT_THAT(ErrorOf([&](Builder&, Tensor x) { pair({x}); }),
              HasSubstr("has 2 outputs; take all of them, pair.All({...})"));
  EXPECT_THAT(
      ErrorOf([&](Builder&, Tensor x) { ElementwiseKernel("T x, U y", "T z", "", "k")({x, 2.0}); }),
      HasSubstr("takes a number for y, whose type U no tensor decides; declare it, such as float32 y"));
  EXPECT_THAT(
      ErrorOf([&](Builder&, Tensor x) { ElementwiseKernel("T x, int32 y", "T z", "", "k")({x, 2.5}); }),
      HasSubstr("takes another number for y: 2.5 is not a number of type"));
  EXPECT_THAT(
      ErrorOf([&](Builder&, Tensor x) { ElementwiseKernel("T x, raw T y", "T z", "", "k")({x, 2.0}); }),
      HasSubstr("takes a tensor for y, which is raw, not a number"));
}

TEST(ElementwiseKernelErrorTest, OfSizes) {
  ElementwiseKernel raw("raw T x", "T z", "z = x[i]", "raw"), two("T x, T y", "T z", "z = x", "two"),
      scatter("T x", "raw T z", "z[i] = x", "scatter");
  EXPECT_THAT(ErrorOf([&](Builder&, Tensor x) { raw({x}); }),
              HasSubstr("has no input that is not raw to take its size from; give it, {.size = ...}"));
  EXPECT_THAT(ErrorOf([&](Builder&, Tensor x) { raw({x}, {.size = -1}); }), HasSubstr("has the size -1"));
  EXPECT_THAT(ErrorOf([&](Builder&, Tensor x) { two({x, x}, {.size = 4}); }),
              HasSubstr("has its size from the inputs that are not raw; leave ElementwiseCall::size out"));
  EXPECT_THAT(
      ErrorOf([&](Builder&, Tensor x) { scatter({x}); }),
      HasSubstr("has 1 raw outputs and was given 0 shapes for them; give each one, {.raw_shapes = {{...}}}"));
  EXPECT_THAT(ErrorOf([&](Builder&, Tensor x) { scatter({x}, {.raw_shapes = {{2, -2}}}); }),
              HasSubstr("has a raw output of the shape [2,-2], which has a negative size"));
}

TEST(ElementwiseKernelErrorTest, OfGradients) {
  auto with = [](std::function<std::vector<Tensor>(const ElementwiseValues&)> gradient) {
    return ErrorOf([&](Builder& b, Tensor x) {
      ElementwiseKernel("T x, int32 k", "T z", "z = x", "k",
                        {.gradient = gradient})({x, b.Input("k", I32, {4})});
    });
  };
  EXPECT_THAT(
      with([](const ElementwiseValues& v) -> std::vector<Tensor> { return {v.gradients[0]}; }),
      HasSubstr(
          "has a gradient of 1 tensors; it gives one for each of the 2 inputs, Tensor() for one that is not "
          "of floats"));
  EXPECT_THAT(
      with([](const ElementwiseValues& v) -> std::vector<Tensor> { return {Sum(v.gradients[0]), Tensor()}; }),
      HasSubstr("has a gradient that gives f32[] for x, which is f32[4]"));
  EXPECT_THAT(
      with([](const ElementwiseValues& v) -> std::vector<Tensor> { return {v.gradients[0], v.inputs[1]}; }),
      HasSubstr("gives i32[4] for k, which is i32[4]: Tensor() for what is not of floats"));
  EXPECT_THAT(with([](const ElementwiseValues& v) -> std::vector<Tensor> {
                return {Dropout(v.gradients[0], 0.5), Tensor()};
              }),
              HasSubstr("has a gradient that reads variables or draws random numbers"));
}

}  // namespace
}  // namespace sinter
