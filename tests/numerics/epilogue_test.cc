// An activation after a matmul or a convolution gives the same result as an epilogue of the library call and
// as a separate kernel. This includes NaN and infinity, every element type and layout, and our kernels,
// oneDNN's and those of GPU libraries (test_device.h).
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "sinter/frontend/sinter.h"
#include "sinter/tests/numerics/test_device.h"

namespace sinter::numerics {
namespace {

using Activate = std::function<Tensor(const Tensor&)>;

// Returns small numbers mixed with values that an activation must keep: NaN and infinities.
HostTensor SpecialValues(const Shape& shape) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  HostTensor tensor = *HostTensor::Empty(F32, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const float special[] = {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity};
    (*tensor.MutableSpan<float>())[i] =
        i % 29 == 7 ? special[i / 29 % 3] : static_cast<float>(std::sin(static_cast<double>(i)));
  }
  return tensor;
}

// Returns a graph with a matmul y and a convolution z in `dtype`, each with a bias, as f32. On a GPU our own
// kernels compute both in tf32.
Graph Build(DType dtype, MathMode math, int64_t batch, const Activate& activate) {
  Graph graph("epilogue");
  graph.Function("f", Mode::kTrain, [&](Builder& f) {
    const auto input = [&](const char* name, const Shape& shape) {
      return Cast(f.Input(name, F32, shape), dtype);
    };
    Tensor product = MatMul(input("a", {33, 3}), input("b", {3, 20}), {.math = math}) + input("c", {20});
    f.Output("y", Cast(activate(product), F32));
    Tensor bias = Reshape(input("d", {5}), {1, 5, 1, 1});
    Tensor image = Conv2d(input("x", {batch, 2, 6, 5}), input("w", {5, 2, 1, 1}), {.math = math}) + bias;
    f.Output("z", Cast(activate(image), F32));
  });
  return graph;
}

std::vector<std::vector<float>> Results(const Graph& graph, CompileOptions options, CpuMatmuls products) {
  options.device = TestDevice();
  absl::StatusOr<Plan> plan = Compile(graph, options);
  EXPECT_TRUE(plan.ok()) << plan.status();
  const std::vector<TensorInfo> inputs = plan->Functions()[0].inputs;
  absl::StatusOr<Session> session =
      Session::Create(*std::move(plan), {.threads = 2, .cpu_matmuls = products, .poison = true});
  EXPECT_TRUE(session.ok()) << session.status();
  std::vector<HostTensor> tensors;
  std::vector<Argument> arguments;
  tensors.reserve(inputs.size());
  for (const TensorInfo& input : inputs) {
    tensors.push_back(SpecialValues(input.shape));
    arguments.emplace_back(input.name, tensors.back());
  }
  absl::StatusOr<Outputs> outputs = session->Run("f", std::span<const Argument>(arguments));
  EXPECT_TRUE(outputs.ok()) << outputs.status();
  std::vector<std::vector<float>> results;
  for (size_t i = 0; i < outputs->size(); ++i) {
    const auto values = *outputs->tensor(i).Span<float>();
    results.emplace_back(values.begin(), values.end());
  }
  return results;
}

struct Named {
  const char* name;
  Activate activate;
};

// Compares activations in library calls with activations in separate kernels.
void ExpectSameApart(const std::string& name, const Activate& activate, DType dtype, MathMode math) {
  const Graph graph = Build(dtype, math, 16, activate);
  CompileOptions apart;
  apart.fuse = apart.fuse_epilogues = false;
  const std::vector<std::vector<float>> want = Results(graph, apart, CpuMatmuls::kSameBits);
  int nans = 0;
  for (const Layout layout : {Layout::kAuto, Layout::kNchw, Layout::kNhwc}) {
    for (const CpuMatmuls products : {CpuMatmuls::kSameBits, CpuMatmuls::kOneDnn}) {
      CompileOptions fused;
      fused.image_layout = layout;
      const std::vector<std::vector<float>> got = Results(graph, fused, products);
      for (size_t r = 0; r < want.size(); ++r) {
        for (size_t i = 0; i < want[r].size(); ++i) {
          const float x = got[r][i], y = want[r][i];
          nans += std::isnan(y);
          const bool is_rounded = SizeOf(dtype) == 2 || math == MathMode::kTf32;
          const bool same = std::isnan(y)   ? std::isnan(x)
                            : std::isinf(y) ? x == y
                                            : std::abs(x - y) <= (is_rounded ? 0.05f : 1e-5f);
          EXPECT_TRUE(same) << name << " in " << DTypeName(dtype)
                            << (math == MathMode::kTf32 ? " as tf32" : "") << ", layout "
                            << static_cast<int>(layout) << ", " << (r == 0 ? "product" : "convolution")
                            << " at " << i << ": " << x << " in place of " << y;
          if (!same) break;  // One error per result is enough.
        }
      }
    }
  }
  EXPECT_GT(nans, 0);
}

TEST(EpilogueTest, TreatsNanAndInfinityAsTheActivationDoes) {
  if (std::string why = MissingTestDevice(); !why.empty()) GTEST_SKIP() << why;
  const Named activations[] = {{"relu", [](const Tensor& x) { return Relu(x); }},
                               {"gelu", [](const Tensor& x) { return Gelu(x); }},
                               {"sigmoid", [](const Tensor& x) { return Sigmoid(x); }},
                               {"tanh", [](const Tensor& x) { return Tanh(x); }},
                               {"silu", [](const Tensor& x) { return Silu(x); }}};
  for (const auto& [name, activate] : activations) {
    for (const DType dtype : {F32, BF16, F64, F16}) {
      // The types share the code of the activations, so one activation covers f64 and f16.
      if ((dtype == F64 || dtype == F16) && std::string(name) != "relu") continue;
      ExpectSameApart(name, activate, dtype, MathMode::kIeee);
    }
  }
  ExpectSameApart("relu", activations[0].activate, F32, MathMode::kTf32);
}

}  // namespace
}  // namespace sinter::numerics
