#include "sinter/tests/codegen/simt_emulator.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "sinter/codegen/cpu/compile_cpp.h"
#include "sinter/codegen/cpu/shared_object.h"
#include "sinter/codegen/cpu/target_machine.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/gpu_limits.h"
#include "sinter/tests/codegen/kernel_module_builder.h"

namespace sinter::codegen {

namespace {

using Bytes = std::vector<std::byte>;

std::vector<Bytes> Copies(const std::vector<SimtBuffer*>& buffers) {
  std::vector<Bytes> copies;
  for (const SimtBuffer* buffer : buffers)
    copies.emplace_back(buffer->data(), buffer->data() + buffer->bytes());
  return copies;
}

bool IsEqual(const SimtBuffer& buffer, const Bytes& bytes) {
  return bytes.empty() || std::memcmp(buffer.data(), bytes.data(), bytes.size()) == 0;
}

std::string FirstDifference(const SimtBuffer& buffer, const Bytes& bytes) {
  size_t at = 0;
  while (buffer.data()[at] == bytes[at]) ++at;
  return absl::StrCat("byte ", at, " of ", bytes.size());
}

}  // namespace

absl::StatusOr<SimtCode> SimtEmulator::CompileCode(const std::vector<CudaSource>& sources, int opt_level) {
  SINTER_ASSIGN_OR_RETURN(CpuTarget target, CpuTarget::Host());
  SINTER_ASSIGN_OR_RETURN(std::string text, SimtText(sources, SimtHostFunctions()));
  llvm::LLVMContext context;
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> module,
                          CompileCpp(text, kSimtEntry, target, context));
  SharedObjectOptions options;
  options.opt_level = opt_level;
  SimtCode code;
  SINTER_ASSIGN_OR_RETURN(code.object, EmitSharedObject(std::move(module), target, options));
  for (const CudaSource& source : sources) {
    SINTER_ASSIGN_OR_RETURN(SimtLimits limits, SimtLimitsOf(source));
    code.kernels.push_back({source.symbol, limits.buffers, limits.block});
  }
  return code;
}

absl::StatusOr<std::unique_ptr<SimtEmulator>> SimtEmulator::Load(SimtCode code) {
  std::unique_ptr<SimtEmulator> emulator(new SimtEmulator(std::move(code.kernels)));
  emulator->object_ = std::make_unique<LoadedObject>(code.object);
  if (!emulator->object_->ok()) return absl::InternalError(emulator->object_->error());
  emulator->entry_ = reinterpret_cast<SimtEntry>(emulator->object_->Symbol(kSimtEntry));
  if (emulator->entry_ == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("the object has no function ", kSimtEntry));
  }
  std::vector<void*> functions;
  for (const SimtHostFunction& f : SimtHostFunctions()) functions.push_back(f.pointer);
  emulator->entry_(functions.data(), SimtIndices(), kSimtSetUp, nullptr);
  return emulator;
}

absl::StatusOr<std::unique_ptr<SimtEmulator>> SimtEmulator::Compile(const std::vector<CudaSource>& sources) {
  SINTER_ASSIGN_OR_RETURN(SimtCode code, CompileCode(sources, /*opt_level=*/0));
  return Load(std::move(code));
}

SimtEmulator::SimtEmulator(std::vector<SimtKernel> kernels) : kernels_(std::move(kernels)) {}
SimtEmulator::~SimtEmulator() = default;

absl::Status SimtEmulator::RunInOrder(uint32_t kernel, int64_t grid, int64_t block,
                                      const std::vector<SimtMemory>& buffers, ThreadOrder order,
                                      std::vector<bool>& was_loaded) {
  SimtBlock threads(kernels_[kernel].symbol, entry_, kernel, static_cast<int>(block), order);
  std::vector<void*> pointers = {};
  for (size_t i = 0; i < buffers.size(); ++i) {
    threads.AddRegion(absl::StrCat("buffer ", i), buffers[i].data, buffers[i].bytes);
    pointers.push_back(buffers[i].data);
  }
  pointers.resize(std::max<size_t>(1, pointers.size()));
  for (int64_t i = 0; i < grid; ++i) {
    const int64_t at = order == ThreadOrder::kAscending ? i : grid - 1 - i;
    SINTER_RETURN_IF_ERROR(threads.Run(at, grid, pointers.data()));
  }
  for (size_t i = 0; i < buffers.size(); ++i) was_loaded[i] = was_loaded[i] || threads.was_loaded(i);
  return absl::OkStatus();
}

absl::Status SimtEmulator::RunGuarded(uint32_t kernel, int64_t grid, int64_t block,
                                      const std::vector<SimtBuffer*>& buffers, ThreadOrder order,
                                      std::vector<bool>& was_loaded) {
  std::vector<SimtMemory> memory;
  for (const SimtBuffer* buffer : buffers) memory.push_back({buffer->data(), buffer->bytes()});
  SINTER_RETURN_IF_ERROR(RunInOrder(kernel, grid, block, memory, order, was_loaded));
  for (size_t i = 0; i < buffers.size(); ++i) {
    int64_t at = 0;
    if (!buffers[i]->FindChangedGuard(at)) continue;
    return absl::OutOfRangeError(absl::StrCat("kernel ", kernels_[kernel].symbol, ": byte ", at,
                                              " of buffer ", i, " is written, which has ",
                                              buffers[i]->bytes()));
  }
  return absl::OkStatus();
}

absl::Status SimtEmulator::CheckLaunch(uint32_t kernel, int64_t grid, int64_t block, size_t buffers) const {
  const SimtKernel& limits = kernels_[kernel];
  if (block >= 1 && block <= limits.block && block <= kMaxGpuBlock && grid >= 1 && grid <= INT32_MAX &&
      std::max<int64_t>(1, static_cast<int64_t>(buffers)) == limits.buffers) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "kernel ", limits.symbol, " for up to ", limits.block, " threads and ", limits.buffers,
      " buffers is launched with ", grid, " blocks, ", block, " threads, ", buffers, " buffers"));
}

absl::Status SimtEmulator::RunOnce(uint32_t kernel, int64_t grid, int64_t block,
                                   const std::vector<SimtMemory>& buffers) {
  SINTER_RETURN_IF_ERROR(CheckLaunch(kernel, grid, block, buffers.size()));
  std::vector<bool> was_loaded(buffers.size());
  return RunInOrder(kernel, grid, block, buffers, ThreadOrder::kAscending, was_loaded);
}

absl::Status SimtEmulator::Run(uint32_t kernel, int64_t grid, int64_t block,
                               const std::vector<SimtBuffer*>& buffers) {
  SINTER_RETURN_IF_ERROR(CheckLaunch(kernel, grid, block, buffers.size()));
  const std::vector<Bytes> before = Copies(buffers);
  std::vector<bool> was_loaded(buffers.size());
  SINTER_RETURN_IF_ERROR(RunGuarded(kernel, grid, block, buffers, ThreadOrder::kAscending, was_loaded));
  const std::vector<Bytes> after = Copies(buffers);
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (was_loaded[i] && !IsEqual(*buffers[i], before[i])) {
      return absl::FailedPreconditionError(
          absl::StrCat("kernel ", kernels_[kernel].symbol, " reads buffer ", i,
                       " as memory that nothing writes while it runs, and changes ",
                       FirstDifference(*buffers[i], before[i])));
    }
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!before[i].empty()) std::memcpy(buffers[i]->data(), before[i].data(), before[i].size());
  }
  SINTER_RETURN_IF_ERROR(RunGuarded(kernel, grid, block, buffers, ThreadOrder::kDescending, was_loaded));
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (IsEqual(*buffers[i], after[i])) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "kernel ", kernels_[kernel].symbol, " writes other bits to buffer ", i,
        " when its threads run from the last to the first: ", FirstDifference(*buffers[i], after[i])));
  }
  return absl::OkStatus();
}

}  // namespace sinter::codegen
