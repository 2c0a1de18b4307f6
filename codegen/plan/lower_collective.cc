#include "sinter/codegen/plan/lower_collective.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/codegen/places/buffer_region.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/codegen/steps/lowering.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/program/collective.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/collective.h"

namespace sinter::codegen {

using mlir::Operation;
using mlir::Value;

namespace {

static_assert(static_cast<int>(ir::ReduceKind::min) == static_cast<int>(fb::ReduceOp::Min));

mlir::RankedTensorType TensorOf(Value buffer) {
  return llvm::cast<plan_ir::BufferType>(buffer.getType()).getTensor();
}

fb::CollectiveKind KindOf(ir::CollectiveInterface op) {
  for (fb::CollectiveKind kind : fb::EnumValuesCollectiveKind()) {
    if (CollectiveName(kind) == std::string_view(op.getExchange())) return kind;
  }
  SINTER_CHECK(false) << "plans have no collective of the name " << op.getExchange().str();
}

// Returns the elements of each part of the whole tensor, which is an operand or a result of every member.
std::vector<int64_t> PartsOf(plan_ir::CallOp call, llvm::ArrayRef<int64_t> sizes) {
  int64_t rows = 0, elements = 0;
  for (Value buffer : sizes.empty() ? mlir::ValueRange() : mlir::ValueRange(call->getOperands())) {
    if (TensorOf(buffer).getDimSize(0) < rows) continue;
    rows = TensorOf(buffer).getDimSize(0);
    elements = TensorOf(buffer).getNumElements();
  }
  std::vector<int64_t> parts;
  for (int64_t size : sizes) parts.push_back(rows == 0 ? 0 : size * (elements / rows));
  return parts;
}

// True if the buffers are parts of one memory, at the given distances from the first buffer.
bool IsOneRun(mlir::ValueRange buffers, llvm::ArrayRef<int64_t> distances) {
  if (buffers.empty()) return true;
  BufferRegion first = RegionOf(buffers.front());
  for (auto [buffer, distance] : llvm::zip(buffers, distances)) {
    BufferRegion place = RegionOf(buffer);
    if (place.root != first.root || place.offset - first.offset != distance) return false;
  }
  return true;
}

bool IsFlat(plan_ir::CallOp call) {
  mlir::ValueRange given =
      call.getIns().empty() ? mlir::ValueRange(call.getOuts()) : mlir::ValueRange(call.getIns());
  if (given.size() < 2) return false;
  llvm::SmallVector<int64_t> distances;
  int64_t start = RegionOf(given.front()).offset, end = start;
  for (Value buffer : given) {
    BufferRegion place = RegionOf(buffer);
    if (place.offset < end) return false;
    end = place.offset + place.bytes;
    distances.push_back(place.offset - start);
  }
  return IsOneRun(call.getIns(), distances) && IsOneRun(call.getOuts(), distances);
}

// The collective's axes as indices into the mesh's.
std::vector<uint32_t> AxesOf(const ir::Collective& collective) {
  std::vector<uint32_t> axes;
  for (mlir::StringAttr axis : collective.axes) {
    axes.push_back(static_cast<uint32_t>(*ir::MeshOf(collective.op).find(axis)));
  }
  return axes;
}

// Returns 1 + the index of the exchange's reason in the plan; 0 if none is known.
uint32_t ReasonOf(Operation* op, PlanContents& plan) {
  const auto because = op->getAttrOfType<mlir::ArrayAttr>(ir::kBecauseAttr);
  if (!because) return 0;
  ExchangeReason reason = {llvm::cast<mlir::StringAttr>(because[0]).str(), {}};
  for (const mlir::Attribute line : because.getValue().drop_front()) {
    for (const uint32_t location : plan.locations.Add(mlir::Location(llvm::cast<mlir::LocationAttr>(line)))) {
      if (!llvm::is_contained(reason.locations, location)) reason.locations.push_back(location);
    }
  }
  return plan.reasons.Add(std::move(reason));
}

absl::StatusOr<flatbuffers::Offset<fb::CollectiveStep>> LowerCollective(plan_ir::CallOp call,
                                                                        StepWriter& writer) {
  PlanContents& plan = writer.plan();
  Operation* op = call.libraryOp();
  ir::Collective collective = *ir::Collective::Of(op);
  auto member = llvm::cast<ir::CollectiveInterface>(op);
  const ir::CollectiveSettings settings = member.getSettings();
  std::vector<uint32_t> group;
  for (ir::DeviceAttr device : collective.group) group.push_back(plan.DeviceIndex(device));
  const auto* member_device = llvm::find(collective.group, ir::DeviceOf(call));
  const auto rank = static_cast<uint32_t>(member_device - collective.group.begin());
  mlir::ValueRange tensors =
      call.getIns().empty() ? mlir::ValueRange(call.getOuts()) : mlir::ValueRange(call.getIns());
  std::vector<int64_t> elements;
  mlir::Type element = TensorOf(tensors.front()).getElementType();
  for (Value buffer : tensors) {
    elements.push_back(TensorOf(buffer).getNumElements());
    if (TensorOf(buffer).getElementType() == element) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(UserLine(op->getLoc()), ": ", op->getName().getStringRef().str(),
                     " carries tensors of several element types; use one each"));
  }
  flatbuffers::FlatBufferBuilder& builder = plan.builder;
  const flatbuffers::Offset<flatbuffers::Vector<uint32_t>> group_table =
      group.empty() ? 0 : builder.CreateVector(group);
  const std::vector<uint32_t> axes = AxesOf(collective);
  const flatbuffers::Offset<flatbuffers::Vector<uint32_t>> axis_table =
      axes.empty() ? 0 : builder.CreateVector(axes);
  auto element_table = builder.CreateVector(elements),
       part_table = builder.CreateVector(PartsOf(call, settings.sizes));
  return fb::CreateCollectiveStep(
      builder, KindOf(member), static_cast<fb::ReduceOp>(settings.combine.value_or(ir::ReduceKind::sum)),
      DTypeOf(element), static_cast<uint32_t>(collective.channel), group_table, rank,
      static_cast<uint32_t>(settings.root), element_table, part_table, IsFlat(call), axis_table,
      axes.empty() ? 0 : writer.NextEpoch(), ReasonOf(op, plan));
}

class CollectiveBackend : public CallBackend {
 public:
  llvm::StringRef name() const override { return "collective"; }

  bool Computes(plan_ir::CallOp call) const override {
    Operation* op = call.libraryOp();
    return op && ir::Collective::Of(op);
  }

  absl::StatusOr<int64_t> WorkspaceBytes(plan_ir::CallOp) override { return 0; }

  absl::Status Emit(plan_ir::CallOp call, StepWriter& writer) override {
    StepWriter::Step step;
    step.name = call.getName().str();
    SINTER_ASSIGN_OR_RETURN(flatbuffers::Offset<fb::CollectiveStep> body, LowerCollective(call, writer));
    step.type = fb::StepBody::CollectiveStep;
    step.body = body.Union();
    for (Value in : call.getIns()) {
      SINTER_ASSIGN_OR_RETURN(step.inputs.emplace_back(), writer.AddBuffer(in));
    }
    for (Value out : call.getOuts()) {
      SINTER_ASSIGN_OR_RETURN(step.outputs.emplace_back(), writer.AddBuffer(out));
    }
    for (Value buffer : call->getOperands()) {
      step.bytes += llvm::cast<plan_ir::BufferType>(buffer.getType()).getBytes();
    }
    writer.AddStep(step, call);
    return absl::OkStatus();
  }
};

}  // namespace

std::unique_ptr<CallBackend> MakeCollectiveBackend() { return std::make_unique<CollectiveBackend>(); }

}  // namespace sinter::codegen
