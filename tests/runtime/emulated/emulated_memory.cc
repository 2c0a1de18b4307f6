#include "sinter/tests/runtime/emulated/emulated_memory.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// Live pieces of all emulated devices: the first byte after the guard, and the bytes without guards.
struct Pieces {
  std::mutex mutex;
  std::map<std::byte*, int64_t> bytes;
};

Pieces& LivePieces() {
  static Pieces& pieces = *new Pieces;
  return pieces;
}

std::byte GuardAt(int64_t place) { return static_cast<std::byte>(0x5a + 29 * place); }

bool HasGuards(const std::byte* begin, int64_t bytes) {
  for (int64_t i = 0; i < EmulatedMemory::kGuardBytes; ++i) {
    if (begin[i - EmulatedMemory::kGuardBytes] != GuardAt(i) || begin[bytes + i] != GuardAt(i)) return false;
  }
  return true;
}

// The part of a piece that holds `at`, as begin and end; empty if no piece holds it.
std::pair<std::byte*, std::byte*> PieceOf(std::byte* at) {
  Pieces& pieces = LivePieces();
  const std::lock_guard lock(pieces.mutex);
  auto after = pieces.bytes.upper_bound(at);
  if (after == pieces.bytes.begin()) return {at, at};
  --after;
  std::byte* const end = after->first + after->second;
  return at < end ? std::pair(after->first, end) : std::pair(at, at);
}

}  // namespace

absl::StatusOr<void*> EmulatedMemory::Allocate(int64_t bytes) {
  SINTER_ASSIGN_OR_RETURN(void* const memory, HostMemory::Allocate(bytes + 2 * kGuardBytes));
  auto* const begin = static_cast<std::byte*>(memory) + kGuardBytes;
  for (int64_t i = 0; i < kGuardBytes; ++i) begin[i - kGuardBytes] = begin[bytes + i] = GuardAt(i);
  const std::lock_guard lock(LivePieces().mutex);
  LivePieces().bytes[begin] = bytes;
  return begin;
}

void EmulatedMemory::Free(void* ptr, int64_t bytes) noexcept {
  auto* const begin = static_cast<std::byte*>(ptr);
  SINTER_CHECK(HasGuards(begin, bytes))
      << "memory of " << device() << " was written outside its " << bytes << " bytes";
  {
    const std::lock_guard lock(LivePieces().mutex);
    LivePieces().bytes.erase(begin);
  }
  HostMemory::Free(begin - kGuardBytes, bytes + 2 * kGuardBytes);
}

absl::Status EmulatedMemory::CheckGuards() {
  const std::lock_guard lock(LivePieces().mutex);
  for (const auto& [begin, bytes] : LivePieces().bytes) {
    if (!HasGuards(begin, bytes)) {
      return absl::InternalError(
          absl::StrCat("memory of an emulated device was written outside its ", bytes, " bytes"));
    }
  }
  return absl::OkStatus();
}

WriteCheck::WriteCheck(const std::vector<std::span<std::byte>>& outputs) {
  std::vector<std::span<std::byte>> sorted = outputs;
  std::ranges::sort(sorted, {}, [](std::span<std::byte> s) { return s.data(); });
  const auto keep = [&](std::byte* begin, std::byte* end) {
    if (begin < end) beside_.push_back({begin, {begin, end}});
  };
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i].empty()) continue;
    const auto [first, last] = PieceOf(sorted[i].data());
    std::byte* const begin = sorted[i].data();
    std::byte* const end = begin + sorted[i].size();
    // Outputs of a step may be adjacent, and two may be one buffer.
    std::byte* least = std::max(first, begin - std::min<int64_t>(kCheckedBytes, begin - first));
    std::byte* most = std::min(last, end + kCheckedBytes);
    for (const std::span<std::byte>& other : sorted) {
      if (other.data() < begin) least = std::max(least, std::min(begin, other.data() + other.size()));
      if (other.data() >= begin && other.data() + other.size() > end) {
        most = std::max(end, std::min(most, other.data()));
      }
    }
    keep(least, begin);
    keep(end, most);
  }
}

absl::Status WriteCheck::Finish(const std::string& what) const {
  for (const Range& range : beside_) {
    if (std::memcmp(range.begin, range.bytes.data(), range.bytes.size()) == 0) continue;
    return absl::InternalError(absl::StrCat(what, " writes beside its outputs"));
  }
  return absl::OkStatus();
}

}  // namespace sinter
