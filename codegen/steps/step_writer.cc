#include "sinter/codegen/steps/step_writer.h"

#include "absl/strings/str_cat.h"
#include "sinter/codegen/places/buffer_region.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

using mlir::Value;

StepWriter::StepWriter(plan_ir::FunctionOp function, PlanContents& plan) : function_(function), plan_(plan) {
  for (auto input : function_.getBody().front().getOps<plan_ir::InputOp>()) {
    inputs_.try_emplace(input.getName().str(), inputs_.size());
  }
}

absl::Status StepWriter::Unplaced(mlir::Location loc) {
  return absl::InvalidArgumentError(
      absl::StrCat(UserLine(loc), ": a buffer of function '", function_.getSymName().str(),
                   "' has no place in the arena; run sinter-plan-memory first"));
}

absl::StatusOr<uint32_t> StepWriter::AddBuffer(Value buffer) {
  BufferRegion place = RegionOf(buffer);
  auto type = llvm::cast<plan_ir::BufferType>(buffer.getType()).getTensor();
  uint64_t offset = place.offset;
  uint32_t device = plan_.DeviceIndex(place.device);
  if (function_.getFragment()) return AddInFragment(place, buffer);
  switch (place.space) {
    case BufferRegion::Space::kUnplaced:
      return Unplaced(buffer.getLoc());
    case BufferRegion::Space::kArena:
      return AddBuffer(fb::Space::Arena, 0, offset, type, device);
    case BufferRegion::Space::kInput:
      return AddInput(place, type);
    case BufferRegion::Space::kRankValue: {
      auto value = llvm::cast<plan_ir::RankValueOp>(place.root);
      const RankNumber number{static_cast<int64_t>(value.getConstant()),
                              {value.getStrides().begin(), value.getStrides().end()}};
      return AddBuffer(fb::Space::RankValue, plan_.RankValueIndex(number), offset, type, device);
    }
    case BufferRegion::Space::kVariable: {
      std::string name = llvm::cast<mlir::FlatSymbolRefAttr>(place.name).getValue().str();
      auto found = plan_.variables.find(name);
      if (found != plan_.variables.end())
        return AddBuffer(fb::Space::Variable, found->second, offset, type, device);
      return absl::InvalidArgumentError(
          absl::StrCat(UserLine(buffer.getLoc()), ": the module has no variable @", name));
    }
    case BufferRegion::Space::kConstant: {
      auto constant = llvm::cast<plan_ir::ConstantOp>(place.root);
      SINTER_ASSIGN_OR_RETURN(uint64_t start, plan_.constants.Add(constant));
      return AddBuffer(fb::Space::Constant, 0, start + offset, type, device);
    }
  }
  return Unplaced(buffer.getLoc());
}

// A fragment has memory of its own in its arena alone. What is an input or a variable of a function is a
// parameter of a fragment.
absl::StatusOr<uint32_t> StepWriter::AddInFragment(const BufferRegion& place, Value buffer) {
  auto type = llvm::cast<plan_ir::BufferType>(buffer.getType()).getTensor();
  const uint32_t device = plan_.DeviceIndex(place.device);
  if (place.space == BufferRegion::Space::kUnplaced) return Unplaced(buffer.getLoc());
  if (place.space == BufferRegion::Space::kArena)
    return AddBuffer(fb::Space::Arena, 0, place.offset, type, device);
  const bool is_written = place.space == BufferRegion::Space::kVariable;
  if (!is_written && place.space != BufferRegion::Space::kInput) {
    return absl::UnimplementedError(
        absl::StrCat(UserLine(buffer.getLoc()),
                     ": the body of a loop reads a constant, which fragments of a "
                     "plan cannot hold; make it before the loop"));
  }
  const std::string name = is_written ? llvm::cast<mlir::FlatSymbolRefAttr>(place.name).getValue().str()
                                      : llvm::cast<mlir::StringAttr>(place.name).str();
  auto found = llvm::find_if(parameters_, [&](const FragmentParameter& p) { return p.name == name; });
  const uint32_t index = found - parameters_.begin();
  if (found == parameters_.end()) {
    auto whole = llvm::cast<plan_ir::BufferType>(place.root->getResult(0).getType());
    parameters_.push_back({name, static_cast<uint64_t>(whole.getBytes()), is_written});
  }
  return AddBuffer(fb::Space::Parameter, index, place.offset, type, device);
}

// A part begins at a row of the whole tensor, which differs between ranks.
uint32_t StepWriter::AddInput(const BufferRegion& place, mlir::RankedTensorType type) {
  const uint32_t index = inputs_.at(llvm::cast<mlir::StringAttr>(place.name).str());
  const uint32_t device = plan_.DeviceIndex(place.device);
  const std::optional<ir::PartAttr> part = llvm::cast<plan_ir::InputOp>(place.root).getPart();
  if (!part) return AddBuffer(fb::Space::Input, index, place.offset, type, device);
  const int64_t row_bytes = plan_ir::TensorBytes(ir::Resized(part->getWhole(), 0, 1));
  std::vector<int64_t> strides;
  for (int64_t stride : part->getStrides()) strides.push_back(stride * row_bytes);
  return AddBuffer(fb::Space::Input, index, place.offset + part->getFirst() * row_bytes, type, device,
                   strides);
}

uint32_t StepWriter::AddWholeInput(plan_ir::InputOp input) {
  const mlir::RankedTensorType whole =
      input.getPart() ? input.getPart()->getWhole() : input.getBuffer().getType().getTensor();
  return AddBuffer(fb::Space::Input, inputs_.at(input.getName().str()), 0, whole,
                   plan_.DeviceIndex(ir::DeviceOf(input.getOperation())));
}

uint32_t StepWriter::AddBuffer(fb::Space space, uint32_t index, uint64_t offset, mlir::RankedTensorType type,
                               uint32_t device, const std::vector<int64_t>& rank_strides) {
  std::string type_text;
  llvm::raw_string_ostream(type_text) << type;
  auto [found, is_new] =
      buffer_index_.try_emplace(Key{space, index, offset, type_text, device, rank_strides}, buffers_.size());
  if (is_new) {
    flatbuffers::Offset<flatbuffers::Vector<int64_t>> strides;
    if (!rank_strides.empty()) strides = builder().CreateVector(rank_strides);
    buffers_.push_back(fb::CreateBuffer(builder(), space, index, offset, WriteType(builder(), type),
                                        plan_ir::TensorBytes(type), device, strides));
  }
  return found->second;
}

absl::StatusOr<std::vector<uint32_t>> StepWriter::AddSlots(plan_ir::CallOp call,
                                                           const std::vector<Slot>& slots) {
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

absl::StatusOr<StepWriter::Step> StepWriter::StepOf(plan_ir::CallOp call, size_t i, size_t count,
                                                    const std::vector<Slot>& inputs,
                                                    const std::vector<Slot>& outputs) {
  Step step;
  step.name = call.getName().str();
  if (count > 1) absl::StrAppend(&step.name, "/", i);
  step.workspace_bytes = call.getWorkspaceBytes();
  step.workspace_offset = call.getWorkspaceOffset().value_or(0);
  SINTER_ASSIGN_OR_RETURN(step.inputs, AddSlots(call, inputs));
  SINTER_ASSIGN_OR_RETURN(step.outputs, AddSlots(call, outputs));
  return step;
}

absl::StatusOr<StepWriter::Step> StepWriter::StepOfLibraryOp(plan_ir::CallOp call) {
  Step step;
  step.name = call.getName().str();
  step.workspace_bytes = call.getWorkspaceBytes();
  step.workspace_offset = call.getWorkspaceOffset().value_or(0);
  for (Value operand : call.libraryOp()->getOperands()) {
    const unsigned number = llvm::cast<mlir::BlockArgument>(operand).getArgNumber();
    SINTER_ASSIGN_OR_RETURN(step.inputs.emplace_back(), AddBuffer(call.getIns()[number]));
  }
  for (Value out : call.getOuts()) {
    SINTER_ASSIGN_OR_RETURN(step.outputs.emplace_back(), AddBuffer(out));
  }
  for (Value buffer : call->getOperands()) {
    step.bytes += llvm::cast<plan_ir::BufferType>(buffer.getType()).getBytes();
  }
  return step;
}

void StepWriter::AddStep(const Step& step, mlir::Operation* op) {
  flops_ += step.flops, bytes_ += step.bytes;
  auto name = builder().CreateString(step.name);
  auto inputs = builder().CreateVector(step.inputs), outputs = builder().CreateVector(step.outputs);
  auto locations = builder().CreateVector(plan_.locations.Add(op->getLoc()));
  steps_.push_back(fb::CreateStep(builder(), name, step.type, step.body, inputs, outputs,
                                  step.workspace_offset, step.workspace_bytes, locations, step.flops,
                                  step.bytes, plan_.DeviceIndex(ir::DeviceOf(op))));
}

absl::Status CheckWorkspace(plan_ir::CallOp call, int64_t needed) {
  if (needed <= static_cast<int64_t>(call.getWorkspaceBytes())) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(UserLine(call.getLoc()), ": the call '", call.getName().str(), "' needs ", needed,
                   " bytes of workspace and has ", static_cast<int64_t>(call.getWorkspaceBytes()),
                   "; run sinter-select-kernels before sinter-plan-memory"));
}

}  // namespace sinter::codegen
