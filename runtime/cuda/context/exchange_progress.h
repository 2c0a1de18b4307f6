// Which exchange of a GPU is under way, for waits that must end although a member never comes.
//
//   const uint32_t number = progress.Add({.place = {0, 14},
//                                         .name = "all_reduce, function \"train\", step 14 (net.cc:12)",
//                                         .patience = patience});
//   SINTER_RETURN_IF_ERROR(progress.Begin(number, stream));        // Before the exchange, also in a capture.
//   SINTER_RETURN_IF_ERROR(progress.End(stream));                  // After the last one of a launch.
//   *progress.mark(number) = 1;               // Or the exchange itself does this, and 0 when it has ended.
//   ExchangeDeadline deadline(progress);
//   SINTER_RETURN_IF_ERROR(deadline.Check());                      // Now and then, while waiting.
//
// The GPU itself writes the marks to pinned memory, because a captured graph tells nothing to the CPU. An
// exchange is under way if its mark is set and that of no later exchange is.
#ifndef SINTER_RUNTIME_CUDA_CONTEXT_EXCHANGE_PROGRESS_H_
#define SINTER_RUNTIME_CUDA_CONTEXT_EXCHANGE_PROGRESS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/driver/cuda_handles.h"
#include "sinter/runtime/host/waited_time.h"
#include "sinter/runtime/memory/device_memory.h"

namespace sinter {

class ExchangeProgress {
 public:
  // Exchanges beyond this number have no marks, and no deadline.
  static constexpr size_t kMost = 4096;
  // The function's and the step's index.
  using Place = std::pair<uint32_t, uint32_t>;

  static absl::StatusOr<std::unique_ptr<ExchangeProgress>> Create();
  ~ExchangeProgress();
  ExchangeProgress(const ExchangeProgress&) = delete;
  ExchangeProgress& operator=(const ExchangeProgress&) = delete;

  struct Exchange {
    Place place;
    std::string name;
    std::chrono::milliseconds patience;  // The longest time that it may take.
  };

  // Gives a stream the work that sets a mark to a number other than 0.
  using Marker = std::function<absl::Status(uint32_t* mark, cudaStream_t stream)>;
  // Begin uses it instead of a fill, which seems slow in a captured graph. Load phase.
  void set_marker(Marker marker) { marker_ = std::move(marker); }

  // Returns the number of an exchange. Load phase.
  uint32_t Add(Exchange exchange);

  absl::Status Begin(uint32_t number, cudaStream_t stream);
  // Does nothing if no exchange has begun by Begin since the last End.
  absl::Status End(cudaStream_t stream);
  // The mark of an exchange that sets it itself, to any number but 0. Null if it has none.
  uint32_t* mark(uint32_t number) const { return number < kMost ? marks_ + number : nullptr; }
  // Marks the end of all, after a wait for the GPU.
  void Clear();

  // The error of an exchange that has not ended in its time.
  absl::Status TooLate(const Exchange& exchange) const;
  absl::Status TooLate(uint32_t number) const { return TooLate(exchanges_[number]); }

  // Null if none is under way.
  const Exchange* under_way() const;
  // Changes when a mark does.
  uint64_t state() const;

 private:
  ExchangeProgress() = default;
  size_t marked() const { return exchanges_.size() < kMost ? exchanges_.size() : kMost; }

  static constexpr int64_t kBytes = kMost * sizeof(uint32_t);

  // A GPU changes it meanwhile.
  uint32_t At(size_t i) const { return std::atomic_ref(marks_[i]).load(std::memory_order_relaxed); }

  std::unique_ptr<DeviceMemory> memory_;
  uint32_t* marks_ = nullptr;
  bool has_begun_ = false;
  Marker marker_;  // Null: Begin fills.
  std::vector<Exchange> exchanges_;
};

// The time limit of each exchange during one wait.
class ExchangeDeadline {
 public:
  explicit ExchangeDeadline(const ExchangeProgress& progress) : progress_(progress) {}

  // Unavailable if one exchange has been under way for longer than it may since the first call; the message
  // names it.
  absl::Status Check();

 private:
  using Clock = std::chrono::steady_clock;

  const ExchangeProgress& progress_;
  uint64_t state_ = 0;
  std::optional<WaitedTime> waited_;  // Since the state changed; empty before the first call.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CONTEXT_EXCHANGE_PROGRESS_H_
