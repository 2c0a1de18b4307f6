// Batches of in-memory tensors: shuffled, exact at the end of an epoch, and resumable to the bit.
//
//   std::vector<HostTensor> data = {std::move(mnist.train.images), std::move(mnist.train.labels)};
//   BatchOptions options = {.batch_size = 256, .seed = 1, .last = LastBatch::kPad};
//   options.transforms = {ScaleToF32(1 / 255.0f), WidenToI32()};               // frontend/data/transforms.h
//   SINTER_ASSIGN_OR_RETURN(BatchIterator batches, BatchIterator::Create(std::move(data), options));
//   SINTER_ASSIGN_OR_RETURN(Batch batch, batches.Next());                // f32 [256, 28, 28], i32 [256]
//
// The order of an epoch depends only on (seed, epoch) and the number of examples, and is the same on every
// platform. Epochs follow each other without end unless `max_epochs` limits them. State and Restore let an
// interrupted run continue with the same batches.
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

// Treatment of the examples at the end of an epoch that do not fill a batch.
enum class LastBatch {
  kKeep,  // A last batch with fewer rows.
  kDrop,  // This epoch leaves them out.
  kPad,   // Rows of zeros, with weight 0, fill the batch.
};

// Converts the rows of one tensor of a batch to the step's input, for example by scaling or augmenting.
// `bits` is seeded by (seed, epoch, batch) and differs for each tensor. A run stays resumable if the
// transform uses no other randomness. The result must keep the first size.
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

// The position of an iterator: the next batch, and everything that the order depends on.
struct BatchState {
  int64_t epoch = 0;
  int64_t batch = 0;  // Within the epoch.
  uint64_t seed = 0;
  int64_t num_examples = 0;
  int64_t batch_size = 0;
  bool shuffle = false;
  LastBatch last = LastBatch::kKeep;

  bool operator==(const BatchState&) const = default;

  // One line of text for a checkpoint's metadata, and back. Parse returns InvalidArgument for any other text.
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
  BatchState state_after;   // Pass it to Restore to continue after this batch.
};

class BatchIterator {
 public:
  // Takes tensors of equal first size; pass views (HostTensor::View) to share data with another iterator.
  // InvalidArgument: no tensors, a scalar, different first sizes, no examples, a batch size below 1, a
  // negative max_epochs, a number of transforms that differs from the number of tensors, or kDrop with fewer
  // examples than a batch.
  static absl::StatusOr<BatchIterator> Create(std::vector<HostTensor> tensors, BatchOptions options);

  // Returns OutOfRange after the last batch of max_epochs, and the errors of transforms. An error leaves the
  // state unchanged.
  absl::StatusOr<Batch> Next();

  BatchState state() const;

  // Moves to the position of `state`. InvalidArgument if the data or options that the order depends on
  // differ; the message names the difference.
  absl::Status Restore(const BatchState& state);

  int64_t num_examples() const { return num_examples_; }
  size_t num_tensors() const { return tensors_.size(); }
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
  std::vector<int64_t> order_;  // Example order of `ordered_epoch_`; empty without shuffling.
  int64_t ordered_epoch_ = -1;
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_BATCHES_H_
