// Checkpoints of sessions whose variables are cut: each process writes and reads the parts that it holds.
// No process has a whole cut tensor in memory, but for one sum at a time (VariableInfo::is_sum). checkpoint.h
// describes the files, which do not show the cuts.
//
//   SINTER_RETURN_IF_ERROR(SaveParts(state, path, metadata));        // A call of all processes.
//
// Saving: rank 0 makes the temporary file of an AtomicFile, with a random text in the place of the header's
// hash. The others open it in their folder and look for the text: it is missing if the folder is another one.
// Each part is written by the process of the first rank that holds it. All processes read a sum together, and
// one of them writes it. The CRC of a tensor is made of its
// parts' terms (formats/part_crc.h). After all parts are durable, rank 0 writes the header and renames the
// file.
//
// Loading: the processes check the file together, each the parts that it holds, and compare the parts' terms.
// Only then do they read again and write the variables. The first ranks take a sum; it is zero on the others.
#ifndef SINTER_RUNTIME_SESSION_CUT_CHECKPOINT_H_
#define SINTER_RUNTIME_SESSION_CUT_CHECKPOINT_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/formats/safetensors.h"
#include "sinter/runtime/session/session_state.h"

namespace sinter::internal_session {

// Saves the variables of these indices. Errors as SaveCheckpoint.
absl::Status SaveParts(SessionState& state, const std::vector<size_t>& variables, const std::string& path,
                       const Metadata& metadata);

// A variable to load, and its tensor in the file.
struct LoadedPart {
  size_t variable;
  size_t entry;
};

// All processes of the session call it with the same `file` and variables. `own`: an error if this process
// has found one before. `file` is null then. Errors as LoadCheckpoint.
absl::Status LoadParts(SessionState& state, const SafetensorsFile* file,
                       const std::vector<LoadedPart>& variables, const absl::Status& own);

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_SESSION_CUT_CHECKPOINT_H_
