// One plan on four devices trains to the same bits in one, two and four processes.
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

constexpr int64_t kProcessRows = 14, kProcessClasses = 4;
constexpr int kDevices = 4, kProcessSteps = 4;

Graph BuildForProcesses() {
  Graph graph("net", {.seed = 3});
  nn::Module model = nn::Sequential{
      nn::Conv2d(4, 3),           nn::BatchNorm(), nn::Relu(), nn::Flatten(), nn::Linear(8), nn::Tanh(),
      nn::Linear(kProcessClasses)};
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {kProcessRows, 1, 6, 6}), y = b.Input("y", I32, {kProcessRows});
    Tensor loss = SoftmaxCrossEntropy(model(x), y);
    optim::Adam{.learning_rate = b.Scalar("lr")}.Minimize(loss);
    b.Output("loss", loss);
  });
  graph.Function("eval", Mode::kEval,
                 [&](Builder& b) { b.Output("logits", model(b.Input("x", F32, {kProcessRows, 1, 6, 6}))); });
  return graph;
}

// A range of rows of the batch.
struct Rows {
  int64_t begin = 0, end = kProcessRows;
};

HostTensor Images(Rows rows) {
  std::vector<float> x;
  for (int64_t i = rows.begin * 36; i < rows.end * 36; ++i) {
    x.push_back(std::sin(static_cast<float>(i * i % 101)));
  }
  return *HostTensor::FromVector<float>({rows.end - rows.begin, 1, 6, 6}, x);
}
HostTensor Labels(Rows rows) {
  std::vector<int32_t> y;
  for (int64_t i = rows.begin; i < rows.end; ++i)
    y.push_back(static_cast<int32_t>(i * 7 % 5 % kProcessClasses));
  return *HostTensor::FromVector<int32_t>({rows.end - rows.begin}, y);
}

// Returns the rows that the devices of one process read. The larger parts come first.
Rows RowsOf(int process, int processes) {
  const auto begin_of = [](int64_t device) {
    return device * (kProcessRows / kDevices) + std::min(device, kProcessRows % kDevices);
  };
  return {begin_of(process * kDevices / processes), begin_of((process + 1) * kDevices / processes)};
}

// Returns the bits of all variables and outputs that a process can read after training.
std::string BitsOf(Session& session, const HostTensor& x) {
  std::string bits;
  const auto add = [&bits](const HostTensor& tensor) {
    bits.append(static_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.num_bytes()));
  };
  for (const VariableInfo& variable : session.variables()) {
    absl::StatusOr<HostTensor> value = session.ReadVariable(variable.name);
    if (value.ok()) add(*value);
  }
  absl::StatusOr<Outputs> out = session.Run("eval", {{"x", x}});
  EXPECT_TRUE(out.ok()) << out.status();
  if (out.ok()) add((*out)["logits"]);
  return bits;
}

// Trains and returns the bits of the first process. Each process passes the whole batch, or only its own
// rows.
std::string Train(const Plan& plan, int processes, bool gives_rows = false) {
  std::string bits;
  RunInWorld(processes, [&](World& world) {
    absl::StatusOr<Session> session = Session::Create(plan.Share(), {.threads = 1, .world = &world});
    ASSERT_TRUE(session.ok()) << session.status();
    const Rows rows = gives_rows ? RowsOf(world.rank(), processes) : Rows{};
    const HostTensor x = Images(rows), y = Labels(rows);
    for (int step = 0; step < kProcessSteps; ++step) {
      absl::StatusOr<Outputs> out = session->Run("train", {{"x", x}, {"y", y}, {"lr", 0.05}});
      ASSERT_TRUE(out.ok()) << out.status();
      ASSERT_TRUE(out->Get("loss").ok());
    }
    std::string own = BitsOf(*session, x);
    if (world.rank() == 0) bits = std::move(own);
  });
  return bits;
}

class DataParallelProcessesTest : public ::testing::Test {
 protected:
  void SetUp() override { setenv("SINTER_CPU_DEVICES", "4", 1); }
  void TearDown() override { unsetenv("SINTER_CPU_DEVICES"); }
};

TEST_F(DataParallelProcessesTest, SameBitsInOneTwoAndFour) {
  DataParallel parallel{.batch_norm = BatchStatistics::kSynchronized, .even = false};
  for (int d = 0; d < kDevices; ++d) parallel.devices.push_back(Device::Cpu(d));
  absl::StatusOr<Plan> plan = Compile(BuildForProcesses(), {.data_parallel = parallel});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::string alone = Train(*plan, 1);
  EXPECT_GT(alone.size(), 1000u);
  for (const int processes : {2, 4}) EXPECT_TRUE(Train(*plan, processes) == alone) << processes;
}

// For any reader of the input: kernels, library calls with another image layout, and the gradients of both.
TEST_F(DataParallelProcessesTest, ARankMayGiveItsRowsAlone) {
  DataParallel parallel{.batch_norm = BatchStatistics::kSynchronized, .even = false};
  for (int d = 0; d < kDevices; ++d) parallel.devices.push_back(Device::Cpu(d));
  absl::StatusOr<Plan> plan = Compile(BuildForProcesses(), {.data_parallel = parallel});
  ASSERT_TRUE(plan.ok()) << plan.status();
  const std::string alone = Train(*plan, 1);
  for (const int processes : {2, 4}) {
    EXPECT_TRUE(Train(*plan, processes, /*gives_rows=*/true) == alone) << processes;
  }
}

// Three rows on four devices: the last rank has no rows.
TEST_F(DataParallelProcessesTest, ARankWithoutRowsGivesNone) {
  Graph graph("sum");
  graph.Function("f", Mode::kTrain,
                 [](Builder& b) { b.Output("sum", Sum(Square(b.Input("x", F32, {3, 2})))); });
  DataParallel parallel{.even = false};
  for (int d = 0; d < kDevices; ++d) parallel.devices.push_back(Device::Cpu(d));
  absl::StatusOr<Plan> plan = Compile(graph, {.data_parallel = parallel});
  ASSERT_TRUE(plan.ok()) << plan.status();
  RunInWorld(kDevices, [&](World& world) {
    absl::StatusOr<Session> session = Session::Create(plan->Share(), {.threads = 1, .world = &world});
    ASSERT_TRUE(session.ok()) << session.status();
    const int64_t rows = world.rank() < 3 ? 1 : 0;
    const std::vector<float> values(static_cast<size_t>(2 * rows), static_cast<float>(world.rank() + 1));
    auto out = session->Run("f", {{"x", *HostTensor::FromVector<float>({rows, 2}, values)}});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ(*out->Scalar("sum"), 2 * (1 + 4 + 9));
  });
}

}  // namespace
}  // namespace sinter
