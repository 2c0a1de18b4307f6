#include "sinter/codegen/plan/plan_function.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include "sinter/codegen/cuda/catalog/cuda_copy.h"
#include "sinter/codegen/places/buffer_region.h"
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
      // An input on several devices is one port; its other buffers name their devices.
      if (!inputs_written.insert(input.getName()).second) continue;
      SINTER_RETURN_IF_ERROR(AddPort(input.getName(), input.getBuffer(), input_ports_));
    }
    for (mlir::Operation& op : function_.getBody().front()) {
      if (auto call = llvm::dyn_cast<plan_ir::CallOp>(op)) {
        SINTER_RETURN_IF_ERROR(AddCall(call));
      } else if (auto copy = llvm::dyn_cast<plan_ir::CopyOp>(op)) {
        SINTER_RETURN_IF_ERROR(AddCopy(copy));
      }
    }
    SINTER_RETURN_IF_ERROR(AddOutputs());
    auto name = builder_.CreateString(function_.getSymName().str());
    auto inputs = builder_.CreateVector(input_ports_), outputs = builder_.CreateVector(output_ports_);
    auto buffers = builder_.CreateVector(writer_.buffers());
    auto steps = builder_.CreateVector(writer_.steps());
    std::vector<uint64_t> arenas;
    for (ir::DeviceAttr device : plan_.devices) arenas.push_back(function_.arenaBytesOf(device).value_or(0));
    Offset<flatbuffers::Vector<uint64_t>> more;
    if (arenas.size() > 1) more = builder_.CreateVector(arenas.data() + 1, arenas.size() - 1);
    return fb::CreateFunction(builder_, name, inputs, outputs, buffers, steps, arenas.front(), more);
  }

 private:
  absl::Status AddPort(llvm::StringRef name, Value buffer, std::vector<Offset<fb::Port>>& ports,
                       const std::vector<uint32_t>& replicas = {}) {
    SINTER_ASSIGN_OR_RETURN(uint32_t index, writer_.AddBuffer(buffer));
    auto type = WriteType(builder_, llvm::cast<plan_ir::BufferType>(buffer.getType()).getTensor());
    auto text = builder_.CreateString(name.str());
    Offset<flatbuffers::Vector<uint32_t>> more;
    if (!replicas.empty()) more = builder_.CreateVector(replicas);
    ports.push_back(fb::CreatePort(builder_, text, type, index, more));
    return absl::OkStatus();
  }

  // Outputs with one name are one output that several devices hold.
  absl::Status AddOutputs() {
    llvm::MapVector<mlir::StringAttr, SmallVector<Value>> outputs;
    for (auto output : function_.getBody().front().getOps<plan_ir::OutputOp>()) {
      outputs[output.getNameAttr()].push_back(output.getBuffer());
    }
    for (auto& [name, buffers] : outputs) {
      std::vector<uint32_t> replicas;
      for (Value buffer : llvm::ArrayRef(buffers).drop_front()) {
        SINTER_ASSIGN_OR_RETURN(replicas.emplace_back(), writer_.AddBuffer(buffer));
      }
      SINTER_RETURN_IF_ERROR(AddPort(name.getValue(), buffers.front(), output_ports_, replicas));
    }
    return absl::OkStatus();
  }

  absl::Status AddCopy(plan_ir::CopyOp copy) {
    StepWriter::Step step;
    SINTER_ASSIGN_OR_RETURN(uint32_t from, writer_.AddBuffer(copy.getSource()));
    SINTER_ASSIGN_OR_RETURN(uint32_t to, writer_.AddBuffer(copy.getTarget()));
    if (from == to) return absl::OkStatus();
    uint64_t bytes = llvm::cast<plan_ir::BufferType>(copy.getSource().getType()).getBytes();
    step.name = "copy";
    if (const std::optional<CudaCatalogLaunch> launch =
            CudaCopy(RegionOf(copy.getSource()), RegionOf(copy.getTarget()))) {
      const uint32_t kernel = backends_.cuda_kernels().AddSource(launch->source());
      step.type = fb::StepBody::GpuKernelStep;
      step.body = fb::CreateGpuKernelStep(builder_, kernel, launch->grid, launch->block, 0).Union();
    } else {
      step.type = fb::StepBody::CopyStep;
      step.body = fb::CreateCopyStep(builder_, bytes).Union();
    }
    step.inputs = {from}, step.outputs = {to};
    step.bytes = 2.0 * bytes;
    writer_.AddStep(step, copy);
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
