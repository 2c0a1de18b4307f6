// The same plan and inputs give the same bits. The result does not depend on the number of threads, the
// cores, the alignment of the inputs, the contents of fresh memory, or CPU instructions beyond the plan's
// target.
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "sinter/frontend/sinter.h"
#include "sinter/runtime/host/sha256.h"
#include "sinter/runtime/tensor/tensor_bytes.h"
#include "sinter/tests/numerics/op_cases.h"
#include "sinter/tests/numerics/random_graph.h"

namespace sinter::numerics {
namespace {

// Returns values of all sizes and signs that differ between inputs. Integers are small enough for any index
// and class.
HostTensor InputValues(const TensorInfo& info, size_t seed) {
  HostTensor tensor = *HostTensor::Empty(info.dtype, info.shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const double x = std::sin(static_cast<double>(i) * (0.37 + 0.21 * static_cast<double>(seed)) + 0.3);
    switch (info.dtype) {
      case F64:
        (*tensor.MutableSpan<double>())[i] = x;
        break;
      case F32:
        (*tensor.MutableSpan<float>())[i] = static_cast<float>(x);
        break;
      case BF16:
        (*tensor.MutableSpan<BFloat16>())[i] = BFloat16::FromFloat(static_cast<float>(x));
        break;
      case F16:
        (*tensor.MutableSpan<Float16>())[i] = Float16::FromFloat(static_cast<float>(x));
        break;
      default:
        std::memset(MutableBytesOf(tensor).data() + i * SizeOf(info.dtype), 0, SizeOf(info.dtype));
        MutableBytesOf(tensor)[i * SizeOf(info.dtype)] =
            static_cast<std::byte>(i % (info.dtype == I1 ? 2 : 3));
    }
  }
  return tensor;
}

// Replaces each NaN by one canonical NaN: the bits of a NaN depend on the order of a multiplication's
// operands.
template <typename T>
void HashFloats(std::span<const T> values, Sha256& hash) {
  for (T value : values) {
    if (std::isnan(static_cast<double>(value))) value = std::numeric_limits<T>::quiet_NaN();
    hash.Update(std::as_bytes(std::span(&value, 1)));
  }
}
std::string Digest(const HostTensor& tensor) {
  Sha256 hash;
  if (tensor.dtype() == F32) {
    HashFloats(*tensor.Span<float>(), hash);
  } else if (tensor.dtype() == F64) {
    HashFloats(*tensor.Span<double>(), hash);
  } else {
    hash.Update(BytesOf(tensor));
  }
  return HexText(hash.Digest()).substr(0, 16);
}

struct Run {
  SessionOptions session = {};
  int64_t shift = 0;  // Offset of the inputs in bytes from a multiple of 64.
};

// Maps a name to a digest: every output of two runs of every function, then every variable.
using Digests = std::map<std::string, std::string>;

absl::StatusOr<Digests> DigestsOf(const Plan& plan, const Run& run) {
  absl::StatusOr<Session> session = Session::Create(plan.Share(), run.session);
  if (!session.ok()) return session.status();
  Digests digests;
  for (const FunctionInfo& function : plan.Functions()) {
    std::vector<HostTensor> inputs, rooms;
    std::vector<Argument> arguments;
    inputs.reserve(function.inputs.size());
    for (size_t i = 0; i < function.inputs.size(); ++i) {
      HostTensor values = InputValues(function.inputs[i], i);
      const size_t bytes = BytesOf(values).size();
      rooms.push_back(*HostTensor::Empty(U8, {static_cast<int64_t>(bytes) + 128}));
      std::byte* const place = MutableBytesOf(rooms.back()).data() + run.shift;
      std::memcpy(place, BytesOf(values).data(), bytes);
      inputs.push_back(*HostTensor::View(values.dtype(), function.inputs[i].shape, place));
      arguments.emplace_back(function.inputs[i].name, inputs.back());
    }
    for (int i = 0; i < 2; ++i) {
      absl::StatusOr<Outputs> outputs = session->Run(function.name, std::span<const Argument>(arguments));
      if (!outputs.ok()) return outputs.status();
      for (size_t o = 0; o < outputs->size(); ++o) {
        digests[function.name + "." + std::string(outputs->name(o)) + " of run " + std::to_string(i)] =
            Digest(outputs->tensor(o));
      }
    }
  }
  for (const VariableInfo& variable : plan.Variables()) {
    absl::StatusOr<HostTensor> value = session->ReadVariable(variable.name);
    if (!value.ok()) return value.status();
    digests["variable " + variable.name] = Digest(*value);
  }
  return digests;
}

std::string Difference(const Digests& got, const Digests& want) {
  std::string text;
  for (const auto& [name, digest] : want) {
    const auto found = got.find(name);
    if (found == got.end() || found->second != digest) text += name + "; ";
  }
  return text + (got.size() == want.size() ? "" : "another number of results");
}

// Returns the digests of a plan file, computed by a child process of this program under `environment`.
Digests DigestsOfChild(const std::string& path, const std::string& environment) {
  char self[4096] = {};
  EXPECT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
  const std::string command = "env " + environment + " SINTER_BITS_PLAN='" + path + "' '" + self +
                              "' --gtest_filter=BitsTest.PrintDigestsOfAPlan";
  std::FILE* const child = popen(command.c_str(), "r");
  Digests digests;
  for (char line[1024]; std::fgets(line, sizeof(line), child) != nullptr;) {
    const std::string text = line;
    const size_t at = text.find(" = ");
    if (text.starts_with("digest of ") && at != std::string::npos) {
      digests[text.substr(10, at - 10)] = text.substr(at + 3, 16);
    }
  }
  EXPECT_EQ(pclose(child), 0) << command;
  return digests;
}

void CheckPlan(const Plan& plan, const std::string& what) {
  const absl::StatusOr<Digests> want = DigestsOf(plan, {.session = {.threads = 1}});
  ASSERT_TRUE(want.ok()) << what << ": " << want.status();
  const auto expect_same = [&](const Run& run, const std::string& how) {
    const absl::StatusOr<Digests> got = DigestsOf(plan, run);
    ASSERT_TRUE(got.ok()) << what << ", " << how << ": " << got.status();
    EXPECT_EQ(Difference(*got, *want), "") << what << ", " << how << ", against one thread";
  };
  for (const int threads : {2, 3, 5, 8}) {
    expect_same({.session = {.threads = threads, .poison = threads == 3}, .shift = threads == 5 ? 8 : 0},
                std::to_string(threads) + " threads");
  }
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  expect_same({.session = {.threads = 0}}, "one core");
  ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
}

// `plan` is for x86-64-v3. This target keeps AVX-512 out of the plan's code only; libraries may still use it.
void CheckInstructions(const Plan& plan, const std::string& what) {
  const std::string path = ::testing::TempDir() + "/bits_" + std::to_string(getpid()) + ".plan";
  ASSERT_TRUE(plan.Save(path).ok());
  const absl::StatusOr<Digests> want = DigestsOf(plan, {.session = {.threads = 2}});
  ASSERT_TRUE(want.ok()) << want.status();
  for (const std::string cap : {"SINTER_CPU_LEVEL=x86-64-v3 DNNL_MAX_CPU_ISA=AVX2", "SINTER_NUM_THREADS=3"}) {
    EXPECT_EQ(Difference(DigestsOfChild(path, cap), *want), "") << what << ", " << cap;
  }
  std::remove(path.c_str());
}

CompileOptions ForV3() {
  CompileOptions options;
  options.target_cpu = "x86-64-v3";
  return options;
}

void CheckGraph(const Graph& graph, const std::string& what, const CompileOptions& options = {}) {
  absl::StatusOr<Plan> native = Compile(graph, options);
  ASSERT_TRUE(native.ok()) << what << ": " << native.status();
  CheckPlan(*native, what);
  CompileOptions v3 = options;
  v3.target_cpu = "x86-64-v3";
  absl::StatusOr<Plan> plan = Compile(graph, v3);
  ASSERT_TRUE(plan.ok()) << what << ": " << plan.status();
  CheckInstructions(*plan, what);
}

// Not a test: the other tests run it in a child process.
TEST(BitsTest, PrintDigestsOfAPlan) {
  const char* const path = std::getenv("SINTER_BITS_PLAN");
  if (path == nullptr) GTEST_SKIP() << "only for the other tests";
  absl::StatusOr<Plan> plan = Plan::Load(path);
  ASSERT_TRUE(plan.ok()) << plan.status();
  const absl::StatusOr<Digests> digests = DigestsOf(*plan, {});
  ASSERT_TRUE(digests.ok()) << digests.status();
  for (const auto& [name, digest] : *digests)
    std::printf("digest of %s = %s\n", name.c_str(), digest.c_str());
}

// Shapes that a library would split by the number of threads: long sums, few rows, few columns.
TEST(BitsTest, Products) {
  struct Product {
    DType dtype;
    int64_t m, n, k;
    bool transpose_a = false, transpose_b = false;
    int64_t batch = 1;
  };
  Graph graph("products");
  int count = 0;
  for (const Product& p : std::vector<Product>{{F32, 8, 8, 50000},
                                               {F32, 64, 64, 4096},
                                               {F32, 1, 1000, 1024},
                                               {F32, 512, 10, 3000},
                                               {F32, 10, 512, 3000, true},
                                               {F32, 784, 128, 256, true},
                                               {F32, 128, 300, 256, false, true},
                                               {F32, 300, 300, 300},
                                               {F32, 1, 1, 100000},
                                               {F32, 16, 16, 2000, true, true, 3},
                                               {F32, 7, 5, 0},
                                               {BF16, 64, 64, 4096},
                                               {BF16, 100, 130, 300, true, true},
                                               {F16, 70, 33, 2100},
                                               {F64, 33, 65, 2500},
                                               {F64, 100, 40, 90, true}}) {
    graph.Function("f" + std::to_string(count++), Mode::kTrain, [&](Builder& f) {
      Shape a = p.transpose_a ? Shape{p.k, p.m} : Shape{p.m, p.k};
      Shape b = p.transpose_b ? Shape{p.n, p.k} : Shape{p.k, p.n};
      if (p.batch > 1) a.insert(a.begin(), p.batch), b.insert(b.begin(), p.batch);
      f.Output("y", MatMul(f.Input("a", p.dtype, a), f.Input("b", p.dtype, b),
                           {.transpose_a = p.transpose_a, .transpose_b = p.transpose_b}));
    });
  }
  CheckGraph(graph, "products");
}

TEST(BitsTest, ConvolutionsAndTheirGradients) {
  struct Convolution {
    DType dtype;
    Shape x, w;
    int64_t stride = 1, groups = 1;
  };
  for (const Layout layout : {Layout::kAuto, Layout::kNchw, Layout::kNhwc}) {
    Graph graph("convolutions");
    int count = 0;
    for (const Convolution& c : std::vector<Convolution>{{F32, {32, 16, 14, 14}, {32, 16, 3, 3}},
                                                         {F32, {7, 3, 29, 31}, {20, 3, 5, 5}, 2},
                                                         {F32, {8, 64, 7, 7}, {64, 64, 3, 3}},
                                                         {F32, {5, 12, 9, 9}, {24, 4, 3, 3}, 1, 3},
                                                         {F32, {2, 6, 9, 9}, {6, 1, 3, 3}, 1, 6},
                                                         {F32, {1, 40, 300, 3}, {8, 40, 1, 1}},
                                                         {BF16, {8, 16, 14, 14}, {32, 16, 3, 3}},
                                                         {F64, {3, 5, 8, 9}, {6, 5, 3, 2}, 3}}) {
      graph.Function("f" + std::to_string(count++), Mode::kTrain, [&](Builder& f) {
        Tensor x = f.Input("x", c.dtype, c.x), w = f.Input("w", c.dtype, c.w);
        Tensor y =
            Conv2d(x, w, {.strides = {c.stride, c.stride}, .padding = {1, 1, 1, 1}, .groups = c.groups});
        std::vector<Tensor> gradients = Gradients(Sum(Cast(Square(y), F32)), {x, w});
        f.Output("y", y);
        f.Output("dx", gradients[0]);
        f.Output("dw", gradients[1]);
      });
    }
    CompileOptions options;
    options.image_layout = layout;
    CheckGraph(graph, "convolutions in layout " + std::to_string(static_cast<int>(layout)), options);
  }
}

TEST(BitsTest, ReductionsPoolsAndRandomNumbers) {
  Graph graph("reductions", {.seed = 7});
  graph.Function("reduce", Mode::kTrain, [](Builder& f) {
    Tensor a = f.Input("a", F32, {333, 777});
    f.Output("sum", Sum(a));
    f.Output("sum0", Sum(a, {0}));
    f.Output("sum1", Sum(a, {1}));
    f.Output("softmax", Softmax(a));
    f.Output("logsumexp", LogSumExp(a));
    f.Output("norm", Norm(a));
    f.Output("prod", Prod(a, {1}));
    f.Output("layer_norm", LayerNorm(a, f.Ones(F32, {777}), f.Zeros(F32, {777})));
  });
  for (const int64_t batch : {16, 5}) {
    graph.Function("pool" + std::to_string(batch), Mode::kTrain, [&](Builder& f) {
      Tensor x = f.Input("x", F32, {batch, 3, 13, 15});
      const Pool2dOptions strided = {.strides = {2, 2}};
      Tensor max = MaxPool2d(x, {3, 3}, strided), mean = AvgPool2d(x, {3, 3});
      f.Output("dx", Gradients(Sum(Square(max)) + Sum(Square(mean)), {x})[0]);
      f.Output("max", max);
      f.Output("mean", mean);
    });
  }
  CheckGraph(graph, "reductions and pools");
}

// Every matmul, convolution, pool and reduction of the table of ops: small shapes with all attributes.
TEST(BitsTest, TableOfOps) {
  for (const auto& family : {LinearCases, ReduceCases}) {
    std::string module;
    int count = 0;
    for (const OpCase& c : family()) {
      const std::vector<std::string> dtypes = DTypesOf(c);
      const bool has_f32 = std::ranges::find(dtypes, "f32") != dtypes.end();
      module += FunctionText(c, has_f32 ? "f32" : dtypes.front(), "f" + std::to_string(count++));
    }
    absl::StatusOr<Plan> plan = CompileText(module, "table", ForV3());
    ASSERT_TRUE(plan.ok()) << plan.status();
    CheckPlan(*plan, "the table of ops");
    CheckInstructions(*plan, "the table of ops");
  }
}

TEST(BitsTest, RandomGraphs) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    absl::StatusOr<Plan> plan = CompileText(MakeRandomGraph(seed, seed % 2 == 1, 25).text, "random", ForV3());
    ASSERT_TRUE(plan.ok()) << plan.status();
    CheckPlan(*plan, "random graph " + std::to_string(seed));
  }
}

// Two training steps of a model like those of the examples: compares the values that a checkpoint would hold.
TEST(BitsTest, Training) {
  for (const int64_t batch : {32, 10}) {
    Graph graph("model", {.seed = 3});
    nn::Module model = nn::Sequential({nn::Conv2d(12, 5), nn::Relu(), nn::MaxPool(2), nn::Conv2d(20, 3),
                                       nn::BatchNorm(), nn::Relu(), nn::MaxPool(2), nn::Flatten(),
                                       nn::Linear(100), nn::Relu(), nn::Dropout(0.3), nn::Linear(10)});
    graph.Function("train", Mode::kTrain, [&](Builder& b) {
      Tensor x = b.Input("x", F32, {batch, 1, 28, 28}), y = b.Input("y", I32, {batch});
      Tensor loss = SoftmaxCrossEntropy(model(x), y);
      optim::AdamW{.learning_rate = 0.01}.Minimize(loss);
      b.Output("loss", loss);
    });
    CheckGraph(graph, "a model of batch " + std::to_string(batch));
  }
}

}  // namespace
}  // namespace sinter::numerics
