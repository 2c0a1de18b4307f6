// A user-defined kernel as C++ text, the same for both compilers but for its last function.
//
//   ElementwiseText text = CpuElementwiseText(op);       // For the Clang library,
//   ElementwiseText text = CudaElementwiseText(op);      // for NVRTC, behind kernels/cuda/prelude.cuh.
//   text.symbol                                          // What to call.
//
// Both begin with kernels/elementwise/prelude.inc, which lists what a body may use. The user's texts are numbered for the
// compilers' messages on their own: "squared_diff (body):1:9: error: ...".
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

// void symbol(void* const* buffers, int64 begin, int64 end, void*): the elements [begin, end). The prologue runs once a call.
ElementwiseText CpuElementwiseText(ir::ElementwiseKernelOp op);

inline constexpr int64_t kElementwiseBlock = 256;
// void symbol(one struct of pointers, by value), in blocks of kElementwiseBlock threads, any number of them. The prologue
// runs once a thread.
ElementwiseText CudaElementwiseText(ir::ElementwiseKernelOp op);

// What a compiler said about the text, as an error of the user's line.
absl::Status ElementwiseError(ir::ElementwiseKernelOp op, const absl::Status& error);
// The beginning of such an error: "model.cc:12: the kernel "squared_diff"".
std::string ElementwiseSubject(ir::ElementwiseKernelOp op);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_STEPS_ELEMENTWISE_TEXT_H_
