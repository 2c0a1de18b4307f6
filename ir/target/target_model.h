// TargetModel: the abilities of a device, its hardware and its libraries, as far as the compiler's decisions
// depend on them.
//
//   const TargetModel& target = TargetModel::Of(op);                 // By the op's device.
//   std::string reason = target.libraries->againstEpilogue(matmul, Activation::relu);    // Empty if it can.
//   if (target.recomputes_cheap_values) ...
//
// One row a kind of device: CPUs and CUDA GPUs (target_model.cc), and rows that a program adds before it
// compiles, by which the compiler makes plans for devices that it does not know:
//
//   TargetModel mine = TargetModel::Of(DeviceKind::gpu);             // Then changed where it differs.
//   std::optional<DeviceKind> kind = RegisterTargetModel("mine", mine);
//
// All GPUs have one row: a plan is made for every GPU that it holds code for, and its results have the same
// bits on all of them. Figures of single models of GPUs are in gpu_models.h.
#ifndef SINTER_IR_TARGET_TARGET_MODEL_H_
#define SINTER_IR_TARGET_TARGET_MODEL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/library/attention_shape.h"
#include "sinter/ir/library/matmul_sizes.h"

namespace sinter::ir {

// The abilities of a device's libraries and of the hand-written kernels beside them. A method `against...`
// returns the reason why they cannot compute something, in words that end a message; empty if they can.
class LibraryAbilities {
 public:
  virtual ~LibraryAbilities() = default;

  // An op with this activation after its bias; none: a bias alone. Otherwise bias and activation are a kernel
  // of their own.
  virtual std::string againstEpilogue(MatmulOp op, Activation activation) const = 0;
  virtual std::string againstEpilogue(Conv2dOp op, Activation activation) const = 0;
  // matmul_grad: a matmul of `element` operands times the gradient of an activation, in one call.
  virtual std::string againstMatmulGradient(const MatmulSizes& sizes, mlir::Type element, mlir::Type result,
                                            Activation activation) const = 0;
  // The most rows of x for which a kernel reads the weights of a quantized_matmul as they are. A matmul with
  // weights of x's type, which are made for it, is faster for more.
  virtual int64_t mostQuantizedRows(QuantizedMatmulOp op) const = 0;
  // An attention as one op, forward and backward. `computes_attention` of the target is true.
  virtual std::string againstAttention(const AttentionShape& shape, double scale) const = 0;
  // few_queries_attention: an attention of few queries without stats.
  virtual std::string againstFewQueries(const AttentionShape& shape) const = 0;
  // scaled_matmul: on GPUs from compute capability 8.9 on, and with scales of rows 9.0 alone.
  virtual std::string againstScaledMatmul(ScaledMatmulOp op) const = 0;
};

// The form of a target's generated kernels. It decides which rows of codegen/plan/backends.cc compute the
// target's calls.
enum class KernelForm {
  kLlvm,  // Loops over units, compiled by LLVM into the plan's shared object.
  kCuda,  // Launches of blocks of threads, as CUDA text; also the hand-written kernels of kernels/cuda.
};

struct TargetModel {
  std::string_view name;  // As in a sentence: "CPUs".
  DeviceKind kind;
  const LibraryAbilities* libraries;
  KernelForm kernels;

  // Libraries.
  // True if a library computes an attention as a whole, within its limits.
  bool computes_attention;
  // True if a matmul adds to another value, scaled, while it stores its result.
  bool matmul_adds;
  // Alignment in bytes of values that libraries read.
  int64_t library_alignment;
  // Matmuls on tensor cores are fast if rows of their operands and results are multiples of this many bytes;
  // 1 if any rows are.
  int64_t product_alignment;

  // Images.
  // The layout in which libraries compute convolutions whose images have 16-bit elements, and other elements:
  // each group of image ops weighs it against transposes. nullopt if the ops decide without (assign-layouts).
  std::optional<ImageLayout> low_precision_layout, f32_layout;
  // True if convolutions in layout nchw16n have a kernel.
  bool has_blocked_images;
  // Convolutions of 16-bit images in nhwc are fast if their channels are a multiple of this; 1 if any number
  // is.
  int64_t channel_multiple;

  // Kernels and memory.
  // Bytes of values that stay in the last cache from one kernel to the next.
  int64_t cached_bytes;
  // True if each kernel costs a launch, so that fusion also joins groups through others and merges separate
  // updates.
  bool launches_cost;
  // True if memory is slower than arithmetic, so that each kernel computes cheap values again instead of
  // reading them.
  bool recomputes_cheap_values;
  // True if a kernel over rows can sum their columns as well.
  bool sums_columns_of_rows;
  // True if the kernel of a chunked reduction can store values of its whole domain that depend on no
  // reduction.
  bool stores_from_chunks;
  // The most tensors that a kernel works on without loss of speed; nullopt: as many as a kernel may have.
  std::optional<int64_t> most_streams;

  // Steps.
  // True if memory is the device's own, apart from that of the program: it holds copies of inputs and
  // constants.
  bool has_own_memory;
  // True if independent steps can run at the same time.
  bool runs_steps_side_by_side;
  // True if a collective runs beside the steps after it.
  bool exchanges_beside_steps;
  // The built-in table with the times of work on it (ir/cost/builtin_costs.h).
  std::string_view cost_table;

  static const TargetModel& Of(DeviceKind kind);
  // Null is cpu:0.
  static const TargetModel& Of(DeviceAttr device);
  // The target of an op of a function that is placed, or of an op of the dialect `plan`. An op that is not
  // placed is on cpu:0.
  static const TargetModel& Of(mlir::Operation* op);
};

// All rows, one a kind of device, in the order of the kinds. Later registrations do not change it.
llvm::ArrayRef<TargetModel> TargetModels();

// Adds a kind of devices and its row; `model.kind` is ignored. Both stay until the process ends, and so must
// `model.name` and `model.libraries`. Thread-safe. Returns nullopt if there is a kind of this name, or if
// there are kMostDeviceKinds.
std::optional<DeviceKind> RegisterTargetModel(llvm::StringRef name, TargetModel model);

}  // namespace sinter::ir

#endif  // SINTER_IR_TARGET_TARGET_MODEL_H_
