#include "sinter/runtime/cuda/context/kernel_library.h"

#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/cuda/driver/architecture.h"
#include "sinter/runtime/plan/plan_vectors.h"

namespace sinter {
namespace {

absl::StatusOr<const fb::GpuImage*> ChooseImage(const CudaContext& context, const fb::GpuKernel& kernel,
                                                const std::string& symbol) {
  std::vector<std::string_view> architectures;
  for (uint32_t i = 0; kernel.images() != nullptr && i < kernel.images()->size(); ++i) {
    architectures.push_back(View(kernel.images()->Get(i)->architecture()));
  }
  const CudaDeviceInfo& info = context.info();
  const int best = BestImage(architectures, info.major, info.minor);
  if (best >= 0) return kernel.images()->Get(static_cast<uint32_t>(best));
  return absl::NotFoundError(
      absl::StrCat("kernel \"", symbol, "\" cannot run on ", context.device().ToString(), " (", info.name,
                   "), which needs code for ", info.Architecture(), "; the plan holds ",
                   architectures.empty() ? "none"
                                         : absl::StrJoin(architectures, ", ",
                                                         [](std::string* out, std::string_view text) {
                                                           absl::StrAppend(out, std::string(text));
                                                         }),
                   ": compile it again for ", info.Architecture()));
}

}  // namespace

absl::StatusOr<std::shared_ptr<const LoadedKernel>> KernelLibraries::Load(const CudaContext& context,
                                                                          const fb::GpuKernel& kernel) {
  if (std::shared_ptr<const LoadedKernel> known = loaded_[&kernel].lock()) return known;
  const std::string symbol(View(kernel.symbol()));
  SINTER_ASSIGN_OR_RETURN(const fb::GpuImage* image, ChooseImage(context, kernel, symbol));
  if (image->cubin() == nullptr || image->cubin()->size() == 0) {
    return absl::NotFoundError(absl::StrCat("kernel \"", symbol, "\" has an empty image for ",
                                            std::string(View(image->architecture()))));
  }
  cudaLibrary_t library = nullptr;
  SINTER_RETURN_IF_ERROR(CudaStatus(
      cudaLibraryLoadData(&library, image->cubin()->data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
      absl::StrCat("load kernel \"", symbol, "\"")));
  cudaKernel_t function = nullptr;
  absl::Status status = CudaStatus(cudaLibraryGetKernel(&function, library, symbol.c_str()),
                                   absl::StrCat("find kernel \"", symbol, "\" in its image"));
  auto loaded = std::make_shared<const LoadedKernel>(library, function);
  SINTER_RETURN_IF_ERROR(status);
  loaded_[&kernel] = loaded;
  return loaded;
}

}  // namespace sinter
