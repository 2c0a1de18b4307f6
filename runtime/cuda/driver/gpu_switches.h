// What the environment asks of a GPU's work, for those who look for the cause of a wrong result, or of time or memory. Read
// once, when a session is created: a word that it does not know is an error there, not in a later run.
//
//   SINTER_ASSIGN_OR_RETURN(const GpuSwitches switches, GpuSwitches::FromEnvironment());
//   context->set_switches(switches);
//
// Tuning has variables of its own (runtime/device/session_tuning.h).
#ifndef SINTER_RUNTIME_CUDA_DRIVER_GPU_SWITCHES_H_
#define SINTER_RUNTIME_CUDA_DRIVER_GPU_SWITCHES_H_

#include "absl/status/statusor.h"

namespace sinter {

struct GpuSwitches {
  // SINTER_GPU_EARLY_START=0: no kernel is launched before the one in front of it has ended.
  bool early_start = true;
  // SINTER_GPU_SIDE_BY_SIDE=0: the steps of a recording run one after the other, in the order in which they are given.
  bool side_by_side = true;
  // SINTER_GPU_PRIORITIES=0: kernels that may run side by side are all as urgent.
  bool priorities = true;
  // SINTER_GPU_ATTENTION=any-order: gradients whose sums are in any order, which need less memory; two runs may then differ.
  bool attention_in_order = true;

  // InvalidArgument: one of them cannot be read. Unset or empty is as above.
  static absl::StatusOr<GpuSwitches> FromEnvironment();
};

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_DRIVER_GPU_SWITCHES_H_
