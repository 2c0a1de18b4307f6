#include "sinter/ir/target/target_model.h"

#include <array>
#include <atomic>
#include <mutex>

#include "sinter/ir/library/quantized_sizes.h"
#include "sinter/ir/target/cuda_libraries.h"
#include "sinter/ir/target/few_rows_kernels.h"
#include "sinter/ir/target/gpu_models.h"
#include "sinter/ir/target/tf32_kernels.h"

namespace sinter::ir {

namespace {

// The kernels of kernels/cpu, and oneDNN.
class CpuLibraries : public LibraryAbilities {
 public:
  std::string againstEpilogue(MatmulOp, Activation) const override { return ""; }

  std::string againstEpilogue(Conv2dOp op, Activation activation) const override {
    const bool has = activation == Activation::none || activation == Activation::relu;
    return has || op.getLayout() != ImageLayout::nchw16n
               ? ""
               : "a convolution in layout nchw16n applies relu only";
  }

  std::string againstMatmulGradient(const MatmulSizes&, mlir::Type, mlir::Type, Activation) const override {
    return "it is on a CPU, where no library does it";
  }

  int64_t mostQuantizedRows(QuantizedMatmulOp) const override { return 16; }

  std::string againstScaledMatmul(ScaledMatmulOp) const override {
    return "it is on a CPU, where no library does it";
  }

  std::string againstAttention(const AttentionShape&, double) const override {
    return "it is on a CPU, where no library does it";
  }
  std::string againstFewQueries(const AttentionShape&) const override {
    return "it is on a CPU, which has no kernel for it";
  }
};

// cuBLASLt, cuDNN, and the kernels of kernels/cuda.
class CudaLibraries : public LibraryAbilities {
 public:
  // Sinter's own tf32 kernels keep NaN in their relu; those of few rows apply everything.
  std::string againstEpilogue(MatmulOp op, Activation activation) const override {
    if ((activation == Activation::relu && tf32::Computes(op)) || few_rows::Computes(op)) return "";
    return std::string(cuda::AgainstCublas(op.getType().getElementType(), activation, /*has_bias=*/true));
  }

  std::string againstEpilogue(Conv2dOp op, Activation activation) const override {
    if (activation == Activation::relu && tf32::Computes(op)) return "";
    return std::string(cuda::AgainstCudnnActivation(activation));
  }

  std::string againstMatmulGradient(const MatmulSizes& sizes, mlir::Type element, mlir::Type result,
                                    Activation activation) const override {
    return std::string(cuda::AgainstCublasGradient(sizes, element, result, activation));
  }

  // Measured on an H200: with more rows the kernels' arithmetic takes longer than making the weights and a
  // matmul.
  int64_t mostQuantizedRows(QuantizedMatmulOp op) const override {
    const bool is_f32 = op.getX().getType().getElementType().isF32();
    return !is_f32 && QuantizedSizes::Of(op).mmaLaneBytes() ? 16 : 8;
  }

  std::string againstScaledMatmul(ScaledMatmulOp op) const override {
    return std::string(cuda::AgainstCublasFloat8(op));
  }

  std::string againstAttention(const AttentionShape& shape, double scale) const override {
    return cuda::AgainstCudnnAttention(shape, scale);
  }
  std::string againstFewQueries(const AttentionShape& shape) const override {
    return cuda::AgainstFewQueries(shape);
  }
};

TargetModel CpuModel() {
  static const CpuLibraries libraries;
  return {
      .name = "CPUs",
      .kind = DeviceKind::cpu,
      .libraries = &libraries,
      .kernels = KernelForm::kLlvm,
      .computes_attention = false,
      .matmul_adds = false,
      .library_alignment = 1,
      .product_alignment = 1,
      .low_precision_layout = std::nullopt,
      .f32_layout = std::nullopt,
      .has_blocked_images = true,
      .channel_multiple = 1,
      .cached_bytes = int64_t{1} << 20,  // A core's second-level cache.
      .launches_cost = false,
      .recomputes_cheap_values = false,
      .sums_columns_of_rows = false,
      .stores_from_chunks = false,
      .most_streams = 32,  // More streams than a core's caches and prefetchers follow.
      .has_own_memory = false,
      .runs_steps_side_by_side = false,
      .exchanges_beside_steps = false,
      .cost_table = "cpu",
  };
}

TargetModel CudaModel() {
  static const CudaLibraries libraries;
  return {
      .name = "CUDA GPUs",
      .kind = DeviceKind::gpu,
      .libraries = &libraries,
      .kernels = KernelForm::kCuda,
      .computes_attention = true,
      .matmul_adds = true,
      .library_alignment = kAccessBytes,
      .product_alignment = 16,  // A row's step in the descriptors of the copy engine.
      // Matrix units need the channels of 16-bit images to be adjacent; the f32 kernels do not.
      .low_precision_layout = ImageLayout::nhwc,
      .f32_layout = ImageLayout::nchw,
      .has_blocked_images = false,
      .channel_multiple = 8,
      .cached_bytes = kPlannedGpu.l2_bytes - (int64_t{2} << 20),  // Kernels stream through the rest.
      .launches_cost = true,
      .recomputes_cheap_values = true,
      .sums_columns_of_rows = true,
      .stores_from_chunks = true,
      .most_streams = std::nullopt,
      .has_own_memory = true,
      .runs_steps_side_by_side = true,
      .exchanges_beside_steps = true,
      .cost_table = "h200",
  };
}

// Rows are only ever appended, so that reading them needs no lock. Row k is the row of kind k.
struct ModelTable {
  std::mutex mutex;  // Held while a row is added.
  std::array<TargetModel, kMostDeviceKinds> rows = {CpuModel(), CudaModel()};
  std::atomic<size_t> count = 2;
};

ModelTable& Models() {
  static ModelTable& table = *new ModelTable;
  return table;
}

}  // namespace

llvm::ArrayRef<TargetModel> TargetModels() {
  return llvm::ArrayRef(Models().rows).take_front(Models().count);
}

std::optional<DeviceKind> RegisterTargetModel(llvm::StringRef name, TargetModel model) {
  ModelTable& models = Models();
  const std::lock_guard lock(models.mutex);
  const std::optional<DeviceKind> kind = AddDeviceKind(name);
  if (!kind) return std::nullopt;
  assert(static_cast<size_t>(*kind) == models.count && "a kind of devices without a row");
  model.kind = *kind;
  models.rows[models.count] = model;
  ++models.count;
  return kind;
}

const TargetModel& TargetModel::Of(DeviceKind kind) {
  const auto row = static_cast<size_t>(kind);
  assert(row < Models().count && "a kind of devices without a row");
  return Models().rows[row];
}

const TargetModel& TargetModel::Of(DeviceAttr device) {
  return Of(device ? device.getKind() : DeviceKind::cpu);
}

const TargetModel& TargetModel::Of(mlir::Operation* op) { return Of(DeviceOf(op)); }

}  // namespace sinter::ir
