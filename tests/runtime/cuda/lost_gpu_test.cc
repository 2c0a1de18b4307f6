// Tests of lost GPUs. A kernel's fault ends the CUDA context for the whole process, so each test runs in its
// own process.
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "sinter/runtime/cuda/driver/lost_gpus.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/cuda/driver_plans.h"
#include "sinter/tests/runtime/training_plans.h"

namespace sinter {
namespace {

// Ends the process with a message, which the test shows, unless `is_true`.
void Expect(bool is_true, std::string_view what, const absl::Status& status = absl::OkStatus()) {
  if (is_true) return;
  std::cerr << "expected: " << what << ", and got " << status << std::endl;
  std::_Exit(1);
}

void ExpectLost(const absl::Status& status, std::string_view call) {
  const std::string message(status.message());
  Expect(absl::IsInternal(status), absl::StrCat(std::string(call), " to fail"), status);
  for (const char* const part :
       {"gpu:0 is lost to this program since CUDA could not ", "(cudaError",
        "; a kernel that was launched before", "compute-sanitizer PROGRAM names the kernel",
        "start it again, from its last checkpoint"}) {
    Expect(absl::StrContains(message, part), absl::StrCat(std::string(call), " to say: ", part), status);
  }
}

absl::Status Trap() {
  SINTER_ASSIGN_OR_RETURN(Session session, MakeDriverSession(TrapPlan()));
  SINTER_ASSIGN_OR_RETURN(const Outputs out, session.Run("f", {{"x", DriverInput(1)}}));
  SINTER_RETURN_IF_ERROR(out.Get("y").status());
  return absl::OkStatus();
}

void LoseAGpu() {
  const ScratchFolder folder;
  const std::string path = folder.File("net.safetensors");
  const HostTensor x = DriverInput(1);
  {
    absl::StatusOr<Session> session = MakeDriverSession(TwoBranchesPlan());
    Expect(session.ok(), "a session", session.status());
    for (int run = 0; run < 3; ++run) Expect(session->Run("f", {{"x", x}}).ok(), "a run");
    Expect(SaveCheckpoint(*session, path).ok(), "a checkpoint");
    const auto written = std::filesystem::last_write_time(path);

    const absl::Status first = Trap();
    Expect(absl::IsInternal(first), "an error of the kernel that traps", first);
    // cudaErrorLaunchFailure or cudaErrorIllegalInstruction.
    Expect(absl::StrContains(first.message(), "); a kernel that was launched before"),
           "the first error to say what happened", first);

    ExpectLost(session->Run("f", {{"x", x}}).status(), "Run");
    ExpectLost(session->ReadVariable("sum").status(), "ReadVariable");
    ExpectLost(session->WriteVariable("sum", x), "WriteVariable");
    ExpectLost(session->ResetVariables(), "ResetVariables");
    ExpectLost(session->Synchronize(), "Synchronize");
    ExpectLost(SaveCheckpoint(*session, path), "SaveCheckpoint");
    Expect(std::filesystem::last_write_time(path) == written, "the old checkpoint");
    ExpectLost(MakeDriverSession(TwoBranchesPlan()).status(), "a new session");
    ExpectLost(CheckNotLost(0), "CheckNotLost");
  }
  if (NumCudaDevices() > 1) {
    absl::StatusOr<Session> other = MakeDriverSession(ScalePlan(Device::Gpu(1), 64));
    // It depends on the driver whether the process may start to use another GPU.
    if (!other.ok()) {
      ExpectLost(other.status(), "a session of another GPU");
    } else {
      Expect(other->Run("f", {{"x", Filled(64, 2)}, {"s", 1}, {"t", Filled(64, 2)}}).ok(), "its run");
    }
  }
  std::cerr << "all sessions say that the GPU is lost" << std::endl;
  std::exit(0);
}

// Loses one of two GPUs that run collectives.
void LoseAPartner() {
  const TestPlan plan = TrainingPlan({Device::Gpu(1), Device::Gpu(0)}, 256, /*with_copy=*/false);
  {
    absl::StatusOr<Session> session = MakeDriverSession(plan);
    Expect(session.ok(), "a session", session.status());
    for (int run = 0; run < 3; ++run) {
      Expect(session->Run("f", {{"x", Filled(256, 1)}}).ok(), "an exchange");
    }
    Expect(absl::IsInternal(Trap()), "an error of the kernel that traps");
    absl::Status status;
    for (int run = 0; run < 2 && status.ok(); ++run) {
      status = session->Run("f", {{"x", Filled(256, 1)}}).status();
      status.Update(session->Synchronize());
    }
    Expect(absl::StrContains(status.message(), "gpu:0 is lost to this program since"), "the loss", status);
  }
  std::cerr << "the partner ended" << std::endl;
  std::exit(0);
}

class LostGpuDeathTest : public ::testing::Test {
 protected:
  void SetUp() override {
    // CUDA does not work in a forked process.
    GTEST_FLAG_SET(death_test_style, "threadsafe");
  }
};

TEST_F(LostGpuDeathTest, EverySessionSaysSoAndNothingHangs) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EXIT(LoseAGpu(), ::testing::ExitedWithCode(0), "all sessions say that the GPU is lost");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

TEST_F(LostGpuDeathTest, ExchangesEnd) {
  if (NumCudaDevices() < 2) GTEST_SKIP() << "there is one GPU";
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EXIT(LoseAPartner(), ::testing::ExitedWithCode(0), "the partner ended");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

}  // namespace
}  // namespace sinter
