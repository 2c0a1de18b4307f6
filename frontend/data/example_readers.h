// Threads that read the examples of batches, for Sinter's own sources.
//
//   ExampleReaders readers(set, options, /*threads=*/4);
//   auto batch = std::make_shared<PendingBatch>(plan);
//   readers.Push(batch);                                     // Earlier batches are read first.
//   absl::StatusOr<Batch> result = readers.Take(*batch);     // Waits.
//
// All threads work on the earliest batch whose examples are not all given out, a few examples at a time. The
// thread that reads the last example of a batch joins them.
#ifndef SINTER_FRONTEND_DATA_EXAMPLE_READERS_H_
#define SINTER_FRONTEND_DATA_EXAMPLE_READERS_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/data/batch_schedule.h"

namespace sinter::data {

// A batch that is being read.
struct PendingBatch {
  explicit PendingBatch(BatchPlan batch_plan) : plan(std::move(batch_plan)), examples(plan.items.size()) {}

  const BatchPlan plan;
  std::vector<Example>
      examples;  // Element i belongs to the thread that reads it, and at last to the joining one.

  // Guarded by the mutex of the readers.
  size_t given_out = 0;
  size_t finished = 0;
  size_t failed_row = SIZE_MAX;  // The first one that failed; SIZE_MAX if none did.
  absl::Status error = {};       // Error of that row.
  bool is_ready = false;
  absl::StatusOr<Batch> batch = absl::UnknownError("not read yet");  // Valid if is_ready.
};

class ExampleReaders {
 public:
  // The options are those that Loader::Create has checked. With 0 threads, Take reads.
  ExampleReaders(Dataset set, LoaderOptions options);
  // Waits for the examples that are being read.
  ~ExampleReaders();
  ExampleReaders(const ExampleReaders&) = delete;
  ExampleReaders& operator=(const ExampleReaders&) = delete;

  void Push(std::shared_ptr<PendingBatch> batch);
  // Waits until the batch is read, and takes it. Adds the time to *waited_seconds.
  absl::StatusOr<Batch> Take(PendingBatch& batch, double* waited_seconds);
  // Forgets the batches that were pushed.
  void Clear();

 private:
  void Work();
  // Reads examples [begin, end) of the batch. Locks the mutex at its end only.
  void Read(PendingBatch& batch, size_t begin, size_t end);
  absl::StatusOr<Batch> Join(PendingBatch& batch) const;
  absl::StatusOr<Example> ReadOne(const BatchPlan::Item& item) const;

  const Dataset set_;
  const LoaderOptions options_;
  const std::vector<std::string> names_;  // Names of the examples' fields.

  std::mutex mutex_;
  std::condition_variable work_, ready_;
  std::deque<std::shared_ptr<PendingBatch>> queue_;  // With examples to give out. Guarded by mutex_.
  bool stopping_ = false;                            // Guarded by mutex_.
  std::vector<std::jthread> threads_;                // Last: they use every field above.
};

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_EXAMPLE_READERS_H_
