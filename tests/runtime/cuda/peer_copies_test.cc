// Exchanges of GPUs that write into each other's memory.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/kernels/cuda/exchange/exchange_kernel.h"
#include "sinter/runtime/cuda/driver/cuda_devices.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/tests/runtime/collective_plans.h"
#include "sinter/tests/runtime/cuda/driver_faults.h"
#include "sinter/tests/runtime/cuda/driver_plans.h"
#include "sinter/tests/runtime/cuda/software/software_gpu.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// NCCL in software knows none of these kinds.
class PeerCopiesTest : public DriverFaultsTest {
 protected:
  void SetUp() override {
    if (NumCudaDevices() < 2) GTEST_SKIP() << "there is one GPU";
  }

  static CollectiveCase CaseOf(fb::CollectiveKind kind, int64_t size) {
    const bool has_two = kind == fb::CollectiveKind::AllGather || TraitsOf(kind).has_list;
    const size_t tensors = has_two ? 2 : 1;
    return {.kind = kind, .sizes = std::vector<int64_t>(tensors, size), .device_kind = DeviceKind::kGpu};
  }
  static absl::StatusOr<Session> MakeSession(const CollectiveCase& c,
                                             std::optional<std::chrono::milliseconds> patience = {}) {
    return MakeDriverSession(CollectivePlan(c), {}, patience);
  }
};

constexpr int64_t kPeerElements = int64_t{1} << 16;

TEST_F(PeerCopiesTest, MoveWhatEachKindMoves) {
  using Kind = fb::CollectiveKind;
  for (const Kind kind :
       {Kind::AllGather, Kind::AllToAll, Kind::RingShift, Kind::Broadcast, Kind::SendRecv}) {
    for (const bool is_in_place : {false, true}) {
      if (is_in_place && kind != Kind::AllGather && kind != Kind::Broadcast) continue;
      for (const bool is_reversed : {false, true}) {
        // One block, several, and the copy engines.
        for (const int64_t elements : {int64_t{14}, kPeerElements, int64_t{1} << 20}) {
          if (is_reversed && elements > kPeerElements) continue;  // Copies in software take long.
          CollectiveCase c = CaseOf(kind, elements);
          c.is_in_place = is_in_place;
          c.is_flat = is_reversed && TraitsOf(kind).has_list;
          c.is_reversed = is_reversed;
          SCOPED_TRACE(c.Name());
          absl::StatusOr<Session> session = MakeSession(c);
          ASSERT_TRUE(session.ok()) << session.status();
          // In single steps, in the capture, and in launches of it.
          for (uint32_t run = 0; run < 4; ++run) ExpectCollective(*session, c, run);
        }
      }
    }
  }
  CollectiveCase uneven = CaseOf(Kind::AllGather, kPeerElements);
  uneven.sizes[1] = 3;
  // More small tensors than one kernel takes, beside one for a copy engine.
  CollectiveCase many = CaseOf(Kind::RingShift, kPeerElements);
  many.sizes.assign(2 * kernels::kMostExchangeMoves + 9, 7);
  many.sizes.push_back(int64_t{1} << 20);
  for (const CollectiveCase& c : {uneven, many}) {
    absl::StatusOr<Session> session = MakeSession(c);
    ASSERT_TRUE(session.ok()) << session.status();
    for (uint32_t run = 0; run < 4; ++run) ExpectCollective(*session, c, run);
  }
}

// Small sums and means, by the kernel that reads the terms of the others.
TEST_F(PeerCopiesTest, AddTensors) {
  using Kind = fb::CollectiveKind;
  std::vector<DType> types = {DType::kF32};
  if (!UsesSoftwareGpu()) types.insert(types.end(), {DType::kBf16, DType::kF16});
  // Real GPUs take a second for each session.
  int number = 0;
  for (const DType dtype : types) {
    for (const Kind kind : {Kind::AllReduce, Kind::ReduceScatter}) {
      // One element, units of 16 bytes, a remainder, and several rounds.
      std::vector<int64_t> sizes = {1, 1 << 12, 4099, 1 << 17, (1 << 17) - 1};
      if (kind == Kind::ReduceScatter) sizes.push_back(1 << 20);
      for (const int64_t size : sizes) {
        CollectiveCase c = CaseOf(kind, size);
        c.combine = number % 2 == 0 ? fb::ReduceOp::Sum : fb::ReduceOp::Mean;
        c.dtype = dtype;
        c.is_in_place = c.is_reversed = number++ % 3 == 0;
        if (kind == Kind::ReduceScatter) c.sizes = {size, size < 1 << 20 ? size / 2 + 1 : size / 2};
        SCOPED_TRACE(c.Name());
        absl::StatusOr<Session> session = MakeSession(c);
        ASSERT_TRUE(session.ok()) << session.status();
        for (uint32_t run = 0; run < 4; ++run) ExpectCollective(*session, c, run);
      }
    }
  }
}

// Sums that all need whole, too large for each GPU to read all terms: each adds a share.
TEST_F(PeerCopiesTest, AddInShares) {
  constexpr int64_t kLarge = 300'001;
  std::vector<CollectiveCase> cases;
  const auto add = [&](std::vector<int64_t> sizes, DType dtype = DType::kF32) {
    CollectiveCase c = CaseOf(fb::CollectiveKind::AllReduce, 1);
    c.combine = cases.size() % 2 == 0 ? fb::ReduceOp::Sum : fb::ReduceOp::Mean;
    c.dtype = dtype;
    c.members = static_cast<uint32_t>(std::min(cases.size() % 3 + 2, size_t{4}));
    if (static_cast<int>(c.members) > NumCudaDevices()) c.members = 2;
    c.sizes = std::move(sizes);
    c.is_in_place = cases.size() % 4 < 2;
    c.is_reversed = cases.size() % 3 == 0;
    cases.push_back(std::move(c));
  };
  add({kLarge});
  add({5, kLarge, 1, 0, 1 << 18, 3});
  add(std::vector<int64_t>(kernels::kMostShared + 3, 7));  // Two kernels.
  add({2 * kPeerElements, kLarge, 8});
  add({(1 << 20) - 78, 77});  // The largest.
  add({(1 << 20) - 4});
  if (!UsesSoftwareGpu()) {
    for (const DType dtype : {DType::kBf16, DType::kF16}) {
      add({1, kLarge, 3, 2 * kLarge}, dtype);
      add({2 << 20}, dtype);
    }
  }
  for (const CollectiveCase& c : cases) {
    SCOPED_TRACE(c.Name());
    absl::StatusOr<Session> session = MakeSession(c);
    ASSERT_TRUE(session.ok()) << session.status();
    EXPECT_GT(session->memory(Device::Gpu(0)).exchange_workspace, 0);
    EXPECT_EQ(session->memory(Device::Gpu(0)).used, session->memory(Device::Gpu(0)).predicted);
    for (uint32_t run = 0; run < 4; ++run) ExpectCollective(*session, c, run);
  }
}

TEST_F(PeerCopiesTest, EveryCallFailsOnce) {
  if (!UsesSoftwareGpu()) GTEST_SKIP() << "to connect real GPUs takes a second";
  for (const fb::CollectiveKind kind : {fb::CollectiveKind::AllGather, fb::CollectiveKind::AllReduce}) {
    CollectiveCase c = CaseOf(kind, kPeerElements);
    // A sum in shares.
    if (kind == fb::CollectiveKind::AllReduce) c.sizes.assign(kernels::kMostSums + 1, 7);
    const std::map<std::string, HostTensor> inputs = CollectiveInputs(c, 1);
    const int calls = FailEach([&](absl::Status*) -> absl::StatusOr<std::string> {
      SINTER_ASSIGN_OR_RETURN(Session session, MakeSession(c));
      std::string bits;
      for (int run = 0; run < 3; ++run) {
        std::vector<Argument> arguments;
        for (const auto& [name, value] : inputs) arguments.push_back({name, value});
        SINTER_ASSIGN_OR_RETURN(const Outputs outputs, session.Run("f", arguments));
        for (const char* const name : {"y0_0", "y1_0"}) {
          SINTER_ASSIGN_OR_RETURN(const HostTensor* const value, outputs.Get(name));
          bits += BytesOf(*value);
        }
      }
      return bits;
    });
    EXPECT_GE(calls, 100);
  }
}

TEST_F(PeerCopiesTest, AMemberThatNeverComesIsNamed) {
  if (!UsesSoftwareGpu()) GTEST_SKIP() << "real GPUs cannot be made to stay away";
  for (const fb::CollectiveKind kind : {fb::CollectiveKind::AllGather, fb::CollectiveKind::AllReduce}) {
    CollectiveCase c = CaseOf(kind, kPeerElements);
    if (kind == fb::CollectiveKind::AllReduce) c.sizes = {5 * kPeerElements};
    for (const uint32_t runs_before : {0, 3}) {
      SCOPED_TRACE(absl::StrCat(c.Name(), ", ", runs_before, " runs before"));
      absl::StatusOr<Session> session = MakeSession(c, std::chrono::milliseconds(1000));
      ASSERT_TRUE(session.ok()) << session.status();
      for (uint32_t run = 0; run < runs_before; ++run) ExpectCollective(*session, c, run);
      std::vector<Argument> arguments;
      const std::map<std::string, HostTensor> inputs = CollectiveInputs(c, 1);
      for (const auto& [name, value] : inputs) arguments.push_back({name, value});
      const auto start = std::chrono::steady_clock::now();
      software::TheMachine().absent = 1;
      absl::Status status = session->Run("f", arguments).status();
      status.Update(session->Synchronize());
      software::TheMachine().absent = -1;
      EXPECT_TRUE(absl::IsUnavailable(status)) << status;
      EXPECT_THAT(std::string(status.message()),
                  AllOf(HasSubstr(absl::StrCat(std::string(CollectiveName(kind)),
                                               ", rank 0 of 2 (gpu:0, gpu:1), function \"f\", step ")),
                        HasSubstr(" has not ended for 1000 ms: another member")));
      EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
      status = session->Run("f", arguments).status();
      status.Update(session->Synchronize());
      EXPECT_FALSE(status.ok()) << "a later run";
    }
  }
}

}  // namespace
}  // namespace sinter
