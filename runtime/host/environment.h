// Environment("SINTER_GPU_TUNE"): the variable's text; empty where it is not set, and in a program with more rights than who
// runs it, who could name files to it.
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
