// Copies of whole buffers within one GPU.
#include "sinter/runtime/cuda/steps/cuda_steps.h"

namespace sinter {
namespace {

class CudaCopyStep : public Step {
 public:
  CudaCopyStep(const CudaContext& context, size_t bytes)
      : index_(context.index()), stream_(context.stream()), bytes_(bytes) {}

  absl::Status Run(const StepArgs& args) override {
    if (args.buffers[0] == args.buffers[1]) return absl::OkStatus();
    const CudaDeviceScope on(index_);
    return CudaStatus(
        cudaMemcpyAsync(args.buffers[1], args.buffers[0], bytes_, cudaMemcpyDeviceToDevice, stream_),
        "copy on a GPU");
  }

 private:
  int index_;
  cudaStream_t stream_;
  size_t bytes_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeCudaCopyStep(CudaContext& context, const fb::CopyStep& table) {
  if (table.bytes() == 0) return MakeEmptyStep();
  return std::make_unique<CudaCopyStep>(context, table.bytes());
}

}  // namespace sinter
