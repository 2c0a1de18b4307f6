// The mesh of ranks that run a plan together, and how they share variables and work.
//
//   CompileOptions options{.device = Device::Gpu(0)};
//   options.mesh = {.axes = {{"data", 2}, {"tensor", 4}}};             // 8 ranks; names no machine.
//   options.parallel = {parallel::Data{},                              // Each batch is cut along "data".
//                       parallel::Tensor{},                            // Wide layers are cut along "tensor".
//                       parallel::Zero{.axis = "data", .level = 3}};   // Storage of variables is cut.
//   absl::StatusOr<Plan> plan = Compile(graph, options);
//
// The graph stays as it is. Ranks are numbered with the last axis innermost: neighbours along it are
// neighbours in the machine. All ranks run one program, alone or several in a process
// (runtime/world/world.h). Results equal those of one device, up to the order of sums. Values change hands
// where an op needs other parts than its operand has; CompileReport::copies lists it.
//
// Tactics are applied in their order, and a later one never changes what an earlier one has cut.
#ifndef SINTER_FRONTEND_COMPILE_PARALLEL_H_
#define SINTER_FRONTEND_COMPILE_PARALLEL_H_

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "sinter/runtime/memory/device.h"

namespace sinter {

struct MeshAxis {
  std::string name;  // A letter, then letters, digits and underscores.
  int64_t size = 1;
};

struct Mesh {
  std::vector<MeshAxis> axes = {};  // Empty: one rank.
  // The devices of all ranks, one rank after the other; the first rank's are those that the graph uses.
  // Empty: rank r uses the devices whose indices are those of rank 0 plus r times their number.
  std::vector<Device> devices = {};
};

enum class BatchStatistics {
  // Batch norms normalise by the mean and variance of each rank's part. Their running statistics use the
  // average over the parts. The parts must be equal.
  kPerDevice,
  kSynchronized,  // By the statistics of the whole batch, as on one device.
};

// Who may gather a value that is cut, because an op needs all of it.
enum class Reshards {
  // Nobody: it is an error that names the op's line and the line of the cause. Outputs are gathered.
  kExplicit,
  kAutomatic,  // The compiler.
};

namespace parallel {

// Data parallelism: every input of rank 1 or more is cut along dimension 0 into contiguous parts. Gradients
// that are accumulated over several runs (optim/optimizer.h) are exchanged once, by the update.
struct Data {
  std::vector<std::string> axes = {"data"};
  BatchStatistics batch_norm = BatchStatistics::kPerDevice;
  // Makes a batch that the ranks do not divide evenly an error. Otherwise parts differ by at most one row,
  // larger parts first; only one axis may then cut the batch.
  bool even = true;
  // Inputs that every rank gets whole.
  std::vector<std::string> whole_inputs = {};
  // Gradients are sent in buckets while the remaining ones are still computed. The compiler chooses the
  // buckets by predicted times; none has more bytes than this, unless one gradient has.
  int64_t bucket_bytes = int64_t{25} << 20;
};

// Tensor parallelism (Shoeybi et al., "Megatron-LM", arXiv 1909.08053): each rank has some of the heads of an
// attention, of the hidden units of an MLP, and of the vocabulary, and computes with these. Dimensions have
// names that layers give them (VariableOptions::dims). The axis must divide each of them.
struct Tensor {
  std::string axis = "tensor";
  std::vector<std::string> dims = {"heads", "mlp", "vocabulary"};
  // Between the layers that are cut, each rank also has only some rows of the batch: norms, dropouts and sums
  // of residual blocks take a part of the time and memory (Korthikanti et al., "Reducing Activation
  // Recomputation in Large Transformer Models", arXiv 2205.05198). Exchanges scatter sums and gather rows
  // in place of combining sums. Layers whose rows were gathered gather them again in the backward pass, which
  // is one more exchange for each. The axis cuts the examples of a batch's part, or the next dimension if it
  // does not divide them.
  bool rows = false;
};

// ZeRO (Rajbhandari et al., arXiv 1910.02054): each rank stores a part of variables that data parallelism
// would have it store whole. Level 1: the optimizer's slots; each rank updates its part of a parameter, and
// the parts are gathered. Level 2: also gradients that are accumulated over several runs, which are exchanged
// in each run. Level 3: also parameters, which are gathered where they are read. With an axis of two that
// share the batch, and the other for Zero, this is hybrid sharding: parts within a node, copies across nodes.
struct Zero {
  std::string axis = "data";
  int level = 1;
  // Smaller variables stay whole: exchanges of them would take longer than their memory is worth.
  int64_t least_bytes = int64_t{128} << 10;
};

using Tactic = std::variant<Data, Tensor, Zero>;

}  // namespace parallel
}  // namespace sinter

#endif  // SINTER_FRONTEND_COMPILE_PARALLEL_H_
