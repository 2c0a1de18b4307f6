// Random plans over random meshes, in processes with random delays: every run ends, with the right numbers.
//
// SINTER_SIMULATION_SEED: runs one plan. SINTER_SIMULATION_SEEDS: the number of plans, 200 if unset.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/host/waited_time.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/world/exchange_patience.h"
#include "sinter/tests/runtime/fake_gpu.h"
#include "sinter/tests/runtime/simulated_ranks.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ExchangeKind = fb::CollectiveKind;

struct RandomExchange {
  ExchangeKind kind;
  fb::ReduceOp combine;
  std::vector<uint32_t> axes;
  uint32_t shift;
};

// A program that exchanges one tensor of i64 of each rank again and again. The ranks of each box run a
// function of their own, with steps and places of their own.
struct RandomProgram {
  using Ranges = std::vector<std::pair<uint32_t, uint32_t>>;

  explicit RandomProgram(uint64_t seed) : random(seed) {
    const uint32_t axes = 1 + Random(3);
    for (uint32_t axis = 0; axis < axes; ++axis) {
      const uint32_t most = 12 / ranks();
      sizes.push_back(1 + Random(std::min(4u, most)));
    }
    elements = int64_t{ranks()} * (1 + Random(3));
    Ranges all;
    for (const uint32_t size : sizes) all.emplace_back(0, size);
    boxes.push_back(all);
    for (uint32_t cuts = Random(3); cuts > 0; --cuts) Cut();
    for (uint32_t count = 1 + Random(10); count > 0; --count) exchanges.push_back(MakeExchange());
    std::vector<int> divisors;
    for (uint32_t n = 1; n <= ranks(); ++n) {
      if (ranks() % n == 0) divisors.push_back(static_cast<int>(n));
    }
    processes = divisors[Random(static_cast<uint32_t>(divisors.size()))];
  }

  uint32_t Random(uint32_t limit) { return static_cast<uint32_t>(random() % limit); }
  uint32_t ranks() const { return std::accumulate(sizes.begin(), sizes.end(), 1u, std::multiplies<>()); }
  std::string Name() const {
    return absl::StrCat("mesh ", absl::StrJoin(sizes, " x "), ", ", processes, " processes, ", boxes.size(),
                        " functions, ", exchanges.size(), " exchanges");
  }

  // Cuts the last box in two, if it has an axis to cut.
  void Cut() {
    const uint32_t axis = Random(static_cast<uint32_t>(sizes.size()));
    const auto [begin, end] = boxes.back()[axis];
    if (end - begin < 2) return;
    const uint32_t at = begin + 1 + Random(end - begin - 1);
    Ranges upper = boxes.back();
    boxes.back()[axis] = {begin, at};
    upper[axis] = {at, end};
    boxes.push_back(upper);
  }

  RandomExchange MakeExchange() {
    constexpr ExchangeKind kKinds[] = {ExchangeKind::AllReduce, ExchangeKind::AllGather,
                                       ExchangeKind::ReduceScatter, ExchangeKind::AllToAll,
                                       ExchangeKind::RingShift};
    RandomExchange made = {.kind = kKinds[Random(5)],
                           .combine = Random(2) == 0 ? fb::ReduceOp::Sum : fb::ReduceOp::Max,
                           .axes = {},
                           .shift = 0};
    while (made.axes.empty()) {
      for (uint32_t axis = 0; axis < sizes.size(); ++axis) {
        if (Random(2) == 0) made.axes.push_back(axis);
      }
    }
    if (made.kind == ExchangeKind::RingShift) made.shift = Random(Members(made));
    return made;
  }

  uint32_t Members(const RandomExchange& exchange) const {
    uint32_t members = 1;
    for (const uint32_t axis : exchange.axes) members *= sizes[axis];
    return members;
  }

  TestPlan MakePlan(Device device);
  std::vector<int64_t> Expected(const std::vector<int64_t>& input) const;

  std::mt19937_64 random;
  std::vector<uint32_t> sizes;
  std::vector<Ranges> boxes;
  std::vector<RandomExchange> exchanges;
  int64_t elements = 0;  // Elements of each rank.
  int processes = 1;
};

// Each exchange reads the value, or its first part, and writes the next value, or the first part of it.
TestPlan RandomProgram::MakePlan(Device device) {
  TestPlan plan;
  plan.UseDevices({device});
  std::vector<std::pair<std::string, uint32_t>> axes;
  for (const uint32_t size : sizes) axes.emplace_back(absl::StrCat("axis", axes.size()), size);
  plan.UseMesh(axes);
  for (const Ranges& box : boxes) {
    TestFunction f(plan, "f");
    f.RunsOn(box);
    const uint32_t x = f.Input("x", DType::kI64, {ranks(), elements});
    std::vector<int64_t> strides(sizes.size());
    int64_t stride = elements * 8;
    for (size_t axis = sizes.size(); axis-- > 0; stride *= sizes[axis]) strides[axis] = stride;
    uint32_t value = f.Arena(DType::kI64, {elements});
    f.Copy(f.RowsOf(x, 0, {elements}, strides), value);
    const auto part_of = [&](uint32_t whole, int64_t size) {
      return f.Buffer(fb::Space::Arena, 0, f.table().buffers[whole]->offset, DType::kI64, {size});
    };
    for (const RandomExchange& exchange : exchanges) {
      for (uint32_t more = Random(3); more > 0; --more) {
        const uint32_t copy = f.Arena(DType::kI64, {elements});
        f.Copy(value, copy);
        value = copy;
      }
      const uint32_t next = f.Arena(DType::kI64, {elements});
      if (exchange.kind == ExchangeKind::ReduceScatter) f.Copy(value, next);
      fb::CollectiveStepT step;
      step.kind = exchange.kind, step.combine = exchange.combine, step.root = exchange.shift;
      const int64_t part = elements / Members(exchange);
      f.ExchangeOver(exchange.axes, step,
                     {exchange.kind == ExchangeKind::AllGather ? part_of(value, part) : value},
                     {exchange.kind == ExchangeKind::ReduceScatter ? part_of(next, part) : next});
      value = next;
    }
    const uint32_t all = f.Arena(DType::kI64, {ranks(), elements});
    fb::CollectiveStepT gather;
    gather.kind = ExchangeKind::AllGather;
    std::vector<uint32_t> every(sizes.size());
    std::iota(every.begin(), every.end(), 0u);
    f.ExchangeOver(every, gather, {value}, {all});
    f.Output("y", all);
  }
  return plan;
}

// Computes the values of all ranks directly.
std::vector<int64_t> RandomProgram::Expected(const std::vector<int64_t>& input) const {
  const uint32_t count = ranks();
  const auto size = static_cast<size_t>(elements);
  std::vector<std::vector<int64_t>> values;
  for (uint32_t rank = 0; rank < count; ++rank) {
    values.emplace_back(input.begin() + static_cast<std::ptrdiff_t>(rank * size),
                        input.begin() + static_cast<std::ptrdiff_t>((rank + 1) * size));
  }
  const auto coordinates_of = [&](uint32_t rank) {
    std::vector<uint32_t> coordinates(sizes.size());
    for (size_t axis = sizes.size(); axis-- > 0; rank /= sizes[axis]) coordinates[axis] = rank % sizes[axis];
    return coordinates;
  };
  for (const RandomExchange& exchange : exchanges) {
    std::vector<std::vector<int64_t>> next = values;
    for (uint32_t rank = 0; rank < count; ++rank) {
      std::vector<uint32_t> group;
      for (uint32_t other = 0; other < count; ++other) {
        bool is_member = true;
        for (uint32_t axis = 0; axis < sizes.size(); ++axis) {
          const bool is_free = std::ranges::find(exchange.axes, axis) != exchange.axes.end();
          is_member = is_member && (is_free || coordinates_of(rank)[axis] == coordinates_of(other)[axis]);
        }
        if (is_member) group.push_back(other);
      }
      const size_t own = static_cast<size_t>(std::ranges::find(group, rank) - group.begin());
      const size_t part = size / group.size();
      const auto combined = [&](size_t i) {
        uint64_t sum = 0;
        int64_t most = values[group[0]][i];
        for (const uint32_t member : group) {
          sum += static_cast<uint64_t>(values[member][i]);
          most = std::max(most, values[member][i]);
        }
        return exchange.combine == fb::ReduceOp::Sum ? static_cast<int64_t>(sum) : most;
      };
      for (size_t i = 0; i < size; ++i) {
        switch (exchange.kind) {
          case ExchangeKind::AllReduce:
            next[rank][i] = combined(i);
            break;
          case ExchangeKind::AllGather:
            next[rank][i] = values[group[i / part]][i % part];
            break;
          case ExchangeKind::ReduceScatter:
            if (i < part) next[rank][i] = combined(own * part + i);
            break;
          case ExchangeKind::AllToAll:
            next[rank][i] = values[group[i / part]][own * part + i % part];
            break;
          default:
            next[rank][i] = values[group[(own + group.size() - exchange.shift) % group.size()]][i];
        }
      }
    }
    values = std::move(next);
  }
  std::vector<int64_t> all;
  for (const std::vector<int64_t>& value : values) all.insert(all.end(), value.begin(), value.end());
  return all;
}

absl::Status RunRandomProgram(const RandomProgram& program, Session& session, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> input(static_cast<size_t>(program.elements) * program.ranks());
  for (int64_t& number : input) number = static_cast<int64_t>(random());
  absl::StatusOr<HostTensor> x = HostTensor::FromVector<int64_t>({program.ranks(), program.elements}, input);
  absl::StatusOr<Outputs> out = session.Run("f", {{"x", *x}});
  if (!out.ok()) return out.status();
  const auto y = *(*out)["y"].Span<int64_t>();
  const std::vector<int64_t> expected = program.Expected(input);
  EXPECT_TRUE(std::ranges::equal(y, expected))
      << "first at " << std::ranges::mismatch(y, expected).in1 - y.begin();
  return absl::OkStatus();
}

void SimulateMesh(uint64_t seed) {
  RandomProgram program(seed);
  SCOPED_TRACE(absl::StrCat("seed ", seed, ": ", program.Name()));
  const absl::StatusOr<Plan> plan = program.MakePlan(Device::Cpu()).Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  SimulatedRanks ranks(seed, {.ranks = program.processes});
  std::vector<std::optional<absl::Status>> results(static_cast<size_t>(program.processes));
  ranks.Run([&](World& world) {
    std::optional<absl::Status>& result = results[static_cast<size_t>(world.rank())];
    absl::StatusOr<Session> session =
        Session::Create(plan->Share(), {.threads = 1, .world = &world, .poison = true});
    result = session.status();
    for (uint64_t run = 0; run < 3 && result->ok(); ++run) {
      ranks.Compute(world, SimulatedRanks::Duration(1 + static_cast<int64_t>(ranks.Random(20'000))));
      result = RunRandomProgram(program, *session, seed + run);
    }
  });
  for (int rank = 0; rank < program.processes; ++rank) {
    ASSERT_TRUE(ranks.has_ended(rank)) << "process " << rank << " stands still";
    EXPECT_TRUE(results[static_cast<size_t>(rank)]->ok()) << *results[static_cast<size_t>(rank)];
  }
}

// Each GPU has a queue of its own. A member that waits for another in another order fails a check of FakeGpu.
void RunMeshOnGpus(uint64_t seed) {
  RandomProgram program(seed);
  SCOPED_TRACE(absl::StrCat("seed ", seed, " on GPUs: ", program.Name()));
  FakeGpus gpus;
  absl::StatusOr<Session> session = gpus.MakeSession(program.MakePlan(Device::Gpu()), {.threads = 1});
  ASSERT_TRUE(session.ok()) << session.status();
  for (uint64_t run = 0; run < 3; ++run)
    EXPECT_EQ(RunRandomProgram(program, *session, seed + run), absl::OkStatus());
}

// Two exchanges in another order, another epoch on some ranks, or an exchange that some ranks lack: each
// would let ranks wait forever.
void ExpectRefused(uint64_t seed) {
  RandomProgram program(seed);
  const TestPlan plan = program.MakePlan(Device::Cpu());
  const auto refuse = [&](const char* what,
                          const std::function<void(std::vector<std::unique_ptr<fb::StepT>>&)>& alter) {
    TestPlan altered;
    altered.table = plan.table;
    std::vector<std::unique_ptr<fb::StepT>>& steps = altered.table.functions.back()->steps;
    alter(steps);
    EXPECT_FALSE(altered.Make().ok()) << "seed " << seed << ", " << what << ": " << program.Name();
  };
  const auto exchange_at = [](const std::vector<std::unique_ptr<fb::StepT>>& steps, size_t number) {
    size_t at = 0;
    while (steps[at]->body.AsCollectiveStep() == nullptr || number-- > 0) ++at;
    return at;
  };
  const size_t some = seed % program.exchanges.size();
  refuse("swapped", [&](auto& steps) {
    std::swap(steps[exchange_at(steps, some)], steps[exchange_at(steps, some + 1)]);
  });
  refuse("without axes",
         [&](auto& steps) { steps[exchange_at(steps, some)]->body.AsCollectiveStep()->axes.clear(); });
  if (program.boxes.size() == 1) return;
  refuse("another epoch", [&](auto& steps) { steps.back()->body.AsCollectiveStep()->epoch += 1; });
  refuse("dropped", [&](auto& steps) {
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(exchange_at(steps, some)));
  });
}

uint64_t SimulationNumber(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(MeshSimulationTest, NoRankStandsStill) {
  setenv("SINTER_CPU_DEVICES", "16", 1);
  const uint64_t only = SimulationNumber("SINTER_SIMULATION_SEED", 0);
  const uint64_t seeds = only != 0 ? only : SimulationNumber("SINTER_SIMULATION_SEEDS", 200);
  for (uint64_t seed = only != 0 ? only : 1; seed <= seeds && !HasFailure(); ++seed) {
    SimulateMesh(seed);
    RunMeshOnGpus(seed);
    ExpectRefused(seed);
  }
  unsetenv("SINTER_CPU_DEVICES");
}

// Rank 2 computes for longer than the others wait: all get an error that says where each rank is.
TEST(MeshSimulationTest, TheErrorOfALongWaitNamesTheExchangeOfEachRank) {
  setenv("SINTER_CPU_DEVICES", "16", 1);
  TestPlan table;
  table.UseMesh({{"data", 4}});
  for (const char* name : {"first", "second"}) {
    TestFunction f(table, name);
    const uint32_t x = f.Arena(DType::kF32, {4}), y = f.Arena(DType::kF32, {4});
    f.ExchangeOver({0}, {}, {x}, {y}).name = name;
  }
  const Plan plan = *table.Make();
  std::vector<std::string> errors(4);
  SimulatedRanks ranks(7, {.ranks = 4, .patience = std::chrono::seconds(5)});
  ranks.Run([&](World& world) {
    absl::StatusOr<Session> session = Session::Create(plan.Share(), {.threads = 1, .world = &world});
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(session->Run("first", {}).ok());
    if (world.rank() == 2) ranks.Compute(world, std::chrono::seconds(8));
    errors[static_cast<size_t>(world.rank())] = std::string(session->Run("second", {}).status().message());
  });
  for (const std::string& error : errors) {
    EXPECT_THAT(error, ::testing::ContainsRegex("rank [013] has waited for 5 s \\("));
    EXPECT_THAT(error, ::testing::HasSubstr(
                           "(rank 2 computes after all_reduce, function \"first\", epoch 1 (first, "
                           "net.cc:12: Linear(4)); ranks 0-1, 3 wait in all_reduce, function \"second\", "
                           "epoch 1 (second, net.cc:12: Linear(4)); SINTER_EXCHANGE_PATIENCE allows more)"));
  }
  unsetenv("SINTER_CPU_DEVICES");
}

// Passes all calls on, and keeps the patience of each exchange.
class RecordingWorld : public World {
 public:
  explicit RecordingWorld(World& world) : world_(world) {}
  int rank() const override { return world_.rank(); }
  int size() const override { return world_.size(); }
  absl::Status Exchange(std::span<const Transfer> transfers, const Operation& operation) override {
    if (operation.run > 0 && operation.tag != last_) patience.push_back(operation.patience);
    last_ = operation.tag;
    return world_.Exchange(transfers, operation);
  }
  void Abort(std::string_view reason) override { world_.Abort(reason); }

  std::vector<std::chrono::milliseconds> patience;

 private:
  World& world_;
  uint32_t last_ = kTags;  // An exchange may take several calls.
};

// Exchanges over `tensor`, `data`, `tensor` and `data` of a mesh of four.
TestPlan FourExchanges() {
  TestPlan table;
  table.UseMesh({{"data", 2}, {"tensor", 2}});
  TestFunction f(table, "f");
  uint32_t x = f.Arena(DType::kF32, {4});
  for (const uint32_t axis : {1u, 0u, 1u, 0u}) {
    const uint32_t y = f.Arena(DType::kF32, {4});
    f.ExchangeOver({axis}, {}, {x}, {y});
    x = y;
  }
  return table;
}

std::vector<std::chrono::milliseconds> PatienceOfExchanges(const Plan& plan, const SessionOptions& options) {
  std::vector<std::chrono::milliseconds> patience;
  SimulatedRanks ranks(7, {.ranks = 4});
  ranks.Run([&](World& world) {
    RecordingWorld recording(world);
    SessionOptions own = options;
    own.threads = 1;
    own.world = &recording;
    absl::StatusOr<Session> session = Session::Create(plan.Share(), own);
    ASSERT_TRUE(session.ok()) << session.status();
    ASSERT_TRUE(session->Run("f", {}).ok());
    if (world.rank() == 1) patience = recording.patience;
  });
  return patience;
}

// A rank of another group may still be in the user's code when a rank makes its second exchange.
TEST(MeshSimulationTest, OnlyExchangesWithinARunHaveALimitFromThePlan) {
  using std::chrono::milliseconds;
  setenv("SINTER_CPU_DEVICES", "16", 1);
  const Plan plan = *FourExchanges().Make();
  const milliseconds longest = LongestRunOf(plan.table(), *plan.table().functions()->Get(0));
  EXPECT_LT(longest, milliseconds(10));
  const milliseconds within = kLeastPatience + longest, none(0), given(3000);
  EXPECT_THAT(PatienceOfExchanges(plan, {}), ::testing::ElementsAre(none, none, within, within));
  EXPECT_THAT(PatienceOfExchanges(plan, {.exchange_patience = given}),
              ::testing::ElementsAre(given, given, given, given));
  EXPECT_THAT(PatienceOfExchanges(plan, {.exchange_patience = none}),
              ::testing::ElementsAre(none, none, none, none));
  setenv("SINTER_EXCHANGE_PATIENCE", "3", 1);
  EXPECT_THAT(PatienceOfExchanges(plan, {}), ::testing::ElementsAre(given, given, given, given));
  for (const char* bad : {"-1", "3s", "1e3", "100000001"}) {
    setenv("SINTER_EXCHANGE_PATIENCE", bad, 1);
    EXPECT_EQ(
        ExchangePatience::FromEnvironment().status(),
        absl::InvalidArgumentError(absl::StrCat("SINTER_EXCHANGE_PATIENCE is \"", bad,
                                                "\": write the seconds that a rank waits for the others "
                                                "in one exchange, 1 to 100000000, or 0 for no limit")));
  }
  unsetenv("SINTER_EXCHANGE_PATIENCE");
  unsetenv("SINTER_CPU_DEVICES");
}

TEST(MeshSimulationTest, LargerRunsMayTakeLonger) {
  TestPlan table;
  TestFunction f(table, "f");
  const uint32_t x = f.Arena(DType::kF32, {1000}), y = f.Arena(DType::kF32, {1000});
  fb::StepT& step = f.Copy(x, y);
  for (const double flops : {0.0, 3.6e12}) {
    step.flops = flops;
    step.bytes = 8e9;
    const Plan plan = *table.Make();
    const auto longest = LongestRunOf(plan.table(), *plan.table().functions()->Get(0));
    EXPECT_EQ(longest, std::chrono::milliseconds(static_cast<int64_t>(8001 + flops / 1e6)));
  }
}

// The world's own limit is an hour.
TEST(MeshSimulationTest, AnExchangeMayHaveALimitOfItsOwn) {
  std::vector<std::string> errors(2);
  SimulatedRanks ranks(7, {.ranks = 2});
  ranks.Run([&](World& world) {
    std::byte own[4] = {}, all[8] = {};
    for (const int seconds : {3, 8}) {
      if (world.rank() == 1) ranks.Compute(world, std::chrono::seconds(seconds));
      errors[static_cast<size_t>(world.rank())] = std::string(
          world.AllGather(own, all, {.name = absl::StrCat(seconds), .patience = std::chrono::seconds(5)})
              .message());
    }
  });
  EXPECT_EQ(errors[0],
            "rank 0 has waited for 5 s (rank 1 computes after 3; rank 0 waits in 8; "
            "SINTER_EXCHANGE_PATIENCE allows more) in 8");
}

// A rank may compute for long after its last exchange, so the others wait, and say for whom.
TEST(MeshSimulationTest, ARankThatWaitsLongAtTheEndNamesTheOthers) {
  testing::internal::CaptureStderr();
  SimulatedRanks ranks(7, {.ranks = 2, .patience = std::chrono::seconds(5)});
  ranks.Run([&](World& world) {
    std::byte own[4] = {}, all[8] = {};
    ASSERT_TRUE(world.AllGather(own, all, {.name = "the last one"}).ok());
    if (world.rank() == 1) ranks.Compute(world, std::chrono::seconds(12));
  });
  EXPECT_TRUE(ranks.has_ended(0) && ranks.has_ended(1));
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "sinter: rank 0 has waited for 5 s (rank 1 computes after the last one; rank 0 waits in the "
            "destructor of its world), and continues to wait\n");
}

// A job that was suspended as a whole has not waited.
TEST(MeshSimulationTest, ATimeInWhichTheProcessWasStoppedIsNoWait) {
  WaitedTime::Time now;
  WaitedTime waited(now);
  EXPECT_EQ(waited.At(now += std::chrono::milliseconds(20)), std::chrono::milliseconds(20));
  EXPECT_EQ(waited.At(now += std::chrono::hours(5)), std::chrono::milliseconds(1020));
  EXPECT_EQ(waited.At(now += std::chrono::milliseconds(20)), std::chrono::milliseconds(1040));
}

}  // namespace
}  // namespace sinter
