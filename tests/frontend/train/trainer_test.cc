// The training loop: order, observations, ends, errors and signals.
#include "sinter/frontend/train/trainer.h"

#include <cmath>
#include <csignal>
#include <numeric>
#include <stdexcept>

#include "sinter/tests/frontend/train/small_training.h"
#include "sinter/tests/status_checks.h"
#include "sinter/tests/temporary_folder.h"

namespace sinter::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class TrainerTest : public testing::Test {
 protected:
  TrainerOptions Until(Trigger stop) { return {.stop = std::move(stop), .out = folder_.File("result")}; }

  ScratchFolder folder_;
  SmallTraining training_;
};

TEST_F(TrainerTest, StopsAfterTheEpochs) {
  Trainer trainer(training_.session, training_.Update(), Until(Epochs(3)));
  ASSERT_OK(trainer.Run());
  EXPECT_EQ(trainer.progress().iteration, 18);
  EXPECT_EQ(trainer.progress().epoch, 3);
  EXPECT_EQ(trainer.stop_reason(), "the stop trigger fired");
  EXPECT_TRUE(std::filesystem::is_directory(folder_.File("result")));
  EXPECT_ERROR(trainer.Run(), absl::StatusCode::kFailedPrecondition,
               "was called before; make another Trainer");
}

TEST_F(TrainerTest, StopsAtTheEndOfTheStream) {
  NamedBatches two = SmallStream(22, true, /*max_epochs=*/2);
  Trainer trainer(training_.session, Updater(two, "train", {.inputs = {{"lr", 0.1}}}),
                  {.out = folder_.path()});
  ASSERT_OK(trainer.Run());
  EXPECT_EQ(trainer.progress().iteration, 12);
  EXPECT_EQ(trainer.stop_reason(), "the stream has no more epochs");
}

TEST_F(TrainerTest, EqualsALoopByHand) {
  Trainer trainer(training_.session, training_.Update(), Until(Epochs(2)));
  ASSERT_OK(trainer.Run());
  SmallTraining by_hand;
  for (int i = 0; i < 12; ++i) {
    const Batch batch = *by_hand.stream.Next();
    ASSERT_OK(by_hand.session.Run(
        "train",
        {{"x", batch.tensors[0]}, {"t", batch.tensors[1]}, {"weights", batch.weights}, {"lr", 0.01}}));
  }
  EXPECT_EQ(training_.Variables(), by_hand.Variables());
}

NamedBatches UnevenStream() {
  std::vector<HostTensor> tensors;
  tensors.push_back(RandomFloats({23, 5}, 5));
  const BatchOptions options{.batch_size = 4, .seed = 2, .last = LastBatch::kKeep};
  return *NamedBatches::Create(*BatchIterator::Create(std::move(tensors), options), {"x"});
}

// The last batch of an epoch has 3 rows, which the bucket of 4 pads; all buckets share variables and metrics.
TEST_F(TrainerTest, TrainsBuckets) {
  Graph graph("buckets");
  graph.Buckets("train", Mode::kTrain, {2, 4}, [](Builder& b, int64_t rows) {
    const Variable w = b.MakeVariable("w", F32, {5}, {.init = {.a = 1}});
    const Tensor x = b.Input("x", F32, {rows, 5});
    const metrics::Mean loss(Square(Sum(x * b.Read(w), {1})), Cast(b.Valid(), F32));
    Metric(b, "loss", loss);
    optim::Sgd{.learning_rate = b.Scalar("lr")}.Minimize(loss.value());
  });
  Session session = MustStart(graph);
  NamedBatches stream = UnevenStream();
  Trainer trainer(session, Updater(stream, "train", {.inputs = {{"lr", 0.02}}}), Until(Epochs(2)));
  ASSERT_OK(trainer.Run());
  EXPECT_EQ(trainer.progress().iteration, 12);
  NamedBatches again = UnevenStream();
  std::vector<double> w(5, 1);
  for (int update = 0; update < 12; ++update) {
    const Batch batch = *again.Next();
    const auto x = *batch.tensors[0].Span<float>();
    std::vector<double> gradient(5);
    for (int64_t row = 0; row < batch.rows; ++row) {
      const double y = std::inner_product(w.begin(), w.end(), x.begin() + row * 5, 0.0);
      for (int64_t i = 0; i < 5; ++i) gradient[i] += 2 * y * x[row * 5 + i] / static_cast<double>(batch.rows);
    }
    for (int64_t i = 0; i < 5; ++i) w[i] -= 0.02 * gradient[i];
  }
  const HostTensor trained = *session.ReadVariable("w");
  for (int64_t i = 0; i < 5; ++i) EXPECT_NEAR((*trained.Span<float>())[i], w[i], 1e-5);
}

TEST_F(TrainerTest, RunsByPriorityAndRenames) {
  std::vector<std::string> order;
  const auto note = [&](const std::string& name) {
    return [&order, name](Trainer&) {
      order.push_back(name);
      return absl::OkStatus();
    };
  };
  Trainer trainer(training_.session, training_.Update(), Until(Iterations(1)));
  trainer.Extend(note("reader"))
      .Extend(note("last"), {.priority = kLast})
      .Extend(note("writer"), {.priority = kWriter})
      .Extend(note("never"), {.trigger = Every(2, kIteration)})
      .Extend(note("second reader"))
      .Extend(note("before"), {.trigger = Every(5, kEpoch), .priority = kEditor, .before_training = true});
  ASSERT_OK(trainer.Run());
  EXPECT_THAT(order, ElementsAre("before", "writer", "reader", "second reader", "last"));
}

// The mean of the losses of these updates, over their examples, by a session of its own.
double MeanLoss(int64_t first, int64_t last) {
  SmallTraining again;
  double sum = 0, count = 0;
  for (int64_t i = 1; i <= last; ++i) {
    const Batch batch = *again.stream.Next();
    SINTER_CHECK(
        again.session
            .Run("train",
                 {{"x", batch.tensors[0]}, {"t", batch.tensors[1]}, {"weights", batch.weights}, {"lr", 0.01}})
            .ok())
        << i;
    const double loss = ReadMetrics(again.session, "train")->numbers.at("loss");
    if (i < first) continue;
    sum += loss * static_cast<double>(batch.num_examples);
    count += static_cast<double>(batch.num_examples);
  }
  return sum / count;
}

TEST_F(TrainerTest, ObservationsAreMeansSinceTheLastQuestion) {
  std::vector<double> each, fifth;
  std::vector<double> rates;
  Trainer trainer(training_.session, training_.Update(), Until(Iterations(10)));
  const auto keep = [](std::vector<double>& values) {
    return [&values](Trainer& t) -> absl::Status {
      SINTER_ASSIGN_OR_RETURN(Values seen, t.observation());
      values.push_back(seen.at("main/loss"));
      EXPECT_EQ(seen.size(), 3u);  // Also "main/accuracy" and "rate".
      return absl::OkStatus();
    };
  };
  trainer.Extend(keep(each)).Extend(keep(fifth), {.trigger = Every(5, kIteration)});
  trainer.Extend(
      [&](Trainer& t) {
        t.Observe("rate", static_cast<double>(t.progress().iteration));
        return absl::OkStatus();
      },
      {.priority = kWriter});
  trainer.Extend(
      [&](Trainer& t) -> absl::Status {
        SINTER_ASSIGN_OR_RETURN(Values seen, t.observation());
        rates.push_back(seen.at("rate"));
        return absl::OkStatus();
      },
      {.trigger = Every(4, kIteration)});
  ASSERT_OK(trainer.Run());
  ASSERT_EQ(each.size(), 10u);
  EXPECT_NEAR(each[0], MeanLoss(1, 1), 1e-12);
  EXPECT_NEAR(each[9], MeanLoss(10, 10), 1e-12);
  // Update 6 has 2 examples, and 2 rows of padding.
  ASSERT_EQ(fifth.size(), 2u);
  EXPECT_NEAR(fifth[0], MeanLoss(1, 5), 1e-12);
  EXPECT_NEAR(fifth[1], MeanLoss(6, 10), 1e-12);
  EXPECT_THAT(rates, ElementsAre(2.5, 6.5));
  ASSERT_OK_AND_ASSIGN(const Values outside, trainer.observation());
  EXPECT_NEAR(outside.at("main/loss"), MeanLoss(1, 10), 1e-12);
}

TEST_F(TrainerTest, StopEndsAfterTheExtensions) {
  int after = 0;
  Trainer trainer(training_.session, training_.Update(), Until(Epochs(3)));
  trainer.Extend([](Trainer& t) {
    if (t.progress().iteration == 4) t.Stop("enough");
    return absl::OkStatus();
  });
  trainer.Extend([&](Trainer&) {
    ++after;
    return absl::OkStatus();
  });
  ASSERT_OK(trainer.Run());
  EXPECT_EQ(after, 4);
  EXPECT_EQ(trainer.stop_reason(), "enough");
}

// Notes the calls that it gets.
class Noting : public Extension {
 public:
  Noting(std::string name, std::vector<std::string>& calls) : name_(std::move(name)), calls_(&calls) {}
  absl::Status Start(Trainer&) override { return Note("start"); }
  absl::Status Run(Trainer&) override { return Note("run"); }
  absl::Status Interrupt(Trainer&) override { return Note("interrupt"); }
  void OnError(Trainer&, const absl::Status& error) override { Note("error").IgnoreError(); }
  absl::Status Finish(Trainer&) override { return Note("finish"); }
  std::string name() const override { return name_; }

 private:
  absl::Status Note(const std::string& call) {
    calls_->push_back(name_ + " " + call);
    return absl::OkStatus();
  }
  std::string name_;
  std::vector<std::string>* calls_;
};

TEST_F(TrainerTest, AnExceptionIsKeptAndAllFinish) {
  std::vector<std::string> calls;
  Trainer trainer(training_.session, training_.Update(), Until(Epochs(3)));
  trainer.Extend(Noting("a", calls)).Extend(Noting("b", calls));
  trainer.Extend([](Trainer&) -> absl::Status { throw std::runtime_error("no space left"); },
                 {.trigger = Every(2, kIteration), .priority = kLast, .name = "thrower"});
  EXPECT_ERROR(trainer.Run(), absl::StatusCode::kInternal,
               "extension \"thrower\": an exception was thrown: no space left");
  EXPECT_THAT(calls, ElementsAre("a start", "b start", "a run", "b run", "a run", "b run", "b error",
                                 "a error", "a finish", "b finish"));
}

TEST_F(TrainerTest, ErrorsSayWhereTheyAre) {
  {
    Trainer trainer(training_.session, Updater(training_.stream, "train"), Until(Epochs(1)));
    EXPECT_ERROR(trainer.Run(), absl::StatusCode::kInvalidArgument, "update 1: ");
  }
  {
    Trainer trainer(training_.session, Updater(training_.stream, "tren"), Until(Epochs(1)));
    EXPECT_ERROR(trainer.Run(), absl::StatusCode::kNotFound, "tren");
  }
  {
    Trainer trainer(training_.session, Updater(training_.stream, "test", {.inputs = {{"lr", 1}}}),
                    Until(Epochs(1)));
    EXPECT_ERROR(trainer.Run(), absl::StatusCode::kInvalidArgument,
                 "gives \"lr\" to function \"test\", which has no such input; it has x (f32[4,5])");
  }
  {
    Trainer trainer(training_.session, training_.Update(optim::LinearDecay(1, 0)), Until(Epochs(1)));
    EXPECT_ERROR(trainer.Run(), absl::StatusCode::kInvalidArgument, "LinearDecay needs a number of steps");
  }
  {
    Trainer trainer(training_.session, training_.Update(), Until(Every(0, kEpoch)));
    EXPECT_ERROR(trainer.Run(), absl::StatusCode::kInvalidArgument, "the stop trigger: train::Every needs");
  }
  {
    Trainer trainer(training_.session, training_.Update(), Until(Epochs(1)));
    trainer.Extend([](Trainer&) { return absl::OkStatus(); },
                   {.trigger = OnBest("main/los", kMin, Every(1, kIteration)), .name = "best"});
    EXPECT_ERROR(trainer.Run(), absl::StatusCode::kInvalidArgument,
                 "trigger of extension \"best\": a trigger checks \"main/los\"");
  }
}

TEST_F(TrainerTest, InputsAreNumbersOrSchedules) {
  std::vector<double> seen;
  Trainer trainer(training_.session,
                  training_.Update([](int64_t step) { return 0.5 / (1.0 + static_cast<double>(step)); }),
                  Until(Iterations(3)));
  trainer.Extend([&](Trainer& t) -> absl::Status {
    SINTER_ASSIGN_OR_RETURN(const double rate, t.Input("lr"));
    seen.push_back(rate);
    EXPECT_ERROR(t.Input("rate"), absl::StatusCode::kNotFound, "it has lr");
    EXPECT_ERROR(t.SetInput("lr", 1), absl::StatusCode::kFailedPrecondition,
                 "a function of the step decides");
    return absl::OkStatus();
  });
  ASSERT_OK(trainer.Run());
  EXPECT_THAT(seen, ElementsAre(0.5, 0.25, 0.5 / 3));
}

TEST_F(TrainerTest, SeveralFunctionsAreObservedByTheirNames) {
  int updates = 0;
  Updater updater(training_.stream,
                  [&](Session& session, const Batch& batch) -> absl::Status {
                    ++updates;
                    const std::vector<std::string> names = training_.stream.names();
                    SINTER_RETURN_IF_ERROR(session.Run("test", ArgumentsOf(names, batch, true)).status());
                    std::vector<Argument> arguments = ArgumentsOf(names, batch, true);
                    arguments.emplace_back("lr", 0.01);
                    return session.Run("train", arguments).status();
                  },
                  {.functions = {"train", "test"}});
  Values seen;
  Trainer trainer(training_.session, std::move(updater), Until(Iterations(2)));
  trainer.Extend([&](Trainer& t) -> absl::Status {
    SINTER_ASSIGN_OR_RETURN(seen, t.observation());
    return absl::OkStatus();
  });
  ASSERT_OK(trainer.Run());
  EXPECT_EQ(updates, 2);
  EXPECT_THAT(seen, ElementsAre(testing::Key("test/accuracy"), testing::Key("test/loss"),
                                testing::Key("train/accuracy"), testing::Key("train/loss")));
}

TEST_F(TrainerTest, ASignalEndsAfterTheUpdate) {
  for (const int signal : {SIGTERM, SIGINT}) {
    SmallTraining training;
    std::vector<std::string> calls;
    Trainer trainer(training.session, training.Update(), Until(Epochs(100)));
    trainer.Extend([&](Trainer& t) {
      if (t.progress().iteration == 3) std::raise(signal);
      return absl::OkStatus();
    });
    trainer.Extend(Noting("a", calls));
    EXPECT_ERROR(trainer.Run(), absl::StatusCode::kCancelled,
                 signal == SIGTERM ? "a signal, SIGTERM, ended the training after update 3" : "SIGINT");
    EXPECT_THAT(calls, ElementsAre("a start", "a run", "a run", "a run", "a interrupt", "a finish"));
  }
  struct sigaction now = {};
  sigaction(SIGTERM, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST_F(TrainerTest, AForeignStateIsRefused) {
  Trainer trainer(training_.session, training_.Update(), Until(Epochs(1)));
  EXPECT_ERROR(trainer.Load({{"epoch", "3"}}), absl::StatusCode::kInvalidArgument, "no state of a Trainer");
  Metadata state = trainer.Save();
  state["trainer/stream"] = "something else";
  EXPECT_ERROR(trainer.Load(state), absl::StatusCode::kInvalidArgument, "the stream's position: ");
  state = trainer.Save();
  state.erase("trainer/iteration");
  EXPECT_ERROR(trainer.Load(state), absl::StatusCode::kInvalidArgument, "has no \"iteration\"");
}

}  // namespace
}  // namespace sinter::train
