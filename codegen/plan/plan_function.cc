#include "sinter/codegen/plan/plan_function.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "sinter/codegen/plan/copy_step.h"
#include "sinter/codegen/steps/step_writer.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

using flatbuffers::Offset;
using llvm::SmallVector;
using mlir::Value;

namespace {

class FunctionWriter {
 public:
  FunctionWriter(plan_ir::FunctionOp function, PlanContents& plan, Backends& backends)
      : function_(function),
        plan_(plan),
        backends_(backends),
        builder_(plan.builder),
        writer_(function, plan) {}

  absl::StatusOr<Offset<fb::Function>> Write() {
    llvm::StringSet<> inputs_written;
    for (auto input : function_.getBody().front().getOps<plan_ir::InputOp>()) {
      if (function_.getFragment()) break;
      // An input on several devices is one port; its other buffers name their devices.
      if (!inputs_written.insert(input.getName()).second) continue;
      const uint32_t whole = writer_.AddWholeInput(input);
      const mlir::RankedTensorType type =
          input.getPart() ? input.getPart()->getWhole() : input.getBuffer().getType().getTensor();
      AddPort(input.getName(), whole, type, input_ports_);
    }
    for (mlir::Operation& op : function_.getBody().front()) {
      if (auto call = llvm::dyn_cast<plan_ir::CallOp>(op)) {
        SINTER_RETURN_IF_ERROR(AddCall(call));
      } else if (auto copy = llvm::dyn_cast<plan_ir::CopyOp>(op)) {
        SINTER_RETURN_IF_ERROR(
            AddCopyStep(copy.getSource(), copy.getTarget(), copy, writer_, backends_.cuda_kernels()));
      }
    }
    SINTER_RETURN_IF_ERROR(AddOutputs());
    auto name = builder_.CreateString(function_.planName().str());
    auto inputs = builder_.CreateVector(input_ports_), outputs = builder_.CreateVector(output_ports_);
    auto buffers = builder_.CreateVector(writer_.buffers());
    auto steps = builder_.CreateVector(writer_.steps());
    std::vector<uint64_t> arenas;
    for (ir::DeviceAttr device : plan_.devices) arenas.push_back(function_.arenaBytesOf(device).value_or(0));
    Offset<flatbuffers::Vector<uint64_t>> more;
    if (arenas.size() > 1) more = builder_.CreateVector(arenas.data() + 1, arenas.size() - 1);
    return fb::CreateFunction(builder_, name, inputs, outputs, buffers, steps, arenas.front(), more,
                              WriteRanks(), WriteParameters());
  }

 private:
  // Returns 0 for a function that is no fragment. Otherwise adds the fragment to the plan.
  Offset<flatbuffers::Vector<Offset<fb::Parameter>>> WriteParameters() {
    if (!function_.getFragment()) return 0;
    FragmentContents fragment = {.index = static_cast<uint32_t>(plan_.fragments.size()),
                                 .parameters = writer_.parameters(),
                                 .flops = writer_.flops(),
                                 .bytes = writer_.bytes()};
    for (ir::DeviceAttr device : function_.deviceList()) {
      fragment.arena_bytes = std::max(fragment.arena_bytes, function_.arenaBytesOf(device).value_or(0));
    }
    std::vector<Offset<fb::Parameter>> parameters;
    for (const FragmentParameter& parameter : fragment.parameters) {
      parameters.push_back(fb::CreateParameter(builder_, parameter.bytes, parameter.is_written));
    }
    plan_.fragments[function_.getSymName().str()] = std::move(fragment);
    return builder_.CreateVector(parameters);
  }

  Offset<flatbuffers::Vector<const fb::CoordinateRange*>> WriteRanks() {
    if (!function_.getRanks()) return 0;
    std::vector<fb::CoordinateRange> ranges;
    for (size_t i = 0; i + 1 < function_.getRanks()->size(); i += 2) {
      ranges.emplace_back((*function_.getRanks())[i], (*function_.getRanks())[i + 1]);
    }
    return builder_.CreateVectorOfStructs(ranges);
  }

  void AddPort(llvm::StringRef name, uint32_t buffer, mlir::RankedTensorType tensor,
               std::vector<Offset<fb::Port>>& ports, const std::vector<uint32_t>& replicas = {}) {
    auto type = WriteType(builder_, tensor);
    auto text = builder_.CreateString(name.str());
    Offset<flatbuffers::Vector<uint32_t>> more;
    if (!replicas.empty()) more = builder_.CreateVector(replicas);
    ports.push_back(fb::CreatePort(builder_, text, type, buffer, more));
  }

  // Outputs with one name are one output that several devices hold.
  absl::Status AddOutputs() {
    llvm::MapVector<mlir::StringAttr, SmallVector<Value>> outputs;
    for (auto output : function_.getBody().front().getOps<plan_ir::OutputOp>()) {
      outputs[output.getNameAttr()].push_back(output.getBuffer());
    }
    for (auto& [name, buffers] : outputs) {
      SINTER_ASSIGN_OR_RETURN(uint32_t first, writer_.AddBuffer(buffers.front()));
      std::vector<uint32_t> replicas;
      for (Value buffer : llvm::ArrayRef(buffers).drop_front()) {
        SINTER_ASSIGN_OR_RETURN(replicas.emplace_back(), writer_.AddBuffer(buffer));
      }
      AddPort(name.getValue(), first, llvm::cast<plan_ir::BufferType>(buffers.front().getType()).getTensor(),
              output_ports_, replicas);
    }
    return absl::OkStatus();
  }

  absl::Status AddCall(plan_ir::CallOp call) {
    if (call.getWorkspaceBytes() > 0 && !call.getWorkspaceOffset()) return writer_.Unplaced(call.getLoc());
    SINTER_ASSIGN_OR_RETURN(CallBackend * backend, backends_.Of(call));
    return backend->Emit(call, writer_);
  }

  plan_ir::FunctionOp function_;
  PlanContents& plan_;
  Backends& backends_;
  flatbuffers::FlatBufferBuilder& builder_;
  StepWriter writer_;
  std::vector<Offset<fb::Port>> input_ports_, output_ports_;
};

}  // namespace

absl::StatusOr<Offset<fb::Function>> WriteFunction(plan_ir::FunctionOp function, PlanContents& plan,
                                                   Backends& backends) {
  return FunctionWriter(function, plan, backends).Write();
}

}  // namespace sinter::codegen
