// Generates fused plan.calls as functions of one MLIR module, ready for lower_kernels_to_llvm.h.
// The module uses the dialects func, scf, arith, math and llvm.
//
//   KernelModule kernels(context);
//   SINTER_ASSIGN_OR_RETURN(std::vector<KernelLaunch> launches, kernels.AddCall(call));  // In order.
//   kernels.module();
//
// A kernel is void(void* const* buffers, int64_t begin, int64_t end, void* scratch); it computes the units
// [begin, end) of [0, units). `buffers` are the launch's inputs, then its outputs. Equal kernels share one
// symbol. Jobs that differ only in their pointers and their length share one loop, and many of them one call
// of it, so the code does not grow with the number of parameters or layers.
#ifndef SINTER_CODEGEN_CPU_FUSED_KERNEL_H_
#define SINTER_CODEGEN_CPU_FUSED_KERNEL_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "sinter/codegen/cpu/streamed_slots.h"
#include "sinter/codegen/loops/fused_launches.h"
#include "sinter/codegen/loops/job_forms.h"
#include "sinter/codegen/loops/loop_target.h"

namespace sinter::codegen {

struct KernelLaunch {
  std::string symbol;
  int64_t units = 0;
  int64_t grain = 1;          // The least units worth a thread.
  int64_t scratch_bytes = 0;  // Bytes for each thread.
  std::vector<Slot> inputs, outputs;
  double flops = 0;
  double bytes = 0;  // Bytes read and written, each buffer counted once.
};

class KernelModule {
 public:
  explicit KernelModule(mlir::MLIRContext* context);
  ~KernelModule();

  absl::StatusOr<std::vector<KernelLaunch>> AddCall(plan_ir::CallOp call);
  // The same for a call that is cut already (SplitIntoLaunches with CpuLoopTarget).
  std::vector<KernelLaunch> AddLaunches(plan_ir::CallOp call, FusedLaunches& cut);

  mlir::ModuleOp module() { return *module_; }
  bool empty() const { return kernels_.empty(); }

 private:
  struct JobCall;

  KernelLaunch AddLaunch(const CallSlots& slots, std::vector<Job>& jobs);
  JobCall AddJob(const CallSlots& slots, Job& job);
  mlir::func::FuncOp EmitJob(const CallSlots& slots, Job& job, LoopSchedule& schedule,
                             llvm::ArrayRef<StreamedSlot> streamed, JobCall& result);
  mlir::func::FuncOp EmitKernel(mlir::Location loc, llvm::ArrayRef<JobCall> jobs,
                                const LaunchBuffers& buffers);
  mlir::func::FuncOp EmitCalls(mlir::Location loc, llvm::ArrayRef<const JobCall*> jobs, bool alone,
                               const LaunchBuffers& buffers);
  mlir::func::FuncOp EmitLoop(mlir::Location loc, llvm::ArrayRef<const JobCall*> jobs,
                              const LaunchBuffers& buffers);
  mlir::LLVM::GlobalOp TableOf(mlir::Location loc, const std::vector<int64_t>& table);
  mlir::func::FuncOp AddKernel(mlir::Location loc);
  // Returns the name of an equal function if there is one; else gives `function` its own name.
  std::string Share(mlir::func::FuncOp function, llvm::StringMap<std::string>& known,
                    const std::string& name);

  mlir::OwningOpRef<mlir::ModuleOp> module_;
  llvm::StringMap<std::string> bodies_, parts_, kernels_;
  std::map<std::vector<int64_t>, mlir::LLVM::GlobalOp> tables_;
  ByJobForm<JobCall> known_jobs_;  // Jobs of one call.
};

// How CPUs cut jobs.
const LoopTarget& CpuLoopTarget();

// Name prefix of functions that kernels call: functions with loops, and parts of kernels with many jobs.
inline constexpr char kBodyPrefix[] = "body_";

// Attribute of such a function for streaming: StreamedSlot::distance of each pointer, or kNotStreamed.
inline constexpr char kStreamedDistances[] = "streamed_distances";
inline constexpr int64_t kNotStreamed = -1;

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CPU_FUSED_KERNEL_H_
