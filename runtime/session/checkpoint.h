// Checkpoints: saves and loads the variables of a session as a file of formats/safetensors.h.
//
//   SINTER_RETURN_IF_ERROR(SaveCheckpoint(session, "lenet.safetensors", {{"epoch", "3"}}));
//   SINTER_ASSIGN_OR_RETURN(Metadata metadata, LoadCheckpoint(session, "lenet.safetensors"));
//   metadata["epoch"]                                                  // "3"
//
// A checkpoint holds every variable: parameters, optimiser slots, running statistics, counters and the random
// state. A run of the same plan that continues from a checkpoint gives the same bits as an uninterrupted run,
// also with another number of threads (session.h gives the conditions). Logs (runtime/tensor/scalar_log.h)
// and index checks (runtime/execute/index_checks.h) are neither saved nor loaded. The whole file is written
// or nothing: after any error, such as a full disk, the old file is unchanged. Saving and loading use several
// threads and 4 MiB of memory for each, however large the variables are.
//
// The tensors of a file are whole, also if ranks of a mesh hold parts of the variables (VariableInfo::is_cut)
// or terms of their sum (VariableInfo::is_sum). Each rank writes and reads its parts of the file, so every
// mesh and number of processes writes the same bytes, and a checkpoint of one loads on any other. Among
// several processes both calls are then calls of all, in one folder that all see, with rank 0's metadata.
// Without such variables a process saves and loads alone: let only one save. A run that continues from sums
// that are not zero, those of an accumulation that has begun, equals the other up to the order of sums.
//
// Loading checks everything before it changes anything: the checksums, which cover every bit of the file,
// then each variable's name, element type and shape. One message lists all differences. After an error the
// session's variables are unchanged, with two exceptions: a device other than a CPU failed, or another
// process changed the file between the check and the load, as the message then says. So the file is read
// twice. It is read once if nothing has written the session's variables yet: after an error they get their
// initial values again.
//
// Older checkpoints of Sinter, whose headers have no checksum (runtime/formats/safetensors.h), load too.
// Their values are checked, their names and metadata are not. Files of other programs without checksums load
// only with LoadOptions::allow_unchecked.
#ifndef SINTER_RUNTIME_SESSION_CHECKPOINT_H_
#define SINTER_RUNTIME_SESSION_CHECKPOINT_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/formats/safetensors.h"
#include "sinter/runtime/session/session.h"

namespace sinter {

// Errors: those of SaveSafetensors. ResourceExhausted: the disk is full. With cut variables among several
// processes also FailedPrecondition: another process cannot write its parts, or sees another folder;
// InvalidArgument: another process makes another call; Unavailable: a process makes no call, or is lost.
absl::Status SaveCheckpoint(const Session& session, const std::string& path, const Metadata& metadata = {});

struct LoadOptions {
  // Empty: the file must hold exactly the session's variables. Otherwise loads only these: whole names
  // ("conv1.weight") or prefixes that end in '*' ("encoder.*"). Other variables keep their values; other
  // tensors of the file are ignored. Each entry must match at least one variable.
  std::vector<std::string> only;
  // Loads a file without checksums, such as pretrained weights of another program. Damage to such a file goes
  // undetected. A checkpoint of Sinter whose checksums are lost to damage also counts as unchecked.
  bool allow_unchecked = false;
};

// Returns the saved metadata. InvalidArgument lists every variable missing in the file, every tensor unknown
// to the session, every wrong element type and shape, and every entry of `only` without a match. DataLoss: a
// truncated or altered file. FailedPrecondition: a file without checksums, unless
// LoadOptions::allow_unchecked is set. Among several processes also the further errors of SaveCheckpoint.
absl::StatusOr<Metadata> LoadCheckpoint(Session& session, const std::string& path,
                                        const LoadOptions& options = {});

}  // namespace sinter

#endif  // SINTER_RUNTIME_SESSION_CHECKPOINT_H_
