// Function pointers of cuDNN, loaded on first use.
//
//   SINTER_ASSIGN_OR_RETURN(const Cudnn* cudnn, LoadCudnn());
//   SINTER_RETURN_IF_ERROR(cudnn->Check(cudnn->Create(&handle), "make a handle"));
#ifndef SINTER_RUNTIME_CUDA_DRIVER_CUDNN_LIBRARY_H_
#define SINTER_RUNTIME_CUDA_DRIVER_CUDNN_LIBRARY_H_

#include <cudnn_graph.h>

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinter {

struct Cudnn {
  decltype(&cudnnGetVersion) GetVersion;
  decltype(&cudnnGetLastErrorString) GetLastErrorString;
  decltype(&cudnnCreate) Create;
  decltype(&cudnnDestroy) Destroy;
  decltype(&cudnnSetStream) SetStream;
  // The graph API, which cudnn_descriptors.h wraps.
  decltype(&cudnnBackendCreateDescriptor) CreateDescriptor;
  decltype(&cudnnBackendDestroyDescriptor) DestroyDescriptor;
  decltype(&cudnnBackendFinalize) Finalize;
  decltype(&cudnnBackendSetAttribute) SetAttribute;
  decltype(&cudnnBackendGetAttribute) GetAttribute;
  decltype(&cudnnBackendExecute) Execute;

  // Returns CudnnStatus with cuDNN's last error text.
  absl::Status Check(cudnnStatus_t code, std::string_view what) const;
};

// Returns the same pointer for the life of the process. FailedPrecondition as in library_loader.h; a failed
// load is retried on the next call.
absl::StatusOr<const Cudnn*> LoadCudnn();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_CUDNN_LIBRARY_H_
