// Generates fused plan.calls as CUDA C++ kernels, one source each.
//
//   CudaKernels kernels;
//   SINTER_ASSIGN_OR_RETURN(std::vector<CudaLaunch> launches, kernels.AddCall(call));  // In order.
//   kernels.sources()[launches[0].kernel].text
//
// A kernel takes one struct of pointers by value: the launch's inputs, then its outputs. Equal kernels share
// one source, even for different calls: the name consists of the ops and a hash of the text.
#ifndef SINTER_CODEGEN_CUDA_CUDA_KERNELS_H_
#define SINTER_CODEGEN_CUDA_CUDA_KERNELS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "sinter/codegen/cuda/cuda_source.h"
#include "sinter/codegen/loops/fused_launches.h"
#include "sinter/codegen/loops/job_forms.h"

namespace sinter::codegen {

struct CudaLaunch {
  uint32_t kernel = 0;  // Index in sources().
  int64_t grid = 0, block = 0;
  std::vector<Slot> inputs, outputs;
  double flops = 0;
  double bytes = 0;  // Bytes read and written, each buffer counted once.
};

class CudaKernels {
 public:
  explicit CudaKernels(mlir::MLIRContext* context);
  ~CudaKernels();

  // UNIMPLEMENTED, with the user's line, for a call with more buffers than a kernel may have parameters. Not
  // in a pass: the first call loads dialects.
  absl::StatusOr<std::vector<CudaLaunch>> AddCall(plan_ir::CallOp call);
  // The same for a call that is cut already (SplitIntoLaunches with CudaLoopTarget).
  absl::StatusOr<std::vector<CudaLaunch>> AddLaunches(plan_ir::CallOp call, FusedLaunches& cut);
  // Adds a source made elsewhere, such as a kernel of the catalogue, and returns its index.
  uint32_t AddSource(CudaSource source);

  const std::vector<CudaSource>& sources() const { return sources_; }

 private:
  struct JobCall;
  struct KernelText;

  absl::StatusOr<CudaLaunch> AddLaunch(const CallSlots& slots, std::vector<Job>& jobs);
  JobCall AddJob(const CallSlots& slots, Job& job, bool alone, const SlotList& written);
  JobCall EmitJob(const CallSlots& slots, Job& job, bool alone, const SlotList& written,
                  const SlotList& parameters);

  mlir::MLIRContext* context_;
  mlir::OwningOpRef<mlir::ModuleOp>
      scratch_;  // Holds functions until they are printed. Null before the first.
  std::vector<CudaSource> sources_;
  llvm::StringMap<uint32_t> known_;
  ByJobForm<JobCall> known_jobs_;  // Jobs of one call.
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_KERNELS_H_
