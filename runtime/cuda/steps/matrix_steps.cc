#include "sinter/runtime/cuda/steps/matrix_steps.h"

#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/driver/cuda_handles.h"
#include "sinter/runtime/cuda/driver/cuda_status.h"
#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

// Alignment of the parts of a workspace.
constexpr size_t kMatrixAlignment = 256;

}  // namespace

absl::Status MatrixStep::Run(const StepArgs& args) {
  const CudaDeviceScope on(session_.index());
  return session_.Call([&] { return Enqueue(args); });
}

MatrixStep::Part MatrixStep::AddPart(size_t bytes) {
  const Part part = {workspace_bytes_, bytes};
  workspace_bytes_ += RoundUp(bytes, kMatrixAlignment);
  return part;
}

absl::Status MatrixStep::AddWork(int elements, Part* part) {
  if (elements < 0) {
    return absl::UnimplementedError(absl::StrCat("cuSOLVER cannot count its workspace for matrices of ",
                                                 shape_.rows, " x ", shape_.columns,
                                                 ": place the call on a CPU"));
  }
  *part = AddElements(elements);
  return absl::OkStatus();
}

absl::Status MatrixStep::Copy(kernels::MatrixCopyParameters parameters) const {
  parameters.is_f64 = shape_.is_f64 ? 1 : 0;
  return session_.kernels().Copy(parameters, stream());
}

absl::Status MatrixStep::Check(const void* from, uint32_t* bad, bool only_lower) const {
  SINTER_RETURN_IF_ERROR(Clear(bad, static_cast<size_t>(shape_.batch) * sizeof(uint32_t)));
  return session_.kernels().Check({.from = from,
                                   .bad = bad,
                                   .batch = static_cast<uint64_t>(shape_.batch),
                                   .size = static_cast<uint64_t>(shape_.rows * shape_.columns),
                                   .columns = only_lower ? static_cast<uint64_t>(shape_.columns) : 0,
                                   .is_f64 = shape_.is_f64 ? 1u : 0u},
                                  stream());
}

absl::Status MatrixStep::ListMatrices(const Matrices& a, const Matrices& b) const {
  return session_.kernels().Pointers(
      {.list = {static_cast<uint64_t*>(a.list), static_cast<uint64_t*>(b.list)},
       .first = {reinterpret_cast<uint64_t>(a.first), reinterpret_cast<uint64_t>(b.first)},
       .bytes = {a.bytes, b.bytes},
       .count = static_cast<uint64_t>(shape_.batch)},
      stream());
}

absl::Status MatrixStep::CopyBytes(void* to, const void* from, size_t bytes) const {
  if (to == from) return absl::OkStatus();
  return CudaStatus(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream()), "copy matrices");
}

absl::Status MatrixStep::Clear(void* to, size_t bytes) const {
  return CudaStatus(cudaMemsetAsync(to, 0, bytes, stream()), "fill memory");
}

}  // namespace sinter
