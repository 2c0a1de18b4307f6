#include "sinter/tests/ir/interpreter.h"

#include <gtest/gtest.h>

#include <string>

namespace sinter::ir {

namespace {

using Coords = std::vector<int64_t>;

mlir::RankedTensorType TypeOf(mlir::Value v) { return llvm::cast<mlir::RankedTensorType>(v.getType()); }

// Calls `visit` with each coordinate tuple of `shape`, in row-major order.
template <typename Visit>
void ForEach(llvm::ArrayRef<int64_t> shape, Visit visit) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  Coords at(shape.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    visit(at);
    for (size_t d = shape.size(); d-- > 0;) {
      if (++at[d] < shape[d]) break;
      at[d] = 0;
    }
  }
}

mlir::FloatAttr RoundTo(mlir::FloatType type, mlir::FloatAttr number) {
  llvm::APFloat value = number.getValue();
  bool loses = false;
  value.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &loses);
  return mlir::FloatAttr::get(type, value);
}

int64_t Position(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> at) {
  int64_t position = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    EXPECT_TRUE(at[d] >= 0 && at[d] < shape[d])
        << "coordinate " << at[d] << " of a dimension of size " << shape[d];
    position = position * shape[d] + at[d];
  }
  return position;
}

}  // namespace

// Reads the elements of operands as arith constants.
class Interpreter::Elements : public ElementBuilder {
 public:
  Elements(ScalarBuilder& s, Interpreter& run) : ElementBuilder(s), run_(run) {}

  Scalar element(mlir::Value tensor, mlir::ValueRange coords) override {
    Coords at;
    for (mlir::Value c : coords) at.push_back(llvm::cast<mlir::IntegerAttr>(run_.Evaluate(c)).getInt());
    double value = run_.Get(tensor)[Position(TypeOf(tensor).getShape(), at)];
    return s().constantOf(TypeOf(tensor).getElementType(), value);
  }

 private:
  Interpreter& run_;
};

Interpreter::Interpreter(mlir::MLIRContext* context)
    : module_(mlir::ModuleOp::create(mlir::UnknownLoc::get(context))), builder_(module_->getBodyRegion()) {}
Interpreter::~Interpreter() = default;

void Interpreter::Set(mlir::Value tensor, std::vector<double> elements) {
  elements_[tensor] = std::move(elements);
}

const std::vector<double>& Interpreter::Get(mlir::Value tensor) {
  auto found = elements_.find(tensor);
  if (found != elements_.end()) return found->second;
  auto result = llvm::cast<mlir::OpResult>(tensor);
  std::vector<double> elements = Compute(result.getOwner(), result.getResultNumber());
  return elements_[tensor] = std::move(elements);
}

mlir::Attribute Interpreter::Evaluate(mlir::Value value) {
  if (mlir::Attribute known = constants_.lookup(value)) return known;
  mlir::Operation* op = value.getDefiningOp();
  llvm::SmallVector<mlir::Attribute> operands;
  for (mlir::Value operand : op->getOperands()) operands.push_back(Evaluate(operand));
  llvm::SmallVector<mlir::OpFoldResult> results;
  mlir::Attribute attribute;
  if (llvm::isa<mlir::arith::TruncFOp>(op)) {
    // MLIR's folder leaves a truncation that rounds; round here.
    attribute =
        RoundTo(llvm::cast<mlir::FloatType>(value.getType()), llvm::cast<mlir::FloatAttr>(operands[0]));
  } else if (failed(op->fold(operands, results)) || results.empty()) {
    ADD_FAILURE() << "does not fold: " << op->getName().getStringRef().str();
    attribute = builder_.getZeroAttr(value.getType());
  } else {
    attribute = llvm::dyn_cast<mlir::Attribute>(results[0]);
    if (!attribute) attribute = Evaluate(llvm::cast<mlir::Value>(results[0]));
  }
  return constants_[value] = attribute;
}

double Interpreter::EvaluateNumber(Scalar scalar) {
  mlir::Attribute attribute = Evaluate(scalar.value);
  if (auto number = llvm::dyn_cast<mlir::FloatAttr>(attribute)) return number.getValueAsDouble();
  llvm::APInt value = llvm::cast<mlir::IntegerAttr>(attribute).getValue();
  bool is_unsigned = scalar.is_unsigned || value.getBitWidth() == 1;
  return is_unsigned ? static_cast<double>(value.getZExtValue()) : static_cast<double>(value.getSExtValue());
}

std::vector<double> Interpreter::ComputeReduction(mlir::Operation* op) {
  auto reduction = llvm::cast<ReductionInterface>(op);
  ScalarBuilder s(builder_, op->getLoc());
  mlir::Value x = op->getOperand(0);
  llvm::ArrayRef<int64_t> shape = TypeOf(x).getShape(), dims = reduction.getReducedDims();
  std::vector<double> elements;
  ForEach(TypeOf(op->getResult(0)).getShape(), [&](const Coords& outer) {
    llvm::SmallVector<Scalar> acc = reduction.emitIdentity(s);
    llvm::SmallVector<int64_t> inner_shape;
    for (int64_t d : dims) inner_shape.push_back(shape[d]);
    ForEach(inner_shape, [&](const Coords& inner) {
      Coords at;
      for (size_t d = 0, i = 0, o = 0; d < shape.size(); ++d) {
        at.push_back(llvm::is_contained(dims, static_cast<int64_t>(d)) ? inner[i++] : outer[o++]);
      }
      Scalar element = s.constantOf(TypeOf(x).getElementType(), Get(x)[Position(shape, at)]);
      mlir::Value index =
          builder_.create<mlir::arith::ConstantIndexOp>(op->getLoc(), inner.empty() ? 0 : inner[0]);
      acc = reduction.emitCombine(s, acc, reduction.emitLift(s, element, index));
    });
    elements.push_back(EvaluateNumber(reduction.emitFinish(s, acc)));
  });
  return elements;
}

template <typename Op, typename Combine>
std::vector<double> Interpreter::ComputeScatter(Op scatter, const Combine& combine) {
  std::vector<double> elements = Get(scatter.getX()), updates = Get(scatter.getUpdates());
  std::vector<double> indices = Get(scatter.getIndices());
  llvm::ArrayRef<int64_t> shape = TypeOf(scatter.getX()).getShape();
  llvm::ArrayRef<int64_t> index_shape = TypeOf(scatter.getIndices()).getShape();
  int64_t dim = scatter.getDim(), rank = index_shape.size(), i = 0;
  ForEach(TypeOf(scatter.getUpdates()).getShape(), [&](const Coords& at) {
    auto index = static_cast<int64_t>(indices[Position(index_shape, llvm::ArrayRef(at).slice(dim, rank))]);
    Coords to(at.begin(), at.begin() + dim);
    to.push_back(index);
    to.insert(to.end(), at.begin() + dim + rank, at.end());
    if (index >= 0 && index < shape[dim]) {
      double& element = elements[Position(shape, to)];
      element = combine(element, updates[i]);
    }
    ++i;
  });
  return elements;
}

std::vector<double> Interpreter::Compute(mlir::Operation* op, unsigned result) {
  if (auto constant = llvm::dyn_cast<ConstantOp>(op); constant && !constant.getValue().isSplat()) {
    std::vector<double> elements;
    auto values = llvm::cast<mlir::DenseElementsAttr>(constant.getValue());
    for (mlir::Attribute value : values.getValues<mlir::Attribute>()) {
      auto number = llvm::dyn_cast<mlir::FloatAttr>(value);
      elements.push_back(number ? number.getValueAsDouble() : llvm::cast<mlir::IntegerAttr>(value).getInt());
    }
    return elements;
  }
  if (llvm::isa<ReductionInterface>(op)) return ComputeReduction(op);
  if (auto fusible = llvm::dyn_cast<FusibleInterface>(op)) {
    ScalarBuilder s(builder_, op->getLoc());
    Elements e(s, *this);
    std::vector<double> elements;
    ForEach(TypeOf(op->getResult(result)).getShape(), [&](const Coords& at) {
      llvm::SmallVector<mlir::Value> coords;
      for (int64_t c : at) coords.push_back(e.index(c));
      elements.push_back(EvaluateNumber(fusible.emitElement(e, coords, result)));
    });
    return elements;
  }
  if (auto scatter = llvm::dyn_cast<ScatterAddOp>(op)) {
    return ComputeScatter(scatter, [](double x, double y) { return x + y; });
  }
  if (auto scatter = llvm::dyn_cast<ScatterOp>(op)) {
    return ComputeScatter(scatter, [&](double x, double y) {
      if (scatter.getKind() == ScatterKind::set) return y;
      if (scatter.getKind() == ScatterKind::mul) return x * y;
      return scatter.getKind() == ScatterKind::max ? std::max(x, y) : std::min(x, y);
    });
  }
  if (auto cumsum = llvm::dyn_cast<CumsumOp>(op)) {
    std::vector<double> elements = Get(cumsum.getX());
    llvm::ArrayRef<int64_t> shape = TypeOf(cumsum.getX()).getShape();
    int64_t dim = cumsum.getDim();
    ForEach(shape, [&](Coords at) {
      double total = 0;
      Coords from = at;
      for (int64_t i = 0; i < shape[dim]; ++i) {
        from[dim] = i;
        if (cumsum.getReverse() ? i >= at[dim] : i <= at[dim])
          total += Get(cumsum.getX())[Position(shape, from)];
      }
      elements[Position(shape, at)] = total;
    });
    return elements;
  }
  ADD_FAILURE() << "no way to run " << op->getName().getStringRef().str();
  return std::vector<double>(TypeOf(op->getResult(result)).getNumElements());
}

}  // namespace sinter::ir
