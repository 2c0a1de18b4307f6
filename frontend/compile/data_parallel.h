// Runs one unchanged program on several devices that share the batch.
//
//   CompileOptions options;
//   options.data_parallel.devices = TryAllGpus();
//   absl::StatusOr<Plan> plan = Compile(graph, options);
//
// Every input of rank 1 or more is cut along dimension 0 into contiguous parts, one a device. The sizes of
// the parts differ by at most one, larger parts first. Variables start equal on all devices and stay equal to
// the bit. Values that depend on the whole batch are combined among the devices where they arise. The results
// equal those of the whole batch on one device, up to the order of sums. This holds for every function of the
// graph, including evaluation: counts and sums of an uneven batch are exact.
//
// A plan for k devices also runs in n processes if n divides k: runtime/world/world.h.
#ifndef SINTER_FRONTEND_COMPILE_DATA_PARALLEL_H_
#define SINTER_FRONTEND_COMPILE_DATA_PARALLEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sinter/frontend/compile/parallel.h"
#include "sinter/runtime/memory/device.h"

namespace sinter {

// One line for a mesh with the one axis "data" and the tactic parallel::Data (parallel.h).
struct DataParallel {
  // Empty: everything runs on CompileOptions::device. The first devices are those of rank 0.
  std::vector<Device> devices = {};
  BatchStatistics batch_norm = BatchStatistics::kPerDevice;
  // See parallel::Data for these.
  bool even = true;
  std::vector<std::string> whole_inputs = {};
  // Gradients are sent in buckets while the remaining ones are still computed. The compiler chooses the
  // buckets by predicted times; none has more bytes than this, unless one gradient has.
  int64_t bucket_bytes = int64_t{25} << 20;
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_COMPILE_DATA_PARALLEL_H_
