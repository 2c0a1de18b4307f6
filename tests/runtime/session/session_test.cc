#include "sinter/runtime/session/session.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/memory/process_allocator.h"
#include "sinter/tests/runtime/device_plans.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kSize = 100;

std::vector<float> Values(const HostTensor& tensor) {
  const std::span<const float> values = *tensor.Span<float>();
  return {values.begin(), values.end()};
}

// train: w = w + lr * x, y = w + w; also outputs y[0], x and w. eval: z = x + constant.
TestPlan TrainPlan() {
  TestPlan plan;
  const uint32_t w = plan.AddVariable("layer.weight", DType::kF32, {kSize}, 0.5);
  const std::vector<float> constant(kSize, 100);
  const uint64_t offset = plan.AddConstant(constant.data(), constant.size() * sizeof(float));
  {
    TestFunction f(plan, "train");
    const uint32_t x = f.Input("x", DType::kF32, {kSize}), lr = f.Input("lr", DType::kF32, {});
    const uint32_t weight = f.Variable(w), change = f.Arena(DType::kF32, {kSize}),
                   y = f.Arena(DType::kF32, {kSize});
    f.Kernel("scale_f32", {x, lr}, {change}, kSize);
    f.Kernel("add_f32", {weight, change}, {weight}, kSize);
    f.Kernel("add_f32", {weight, weight}, {y}, kSize, 10);
    f.Output("y", y);
    f.Output("first",
             f.Buffer(fb::Space::Arena, 0, plan.table.functions[0]->buffers[y]->offset, DType::kF32, {}));
    f.Output("x_again", x);
    f.Output("w", weight);
  }
  TestFunction f(plan, "eval");
  const uint32_t x = f.Input("x", DType::kF32, {kSize}), z = f.Arena(DType::kF32, {kSize});
  f.Kernel("add_f32", {x, f.Buffer(fb::Space::Constant, 0, offset, DType::kF32, {kSize})}, {z}, kSize);
  f.Output("z", z);
  return plan;
}

TEST(SessionTest, RunsFunctionsThatShareVariables) {
  Session session = *TrainPlan().MakeSession();
  const HostTensor x = Filled(kSize, 2);
  absl::StatusOr<Outputs> out = session.Run("train", {{"x", x}, {"lr", 0.25f}});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_THAT(Values((*out)["y"]), Each(2.0f));
  EXPECT_EQ(*out->Scalar("first"), 2.0);
  EXPECT_THAT(Values((*out)["x_again"]), Each(2.0f));
  EXPECT_THAT(Values((*out)["w"]), Each(1.0f));
  EXPECT_EQ(out->size(), 4u);
  EXPECT_EQ(out->name(1), "first");
  out = session.Run("eval", {{"x", x}});
  EXPECT_THAT(Values((*out)["z"]), Each(102.0f));
  EXPECT_THAT(Values(*session.ReadVariable("layer.weight")), Each(1.0f));
}

TEST(SessionTest, ThreadsGiveTheSameResults) {
  for (int threads : {1, 2, 3, 7}) {
    Session session = *TrainPlan().MakeSession({.threads = threads, .poison = true});
    EXPECT_EQ(session.threads(), threads);
    absl::StatusOr<Outputs> out = session.Run("train", {{"x", Filled(kSize, 2)}, {"lr", 0.25f}});
    EXPECT_THAT(Values((*out)["y"]), Each(2.0f));
  }
}

TEST(SessionTest, IntegersAndDoublesAreNumbersForInputsOfRankZero) {
  TestPlan plan;
  TestFunction f(plan, "f");
  f.Output("i", f.Input("i", DType::kI32, {}));
  f.Output("d", f.Input("d", DType::kF64, {}));
  f.Output("b", f.Input("b", DType::kI1, {}));
  f.Output("h", f.Input("h", DType::kBf16, {}));
  Session session = *plan.MakeSession();
  absl::StatusOr<Outputs> out = session.Run("f", {{"i", -7}, {"d", 0.1}, {"b", true}, {"h", 2}});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ(*out->Scalar("i"), -7);
  EXPECT_EQ(*out->Scalar("d"), 0.1);
  EXPECT_EQ(*out->Scalar("b"), 1);
  EXPECT_EQ(*out->Scalar("h"), 2);
  EXPECT_TRUE(session.Run("f", {{"i", 3.0}, {"d", 0.1}, {"b", 0}, {"h", 2}}).ok());
  const absl::Status status =
      session.Run("f", {{"i", 1e10}, {"d", 1}, {"b", 2}, {"h", Filled(1, 0)}}).status();
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("input \"i\": 10000000000 is not a number of type i32"),
                    HasSubstr("input \"b\": 2 is not a number of type i1"),
                    HasSubstr("input \"h\" is bf16[], and f32[1] is given")));
  EXPECT_THAT(std::string(session.Run("f", {{"i", 0.5}, {"d", 1}, {"b", 0}, {"h", 2}}).status().message()),
              HasSubstr("0.5 is not a number of type i32"));
  const absl::Status large =
      session.Run("f", {{"i", ~uint64_t{0}}, {"d", ~uint64_t{0}}, {"b", 0}, {"h", 1e300}}).status();
  EXPECT_THAT(std::string(large.message()),
              AllOf(HasSubstr("input \"i\": 18446744073709551615 is not a number of type i32"),
                    HasSubstr("input \"h\": 1e+300 is not a number of type bf16"), Not(HasSubstr("\"d\""))));
}

TEST(SessionTest, NumbersKeepTheirValueOrAreErrors) {
  auto stored = [](Number number, DType dtype) -> absl::StatusOr<double> {
    alignas(8) std::byte bytes[8] = {};
    if (absl::Status status = StoreNumber(number, dtype, bytes); !status.ok()) return status;
    return LoadNumber(dtype, bytes);
  };
  EXPECT_EQ(*stored(~uint64_t{0}, DType::kF32), 0x1p64);
  EXPECT_FALSE(stored(~uint64_t{0}, DType::kI64).ok());
  EXPECT_EQ(*stored(uint64_t{1} << 62, DType::kI64), 0x1p62);
  EXPECT_FALSE(stored(0x1p63, DType::kI64).ok());
  EXPECT_EQ(*stored(-0x1p63, DType::kI64), -0x1p63);
  EXPECT_FALSE(stored(std::nan(""), DType::kI64).ok());
  // The largest value of each float type, half a unit above it, and infinity itself.
  EXPECT_EQ(*stored(65519, DType::kF16), 65504);
  EXPECT_FALSE(stored(65520, DType::kF16).ok());
  EXPECT_FALSE(stored(1e9, DType::kF16).ok());
  EXPECT_EQ(*stored(0x1.fffffefffffffp127, DType::kF32), 0x1.fffffep127);
  EXPECT_FALSE(stored(0x1.ffffffp127, DType::kF32).ok());
  EXPECT_FALSE(stored(-1e300, DType::kF32).ok());
  EXPECT_EQ(*stored(0x1.fep127, DType::kBf16), 0x1.fep127);
  EXPECT_FALSE(stored(0x1.ffp127, DType::kBf16).ok());
  EXPECT_EQ(*stored(INFINITY, DType::kF16), INFINITY);
  EXPECT_EQ(*stored(1e300, DType::kF64), 1e300);
  EXPECT_EQ(Number((int64_t{1} << 53) + 1).ToString(), "9007199254740993");
  EXPECT_FALSE(Number((int64_t{1} << 53) + 1).real_is_exact());
  EXPECT_FALSE(Number(std::numeric_limits<int64_t>::max()).real_is_exact());
  EXPECT_TRUE(Number(std::numeric_limits<int64_t>::min()).real_is_exact());
}

TEST(SessionTest, OneErrorListsEverythingWrongWithTheArguments) {
  Session session = *TrainPlan().MakeSession();
  const HostTensor x = Filled(kSize, 2), bad = Filled(3, 2);
  const HostTensor wrong_type = *HostTensor::Zeros(DType::kI32, {kSize});
  EXPECT_EQ(session.Run("train", {{"x", bad}, {"z", x}}).status().message(),
            "cannot run \"train\": input \"x\" is f32[100], and f32[3] is given; there is no input \"z\"; "
            "its inputs are "
            "x f32[100], lr f32[]; input \"lr\", f32[], is missing");
  EXPECT_EQ(
      session.Run("train", {{"x", wrong_type}, {"lr", 1}, {"lr", 2}}).status().message(),
      "cannot run \"train\": input \"x\" is f32[100], and i32[100] is given; input \"lr\" is given twice");
  EXPECT_THAT(std::string(session.Run("train", {{"x", 1}, {"lr", 2}}).status().message()),
              HasSubstr("input \"x\" is f32[100], and a single number is given"));
  EXPECT_THAT(std::string(session.Run("train", {}).status().message()),
              AllOf(HasSubstr("\"x\", f32[100], is missing"), HasSubstr("\"lr\", f32[], is missing")));
  EXPECT_THAT(std::string(session.Run("test", {}).status().message()),
              HasSubstr("the plan has no function \"test\"; it has train, eval"));
  // No function has run.
  EXPECT_THAT(Values(*session.ReadVariable("layer.weight")), Each(0.5f));
}

TEST(SessionTest, OutputErrors) {
  Session session = *TrainPlan().MakeSession();
  absl::StatusOr<Outputs> out = session.Run("train", {{"x", Filled(kSize, 2)}, {"lr", 1}});
  EXPECT_EQ(out->Get("loss").status().message(),
            "function \"train\" has no output \"loss\"; its outputs are y, first, x_again, w");
  EXPECT_THAT(std::string(out->Scalar("y").status().message()),
              HasSubstr("output \"y\" is f32[100], which is not one number"));
  EXPECT_DEATH((*out)["loss"], "has no output \"loss\"");
}

TEST(SessionTest, InputsThatAreNotAlignedAreCopied) {
  Session session = *TrainPlan().MakeSession();
  std::vector<float> memory(kSize + 33, 3);
  for (int shift = 0; shift < 33; ++shift) {
    const HostTensor x = *HostTensor::View(DType::kF32, {kSize}, memory.data() + shift);
    absl::StatusOr<Outputs> out = session.Run("eval", {{"x", x}});
    ASSERT_THAT(Values((*out)["z"]), Each(103.0f));
  }
}

TEST(SessionTest, AnOutputMayBeTheNextInput) {
  Session session = *TrainPlan().MakeSession({.poison = true});
  absl::StatusOr<Outputs> out = session.Run("eval", {{"x", Filled(kSize, 1)}});
  out = session.Run("eval", {{"x", (*out)["z"]}});
  EXPECT_THAT(Values((*out)["z"]), Each(201.0f));
  out = session.Run("train", {{"x", (*out)["z"]}, {"lr", 1}});
  EXPECT_THAT(Values((*out)["w"]), Each(201.5f));
  out = session.Run("train", {{"x", (*out)["w"]}, {"lr", 1}});
  EXPECT_THAT(Values((*out)["w"]), Each(403.0f));
  out = session.Run("train", {{"x", (*out)["x_again"]}, {"lr", 0}});
  EXPECT_THAT(Values((*out)["x_again"]), Each(201.5f));
}

TEST(SessionTest, BoundFunctionsRememberTheirInputs) {
  Session session = *TrainPlan().MakeSession();
  BoundFunction train = *session.Bind("train");
  EXPECT_THAT(std::string(train.Run().message()),
              HasSubstr("cannot run \"train\": input \"x\", f32[100], is missing; input"));
  HostTensor x = Filled(kSize, 2);
  ASSERT_TRUE(train.SetInput("x", x).ok());
  ASSERT_TRUE(train.SetScalar("lr", 0.25).ok());
  EXPECT_THAT(std::string(train.SetScalar("x", 1).message()), HasSubstr("a single number is given"));
  ASSERT_TRUE(train.Run().ok());
  x.MutableSpan<float>()->front() = 4;  // Read in place.
  const Session moved = std::move(session);
  ASSERT_TRUE(train.Run().ok());
  const std::vector<float> y = Values(train.outputs()["y"]);
  EXPECT_EQ(y[0], 4.0f);
  EXPECT_EQ(y[1], 3.0f);
  EXPECT_EQ(train.inputs()[0].TypeString(), "f32[100]");
  EXPECT_EQ(train.output_infos()[1].name, "first");
}

TEST(SessionTest, Variables) {
  Session session = *TrainPlan().MakeSession();
  ASSERT_EQ(session.variables().size(), 1u);
  EXPECT_EQ(session.variables()[0].name, "layer.weight");
  EXPECT_EQ(session.variables()[0].location, "net.cc:12: Linear(4)");
  EXPECT_TRUE(session.WriteVariable("layer.weight", Filled(kSize, 9)).ok());
  EXPECT_THAT(Values(*session.ReadVariable("layer.weight")), Each(9.0f));
  EXPECT_EQ(session.WriteVariable("layer.weight", Filled(3, 9)).message(),
            "variable \"layer.weight\" is f32[100], and f32[3] is given");
  EXPECT_EQ(session.ReadVariable("layer.weihgt").status().message(),
            "there is no variable \"layer.weihgt\"; the nearest names are \"layer.weight\"");
  EXPECT_TRUE(session.ResetVariables().ok());
  EXPECT_THAT(Values(*session.ReadVariable("layer.weight")), Each(0.5f));
}

TEST(SessionTest, MemoryIsAsPredicted) {
  auto pool = *CachingAllocator::Create(std::make_unique<HostMemory>());
  {
    Session session = *TrainPlan().MakeSession({.threads = 2, .allocator = pool.get()});
    const SessionMemory memory = session.memory();
    EXPECT_EQ(memory.variables, 400);
    EXPECT_EQ(memory.arena, 448 + 400);
    EXPECT_EQ(memory.input_staging, 448 + 64);
    EXPECT_EQ(memory.output_copies, 448);
    EXPECT_EQ(memory.constants, 400);
    EXPECT_EQ(memory.used, memory.predicted);
    EXPECT_EQ(pool->UsedBytes(), memory.used);
    EXPECT_THAT(pool->DescribeHolders(), AllOf(HasSubstr("variable layer.weight"), HasSubstr("arena")));
  }
  EXPECT_EQ(pool->UsedBytes(), 0);
}

// Most inputs are read in place. Others get a staging buffer at their first use.
TEST(SessionTest, LargeInputsHaveStagingWhenTheyNeedIt) {
  constexpr int64_t kMany = 1 << 20;
  TestPlan plan;
  TestFunction f(plan, "f");
  const uint32_t x = f.Input("x", DType::kF32, {kMany}), y = f.Arena(DType::kF32, {kMany});
  f.Copy(x, y);
  f.Output("y", y);
  auto pool = *CachingAllocator::Create(std::make_unique<HostMemory>());
  Session session = *plan.MakeSession({.allocator = pool.get()});
  const int64_t predicted = session.memory().predicted;
  EXPECT_EQ(session.memory().input_staging, 0);
  EXPECT_TRUE(session.Run("f", {{"x", Filled(kMany, 2)}}).ok());
  EXPECT_EQ(session.memory().input_staging, 0);
  const std::vector<float> values(kMany + 1, 3);
  const float* const unaligned =
      reinterpret_cast<uintptr_t>(values.data()) % 64 == 0 ? &values[1] : &values[0];
  const HostTensor view = *HostTensor::View(DType::kF32, {kMany}, unaligned);
  for (int run = 0; run < 2; ++run) {
    absl::StatusOr<Outputs> outputs = session.Run("f", {{"x", view}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_EQ(Values((*outputs)["y"])[kMany - 1], 3);
    EXPECT_EQ(session.memory().input_staging, 4 * kMany);
    EXPECT_EQ(session.memory().predicted, predicted + 4 * kMany);
    EXPECT_EQ(session.memory().used, session.memory().predicted);
  }
  Session limited =
      *plan.MakeSession({.memory_limit = MemoryLimit{.bytes = predicted}, .allocator = pool.get()});
  const absl::Status status = limited.Run("f", {{"x", view}}).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(HasSubstr("input staging needs 4194304 bytes on cpu:0 more"),
            HasSubstr("give inputs that start at a multiple of 64 bytes, which are read where they are, or "
                      "raise SessionOptions::memory_limit")));
  EXPECT_TRUE(limited.Run("f", {{"x", Filled(kMany, 2)}}).ok());
}

TEST(SessionTest, SessionsAndTensorsShareTheMemoryOfTheProcess) {
  CachingAllocator* const memory = *ProcessAllocator();
  const int64_t before = memory->UsedBytes();
  {
    Session session = *TrainPlan().MakeSession();
    EXPECT_EQ(&session.allocator(), memory);
    Session other = *TrainPlan().MakeSession();
    EXPECT_EQ(memory->UsedBytes() - before, session.memory().used + other.memory().used);
    const HostTensor copy = *session.ReadVariable("layer.weight");
    EXPECT_EQ(memory->UsedBytes() - before, session.memory().used + other.memory().used + 512);
    EXPECT_THAT(
        memory->DescribeHolders(),
        AllOf(HasSubstr("1024 bytes (1.0 KiB) in 2: variable layer.weight"), HasSubstr("tensor f32[100]")));
  }
  EXPECT_EQ(memory->UsedBytes(), before);
}

TEST(SessionTest, OptionErrors) {
  EXPECT_THAT(std::string(TrainPlan().MakeSession({.threads = -1}).status().message()),
              HasSubstr("-1 threads"));
  EXPECT_THAT(
      std::string(TrainPlan().MakeSession({.memory_limit = MemoryLimit{.fraction = 2}}).status().message()),
      HasSubstr("a memory limit of 2 of the device is outside 0..1"));
}

TEST(SessionTest, AMemoryLimitIsTheSessionsOwn) {
  auto pool = *CachingAllocator::Create(std::make_unique<HostMemory>());
  const auto make = [&](const MemoryLimit& limit) {
    return TrainPlan().MakeSession({.threads = 2, .memory_limit = limit, .allocator = pool.get()});
  };
  const int64_t needed = make({.bytes = 0})->memory().predicted;
  const absl::StatusOr<Session> first = make({.bytes = needed});
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(make({.bytes = needed}).ok()) << "what others hold does not count";
  const int64_t used = pool->UsedBytes();
  const absl::Status status = make({.bytes = needed - 1}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("the session needs " + std::to_string(needed) +
                              " bytes of memory on cpu:0, and its limit is " + std::to_string(needed - 1) +
                              ": raise SessionOptions::memory_limit"),
                    HasSubstr("it needs:\n  1024 bytes: arena\n"),
                    HasSubstr("\n  512 bytes: variable layer.weight")));
  EXPECT_EQ(pool->UsedBytes(), used);
}

TEST(SessionTest, AMemoryLimitListsTheLargestTen) {
  TestPlan plan;
  for (int64_t i = 1; i <= 12; ++i) plan.AddVariable("v" + std::to_string(i), DType::kU8, {512 * i});
  TestFunction f(plan, "f");
  f.Output("v", f.Variable(0));
  const absl::Status status = plan.MakeSession({.memory_limit = MemoryLimit{.bytes = 512}}).status();
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("it needs:\n  6144 bytes: variable v12\n  5632 bytes: variable v11\n"),
                    HasSubstr("\n  1536 bytes: variable v3\n  1536 bytes: 2 more")));
}

TEST(SessionTest, TheAllocatorsLimitNamesWhatDidNotFit) {
  auto pool =
      *CachingAllocator::Create(std::make_unique<HostMemory>(), {.limit = MemoryLimit{.bytes = 1024}});
  const absl::Status status = TrainPlan().MakeSession({.allocator = pool.get()}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(
      std::string(status.message()),
      AllOf(
          HasSubstr("on cpu:0, and its allocator has 1024 left of its limit of 1024: raise that (SetLimit or "
                    "SINTER_CPU_MEMORY_LIMIT)"),
          HasSubstr("it needs:\n  1024 bytes: arena\n"), HasSubstr("\n  512 bytes: variable layer.weight")));
  EXPECT_EQ(pool->Stats().raw_allocations, 0);
}

TEST(SessionTest, ViewsOfVariablesShowWhatRunsMakeOfThem) {
  Session session = *TrainPlan().MakeSession();
  absl::StatusOr<HostTensor> view = session.ViewVariable("layer.weight");
  ASSERT_TRUE(view.ok()) << view.status();
  EXPECT_FALSE(view->is_owning());
  EXPECT_TRUE(view->is_read_only());
  EXPECT_THAT(Values(*view), Each(0.5f));
  ASSERT_TRUE(session.Run("train", {{"x", Filled(kSize, 2)}, {"lr", 0.25f}}).ok());
  EXPECT_THAT(Values(*view), Each(1.0f));
  EXPECT_EQ(session.ViewVariable("layer.weihgt").status().message(),
            "there is no variable \"layer.weihgt\"; the nearest names are \"layer.weight\"");
}

TEST(SessionTest, AMissingKernelIsNamed) {
  TestPlan plan;
  TestFunction f(plan, "f");
  f.Kernel("no_such_kernel", {}, {f.Arena(DType::kF32, {4})}, 4);
  EXPECT_EQ(plan.MakeSession().status().message(),
            "function \"f\", step 0 (no_such_kernel): the plan's code has no kernel no_such_kernel");
}

TEST(SessionTest, CodeThatIsNotASharedObjectIsRefused) {
  TestPlan plan;
  TestFunction f(plan, "f");
  f.Kernel("count_f32", {}, {f.Arena(DType::kF32, {4})}, 4);
  plan.table.shared_object.assign(100, 7);
  EXPECT_THAT(std::string(plan.MakeSession().status().message()),
              HasSubstr("the plan's code cannot be loaded"));
}

TEST(SessionTest, APlanForAnotherCpuIsRefused) {
  TestPlan plan = TrainPlan();
  plan.table.target = std::make_unique<fb::TargetT>();
  plan.table.target->cpu = "quantum9";
  plan.table.target->features = {"avx2", "qbits"};
  EXPECT_TRUE(plan.Make().ok());
  const absl::Status status = plan.MakeSession().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("compiled for quantum9 and needs qbits, which this CPU lacks"),
                    HasSubstr("--target-cpu=")));
  plan.table.target->triple = "riscv64-unknown-linux-gnu";
  EXPECT_THAT(std::string(plan.MakeSession().status().message()), HasSubstr("but this machine is x86_64"));
}

// Loads the first code that the CPU can run. Code for other CPUs is not parsed.
TEST(SessionTest, LoadsTheBestCodeThatTheCpuCanRun) {
  for (const char* feature : {"qbits", "sse3"}) {
    TestPlan plan;
    TestFunction f(plan, "f");
    f.Kernel("count_f32", {}, {f.Arena(DType::kF32, {4})}, 4);
    plan.table.target = std::make_unique<fb::TargetT>();
    plan.table.better_code.push_back(std::make_unique<fb::CpuCodeT>());
    fb::CpuCodeT& better = *plan.table.better_code.back();
    better.target = std::make_unique<fb::TargetT>();
    better.target->features = {feature};
    better.shared_object = plan.table.shared_object;
    // Makes the other code invalid, so that loading it would fail.
    (better.target->features[0] == "qbits" ? better.shared_object : plan.table.shared_object).assign(100, 7);
    absl::StatusOr<Session> session = plan.MakeSession();
    EXPECT_TRUE(session.ok()) << feature << session.status();
  }
}

TEST(SessionTest, PoisonShowsReadsOfUnwrittenMemory) {
  TestPlan plan;
  TestFunction f(plan, "f");
  const uint32_t unwritten = f.Arena(DType::kF32, {8}), y = f.Arena(DType::kF32, {8});
  f.Kernel("add_f32", {unwritten, unwritten}, {y}, 8);
  f.Output("y", y);
  Session session = *plan.MakeSession({.poison = true});
  absl::StatusOr<Outputs> out = session.Run("f", {});
  for (const float value : Values((*out)["y"])) EXPECT_TRUE(std::isnan(value));
}

TEST(SessionTest, Profile) {
  Session session = *TrainPlan().MakeSession();
  BoundFunction train = *session.Bind("train");
  {
    const HostTensor gone = Filled(kSize, 2);
    ASSERT_TRUE(train.SetInput("x", gone).ok());
  }
  const HostTensor x = Filled(kSize, 2);
  ASSERT_TRUE(train.SetInput("x", x).ok());
  ASSERT_TRUE(train.SetScalar("lr", 1).ok());
  Profile profile;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(train.Run(&profile).ok());
  EXPECT_EQ(profile.function, "train");
  EXPECT_EQ(profile.runs, 3);
  ASSERT_EQ(profile.steps.size(), 3u);
  EXPECT_EQ(profile.steps[0].name, "scale_f32");
  EXPECT_EQ(profile.steps[0].kind, "kernel");
  EXPECT_THAT(profile.steps[0].locations, ElementsAre("net.cc:12: Linear(4)"));
  EXPECT_GE(profile.seconds_total, profile.steps[0].seconds_total);
  EXPECT_LE(profile.steps[0].seconds_min, profile.steps[0].seconds_total);
  ASSERT_TRUE(session.Run("eval", {{"x", x}}, &profile).ok());
  EXPECT_EQ(profile.function, "eval");
  EXPECT_EQ(profile.runs, 1);
}

TEST(SessionTest, EmptyTensorsPassThrough) {
  TestPlan plan;
  plan.AddVariable("nothing", DType::kF32, {0, 3});
  TestFunction f(plan, "f");
  const uint32_t x = f.Input("x", DType::kF32, {0}), y = f.Arena(DType::kF32, {0});
  f.Kernel("add_f32", {x, x}, {y}, 0);
  f.Copy(x, y);
  f.Output("y", y);
  f.Output("x", x);
  Session session = *plan.MakeSession({.poison = true});
  absl::StatusOr<Outputs> out = session.Run("f", {{"x", *HostTensor::Zeros(DType::kF32, {0})}});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)["y"].ToString(), "f32[0]");
  EXPECT_EQ(session.ReadVariable("nothing")->ToString(), "f32[0,3]");
}

}  // namespace
}  // namespace sinter
