// Reports and small extensions.
#include "sinter/frontend/train/extensions.h"

#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "absl/strings/str_format.h"
#include "sinter/frontend/train/event_file.h"
#include "sinter/frontend/train/number_text.h"
#include "sinter/tests/frontend/train/small_training.h"
#include "sinter/tests/status_checks.h"
#include "sinter/tests/temporary_folder.h"

namespace sinter::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class ExtensionsTest : public testing::Test {
 protected:
  TrainerOptions Until(Trigger stop) { return {.stop = std::move(stop), .out = folder_.path()}; }

  ScratchFolder folder_;
  SmallTraining training_;
};

// A file in memory.
class Printed {
 public:
  Printed() : file_(open_memstream(&text_, &size_)) {}
  ~Printed() {
    std::fclose(file_);
    std::free(text_);
  }
  std::FILE* file() { return file_; }
  std::string text() {
    std::fflush(file_);
    return std::string(text_, size_);
  }

 private:
  char* text_ = nullptr;
  size_t size_ = 0;
  std::FILE* file_;
};

std::vector<std::string> Lines(const std::string& text) { return SplitWords(text, '\n'); }

TEST_F(ExtensionsTest, EvaluateIsExactAndLeavesTheRest) {
  const auto before = training_.Variables();
  const std::string position = training_.test.Save();
  ASSERT_OK_AND_ASSIGN(const Values seen, Evaluate(training_.session, training_.test, "test"));
  double hits = 0, loss = 0;
  for (int64_t i = 0; i < 3; ++i) {
    const Batch batch = *training_.test.Next();
    for (int64_t row = 0; row < batch.num_examples; ++row) {
      // One example at a time, the others with a weight of 0.
      std::vector<float> weights(4, 0.0f);
      weights[row] = 1;
      ASSERT_OK(training_.session.Run("test", {{"x", batch.tensors[0]},
                                               {"t", batch.tensors[1]},
                                               {"weights", *HostTensor::FromVector<float>({4}, weights)}}));
      ASSERT_OK_AND_ASSIGN(const MetricValues one, ReadMetrics(training_.session, "test"));
      hits += one.numbers.at("accuracy");
      loss += one.numbers.at("loss");
    }
  }
  EXPECT_EQ(seen.at("accuracy"), hits / 10);
  EXPECT_NEAR(seen.at("loss"), loss / 10, 1e-12);
  EXPECT_EQ(training_.Variables(), before);
  ASSERT_OK(training_.test.Load(position));
  ASSERT_OK(training_.test.Next());
  EXPECT_ERROR(Evaluate(training_.session, training_.test, "test"), absl::StatusCode::kInvalidArgument,
               "the stream is within an epoch, before batch 1; give an evaluation a stream of its own");
  EXPECT_ERROR(Evaluate(training_.session, training_.test, "tset"), absl::StatusCode::kNotFound, "tset");
}

TEST_F(ExtensionsTest, LogReportWritesJson) {
  Trainer trainer(training_.session, training_.Update(), Until(Epochs(2)));
  trainer.Extend(Evaluator(training_.test, "test"))
      .Extend(LogReport())
      .Extend(
          [&](Trainer& t) {
            t.Observe("odd \"key\"", t.progress().iteration == 1 ? NAN : INFINITY);
            return absl::OkStatus();
          },
          {.trigger = At({1, 7}, kIteration), .priority = kWriter});
  ASSERT_OK(trainer.Run());
  const std::vector<std::string> lines = Lines(ReadAll(folder_.File("log")));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "[");
  EXPECT_EQ(lines[3], "]");
  EXPECT_THAT(lines[1], testing::StartsWith("  {\"elapsed_time\": "));
  EXPECT_THAT(lines[1], HasSubstr(", \"epoch\": 1, \"input_wait\": "));
  EXPECT_THAT(lines[1], HasSubstr(", \"iteration\": 6, \"main/accuracy\": "));
  EXPECT_THAT(lines[1], HasSubstr(", \"odd \\\"key\\\"\": NaN, \"validation/main/accuracy\": "));
  EXPECT_THAT(lines[1], testing::EndsWith("},"));
  EXPECT_THAT(lines[2], HasSubstr("\"iteration\": 12, "));
  EXPECT_THAT(lines[2], HasSubstr("\"odd \\\"key\\\"\": Infinity, "));
  const Values& entry = trainer.Find<LogReport>()->entries()[1];
  EXPECT_THAT(lines[2], HasSubstr("\"main/loss\": " + ExactText(entry.at("main/loss")) + ","));
  EXPECT_THAT(entry, testing::Contains(testing::Key("validation/main/loss")));
}

TEST_F(ExtensionsTest, PrintReportPrintsARowForEachEntry) {
  Printed printed;
  Trainer trainer(training_.session, training_.Update(0.5), Until(Epochs(2)));
  trainer.Extend(LogReport())
      .Extend(PrintReport({"epoch", "lr", "no such", "iteration"}, {.out = printed.file()}))
      .Extend(ObserveInput("lr"));
  ASSERT_OK(trainer.Run());
  EXPECT_THAT(Lines(printed.text()),
              ElementsAre("epoch       lr          no such     iteration",
                          "1           0.5                     6", "2           0.5                     12"));
}

// Gives the batches of another stream, each after 5 ms.
class SlowStream : public BatchStream {
 public:
  explicit SlowStream(BatchStream& of) : of_(of) {}
  absl::StatusOr<Batch> Next() override {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return of_.Next();
  }
  std::vector<std::string> names() const override { return of_.names(); }
  int64_t batches_per_epoch() const override { return of_.batches_per_epoch(); }
  int64_t num_examples() const override { return of_.num_examples(); }
  std::string Save() const override { return of_.Save(); }
  absl::Status Load(std::string_view position) override { return of_.Load(position); }

 private:
  BatchStream& of_;
};

TEST_F(ExtensionsTest, ReportsSayHowLongUpdatesWaitedForInput) {
  SlowStream slow(training_.stream);
  Printed printed;
  Trainer trainer(training_.session, Updater(slow, "train", {.inputs = {{"lr", 0.1}}}), Until(Epochs(2)));
  trainer.Extend(LogReport()).Extend(PrintReport({"input_wait"}, {.out = printed.file()}));
  ASSERT_OK(trainer.Run());
  const std::vector<Values>& entries = trainer.Find<LogReport>()->entries();
  ASSERT_EQ(entries.size(), 2u);
  // Each epoch has 6 updates, and a row counts those of its epoch alone.
  for (const Values& entry : entries) EXPECT_GE(entry.at("input_wait"), 0.030);
  EXPECT_DOUBLE_EQ(entries[0].at("input_wait") + entries[1].at("input_wait"), trainer.progress().input_wait);
  EXPECT_LT(trainer.progress().input_wait, trainer.progress().elapsed_time);
  EXPECT_EQ(Lines(printed.text())[2], absl::StrFormat("%g", entries[1].at("input_wait")));

  // A resumed training goes on counting; a log that is new there does not count what was before it.
  Trainer resumed(training_.session, Updater(slow, "train", {.inputs = {{"lr", 0.1}}}), Until(Epochs(3)));
  resumed.Extend(LogReport()).Extend(LogReport({.file = "new"}), {.name = "New"});
  ASSERT_OK(resumed.Load(trainer.Save()));
  EXPECT_EQ(resumed.progress().input_wait, trainer.progress().input_wait);
  ASSERT_OK(resumed.Run());
  EXPECT_EQ(resumed.Find<LogReport>()->entries().size(), 3u);
  const double third = resumed.Find<LogReport>()->entries()[2].at("input_wait");
  EXPECT_DOUBLE_EQ(third, resumed.progress().input_wait - trainer.progress().input_wait);
  EXPECT_THAT(ReadAll(folder_.File("new")), HasSubstr("\"input_wait\": " + ExactText(third) + ", "));
}

TEST_F(ExtensionsTest, ReportsNeedALog) {
  const auto error = [&](auto extension) {
    Trainer trainer(training_.session, training_.Update(), Until(Epochs(1)));
    trainer.Extend(std::move(extension));
    return trainer.Run();
  };
  const auto code = absl::StatusCode::kFailedPrecondition;
  EXPECT_ERROR(error(PrintReport({"epoch"})), code, "\"PrintReport\": it prints what a LogReport has logged");
  EXPECT_ERROR(error(PlotReport({"main/loss"})), code, "Extend(train::LogReport())");
  EXPECT_ERROR(error(TensorBoard()), code, "Extend(train::LogReport())");
  EXPECT_ERROR(error(PlotReport({})), absl::StatusCode::kInvalidArgument, "has no keys to draw");
}

TEST_F(ExtensionsTest, ProgressBarSaysWhatIsDone) {
  const Progress now{.iteration = 3, .epoch = 0.5};
  EXPECT_EQ(ProgressText(now, TrainingLength{2, kEpoch}, 6, 4),
            "[======                  ]  25.0 %  epoch 0.50 of 2  iteration 3  4 updates/s  2 s left");
  EXPECT_EQ(ProgressText(now, TrainingLength{12, kIteration}, 6, 0),
            "[======                  ]  25.0 %  epoch 0.50  iteration 3 of 12");
  EXPECT_EQ(ProgressText(now, std::nullopt, 6, 4), "epoch 0.50  iteration 3  4 updates/s");
  Progress waiting = now;
  waiting.elapsed_time = 2;
  waiting.input_wait = 0.7;
  EXPECT_EQ(ProgressText(waiting, std::nullopt, 6, 4),
            "epoch 0.50  iteration 3  4 updates/s  35 % input wait");
  Printed terminal, file;
  Trainer trainer(training_.session, training_.Update(), Until(Iterations(2)));
  trainer
      .Extend(ProgressBar(
          {.out = terminal.file(), .interval = std::chrono::milliseconds(0), .is_terminal = true}))
      .Extend(ProgressBar({.out = file.file(), .interval = std::chrono::milliseconds(0)}));
  ASSERT_OK(trainer.Run());
  EXPECT_THAT(terminal.text(),
              HasSubstr("\r\033[K[============            ]  50.0 %  epoch 0.17  iteration 1 of 2"));
  EXPECT_THAT(terminal.text(), testing::EndsWith("\r\033[K"));
  EXPECT_EQ(file.text(), "");
}

TEST_F(ExtensionsTest, ShiftsChangeTheInput) {
  const auto rates = [&](auto shift, int64_t updates) {
    std::vector<double> seen;
    Trainer trainer(training_.session, training_.Update(0.8), Until(Iterations(updates)));
    trainer.Extend(std::move(shift));
    trainer.Extend([&](Trainer& t) {
      seen.push_back(*t.Input("lr"));
      return absl::OkStatus();
    });
    EXPECT_TRUE(trainer.Run().ok());
    return seen;
  };
  EXPECT_THAT(rates(ExponentialShift("lr", 0.5), 3), ElementsAre(0.4, 0.2, 0.1));
  EXPECT_THAT(rates(ExponentialShift("lr", 0.5, 0.3), 3), ElementsAre(0.4, 0.3, 0.3));
  EXPECT_THAT(rates(LinearShift("lr", 1, 0, 1, 3), 4), ElementsAre(1, 0.5, 0, 0));
  EXPECT_THAT(rates(Shift("lr", [](double first, int64_t n) { return first + static_cast<double>(n); }), 2),
              ElementsAre(1.8, 2.8));
  Trainer trainer(training_.session, training_.Update(), Until(Iterations(1)));
  trainer.Extend(ExponentialShift("rate", 0.5));
  EXPECT_ERROR(trainer.Run(), absl::StatusCode::kNotFound,
               "extension \"Shift\": the updater has no input \"rate\"");
}

TEST_F(ExtensionsTest, PlateauShiftWaitsForABetterValue) {
  const double losses[] = {5, 4, 4.5, 4.2, 3, 3, 3, 3, 3};
  std::vector<double> seen;
  Trainer trainer(training_.session, training_.Update(0.8), Until(Iterations(9)));
  trainer.Extend(
      [&](Trainer& t) {
        t.Observe("loss", losses[t.progress().iteration - 1]);
        return absl::OkStatus();
      },
      {.priority = kWriter});
  trainer.Extend(PlateauShift("lr", {.key = "loss", .factor = 0.5, .patience = 2, .least = 0.15}),
                 {.trigger = Every(1, kIteration)});
  trainer.Extend([&](Trainer& t) {
    seen.push_back(*t.Input("lr"));
    return absl::OkStatus();
  });
  ASSERT_OK(trainer.Run());
  EXPECT_THAT(seen, ElementsAre(0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2, 0.2, 0.15));
}

TEST_F(ExtensionsTest, FailOnNonNumberNamesWhatIsWrong) {
  Trainer good(training_.session, training_.Update(), Until(Epochs(1)));
  good.Extend(FailOnNonNumber());
  ASSERT_OK(good.Run());
  Trainer bad(training_.session, training_.Update(INFINITY), Until(Epochs(1)));
  bad.Extend(FailOnNonNumber(), {.trigger = Every(1, kIteration)});
  const absl::Status status = bad.Run();
  EXPECT_ERROR(status, absl::StatusCode::kOutOfRange,
               "extension \"FailOnNonNumber\": not finite after update 1: ");
  EXPECT_THAT(std::string(status.message()), HasSubstr("of 24 elements of variable "));
}

TEST_F(ExtensionsTest, ParameterStatisticsAreThoseOfTheValues) {
  Values seen;
  Trainer trainer(training_.session, training_.Update(0.0), Until(Epochs(1)));
  trainer.Extend(ParameterStatistics({.percentiles = {0, 25, 100}, .prefix = "p/"}));
  trainer.Extend(
      [&](Trainer& t) -> absl::Status {
        SINTER_ASSIGN_OR_RETURN(seen, t.observation());
        return absl::OkStatus();
      },
      {.trigger = Every(1, kEpoch)});
  std::vector<float> values = {3, -1, 0, 0, 7, 2.5};
  std::string name;
  for (const VariableInfo& variable : training_.session.variables()) {
    if (variable.trainable && variable.shape == Shape{8}) name = variable.name;
  }
  values.resize(8, 1);
  ASSERT_OK(training_.session.WriteVariable(name, *HostTensor::FromVector<float>({8}, values)));
  ASSERT_OK(trainer.Run());
  // NumPy: mean 1.6875, std 2.357667, percentiles of the sorted values -1 0 0 1 1 2.5 3 7.
  const auto at = [&](const std::string& what) { return seen.at("p/" + name + "/" + what); };
  EXPECT_EQ(at("mean"), 1.6875);
  EXPECT_NEAR(at("std"), 2.357667014, 1e-6);
  EXPECT_EQ(at("min"), -1);
  EXPECT_EQ(at("max"), 7);
  EXPECT_EQ(at("zeros"), 2);
  EXPECT_EQ(at("percentile/0"), -1);
  EXPECT_EQ(at("percentile/25"), 0);
  EXPECT_EQ(at("percentile/100"), 7);
  Trainer bad(training_.session, training_.Update(), Until(Epochs(1)));
  bad.Extend(ParameterStatistics({.percentiles = {101}}));
  EXPECT_ERROR(bad.Run(), absl::StatusCode::kInvalidArgument, "a percentile is from 0 to 100, not 101");
}

TEST_F(ExtensionsTest, PlotReportDrawsTheCurves) {
  const std::vector<Values> entries = {
      {{"epoch", 1}, {"a", 4}}, {{"epoch", 2}, {"a", NAN}, {"b<", 0}}, {{"epoch", 3}, {"a", 2}}};
  const std::string svg = PlotSvg(entries, {"a", "b<"}, "epoch");
  // The frame is from (70, 20) to (620, 355): the largest value is on top.
  EXPECT_THAT(svg, HasSubstr("<polyline points=\"70.0,20.0 620.0,187.5\" fill=\"none\" stroke=\"#0072b2\""));
  EXPECT_THAT(svg, HasSubstr("<polyline points=\"345.0,355.0\""));
  EXPECT_THAT(svg, HasSubstr(">b&lt;</text>"));
  Trainer trainer(training_.session, training_.Update(), Until(Epochs(2)));
  trainer.Extend(LogReport()).Extend(PlotReport({"main/loss"}, {.file = "loss.svg", .x = "iteration"}));
  ASSERT_OK(trainer.Run());
  EXPECT_EQ(ReadAll(folder_.File("loss.svg")),
            PlotSvg(trainer.Find<LogReport>()->entries(), {"main/loss"}, "iteration"));
}

TEST(EventFileTest, Crc32cIsCastagnoli) {
  EXPECT_EQ(Crc32c(""), 0u);
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);            // The check value of the catalogue of CRCs.
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4.
}

// Returns the data of the records, whose checksums must be right.
std::vector<std::string> Records(const std::string& file) {
  const auto masked = [](uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; };
  std::vector<std::string> records;
  for (size_t at = 0; at < file.size();) {
    uint64_t length = 0;
    uint32_t of_length = 0, of_data = 0;
    if (at + 12 > file.size()) return {};
    std::memcpy(&length, &file[at], 8);
    std::memcpy(&of_length, &file[at + 8], 4);
    if (at + 16 + length > file.size()) return {};
    records.push_back(file.substr(at + 12, length));
    std::memcpy(&of_data, &file[at + 12 + length], 4);
    EXPECT_EQ(of_length, masked(Crc32c(file.substr(at, 8))));
    EXPECT_EQ(of_data, masked(Crc32c(records.back())));
    at += 16 + length;
  }
  return records;
}

TEST_F(ExtensionsTest, TensorBoardWritesEvents) {
  Trainer trainer(training_.session, training_.Update(0.5), Until(Iterations(2)));
  trainer.Extend(LogReport({.file = "", .trigger = Every(1, kIteration)})).Extend(TensorBoard());
  ASSERT_OK(trainer.Run());
  ASSERT_EQ(folder_.List().size(), 1u);
  EXPECT_THAT(folder_.List()[0], testing::StartsWith("events.out.tfevents."));
  const std::vector<std::string> records = Records(ReadAll(folder_.File(folder_.List()[0])));
  ASSERT_EQ(records.size(), 3u);
  // After the wall time (9 bytes): field 3, a text of 13 bytes.
  EXPECT_EQ(records[0].substr(9), std::string("\x1a\x0d") + "brain.Event:2");
  // Field 2, the step as a varint; then field 5, the summary.
  EXPECT_EQ(records[2].substr(9, 3), std::string("\x10\x02\x2a"));
  float loss = static_cast<float>(trainer.Find<LogReport>()->entries()[1].at("main/loss"));
  std::string value(4, '\0');
  std::memcpy(value.data(), &loss, 4);
  EXPECT_THAT(records[2], HasSubstr("\x0a\x10\x0a\x09main/loss\x15" + value));
}

}  // namespace
}  // namespace sinter::train
