// True if this process is a child, made by fork, of the one that did something: threads, GPUs and MPI do not come along.
//
//   const uint32_t made_in = ForkCount();
//   ...
//   if (ForkCount() != made_in) return absl::FailedPreconditionError(...);
#ifndef SINTER_RUNTIME_HOST_PROCESS_FORKS_H_
#define SINTER_RUNTIME_HOST_PROCESS_FORKS_H_

#include <cstdint>

namespace sinter {

// How many forks lie between the first call, in this process or in one that it comes from, and now. A nanosecond.
uint32_t ForkCount();

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_PROCESS_FORKS_H_
