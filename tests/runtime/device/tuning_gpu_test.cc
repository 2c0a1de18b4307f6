// Tuning files of sessions on a real GPU.
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/cuda/driver/cuda_devices.h"
#include "sinter/runtime/device/tuning_file.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/step_values.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::SizeIs;

constexpr int64_t kRows = 1024, kColumns = 768;

class TuningGpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const absl::StatusOr<Plan> plan = ChainPlan().Make();
    ASSERT_TRUE(plan.ok()) << plan.status();
    path_ = folder_.File("m.plan");
    ASSERT_TRUE(plan->Save(path_).ok());
    if (const absl::Status status = CudaAvailable(); !status.ok()) GTEST_SKIP() << status.message();
    x_ = MakeTensor(DType::kBf16, {kRows, kColumns}, Values(kRows * kColumns));
    w_ = MakeTensor(DType::kBf16, {kColumns, kColumns}, Values(kColumns * kColumns));
  }

  static std::vector<double> Values(int64_t count) {
    std::vector<double> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>((i * 37) % 101) / 50 - 1;
    return values;
  }

  // y = x w w: two equal matmuls. z = y' x: a matmul of another shape.
  static TestPlan ChainPlan() {
    TestPlan plan;
    plan.UseDevices({Device::Gpu(0)});
    TestFunction f(plan, "f");
    const uint32_t x = f.Input("x", DType::kBf16, {kRows, kColumns});
    const uint32_t w = f.Input("w", DType::kBf16, {kColumns, kColumns});
    const uint32_t t = f.Arena(DType::kBf16, {kRows, kColumns}), y = f.Arena(DType::kBf16, {kRows, kColumns});
    const uint32_t z = f.Arena(DType::kBf16, {kColumns, kColumns});
    fb::MatmulStepT matmul;
    matmul.batch = 1, matmul.m = kRows, matmul.n = kColumns, matmul.k = kColumns;
    matmul.dtype = fb::DType::BF16;
    f.Matmul(matmul, {x, w}, {t});
    f.Matmul(matmul, {t, w}, {y});
    matmul.m = kColumns, matmul.k = kRows, matmul.transpose_a = true;
    f.Matmul(matmul, {y, x}, {z});
    f.Output("y", y);
    f.Output("z", z);
    return plan;
  }

  // Returns the bytes of all outputs.
  std::string Run(Session& session) {
    std::string bytes;
    const absl::StatusOr<Outputs> out = session.Run("f", {{"x", x_}, {"w", w_}});
    EXPECT_TRUE(out.ok()) << out.status();
    if (!out.ok()) return bytes;
    for (const char* name : {"y", "z"}) {
      const HostTensor& tensor = (*out)[name];
      bytes.append(static_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.num_elements()) * 2);
    }
    return bytes;
  }

  absl::StatusOr<Session> MakeSession(const TuningOptions& tuning) {
    absl::StatusOr<Plan> plan = Plan::Load(path_);
    if (!plan.ok()) return plan.status();
    return Session::Create(*std::move(plan), {.tuning = tuning});
  }

  ScratchFolder folder_;
  std::string path_;
  HostTensor x_, w_;
};

TEST_F(TuningGpuTest, ASecondLoadMeasuresNothingAndGivesTheSameBits) {
  for (const TuningMode mode : {TuningMode::kSameBits, TuningMode::kAnyBits}) {
    absl::StatusOr<Session> first = MakeSession({.save = true, .again = true, .mode = mode});
    ASSERT_TRUE(first.ok()) << first.status();
    EXPECT_TRUE(first->tuning().status.ok()) << first->tuning().status;
    // Equal matmuls of a plan are tuned once.
    EXPECT_EQ(first->tuning().Count(ChoiceSource::kMeasured), 2);
    EXPECT_THAT(first->tuning().choices, SizeIs(2));
    EXPECT_THAT(*LoadTuning(path_ + ".tuning"), SizeIs(2));
    const std::string bits = Run(*first);
    // Without a mode, the session uses the choices of a file that any mode wrote.
    for (const TuningOptions& options : {TuningOptions{.mode = mode}, TuningOptions{}}) {
      absl::StatusOr<Session> second = MakeSession(options);
      ASSERT_TRUE(second.ok()) << second.status();
      EXPECT_TRUE(second->tuning().status.ok()) << second->tuning().status;
      EXPECT_EQ(second->tuning().Count(ChoiceSource::kFile), 2);
      EXPECT_THAT(second->tuning().choices, SizeIs(2));
      EXPECT_TRUE(Run(*second) == bits);
    }
  }
}

// Mode kSameBits: tuned results have the bits of cuBLASLt's first choice.
TEST_F(TuningGpuTest, SameBitsWithAndWithoutAFile) {
  absl::StatusOr<Session> tuned = MakeSession({.save = true, .again = true, .mode = TuningMode::kSameBits});
  ASSERT_TRUE(tuned.ok()) << tuned.status();
  EXPECT_EQ(tuned->tuning().Count(ChoiceSource::kMeasured), 2);
  absl::StatusOr<Session> first = MakeSession({.mode = TuningMode::kFirstChoice});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->tuning().Count(ChoiceSource::kFirstChoice), 2);
  EXPECT_TRUE(Run(*first) == Run(*tuned));
}

TEST_F(TuningGpuTest, ABrokenFileKeepsNothingFromRunning) {
  folder_.Write("m.plan.tuning", "{");
  absl::StatusOr<Session> session = MakeSession({});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_TRUE(absl::IsDataLoss(session->tuning().status)) << session->tuning().status;
  EXPECT_EQ(session->tuning().Count(ChoiceSource::kFile), 0);
  EXPECT_THAT(session->tuning().choices, SizeIs(2));
  EXPECT_FALSE(Run(*session).empty());
}

}  // namespace
}  // namespace sinter
