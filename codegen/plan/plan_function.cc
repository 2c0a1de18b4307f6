#include "sinter/codegen/plan/plan_function.h"

#include <algorithm>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/MapVector.h"
#include "sinter/codegen/cuda/catalog/cuda_catalog.h"
#include "sinter/codegen/cuda/catalog/cuda_copy.h"
#include "sinter/codegen/plan/emit_plan.h"
#include "sinter/codegen/plan/lower_collective.h"
#include "sinter/codegen/steps/lowering.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/program/collective.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

using flatbuffers::Offset;
using llvm::SmallVector;
using mlir::Value;

uint32_t LocationTable::Add(const UserLocation& location) {
  auto [found, is_new] = index_.try_emplace(location, locations_.size());
  if (is_new) locations_.push_back(location);
  return found->second;
}

std::vector<uint32_t> LocationTable::Add(mlir::Location loc) {
  std::vector<uint32_t> indices;
  for (const UserLocation& location : UserLocations(loc)) indices.push_back(Add(location));
  return indices;
}

uint32_t PlanContents::DeviceIndex(ir::DeviceAttr device) const {
  auto found = std::find(devices.begin(), devices.end(), device);
  SINTER_CHECK(found != devices.end()) << device.text() << " is not among the plan's devices";
  return found - devices.begin();
}

Offset<fb::TensorType> WriteType(flatbuffers::FlatBufferBuilder& builder, mlir::RankedTensorType type) {
  auto shape = builder.CreateVector(type.getShape().data(), type.getShape().size());
  return fb::CreateTensorType(builder, DTypeOf(type.getElementType()), shape);
}

namespace {

class FunctionWriter {
 public:
  FunctionWriter(plan_ir::FunctionOp function, PlanContents& plan)
      : function_(function), plan_(plan), builder_(plan.builder) {}

  absl::StatusOr<Offset<fb::Function>> Write() {
    for (auto input : function_.getBody().front().getOps<plan_ir::InputOp>()) {
      // An input on several devices is one port; its other buffers name their devices.
      if (!inputs_.try_emplace(input.getName().str(), inputs_.size()).second) continue;
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
    auto buffers = builder_.CreateVector(buffers_);
    auto steps = builder_.CreateVector(steps_);
    std::vector<uint64_t> arenas;
    for (ir::DeviceAttr device : plan_.devices) arenas.push_back(function_.arenaBytesOf(device).value_or(0));
    Offset<flatbuffers::Vector<uint64_t>> more;
    if (arenas.size() > 1) more = builder_.CreateVector(arenas.data() + 1, arenas.size() - 1);
    return fb::CreateFunction(builder_, name, inputs, outputs, buffers, steps, arenas.front(), more);
  }

 private:
  // Two buffers with equal keys share one entry of the table.
  using Key = std::tuple<fb::Space, uint32_t, uint64_t, std::string, uint32_t>;

  absl::Status Unplaced(mlir::Location loc) {
    return absl::InvalidArgumentError(
        absl::StrCat(UserLine(loc), ": a buffer of function '", function_.getSymName().str(),
                     "' has no place in the arena; run sinter-plan-memory first"));
  }

  absl::StatusOr<uint32_t> AddBuffer(Value buffer) {
    BufferPlace place = PlaceOf(buffer);
    auto type = llvm::cast<plan_ir::BufferType>(buffer.getType()).getTensor();
    uint64_t offset = place.offset;
    uint32_t device = plan_.DeviceIndex(place.device);
    switch (place.space) {
      case BufferPlace::Space::kUnplaced:
        return Unplaced(buffer.getLoc());
      case BufferPlace::Space::kArena:
        return AddBuffer(fb::Space::Arena, 0, offset, type, device);
      case BufferPlace::Space::kInput:
        return AddBuffer(fb::Space::Input, inputs_.at(llvm::cast<mlir::StringAttr>(place.name).str()), offset,
                         type, device);
      case BufferPlace::Space::kVariable: {
        std::string name = llvm::cast<mlir::FlatSymbolRefAttr>(place.name).getValue().str();
        auto found = plan_.variables.find(name);
        if (found != plan_.variables.end())
          return AddBuffer(fb::Space::Variable, found->second, offset, type, device);
        return absl::InvalidArgumentError(
            absl::StrCat(UserLine(buffer.getLoc()), ": the module has no variable @", name));
      }
      case BufferPlace::Space::kConstant: {
        auto constant = llvm::cast<plan_ir::ConstantOp>(place.root);
        SINTER_ASSIGN_OR_RETURN(uint64_t start, plan_.constants.Add(constant));
        return AddBuffer(fb::Space::Constant, 0, start + offset, type, device);
      }
    }
    return Unplaced(buffer.getLoc());
  }

  uint32_t AddBuffer(fb::Space space, uint32_t index, uint64_t offset, mlir::RankedTensorType type,
                     uint32_t device) {
    std::string type_text;
    llvm::raw_string_ostream(type_text) << type;
    auto [found, is_new] =
        buffer_index_.try_emplace(Key{space, index, offset, type_text, device}, buffers_.size());
    if (is_new) {
      buffers_.push_back(fb::CreateBuffer(builder_, space, index, offset, WriteType(builder_, type),
                                          plan_ir::TensorBytes(type), device));
    }
    return found->second;
  }

  absl::Status AddPort(llvm::StringRef name, Value buffer, std::vector<Offset<fb::Port>>& ports,
                       const std::vector<uint32_t>& replicas = {}) {
    SINTER_ASSIGN_OR_RETURN(uint32_t index, AddBuffer(buffer));
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
        SINTER_ASSIGN_OR_RETURN(replicas.emplace_back(), AddBuffer(buffer));
      }
      SINTER_RETURN_IF_ERROR(AddPort(name.getValue(), buffers.front(), output_ports_, replicas));
    }
    return absl::OkStatus();
  }

  struct StepContents {
    std::string name;
    fb::StepBody type = fb::StepBody::NONE;
    Offset<void> body;
    std::vector<uint32_t> inputs, outputs;
    uint64_t workspace_offset = 0, workspace_bytes = 0;
    double flops = 0, bytes = 0;
  };

  void AddStep(const StepContents& step, mlir::Operation* op) {
    auto name = builder_.CreateString(step.name);
    auto inputs = builder_.CreateVector(step.inputs), outputs = builder_.CreateVector(step.outputs);
    auto locations = builder_.CreateVector(plan_.locations.Add(op->getLoc()));
    steps_.push_back(fb::CreateStep(builder_, name, step.type, step.body, inputs, outputs,
                                    step.workspace_offset, step.workspace_bytes, locations, step.flops,
                                    step.bytes, plan_.DeviceIndex(ir::DeviceOf(op))));
  }

  absl::Status AddCopy(plan_ir::CopyOp copy) {
    StepContents step;
    SINTER_ASSIGN_OR_RETURN(uint32_t from, AddBuffer(copy.getSource()));
    SINTER_ASSIGN_OR_RETURN(uint32_t to, AddBuffer(copy.getTarget()));
    if (from == to) return absl::OkStatus();
    uint64_t bytes = llvm::cast<plan_ir::BufferType>(copy.getSource().getType()).getBytes();
    step.name = "copy";
    if (const std::optional<CudaCatalogLaunch> launch =
            CudaCopy(PlaceOf(copy.getSource()), PlaceOf(copy.getTarget()))) {
      const uint32_t kernel = plan_.cuda_kernels.AddSource(launch->source);
      step.type = fb::StepBody::GpuKernelStep;
      step.body = fb::CreateGpuKernelStep(builder_, kernel, launch->grid, launch->block, 0).Union();
    } else {
      step.type = fb::StepBody::CopyStep;
      step.body = fb::CreateCopyStep(builder_, bytes).Union();
    }
    step.inputs = {from}, step.outputs = {to};
    step.bytes = 2.0 * bytes;
    AddStep(step, copy);
    return absl::OkStatus();
  }

  absl::Status AddCall(plan_ir::CallOp call) {
    if (call.getWorkspaceBytes() > 0 && !call.getWorkspaceOffset()) return Unplaced(call.getLoc());
    mlir::Operation* op = call.libraryOp();
    bool on_gpu = ir::DeviceOf(call).getKind() == ir::DeviceKind::gpu;
    if (op && ir::Collective::Of(op)) return AddCollective(call);
    if (op && on_gpu && CudaCatalog::Default().Has(op)) return AddCatalogCall(call, op);
    if (op) return AddLibraryCall(call, op);
    SINTER_RETURN_IF_ERROR(CheckWorkspace(call));
    return on_gpu ? AddCudaCall(call) : AddFusedCall(call);
  }

  absl::Status CheckWorkspace(plan_ir::CallOp call) {
    SINTER_ASSIGN_OR_RETURN(int64_t workspace, FusedWorkspaceBytes(call, LoopTargetOf(call)));
    if (workspace <= static_cast<int64_t>(call.getWorkspaceBytes())) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(UserLine(call.getLoc()), ": the call '",
                                                   call.getName().str(), "' needs ", workspace,
                                                   " bytes of workspace and has ", call.getWorkspaceBytes(),
                                                   "; run sinter-select-kernels before sinter-plan-memory"));
  }

  // Returns the contents of step `i` of the `count` steps that a call becomes.
  absl::StatusOr<StepContents> StepOf(plan_ir::CallOp call, size_t i, size_t count,
                                      const std::vector<Slot>& inputs, const std::vector<Slot>& outputs) {
    StepContents step;
    step.name = call.getName().str();
    if (count > 1) absl::StrAppend(&step.name, "/", i);
    step.workspace_bytes = call.getWorkspaceBytes();
    step.workspace_offset = call.getWorkspaceOffset().value_or(0);
    SINTER_ASSIGN_OR_RETURN(step.inputs, AddSlots(call, inputs));
    SINTER_ASSIGN_OR_RETURN(step.outputs, AddSlots(call, outputs));
    return step;
  }

  absl::Status AddCudaCall(plan_ir::CallOp call) {
    SINTER_ASSIGN_OR_RETURN(std::vector<CudaLaunch> launches, plan_.cuda_kernels.AddCall(call));
    for (auto [i, launch] : llvm::enumerate(launches)) {
      SINTER_ASSIGN_OR_RETURN(StepContents step,
                              StepOf(call, i, launches.size(), launch.inputs, launch.outputs));
      step.type = fb::StepBody::GpuKernelStep;
      step.body = fb::CreateGpuKernelStep(builder_, launch.kernel, launch.grid, launch.block, 0).Union();
      step.flops = launch.flops, step.bytes = launch.bytes;
      AddStep(step, call);
    }
    return absl::OkStatus();
  }

  absl::Status AddCatalogCall(plan_ir::CallOp call, mlir::Operation* op) {
    SINTER_ASSIGN_OR_RETURN(CudaCatalogCall catalog, CudaCatalog::Default().Lower(op));
    // The catalogue's slots count the op's operands and results; the call's slots count its buffers.
    auto of_call = [&](const std::vector<Slot>& slots) {
      std::vector<Slot> result = slots;
      for (Slot& slot : result) {
        if (slot.kind != Slot::Kind::kIn) continue;
        slot.index = llvm::cast<mlir::BlockArgument>(op->getOperand(slot.index)).getArgNumber();
      }
      return result;
    };
    for (auto [i, launch] : llvm::enumerate(catalog.launches)) {
      if (launch.grid == 0) continue;
      SINTER_ASSIGN_OR_RETURN(StepContents step, StepOf(call, i, catalog.launches.size(),
                                                        of_call(launch.inputs), of_call(launch.outputs)));
      uint32_t kernel = plan_.cuda_kernels.AddSource(launch.source);
      step.type = fb::StepBody::GpuKernelStep;
      step.body =
          fb::CreateGpuKernelStep(builder_, kernel, launch.grid, launch.block, launch.shared_bytes).Union();
      step.flops = i == 0 ? catalog.flops : 0;
      for (const Slot& slot : launch.inputs) step.bytes += plan_ir::TensorBytes(slot.type);
      for (const Slot& slot : launch.outputs) step.bytes += plan_ir::TensorBytes(slot.type);
      AddStep(step, call);
    }
    return absl::OkStatus();
  }

  absl::Status AddLibraryCall(plan_ir::CallOp call, mlir::Operation* op) {
    SINTER_ASSIGN_OR_RETURN(LibraryStep library, LibraryLowerings::Default().Lower(op, builder_));
    StepContents step{call.getName().str(), library.type, library.body, {}, {}};
    step.flops = library.flops;
    step.workspace_bytes = call.getWorkspaceBytes();
    step.workspace_offset = call.getWorkspaceOffset().value_or(0);
    for (Value operand : op->getOperands()) {
      SINTER_ASSIGN_OR_RETURN(
          uint32_t index, AddBuffer(call.getIns()[llvm::cast<mlir::BlockArgument>(operand).getArgNumber()]));
      step.inputs.push_back(index);
    }
    for (Value out : call.getOuts()) {
      SINTER_ASSIGN_OR_RETURN(uint32_t index, AddBuffer(out));
      step.outputs.push_back(index);
    }
    for (Value buffer : call->getOperands()) {
      step.bytes += llvm::cast<plan_ir::BufferType>(buffer.getType()).getBytes();
    }
    AddStep(step, call);
    return absl::OkStatus();
  }

  absl::Status AddCollective(plan_ir::CallOp call) {
    StepContents step;
    step.name = call.getName().str();
    SINTER_ASSIGN_OR_RETURN(Offset<fb::CollectiveStep> body, LowerCollective(call, plan_));
    step.type = fb::StepBody::CollectiveStep;
    step.body = body.Union();
    for (Value in : call.getIns()) {
      SINTER_ASSIGN_OR_RETURN(step.inputs.emplace_back(), AddBuffer(in));
    }
    for (Value out : call.getOuts()) {
      SINTER_ASSIGN_OR_RETURN(step.outputs.emplace_back(), AddBuffer(out));
    }
    for (Value buffer : call->getOperands()) {
      step.bytes += llvm::cast<plan_ir::BufferType>(buffer.getType()).getBytes();
    }
    AddStep(step, call);
    return absl::OkStatus();
  }

  absl::Status AddFusedCall(plan_ir::CallOp call) {
    SINTER_ASSIGN_OR_RETURN(std::vector<KernelLaunch> launches, plan_.kernels.AddCall(call));
    for (auto [i, launch] : llvm::enumerate(launches)) {
      auto symbol = builder_.CreateString(launch.symbol);
      auto body = fb::CreateKernelStep(builder_, symbol, launch.units, launch.grain, launch.scratch_bytes);
      SINTER_ASSIGN_OR_RETURN(StepContents step,
                              StepOf(call, i, launches.size(), launch.inputs, launch.outputs));
      step.type = fb::StepBody::KernelStep;
      step.body = body.Union();
      step.flops = launch.flops, step.bytes = launch.bytes;
      AddStep(step, call);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<uint32_t>> AddSlots(plan_ir::CallOp call, const std::vector<Slot>& slots) {
    std::vector<uint32_t> indices;
    for (const Slot& slot : slots) {
      if (slot.kind == Slot::Kind::kWorkspace) {
        indices.push_back(AddBuffer(fb::Space::Arena, 0, *call.getWorkspaceOffset() + slot.offset, slot.type,
                                    plan_.DeviceIndex(ir::DeviceOf(call))));
        continue;
      }
      Value buffer = slot.kind == Slot::Kind::kIn ? call.getIns()[slot.index] : call.getOuts()[slot.index];
      SINTER_ASSIGN_OR_RETURN(uint32_t index, AddBuffer(buffer));
      indices.push_back(index);
    }
    return indices;
  }

  plan_ir::FunctionOp function_;
  PlanContents& plan_;
  flatbuffers::FlatBufferBuilder& builder_;
  std::map<std::string, uint32_t> inputs_;
  std::map<Key, uint32_t> buffer_index_;
  std::vector<Offset<fb::Buffer>> buffers_;
  std::vector<Offset<fb::Port>> input_ports_, output_ports_;
  std::vector<Offset<fb::Step>> steps_;
};

}  // namespace

absl::StatusOr<Offset<fb::Function>> WriteFunction(plan_ir::FunctionOp function, PlanContents& plan) {
  return FunctionWriter(function, plan).Write();
}

}  // namespace sinter::codegen
