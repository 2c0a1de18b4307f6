// Meetings of the GPUs of a process. driver_faults_test.cc tests their exchanges.
#include "sinter/runtime/cuda/peer/peer_exchanges.h"

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/cuda/driver/cuda_devices.h"
#include "sinter/runtime/cuda/driver/cuda_handles.h"
#include "sinter/runtime/cuda/driver/graph_priorities.h"

namespace sinter {
namespace {

// A thread that stays away, and one that gives up, keep no other waiting.
TEST(PeerExchangesTest, MeetingsEnd) {
  if (NumCudaDevices() < 2) GTEST_SKIP() << "there is one GPU";
  const std::vector<PlanGpu> gpus = {{.device = 0, .gpu = 0}, {.device = 1, .gpu = 1}};
  const std::shared_ptr<PeerExchanges> peers = PeerExchanges::Create(gpus).value();
  ASSERT_NE(peers, nullptr);
  EXPECT_TRUE(peers->Has({1, 0}));
  EXPECT_FALSE(peers->Has({0, 2}));
  EXPECT_EQ(PeerExchanges::Create({gpus[0]}).value(), nullptr);
  const auto meet = [&](uint32_t step, std::chrono::milliseconds patience) {
    return peers->Meet({0, step, 0}, 0, 2, {}, patience);
  };
  EXPECT_EQ(meet(1, std::chrono::milliseconds(20)).value(), nullptr);
  absl::Status waited;
  std::thread waiting([&] { waited = meet(2, std::chrono::milliseconds(0)).status(); });
  const absl::Status reason = absl::AbortedError("rank 1 has ended");
  peers->Abort(reason);
  waiting.join();
  EXPECT_EQ(waited, reason);
  EXPECT_EQ(meet(3, std::chrono::milliseconds(0)).status(), reason);
}

// Captures two branches between a first and a last kernel: one of two kernels, and one of a single kernel, on
// an urgent stream or not. Returns the priorities that the kernels then have.
std::vector<int> PrioritiesWithABranchOn(const PeerExchanges& peers, bool is_urgent) {
  const CudaStream origin = MakeCudaStream().value(), side = MakeCudaStream(is_urgent).value();
  const CudaEvent forked = MakeCudaEvent().value(), joined = MakeCudaEvent().value();
  uint32_t* mark = nullptr;
  EXPECT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&mark), sizeof(uint32_t), cudaHostAllocDefault),
            cudaSuccess);
  EXPECT_EQ(cudaStreamBeginCapture(origin.get(), cudaStreamCaptureModeThreadLocal), cudaSuccess);
  const auto launch = [&](const CudaStream& stream) { EXPECT_TRUE(peers.SetMark(mark, stream.get()).ok()); };
  launch(origin);
  EXPECT_EQ(cudaEventRecord(forked.get(), origin.get()), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(side.get(), forked.get(), 0), cudaSuccess);
  launch(side);
  EXPECT_EQ(cudaEventRecord(joined.get(), side.get()), cudaSuccess);
  launch(origin);
  launch(origin);
  EXPECT_EQ(cudaStreamWaitEvent(origin.get(), joined.get(), 0), cudaSuccess);
  launch(origin);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(origin.get(), &graph), cudaSuccess);
  EXPECT_TRUE(SetGraphPriorities(graph).value());
  size_t count = 5;
  std::vector<cudaGraphNode_t> nodes(count);
  EXPECT_EQ(cudaGraphGetNodes(graph, nodes.data(), &count), cudaSuccess);
  std::vector<int> priorities;
  for (cudaGraphNode_t const node : nodes) {
    cudaLaunchAttributeValue value = {};
    EXPECT_EQ(cudaGraphKernelNodeGetAttribute(node, cudaLaunchAttributePriority, &value), cudaSuccess);
    priorities.push_back(value.priority);
  }
  EXPECT_EQ(cudaGraphDestroy(graph), cudaSuccess);
  EXPECT_EQ(cudaFreeHost(mark), cudaSuccess);
  return priorities;
}

// The GPU's scheduler gives a free multiprocessor to the most urgent kernel, and another GPU may wait for an
// exchange.
TEST(PeerExchangesTest, ExchangesStayTheMostUrgentKernelsOfACapture) {
  if (NumCudaDevices() < 2) GTEST_SKIP() << "there is one GPU";
  const auto peers = PeerExchanges::Create({{.device = 0, .gpu = 0}, {.device = 1, .gpu = 1}}).value();
  int lowest = 0, highest = 0;
  ASSERT_EQ(cudaDeviceGetStreamPriorityRange(&lowest, &highest), cudaSuccess);
  ASSERT_LT(highest, lowest);
  EXPECT_THAT(PrioritiesWithABranchOn(*peers, /*is_urgent=*/true), ::testing::Each(highest));
  EXPECT_THAT(PrioritiesWithABranchOn(*peers, /*is_urgent=*/false),
              ::testing::UnorderedElementsAre(highest, highest, highest, highest, highest + 1));
}

// GPUs compile this text when a session is made.
TEST(PeerExchangesTest, ThePtxHasAllKernels) {
  const std::string ptx = kernels::ExchangePtx();
  for (const char* const name : {kernels::kExchangeKernel, kernels::kSumKernel, kernels::kShareKernel}) {
    EXPECT_THAT(ptx, ::testing::HasSubstr(std::string(".entry ") + name + "("));
  }
  EXPECT_THAT(ptx, ::testing::HasSubstr(".target sm_80"));
}

// All members choose by the one that sends most.
TEST(PeerExchangesTest, WaysDependOnTheBytesOfAllMembers) {
  constexpr size_t kKibi = 1 << 10;
  const auto way = [](const std::vector<std::vector<size_t>>& sends) { return PeerExchanges::WayOf(sends); };
  EXPECT_EQ(way({{100}, {}}).blocks, 1u);
  EXPECT_FALSE(way({{100}, {}}).has_engines());
  EXPECT_EQ(way({{}, {64 * kKibi, 64 * kKibi}}).blocks, 4u);
  const auto few = way({{2048 * kKibi}, {1}});
  EXPECT_FALSE(few.has_engines());
  EXPECT_EQ(few.blocks, 8u);
  EXPECT_GT(few.least_of_engines, 2048 * kKibi);
  const auto many = way({{1}, {4096 * kKibi, 64 * kKibi}});
  EXPECT_TRUE(many.has_engines());
  EXPECT_EQ(many.blocks, 2u);
  EXPECT_GT(many.least_of_engines, 64 * kKibi);
  EXPECT_LT(many.least_of_engines, 4096 * kKibi);
}

}  // namespace
}  // namespace sinter
