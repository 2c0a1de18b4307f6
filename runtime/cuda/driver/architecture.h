// Selects which of a kernel's images a GPU runs.
//
//   BestImage({"sm_80", "sm_90"}, 9, 0)          // 1: exact match.
//   BestImage({"sm_80", "sm_90"}, 8, 9)          // 0: code for 8.0 runs on 8.9.
//   BestImage({"sm_90a"}, 10, 0)                 // -1: none.
//
// Code for X.Y runs on X.Z with Z >= Y. With the suffix "a" it runs on X.Y alone. With "f" it runs as without
// a suffix (CUDA C++ Programming Guide, "Compute Capability and Feature Set Compiler Targets"). This header
// uses no CUDA type.
#ifndef SINTER_RUNTIME_CUDA_DRIVER_ARCHITECTURE_H_
#define SINTER_RUNTIME_CUDA_DRIVER_ARCHITECTURE_H_

#include <string_view>
#include <vector>

namespace sinter {

// Returns the index of the image to load, or -1 if no image runs on the GPU. Prefers the nearest
// architecture, then the most specialized image ("a", "f", none), then the first in the list.
int BestImage(const std::vector<std::string_view>& architectures, int major, int minor);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_ARCHITECTURE_H_
