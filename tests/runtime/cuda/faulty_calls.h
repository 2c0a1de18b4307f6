// Calls of CUDA's runtime, cuBLASLt, cuDNN and NCCL, between Sinter and the libraries: each may fail when a test wants it
// (fault_points.h), and what they make and destroy is counted. The linker puts them in place (--wrap), so that nothing of the
// runtime knows of them.
//
// Where there is no GPU, or SINTER_SOFTWARE_GPU=1 is set, those in software answer (software_gpu.h).
#ifndef SINTER_TESTS_RUNTIME_CUDA_FAULTY_CALLS_H_
#define SINTER_TESTS_RUNTIME_CUDA_FAULTY_CALLS_H_

#include <map>
#include <string>

namespace sinter {

bool UsesSoftwareGpu();

// How many there are of each kind that has been made: "stream", "memory", "communicator". None of a kind: 0 or not listed.
std::map<std::string, int> LiveObjects();

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_CUDA_FAULTY_CALLS_H_
