// Environment switches of GPU execution, to find the cause of wrong results or of high time or memory use.
// They are read once, when a session is created; a malformed value is an error there, not in a later run.
//
//   SINTER_ASSIGN_OR_RETURN(const GpuSwitches switches, GpuSwitches::FromEnvironment());
//   context->set_switches(switches);
//
// session_tuning.h describes the variables of tuning.
#ifndef SINTER_RUNTIME_CUDA_DRIVER_GPU_SWITCHES_H_
#define SINTER_RUNTIME_CUDA_DRIVER_GPU_SWITCHES_H_

#include "absl/status/statusor.h"

namespace sinter {

struct GpuSwitches {
  // SINTER_GPU_EARLY_START=0: no kernel is launched before its predecessor has ended.
  bool early_start = true;
  // SINTER_GPU_SIDE_BY_SIDE=0: the steps of a capture run one after another, in their order in the plan.
  bool side_by_side = true;
  // SINTER_GPU_PRIORITIES=0: all parallel kernels have the same priority.
  bool priorities = true;
  // SINTER_GPU_ATTENTION=any-order: gradients of attention sum in any order. This needs less memory, but two
  // runs may differ.
  bool attention_in_order = true;

  // Reads the variables; an unset or empty variable keeps its default. InvalidArgument if one is malformed.
  static absl::StatusOr<GpuSwitches> FromEnvironment();
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_GPU_SWITCHES_H_
