#include <limits>

#include "sinter/ir/dialect/local_op.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"
#include "sinter/ir/scalar/philox.h"

#define GET_OP_CLASSES
#include "ir/random_ops.cc.inc"

namespace sinter::ir {

using mlir::AffineMap;
using mlir::LogicalResult;
using mlir::ValueRange;

void AddRandomOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/random_ops.cc.inc"
      >();
}

namespace {

template <typename Op>
LogicalResult VerifyRandom(Op op) {
  for (auto [name, type] : {std::pair{"seed", op.getSeed().getType()}, {"step", op.getStep().getType()}}) {
    if (type.getRank() != 0 || !type.getElementType().isInteger(64)) {
      return op.emitOpError() << "has " << name << " " << type << ", not tensor<i64>";
    }
  }
  auto stream = static_cast<int64_t>(op.getStream());
  if (stream >= 0 && stream <= std::numeric_limits<uint32_t>::max()) return mlir::success();
  return op.emitOpError() << "has stream " << stream << ": streams are 0 to 4294967295";
}

// Checks that the result lies in a whole that has a position, if the op names one.
template <typename Op>
LogicalResult VerifyOrigin(Op op) {
  const std::optional<llvm::ArrayRef<int64_t>> whole = op.getWhole();
  llvm::ArrayRef<int64_t> sizes = op.getType().getShape();
  if (!whole && op.getOrigin().empty()) return mlir::success();
  if (!whole || whole->size() != sizes.size() || op.getOrigin().size() != sizes.size()) {
    return op.emitOpError() << "has " << op.getOrigin().size() << " positions of a whole of "
                            << (whole ? whole->size() : 0) << " dimensions; expected one for each of the "
                            << sizes.size() << " dimensions of the result";
  }
  for (auto [d, size] : llvm::enumerate(*whole)) {
    if (size >= sizes[d]) continue;
    return op.emitOpError() << "has size " << sizes[d] << " in dimension " << d
                            << " and is a part of a whole of " << size << "; expected no more than the whole";
  }
  if (const std::string fault = ShapeFault(*whole); !fault.empty()) {
    return op.emitOpError() << "is a part of a whole that " << fault;
  }
  return mlir::success();
}

template <typename Op>
LogicalResult VerifyRandomTensor(Op op) {
  return mlir::success(mlir::succeeded(VerifyRandom(op)) && mlir::succeeded(VerifyOrigin(op)));
}

// Returns the row-major position of an element in the whole tensor.
template <typename Op>
Scalar EmitPosition(Op op, ElementBuilder& e, ValueRange coords) {
  mlir::Type i64 = e.s().builder().getI64Type();
  if (!op.getWhole()) return e.fromIndex(e.linearize(coords, op.getType().getShape()), i64);
  llvm::ArrayRef<int64_t> whole = *op.getWhole();
  Scalar position = e.fromIndex(e.linearize(coords, whole), i64);
  int64_t stride = 1;
  for (size_t d = whole.size(); d-- > 0; stride *= whole[d]) {
    Scalar origin = e.element(op.getOrigin()[d], {});
    position = position + (stride == 1 ? origin : origin * static_cast<double>(stride));
  }
  return position;
}

template <typename Op>
PhiloxWords EmitWords(Op op, ElementBuilder& e, ValueRange coords) {
  return EmitPhilox(e.s(), e.element(op.getSeed(), {}), e.element(op.getStep(), {}),
                    static_cast<uint32_t>(op.getStream()), EmitPosition(op, e, coords));
}

// The factors of a part of a whole are counted along the whole's dimensions.
template <typename Op>
FactorRule RuleOfRandom(Op op) {
  FactorRule rule = SameFactors(op, [](int64_t) { return true; });
  for (Factor& factor : rule.factors) factor.is_counted = op.getWhole().has_value();
  return rule;
}

// Builds the elements of a part at their places in the whole. The whole has a dimension for each factor:
// reshapes do not change row-major positions.
template <typename Op>
llvm::SmallVector<mlir::Value> BuildPart(Op op, mlir::OpBuilder& builder, ValueRange operands,
                                         const FactorRule& rule, llvm::ArrayRef<FactorPart> parts) {
  mlir::RankedTensorType type = LocalType(op.getType(), rule.results[0], parts);
  if (type == op.getType()) return {CloneWithLocalTypes(builder, op, operands, rule, parts)->getResult(0)};
  const bool is_split = llvm::any_of(rule.results[0], [](const auto& dim) { return dim.size() > 1; });
  llvm::SmallVector<int64_t> whole, local;
  llvm::SmallVector<mlir::Value> origin;
  auto add = [&](int64_t size, const FactorPart& part) {
    mlir::Value own = op.getWhole() ? operands[2 + whole.size()] : mlir::Value();
    if (!own || !part.offset.isNull()) {
      mlir::Value more = OffsetValue(builder, op.getLoc(), part);
      own = own ? builder.create<AddOp>(op.getLoc(), own.getType(), own, more) : more;
    }
    whole.push_back(op.getWhole() ? (*op.getWhole())[whole.size()] : size);
    local.push_back(part.size);
    origin.push_back(own);
  };
  for (const auto& dim : rule.results[0]) {
    if (dim.empty() && !is_split) add(1, FactorPart{1});
    for (unsigned f : dim) add(rule.factors[f].size, parts[f]);
  }
  auto made = llvm::cast<Op>(CloneWithLocalTypes(builder, op, operands, rule, parts));
  made.getOriginMutable().assign(origin);
  made.setWhole(whole);
  if (!is_split) return {made.getResult()};
  made.getResult().setType(mlir::RankedTensorType::get(local, type.getElementType()));
  return {builder.create<ReshapeOp>(op.getLoc(), type, made.getResult())};
}

// All operands have rank 0: the map has no results.
template <typename Op>
AffineMap ScalarMap(Op op) {
  return AffineMap::get(op.getType().getRank(), 0, op.getContext());
}

}  // namespace

LogicalResult RandomUniformOp::verify() {
  double low = getLow().convertToDouble(), high = getHigh().convertToDouble();
  if (!(low <= high) || !getLow().isFinite() || !getHigh().isFinite()) {
    return emitOpError() << "has low " << low << " and high " << high
                         << ": both must be finite, low not above high";
  }
  return VerifyRandomTensor(*this);
}

Scalar RandomUniformOp::emitElement(ElementBuilder& e, ValueRange coords, unsigned) {
  ScalarBuilder& s = e.s();
  mlir::Type element = getType().getElementType();
  Scalar u = EmitUniform(s, EmitWords(*this, e, coords), ScalarBuilder::ComputeType(element));
  double low = getLow().convertToDouble(), high = getHigh().convertToDouble();
  if (low == 0 && high == 1) return u;
  // Rounding may reach `high` itself, which is excluded.
  Scalar value = low + (high - low) * u;
  return s.select(s.lt(value, s.constant(value, high)), value, s.constant(value, low));
}
AffineMap RandomUniformOp::getOperandMap(unsigned) { return ScalarMap(*this); }
FactorRule RandomUniformOp::getFactorRule() { return RuleOfRandom(*this); }
llvm::SmallVector<mlir::Value> RandomUniformOp::buildLocal(mlir::OpBuilder& builder, ValueRange operands,
                                                           const FactorRule& rule,
                                                           llvm::ArrayRef<FactorPart> parts) {
  return BuildPart(*this, builder, operands, rule, parts);
}

LogicalResult RandomNormalOp::verify() {
  double mean = getMean().convertToDouble(), stddev = getStddev().convertToDouble();
  if (!getMean().isFinite() || !getStddev().isFinite() || stddev < 0) {
    return emitOpError() << "has mean " << mean << " and stddev " << stddev
                         << ": both must be finite, stddev not negative";
  }
  return VerifyRandomTensor(*this);
}

Scalar RandomNormalOp::emitElement(ElementBuilder& e, ValueRange coords, unsigned) {
  mlir::Type element = getType().getElementType();
  Scalar z = EmitNormal(e.s(), EmitWords(*this, e, coords), ScalarBuilder::ComputeType(element));
  double mean = getMean().convertToDouble(), stddev = getStddev().convertToDouble();
  if (stddev != 1) z = stddev * z;
  return mean == 0 ? z : mean + z;
}
AffineMap RandomNormalOp::getOperandMap(unsigned) { return ScalarMap(*this); }
FactorRule RandomNormalOp::getFactorRule() { return RuleOfRandom(*this); }
llvm::SmallVector<mlir::Value> RandomNormalOp::buildLocal(mlir::OpBuilder& builder, ValueRange operands,
                                                          const FactorRule& rule,
                                                          llvm::ArrayRef<FactorPart> parts) {
  return BuildPart(*this, builder, operands, rule, parts);
}

LogicalResult RandomBernoulliOp::verify() {
  double probability = getProbability().convertToDouble();
  if (!(probability >= 0 && probability <= 1)) {
    return emitOpError() << "has probability " << probability << ": it must be 0 to 1";
  }
  return VerifyRandomTensor(*this);
}

Scalar RandomBernoulliOp::emitElement(ElementBuilder& e, ValueRange coords, unsigned) {
  ScalarBuilder& s = e.s();
  Scalar u = EmitUniform(s, EmitWords(*this, e, coords), s.builder().getF32Type());
  return s.lt(u, s.constant(u, getProbability().convertToDouble()));
}
AffineMap RandomBernoulliOp::getOperandMap(unsigned) { return ScalarMap(*this); }
FactorRule RandomBernoulliOp::getFactorRule() { return RuleOfRandom(*this); }
llvm::SmallVector<mlir::Value> RandomBernoulliOp::buildLocal(mlir::OpBuilder& builder, ValueRange operands,
                                                             const FactorRule& rule,
                                                             llvm::ArrayRef<FactorPart> parts) {
  return BuildPart(*this, builder, operands, rule, parts);
}

LogicalResult RandomPermutationOp::verify() {
  mlir::RankedTensorType type = getType();
  if (type.getRank() != 1) return emitOpError() << "gives " << type << ": a permutation has rank 1";
  return VerifyRandom(*this);
}
// Each element depends on the keys of all.
FactorRule RandomPermutationOp::getFactorRule() { return WholeFactors(*this); }

}  // namespace sinter::ir
