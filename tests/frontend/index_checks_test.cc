// CompileOptions::check_indices: a run reports the op that received an index out of range.
//
// Runs on the CPU, or on the device in SINTER_TEST_DEVICE.
#include "sinter/runtime/execute/index_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sinter/runtime/session/checkpoint.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int64_t kTableRows = 6;

using IndexChecksTest = DeviceTest;

// A training step with every op that takes indices, each with its own input; and a function without any.
Graph EveryOp(std::map<std::string, uint32_t>* lines = nullptr) {
  Graph graph("indices");
  Variable table = graph.Variable("table", F32, {5, 3}, {.init = {.a = 0.5}});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    auto at = [&](const std::string& name, uint32_t line) {
      if (lines) (*lines)[name] = line;
      return b.Input(name, name == "labels" ? I64 : I32, {kTableRows});
    };
    Tensor rows = Gather(b.Read(table), at("rows", __LINE__), 0);
    Tensor along = TakeAlong(b.Read(table), ExpandDims(SliceDim(at("along", __LINE__), 0, 0, 5), 1), 1);
    Tensor hot = OneHot(at("hot", __LINE__), 4);
    Tensor counts = ScatterAdd(b.Zeros(F32, {7}), at("scatter", __LINE__), b.Ones(F32, {kTableRows}), 0);
    Tensor loss = SoftmaxCrossEntropy(rows * 2.0, at("labels", __LINE__), {.ignore_label = -1});
    optim::Sgd{.learning_rate = 0.1}.Minimize(loss, {.parameters = {table}});
    b.Output("loss", loss + Sum(hot) + Sum(along));
    b.Output("counts", counts);
  });
  graph.Function("plain", Mode::kTrain, [](Builder& b) { b.Output("y", b.Ones(F32, {2})); });
  return graph;
}

// Runs with valid indices, except for one index of the input `bad`.
absl::StatusOr<Outputs> RunWith(Session& session, const std::string& bad = "", int64_t index = 0) {
  std::map<std::string, HostTensor> inputs;
  for (const char* name : {"rows", "along", "hot", "scatter"}) {
    inputs[name] = *HostTensor::FromVector<int32_t>({kTableRows}, {0, 1, 2, 2, 1, 0});
    if (name == bad) (*inputs[name].MutableSpan<int32_t>())[2] = static_cast<int32_t>(index);
  }
  inputs["labels"] = *HostTensor::FromVector<int64_t>({kTableRows}, {0, 1, 2, -1, 1, 0});
  if (bad == "labels") (*inputs["labels"].MutableSpan<int64_t>())[1] = index;
  std::vector<Argument> arguments;
  for (const auto& [name, tensor] : inputs) arguments.emplace_back(name, tensor);
  return session.Run("train", arguments);
}

struct Bad {
  const char* input;
  int64_t index;
  const char* says;
};
constexpr Bad kBad[] = {
    {"rows", 5, "Gather: index 5 is outside of 0 to 4"},
    {"rows", -1, "Gather: index -1 is outside of 0 to 4"},
    {"along", 3, "TakeAlong: index 3 is outside of 0 to 2"},
    {"hot", 4, "OneHot: index 4 is outside of 0 to 3"},
    {"scatter", 7, "ScatterAdd: index 7 is outside of 0 to 6"},
    {"labels", 3, "SoftmaxCrossEntropy: index 3 is outside of 0 to 2"},
    {"labels", int64_t{1} << 40, "SoftmaxCrossEntropy: index 1099511627776 is outside of 0 to 2"},
    {"labels", -2, "SoftmaxCrossEntropy: index -2 is outside of 0 to 2"}};

void ExpectEveryBadIndexIsNamed(const CompileOptions& options) {
  std::map<std::string, uint32_t> lines;
  Session session = MustStart(EveryOp(&lines), options);
  ASSERT_TRUE(RunWith(session).ok()) << RunWith(session).status();
  for (const Bad& bad : kBad) {
    const absl::Status status = RunWith(session, bad.input, bad.index).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kOutOfRange) << bad.input << ": " << status;
    EXPECT_THAT(std::string(status.message()),
                AllOf(HasSubstr("index_checks_test.cc:" + std::to_string(lines[bad.input]) + ": "),
                      HasSubstr(bad.says)));
    // The next run, with valid indices, succeeds.
    EXPECT_TRUE(RunWith(session).ok()) << bad.input;
  }
  EXPECT_TRUE(session.Run("plain", {}).ok());
}

TEST_F(IndexChecksTest, NameTheLineTheOpTheIndexAndTheBound) {
  ExpectEveryBadIndexIsNamed({.device = TestDevice(), .check_indices = true});
}

TEST_F(IndexChecksTest, DoNotDependOnFusion) {
  CompileOptions options = {.device = TestDevice(), .check_indices = true};
  options.fuse = options.fuse_epilogues = options.in_place = false;
  ExpectEveryBadIndexIsNamed(options);
}

TEST_F(IndexChecksTest, SeeTheWholeBatchOnSeveralDevices) {
  if (TestDevice().is_gpu()) return;
  setenv("SINTER_CPU_DEVICES", "4", /*overwrite=*/1);
  CompileOptions options;
  options.check_indices = true;
  options.data_parallel = {.devices = {Device::Cpu(0), Device::Cpu(1)}, .whole_inputs = {"along"}};
  ExpectEveryBadIndexIsNamed(options);
}

TEST_F(IndexChecksTest, AreOffByDefault) {
  Session session = MustStart(EveryOp(), {.device = TestDevice()});
  for (const Bad& bad : kBad) EXPECT_TRUE(RunWith(session, bad.input, bad.index).ok());
}

TEST_F(IndexChecksTest, AreNoPartOfCheckpoints) {
  const std::string path = testing::TempDir() + "/index_checks.safetensors";
  Session checked = MustStart(EveryOp(), {.device = TestDevice(), .check_indices = true});
  ASSERT_TRUE(RunWith(checked).ok());
  ASSERT_TRUE(SaveCheckpoint(checked, path).ok());
  Session plain = MustStart(EveryOp(), {.device = TestDevice()});
  EXPECT_TRUE(LoadCheckpoint(plain, path).ok());
  ASSERT_TRUE(SaveCheckpoint(plain, path).ok());
  EXPECT_TRUE(LoadCheckpoint(checked, path).ok());
  std::filesystem::remove(path);
}

TEST_F(IndexChecksTest, KeepTheirNames) {
  Graph graph("g");
  graph.Variable("index_check/f/0", F32, {3});
  EXPECT_THAT(std::string(graph.status().message()), HasSubstr("has a name that is an index check's"));
}

}  // namespace
}  // namespace sinter
