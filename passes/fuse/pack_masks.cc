#include <string>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SetVector.h"
#include "sinter/ir/dialect/graph_builder.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/fuse/duplicated_producers.h"
#include "sinter/passes/fuse/fusion_graph.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/reshape_chain.h"

namespace sinter {

#define GEN_PASS_DEF_PACKMASKS
#include "passes/passes.h.inc"

namespace {

using ir::NumBytes;
using ir::NumElements;
using ir::ShapeOf;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Operation;
using mlir::Value;

using Ops = llvm::SetVector<Operation*>;

// Elements of a mask in one byte.
constexpr int64_t kMasksOfByte = 8;
// A dimension becomes two.
constexpr int64_t kMostDims = 7;
// Most ops of a chain, and most ops visited around a mask's reader.
constexpr size_t kMostOps = 64;
// A value with this many times fewer elements is read for free.
constexpr int64_t kFreePart = 16;

bool IsSplatConstant(Operation* op) {
  auto constant = llvm::dyn_cast_or_null<ir::ConstantOp>(op);
  return constant && llvm::isa<mlir::SplatElementsAttr>(constant.getValue());
}

bool IsBool(Value value) { return ir::TypeOf(value).getElementType().isInteger(1); }

// A shape with its last dimension split into bytes and bits.
SmallVector<int64_t> InBytes(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> split(shape);
  split.back() /= kMasksOfByte;
  split.push_back(kMasksOfByte);
  return split;
}

// Masks of one block, and what their kernels read.
class Masks {
 public:
  explicit Masks(mlir::Block& block) : block_(block), again_(FindRecomputed(block, costs_)) {}

  // A mask that is better packed. `chain` has the ops of its kernel, operands first; `stored` those whose
  // values other kernels read.
  struct Packed {
    Operation* mask;
    Ops chain;
    SmallVector<Operation*> stored;
    int64_t saved_bytes;
  };

  // Returns the masks that are better packed, in program order; with `report`, says why others are not.
  std::vector<Packed> find(int64_t least_bytes, bool report) {
    std::vector<Packed> found;
    for (Operation& op : block_) {
      if (!isMask(&op)) continue;
      Packed packed{&op, {}, {}, 0};
      std::string why = refusal(packed, least_bytes);
      if (report) {
        auto remark = mlir::emitRemark(op.getLoc());
        if (why.empty()) {
          remark << "packed into bits, which moves " << packed.saved_bytes << " bytes less";
        } else {
          remark << "a mask is not packed into bits: " << why;
        }
      }
      if (why.empty()) found.push_back(std::move(packed));
    }
    return found;
  }

 private:
  // True for a mask that one loop reads at its own element, and whose rows are whole bytes.
  static bool isMask(Operation* op) {
    if (!llvm::isa<ir::PointwiseInterface>(op) || op->getNumResults() != 1 || op->getNumOperands() == 0)
      return false;
    Value mask = op->getResult(0);
    if (!IsBool(mask) || !mask.hasOneUse() || !ir::TargetModel::Of(op).recomputes_cheap_values) return false;
    ArrayRef<int64_t> shape = ShapeOf(mask);
    if (shape.empty() || shape.size() > kMostDims || shape.back() % kMasksOfByte != 0 ||
        NumElements(mask) == 0)
      return false;
    Operation* reader = *mask.user_begin();
    return llvm::isa<ir::PointwiseInterface, ir::ReductionInterface>(reader) &&
           !(llvm::isa<ir::PointwiseInterface>(reader) && IsBool(reader->getResult(0)));
  }

  // Fills in `packed`. Returns why the mask stays as it is; empty if it is better packed.
  std::string refusal(Packed& packed, int64_t least_bytes) {
    // Without packing, the mask's reader reads the value that the mask is computed from, or the mask is
    // written and read, a byte an element.
    Operation* mask = packed.mask;
    const int64_t elements = NumElements(mask->getResult(0));
    int64_t bytes = 2 * elements;
    SmallVector<Value> compared;
    if (again_.contains(mask)) {
      bytes = 0;
      for (Value operand : mask->getOperands()) {
        Operation* def = operand.getDefiningOp();
        if (IsSplatConstant(def)) continue;
        if (def && again_.contains(def)) return "its reader computes again what it compares";
        compared.push_back(operand);
        bytes += NumBytes(operand);
      }
    }
    packed.saved_bytes = bytes - 2 * elements / kMasksOfByte;
    if (packed.saved_bytes < least_bytes) {
      return "it would save " + std::to_string(packed.saved_bytes) + " bytes, less than " +
             std::to_string(least_bytes);
    }
    for (Value operand : compared) {
      if (readsInFull(mask, operand)) return "its reader needs more than the mask";
    }
    return collect(packed);
  }

  // True if the kernel of the mask's reader reads `value` for more than the mask.
  bool readsInFull(Operation* mask, Value value) {
    const int64_t elements = NumElements(value);
    auto is_large = [&](Operation* op) {
      return IsLoop(op) && op->getNumResults() == 1 && NumElements(op->getResult(0)) * kFreePart > elements;
    };
    Operation* first = *mask->getResult(0).user_begin();
    const llvm::DenseSet<Operation*> after = throughCalls({first}, UsersOf),
                                     ahead = throughCalls({first}, DefsOf);
    // The reader and what follows it, then what these are computed from.
    Ops kernel;
    kernel.insert(first);
    for (size_t i = 0; i < kernel.size() && kernel.size() <= kMostOps; ++i) {
      for (Operation* user : UsersOf(kernel[i])) {
        if (is_large(user) && !after.contains(user) && !ahead.contains(user)) kernel.insert(user);
      }
    }
    for (size_t i = 0; i < kernel.size(); ++i) {
      if (kernel.size() > kMostOps || llvm::is_contained(kernel[i]->getOperands(), value)) return true;
      for (Operation* def : DefsOf(kernel[i])) {
        if (def != mask && is_large(def) && (!ahead.contains(def) || again_.contains(def)))
          kernel.insert(def);
      }
    }
    return false;
  }

  // Collects the ops of the mask's kernel. Returns why it is not one loop over whole bytes, or why its reader
  // may be in the same kernel.
  std::string collect(Packed& packed) {
    ahead_ = throughCalls({packed.mask}, DefsOf);
    if (!add(packed.mask, ShapeOf(packed.mask->getResult(0)), packed.chain))
      return "more than pointwise ops and broadcasts compute it";
    const llvm::DenseSet<Operation*> behind = throughCalls(packed.chain.getArrayRef(), UsersOf);
    if (!behind.contains(*packed.mask->user_begin())) return "one kernel may hold it and its reader";
    for (size_t i = 0; i < packed.chain.size(); ++i) {
      Operation* op = packed.chain[i];
      // Every kernel has its own broadcasts.
      if (op == packed.mask || llvm::isa<ir::BroadcastOp>(op)) continue;
      bool is_stored = false;
      for (Operation* user : UsersOf(op)) {
        if (packed.chain.contains(user)) continue;
        const bool is_apart = !IsLoop(user) || behind.contains(user);
        is_stored |= is_apart && !again_.contains(op);
        // Every kernel casts what it reads.
        const bool is_cast = llvm::isa<ir::CastOp>(op) && again_.contains(op) && isRead(op->getOperand(0));
        if (is_apart || is_cast) continue;
        if (!add(user, ShapeOf(packed.mask->getResult(0)), packed.chain))
          return "its kernel computes " + user->getName().getStringRef().str() + ", too";
      }
      if (is_stored) packed.stored.push_back(op);
    }
    return "";
  }

  bool add(Operation* op, ArrayRef<int64_t> shape, Ops& chain) {
    if (chain.contains(op)) return true;
    if (chain.size() >= kMostOps || op->getNumResults() != 1 || ShapeOf(op->getResult(0)) != shape)
      return false;
    if (auto broadcast = llvm::dyn_cast<ir::BroadcastOp>(op)) {
      if (NumElements(broadcast.getX()) * kFreePart > NumElements(broadcast.getResult()) ||
          !llvm::is_sorted(broadcast.getDims()))
        return false;
      chain.insert(op);
      return true;
    }
    if (!llvm::isa<ir::PointwiseInterface>(op) || op->getNumOperands() == 0) return false;
    for (Value operand : op->getOperands()) {
      if (!isRead(operand) && !add(operand.getDefiningOp(), shape, chain)) return false;
    }
    chain.insert(op);
    return true;
  }

  // True if the mask's kernel reads `value` from memory, or has it as a constant.
  bool isRead(Value value) const {
    Operation* def = value.getDefiningOp();
    return IsInMemory(value) || IsSplatConstant(def) || (ahead_.contains(def) && !again_.contains(def));
  }

  static SmallVector<Operation*> UsersOf(Operation* op) { return llvm::to_vector(op->getUsers()); }
  static SmallVector<Operation*> DefsOf(Operation* op) {
    SmallVector<Operation*> defs;
    for (Value operand : op->getOperands()) {
      if (Operation* def = operand.getDefiningOp()) defs.push_back(def);
    }
    return defs;
  }

  // Returns the ops that `next` leads to from `first` through a call: no kernel holds both.
  static llvm::DenseSet<Operation*> throughCalls(
      ArrayRef<Operation*> first, llvm::function_ref<SmallVector<Operation*>(Operation*)> next) {
    llvm::DenseSet<Operation*> reached(first.begin(), first.end()), through;
    SmallVector<Operation*> stack(first);
    while (!stack.empty()) {
      Operation* op = stack.pop_back_val();
      const bool is_through = through.contains(op) || !IsLoop(op);
      for (Operation* to : next(op)) {
        const bool is_new = reached.insert(to).second;
        if ((is_through && through.insert(to).second) || is_new) stack.push_back(to);
      }
    }
    return through;
  }

  mlir::Block& block_;
  ElementCost costs_;
  llvm::DenseSet<Operation*> again_;  // Ops that each kernel computes again.
  llvm::DenseSet<Operation*> ahead_;  // Ops that lead to the current mask through a call.
};

// Computes one mask in bytes, and its reader from the bytes.
class Packing {
 public:
  explicit Packing(const Masks::Packed& packed)
      : packed_(packed), at_(packed.mask, ir::ConstantPlaces::kSet) {}

  void run() {
    for (Operation* op : packed_.chain) split_[op->getResult(0)] = splitOp(op);
    for (Operation* op : packed_.stored) {
      Value value = op->getResult(0), in_bytes = split_.lookup(value);
      at_.setInsertionPointAfterValue(in_bytes);
      Value whole = at_.create<ir::ReshapeOp>(op->getLoc(), value.getType(), in_bytes);
      value.replaceUsesWithIf(whole,
                              [&](mlir::OpOperand& use) { return !packed_.chain.contains(use.getOwner()); });
    }
    Operation* mask = packed_.mask;
    ir::GraphBuilder b(at_, mask->getLoc());
    at_.setInsertionPointAfterValue(split_.lookup(mask->getResult(0)));
    ir::Expr bytes = pack(b, b.wrap(split_.lookup(mask->getResult(0))));
    at_.setInsertionPoint(mask);
    mask->getResult(0).replaceAllUsesWith(unpack(b, bytes, ShapeOf(mask->getResult(0))).value);
  }

 private:
  // Bit i of a byte is element i of eight.
  ir::Expr pack(ir::GraphBuilder& b, ir::Expr mask) {
    const int64_t last = static_cast<int64_t>(mask.shape().size()) - 1;
    mlir::Type byte = at_.getIntegerType(kMasksOfByte, /*isSigned=*/false);
    ir::Expr bit = b.cast(mask, byte), place = b.iota(mask.shape(), byte, last);
    Value shifted =
        at_.create<ir::ShiftLeftOp>(b.loc(), bit.value.getType(), bit.value, place.value).getResult();
    return b.sum(b.wrap(shifted), {last});
  }

  ir::Expr unpack(ir::GraphBuilder& b, ir::Expr bytes, ArrayRef<int64_t> shape) {
    SmallVector<int64_t> dims = llvm::to_vector(llvm::seq<int64_t>(0, static_cast<int64_t>(shape.size())));
    ir::Expr repeated = b.reshape(b.broadcast(bytes, InBytes(shape), dims), shape);
    ir::Expr index = b.iota(shape, at_.getI32Type(), dims.back());
    auto both = [&](ir::Expr x, ir::Expr y) {
      return b.wrap(at_.create<ir::BitwiseAndOp>(b.loc(), x.value.getType(), x.value, y.value).getResult());
    };
    ir::Expr place = b.cast(both(index, b.fill(index, kMasksOfByte - 1)), bytes.element());
    ir::Expr shifted =
        b.wrap(at_.create<ir::ShiftRightOp>(b.loc(), repeated.value.getType(), repeated.value, place.value)
                   .getResult());
    return b.ne(both(shifted, b.ones(shifted)), b.zeros(shifted));
  }

  // Clones an op of the chain for elements in bytes.
  Value splitOp(Operation* op) {
    ArrayRef<int64_t> shape = ShapeOf(op->getResult(0));
    if (auto broadcast = llvm::dyn_cast<ir::BroadcastOp>(op)) return splitBroadcast(broadcast);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) operands.push_back(splitValue(operand));
    placeAfter(operands);
    return CloneInShape(at_, op, InBytes(shape), [&](Value operand) { return split_.lookup(operand); });
  }

  Value splitValue(Value value) {
    if (Value known = split_.lookup(value)) return known;
    auto type = mlir::RankedTensorType::get(InBytes(ShapeOf(value)), ir::TypeOf(value).getElementType());
    Value split;
    if (IsSplatConstant(value.getDefiningOp())) {
      auto constant = llvm::cast<ir::ConstantOp>(value.getDefiningOp());
      at_.setInsertionPoint(constant);
      split = at_.create<ir::ConstantOp>(
          value.getLoc(), llvm::cast<mlir::SplatElementsAttr>(constant.getValue()).resizeSplat(type));
    } else {
      // The value may have been split already, for a mask before.
      auto whole = value.getDefiningOp<ir::ReshapeOp>();
      if (whole && whole.getX().getType() == type) return split_[value] = whole.getX();
      at_.setInsertionPointAfterValue(value);
      split = at_.create<ir::ReshapeOp>(value.getLoc(), type, value);
    }
    return split_[value] = split;
  }

  // Splits the operand's dimension that becomes the last one, if it has one.
  Value splitBroadcast(ir::BroadcastOp broadcast) {
    SmallVector<int64_t> dims(broadcast.getDims()), shape(broadcast.getX().getType().getShape());
    const int64_t last = broadcast.getType().getRank() - 1;
    Value x = broadcast.getX();
    at_.setInsertionPointAfter(broadcast);
    if (!dims.empty() && dims.back() == last && shape.back() != 1) {
      auto type = mlir::RankedTensorType::get(InBytes(shape), broadcast.getX().getType().getElementType());
      x = at_.create<ir::ReshapeOp>(broadcast.getLoc(), type, x);
      dims.push_back(last + 1);
    }
    auto type = mlir::RankedTensorType::get(InBytes(broadcast.getType().getShape()),
                                            broadcast.getType().getElementType());
    return at_.create<ir::BroadcastOp>(broadcast.getLoc(), type, x, dims);
  }

  // Builds next after the last of the values.
  void placeAfter(ArrayRef<Value> values) {
    Value last = values.front();
    for (Value value : values) {
      Operation *def = value.getDefiningOp(), *before = last.getDefiningOp();
      if (def && (!before || before->isBeforeInBlock(def))) last = value;
    }
    at_.setInsertionPointAfterValue(last);
  }

  const Masks::Packed& packed_;
  ir::PlacedBuilder at_;
  llvm::DenseMap<Value, Value> split_;
};

void EraseUnread(mlir::Block& block) {
  for (Operation& op : llvm::make_early_inc_range(llvm::reverse(block))) {
    if (op.use_empty() && mlir::isMemoryEffectFree(&op) && !op.hasTrait<mlir::OpTrait::IsTerminator>())
      op.erase();
  }
}

class PackMasksPass : public impl::PackMasksBase<PackMasksPass> {
 public:
  using PackMasksBase::PackMasksBase;

  void runOnOperation() override {
    if (getOperation().isExternal()) return;
    mlir::Block& block = getOperation().getBody().front();
    const std::vector<Masks::Packed> found = Masks(block).find(least_bytes, report);
    for (const Masks::Packed& packed : found) Packing(packed).run();
    if (!found.empty()) EraseUnread(block);
  }
};

}  // namespace
}  // namespace sinter
