// The step that copies one buffer to another.
//
//   SINTER_RETURN_IF_ERROR(AddCopyStep(copy.getSource(), copy.getTarget(), copy, writer, cuda_kernels));
#ifndef SINTER_CODEGEN_PLAN_COPY_STEP_H_
#define SINTER_CODEGEN_PLAN_COPY_STEP_H_

#include "absl/status/status.h"
#include "sinter/codegen/cuda/cuda_kernels.h"
#include "sinter/codegen/steps/step_writer.h"

namespace sinter::codegen {

// Adds the step to `writer`, with the line and the device of `op`; none if both are the same bytes.
absl::Status AddCopyStep(mlir::Value source, mlir::Value target, mlir::Operation* op, StepWriter& writer,
                         CudaKernels& cuda_kernels);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLAN_COPY_STEP_H_
