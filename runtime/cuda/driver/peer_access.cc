#include "sinter/runtime/cuda/driver/peer_access.h"

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/driver/cuda_handles.h"
#include "sinter/runtime/host/environment.h"

namespace sinter {
namespace {

absl::StatusOr<bool> Enable(int reader, int owner) {
  int possible = 0;
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaDeviceCanAccessPeer(&possible, reader, owner),
                                    absl::StrCat("ask whether gpu:", reader, " reaches gpu:", owner)));
  if (possible == 0) return false;
  const CudaDeviceScope on(reader);
  SINTER_RETURN_IF_ERROR(on.status());
  const cudaError_t code = cudaDeviceEnablePeerAccess(owner, 0);
  if (code == cudaErrorPeerAccessAlreadyEnabled) {
    // Other CUDA code in the program has enabled it.
    (void)cudaGetLastError();
    return true;
  }
  SINTER_RETURN_IF_ERROR(CudaStatus(code, absl::StrCat("let gpu:", reader, " reach gpu:", owner)));
  return true;
}

}  // namespace

absl::StatusOr<bool> PeerAccessIsDisabled() {
  const std::string text = Environment("SINTER_DISABLE_P2P");
  if (text.empty() || text == "0") return false;
  if (text == "1") return true;
  return absl::InvalidArgumentError(absl::StrCat(
      "SINTER_DISABLE_P2P is \"", text, "\": write 1 to copy between GPUs through main memory, or 0"));
}

absl::StatusOr<bool> EnablePeerAccess(int reader, int owner) {
  SINTER_ASSIGN_OR_RETURN(const bool disabled, PeerAccessIsDisabled());
  if (disabled) return false;
  if (reader == owner) return true;
  static std::mutex mutex;
  static std::map<std::pair<int, int>, bool> answers;
  const std::lock_guard lock(mutex);
  const auto known = answers.find({reader, owner});
  if (known != answers.end()) return known->second;
  SINTER_ASSIGN_OR_RETURN(const bool answer, Enable(reader, owner));
  return answers[{reader, owner}] = answer;
}

}  // namespace sinter
