#include "sinter/tests/runtime/emulated/emulated_code.h"

#include <charconv>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_vectors.h"

namespace sinter {
namespace {

// Each kernel runs a few times in a test, so the cheapest optimizations pay.
constexpr int kOptLevel = 1;

class Compiler : public codegen::DeviceCodeCompiler {
 public:
  std::string architecture() const override { return kEmulatedArchitecture; }

  absl::StatusOr<std::vector<std::string>> Compile(const std::vector<codegen::CudaSource>& sources,
                                                   int) const override {
    SINTER_ASSIGN_OR_RETURN(const codegen::SimtCode code,
                            codegen::SimtEmulator::CompileCode(sources, kOptLevel));
    std::vector<std::string> images;
    for (const codegen::SimtKernel& kernel : code.kernels) {
      images.push_back(absl::StrCat(kernel.buffers, " ", kernel.block, "\n"));
    }
    images.front() += code.object;
    return images;
  }
};

// Takes a number and the separator after it from the front of `text`.
bool TakeNumber(std::string_view& text, char separator, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data() + text.size() || *end != separator) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return true;
}

absl::StatusOr<std::string_view> ImageOf(const fb::GpuKernel& kernel) {
  std::string others;
  for (const fb::GpuImage* image : *kernel.images()) {
    if (image->architecture()->string_view() == kEmulatedArchitecture) {
      return std::string_view(reinterpret_cast<const char*>(image->cubin()->data()), image->cubin()->size());
    }
    absl::StrAppend(&others, others.empty() ? "" : ", ", image->architecture()->c_str());
  }
  return absl::NotFoundError(absl::StrCat("kernel \"", kernel.symbol()->c_str(), "\" has code for ", others,
                                          ", and not for ", kEmulatedArchitecture,
                                          ": name it in CompileOptions::gpu_architectures"));
}

}  // namespace

const codegen::DeviceCodeCompiler& EmulatedCodeCompiler() {
  static const Compiler compiler;
  return compiler;
}

absl::StatusOr<std::unique_ptr<EmulatedCode>> EmulatedCode::Load(const fb::Plan& plan) {
  codegen::SimtCode code;
  for (uint32_t i = 0; i < SizeOrZero(plan.gpu_kernels()); ++i) {
    const fb::GpuKernel& kernel = *plan.gpu_kernels()->Get(i);
    SINTER_ASSIGN_OR_RETURN(std::string_view image, ImageOf(kernel));
    codegen::SimtKernel made = {.symbol = kernel.symbol()->str()};
    if (!TakeNumber(image, ' ', made.buffers) || !TakeNumber(image, '\n', made.block)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the image of kernel \"", made.symbol, "\" has no line that describes it"));
    }
    code.kernels.push_back(std::move(made));
    if (i == 0) code.object = image;
  }
  auto loaded = std::make_unique<EmulatedCode>();
  SINTER_ASSIGN_OR_RETURN(loaded->emulator_, codegen::SimtEmulator::Load(std::move(code)));
  return loaded;
}

absl::Status EmulatedCode::Launch(uint32_t kernel, uint32_t grid, uint32_t block,
                                  const std::vector<codegen::SimtMemory>& buffers) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  return emulator_->RunOnce(kernel, grid, block, buffers);
}

}  // namespace sinter
