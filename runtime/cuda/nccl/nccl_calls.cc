#include "sinter/runtime/cuda/nccl/nccl_calls.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

bool Adds(const CollectiveLayout& collective) {
  return collective.traits().combines &&
         (collective.combine == fb::ReduceOp::Sum || collective.combine == fb::ReduceOp::Mean);
}

absl::StatusOr<ncclDataType_t> TypeOf(const CollectiveLayout& collective) {
  switch (collective.dtype) {
    case DType::kF64:
      return ncclFloat64;
    case DType::kF32:
      return ncclFloat32;
    case DType::kBf16:
      return ncclBfloat16;
    case DType::kF16:
      return ncclFloat16;
    case DType::kI64:
      return ncclInt64;
    case DType::kI32:
      return ncclInt32;
    case DType::kI8:
      return ncclInt8;
    case DType::kU8:
      return ncclUint8;
    case DType::kU32:
      return ncclUint32;
    case DType::kU64:
      return ncclUint64;
    case DType::kI1:
      if (!Adds(collective)) return ncclUint8;
      break;
    // NCCL moves any bits of the size, and combines none of these types.
    case DType::kI16:
    case DType::kU16:
      if (!collective.traits().combines) return ncclFloat16;
      break;
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      if (!collective.traits().combines) return ncclUint8;
      break;
  }
  if (!Adds(collective)) {
    return absl::UnimplementedError(absl::StrCat("NCCL does not combine elements of ",
                                                 std::string(DTypeName(collective.dtype)),
                                                 ": convert them to i32 first"));
  }
  return absl::UnimplementedError(absl::StrCat("NCCL does not add elements of ",
                                               std::string(DTypeName(collective.dtype)),
                                               ": convert them to i32 first, or combine them with max"));
}

ncclRedOp_t CombineOf(fb::ReduceOp combine) {
  switch (combine) {
    case fb::ReduceOp::Sum:
      return ncclSum;
    case fb::ReduceOp::Mean:
      return ncclAvg;
    case fb::ReduceOp::Max:
      return ncclMax;
    case fb::ReduceOp::Min:
      return ncclMin;
  }
  return ncclSum;
}

class Maker {
 public:
  Maker(const CollectiveLayout& collective, uint32_t rank, int first_output)
      : collective_(collective),
        rank_(static_cast<int>(rank)),
        size_(static_cast<int>(collective.size())),
        root_(static_cast<int>(collective.root)),
        element_(static_cast<size_t>(SizeOf(collective.dtype))),
        first_output_(first_output) {}

  std::vector<NcclCall> Make() && {
    switch (collective_.kind) {
      case fb::CollectiveKind::AllReduce:
        ForEachTensor([&](int i, size_t count) { Add(Kind::kAllReduce, In(i), Out(i), count); });
        break;
      case fb::CollectiveKind::Reduce:
        ForEachTensor([&](int i, size_t count) {
          Add(Kind::kReduce, In(i), rank_ == root_ ? Out(i) : Place(), count, root_);
        });
        break;
      case fb::CollectiveKind::Broadcast:
        ForEachTensor([&](int i, size_t count) {
          Add(Kind::kBroadcast, rank_ == root_ ? In(i) : Place(), Out(i), count, root_);
        });
        break;
      case fb::CollectiveKind::AllGather:
        Gather();
        break;
      case fb::CollectiveKind::ReduceScatter:
        Scatter();
        break;
      default:
        SendAndReceive();
        break;
    }
    return std::move(calls_);
  }

 private:
  using Kind = NcclCall::Kind;
  using Place = NcclCall::Place;

  Place In(int tensor, size_t offset = 0) const { return {tensor, offset}; }
  Place Out(int tensor, size_t offset = 0) const { return {first_output_ + tensor, offset}; }
  size_t Count(int i) const {
    const std::vector<int64_t>& starts = collective_.starts;
    return static_cast<size_t>(starts[static_cast<size_t>(i) + 1] - starts[static_cast<size_t>(i)]);
  }
  // Offset in bytes of a part.
  size_t Before(int part) const {
    return static_cast<size_t>(collective_.starts[static_cast<size_t>(part)]) * element_;
  }
  template <typename F>
  void ForEachTensor(F&& f) const {
    for (int i = 0; i + 1 < static_cast<int>(collective_.starts.size()); ++i) f(i, Count(i));
  }
  bool HasEqualParts() const {
    for (int i = 1; i < size_; ++i) {
      if (Count(i) != Count(0)) return false;
    }
    return true;
  }
  void Add(Kind kind, Place from, Place to, size_t count, int peer = 0) {
    if (count > 0) calls_.push_back({kind, from, to, count, peer});
  }

  void Gather() {
    if (HasEqualParts()) return Add(Kind::kAllGather, In(0), Out(0), Count(0));
    for (int part = 0; part < size_; ++part) {
      Add(Kind::kBroadcast, part == rank_ ? In(0) : Place(), Out(0, Before(part)), Count(part), part);
    }
  }
  void Scatter() {
    if (HasEqualParts()) return Add(Kind::kReduceScatter, In(0), Out(0), Count(0));
    for (int part = 0; part < size_; ++part) {
      Add(Kind::kReduce, In(0, Before(part)), part == rank_ ? Out(0) : Place(), Count(part), part);
    }
  }
  // By peer; for each peer the sends before the receives.
  void SendAndReceive() {
    const auto is_this = [&](uint32_t rank) { return static_cast<int>(rank) == rank_; };
    const std::vector<CollectiveMove> moves = collective_.traits().moves(collective_, is_this);
    for (const Kind kind : {Kind::kSend, Kind::kRecv}) {
      for (const CollectiveMove& move : moves) {
        const int from = static_cast<int>(move.from), to = static_cast<int>(move.to);
        const int tensor = static_cast<int>(move.tensor);
        const size_t count = static_cast<size_t>(move.count);
        if (kind == Kind::kSend && from == rank_) {
          Add(kind, In(tensor, static_cast<size_t>(move.source) * element_), Place(), count, to);
        }
        if (kind == Kind::kRecv && to == rank_) {
          Add(kind, Place(), Out(tensor, static_cast<size_t>(move.target) * element_), count, from);
        }
      }
    }
    std::ranges::stable_sort(calls_, {}, &NcclCall::peer);
  }

  const CollectiveLayout& collective_;
  const int rank_, size_, root_;
  const size_t element_;
  const int first_output_;
  std::vector<NcclCall> calls_;
};

}  // namespace

absl::StatusOr<NcclTypes> NcclTypesOf(const CollectiveLayout& collective) {
  SINTER_ASSIGN_OR_RETURN(const ncclDataType_t dtype, TypeOf(collective));
  return NcclTypes{dtype, CombineOf(collective.combine)};
}

std::vector<NcclCall> NcclCallsOf(const CollectiveLayout& collective, uint32_t rank, int first_output) {
  return Maker(collective, rank, first_output).Make();
}

}  // namespace sinter
