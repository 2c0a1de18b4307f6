// How a scan iterates, besides its trips: along dimensions that its whole body handles one by one, such as
// the examples of a batch.
#include "llvm/ADT/EquivalenceClasses.h"
#include "mlir/IR/IRMapping.h"
#include "sinter/ir/dialect/local_op.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"

namespace sinter::ir {
namespace {

using mlir::Operation;
using mlir::Value;

// The dimensions of the body's values, in classes that are cut together.
class BodyDims {
 public:
  explicit BodyDims(ScanOp scan) : scan_(scan) {
    for (Operation& op : scan_.block().without_terminator()) join(&op);
    for (auto [argument, next] : llvm::zip_equal(scan_.carryArguments(), scan_.nextCarries())) {
      for (int64_t d = 0; d < TypeOf(argument).getRank(); ++d)
        classes_.unionSets(id(argument, d), id(next, d));
    }
  }

  // Returns the number of the dimension's class.
  int64_t classOf(Value value, int64_t dim) { return classes_.getOrInsertLeaderValue(id(value, dim)); }
  // True if some op does not work along the class element by element.
  bool isWhole(int64_t number) {
    return llvm::any_of(whole_, [&](int64_t i) { return classes_.getOrInsertLeaderValue(i) == number; });
  }
  // Returns the class that each factor of the op's rule runs along; -1 if no dimension is the factor alone.
  llvm::SmallVector<int64_t> classesOf(Operation* op, const FactorRule& rule) {
    llvm::SmallVector<int64_t> classes(rule.factors.size(), -1);
    forEachDim(op, rule, [&](Value value, int64_t dim, llvm::ArrayRef<unsigned> factors) {
      if (factors.size() == 1) classes[factors[0]] = classOf(value, dim);
    });
    return classes;
  }

 private:
  int64_t id(Value value, int64_t dim) {
    auto [found, is_new] = first_.try_emplace(value, count_);
    if (is_new) count_ += TypeOf(value).getRank();
    return found->second + dim;
  }

  template <typename F>
  static void forEachDim(Operation* op, const FactorRule& rule, const F& use) {
    auto all = [&](mlir::ValueRange values, llvm::ArrayRef<ValueFactors> factors) {
      for (auto [value, dims] : llvm::zip_equal(values, factors)) {
        for (auto [d, of_dim] : llvm::enumerate(dims)) use(value, static_cast<int64_t>(d), of_dim);
      }
    };
    all(op->getOperands(), rule.operands);
    all(op->getResults(), rule.results);
  }

  void join(Operation* op) {
    const FactorRule rule = FactorsOf(op);
    llvm::SmallVector<int64_t> first(rule.factors.size(), -1);
    forEachDim(op, rule, [&](Value value, int64_t dim, llvm::ArrayRef<unsigned> factors) {
      const int64_t number = id(value, dim);
      if (factors.size() > 1) whole_.push_back(number);
      for (unsigned f : factors) {
        const Factor& factor = rule.factors[f];
        if (factor.kind != FactorKind::kParallel || factor.is_counted) whole_.push_back(number);
        if (first[f] >= 0) classes_.unionSets(first[f], number);
        first[f] = number;
      }
    });
    // A value that a factor leaves out is the same for all parts, which a loop cannot say.
    for (auto [result, dims] : llvm::zip_equal(op->getResults(), rule.results)) {
      for (size_t f = 0; f < rule.factors.size(); ++f) {
        const bool is_named = FactorRule::Names(dims, static_cast<unsigned>(f));
        if (!is_named && first[f] >= 0) whole_.push_back(first[f]);
      }
    }
  }

  ScanOp scan_;
  llvm::EquivalenceClasses<int64_t> classes_;
  llvm::SmallVector<int64_t> whole_;
  llvm::DenseMap<Value, int64_t> first_;
  int64_t count_ = 0;
};

// Calls `use` with each operand of the scan and the body's argument for it, then with each result and the
// value for it. `stacked` is 1 for those with the trips as their first dimension.
template <typename F>
void ForEachBorder(ScanOp scan, const F& use) {
  const size_t carries = scan.getCarries().size(), slices = scan.getSlices().size();
  for (size_t i = 0; i < scan->getNumOperands(); ++i) {
    use(false, i, scan.block().getArgument(1 + i), i >= carries && i < carries + slices ? 1 : 0);
  }
  for (auto [i, value] : llvm::enumerate(scan.yield().getValues())) use(true, i, value, i >= carries ? 1 : 0);
}

}  // namespace

FactorRule ScanOp::getFactorRule() {
  FactorRule rule = WholeFactors(*this);
  BodyDims dims(*this);
  llvm::DenseMap<int64_t, unsigned> factors;
  ForEachBorder(*this, [&](bool is_result, size_t i, Value value, int64_t stacked) {
    for (auto [d, size] : llvm::enumerate(ShapeOf(value))) {
      const int64_t number = dims.classOf(value, static_cast<int64_t>(d));
      if (size == 1 || dims.isWhole(number)) continue;
      auto [factor, is_new] = factors.try_emplace(number, rule.factors.size());
      if (is_new) {
        const char name = static_cast<char>('b' + factors.size() - 1);
        rule.factors.push_back({size, FactorKind::kParallel, name});
      }
      (is_result ? rule.results : rule.operands)[i][stacked + d] = {factor->second};
    }
  });
  // A factor that some result lacks cannot be cut: its parts would not agree on that result. They do agree on
  // a guard, which has no dimensions, so that no class that it is computed from is cut.
  for (size_t f = 0; f < rule.factors.size(); ++f) {
    const auto results = llvm::ArrayRef(rule.results).drop_front(getGuarded() ? 1 : 0);
    const bool is_in_all = llvm::all_of(results, [&](const ValueFactors& result) {
      return FactorRule::Names(result, static_cast<unsigned>(f));
    });
    if (!is_in_all) rule.factors[f].kind = FactorKind::kWhole;
  }
  return rule;
}

llvm::SmallVector<Value> ScanOp::buildLocal(mlir::OpBuilder& builder, mlir::ValueRange operands,
                                            const FactorRule& rule, llvm::ArrayRef<FactorPart> parts) {
  BodyDims dims(*this);
  // The size of each class on this part. The caller may have split a factor.
  llvm::DenseMap<int64_t, int64_t> sizes;
  llvm::SmallVector<mlir::Type> types;
  for (auto [result, of_result] : llvm::zip_equal(getResults(), rule.results)) {
    types.push_back(LocalType(TypeOf(result), of_result, parts));
  }
  auto local = builder.create<ScanOp>(getLoc(), types, getTripsAttr(), getReverseAttr(), getGuardedAttr(),
                                      operands.take_front(getCarries().size()),
                                      operands.slice(getCarries().size(), getSlices().size()),
                                      operands.drop_front(getCarries().size() + getSlices().size()));
  local->setDiscardableAttrs((*this)->getDiscardableAttrDictionary());
  mlir::Block& body = local.getBody().emplaceBlock();
  mlir::IRMapping mapping;
  mapping.map(Value(trip()), body.addArgument(trip().getType(), trip().getLoc()));
  ForEachBorder(*this, [&](bool is_result, size_t i, Value value, int64_t stacked) {
    mlir::RankedTensorType whole = is_result ? TypeOf(getResult(i)) : TypeOf(getOperand(i));
    mlir::RankedTensorType part = LocalType(whole, (is_result ? rule.results : rule.operands)[i], parts);
    for (int64_t d = stacked; d < part.getRank(); ++d) {
      if (part.getDimSize(d) != whole.getDimSize(d))
        sizes[dims.classOf(value, d - stacked)] = part.getDimSize(d);
    }
    if (is_result) return;
    mapping.map(value, body.addArgument(part.clone(part.getShape().drop_front(stacked)), value.getLoc()));
  });
  mlir::OpBuilder at(getContext());
  at.setInsertionPointToEnd(&body);
  for (Operation& op : block().without_terminator()) {
    const FactorRule of_op = FactorsOf(&op);
    llvm::SmallVector<FactorPart> op_parts = WholeParts(of_op);
    for (auto [part, number] : llvm::zip_equal(op_parts, dims.classesOf(&op, of_op))) {
      if (auto cut = sizes.find(number); number >= 0 && cut != sizes.end()) part.size = cut->second;
    }
    llvm::SmallVector<Value> inputs;
    for (Value operand : op.getOperands()) inputs.push_back(mapping.lookup(operand));
    for (auto [whole, part] : llvm::zip_equal(op.getResults(), BuildOnPart(at, &op, inputs, of_op, op_parts)))
      mapping.map(whole, part);
  }
  llvm::SmallVector<Value> yields;
  for (Value value : yield().getValues()) yields.push_back(mapping.lookup(value));
  at.create<YieldOp>(yield().getLoc(), yields);
  return llvm::to_vector_of<Value>(local->getResults());
}

}  // namespace sinter::ir
