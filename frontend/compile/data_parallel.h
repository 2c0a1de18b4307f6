// One program, unchanged, on several devices that share the batch.
//
//   CompileOptions options;
//   options.data_parallel.devices = TryAllGpus();
//   absl::StatusOr<Plan> plan = Compile(graph, options);
//
// Every input of rank 1 or more is cut along dimension 0 in contiguous parts that differ by at most one, the larger ones first,
// one a device. Variables start the same on all and stay the same, to the bit. What needs all of the batch is combined among
// the devices where it arises; the results are those of the whole batch on one device, up to the order of sums. This holds
// for every function of the graph, evaluation too: counts and sums of an uneven batch are exact.
//
// A plan for k devices also runs in n processes that divide them: runtime/world/world.h.
#ifndef SINTER_FRONTEND_COMPILE_DATA_PARALLEL_H_
#define SINTER_FRONTEND_COMPILE_DATA_PARALLEL_H_

#include <cstdint>
#include <string>
#include <vector>

#include "sinter/runtime/memory/device.h"

namespace sinter {

// What becomes of the devices' gradients of a loss that is a mean over the batch.
enum class GradientScale {
  kGlobalMean,   // The mean over all examples: what one device with the whole batch computes.
  kMeanOfMeans,  // The mean of each device's mean: differs where the parts do.
  kSum,          // The sum of each device's mean: as many times larger as there are devices.
};

enum class UpdateStrategy {
  kReplicated,  // Gradients are combined on all devices, and each updates its own variables.
  kMain,  // Gradients are combined on the first device, which updates the variables and sends them to the others. What
  // only updates read, an optimizer's state, is there alone.
};

enum class BatchStatistics {
  kPerDevice,  // Batch norms normalise by the mean and variance of each device's part, and their running statistics follow
               // the average of the parts'. The parts must be equal.
  kSynchronized,  // By those of the whole batch, as on one device.
};

struct DataParallel {
  // Empty: everything runs on CompileOptions::device. The first one is main.
  std::vector<Device> devices = {};
  GradientScale scale = GradientScale::kGlobalMean;
  UpdateStrategy update = UpdateStrategy::kReplicated;
  BatchStatistics batch_norm = BatchStatistics::kPerDevice;
  // Whether a batch that the devices do not divide is an error.
  bool even = true;
  // Inputs of which every device gets all.
  std::vector<std::string> whole_inputs = {};
  // Gradients travel together, while the rest is still computed, as soon as they are this many.
  int64_t bucket_bytes = int64_t{25} << 20;
};

}  // namespace sinter

#endif  // SINTER_FRONTEND_COMPILE_DATA_PARALLEL_H_
