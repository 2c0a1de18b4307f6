#include "llvm/ADT/SetVector.h"
#include "mlir/IR/IRMapping.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/fusion/buffer_aliases.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/ir/fusion/op_forms.h"
#include "sinter/ir/program/collective.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/input_parts.h"
#include "sinter/passes/joined_calls.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/plan/call_names.h"
#include "sinter/passes/plan/flat_bucket.h"
#include "sinter/passes/plan/fragment_results.h"
#include "sinter/passes/plan/input_report.h"
#include "sinter/passes/plan/plan_steps.h"

namespace sinter {

#define GEN_PASS_DEF_LOWERTOPLAN
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;

// True if a library call reads `value`, directly or through views. Libraries and users' kernels
// need the target's `library_alignment`; generated kernels and copies do not.
bool IsReadByLibrary(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation* user) {
    if (llvm::isa<ir::ReshapeOp>(user)) return IsReadByLibrary(user->getResult(0));
    return llvm::isa<ir::LibraryInterface, ir::CollectiveInterface>(user);
  });
}

class FunctionLowering {
 public:
  // `devices` are the program's devices; empty if only cpu:0 is used, which is not named.
  FunctionLowering(mlir::func::FuncOp function, llvm::ArrayRef<ir::DeviceAttr> devices, CallNames& names,
                   bool report)
      : function_(function), devices_(devices), names_(names), report_(report), builder_(function) {}

  mlir::LogicalResult run();

 private:
  mlir::LogicalResult lowerArguments();
  void lowerInput(mlir::BlockArgument argument, mlir::StringAttr name, ir::DeviceAttr device);
  void lowerParameter(mlir::BlockArgument argument, mlir::FlatSymbolRefAttr name, ir::DeviceAttr device);
  mlir::LogicalResult lowerOp(Operation& op);
  void lowerFusion(ir::FusionOp fusion);
  void lowerLibraryOp(Operation& op);
  void lowerCopy(ir::CopyOp copy);
  void lowerCollective(const ir::Collective& collective);
  void lowerInBucket(Operation* op);
  bool lowerToView(ir::FusionOp fusion);
  bool lowerToJoin(ir::FusionOp fusion);
  bool isAlignedSlice(Value buffer);
  mlir::LogicalResult checkPlaced(Operation& op);
  mlir::LogicalResult lowerResults(mlir::func::ReturnOp op);
  void lowerUpdates(llvm::ArrayRef<std::pair<mlir::FlatSymbolRefAttr, Value>> updates, mlir::Location loc);
  plan_ir::CallOp makeCall(Operation* op, mlir::ValueRange operands, mlir::StringAttr name,
                           llvm::ArrayRef<std::pair<unsigned, unsigned>> in_place);

  plan_ir::BufferType bufferType(Value tensor) {
    return plan_ir::BufferType::get(builder_.getContext(), ir::TypeOf(tensor));
  }
  Value copyToAlloc(Value buffer, mlir::Location loc, ir::DeviceAttr device) {
    Value copy = builder_.create<plan_ir::AllocOp>(loc, buffer.getType(), mlir::IntegerAttr(), device);
    builder_.create<plan_ir::CopyOp>(loc, buffer, copy, device);
    return copy;
  }
  Value copyToAlloc(Value buffer, mlir::Location loc) { return copyToAlloc(buffer, loc, deviceOf(buffer)); }
  // The device of an op or a value; null, which plan ops take as cpu:0, if the program names no devices.
  template <typename OpOrValue>
  ir::DeviceAttr deviceOf(OpOrValue x) const {
    return devices_.empty() ? ir::DeviceAttr() : ir::DeviceOf(x);
  }

  mlir::func::FuncOp function_;
  llvm::ArrayRef<ir::DeviceAttr> devices_;
  CallNames& names_;
  bool report_;
  ir::ByOpForm<llvm::SmallVector<std::pair<unsigned, unsigned>>> aliases_;  // By kernels' bodies.
  mlir::OpBuilder builder_;
  llvm::DenseMap<Value, Value> buffers_;  // Buffers of tensors.
  llvm::SmallVector<GivenInput> given_;
};

mlir::LogicalResult FunctionLowering::run() {
  auto plan = builder_.create<plan_ir::FunctionOp>(
      function_.getLoc(), function_.getSymNameAttr(), mlir::IntegerAttr(), mlir::DenseI64ArrayAttr(),
      mlir::ArrayAttr(), function_->getAttrOfType<mlir::StringAttr>(ir::kVariantOfAttr),
      function_->getAttrOfType<mlir::DenseI64ArrayAttr>(ir::kRanksAttr),
      function_->getAttrOfType<mlir::UnitAttr>(ir::kFragmentAttr));
  if (!devices_.empty()) {
    llvm::SmallVector<mlir::Attribute> devices(devices_.begin(), devices_.end());
    plan.setDevicesAttr(builder_.getArrayAttr(devices));
  }
  builder_.setInsertionPointToEnd(&plan.getBody().emplaceBlock());
  if (mlir::failed(lowerArguments())) return mlir::failure();
  for (Operation& op : function_.getBody().front().without_terminator()) {
    if (mlir::failed(lowerOp(op))) return mlir::failure();
  }
  auto result = llvm::cast<mlir::func::ReturnOp>(function_.getBody().front().getTerminator());
  if (mlir::failed(lowerResults(result))) return mlir::failure();
  if (report_) ReportInputs(builder_.getInsertionBlock(), given_);
  ArrangeBody(plan, StepsOf(plan));
  function_.erase();
  return mlir::success();
}

mlir::LogicalResult FunctionLowering::lowerArguments() {
  for (mlir::BlockArgument argument : function_.getArguments()) {
    unsigned i = argument.getArgNumber();
    ir::DeviceAttr device = deviceOf(Value(argument));
    if (!devices_.empty() && !device) {
      return function_.emitOpError() << "argument " << i
                                     << " has no device; run sinter-propagate-placement first";
    }
    if (auto name = function_.getArgAttrOfType<mlir::StringAttr>(i, ir::kInputAttr)) {
      lowerInput(argument, name, device);
    } else if (auto number = function_.getArgAttrOfType<mlir::DenseI64ArrayAttr>(i, ir::kRankValueAttr)) {
      buffers_[argument] = builder_.create<plan_ir::RankValueOp>(
          argument.getLoc(), bufferType(argument), number[0],
          builder_.getDenseI64ArrayAttr(number.asArrayRef().drop_front()), device);
    } else if (auto variable = function_.getArgAttrOfType<mlir::FlatSymbolRefAttr>(i, ir::kVariableAttr)) {
      buffers_[argument] =
          builder_.create<plan_ir::VariableOp>(argument.getLoc(), bufferType(argument), variable, device);
    } else if (auto parameter = function_.getArgAttrOfType<mlir::FlatSymbolRefAttr>(i, ir::kParameterAttr)) {
      lowerParameter(argument, parameter, device);
    } else {
      return function_.emitOpError() << "argument " << i << " has neither " << ir::kInputAttr << " nor "
                                     << ir::kVariableAttr << ", so that nothing says where it comes from";
    }
  }
  return mlir::success();
}

// The row at which a part begins differs between ranks, so a library that needs aligned operands reads a copy
// unless all rows are aligned.
void FunctionLowering::lowerInput(mlir::BlockArgument argument, mlir::StringAttr name,
                                  ir::DeviceAttr device) {
  auto part = function_.getArgAttrOfType<ir::PartAttr>(argument.getArgNumber(), ir::kPartAttr);
  Value buffer =
      builder_.create<plan_ir::InputOp>(argument.getLoc(), bufferType(argument), name, device, part);
  if (part) {
    const int64_t alignment = ir::TargetModel::Of(device).library_alignment;
    const bool aligned = plan_ir::StartDivisor(part) % alignment == 0;
    if (!aligned && IsReadByLibrary(argument)) buffer = copyToAlloc(buffer, argument.getLoc());
  }
  buffers_[argument] = buffer;
}

// A carry is to a fragment what a variable is to a function.
void FunctionLowering::lowerParameter(mlir::BlockArgument argument, mlir::FlatSymbolRefAttr name,
                                      ir::DeviceAttr device) {
  if (name.getValue().starts_with(ir::kCarryPrefix)) {
    buffers_[argument] =
        builder_.create<plan_ir::VariableOp>(argument.getLoc(), bufferType(argument), name, device);
  } else {
    Value buffer = builder_.create<plan_ir::InputOp>(argument.getLoc(), bufferType(argument), name.getAttr(),
                                                     device, ir::PartAttr());
    const bool copied =
        name.getValue().starts_with(ir::kSlicePrefix) && !isAlignedSlice(buffer) && IsReadByLibrary(argument);
    buffers_[argument] = copied ? copyToAlloc(buffer, argument.getLoc()) : buffer;
  }
}

// True if a library may read and write each trip's part of a stack of such buffers.
bool FunctionLowering::isAlignedSlice(Value buffer) {
  return BytesOf(buffer) % ir::TargetModel::Of(deviceOf(buffer)).library_alignment == 0;
}

mlir::LogicalResult FunctionLowering::checkPlaced(Operation& op) {
  if (devices_.empty() || deviceOf(&op)) return mlir::success();
  return op.emitOpError("has no device; run sinter-propagate-placement first");
}

mlir::LogicalResult FunctionLowering::lowerOp(Operation& op) {
  if (mlir::failed(checkPlaced(op))) return mlir::failure();
  if (auto fusion = llvm::dyn_cast<ir::FusionOp>(op)) {
    lowerFusion(fusion);
  } else if (auto constant = llvm::dyn_cast<ir::ConstantOp>(op)) {
    buffers_[constant] = builder_.create<plan_ir::ConstantOp>(op.getLoc(), bufferType(constant),
                                                              constant.getValue(), deviceOf(&op));
  } else if (auto reshape = llvm::dyn_cast<ir::ReshapeOp>(op)) {
    buffers_[reshape] = builder_.create<plan_ir::ViewOp>(op.getLoc(), bufferType(reshape),
                                                         buffers_[reshape.getX()], int64_t{0});
  } else if (auto copy = llvm::dyn_cast<ir::CopyOp>(op)) {
    lowerCopy(copy);
  } else if (auto clone = llvm::dyn_cast<ir::CloneOp>(op)) {
    buffers_[clone] = copyToAlloc(buffers_.lookup(clone.getX()), op.getLoc(), deviceOf(&op));
  } else if (auto collective = ir::Collective::Of(&op)) {
    lowerCollective(*collective);
  } else if (llvm::isa<ir::LibraryInterface>(op)) {
    lowerLibraryOp(op);
  } else {
    return op.emitOpError(
        "has no place in a plan: it is neither a sinter.fusion nor a library call; run sinter-fuse first");
  }
  return mlir::success();
}

plan_ir::CallOp FunctionLowering::makeCall(Operation* op, mlir::ValueRange operands, mlir::StringAttr name,
                                           llvm::ArrayRef<std::pair<unsigned, unsigned>> in_place) {
  ir::DeviceAttr device = deviceOf(op);
  llvm::SmallVector<Value> ins, outs;
  for (Value operand : operands) ins.push_back(buffers_.lookup(operand));
  for (Value result : op->getResults()) {
    outs.push_back(
        builder_.create<plan_ir::AllocOp>(op->getLoc(), bufferType(result), mlir::IntegerAttr(), device));
    buffers_[result] = outs.back();
  }
  mlir::DenseI64ArrayAttr pairs;
  if (!in_place.empty()) {
    llvm::SmallVector<int64_t> flat;
    for (auto [input, output] : in_place) flat.append({input, output});
    pairs = builder_.getDenseI64ArrayAttr(flat);
  }
  return builder_.create<plan_ir::CallOp>(op->getLoc(), ins, outs, name, builder_.getI64IntegerAttr(0),
                                          mlir::IntegerAttr(), pairs, device, mlir::StringAttr());
}

void FunctionLowering::lowerFusion(ir::FusionOp fusion) {
  if (lowerToView(fusion) || lowerToJoin(fusion)) return;
  mlir::Block& body = fusion.getBody().front();
  const auto& pairs = aliases_.of(body, [&] { return ir::BufferAliases(body); });
  auto call = makeCall(fusion, fusion.getInputs(), names_.nameFusion(fusion), pairs);
  call.getBody().takeBody(fusion.getBody());
}

bool FunctionLowering::lowerToView(ir::FusionOp fusion) {
  mlir::Block& body = fusion.getBody().front();
  auto slice = llvm::dyn_cast<ir::SliceOp>(body.front());
  if (!slice || !llvm::hasNItems(body, 2)) return false;
  auto start = ContiguousStart(slice);
  if (!start) return false;
  plan_ir::BufferType type = bufferType(slice.getResult());
  auto element = mlir::RankedTensorType::get({}, type.getTensor().getElementType());
  Value view = builder_.create<plan_ir::ViewOp>(fusion.getLoc(), type, buffers_[fusion.getInputs()[0]],
                                                *start * plan_ir::TensorBytes(element));
  bool aligned =
      Resolve(view).offset % ir::TargetModel::Of(deviceOf(fusion.getOperation())).library_alignment == 0;
  bool copied = !aligned && IsReadByLibrary(fusion.getResult(0));
  buffers_[fusion.getResult(0)] = copied ? copyToAlloc(view, fusion.getLoc()) : view;
  return true;
}

// Lowers a concat to one buffer. Calls write parts that nothing else reads directly into it; for a wide join,
// also parts with other readers. Other parts are copied.
bool FunctionLowering::lowerToJoin(ir::FusionOp fusion) {
  mlir::Block& body = fusion.getBody().front();
  auto concat = llvm::dyn_cast<ir::ConcatOp>(body.front());
  if (!concat || !llvm::hasNItems(body, 2)) return false;
  auto outer = concat.getType().getShape().take_front(concat.getDim());
  const bool is_wide = IsWideJoin(concat);
  bool joins = llvm::all_of(outer, [](int64_t size) { return size == 1; });
  int64_t bytes = 0;
  llvm::SmallVector<bool> moves;
  for (Value part : concat.getXs()) {
    auto argument = llvm::cast<mlir::BlockArgument>(part);
    mlir::OpOperand& operand = fusion->getOpOperand(argument.getArgNumber());
    Value buffer = buffers_.lookup(operand.get());
    moves.push_back(argument.hasOneUse() && bytes % plan_ir::kBucketAlignment == 0 &&
                    (MayWriteElsewhere(operand, buffer) || (is_wide && MayMove(buffer))));
    joins = joins && (is_wide || moves.back());
    bytes += plan_ir::TensorBytes(ir::TypeOf(part));
  }
  if (!joins) return false;
  ir::DeviceAttr device = deviceOf(fusion.getOperation());
  Value memory;
  {
    mlir::OpBuilder::InsertionGuard guard(builder_);
    builder_.setInsertionPointToStart(builder_.getInsertionBlock());
    memory = builder_.create<plan_ir::AllocOp>(fusion.getLoc(), bufferType(fusion.getResult(0)),
                                               mlir::IntegerAttr(), device);
  }
  int64_t offset = 0;
  for (auto [part, moves_there] : llvm::zip_equal(concat.getXs(), moves)) {
    Value& buffer = buffers_[fusion.getInputs()[llvm::cast<mlir::BlockArgument>(part).getArgNumber()]];
    const int64_t part_bytes = BytesOf(buffer);
    if (moves_there) {
      buffer = WriteAt(builder_, fusion.getLoc(), buffer, memory, offset);
    } else {
      Value place = builder_.create<plan_ir::ViewOp>(fusion.getLoc(), buffer.getType(), memory, offset);
      builder_.create<plan_ir::CopyOp>(fusion.getLoc(), buffer, place, device);
    }
    offset += part_bytes;
  }
  buffers_[fusion.getResult(0)] = memory;
  return true;
}

void FunctionLowering::lowerLibraryOp(Operation& op) {
  llvm::SetVector<Value> operands(op.operand_begin(), op.operand_end());
  auto step = llvm::cast<ir::StepInterface>(op);
  llvm::SmallVector<std::pair<unsigned, unsigned>> pairs;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    for (unsigned result = 0; result < op.getNumResults(); ++result) {
      if (bufferType(operand).getBytes() != bufferType(op.getResult(result)).getBytes()) continue;
      // If the op reads an operand twice, both uses must allow the sharing.
      bool allowed = true;
      for (unsigned o = 0; o < op.getNumOperands(); ++o) {
        allowed &= op.getOperand(o) != operand || step.mayUpdateInPlace(o, result);
      }
      if (allowed) pairs.push_back({i, result});
    }
  }
  auto call = makeCall(&op, operands.getArrayRef(), names_.nameLibraryCall(&op), pairs);
  mlir::OpBuilder::InsertionGuard guard(builder_);
  builder_.setInsertionPointToEnd(&call.getBody().emplaceBlock());
  mlir::IRMapping mapping;
  for (Value operand : operands) {
    mapping.map(operand, call.getBody().addArgument(operand.getType(), operand.getLoc()));
  }
  Operation* clone = builder_.clone(op, mapping);
  ir::SetDevice(clone, nullptr);  // The call has the device.
  builder_.create<ir::YieldOp>(op.getLoc(), clone->getResults());
}

// Several tensors travel as one piece of memory, in which they are computed. The results overwrite them there
// or, if some have other readers or are sent as they are, get separate memory.
void FunctionLowering::lowerInBucket(Operation* op) {
  FlatBucket bucket(builder_, op, deviceOf(op));
  bool is_kept = !llvm::cast<ir::StepInterface>(op).mayUpdateInPlace(0, 0);
  for (mlir::OpOperand& operand : op->getOpOperands()) {
    Value buffer = buffers_.lookup(operand.get());
    is_kept |= MayMove(buffer) && !MayWriteElsewhere(operand, buffer);
  }
  llvm::SmallVector<Value> before, slots;
  for (mlir::OpOperand& operand : op->getOpOperands()) {
    before.push_back(buffers_.lookup(operand.get()));
    const bool moves = is_kept && MayMove(before.back());
    slots.push_back(bucket.add(operand, before.back(), is_kept));
    if (moves) before.back() = slots.back();
    buffers_[operand.get()] = slots.back();
  }
  std::optional<FlatBucket> sums;
  if (is_kept && op->getNumResults() > 0) sums.emplace(builder_, op, deviceOf(op));
  lowerLibraryOp(*op);
  for (auto [result, slot] : llvm::zip(op->getResults(), slots)) {
    Value out = buffers_.lookup(result), place = slot;
    if (sums) {
      mlir::OpBuilder::InsertionGuard guard(builder_);
      builder_.setInsertionPoint(out.getDefiningOp());
      place = sums->next(op->getLoc(), slot.getType());
    }
    out.replaceAllUsesWith(place);
    out.getDefiningOp()->erase();
    buffers_[result] = place;
  }
  // Other readers need the member's own part.
  for (auto [operand, buffer] : llvm::zip(op->getOperands(), before)) {
    if (!operand.hasOneUse()) buffers_[operand] = buffer;
  }
}

void FunctionLowering::lowerCollective(const ir::Collective& collective) {
  Operation* op = collective.op;
  llvm::SetVector<Value> operands(op->operand_begin(), op->operand_end());
  // Only the root of a broadcast has operands.
  const bool may_be_flat = !llvm::isa<ir::BroadcastFromOp>(op);
  if (may_be_flat && operands.size() > 1 && operands.size() == op->getNumOperands()) {
    lowerInBucket(op);
  } else {
    lowerLibraryOp(*op);
  }
  if (!report_ || collective.Rank() > 0) return;
  int64_t bytes = 0;
  for (mlir::Type type : op->getNumOperands() > 0 ? mlir::TypeRange(op->getOperandTypes())
                                                  : mlir::TypeRange(op->getResultTypes())) {
    bytes += plan_ir::TensorBytes(llvm::cast<mlir::RankedTensorType>(type));
  }
  mlir::emitRemark(op->getLoc()) << op->getName().stripDialect() << " of " << bytes << " bytes over "
                                 << collective.MembersText();
}

// If the compiler chose to copy an input, it is given to the device directly.
void FunctionLowering::lowerCopy(ir::CopyOp copy) {
  mlir::Location loc = copy.getLoc();
  ir::DeviceAttr to = deviceOf(copy.getOperation());
  Value source = buffers_.lookup(copy.getX());
  auto input = source.getDefiningOp<plan_ir::InputOp>();
  bool again = input && copy.getCause() == ir::CopyCause::input;
  if (again) {
    auto target = builder_.create<plan_ir::InputOp>(loc, source.getType(), input.getNameAttr(), to,
                                                    input.getPartAttr());
    buffers_[copy] = target;
    given_.push_back({target, loc, copy.getCause()});
    return;
  }
  Value target = buffers_[copy] = copyToAlloc(source, loc, to);
  if (!report_) return;
  mlir::emitRemark(loc) << "copies a value of " << copy.getType() << ", " << BytesOf(source)
                        << " bytes, from " << ir::DeviceOf(source).text() << " to "
                        << ir::DeviceOf(target).text() << ": " << ReasonOfCopy(copy.getCause());
}

mlir::LogicalResult FunctionLowering::lowerResults(mlir::func::ReturnOp op) {
  llvm::SmallVector<std::pair<mlir::StringAttr, Value>> outputs;
  llvm::SmallVector<std::pair<mlir::FlatSymbolRefAttr, Value>> updates;
  llvm::SmallVector<Value> handed_out;
  for (auto [i, tensor] : llvm::enumerate(op.getOperands())) {
    Value buffer = buffers_.lookup(tensor);
    auto name = function_.getResultAttrOfType<mlir::StringAttr>(i, ir::kOutputAttr);
    auto variable = function_.getResultAttrOfType<mlir::FlatSymbolRefAttr>(i, ir::kVariableAttr);
    if (!variable) variable = function_.getResultAttrOfType<mlir::FlatSymbolRefAttr>(i, ir::kParameterAttr);
    if (!name && !variable) {
      return function_.emitOpError() << "result " << i << " has neither " << ir::kOutputAttr << " nor "
                                     << ir::kVariableAttr << ", so that nothing says where it goes";
    }
    if (variable && variable.getValue().starts_with(ir::kStackPrefix) && !isAlignedSlice(buffer) &&
        (IsReadByLibrary(tensor) || llvm::isa_and_present<ir::LibraryInterface>(tensor.getDefiningOp()))) {
      buffer = copyToAlloc(buffer, op.getLoc());
    }
    if (variable) updates.push_back({variable, buffer});
    if (!name) continue;
    // The caller needs memory that nothing else changes or returns.
    Value root = Resolve(buffer).root;
    if (!root.getDefiningOp<plan_ir::AllocOp>() || llvm::is_contained(handed_out, root)) {
      buffer = copyToAlloc(buffer, op.getLoc());
      root = buffer;
    }
    handed_out.push_back(root);
    outputs.push_back({name, buffer});
  }
  // Values that are stacked may be the old values of carries.
  std::ranges::stable_partition(
      updates, [](const auto& update) { return update.first.getValue().starts_with(ir::kStackPrefix); });
  lowerUpdates(updates, op.getLoc());
  for (auto [name, buffer] : outputs) builder_.create<plan_ir::OutputOp>(op.getLoc(), name, buffer);
  return mlir::success();
}

// All new values are read before the first variable is overwritten, so swapping two variables is legal.
void FunctionLowering::lowerUpdates(llvm::ArrayRef<std::pair<mlir::FlatSymbolRefAttr, Value>> updates,
                                    mlir::Location loc) {
  llvm::SmallVector<std::pair<mlir::FlatSymbolRefAttr, Value>> copies;
  for (auto [variable, buffer] : updates) {
    BufferOffset place = Resolve(buffer);
    auto old = place.root.getDefiningOp<plan_ir::VariableOp>();
    bool same = old && old.getVariable() == variable.getValue() && place.offset == 0 &&
                BytesOf(buffer) == BytesOf(place.root);
    if (same) continue;
    const bool is_stack = variable.getValue().starts_with(ir::kStackPrefix);
    bool overwritten = old && !is_stack && llvm::any_of(updates, [&](auto& other) {
                         return other.first.getValue() == old.getVariable() && other.second != buffer;
                       });
    copies.push_back({variable, overwritten ? copyToAlloc(buffer, loc) : buffer});
  }
  for (auto [variable, buffer] : copies) {
    ir::DeviceAttr device = deviceOf(buffer);
    auto target = builder_.create<plan_ir::VariableOp>(loc, buffer.getType(), variable, device);
    builder_.create<plan_ir::CopyOp>(loc, buffer, target, device);
  }
}

// Returns the program's devices in the plan's order; empty if only cpu:0 is used, which need not be named.
llvm::SmallVector<ir::DeviceAttr> DevicesOf(mlir::ModuleOp module) {
  llvm::SetVector<ir::DeviceAttr> found;
  module.walk([&](Operation* op) {
    if (ir::DeviceAttr device = ir::DeviceOf(op)) found.insert(device);
    auto function = llvm::dyn_cast<mlir::func::FuncOp>(op);
    if (!function || function.isExternal()) return;
    for (mlir::BlockArgument argument : function.getArguments()) {
      if (ir::DeviceAttr device = ir::DeviceOf(argument)) found.insert(device);
    }
  });
  llvm::SmallVector<ir::DeviceAttr> devices = found.takeVector();
  llvm::sort(devices, [](ir::DeviceAttr a, ir::DeviceAttr b) { return a.before(b); });
  if (devices == llvm::ArrayRef(ir::DeviceAttr::cpu(module.getContext()))) devices.clear();
  return devices;
}

class LowerToPlanPass : public impl::LowerToPlanBase<LowerToPlanPass> {
 public:
  using LowerToPlanBase::LowerToPlanBase;
  void runOnOperation() override {
    CallNames names;
    llvm::SmallVector<ir::DeviceAttr> devices = DevicesOf(getOperation());
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<mlir::func::FuncOp>())) {
      if (function->hasAttr(ir::kFragmentAttr)) SeparateResults(function);
      if (mlir::failed(FunctionLowering(function, devices, names, report).run())) return signalPassFailure();
    }
  }
};

}  // namespace
}  // namespace sinter
