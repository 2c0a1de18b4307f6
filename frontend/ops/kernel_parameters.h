// Parses the parameter declarations of a user kernel: "T x, raw T y, float32 z".
//
//   SINTER_ASSIGN_OR_RETURN(auto parameters, ParseKernelParameters("T x, raw int32 at"));
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
  char placeholder = 0;  // The letter that stands for the element type; 0 if `dtype` is the element type.
  DType dtype = DType::kF32;
};

// INVALID_ARGUMENT if a declaration is not a type and a name, or for an unknown type or a reserved name.
absl::StatusOr<std::vector<KernelParameter>> ParseKernelParameters(std::string_view text);
// INVALID_ARGUMENT if two parameters share a name, or if a letter is both a parameter's name and a type.
absl::Status CheckKernelParameters(const std::vector<KernelParameter>& inputs,
                                   const std::vector<KernelParameter>& outputs);

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_KERNEL_PARAMETERS_H_
