// A BatchIterator as a stream of batches whose tensors have names (frontend/data/batch_stream.h).
//
//   SINTER_ASSIGN_OR_RETURN(BatchIterator batches, BatchIterator::Create(std::move(tensors), options));
//   SINTER_ASSIGN_OR_RETURN(auto stream, NamedBatches::Create(std::move(batches), {"x", "t"}));
//   SINTER_ASSIGN_OR_RETURN(Batch batch, stream.Next());                 // batch.tensors[0] is for "x".
#ifndef SINTER_FRONTEND_DATA_NAMED_BATCHES_H_
#define SINTER_FRONTEND_DATA_NAMED_BATCHES_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/frontend/data/batch_stream.h"
#include "sinter/frontend/data/batches.h"

namespace sinter {

class NamedBatches : public BatchStream {
 public:
  // InvalidArgument: the number of names is not that of the iterator's tensors, or a name is empty or
  // repeated.
  static absl::StatusOr<NamedBatches> Create(BatchIterator batches, std::vector<std::string> names);

  absl::StatusOr<Batch> Next() override { return batches_.Next(); }
  std::vector<std::string> names() const override { return names_; }
  int64_t batches_per_epoch() const override { return batches_.batches_per_epoch(); }
  int64_t num_examples() const override { return batches_.num_examples(); }
  std::string Save() const override { return batches_.state().ToText(); }
  absl::Status Load(std::string_view position) override;

 private:
  NamedBatches(BatchIterator batches, std::vector<std::string> names);

  BatchIterator batches_;
  std::vector<std::string> names_;
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_DATA_NAMED_BATCHES_H_
