// Runs generated CUDA kernels without a GPU: each launch in two thread orders, with guards around all memory.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<SimtEmulator> gpu, SimtEmulator::Compile(kernels.sources()));
//   SimtBuffer x(4 * n), y(4 * n);                       // simt_block.h; poisoned
//   SINTER_RETURN_IF_ERROR(gpu->Run(launch.kernel, launch.grid, launch.block, {&x, &y}));
//
// A kernel's text (codegen/cuda/cuda_source.h) and the prelude become C++ (simt_text.h). The Clang library of
// this process compiles this text. Threads are fibers, so barriers and shuffles behave as on a GPU
// (simt_block.h). Besides wrong results, the emulator detects these faults. Run returns them as an error that
// names the kernel and, if known, the block and the threads:
//   a block in which no thread can continue: some threads miss a barrier or a shuffle;
//   results whose bits depend on the order of threads or blocks: a missing barrier or a race;
//   a read by sn_load outside the buffers, or of a buffer that the launch changes; changed guard bytes;
//   an unaligned access; too much shared memory; too many threads or buffers.
// It does not model time, occupancy, registers, PTX or the memory model beyond barriers. For PTX it uses the
// text for older architectures, and refuses kernels that have no such text.
#ifndef SINTER_TESTS_CODEGEN_SIMT_EMULATOR_H_
#define SINTER_TESTS_CODEGEN_SIMT_EMULATOR_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "sinter/codegen/cuda/cuda_source.h"
#include "sinter/tests/codegen/simt_block.h"

namespace sinter::codegen {

class LoadedObject;

// Memory that a kernel gets as one of its pointers.
struct SimtMemory {
  std::byte* data = nullptr;
  int64_t bytes = 0;
};

// A kernel as launches know it, besides its code.
struct SimtKernel {
  std::string symbol;
  int64_t buffers = 0, block = 0;  // Pointers, at least 1, and the most threads of a block.
};

// The kernels in one shared object, as bytes, for Load in this or another process.
struct SimtCode {
  std::string object;
  std::vector<SimtKernel> kernels;
};

class SimtEmulator {
 public:
  ~SimtEmulator();
  // Compiles all kernels together. FAILED_PRECONDITION if Sinter was built without the Clang library.
  // `opt_level` is LLVM's: 0 compiles fastest.
  static absl::StatusOr<SimtCode> CompileCode(const std::vector<CudaSource>& sources, int opt_level);
  static absl::StatusOr<std::unique_ptr<SimtEmulator>> Load(SimtCode code);
  // Both, for code that runs once.
  static absl::StatusOr<std::unique_ptr<SimtEmulator>> Compile(const std::vector<CudaSource>& sources);

  // Launches a kernel. `buffers` are its pointers in order; a buffer may appear twice. Buffers with equal
  // data() are the same memory.
  absl::Status Run(uint32_t kernel, int64_t grid, int64_t block, const std::vector<SimtBuffer*>& buffers);
  // Launches a kernel in one thread order, on memory without guards. Finds all faults but those of the order,
  // changed guard bytes, and reads by sn_load of memory that the launch changes.
  absl::Status RunOnce(uint32_t kernel, int64_t grid, int64_t block, const std::vector<SimtMemory>& buffers);

 private:
  explicit SimtEmulator(std::vector<SimtKernel> kernels);
  absl::Status CheckLaunch(uint32_t kernel, int64_t grid, int64_t block, size_t buffers) const;
  absl::Status RunInOrder(uint32_t kernel, int64_t grid, int64_t block,
                          const std::vector<SimtMemory>& buffers, ThreadOrder order,
                          std::vector<bool>& was_loaded);
  // Runs in an order, and finds changed guard bytes.
  absl::Status RunGuarded(uint32_t kernel, int64_t grid, int64_t block,
                          const std::vector<SimtBuffer*>& buffers, ThreadOrder order,
                          std::vector<bool>& was_loaded);

  std::vector<SimtKernel> kernels_;
  std::unique_ptr<LoadedObject> object_;
  SimtEntry entry_ = nullptr;
};

}  // namespace sinter::codegen

#endif  // SINTER_TESTS_CODEGEN_SIMT_EMULATOR_H_
