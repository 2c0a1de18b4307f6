#include "sinter/runtime/cuda/nccl/nccl_calls.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/cuda/driver/nccl_library.h"
#include "sinter/runtime/host/library_loader.h"

namespace sinter {

void PrintTo(const NcclCall& call, std::ostream* os) {
  *os << "kind " << static_cast<int>(call.kind) << " from " << call.from.buffer << "+" << call.from.offset
      << " to " << call.to.buffer << "+" << call.to.offset << " x " << call.count << " peer " << call.peer;
}

namespace {

using fb::CollectiveKind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = NcclCall::Kind;
using Place = NcclCall::Place;

constexpr Place kNowhere = {};

// Returns a collective of three members. `starts` are the starts of tensors, or of parts.
CollectiveLayout Make(CollectiveKind kind, std::vector<int64_t> starts, DType dtype = DType::kF32) {
  return {.kind = kind,
          .combine = fb::ReduceOp::Sum,
          .dtype = dtype,
          .channel = 0,
          .group = {0, 1, 2},
          .root = 1,
          .starts = std::move(starts)};
}

TEST(NcclCallsTest, AllReduceIsOneCallATensor) {
  const CollectiveLayout c = Make(CollectiveKind::AllReduce, {0, 10, 10, 17});
  EXPECT_THAT(NcclCallsOf(c, 2, 3),
              ElementsAre(NcclCall{Kind::kAllReduce, {0}, {3}, 10}, NcclCall{Kind::kAllReduce, {2}, {5}, 7}));
  // Flat tensors count as one, whatever the number of operands.
  EXPECT_THAT(NcclCallsOf(Make(CollectiveKind::AllReduce, {0, 48}), 0, 3),
              ElementsAre(NcclCall{Kind::kAllReduce, {0}, {3}, 48}));
  EXPECT_THAT(NcclCallsOf(Make(CollectiveKind::AllReduce, {0, 0}), 0, 1), IsEmpty());
}

TEST(NcclCallsTest, OnlyTheRootHasResultsOfAReduction) {
  const CollectiveLayout c = Make(CollectiveKind::Reduce, {0, 4, 9});
  EXPECT_THAT(NcclCallsOf(c, 1, 2),
              ElementsAre(NcclCall{Kind::kReduce, {0}, {2}, 4, 1}, NcclCall{Kind::kReduce, {1}, {3}, 5, 1}));
  EXPECT_THAT(NcclCallsOf(c, 0, 2), ElementsAre(NcclCall{Kind::kReduce, {0}, kNowhere, 4, 1},
                                                NcclCall{Kind::kReduce, {1}, kNowhere, 5, 1}));
}

TEST(NcclCallsTest, OnlyTheRootHasInputsOfABroadcast) {
  const CollectiveLayout c = Make(CollectiveKind::Broadcast, {0, 4, 9});
  EXPECT_THAT(NcclCallsOf(c, 1, 2), ElementsAre(NcclCall{Kind::kBroadcast, {0}, {2}, 4, 1},
                                                NcclCall{Kind::kBroadcast, {1}, {3}, 5, 1}));
  EXPECT_THAT(NcclCallsOf(c, 2, 0), ElementsAre(NcclCall{Kind::kBroadcast, kNowhere, {0}, 4, 1},
                                                NcclCall{Kind::kBroadcast, kNowhere, {1}, 5, 1}));
}

TEST(NcclCallsTest, GathersEqualPartsAtOnceAndOthersOneByOne) {
  EXPECT_THAT(NcclCallsOf(Make(CollectiveKind::AllGather, {0, 4, 8, 12}), 2, 1),
              ElementsAre(NcclCall{Kind::kAllGather, {0}, {1}, 4}));
  EXPECT_THAT(NcclCallsOf(Make(CollectiveKind::AllGather, {0, 4, 4, 9}), 2, 1),
              ElementsAre(NcclCall{Kind::kBroadcast, kNowhere, {1, 0}, 4, 0},
                          NcclCall{Kind::kBroadcast, {0}, {1, 16}, 5, 2}));
}

TEST(NcclCallsTest, ScattersEqualPartsAtOnceAndOthersOneByOne) {
  EXPECT_THAT(NcclCallsOf(Make(CollectiveKind::ReduceScatter, {0, 4, 8, 12}), 0, 1),
              ElementsAre(NcclCall{Kind::kReduceScatter, {0}, {1}, 4}));
  EXPECT_THAT(
      NcclCallsOf(Make(CollectiveKind::ReduceScatter, {0, 4, 6, 9}, DType::kBf16), 1, 1),
      ElementsAre(NcclCall{Kind::kReduce, {0, 0}, kNowhere, 4, 0}, NcclCall{Kind::kReduce, {0, 8}, {1}, 2, 1},
                  NcclCall{Kind::kReduce, {0, 12}, kNowhere, 3, 2}));
}

TEST(NcclCallsTest, SendsAndReceives) {
  EXPECT_THAT(
      NcclCallsOf(Make(CollectiveKind::AllToAll, {0, 6}, DType::kF64), 1, 1),
      ElementsAre(
          NcclCall{Kind::kSend, {0, 0}, kNowhere, 2, 0}, NcclCall{Kind::kRecv, kNowhere, {1, 0}, 2, 0},
          NcclCall{Kind::kSend, {0, 16}, kNowhere, 2, 1}, NcclCall{Kind::kRecv, kNowhere, {1, 16}, 2, 1},
          NcclCall{Kind::kSend, {0, 32}, kNowhere, 2, 2}, NcclCall{Kind::kRecv, kNowhere, {1, 32}, 2, 2}));
  const CollectiveLayout c = Make(CollectiveKind::SendRecv, {0, 7});
  EXPECT_THAT(NcclCallsOf(c, 0, 1), ElementsAre(NcclCall{Kind::kSend, {0}, kNowhere, 7, 1}));
  EXPECT_THAT(NcclCallsOf(c, 1, 0), ElementsAre(NcclCall{Kind::kRecv, kNowhere, {0}, 7, 0}));
  EXPECT_THAT(
      NcclCallsOf(Make(CollectiveKind::RingShift, {0, 5}), 2, 1),
      ElementsAre(NcclCall{Kind::kSend, {0}, kNowhere, 5, 0}, NcclCall{Kind::kRecv, kNowhere, {1}, 5, 1}));
}

TEST(NcclCallsTest, HasAllElementTypesAndCombinations) {
  const std::pair<DType, ncclDataType_t> types[] = {{DType::kF64, ncclFloat64},   {DType::kF32, ncclFloat32},
                                                    {DType::kBf16, ncclBfloat16}, {DType::kF16, ncclFloat16},
                                                    {DType::kI64, ncclInt64},     {DType::kI32, ncclInt32},
                                                    {DType::kI8, ncclInt8},       {DType::kU8, ncclUint8},
                                                    {DType::kU32, ncclUint32},    {DType::kU64, ncclUint64}};
  for (const auto& [dtype, want] : types) {
    EXPECT_EQ(NcclTypesOf(Make(CollectiveKind::AllReduce, {0, 1}, dtype))->dtype, want);
  }
  const std::pair<fb::ReduceOp, ncclRedOp_t> combinations[] = {{fb::ReduceOp::Sum, ncclSum},
                                                               {fb::ReduceOp::Mean, ncclAvg},
                                                               {fb::ReduceOp::Max, ncclMax},
                                                               {fb::ReduceOp::Min, ncclMin}};
  for (const auto& [combine, want] : combinations) {
    CollectiveLayout c = Make(CollectiveKind::AllReduce, {0, 1});
    c.combine = combine;
    EXPECT_EQ(NcclTypesOf(c)->combine, want);
  }
}

// NCCL has no 16-bit integers and no 8-bit floats: it moves their bits.
TEST(NcclCallsTest, OtherTypesAreMovedAsBits) {
  for (const DType dtype : {DType::kI16, DType::kU16}) {
    EXPECT_EQ(NcclTypesOf(Make(CollectiveKind::AllToAll, {0, 3}, dtype))->dtype, ncclFloat16);
    CollectiveLayout c = Make(CollectiveKind::AllReduce, {0, 3}, dtype);
    EXPECT_THAT(std::string(NcclTypesOf(c).status().message()),
                testing::HasSubstr("convert them to i32 first"));
    c.combine = fb::ReduceOp::Max;
    EXPECT_THAT(std::string(NcclTypesOf(c).status().message()),
                testing::HasSubstr("NCCL does not combine elements of"));
  }
  for (const DType dtype : {DType::kF8E4M3, DType::kF8E5M2}) {
    EXPECT_EQ(NcclTypesOf(Make(CollectiveKind::RingShift, {0, 3}, dtype))->dtype, ncclUint8);
  }
}

// Truth values have one byte each. NCCL can move and compare these bytes but not add them.
TEST(NcclCallsTest, TruthValuesAreBytes) {
  EXPECT_EQ(NcclTypesOf(Make(CollectiveKind::AllToAll, {0, 3}, DType::kI1))->dtype, ncclUint8);
  CollectiveLayout c = Make(CollectiveKind::AllReduce, {0, 3}, DType::kI1);
  const absl::Status status = NcclTypesOf(c).status();
  EXPECT_TRUE(absl::IsUnimplemented(status));
  EXPECT_EQ(status.message(),
            "NCCL does not add elements of i1: convert them to i32 first, or combine them with max");
  c.combine = fb::ReduceOp::Max;
  EXPECT_EQ(NcclTypesOf(c)->dtype, ncclUint8);
}

TEST(NcclLibraryTest, IsOpenedOrSaysWhatToInstall) {
  const absl::StatusOr<const Nccl*> nccl = LoadNccl();
  if (nccl.ok()) {
    int version = 0;
    EXPECT_TRUE((*nccl)->Check((*nccl)->GetVersion(&version), "say its version").ok());
    EXPECT_GE(version, NCCL_VERSION(2, 19, 0));
    return;
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(nccl.status()));
  const std::string message(nccl.status().message());
  EXPECT_THAT(message, HasSubstr("NCCL is needed and was not found: looked for libnccl.so.2 ("));
  EXPECT_THAT(message, HasSubstr("Install the CUDA toolkit 13 or the package nvidia-nccl-cu13 of PyPI"));
}

TEST(NcclStatusTest, ConvertsCodes) {
  EXPECT_TRUE(NcclStatus(ncclSuccess, "do it").ok());
  const absl::Status remote = NcclStatus(ncclRemoteError, "exchange", "peer closed the connection");
  EXPECT_TRUE(absl::IsUnavailable(remote));
  EXPECT_EQ(
      remote.message(),
      "NCCL could not exchange: a remote error (status 6), peer closed the connection: another rank has "
      "failed or ended");
  EXPECT_TRUE(absl::IsUnavailable(NcclStatus(ncclSystemError, "do it")));
  EXPECT_TRUE(absl::IsFailedPrecondition(NcclStatus(ncclInvalidUsage, "do it")));
  const absl::Status internal = NcclStatus(ncclInternalError, "do it");
  EXPECT_TRUE(absl::IsInternal(internal));
  EXPECT_THAT(std::string(internal.message()), HasSubstr("NCCL_DEBUG=WARN"));
  EXPECT_TRUE(absl::IsInternal(NcclStatus(ncclUnhandledCudaError, "do it")));
  EXPECT_TRUE(absl::IsInternal(NcclStatus(ncclInvalidArgument, "do it")));
}

}  // namespace
}  // namespace sinter
