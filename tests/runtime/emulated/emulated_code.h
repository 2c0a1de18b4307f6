// Device code of emulated GPUs: compiled by the Clang library from CUDA text, loaded from a plan.
//
//   RegisterDeviceCodeCompiler(EmulatedCodeCompiler());                       // In the compiler.
//   SINTER_ASSIGN_OR_RETURN(auto code, EmulatedCode::Load(plan));             // In the runtime.
//   SINTER_RETURN_IF_ERROR(code->Launch(kernel, grid, block, {{x, bytes}, {y, bytes}}));
//
// All kernels of a plan are one shared object, because the prelude takes most of the time to compile. So the
// image of the first kernel holds the object, and every image begins with a line that describes its kernel.
#ifndef SINTER_TESTS_RUNTIME_EMULATED_EMULATED_CODE_H_
#define SINTER_TESTS_RUNTIME_EMULATED_EMULATED_CODE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/codegen/plan/device_code.h"
#include "sinter/tests/codegen/simt_emulator.h"

namespace sinter {

namespace fb {
struct Plan;
}  // namespace fb

// The architecture of the images, as plans name it.
inline constexpr char kEmulatedArchitecture[] = "emulated";

const codegen::DeviceCodeCompiler& EmulatedCodeCompiler();

class EmulatedCode {
 public:
  // NotFound: a kernel of the plan has no image for emulated GPUs; lists its architectures. InvalidArgument:
  // an image is not one that the compiler made.
  static absl::StatusOr<std::unique_ptr<EmulatedCode>> Load(const fb::Plan& plan);

  // Runs kernel number `kernel` of the plan on its buffers: inputs, then outputs. Thread-safe: one launch at
  // a time runs in the process. The errors are those of the emulator.
  absl::Status Launch(uint32_t kernel, uint32_t grid, uint32_t block,
                      const std::vector<codegen::SimtMemory>& buffers);

 private:
  std::unique_ptr<codegen::SimtEmulator> emulator_;
};

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_EMULATED_EMULATED_CODE_H_
