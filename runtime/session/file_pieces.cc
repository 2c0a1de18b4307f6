#include "sinter/runtime/session/file_pieces.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "sinter/runtime/host/untrusted_bytes.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::internal_session {
namespace {

// One thread computes while another waits for the disk. More than 8 use no disk better.
constexpr int kLeastThreads = 2, kMostThreads = 8;

}  // namespace

void FilePieces::Add(size_t item, int64_t elements, int64_t size, uint64_t offset) {
  int64_t most = (kBytes - static_cast<int64_t>(offset % kAlignment)) / size;
  for (int64_t first = 0; first < elements; first += std::exchange(most, kBytes / size)) {
    pieces_.push_back({item, first, std::min(most, elements - first)});
    most_bytes_ = std::max(most_bytes_, pieces_.back().count * size);
  }
}

absl::Status FilePieces::ForEach(int threads, const Work& work) const {
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  absl::Status failure;  // Guarded by the mutex.
  const auto run = [&] {
    const int64_t needed = most_bytes_ + 2 * kAlignment, all = needed + kAlignment;
    absl::StatusOr<HostTensor> memory = HostTensor::Empty(DType::kI8, {all});
    absl::Status status = memory.status();
    std::byte* bytes = nullptr;
    if (status.ok()) {
      void* begin = memory->mutable_data();
      auto room = static_cast<size_t>(all);
      bytes = static_cast<std::byte*>(std::align(kAlignment, static_cast<size_t>(needed), begin, room));
    }
    for (size_t i; status.ok() && (i = next.fetch_add(1)) < pieces_.size();) {
      status = WithinMemory("a piece of the file", [&] { return work(pieces_[i], bytes); });
    }
    if (status.ok()) return;
    next = pieces_.size();
    const std::lock_guard<std::mutex> lock(mutex);
    if (failure.ok()) failure = status;
  };
  const auto wanted = static_cast<size_t>(std::clamp(threads, kLeastThreads, kMostThreads));
  std::vector<std::thread> others;
  others.reserve(kMostThreads);
  try {
    while (others.size() + 1 < std::min(wanted, pieces_.size())) others.emplace_back(run);
  } catch (const std::exception&) {
    // There is no room for more threads: fewer do the work.
  }
  if (!pieces_.empty()) run();
  for (std::thread& other : others) other.join();
  return failure;
}

}  // namespace sinter::internal_session
