#include "sinter/ir/fusion/fusion_domain.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <tuple>

#include "llvm/ADT/EquivalenceClasses.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/fusion/concat_parts.h"
#include "sinter/ir/target/target_model.h"

namespace sinter::ir {

using mlir::AffineExpr;
using mlir::AffineMap;
using mlir::Operation;
using mlir::Value;

namespace {

int64_t Product(llvm::ArrayRef<int64_t> sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{1}, std::multiplies<>());
}

std::string ShapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

// Replaces coordinates by 0 along dimensions of size 1 of the value or of the domain.
AffineMap Normalize(AffineMap map, llvm::ArrayRef<int64_t> domain, llvm::ArrayRef<int64_t> shape) {
  mlir::MLIRContext* context = map.getContext();
  AffineExpr zero = mlir::getAffineConstantExpr(0, context);
  llvm::SmallVector<AffineExpr> dims;
  for (size_t d = 0; d < domain.size(); ++d) {
    dims.push_back(domain[d] == 1 ? zero : mlir::getAffineDimExpr(d, context));
  }
  llvm::SmallVector<AffineExpr> results;
  for (auto [expr, size] : llvm::zip_equal(map.getResults(), shape)) {
    results.push_back(size == 1 ? zero : mlir::simplifyAffineExpr(expr.replaceDims(dims), domain.size(), 0));
  }
  return AffineMap::get(domain.size(), 0, results, context);
}

struct Extent {
  llvm::ArrayRef<int64_t> shape, reduced;
  // The dimensions that column reductions reduce; empty if there are none.
  llvm::ArrayRef<int64_t> over = {};

  // Merges a reduction's own extent into this one. Returns true if one nest may hold both.
  bool add(const Extent& own) {
    if (shape != own.shape) return false;
    if (reduced == own.reduced || (!over.empty() && over == own.reduced)) return true;
    if (!over.empty()) return false;
    if (SumsColumns(shape, own.reduced, reduced)) {
      over = reduced;
      reduced = own.reduced;
    } else if (SumsColumns(shape, reduced, own.reduced)) {
      over = own.reduced;
    }
    return !over.empty();
  }
};

// Returns the domain of the reductions or, without reductions, of the outputs.
mlir::FailureOr<Extent> FindExtent(llvm::ArrayRef<Operation*> ops, llvm::ArrayRef<Value> outputs,
                                   std::string* why) {
  std::optional<Extent> extent;
  for (Operation* op : ops) {
    auto reduction = llvm::dyn_cast<ReductionInterface>(op);
    if (!reduction) continue;
    Extent own{ShapeOf(op->getOperand(0)), reduction.getReducedDims()};
    if (extent && !extent->add(own)) {
      *why = "one reduces " + ShapeText(extent->shape) + " along " + ShapeText(extent->reduced) +
             ", the other " + ShapeText(own.shape) + " along " + ShapeText(own.reduced);
      return mlir::failure();
    }
    if (!extent) extent = own;
  }
  if (extent) return *extent;
  for (Value output : outputs) {
    Extent own{ShapeOf(output), {}};
    if (extent && extent->shape != own.shape) {
      *why = "the results " + ShapeText(extent->shape) + " and " + ShapeText(own.shape) +
             " need different loops";
      return mlir::failure();
    }
    extent = own;
  }
  assert(extent && "a nest stores something");
  return *extent;
}

void AddRead(LoopNest& nest, Value value, AffineMap map) {
  auto& maps = nest.reads[value];
  if (!llvm::is_contained(maps, map)) maps.push_back(map);
}

// Follows every read from the outputs back to the inputs.
mlir::LogicalResult CollectReads(LoopNest& nest, std::string* why) {
  for (Operation* op : llvm::reverse(nest.ops)) {
    auto fusible = llvm::dyn_cast<FusibleInterface>(op);
    for (Value result : op->getResults()) {
      llvm::SmallVector<AffineMap, 1> maps = nest.reads.lookup(result);
      for (AffineMap map : maps) {
        if (llvm::isa<ReductionInterface>(op)) {
          const bool of_rows = !llvm::is_contained(nest.column_reductions, op);
          if (map != (of_rows ? nest.row_map : nest.column_map)) {
            *why = "the result of " + op->getName().getStringRef().str() + " is read at other " +
                   (of_rows ? "rows" : "columns") + " than its own";
            return mlir::failure();
          }
          AddRead(nest, op->getOperand(0), nest.full_map);
          continue;
        }
        for (unsigned i = 0; i < op->getNumOperands(); ++i) {
          AffineMap operand_map = map ? fusible.getOperandMap(i) : AffineMap();
          if (operand_map)
            operand_map = Normalize(operand_map.compose(map), nest.shape, ShapeOf(op->getOperand(i)));
          AddRead(nest, op->getOperand(i), operand_map);
        }
      }
    }
  }
  return mlir::success();
}

// Returns the values that `roots` depend on, up to and including column reductions.
llvm::DenseSet<Value> ReachBack(const LoopNest& nest, llvm::SmallVector<Value> stack) {
  llvm::DenseSet<Operation*> held(nest.ops.begin(), nest.ops.end());
  llvm::DenseSet<Value> seen;
  while (!stack.empty()) {
    Value value = stack.pop_back_val();
    Operation* def = value.getDefiningOp();
    if (!seen.insert(value).second || !def || !held.contains(def)) continue;
    if (!llvm::is_contained(nest.column_reductions, def))
      stack.append(def->operand_begin(), def->operand_end());
  }
  return seen;
}

mlir::LogicalResult CheckColumnReductions(const LoopNest& nest, std::string* why) {
  if (nest.column_reductions.empty()) return mlir::success();
  if (nest.column_reductions.size() > kMostColumnReductions) {
    *why = std::to_string(nest.column_reductions.size()) +
           " reductions over the rows are more than one pass can have";
    return mlir::failure();
  }
  llvm::SmallVector<Value> reduced;
  for (Operation* op : nest.ops) {
    if (llvm::isa<ReductionInterface>(op)) reduced.push_back(op->getOperand(0));
  }
  llvm::DenseSet<Value> from = ReachBack(nest, std::move(reduced));
  for (Operation* op : nest.column_reductions) {
    if (!from.contains(op->getResult(0))) continue;
    *why = "the result of " + op->getName().getStringRef().str() + ", over all rows, goes into one of them";
    return mlir::failure();
  }
  return mlir::success();
}

// Separates values computed only for columns from values of the pass over the rows.
void FindColumnValues(LoopNest& nest, llvm::ArrayRef<Value> column_outputs) {
  llvm::SmallVector<Value> of_rows;
  for (Value value : nest.stored) {
    if (!llvm::is_contained(column_outputs, value)) of_rows.push_back(value);
  }
  for (Operation* op : nest.ops) {
    if (llvm::isa<ReductionInterface>(op)) of_rows.push_back(op->getOperand(0));
  }
  llvm::DenseSet<Value> rows = ReachBack(nest, std::move(of_rows));
  for (Value value : ReachBack(nest, llvm::SmallVector<Value>(column_outputs))) {
    if (!rows.contains(value)) nest.column_values.insert(value);
  }
}

// Returns the stored values that depend on column reductions.
llvm::SmallVector<Value> ColumnOutputs(const LoopNest& nest) {
  llvm::SmallVector<Value> found;
  if (nest.column_reductions.empty()) return found;
  for (Value value : nest.stored) {
    llvm::DenseSet<Value> from = ReachBack(nest, {value});
    if (llvm::any_of(nest.column_reductions, [&](Operation* op) { return from.contains(op->getResult(0)); }))
      found.push_back(value);
  }
  return found;
}

mlir::LogicalResult AnalyzeNest(LoopNest& nest, const Extent& extent, mlir::MLIRContext* context,
                                std::string* why) {
  nest.shape.assign(extent.shape.begin(), extent.shape.end());
  nest.reduced.assign(extent.reduced.begin(), extent.reduced.end());
  // Returns the coordinate map and the shape of a value that has the dimensions `dims`.
  auto part = [&](llvm::ArrayRef<int64_t> dims) {
    llvm::SmallVector<int64_t> shape;
    llvm::SmallVector<AffineExpr> exprs;
    for (int64_t d : dims) {
      shape.push_back(nest.shape[d]);
      exprs.push_back(mlir::getAffineDimExpr(d, context));
    }
    return std::pair(Normalize(AffineMap::get(nest.shape.size(), 0, exprs, context), nest.shape, shape),
                     shape);
  };
  nest.full_map =
      Normalize(AffineMap::getMultiDimIdentityMap(nest.shape.size(), context), nest.shape, nest.shape);
  llvm::SmallVector<int64_t> row_shape, column_shape;
  std::tie(nest.row_map, row_shape) = part(nest.parallelDims());
  if (!extent.over.empty()) std::tie(nest.column_map, column_shape) = part(nest.reduced);
  for (Operation* op : nest.ops) {
    auto reduction = llvm::dyn_cast<ReductionInterface>(op);
    if (!reduction) continue;
    const bool of_rows = reduction.getReducedDims() == llvm::ArrayRef<int64_t>(nest.reduced);
    (of_rows ? nest.reductions : nest.column_reductions).push_back(op);
  }
  if (mlir::failed(CheckColumnReductions(nest, why))) return mlir::failure();
  llvm::SmallVector<Value> column_outputs = ColumnOutputs(nest);
  for (Value stored : nest.stored) {
    llvm::ArrayRef<int64_t> shape = ShapeOf(stored);
    const bool is_column = llvm::is_contained(column_outputs, stored);
    const bool full = !is_column && shape == llvm::ArrayRef<int64_t>(nest.shape);
    if (!full && shape != llvm::ArrayRef<int64_t>(is_column ? column_shape : row_shape)) {
      *why = "a result of shape " + ShapeText(shape) + " does not fit loops over " + ShapeText(nest.shape) +
             " that reduce " + ShapeText(is_column ? extent.over : nest.reduced);
      return mlir::failure();
    }
    AddRead(nest, stored, full ? nest.full_map : is_column ? nest.column_map : nest.row_map);
  }
  if (!nest.column_reductions.empty()) FindColumnValues(nest, column_outputs);
  return CollectReads(nest, why);
}

// Groups stored values that share an op (uniform values excepted) or, if their domains fit, an input of the
// domain's shape.
class NestSplitter {
 public:
  NestSplitter(llvm::ArrayRef<Operation*> ops, llvm::ArrayRef<Value> outputs)
      : context_(ops[0]->getContext()) {
    llvm::DenseSet<Operation*> in_parts;
    for (auto [i, output] : llvm::enumerate(outputs)) {
      if (!IsStoredInParts(output, ops)) {
        stored_.push_back({output, static_cast<unsigned>(i)});
        continue;
      }
      in_parts.insert(output.getDefiningOp());
      for (Value part : output.getDefiningOp()->getOperands())
        stored_.push_back({part, static_cast<unsigned>(i), /*is_part=*/true});
    }
    for (Operation* op : ops) {
      if (!in_parts.contains(op)) ops_.push_back(op);
    }
    for (auto [i, op] : llvm::enumerate(ops_)) members_[op] = i;
  }

  mlir::LogicalResult split(std::vector<LoopNest>& nests, std::string* why) {
    for (const Stored& stored : stored_) {
      if (stored.is_part || isMember(stored.value)) continue;
      *why = "an input is handed out unchanged";
      return mlir::failure();
    }
    llvm::DenseSet<Value> uniform = UniformValues(ops_);
    for (Operation* op : ops_) {
      groups_.insert(op);
      for (Value operand : op->getOperands()) {
        Operation* def = operand.getDefiningOp();
        if (!def || !members_.contains(def) || FollowsFromPosition(def)) continue;
        // One-element values that depend on each other share a loop.
        if (!uniform.contains(operand) || Product(ShapeOf(op->getResult(0))) == 1) groups_.unionSets(op, def);
      }
    }
    Candidates found;
    if (mlir::failed(collect(found, why))) return mlir::failure();
    if (joinByInputs(found)) {
      found.clear();
      if (mlir::failed(collect(found, why))) return mlir::failure();
    }
    for (auto& [nest, extent] : found) {
      if (mlir::failed(AnalyzeNest(nest, extent, context_, why))) return mlir::failure();
      nests.push_back(std::move(nest));
    }
    return mlir::success();
  }

 private:
  struct Stored {
    Value value;
    unsigned output;
    bool is_part = false;
  };
  using Candidates = std::vector<std::pair<LoopNest, Extent>>;

  bool isMember(Value value) const {
    return value.getDefiningOp() && members_.contains(value.getDefiningOp());
  }

  // Returns the members that compute `values`, in order. It walks only these: updates of many parameters have
  // as many nests.
  llvm::SmallVector<Operation*> neededFor(llvm::ArrayRef<Value> values) const {
    llvm::SmallVector<Operation*> needed;
    llvm::DenseSet<Operation*> seen;
    auto add = [&](Value value) {
      if (isMember(value) && seen.insert(value.getDefiningOp()).second)
        needed.push_back(value.getDefiningOp());
    };
    for (Value value : values) add(value);
    for (size_t next = 0; next < needed.size(); ++next) {
      for (Value operand : needed[next]->getOperands()) add(operand);
    }
    llvm::sort(needed, [&](Operation* a, Operation* b) { return members_.at(a) < members_.at(b); });
    return needed;
  }

  mlir::LogicalResult collect(Candidates& found, std::string* why) {
    // Keyed by the leader of the ops that compute a value. A part from outside has no ops.
    llvm::MapVector<const void*, LoopNest> nests;
    for (const Stored& stored : stored_) {
      const void* key = isMember(stored.value) ? groups_.getLeaderValue(stored.value.getDefiningOp())
                                               : stored.value.getAsOpaquePointer();
      nests[key].stored.push_back(stored.value);
      nests[key].outputs.push_back(stored.output);
    }
    for (auto& [key, nest] : nests) {
      nest.ops = neededFor(nest.stored);
      auto extent = FindExtent(nest.ops, nest.stored, why);
      if (mlir::failed(extent)) return mlir::failure();
      found.push_back({std::move(nest), *extent});
    }
    return mlir::success();
  }

  bool joinByInputs(const Candidates& found) {
    bool joined = false;
    llvm::DenseMap<Value, llvm::SmallVector<size_t, 2>> readers;
    for (size_t n = 0; n < found.size(); ++n) {
      const auto& [nest, extent] = found[n];
      for (Operation* op : nest.ops) {
        for (Value operand : op->getOperands()) {
          if (isMember(operand) || ShapeOf(operand) != extent.shape) continue;
          auto& others = readers[operand];
          if (llvm::is_contained(others, n)) continue;
          for (size_t other : others) {
            if (Extent both = found[other].second; both.add(extent)) {
              groups_.unionSets(found[other].first.ops.back(), nest.ops.back());
              joined = true;
            }
          }
          others.push_back(n);
        }
      }
    }
    return joined;
  }

  mlir::MLIRContext* context_;
  llvm::SmallVector<Operation*> ops_;  // Without concats that are stored in parts.
  llvm::SmallVector<Stored> stored_;
  llvm::DenseMap<Operation*, size_t> members_;  // With their places in ops_.
  llvm::EquivalenceClasses<Operation*> groups_;
};

}  // namespace

DeviceKind KindOf(DeviceAttr device) { return device ? device.getKind() : DeviceKind::cpu; }

llvm::SmallVector<int64_t> LoopNest::parallelDims() const {
  llvm::SmallVector<int64_t> dims;
  for (int64_t d = 0; d < static_cast<int64_t>(shape.size()); ++d) {
    if (!llvm::is_contained(reduced, d)) dims.push_back(d);
  }
  return dims;
}

llvm::DenseSet<Value> UniformValues(llvm::ArrayRef<Operation*> ops) {
  llvm::DenseSet<Value> uniform;
  llvm::DenseSet<Operation*> held(ops.begin(), ops.end());
  for (Operation* op : ops) {
    auto constant = llvm::dyn_cast<ConstantOp>(op);
    bool is_number = constant && llvm::isa<mlir::SplatElementsAttr>(constant.getValue());
    if (llvm::isa<PointwiseInterface, BroadcastOp>(op)) {
      is_number = op->getNumOperands() > 0 && llvm::all_of(op->getOperands(), [&](Value operand) {
                    const bool from_elsewhere =
                        !operand.getDefiningOp() || !held.contains(operand.getDefiningOp());
                    return uniform.contains(operand) || (from_elsewhere && Product(ShapeOf(operand)) == 1);
                  });
    }
    if (is_number) uniform.insert(op->result_begin(), op->result_end());
  }
  return uniform;
}

int64_t LoopNest::columns() const {
  int64_t columns = 1;
  for (int64_t d : reduced) columns *= shape[d];
  return columns;
}

int64_t LoopNest::elements() const { return Product(shape); }

int64_t LoopNest::rows() const {
  int64_t rows = 1;
  for (int64_t d : parallelDims()) rows *= shape[d];
  return rows;
}

bool LoopNest::isReadOnlyThrough(Value value, AffineMap map) const {
  auto maps = reads.lookup(value);
  return maps.size() == 1 && maps[0] == map;
}

bool LoopNest::isRowInvariant(Value value) const {
  return llvm::all_of(reads.lookup(value), [&](AffineMap map) {
    return map && llvm::none_of(reduced, [&](int64_t d) { return map.isFunctionOfDim(d); });
  });
}

bool LoopNest::dependsOnReduction(Value value) const {
  llvm::DenseSet<Operation*> held(ops.begin(), ops.end());
  llvm::SmallVector<Value> stack = {value};
  llvm::DenseSet<Value> seen;
  while (!stack.empty()) {
    Operation* def = stack.pop_back_val().getDefiningOp();
    if (!def || !held.contains(def)) continue;
    if (llvm::isa<ReductionInterface>(def)) return true;
    for (Value operand : def->getOperands()) {
      if (seen.insert(operand).second) stack.push_back(operand);
    }
  }
  return false;
}

llvm::StringRef FusionDomain::kind() const {
  if (nests.size() > 1) return "horizontal";
  return nests[0].reductions.empty() ? "map" : "row";
}

bool FusionDomain::isConnected() const {
  if (nests.size() == 1) return true;
  llvm::EquivalenceClasses<unsigned> outputs;
  for (const LoopNest& nest : nests) {
    if (!nest.reductions.empty() || !nest.column_reductions.empty()) return false;
    for (unsigned output : nest.outputs) outputs.unionSets(nest.outputs[0], output);
  }
  return llvm::all_of(nests, [&](const LoopNest& nest) {
    return outputs.isEquivalent(nest.outputs[0], nests[0].outputs[0]);
  });
}

mlir::FailureOr<FusionDomain> AnalyzeFusion(llvm::ArrayRef<Operation*> ops, llvm::ArrayRef<Value> outputs,
                                            std::string* why) {
  FusionDomain domain;
  if (outputs.empty() || ops.empty()) {
    *why = "nothing is stored";
    return mlir::failure();
  }
  assert(
      llvm::all_of(ops, [](Operation* op) { return llvm::isa<FusibleInterface, ReductionInterface>(op); }));
  if (mlir::failed(NestSplitter(ops, outputs).split(domain.nests, why))) return mlir::failure();
  return domain;
}

mlir::FailureOr<FusionDomain> AnalyzeFusion(mlir::Block& body, std::string* why) {
  llvm::SmallVector<Operation*> ops;
  for (Operation& op : body.without_terminator()) ops.push_back(&op);
  llvm::SmallVector<Value> outputs(body.getTerminator()->getOperands());
  return AnalyzeFusion(ops, outputs, why);
}

mlir::LogicalResult VerifyFusedBody(Operation* holder, mlir::Block& body) {
  for (Operation& op : body.without_terminator()) {
    if (!llvm::isa<FusibleInterface, ReductionInterface>(op)) {
      return holder->emitOpError() << "holds '" << op.getName()
                                   << "'; expected fusible ops and reductions only";
    }
    auto constant = llvm::dyn_cast<ConstantOp>(op);
    if (constant && !llvm::isa<mlir::SplatElementsAttr>(constant.getValue())) {
      return holder->emitOpError() << "holds a constant of type " << constant.getType()
                                   << " whose elements differ; expected it among the operands";
    }
  }
  return mlir::success();
}

bool FollowsFromPosition(mlir::Operation* op) {
  if (op->getNumOperands() == 0) return true;
  auto compare = llvm::dyn_cast<CompareOp>(op);
  return compare && compare.getX().getDefiningOp<IotaOp>() && compare.getY().getDefiningOp<ConstantOp>() &&
         compare.getX().getDefiningOp()->getNumOperands() == 0;
}

bool IsUnitReshape(Operation* op) {
  auto reshape = llvm::dyn_cast<ReshapeOp>(op);
  return reshape && reshape.getOperandMap(0);
}

}  // namespace sinter::ir
