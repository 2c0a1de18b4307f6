// Loads variables of a session from one file, which all processes of the session read.
//
//   SINTER_RETURN_IF_ERROR(LoadParts(state, peers, &file, loaded, own));    // A call of all processes.
//
// The processes check the file together, each the parts that it holds, and compare the parts' terms
// (formats/part_crc.h). If the variables have their initial values, each part is written as it is read; after
// an error all get their initial values again. Otherwise the file is read once more after the check, and the
// variables are written then. The first ranks take a sum (VariableInfo::is_sum); it is zero on the others.
#ifndef SINTER_RUNTIME_SESSION_LOAD_PARTS_H_
#define SINTER_RUNTIME_SESSION_LOAD_PARTS_H_

#include <cstddef>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/formats/safetensors.h"
#include "sinter/runtime/session/session_peers.h"
#include "sinter/runtime/session/session_state.h"

namespace sinter::internal_session {

// A variable to load, and its tensor in the file.
struct LoadedPart {
  size_t variable;
  size_t entry;
};

// All processes of the session call it with the same `file` and variables. A process alone loads the
// variables that it has, which are whole. `own`: an error if this process has found one before. `file` is
// null then. Errors as LoadCheckpoint.
absl::Status LoadParts(SessionState& state, const SessionPeers& peers, const SafetensorsFile* file,
                       const std::vector<LoadedPart>& variables, const absl::Status& own);

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_SESSION_LOAD_PARTS_H_
