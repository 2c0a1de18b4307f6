#include "sinter/frontend/data/named_batches.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/status.h"

namespace sinter {

NamedBatches::NamedBatches(BatchIterator batches, std::vector<std::string> names)
    : batches_(std::move(batches)), names_(std::move(names)) {}

absl::StatusOr<NamedBatches> NamedBatches::Create(BatchIterator batches, std::vector<std::string> names) {
  if (names.size() != batches.num_tensors())
    return absl::InvalidArgumentError(absl::StrCat("NamedBatches: ", names.size(), " names for batches of ",
                                                   batches.num_tensors(), " tensors; give each tensor one"));
  std::set<std::string> seen;
  for (const std::string& name : names) {
    if (name.empty()) return absl::InvalidArgumentError("NamedBatches: a name is empty");
    if (!seen.insert(name).second)
      return absl::InvalidArgumentError(
          absl::StrCat("NamedBatches: two tensors have the name \"", name, "\""));
  }
  return NamedBatches(std::move(batches), std::move(names));
}

absl::Status NamedBatches::Load(std::string_view position) {
  SINTER_ASSIGN_OR_RETURN(const BatchState state, BatchState::Parse(position));
  return batches_.Restore(state);
}

}  // namespace sinter
