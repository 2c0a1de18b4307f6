// Runs generated CUDA kernels without a GPU: every launch in two orders of its threads, with guards around all memory.
//
//   SINTER_ASSIGN_OR_RETURN(std::unique_ptr<SimtEmulator> gpu, SimtEmulator::Compile(kernels.sources()));
//   SimtBuffer x(4 * n), y(4 * n);                       // simt_block.h; poisoned
//   SINTER_RETURN_IF_ERROR(gpu->Run(launch.kernel, launch.grid, launch.block, {&x, &y}));
//
// The text of a kernel (codegen/cuda/cuda_source.h) and the prelude become C++ (simt_text.h), which the Clang library of this
// process compiles; threads are fibers, so that barriers and shuffles are what they are on a GPU (simt_block.h). Beyond wrong
// results, Run returns as an error that names the kernel, and the block and threads where it can:
//   a block in which nothing can go on: a barrier or a shuffle that not all reach;
//   results that depend on the order of the threads or blocks, bit by bit: a barrier that is missing, a race;
//   a read by sn_load outside the buffers, or of one that the launch changes; bytes changed around buffers and shared arrays;
//   an access whose address is no multiple of its size; more shared memory, threads or buffers than there are.
// What it does not see: time, occupancy, registers, the memory model beyond barriers, and PTX: it takes the text for architectures
// that are too old for it, and refuses kernels that have none.
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

class SimtEmulator {
 public:
  ~SimtEmulator();
  // All kernels at once. FAILED_PRECONDITION where Sinter was built without the Clang library.
  static absl::StatusOr<std::unique_ptr<SimtEmulator>> Compile(const std::vector<CudaSource>& sources);

  // The kernel's pointers, in order; a buffer may be among them more than once. A buffer with the same data() as another's is
  // the same memory.
  absl::Status Run(uint32_t kernel, int64_t grid, int64_t block, const std::vector<SimtBuffer*>& buffers);

 private:
  SimtEmulator();
  absl::Status RunInOrder(uint32_t kernel, int64_t grid, int64_t block,
                          const std::vector<SimtBuffer*>& buffers, ThreadOrder order,
                          std::vector<bool>& was_loaded);

  std::vector<std::string> names_;
  std::vector<SimtLimits> limits_;
  std::unique_ptr<LoadedObject> object_;
  SimtEntry entry_ = nullptr;
};

}  // namespace sinter::codegen

#endif  // SINTER_TESTS_CODEGEN_SIMT_EMULATOR_H_
