// Batches made ahead by a thread of their own, so that the step need not wait for them.
//
//   SINTER_ASSIGN_OR_RETURN(auto ahead, Prefetcher::Create([&] { return batches.Next(); }, /*depth=*/2));
//   while (true) {
//     absl::StatusOr<Batch> batch = ahead->Next();
//     if (absl::IsOutOfRange(batch.status())) break;
//     ...
//   }
//
// The order is that of the source. A batch's `state_after` is what to save in a checkpoint: the source itself
// is ahead by up to `depth` batches and belongs to the thread until the prefetcher is destroyed.
#ifndef SINTER_FRONTEND_DATA_PREFETCHER_H_
#define SINTER_FRONTEND_DATA_PREFETCHER_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "absl/status/statusor.h"
#include "sinter/frontend/data/batches.h"

namespace sinter {

class Prefetcher {
 public:
  using Source = std::function<absl::StatusOr<Batch>()>;

  // Starts the thread. InvalidArgument for a depth below 1 or a source that is empty.
  static absl::StatusOr<std::unique_ptr<Prefetcher>> Create(Source source, int depth);

  // Waits for the batch that the thread is making, and for that one only; what is ready is thrown away.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // The next batch, waiting for it if need be. The source's first error, OutOfRange at the end among them,
  // comes after the batches before it, and stays. An exception out of the source is an Internal error. May be
  // called from several threads.
  absl::StatusOr<Batch> Next();

 private:
  Prefetcher(Source source, size_t depth);
  void Fill();

  const Source source_;
  const size_t depth_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> ready_;  // Guarded by mutex_, as are the two below.
  absl::Status error_;       // Not OK once the source has ended.
  bool stopping_ = false;
  std::thread thread_;  // Last: it uses everything above.
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_PREFETCHER_H_
