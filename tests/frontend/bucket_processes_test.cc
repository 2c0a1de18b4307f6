// Graph::Buckets in several processes, which agree on the bucket of each run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "sinter/frontend/sinter.h"
#include "sinter/tests/runtime/world_threads.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kAllRows = 4, kStepSize = 3;
constexpr int kRanks = 2;

// A function for 4 and for 8 steps of time, on two devices with two rows each.
Graph BucketsForProcesses() {
  Graph graph("buckets", {.seed = 1});
  nn::Linear layer(2);
  graph.Buckets("train", Mode::kTrain, std::vector<int64_t>{4, 8}, [&](Builder& b, int64_t time) {
    const Tensor x = b.Input("x", F32, {kAllRows, time, kStepSize});
    const Tensor lengths = b.Input("lengths", I32, {kAllRows});
    const Tensor exists = Cast(b.Iota(I32, {kAllRows, time}, 1) < ExpandDims(lengths, 1), F32);
    const Tensor y = Sum(Square(Tanh(layer(x))), {2}) * exists;
    const Tensor loss = Sum(y) / Sum(exists);
    optim::Sgd{.learning_rate = 0.1}.Minimize(loss);
    b.Output("loss", loss);
    b.Output("y", y);
    b.Output("bucket", b.Full(F32, {}, static_cast<double>(time)));
    b.Output("length", Cast(b.Length(), F32));
  });
  return graph;
}

Plan PlanFor(const Graph& graph) {
  DataParallel parallel;
  for (int d = 0; d < kRanks; ++d) parallel.devices.push_back(Device::Cpu(d));
  absl::StatusOr<Plan> plan = Compile(graph, {.data_parallel = parallel});
  SINTER_CHECK(plan.ok()) << plan.status();
  return *std::move(plan);
}

// Rows [begin, end) of the batch, of which row r has r % 3 + 1 times `scale` steps, in a tensor of `time`.
HostTensor RowsOfTime(int64_t begin, int64_t end, int64_t time, int64_t scale) {
  std::vector<float> x;
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t t = 0; t < time; ++t) {
      for (int64_t f = 0; f < kStepSize; ++f) {
        const bool exists = t < (row % 3 + 1) * scale;
        x.push_back(exists ? std::sin(static_cast<float>(row * 31 + t * 7 + f)) : 0);
      }
    }
  }
  return *HostTensor::FromVector<float>({end - begin, time, kStepSize}, x);
}
HostTensor LengthsOfRows(int64_t begin, int64_t end, int64_t scale) {
  std::vector<int32_t> lengths;
  for (int64_t row = begin; row < end; ++row) lengths.push_back(static_cast<int32_t>((row % 3 + 1) * scale));
  return *HostTensor::FromVector<int32_t>({end - begin}, lengths);
}
int64_t LongestOf(int64_t begin, int64_t end, int64_t scale) {
  int64_t longest = 0;
  for (int64_t row = begin; row < end; ++row) longest = std::max(longest, (row % 3 + 1) * scale);
  return longest;
}

// The bits of losses and weights after runs of both buckets. Each process gives its own rows, as long as the
// longest of them.
std::string TrainBuckets(const Plan& plan, int processes) {
  std::string bits;
  RunInWorld(processes, [&](World& world) {
    absl::StatusOr<Session> session = Session::Create(plan.Share(), {.threads = 1, .world = &world});
    ASSERT_TRUE(session.ok()) << session.status();
    const int64_t begin = world.rank() * kAllRows / processes, end = begin + kAllRows / processes;
    std::string own;
    for (const int64_t scale : {2, 1, 2}) {
      const HostTensor x = RowsOfTime(begin, end, LongestOf(begin, end, scale), scale);
      absl::StatusOr<Outputs> out =
          session->Run("train", {{"x", x}, {"lengths", LengthsOfRows(begin, end, scale)}});
      ASSERT_TRUE(out.ok()) << out.status();
      // The longest row of all processes decides.
      EXPECT_EQ(*out->Scalar("bucket"), scale == 2 ? 8 : 4);
      EXPECT_EQ(*out->Scalar("length"), 3.0 * static_cast<double>(scale));
      const HostTensor& loss = (*out)["loss"];
      own.append(static_cast<const char*>(loss.data()), static_cast<size_t>(loss.num_bytes()));
      EXPECT_EQ((*out)["y"].shape()[1], 3 * scale);
    }
    const HostTensor weight = *session->ReadVariable("weight");
    own.append(static_cast<const char*>(weight.data()), static_cast<size_t>(weight.num_bytes()));
    if (world.rank() == 0) bits = own;
  });
  return bits;
}

class BucketProcessesTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("SINTER_CPU_DEVICES", "2", 1); }
  void TearDown() override { unsetenv("SINTER_CPU_DEVICES"); }
};

// Rank 0 has rows of at most 4 steps, rank 1 of 6: alone it would take the smaller bucket.
TEST_F(BucketProcessesTest, AllRunTheBucketOfTheLongestRow) {
  const Plan plan = PlanFor(BucketsForProcesses());
  const std::string alone = TrainBuckets(plan, 1);
  ASSERT_GT(alone.size(), 30u);
  EXPECT_TRUE(TrainBuckets(plan, kRanks) == alone);
}

TEST_F(BucketProcessesTest, ARowThatIsTooLongFailsEverywhere) {
  const Plan plan = PlanFor(BucketsForProcesses());
  RunInWorld(kRanks, [&](World& world) {
    absl::StatusOr<Session> session = Session::Create(plan.Share(), {.threads = 1, .world = &world});
    ASSERT_TRUE(session.ok()) << session.status();
    const int64_t begin = 2 * world.rank(), time = world.rank() == 1 ? 9 : 4;
    const HostTensor x = RowsOfTime(begin, begin + 2, time, 1);
    const absl::Status status =
        session->Run("train", {{"x", x}, {"lengths", LengthsOfRows(begin, begin + 2, 1)}}).status();
    EXPECT_THAT(std::string(status.message()), HasSubstr("cannot run \"train\""));
  });
}

// Bad arguments of one process end the run of the other.
TEST_F(BucketProcessesTest, NobodyWaitsForARankWithBadArguments) {
  const Plan plan = PlanFor(BucketsForProcesses());
  RunInWorld(kRanks, [&](World& world) {
    absl::StatusOr<Session> session = Session::Create(plan.Share(), {.threads = 1, .world = &world});
    ASSERT_TRUE(session.ok()) << session.status();
    const int64_t begin = 2 * world.rank();
    const HostTensor x = world.rank() == 0 ? *HostTensor::FromVector<float>({2, 4}, std::vector<float>(8, 1))
                                           : RowsOfTime(begin, begin + 2, 4, 1);
    const absl::Status status =
        session->Run("train", {{"x", x}, {"lengths", LengthsOfRows(begin, begin + 2, 1)}}).status();
    EXPECT_EQ(status.code(),
              world.rank() == 0 ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kUnavailable)
        << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("it must have 3 dimensions"));
  });
}

TEST_F(BucketProcessesTest, BucketsOfRowsThatProcessesShareAreRunByName) {
  Graph graph("rows");
  graph.Buckets("sum", Mode::kEval, std::vector<int64_t>{2, 4},
                [](Builder& b, int64_t rows) { b.Output("sum", Sum(Square(b.Input("x", F32, {rows, 2})))); });
  const Plan plan = PlanFor(graph);
  RunInWorld(kRanks, [&](World& world) {
    absl::StatusOr<Session> session = Session::Create(plan.Share(), {.threads = 1, .world = &world});
    ASSERT_TRUE(session.ok()) << session.status();
    const HostTensor x = *HostTensor::FromVector<float>({1, 2}, {1, 2});
    absl::StatusOr<Outputs> out = session->Run("sum@2", {{"x", x}});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ(*out->Scalar("sum"), 10);
    const absl::Status status = session->Run("sum", {{"x", x}}).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented) << status;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("the buckets of \"sum\" have different rows of input \"x\", of which each process "
                          "reads its own: run one by its own name, such as \"sum@2\""));
  });
}

}  // namespace
}  // namespace sinter
