#include "sinter/runtime/cuda/driver/nccl_library.h"

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/host/library_loader.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// The first version with non-blocking communicators that can be aborted while they work.
constexpr int kLeastVersion = NCCL_VERSION(2, 19, 0);
constexpr int kNextMajor = NCCL_VERSION(3, 0, 0);

absl::Status Open(Nccl* f) {
  SINTER_ASSIGN_OR_RETURN(
      const OpenedLibrary library,
      OpenLibrary({.title = "NCCL", .file = "libnccl.so.2", .package = "nvidia-nccl-cu13"}));
  SINTER_RETURN_IF_ERROR(library.Find({
      {"ncclGetVersion", &f->GetVersion},
      {"ncclGetErrorString", &f->GetErrorString},
      {"ncclGetLastError", &f->GetLastError},
      {"ncclGetUniqueId", &f->GetUniqueId},
      {"ncclCommInitRankConfig", &f->CommInitRankConfig},
      {"ncclCommGetAsyncError", &f->CommGetAsyncError},
      {"ncclCommFinalize", &f->CommFinalize},
      {"ncclCommDestroy", &f->CommDestroy},
      {"ncclCommAbort", &f->CommAbort},
      {"ncclGroupStart", &f->GroupStart},
      {"ncclGroupEnd", &f->GroupEnd},
      {"ncclAllReduce", &f->AllReduce},
      {"ncclReduce", &f->Reduce},
      {"ncclBroadcast", &f->Broadcast},
      {"ncclAllGather", &f->AllGather},
      {"ncclReduceScatter", &f->ReduceScatter},
      {"ncclSend", &f->Send},
      {"ncclRecv", &f->Recv},
  }));
  int version = 0;
  SINTER_RETURN_IF_ERROR(f->Check(f->GetVersion(&version), "say its version"));
  return library.CheckVersion(
      {.wanted = "2.19 to 2.x",
       .found = absl::StrCat(version / 10000, ".", version / 100 % 100, ".", version % 100),
       .fits = version >= kLeastVersion && version < kNextMajor});
}

}  // namespace

absl::Status Nccl::Check(ncclResult_t code, std::string_view what) const {
  if (code == ncclSuccess || code == ncclInProgress) return absl::OkStatus();
  const char* const details = GetLastError(nullptr);
  return NcclStatus(code, what, details == nullptr ? "" : details);
}

absl::StatusOr<const Nccl*> LoadNccl() { return LoadOnce<Nccl, Open>(); }

}  // namespace sinter
