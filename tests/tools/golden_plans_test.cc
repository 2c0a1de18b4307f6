// Every released plan file must load and give the same results as at its release.
//
// For each plan m.plan and function f, tests/plans/v1 holds the inputs m.f.in.npz and the outputs m.f.out.npz
// of `sinter run m.plan --function f --input m.f.in.npz --output m.f.out.npz`. These files are never
// regenerated: a version that cannot read them has broken its users' plans.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "sinter/runtime/formats/npz.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> FilesWith(const std::string& extension) {
  std::vector<fs::path> files;
  std::error_code none;  // A missing folder has no plan files; the test then fails.
  for (const auto& entry : fs::recursive_directory_iterator(SINTER_GOLDEN_PLANS, none)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
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

TEST(GoldenPlansTest, AllLoadAndGiveTheSameResults) {
  std::vector<fs::path> files = FilesWith(".plan");
  ASSERT_FALSE(files.empty()) << "no golden plan below " << SINTER_GOLDEN_PLANS;
  for (const fs::path& file : files) {
    ASSERT_OK_AND_ASSIGN(Plan plan, Plan::Load(file));
    if (absl::Status target = plan.CheckTarget(); !target.ok()) {
      GTEST_LOG_(INFO) << file << " loads, but cannot run here: " << target.message();
      continue;
    }
    for (const FunctionInfo& function : plan.Functions()) {
      RunFunction(plan, function.name, (file.parent_path() / file.stem()).string() + "." + function.name);
    }
  }
}

}  // namespace
}  // namespace sinter
