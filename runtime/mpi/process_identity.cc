#include "sinter/runtime/mpi/process_identity.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace sinter {

ProcessIdentity ProcessIdentity::Own() {
  ProcessIdentity own;
  own.pid = getpid();
  if (std::FILE* file = std::fopen("/proc/sys/kernel/random/boot_id", "r"); file != nullptr) {
    if (std::fgets(own.machine, sizeof(own.machine), file) == nullptr) own.machine[0] = '\0';
    std::fclose(file);
  }
  const ssize_t length = readlink("/proc/self/ns/pid", own.pid_namespace, sizeof(own.pid_namespace) - 1);
  if (length < 0) own.pid_namespace[0] = '\0';
  return own;
}

bool ProcessIdentity::CanBeSeenBy(const ProcessIdentity& other) const {
  // What could not be read is nobody's.
  return machine[0] != '\0' && pid_namespace[0] != '\0' && std::strcmp(machine, other.machine) == 0 &&
         std::strcmp(pid_namespace, other.pid_namespace) == 0;
}

bool ProcessIdentity::HasEnded() const { return kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH; }

}  // namespace sinter
