// Identifies a process, so that others on its machine can check whether it still exists.
//
//   ProcessIdentity own = ProcessIdentity::Own();           // Sent to other ranks as bytes.
//   if (peer.CanBeSeenBy(own) && peer.HasEnded()) ...
#ifndef SINTER_RUNTIME_MPI_PROCESS_IDENTITY_H_
#define SINTER_RUNTIME_MPI_PROCESS_IDENTITY_H_

#include <cstdint>

namespace sinter {

struct ProcessIdentity {
  int64_t pid = 0;
  char machine[64] = {};        // Boot ID of the machine.
  char pid_namespace[32] = {};  // A PID is unique only within its namespace.
  // Start time in kernel ticks since boot; 0 if unknown. Machines cloned while running share a boot ID, but
  // not the start times of processes.
  uint64_t started = 0;

  static ProcessIdentity Own();

  // True if `other` can check this process. This process must exist when `other` calls it.
  bool CanBeSeenBy(const ProcessIdentity& other) const;
  // True if the process has ended. Requires that the caller can see it. A zombie, not yet waited for, has not
  // ended.
  bool HasEnded() const;
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_MPI_PROCESS_IDENTITY_H_
