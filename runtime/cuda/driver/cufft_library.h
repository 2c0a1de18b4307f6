// Function pointers of cuFFT, loaded on first use.
//
//   SINTER_ASSIGN_OR_RETURN(const Cufft* cufft, LoadCufft());
//   SINTER_RETURN_IF_ERROR(CufftStatus(cufft->Create(&plan), "make a plan"));
#ifndef SINTER_RUNTIME_CUDA_DRIVER_CUFFT_LIBRARY_H_
#define SINTER_RUNTIME_CUDA_DRIVER_CUFFT_LIBRARY_H_

#include <cufft.h>

#include "absl/status/statusor.h"

namespace sinter {

struct Cufft {
  decltype(&cufftGetVersion) GetVersion;
  decltype(&cufftCreate) Create;
  decltype(&cufftDestroy) Destroy;
  decltype(&cufftSetAutoAllocation) SetAutoAllocation;
  decltype(&cufftMakePlanMany64) MakePlanMany64;
  decltype(&cufftSetStream) SetStream;
  decltype(&cufftSetWorkArea) SetWorkArea;
  decltype(&cufftExecC2C) ExecC2C;
  decltype(&cufftExecZ2Z) ExecZ2Z;
  decltype(&cufftExecR2C) ExecR2C;
  decltype(&cufftExecD2Z) ExecD2Z;
  decltype(&cufftExecC2R) ExecC2R;
  decltype(&cufftExecZ2D) ExecZ2D;
};

// Returns the same pointer for the life of the process. FailedPrecondition as in library_loader.h; a failed
// load is retried on the next call.
absl::StatusOr<const Cufft*> LoadCufft();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_CUFFT_LIBRARY_H_
