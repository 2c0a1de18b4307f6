#include "sinter/runtime/mpi/process_identity.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace sinter {
namespace {

// Returns field 22 of /proc/PID/stat (proc(5)); 0 if it cannot be read. Field 2 is a name in parentheses that
// may hold any characters.
uint64_t StartOf(int64_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/stat";
  std::FILE* const file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return 0;
  char text[1024] = {};
  const size_t length = std::fread(text, 1, sizeof(text) - 1, file);
  std::fclose(file);
  text[length] = '\0';
  const char* at = std::strrchr(text, ')');
  constexpr int kSpaces = 20;
  for (int i = 0; i < kSpaces && at != nullptr; ++i) at = std::strchr(at + 1, ' ');
  return at == nullptr ? 0 : std::strtoull(at + 1, nullptr, 10);
}

}  // namespace

ProcessIdentity ProcessIdentity::Own() {
  ProcessIdentity own;
  own.pid = getpid();
  own.started = StartOf(own.pid);
  if (std::FILE* file = std::fopen("/proc/sys/kernel/random/boot_id", "r"); file != nullptr) {
    if (std::fgets(own.machine, sizeof(own.machine), file) == nullptr) own.machine[0] = '\0';
    std::fclose(file);
  }
  const ssize_t length = readlink("/proc/self/ns/pid", own.pid_namespace, sizeof(own.pid_namespace) - 1);
  if (length < 0) own.pid_namespace[0] = '\0';
  return own;
}

bool ProcessIdentity::CanBeSeenBy(const ProcessIdentity& other) const {
  // Identities with unread fields match no process.
  return machine[0] != '\0' && pid_namespace[0] != '\0' && std::strcmp(machine, other.machine) == 0 &&
         std::strcmp(pid_namespace, other.pid_namespace) == 0 && started != 0 && StartOf(pid) == started;
}

bool ProcessIdentity::HasEnded() const {
  if (kill(static_cast<pid_t>(pid), 0) != 0) return errno == ESRCH;
  // Another process may have reused the PID.
  const uint64_t now = StartOf(pid);
  return now != 0 && now != started;
}

}  // namespace sinter
