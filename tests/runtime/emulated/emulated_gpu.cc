#include "sinter/tests/runtime/emulated/emulated_gpu.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/step_kind.h"
#include "sinter/tests/runtime/emulated/emulated_memory.h"
#include "sinter/tests/runtime/emulated/library_steps.h"

namespace sinter {
namespace {

// The live runtimes, the newest last.
struct LiveGpus {
  std::mutex mutex;
  std::vector<const EmulatedGpu*> gpus;
};

LiveGpus& Live() {
  static LiveGpus& live = *new LiveGpus;
  return live;
}

// The function of the plan that holds the step.
const fb::Function& FunctionOf(const fb::Plan& plan, const fb::Step& step) {
  for (const fb::Function* function : *plan.functions()) {
    for (uint32_t i = 0; i < SizeOrZero(function->steps()); ++i) {
      if (function->steps()->Get(i) == &step) return *function;
    }
  }
  SINTER_CHECK(false) << "a step of another plan";
}

// Bytes of the step's inputs, then outputs.
std::vector<int64_t> BytesOf(const fb::Plan& plan, const fb::Step& step) {
  const fb::Function& function = FunctionOf(plan, step);
  std::vector<int64_t> bytes;
  for (const auto* list : {step.inputs(), step.outputs()}) {
    for (uint32_t i = 0; i < SizeOrZero(list); ++i) {
      bytes.push_back(static_cast<int64_t>(function.buffers()->Get(list->Get(i))->bytes()));
    }
  }
  return bytes;
}

}  // namespace

EmulatedGpu::EmulatedGpu(Device device, const Backend& backend, CachingAllocator* allocator)
    : FakeGpu(device, backend, allocator, /*fault=*/nullptr) {
  const std::lock_guard lock(Live().mutex);
  Live().gpus.push_back(this);
}

EmulatedGpu::~EmulatedGpu() {
  const std::lock_guard lock(Live().mutex);
  std::erase(Live().gpus, this);
}

const EmulatedGpu* LatestEmulatedGpu(int32_t index) {
  const std::lock_guard lock(Live().mutex);
  const EmulatedGpu* latest = nullptr;
  for (const EmulatedGpu* gpu : Live().gpus) latest = gpu->device().index() == index ? gpu : latest;
  return latest;
}

std::unique_ptr<Step> EmulatedGpu::MakeChecked(const fb::Plan& plan, const fb::Step& step,
                                               std::atomic<int64_t>& count, Work work) {
  const size_t inputs = SizeOrZero(step.inputs());
  std::vector<int64_t> bytes = BytesOf(plan, step);
  const size_t operands = bytes.size();
  const std::string what = StepText(plan, step);
  return MakeWorkStep(operands, [this, &count, inputs, what, bytes = std::move(bytes),
                                 work = std::move(work)](const std::vector<void*>& buffers) {
    std::vector<std::span<std::byte>> outputs;
    for (size_t i = inputs; i < buffers.size(); ++i) {
      outputs.emplace_back(static_cast<std::byte*>(buffers[i]), static_cast<size_t>(bytes[i]));
    }
    const WriteCheck check(outputs);
    absl::Status status = work(buffers);
    if (status.ok()) status = check.Finish(what);
    if (!status.ok()) Break(std::move(status));
    ++count;
  });
}

absl::StatusOr<std::unique_ptr<Step>> EmulatedGpu::MakeKernel(const fb::Plan& plan, const fb::Step& step) {
  const fb::GpuKernelStep& table = *step.body_as_GpuKernelStep();
  const fb::GpuKernel& kernel = *plan.gpu_kernels()->Get(table.kernel());
  if (table.shared_bytes() > 0) {
    return absl::UnimplementedError(absl::StrCat("kernel \"", kernel.symbol()->c_str(), "\" asks for ",
                                                 table.shared_bytes(),
                                                 " bytes of dynamic shared memory, which is not emulated"));
  }
  if (code_ == nullptr) {
    SINTER_ASSIGN_OR_RETURN(code_, EmulatedCode::Load(plan));
  }
  return MakeChecked(plan, step, kernel_launches_,
                     [this, number = table.kernel(), grid = table.grid(), block = table.block(),
                      bytes = BytesOf(plan, step)](const std::vector<void*>& buffers) {
                       std::vector<codegen::SimtMemory> memory;
                       for (size_t i = 0; i < buffers.size(); ++i) {
                         memory.push_back({static_cast<std::byte*>(buffers[i]), bytes[i]});
                       }
                       return code_->Launch(number, grid, block, memory);
                     });
}

namespace {

// A step that a library of a GPU computes with waits: it must not be captured.
class WaitingStep : public Step {
 public:
  WaitingStep(const EmulatedGpu& gpu, std::unique_ptr<Step> step) : gpu_(gpu), step_(std::move(step)) {}

  CaptureLimit capture_limit() const override { return CaptureLimit::kNowhere; }
  absl::Status Run(const StepArgs& args) override {
    if (gpu_.is_capturing()) return absl::InternalError("a step that waits for the GPU is captured");
    return step_->Run(args);
  }

 private:
  const EmulatedGpu& gpu_;
  std::unique_ptr<Step> step_;
};

// As in runtime/cuda/steps/spectrum_steps.cc, but of any size.
bool WaitsForTheGpu(const fb::Step& step) {
  const fb::CatalogStep* const call = step.body_as_CatalogStep();
  if (call == nullptr) return false;
  const std::string_view kernel = call->kernel()->string_view();
  return kernel == "eigh" || kernel == "svd";
}

}  // namespace

absl::StatusOr<std::unique_ptr<Step>> EmulatedGpu::MakeLibraryCall(const fb::Plan& plan,
                                                                   const fb::Step& step) {
  SINTER_ASSIGN_OR_RETURN(LibraryCall call, MakeEmulatedLibraryCall(step));
  absl::StatusOr<std::unique_ptr<Step>> made =
      MakeChecked(plan, step, library_calls_, [call = std::move(call)](const std::vector<void*>& buffers) {
        call(buffers);
        return absl::OkStatus();
      });
  if (!made.ok() || !WaitsForTheGpu(step)) return made;
  return std::make_unique<WaitingStep>(*this, *std::move(made));
}

absl::StatusOr<std::unique_ptr<Step>> EmulatedGpu::MakeStep(const fb::Plan& plan, const fb::Step& step) {
  switch (step.body_type()) {
    case fb::StepBody::GpuKernelStep:
      return MakeKernel(plan, step);
    case fb::StepBody::MatmulStep:
    case fb::StepBody::ConvStep:
    case fb::StepBody::AttentionStep:
    case fb::StepBody::CatalogStep:
      return MakeLibraryCall(plan, step);
    case fb::StepBody::CopyStep:
    case fb::StepBody::CollectiveStep:
      return FakeGpu::MakeStep(plan, step);
    default:
      return absl::UnimplementedError(absl::StrCat("a step of kind ", std::string(StepKindName(step)),
                                                   " runs on CPUs only, and the plan puts it on ",
                                                   device().ToString()));
  }
}

}  // namespace sinter
