// Which of a kernel's images a GPU runs.
//
//   BestImage({"sm_80", "sm_90"}, 9, 0)          // 1: the very architecture.
//   BestImage({"sm_80", "sm_90"}, 8, 9)          // 0: code for 8.0 runs on 8.9.
//   BestImage({"sm_90a"}, 10, 0)                 // -1: none.
//
// Code for X.Y runs on X.Z with Z >= Y. With the suffix "a" it runs on X.Y alone, with "f" as without one (CUDA C++
// Programming Guide, "Compute Capability and Feature Set Compiler Targets"). No CUDA type is seen here.
#ifndef SINTER_RUNTIME_CUDA_DRIVER_ARCHITECTURE_H_
#define SINTER_RUNTIME_CUDA_DRIVER_ARCHITECTURE_H_

#include <string_view>
#include <vector>

namespace sinter {

// The index of the image to load, or -1: the nearest architecture, and of equal ones the most special, then the first.
int BestImage(const std::vector<std::string_view>& architectures, int major, int minor);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_ARCHITECTURE_H_
