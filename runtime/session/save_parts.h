// Saves variables of a session in one file, which all processes of the session write.
//
//   SINTER_RETURN_IF_ERROR(SaveParts(state, peers, variables, path, metadata));  // A call of all processes.
//
// checkpoint.h describes the files, which do not show how variables are cut. Rank 0 makes the temporary file
// of an AtomicFile, with a random text in the place of the header's hash. The others open it in their folder
// and look for the text: it is missing if the folder is another one. Each part is written by the process of
// the first rank that holds it. All processes read a sum (VariableInfo::is_sum) together, and one of them
// writes it; otherwise no process has a whole cut tensor in memory. The CRC of a tensor is made of its parts'
// terms (formats/part_crc.h). After all parts are durable, rank 0 writes the header and renames the file.
#ifndef SINTER_RUNTIME_SESSION_SAVE_PARTS_H_
#define SINTER_RUNTIME_SESSION_SAVE_PARTS_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "sinter/runtime/formats/safetensors.h"
#include "sinter/runtime/session/session_peers.h"
#include "sinter/runtime/session/session_state.h"

namespace sinter::internal_session {

// Saves the variables of these indices. A process alone has them all, whole. Errors as
// SaveCheckpoint.
absl::Status SaveParts(SessionState& state, const SessionPeers& peers, const std::vector<size_t>& variables,
                       const std::string& path, const Metadata& metadata);

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_SESSION_SAVE_PARTS_H_
