// Checkpoints: the variables of a session in a safetensors file (runtime/formats/safetensors.h).
//
//   SINTER_RETURN_IF_ERROR(SaveCheckpoint(session, "lenet.safetensors", {{"epoch", "3"}}));
//   SINTER_ASSIGN_OR_RETURN(Metadata metadata, LoadCheckpoint(session, "lenet.safetensors"));
//   metadata["epoch"]                                                  // "3"
//
// Saved is every variable: parameters, optimiser slots, running statistics, counters and the random state, so that a
// run of the same plan that goes on from a checkpoint gives the same bits as one that was never interrupted, with another number
// of threads too (session.h says where this holds). Logs (runtime/tensor/scalar_log.h) are
// neither saved nor loaded. The file is written whole
// or not at all: after any error, a full disk included, the old file is what it was. Saving takes no memory that grows
// with the variables: values go to the file from where they are, one variable after the other.
//
// Loading checks everything before it changes anything: the checksums, which cover every bit of the file, then each
// variable's name, element type and shape, with all differences in one message. After an error the session's variables are
// what they were, unless it is a device other than a CPU that failed, or another process wrote to the file between the check
// and the load: the message then says how many variables were written. The file is read twice, and of its values no more
// than one variable is in memory at a time.
//
// Checkpoints of Sinter before their headers were covered (runtime/formats/safetensors.h) load: their values are checked, their names and metadata
// are not. A file without checksums, as other programs write them, loads where LoadOptions::allow_unchecked says so.
#ifndef SINTER_RUNTIME_SESSION_CHECKPOINT_H_
#define SINTER_RUNTIME_SESSION_CHECKPOINT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/formats/safetensors.h"
#include "sinter/runtime/session/session.h"

namespace sinter {

// Errors: those of SaveSafetensors, ResourceExhausted for a full disk.
absl::Status SaveCheckpoint(const Session& session, const std::string& path, const Metadata& metadata = {});

struct LoadOptions {
  // Empty: the file must hold exactly the session's variables. Otherwise only these are loaded: whole names
  // ("conv1.weight"), or prefixes that end in '*' ("encoder.*"); the other variables keep their values and whatever
  // else the file holds is not looked at. Each entry must name at least one variable.
  std::vector<std::string> only;
  // Loads a file that carries no checksums: another program's, pretrained weights for instance. Nothing shows then that it
  // is damaged. A checkpoint of Sinter whose checksums are damaged away looks like one, too.
  bool allow_unchecked = false;
};

// Returns the metadata that was saved. InvalidArgument lists every variable that the file lacks, every tensor that the
// session lacks, every wrong element type and shape, and every entry of `only` that names nothing. DataLoss: a truncated
// or altered file. FailedPrecondition: a file without checksums, without LoadOptions::allow_unchecked.
absl::StatusOr<Metadata> LoadCheckpoint(Session& session, const std::string& path,
                                        const LoadOptions& options = {});

}  // namespace sinter

#endif  // SINTER_RUNTIME_SESSION_CHECKPOINT_H_
