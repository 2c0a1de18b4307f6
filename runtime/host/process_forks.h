// Counts forks of this process, to detect use in a child: threads, GPUs and MPI do not survive a fork.
//
//   const uint32_t made_in = ForkCount();
//   ...
//   if (ForkCount() != made_in) return absl::FailedPreconditionError(...);
#ifndef SINTER_RUNTIME_HOST_PROCESS_FORKS_H_
#define SINTER_RUNTIME_HOST_PROCESS_FORKS_H_

#include <cstdint>

namespace sinter {

// Number of forks between the first call (in this process or an ancestor) and now. Costs a nanosecond.
uint32_t ForkCount();

}  // namespace sinter

#endif  // SINTER_RUNTIME_HOST_PROCESS_FORKS_H_
