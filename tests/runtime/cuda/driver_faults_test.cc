// Every call of CUDA, cuBLASLt and NCCL fails once. The program must get an error that names the call, lose
// nothing, and give the same bits at the next try.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/kernels/cuda/exchange/exchange_kernel.h"
#include "sinter/runtime/cuda/cuda_runtime.h"
#include "sinter/runtime/cuda/driver/cuda_memory.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/collective_plans.h"
#include "sinter/tests/runtime/cuda/driver_faults.h"
#include "sinter/tests/runtime/cuda/driver_plans.h"
#include "sinter/tests/runtime/cuda/software/software_gpu.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/fault_points.h"
#include "sinter/tests/runtime/mesh_plans.h"
#include "sinter/tests/runtime/training_plans.h"

namespace sinter {
namespace {

using ::testing::AnyOf;
using ::testing::Each;
using ::testing::HasSubstr;

absl::StatusOr<std::unique_ptr<CachingAllocator>> MakePool(int gpu) {
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<DeviceMemory> memory, MakeCudaMemory(gpu));
  return CachingAllocator::Create(std::move(memory));
}

// Repeats a failed call once, as a program that expects failures does.
absl::Status Retried(absl::Status* first_error, const std::function<absl::Status()>& call) {
  const absl::Status status = call();
  if (status.ok()) return status;
  first_error->Update(status);
  return call();
}

absl::StatusOr<std::string> TrainAndSave(const std::string& path, absl::Status* first_error) {
  SINTER_ASSIGN_OR_RETURN(const auto pool, MakePool(0));
  SINTER_ASSIGN_OR_RETURN(Session session, MakeDriverSession(TwoBranchesPlan(), {pool.get()}));
  std::string bits;
  // Run 0 executes step by step, run 1 is captured, the others launch the capture.
  const auto train = [&]() -> absl::Status {
    bits.clear();
    for (uint32_t run = 0; run < 4; ++run) {
      SINTER_ASSIGN_OR_RETURN(const Outputs out, session.Run("f", {{"x", DriverInput(run)}}));
      SINTER_ASSIGN_OR_RETURN(const HostTensor* const z, out.Get("z"));
      bits += BytesOf(*z);
    }
    return absl::OkStatus();
  };
  if (const absl::Status status = train(); !status.ok()) {
    first_error->Update(status);
    SINTER_RETURN_IF_ERROR(session.ResetVariables());
    SINTER_RETURN_IF_ERROR(train());
  }
  SINTER_RETURN_IF_ERROR(Retried(first_error, [&] { return SaveCheckpoint(session, path); }));
  SINTER_RETURN_IF_ERROR(Retried(first_error, [&] { return LoadCheckpoint(session, path).status(); }));
  std::ifstream file(path, std::ios::binary);
  return bits.append(std::istreambuf_iterator<char>(file), {});
}

TEST_F(DriverFaultsTest, ASessionItsRunsAndItsCheckpoint) {
  const ScratchFolder folder;
  const std::string path = folder.File("net.safetensors");
  const int calls = FailEach([&](absl::Status* first_error) { return TrainAndSave(path, first_error); });
  EXPECT_GE(calls, 200);
}

// If a capture fails, none of its steps has run: variables keep their values and stay valid.
TEST_F(DriverFaultsTest, NoMemoryForACapture) {
  for (const char* const call :
       {"cudaStreamBeginCapture", "cudaStreamUpdateCaptureDependencies", "cudaLaunchKernelExC",
        "cublasLtMatmul", "cudaStreamEndCapture", "cudaGraphInstantiate", "cudaGraphUpload"}) {
    SCOPED_TRACE(call);
    absl::StatusOr<Session> session = MakeDriverSession(TwoBranchesPlan());
    ASSERT_TRUE(session.ok()) << session.status();
    const HostTensor x = DriverInput(1);
    ASSERT_TRUE(session->Run("f", {{"x", x}}).ok());
    const std::string before = BytesOf(*session->ReadVariable("sum"));
    FaultPoints::Arm(1, call);
    const absl::Status status = session->Run("f", {{"x", x}}).status();
    ASSERT_TRUE(FaultPoints::Disarm());
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("function \"f\", step"), HasSubstr(" could not ")));
    EXPECT_EQ(absl::IsResourceExhausted(status),
              !std::string(call).starts_with("cublas") && std::string(call) != "cudaStreamEndCapture")
        << status;
    const absl::StatusOr<HostTensor> sum = session->ReadVariable("sum");
    ASSERT_TRUE(sum.ok()) << sum.status();
    EXPECT_TRUE(BytesOf(*sum) == before);
    // This run is captured.
    ASSERT_TRUE(session->Run("f", {{"x", x}}).ok());
    absl::StatusOr<Session> other = MakeDriverSession(TwoBranchesPlan());
    for (int run = 0; run < 2; ++run) ASSERT_TRUE(other->Run("f", {{"x", x}}).ok());
    EXPECT_TRUE(BytesOf(*session->ReadVariable("sum")) == BytesOf(*other->ReadVariable("sum")));
  }
}

TEST_F(DriverFaultsTest, EachFunctionOfAConvolution) {
  ASSERT_TRUE(ConvolutionPlan().Make().ok());
  if (UsesSoftwareGpu()) GTEST_SKIP() << "there is no cuDNN in software: cudnn_engines_test fails its calls";
  const HostTensor x = *HostTensor::View(DType::kF32, {2, 8, 8, 8}, DriverInput(1).data())->Clone();
  const auto convolve = [&]() -> absl::StatusOr<std::string> {
    SINTER_ASSIGN_OR_RETURN(Session session, MakeDriverSession(ConvolutionPlan()));
    std::string bits;
    for (int run = 0; run < 3; ++run) {
      SINTER_ASSIGN_OR_RETURN(const Outputs out, session.Run("f", {{"x", x}}));
      SINTER_ASSIGN_OR_RETURN(const HostTensor* const y, out.Get("y"));
      bits += BytesOf(*y);
    }
    return bits;
  };
  const absl::StatusOr<std::string> bits = convolve();
  ASSERT_TRUE(bits.ok()) << bits.status();
  const std::map<std::string, int> live = LiveObjects();
  for (const char* const call :
       {"cudnnCreate", "cudnnSetStream", "cudnnBackendCreateDescriptor", "cudnnBackendSetAttribute",
        "cudnnBackendFinalize", "cudnnBackendGetAttribute", "cudnnBackendExecute"}) {
    FaultPoints::Arm(1, call);
    const absl::Status status = convolve().status();
    ASSERT_TRUE(FaultPoints::Disarm()) << call;
    SCOPED_TRACE(std::string(call) + ": " + status.ToString());
    EXPECT_THAT(std::string(status.message()), HasSubstr("cuDNN could not "));
    EXPECT_EQ(LiveObjects(), live);
    const absl::StatusOr<std::string> again = convolve();
    EXPECT_TRUE(again.ok() && *again == *bits) << "the second try: " << again.status();
  }
}

// If cudaSetDevice fails, the allocator must not return memory of another GPU.
TEST_F(DriverFaultsTest, MemoryIsOfTheGpuThatWasAskedFor) {
  if (NumCudaDevices() < 2) GTEST_SKIP() << "there is one GPU";
  const auto pool = *MakePool(1);
  FaultPoints::Arm(1, "cudaSetDevice");
  const absl::StatusOr<Allocation> memory = pool->Allocate(1 << 20, "test");
  ASSERT_TRUE(FaultPoints::Disarm());
  EXPECT_FALSE(memory.ok());
  EXPECT_THAT(std::string(memory.status().message()), HasSubstr("CUDA could not use gpu:1"));
  EXPECT_TRUE(pool->Allocate(1 << 20, "test").ok());
}

class NcclFaultsTest : public DriverFaultsTest {
 protected:
  void SetUp() override {
    if (NumCudaDevices() < 2) GTEST_SKIP() << "there is one GPU";
    // With direct access, the GPUs would exchange without NCCL.
    setenv("SINTER_DISABLE_P2P", "1", 1);
  }
  void TearDown() override { unsetenv("SINTER_DISABLE_P2P"); }

  static absl::StatusOr<std::string> Exchange() {
    SINTER_ASSIGN_OR_RETURN(const auto first, MakePool(0));
    SINTER_ASSIGN_OR_RETURN(const auto second, MakePool(1));
    const TestPlan plan = TrainingPlan({Device::Gpu(0), Device::Gpu(1)}, 256, /*with_copy=*/false);
    SINTER_ASSIGN_OR_RETURN(Session session, MakeDriverSession(plan, {first.get(), second.get()}));
    for (int run = 0; run < 3; ++run) {
      SINTER_RETURN_IF_ERROR(session.Run("f", {{"x", Filled(256, 0.25f)}}).status());
    }
    std::string bits;
    for (const char* const name : {"w0", "w1"}) {
      SINTER_ASSIGN_OR_RETURN(const HostTensor value, session.ReadVariable(name));
      bits += BytesOf(value);
    }
    return bits;
  }
};

TEST_F(NcclFaultsTest, EachFunctionOfAnExchange) {
  const std::string bits = *Exchange();
  const std::map<std::string, int> live = LiveObjects();
  for (const char* const call : {"ncclGetUniqueId", "ncclCommInitRankConfig", "ncclGroupStart",
                                 "ncclGroupEnd", "ncclAllReduce", "ncclCommGetAsyncError"}) {
    for (int number = 1; number <= (UsesSoftwareGpu() ? 6 : 1); ++number) {
      FaultPoints::Arm(number, call);
      const absl::Status status = Exchange().status();
      const bool has_failed = FaultPoints::Disarm();
      SCOPED_TRACE(std::string(call) + ", " + std::to_string(number) + ": " + status.ToString());
      EXPECT_EQ(status.ok(), !has_failed);
      EXPECT_THAT(status.ok() ? "NCCL could not " : std::string(status.message()),
                  HasSubstr("NCCL could not "));
      EXPECT_EQ(LiveObjects(), live);
      const absl::StatusOr<std::string> again = Exchange();
      EXPECT_TRUE(again.ok() && *again == bits) << "the second try: " << again.status();
      ASSERT_FALSE(HasFailure());
    }
  }
}

TEST_F(NcclFaultsTest, EveryCallOfAnExchange) {
  if (!UsesSoftwareGpu())
    GTEST_SKIP() << "to connect real GPUs takes a second: EachFunctionOfAnExchange does";
  const int calls = FailEach([](absl::Status*) { return Exchange(); });
  EXPECT_GE(calls, 200);
}

// A rank that is alive and stuck: it takes no part in the exchanges. The waits of the others end with an
// error that names the exchange, in captured and in single steps.
TEST_F(NcclFaultsTest, AnExchangeThatAMemberNeverJoinsHasADeadline) {
  if (!UsesSoftwareGpu()) GTEST_SKIP() << "real GPUs cannot be made to stay away";
  constexpr std::chrono::milliseconds kPatience(1000);
  // By NCCL, by a kernel that adds, and by NCCL with a kernel that marks it.
  for (const auto& [no_direct_access, elements, runs_before] :
       {std::tuple("1", 256, 0), std::tuple("1", 256, 3), std::tuple("0", 256, 0), std::tuple("0", 256, 3),
        std::tuple("0", 1 << 19, 0), std::tuple("0", 1 << 19, 3)}) {
    SCOPED_TRACE(absl::StrCat(no_direct_access, " ", elements, " ", runs_before));
    const TestPlan plan = TrainingPlan({Device::Gpu(0), Device::Gpu(1)}, elements, /*with_copy=*/false);
    setenv("SINTER_DISABLE_P2P", no_direct_access, 1);
    absl::StatusOr<Session> session = MakeDriverSession(plan, {}, kPatience);
    ASSERT_TRUE(session.ok()) << session.status();
    for (int run = 0; run < runs_before; ++run) {
      ASSERT_TRUE(session->Run("f", {{"x", Filled(elements, 0.25f)}}).ok());
      ASSERT_TRUE(session->Synchronize().ok());
    }
    const auto start = std::chrono::steady_clock::now();
    software::TheMachine().absent = 1;
    absl::Status status = session->Run("f", {{"x", Filled(elements, 0.25f)}}).status();
    status.Update(session->Synchronize());
    software::TheMachine().absent = -1;
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("all_reduce, rank 0 of 2 (gpu:0, gpu:1), function \"f\", step "),
                      HasSubstr("(net.cc:12"), HasSubstr(" has not ended for 1000 ms: another member")));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
    status = session->Run("f", {{"x", Filled(elements, 0.25f)}}).status();
    status.Update(session->Synchronize());
    EXPECT_FALSE(status.ok()) << "a later run";
  }
}

// A world of which one rank is here.
class LoneRank : public World {
 public:
  int rank() const override { return 1; }
  int size() const override { return 4; }
  absl::Status Exchange(std::span<const Transfer>, const Operation&) override { return absl::OkStatus(); }
  absl::Status AllGather(std::span<const std::byte> own, std::span<std::byte> all,
                         const Operation&) override {
    for (size_t at = 0; at < all.size(); at += own.size()) {
      std::ranges::copy(own, all.begin() + static_cast<std::ptrdiff_t>(at));
    }
    return absl::OkStatus();
  }
  bool connects() const override { return false; }
  void Abort(std::string_view) override {}
};

// Without NCCL, in single and in captured steps. Tools time the steps of one rank so.
TEST_F(DriverFaultsTest, ARankThatIsAloneExchangesWithItself) {
  LoneRank world;
  TestPlan plan = MeshPlan({2, 2}, Device::Gpu(0));
  if (!UsesSoftwareGpu()) {
    ASSERT_TRUE(GiveCode(plan).ok());
  }
  absl::StatusOr<Session> session = plan.MakeSession({.threads = 1, .world = &world});
  ASSERT_TRUE(session.ok()) << session.status();
  const auto values = [](const Outputs& outputs, const char* name) {
    const auto span = *outputs[name].Span<float>();
    return std::vector<float>(span.begin(), span.end());
  };
  std::vector<float> row, rows;
  for (int64_t i = 0; i < kMeshRow; ++i) row.push_back(MeshElement(1, i));
  for (int rank = 0; rank < 4; ++rank) rows.insert(rows.end(), row.begin(), row.end());
  Profile profile;
  for (int run = 1; run <= 6; ++run) {
    const absl::StatusOr<Outputs> out =
        session->Run("f", {{"x", MeshRows(0, 4)}}, run < 4 ? nullptr : &profile);
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ(values(*out, "over_a"), rows) << run;
    EXPECT_EQ(values(*out, "scattered"), rows) << run;
    EXPECT_THAT(*(*out)["numbers"].Span<int64_t>(), Each(101));
    std::vector<float> sum;
    for (const float value : row) sum.push_back(1 + static_cast<float>(run) * value);
    EXPECT_EQ(values(*out, "w"), sum);
  }
  EXPECT_EQ(profile.runs, 3);
  EXPECT_EQ(profile.steps.size(), session->program().functions()->Get(0)->steps()->size());
}

TEST_F(NcclFaultsTest, PatienceOfLessThanASecondIsRefused) {
  const TestPlan plan = TrainingPlan({Device::Gpu(0), Device::Gpu(1)}, 256, /*with_copy=*/false);
  EXPECT_EQ(
      MakeDriverSession(plan, {}, std::chrono::milliseconds(999)).status(),
      absl::InvalidArgumentError("SessionOptions::exchange_patience is 999 ms: give at least 1000, or 0 for "
                                 "no limit"));
  EXPECT_TRUE(MakeDriverSession(plan, {}, std::chrono::milliseconds(0)).ok());
}

// A session goes through main memory instead. The devices have no common type.
TEST_F(DriverFaultsTest, ADeviceOfAnotherBackEndIsRefused) {
  const std::unique_ptr<DeviceRuntime> gpu = *MakeCudaRuntime(Device::Gpu(0));
  const auto memory = *CachingAllocator::Create(std::make_unique<HostMemory>(Device::Gpu(1)));
  FakeGpu other(Device::Gpu(1), memory.get());
  const absl::Status refused =
      absl::InternalError("gpu:1 is no GPU of CUDA: values go to it through main memory");
  std::byte data[4] = {};
  EXPECT_EQ(gpu->WaitFor(other), refused);
  EXPECT_EQ(gpu->CopyFrom(other, data, data, 4), refused);
  const absl::StatusOr<Plan> plan = TestPlan().Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  DeviceRuntime* const peers[] = {gpu.get(), &other};
  EXPECT_EQ(gpu->Connect(plan->table(), peers, LocalDevices{.count = 2}, nullptr), refused);
}

}  // namespace
}  // namespace sinter
