#include "sinter/passes/plan/rematerialisation.h"

#include <algorithm>

#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/OwningOpRef.h"
#include "sinter/ir/fusion/buffer_aliases.h"
#include "sinter/ir/fusion/fusion_domain.h"

namespace sinter {

using mlir::Operation;
using mlir::Value;

namespace {

// Suffix of the names of recomputing calls. Such a call is not recomputed itself.
constexpr llvm::StringLiteral kSuffix = "_again";

Operation* YieldOf(plan_ir::CallOp call) { return &call.getBody().front().back(); }

// Returns a buffer like `buffer` (a chain of views of `root`), but of the memory `other`.
Value Rebased(Value buffer, Value root, Value other, llvm::DenseMap<Value, Value>& made) {
  if (buffer == root) return other;
  if (Value known = made.lookup(buffer)) return known;
  auto view = buffer.getDefiningOp<plan_ir::ViewOp>();
  Value source = Rebased(view.getSource(), root, other, made);
  mlir::OpBuilder builder(source.getContext());
  builder.setInsertionPointAfter(source.getDefiningOp());
  return made[buffer] =
             builder.create<plan_ir::ViewOp>(view.getLoc(), view.getType(), source, view.getOffset());
}

// Builds the value that `again` computes at the end of `body`, a body of `host`, and yields it too. Uses ops
// and arguments that are there. Returns the buffers that the body now reads.
llvm::SmallVector<Value> AddToBody(const Rematerialisation& again, plan_ir::CallOp host, mlir::Block& body) {
  plan_ir::CallOp call = again.call;
  llvm::SmallVector<Value> ins = llvm::to_vector(host.getIns());
  mlir::IRMapping mapping;
  for (auto [value, buffer] : again.inputs) {
    const BufferOffset place = Resolve(buffer);
    const auto* known = llvm::find_if(ins, [&](Value in) {
      const BufferOffset other = Resolve(in);
      return other.root == place.root && other.offset == place.offset && in.getType() == buffer.getType();
    });
    if (known != ins.end()) {
      mapping.map(value, body.getArgument(known - ins.begin()));
      continue;
    }
    mapping.map(value, body.addArgument(value.getType(), value.getLoc()));
    ins.push_back(buffer);
  }
  Operation* yield = body.getTerminator();
  mlir::OpBuilder builder(yield);
  auto build = [&](auto& self, Value value) -> Value {
    if (Value made = mapping.lookupOrNull(value)) return made;
    Operation* op = value.getDefiningOp();
    for (Value operand : op->getOperands()) self(self, operand);
    Operation* made = builder.clone(*op, mapping);
    for (Operation& other : body) {
      if (&other == made) break;
      if (!mlir::OperationEquivalence::isEquivalentTo(&other, made,
                                                      mlir::OperationEquivalence::IgnoreLocations))
        continue;
      mapping.map(op->getResults(), other.getResults());
      made->erase();
      break;
    }
    return mapping.lookup(value);
  };
  Value result = build(build, YieldOf(call)->getOperand(again.output));
  yield->insertOperands(yield->getNumOperands(), result);
  return ins;
}

// Returns the pairs of inputs and outputs that may share memory.
llvm::SmallVector<std::pair<unsigned, unsigned>> PairsOf(plan_ir::CallOp call) {
  llvm::SmallVector<std::pair<unsigned, unsigned>> pairs;
  if (!call.getInPlace()) return pairs;
  llvm::ArrayRef<int64_t> flat = *call.getInPlace();
  for (size_t i = 0; i + 1 < flat.size(); i += 2) pairs.emplace_back(flat[i], flat[i + 1]);
  return pairs;
}

}  // namespace

StepUses::StepUses(plan_ir::FunctionOp function) : steps_(StepsOf(function)) {
  for (auto [s, step] : llvm::enumerate(steps_)) {
    auto add = [&](llvm::DenseMap<Value, llvm::SmallVector<int64_t>>& list, Value root) {
      llvm::SmallVector<int64_t>& steps = list[root];
      if (steps.empty() || steps.back() != static_cast<int64_t>(s)) steps.push_back(s);
    };
    for (Value buffer : step->getOperands()) add(uses_, Resolve(buffer).root);
    for (Value buffer : WritesOf(step)) {
      Value root = Resolve(buffer).root;
      add(writes_, root);
      if (root.getDefiningOp<plan_ir::VariableOp>()) written_variables_.push_back(root);
    }
  }
}

// True if a step after `since` and before `until` writes the memory.
bool StepUses::isWritten(Value root, int64_t since, int64_t until) const {
  auto writes = [&](Value written) {
    auto found = writes_.find(written);
    return found != writes_.end() &&
           llvm::any_of(found->second, [&](int64_t step) { return since < step && step < until; });
  };
  if (!root.getDefiningOp<plan_ir::VariableOp>()) return writes(root);
  return llvm::any_of(written_variables_,
                      [&](Value written) { return SameMemory(written, root) && writes(written); });
}

// True if the buffer has the same contents at step `until` as after step `since`, and need not be kept just
// for that.
bool StepUses::isThere(Value buffer, int64_t since, int64_t until) const {
  Value root = Resolve(buffer).root;
  if (root.getDefiningOp<plan_ir::AllocOp>() && !IsHandedOut(root)) {
    auto uses = uses_.find(root);
    if (uses == uses_.end() || uses->second.back() < until) return false;
  }
  return !isWritten(root, since, until);
}

bool StepUses::collectInputs(Value value, int64_t since, Rematerialisation& again,
                             llvm::DenseSet<Value>& seen) const {
  plan_ir::CallOp call = again.call;
  auto add = [&](Value buffer) {
    again.inputs.insert({value, buffer});
    again.moved_bytes += BytesOf(buffer);
    return true;
  };
  if (!seen.insert(value).second) return true;
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(value)) {
    Value buffer = call.getIns()[argument.getArgNumber()];
    return isThere(buffer, since, again.before) && add(buffer);
  }
  for (auto [i, yielded] : llvm::enumerate(YieldOf(call)->getOperands())) {
    if (yielded != value || i == again.output) continue;
    if (isThere(call.getOuts()[i], since, again.before)) return add(call.getOuts()[i]);
  }
  Operation* op = value.getDefiningOp();
  if (!llvm::isa<ir::FusibleInterface, ir::ReductionInterface>(op)) return false;
  again.reduces |= llvm::isa<ir::ReductionInterface>(op);
  return llvm::all_of(op->getOperands(),
                      [&](Value operand) { return collectInputs(operand, since, again, seen); });
}

llvm::ArrayRef<int64_t> StepUses::usesOf(Value root) const {
  auto uses = uses_.find(root);
  return uses == uses_.end() ? llvm::ArrayRef<int64_t>() : llvm::ArrayRef<int64_t>(uses->second);
}

std::optional<Rematerialisation> StepUses::findRematerialisation(Value alloc, int64_t peak) const {
  llvm::ArrayRef<int64_t> uses = usesOf(alloc);
  const int64_t* next = llvm::lower_bound(uses, peak);
  if (next == uses.end() || *next == peak) return std::nullopt;
  std::optional<Rematerialisation> again = findFor(alloc, peak, *next);
  if (again && again->call.getWorkspaceBytes() > 0) return std::nullopt;
  return again;
}

std::optional<Rematerialisation> StepUses::findFor(Value alloc, int64_t peak, int64_t host) const {
  auto writes = writes_.find(alloc);
  if (writes == writes_.end() || writes->second.size() != 1 || IsHandedOut(alloc)) return std::nullopt;
  int64_t written = writes->second[0];
  if (written >= peak || llvm::is_contained(usesOf(alloc), peak)) return std::nullopt;
  auto call = llvm::dyn_cast<plan_ir::CallOp>(steps_[written]);
  if (!call || call.getName().ends_with(kSuffix)) return std::nullopt;
  auto out = llvm::find(call.getOuts(), alloc);
  if (out == call.getOuts().end()) return std::nullopt;
  Rematerialisation again;
  again.alloc = alloc;
  again.call = call;
  again.output = out - call.getOuts().begin();
  again.before = host;
  again.saved_bytes = again.moved_bytes = BytesOf(alloc);
  llvm::DenseSet<Value> seen;
  if (!collectInputs(YieldOf(call)->getOperand(again.output), written, again, seen)) return std::nullopt;
  return again;
}

void StepUses::buildBody(const Rematerialisation& again, plan_ir::CallOp clone) {
  plan_ir::CallOp call = again.call;
  mlir::Block& body = clone.getBody().emplaceBlock();
  mlir::OpBuilder builder(clone.getContext());
  builder.setInsertionPointToEnd(&body);
  mlir::IRMapping mapping;
  for (auto [value, buffer] : again.inputs) {
    mapping.map(value, body.addArgument(value.getType(), value.getLoc()));
  }
  auto build = [&](auto& self, Value value) -> Value {
    if (Value made = mapping.lookupOrNull(value)) return made;
    Operation* op = value.getDefiningOp();
    for (Value operand : op->getOperands()) self(self, operand);
    builder.clone(*op, mapping);
    return mapping.lookup(value);
  };
  Value result = build(build, YieldOf(call)->getOperand(again.output));
  builder.create<ir::YieldOp>(clone.getLoc(), mlir::ValueRange(result));
}

Value StepUses::allocLike(Value alloc) const {
  auto old = alloc.getDefiningOp<plan_ir::AllocOp>();
  mlir::OpBuilder builder(alloc.getContext());
  builder.setInsertionPointAfter(old);
  return builder.create<plan_ir::AllocOp>(old.getLoc(), alloc.getType(), mlir::IntegerAttr(),
                                          old.getDeviceAttr());
}

void StepUses::replaceUses(Value root, Value other, int64_t first) {
  llvm::DenseMap<Value, Value> views;
  for (Operation* step : llvm::ArrayRef(steps_).drop_front(first)) {
    for (mlir::OpOperand& operand : step->getOpOperands()) {
      if (Resolve(operand.get()).root != root) continue;
      operand.set(Rebased(operand.get(), root, other, views));
    }
  }
}

plan_ir::CallOp StepUses::insert(const Rematerialisation& again) {
  plan_ir::CallOp call = again.call;
  Value alloc = allocLike(again.alloc);
  llvm::SmallVector<Value> ins;
  for (auto [value, buffer] : again.inputs) ins.push_back(buffer);
  mlir::OpBuilder builder(steps_[again.before]);
  auto name = builder.getStringAttr(call.getName() + kSuffix);
  auto clone = builder.create<plan_ir::CallOp>(
      call.getLoc(), ins, mlir::ValueRange(alloc), name, builder.getI64IntegerAttr(0), mlir::IntegerAttr(),
      mlir::DenseI64ArrayAttr(), call.getDeviceAttr(), call.getBackendAttr());
  buildBody(again, clone);
  replaceUses(again.alloc, alloc, again.before);
  return clone;
}

bool StepUses::fits(const Rematerialisation& again) const {
  auto host = llvm::dyn_cast<plan_ir::CallOp>(steps_[again.before]);
  if (!host || host.libraryOp() || again.reduces) return false;
  plan_ir::CallOp call = again.call;
  if (ir::DeviceOf(host) != ir::DeviceOf(call)) return false;
  mlir::OwningOpRef<plan_ir::CallOp> trial(llvm::cast<plan_ir::CallOp>(host->clone()));
  mlir::Block& body = trial->getBody().front();
  AddToBody(again, host, body);
  std::string why;
  auto now = ir::AnalyzeFusion(host.getBody().front(), &why), then = ir::AnalyzeFusion(body, &why);
  if (mlir::failed(now) || mlir::failed(then)) return false;
  if (now->nests.size() != 1 || then->nests.size() != 1) return false;
  const ir::LoopNest& nest = then->nests.front();
  if (nest.shape != now->nests.front().shape || nest.isCutInChunks(ir::KindOf(ir::DeviceOf(host)))) {
    return false;
  }
  const auto pairs = ir::BufferAliases(body);
  return llvm::all_of(PairsOf(host), [&](auto pair) { return llvm::is_contained(pairs, pair); });
}

plan_ir::CallOp StepUses::insertInto(const Rematerialisation& again, int64_t peak) {
  plan_ir::CallOp call = again.call;
  auto host = llvm::cast<plan_ir::CallOp>(steps_[again.before]);
  Value alloc = allocLike(again.alloc);
  llvm::SmallVector<Value> ins = AddToBody(again, host, host.getBody().front());
  llvm::SmallVector<Value> outs = llvm::to_vector(host.getOuts());
  outs.push_back(alloc);
  mlir::OpBuilder builder(host);
  auto wider =
      builder.create<plan_ir::CallOp>(builder.getFusedLoc({host.getLoc(), call.getLoc()}), ins, outs,
                                      host.getNameAttr(), host.getWorkspaceBytesAttr(), mlir::IntegerAttr(),
                                      host.getInPlaceAttr(), host.getDeviceAttr(), host.getBackendAttr());
  wider.getBody().takeBody(host.getBody());
  host->erase();
  steps_[again.before] = wider;
  replaceUses(again.alloc, alloc, peak);
  return wider;
}

}  // namespace sinter
