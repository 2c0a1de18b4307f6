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

absl::StatusOr<std::unique_ptr<SimtEmulator>> SimtEmulator::Compile(const std::vector<CudaSource>& sources) {
  SINTER_ASSIGN_OR_RETURN(CpuTarget target, CpuTarget::Host());
  SINTER_ASSIGN_OR_RETURN(std::string text, SimtText(sources, SimtHostFunctions()));
  llvm::LLVMContext context;
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<llvm::Module> module,
                          CompileCpp(text, kSimtEntry, target, context));
  SharedObjectOptions options;
  options.opt_level = 0;
  SINTER_ASSIGN_OR_RETURN(std::string object, EmitSharedObject(std::move(module), target, options));
  std::unique_ptr<SimtEmulator> emulator(new SimtEmulator);
  emulator->object_ = std::make_unique<LoadedObject>(object);
  if (!emulator->object_->ok()) return absl::InternalError(emulator->object_->error());
  for (const CudaSource& source : sources) {
    SINTER_ASSIGN_OR_RETURN(SimtLimits limits, SimtLimitsOf(source));
    emulator->limits_.push_back(limits);
    emulator->names_.push_back(source.symbol);
  }
  emulator->entry_ = reinterpret_cast<SimtEntry>(emulator->object_->Symbol(kSimtEntry));
  std::vector<void*> functions;
  for (const SimtHostFunction& f : SimtHostFunctions()) functions.push_back(f.pointer);
  emulator->entry_(functions.data(), SimtIndices(), kSimtSetUp, nullptr);
  return emulator;
}

SimtEmulator::SimtEmulator() = default;
SimtEmulator::~SimtEmulator() = default;

absl::Status SimtEmulator::RunInOrder(uint32_t kernel, int64_t grid, int64_t block,
                                      const std::vector<SimtBuffer*>& buffers, ThreadOrder order,
                                      std::vector<bool>& was_loaded) {
  SimtBlock threads(names_[kernel], entry_, kernel, static_cast<int>(block), order);
  std::vector<void*> pointers = {};
  for (size_t i = 0; i < buffers.size(); ++i) {
    threads.AddRegion(absl::StrCat("buffer ", i), buffers[i]->data(), buffers[i]->bytes());
    pointers.push_back(buffers[i]->data());
  }
  pointers.resize(std::max<size_t>(1, pointers.size()));
  for (int64_t i = 0; i < grid; ++i) {
    const int64_t at = order == ThreadOrder::kAscending ? i : grid - 1 - i;
    SINTER_RETURN_IF_ERROR(threads.Run(at, grid, pointers.data()));
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    was_loaded[i] = was_loaded[i] || threads.was_loaded(i);
    int64_t at = 0;
    if (!buffers[i]->FindChangedGuard(at)) continue;
    return absl::OutOfRangeError(absl::StrCat("kernel ", names_[kernel], ": byte ", at, " of buffer ", i,
                                              " is written, which has ", buffers[i]->bytes()));
  }
  return absl::OkStatus();
}

absl::Status SimtEmulator::Run(uint32_t kernel, int64_t grid, int64_t block,
                               const std::vector<SimtBuffer*>& buffers) {
  const SimtLimits& limits = limits_[kernel];
  if (block < 1 || block > limits.block || block > kMaxGpuBlock || grid < 1 || grid > INT32_MAX ||
      std::max<int64_t>(1, buffers.size()) != limits.buffers) {
    return absl::InvalidArgumentError(absl::StrCat(
        "kernel ", names_[kernel], " for up to ", limits.block, " threads and ", limits.buffers,
        " buffers is launched with ", grid, " blocks, ", block, " threads, ", buffers.size(), " buffers"));
  }
  const std::vector<Bytes> before = Copies(buffers);
  std::vector<bool> was_loaded(buffers.size());
  SINTER_RETURN_IF_ERROR(RunInOrder(kernel, grid, block, buffers, ThreadOrder::kAscending, was_loaded));
  const std::vector<Bytes> after = Copies(buffers);
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (was_loaded[i] && !IsEqual(*buffers[i], before[i])) {
      return absl::FailedPreconditionError(
          absl::StrCat("kernel ", names_[kernel], " reads buffer ", i,
                       " as memory that nothing writes while it runs, and changes ",
                       FirstDifference(*buffers[i], before[i])));
    }
  }
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!before[i].empty()) std::memcpy(buffers[i]->data(), before[i].data(), before[i].size());
  }
  SINTER_RETURN_IF_ERROR(RunInOrder(kernel, grid, block, buffers, ThreadOrder::kDescending, was_loaded));
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (IsEqual(*buffers[i], after[i])) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "kernel ", names_[kernel], " writes other bits to buffer ", i,
        " when its threads run from the last to the first: ", FirstDifference(*buffers[i], after[i])));
  }
  return absl::OkStatus();
}

}  // namespace sinter::codegen
