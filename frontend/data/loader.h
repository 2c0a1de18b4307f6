// Loads batches of a set with several threads, in order, ahead of the program, and resumable to the bit.
//
//   SINTER_ASSIGN_OR_RETURN(auto loader, data::Loader::Create(set, {.batch = 256, .seed = 1}));
//   SINTER_RETURN_IF_ERROR(loader.Epoch([&](const Batch& batch) {
//     return session.Run("train", loader.Inputs(batch)).status();       // The fields are the inputs' names.
//   }));
//   std::cout << loader.waited_seconds();        // Prints the seconds without a batch.
//
// The batches depend on the set, on the options `batch`, `order`, `collate`, `last`, `seed` and `batch_maps`,
// and on the position. They do not depend on the number of workers, on `ahead`, or on interruptions. A
// position is the epoch and the batch within it; Save gives it as a line of text for a checkpoint.
//
// Ranks. `batch` counts the rows of all ranks. Rank r of n gets the r-th of n equal parts of each batch, so
// the ranks together train on the batches of one rank, and each example is read by one of them. A position
// may be loaded with another number of ranks. Pad and Bucket choose a length for each rank by itself: of
// Graph::Buckets the session runs the largest, and for a function of one shape use Bucket with one length.
//
// Random numbers of a Map come from (seed, epoch, example), and if an order draws an example more than once
// in an epoch, from the number of the draw.
#ifndef SINTER_FRONTEND_DATA_LOADER_H_
#define SINTER_FRONTEND_DATA_LOADER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/data/batch_stream.h"
#include "sinter/frontend/data/batches.h"
#include "sinter/frontend/data/collate.h"
#include "sinter/frontend/data/dataset.h"
#include "sinter/frontend/data/order.h"
#include "sinter/frontend/data/splitmix.h"
#include "sinter/runtime/memory/caching_allocator.h"
#include "sinter/runtime/tensor/argument.h"

namespace sinter::data {

// Changes the joined tensors of a batch, such as Mixup (images/mixes.h). The first `num_examples` rows are
// examples, the others padding. `bits` are seeded by (seed, epoch, batch). The number of tensors and of rows
// stays. Several threads call it at once, for different batches.
using BatchMap = std::function<absl::StatusOr<std::vector<HostTensor>>(std::vector<HostTensor> tensors,
                                                                       int64_t num_examples, SplitMix& bits)>;

// The part of each batch that this process reads.
struct RankRows {
  int64_t rank = 0;
  int64_t ranks = 1;
};

struct LoaderOptions {
  int64_t batch = 1;  // Rows, of all ranks together.
  Order order = Shuffled();
  Collate collate = Stack();
  std::vector<BatchMap> batch_maps = {};  // Applied one after the other.
  LastBatch last = LastBatch::kKeep;      // Treatment of examples at the end of an epoch that fill no batch.
  uint64_t seed = 0;
  int workers = 4;         // Threads that read. 0: Next reads, and nothing is ready ahead.
  int ahead = 2;           // Batches that are read ahead of the one that Next has returned.
  int64_t max_epochs = 0;  // 0: no end.
  RankRows rows = {};
  // Memory of the batches, such as PinnedHost(Device::Gpu(0)), from which a GPU copies by itself. Null: main
  // memory. It outlives the loader and its batches.
  CachingAllocator* memory = nullptr;
};

// One thread uses a loader. Movable.
class Loader final : public BatchStream {
 public:
  // Reads no example. InvalidArgument: an empty set, a number that is too small, an order that fails or gives
  // indices the set does not have, kDrop with fewer examples than a batch, a batch that the ranks cannot
  // divide evenly, or kKeep with a last batch that they cannot divide.
  static absl::StatusOr<Loader> Create(Dataset set, LoaderOptions options);

  Loader(Loader&& other) noexcept;
  Loader& operator=(Loader&& other) noexcept;
  // Waits for the examples that workers are reading.
  ~Loader() override;

  // Returns the next batch, and waits until it is ready. Batch::state_after holds the same position as Save.
  // An error of an example names the example, and the position stays before its batch: Next returns the
  // error again until Load moves on. Exceptions from the set become Internal errors. OutOfRange behind the
  // last of max_epochs.
  absl::StatusOr<Batch> Next() override;

  // Calls `body` for the batches from here to the end of the epoch; for none if max_epochs are over. Returns
  // the first error of a batch or of the body. The batch of a body that failed counts as read.
  absl::Status Epoch(const std::function<absl::Status(const Batch& batch)>& body);

  // Calls `body` for the next `count` batches, over the ends of epochs. OutOfRange if max_epochs end before.
  absl::Status Steps(int64_t count, const std::function<absl::Status(const Batch& batch)>& body);

  // Returns the tensors of a batch by their names, for Session::Run, and the batch's weights as `weights` if
  // that is not empty. They refer to the batch, the loader and `weights`.
  std::vector<Argument> Inputs(const Batch& batch, std::string_view weights = "") const;

  std::vector<std::string> names() const override;
  int64_t batches_per_epoch() const override;
  int64_t num_examples() const override;  // Examples of an epoch, of all ranks together.

  // Save gives "epoch=0 batch=3 seed=1 num_examples=60000 batch_size=256 order=shuffled last=keep". Load
  // returns InvalidArgument for other text, for another set size, batch, seed, order or last, which it names,
  // and for a batch that an epoch does not have.
  std::string Save() const override;
  absl::Status Load(std::string_view position) override;

  // Seconds that Next has waited for batches to be ready since Create, and the number of batches it returned.
  // If the seconds grow as fast as the clock, the set is the bottleneck: more workers or simpler maps help.
  double waited_seconds() const;
  int64_t batches_read() const;

 private:
  struct State;
  explicit Loader(std::unique_ptr<State> state);

  std::unique_ptr<State> state_;
};

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_LOADER_H_
