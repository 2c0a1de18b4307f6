// How matmuls, convolutions and pools iterate, and what a convolution is on a part.
#include "sinter/ir/dialect/local_op.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/library/image_sizes.h"
#include "sinter/ir/library/matmul_sizes.h"

namespace sinter::ir {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

// Matmuls ---------------------------------------------------------------------------------------------------

namespace {

struct MatmulWords {
  SmallVector<Factor> factors;
  std::string a, b, result;

  template <typename Op>
  MatmulWords(Op op, FactorKind terms) {
    const MatmulSizes s = MatmulSizes::Of(op);
    std::string batch;
    for (auto [d, size] : llvm::enumerate(op.getA().getType().getShape().drop_back(2))) {
      const char name = static_cast<char>('a' + d);
      factors.push_back({size, FactorKind::kParallel, name});
      batch += std::string(1, name) + " ";
    }
    factors.append({{s.m, FactorKind::kParallel, 'm'}, {s.n, FactorKind::kParallel, 'n'}, {s.k, terms, 'k'}});
    a = batch + (op.getTransposeA() ? "k m" : "m k");
    b = batch + (op.getTransposeB() ? "n k" : "k n");
    result = batch + "m n";
  }
};

}  // namespace

// Terms of a sum are added before the activation, and a bias and an addend once.
FactorRule MatmulOp::getFactorRule() {
  const bool is_linear = getActivation() == Activation::none;
  const MatmulWords words(*this, is_linear ? FactorKind::kSum : FactorKind::kWhole);
  SmallVector<std::string> operands = {words.a, words.b};
  SmallVector<unsigned> added;
  if (getBias()) {
    added.push_back(operands.size());
    operands.emplace_back("n");
  }
  if (getAddend()) {
    added.push_back(operands.size());
    operands.push_back(words.result);
  }
  if (getScale()) operands.emplace_back("");
  FactorRule rule = SpellFactors(*this, words.factors, operands, {words.result});
  if (!is_linear) return rule;
  rule.counts_once = added;
  // Terms of a sum of integers wrap in their own type, which a wider result would show.
  const mlir::Type element = getA().getType().getElementType();
  if (element.isInteger() && element != getType().getElementType()) return rule;
  for (unsigned factor : {0U, 1U}) {
    SmallVector<unsigned> set = {factor};
    set.append(added);
    rule.linear_in.push_back(set);
  }
  return rule;
}

FactorRule MatmulGradOp::getFactorRule() {
  const MatmulWords words(*this, FactorKind::kSum);
  FactorRule rule = SpellFactors(*this, words.factors, {words.a, words.b, words.result}, {words.result});
  rule.linear_in = {{0}, {1}};
  return rule;
}

// Convolutions ----------------------------------------------------------------------------------------------

namespace {

// Channels are groups of input channels `i`, which each output channel `o` of the group reads.
struct ConvWords {
  SmallVector<Factor> factors;
  std::string x, weights = "go i . .", y;

  // Which of the images, input and output channels are summed up.
  ConvWords(Value weights_value, int64_t images, int64_t groups, ImageLayout layout, char summed,
            FactorKind terms) {
    ArrayRef<int64_t> w = ShapeOf(weights_value);
    for (Factor factor :
         {Factor{images, FactorKind::kParallel, 'n'}, Factor{groups, FactorKind::kParallel, 'g'},
          Factor{w[0] / groups, FactorKind::kParallel, 'o'}, Factor{w[1], FactorKind::kParallel, 'i'}}) {
      if (factor.name == summed) factor.kind = terms;
      factors.push_back(factor);
    }
    const bool last = layout == ImageLayout::nhwc;
    x = last ? "n . . gi" : "n gi . .";
    y = last ? "n . . go" : "n go . .";
  }
};

// The channels of a part are whole groups or parts of each group.
template <typename Op>
SmallVector<Value> BuildConv(Op op, mlir::OpBuilder& builder, mlir::ValueRange operands,
                             const FactorRule& rule, ArrayRef<FactorPart> parts) {
  auto part = llvm::cast<Op>(CloneWithLocalTypes(builder, op, operands, rule, parts));
  int64_t groups = 1;
  for (auto [factor, cut] : llvm::zip_equal(rule.factors, parts)) {
    if (factor.name == 'g') groups *= cut.size;
  }
  if (groups == 0) {  // The part has no channel, and a convolution has at least one group.
    GraphBuilder b(builder, part.getLoc());
    const Value none = b.zeros(b.wrap(part.getResult())).value;
    part.erase();
    return {none};
  }
  part.setGroups(groups);
  return {part.getResult()};
}

}  // namespace

FactorRule Conv2dOp::getFactorRule() {
  if (getLayout() == ImageLayout::nchw16n) return WholeFactors(*this);
  const bool is_linear = getActivation() == Activation::none;
  const ConvWords words(getWeights(), getX().getType().getDimSize(0), getGroups(), getLayout(), 'i',
                        is_linear ? FactorKind::kSum : FactorKind::kWhole);
  SmallVector<std::string> operands = {words.x, words.weights};
  if (getBias()) operands.emplace_back("go");
  FactorRule rule = SpellFactors(*this, words.factors, operands, {words.y});
  if (!is_linear) return rule;
  rule.linear_in = {{0}, {1}};
  if (!getBias()) return rule;
  rule.counts_once = {2};
  for (SmallVector<unsigned>& set : rule.linear_in) set.push_back(2);
  return rule;
}

FactorRule Conv2dInputGradOp::getFactorRule() {
  if (getLayout() == ImageLayout::nchw16n) return WholeFactors(*this);
  const ConvWords words(getWeights(), getG().getType().getDimSize(0), getGroups(), getLayout(), 'o',
                        FactorKind::kSum);
  FactorRule rule = SpellFactors(*this, words.factors, {words.y, words.weights}, {words.x});
  rule.linear_in = {{0}, {1}};
  return rule;
}

FactorRule Conv2dWeightGradOp::getFactorRule() {
  if (getLayout() == ImageLayout::nchw16n) return WholeFactors(*this);
  const ConvWords words(getResult(), getX().getType().getDimSize(0), getGroups(), getLayout(), 'n',
                        FactorKind::kSum);
  FactorRule rule = SpellFactors(*this, words.factors, {words.x, words.y}, {words.weights});
  rule.linear_in = {{0}, {1}};
  return rule;
}

SmallVector<Value> Conv2dOp::buildLocal(mlir::OpBuilder& builder, mlir::ValueRange operands,
                                        const FactorRule& rule, ArrayRef<FactorPart> parts) {
  return BuildConv(*this, builder, operands, rule, parts);
}
SmallVector<Value> Conv2dInputGradOp::buildLocal(mlir::OpBuilder& builder, mlir::ValueRange operands,
                                                 const FactorRule& rule, ArrayRef<FactorPart> parts) {
  return BuildConv(*this, builder, operands, rule, parts);
}
SmallVector<Value> Conv2dWeightGradOp::buildLocal(mlir::OpBuilder& builder, mlir::ValueRange operands,
                                                  const FactorRule& rule, ArrayRef<FactorPart> parts) {
  return BuildConv(*this, builder, operands, rule, parts);
}

// Pools -----------------------------------------------------------------------------------------------------

namespace {

// Images and channels are independent; windows read neighbours.
FactorRule PoolFactors(mlir::Operation* op, ImageLayout layout) {
  return SameFactors(
      op, [&](int64_t d) { return layout != ImageLayout::nchw16n && (d == 0 || d == ChannelDim(layout)); });
}

}  // namespace

FactorRule MaxPool2dOp::getFactorRule() { return PoolFactors(*this, getLayout()); }
FactorRule MaxPool2dGradOp::getFactorRule() {
  FactorRule rule = PoolFactors(*this, getLayout());
  rule.linear_in = {{0}};
  return rule;
}
FactorRule AvgPool2dOp::getFactorRule() {
  FactorRule rule = PoolFactors(*this, getLayout());
  rule.linear_in = {{0}};
  return rule;
}
FactorRule AvgPool2dGradOp::getFactorRule() {
  FactorRule rule = PoolFactors(*this, getLayout());
  rule.linear_in = {{0}};
  return rule;
}

}  // namespace sinter::ir
