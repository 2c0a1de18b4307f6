// Workloads for comparisons with other systems, with the shapes and values of bench/peers/workloads.py.
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

// Returns floats in [-scale, scale), element i from one splitmix64 step, like uniform() in measure.py.
HostTensor Uniform(uint64_t seed, const Shape& shape, float scale = 1);
// Returns i32 integers in [0, bound) from the same generator, like integers() in measure.py.
HostTensor Integers(uint64_t seed, const Shape& shape, int64_t bound);

// The sizes of gpt2: GPT-2 124M with a padded vocabulary.
struct GptSizes {
  int64_t layers = 12, heads = 12, width = 768, context = 1024, vocabulary = 50304, batch = 32;
};

// The sizes of resnet50: ResNet-50 on images of 224 x 224.
struct ResNetSizes {
  int64_t layers = 50, width = 64, classes = 1000, image = 224, batch = 256;
};

// The sizes of llama: those of Llama 3.2 1B, with a context of 2048.
struct LlamaSizes {
  int64_t layers = 16, heads = 32, kv_heads = 8, width = 2048, hidden = 8192, context = 2048,
          vocabulary = 128256, batch = 4;
};

inline constexpr char kExamplesDim[] = "examples";

struct WorkloadOptions {
  // True: the data are variables that stay on the device, as in the peers on GPUs. False: each run gets the
  // data.
  bool data_are_variables = false;
  // Number of devices that train together. The batch grows with this number. If the data are variables, their
  // dimension 0 is named kExamplesDim, for a tactic that cuts it. With `by_rows` each device has all data
  // instead, and selects its rows by their numbers, input "rows".
  int64_t devices = 1;
  bool by_rows = false;
  // Math mode of matmuls and convolutions.
  MathMode math = MathMode::kIeee;
  // Precision of the graph. nullopt: bf16 for gpt2, llama and resnet50, f32 for the others.
  std::optional<Precision> precision = std::nullopt;
  Float8 float8 = {};
  GptSizes gpt2 = {};
  double gpt2_rate = 6e-4;  // Constant learning rate of AdamW, also for llama.
  LlamaSizes llama = {};
  ResNetSizes resnet50 = {};
  double resnet50_rate = 0.1;  // Constant learning rate of SGD with momentum.
  // Adds the function "gradients" (inputs x and y; outputs loss and the gradient of each parameter under its
  // name).
  bool gradients = false;
};

// A model with the functions "train" (inputs x and y; output loss; one optimizer step) and "eval" (inputs x
// and y; output loss). The parameters are p0, p1, ... in the order of workloads.py; llama and resnet50 use
// the names of their layers.
struct TrainingWorkload {
  std::string name;
  Graph graph;
  // Initial values by name. A session draws the matrices of gpt2 and the parameters of llama and resnet50
  // when it starts.
  std::vector<NamedTensor> parameters;
  HostTensor x, y;
  HostTensor rows;  // Row numbers 0, 1, ... in i32.
  WorkloadOptions options;
};
// Returns lenet, mlp6, char_gpt, gpt2, llama or resnet50. NotFound: unknown name.
absl::StatusOr<TrainingWorkload> MakeTrainingWorkload(std::string_view name,
                                                      const WorkloadOptions& options = {});
// Sets the initial values of the parameters, and of the data if they are variables.
absl::Status SetParameters(Session& session, const TrainingWorkload& workload);
// Returns the inputs of a run. They borrow from the workload.
std::vector<Argument> DataOf(const TrainingWorkload& workload);

// A memory-bound function "run" on large tensors. It moves at least `minimal_bytes`.
struct StreamingWorkload {
  std::string name;
  Graph graph;
  std::vector<NamedTensor> inputs;
  double minimal_bytes = 0;
  WorkloadOptions options;
};
// Returns chain_f32, softmax_f32 or layer_norm_f32. NotFound: unknown name.
absl::StatusOr<StreamingWorkload> MakeStreamingWorkload(std::string_view name,
                                                        const WorkloadOptions& options = {});
absl::Status SetInputs(Session& session, BoundFunction& run, const StreamingWorkload& workload);

}  // namespace sinter::bench

#endif  // SINTER_BENCH_WORKLOADS_H_
