// Sets of examples: read one at a time, in any order, by any number of threads.
//
//   SINTER_ASSIGN_OR_RETURN(data::Dataset set, data::Tensors({{"x", images}, {"t", labels}}));
//   data::Dataset scaled = set.Map([](data::Example e, SplitMix& bits) -> absl::StatusOr<data::Example> {
//     for (float& pixel : *e.fields[0].MutableSpan<float>()) pixel += bits.Uniform(-0.1f, 0.1f);
//     return e;
//   });
//   SINTER_ASSIGN_OR_RETURN(auto parts, data::Split(scaled, {0.9, 0.1}, /*seed=*/1));
//   SINTER_ASSIGN_OR_RETURN(auto loader, data::Loader::Create(parts[0], {.batch = 256}));  // loader.h
//
// An example is a list of tensors, its fields, in the order of the set's names. A set reads an example when
// it is asked for one and keeps none, so it may be larger than the main memory.
//
// Everything random takes its numbers from `bits`. A loader seeds them by (seed, epoch, example), so the
// batches of a run do not depend on the number of threads, on the number of ranks, or on an interruption.
#ifndef SINTER_FRONTEND_DATA_DATASET_H_
#define SINTER_FRONTEND_DATA_DATASET_H_

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/data/splitmix.h"
#include "sinter/runtime/tensor/named_tensor.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::data {

struct Example {
  std::vector<HostTensor> fields;  // One for each name of the set. A scalar has rank 0.
};

// The origin of examples. A program derives its own set from it. Several threads call Get at once.
class Source {
 public:
  virtual ~Source() = default;
  virtual int64_t size() const = 0;
  // Reads example `i`, 0 <= i < size(). An error names the file, if there is one.
  virtual absl::StatusOr<Example> Get(int64_t i, SplitMix& bits) const = 0;
  virtual std::vector<std::string> names() const = 0;  // Always the same.
};

// Changes an example. Several threads call it at once.
using MapFunction = std::function<absl::StatusOr<Example>(Example example, SplitMix& bits)>;

// A handle of a source: a copy is the same set.
class Dataset {
 public:
  // `source` is not null.
  explicit Dataset(std::shared_ptr<const Source> source)
      : source_(std::move(source)), num_fields_(source_->names().size()) {}

  int64_t size() const { return source_->size(); }
  std::vector<std::string> names() const { return source_->names(); }

  // Reads example `i`. OutOfRange if there is none. Internal if the source gives another number of fields
  // than it has names.
  absl::StatusOr<Example> Get(int64_t i, SplitMix& bits) const;

  // Returns the set whose examples are changed by `function`. `names`: those of the new fields; empty if they
  // stay. Get returns InvalidArgument if the function gives another number of fields.
  Dataset Map(MapFunction function, std::vector<std::string> names = {}) const;

 private:
  std::shared_ptr<const Source> source_;
  size_t num_fields_;
};

// The name and the value of a field of all examples, for a call of Tensors.
struct FieldRef {
  std::string name;
  const HostTensor& tensor;
};

// Sets in main memory. Example i has row i of each tensor. Tensors copies them. OwnTensors takes them; pass
// HostTensor::View to share memory that outlives the set. InvalidArgument: no tensor, a scalar, different
// numbers of rows, two equal names, or an empty name.
absl::StatusOr<Dataset> Tensors(std::initializer_list<FieldRef> fields);
absl::StatusOr<Dataset> OwnTensors(std::vector<NamedTensor> fields);

// The examples of all sets, one set after the other. InvalidArgument: no set, or different names.
absl::StatusOr<Dataset> Concat(std::vector<Dataset> sets);

// Example i is example indices[i] of `set`. InvalidArgument: an index that the set does not have.
absl::StatusOr<Dataset> Subset(const Dataset& set, std::vector<int64_t> indices);

// Example i has the fields of example i of all sets. InvalidArgument: no set, different sizes, or a name that
// two sets have.
absl::StatusOr<Dataset> Zip(std::vector<Dataset> sets);

// Divides the examples at random: each is in one part at most. Part k has shares[k] of the examples, rounded
// down; if the shares add up to 1, the last part takes what is left. Depends only on the set's size, the
// shares and the seed. InvalidArgument: no share, a share that is not above 0, or a sum above 1.
absl::StatusOr<std::vector<Dataset>> Split(const Dataset& set, const std::vector<double>& shares,
                                           uint64_t seed);

// The sets of a cross-validation: fold k is validated on a part of its own, and trained on all others.
struct Fold {
  Dataset train;
  Dataset validation;
};
// InvalidArgument for fewer than 2 folds, or more folds than examples.
absl::StatusOr<std::vector<Fold>> Folds(const Dataset& set, int64_t folds, uint64_t seed);

// Returns 0, 1, ..., size - 1 in random order: Fisher and Yates's shuffle, from the end.
std::vector<int64_t> Permutation(int64_t size, SplitMix bits);

}  // namespace sinter::data

#endif  // SINTER_FRONTEND_DATA_DATASET_H_
