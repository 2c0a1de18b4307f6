#include "sinter/codegen/loops/access_trace.h"

#include "llvm/ADT/SetVector.h"
#include "sinter/codegen/loops/element_emitter.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter::codegen {

namespace arith = mlir::arith;
using ir::Scalar;
using llvm::SmallVector;
using mlir::Value;

namespace {

constexpr double kCallCost = 20, kDivisionCost = 6;

// Returns the cost of an op, in simple operations.
double CostOf(mlir::Operation* op) {
  if (llvm::isa<arith::ConstantOp>(op)) return 0;
  if (llvm::isa<arith::DivFOp, mlir::math::SqrtOp>(op)) return kDivisionCost;
  if (llvm::isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp, arith::RemFOp>(op))
    return kCallCost;
  if (llvm::isa<mlir::math::AbsFOp, mlir::math::AbsIOp, mlir::math::FloorOp, mlir::math::CeilOp,
                mlir::math::RoundEvenOp>(op)) {
    return 1;
  }
  return llvm::isa<mlir::math::MathDialect>(op->getDialect()) ? kCallCost : 1;
}

class CostListener : public mlir::OpBuilder::Listener {
 public:
  void notifyOperationInserted(mlir::Operation* op, mlir::OpBuilder::InsertPoint) override {
    cost += CostOf(op);
  }
  double cost = 0;
};

class Tracer : public ElementEmitter {
 public:
  Tracer(ir::ScalarBuilder& s, mlir::Block& block, CostListener& listener, size_t rank, Trace& trace)
      : ElementEmitter(s), block_(block), listener_(listener), rank_(rank), trace_(trace) {
    trace_.pinned.resize(rank);
  }

  // Returns the domain dimension of a coordinate: a block argument with a number below the rank; else
  // kComputed.
  int DimOf(Value value) const {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(value);
    if (!argument || argument.getOwner() != &block_ || argument.getArgNumber() >= rank_)
      return Request::kComputed;
    return argument.getArgNumber();
  }

  void AddPosition(Value tensor, mlir::ValueRange coords, llvm::ArrayRef<int64_t> shape) {
    Access access{tensor, SmallVector<int64_t>(rank_, 0)};
    int64_t stride = 1;
    for (size_t d = shape.size(); d-- > 0; stride *= shape[d]) AddTerm(coords[d], stride, access);
    trace_.accesses.push_back(std::move(access));
  }

  void AddTerm(Value value, int64_t factor, Access& access) {
    if (int dim = DimOf(value); dim >= 0) {
      access.strides[dim] += factor;
      return;
    }
    mlir::Operation* op = value.getDefiningOp();
    auto constant = [](Value v) { return v.getDefiningOp<arith::ConstantIndexOp>(); };
    if (auto c = constant(value)) {
      access.constant += factor * c.value();
    } else if (auto add = llvm::dyn_cast_or_null<arith::AddIOp>(op)) {
      AddTerm(add.getLhs(), factor, access);
      AddTerm(add.getRhs(), factor, access);
    } else if (auto sub = llvm::dyn_cast_or_null<arith::SubIOp>(op)) {
      AddTerm(sub.getLhs(), factor, access);
      AddTerm(sub.getRhs(), -factor, access);
    } else if (auto mul = llvm::dyn_cast_or_null<arith::MulIOp>(op); mul && constant(mul.getRhs())) {
      AddTerm(mul.getLhs(), factor * constant(mul.getRhs()).value(), access);
    } else if (mul && constant(mul.getLhs())) {
      AddTerm(mul.getRhs(), factor * constant(mul.getLhs()).value(), access);
    } else {
      access.is_affine = false;
      PinSources(op);
    }
  }

  // Follows the uses of each coordinate. A use other than in a position pins the coordinate.
  void PinDirectUses() {
    for (size_t d = 0; d < rank_; ++d) {
      llvm::SetVector<Value> reached;
      reached.insert(block_.getArgument(d));
      for (size_t i = 0; i < reached.size(); ++i) {
        for (mlir::Operation* user : reached[i].getUsers()) {
          if (llvm::isa<arith::AddIOp, arith::SubIOp, arith::MulIOp>(user)) {
            reached.insert(user->getResult(0));
          } else if (llvm::isa<arith::IndexCastOp>(user)) {
            casts_.insert(user);
          } else {
            trace_.pinned.set(d);
          }
        }
      }
    }
    for (mlir::Operation* cast : casts_) {
      Access access{Value(), SmallVector<int64_t>(rank_, 0)};
      AddTerm(cast->getOperand(0), 1, access);
      trace_.accesses.push_back(std::move(access));
    }
  }

 protected:
  std::optional<Scalar> Leaf(Value tensor, mlir::ValueRange coords, const Coordinates& key) override {
    auto type = llvm::cast<mlir::RankedTensorType>(tensor.getType());
    mlir::Operation* op = tensor.getDefiningOp();
    bool is_reduction = llvm::isa_and_nonnull<ir::ReductionInterface>(op);
    Value source = StripReshapes(tensor);
    if (op && !is_reduction && !llvm::isa<mlir::BlockArgument>(source)) return std::nullopt;
    if (is_reduction) trace_.reductions.push_back(trace_.requests.size());
    Record(is_reduction ? tensor : source, key);
    if (!is_reduction && tensor != source) {
      // The source's coordinates differ from those of the reshape.
      for (int& dim : trace_.requests.back().dims) dim = Request::kComputed;
    }
    AddPosition(is_reduction ? tensor : source, coords, type.getShape());
    mlir::Type compute = ir::ScalarBuilder::ComputeType(type.getElementType());
    return s().wrap(block_.addArgument(compute, s().loc()),
                    ir::ScalarBuilder::IsUnsigned(type.getElementType()));
  }

  void BeforeCompute(Value tensor, const Coordinates& key) override {
    Record(tensor, key);
    open_.push_back({static_cast<int>(trace_.requests.size()) - 1, listener_.cost, 0});
  }

  void AfterCompute(Value, const Coordinates&, Scalar) override {
    Open done = open_.pop_back_val();
    Request& request = trace_.requests[done.request];
    request.total_cost = listener_.cost - done.cost_before;
    request.own_cost = request.total_cost - done.cost_of_operands;
    if (!open_.empty()) open_.back().cost_of_operands += request.total_cost;
  }

  void Again(Value tensor, const Coordinates& key) override {
    Record(tensor, key);
    Request& again = trace_.requests.back();
    for (const Request& request : trace_.requests) {
      if (request.tensor != tensor || request.dims != again.dims || request.constants != again.constants)
        continue;
      again.own_cost = request.own_cost;
      again.total_cost = request.total_cost;
      break;
    }
  }

 private:
  struct Open {
    int request;
    double cost_before, cost_of_operands;
  };

  void Record(Value tensor, const Coordinates& key) {
    Request request{tensor, {}, {}, open_.empty() ? -1 : open_.back().request};
    for (const Coordinate& coord : key) {
      request.dims.push_back(coord.value ? DimOf(coord.value) : Request::kConstant);
      request.constants.push_back(coord.constant);
    }
    trace_.requests.push_back(std::move(request));
  }

  void PinSources(mlir::Operation* op) {
    if (!op) return;
    for (Value operand : op->getOperands()) {
      if (int dim = DimOf(operand); dim >= 0) trace_.pinned.set(dim);
      PinSources(operand.getDefiningOp());
    }
  }

  mlir::Block& block_;
  CostListener& listener_;
  size_t rank_;
  Trace& trace_;
  SmallVector<Open> open_;
  llvm::SetVector<mlir::Operation*> casts_;
};

}  // namespace

Trace TraceElement(Value value) {
  llvm::ArrayRef<int64_t> shape = llvm::cast<mlir::RankedTensorType>(value.getType()).getShape();
  Trace trace;
  mlir::Block block;
  CostListener listener;
  mlir::OpBuilder builder(value.getContext(), &listener);
  builder.setInsertionPointToEnd(&block);
  ir::ScalarBuilder s(builder, value.getLoc());
  for (size_t d = 0; d < shape.size(); ++d) block.addArgument(builder.getIndexType(), value.getLoc());
  {
    Tracer tracer(s, block, listener, shape.size(), trace);
    SmallVector<Value> coords;
    for (size_t d = 0; d < shape.size(); ++d) {
      coords.push_back(shape[d] == 1 ? tracer.index(0) : Value(block.getArgument(d)));
    }
    ElementEmitter::Scope scope(tracer);
    tracer.element(value, coords);
    tracer.PinDirectUses();
  }
  trace.cost = listener.cost;
  return trace;
}

}  // namespace sinter::codegen
