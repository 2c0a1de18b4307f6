// Compiles every op in one to three types for a GPU and checks that NVRTC accepts the output of codegen/cuda.
// Needs no GPU. emulated_kernels_test checks the results of the generated kernels without a GPU; op_test
// checks all results on a GPU (test_device.h).
#include <algorithm>

#include "gtest/gtest.h"
#include "sinter/codegen/cuda/nvrtc.h"
#include "sinter/frontend/compile/compile.h"
#include "sinter/tests/numerics/op_cases.h"
#include "sinter/tests/numerics/random_graph.h"

namespace sinter::numerics {
namespace {

CompileOptions ForGpu() {
  CompileOptions options;
  options.device = Device::Gpu(0);
  options.gpu_architectures = {"sm_90"};
  return options;
}

class CudaCompileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (auto nvrtc = codegen::Nvrtc::Get(); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  }

  void CompileAll(const std::vector<OpCase>& cases, const std::vector<std::string>& dtypes) {
    std::string module;
    int count = 0;
    for (const OpCase& op : cases) {
      if (!RunsOnGpus(op)) continue;
      for (const std::string& dtype : DTypesOf(op)) {
        if (std::find(dtypes.begin(), dtypes.end(), dtype) == dtypes.end()) continue;
        module += FunctionText(op, dtype, "f" + std::to_string(count++));
      }
    }
    absl::StatusOr<Plan> plan = CompileText(module, "ops", ForGpu());
    EXPECT_TRUE(plan.ok()) << plan.status();
  }
};

TEST_F(CudaCompileTest, PointwiseOps) { CompileAll(PointwiseCases(), {"f32", "i32", "ui16", "ui64"}); }
TEST_F(CudaCompileTest, ShapeOps) { CompileAll(ShapeCases(), {"f32", "i1", "i16", "f8E4M3FN", "f8E5M2"}); }
TEST_F(CudaCompileTest, Reductions) { CompileAll(ReduceCases(), {"f32", "bf16", "ui16", "ui64"}); }
TEST_F(CudaCompileTest, LinearOps) { CompileAll(LinearCases(), {"bf16", "i32"}); }
TEST_F(CudaCompileTest, FourierTransforms) { CompileAll(FourierCases(), {"f32", "f64"}); }
TEST_F(CudaCompileTest, Matrices) { CompileAll(MatrixCases(), {"f32", "f64"}); }
TEST_F(CudaCompileTest, RandomOps) { CompileAll(RandomCases(), {"f32"}); }
TEST_F(CudaCompileTest, UsersKernels) { CompileAll(CustomCases(), {"f32", "bf16", "i1"}); }
TEST_F(CudaCompileTest, Composites) { CompileAll(CompositeCases(), {"f32"}); }
TEST_F(CudaCompileTest, Attention) { CompileAll(AttentionCases(), {"f32", "bf16"}); }

TEST_F(CudaCompileTest, RefusesArchitecturesThatItCannotCompileFor) {
  const char* text =
      R"(func.func @f(%x: tensor<8xf32> {sinter.input = "x"}) -> (tensor<8xf32> {sinter.output = "y"}) {
    %y = sinter.relu %x : tensor<8xf32>
    return %y : tensor<8xf32>
  })";
  CompileOptions options = ForGpu();
  options.gpu_architectures = {"sm_1"};
  std::string message(CompileText(text, "f", options).status().message());
  EXPECT_NE(message.find("cannot compile for \"sm_1\"; it knows sm_"), std::string::npos) << message;
  options.gpu_architectures = {};
  message = std::string(CompileText(text, "f", options).status().message());
  EXPECT_NE(message.find("gpu_architectures is empty; name what to compile for"), std::string::npos)
      << message;
}

TEST_F(CudaCompileTest, RandomGraphs) {
  for (uint64_t seed = 0; seed < 8; ++seed) {
    RandomGraph graph = MakeRandomGraph(seed, /*gradients=*/seed % 2 == 1);
    absl::StatusOr<Plan> plan = CompileText(graph.text, "graph", ForGpu());
    EXPECT_TRUE(plan.ok()) << plan.status() << "\n" << graph.text;
  }
}

}  // namespace
}  // namespace sinter::numerics
