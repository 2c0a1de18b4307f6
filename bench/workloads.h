// The workloads that Sinter is compared with other systems on: the same shapes, initial values and inputs as
// bench/peers/workloads.py.
//
//   SINTER_ASSIGN_OR_RETURN(TrainingWorkload lenet, MakeTrainingWorkload("lenet"));
//   SINTER_ASSIGN_OR_RETURN(Plan plan, Compile(lenet.graph));
//   ... SINTER_RETURN_IF_ERROR(SetParameters(session, lenet));
//   session.Run("train", {{"x", lenet.x}, {"y", lenet.y}})
#ifndef SINTER_BENCH_WORKLOADS_H_
#define SINTER_BENCH_WORKLOADS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sinter/frontend/sinter.h"
#include "sinter/runtime/tensor/named_tensor.h"

namespace sinter::bench {

// Floats in [-scale, scale), element i from one splitmix64 step: measure.py's uniform().
HostTensor Uniform(uint64_t seed, const Shape& shape, float scale = 1);
// Integers in [0, bound) from the same generator, i32: measure.py's integers().
HostTensor Integers(uint64_t seed, const Shape& shape, int64_t bound);

// The sizes of gpt2: those of GPT-2 124M, its vocabulary padded.
struct GptSizes {
  int64_t layers = 12, heads = 12, width = 768, context = 1024, vocabulary = 50304, batch = 32;
};

// The sizes of resnet50: ResNet-50 on images of 224 x 224.
struct ResNetSizes {
  int64_t layers = 50, width = 64, classes = 1000, image = 224, batch = 256;
};

struct WorkloadOptions {
  // Whether the data are given at each run, or are variables, which stay on the device: what peers on GPUs do.
  bool data_are_variables = false;
  // How many share a batch. gpt2 and resnet50 have their batch on each; data that are variables are all on each, which takes its
  // rows by their numbers, input "rows".
  int64_t devices = 1;
  // Of matrix products and convolutions.
  MathMode math = MathMode::kIeee;
  // Of Graph::SetPrecision. Null: bf16 for gpt2 and resnet50, f32 for the others.
  std::optional<Precision> precision = std::nullopt;
  GptSizes gpt2 = {};
  double gpt2_rate = 6e-4;  // Of AdamW: constant.
  ResNetSizes resnet50 = {};
  double resnet50_rate = 0.1;  // Of SGD with momentum: constant.
  // Adds the function "gradients" (inputs x and y; outputs loss, and each parameter's gradient under its name).
  bool gradients = false;
};

// A model with functions "train" (inputs x and y; output loss; one step of the optimiser) and "eval" (inputs x and y;
// output loss). Its parameters are p0, p1, ... in the order of workloads.py; those of resnet50 have the layers' names.
struct TrainingWorkload {
  std::string name;
  Graph graph;
  // Initial values by name; those of gpt2's matrices and of resnet50 are drawn when a session starts.
  std::vector<NamedTensor> parameters;
  HostTensor x, y;
  HostTensor rows;  // i32, 0, 1, ...
  WorkloadOptions options;
};
// lenet, mlp6, char_gpt, gpt2 or resnet50; NotFound for another name.
absl::StatusOr<TrainingWorkload> MakeTrainingWorkload(std::string_view name,
                                                      const WorkloadOptions& options = {});
// Data that are variables too.
absl::Status SetParameters(Session& session, const TrainingWorkload& workload);
// The inputs of a run. Borrows from the workload.
std::vector<Argument> DataOf(const TrainingWorkload& workload);

// One function "run" of large tensors, bounded by memory: what each moves at least is `minimal_bytes`.
struct StreamingWorkload {
  std::string name;
  Graph graph;
  std::vector<NamedTensor> inputs;
  double minimal_bytes = 0;
  WorkloadOptions options;
};
// chain_f32, softmax_f32 or layer_norm_f32; NotFound for another name.
absl::StatusOr<StreamingWorkload> MakeStreamingWorkload(std::string_view name,
                                                        const WorkloadOptions& options = {});
absl::Status SetInputs(Session& session, BoundFunction& run, const StreamingWorkload& workload);

}  // namespace sinter::bench

#endif  // SINTER_BENCH_WORKLOADS_H_
