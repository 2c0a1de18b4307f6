// A training that is killed and resumed equals one that is not: variables, log, triggers and extensions.
#include <csignal>

#include "sinter/frontend/train/snapshot.h"
#include "sinter/tests/frontend/train/small_training.h"
#include "sinter/tests/runtime/world_threads.h"
#include "sinter/tests/status_checks.h"
#include "sinter/tests/temporary_folder.h"

namespace sinter::train {
namespace {

using testing::ElementsAre;

// The extensions of the training under test, which ends by `signal_at`, an error at `fail_at`, or after 5
// epochs.
struct Interruption {
  int64_t signal_at = 0, fail_at = 0;
  SnapshotOptions snapshot = {.keep = 2, .autoload = true};
  Trigger snapshot_trigger = Every(4, kIteration);
};

struct Result {
  absl::Status status;
  std::map<std::string, std::string> variables;
  std::vector<Values> log;
  int64_t iterations = 0;  // Updates of this process.
};

Result Train(const std::string& folder, const Interruption& run) {
  Result result;
  SmallTraining training;
  Trainer trainer(training.session, training.Update(), {.stop = Epochs(5), .out = folder});
  trainer.Extend(Evaluator(training.test, "test"))
      .Extend(Evaluator(training.test, "test"), {.trigger = Every(5, kIteration)})
      .Extend(ObserveInput("lr"))
      .Extend(ExponentialShift("lr", 0.9), {.trigger = Every(7, kIteration)})
      .Extend(LogReport({.trigger = Every(9, kIteration)}))
      .Extend(LogReport({.file = "best_log"}),
              {.trigger = OnBest("validation_1/main/loss", kMin, Every(10, kIteration))})
      .Extend(run.snapshot.autoload ? Snapshot(run.snapshot) : Snapshot(run.snapshot),
              {.trigger = run.snapshot_trigger});
  trainer.Extend([&](Trainer& t) {
    ++result.iterations;
    if (t.progress().iteration == run.signal_at) std::raise(SIGTERM);
    return t.progress().iteration == run.fail_at ? absl::AbortedError("power is off") : absl::OkStatus();
  });
  result.status = trainer.Run();
  result.variables = training.Variables();
  result.log = trainer.Find<LogReport>()->entries();
  for (Values& entry : result.log) {
    for (const char* time : {"elapsed_time", "input_wait"}) entry.erase(time);
  }
  return result;
}

// The text of a log without its times.
std::string Timeless(const std::string& path) {
  std::string text = ReadAll(path);
  for (const char* time : {"\"elapsed_time\": ", "\"input_wait\": "}) {
    for (size_t at = 0; (at = text.find(time, at)) != std::string::npos;)
      text.erase(at, text.find(',', at) - at + 2);
  }
  return text;
}

class ResumeTest : public testing::Test {
 protected:
  void SetUp() override {
    whole_ = Train(whole_folder_.path(), {});
    ASSERT_OK(whole_.status);
    ASSERT_EQ(whole_.iterations, 30);
    ASSERT_EQ(whole_.log.size(), 3u);
  }
  void ExpectEqual(const Result& resumed) {
    ASSERT_OK(resumed.status);
    EXPECT_EQ(resumed.variables, whole_.variables);
    EXPECT_EQ(resumed.log, whole_.log);
    for (const char* log : {"log", "best_log"})
      EXPECT_EQ(Timeless(folder_.File(log)), Timeless(whole_folder_.File(log))) << log;
  }

  ScratchFolder whole_folder_, folder_;
  Result whole_;
};

TEST_F(ResumeTest, AfterAnError) {
  // The snapshot after update 8 is the last one; the log and both triggers are within a period.
  const Result first = Train(folder_.path(), {.fail_at = 11});
  EXPECT_ERROR(first.status, absl::StatusCode::kAborted, "power is off");
  EXPECT_THAT(folder_.List(),
              ElementsAre("best_log", "log", "snapshot_iter_4.safetensors", "snapshot_iter_8.safetensors"));
  const Result second = Train(folder_.path(), {});
  EXPECT_EQ(second.iterations, 22);
  ExpectEqual(second);
  EXPECT_THAT(folder_.List(),
              ElementsAre("best_log", "log", "snapshot_iter_24.safetensors", "snapshot_iter_28.safetensors"));
}

TEST_F(ResumeTest, AfterASignalAtAnyUpdate) {
  for (const int64_t at : {1, 6, 9, 29}) {
    const ScratchFolder folder;
    const Result first = Train(folder.path(), {.signal_at = at});
    EXPECT_ERROR(first.status, absl::StatusCode::kCancelled, "SIGTERM");
    const Result second = Train(folder.path(), {});
    EXPECT_EQ(second.iterations, 30 - at);
    EXPECT_EQ(second.variables, whole_.variables) << at;
    EXPECT_EQ(second.log, whole_.log) << at;
  }
}

TEST_F(ResumeTest, AsynchronousSnapshotsAreTheSame) {
  const Interruption run{.fail_at = 17, .snapshot = {.keep = 1, .autoload = true, .asynchronous = true}};
  EXPECT_FALSE(Train(folder_.path(), run).status.ok());
  EXPECT_THAT(folder_.List(), ElementsAre("best_log", "log", "snapshot_iter_16.safetensors"));
  Interruption again = run;
  again.fail_at = 0;
  ExpectEqual(Train(folder_.path(), again));
}

TEST_F(ResumeTest, AFinishedTrainingIsFinished) {
  Interruption run{.snapshot_trigger = Every(1, kEpoch)};
  ASSERT_OK(Train(folder_.path(), run).status);
  const Result again = Train(folder_.path(), run);
  EXPECT_EQ(again.iterations, 0);
  ExpectEqual(again);
}

TEST_F(ResumeTest, OtherDataIsAnError) {
  EXPECT_FALSE(Train(folder_.path(), {.fail_at = 11}).status.ok());
  SmallTraining training;
  training.stream = SmallStream(23, true);
  Trainer trainer(training.session, training.Update(), {.stop = Epochs(5), .out = folder_.path()});
  trainer.Extend(Snapshot({.autoload = true}));
  EXPECT_ERROR(trainer.Run(), absl::StatusCode::kInvalidArgument,
               "snapshot_iter_8.safetensors: the stream's position");
}

// Trains on two devices in one or two processes, and returns the log of the first.
std::string LogOnDevices(const Plan& plan, int processes, const std::string& folder, int64_t updates,
                         bool asynchronous = false) {
  RunInWorld(processes, [&](World& world) {
    absl::StatusOr<Session> session = Session::Create(plan.Share(), {.threads = 1, .world = &world});
    ASSERT_OK(session);
    SmallTraining training(*std::move(session));
    Trainer trainer(training.session, training.Update(),
                    {.stop = Iterations(updates), .out = folder, .world = &world});
    trainer.Extend(Evaluator(training.test, "test"))
        .Extend(LogReport())
        .Extend(Snapshot({.keep = 1, .autoload = true, .asynchronous = asynchronous}),
                {.trigger = Every(5, kIteration)});
    ASSERT_OK(trainer.Run());
  });
  return Timeless(folder + "/log");
}

TEST(TrainerProcessesTest, TrainTogetherAndResume) {
  setenv("SINTER_CPU_DEVICES", "2", 1);
  CompileOptions options;
  options.data_parallel.devices = {Device::Cpu(0), Device::Cpu(1)};
  ASSERT_OK_AND_ASSIGN(const Plan plan, Compile(SmallGraph(), options));
  const ScratchFolder alone, together;
  const std::string log = LogOnDevices(plan, 1, alone.path(), 18);
  EXPECT_THAT(log, testing::HasSubstr("\"epoch\": 3, \"iteration\": 18, "));
  LogOnDevices(plan, 2, together.path(), 11);
  EXPECT_THAT(together.List(), ElementsAre("log", "snapshot_iter_10.safetensors"));
  EXPECT_EQ(LogOnDevices(plan, 2, together.path(), 18), log);
  const ScratchFolder behind;
  LogOnDevices(plan, 2, behind.path(), 11, /*asynchronous=*/true);
  EXPECT_THAT(behind.List(), ElementsAre("log", "snapshot_iter_10.safetensors"));
  EXPECT_EQ(LogOnDevices(plan, 2, behind.path(), 18, /*asynchronous=*/true), log);
  unsetenv("SINTER_CPU_DEVICES");
}

// A signal to one process ends all after the same update, with one snapshot.
TEST(TrainerProcessesTest, EndTogetherAtASignal) {
  setenv("SINTER_CPU_DEVICES", "2", 1);
  CompileOptions options;
  options.data_parallel.devices = {Device::Cpu(0), Device::Cpu(1)};
  ASSERT_OK_AND_ASSIGN(const Plan plan, Compile(SmallGraph(), options));
  const ScratchFolder folder;
  std::string reasons[2];
  int64_t iterations[2];
  RunInWorld(2, [&](World& world) {
    absl::StatusOr<Session> session = Session::Create(plan.Share(), {.threads = 1, .world = &world});
    ASSERT_OK(session);
    SmallTraining training(*std::move(session));
    Trainer trainer(training.session, training.Update(),
                    {.stop = Epochs(1000000), .out = folder.path(), .world = &world});
    trainer.Extend(Snapshot({.autoload = true}), {.trigger = Every(1000000, kEpoch)});
    trainer.Extend([&](Trainer& t) {
      if (world.rank() == 1 && t.progress().iteration == 20) std::raise(SIGTERM);
      return absl::OkStatus();
    });
    const absl::Status status = trainer.Run();
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
    reasons[world.rank()] = trainer.stop_reason();
    iterations[world.rank()] = trainer.progress().iteration;
  });
  EXPECT_EQ(reasons[0], reasons[1]);
  EXPECT_EQ(iterations[0], iterations[1]);
  EXPECT_THAT(folder.List(), ElementsAre(absl::StrCat("snapshot_iter_", iterations[0], ".safetensors")));
  // Threads of one process share its signals, so either may be the first.
  EXPECT_THAT(reasons[0],
              testing::ContainsRegex("a signal, SIGTERM at rank [01], ended the training after update "));
  unsetenv("SINTER_CPU_DEVICES");
}

TEST(TrainerProcessesTest, WriteTheirPartsTogether) {
  setenv("SINTER_CPU_DEVICES", "2", 1);
  CompileOptions options;
  options.mesh = {.axes = {{"data", 2}}, .devices = {Device::Cpu(0), Device::Cpu(1)}};
  options.parallel = {parallel::Data{}, parallel::Zero{.level = 3, .least_bytes = 1}};
  ASSERT_OK_AND_ASSIGN(const Plan plan, Compile(SmallGraph(), options));
  const ScratchFolder folder;
  RunInWorld(2, [&](World& world) {
    absl::StatusOr<Session> session = Session::Create(plan.Share(), {.threads = 1, .world = &world});
    ASSERT_OK(session);
    SmallTraining training(*std::move(session));
    Trainer trainer(training.session, training.Update(),
                    {.stop = Iterations(1), .out = folder.path(), .world = &world});
    trainer.Extend(Snapshot({.asynchronous = true}));
    EXPECT_ERROR(trainer.Run(), absl::StatusCode::kUnimplemented,
                 "asynchronous snapshots are not possible where ranks hold parts of variables, as with "
                 "parallel::Zero; leave out .asynchronous");
  });
  unsetenv("SINTER_CPU_DEVICES");
}

TEST(SnapshotTest, KeepsTheBestAlone) {
  const ScratchFolder folder;
  SmallTraining training;
  Trainer trainer(training.session, training.Update(), {.stop = Iterations(8), .out = folder.path()});
  const double losses[] = {5, 4, 6, 3, 7, 2, 8, 9};
  trainer.Extend(
      [&](Trainer& t) {
        t.Observe("quality", losses[t.progress().iteration - 1]);
        return absl::OkStatus();
      },
      {.priority = kWriter});
  std::map<std::string, std::string> best;
  trainer.Extend([&](Trainer& t) {
    if (t.progress().iteration == 6) best = training.Variables();
    return absl::OkStatus();
  });
  trainer.Extend(Snapshot({.file = "best"}), {.trigger = OnBest("quality", kMin, Every(1, kIteration))});
  trainer.Extend(Snapshot({.file = "first_{iteration}_of", .keep = 1}), {.trigger = At({2, 3}, kIteration)});
  ASSERT_OK(trainer.Run());
  EXPECT_THAT(folder.List(), ElementsAre("best.safetensors", "first_3_of.safetensors"));
  ASSERT_OK_AND_ASSIGN(const Metadata metadata,
                       LoadCheckpoint(training.session, folder.File("best.safetensors")));
  EXPECT_EQ(metadata.at("trainer/iteration"), "6");
  // The trigger has read the metrics in between.
  std::map<std::string, std::string> loaded = training.Variables();
  for (auto* variables : {&best, &loaded})
    std::erase_if(*variables, [](const auto& variable) { return variable.first.starts_with("metric/"); });
  EXPECT_EQ(loaded, best);
}

TEST(SnapshotTest, AProgramWithOtherMetricsGoesOn) {
  const ScratchFolder folder;
  const auto train = [&](bool has_perplexity, int64_t until) {
    SmallTraining training(MustStart(SmallGraph(has_perplexity)));
    Trainer trainer(training.session, training.Update(), {.stop = Iterations(until), .out = folder.path()});
    trainer.Extend(LogReport({.trigger = Every(2, kIteration)}));
    trainer.Extend(Snapshot({.keep = 1, .autoload = true}), {.trigger = Every(3, kIteration)});
    EXPECT_TRUE(trainer.Run().ok());
    std::vector<Values> entries = trainer.Find<LogReport>()->entries();
    std::map<std::string, std::string> variables = training.Variables();
    std::erase_if(variables, [](const auto& variable) { return variable.first.starts_with("metric/"); });
    return std::pair(entries, variables);
  };
  train(false, 3);
  const auto [more, with_more] = train(true, 6);
  ASSERT_EQ(more.size(), 3u);
  EXPECT_FALSE(more[0].contains("main/perplexity"));
  EXPECT_TRUE(more[1].contains("main/perplexity"));
  const auto [less, with_less] = train(false, 9);
  ASSERT_EQ(less.size(), 4u);
  EXPECT_TRUE(less[2].contains("main/perplexity"));
  EXPECT_FALSE(less[3].contains("main/perplexity"));
  std::filesystem::remove_all(folder.path());
  EXPECT_EQ(train(false, 9).second, with_less);
}

TEST(SnapshotTest, AnErrorOfTheThreadEndsTheTraining) {
  const ScratchFolder folder;
  SmallTraining training;
  Trainer trainer(training.session, training.Update(), {.stop = Iterations(20), .out = folder.File("out")});
  trainer.Extend(Snapshot({.asynchronous = true}), {.trigger = Every(2, kIteration)});
  trainer.Extend([&](Trainer& t) {
    // A file takes the place of the folder.
    if (t.progress().iteration == 5) {
      std::filesystem::rename(folder.File("out"), folder.File("moved"));
      std::ofstream(folder.File("out")) << "in the way";
    }
    return absl::OkStatus();
  });
  const absl::Status status = trainer.Run();
  EXPECT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("extension \"snapshot\": "));
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("snapshot_iter_"));
  // The thread of snapshot 4 may have been late.
  EXPECT_THAT(trainer.progress().iteration, testing::AnyOf(6, 8));
}

TEST(SnapshotTest, MistakesAreErrors) {
  const auto error = [](SnapshotOptions options) {
    const ScratchFolder folder;
    SmallTraining training;
    Trainer trainer(training.session, training.Update(), {.stop = Iterations(1), .out = folder.path()});
    trainer.Extend(Snapshot(options));
    return trainer.Run();
  };
  const auto code = absl::StatusCode::kInvalidArgument;
  EXPECT_ERROR(error({.file = "a/b"}), code, "extension \"snapshot\": \"a/b\" is no name of a file");
  EXPECT_ERROR(error({.keep = -1}), code, "keep needs to be at least 0, got -1");
  EXPECT_ERROR(error({.file = "best", .keep = 2}), code, "keep is for files whose names have an iteration");
}

}  // namespace
}  // namespace sinter::train
