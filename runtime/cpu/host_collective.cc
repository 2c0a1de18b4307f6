// The CPU implementation of the collectives in collective.h.
#include <algorithm>
#include <vector>

#include "runtime/plan_generated.h"
#include "sinter/runtime/cpu/combine.h"
#include "sinter/runtime/cpu/host_collective.h"
#include "sinter/runtime/cpu/steps.h"
#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/collective.h"

namespace sinter {
namespace {

// Threads share the work in units of 64 elements, which are whole cache lines for every type. Below
// kGrainUnits, waking a thread costs more than the work.
constexpr int64_t kUnitElements = 64;
constexpr int64_t kGrainUnits = 256;

constexpr size_t kLinePointers = 8;  // Pointers in a cache line.
constexpr int kNobody = -1;

struct Range {
  int64_t begin, end;
};

class HostCollectiveWork : public HostCollective {
 public:
  HostCollectiveWork(const fb::Function& function, const CollectiveGroup& group,
                     HostCollectiveOptions options)
      : c_(CollectiveLayout::Of(function, group.steps.front())),
        options_(std::move(options)),
        element_bytes_(static_cast<size_t>(SizeOf(c_.dtype))),
        member_of_(c_.size(), kNobody),
        process_of_(c_.size()) {
    for (uint32_t rank = 0; rank < c_.size(); ++rank) {
      process_of_[rank] = options_.local.RankOf(c_.group[rank]);
    }
    processes_ = process_of_;
    std::ranges::sort(processes_);
    processes_.erase(std::ranges::unique(processes_).begin(), processes_.end());
    for (const uint32_t step : group.steps) {
      const fb::Step& table = *function.steps()->Get(step);
      const uint32_t rank = table.body_as_CollectiveStep()->rank();
      member_of_[rank] = static_cast<int>(members_.size());
      members_.push_back({rank, table.inputs() == nullptr ? 0 : table.inputs()->size()});
    }
    me_ = process_of_[members_.front().rank];
    operands_.resize(static_cast<size_t>(options_.pool->threads()) * OperandsOfThread());
    if (c_.traits().moves != nullptr) {
      LayOutMoves();
    } else if (processes_.size() > 1) {
      LayOutRounds();
    }
  }

  size_t WorkspaceBytes() const override { return rows_ * row_bytes_; }

  absl::Status Run(std::span<void* const* const> buffers, void* workspace, int64_t run) override {
    buffers_ = buffers;
    run_ = run;
    workspace_ = static_cast<std::byte*>(workspace);
    if (c_.traits().moves != nullptr) return RunMoves();
    if (processes_.size() > 1) return RunRounds();
    CombineRange({0, c_.elements()});
    return absl::OkStatus();
  }

 private:
  struct Member {
    uint32_t rank;
    size_t inputs;
  };
  // The same elements for one or several members.
  struct Parcel {
    CollectiveMove move;                               // To the first of them.
    std::vector<int> processes = {};                   // Other processes with receivers, ascending.
    std::vector<std::pair<int, int64_t>> places = {};  // The local receivers, and their first elements.
  };

  // Calls f(piece, elements before the piece in `range`) for the pieces of tensors or parts in elements
  // [begin, end) of `range`.
  template <typename F>
  void ForPieces(Range range, F&& f) const {
    size_t tensor = static_cast<size_t>(std::ranges::upper_bound(c_.starts, range.begin) - c_.starts.begin());
    for (int64_t at = range.begin; at < range.end; ++tensor) {
      const int64_t start = c_.starts[tensor - 1], end = std::min(c_.starts[tensor], range.end);
      if (end > at) f(CollectivePiece{tensor - 1, at - start, end - at}, at - range.begin);
      at = std::max(at, end);
    }
  }

  std::byte* At(void* data, int64_t element) const {
    return static_cast<std::byte*>(data) + static_cast<size_t>(element) * element_bytes_;
  }
  size_t BytesOf(int64_t elements) const { return static_cast<size_t>(elements) * element_bytes_; }
  void* InputOf(int member, size_t tensor) const { return buffers_[static_cast<size_t>(member)][tensor]; }
  void* OutputOf(int member, size_t tensor) const {
    return buffers_[static_cast<size_t>(member)][members_[static_cast<size_t>(member)].inputs + tensor];
  }

  // Addresses of a member's input and output for a combined piece.
  std::byte* Input(int member, const CollectivePiece& piece) const {
    if (c_.kind != fb::CollectiveKind::ReduceScatter) return At(InputOf(member, piece.tensor), piece.offset);
    return At(InputOf(member, 0), c_.starts[piece.tensor] + piece.offset);
  }
  std::byte* Output(int member, const CollectivePiece& piece) const {
    const bool is_part = c_.kind == fb::CollectiveKind::ReduceScatter;
    return At(OutputOf(member, is_part ? 0 : piece.tensor), piece.offset);
  }

  // True if a local member needs the result of a piece.
  bool WantsResult(int member, const CollectivePiece& piece) const {
    const uint32_t rank = members_[static_cast<size_t>(member)].rank;
    if (c_.kind == fb::CollectiveKind::ReduceScatter) return rank == piece.tensor;
    return c_.HasOutputs(rank);
  }

  // Combines a range in memory. The workspace has one row for each member of another process, by rank, with
  // the member's elements of `range`. A result that no local member needs goes to the last row.
  void CombineRange(Range range) {
    const int64_t units = (range.end - range.begin + kUnitElements - 1) / kUnitElements;
    options_.pool->ParallelFor(units, kGrainUnits, [&](int64_t begin, int64_t end, int thread) {
      const Range part = {range.begin + begin * kUnitElements,
                          std::min(range.begin + end * kUnitElements, range.end)};
      ForPieces(part, [&](const CollectivePiece& piece, int64_t before) {
        CombinePiece(piece, begin * kUnitElements + before, thread);
      });
    });
  }

  // The threads' lists do not share cache lines.
  size_t OperandsOfThread() const { return RoundUp<size_t>(2 * c_.size(), kLinePointers) + kLinePointers; }

  // `in_row`: offset of the piece in the rows.
  void CombinePiece(const CollectivePiece& piece, int64_t in_row, int thread) {
    const std::span<void*> inputs(operands_.data() + static_cast<size_t>(thread) * OperandsOfThread(),
                                  c_.size());
    const std::span<void*> outputs(inputs.data() + c_.size(), c_.size());
    size_t row = 0, count = 0;
    for (uint32_t rank = 0; rank < c_.size(); ++rank) {
      const int member = member_of_[rank];
      inputs[rank] = member == kNobody ? At(Row(row++), in_row) : Input(member, piece);
      if (member != kNobody && WantsResult(member, piece)) outputs[count++] = Output(member, piece);
    }
    if (count == 0) outputs[count++] = At(Row(row), in_row);
    CombineElements(c_.combine, c_.dtype, inputs, outputs.first(count), piece.count);
  }

  std::byte* Row(size_t row) const { return workspace_ + row * row_bytes_; }

  // Communication between processes.

  void Send(int process, const void* data, size_t bytes) {
    if (bytes > 0) transfers_.push_back({process, const_cast<void*>(data), bytes, true});
  }
  void Receive(int process, void* data, size_t bytes) {
    if (bytes > 0) transfers_.push_back({process, data, bytes, false});
  }
  absl::Status Exchange() {
    if (transfers_.empty()) return absl::OkStatus();
    const absl::Status status = options_.world->Exchange(transfers_, {.name = options_.name,
                                                                      .tag = options_.tag,
                                                                      .session = options_.session,
                                                                      .run = run_,
                                                                      .function = options_.function,
                                                                      .patience = options_.patience});
    transfers_.clear();
    return status;
  }

  void LayOutRounds();
  void AddChunks(Range range, std::vector<Range>& chunks) const;
  void SendOperands(size_t round);
  void SendResults(size_t round);
  void CopyResults(size_t round);
  absl::Status RunRounds();

  void LayOutMoves();
  absl::Status RunMoves();

  const CollectiveLayout c_;
  const HostCollectiveOptions options_;
  const size_t element_bytes_;
  std::vector<int> member_of_;   // By rank: index into members_, or kNobody.
  std::vector<int> process_of_;  // By rank.
  std::vector<int> processes_;   // Ranks of the participating processes, ascending.
  std::vector<Member> members_;
  int me_ = 0;
  // For each of processes_: the chunks that it combines, one per round.
  std::vector<std::vector<Range>> chunks_;
  size_t rounds_ = 0;
  std::vector<Parcel> parcels_;
  size_t rows_ = 0, row_bytes_ = 0;
  std::vector<World::Transfer> transfers_;
  std::vector<void*> operands_;            // Per thread: the inputs and the outputs of CombinePiece.
  std::span<void* const* const> buffers_;  // Buffers of the current run.
  std::byte* workspace_ = nullptr;
  int64_t run_ = 0;
};

void HostCollectiveWork::AddChunks(Range range, std::vector<Range>& chunks) const {
  const int64_t most = static_cast<int64_t>(kCollectiveChunkBytes / element_bytes_);
  for (int64_t begin = range.begin; begin < range.end; begin += most) {
    chunks.push_back({begin, std::min(begin + most, range.end)});
  }
}

void HostCollectiveWork::LayOutRounds() {
  const int64_t count = static_cast<int64_t>(processes_.size());
  const int64_t units = (c_.elements() + kUnitElements - 1) / kUnitElements;
  for (int64_t p = 0; p < count; ++p) {
    std::vector<Range>& chunks = chunks_.emplace_back();
    if (c_.kind == fb::CollectiveKind::ReduceScatter) {
      for (uint32_t rank = 0; rank < c_.size(); ++rank) {
        if (process_of_[rank] == processes_[static_cast<size_t>(p)]) {
          AddChunks({c_.starts[rank], c_.starts[rank + 1]}, chunks);
        }
      }
    } else {
      // Avoids multiplying units by processes, which may overflow 64 bits.
      const auto begin = [&](int64_t i) {
        return std::min((units / count * i + std::min(i, units % count)) * kUnitElements, c_.elements());
      };
      AddChunks({begin(p), begin(p + 1)}, chunks);
    }
    rounds_ = std::max(rounds_, chunks.size());
    if (processes_[static_cast<size_t>(p)] != me_) continue;
    for (const Range& chunk : chunks) row_bytes_ = std::max(row_bytes_, BytesOf(chunk.end - chunk.begin));
  }
  row_bytes_ = (row_bytes_ + 63) / 64 * 64;
  rows_ = c_.size() - members_.size();
  const bool has_result_row = c_.kind == fb::CollectiveKind::Reduce && member_of_[c_.root] == kNobody;
  if (has_result_row) ++rows_;
}

// Exchanges the members' elements of the round's chunks: each chunk goes to the process that combines it.
void HostCollectiveWork::SendOperands(size_t round) {
  for (size_t p = 0; p < processes_.size(); ++p) {
    if (round >= chunks_[p].size()) continue;
    const Range chunk = chunks_[p][round];
    ForPieces(chunk, [&](const CollectivePiece& piece, int64_t before) {
      size_t row = 0;
      for (uint32_t rank = 0; rank < c_.size(); ++rank) {
        const int member = member_of_[rank];
        const size_t bytes = BytesOf(piece.count);
        if (processes_[p] == me_) {
          if (member == kNobody) Receive(process_of_[rank], At(Row(row++), before), bytes);
        } else if (member != kNobody) {
          Send(processes_[p], Input(member, piece), bytes);
        }
      }
    });
  }
}

// Sends the results to one member of each process that needs them.
void HostCollectiveWork::SendResults(size_t round) {
  if (c_.kind == fb::CollectiveKind::ReduceScatter) return;
  const bool is_rooted = c_.kind == fb::CollectiveKind::Reduce;
  const int root = is_rooted ? process_of_[c_.root] : kNobody;
  const int target = is_rooted ? member_of_[c_.root] : 0;
  for (size_t p = 0; p < processes_.size(); ++p) {
    if (round >= chunks_[p].size()) continue;
    ForPieces(chunks_[p][round], [&](const CollectivePiece& piece, int64_t before) {
      const size_t bytes = BytesOf(piece.count);
      if (processes_[p] != me_) {
        if (target != kNobody) Receive(processes_[p], Output(target, piece), bytes);
        return;
      }
      const std::byte* const result = target == kNobody ? At(Row(rows_ - 1), before) : Output(target, piece);
      for (const int process : processes_) {
        if (process != me_ && (!is_rooted || process == root)) Send(process, result, bytes);
      }
    });
  }
}

// Copies the results of other processes to the remaining local members.
void HostCollectiveWork::CopyResults(size_t round) {
  if (c_.kind != fb::CollectiveKind::AllReduce) return;
  for (size_t p = 0; p < processes_.size(); ++p) {
    if (processes_[p] == me_ || round >= chunks_[p].size()) continue;
    ForPieces(chunks_[p][round], [&](const CollectivePiece& piece, int64_t) {
      for (size_t member = 1; member < members_.size(); ++member) {
        CopyBytes(Output(static_cast<int>(member), piece), Output(0, piece), BytesOf(piece.count),
                  *options_.pool);
      }
    });
  }
}

// The results of one round and the operands of the next share one exchange.
absl::Status HostCollectiveWork::RunRounds() {
  const size_t me = static_cast<size_t>(std::ranges::find(processes_, me_) - processes_.begin());
  for (size_t round = 0; round <= rounds_; ++round) {
    if (round > 0) SendResults(round - 1);
    if (round < rounds_) SendOperands(round);
    SINTER_RETURN_IF_ERROR(Exchange());
    if (round > 0) CopyResults(round - 1);
    if (round < chunks_[me].size()) CombineRange(chunks_[me][round]);
  }
  return absl::OkStatus();
}

void HostCollectiveWork::LayOutMoves() {
  const auto is_here = [&](uint32_t rank) { return member_of_[rank] != kNobody; };
  for (const CollectiveMove& move : c_.traits().moves(c_, is_here)) {
    if (parcels_.empty() || !parcels_.back().move.IsOfSameElements(move)) parcels_.push_back({.move = move});
    Parcel& parcel = parcels_.back();
    const int process = process_of_[move.to];
    if (process == me_) parcel.places.emplace_back(member_of_[move.to], move.target);
    const auto at = std::ranges::lower_bound(parcel.processes, process);
    const bool is_known = at != parcel.processes.end() && *at == process;
    if (process != me_ && !is_known) parcel.processes.insert(at, process);
  }
}

// Each process receives a parcel once, for the first of its receivers, and copies it to the others. All
// processes list the parcels in the same order.
absl::Status HostCollectiveWork::RunMoves() {
  const auto source_of = [&](const Parcel& parcel) {
    const auto& [from, to, tensor, source, target, count] = parcel.move;
    const int member = member_of_[from];
    return member != kNobody ? At(InputOf(member, tensor), source)
                             : At(OutputOf(parcel.places[0].first, tensor), parcel.places[0].second);
  };
  for (const Parcel& parcel : parcels_) {
    const size_t bytes = BytesOf(parcel.move.count);
    if (member_of_[parcel.move.from] != kNobody) {
      for (const int process : parcel.processes) Send(process, source_of(parcel), bytes);
    } else if (!parcel.places.empty()) {
      Receive(process_of_[parcel.move.from], source_of(parcel), bytes);
    }
  }
  SINTER_RETURN_IF_ERROR(Exchange());
  for (const Parcel& parcel : parcels_) {
    for (const auto& [member, target] : parcel.places) {
      CopyBytes(At(OutputOf(member, parcel.move.tensor), target), source_of(parcel),
                BytesOf(parcel.move.count), *options_.pool);
    }
  }
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<HostCollective> HostCollective::Make(const fb::Function& function,
                                                     const CollectiveGroup& group,
                                                     HostCollectiveOptions options) {
  return std::make_unique<HostCollectiveWork>(function, group, std::move(options));
}

}  // namespace sinter
