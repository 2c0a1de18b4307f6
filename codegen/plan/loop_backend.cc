#include "sinter/codegen/plan/loop_backend.h"

#include "absl/strings/str_cat.h"
#include "sinter/codegen/plan/copy_step.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/loop_workspace.h"

namespace sinter::codegen {
namespace {

using flatbuffers::Offset;

class LoopBackend : public CallBackend {
 public:
  explicit LoopBackend(CudaKernels& cuda_kernels) : cuda_kernels_(cuda_kernels) {}

  llvm::StringRef name() const override { return "loop"; }

  bool Computes(plan_ir::CallOp call) const override {
    return llvm::isa_and_present<ir::LoopOp>(call.libraryOp());
  }

  // Known once the fragment is laid out: sinter-plan-fragments writes it.
  absl::StatusOr<int64_t> WorkspaceBytes(plan_ir::CallOp call) override {
    return static_cast<int64_t>(call.getWorkspaceBytes());
  }

  absl::Status Emit(plan_ir::CallOp call, StepWriter& writer) override {
    auto loop = llvm::cast<ir::LoopOp>(call.libraryOp());
    const auto found = writer.plan().fragments.find(loop.getBody().str());
    if (found == writer.plan().fragments.end()) {
      return absl::InvalidArgumentError(absl::StrCat(UserLine(call.getLoc()), ": the loop runs @",
                                                     loop.getBody().str(),
                                                     ", which is no fragment before it"));
    }
    const FragmentContents& fragment = found->second;
    const auto workspace = LoopWorkspaceBytes(static_cast<uint64_t>(fragment.arena_bytes), loop.getGuarded());
    SINTER_RETURN_IF_ERROR(CheckWorkspace(call, static_cast<int64_t>(workspace)));
    SINTER_ASSIGN_OR_RETURN(StepWriter::Step step, writer.StepOfLibraryOp(call));
    for (size_t i = 0; i < loop.getCarries().size(); ++i) {
      const unsigned number = llvm::cast<mlir::BlockArgument>(loop.getCarries()[i]).getArgNumber();
      SINTER_RETURN_IF_ERROR(
          AddCopyStep(call.getIns()[number], call.getOuts()[i], call, writer, cuda_kernels_));
    }
    std::vector<Offset<fb::LoopArgument>> arguments;
    for (const FragmentParameter& parameter : fragment.parameters) {
      arguments.push_back(ArgumentOf(loop, parameter, writer.builder()));
    }
    const auto list = writer.builder().CreateVector(arguments);
    step.type = fb::StepBody::LoopStep;
    const int32_t guard = loop.getGuarded() ? static_cast<int32_t>(loop.getNumOperands()) : -1;
    writer.plan().content |= {.guards = loop.getGuarded()};
    step.body = fb::CreateLoopStep(writer.builder(), fragment.index, loop.getTrips(), list, guard).Union();
    // How many trips a guard allows is known when it runs: one counts.
    const double trips = loop.getGuarded() ? 1.0 : static_cast<double>(loop.getTrips());
    step.flops = trips * fragment.flops;
    step.bytes = trips * fragment.bytes;
    writer.AddStep(step, call);
    return absl::OkStatus();
  }

 private:
  // The operand of the step is the one that the parameter's name counts (ir::kParameterAttr). Carries are in
  // the step's outputs.
  static Offset<fb::LoopArgument> ArgumentOf(ir::LoopOp loop, const FragmentParameter& parameter,
                                             flatbuffers::FlatBufferBuilder& builder) {
    const uint32_t carries = loop.getCarries().size(), slices = loop.getSlices().size();
    const uint32_t inputs = loop.getNumOperands();
    llvm::StringRef name = parameter.name;
    auto number = [&](llvm::StringRef prefix) {
      uint32_t i = 0;
      name.drop_front(prefix.size()).getAsInteger(10, i);
      return i;
    };
    const bool is_slice = name.starts_with(ir::kSlicePrefix), is_stack = name.starts_with(ir::kStackPrefix);
    uint32_t operand = 0;
    if (name.starts_with(ir::kCarryPrefix)) operand = inputs + number(ir::kCarryPrefix);
    if (is_slice) operand = carries + number(ir::kSlicePrefix);
    if (name.starts_with(ir::kInvariantPrefix)) operand = carries + slices + number(ir::kInvariantPrefix);
    if (is_stack) operand = inputs + carries + number(ir::kStackPrefix);
    if (!is_slice && !is_stack) return fb::CreateLoopArgument(builder, operand, 0, 0);
    const int64_t bytes = static_cast<int64_t>(parameter.bytes), last = loop.getTrips() - 1;
    const bool is_reverse = loop.getReverse() && last > 0;
    return fb::CreateLoopArgument(builder, operand, is_reverse ? static_cast<uint64_t>(last * bytes) : 0,
                                  is_reverse ? -bytes : bytes);
  }

  CudaKernels& cuda_kernels_;
};

}  // namespace

std::unique_ptr<CallBackend> MakeLoopBackend(CudaKernels& cuda_kernels) {
  return std::make_unique<LoopBackend>(cuda_kernels);
}

}  // namespace sinter::codegen
