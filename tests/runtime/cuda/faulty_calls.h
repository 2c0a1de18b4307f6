// Wraps the calls of CUDA's runtime, cuBLASLt, cuDNN and NCCL, to make them fail and count their objects.
// A test selects the call that fails (fault_points.h). The linker inserts the wrappers (--wrap), so the
// runtime needs no changes.
//
// If there is no GPU, or SINTER_SOFTWARE_GPU=1 is set, GPUs in software answer the calls
// (software/software_gpu.h).
#ifndef SINTER_TESTS_RUNTIME_CUDA_FAULTY_CALLS_H_
#define SINTER_TESTS_RUNTIME_CUDA_FAULTY_CALLS_H_

#include <map>
#include <string>

namespace sinter {

bool UsesSoftwareGpu();

// Returns the number of live objects of each kind: "stream", "memory", "communicator". Kinds without objects
// are 0 or missing.
std::map<std::string, int> LiveObjects();

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_CUDA_FAULTY_CALLS_H_
