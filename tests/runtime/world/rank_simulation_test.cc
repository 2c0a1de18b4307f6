// Simulates ranks on a virtual network and clock, with faults and mistakes, for many seeds.
//
//   SINTER_SIMULATION_SEEDS=10000 build/release/tests/runtime/rank_simulation_test
//   SINTER_SIMULATION_SEED=4711 ...                                              # Only this seed.
//
// Checks that all ranks end, that results are right, and that errors name the cause.
#include <algorithm>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/runtime/device_plans.h"
#include "sinter/tests/runtime/simulated_ranks.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using Duration = SimulatedRanks::Duration;

// A mistake of the program, as opposed to a fault of its surroundings.
enum class Mistake : uint8_t { kNone, kWrongArgument, kOtherFunction, kOtherSession };

struct Scenario {
  explicit Scenario(uint64_t seed);
  std::string Name() const;
  // Causes that a rank's error may name. Empty if no rank may fail.
  std::vector<std::string> Causes() const;

  uint64_t seed;
  SimulationOptions options;
  Mistake mistake = Mistake::kNone;
  int mistaken_run = 0;
  int runs = 0;
  int64_t size = 0;
};

Scenario::Scenario(uint64_t seed) : seed(seed) {
  std::mt19937_64 random(seed * 7919 + 1);
  const auto choose = [&](uint64_t limit) { return static_cast<int>(random() % limit); };
  options.ranks = 2 + choose(4);
  options.victim = choose(static_cast<uint64_t>(options.ranks));
  options.machines = 1 + choose(2);
  options.at = Duration(choose(600'000));
  runs = 5 + choose(20);
  mistaken_run = 1 + choose(static_cast<uint64_t>(runs - 1));
  size = choose(2) == 0 ? 7 : 3000;
  // Either a fault, or a mistake of the program, or neither.
  const int what = choose(10);
  if (what < 6) options.fault = static_cast<SimulatedFault>(1 + what);
  if (what >= 6 && what < 9) mistake = static_cast<Mistake>(what - 5);
}

std::string Scenario::Name() const {
  return absl::StrCat("SINTER_SIMULATION_SEED=", seed, ": ", options.ranks, " ranks, fault ",
                      static_cast<int>(options.fault), " of rank ", options.victim, " at ",
                      options.at.count(), " us, mistake ", static_cast<int>(mistake), " in run ",
                      mistaken_run, " of ", runs);
}

std::vector<std::string> Scenario::Causes() const {
  const std::string victim = absl::StrCat("rank ", options.victim);
  const std::string next = absl::StrCat("rank ", (options.victim + 1) % options.ranks);
  if (mistake == Mistake::kWrongArgument) return {victim + " has given up (cannot run \"f\": input"};
  if (mistake != Mistake::kNone) return {"all ranks must run the same functions in the same order"};
  switch (options.fault) {
    case SimulatedFault::kNone:
    case SimulatedFault::kSlow:
      return {};
    case SimulatedFault::kDeath:
      return {victim + " has ended", victim + " does not answer"};
    case SimulatedFault::kStop:
      return {victim + " does not answer"};
    case SimulatedFault::kUnplugged:
      return {victim + " does not answer", next + " does not answer"};
    case SimulatedFault::kTermination:
      return {victim + " is told to end (SIGTERM)", victim + " has ended", victim + " does not answer"};
    case SimulatedFault::kNetwork:
      return {"the network fails"};
  }
  return {};
}

// Returns a plan with two functions: y = the sum of x over all devices.
TestPlan SumsPlan(int devices, int64_t size) {
  TestPlan plan;
  std::vector<Device> names;
  for (int d = 0; d < devices; ++d) names.push_back(Device::Cpu(d));
  plan.UseDevices(names);
  for (const char* name : {"f", "g"}) {
    TestFunction f(plan, name);
    fb::CollectiveStepT step;
    step.dtype = fb::DType::F32, step.channel = 1, step.elements = {size};
    std::vector<uint32_t> x, y;
    for (int d = 0; d < devices; ++d) {
      step.group.push_back(static_cast<uint32_t>(d));
      x.push_back(f.Input(absl::StrCat("x", d), DType::kF32, {size}, static_cast<uint32_t>(d)));
      y.push_back(f.Arena(DType::kF32, {size}, static_cast<uint32_t>(d)));
    }
    for (size_t d = 0; d < x.size(); ++d) {
      step.rank = static_cast<uint32_t>(d);
      f.CollectiveLayout(step, {x[d]}, {y[d]});
    }
    f.Output("y", y[0]);
    f.table().outputs[0]->replicas.assign(y.begin() + 1, y.end());
  }
  return plan;
}

float ValueOf(int run, int rank) { return static_cast<float>(10 * run + rank + 1); }

absl::Status RunOnce(const Scenario& s, World& world, Session& session, const char* function, int run,
                     bool is_wrong) {
  const HostTensor x = Filled(is_wrong ? s.size + 1 : s.size, ValueOf(run, world.rank()));
  std::vector<std::string> names;
  for (int d = 0; d < s.options.ranks; ++d) names.push_back(absl::StrCat("x", d));
  std::vector<Argument> arguments;
  for (const std::string& name : names) arguments.emplace_back(name, x);
  absl::StatusOr<Outputs> out = session.Run(function, arguments);
  if (!out.ok()) return out.status();
  float expected = 0;
  for (int rank = 0; rank < s.options.ranks; ++rank) expected += ValueOf(run, rank);
  EXPECT_THAT(*(*out)["y"].Span<float>(), ::testing::Each(expected))
      << "run " << run << " of rank " << world.rank();
  return absl::OkStatus();
}

// The program of each rank. A rank's own wrong argument is not an error of its program.
absl::Status Program(const Scenario& s, SimulatedRanks& ranks, const Plan& plan, World& world) {
  const SessionOptions options = {.threads = 1, .world = &world};
  absl::StatusOr<Session> first = Session::Create(plan.Share(), options);
  if (!first.ok()) return first.status();
  absl::StatusOr<Session> second = Session::Create(plan.Share(), options);
  if (!second.ok()) return second.status();
  for (int run = 0; run < s.runs; ++run) {
    ranks.Compute(world, Duration(1 + static_cast<int64_t>(ranks.Random(20'000))));
    const bool errs = world.rank() == s.options.victim && run == s.mistaken_run;
    const bool is_wrong = errs && s.mistake == Mistake::kWrongArgument;
    const char* const function = errs && s.mistake == Mistake::kOtherFunction ? "g" : "f";
    Session& session = errs && s.mistake == Mistake::kOtherSession ? *second : *first;
    const absl::Status status = RunOnce(s, world, session, function, run, is_wrong);
    // Continues like a program that skips a bad batch.
    if (is_wrong && absl::IsInvalidArgument(status)) continue;
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

void Simulate(uint64_t seed) {
  const Scenario s(seed);
  SCOPED_TRACE(s.Name());
  SimulatedRanks ranks(seed, s.options);
  const Plan plan = *SumsPlan(s.options.ranks, s.size).Make();
  std::vector<std::optional<absl::Status>> results(static_cast<size_t>(s.options.ranks));
  ranks.Run(
      [&](World& world) { results[static_cast<size_t>(world.rank())] = Program(s, ranks, plan, world); });
  EXPECT_LT(ranks.now() - s.options.at, std::chrono::seconds(20));
  EXPECT_EQ(ranks.early_returns(), 0);
  const std::vector<std::string> causes = s.Causes();
  for (int rank = 0; rank < s.options.ranks; ++rank) {
    if (ranks.has_died(rank)) continue;
    ASSERT_TRUE(ranks.has_ended(rank)) << "rank " << rank << " hangs";
    const absl::Status& status = *results[static_cast<size_t>(rank)];
    if (status.ok()) {
      // A wrong argument in the last run: this rank has no later run that could fail.
      const bool was_last =
          rank == s.options.victim && s.mistaken_run == s.runs - 1 && s.mistake == Mistake::kWrongArgument;
      EXPECT_TRUE(s.mistake == Mistake::kNone || was_last) << "rank " << rank << " has not noticed";
      continue;
    }
    EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsFailedPrecondition(status)) << status;
    const std::string message(status.message());
    EXPECT_TRUE(std::ranges::any_of(
        causes, [&](const std::string& cause) { return message.find(cause) != std::string::npos; }))
        << "rank " << rank << ": " << message;
  }
}

uint64_t NumberOf(const char* variable, uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(RankSimulationTest, AllEndWithTheCauseAndNoWrongSum) {
  setenv("SINTER_CPU_DEVICES", "8", 1);
  if (const uint64_t seed = NumberOf("SINTER_SIMULATION_SEED", 0); seed != 0) return Simulate(seed);
  const uint64_t seeds = NumberOf("SINTER_SIMULATION_SEEDS", 200);
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    Simulate(seed);
    if (HasFailure()) break;
  }
  unsetenv("SINTER_CPU_DEVICES");
}

// The same seed gives the same virtual time to the microsecond.
TEST(RankSimulationTest, ASeedIsAWholeHistory) {
  setenv("SINTER_CPU_DEVICES", "8", 1);
  const Scenario s(17);
  std::vector<Duration> ends;
  for (int i = 0; i < 2; ++i) {
    SimulatedRanks ranks(17, s.options);
    const Plan plan = *SumsPlan(s.options.ranks, s.size).Make();
    ranks.Run([&](World& world) { Program(s, ranks, plan, world).IgnoreError(); });
    ends.push_back(ranks.now());
  }
  EXPECT_EQ(ends[0], ends[1]);
  unsetenv("SINTER_CPU_DEVICES");
}

}  // namespace
}  // namespace sinter
