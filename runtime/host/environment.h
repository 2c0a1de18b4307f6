// Reads environment variables, safely for programs that run with elevated privileges.
//
//   Environment("SINTER_GPU_TUNE")   // The variable's text, or "".
//
// The result is empty if the variable is unset. It is also empty in a program with more rights than its user
// (setuid), because the user could otherwise choose the files that the program uses.
#ifndef SINTER_RUNTIME_HOST_ENVIRONMENT_H_
#define SINTER_RUNTIME_HOST_ENVIRONMENT_H_

#include <cstdlib>
#include <string>

namespace sinter {

inline std::string Environment(const char* name) {
  const char* const value = secure_getenv(name);
  return value == nullptr ? "" : value;
}

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_ENVIRONMENT_H_
