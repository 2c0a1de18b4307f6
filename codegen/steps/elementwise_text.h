// The C++ text of a user kernel, equal for both compilers except for the last function.
//
//   ElementwiseText text = CpuElementwiseText(op);       // For the Clang library.
//   ElementwiseText text = CudaElementwiseText(op);      // For NVRTC, after kernels/cuda/prelude.cuh.
//   text.symbol                                          // The function to call.
//
// Both texts begin with kernels/elementwise/prelude.inc, which lists the functions that a body may use. Each
// part of the user's text has its own line numbers in compiler messages: "squared_diff (body):1:9: error:
// ...".
#ifndef SINTER_CODEGEN_STEPS_ELEMENTWISE_TEXT_H_
#define SINTER_CODEGEN_STEPS_ELEMENTWISE_TEXT_H_

#include <string>

#include "absl/status/status.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter::codegen {

struct ElementwiseText {
  std::string symbol;  // The kernel's name and a hash of the text.
  std::string text;
};

// void symbol(void* const* buffers, int64 begin, int64 end, void*): computes the elements [begin, end). The
// prologue runs once a call.
ElementwiseText CpuElementwiseText(ir::ElementwiseKernelOp op);

inline constexpr int64_t kElementwiseBlock = 256;
// void symbol(one struct of pointers, by value), for blocks of kElementwiseBlock threads and any grid. The
// prologue runs once a thread.
ElementwiseText CudaElementwiseText(ir::ElementwiseKernelOp op);

// Converts a compiler's error into an error with the user's line.
absl::Status ElementwiseError(ir::ElementwiseKernelOp op, const absl::Status& error);
// Returns the beginning of such an error: "model.cc:12: the kernel "squared_diff"".
std::string ElementwiseSubject(ir::ElementwiseKernelOp op);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_STEPS_ELEMENTWISE_TEXT_H_
