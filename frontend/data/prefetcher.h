// Prepares batches ahead on a thread, so that the training step need not wait for them.
//
//   SINTER_ASSIGN_OR_RETURN(auto ahead, Prefetcher::Create([&] { return batches.Next(); }, /*depth=*/2));
//   while (true) {
//     absl::StatusOr<Batch> batch = ahead->Next();
//     if (absl::IsOutOfRange(batch.status())) break;
//     ...
//   }
//
// Batches keep the order of the source. A checkpoint must save a batch's `state_after`, because the source
// itself is up to `depth` batches ahead. Only the thread may use the source until the prefetcher is
// destroyed.
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

  // Starts the thread. InvalidArgument for a depth below 1 or an empty source.
  static absl::StatusOr<std::unique_ptr<Prefetcher>> Create(Source source, int depth);

  // Waits only for the batch in progress and discards the ready ones.
  ~Prefetcher();
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  // Returns the next batch and waits for it if necessary. The source's first error, including OutOfRange at
  // the end, follows the batches before it, and every later call returns it again. An exception from the
  // source becomes an Internal error. Thread-safe.
  absl::StatusOr<Batch> Next();

 private:
  Prefetcher(Source source, size_t depth);
  void Fill();

  const Source source_;
  const size_t depth_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Batch> ready_;  // Guarded by mutex_, like the next two fields.
  absl::Status error_;       // Not OK after the source has ended.
  bool stopping_ = false;
  std::thread thread_;  // Last: it uses every field above.
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_PREFETCHER_H_
