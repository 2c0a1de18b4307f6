// Attention and its gradient, and their decompositions into matmuls and a softmax.
// The gradient recomputes the probabilities from the logarithm of each row's sum, as in Dao,
// "FlashAttention-2" (arXiv 2307.08691).

#include <algorithm>
#include <limits>

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/shape_checks.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/library/attention_shape.h"

#define GET_OP_CLASSES
#include "ir/attention_ops.cc.inc"

namespace sinter::ir {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::LogicalResult;
using mlir::RankedTensorType;
using mlir::Value;
using mlir::ValueRange;

void AddAttentionOps(SinterDialect* dialect) {
  dialect->addFamily<
#define GET_OP_LIST
#include "ir/attention_ops.cc.inc"
      >();
}

AttentionShape AttentionShape::Of(ValueRange inputs) {
  auto q = TypeOf(inputs[0]);
  ArrayRef<int64_t> s = q.getShape();
  if (inputs.size() == 1) return {s[0], s[1], s[1], s[3], s[3], s[4], true, q.getElementType()};
  ArrayRef<int64_t> k = TypeOf(inputs[1]).getShape();
  return {s[0], s[1], k[1], s[2], k[2], s[3], false, q.getElementType()};
}

double AttentionShape::seenScores(bool causal, int64_t window) const {
  const auto t = static_cast<double>(queries), s = static_cast<double>(keys);
  double seen = causal ? t * (s - t / 2) : t * s;
  if (window > 0) seen = std::min(seen, t * static_cast<double>(causal ? window : 2 * window - 1));
  return seen * static_cast<double>(batch * heads);
}

// Verifiers
// -----------------------------------------------------------------------------------------------------------

namespace {

LogicalResult CheckType(mlir::Operation* op, llvm::StringRef what, Value given, ArrayRef<int64_t> shape,
                        mlir::Type element) {
  auto want = RankedTensorType::get(shape, element);
  if (given.getType() == want) return mlir::success();
  return op->emitOpError() << "has " << what << " of type " << given.getType() << "; expected " << want;
}

LogicalResult CheckInputs(mlir::Operation* op, ValueRange inputs) {
  if (inputs.size() != 1 && inputs.size() != 3) {
    return op->emitOpError() << "has " << inputs.size()
                             << " inputs; expected q, k and v, or one tensor that holds all three";
  }
  auto q = TypeOf(inputs[0]);
  if (inputs.size() == 1) {
    if (q.getRank() == 5 && q.getDimSize(2) == 3) return mlir::success();
    return op->emitOpError() << "has q, k and v in one tensor of type " << q
                             << "; expected [batch, positions, 3, heads, width]";
  }
  auto k = TypeOf(inputs[1]);
  if (q.getRank() != 4 || k.getRank() != 4) {
    return op->emitOpError() << "has q of type " << q << " and k of type " << k
                             << "; expected [batch, positions, heads, width]";
  }
  int64_t heads = q.getDimSize(2), key_heads = k.getDimSize(2);
  if (key_heads < 1 || heads % key_heads != 0) {
    return op->emitOpError() << "has " << heads << " heads of q and " << key_heads
                             << " of k; expected a number of heads of k that divides that of q";
  }
  SmallVector<int64_t> keys = {q.getDimSize(0), k.getDimSize(1), key_heads, q.getDimSize(3)};
  if (mlir::failed(CheckType(op, "k", inputs[1], keys, q.getElementType()))) return mlir::failure();
  return CheckType(op, "v", inputs[2], keys, q.getElementType());
}

}  // namespace

LogicalResult CheckScoreBias(mlir::Operation* op, Value bias, const AttentionShape& s) {
  auto type = TypeOf(bias);
  if (type.getElementType() != s.element && !type.getElementType().isF32()) {
    return op->emitOpError() << "has a bias of " << type.getElementType() << "; expected f32 or "
                             << s.element;
  }
  const int64_t whole[] = {s.batch, s.heads, s.queries, s.keys};
  bool fits = type.getRank() == 4 && type.getDimSize(3) == s.keys;
  for (int i = 0; i < 3 && fits; ++i) fits = type.getDimSize(i) == 1 || type.getDimSize(i) == whole[i];
  if (fits) return mlir::success();
  return op->emitOpError() << "has a bias of type " << type << "; expected [1 or " << s.batch << ", 1 or "
                           << s.heads << ", 1 or " << s.queries << ", " << s.keys << "]";
}

namespace {

template <typename Op>
LogicalResult CheckAttention(Op op) {
  if (mlir::failed(CheckInputs(op, op.getInputs()))) return mlir::failure();
  AttentionShape s = AttentionShape::Of(op.getInputs());
  if (s.keys < 1 || s.heads < 1 || s.width < 1) {
    return op.emitOpError() << "has " << s.keys << " positions of k, " << s.heads << " heads and a width of "
                            << s.width << "; expected at least 1 of each";
  }
  if (const auto window = static_cast<int64_t>(op.getWindow()); window < 0) {
    return op.emitOpError() << "has a window of " << window << "; expected 0 for none, or more";
  }
  if ((op.getCausal() || op.getWindow() > 0) && s.keys < s.queries) {
    return op.emitOpError() << (op.getCausal() ? "is causal" : "has a window") << " with " << s.queries
                            << " positions of q and " << s.keys
                            << " of k; expected at least as many of k, because q's are the last";
  }
  if (op.getBias() && mlir::failed(CheckScoreBias(op, op.getBias(), s))) return mlir::failure();
  if (!op.getScale().isFinite()) {
    return op.emitOpError() << "has scale " << op.getScale().convertToDouble()
                            << "; expected a finite number";
  }
  if (op.getMath() != MathMode::ieee && !s.element.isF32()) {
    return op.emitOpError() << "has math mode " << stringifyMathMode(op.getMath()) << " for " << s.element
                            << "; expected ieee, the other modes are for f32";
  }
  return mlir::success();
}

mlir::Type StatsElement(mlir::Type element) {
  return element.isF64() ? element : mlir::Float32Type::get(element.getContext());
}

LogicalResult CheckStats(mlir::Operation* op, Value stats, const AttentionShape& s) {
  return CheckType(op, "stats", stats, s.statsShape(), StatsElement(s.element));
}

}  // namespace

LogicalResult AttentionOp::verify() {
  if (mlir::failed(CheckAttention(*this))) return mlir::failure();
  AttentionShape s = AttentionShape::Of(getInputs());
  if (mlir::failed(CheckType(*this, "a result", getResult(), s.queriesShape(), s.element))) {
    return mlir::failure();
  }
  return getStats() ? CheckStats(*this, getStats(), s) : mlir::success();
}

LogicalResult AttentionGradOp::verify() {
  if (mlir::failed(CheckAttention(*this))) return mlir::failure();
  AttentionShape s = AttentionShape::Of(getInputs());
  if (mlir::failed(CheckType(*this, "o", getO(), s.queriesShape(), s.element)) ||
      mlir::failed(CheckStats(*this, getStats(), s)) ||
      mlir::failed(CheckType(*this, "g", getG(), s.queriesShape(), s.element))) {
    return mlir::failure();
  }
  if (llvm::equal(getGradients().getTypes(), getInputs().getTypes())) return mlir::success();
  return emitOpError("has results of other types than its inputs; expected the gradient of each");
}

// Decompositions into matmuls and a softmax
// -------------------------------------------------------------------------------------------

namespace {

// Casts low precision to f32, for sums of many terms, exponentials and logarithms.
Expr Wide(Expr x) {
  return x.element().isBF16() || x.element().isF16() ? x.builder->cast(x, x.builder->builder().getF32Type())
                                                     : x;
}

// Attention as matrices, one for each example and head of k. Heads of q that share one head of k are stacked:
// group * queries rows.
class Matrices {
 public:
  template <typename Op>
  Matrices(GraphBuilder& b, Op op)
      : b_(b),
        s_(AttentionShape::Of(op.getInputs())),
        group_(s_.heads / s_.key_heads),
        scale_(op.getScale().convertToDouble()),
        causal_(op.getCausal()),
        window_(static_cast<int64_t>(op.getWindow())),
        math_(op.getMath()) {
    if (op.getBias()) bias_ = b.wrap(op.getBias());
    Expr q, k, v;
    if (s_.packed) {
      q = part(op.getInputs()[0], 0), k = part(op.getInputs()[0], 1), v = part(op.getInputs()[0], 2);
    } else {
      q = b.wrap(op.getInputs()[0]), k = b.wrap(op.getInputs()[1]), v = b.wrap(op.getInputs()[2]);
    }
    q_ = queryRows(q), k_ = headsFirst(k), v_ = headsFirst(v);
  }

  // Returns the result and the stats, both computed in the type of the softmax.
  SmallVector<Value> forward() {
    Expr s = scores();
    Expr top = finite(b_.max(s, {3}));
    Expr e = b_.exp(s - perRow(top, s));
    Expr sum = b_.sum(e, {3});
    Expr rate = 1.0 / sum;
    if (bias_) rate = b_.select(b_.eq(sum, b_.zeros(sum)), b_.zeros(sum), rate);
    Expr o = product(narrow(e * perRow(rate, e)), v_, false, false);
    return {fromQueryRows(o).value, b_.reshape(top + b_.log(sum), s_.statsShape()).value};
  }

  // Returns one value for each input. `g` and `stats_gradient` are the gradients of o and of stats; one may
  // be null.
  SmallVector<Value> gradients(Expr o, Expr stats, Expr g, Expr stats_gradient) {
    const auto [p, ds_unscaled] = scoreGradients(o, stats, g, stats_gradient);
    Expr dv = g ? product(narrow(p), queryRows(g), true, false) : b_.zeros(v_);
    Expr ds = narrow(ds_unscaled * scale_);
    Expr dq = fromQueryRows(product(ds, k_, false, false));
    Expr dk = headsFirst(product(ds, q_, true, false));
    dv = headsFirst(dv);
    if (!s_.packed) return {dq.value, dk.value, dv.value};
    SmallVector<Expr> parts;
    for (Expr x : {dq, dk, dv}) {
      parts.push_back(b_.reshape(x, {s_.batch, s_.queries, 1, s_.heads, s_.width}));
    }
    return {b_.concat(parts, 2).value};
  }

  // Returns the gradient of the bias: of the scores, summed where they share it.
  Expr biasGradient(Expr o, Expr stats, Expr g, Expr stats_gradient) {
    Expr ds = scoreGradients(o, stats, g, stats_gradient).second;
    ds = b_.reshape(ds, {s_.batch, s_.heads, s_.queries, s_.keys});
    SmallVector<int64_t> shared;
    for (int64_t i = 0; i < 3; ++i) {
      if (bias_.shape()[i] == 1 && ds.shape()[i] != 1) shared.push_back(i);
    }
    if (!shared.empty()) ds = b_.sum(ds, shared);
    return b_.cast(b_.reshape(ds, bias_.shape()), bias_.element());
  }

 private:
  // Returns the probabilities, and the gradients of the biased scores: p * (dp - shift), where shift is the
  // sum of p * dp over the row.
  std::pair<Expr, Expr> scoreGradients(Expr o, Expr stats, Expr g, Expr stats_gradient) {
    Expr s = scores();
    Expr p = b_.exp(s - perRow(finite(rowNumbers(stats)), s));
    Expr shift, dp;
    if (g) {
      Expr rows = queryRows(g);
      shift = b_.sum(Wide(rows) * Wide(queryRows(o)), {3});
      dp = Wide(product(rows, v_, false, true));
    }
    if (stats_gradient) {
      Expr back = rowNumbers(stats_gradient);
      shift = shift ? shift - back : -back;
    }
    return {p, dp ? p * (dp - perRow(shift, p)) : p * perRow(-shift, p)};
  }
  // Replaces minus infinity, the largest score of a query that sees no key, by 0: its exponentials are 0.
  Expr finite(Expr rows) {
    if (!bias_) return rows;
    return b_.select(b_.eq(rows, b_.fill(rows, -std::numeric_limits<double>::infinity())), b_.zeros(rows),
                     rows);
  }
  Expr part(Value packed, int64_t i) {
    Expr x = b_.wrap(packed);
    SmallVector<int64_t> starts(5, 0), limits(x.shape()), strides(5, 1);
    starts[2] = i, limits[2] = i + 1;
    return b_.reshape(b_.slice(x, starts, limits, strides), s_.queriesShape());
  }
  // [B, S, HK, D] to [B, HK, S, D], and back.
  Expr headsFirst(Expr x) { return b_.transpose(x, {0, 2, 1, 3}); }
  // [B, T, H, D] to [B, HK, group T, D].
  Expr queryRows(Expr x) {
    if (group_ == 1) return headsFirst(x);
    x = b_.reshape(x, {s_.batch, s_.queries, s_.key_heads, group_, s_.width});
    return b_.reshape(b_.transpose(x, {0, 2, 3, 1, 4}),
                      {s_.batch, s_.key_heads, group_ * s_.queries, s_.width});
  }
  Expr fromQueryRows(Expr x) {
    if (group_ == 1) return headsFirst(x);
    x = b_.reshape(x, {s_.batch, s_.key_heads, group_, s_.queries, s_.width});
    return b_.reshape(b_.transpose(x, {0, 3, 1, 2, 4}), s_.queriesShape());
  }
  // [B, H, T] to one number for each row: head h of q is number h % group of its group.
  Expr rowNumbers(Expr x) { return b_.reshape(x, {s_.batch, s_.key_heads, group_ * s_.queries}); }
  Expr perRow(Expr numbers, Expr like) { return b_.broadcastAlong(numbers, like, {0, 1, 2}); }
  Expr narrow(Expr x) { return b_.cast(x, s_.element); }

  Expr product(Expr x, Expr y, bool transpose_x, bool transpose_y) {
    SmallVector<int64_t> shape(x.shape());
    shape[2] = x.shape()[transpose_x ? 3 : 2];
    shape[3] = y.shape()[transpose_y ? 2 : 3];
    // tf32 holds every bf16 and f16 number exactly.
    const MathMode math = x.element() == s_.element ? math_ : MathMode::tf32;
    return b_.wrap(b_.builder().create<MatmulOp>(b_.loc(), RankedTensorType::get(shape, x.element()), x.value,
                                                 y.value, Value(), transpose_x, transpose_y, Activation::none,
                                                 math));
  }

  // scale Q K^T plus the bias, and minus infinity for keys that a query does not see. Always f32 or f64: exp
  // amplifies rounding errors.
  Expr scores() {
    Expr s = product(Wide(q_), Wide(k_), false, true) * scale_;
    if (bias_) s = s + biasRows(s);
    if (!causal_ && window_ == 0) return s;
    Expr visible = visibleKeys();
    if (group_ > 1) {
      visible = b_.reshape(b_.broadcast(visible, {group_, s_.queries, s_.keys}, {1, 2}),
                           {group_ * s_.queries, s_.keys});
    }
    return b_.select(b_.broadcastAlong(visible, s, {2, 3}), s,
                     b_.fill(s, -std::numeric_limits<double>::infinity()));
  }

  // [T, S]: true where the masks let a query see a key.
  Expr visibleKeys() {
    mlir::Type index = b_.builder().getI32Type();
    SmallVector<int64_t> one = {s_.queries, s_.keys};
    Expr query = b_.iota(one, index, 0), key = b_.iota(one, index, 1);
    const auto number = [&](int64_t x) { return b_.fill(query, static_cast<double>(x)); };
    if (s_.keys != s_.queries) query = query + number(s_.keys - s_.queries);
    Expr visible = causal_ ? b_.ge(query, key) : Expr();
    if (window_ == 0) return visible;
    // A window beyond all distances hides nothing.
    Expr window = number(std::min(window_, s_.keys));
    Expr after = b_.lt(query - key, window);
    return b_.logicalAnd(after, visible ? visible : b_.lt(key - query, window));
  }

  // The bias as rows of scores like s, in their type.
  Expr biasRows(Expr s) {
    const llvm::ArrayRef<int64_t> given = bias_.shape();
    Expr x = b_.cast(bias_, s.element());
    // Dimensions of size 1 are dropped; those that are left lie along these of s.
    SmallVector<int64_t> sizes, along;
    const auto keep = [&](int64_t size, int64_t dim) { sizes.push_back(size), along.push_back(dim); };
    const bool of_heads = given[1] != 1, of_queries = given[2] != 1;
    if (given[0] != 1) keep(given[0], 0);
    if (of_heads && s_.key_heads != 1) keep(s_.key_heads, 1);
    if (group_ == 1 || (!of_heads && !of_queries)) {
      if (of_queries) keep(s_.queries, 2);
      keep(s_.keys, 3);
      return b_.broadcastAlong(b_.reshape(x, sizes), s, along);
    }
    // Rows of each head of a group, then those of the next.
    SmallVector<int64_t> apart(sizes), whole(sizes), dims;
    for (size_t i = 0; i < sizes.size(); ++i) dims.push_back(static_cast<int64_t>(i));
    const auto at = static_cast<int64_t>(sizes.size());
    if (of_heads) apart.push_back(group_), dims.push_back(at);
    if (of_queries) apart.push_back(s_.queries), dims.push_back(at + 1);
    apart.push_back(s_.keys), dims.push_back(at + 2);
    whole.append({group_, s_.queries, s_.keys});
    x = b_.broadcast(b_.reshape(x, apart), whole, dims);
    keep(group_ * s_.queries, 2), keep(s_.keys, 3);
    return b_.broadcastAlong(b_.reshape(x, sizes), s, along);
  }

  GraphBuilder& b_;
  AttentionShape s_;
  int64_t group_;
  double scale_;
  bool causal_;
  int64_t window_;
  MathMode math_;
  Expr q_, k_, v_, bias_;
};

}  // namespace

SmallVector<Value> AttentionOp::decompose(GraphBuilder& b) {
  SmallVector<Value> results = Matrices(b, *this).forward();
  if (!getStats()) results.pop_back();
  return results;
}

SmallVector<Value> AttentionGradOp::decompose(GraphBuilder& b) {
  return Matrices(b, *this).gradients(b.wrap(getO()), b.wrap(getStats()), b.wrap(getG()), Expr());
}

SmallVector<Expr> AttentionOp::buildGradient(GraphBuilder& b, ArrayRef<Expr> output_gradients) {
  AttentionShape s = AttentionShape::Of(getInputs());
  AttentionOp with_stats = *this;
  if (!getStats()) {
    auto stats = RankedTensorType::get(s.statsShape(), StatsElement(s.element));
    with_stats = b.builder().create<AttentionOp>(b.loc(), getResult().getType(), stats, getInputs(),
                                                 getBias(), getScale(), getCausal(), getWindow(), getMath());
  }
  Expr o = b.wrap(with_stats.getResult()), of_rows = b.wrap(with_stats.getStats());
  Expr g = output_gradients[0], stats_gradient = output_gradients.size() > 1 ? output_gradients[1] : Expr();
  SmallVector<Expr> gradients;
  if (stats_gradient) {
    // Only second derivatives need the gradient of stats, and no library computes it.
    for (Value gradient : Matrices(b, *this).gradients(o, of_rows, g, stats_gradient)) {
      gradients.push_back(b.wrap(gradient));
    }
  } else {
    auto op = b.builder().create<AttentionGradOp>(b.loc(), getInputs().getTypes(), getInputs(), getBias(),
                                                  with_stats.getResult(), with_stats.getStats(), g.value,
                                                  getScale(), getCausal(), getWindow(), getMath());
    for (Value gradient : op.getGradients()) gradients.push_back(b.wrap(gradient));
  }
  // Apart from the op, so that nothing computes it for a bias that is a mask.
  if (getBias()) gradients.push_back(Matrices(b, *this).biasGradient(o, of_rows, g, stats_gradient));
  return gradients;
}

// How they iterate
// -----------------------------------------------------------------------------------------------------------

namespace {

// Examples and heads are independent, and so are queries, unless they count the keys that they see. A row's
// sum runs over all keys. In the gradient, heads and queries that share keys add up to the gradients of
// these.
struct AttentionWords {
  SmallVector<Factor> factors;
  SmallVector<std::string> inputs;  // The words of q, k and v, and of the bias.
  std::string queries, stats;

  template <typename Op>
  AttentionWords(Op op, FactorKind shared) {
    const AttentionShape s = AttentionShape::Of(op.getInputs());
    const bool is_whole = op.getCausal() || op.getWindow() > 0 || s.packed;
    factors = {
        {s.batch, FactorKind::kParallel, 'b'},     {s.queries, is_whole ? FactorKind::kWhole : shared, 't'},
        {s.key_heads, FactorKind::kParallel, 'h'}, {s.heads / s.key_heads, shared, 'g'},
        {s.keys, FactorKind::kWhole, 's'},         {s.width, FactorKind::kWhole, 'd'}};
    queries = "b t hg d", stats = "b hg t";
    if (s.packed) {
      inputs = {"b t . hg d"};
    } else {
      inputs = {queries, "b s h d", "b s h d"};
    }
    if (!op.getBias()) return;
    const llvm::ArrayRef<int64_t> bias = TypeOf(op.getBias()).getShape();
    const auto word = [&](int dim, const char* whole) { return std::string(bias[dim] == 1 ? "." : whole); };
    inputs.push_back(word(0, "b") + " " + word(1, "hg") + " " + word(2, "t") + " s");
  }
};

}  // namespace

FactorRule AttentionOp::getFactorRule() {
  const AttentionWords words(*this, FactorKind::kParallel);
  SmallVector<std::string> results = {words.queries};
  if (getStats()) results.push_back(words.stats);
  return SpellFactors(*this, words.factors, words.inputs, results);
}

FactorRule AttentionGradOp::getFactorRule() {
  const AttentionWords words(*this, FactorKind::kSum);
  SmallVector<std::string> operands = words.inputs, gradients = words.inputs;
  if (getBias()) gradients.pop_back();
  operands.append({words.queries, words.stats, words.queries});
  FactorRule rule = SpellFactors(*this, words.factors, operands, gradients);
  rule.linear_in = {{static_cast<unsigned>(operands.size() - 1)}};
  return rule;
}

}  // namespace sinter::ir
