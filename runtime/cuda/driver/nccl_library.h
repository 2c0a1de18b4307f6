// Function pointers of NCCL, loaded on first use.
//
//   SINTER_ASSIGN_OR_RETURN(const Nccl* nccl, LoadNccl());
//   SINTER_RETURN_IF_ERROR(nccl->Check(nccl->GetUniqueId(&id), "make an id"));
#ifndef SINTER_RUNTIME_CUDA_DRIVER_NCCL_LIBRARY_H_
#define SINTER_RUNTIME_CUDA_DRIVER_NCCL_LIBRARY_H_

#include <nccl.h>

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinter {

struct Nccl {
  decltype(&ncclGetVersion) GetVersion;
  decltype(&ncclGetErrorString) GetErrorString;
  decltype(&ncclGetLastError) GetLastError;
  decltype(&ncclGetUniqueId) GetUniqueId;
  decltype(&ncclCommInitRankConfig) CommInitRankConfig;
  decltype(&ncclCommGetAsyncError) CommGetAsyncError;
  decltype(&ncclCommFinalize) CommFinalize;
  decltype(&ncclCommDestroy) CommDestroy;
  decltype(&ncclCommAbort) CommAbort;
  decltype(&ncclGroupStart) GroupStart;
  decltype(&ncclGroupEnd) GroupEnd;
  decltype(&ncclAllReduce) AllReduce;
  decltype(&ncclReduce) Reduce;
  decltype(&ncclBroadcast) Broadcast;
  decltype(&ncclAllGather) AllGather;
  decltype(&ncclReduceScatter) ReduceScatter;
  decltype(&ncclSend) Send;
  decltype(&ncclRecv) Recv;

  // Returns NcclStatus with NCCL's last error text. ncclInProgress is OK, because the communicators are
  // non-blocking.
  absl::Status Check(ncclResult_t code, std::string_view what) const;
};

// Returns the same pointer for the life of the process. FailedPrecondition as in library_loader.h; a failed
// load is retried on the next call.
absl::StatusOr<const Nccl*> LoadNccl();

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_NCCL_LIBRARY_H_
