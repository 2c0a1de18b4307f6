#include "sinter/codegen/plan/copy_step.h"

#include "sinter/codegen/cuda/catalog/cuda_copy.h"
#include "sinter/codegen/places/buffer_region.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

absl::Status AddCopyStep(mlir::Value source, mlir::Value target, mlir::Operation* op, StepWriter& writer,
                         CudaKernels& cuda_kernels) {
  StepWriter::Step step;
  SINTER_ASSIGN_OR_RETURN(uint32_t from, writer.AddBuffer(source));
  SINTER_ASSIGN_OR_RETURN(uint32_t to, writer.AddBuffer(target));
  if (from == to) return absl::OkStatus();
  const uint64_t bytes = llvm::cast<plan_ir::BufferType>(source.getType()).getBytes();
  step.name = "copy";
  if (const std::optional<CudaCatalogLaunch> launch = CudaCopy(RegionOf(source), RegionOf(target))) {
    const uint32_t kernel = cuda_kernels.AddSource(launch->source());
    step.type = fb::StepBody::GpuKernelStep;
    step.body = fb::CreateGpuKernelStep(writer.builder(), kernel, launch->grid, launch->block, 0).Union();
  } else {
    step.type = fb::StepBody::CopyStep;
    step.body = fb::CreateCopyStep(writer.builder(), bytes).Union();
  }
  step.inputs = {from}, step.outputs = {to};
  step.bytes = 2.0 * bytes;
  writer.AddStep(step, op);
  return absl::OkStatus();
}

}  // namespace sinter::codegen
