// Every released plan file must load and give the same results as at its release.
//
// tests/plans/vN holds plans of format version N: for each plan m.plan and function f the inputs m.f.in.npz
// and the outputs m.f.out.npz of `sinter run m.plan --function f --input m.f.in.npz --output m.f.out.npz`.
// Plans for GPUs run where there is one; elsewhere they are loaded and inspected. The files are never
// regenerated: a version that cannot read them has broken its users' plans. Versions 2 and 3 have no plans:
// none was kept before the format went on, and compilers write their own version only.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <set>
#include <string>
#include <system_error>
#include <vector>

#include "gmock/gmock.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/formats/npz.h"
#include "sinter/runtime/memory/device_info.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

namespace fs = std::filesystem;

using ::testing::IsSupersetOf;

// The plans of the folder of one version.
std::vector<fs::path> PlansOfVersion(uint32_t version) {
  std::vector<fs::path> files;
  std::error_code none;  // A missing folder has no plan files.
  const fs::path folder = fs::path(SINTER_GOLDEN_PLANS) / ("v" + std::to_string(version));
  for (const auto& entry : fs::directory_iterator(folder, none)) {
    if (entry.path().extension() == ".plan") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}

std::string StemOf(const fs::path& plan, const std::string& function) {
  return (plan.parent_path() / plan.stem()).string() + "." + function;
}

bool IsForGpus(const Plan& plan) {
  return std::ranges::any_of(plan.Devices(), [](Device device) { return device.kind() == DeviceKind::kGpu; });
}

// OK if the plan can run on this machine.
absl::Status RunsHere(const Plan& plan) {
  if (absl::Status target = plan.CheckTarget(); !target.ok()) return target;
  for (Device device : plan.Devices()) {
    if (absl::Status status = CheckDevice(device); !status.ok()) return status;
  }
  // A GPU of another architecture than the plan's kernels.
  if (absl::Status made = Session::Create(plan.Share()).status(); IsForGpus(plan) && absl::IsNotFound(made))
    return made;
  return absl::OkStatus();
}

// Compares floats within rounding, because a library may add in another order on another CPU. Compares all
// else exactly.
void ExpectSame(const HostTensor& actual, const HostTensor& expected, const std::string& what) {
  ASSERT_EQ(actual.ToString(), expected.ToString()) << what;
  if (actual.dtype() != DType::kF32) {
    EXPECT_EQ(std::memcmp(actual.data(), expected.data(), static_cast<size_t>(actual.num_bytes())), 0)
        << what;
    return;
  }
  std::vector<float> a = Values<float>(actual), e = Values<float>(expected);
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], e[i], 1e-5f * std::max(1.0f, std::abs(e[i]))) << what << ", element " << i;
  }
}

void RunFunction(const Plan& plan, const std::string& function, const std::string& stem) {
  ASSERT_OK_AND_ASSIGN(std::vector<NamedTensor> inputs, LoadNpz(stem + ".in.npz"));
  ASSERT_OK_AND_ASSIGN(std::vector<NamedTensor> expected, LoadNpz(stem + ".out.npz"));
  ASSERT_OK_AND_ASSIGN(Session session, Session::Create(plan.Share()));
  std::vector<Argument> arguments;
  for (const NamedTensor& input : inputs) arguments.emplace_back(input.name, input.tensor);
  ASSERT_OK_AND_ASSIGN(Outputs outputs, session.Run(function, arguments));
  ASSERT_EQ(outputs.size(), expected.size()) << stem;
  for (const NamedTensor& e : expected) {
    ASSERT_OK_AND_ASSIGN(const HostTensor* actual, outputs.Get(e.name));
    ExpectSame(*actual, e.tensor, stem + " " + e.name);
  }
}

// Returns "x f32[4,8]" for each, sorted.
std::vector<std::string> Signature(const std::vector<TensorInfo>& infos) {
  std::vector<std::string> lines;
  for (const TensorInfo& info : infos) lines.push_back(info.name + " " + info.TypeString());
  std::ranges::sort(lines);
  return lines;
}

std::vector<std::string> Signature(const std::vector<NamedTensor>& tensors) {
  std::vector<TensorInfo> infos;
  for (const NamedTensor& t : tensors) infos.push_back({t.name, t.tensor.dtype(), t.tensor.shape()});
  return Signature(infos);
}

// Expects what a user would read of the plan: its functions take and give what the files beside it hold, and
// its kernels are there.
void InspectPlan(const Plan& plan, const fs::path& file) {
  ASSERT_FALSE(plan.Functions().empty());
  for (const FunctionInfo& function : plan.Functions()) {
    const std::string stem = StemOf(file, function.name);
    ASSERT_OK_AND_ASSIGN(std::vector<NamedTensor> inputs, LoadNpz(stem + ".in.npz"));
    ASSERT_OK_AND_ASSIGN(std::vector<NamedTensor> outputs, LoadNpz(stem + ".out.npz"));
    EXPECT_EQ(Signature(function.inputs), Signature(inputs)) << stem;
    EXPECT_EQ(Signature(function.outputs), Signature(outputs)) << stem;
    EXPECT_GT(function.steps, 0) << stem;
  }
  if (!IsForGpus(plan)) return;
  ASSERT_NE(plan.table().gpu_kernels(), nullptr);
  EXPECT_GT(plan.table().gpu_kernels()->size(), 0u);
  for (const fb::GpuKernel* kernel : *plan.table().gpu_kernels()) {
    ASSERT_GT(kernel->images()->size(), 0u);
    // A cubin is an ELF file.
    const auto* cubin = kernel->images()->Get(0)->cubin();
    ASSERT_GT(cubin->size(), 4u);
    EXPECT_EQ(std::memcmp(cubin->data(),
                          "\x7f"
                          "ELF",
                          4),
              0)
        << kernel->symbol()->str();
  }
}

// Plans with a mesh need several CPUs.
class GoldenPlansTest : public ::testing::Test {
 protected:
  GoldenPlansTest() { setenv(kCpuDevicesVariable, "4", /*overwrite=*/1); }
  ~GoldenPlansTest() override { unsetenv(kCpuDevicesVariable); }
};

TEST_F(GoldenPlansTest, AllLoadAndGiveTheSameResults) {
  std::set<uint32_t> ran;
  for (uint32_t version = 1; version <= Plan::kVersion; ++version) {
    for (const fs::path& file : PlansOfVersion(version)) {
      SCOPED_TRACE(file.string());
      ASSERT_OK_AND_ASSIGN(Plan plan, Plan::Load(file));
      EXPECT_EQ(plan.table().version(), version);
      InspectPlan(plan, file);
      if (absl::Status here = RunsHere(plan); !here.ok()) {
        GTEST_LOG_(INFO) << file << " loads, but cannot run here: " << here.message();
        EXPECT_FALSE(Session::Create(plan.Share()).ok());
        continue;
      }
      for (const FunctionInfo& function : plan.Functions()) {
        RunFunction(plan, function.name, StemOf(file, function.name));
        ran.insert(version);
      }
    }
  }
  // Each version has a plan for a CPU, but for those whose plans are lost, and 8 and 10, which are of GPUs
  // alone.
  EXPECT_THAT(ran, IsSupersetOf({1, 4, 5, 6, 7, 9}))
      << "versions of which a golden plan below " << SINTER_GOLDEN_PLANS << " runs here";
}

// A new version of the format brings plans of its own, once the compiler writes it.
TEST_F(GoldenPlansTest, EachVersionThatTheCompilerWritesHasPlansForCpusAndGpus) {
  const Plan::Content contents[] = {{},
                                    {.mesh = true},
                                    {.fragments = true},
                                    {.fragments = true, .guards = true},
                                    {.masked_attention = true},
                                    {.wide_integer_matmul = true},
                                    {.float8_matmul = true}};
  EXPECT_EQ(Plan::LeastVersion(std::end(contents)[-1]), Plan::kVersion);
  for (const Plan::Content& content : contents) {
    const uint32_t version = Plan::LeastVersion(content);
    SCOPED_TRACE(version);
    int for_cpu = 0, for_gpu = 0;
    for (const fs::path& file : PlansOfVersion(version)) {
      ASSERT_OK_AND_ASSIGN(Plan plan, Plan::Load(file));
      EXPECT_EQ(plan.Mesh().empty(), !content.mesh) << file;
      ++(IsForGpus(plan) ? for_gpu : for_cpu);
    }
    // Attention and products of 8-bit floats are steps of GPUs.
    EXPECT_EQ(for_cpu > 0, !content.masked_attention && !content.float8_matmul);
    EXPECT_GT(for_gpu, 0);
  }
}

}  // namespace
}  // namespace sinter
