// Decides which examples a batch has, for Sinter's own sources: a loader without files and threads.
//
//   SINTER_ASSIGN_OR_RETURN(BatchSchedule schedule, BatchSchedule::Create(set.size(), options));
//   SINTER_ASSIGN_OR_RETURN(BatchPlan plan, schedule.At(/*epoch=*/0, /*batch=*/3));
#ifndef SINTER_FRONTEND_DATA_BATCH_SCHEDULE_H_
#define SINTER_FRONTEND_DATA_BATCH_SCHEDULE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/data/loader.h"

namespace sinter::data {

// One batch of one rank.
struct BatchPlan {
  struct Item {
    int64_t example = 0;
    uint64_t seed = 0;  // Seed of the example's random numbers.
  };

  int64_t epoch = 0;
  int64_t batch = 0;
  std::vector<Item> items;  // In the order of rows. One that only lends its shape if num_examples is 0.
  int64_t num_examples = 0;
  int64_t rows = 0;
  uint64_t seed = 0;  // Seed of the random numbers of batch maps.
  bool ends_epoch = false;
};

class BatchSchedule {
 public:
  // Errors as Loader::Create.
  static absl::StatusOr<BatchSchedule> Create(int64_t set_size, const LoaderOptions& options);

  // Computes the order of the epoch if it is not that of the last call. Errors are those of the order.
  absl::StatusOr<BatchPlan> At(int64_t epoch, int64_t batch);

  int64_t num_examples() const { return num_examples_; }
  int64_t batches_per_epoch() const { return batches_per_epoch_; }

  // The text of a position, and back, as Loader::Save and Loader::Load.
  std::string Save(int64_t epoch, int64_t batch) const;
  struct Position {
    int64_t epoch = 0;
    int64_t batch = 0;
  };
  absl::StatusOr<Position> Load(std::string_view text) const;

 private:
  BatchSchedule() = default;
  absl::Status OrderEpoch(int64_t epoch);
  absl::Status CheckBatches() const;

  Order order_;
  int64_t batch_ = 1;
  LastBatch last_ = LastBatch::kKeep;
  uint64_t seed_ = 0;
  RankRows ranks_;
  int64_t set_size_ = 0;
  int64_t num_examples_ = 0;  // Examples of an epoch.
  int64_t batches_per_epoch_ = 0;
  int64_t ordered_epoch_ = -1;
  std::vector<int64_t> indices_;  // Order of the epoch ordered_epoch_.
  std::vector<uint32_t> draws_;   // Number of times that the example came before. Empty if none comes twice.
};

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_BATCH_SCHEDULE_H_
