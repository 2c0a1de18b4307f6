// One emulated GPU of a session: the queue and captures of a fake GPU, with real kernels and library calls.
//
//   const EmulatedGpu* gpu = LatestEmulatedGpu(0);     // Of the newest session that uses emulated:0.
//   gpu->kernel_launches(), gpu->library_calls()        // That have run.
//   gpu->counts().captures, gpu->counts().launches      // tests/runtime/fake_gpu.h
//
// A step that fails (a read outside its buffers, a write beside them, threads that wait for each other)
// makes every later wait for this GPU fail with the step's error, as on a real GPU.
#ifndef SINTER_TESTS_RUNTIME_EMULATED_EMULATED_GPU_H_
#define SINTER_TESTS_RUNTIME_EMULATED_EMULATED_GPU_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sinter/tests/runtime/emulated/emulated_code.h"
#include "sinter/tests/runtime/fake_gpu.h"

namespace sinter {

class EmulatedGpu : public FakeGpu {
 public:
  EmulatedGpu(Device device, const Backend& backend, CachingAllocator* allocator);
  ~EmulatedGpu() override;

  // Unimplemented for steps that only CPUs have. Errors of EmulatedCode::Load for the first kernel.
  absl::StatusOr<std::unique_ptr<Step>> MakeStep(const fb::Plan& plan, const fb::Step& step) override;

  // Kernels and library calls that have run, alone or in launches of captures.
  int64_t kernel_launches() const { return kernel_launches_; }
  int64_t library_calls() const { return library_calls_; }

 private:
  using Work = std::function<absl::Status(const std::vector<void*>& buffers)>;

  absl::StatusOr<std::unique_ptr<Step>> MakeKernel(const fb::Plan& plan, const fb::Step& step);
  absl::StatusOr<std::unique_ptr<Step>> MakeLibraryCall(const fb::Plan& plan, const fb::Step& step);
  // A step that runs `work` between checks of what it writes, counts itself in `count`, and breaks this GPU
  // if it fails.
  std::unique_ptr<Step> MakeChecked(const fb::Plan& plan, const fb::Step& step, std::atomic<int64_t>& count,
                                    Work work);

  std::unique_ptr<EmulatedCode> code_;  // Null before the first kernel.
  std::atomic<int64_t> kernel_launches_ = 0, library_calls_ = 0;
};

// Null if no session uses the device. Valid as long as that session.
const EmulatedGpu* LatestEmulatedGpu(int32_t index);

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_EMULATED_EMULATED_GPU_H_
