#include "sinter/runtime/device/session_tuning.h"

#include <cstdlib>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/device/device_runtimes.h"
#include "sinter/runtime/session/session_state.h"
#include "sinter/tests/data/scratch_folder.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TuningKey SessionKey(const std::string& matmul) { return {"GPU", "cuBLASLt 13.1.0", matmul}; }
TunedAlgorithm SessionTuned(double chosen_us, bool any_bits = false) {
  return {.algorithm = {.id = 66}, .first_us = 10, .chosen_us = chosen_us, .any_bits = any_bits};
}

// Unsets the environment variables after each test.
class SessionTuningTest : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {"SINTER_GPU_TUNE", "SINTER_GPU_TUNE_SAVE", "SINTER_GPU_TUNING_FILE"})
      unsetenv(name);
  }

  void Measure(SessionTuning& tuning, const std::string& matmul, const TunedAlgorithm& tuned) {
    tuning.Add({.key = SessionKey(matmul), .source = ChoiceSource::kMeasured}, &tuned);
  }

  ScratchFolder folder_;
};

TEST_F(SessionTuningTest, WhereTheFileIs) {
  EXPECT_EQ(TuningPath({}, ""), "");
  EXPECT_EQ(TuningPath({}, "a/m.plan"), "a/m.plan.tuning");
  setenv("SINTER_GPU_TUNING_FILE", "b.tuning", 1);
  EXPECT_EQ(TuningPath({}, "a/m.plan"), "b.tuning");
  EXPECT_EQ(TuningPath({.file = "c.tuning"}, "a/m.plan"), "c.tuning");
}

TEST_F(SessionTuningTest, Modes) {
  EXPECT_EQ(*SessionTuning().Mode(), TuningMode::kSameBits);
  const TuningMode modes[] = {TuningMode::kFirstChoice, TuningMode::kSameBits, TuningMode::kAnyBits};
  for (int i = 0; i < 3; ++i) {
    setenv("SINTER_GPU_TUNE", std::to_string(i).c_str(), 1);
    EXPECT_EQ(*SessionTuning().Mode(), modes[i]);
  }
  EXPECT_EQ(*SessionTuning({.mode = TuningMode::kSameBits}).Mode(), TuningMode::kSameBits);
  // Matmuls keep the bits where engines are measured.
  EXPECT_EQ(*SessionTuning({.save = true, .mode = TuningMode::kSavedEngines}).Mode(), TuningMode::kSameBits);
}

TEST_F(SessionTuningTest, EnginesAreMeasuredWhereAFileKeepsThem) {
  const std::string plan = folder_.File("m.plan");
  const auto why_not = [&](TuningOptions options, const std::string& path) {
    return *SessionTuning(std::move(options), path).WhyNoEngines();
  };
  EXPECT_EQ(why_not({.save = true}, plan), "");
  EXPECT_EQ(why_not({.file = folder_.File("m.tuning"), .save = true}, ""), "");
  EXPECT_EQ(why_not({.mode = TuningMode::kAnyBits}, ""), "");
  EXPECT_EQ(why_not({}, plan), "engines are measured where a file keeps the choice, as by `sinter tune`");
  EXPECT_EQ(why_not({.save = true}, ""), "there is no file to keep the choice of an engine");
  EXPECT_EQ(why_not({.save = true, .mode = TuningMode::kFirstChoice}, plan), "tuning is off");
  const std::string kept = "another engine may give other bits";
  EXPECT_EQ(why_not({.save = true, .mode = TuningMode::kSameBits}, plan), kept);
  setenv("SINTER_GPU_TUNE_SAVE", "1", 1);
  EXPECT_EQ(why_not({}, plan), "");
  setenv("SINTER_GPU_TUNE", "1", 1);
  EXPECT_EQ(why_not({}, plan), kept);
  EXPECT_EQ(why_not({.mode = TuningMode::kSavedEngines}, plan), "");
  setenv("SINTER_GPU_TUNE", "fast", 1);
  EXPECT_TRUE(absl::IsInvalidArgument(SessionTuning({}, plan).WhyNoEngines().status()));
}

// A choice that a broken file cannot keep would not be there in the next process.
TEST_F(SessionTuningTest, NoEnginesAreMeasuredBesideABrokenFile) {
  folder_.Write("m.plan.tuning", "{");
  for (const bool again : {false, true}) {
    SessionTuning tuning({.save = true, .again = again}, folder_.File("m.plan"));
    testing::internal::CaptureStderr();
    EXPECT_EQ(*tuning.WhyNoEngines(), "there is no file to keep the choice of an engine");
    EXPECT_EQ(*tuning.WhyNoEngines(), "there is no file to keep the choice of an engine");
    EXPECT_EQ(testing::internal::GetCapturedStderr(),
              "sinter: " + std::string(tuning.report().status.message()) + "\n");
    EXPECT_TRUE(absl::IsDataLoss(tuning.report().status));
  }
}

TEST_F(SessionTuningTest, UnreadableModes) {
  setenv("SINTER_GPU_TUNE", "fast", 1);
  absl::Status status = SessionTuning().Mode().status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("SINTER_GPU_TUNE is \"fast\": write 0"));
  setenv("SINTER_GPU_TUNE", "1", 1);
  setenv("SINTER_GPU_TUNE_SAVE", "yes", 1);
  status = SessionTuning().Mode().status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("SINTER_GPU_TUNE_SAVE is \"yes\": write 1"));
}

TEST_F(SessionTuningTest, FindsWhatTheModeTakes) {
  const std::string path = folder_.File("m.plan");
  ASSERT_TRUE(SaveTuning(path + ".tuning",
                         {{SessionKey("same"), SessionTuned(5)}, {SessionKey("any"), SessionTuned(4, true)}})
                  .ok());
  SessionTuning tuning({}, path);
  ASSERT_NE(tuning.Find(SessionKey("same"), TuningMode::kSameBits), nullptr);
  EXPECT_EQ(*tuning.Find(SessionKey("same"), TuningMode::kSameBits), SessionTuned(5));
  EXPECT_NE(tuning.Find(SessionKey("any"), TuningMode::kSameBits), nullptr);
  EXPECT_EQ(tuning.Find(SessionKey("same"), TuningMode::kAnyBits), nullptr);
  EXPECT_NE(tuning.Find(SessionKey("any"), TuningMode::kAnyBits), nullptr);
  EXPECT_EQ(tuning.Find(SessionKey("same"), TuningMode::kFirstChoice), nullptr);
  EXPECT_EQ(tuning.Find(SessionKey("other"), TuningMode::kSameBits), nullptr);
  // Keys of another device and of another library version.
  EXPECT_EQ(tuning.Find({"GPU 2", "cuBLASLt 13.1.0", "same"}, TuningMode::kSameBits), nullptr);
  EXPECT_EQ(tuning.Find({"GPU", "cuBLASLt 13.2.0", "same"}, TuningMode::kSameBits), nullptr);
  SessionTuning again({.again = true}, path);
  EXPECT_EQ(again.Find(SessionKey("same"), TuningMode::kSameBits), nullptr);
  EXPECT_TRUE(tuning.report().status.ok());
  EXPECT_EQ(tuning.report().file, path + ".tuning");
}

TEST_F(SessionTuningTest, SavesWhenAskedAndKeepsWhatOthersWrote) {
  const std::string path = folder_.File("m.plan"), file = path + ".tuning";
  for (const bool by_environment : {false, true}) {
    if (by_environment) setenv("SINTER_GPU_TUNE_SAVE", "1", 1);
    SessionTuning tuning({.save = !by_environment}, path);
    EXPECT_EQ(tuning.Find(SessionKey("p"), TuningMode::kSameBits), nullptr);
    ASSERT_TRUE(SaveTuning(file, {{SessionKey("of another process"), SessionTuned(7)}}).ok());
    Measure(tuning, "p", SessionTuned(5));
    Measure(tuning, "p", SessionTuned(3));  // The first one counts.
    tuning.Add({.key = SessionKey("small"), .reason = "it is too small to time"});
    tuning.Finish();
    EXPECT_TRUE(tuning.report().status.ok()) << tuning.report().status;
    EXPECT_EQ(tuning.report().Count(ChoiceSource::kMeasured), 1);
    EXPECT_EQ(tuning.report().Count(ChoiceSource::kFirstChoice), 1);
    EXPECT_EQ(*LoadTuning(file), (TuningTable{{SessionKey("of another process"), SessionTuned(7)},
                                              {SessionKey("p"), SessionTuned(5)}}));
    std::filesystem::remove(file);
  }
  unsetenv("SINTER_GPU_TUNE_SAVE");
  SessionTuning tuning({}, path);
  Measure(tuning, "p", SessionTuned(5));
  tuning.Finish();
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST_F(SessionTuningTest, ABrokenFileIsReportedAndKept) {
  const std::string file = folder_.Write("m.plan.tuning", "{");
  SessionTuning tuning({.save = true}, folder_.File("m.plan"));
  testing::internal::CaptureStderr();
  EXPECT_EQ(tuning.Find(SessionKey("p"), TuningMode::kSameBits), nullptr);
  EXPECT_EQ(tuning.Find(SessionKey("q"), TuningMode::kSameBits), nullptr);
  Measure(tuning, "p", SessionTuned(5));
  tuning.Finish();
  const std::string printed = testing::internal::GetCapturedStderr();
  const absl::Status& status = tuning.report().status;
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("matmuls are measured as if there were no tuning file: "), HasSubstr(file)));
  EXPECT_EQ(printed, "sinter: " + std::string(status.message()) + "\n");
  EXPECT_EQ(ReadAll(file), "{");
}

TEST_F(SessionTuningTest, AMissingFileIsReportedWhereItWasNamed) {
  const std::string file = folder_.File("none.tuning");
  SessionTuning beside({}, folder_.File("m.plan"));
  EXPECT_EQ(beside.Find(SessionKey("p"), TuningMode::kSameBits), nullptr);
  EXPECT_TRUE(beside.report().status.ok());
  SessionTuning saves({.file = file, .save = true});
  EXPECT_EQ(saves.Find(SessionKey("p"), TuningMode::kSameBits), nullptr);
  EXPECT_TRUE(saves.report().status.ok());
  SessionTuning named({.file = file});
  EXPECT_EQ(named.Find(SessionKey("p"), TuningMode::kSameBits), nullptr);
  EXPECT_TRUE(absl::IsNotFound(named.report().status)) << named.report().status;
  EXPECT_THAT(std::string(named.report().status.message()), HasSubstr("none.tuning"));
}

TEST_F(SessionTuningTest, WhatCannotBeSavedIsReported) {
  SessionTuning nowhere({.save = true});
  Measure(nowhere, "p", SessionTuned(5));
  nowhere.Finish();
  EXPECT_TRUE(absl::IsFailedPrecondition(nowhere.report().status)) << nowhere.report().status;
  EXPECT_THAT(std::string(nowhere.report().status.message()),
              HasSubstr("what was measured is not saved: the plan is in no file"));
  SessionTuning no_folder({.file = folder_.File("none/m.tuning"), .save = true});
  Measure(no_folder, "p", SessionTuned(5));
  no_folder.Finish();
  EXPECT_THAT(std::string(no_folder.report().status.message()),
              HasSubstr("what was measured is not saved: cannot open the folder"));
}

// A session with a device that looks up and measures like a GPU.
TEST_F(SessionTuningTest, ASessionReadsSavesAndReports) {
  TestPlan plan;
  TestFunction f(plan, "f");
  const uint32_t x = f.Input("x", DType::kF32, {4}), y = f.Arena(DType::kF32, {4});
  f.Copy(x, y);
  f.Output("y", y);
  const std::string path = folder_.File("m.plan");
  ASSERT_TRUE(plan.Make()->Save(path).ok());
  EXPECT_EQ(plan.Make()->path(), "");
  EXPECT_EQ(Plan::Load(path)->path(), path);
  const auto make = [](Device device, CachingAllocator* allocator, const StepContext& context) {
    const TunedAlgorithm* const known = context.tuning->Find(SessionKey("p"), *context.tuning->Mode());
    const TunedAlgorithm measured = SessionTuned(5);
    context.tuning->Add({.key = SessionKey("p"),
                         .source = known == nullptr ? ChoiceSource::kMeasured : ChoiceSource::kFile,
                         .chosen_us = known == nullptr ? measured.chosen_us : known->chosen_us},
                        known == nullptr ? &measured : nullptr);
    return MakeDeviceRuntime(device, allocator, context);
  };
  for (const ChoiceSource source : {ChoiceSource::kMeasured, ChoiceSource::kFile}) {
    absl::StatusOr<Session> session = internal_session::SessionState::MakeSession(
        *Plan::Load(path), {.threads = 1, .tuning = {.save = true}}, make);
    ASSERT_TRUE(session.ok()) << session.status();
    const TuningReport& report = session->tuning();
    EXPECT_TRUE(report.status.ok()) << report.status;
    EXPECT_EQ(report.file, path + ".tuning");
    EXPECT_EQ(report.Count(source), 1);
    EXPECT_EQ(report.choices.size(), 1u);
    EXPECT_EQ(report.choices[0].chosen_us, 5);
  }
  // A plan runs even if its tuning file is broken.
  folder_.Write("m.plan.tuning", "{");
  absl::StatusOr<Session> session =
      internal_session::SessionState::MakeSession(*Plan::Load(path), {.threads = 1}, make);
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_TRUE(absl::IsDataLoss(session->tuning().status));
}

}  // namespace
}  // namespace sinter
