#include "sinter/runtime/session/variable_gather.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/session/session_variables.h"
#include "sinter/runtime/tensor/tensor_box.h"
#include "sinter/runtime/world/world_agreement.h"

namespace sinter::internal_session {
namespace {

// Bytes of all processes' pieces together, and of one piece.
constexpr int64_t kRoundBytes = int64_t{32} << 20, kLeastPieceBytes = int64_t{64} << 10,
                  kMostPieceBytes = int64_t{4} << 20;
constexpr uint32_t kGatherTag = 4;

class Gathering {
 public:
  Gathering(const SessionVariables& variables, size_t index, World& world)
      : variables_(variables), index_(index), world_(world), owned_(static_cast<size_t>(world.size())) {
    const VariableInfo& info = variables.infos()[index];
    size_ = SizeOf(info.dtype);
    for (RankedPart& part : variables.PartsOfAllRanks(index)) {
      const int process = variables.ProcessOf(part.rank);
      if (process == world.rank()) own_ranks_.insert(part.rank);
      std::vector<TensorBox>& boxes = owned_[static_cast<size_t>(process)];
      if (std::ranges::find(boxes, part.box) == boxes.end()) boxes.push_back(std::move(part.box));
    }
    for (int p = 0; p < world.size(); ++p) longest_ = std::max(longest_, ElementsOf(p));
    most_ = std::clamp(kRoundBytes / world.size(), kLeastPieceBytes, kMostPieceBytes) / size_;
    most_ = std::min(most_, std::max<int64_t>(longest_, 1));
  }

  absl::Status Allocate() {
    const VariableInfo& info = variables_.infos()[index_];
    SINTER_ASSIGN_OR_RETURN(whole_, HostTensor::Empty(info.dtype, info.shape));
    SINTER_ASSIGN_OR_RETURN(pieces_, HostTensor::Empty(info.dtype, {world_.size(), most_}));
    if (!info.is_sum) return absl::OkStatus();
    std::memset(whole_.mutable_data(), 0, static_cast<size_t>(whole_.num_bytes()));
    SINTER_ASSIGN_OR_RETURN(term_, HostTensor::Empty(info.dtype, {most_}));
    return absl::OkStatus();
  }

  absl::StatusOr<HostTensor> Run(const World::Operation& operation) {
    for (int64_t begin = 0; begin < longest_; begin += most_) {
      // The others wait for this process also if its device fails: it says so at the end.
      if (own_.ok()) own_ = ReadOwn(begin);
      SINTER_RETURN_IF_ERROR(world_.Exchange(Transfers(begin), operation));
      for (int p = 0; p < world_.size(); ++p) {
        ForEachBox(p, begin, [&](const TensorBox& box, int64_t first, int64_t count, std::byte* piece) {
          const VariableInfo& info = variables_.infos()[index_];
          if (info.is_sum) {
            AddPart(box, first, count, piece, info.dtype, whole_.mutable_data());
          } else {
            PutPart(box, first, count, piece, size_, whole_.mutable_data());
          }
          return absl::OkStatus();
        }).IgnoreError();
      }
    }
    return std::move(whole_);
  }

  // The first error of this process's own devices.
  const absl::Status& own() const { return own_; }

 private:
  // Elements that the process sends in all.
  int64_t ElementsOf(int process) const {
    int64_t elements = 0;
    for (const TensorBox& box : owned_[static_cast<size_t>(process)]) elements += box.num_elements();
    return elements;
  }
  int64_t CountOf(int process, int64_t begin) const {
    return std::clamp<int64_t>(ElementsOf(process) - begin, 0, most_);
  }
  std::byte* PieceOf(int process) {
    return static_cast<std::byte*>(pieces_.mutable_data()) + process * most_ * size_;
  }

  // Calls f(box, first, count, piece) for the boxes of the process's elements [begin, begin + most_).
  template <typename F>
  absl::Status ForEachBox(int process, int64_t begin, F&& f) {
    std::byte* piece = PieceOf(process);
    int64_t left = CountOf(process, begin);
    for (const TensorBox& box : owned_[static_cast<size_t>(process)]) {
      const int64_t elements = box.num_elements();
      if (begin < elements && left > 0) {
        const int64_t count = std::min(elements - begin, left);
        SINTER_RETURN_IF_ERROR(f(box, begin, count, piece));
        piece += count * size_;
        left -= count;
      }
      begin = std::max<int64_t>(begin - elements, 0);
    }
    return absl::OkStatus();
  }

  // Reads the part of a box, or the sum of the terms that this process sends.
  absl::Status ReadOwn(int64_t begin) {
    return ForEachBox(
        world_.rank(), begin, [&](const TensorBox& box, int64_t first, int64_t count, std::byte* piece) {
          bool is_first = true;
          for (const SessionVariables::Part& part : variables_.PartsOf(index_)) {
            if (part.box != box || !own_ranks_.contains(part.rank)) continue;
            void* const to = is_first ? piece : term_.mutable_data();
            SINTER_RETURN_IF_ERROR(variables_.ReadPart(part, first, count, to));
            if (!is_first) {
              AddPart(TensorBox::Whole(count), 0, count, to, variables_.infos()[index_].dtype, piece);
            }
            is_first = false;
          }
          return absl::OkStatus();
        });
  }

  std::vector<World::Transfer> Transfers(int64_t begin) {
    std::vector<World::Transfer> transfers;
    const int own = world_.rank();
    for (int p = 0; p < world_.size(); ++p) {
      if (p == own) continue;
      const auto sent = static_cast<size_t>(CountOf(own, begin) * size_),
                 received = static_cast<size_t>(CountOf(p, begin) * size_);
      if (sent > 0) {
        transfers.push_back({.peer = p, .data = PieceOf(own), .bytes = sent, .is_send = true});
      }
      if (received > 0) transfers.push_back({.peer = p, .data = PieceOf(p), .bytes = received});
    }
    return transfers;
  }

  const SessionVariables& variables_;
  const size_t index_;
  World& world_;
  std::vector<std::vector<TensorBox>> owned_;  // By process: the parts that it sends.
  std::set<uint32_t> own_ranks_;               // The first ranks of what this process sends.
  int64_t longest_ = 0;                        // Elements of the process that sends most.
  int64_t size_, most_;                        // Bytes of an element; elements of a piece.
  HostTensor whole_, pieces_, term_;
  absl::Status own_;
};

}  // namespace

absl::StatusOr<HostTensor> GatherVariable(const SessionVariables& variables, size_t index, World& world,
                                          uint32_t session) {
  Gathering gathering(variables, index, world);
  absl::Status status = variables.CheckReadable(index);
  if (status.ok()) status = gathering.Allocate();
  const std::string call = absl::StrCat("reading variable \"", variables.infos()[index].name, "\"");
  SINTER_RETURN_IF_ERROR(AgreeOnCall(&world, session, call, status));
  absl::StatusOr<HostTensor> whole =
      gathering.Run({.name = "reading a variable", .tag = kGatherTag, .session = session});
  if (!whole.ok()) return whole;
  SINTER_RETURN_IF_ERROR(AgreeOnCall(&world, session, call, gathering.own()));
  return whole;
}

}  // namespace sinter::internal_session
