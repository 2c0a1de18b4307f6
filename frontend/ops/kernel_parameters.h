// The declarations of a user-defined kernel's parameters, as text: "T x, raw T y, float32 z".
//
//   SINTER_ASSIGN_OR_RETURN(std::vector<KernelParameter> parameters, ParseKernelParameters("T x, raw int32 at"));
//   parameters[1].name;      // "at"
#ifndef SINTER_FRONTEND_OPS_KERNEL_PARAMETERS_H_
#define SINTER_FRONTEND_OPS_KERNEL_PARAMETERS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/runtime/host/dtype.h"

namespace sinter {

struct KernelParameter {
  std::string name;
  bool raw = false;
  char placeholder = 0;  // The letter that stands for its element type; 0: it has `dtype`.
  DType dtype = DType::kF32;
};

// INVALID_ARGUMENT: what is not a type and a name, an unknown type, a name that is reserved or used twice.
absl::StatusOr<std::vector<KernelParameter>> ParseKernelParameters(std::string_view text);
// The same, of names that inputs and outputs share.
absl::Status CheckKernelParameters(const std::vector<KernelParameter>& inputs,
                                   const std::vector<KernelParameter>& outputs);

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_KERNEL_PARAMETERS_H_
