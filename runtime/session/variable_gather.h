// Reads a variable whose parts or terms several processes hold.
//
//   SINTER_ASSIGN_OR_RETURN(HostTensor whole, GatherVariable(variables, index, world, session));
//
// Each part is sent once to each other process, by the process of the first rank that holds it, in pieces
// that bound the memory beside the result. Of a sum, each process sends the sum of its terms.
#ifndef SINTER_RUNTIME_SESSION_VARIABLE_GATHER_H_
#define SINTER_RUNTIME_SESSION_VARIABLE_GATHER_H_

#include <cstddef>
#include <cstdint>

#include "absl/status/statusor.h"
#include "sinter/runtime/tensor/tensor.h"
#include "sinter/runtime/world/world.h"

namespace sinter::internal_session {

class SessionVariables;

// A call of all processes for the same variable. `session`: its number (World::Operation). Errors:
// FailedPrecondition if a process cannot read its part; those of AgreeOnCall.
absl::StatusOr<HostTensor> GatherVariable(const SessionVariables& variables, size_t index, World& world,
                                          uint32_t session);

}  // namespace sinter::internal_session

#endif  // SINTER_RUNTIME_SESSION_VARIABLE_GATHER_H_
