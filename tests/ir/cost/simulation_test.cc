// Simulated runs against closed forms: chains, exchanges, shared ports, stragglers, and folded ranks.
#include "sinter/ir/cost/simulation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/ir/cost/fold_ranks.h"
#include "sinter/ir/cost/port_sharing.h"

namespace sinter::cost {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

SimulatedStep Work(double seconds, std::vector<uint32_t> after = {}) {
  return {.seconds = seconds, .after = std::move(after), .name = "work"};
}
SimulatedStep Exchange(uint32_t exchange, std::vector<uint32_t> after = {}, uint32_t lane = 1) {
  return {.lane = lane, .after = std::move(after), .exchange = exchange, .name = "sum"};
}

std::vector<uint32_t> All(uint32_t ranks) {
  std::vector<uint32_t> all(ranks);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

// All ranks run the program; each exchange is over all ranks.
Simulation OfAll(uint32_t ranks, RankProgram program, std::vector<ExchangeCost> exchanges) {
  Simulation s;
  s.programs = {std::move(program)};
  s.program_of_rank.assign(ranks, 0);
  s.partitions = {Partition::Of(ranks, {All(ranks)})};
  for (const ExchangeCost& cost : exchanges) s.exchanges.push_back({0, {cost}});
  return s;
}

SimulationResult ResultOf(const Simulation& s, const SimulationOptions& options = {}) {
  absl::StatusOr<SimulationResult> result = Simulate(s, options);
  EXPECT_TRUE(result.ok()) << result.status();
  return *std::move(result);
}

std::string ErrorOf(const Simulation& s, const SimulationOptions& options = {}) {
  return std::string(Simulate(s, options).status().message());
}

TEST(SimulationTest, StepsOfALaneAreAChain) {
  const SimulationResult result = ResultOf(OfAll(1, {.steps = {Work(1), Work(2), Work(4)}}, {}));
  EXPECT_DOUBLE_EQ(result.seconds, 7);
  EXPECT_THAT(result.ranks[0].steps, ElementsAre(StepTimes{0, 1}, StepTimes{1, 3}, StepTimes{3, 7}));
}

TEST(SimulationTest, LanesRunBesideEachOtherUpToTheirDependences) {
  RankProgram program = {.lanes = 2, .steps = {Work(1), Work(5), Work(2, {0}), Work(1, {2})}};
  for (SimulatedStep& step : program.steps) step.share = 0.5;
  program.steps[2].lane = 1;
  const SimulationResult result = ResultOf(OfAll(1, program, {}));
  EXPECT_THAT(result.ranks[0].steps,
              ElementsAre(StepTimes{0, 1}, StepTimes{1, 6}, StepTimes{1, 3}, StepTimes{6, 7}));
}

// Backward passes b of three layers and a bucket for each: all but the end of the last bucket is hidden.
TEST(SimulationTest, ExchangesHideBehindComputeThatDoesNotNeedThem) {
  const double b = 3, t = 2;
  RankProgram program = {.lanes = 2};
  program.steps = {Work(b), Exchange(0, {0}), Work(b),           Exchange(1, {2}),
                   Work(b), Exchange(2, {4}), Work(1, {1, 3, 5})};
  const ExchangeCost cost = {.latency = 0.5, .transfer = 1.5};
  const SimulationResult result = ResultOf(OfAll(4, program, {cost, cost, cost}));
  EXPECT_DOUBLE_EQ(result.seconds, 3 * b + t + 1);
  ASSERT_EQ(result.ranks.size(), 1u);
  EXPECT_EQ(result.ranks[0].ranks, 4u);
  EXPECT_DOUBLE_EQ(result.ranks[0].exchanging, 3 * t);
  EXPECT_DOUBLE_EQ(result.ranks[0].exposed, t);
  EXPECT_DOUBLE_EQ(result.ranks[0].computing, 3 * b + 1);
}

// GPipe (Huang et al. 2019): p stages, m microbatches, m + p - 1 slots in each direction.
TEST(SimulationTest, APipelineHasTheBubbleOfGPipe) {
  const uint32_t p = 4, m = 6;
  const double forward = 1, backward = 2;
  Simulation s;
  s.program_of_rank = All(p);
  // Exchanges [2 * (link * m + i)]: the activation of microbatch i between stage `link` and the next; + 1:
  // its gradient.
  for (uint32_t link = 0; link + 1 < p; ++link) {
    s.partitions.push_back(Partition::Of(p, {{link, link + 1}}));
    for (uint32_t i = 0; i < 2 * m; ++i) s.exchanges.push_back({link, {ExchangeCost{}}});
  }
  const auto activation = [&](uint32_t link, uint32_t i) { return 2 * (link * m + i); };
  for (uint32_t stage = 0; stage < p; ++stage) {
    RankProgram& program = s.programs.emplace_back(RankProgram{.lanes = 2});
    std::vector<SimulatedStep>& steps = program.steps;
    const auto last = [&] { return std::vector<uint32_t>{static_cast<uint32_t>(steps.size() - 1)}; };
    // Receives are on a lane of their own: a stage works while it waits for the next microbatch.
    for (uint32_t i = 0; i < m; ++i) {
      if (stage > 0) steps.push_back(Exchange(activation(stage - 1, i)));
      steps.push_back(Work(forward, stage > 0 ? last() : std::vector<uint32_t>{}));
      if (stage + 1 < p) steps.push_back(Exchange(activation(stage, i), last(), 0));
    }
    for (uint32_t i = 0; i < m; ++i) {
      if (stage + 1 < p) steps.push_back(Exchange(activation(stage, i) + 1));
      steps.push_back(Work(backward, stage + 1 < p ? last() : std::vector<uint32_t>{}));
      if (stage > 0) steps.push_back(Exchange(activation(stage - 1, i) + 1, last(), 0));
    }
  }
  const SimulationResult result = ResultOf(s);
  EXPECT_DOUBLE_EQ(result.seconds, (m + p - 1) * (forward + backward));
  for (const RankResult& rank : result.ranks) EXPECT_DOUBLE_EQ(rank.computing, m * (forward + backward));
}

TEST(SimulationTest, AStragglerHoldsUpTheOthersInTheExchange) {
  Simulation s =
      OfAll(2, {.lanes = 2, .steps = {Work(1), Exchange(0, {0})}}, {{.latency = 0.25, .transfer = 0.5}});
  s.slowdown = {1, 3};
  const SimulationResult result = ResultOf(s);
  EXPECT_DOUBLE_EQ(result.seconds, 3.75);
  ASSERT_EQ(result.ranks.size(), 2u);
  EXPECT_DOUBLE_EQ(result.ranks[0].exposed, 2.75);
  EXPECT_DOUBLE_EQ(result.ranks[1].exposed, 0.75);
}

TEST(SimulationTest, ComputeIsSlowerDuringATransfer) {
  // The transfer takes [1, 3]; in it half of the second step's 2 s is done.
  RankProgram program = {.lanes = 2, .steps = {Work(1), Exchange(0, {0}), Work(2)}};
  Simulation s = OfAll(2, program, {{.transfer = 2}});
  s.beside_exchange = 0.5;
  EXPECT_DOUBLE_EQ(ResultOf(s).seconds, 4);
}

// The first step uses 0.75; the second has half of the 0.5 that it could use, the third nothing. Then both
// fit.
TEST(SimulationTest, LaterStepsHaveWhatEarlierOnesLeave) {
  RankProgram program = {.lanes = 3, .steps = {Work(1), Work(2), Work(4)}};
  for (uint32_t i = 0; i < 3; ++i) program.steps[i].lane = i;
  program.steps[0].share = 0.75, program.steps[1].share = 0.5, program.steps[2].share = 0.25;
  const Simulation s = OfAll(1, program, {});
  EXPECT_THAT(ResultOf(s).ranks[0].steps, ElementsAre(StepTimes{0, 1}, StepTimes{0, 2.5}, StepTimes{1, 5}));
}

// A max-min fair case: three transfers share port 1; transfer 3 shares port 0 with transfer 0.
TEST(PortSharingTest, IsMaxMinFair) {
  PortSharing ports(4);
  ports.Add(0, {0, 1});
  EXPECT_THAT(ports.SpeedsBeside({0}), ElementsAre(Pair(0, 1.0)));
  ports.Add(1, {1});
  ports.Add(2, {1, 2});
  ports.Add(3, {0});
  ports.Add(4, {3});
  EXPECT_THAT(ports.SpeedsBeside({2}),
              ElementsAre(Pair(0, 1.0 / 3), Pair(1, 1.0 / 3), Pair(2, 1.0 / 3), Pair(3, 1 - 1.0 / 3)));
  EXPECT_THAT(ports.Remove(0), ElementsAre(1, 2, 3));
  EXPECT_THAT(ports.SpeedsBeside({1, 2, 3}), ElementsAre(Pair(1, 0.5), Pair(2, 0.5), Pair(3, 1.0)));
}

// Transfers of 2 s and 3 s share a port: both run at 1/2 until 4 s, then the longer one alone until 5 s.
TEST(SimulationTest, ExchangesThatUseAPortTogetherShareIt) {
  RankProgram program = {.lanes = 2, .steps = {Exchange(0, {}, 0), Exchange(1)}};
  Simulation s = OfAll(2, program, {{.transfer = 2}, {.transfer = 3}});
  EXPECT_THAT(ResultOf(s).ranks[0].steps, ElementsAre(StepTimes{0, 4}, StepTimes{0, 5}));
  s.exchanges[1].costs[0].port = 1;
  EXPECT_THAT(ResultOf(s).ranks[0].steps, ElementsAre(StepTimes{0, 2}, StepTimes{0, 3}));
}

// Ranks 2 x 3, with exchanges over both axes; the ranks of the first row have more to do.
Simulation Mesh() {
  Simulation s;
  const std::vector<SimulatedStep> exchanges = {Exchange(0, {0}), Work(1), Exchange(1, {2}), Work(2, {3})};
  s.programs = {{.lanes = 2, .steps = {Work(3)}}, {.lanes = 2, .steps = {Work(2)}}};
  for (RankProgram& p : s.programs) p.steps.insert(p.steps.end(), exchanges.begin(), exchanges.end());
  s.program_of_rank = {0, 0, 0, 1, 1, 1};
  s.partitions = {Partition::Of(6, {{0, 1, 2}, {3, 4, 5}}), Partition::Of(6, {{0, 3}, {1, 4}, {2, 5}})};
  s.exchanges = {{0, {{.transfer = 1}}}, {1, {{.transfer = 0.5}}}};
  return s;
}

TEST(FoldRanksTest, FoldedTimesAreThoseOfEveryRank) {
  Simulation s = Mesh();
  const auto expect_equal = [&](size_t folded_ranks) {
    const SimulationResult folded = ResultOf(s), whole = ResultOf(s, {.fold = false});
    EXPECT_EQ(folded.ranks.size(), folded_ranks);
    ASSERT_EQ(whole.ranks.size(), 6u);
    EXPECT_DOUBLE_EQ(folded.seconds, whole.seconds);
    EXPECT_LT(folded.events, whole.events);
    uint32_t ranks = 0;
    for (const RankResult& rank : folded.ranks) {
      EXPECT_EQ(rank.steps, whole.ranks[rank.rank].steps);
      ranks += rank.ranks;
    }
    EXPECT_EQ(ranks, 6u);
  };
  expect_equal(2);
  s.slowdown = {1, 1,   1,
                1, 1.5, 1};  // Rank 4 is alone; 1 shares a group with it; {0, 2} and {3, 5} are equal.
  expect_equal(4);
  s.slowdown.clear();
  s.exchanges[1].costs = {{.transfer = 0.5}, {.transfer = 0.5}, {.transfer = 2}};  // 2 and 5 wait longer.
  expect_equal(4);
}

TEST(SimulationTest, JitterHasItsMeanAndItsSeed) {
  RankProgram program;
  for (int i = 0; i < 10000; ++i) program.steps.push_back(Work(1));
  const Simulation s = OfAll(2, program, {});
  const SimulationResult a = ResultOf(s, {.jitter = 0.2, .seed = 7}),
                         b = ResultOf(s, {.jitter = 0.2, .seed = 7});
  ASSERT_EQ(a.ranks.size(), 2u);
  EXPECT_EQ(a.ranks[0].steps, b.ranks[0].steps);
  EXPECT_EQ(a.events, b.events);
  EXPECT_NE(a.ranks[0].steps, a.ranks[1].steps);
  EXPECT_NE(a.ranks[0].steps, ResultOf(s, {.jitter = 0.2, .seed = 8}).ranks[0].steps);
  EXPECT_NEAR(a.ranks[0].end, 12000, 100);  // Five standard deviations.
}

// 1,024 ranks of data 128 x tensor 8, with 500 steps: 120 exchanges.
TEST(SimulationTest, AThousandRanksTakeSeconds) {
  RankProgram program = {.lanes = 2};
  Simulation s;
  s.program_of_rank.assign(1024, 0);
  std::vector<std::vector<uint32_t>> tensor(128), data(8);
  for (uint32_t r = 0; r < 1024; ++r) tensor[r / 8].push_back(r), data[r % 8].push_back(r);
  s.partitions = {Partition::Of(1024, tensor), Partition::Of(1024, data)};
  for (uint32_t i = 0; i < 500; ++i) {
    if (i % 25 > 5) {
      program.steps.push_back(
          Work(1e-4, i % 25 == 6 && i > 25 ? std::vector<uint32_t>{i - 2} : std::vector<uint32_t>{}));
      continue;
    }
    const auto exchange = static_cast<uint32_t>(s.exchanges.size());
    s.exchanges.push_back({i % 25 < 5 ? 0u : 1u, {{1e-5, 5e-5, 0}}});
    program.steps.push_back(
        Exchange(exchange, i == 0 ? std::vector<uint32_t>{} : std::vector<uint32_t>{i - 1}));
  }
  s.programs = {program};
  s.beside_exchange = 0.8;
  const auto seconds_of = [&](const SimulationOptions& options) {
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_GT(ResultOf(s, options).seconds, 0.038);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  EXPECT_LT(seconds_of({}), 1);
  EXPECT_LT(seconds_of({.jitter = 0.1, .fold = false}), 20);
}

TEST(SimulationTest, SaysWhoWaitsForWhom) {
  Simulation s;
  s.programs = {{.steps = {Exchange(0, {}, 0), Exchange(1, {}, 0)}},
                {.steps = {Exchange(1, {}, 0), Exchange(0, {}, 0)}}};
  s.program_of_rank = {0, 1};
  s.partitions = {Partition::Of(2, {{0, 1}})};
  s.exchanges = {{0, {{}}}, {0, {{}}}};
  EXPECT_EQ(
      ErrorOf(s),
      "the ranks wait for each other: rank 0 waits in step 0 (sum) for rank 1, which does not come to it");
}

TEST(SimulationTest, RefusesWrongStructures) {
  const auto with = [](auto&& change) {
    Simulation s = OfAll(2, {.lanes = 2, .steps = {Work(1), Exchange(0, {0})}}, {{.transfer = 1}});
    change(s);
    return ErrorOf(s);
  };
  EXPECT_EQ(with([](Simulation&) {}), "");
  EXPECT_EQ(with([](Simulation& s) { s.programs[0].steps[1].lane = 2; }), "step 1 (sum) is on lane 2 of 2");
  EXPECT_EQ(with([](Simulation& s) { s.programs[0].steps[0].seconds = -1; }),
            "step 0 (work) takes less than no time");
  EXPECT_EQ(with([](Simulation& s) { s.programs[0].steps[0].share = 0; }),
            "step 0 (work) keeps busy no part of its device above 0 and at most 1");
  EXPECT_EQ(with([](Simulation& s) { s.programs[0].steps[0].after = {1}; }),
            "step 0 (work) follows step 1, which is no earlier one");
  EXPECT_EQ(with([](Simulation& s) { s.programs[0].steps[1].exchange = 1; }),
            "step 1 (sum) is of no exchange");
  EXPECT_EQ(with([](Simulation& s) { s.exchanges[0].partition = 1; }), "an exchange is over no partition");
  EXPECT_EQ(with([](Simulation& s) { s.exchanges[0].costs.clear(); }), "an exchange of 1 groups has 0 costs");
  EXPECT_EQ(with([](Simulation& s) { s.exchanges[0].costs[0].latency = NAN; }),
            "an exchange takes less than no time, or uses a port that no rank has");
  EXPECT_EQ(with([](Simulation& s) { s.program_of_rank[1] = 1; }), "a rank has no program");
  EXPECT_EQ(with([](Simulation& s) { s.program_of_rank.push_back(0); }),
            "a partition is of another number of ranks");
  EXPECT_EQ(with([](Simulation& s) { s.slowdown = {1}; }), "there are slowdowns of another number of ranks");
  EXPECT_EQ(with([](Simulation& s) { s.slowdown = {1, 0}; }), "a rank's slowdown is not above 0");
  EXPECT_EQ(with([](Simulation& s) { s.beside_exchange = 0; }),
            "steps beside an exchange have no speed above 0 and at most 1");
  EXPECT_THAT(with([](Simulation& s) { s.partitions = {Partition::Of(2, {{0}})}; }),
              HasSubstr("step 1 (sum) of an exchange in which it has no group"));
  EXPECT_EQ(ErrorOf(OfAll(1, {}, {}), {.jitter = -1}), "the jitter is below 0");
}

}  // namespace
}  // namespace sinter::cost
