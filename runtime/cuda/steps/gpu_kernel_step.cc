// Launches of generated kernels. A kernel takes one struct of pointers (inputs, then outputs) by value.
// StepArgs::buffers has the same layout, so a launch passes the bytes of that array.
//
// A kernel that itself waits for its predecessor is launched while the predecessor runs (programmatic
// dependent launch, compute capability 9.0 and newer). This hides its launch latency of about a microsecond.
// In a captured graph such a launch becomes a programmatic edge.
#include "absl/strings/str_cat.h"
#include "sinter/runtime/cuda/steps/cuda_steps.h"
#include "sinter/runtime/plan/gpu_limits.h"

namespace sinter {
namespace {

// A kernel with shared memory starts early if it has at most so many blocks. The running kernel may have
// configured a multiprocessor with less shared memory, so fewer blocks fit until its last block has ended; a
// few find room elsewhere.
constexpr uint32_t kMostEarlyBlocks = 512;

class CudaKernelStep : public Step {
 public:
  CudaKernelStep(const CudaContext& context, std::shared_ptr<const LoadedKernel> kernel,
                 const fb::GpuKernelStep& table, bool has_programmatic_launch)
      : context_(context), kernel_(std::move(kernel)), starts_early_(has_programmatic_launch) {
    config_.gridDim = dim3(table.grid());
    config_.blockDim = dim3(table.block());
    config_.dynamicSmemBytes = table.shared_bytes();
    config_.stream = context.stream();
    early_start_.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early_start_.val.programmaticStreamSerializationAllowed = 1;
    config_.attrs = &early_start_;
  }

  absl::Status Run(const StepArgs& args) override {
    const CudaDeviceScope on(context_.index());
    config_.numAttrs = starts_early_ && context_.uses_programmatic_launch() ? 1 : 0;
    void* parameters[] = {const_cast<void**>(args.buffers)};
    return CudaStatus(cudaLaunchKernelExC(&config_, kernel_->function(), parameters), "launch a kernel");
  }

 private:
  const CudaContext& context_;
  std::shared_ptr<const LoadedKernel> kernel_;
  bool starts_early_;
  cudaLaunchConfig_t config_ = {};
  cudaLaunchAttribute early_start_ = {};
};

// Returns an error unless the kernel's parameters are `buffers` pointers: a launch reads as many bytes as the
// kernel declares.
absl::Status CheckParameters(const LoadedKernel& kernel, size_t buffers, const std::string& symbol) {
  size_t offset = 0, bytes = 0;
  if (buffers > kMaxGpuKernelBuffers) {
    return absl::UnimplementedError(absl::StrCat("kernel \"", symbol, "\" has ", buffers,
                                                 " buffers; a launch carries the addresses of at most ",
                                                 kMaxGpuKernelBuffers));
  }
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaFuncGetParamInfo(kernel.function(), 0, &offset, &bytes),
                                    absl::StrCat("see the parameters of kernel \"", symbol, "\"")));
  if (bytes == buffers * sizeof(void*)) return absl::OkStatus();
  const std::string taken = absl::StrCat(bytes, " bytes of parameters");
  return absl::InvalidArgumentError(absl::StrCat("kernel \"", symbol, "\" takes ", taken,
                                                 ", and its step has ", buffers,
                                                 " buffers: it must take one struct of as many pointers"));
}

absl::Status CheckLaunch(const CudaContext& context, const LoadedKernel& kernel,
                         const cudaFuncAttributes& attributes, const fb::GpuKernelStep& table,
                         const std::string& symbol) {
  if (table.block() == 0 || table.block() > static_cast<uint32_t>(attributes.maxThreadsPerBlock)) {
    return absl::InvalidArgumentError(absl::StrCat("kernel \"", symbol, "\" is to run with ", table.block(),
                                                   " threads a block; on ", context.info().name,
                                                   " it runs with 1 to ", attributes.maxThreadsPerBlock));
  }
  const int64_t shared = static_cast<int64_t>(attributes.sharedSizeBytes) + table.shared_bytes();
  if (shared > context.info().max_shared_bytes_per_block) {
    return absl::InvalidArgumentError(absl::StrCat("kernel \"", symbol, "\" needs ", shared,
                                                   " bytes of shared memory a block; ", context.info().name,
                                                   " has ", context.info().max_shared_bytes_per_block));
  }
  if (shared <= kGpuSharedBytesWithoutAsking) return absl::OkStatus();
  // Allow the maximum, because another step may launch the same kernel with less. A launch uses only what it
  // requests.
  const int64_t most =
      context.info().max_shared_bytes_per_block - static_cast<int64_t>(attributes.sharedSizeBytes);
  return CudaStatus(
      cudaKernelSetAttributeForDevice(kernel.kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                      static_cast<int>(most), context.index()),
      absl::StrCat("give kernel \"", symbol, "\" ", table.shared_bytes(), " bytes of shared memory"));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> MakeCudaKernelStep(CudaContext& context, KernelLibraries& libraries,
                                                         const fb::Plan& plan, const fb::Step& step) {
  const fb::GpuKernelStep& table = *step.body_as_GpuKernelStep();
  if (table.grid() == 0) return MakeEmptyStep();
  const fb::GpuKernel& described = *plan.gpu_kernels()->Get(table.kernel());
  SINTER_ASSIGN_OR_RETURN(std::shared_ptr<const LoadedKernel> kernel, libraries.Load(context, described));
  const std::string symbol = described.symbol()->str();
  const size_t buffers = (step.inputs() == nullptr ? 0 : step.inputs()->size()) +
                         (step.outputs() == nullptr ? 0 : step.outputs()->size());
  SINTER_RETURN_IF_ERROR(CheckParameters(*kernel, buffers, symbol));
  cudaFuncAttributes attributes = {};
  SINTER_RETURN_IF_ERROR(CudaStatus(cudaFuncGetAttributes(&attributes, kernel->function()),
                                    absl::StrCat("see the needs of kernel \"", symbol, "\"")));
  SINTER_RETURN_IF_ERROR(CheckLaunch(context, *kernel, attributes, table, symbol));
  const bool has_programmatic_launch =
      context.switches().early_start && described.has_programmatic_launch() && context.info().major >= 9 &&
      (attributes.sharedSizeBytes + table.shared_bytes() == 0 || table.grid() <= kMostEarlyBlocks);
  return std::make_unique<CudaKernelStep>(context, std::move(kernel), table, has_programmatic_launch);
}

}  // namespace sinter
