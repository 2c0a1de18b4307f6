// Makes every call that can fail, fail once: the program gets an error, loses nothing, and works the next
// time.
#include "sinter/tests/runtime/c_library_faults.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/process_allocator.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/device_plans.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::Each;

constexpr int64_t kSide = 16;
constexpr int64_t kSize = kSide * kSide;

// y = x w, sum = sum + y + constant.
TestPlan TrainPlan() {
  TestPlan plan;
  plan.AddVariable("w", DType::kF32, {kSide, kSide}, 0.5);
  plan.AddVariable("sum", DType::kF32, {kSize}, 1);
  const std::vector<float> constant(kSize, 3);
  const uint64_t offset = plan.AddConstant(constant.data(), constant.size() * sizeof(float));
  TestFunction f(plan, "train");
  const uint32_t x = f.Input("x", DType::kF32, {kSide, kSide}), y = f.Arena(DType::kF32, {kSide, kSide});
  fb::MatmulStepT matmul;
  matmul.dtype = fb::DType::F32;
  matmul.batch = 1, matmul.m = matmul.n = matmul.k = kSide;
  f.Matmul(matmul, {x, f.Variable(0)}, {y});
  f.Kernel("add_f32", {f.Variable(1), y}, {f.Variable(1)}, kSize);
  f.Kernel("add_f32", {f.Variable(1), f.Buffer(fb::Space::Constant, 0, offset, DType::kF32, {kSize})},
           {f.Variable(1)}, kSize);
  f.Output("y", y);
  return plan;
}
// Returns the value of "sum" after `runs` runs with an x of ones.
float SumAfter(int runs) { return 1 + static_cast<float>(runs) * (kSide * 0.5f + 3); }

int OpenFiles() {
  return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

std::string Contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<std::string> FilesOf(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

class FaultPointsTest : public ::testing::Test {
 protected:
  // Repeats `work` and makes another one of its calls fail each time, until all have failed once. Checks that
  // `work` leaks no memory and no files. Returns the number of calls.
  static int FailEach(const std::function<absl::Status()>& work,
                      const std::function<void(const absl::Status&)>& check) {
    EXPECT_TRUE(work().ok()) << "with nothing failing: " << work();
    CachingAllocator* const memory = *ProcessAllocator();
    memory->FreeAllBlocks();
    const int64_t used = memory->UsedBytes();
    const int files = OpenFiles();
    for (int call = 1;; ++call) {
      FaultPoints::Arm(call);
      const absl::Status status = work();
      const bool has_failed = FaultPoints::Disarm();
      SCOPED_TRACE("call " + std::to_string(call) + " fails, " + FaultPoints::name() + ": " +
                   status.ToString());
      EXPECT_EQ(memory->UsedBytes(), used);
      EXPECT_EQ(OpenFiles(), files);
      check(status);
      const absl::Status again = work();
      EXPECT_TRUE(again.ok()) << "the second try: " << again;
      if (!has_failed || HasFailure()) return call - 1;
      memory->FreeAllBlocks();
    }
  }
};

TEST_F(FaultPointsTest, Files) {
  const ScratchFolder folder;
  const std::string path = folder.File("net.plan");
  const Plan before = *TestPlan().Make(), after = *TrainPlan().Make();
  ASSERT_TRUE(before.Save(path).ok());
  const std::string old_bytes = Contents(path);
  ASSERT_TRUE(after.Save(path).ok());
  const std::string new_bytes = Contents(path);
  const int saves = FailEach(
      [&] {
        std::ofstream(path, std::ios::binary) << old_bytes;
        return after.Save(path);
      },
      [&](const absl::Status& status) {
        const std::string now = Contents(path);
        EXPECT_TRUE(now == new_bytes || (!status.ok() && now == old_bytes));
        EXPECT_THAT(FilesOf(std::filesystem::path(path).parent_path()), ::testing::ElementsAre("net.plan"));
      });
  EXPECT_GE(saves, 4);  // Open, write, fsync, rename.
  const int loads = FailEach([&] { return Plan::Load(path).status(); },
                             [&](const absl::Status&) { EXPECT_EQ(Contents(path), new_bytes); });
  EXPECT_GE(loads, 2);
}

TEST_F(FaultPointsTest, SessionsAndRuns) {
  const Plan plan = *TrainPlan().Make();
  const HostTensor x = *HostTensor::FromVector<float>({kSide, kSide}, std::vector<float>(kSize, 1));
  const int calls = FailEach(
      [&]() -> absl::Status {
        auto pool = *CachingAllocator::Create(std::make_unique<HostMemory>());
        SINTER_ASSIGN_OR_RETURN(Session session,
                                Session::Create(plan.Share(), {.threads = 1, .allocator = pool.get()}));
        int runs = 0;
        absl::Status first_error;
        for (int run = 0; run < 3; ++run) {
          const absl::Status status = session.Run("train", {{"x", x}}).status();
          first_error.Update(status);
          if (status.ok()) {
            ++runs;
            continue;
          }
          // Variables keep their values, or they cannot be read until they are set again.
          absl::StatusOr<HostTensor> sum = session.ReadVariable("sum");
          if (sum.ok()) {
            EXPECT_THAT(*sum->Span<float>(), Each(SumAfter(runs)));
          } else {
            EXPECT_TRUE(session.ResetVariables().ok());
            runs = 0;
          }
        }
        EXPECT_THAT(*session.ViewVariable("sum")->Span<float>(), Each(SumAfter(runs)));
        return first_error;
      },
      [](const absl::Status&) {});
  EXPECT_GE(calls, 8);
}

TEST_F(FaultPointsTest, Checkpoints) {
  const ScratchFolder folder;
  const std::string path = folder.File("net.safetensors");
  Session session = *TrainPlan().MakeSession({.threads = 1});
  const auto write = [&](float value) {
    ASSERT_TRUE(session.WriteVariable("sum", Filled(kSize, value)).ok());
  };
  write(5);
  ASSERT_TRUE(SaveCheckpoint(session, path).ok());
  const std::string old_bytes = Contents(path);
  write(6);
  ASSERT_TRUE(SaveCheckpoint(session, path).ok());
  const std::string new_bytes = Contents(path);
  const int saves = FailEach(
      [&] {
        std::ofstream(path, std::ios::binary) << old_bytes;
        return SaveCheckpoint(session, path);
      },
      [&](const absl::Status& status) {
        const std::string now = Contents(path);
        EXPECT_TRUE(now == new_bytes || (!status.ok() && now == old_bytes));
        EXPECT_THAT(FilesOf(std::filesystem::path(path).parent_path()),
                    ::testing::ElementsAre("net.safetensors"));
      });
  EXPECT_GE(saves, 4);
  const int loads = FailEach(
      [&] {
        write(9);
        return LoadCheckpoint(session, path).status();
      },
      [&](const absl::Status& status) {
        EXPECT_THAT(*session.ViewVariable("sum")->Span<float>(), Each(status.ok() ? 6.0f : 9.0f));
      });
  EXPECT_GE(loads, 2);
}

// Fails each call of a GPU in turn: calls that create it, run its steps and transfer data.
TEST(FaultyGpuTest, EveryCallOfADevice) {
  const TestPlan plan = TwoDevicesPlan(Device::Gpu(0), Device::Gpu(1));
  const HostTensor x = Filled(kTwoDevicesSize, 2);
  for (int call = 1;; ++call) {
    FakeGpus gpus;
    gpus.FailCall(call);
    absl::StatusOr<Session> session = gpus.MakeSession(plan);
    SCOPED_TRACE("call " + std::to_string(call) + " fails, " + gpus.failed_call());
    if (!session.ok()) {
      EXPECT_EQ(gpus.allocator(0).UsedBytes(), 0);
      EXPECT_TRUE(gpus.MakeSession(plan).ok()) << "the second try";
      continue;
    }
    int runs = 0;
    for (int run = 0; run < 4; ++run) {
      absl::StatusOr<Outputs> out = session->Run("f", {{"x", x}});
      const absl::Status status = out.ok() ? out->Get("t").status() : out.status();
      if (status.ok()) {
        ++runs;
        EXPECT_THAT(*(*out)["t"].Span<float>(), Each(6.0f));
        continue;
      }
      // The run was launched, although its result could not be read.
      if (out.ok()) ++runs;
      absl::StatusOr<HostTensor> b = session->ReadVariable("b");
      if (!b.ok()) {
        EXPECT_TRUE(absl::IsFailedPrecondition(b.status())) << b.status();
        ASSERT_TRUE(session->ResetVariables().ok());
        runs = 0;
      }
    }
    absl::StatusOr<HostTensor> b = session->ReadVariable("b");
    if (!b.ok()) b = session->ReadVariable("b");
    ASSERT_TRUE(b.ok()) << b.status();
    EXPECT_THAT(*b->Span<float>(), Each(10.0f + 3.0f * static_cast<float>(runs)));
    if (HasFailure() || gpus.failed_call().empty()) {
      EXPECT_GT(call, 30);
      return;
    }
  }
}

}  // namespace
}  // namespace sinter
