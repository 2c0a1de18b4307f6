// Batches out of tensors that lie in memory: shuffled, exact at the end of an epoch, and resumable to the
// bit.
//
//   std::vector<HostTensor> data = {std::move(mnist.train.images), std::move(mnist.train.labels)};
//   BatchOptions options = {.batch_size = 256, .seed = 1, .last = LastBatch::kPad};
//   options.transforms = {ScaleToF32(1 / 255.0f), WidenToI32()};               // frontend/data/transforms.h
//   SINTER_ASSIGN_OR_RETURN(BatchIterator batches, BatchIterator::Create(std::move(data), options));
//   SINTER_ASSIGN_OR_RETURN(Batch batch, batches.Next());                // f32 [256, 28, 28], i32 [256]
//
// The order of an epoch depends on (seed, epoch) and the number of examples only, and is the same on every
// platform. Epochs follow each other without end unless `max_epochs` says otherwise. State and Restore give
// an interrupted run the batches that it would have had.
#ifndef SINTER_FRONTEND_DATA_BATCHES_H_
#define SINTER_FRONTEND_DATA_BATCHES_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/data/splitmix.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

// What happens to the examples that do not fill a batch at the end of an epoch.
enum class LastBatch {
  kKeep,  // A batch of fewer rows.
  kDrop,  // They are left out of this epoch.
  kPad,   // Rows of zeros fill the batch; their weights are 0.
};

// Makes what a step is fed with out of one tensor's rows of a batch, for example by scaling or augmenting.
// `bits` is seeded by (seed, epoch, batch): using nothing else keeps runs resumable. Must keep the first
// size.
using BatchTransform = std::function<absl::StatusOr<HostTensor>(HostTensor rows, SplitMix& bits)>;

struct BatchOptions {
  int64_t batch_size = 1;
  bool shuffle = true;
  uint64_t seed = 0;
  LastBatch last = LastBatch::kKeep;
  int64_t max_epochs = 0;  // 0: no end.
  std::vector<BatchTransform> transforms =
      {};  // Empty, or one for each tensor; an empty function keeps the rows.
};

// Where an iterator stands: the batch that Next gives next, and what its order depends on.
struct BatchState {
  int64_t epoch = 0;
  int64_t batch = 0;  // Within the epoch.
  uint64_t seed = 0;
  int64_t num_examples = 0;
  int64_t batch_size = 0;
  bool shuffle = false;
  LastBatch last = LastBatch::kKeep;

  bool operator==(const BatchState&) const = default;

  // One line of text for a checkpoint's metadata, and back. Parse: InvalidArgument for anything else.
  std::string ToText() const;
  static absl::StatusOr<BatchState> Parse(std::string_view text);
};

struct Batch {
  std::vector<HostTensor> tensors;  // One for each tensor of the iterator, first size `rows`.
  HostTensor weights;               // f32 [rows]: 1 for an example, 0 for padding.
  int64_t rows = 0;                 // batch_size, except for the last batch of kKeep.
  int64_t num_examples = 0;         // Rows that are not padding; they come first.
  int64_t epoch = 0;
  int64_t index = 0;        // Within the epoch.
  bool ends_epoch = false;  // The last batch of its epoch.
  BatchState state_after;   // What Restore needs to go on behind this batch.
};

class BatchIterator {
 public:
  // Takes tensors of equal first size; pass views (HostTensor::View) to share data with another iterator.
  // InvalidArgument: no tensors, a scalar, first sizes that differ, no examples, a batch size below 1, a
  // number of transforms other than that of the tensors, or kDrop with fewer examples than a batch.
  static absl::StatusOr<BatchIterator> Create(std::vector<HostTensor> tensors, BatchOptions options);

  // OutOfRange after the last batch of max_epochs; what a transform returns. After an error the state is as
  // before.
  absl::StatusOr<Batch> Next();

  BatchState state() const;

  // Goes to where `state` was taken. InvalidArgument when data or options differ in what the order depends
  // on: the message names it.
  absl::Status Restore(const BatchState& state);

  int64_t num_examples() const { return num_examples_; }
  int64_t batches_per_epoch() const { return batches_per_epoch_; }

 private:
  BatchIterator() = default;

  void OrderEpoch();
  absl::StatusOr<HostTensor> Gather(const HostTensor& source, int64_t first, int64_t count,
                                    int64_t rows) const;
  absl::Status Transform(size_t which, HostTensor* rows) const;

  std::vector<HostTensor> tensors_;
  BatchOptions options_;
  int64_t num_examples_ = 0;
  int64_t batches_per_epoch_ = 0;
  int64_t epoch_ = 0;
  int64_t batch_ = 0;
  std::vector<int64_t> order_;  // Of `ordered_epoch_`; empty without shuffling.
  int64_t ordered_epoch_ = -1;
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_BATCHES_H_
