#include "gmock/gmock.h"
#include "sinter/runtime/plan/gpu_limits.h"
#include "sinter/tests/runtime/cuda/cuda_compiler.h"
#include "sinter/tests/runtime/cuda/gpu_steps.h"

namespace sinter {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

// Returns a kernel that sums `inputs` arrays of n numbers.
std::string SumKernel(int inputs, int n) {
  return absl::StrCat("struct Buffers { const float* in[", inputs, "]; float* out; };\n",
                      "extern \"C\" __global__ void sum(const Buffers b) {\n",
                      "  const int i = blockIdx.x * blockDim.x + threadIdx.x;\n", "  if (i >= ", n,
                      ") return;\n", "  float sum = 0;\n", "  for (int k = 0; k < ", inputs,
                      "; ++k) sum += b.in[k][i];\n", "  b.out[i] = sum;\n}\n");
}

class GpuKernelTest : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    architecture_ = DescribeCudaDevice(0)->Architecture();
    if (const absl::StatusOr<std::string> any = CompileCuda("", architecture_); !any.ok()) {
      GTEST_SKIP() << any.status();
    }
  }

  // Returns a plan that launches the kernel of `source`. The image is labelled with `architecture`, by
  // default this GPU's.
  fb::PlanT PlanOf(const std::string& symbol, const std::string& source, uint32_t inputs,
                   fb::GpuKernelStepT step, const std::string& architecture = "") {
    absl::StatusOr<std::string> cubin = CompileCuda(source, architecture_);
    EXPECT_TRUE(cubin.ok()) << cubin.status();
    fb::PlanT plan = MakeStepPlan(step, inputs);
    auto image = std::make_unique<fb::GpuImageT>();
    image->architecture = architecture.empty() ? architecture_ : architecture;
    if (cubin.ok()) image->cubin.assign(cubin->begin(), cubin->end());
    auto kernel = std::make_unique<fb::GpuKernelT>();
    kernel->symbol = symbol;
    kernel->images.push_back(std::move(image));
    plan.gpu_kernels.push_back(std::move(kernel));
    return plan;
  }

  static fb::GpuKernelStepT Launch(uint32_t grid, uint32_t block, uint32_t shared_bytes = 0) {
    fb::GpuKernelStepT step;
    step.kernel = 0, step.grid = grid, step.block = block, step.shared_bytes = shared_bytes;
    return step;
  }

  std::string architecture_;
};

TEST_F(GpuKernelTest, AddsTwoArrays) {
  const HostTensor a = MakeTensor(DType::kF32, {1000}, RandomValues(1000, 1));
  const HostTensor b = MakeTensor(DType::kF32, {1000}, RandomValues(1000, 2));
  std::vector<double> want = ToDoubles(a);
  const std::vector<double> second = ToDoubles(b);
  for (size_t i = 0; i < want.size(); ++i) want[i] += second[i];
  EXPECT_THAT(RunOnGpu(PlanOf("sum", SumKernel(2, 1000), 2, Launch(8, 128)), {&a, &b}, {DType::kF32, {1000}}),
              ElementsAreArray(want));
}

// Passes more than the 4 KB of parameters that CUDA allowed before 12.1, up to the present limit.
TEST_F(GpuKernelTest, PassesThousandsOfAddresses) {
  const HostTensor one = MakeTensor(DType::kF32, {4}, {1, 2, 3, 4});
  for (const int inputs : {600, static_cast<int>(kMaxGpuKernelBuffers) - 1}) {
    const std::vector<const HostTensor*> arrays(static_cast<size_t>(inputs), &one);
    const double n = inputs;
    EXPECT_THAT(RunOnGpu(PlanOf("sum", SumKernel(inputs, 4), static_cast<uint32_t>(inputs), Launch(1, 32)),
                         arrays, {DType::kF32, {4}}),
                ElementsAreArray({n, 2 * n, 3 * n, 4 * n}));
  }
}

TEST_F(GpuKernelTest, UsesSharedMemoryBeyondTheUsual) {
  constexpr uint32_t kBytes = 96 * 1024;
  if (DescribeCudaDevice(0)->max_shared_bytes_per_block < kBytes)
    GTEST_SKIP() << "this GPU has less shared memory";
  const std::string source =
      "struct Buffers { const float* in; float* out; };\n"
      "extern __shared__ float shared[];\n"
      "extern \"C\" __global__ void turn(const Buffers b) {\n"
      "  for (int i = threadIdx.x; i < 24576; i += blockDim.x) shared[i] = b.in[i];\n"
      "  __syncthreads();\n"
      "  for (int i = threadIdx.x; i < 24576; i += blockDim.x) b.out[i] = shared[24575 - i];\n"
      "}\n";
  const HostTensor x = MakeTensor(DType::kF32, {24576}, RandomValues(24576, 1));
  std::vector<double> want = ToDoubles(x);
  std::reverse(want.begin(), want.end());
  EXPECT_THAT(RunOnGpu(PlanOf("turn", source, 1, Launch(1, 256, kBytes)), {&x}, {DType::kF32, {24576}}),
              ElementsAreArray(want));
  const absl::Status status = MakeError(PlanOf("turn", source, 1, Launch(1, 256, 1 << 20)));
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("kernel \"turn\" needs 1048576 bytes of shared memory a block"));
}

TEST_F(GpuKernelTest, AGridOfNothingIsNoLaunch) {
  const HostTensor none = MakeTensor(DType::kF32, {0}, {});
  EXPECT_TRUE(
      RunOnGpu(PlanOf("sum", SumKernel(1, 0), 1, Launch(0, 32)), {&none}, {DType::kF32, {0}}).empty());
}

TEST_F(GpuKernelTest, RefusesCodeForOtherGpus) {
  const absl::Status status = MakeError(PlanOf("sum", SumKernel(1, 4), 1, Launch(1, 32), "sm_20"));
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("kernel \"sum\" cannot run on gpu:0"));
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("the plan holds sm_20: compile it again for " + architecture_));
}

TEST_F(GpuKernelTest, RefusesWhatIsNoKernel) {
  EXPECT_THAT(std::string(MakeError(PlanOf("other", SumKernel(1, 4), 1, Launch(1, 32))).message()),
              HasSubstr("could not find kernel \"other\" in its image"));
  fb::PlanT plan = PlanOf("sum", SumKernel(1, 4), 1, Launch(1, 32));
  plan.gpu_kernels[0]->images[0]->cubin = {1, 2, 3, 4};
  EXPECT_THAT(std::string(MakeError(plan).message()), HasSubstr("kernel \"sum\""));
  plan.gpu_kernels[0]->images[0]->cubin.clear();
  EXPECT_THAT(std::string(MakeError(plan).message()), HasSubstr("has an empty image"));
}

TEST_F(GpuKernelTest, RefusesOtherParametersThanItPasses) {
  absl::Status status = MakeError(PlanOf("sum", SumKernel(2, 4), 1, Launch(1, 32)));
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("kernel \"sum\" takes 24 bytes of parameters, and its step has 2 buffers"));
  // With two parameters, the size of the first one alone must not pass the check.
  const std::string two = "extern \"C\" __global__ void sum(float* a, float* b) { b[0] = a[0]; }";
  EXPECT_THAT(std::string(MakeError(PlanOf("sum", two, 1, Launch(1, 32))).message()),
              HasSubstr("kernel \"sum\" takes 8 bytes of parameters, and its step has 2 buffers"));
  status =
      MakeError(PlanOf("sum", SumKernel(1, 4), static_cast<uint32_t>(kMaxGpuKernelBuffers), Launch(1, 32)));
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("a launch carries the addresses of at most 4095"));
}

TEST_F(GpuKernelTest, RefusesBlocksThatAreTooLarge) {
  const absl::Status status = MakeError(PlanOf("sum", SumKernel(1, 4), 1, Launch(1, 2048)));
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("kernel \"sum\" is to run with 2048 threads a block"));
}

// A slow kernel that adds one.
constexpr char kSlowIncrement[] = R"(struct Buffers { const float* in; float* out; };
extern "C" __global__ void increment(const __grid_constant__ Buffers b) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("nanosleep.u32 50000;");
  b.out[threadIdx.x] = b.in[threadIdx.x] + 1;
})";

// Alternates between two arrays, each launch starting while the previous one runs. Every launch must count.
TEST_F(GpuKernelTest, KernelsThatStartEarlySeeWhatWasBefore) {
  if (DescribeCudaDevice(0)->major < 9)
    GTEST_SKIP() << "programmatic launches are from compute capability 9.0";
  fb::PlanT plan = PlanOf("increment", kSlowIncrement, 1, Launch(1, 64));
  plan.gpu_kernels[0]->has_programmatic_launch = true;
  const PackedPlan packed(plan);
  absl::StatusOr<std::unique_ptr<Step>> step = gpu().MakeStep(packed.plan(), packed.step());
  ASSERT_TRUE(step.ok()) << step.status();
  absl::StatusOr<Allocation> a = gpu().allocator().Allocate(256, "a"),
                             b = gpu().allocator().Allocate(256, "b");
  ASSERT_TRUE(a.ok() && b.ok());
  void* const forth[] = {a->ptr(), b->ptr()};
  void* const back[] = {b->ptr(), a->ptr()};
  const auto launch_all = [&]() -> absl::Status {
    for (int i = 0; i < 20; ++i) {
      SINTER_RETURN_IF_ERROR((*step)->Run({.buffers = i % 2 == 0 ? forth : back}));
    }
    return absl::OkStatus();
  };
  ASSERT_TRUE(gpu().Fill(a->ptr(), 0, 256).ok());
  ASSERT_TRUE(launch_all().ok());
  absl::StatusOr<std::unique_ptr<CapturedGraph>> captured = gpu().Capture(launch_all);
  ASSERT_TRUE(captured.ok()) << captured.status();
  ASSERT_TRUE((*captured)->Launch().ok());
  ASSERT_TRUE((*captured)->Launch().ok());
  std::vector<float> result(64);
  ASSERT_TRUE(gpu().Download(result.data(), a->ptr(), 256).ok());
  EXPECT_THAT(result, ::testing::Each(60.0f));
}

// Two branches after one step, and a step after both that overwrites their input.
TEST_F(GpuKernelTest, BranchesOfACaptureSeeWhatTheyComeAfter) {
  fb::PlanT plan = PlanOf("increment", kSlowIncrement, 1, Launch(1, 64));
  plan.gpu_kernels[0]->has_programmatic_launch = true;
  const PackedPlan packed(plan);
  absl::StatusOr<std::unique_ptr<Step>> step = gpu().MakeStep(packed.plan(), packed.step());
  ASSERT_TRUE(step.ok()) << step.status();
  std::vector<Allocation> memory;
  for (int i = 0; i < 6; ++i) {
    absl::StatusOr<Allocation> made = gpu().allocator().Allocate(256, "piece");
    ASSERT_TRUE(made.ok());
    memory.push_back(*std::move(made));
  }
  struct Branch {
    int from, to;
    std::vector<uint32_t> before;
  };
  const std::vector<Branch> branches = {{0, 1, {}},  {1, 2, {0}}, {1, 3, {0}},
                                        {2, 4, {1}}, {3, 5, {2}}, {4, 1, {2, 3}}};
  const auto increment = [&](const Branch& branch) {
    void* const buffers[] = {memory[branch.from].ptr(), memory[branch.to].ptr()};
    return (*step)->Run({.buffers = buffers});
  };
  ASSERT_TRUE(increment(branches[0]).ok());
  ASSERT_TRUE(gpu().Fill(memory[0].ptr(), 0, 256).ok());
  const auto give = [&]() -> absl::Status {
    for (const Branch& branch : branches) {
      SINTER_RETURN_IF_ERROR(gpu().BeginBranch(branch.before));
      SINTER_RETURN_IF_ERROR(increment(branch));
    }
    return absl::OkStatus();
  };
  absl::StatusOr<std::unique_ptr<CapturedGraph>> captured = gpu().Capture(give);
  ASSERT_TRUE(captured.ok()) << captured.status();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE((*captured)->Launch().ok());
  std::vector<float> values(64);
  ASSERT_TRUE(gpu().Download(values.data(), memory[1].ptr(), 256).ok());
  EXPECT_THAT(values, ::testing::Each(4.0f));
  ASSERT_TRUE(gpu().Download(values.data(), memory[5].ptr(), 256).ok());
  EXPECT_THAT(values, ::testing::Each(3.0f));
}

class OtherStepsTest : public GpuTest {};

TEST_F(OtherStepsTest, Copies) {
  const HostTensor x = MakeTensor(DType::kF32, {6}, RandomValues(6, 1));
  fb::CopyStepT copy;
  copy.bytes = 24;
  EXPECT_THAT(RunOnGpu(MakeStepPlan(copy), {&x}, {DType::kF32, {6}}), ElementsAreArray(ToDoubles(x)));
  copy.bytes = 0;
  const HostTensor none = MakeTensor(DType::kF32, {0}, {});
  EXPECT_TRUE(RunOnGpu(MakeStepPlan(copy), {&none}, {DType::kF32, {0}}).empty());
}

TEST_F(OtherStepsTest, RefusesStepsOfCpus) {
  fb::PoolStepT pool;
  absl::Status status = MakeError(MakeStepPlan(pool));
  EXPECT_TRUE(absl::IsUnimplemented(status)) << status;
  EXPECT_EQ(status.message(),
            "a step of kind pool runs on CPUs only, and the plan puts it on gpu:0, where generated kernels "
            "do such work: "
            "compile the graph again for this device (model.cc:12)");
  EXPECT_THAT(std::string(MakeError(MakeStepPlan(fb::KernelStepT())).message()),
              HasSubstr("a step of kind kernel"));
}

}  // namespace
}  // namespace sinter
