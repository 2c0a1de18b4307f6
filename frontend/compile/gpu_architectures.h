// The architectures that a plan's GPU kernels are compiled for.
//
//   ArchitecturesOf({"native", "sm_100"}, module);       // {"sm_90", "sm_100"} on a machine with H100s.
#ifndef SINTER_FRONTEND_COMPILE_GPU_ARCHITECTURES_H_
#define SINTER_FRONTEND_COMPILE_GPU_ARCHITECTURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "mlir/IR/BuiltinOps.h"

namespace sinter {

// Returns each architecture once, in the order of the request. "native" stands for those of this machine's
// devices of the kinds that the module's plan functions use.
std::vector<std::string> ArchitecturesOf(const std::vector<std::string>& requested, mlir::ModuleOp module);

// Returns the width of heads up to which each of the requested architectures computes attention whole by
// cuDNN. "native" stands for those of this machine's GPUs.
int64_t WidestWholeAttention(const std::vector<std::string>& requested);

// True if each of the requested architectures is sm_90, whose kernels may use instructions of sm_90a.
bool AllAreHopper(const std::vector<std::string>& requested);

// Returns those of the requested architectures that do not multiply floats of 8 bits, with a scale for each
// operand or, if `by_row`, for each of its rows. "native" stands for those of this machine's GPUs. Names of
// other kinds of devices are their back ends' own.
std::vector<std::string> WithoutFloat8(const std::vector<std::string>& requested, bool by_row);

}  // namespace sinter

#endif  // SINTER_FRONTEND_COMPILE_GPU_ARCHITECTURES_H_
