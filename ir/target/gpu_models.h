// The models of GPUs that plans are made for: one row of figures a model. A new model is one row.
//
//   for (const ir::GpuModel& gpu : ir::kGpuModels) architectures.push_back(gpu.architecture);
//   constexpr int64_t blocks = 8 * ir::kPlannedGpu.multiprocessors;
//
// A plan has one schedule for every model that it holds code for, so that its results have the same bits on
// all of them. Every decision of the compiler therefore uses the figures of one row, kPlannedGpu. The other
// rows' figures are what their GPUs offer; tests/ir/target_model_test.cc checks that every schedule fits
// them.
#ifndef SINTER_IR_TARGET_GPU_MODELS_H_
#define SINTER_IR_TARGET_GPU_MODELS_H_

#include <cstdint>
#include <string_view>

namespace sinter::ir {

struct GpuModel {
  std::string_view architecture;  // Name of the target of its machine code: "sm_90".
  std::string_view description;
  int64_t multiprocessors;
  int64_t block_threads;           // The most threads of a block.
  int64_t multiprocessor_threads;  // The most threads on a multiprocessor.
  int64_t registers;               // 32-bit registers of a multiprocessor.
  int64_t shared_bytes;            // Shared memory of a block without a special request.
  int64_t most_shared_bytes;       // Shared memory of a block, on request.
  int64_t l2_bytes;
};

// Figures: NVIDIA's "CUDA C++ Programming Guide", technical specifications per compute capability, and the
// data sheets of the A100, H100 (SXM) and B200. A plan that names no architecture, compiled where there is no
// GPU, holds code for every row.
inline constexpr GpuModel kGpuModels[] = {
    {.architecture = "sm_80",
     .description = "A100",
     .multiprocessors = 108,
     .block_threads = 1024,
     .multiprocessor_threads = 2048,
     .registers = 65536,
     .shared_bytes = 48 << 10,
     .most_shared_bytes = 163 << 10,
     .l2_bytes = int64_t{40} << 20},
    {.architecture = "sm_90",
     .description = "H100 and H200",
     .multiprocessors = 132,
     .block_threads = 1024,
     .multiprocessor_threads = 2048,
     .registers = 65536,
     .shared_bytes = 48 << 10,
     .most_shared_bytes = 227 << 10,
     .l2_bytes = int64_t{50} << 20},
    {.architecture = "sm_100",
     .description = "B200",
     .multiprocessors = 148,
     .block_threads = 1024,
     .multiprocessor_threads = 2048,
     .registers = 65536,
     .shared_bytes = 48 << 10,
     .most_shared_bytes = 227 << 10,
     .l2_bytes = int64_t{126} << 20},
};

// The model whose figures decide: sm_90, on which schedules were measured.
inline constexpr const GpuModel& kPlannedGpu = kGpuModels[1];
static_assert(kPlannedGpu.architecture == "sm_90");

// Threads of a warp, and the most bytes that one load or store of a thread moves: the same on every model.
inline constexpr int64_t kWarp = 32, kAccessBytes = 16;

}  // namespace sinter::ir

#endif  // SINTER_IR_TARGET_GPU_MODELS_H_
