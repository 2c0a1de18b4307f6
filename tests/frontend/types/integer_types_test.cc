// The integer types of 16 to 64 bits, signed and unsigned, in programs: numbers, arithmetic, orders, casts,
// reductions, fused kernels, variables, files, and plans for GPUs.
//
// SINTER_TEST_DEVICE=gpu:0 runs the tests on this GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>

#include "sinter/codegen/cuda/nvrtc.h"
#include "sinter/runtime/formats/npy.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/tests/frontend/run_graph.h"
#include "sinter/tests/temporary_folder.h"

namespace sinter {
namespace {

// Runs the graph's function f once. (No template: g++ 12 fails on sessions in one.)
using Results = std::map<std::string, HostTensor>;
Results RunOnce(const Graph& graph, const std::vector<Argument>& arguments) {
  Session session = MustStart(graph, {.device = TestDevice()});
  auto outputs = session.Run("f", arguments);
  SINTER_CHECK(outputs.ok()) << outputs.status();
  Results results;
  for (size_t i = 0; i < outputs->size(); ++i) {
    results[std::string(outputs->name(i))] = *outputs->tensor(i).Clone();
  }
  return results;
}

// Returns a variable after one run, in another session that loads its checkpoint.
HostTensor ThroughCheckpoint(const Graph& graph, const std::string& name, const std::string& path) {
  Session session = MustStart(graph, {.device = TestDevice()});
  SINTER_CHECK(session.Run("f", {}).ok());
  SINTER_CHECK(SaveCheckpoint(session, path).ok());
  Session other = MustStart(graph, {.device = TestDevice()});
  SINTER_CHECK(LoadCheckpoint(other, path).ok());
  return *other.ReadVariable(name);
}

template <typename T>
class IntegerTypesTest : public DeviceTest {
 protected:
  static constexpr DType kType = DTypeOf<T>();
  static constexpr T kMost = std::numeric_limits<T>::max(), kLeast = std::numeric_limits<T>::min();

  static HostTensor Of(const std::vector<T>& values) {
    return *HostTensor::FromVector<T>({static_cast<int64_t>(values.size())}, values);
  }
  template <typename R>
  static std::vector<R> ValuesOf(const HostTensor& tensor) {
    auto values = tensor.Span<R>();
    SINTER_CHECK(values.ok()) << values.status();
    return std::vector<R>(values->begin(), values->end());
  }
  // Runs the outputs that `body` makes of inputs x and y.
  static Results Run(const std::vector<T>& x, const std::vector<T>& y,
                     const std::function<void(Builder&, Tensor, Tensor)>& body) {
    Graph graph("g");
    const Shape shape = {static_cast<int64_t>(x.size())};
    graph.Function("f", Mode::kEval,
                   [&](Builder& b) { body(b, b.Input("x", kType, shape), b.Input("y", kType, shape)); });
    std::vector<Argument> arguments;
    const HostTensor tx = Of(x), ty = Of(y);
    arguments.emplace_back("x", tx);
    arguments.emplace_back("y", ty);
    return RunOnce(graph, arguments);
  }
};

using Types = ::testing::Types<int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t, uint64_t>;
TYPED_TEST_SUITE(IntegerTypesTest, Types);

TYPED_TEST(IntegerTypesTest, ArithmeticWraps) {
  using T = TypeParam;
  const T most = this->kMost, least = this->kLeast;
  const std::vector<T> x = {most, least, most, T(7), T(100), least}, y = {T(1), T(1), most, T(3), T(0), most};
  Results got = this->Run(x, y, [](Builder& b, Tensor p, Tensor q) {
    b.Output("sum", p + q);
    b.Output("difference", p - q);
    b.Output("product", p * q);
    b.Output("quotient", p / q);
    b.Output("remainder", Rem(p, q));
    b.Output("larger", Maximum(p, q));
    b.Output("smaller", Minimum(p, q));
    b.Output("is_less", p < q);
    b.Output("negative", -p);
    b.Output("fused", Select(p > q, (p + q) * q - p, Abs(q)));
  });
  for (size_t i = 0; i < x.size(); ++i) {
    const auto at = [&](const char* name) { return this->template ValuesOf<T>(got[name])[i]; };
    const auto a = static_cast<uint64_t>(x[i]), c = static_cast<uint64_t>(y[i]);
    EXPECT_EQ(at("sum"), static_cast<T>(a + c));
    EXPECT_EQ(at("difference"), static_cast<T>(a - c));
    EXPECT_EQ(at("product"), static_cast<T>(a * c));
    EXPECT_EQ(at("quotient"), y[i] == 0 ? T(0) : static_cast<T>(x[i] / y[i]));
    EXPECT_EQ(at("remainder"), y[i] == 0 ? T(0) : static_cast<T>(x[i] % y[i]));
    EXPECT_EQ(at("larger"), std::max(x[i], y[i]));
    EXPECT_EQ(at("smaller"), std::min(x[i], y[i]));
    EXPECT_EQ(this->template ValuesOf<bool>(got["is_less"])[i], x[i] < y[i]);
    EXPECT_EQ(at("negative"), static_cast<T>(uint64_t{0} - a));
    const T positive = y[i] > 0 ? y[i] : static_cast<T>(uint64_t{0} - c);
    EXPECT_EQ(at("fused"), x[i] > y[i] ? static_cast<T>((a + c) * c - a) : positive);
  }
}

TYPED_TEST(IntegerTypesTest, ReductionsAndOrders) {
  using T = TypeParam;
  const T most = this->kMost, least = this->kLeast;
  Results got = this->Run({T(5), most, least, T(5), T(0)}, {T(1), T(2), T(3), T(4), T(5)},
                          [](Builder& b, Tensor x, Tensor y) {
                            b.Output("sum", Sum(x));
                            b.Output("product", Prod(y));
                            b.Output("max", Max(x));
                            b.Output("min", Min(x));
                            b.Output("argmax", ArgMax(x, 0));
                            b.Output("argmin", ArgMin(x, 0));
                            b.Output("running", CumSum(x, 0));
                            b.Output("sorted", Sort(x).values);
                            b.Output("top", TopK(x, 2).values);
                            b.Output("rows", Gather(x, Cast(Reverse(b.Iota(I32, {5}, 0), {0}), I32), 0));
                            b.Output("counted", b.Iota(x.dtype(), {3}, 0));
                            b.Output("scattered", ScatterAdd(x, b.Iota(I32, {5}, 0), y, 0));
                          });
  const auto all = [&](const char* name) { return this->template ValuesOf<T>(got[name]); };
  const auto wrap = [](uint64_t value) { return static_cast<T>(value); };
  const auto total = static_cast<uint64_t>(most) + static_cast<uint64_t>(least) + 10;
  EXPECT_THAT(all("sum"), ::testing::ElementsAre(wrap(total)));
  EXPECT_THAT(all("product"), ::testing::ElementsAre(T(120)));
  EXPECT_THAT(all("max"), ::testing::ElementsAre(most));
  EXPECT_THAT(all("min"), ::testing::ElementsAre(least));
  EXPECT_THAT(this->template ValuesOf<int32_t>(got["argmax"]), ::testing::ElementsAre(1));
  EXPECT_THAT(this->template ValuesOf<int32_t>(got["argmin"]), ::testing::ElementsAre(2));
  EXPECT_THAT(all("running"), ::testing::ElementsAre(T(5), wrap(static_cast<uint64_t>(most) + 5),
                                                     wrap(total - 5), wrap(total), wrap(total)));
  std::vector<T> sorted = {T(5), most, least, T(5), T(0)};
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(all("sorted"), sorted);
  EXPECT_THAT(all("top"), ::testing::ElementsAre(most, T(5)));
  EXPECT_THAT(all("rows"), ::testing::ElementsAre(T(0), T(5), least, most, T(5)));
  EXPECT_THAT(all("counted"), ::testing::ElementsAre(T(0), T(1), T(2)));
  EXPECT_THAT(all("scattered"), ::testing::ElementsAre(T(6), wrap(static_cast<uint64_t>(most) + 2),
                                                       wrap(static_cast<uint64_t>(least) + 3), T(9), T(5)));
}

// Floats that no element holds become the nearest that one holds, and NaN becomes 0.
TYPED_TEST(IntegerTypesTest, CastsFromFloatsSaturate) {
  using T = TypeParam;
  const double bound = std::ldexp(1.0, std::numeric_limits<T>::digits);
  const std::vector<double> values = {-1e30, -1.5, -0.5, 0.5, 2.9, bound, 1e30, NAN, INFINITY, -INFINITY};
  Graph graph("g");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor x = b.Input("x", F64, {10});
    b.Output("y", Cast(x, this->kType));
    b.Output("z", Cast(Cast(x, F32), this->kType));
  });
  std::vector<Argument> arguments;
  const HostTensor tx = *HostTensor::FromVector<double>({10}, values);
  arguments.emplace_back("x", tx);
  Results outputs = RunOnce(graph, arguments);
  const T most = this->kMost, least = this->kLeast;
  const T below = std::is_signed_v<T> ? T(-1) : T(0);
  for (const char* name : {"y", "z"}) {
    EXPECT_THAT(this->template ValuesOf<T>(outputs[name]),
                ::testing::ElementsAre(least, below, T(0), T(0), T(2), most, most, T(0), most, least));
  }
}

TYPED_TEST(IntegerTypesTest, CastsToFloatsAndIntegers) {
  using T = TypeParam;
  const std::vector<T> x = {this->kLeast, this->kMost, T(0), T(100), static_cast<T>(this->kMost - T(1))};
  Results got = this->Run(x, x, [](Builder& b, Tensor t, Tensor) {
    b.Output("f64", Cast(t, F64));
    b.Output("f32", Cast(t, F32));
    b.Output("i1", Cast(t, I1));
    b.Output("u16", Cast(t, U16));
    b.Output("i64", Cast(t, I64));
    b.Output("u64", Cast(t, U64));
  });
  for (size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(this->template ValuesOf<double>(got["f64"])[i], static_cast<double>(x[i]));
    EXPECT_EQ(this->template ValuesOf<float>(got["f32"])[i], static_cast<float>(x[i]));
    EXPECT_EQ(this->template ValuesOf<bool>(got["i1"])[i], x[i] != 0);
    EXPECT_EQ(this->template ValuesOf<uint16_t>(got["u16"])[i], static_cast<uint16_t>(x[i]));
    EXPECT_EQ(this->template ValuesOf<int64_t>(got["i64"])[i], static_cast<int64_t>(x[i]));
    EXPECT_EQ(this->template ValuesOf<uint64_t>(got["u64"])[i], static_cast<uint64_t>(x[i]));
  }
}

TYPED_TEST(IntegerTypesTest, NumbersConstantsAndClampsAreExact) {
  using T = TypeParam;
  const T most = this->kMost, least = this->kLeast, near = static_cast<T>(most - T(1));
  Results got = this->Run({T(1), near}, {T(0), T(0)}, [&](Builder& b, Tensor x, Tensor) {
    b.Output("full", b.Full(this->kType, {2}, most));
    b.Output("added", x + least);
    b.Output("equal", Equal(x, near));
    b.Output("clamped", Clamp(x, T(2), near));
    b.Output("padded", Pad(x, {1}, {0}, near));
    b.Output("constant", b.Constant(this->Of({most, least, near})));
  });
  const auto all = [&](const char* name) { return this->template ValuesOf<T>(got[name]); };
  EXPECT_THAT(all("full"), ::testing::Each(most));
  EXPECT_THAT(all("added"),
              ::testing::ElementsAre(static_cast<T>(least + T(1)), static_cast<T>(least + near)));
  EXPECT_THAT(this->template ValuesOf<bool>(got["equal"]), ::testing::ElementsAre(false, true));
  EXPECT_THAT(all("clamped"), ::testing::ElementsAre(T(2), near));
  EXPECT_THAT(all("padded"), ::testing::ElementsAre(near, T(1), near));
  EXPECT_THAT(all("constant"), ::testing::ElementsAre(most, least, near));
}

// A variable, a checkpoint of it, and a NumPy file.
TYPED_TEST(IntegerTypesTest, VariablesCheckpointsAndFiles) {
  using T = TypeParam;
  Graph graph("g");
  const Variable count = graph.Variable("count", this->kType, {3}, {.init = {.a = 100}, .trainable = false});
  graph.Function("f", Mode::kTrain, [&](Builder& b) { b.Assign(count, b.Read(count) + 27); });
  const ScratchFolder folder;
  const HostTensor kept = ThroughCheckpoint(graph, "count", folder.File("c"));
  EXPECT_THAT(this->template ValuesOf<T>(kept), ::testing::Each(T(127)));
  const HostTensor tensor = this->Of({this->kMost, this->kLeast, T(9)});
  ASSERT_TRUE(SaveNpy(folder.File("t.npy"), tensor).ok());
  auto loaded = LoadNpy(folder.File("t.npy"));
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->ToString(), std::string(DTypeName(this->kType)) + "[3]");
  EXPECT_THAT(this->template ValuesOf<T>(*loaded), ::testing::ElementsAre(this->kMost, this->kLeast, T(9)));
}

// Plans for a GPU that this machine need not have.
TEST(GpuTypesTest, PlansOfEachTypeCompile) {
  if (auto nvrtc = codegen::Nvrtc::Get(); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  Graph graph("g");
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    graph.Function("f_" + std::string(DTypeName(dtype)), Mode::kEval, [&](Builder& b) {
      const Tensor x = b.Input("x", dtype, {40, 33});
      b.Output("moved", Transpose(x, {1, 0}));
      b.Output("gathered", Gather(x, b.Input("rows", I32, {5}), 0));
      b.Output("floats", Cast(x, F32));
      b.Output("cast", Cast(b.Input("z", F32, {40, 33}), dtype));
      if (!IsNumber(dtype)) return;
      b.Output("fused", Sum(Maximum(x * x - 3, Rem(x, 2)), {1}));
      b.Output("most", ArgMax(x, 1));
      b.Output("running", CumSum(x, 1));
      b.Output("sorted", Sort(x).values);
      b.Output("top", TopK(x, 3).values);
    });
  }
  const absl::StatusOr<Plan> plan =
      Compile(graph, {.device = Device::Gpu(0), .gpu_architectures = {"sm_90"}});
  ASSERT_TRUE(plan.ok()) << plan.status();
  EXPECT_EQ(plan->Functions().size(), static_cast<size_t>(kNumDTypes));
}

}  // namespace
}  // namespace sinter
