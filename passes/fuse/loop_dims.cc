#include "sinter/passes/fuse/loop_dims.h"

#include <map>
#include <numeric>
#include <optional>

#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/fuse/fusion_graph.h"

namespace sinter {

using ir::NumElements;
using ir::ShapeOf;
using llvm::ArrayRef;
using mlir::Operation;
using mlir::Value;
using Dim = DimFactors::Dim;

namespace {

bool HasElements(Operation* op) {
  auto has_elements = [](Value value) { return NumElements(value) > 0; };
  return llvm::all_of(op->getOperands(), has_elements) && llvm::all_of(op->getResults(), has_elements);
}

// True if elements depend on the row-major position alone, so that any shape of as many elements will do.
bool IsOfPositions(Operation* op) {
  return llvm::TypeSwitch<Operation*, bool>(op)
      .Case<ir::RandomUniformOp, ir::RandomNormalOp, ir::RandomBernoulliOp>(
          [](auto random) { return !random.getWhole(); })
      .Default(llvm::isa<ir::ConstantOp>(op));
}

// The dimensions of size 1, last first, by the number of elements behind them.
using Units = std::map<int64_t, DimFactors::Dims>;
Units UnitsOf(Value value, ArrayRef<Dim> dims) {
  Units units;
  int64_t behind = 1;
  for (auto [size, dim] : llvm::reverse(llvm::zip_equal(ShapeOf(value), dims))) {
    if (size == 1) units[behind].push_back(dim);
    behind *= size;
  }
  return units;
}

// True if the reshape repeats or interleaves so few neighbouring elements that loops over them would be
// shorter than a vector: an image that is enlarged twice, for example.
bool IsShortRepeat(ir::ReshapeOp reshape) {
  constexpr int64_t kVector = 4;
  auto broadcast = reshape.getX().getDefiningOp<ir::BroadcastOp>();
  if (!broadcast) return false;
  ArrayRef<int64_t> shape = ShapeOf(broadcast.getResult()), from = ShapeOf(broadcast.getX());
  auto is_kept = [&](size_t d) {
    auto at = llvm::find(broadcast.getDims(), static_cast<int64_t>(d));
    return at != broadcast.getDims().end() && from[at - broadcast.getDims().begin()] == shape[d];
  };
  std::optional<bool> kept;
  int64_t run = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    if (kept && *kept != is_kept(d)) return run < kVector;
    kept = is_kept(d);
    run *= shape[d];
  }
  return false;
}

// True if the op of `value` only moves elements, and stores them for an op that is not a loop. Loops would
// copy the op that moves them instead of reading the stored value.
bool IsStoredMap(Value value) {
  Operation* op = value.getDefiningOp();
  if (!op || llvm::isa<ir::PointwiseInterface, ir::ReductionInterface, ir::ReshapeOp>(op)) return false;
  return llvm::any_of(op->getUsers(), [](Operation* reader) {
    if (!llvm::isa<ir::ReshapeOp>(reader)) return !IsLoop(reader);
    return llvm::any_of(reader->getUsers(), [](Operation* behind) { return !IsLoop(behind); });
  });
}

}  // namespace

bool LoopDims::isRefinable(Operation* op) {
  if (!IsLoop(op) || op->getNumResults() != 1 || !HasElements(op)) return false;
  if (llvm::isa<ir::ReshapeOp>(op)) return ir::IsUnitReshape(op);
  return IsOfPositions(op) || llvm::isa<ir::PointwiseInterface, ir::ReductionInterface, ir::BroadcastOp,
                                        ir::TransposeOp, ir::SliceOp, ir::ConcatOp, ir::PadOp, ir::ReverseOp,
                                        ir::IotaOp, ir::OneHotOp, ir::TakeAlongOp, ir::GatherOp>(op);
}

bool LoopDims::mayAbsorb(Operation* op) const {
  auto reshape = llvm::dyn_cast<ir::ReshapeOp>(op);
  if (reshape && IsStoredMap(reshape.getX())) return false;
  return reshape && isComputed(reshape.getX()) && isComputed(reshape.getResult()) &&
         !IsShortRepeat(reshape) && llvm::any_of(op->getUsers(), isRefinable);
}

LoopDims::LoopDims(mlir::Block& block) {
  addValues(block);
  pinVariables(block);
  for (Operation& op : block) {
    if (isRefinable(&op)) {
      link(&op);
    } else if (IsLoop(&op) && !mayAbsorb(&op)) {
      for (Value operand : op.getOperands()) {
        if (isComputed(operand)) pin(of(operand));
      }
      for (Value result : op.getResults()) pin(of(result));
    }
  }
}

ArrayRef<Dim> LoopDims::of(mlir::OpOperand& operand) const {
  auto own = of_operand_.find(&operand);
  return own == of_operand_.end() ? of(operand.get()) : ArrayRef<Dim>(own->second);
}

void LoopDims::addValues(mlir::Block& block) {
  for (Operation& op : block) {
    auto reshape = llvm::dyn_cast<ir::ReshapeOp>(op);
    const bool is_of_computed = reshape && isComputed(reshape.getX()) && NumElements(reshape) > 0;
    if (!IsLoop(&op) && !is_of_computed) continue;
    for (Value result : op.getResults()) of_value_[result] = add(result);
    if (!isRefinable(&op)) continue;
    for (mlir::OpOperand& operand : op.getOpOperands()) {
      if (!isComputed(operand.get())) of_operand_[&operand] = add(operand.get());
    }
  }
}

// Keeps the new values of variables as they are: kernels overwrite the old ones, which have the same shape.
void LoopDims::pinVariables(mlir::Block& block) {
  auto function = llvm::dyn_cast<mlir::func::FuncOp>(block.getParentOp());
  if (!function) return;
  for (mlir::OpOperand& result : block.getTerminator()->getOpOperands()) {
    const bool is_variable =
        static_cast<bool>(function.getResultAttr(result.getOperandNumber(), ir::kVariableAttr));
    if (is_variable && isComputed(result.get())) pin(of(result.get()));
  }
}

LoopDims::Dims LoopDims::add(Value value) {
  Dims dims;
  for (int64_t size : ShapeOf(value)) dims.push_back(factors_.add(size));
  return dims;
}

void LoopDims::pin(ArrayRef<Dim> dims) {
  for (Dim dim : dims) factors_.pin(dim);
}

void LoopDims::unite(ArrayRef<Dim> a, ArrayRef<Dim> b) {
  for (auto [of_a, of_b] : llvm::zip_equal(a, b)) factors_.unite(of_a, of_b);
}

// Links a dimension to a part of it that begins and ends at multiples of `step`; 0: at other elements.
void LoopDims::linkPart(Dim whole, Dim part, int64_t step) {
  if (step > 1) return factors_.bound(whole, part, step);
  factors_.pin(whole);
  factors_.pin(part);
}

void LoopDims::link(Operation* op) {
  if (IsOfPositions(op)) return;
  llvm::TypeSwitch<Operation*>(op)
      .Case<ir::ReductionInterface>([&](auto) { linkReduction(op); })
      .Case<ir::BroadcastOp>([&](auto own) { linkBroadcast(own); })
      .Case<ir::SliceOp>([&](auto own) { linkSlice(own); })
      .Case<ir::ConcatOp>([&](auto own) { linkConcat(own); })
      .Case<ir::PadOp>([&](auto own) { linkPad(own); })
      .Case<ir::GatherOp>([&](auto own) { linkGather(own); })
      .Case<ir::TakeAlongOp>([&](auto own) { linkTakeAlong(own); })
      .Case<ir::IotaOp>([&](auto own) { factors_.pin(of(own.getResult())[own.getDim()]); })
      .Case<ir::OneHotOp>([&](auto own) {
        unite(of(op->getOpOperand(0)), of(own.getResult()).drop_back());
        factors_.pin(of(own.getResult()).back());
      })
      .Case<ir::TransposeOp>([&](auto own) {
        for (auto [d, from] : llvm::enumerate(own.getPermutation()))
          factors_.unite(of(own.getResult())[d], of(op->getOpOperand(0))[from]);
      })
      .Case<ir::ReshapeOp>([&](auto own) {
        auto sized = [&](ArrayRef<Dim> dims, Value value) {
          Dims found;
          for (auto [dim, size] : llvm::zip_equal(dims, ShapeOf(value))) {
            if (size != 1) found.push_back(dim);
          }
          return found;
        };
        unite(sized(of(op->getOpOperand(0)), own.getX()), sized(of(own.getResult()), own.getResult()));
      })
      .Default([&](Operation*) {
        // A pointwise op, or a reverse.
        for (mlir::OpOperand& operand : op->getOpOperands()) unite(of(operand), of(op->getResult(0)));
      });
}

void LoopDims::linkReduction(Operation* op) {
  auto reduction = llvm::cast<ir::ReductionInterface>(op);
  ArrayRef<Dim> operand = of(op->getOpOperand(0)), result = of(op->getResult(0));
  // A CPU's loops over several short dimensions take longer than storing a value in its caches.
  const bool splits_no_rows = !ir::TargetModel::Of(op).launches_cost;
  size_t kept = 0;
  for (auto [d, size] : llvm::enumerate(ShapeOf(op->getOperand(0)))) {
    if (!llvm::is_contained(reduction.getReducedDims(), static_cast<int64_t>(d))) {
      factors_.unite(operand[d], result[kept++]);
    } else if (size == 1 || splits_no_rows || llvm::isa<ir::ArgmaxOp, ir::ArgminOp>(op)) {
      factors_.pin(operand[d]);
    }
  }
}

void LoopDims::linkBroadcast(ir::BroadcastOp op) {
  ArrayRef<Dim> operand = of(op->getOpOperand(0)), result = of(op.getResult());
  for (auto [i, d] : llvm::enumerate(op.getDims())) {
    if (ShapeOf(op.getX())[i] == ShapeOf(op.getResult())[d]) factors_.unite(operand[i], result[d]);
  }
}

void LoopDims::linkSlice(ir::SliceOp op) {
  ArrayRef<Dim> operand = of(op->getOpOperand(0)), result = of(op.getResult());
  for (size_t d = 0; d < operand.size(); ++d) {
    const int64_t from = ShapeOf(op.getX())[d], to = ShapeOf(op.getResult())[d];
    if (from == to) {
      factors_.unite(operand[d], result[d]);
    } else {
      linkPart(operand[d], result[d],
               op.getStrides()[d] == 1 ? std::gcd(std::gcd(from, to), op.getStarts()[d]) : 0);
    }
  }
}

void LoopDims::linkConcat(ir::ConcatOp op) {
  ArrayRef<Dim> result = of(op.getResult());
  const size_t dim = op.getDim();
  int64_t step = 0;
  for (Value x : op.getXs()) step = std::gcd(step, ShapeOf(x)[dim]);
  for (mlir::OpOperand& operand : op->getOpOperands()) {
    for (size_t d = 0; d < result.size(); ++d) {
      if (d != dim) {
        factors_.unite(of(operand)[d], result[d]);
      } else {
        linkPart(result[d], of(operand)[d], step);
      }
    }
  }
}

void LoopDims::linkPad(ir::PadOp op) {
  ArrayRef<Dim> operand = of(op->getOpOperand(0)), result = of(op.getResult());
  for (size_t d = 0; d < operand.size(); ++d) {
    const int64_t low = op.getLow()[d], high = op.getHigh()[d];
    if (low == 0 && high == 0 && op.getInterior()[d] == 0) {
      factors_.unite(operand[d], result[d]);
    } else {
      const int64_t step = std::gcd(std::gcd(low, high), ShapeOf(op.getX())[d]);
      linkPart(result[d], operand[d], op.getInterior()[d] == 0 ? step : 0);
    }
  }
}

// The dimensions of the indices replace `dim` of the operand.
void LoopDims::linkGather(ir::GatherOp op) {
  ArrayRef<Dim> x = of(op->getOpOperand(0)), indices = of(op->getOpOperand(1)), result = of(op.getResult());
  const size_t dim = op.getDim();
  factors_.pin(x[dim]);
  unite(x.take_front(dim), result.take_front(dim));
  unite(indices, result.slice(dim, indices.size()));
  unite(x.drop_front(dim + 1), result.drop_front(dim + indices.size()));
}

void LoopDims::linkTakeAlong(ir::TakeAlongOp op) {
  ArrayRef<Dim> x = of(op->getOpOperand(0)), result = of(op.getResult());
  unite(of(op->getOpOperand(1)), result);
  for (size_t d = 0; d < x.size(); ++d) {
    if (d != op.getDim()) factors_.unite(x[d], result[d]);
  }
  factors_.pin(x[op.getDim()]);
  factors_.pin(result[op.getDim()]);
}

bool LoopDims::absorb(ir::ReshapeOp reshape) {
  return align(reshape.getX(), of(reshape.getX()), reshape.getResult(), of(reshape.getResult()));
}

bool LoopDims::align(Value a, ArrayRef<Dim> of_a, Value b, ArrayRef<Dim> of_b) {
  if (!factors_.align(of_a, of_b)) return false;
  Units left = UnitsOf(a, of_a);
  for (auto& [behind, dims] : UnitsOf(b, of_b)) {
    Dims& others = left[behind];
    for (Dim dim : dims) {
      if (others.empty()) {
        factors_.drop(dim);
      } else {
        factors_.unite(dim, others.pop_back_val());
      }
    }
  }
  for (auto& [behind, dims] : left) {
    for (Dim dim : dims) factors_.drop(dim);
  }
  return true;
}

void LoopDims::alignReaders(mlir::Block& block) {
  llvm::DenseMap<Value, llvm::SmallVector<mlir::OpOperand*>> readers;
  for (Operation& op : block) {
    if (!isRefinable(&op) || llvm::isa<ir::ReshapeOp>(op)) continue;
    for (mlir::OpOperand& operand : op.getOpOperands()) {
      if (isComputed(operand.get()) || NumElements(operand.get()) < NumElements(op.getResult(0))) continue;
      Value source = operand.get();
      while (auto reshape = source.getDefiningOp<ir::ReshapeOp>()) source = reshape.getX();
      auto& others = readers[source];
      const bool is_aligned = llvm::any_of(others, [&](mlir::OpOperand* other) {
        return align(other->get(), of(*other), operand.get(), of(operand));
      });
      if (!is_aligned) others.push_back(&operand);
    }
  }
}

}  // namespace sinter
