#include <limits>

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

template <typename Op>
PhiloxWords EmitWords(Op op, ElementBuilder& e, ValueRange coords) {
  ScalarBuilder& s = e.s();
  mlir::Value position = e.linearize(coords, op.getType().getShape());
  return EmitPhilox(s, e.element(op.getSeed(), {}), e.element(op.getStep(), {}),
                    static_cast<uint32_t>(op.getStream()), e.fromIndex(position, s.builder().getI64Type()));
}

// Seed and step have rank 0: the map has no results.
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
  return VerifyRandom(*this);
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

LogicalResult RandomNormalOp::verify() {
  double mean = getMean().convertToDouble(), stddev = getStddev().convertToDouble();
  if (!getMean().isFinite() || !getStddev().isFinite() || stddev < 0) {
    return emitOpError() << "has mean " << mean << " and stddev " << stddev
                         << ": both must be finite, stddev not negative";
  }
  return VerifyRandom(*this);
}

Scalar RandomNormalOp::emitElement(ElementBuilder& e, ValueRange coords, unsigned) {
  mlir::Type element = getType().getElementType();
  Scalar z = EmitNormal(e.s(), EmitWords(*this, e, coords), ScalarBuilder::ComputeType(element));
  double mean = getMean().convertToDouble(), stddev = getStddev().convertToDouble();
  if (stddev != 1) z = stddev * z;
  return mean == 0 ? z : mean + z;
}
AffineMap RandomNormalOp::getOperandMap(unsigned) { return ScalarMap(*this); }

LogicalResult RandomBernoulliOp::verify() {
  double probability = getProbability().convertToDouble();
  if (!(probability >= 0 && probability <= 1)) {
    return emitOpError() << "has probability " << probability << ": it must be 0 to 1";
  }
  return VerifyRandom(*this);
}

Scalar RandomBernoulliOp::emitElement(ElementBuilder& e, ValueRange coords, unsigned) {
  ScalarBuilder& s = e.s();
  Scalar u = EmitUniform(s, EmitWords(*this, e, coords), s.builder().getF32Type());
  return s.lt(u, s.constant(u, getProbability().convertToDouble()));
}
AffineMap RandomBernoulliOp::getOperandMap(unsigned) { return ScalarMap(*this); }

LogicalResult RandomPermutationOp::verify() {
  mlir::RankedTensorType type = getType();
  if (type.getRank() != 1) return emitOpError() << "gives " << type << ": a permutation has rank 1";
  return VerifyRandom(*this);
}

}  // namespace sinter::ir
