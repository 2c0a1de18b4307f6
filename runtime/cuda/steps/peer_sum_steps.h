// Sums and means of the GPUs of this process, which read and write each other's memory.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<CudaExchangeStep> step,
//                           MakePeerSumStep(context, place, collective, rank, inputs));
//   if (step == nullptr) ...                              // NCCL does it.
//
// A kernel on each GPU reads the terms of all others if these are small, or if each rank needs its own part.
// Each GPU adds a share of larger tensors that all need whole (runtime/plan/sum_shares.h).
#ifndef SINTER_RUNTIME_CUDA_STEPS_PEER_SUM_STEPS_H_
#define SINTER_RUNTIME_CUDA_STEPS_PEER_SUM_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "sinter/runtime/cuda/context/cuda_context.h"
#include "sinter/runtime/cuda/peer/peer_exchanges.h"
#include "sinter/runtime/cuda/steps/exchange_step.h"
#include "sinter/runtime/plan/collective.h"

namespace sinter {

// Null if the GPUs cannot reach each other, or the collective is no sum that their kernels add. All members
// agree. `inputs`: the number of inputs of the rank's step.
absl::StatusOr<std::unique_ptr<CudaExchangeStep>> MakePeerSumStep(const CudaContext& context,
                                                                  const PeerExchanges::Place& place,
                                                                  const CollectiveLayout& collective,
                                                                  uint32_t rank, size_t inputs);

}  // namespace sinter

#endif  // SINTER_RUNTIME_CUDA_STEPS_PEER_SUM_STEPS_H_
