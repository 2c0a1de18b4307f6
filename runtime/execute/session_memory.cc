#include "sinter/runtime/execute/session_memory.h"

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/host/status.h"

namespace sinter::internal_session {
namespace {

// The address of pieces of 0 bytes.
alignas(512) std::byte nowhere[512];

// Needs below this skip the check of free memory: the device's figure is only an estimate.
constexpr int64_t kAlwaysTried = int64_t{4} << 20;

// Rounds as the allocator does.
int64_t RoundUpToUnit(size_t bytes) {
  return RoundUp(static_cast<int64_t>(bytes), static_cast<int64_t>(CachingAllocator::kUnit));
}

}  // namespace

// The list is static, so that leak checkers can reach it.
void KeepForever(std::shared_ptr<const void> memory) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::shared_ptr<const void>>;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(memory));
}

std::byte* SessionBuffers::AddressOf(const fb::Buffer& buffer) const {
  const DeviceBuffers& buffers = devices[buffer.device()];
  switch (buffer.space()) {
    case fb::Space::Arena:
      return buffers.arena + buffer.offset();
    case fb::Space::Variable:
      return variables[buffer.index()] + buffer.offset();
    case fb::Space::Constant:
      return buffers.constants + buffer.offset();
    case fb::Space::RankValue:
      return buffers.rank_values + sizeof(int64_t) * buffer.index();
    case fb::Space::Input:
    case fb::Space::Parameter:
      break;
  }
  return nullptr;
}

bool SessionBuffers::IsWritten(const void* data, size_t bytes) const {
  const std::byte* const begin = static_cast<const std::byte*>(data);
  return std::ranges::any_of(written, [&](std::span<const std::byte> piece) {
    return std::less<>()(begin, piece.data() + piece.size()) && std::less<>()(piece.data(), begin + bytes);
  });
}

absl::Status SessionBuffers::GiveUp(const absl::Status& reason) {
  if (world == nullptr) return reason;
  world->Abort(std::string(reason.message()));
  given_up.Update(absl::IsUnavailable(reason)
                      ? reason
                      : absl::UnavailableError(absl::StrCat("rank ", world->rank(), " has given up (",
                                                            std::string(reason.message()), ")")));
  return reason;
}

absl::StatusOr<MemoryReservation> MemoryReservation::Make(CachingAllocator& allocator,
                                                          const std::optional<MemoryLimit>& limit) {
  int64_t bytes = 0;
  if (limit.has_value()) {
    SINTER_ASSIGN_OR_RETURN(bytes, limit->Resolve(allocator.memory().TotalBytes()));
  }
  return MemoryReservation(allocator, bytes);
}

void MemoryReservation::Need(std::string tag, size_t bytes, int64_t SessionMemory::* kind, std::byte** place,
                             bool is_shared) {
  report_.*kind += static_cast<int64_t>(bytes);
  report_.predicted += RoundUpToUnit(bytes);
  pieces_.push_back({std::move(tag), bytes, place, is_shared});
}

absl::Status MemoryReservation::Take(Sharing& sharing) {
  for (const Piece& piece : pieces_) {
    *piece.place = nowhere;
    if (piece.bytes == 0) continue;
    SINTER_ASSIGN_OR_RETURN(Allocation allocation,
                            allocator_->Allocate(static_cast<int64_t>(piece.bytes), piece.tag));
    *piece.place = static_cast<std::byte*>(allocation.ptr());
    report_.used += allocation.rounded_bytes();
    (piece.is_shared ? sharing.allocations : allocations_).push_back(std::move(allocation));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::byte*> MemoryReservation::TakeMore(const std::string& tag, size_t bytes,
                                                       int64_t SessionMemory::* kind,
                                                       const std::string& instead) {
  const int64_t rounded = RoundUpToUnit(bytes);
  if (limit_ > 0 && report_.predicted + rounded > limit_) {
    return absl::ResourceExhaustedError(absl::StrCat(tag, " needs ", rounded, " bytes on ",
                                                     device().ToString(), " more, and the session has ",
                                                     report_.predicted, " of its limit of ", limit_, ": ",
                                                     instead, ", or raise SessionOptions::memory_limit"));
  }
  absl::StatusOr<Allocation> allocation = allocator_->Allocate(static_cast<int64_t>(bytes), tag);
  if (!allocation.ok()) {
    return absl::Status(allocation.status().code(),
                        absl::StrCat(allocation.status().message(), "; ", instead));
  }
  auto* const data = static_cast<std::byte*>(allocation->ptr());
  report_.*kind += static_cast<int64_t>(bytes);
  report_.predicted += rounded;
  report_.used += allocation->rounded_bytes();
  allocations_.push_back(*std::move(allocation));
  return data;
}

void MemoryReservation::Abandon() {
  KeepForever(std::make_shared<std::vector<Allocation>>(std::move(allocations_)));
}

std::string MemoryReservation::Problem(int64_t needed, int64_t free_bytes) const {
  const int64_t own = report_.predicted;
  if (limit_ > 0 && own > limit_) {
    return absl::StrCat("its limit is ", limit_, ": raise SessionOptions::memory_limit");
  }
  const int64_t pool_limit = allocator_->GetLimit();
  if (const int64_t left = pool_limit - allocator_->UsedBytes(); pool_limit > 0 && own > left) {
    return absl::StrCat("its allocator has ", std::max<int64_t>(left, 0), " left of its limit of ",
                        pool_limit, ": raise that (SetLimit or ", MemoryLimitVariable(device().kind()), ")");
  }
  if (needed <= free_bytes || needed < kAlwaysTried) return "";
  const std::string together =
      needed == own ? ""
                    : absl::StrCat("all CPU devices together need ", needed, " of the main memory, where ");
  return absl::StrCat(together, free_bytes, " are free of ", allocator_->memory().TotalBytes(),
                      ": make room");
}

std::string MemoryReservation::Largest() const {
  constexpr size_t kMostLines = 10;
  std::vector<Piece> pieces = pieces_;
  std::erase_if(pieces, [](const Piece& piece) { return piece.bytes == 0; });
  std::ranges::stable_sort(pieces, [](const Piece& a, const Piece& b) { return a.bytes > b.bytes; });
  std::string text;
  int64_t rest = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (i >= kMostLines) {
      rest += RoundUpToUnit(pieces[i].bytes);
    } else {
      absl::StrAppend(&text, "\n  ", RoundUpToUnit(pieces[i].bytes), " bytes: ", pieces[i].tag);
    }
  }
  if (rest > 0) absl::StrAppend(&text, "\n  ", rest, " bytes: ", pieces.size() - kMostLines, " more");
  return text;
}

absl::Status CheckRoom(std::span<const MemoryReservation> shares) {
  // All CPU devices share the main memory. Memory cached by an allocator counts as free.
  int64_t cpu_needed = 0, cpu_free = -1;
  for (const MemoryReservation& share : shares) {
    if (!share.device().is_host()) continue;
    if (cpu_free < 0) cpu_free = share.allocator().memory().FreeBytes();
    cpu_needed += share.report().predicted;
    cpu_free += share.allocator().FreeBytes();
  }
  std::vector<std::string> problems, fitting;
  for (const MemoryReservation& share : shares) {
    const int64_t own = share.report().predicted;
    const bool is_cpu = share.device().is_host();
    const int64_t free_bytes =
        is_cpu ? cpu_free : share.allocator().memory().FreeBytes() + share.allocator().FreeBytes();
    const std::string name = share.device().ToString();
    const std::string problem = share.Problem(is_cpu ? cpu_needed : own, free_bytes);
    if (problem.empty()) {
      fitting.push_back(absl::StrCat("\non ", name, " it needs ", own, " bytes and has them"));
    } else {
      problems.push_back(absl::StrCat("the session needs ", own, " bytes of memory on ", name, ", and ",
                                      problem,
                                      ", or compile for smaller batches; it needs:", share.Largest()));
    }
  }
  if (problems.empty()) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrCat(absl::StrJoin(problems, "\n"), absl::StrJoin(fitting, "")));
}

}  // namespace sinter::internal_session
