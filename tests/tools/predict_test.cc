// Predictions and simulated runs of plans with round costs, and the message of every error.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/ir/cost/builtin_costs.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/cut_plans.h"
#include "sinter/tests/runtime/mesh_plans.h"
#include "sinter/tests/runtime/test_plan.h"
#include "sinter/tools/explain/explanation.h"
#include "sinter/tools/handmade_plan.h"
#include "sinter/tools/inspect.h"
#include "sinter/tools/predict/costs_source.h"
#include "sinter/tools/predict/measured_costs.h"
#include "sinter/tools/predict/prediction.h"
#include "sinter/tools/predict/simulated_run.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using tools::PredictedPart;
using tools::Prediction;
using tools::SimulatedRun;

// 1 ms for each MB, and for each MB that a rank sends.
cost::DeviceCosts RoundCosts() {
  cost::CostTable table;
  table.device = "round";
  table.library_bytes = 1000;
  table.bandwidth = {{1, 1e9}};
  table.rates = {{"", 1e15}};
  cost::ContractionSample product;
  product.m = product.n = product.k = 64;
  product.flops = 2.0 * 64 * 64 * 64, product.bytes = 1e6, product.seconds = 2e-3;
  table.contractions = {product};
  table.links = {{8, 0, 0, 1e9}, {0, 0, 0, 1e8}};
  return cost::DeviceCosts(table);
}

void SetWork(fb::StepT& step, double megabytes, uint32_t location) {
  step.bytes = megabytes * 1e6;
  step.locations = {location + 1};  // After the location of TestPlan.
}

// A backward pass on a mesh `data` of two GPUs: a gradient in 4 ms, whose sum of 2 MB (2 ms) hides behind 1
// ms of another kernel; then the update in 3 ms.
TestPlan Training(uint32_t ranks = 2, fb::CollectiveKind kind = fb::CollectiveKind::AllReduce) {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0)});
  plan.UseMesh({{"data", ranks}});
  for (const uint32_t line : {1u, 2u, 3u}) {
    plan.table.locations.push_back(std::make_unique<fb::SourceLocationT>());
    plan.table.locations.back()->file = "net.cc";
    plan.table.locations.back()->line = line;
  }
  TestFunction f(plan, "train");
  constexpr int64_t kElements = 500000;
  plan.AddVariable("w", DType::kF32, {kElements});
  const bool gathers = kind == fb::CollectiveKind::AllGather;
  const uint32_t gradient = f.Arena(DType::kF32, {gathers ? kElements / ranks : kElements});
  const uint32_t sum = f.Arena(DType::kF32, {kElements}), other = f.Arena(DType::kF32, {4});
  SetWork(f.GpuKernel("gradient", {f.Variable(0)}, {gradient}, 100, 256), 4, 0);
  fb::CollectiveStepT step;
  step.kind = kind;
  SetWork(f.ExchangeOver({0}, step, {gradient}, {sum}), 4, 1);
  SetWork(f.GpuKernel("other", {f.Variable(0)}, {other}, 1, 32), 1, 1);
  SetWork(f.GpuKernel("update", {sum, f.Variable(0)}, {f.Variable(0)}, 100, 256), 3, 2);
  f.Output("w", f.Variable(0));
  return plan;
}

Prediction PredictionOf(const Plan& plan, const tools::PredictOptions& options = {}) {
  absl::StatusOr<Prediction> prediction = tools::Predict(plan, RoundCosts(), options);
  EXPECT_TRUE(prediction.ok()) << prediction.status();
  return *std::move(prediction);
}

std::string ErrorOf(const Plan& plan, const tools::PlanSimulationOptions& options) {
  return std::string(tools::Predict(plan, RoundCosts(), {.plan = options}).status().message());
}

TEST(PredictTest, HidesExchangesBehindStepsThatDoNotNeedThem) {
  const Plan plan = *Training().Make();
  const Prediction p = PredictionOf(plan);
  EXPECT_EQ(p.ranks, 2u);
  EXPECT_NEAR(p.seconds, 4e-3 + 2e-3 + 3e-3, 1e-9);
  EXPECT_NEAR(p.hidden_exchange, 1e-3, 1e-9);
  EXPECT_NEAR(p.exposed_exchange, 1e-3, 1e-9);
  double parts = 0;
  for (const PredictedPart& part : p.parts) parts += part.seconds;
  EXPECT_NEAR(parts, p.seconds, 1e-12) << "the parts add up to the step";
  EXPECT_EQ(tools::PredictionText(p), R"(function train of plan test plan, predicted with the costs of round
  step       9.0000 ms, 2 ranks, 2 a node; parts of rank 0 (gpu:0)
      8.0000 ms   88.9 %  kernels, 3 steps
      1.0000 ms   11.1 %  exposed exchanges, 1 steps
exchanges
      2.0000 ms, of which 1.0000 ms (50.0 %) are hidden
memory of a rank
  gpu:0  8.10 MB: arena 4.00 MB, variables 2.00 MB, exchanges 2.10 MB
dearest steps, equal ones together
 steps          ms       %  what
     1      4.0000    44.4  kernel gradient, 100 blocks of 256; net.cc:1
     1      3.0000    33.3  kernel update, 100 blocks of 256; net.cc:3
     1      2.0000    22.2  all_reduce over data, epoch 1; net.cc:2
     1      1.0000    11.1  kernel other, 1 blocks of 32; net.cc:2
)");
  const nlohmann::json json = nlohmann::json::parse(tools::PredictionJson(p));
  EXPECT_NEAR(json["seconds"].get<double>(), 9e-3, 1e-9);
  EXPECT_EQ(json["memory"][0]["variables"], 2000384);
  EXPECT_EQ(json["dearest"][0]["lines"], "net.cc:1");
}

// The plan of Training, whose exchange is there twice, with a reason.
TestPlan TrainingWithReasons() {
  TestPlan plan = Training();
  plan.table.exchange_reasons.push_back(std::make_unique<fb::ExchangeReasonT>());
  plan.table.exchange_reasons[0]->text = "the ranks have terms, because axis \"data\" cuts input \"x\"";
  plan.table.exchange_reasons[0]->locations = {1, 2, 3};
  plan.table.whole_notes = {"net.cc:3: every rank computes function \"test\" whole"};
  auto& steps = plan.table.functions[0]->steps;
  steps[1]->body.AsCollectiveStep()->reason = 1;
  steps.push_back(std::make_unique<fb::StepT>(*steps[1]));
  fb::CollectiveStepT& again = *steps.back()->body.AsCollectiveStep();
  again.epoch += 1, again.channel += 1;
  return plan;
}

TEST(ExplainTest, ListsExchangesWithReasonsAndTimes) {
  const Plan plan = *TrainingWithReasons().Make();
  const cost::DeviceCosts costs = RoundCosts();
  const absl::StatusOr<tools::Explanation> made = tools::Explain(plan, {.costs = &costs});
  ASSERT_TRUE(made.ok()) << made.status();
  // The first exchange hides for 1 ms of its 2 ms; nothing is left that the second one could hide behind.
  EXPECT_EQ(tools::ExplanationText(*made),
            R"(plan test plan: mesh data 2, 2 ranks; times predicted with the costs of round

function train: 2 exchanges a run, a rank gives 4.00 MB; 4.0000 ms, of which 3.0000 ms are exposed
  #1       2 x all_reduce over data (2), 2.00 MB each; net.cc:2
        the ranks have terms, because axis "data" cuts input "x" (net.cc:1)
        4.0000 ms, of which 3.0000 ms are exposed

cut variables: 0, which saves each rank 0 B; whole: 1, 2.00 MB

stayed whole
  net.cc:3: every rank computes function "test" whole
)");
  EXPECT_EQ(tools::ExchangeText(made->exchanges[0]), R"(exchange #1 of function train
  kind       all_reduce
  members    2: data (2)
  a rank gives 2.00 MB in 1 tensor: f32[500000]
  times      2 a run: steps 1, 4
  predicted  4.0000 ms, of which 3.0000 ms are exposed
  lines      net.cc:2
  because    the ranks have terms, because axis "data" cuts input "x" (net.cc:1)
  by way of  net.cc:2
             net.cc:3
)");
  const nlohmann::json json = nlohmann::json::parse(tools::ExplanationJson(*made));
  EXPECT_EQ(json["exchanges"][0]["axes"][0]["size"], 2);
  EXPECT_EQ(json["exchanges"][0]["times"], 2);
  EXPECT_EQ(json["exchanges"][0]["by_way_of"][1], "net.cc:3");
  EXPECT_NEAR(json["exchanges"][0]["exposed_seconds"].get<double>(), 3e-3, 1e-9);
  EXPECT_THAT(*tools::InspectText(plan), HasSubstr("\n        the ranks have terms, because axis"));
}

TEST(ExplainTest, ListsCutVariablesAndPlansWithoutReasons) {
  const absl::StatusOr<Plan> plan = CutPlan({2, 3}, Device::Cpu()).Make();
  ASSERT_TRUE(plan.ok()) << plan.status();
  const tools::Explanation made = *tools::Explain(*plan, {});
  EXPECT_THAT(tools::ExplanationText(made),
              ::testing::ContainsRegex("heads +f32\\[8,144\\] +4.61 kB  part 1.54 kB, cut by b; "));
  const Plan mesh = *MeshPlan({2, 3}, Device::Cpu()).Make();
  const tools::Explanation of_mesh = *tools::Explain(mesh, {.exchange = 2});
  ASSERT_EQ(of_mesh.exchanges.size(), 1u);
  EXPECT_EQ(of_mesh.exchanges[0].number, 2);
  EXPECT_THAT(tools::ExchangeText(of_mesh.exchanges[0]),
              HasSubstr("because    the plan has no reason of it"));
  const cost::DeviceCosts nothing{cost::CostTable()};
  EXPECT_THAT(tools::ExplanationText(*tools::Explain(mesh, {.costs = &nothing})),
              HasSubstr("note: function f has no times: "));
}

TEST(ExplainTest, RefusesWhatIsNotThere) {
  const Plan plan = *Training().Make();
  const auto error = [&](const Plan& of, const tools::ExplainOptions& options) {
    return std::string(tools::Explain(of, options).status().message());
  };
  EXPECT_EQ(error(plan, {.exchange = 2}), "--exchange 2: the exchanges of the plan have the numbers 1 to 1");
  EXPECT_THAT(error(plan, {.function = "test"}), HasSubstr("train"));
  TestPlan alone;
  TestFunction f(alone, "f");
  f.Copy(f.Input("x", DType::kF32, {4}), f.Arena(DType::kF32, {4}));
  EXPECT_EQ(error(*alone.Make(), {.exchange = 1}), "--exchange 1: the plan has no exchanges");
  EXPECT_EQ(tools::ExplanationText(*tools::Explain(*alone.Make(), {})),
            "plan test plan: no mesh\n\nno exchanges\n");
}

// Beyond a node the ring has the slower links: 2 * 15 / 16 * 2 MB at 8 * 1e8 bytes a second.
TEST(PredictTest, AxesHaveOtherSizesAndNodes) {
  const Plan plan = *Training().Make();
  EXPECT_NEAR(PredictionOf(plan, {.plan = {.axes = {"data=8"}}}).seconds, 7e-3 + 2 * 7.0 / 8 * 2e-3, 1e-9);
  const Prediction p = PredictionOf(plan, {.plan = {.axes = {"data=16"}}});
  EXPECT_EQ(p.ranks, 16u);
  EXPECT_EQ(p.ranks_per_node, 8u);
  EXPECT_NEAR(p.seconds, 7e-3 + 2 * 15.0 / 16 * 2e6 / 8e8, 1e-9);
  EXPECT_NEAR(PredictionOf(plan, {.plan = {.ranks_per_node = 1}}).seconds, 7e-3 + 2e6 / 1e8, 1e-9);
}

TEST(PredictTest, CpusOfANodeShareItsCores) {
  TestPlan made = MeshPlan({2, 2}, Device::Cpu());
  for (auto& step : made.table.functions[0]->steps) step->bytes = 1e6;
  const Plan plan = *made.Make();
  const auto kernels = [&](uint32_t ranks_per_node) {
    double seconds = 0;
    for (const PredictedPart& part : PredictionOf(plan, {.plan = {.ranks_per_node = ranks_per_node}}).parts) {
      if (part.name == "kernels" || part.name == "copies") seconds += part.seconds;
    }
    return seconds;
  };
  EXPECT_NEAR(kernels(0), 4 * kernels(1), 1e-9);
  EXPECT_NEAR(kernels(2), 2 * kernels(1), 1e-9);
  EXPECT_GT(kernels(1), 1e-3);
}

// Over an axis of three ranks, each keeps the terms of two others.
TEST(PredictTest, SumsOverAxesTakeMemory) {
  EXPECT_EQ(tools::PredictMemory(Training(3).Make()->table(), 0)[0].exchanges, uint64_t{4} << 20);
}

TEST(PredictTest, ExchangesHaveTheNamesOfCollectives) {
  for (int kind = 0; kind < cost::kExchangeKinds; ++kind) {
    EXPECT_EQ(cost::NameOf(static_cast<cost::ExchangeKind>(kind)),
              CollectiveName(static_cast<fb::CollectiveKind>(kind)));
  }
}

TEST(PredictTest, SaysWhatAPriceLacks) {
  TestPlan made;
  made.UseDevices({Device::Gpu(0)});
  TestFunction f(made, "f");
  fb::MatmulStepT step;
  step.batch = 1, step.m = step.n = step.k = 64, step.dtype = fb::DType::F16;
  const auto tensor = [&](DType dtype) { return f.Arena(dtype, {64, 64}); };
  f.Matmul(step, {tensor(DType::kF16), tensor(DType::kF16)}, {tensor(DType::kF16)});
  EXPECT_EQ(ErrorOf(*made.Make(), {}),
            "cannot price matmul 64x64x64 of net.cc:12 Linear(4): the table of round has no product and no "
            "product in f16: "
            "measure one "
            "with `sinter measure --types f16`");
  made.table.functions[0]->steps.clear();
  made.table.functions[0]->buffers.clear();
  TestFunction conv(made, "conv");
  fb::MatmulStepT f32 = step;
  f32.dtype = fb::DType::F32;
  const auto arena = [&] { return conv.Arena(DType::kF32, {64, 64}); };
  conv.Matmul(f32, {arena(), arena()}, {arena()}).bytes = 1e6;
  EXPECT_EQ(ErrorOf(*made.Make(), {}), "the plan has the functions f, conv: choose one with --function");
  EXPECT_THAT(ErrorOf(*made.Make(), {.function = "g"}), HasSubstr("g"));
  EXPECT_EQ(ErrorOf(*made.Make(), {.function = "conv"}), "");
}

TEST(PredictTest, RefusesAxesThatDoNotFit) {
  const Plan plan = *Training().Make();
  const auto error = [&](const std::string& axis) { return ErrorOf(plan, {.axes = {axis}}); };
  EXPECT_EQ(error("data"), "--axis data: expected name=size, with a size from 1 to 1048576");
  EXPECT_EQ(error("data=0"), "--axis data=0: expected name=size, with a size from 1 to 1048576");
  EXPECT_EQ(error("tensor=2"), "--axis tensor=2: the plan has no axis \"tensor\"; there are data");
  EXPECT_EQ(ErrorOf(*Training(2, fb::CollectiveKind::AllGather).Make(), {.axes = {"data=4"}}),
            "--axis data=4: the sizes of an all_gather of net.cc:2 depend on it; compile the plan for 4 "
            "ranks of this "
            "axis");
  EXPECT_EQ(ErrorOf(*Training(2, fb::CollectiveKind::RingShift).Make(), {.axes = {"data=4"}}),
            "--axis data=4: 2 ranks send each other the terms of net.cc:2; compile the plan for 4 ranks of "
            "this axis");
  EXPECT_EQ(ErrorOf(*Training(2, fb::CollectiveKind::RingShift).Make(), {.axes = {"data=2"}}), "");
  EXPECT_EQ(
      ErrorOf(*Training(1).Make(), {.axes = {"data=4"}}),
      "--axis data=4: the plan has one rank of this axis, and so no exchanges over it; compile the plan "
      "for 4 ranks of this axis");
  TestPlan two = Training();
  two.table.functions[0]->ranks = {{0, 1}};
  two.table.functions.push_back(std::make_unique<fb::FunctionT>(*two.table.functions[0]));
  two.table.functions[1]->ranks = {{1, 2}};
  EXPECT_EQ(ErrorOf(*two.Make(), {.axes = {"data=4"}}),
            "--axis data=4: some ranks have a function \"train\" of their own; compile the plan for 4 ranks "
            "of this "
            "axis");
  EXPECT_NEAR(PredictionOf(*two.Make()).seconds, 9e-3, 1e-9) << "both functions take part in the exchange";
  TestPlan alone;
  TestFunction f(alone, "f");
  EXPECT_EQ(ErrorOf(*alone.Make(), {.axes = {"data=4"}}), "--axis data=4: the plan has no mesh");
  TestPlan mesh = MeshPlan({2, 2}, Device::Gpu());
  EXPECT_EQ(ErrorOf(*mesh.Make(), {.axes = {"a=1048576"}}).substr(0, 18), "--axis a=1048576: ");
}

TEST(SimulateTest, StragglersAndJitterAreSlower) {
  const Plan plan = *Training().Make();
  const auto run = [&](const tools::SimulateOptions& options) {
    absl::StatusOr<SimulatedRun> made = tools::SimulateRun(plan, RoundCosts(), options);
    EXPECT_TRUE(made.ok()) << made.status();
    return *std::move(made);
  };
  const SimulatedRun even = run({.plan = {.axes = {"data=8"}}});
  EXPECT_EQ(even.result.ranks.size(), 1u) << "equal ranks are simulated once";
  const SimulatedRun slow = run({.plan = {.axes = {"data=8"}}, .stragglers = {"5=2"}});
  EXPECT_EQ(slow.result.ranks.size(), 2u);
  EXPECT_NEAR(slow.result.seconds, even.result.seconds + 4e-3 + 3e-3, 1e-9);
  EXPECT_THAT(tools::SimulatedRunText(slow),
              AllOf(HasSubstr("  ranks      8, 8 a node; 2 of them simulated"),
                    HasSubstr(" % more than the 10.5000 ms of even ranks\n"),
                    HasSubstr("  computes   longest on rank 5 (gpu:5), 16.0000 ms\n")));
  const SimulatedRun jitter = run({.simulation = {.jitter = 0.5, .seed = 3}});
  EXPECT_EQ(jitter.result.ranks.size(), 2u);
  EXPECT_GT(jitter.result.seconds, 9e-3);
  const nlohmann::json json = nlohmann::json::parse(tools::SimulatedRunJson(slow));
  EXPECT_EQ(json["ranks"], 8);
  EXPECT_EQ(json["simulated"][1]["first"], 5);
}

TEST(SimulateTest, TracesTheSteps) {
  const Plan plan = *Training().Make();
  const absl::StatusOr<SimulatedRun> run =
      tools::SimulateRun(plan, RoundCosts(), {.plan = {.axes = {"data=4"}}});
  ASSERT_TRUE(run.ok()) << run.status();
  const nlohmann::json trace = nlohmann::json::parse(tools::SimulatedRunTrace(*run, 8));
  std::vector<std::string> steps;
  for (const nlohmann::json& event : trace["traceEvents"]) {
    if (event["ph"] == "M" && event["name"] == "process_name") {
      EXPECT_EQ(event["args"]["name"], "rank 0 (gpu:0) and 3 like it");
    }
    if (event["ph"] != "X") continue;
    steps.push_back(absl::StrCat(event["name"].get<std::string>(), " ", event["tid"].get<int>(), " ",
                                 event["ts"].get<double>(), " ", event["dur"].get<double>()));
  }
  EXPECT_THAT(steps, ElementsAre("kernel gradient, 100 blocks of 256 1 0 4000",
                                 "all_reduce over data, epoch 1 0 4000 3000",
                                 "kernel other, 1 blocks of 32 1 4000 1000",
                                 "kernel update, 100 blocks of 256 1 7000 3000"));
}

TEST(SimulateTest, RefusesWrongStragglers) {
  const Plan plan = *Training().Make();
  const auto error = [&](const std::string& text) {
    return std::string(tools::SimulateRun(plan, RoundCosts(), {.stragglers = {text}}).status().message());
  };
  for (const std::string text : {"1", "a=2", "1=0", "1=x"}) {
    EXPECT_EQ(error(text), absl::StrCat("--straggler ", text,
                                        ": expected rank=factor, such as 17=1.2, with a factor above 0"));
  }
  EXPECT_EQ(error("2=1.5"), "--straggler 2=1.5: the ranks are 0 to 1");
}

TEST(CostsSourceTest, ReadsFilesAndBuiltInTables) {
  const Plan gpu = *Training().Make();
  TestPlan made;
  TestFunction f(made, "f");
  const Plan cpu = *made.Make();
  EXPECT_THAT(tools::ReadCosts("", gpu)->table().device, HasSubstr("H200"));
  EXPECT_THAT(tools::ReadCosts("", cpu)->table().device, HasSubstr("EPYC"));
  EXPECT_THAT(tools::ReadCosts("h100", cpu)->table().device, HasSubstr("H100"));
  const ScratchFolder folder;
  const std::string path = folder.Write("a.costs", cost::CostsText(*cost::FindBuiltinCosts("h100")));
  EXPECT_THAT(tools::ReadCosts(path, cpu)->table().device, HasSubstr("H100"));
  EXPECT_EQ(
      tools::ReadCosts("h300", gpu).status().message(),
      "--costs h300: no such file; built-in tables are h200, h100, cpu, and `sinter measure` makes a file");
  const std::string bad = folder.Write("b.costs", "{}");
  EXPECT_THAT(tools::ReadCosts(bad, gpu).status().message(), HasSubstr("b.costs:1: \"format\" is missing"));
}

TEST(MeasureTest, MakesATableOfCpus) {
  setenv("SINTER_CPU_DEVICES", "2", 1);
  std::ostringstream log;
  const absl::StatusOr<cost::CostTable> table =
      tools::MeasureCosts({.devices = {Device::Cpu(0), Device::Cpu(1)},
                           .types = {"f32"},
                           .seconds_each = 1e-4,
                           .driver = "7",
                           .quick = true},
                          log);
  unsetenv("SINTER_CPU_DEVICES");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(log.str(), "copies\nmatmuls in f32\nconvolutions in f32\nexchanges of 2 devices\n");
  EXPECT_EQ(table->contractions.size(), 8u) << "two matmuls, and three passes of two convolutions";
  EXPECT_EQ(table->exchanges.size(), 6u);
  EXPECT_EQ(table->links.size(), 2u);
  EXPECT_EQ(table->driver, "7");
  EXPECT_EQ(table->nccl, "-");
  const absl::StatusOr<cost::CostTable> read = cost::ParseCosts(cost::CostsText(*table), "t");
  ASSERT_TRUE(read.ok()) << read.status();
  const cost::DeviceCosts costs(*read);
  // The prices of what was measured are the measured ones, to the picosecond of a text.
  const cost::ContractionSample& s = table->contractions[1];
  EXPECT_NEAR(
      costs.Price(cost::Contraction{.m = s.m, .n = s.n, .k = s.k, .flops = s.flops, .bytes = s.bytes})
          ->seconds,
      s.seconds, 2e-12);
}

// Plans of every kind of step pass the verifier of plans, which has the limits of a GPU's libraries.
TEST(MeasureTest, PlansBuiltByHandAreValid) {
  tools::HandmadePlan plan({Device::Gpu(0), Device::Gpu(1)}, "test", "steps");
  plan.AddCopy("copy", 1 << 14, 2);
  plan.AddMatmul("tn", {.type = {DType::kBf16}, .batch = 3, .m = 4, .n = 5, .k = 6, .transpose_a = true}, 2);
  plan.AddMatmul("nt",
                 {.type = {DType::kF32, fb::MathMode::Tf32}, .m = 4, .n = 5, .k = 6, .transpose_b = true}, 2);
  for (const fb::ConvKind kind : fb::EnumValuesConvKind()) {
    const std::string name = fb::EnumNameConvKind(kind);
    plan.AddConv(name + " nhwc",
                 {.type = {DType::kBf16},
                  .kind = kind,
                  .batch = 2,
                  .in_channels = 8,
                  .out_channels = 16,
                  .in_size = 6,
                  .kernel = 3},
                 2);
    plan.AddConv(
        name + " nchw",
        {.kind = kind, .layout = fb::ImageLayout::Nchw, .batch = 2, .in_size = 6, .kernel = 3, .stride = 2},
        2);
  }
  plan.AddAttention("attention", {.batch = 2, .tokens = 128, .heads = 3}, 2);
  plan.AddAttention("attention's gradient", {.backward = true, .batch = 2, .tokens = 128, .heads = 3}, 2);
  const tools::MatmulSizes matmul = {.m = 8, .n = 8, .k = 8};
  for (const fb::CollectiveKind kind :
       {fb::CollectiveKind::AllReduce, fb::CollectiveKind::AllGather, fb::CollectiveKind::ReduceScatter}) {
    plan.AddCollective(fb::EnumNameCollectiveKind(kind), kind, 1 << 12, 2, &matmul);
  }
  const absl::StatusOr<Plan> made = plan.Make();
  ASSERT_TRUE(made.ok()) << made.status();
  // The work that they state is what predictions read.
  const fb::Function& copy = *made->table().functions()->Get(0);
  EXPECT_EQ(copy.steps()->Get(0)->bytes(), 2.0 * 4 * (1 << 14));
}

TEST(MeasureTest, RefusesWrongOptions) {
  std::ostringstream log;
  const auto error = [&](const tools::MeasureOptions& options) {
    return std::string(tools::MeasureCosts(options, log).status().message());
  };
  EXPECT_EQ(error({.devices = {}}), "--device: no device");
  EXPECT_EQ(error({.seconds_each = 0}), "--seconds: not above 0");
  EXPECT_EQ(error({.types = {"tf32"}, .seconds_each = 1e-5, .quick = true}),
            "--types: \"tf32\" is no type; there are f64, f32, bf16, f16");
  EXPECT_THAT(error({.devices = {Device::Cpu(1)}}), HasSubstr("cpu:1 does not exist"));
}

}  // namespace
}  // namespace sinter
