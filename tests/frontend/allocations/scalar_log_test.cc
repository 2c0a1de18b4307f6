// Logs stay on the device until they are read. A separate program: it replaces malloc to count allocations.
#include "sinter/runtime/tensor/scalar_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <memory>

#include "sinter/runtime/cpu/host_runtime.h"
#include "sinter/runtime/memory/process_allocator.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/runtime/session/session_state.h"
#include "sinter/tests/frontend/run_graph.h"
#include "sinter/tests/runtime/counted_malloc.h"

namespace sinter {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A CPU device whose memory the session may not read directly; it counts the transfers.
class FarCpu : public HostRuntime {
 public:
  using HostRuntime::HostRuntime;
  bool is_host_memory() const override { return false; }
};

// A session whose devices come from `make`; it keeps the device's runtime to read its traffic.
class WatchedSession {
 public:
  WatchedSession(const Graph& graph, const CompileOptions& options,
                 const std::function<absl::StatusOr<std::unique_ptr<DeviceRuntime>>(
                     Device, CachingAllocator*, const StepContext&)>& make) {
    absl::StatusOr<Plan> plan = Compile(graph, options);
    SINTER_CHECK(plan.ok()) << plan.status();
    absl::StatusOr<Session> session = internal_session::SessionState::MakeSession(
        *std::move(plan), {}, [&](Device device, CachingAllocator* allocator, const StepContext& context) {
          auto runtime = make(device, allocator, context);
          if (runtime.ok()) runtime_ = runtime->get();
          return runtime;
        });
    SINTER_CHECK(session.ok()) << session.status();
    session_ = std::make_unique<Session>(*std::move(session));
  }
  Session& operator*() { return *session_; }
  Session* operator->() { return session_.get(); }
  int64_t downloaded() const { return runtime_->traffic().downloaded; }
  int64_t downloads() const { return runtime_->traffic().downloads; }

 private:
  DeviceRuntime* runtime_ = nullptr;
  std::unique_ptr<Session> session_;
};

WatchedSession Far(const Graph& graph) {
  return WatchedSession(graph, {}, [](Device device, CachingAllocator*, const StepContext& context) {
    absl::StatusOr<CachingAllocator*> allocator = ProcessAllocator();
    SINTER_CHECK(allocator.ok()) << allocator.status();
    std::unique_ptr<DeviceRuntime> runtime = std::make_unique<FarCpu>(device, context, *allocator);
    return absl::StatusOr<std::unique_ptr<DeviceRuntime>>(std::move(runtime));
  });
}

// A path in the scratch folder; the caller overwrites the file.
std::string ScratchFile(const std::string& name) { return testing::TempDir() + "/scalar_log_" + name; }

// Trains w towards the input and logs twice the input.
void AddTraining(Graph& graph, const std::string& name, LogOptions options) {
  Variable w = graph.Variable("w", F32, {64});
  graph.Function(name, Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Scalar("x");
    optim::Sgd{.learning_rate = 0.1}.Minimize(Sum(Square(b.Read(w) - x)));
    b.Log("twice", x * 2.0, options);
  });
}

Graph Training(LogOptions options) {
  Graph graph("g");
  AddTraining(graph, "train", options);
  return graph;
}

void RunAll(Session& session, std::string_view function, double from, double to) {
  for (double x = from; x < to; ++x) {
    auto outputs = session.Run(function, {{"x", static_cast<float>(x)}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
  }
}

void ExpectOneTransferForAThousandSteps(WatchedSession session) {
  RunAll(*session, "train", 0, 10);
  ASSERT_TRUE(session->ResetVariables().ok());
  const int64_t before = session.downloaded(), downloads = session.downloads();
  RunAll(*session, "train", 0, 1000);
  ASSERT_TRUE(session->Synchronize().ok());
  EXPECT_EQ(session.downloaded(), before);
  auto log = session->ReadLog("twice");
  ASSERT_TRUE(log.ok()) << log.status();
  EXPECT_EQ(session.downloaded(), before + 2 * 1024 * 8);
  EXPECT_EQ(session.downloads(), downloads + 1);
  EXPECT_EQ(log->lost, 0);
  ASSERT_EQ(log->values.size(), 1000u);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(log->values[i], 2.0 * i);
}

TEST(ScalarLogTest, AThousandStepsAreOneTransfer) { ExpectOneTransferForAThousandSteps(Far(Training({}))); }

// Runs on the machine's GPUs, if there are any, whatever SINTER_TEST_DEVICE says.
TEST(ScalarLogGpuTest, AThousandStepsAreOneTransfer) {
  if (NumGpus() == 0) GTEST_SKIP() << "this machine has 0 GPUs";
  ExpectOneTransferForAThousandSteps(
      WatchedSession(Training({}), {.device = Device::Gpu(0)}, MakeDeviceRuntime));
}

// In f64, 49 times the reciprocal of 49 is not 1. Columns are still counted correctly.
TEST(ScalarLogTest, WhatTheRingCannotHoldIsCounted) {
  Session session = MustStart(Training({.capacity = 49}));
  RunAll(session, "train", 0, 100);
  LogValues log = *session.ReadLog("twice");
  EXPECT_EQ(log.lost, 51);
  ASSERT_EQ(log.values.size(), 49u);
  for (int i = 0; i < 49; ++i) EXPECT_EQ(log.values[i], 2 * (51 + i));
  log = *session.ReadLog("twice");
  EXPECT_EQ(log.lost, 0);
  EXPECT_TRUE(log.values.empty());
  RunAll(session, "train", 100, 103);
  log = *session.ReadLog("twice");
  EXPECT_EQ(log.lost, 0);
  EXPECT_THAT(log.values, ElementsAre(200, 202, 204));
}

TEST(ScalarLogTest, FunctionsShareALogAndHaveTheirOwn) {
  Graph graph("g");
  AddTraining(graph, "a", {});
  AddTraining(graph, "b", {});
  graph.Function("eval", Mode::kTrain, [](Builder& b) {
    Tensor x = b.Scalar("x");
    b.Log("count", Cast(x, I32));
    b.Log("count", Cast(x, I64) + 1);
    b.Log("large", Cast(x > 0.0, I1));
    b.Output("y", x + 1.0);
  });
  Session session = MustStart(graph);
  RunAll(session, "a", 0, 2);
  RunAll(session, "b", 7, 8);
  RunAll(session, "eval", 5, 6);
  RunAll(session, "a", 2, 3);
  EXPECT_THAT(session.ReadLog("twice")->values, ElementsAre(0, 2, 14, 4));
  EXPECT_THAT(session.ReadLog("count")->values, ElementsAre(5, 6));
  EXPECT_THAT(session.ReadLog("large")->values, ElementsAre(1));
}

TEST(ScalarLogTest, ValuesAreExactAndMayBeNoNumbers) {
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) { b.Log("x", b.Input("x", F64, {})); });
  Session session = MustStart(graph);
  for (double x : std::vector<double>{0.1, -INFINITY, NAN}) ASSERT_TRUE(session.Run("f", {{"x", x}}).ok());
  LogValues log = *session.ReadLog("x");
  ASSERT_EQ(log.values.size(), 3u);
  EXPECT_EQ(log.values[0], 0.1);
  EXPECT_EQ(log.values[1], -INFINITY);
  EXPECT_TRUE(std::isnan(log.values[2]));
}

TEST(ScalarLogTest, DevicesHaveTheirLogs) {
  setenv("SINTER_CPU_DEVICES", "2", /*overwrite=*/1);
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) {
    Tensor x = b.Input("x", F32, {4});
    Tensor near = Copy(x, Device::Cpu(0)), far = Copy(x, Device::Cpu(1));
    b.Log("near", Sum(near));
    b.Log("far", Sum(far) * 2.0);
  });
  Session session = MustStart(graph);
  HostTensor x = *HostTensor::FromVector<float>({4}, {1, 2, 3, 4});
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(session.Run("f", {{"x", x}}).ok());
  EXPECT_THAT(session.ReadLog("near")->values, ElementsAre(10, 10));
  EXPECT_THAT(session.ReadLog("far")->values, ElementsAre(20, 20));
  for (const VariableInfo& variable : session.variables()) {
    EXPECT_EQ(variable.device, Device::Cpu(variable.name.ends_with("far") ? 1 : 0)) << variable.name;
  }
  unsetenv("SINTER_CPU_DEVICES");
}

// The update's kernel writes the ring in place: training with a log has no more steps, and at most 64 more
// arena bytes.
TEST(ScalarLogTest, LoggingIsPartOfTheUpdate) {
  Graph silent("g");
  Variable w = silent.Variable("w", F32, {64});
  silent.Function("train", Mode::kTrain, [&](Builder& b) {
    optim::Sgd{.learning_rate = 0.1}.Minimize(Sum(Square(b.Read(w) - b.Scalar("x"))));
  });
  Plan without = *Compile(silent), with = *Compile(Training({}));
  EXPECT_EQ(with.Function("train")->steps, without.Function("train")->steps);
  EXPECT_LE(with.Function("train")->arena_bytes, without.Function("train")->arena_bytes + 64);
}

TEST(ScalarLogTest, LoggingAllocatesNothing) {
  if (!kCountsAllocations) GTEST_SKIP() << "sanitizers bring their own malloc";
  WatchedSession session = Far(Training({.capacity = 8}));
  BoundFunction train = *session->Bind("train");
  ASSERT_TRUE(train.SetScalar("x", 3).ok());
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(train.Run().ok());
  const int64_t before = allocations;
  for (int i = 0; i < 20; ++i) {
    if (!train.Run().ok()) std::abort();
  }
  EXPECT_EQ(allocations - before, 0);
  EXPECT_THAT(session->ReadLog("twice")->values, Each(6));
}

TEST(ScalarLogTest, ResettingVariablesEmptiesLogs) {
  Session session = MustStart(Training({}));
  RunAll(session, "train", 0, 5);
  ASSERT_EQ(session.ReadLog("twice")->values.size(), 5u);
  ASSERT_TRUE(session.ResetVariables().ok());
  EXPECT_TRUE(session.ReadLog("twice")->values.empty());
  RunAll(session, "train", 3, 4);
  EXPECT_THAT(session.ReadLog("twice")->values, ElementsAre(6));
}

TEST(ScalarLogTest, CheckpointsHoldNoLogs) {
  const std::string path = ScratchFile("c.safetensors");
  Session session = MustStart(Training({.capacity = 4}));
  RunAll(session, "train", 0, 3);
  ASSERT_TRUE(SaveCheckpoint(session, path).ok());
  for (const std::string& name : SafetensorsFile::Open(path)->names()) EXPECT_FALSE(IsLogVariable(name));
  // Loading does not change the log, and another capacity is accepted.
  Session other = MustStart(Training({.capacity = 8}));
  RunAll(other, "train", 5, 6);
  ASSERT_TRUE(LoadCheckpoint(other, path).ok());
  EXPECT_EQ(VariableFloats(other, "w"), VariableFloats(session, "w"));
  EXPECT_THAT(other.ReadLog("twice")->values, ElementsAre(10));
}

TEST(ScalarLogTest, UnknownLogsAreErrors) {
  Session session = MustStart(Training({}));
  absl::Status status = session.ReadLog("loss").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("no function logs \"loss\"; the logs are twice"));
  Graph graph("g");
  graph.Function("f", Mode::kTrain, [](Builder& b) { b.Output("y", b.Scalar("x") + 1.0); });
  Session silent = MustStart(graph);
  EXPECT_THAT(std::string(silent.ReadLog("loss").status().message()), HasSubstr("the plan has no logs"));
}

TEST(ScalarLogTest, ARingOfAnotherTypeIsAnError) {
  int64_t last = 0;
  for (const HostTensor& tensor :
       {*HostTensor::Zeros(DType::kF32, {2, 4}), *HostTensor::Zeros(DType::kF64, {3, 4}),
        *HostTensor::Zeros(DType::kF64, {8})}) {
    absl::Status status = TakeLogValues(tensor, last).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), HasSubstr("not of f64[2, capacity]"));
  }
}

// A plan or a program may write anything into the variable.
TEST(ScalarLogTest, NumbersThatNoCounterReachesAreNone) {
  int64_t last = 3;
  HostTensor ring = *HostTensor::FromVector<double>({2, 6}, {1, 2, 3, 4, 5, 6, 7, NAN, INFINITY, -1, 6, 3});
  LogValues log = *TakeLogValues(ring, last);
  EXPECT_THAT(log.values, ElementsAre(5, 1));
  EXPECT_EQ(log.lost, 2);
  EXPECT_EQ(last, 7);
}

TEST(ScalarLogTest, WrongLogsAreErrors) {
  struct Case {
    std::function<void(Builder&)> body;
    std::string says;
  };
  const std::vector<Case> cases = {
      {[](Builder& b) { b.Log("x", b.Input("x", F32, {2})); },
       "Log \"x\"(f32[2]) takes one number, a tensor of rank 0; Mean(x) or Sum(x) first"},
      {[](Builder& b) { b.Log("", b.Scalar("x")); }, "has no name"},
      {[](Builder& b) { b.Log("x", b.Scalar("x"), {.capacity = 0}); },
       "needs a capacity of at least 1, got 0"},
      {[](Builder& b) {
         b.Log("x", b.Scalar("x"));
         b.Log("x", b.Scalar("y"), {.capacity = 8});
       },
       "has a capacity of 8 here and of 1024 where it was logged first; give both the same"},
      {[](Builder& b) { b.MakeVariable("log/x", F32, {}); },
       "Variable \"log/x\" has a name that is a log's; choose one that does not begin with \"log/\""},
      {[](Builder& b) { b.MakeVariable("log_count/x", F32, {}); }, "has a name that is a log's"},
  };
  for (const Case& c : cases) {
    Graph graph("g");
    graph.Function("f", Mode::kTrain, c.body);
    EXPECT_EQ(graph.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(graph.status().message()), HasSubstr(c.says));
    EXPECT_THAT(std::string(graph.status().message()), HasSubstr("scalar_log_test.cc:"));
  }
  Graph graph("g");
  graph.Variable("log/x", F32, {});
  EXPECT_THAT(std::string(graph.status().message()), HasSubstr("has a name that is a log's"));
}

}  // namespace
}  // namespace sinter
