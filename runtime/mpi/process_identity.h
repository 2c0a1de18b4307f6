// Names a process, so that others on its machine can see whether it still exists.
//
//   ProcessIdentity own = ProcessIdentity::Own();           // Sent to others, as bytes.
//   if (own.CanBeSeenBy(other) && own.HasEnded()) ...
#ifndef SINTER_RUNTIME_MPI_PROCESS_IDENTITY_H_
#define SINTER_RUNTIME_MPI_PROCESS_IDENTITY_H_

#include <cstdint>

namespace sinter {

struct ProcessIdentity {
  int64_t pid = 0;
  char machine[64] = {};        // Of this start of it.
  char pid_namespace[32] = {};  // A number means the same process only in one.
  // Since the machine's start, in the kernel's ticks; 0: not known. Machines that were cloned while they ran have one name, but
  // not the same processes.
  uint64_t started = 0;

  static ProcessIdentity Own();

  // Of a process that exists now, asked by the other one.
  bool CanBeSeenBy(const ProcessIdentity& other) const;
  // Of a process that this one can see. One that nobody has waited for yet has not ended.
  bool HasEnded() const;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_MPI_PROCESS_IDENTITY_H_
