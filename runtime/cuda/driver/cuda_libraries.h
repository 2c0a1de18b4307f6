// The CUDA libraries that Sinter may call, as this machine has them.
//
//   for (const LibraryReport& library : FindCudaLibraries()) std::cout << library.path << "\n";
//
// This header uses no CUDA type.
#ifndef SINTER_RUNTIME_CUDA_DRIVER_CUDA_LIBRARIES_H_
#define SINTER_RUNTIME_CUDA_DRIVER_CUDA_LIBRARIES_H_

#include <vector>

#include "sinter/runtime/memory/backend.h"

namespace sinter {

// Opens each library, which stays open for the life of the process. NVRTC is the compiler's; cuDNN needs it
// for some of its engines.
std::vector<LibraryReport> FindCudaLibraries();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_CUDA_LIBRARIES_H_
