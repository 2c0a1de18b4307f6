// The bytes that a session of a plan takes on each device of a rank, from the plan alone.
//
//   for (const PredictedMemory& memory : PredictMemory(plan.table(), library_bytes)) total += memory.total();
//
// All but `libraries` is what the session's report says (runtime/execute/memory_use.h): each piece rounded up
// to 512 bytes, as its allocator does.
#ifndef SINTER_TOOLS_PREDICT_PREDICTED_MEMORY_H_
#define SINTER_TOOLS_PREDICT_PREDICTED_MEMORY_H_

#include <cstdint>
#include <vector>

#include "runtime/plan_generated.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/tools/predict/measured_steps.h"

namespace sinter::tools {

struct PredictedMemory {
  Device device;
  uint64_t variables = 0;   // With replicas.
  uint64_t arena = 0;       // The largest of all functions; has the workspaces that the plan states.
  uint64_t workspaces = 0;  // The part of the arena that is a workspace at some step; not added again.
  uint64_t inputs = 0;      // Copies of the inputs on a device outside of main memory.
  uint64_t constants = 0;   // Copies; on a host the plan's own bytes, which do not count.
  // Workspaces that a library chooses when a session is made: measured, or an estimate from the cost table
  // and the plan.
  uint64_t libraries = 0;
  bool is_estimated = true;  // `libraries` is an estimate.
  // Terms of large sums among GPUs of one process that can write into each other's memory.
  uint64_t exchanges = 0;

  uint64_t total() const { return variables + arena + inputs + constants + libraries + exchanges; }
};

// The devices of rank 0. `library_bytes`: the least workspace of libraries on a device outside of main memory
// that has a matmul, a convolution or attention. `measured` replaces this estimate; null: nothing measured.
std::vector<PredictedMemory> PredictMemory(const fb::Plan& plan, double library_bytes,
                                           const MeasuredSteps* measured = nullptr);

}  // namespace sinter::tools

#endif  // SINTER_TOOLS_PREDICT_PREDICTED_MEMORY_H_
