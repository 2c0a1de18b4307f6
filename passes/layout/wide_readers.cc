// The part of wide_values.h that rewrites the readers of wide values.
#include <limits>

#include "llvm/ADT/TypeSwitch.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/passes/layout/wide_values.h"

namespace sinter {

using ir::ShapeOf;
using ir::TypeOf;
using llvm::SmallVector;
using mlir::Operation;
using mlir::Value;

namespace {

bool Holds(Dims dims, int64_t d) { return dims >> d & 1; }

// The value whose elements change no result of the reduction; nullopt if it has none.
std::optional<double> IdentityOf(Operation* reduction) {
  const double infinity = std::numeric_limits<double>::infinity();
  if (!llvm::isa<mlir::FloatType>(TypeOf(reduction->getOperand(0)).getElementType())) return std::nullopt;
  return llvm::TypeSwitch<Operation*, std::optional<double>>(reduction)
      .Case([](ir::SumOp) { return 0.0; })
      .Case([](ir::ProdOp) { return 1.0; })
      .Case([&](ir::MaxOp) { return -infinity; })
      .Case([&](ir::MinOp) { return infinity; })
      .Default([](Operation*) { return std::nullopt; });
}

// Returns the dimensions along which the result of `op` is wide if operand `number` is wide along `dims`;
// 0 if it is not.
Dims WideResult(Operation* op, unsigned number, Dims dims) {
  for (int64_t d = 0, rank = TypeOf(op->getResult(0)).getRank(); d < rank; ++d) {
    const Dims one = Dims{1} << d;
    const auto of_operands = WideOperands(op, one);
    if (!of_operands || ((*of_operands)[number] & ~dims) != 0) continue;
    if ((*of_operands)[number] == 0) continue;
    if ((*of_operands)[number] == dims) return one;
  }
  // Several dimensions: only pointwise ops have them in the same places.
  return llvm::isa<ir::PointwiseInterface>(op) ? dims : 0;
}

// Returns the first elements, as many as `like` has.
Value Narrow(Value wide, Value like) {
  ir::PlacedBuilder at(wide);
  ir::GraphBuilder b(at, like.getLoc());
  const SmallVector<int64_t> starts(TypeOf(like).getRank(), 0), strides(TypeOf(like).getRank(), 1);
  return b.slice(b.wrap(wide), starts, ShapeOf(like), strides).value;
}

}  // namespace

// Readers that cast the value read the wide value directly, so that they find the op that computes it.
void WideValues::replace(Value value, Value wide, Dims dims, bool has_zeros) {
  const Fill fill = has_zeros ? Fill::kZero : Fill::kUnknown;
  for (Operation* user : llvm::make_early_inc_range(value.getUsers())) {
    auto cast = llvm::dyn_cast<ir::CastOp>(user);
    if (!cast) continue;
    ir::PlacedBuilder at(wide);
    auto wide_cast = at.create<ir::CastOp>(cast.getLoc(), WideType(cast.getType(), dims), wide);
    replace(cast.getResult(), wide_cast, dims, has_zeros);
    discard(cast);
  }
  fills_[wide] = fill;
  const Value narrow = Narrow(wide, value);
  value.replaceAllUsesWith(narrow);
  sources_.insert(narrow);
  const Value shown = forMaximum(narrow, wide, dims);
  add(narrow, {dims, shown, true}, fill);
}

void WideValues::finish() {
  if (sources_.empty() && wide_.empty()) return;
  for (Operation* op : llvm::reverse(dead_)) op->erase();
  reaches_.clear();
  made_.clear();
  findFlows();
  SmallVector<Operation*> reductions;
  for (Operation& op : block_) {
    if (llvm::isa<ir::ReductionInterface>(op) && flows_.contains(op.getOperand(0))) reductions.push_back(&op);
  }
  for (Operation* op : reductions) reduce(op);
  redirectReaders();
}

void WideValues::findFlows() {
  for (Operation& op : block_) {
    if (op.getNumResults() == 1 && !op.hasTrait<mlir::OpTrait::IsTerminator>()) flow(&op);
  }
  for (auto [value, dims] : flows_) {
    void* const leader = together_.getOrInsertLeaderValue(value.getAsOpaquePointer());
    if (computed(value) && !sources_.contains(value)) widened_.insert(leader);
    const bool leaves = llvm::any_of(value.getUsers(), [](Operation* user) {
      return llvm::isa<ir::StepInterface>(user) || user->hasTrait<mlir::OpTrait::IsTerminator>();
    });
    if (leaves && !computed(value)) leaving_.insert(leader);
  }
}

// Adds the result of an op to flows_ if it can be computed wide without a pad of a large value.
void WideValues::flow(Operation* op) {
  const Value result = op->getResult(0);
  Dims dims = 0;
  // A pad counts too: rows that are padded where they are read are reduced there.
  const auto known = wide_.find(result);
  const bool is_known = known != wide_.end();
  if (is_known) dims = (computed(result) ? *computed(result) : known->second.front()).dims;
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    auto found = flows_.find(operand);
    if (dims == 0 && found != flows_.end()) dims = WideResult(op, i, found->second);
  }
  const auto of_operands = dims ? WideOperands(op, dims) : std::nullopt;
  if (!is_known) {
    if (!of_operands) return;
    for (auto [operand, of_operand] : llvm::zip_equal(op->getOperands(), *of_operands)) {
      const bool flows = of_operand == 0 || isMade(operand, 0) ||
                         (flows_.contains(operand) && flows_.lookup(operand) == of_operand);
      if (!flows) return;
    }
  }
  flows_[result] = dims;
  void* const self = result.getAsOpaquePointer();
  together_.insert(self);
  for (Value operand : op->getOperands()) {
    if (flows_.contains(operand)) together_.unionSets(operand.getAsOpaquePointer(), self);
  }
}

// A reduction moves to a wide value if the other work on its rows does: if some of it was widened, or if none
// of it is stored for readers that know nothing of the padding, which would take a kernel of its own.
bool WideValues::isWorthReducing(Value value) {
  void* const leader = together_.getOrInsertLeaderValue(value.getAsOpaquePointer());
  return widened_.contains(leader) || !leaving_.contains(leader);
}

void WideValues::reduce(Operation* op) {
  const Value x = op->getOperand(0), result = op->getResult(0);
  const Dims dims = flows_.lookup(x);
  Dims reduced = 0, kept = 0;
  int64_t at_result = 0;
  for (int64_t d = 0; d < TypeOf(x).getRank(); ++d) {
    const bool is_reduced = llvm::is_contained(llvm::cast<ir::ReductionInterface>(op).getReducedDims(), d);
    if (is_reduced && Holds(dims, d)) reduced |= Dims{1} << d;
    if (is_reduced) continue;
    if (Holds(dims, d)) kept |= Dims{1} << at_result;
    ++at_result;
  }
  // Reductions that keep the wide dimension, such as the gradient of a bias, follow what is stored wide.
  const bool is_beside_wide = widened_.contains(together_.getOrInsertLeaderValue(x.getAsOpaquePointer()));
  if (kept != 0 && (reduced != 0 || !is_beside_wide || find(result, kept))) return;
  const std::optional<double> identity = IdentityOf(op);
  if ((reduced != 0 && !identity) || !isWorthReducing(x)) return;
  Value wide = reduced && *identity == 0 ? zeroed(x, dims, reduced) : any(x, dims);
  const bool is_lowest = fills_.lookup(wide) == Fill::kLowest && llvm::isa<ir::MaxOp>(op);
  if (reduced != 0 && *identity != 0 && !is_lowest) wide = masked(x, wide, reduced, *identity);
  ir::PlacedBuilder at(op);
  at.setInsertionPointAfter(op);
  Operation* clone = at.clone(*op);
  clone->setOperand(0, wide);
  clone->getResult(0).setType(WideType(TypeOf(result), kept));
  Value made = clone->getResult(0);
  if (kept != 0) made = Narrow(made, result);
  ReplaceBehind(result, made);
}

// Lets other readers read a part of what was computed wide, so that nothing is computed twice.
void WideValues::redirectReaders() {
  for (Operation& op : llvm::make_early_inc_range(block_)) {
    if (op.getNumResults() != 1 || llvm::isa<ir::ReductionInterface>(op)) continue;
    const Value value = op.getResult(0);
    const Wide* wide = computed(value);
    if (!wide || sources_.contains(value) || isMade(value, 0) || value.use_empty()) continue;
    ReplaceBehind(value, Narrow(wide->value, value));
  }
}

}  // namespace sinter
