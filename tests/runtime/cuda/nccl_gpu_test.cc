// Collectives on the GPUs of this process, step by step: every kind, element type and combination, run
// directly and captured, and compared with sums computed by hand. collective_gpu_test.cc tests sessions with
// collectives.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <numeric>
#include <thread>

#include "gmock/gmock.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/tests/runtime/cuda/gpu_steps.h"

namespace sinter {
namespace {

using fb::CollectiveKind;
using fb::ReduceOp;
using ::testing::HasSubstr;

constexpr uint32_t kMostGpus = 4;

struct Case {
  CollectiveKind kind;
  ReduceOp combine = ReduceOp::Sum;
  DType dtype = DType::kF32;
  // Sizes of all tensors for AllReduce, Reduce and Broadcast, else of the only one.
  std::vector<int64_t> elements = {};
  std::vector<int64_t> parts = {};
};

// Returns a member's tensor of small whole numbers, whose sums are exact in any type.
std::vector<double> Values(int64_t count, uint32_t rank, size_t tensor, DType dtype) {
  std::vector<double> values(static_cast<size_t>(count));
  const bool is_signed = dtype != DType::kU8;
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>((i * 7 + rank * 5 + tensor * 3) % 13) - (is_signed ? 6 : 0);
  }
  return values;
}

double Combined(const Case& c, const std::vector<double>& all) {
  const double sum = std::accumulate(all.begin(), all.end(), 0.0);
  switch (c.combine) {
    case ReduceOp::Sum:
      return sum;
    case ReduceOp::Mean:
      return IsFloat(c.dtype) ? sum / static_cast<double>(all.size())
                              : std::trunc(sum / static_cast<double>(all.size()));
    case ReduceOp::Max:
      return *std::ranges::max_element(all);
    case ReduceOp::Min:
      return *std::ranges::min_element(all);
  }
  return 0;
}

class NcclGpuTest : public ::testing::Test {
 protected:
  struct Member {
    std::unique_ptr<Step> step;
    std::vector<Allocation> memory;
    std::vector<void*> buffers;
    std::vector<HostTensor> outputs;  // Expected values.
    std::unique_ptr<CapturedGraph> captured;

    StepArgs args() const {
      return {
          .buffers = buffers.data(), .workspace = nullptr, .scratch = nullptr, .library_workspace = nullptr};
    }
  };

  void SetUp() override {
    if (const int count = NumCudaDevices(); count < 2) {
      GTEST_SKIP() << "two GPUs are needed, and there are " << count;
    }
    size_ = std::min<uint32_t>(static_cast<uint32_t>(NumCudaDevices()), kMostGpus);
    auto function = std::make_unique<fb::FunctionT>();
    function->name = "f";
    plan_.functions.push_back(std::move(function));
    for (uint32_t i = 0; i < size_; ++i) {
      auto name = std::make_unique<fb::DeviceNameT>();
      name->kind = fb::DeviceKind::Gpu;
      name->index = static_cast<int32_t>(i);
      plan_.devices.push_back(std::move(name));
      gpus_.push_back(MakeCudaRuntime(Device::Gpu(static_cast<int32_t>(i))).value());
    }
  }

  fb::FunctionT& function() { return *plan_.functions[0]; }
  std::vector<uint32_t> Everybody() const {
    std::vector<uint32_t> group(size_);
    std::iota(group.begin(), group.end(), 0);
    return group;
  }

  // The tensors that each rank has before the collective; OutputsOf returns the expected ones after it.
  std::vector<std::vector<double>> InputsOf(const Case& c, uint32_t rank) const {
    std::vector<std::vector<double>> inputs;
    if (c.kind == CollectiveKind::Broadcast && rank != 0) return inputs;
    if (c.kind == CollectiveKind::SendRecv && rank != 0) return inputs;
    if (c.kind == CollectiveKind::AllGather) return {Values(c.parts[rank], rank, 0, c.dtype)};
    for (size_t t = 0; t < c.elements.size(); ++t) inputs.push_back(Values(c.elements[t], rank, t, c.dtype));
    return inputs;
  }
  std::vector<std::vector<double>> OutputsOf(const Case& c, uint32_t rank) const;

  // Adds the members' steps and returns the index of the first.
  uint32_t Add(const Case& c, std::vector<uint32_t> group) {
    const uint32_t first = static_cast<uint32_t>(function().steps.size());
    for (uint32_t rank = 0; rank < group.size(); ++rank) {
      fb::CollectiveStepT body;
      body.kind = c.kind;
      body.combine = c.combine;
      body.dtype = static_cast<fb::DType>(c.dtype);
      body.channel = first;
      body.group = group;
      body.rank = rank;
      body.elements = c.elements;
      body.root = c.kind == CollectiveKind::RingShift ? 1 : 0;
      if (c.kind == CollectiveKind::AllGather) body.elements = {c.parts[rank]};
      body.parts = c.parts;
      auto step = std::make_unique<fb::StepT>();
      step->name = "step";
      step->device = group[rank];
      step->body.Set(std::move(body));
      for (uint32_t i = 0; i < InputsOf(c, rank).size(); ++i) step->inputs.push_back(i);
      for (uint32_t i = 0; i < OutputsOf(c, rank).size(); ++i) step->outputs.push_back(i);
      function().steps.push_back(std::move(step));
    }
    return first;
  }

  absl::Status Connect() {
    packed_ = std::make_unique<PackedPlan>(plan_);
    std::vector<DeviceRuntime*> peers;
    for (const auto& gpu : gpus_) peers.push_back(gpu.get());
    const LocalDevices local = {.first = 0, .count = size_};
    return gpus_[0]->Connect(packed_->plan(), peers, local, nullptr);
  }

  Member Make(const Case& c, uint32_t first, uint32_t rank) {
    Member made;
    const fb::Step& step = *packed_->plan().functions()->Get(0)->steps()->Get(first + rank);
    absl::StatusOr<std::unique_ptr<Step>> loaded = gpus_[step.device()]->MakeStep(packed_->plan(), step);
    EXPECT_TRUE(loaded.ok()) << loaded.status();
    if (loaded.ok()) made.step = *std::move(loaded);
    DeviceRuntime& gpu = *gpus_[step.device()];
    const auto add = [&](const std::vector<double>& values) {
      HostTensor tensor = MakeTensor(c.dtype, {static_cast<int64_t>(values.size())}, values);
      Allocation memory = gpu.allocator().Allocate(std::max<int64_t>(tensor.num_bytes(), 1), "test").value();
      EXPECT_TRUE(gpu.Upload(memory.ptr(), tensor.data(), static_cast<size_t>(tensor.num_bytes())).ok());
      made.buffers.push_back(memory.ptr());
      made.memory.push_back(std::move(memory));
      return tensor;
    };
    for (const std::vector<double>& values : InputsOf(c, rank)) add(values);
    for (const std::vector<double>& values : OutputsOf(c, rank)) made.outputs.push_back(add(values));
    return made;
  }

  // Runs each member in its own thread, as a session does.
  absl::Status RunEach(std::vector<Member>& members,
                       const std::function<absl::Status(Member&, DeviceRuntime&)>& work) {
    std::vector<absl::Status> statuses(members.size());
    std::vector<std::thread> threads;
    for (size_t i = 0; i < members.size(); ++i) {
      threads.emplace_back([&, i] { statuses[i] = work(members[i], *gpus_[i]); });
    }
    for (std::thread& thread : threads) thread.join();
    absl::Status status;
    for (const absl::Status& one : statuses) status.Update(one);
    return status;
  }

  void Poison(std::vector<Member>& members) {
    for (size_t i = 0; i < members.size(); ++i) {
      const size_t inputs = members[i].buffers.size() - members[i].outputs.size();
      for (size_t k = 0; k < members[i].outputs.size(); ++k) {
        const size_t bytes = static_cast<size_t>(members[i].outputs[k].num_bytes());
        ASSERT_TRUE(gpus_[i]->Fill(members[i].buffers[inputs + k], 0x55, bytes).ok());
      }
    }
  }
  void Expect(const std::vector<Member>& members, const std::string& what) {
    for (size_t i = 0; i < members.size(); ++i) {
      const size_t inputs = members[i].buffers.size() - members[i].outputs.size();
      for (size_t k = 0; k < members[i].outputs.size(); ++k) {
        HostTensor got = members[i].outputs[k].Clone().value();
        const size_t bytes = static_cast<size_t>(got.num_bytes());
        ASSERT_TRUE(gpus_[i]->Download(got.mutable_data(), members[i].buffers[inputs + k], bytes).ok());
        EXPECT_EQ(ToDoubles(got), ToDoubles(members[i].outputs[k]))
            << what << ", rank " << i << ", output " << k;
      }
    }
  }

  uint32_t size_ = 0;
  fb::PlanT plan_;
  std::unique_ptr<PackedPlan> packed_;
  std::vector<std::unique_ptr<DeviceRuntime>> gpus_;
};

std::vector<std::vector<double>> NcclGpuTest::OutputsOf(const Case& c, uint32_t rank) const {
  std::vector<std::vector<double>> outputs;
  std::vector<std::vector<std::vector<double>>> inputs;
  for (uint32_t r = 0; r < size_; ++r) inputs.push_back(InputsOf(c, r));
  const auto combined = [&](size_t tensor, size_t i) {
    std::vector<double> all;
    for (uint32_t r = 0; r < size_; ++r) all.push_back(inputs[r][tensor][i]);
    return Combined(c, all);
  };
  switch (c.kind) {
    case CollectiveKind::Reduce:
      if (rank != 0) return outputs;
      [[fallthrough]];
    case CollectiveKind::AllReduce:
      for (size_t t = 0; t < c.elements.size(); ++t) {
        outputs.emplace_back();
        for (size_t i = 0; i < static_cast<size_t>(c.elements[t]); ++i) outputs[t].push_back(combined(t, i));
      }
      return outputs;
    case CollectiveKind::Broadcast:
      return InputsOf(c, 0);
    case CollectiveKind::AllGather:
      outputs.emplace_back();
      for (uint32_t r = 0; r < size_; ++r)
        std::ranges::copy(InputsOf(c, r)[0], std::back_inserter(outputs[0]));
      return outputs;
    case CollectiveKind::ReduceScatter: {
      const int64_t begin = std::accumulate(c.parts.begin(), c.parts.begin() + rank, int64_t{0});
      outputs.emplace_back();
      for (int64_t i = 0; i < c.parts[rank]; ++i)
        outputs[0].push_back(combined(0, static_cast<size_t>(begin + i)));
      return outputs;
    }
    case CollectiveKind::AllToAll: {
      const size_t part = static_cast<size_t>(c.elements[0]) / size_;
      outputs.emplace_back();
      for (uint32_t r = 0; r < size_; ++r) {
        const std::vector<double> from = InputsOf(c, r)[0];
        outputs[0].insert(outputs[0].end(), from.begin() + static_cast<int64_t>(part * rank),
                          from.begin() + static_cast<int64_t>(part * (rank + 1)));
      }
      return outputs;
    }
    case CollectiveKind::RingShift:
      return InputsOf(c, (rank + size_ - 1) % size_);
    case CollectiveKind::SendRecv:
      if (rank == 1) outputs.push_back(InputsOf(c, 0)[0]);
      return outputs;
  }
  return outputs;
}

// Every kind and type, and every combination for the three kinds that combine.
std::vector<Case> AllCases(uint32_t size) {
  std::vector<Case> cases;
  std::vector<int64_t> even(size, 5), uneven(size);
  for (uint32_t i = 0; i < size; ++i) uneven[i] = i == 1 ? 0 : 3 + static_cast<int64_t>(i);
  const auto total = [](const std::vector<int64_t>& parts) {
    return std::accumulate(parts.begin(), parts.end(), int64_t{0});
  };
  for (const DType dtype : {DType::kF64, DType::kF32, DType::kBf16, DType::kF16, DType::kI64, DType::kI32,
                            DType::kI8, DType::kU8}) {
    for (const ReduceOp combine : {ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Max, ReduceOp::Min}) {
      cases.push_back({CollectiveKind::AllReduce, combine, dtype, {1000, 0, 17}});
      cases.push_back({CollectiveKind::Reduce, combine, dtype, {33, 4}});
      cases.push_back({CollectiveKind::ReduceScatter, combine, dtype, {total(even)}, even});
      cases.push_back({CollectiveKind::ReduceScatter, combine, dtype, {total(uneven)}, uneven});
    }
    cases.push_back({CollectiveKind::Broadcast, ReduceOp::Sum, dtype, {100, 3}});
    cases.push_back({CollectiveKind::AllGather, ReduceOp::Sum, dtype, {}, even});
    cases.push_back({CollectiveKind::AllGather, ReduceOp::Sum, dtype, {}, uneven});
    cases.push_back({CollectiveKind::AllToAll, ReduceOp::Sum, dtype, {7 * static_cast<int64_t>(size)}});
    cases.push_back({CollectiveKind::RingShift, ReduceOp::Sum, dtype, {31}});
  }
  cases.push_back({CollectiveKind::AllReduce, ReduceOp::Sum, DType::kF32, {(1 << 20) + 3}});
  return cases;
}

std::string NameOf(const Case& c) {
  return std::string(CollectiveName(c.kind)) + " " + std::string(DTypeName(c.dtype)) + ", combination " +
         std::to_string(static_cast<int>(c.combine));
}

TEST_F(NcclGpuTest, EveryKindTypeAndCombination) {
  const std::vector<Case> cases = AllCases(size_);
  std::vector<uint32_t> first;
  for (const Case& c : cases) first.push_back(Add(c, Everybody()));
  const absl::Status connected = Connect();
  ASSERT_TRUE(connected.ok()) << connected;
  for (size_t k = 0; k < cases.size() && !HasFailure(); ++k) {
    std::vector<Member> members;
    for (uint32_t rank = 0; rank < size_; ++rank) members.push_back(Make(cases[k], first[k], rank));
    if (HasFailure()) return;
    Poison(members);
    absl::Status status = RunEach(members, [](Member& m, DeviceRuntime&) -> absl::Status {
      absl::Status run = m.step->Run(m.args());
      return run.ok() ? m.step->Wait() : run;
    });
    ASSERT_TRUE(status.ok()) << NameOf(cases[k]) << ": " << status;
    Expect(members, NameOf(cases[k]));
    status = RunEach(members, [](Member& m, DeviceRuntime& gpu) -> absl::Status {
      absl::StatusOr<std::unique_ptr<CapturedGraph>> captured = gpu.Capture([&] {
        absl::Status run = m.step->Run(m.args());
        return run.ok() ? m.step->Wait() : run;
      });
      if (!captured.ok()) return captured.status();
      m.captured = *std::move(captured);
      return absl::OkStatus();
    });
    ASSERT_TRUE(status.ok()) << NameOf(cases[k]) << ", captured: " << status;
    for (int run = 0; run < 2; ++run) {
      Poison(members);
      status = RunEach(members, [](Member& m, DeviceRuntime&) { return m.captured->Launch(); });
      ASSERT_TRUE(status.ok()) << NameOf(cases[k]) << ", launched: " << status;
      Expect(members, NameOf(cases[k]) + ", launched");
    }
  }
}

TEST_F(NcclGpuTest, SendsFromOneToAnother) {
  const Case c = {CollectiveKind::SendRecv, ReduceOp::Sum, DType::kF16, {1001}};
  // Reversed: ranks count within the group, not within the plan.
  const uint32_t first = Add(c, {1, 0});
  ASSERT_TRUE(Connect().ok());
  std::vector<Member> members;
  members.push_back(Make(c, first, 1));  // Runs on gpu:0.
  members.push_back(Make(c, first, 0));
  Poison(members);
  const absl::Status status =
      RunEach(members, [](Member& m, DeviceRuntime&) { return m.step->Run(m.args()); });
  ASSERT_TRUE(status.ok()) << status;
  Expect(members, "send_recv");
}

// One member joins and the other aborts. The first must give up, run directly or captured, and so must all
// later collectives.
class NcclFailureTest : public NcclGpuTest, public ::testing::WithParamInterface<bool> {};

TEST_P(NcclFailureTest, NobodyWaitsForAMemberThatHasFailed) {
  const bool is_captured = GetParam();
  const Case c = {CollectiveKind::AllReduce, ReduceOp::Sum, DType::kF32, {1 << 16}};
  const uint32_t first = Add(c, {0, 1});
  ASSERT_TRUE(Connect().ok());
  std::vector<Member> members;
  for (uint32_t rank = 0; rank < 2; ++rank) members.push_back(Make(c, first, rank));
  if (is_captured) {
    absl::Status status = RunEach(members, [](Member& m, DeviceRuntime& gpu) -> absl::Status {
      absl::Status run = m.step->Run(m.args());
      if (!run.ok()) return run;
      absl::StatusOr<std::unique_ptr<CapturedGraph>> captured = gpu.Capture([&] {
        absl::Status again = m.step->Run(m.args());
        return again.ok() ? m.step->Wait() : again;
      });
      if (!captured.ok()) return captured.status();
      m.captured = *std::move(captured);
      return absl::OkStatus();
    });
    ASSERT_TRUE(status.ok()) << status;
  }
  absl::Status waited;
  const auto start = std::chrono::steady_clock::now();
  std::thread waiter([&] {
    waited = is_captured ? members[0].captured->Launch() : members[0].step->Run(members[0].args());
    if (waited.ok()) waited = gpus_[0]->Synchronize();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  gpus_[1]->Abort(absl::UnavailableError("rank 1 has run out of memory"));
  waiter.join();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  EXPECT_LT(seconds.count(), 5);
  EXPECT_TRUE(absl::IsUnavailable(waited)) << waited;
  EXPECT_THAT(std::string(waited.message()), HasSubstr("rank 1 has run out of memory"));
  const absl::Status again = members[1].step->Run(members[1].args());
  EXPECT_TRUE(absl::IsUnavailable(again)) << again;
  EXPECT_THAT(std::string(again.message()), HasSubstr("rank 1 has run out of memory"));
  // The GPU itself still works.
  std::vector<float> values(4, 1);
  EXPECT_TRUE(gpus_[0]->Upload(members[0].buffers[0], values.data(), 16).ok());
  const auto end = std::chrono::steady_clock::now();
  for (Member& member : members) member.captured.reset();
  members.clear();
  gpus_.clear();
  EXPECT_LT(std::chrono::duration<double>(std::chrono::steady_clock::now() - end).count(), 5);
}

INSTANTIATE_TEST_SUITE_P(Ways, NcclFailureTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "captured" : "by_itself"; });

}  // namespace
}  // namespace sinter
