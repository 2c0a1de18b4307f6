// A batch of Fourier transforms as a plan of cuFFT, made once and run any number of times.
//
//   const TransformShape shape = {.kind = TransformKind::kToReal, .batch = 64, .n = 512};
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<CufftPlan> plan, CufftPlan::Create(context, shape));
//   SINTER_RETURN_IF_ERROR(plan->Launch(x, y, workspace));          // plan->workspace_bytes() bytes.
//
// Operands are dense: complex numbers are pairs [re, im], of which a real transform has n / 2 + 1. Nothing is
// scaled. Launch only enqueues, on the context's stream, and allocates nothing, so it can be captured. A plan
// outlives the work that it enqueued, and the graphs that captured it.
#ifndef SINTER_RUNTIME_CUDA_CUFFT_CUFFT_PLAN_H_
#define SINTER_RUNTIME_CUDA_CUFFT_CUFFT_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/cuda/driver/cufft_library.h"

namespace sinter {

enum class TransformKind { kComplex, kFromReal, kToReal };

struct TransformShape {
  TransformKind kind = TransformKind::kComplex;
  bool is_f64 = false;
  bool inverse = false;  // The sign of the exponent, for kComplex.
  int64_t batch = 1;     // At least 1.
  int64_t n = 1;         // At least 1.

  int64_t half() const { return n / 2 + 1; }
  size_t real_bytes() const { return is_f64 ? sizeof(double) : sizeof(float); }
};

class CufftPlan {
 public:
  // FailedPrecondition: the library is not there (runtime/host/library_loader.h). Unimplemented: it does not
  // support the sizes.
  static absl::StatusOr<std::unique_ptr<CufftPlan>> Create(const CudaContext& context,
                                                           const TransformShape& shape);
  ~CufftPlan();
  CufftPlan(const CufftPlan&) = delete;
  CufftPlan& operator=(const CufftPlan&) = delete;

  const TransformShape& shape() const { return shape_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  // `workspace` is aligned to 256 bytes; x and y may be the same memory for kComplex. A transform kToReal may
  // overwrite x.
  absl::Status Launch(void* x, void* y, void* workspace);

 private:
  CufftPlan(const CudaContext& context, const TransformShape& shape, const Cufft* functions)
      : index_(context.index()), shape_(shape), functions_(functions) {}

  absl::Status Make(cudaStream_t stream);
  cufftResult Execute(void* x, void* y) const;

  int index_;
  TransformShape shape_;
  const Cufft* functions_;
  cufftHandle plan_ = CUFFT_PLAN_NULL;
  size_t workspace_bytes_ = 0;
  std::optional<void*> workspace_;  // As the library knows it.
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_CUFFT_CUFFT_PLAN_H_
