// The kernels that decide in a CUDA graph whether a conditional node runs its body: their parameters and PTX.
//
//   cudaLibraryLoadData(&library, ConditionPtx(), ...);
//   cudaLibraryGetKernel(&kernel, library, kBeginTripsKernel);
//
// kBeginTripsKernel, before the node, sets the count of trips to 0, and the condition if there is a first
// trip. kEndTripKernel, at the end of the body of a WHILE node, counts the trip, and sets the condition if
// there is a further one. Each runs as one thread.
//
// Contract: constant data without dependencies. runtime/cuda/context/graph_conditions.h launches the kernels.
#ifndef SINTER_KERNELS_CUDA_CONDITION_CONDITION_KERNEL_H_
#define SINTER_KERNELS_CUDA_CONDITION_CONDITION_KERNEL_H_

#include <cstdint>

namespace sinter::kernels {

inline constexpr char kBeginTripsKernel[] = "sinter_begin_trips";
inline constexpr char kEndTripKernel[] = "sinter_end_trip";

struct ConditionParameters {
  uint64_t handle;      // The conditional node.
  const uint8_t* flag;  // There is a further trip if it is not 0.
  uint64_t* count;      // Trips so far. Null if there is at most one trip.
  uint64_t trips;       // The most trips.
};

// PTX of the kernels, with a terminating zero.
const char* ConditionPtx();

}  // namespace sinter::kernels

#endif  // SINTER_KERNELS_CUDA_CONDITION_CONDITION_KERNEL_H_
