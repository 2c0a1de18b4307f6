// A stream of batches that a training loop reads: what data::Loader and BatchIterator have in common.
//
//   absl::Status TrainOneEpoch(Session& session, BatchStream& stream) {
//     for (;;) {
//       SINTER_ASSIGN_OR_RETURN(Batch batch, stream.Next());
//       ...                                             // Run the step with batch.tensors.
//       if (batch.ends_epoch) return absl::OkStatus();
//     }
//   }
//
// One thread reads a stream.
#ifndef SINTER_FRONTEND_DATA_BATCH_STREAM_H_
#define SINTER_FRONTEND_DATA_BATCH_STREAM_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/data/batches.h"

namespace sinter {

class BatchStream {
 public:
  virtual ~BatchStream() = default;

  // Returns the next batch. OutOfRange: the stream has no more epochs.
  virtual absl::StatusOr<Batch> Next() = 0;

  // Returns the names of the batch's tensors, which are the names of the function's inputs.
  virtual std::vector<std::string> names() const = 0;

  virtual int64_t batches_per_epoch() const = 0;
  virtual int64_t num_examples() const = 0;  // Examples of an epoch.

  // Returns the position behind the last batch that Next returned, as one line of text for a checkpoint.
  virtual std::string Save() const = 0;

  // Moves to a position that Save returned. InvalidArgument: the text is of other data or options.
  virtual absl::Status Load(std::string_view position) = 0;
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_BATCH_STREAM_H_
