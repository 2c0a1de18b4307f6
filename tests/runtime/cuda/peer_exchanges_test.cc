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

// GPUs compile this text when a session is made.
TEST(PeerExchangesTest, ThePtxHasBothKernels) {
  const std::string ptx = kernels::ExchangePtx();
  for (const char* const name : {kernels::kExchangeKernel, kernels::kSumKernel}) {
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
