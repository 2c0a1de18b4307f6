#include "sinter/frontend/ops/attention.h"

#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/broadcasting.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/literals.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {
namespace {

constexpr char kFloats[] = "takes floats; Cast(x, F32) first";
constexpr char kWrongBias[] = "has a bias that does not broadcast to the scores";
constexpr char kWrongMask[] = "has a mask that does not broadcast to the scores";

// Describes an error in the options, as the rest of a sentence; empty if there is none. The result has
// `scores`.
std::string WrongIn(const AttentionOptions& o, const Tensor& q, const Shape& scores) {
  if ((o.causal || o.window > 0) && scores[2] > scores[3]) {
    return absl::StrCat(o.causal ? "is causal with " : "has a window with ", scores[2],
                        " positions of q and ", scores[3], " of k, of which q's must be the last");
  }
  if (o.window < 0) return absl::StrCat("has a window of ", o.window, "; 0 means none");
  if (o.mask && o.mask->dtype() != DType::kI1) return "needs a mask of i1; compare first, as in x > 0";
  if (o.bias && !IsFloat(o.bias->dtype())) return "needs a bias of floats";
  if (o.scale && !std::isfinite(*o.scale)) return absl::StrCat("needs a finite scale, got ", *o.scale);
  if (o.math != MathMode::kIeee && q.dtype() != DType::kF32) {
    return "has a math mode, which is for products of f32: leave it out";
  }
  if (o.key_lengths && ((o.key_lengths->dtype() != DType::kI32 && o.key_lengths->dtype() != DType::kI64) ||
                        o.key_lengths->shape() != Shape{scores[0]})) {
    return absl::StrCat("needs key_lengths of type ", TypeString(DType::kI32, {scores[0]}));
  }
  return OutOfBounds("a dropout", o.dropout, {.low = 0, .high = 1});
}

// Returns where the options let a query see a key, which broadcasts to the scores; nullopt if everywhere.
std::optional<Tensor> SeenKeys(const AttentionOptions& o, Builder& b, const Shape& scores) {
  std::optional<Tensor> seen = o.mask;
  const auto also = [&](const Tensor& mask) { seen = seen ? *seen && mask : mask; };
  const int64_t queries = scores[2], keys = scores[3];
  if (o.causal || o.window > 0) {
    const Tensor key = b.Iota(I64, {queries, keys}, 1);
    const Tensor query = b.Iota(I64, {queries, keys}, 0) + (keys - queries);
    if (o.causal) also(key <= query);
    if (o.window > 0) also(query - key < o.window);
    if (o.window > 0 && !o.causal) also(key - query < o.window);
  }
  if (o.key_lengths) {
    also(b.Iota(I64, {keys}) < Reshape(Cast(*o.key_lengths, I64), {scores[0], 1, 1, 1}));
  }
  return seen;
}

// Attention by ops on scores in memory. The options and shapes have been checked.
Tensor ScoredAttention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& o) {
  const Shape shape = {q.dim(0), q.dim(2), q.dim(1), k.dim(1)};
  const DType in = q.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  // Heads that share keys and values are one product, of the queries of all of them.
  const int64_t group = q.dim(2) / k.dim(2);
  const auto by_head = [](const Tensor& x) { return Transpose(x, {0, 2, 1, 3}); };
  const auto shaped = [&](const Tensor& x, const Shape& as) { return group == 1 ? x : Reshape(x, as); };
  const auto grouped = [&](const Tensor& x) {
    return shaped(x, {x.dim(0), k.dim(2), group * q.dim(1), x.dim(3)});
  };
  const double scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(q.dim(3))));
  Tensor scores = MatMul(grouped(by_head(q)), by_head(k), {.transpose_b = true, .math = o.math});
  scores = Cast(shaped(scores, shape), in) * scale;
  if (o.bias) scores = scores + Cast(*o.bias, in);
  Builder b(q.function());
  const std::optional<Tensor> seen = SeenKeys(o, b, shape);
  // The scores of unseen keys are far below all others, but finite: a softmax of infinities alone is NaN.
  if (seen) scores = Select(*seen, scores, -1e30);
  Tensor weights = Softmax(scores);
  if (seen) weights = Select(*seen, weights, 0.0);
  weights = Dropout(weights, o.dropout);
  const Tensor mixed = MatMul(grouped(Cast(weights, q.dtype())), by_head(v), {.math = o.math});
  return by_head(shaped(mixed, {q.dim(0), q.dim(2), q.dim(1), q.dim(3)}));
}

// Returns the term that the mask, the bias and the lengths add to the scores: [1 or B, 1 or H, 1 or T, S];
// nullopt if there is none. q has the type of the queries.
std::optional<Tensor> AddedToScores(AttentionOptions o, Builder& b, DType q, const Shape& scores) {
  o.causal = false, o.window = 0;
  const std::optional<Tensor> seen = SeenKeys(o, b, scores);
  if (!seen && !o.bias) return std::nullopt;
  Tensor added = o.bias ? *o.bias : Tensor();
  if (o.bias && added.dtype() != q && added.dtype() != DType::kF32) added = Cast(added, q);
  if (seen) {
    if (!o.bias) added = b.Full(q, seen->shape(), 0.0);
    added = Select(*seen, added, -std::numeric_limits<double>::infinity());
  }
  if (!added.ok()) return added;
  Shape shape(4 - static_cast<size_t>(added.rank()), 1);
  for (int64_t i = 0; i < added.rank(); ++i) shape.push_back(added.dim(i));
  added = Reshape(added, shape);
  if (shape[3] == scores[3]) return added;
  shape[3] = scores[3];
  return BroadcastTo(added, shape);
}

// Builds the op. `added` is the term of the scores, if there is one.
Tensor BuildAttention(std::vector<Tensor> inputs, const std::optional<Tensor>& added, const Shape& like_q,
                      int64_t keys, const AttentionOptions& o, Where where) {
  const size_t of_inputs = inputs.size();
  if (added) inputs.push_back(*added);
  Call call("Attention", where, std::move(inputs));
  if (!call.ok()) return {};
  const double scale = o.scale.value_or(1 / std::sqrt(static_cast<double>(like_q[3])));
  // A window of all keys hides none.
  const int64_t window = o.window < keys ? o.window : 0;
  llvm::SmallVector<mlir::Value> values;
  for (size_t i = 0; i < of_inputs; ++i) values.push_back(call.value(i));
  mlir::Type element = llvm::cast<mlir::RankedTensorType>(values[0].getType()).getElementType();
  mlir::OpBuilder& builder = call.b().builder();
  auto result = mlir::RankedTensorType::get(like_q, element);
  auto stats = mlir::RankedTensorType::get({like_q[0], like_q[2], like_q[1]},
                                           element.isF64() ? element : builder.getF32Type());
  auto op = builder.create<ir::AttentionOp>(
      call.loc(), result, stats, values, added ? call.value(of_inputs) : mlir::Value(), llvm::APFloat(scale),
      o.causal, window, static_cast<ir::MathMode>(o.math));
  return call.Done(op.getResult());
}

// Attention of q, k and v, or of the one tensor that holds them. like_q is the shape of q.
Tensor AttentionOf(const std::vector<Tensor>& inputs, const Shape& like_q, int64_t keys,
                   const AttentionOptions& o, Where where) {
  std::vector<Tensor> operands = inputs;
  for (const std::optional<Tensor>& more : {o.mask, o.bias, o.key_lengths}) {
    if (more) operands.push_back(*more);
  }
  CompositeCall call("Attention", where, operands);
  if (!call.ok()) return {};
  const Shape scores = {like_q[0], like_q[2], like_q[1], keys};
  if (std::string wrong = WrongIn(o, inputs[0], scores); !wrong.empty()) return call.Fail(wrong);
  if (keys < 1 || like_q[2] < 1 || like_q[3] < 1) {
    return call.Fail("takes at least one position of k, one head and a width of 1");
  }
  // A whole tensor if no library computes attention.
  if (std::string fault = ShapeFault(DType::kF32, scores); !fault.empty()) return call.Fail(fault);
  if (o.bias && BroadcastShapes({o.bias->shape(), scores}) != scores) return call.Fail(kWrongBias);
  if (o.mask && BroadcastShapes({o.mask->shape(), scores}) != scores) return call.Fail(kWrongMask);
  if (o.dropout > 0) {
    const std::vector<Tensor> parts = inputs.size() == 1 ? Unbind(inputs[0], 2) : inputs;
    return ScoredAttention(parts[0], parts[1], parts[2], o);
  }
  Builder b(inputs[0].function());
  return BuildAttention(inputs, AddedToScores(o, b, inputs[0].dtype(), scores), like_q, keys, o, where);
}

// Returns numbers [B] as [B, 1, 1, 1], and a tensor of rank 0 as it is.
Tensor ByExample(const Tensor& x) { return x.rank() == 1 ? Reshape(x, {x.dim(0), 1, 1, 1}) : x; }

}  // namespace

Tensor Attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options,
                 Where where) {
  Call call("Attention", where, {q, k, v});
  if (!call.ok()) return {};
  if (!IsFloat(q.dtype())) return call.Fail(kFloats);
  if (k.dtype() != q.dtype() || v.dtype() != q.dtype()) {
    return call.Fail(MixedTypes(q.dtype(), k.dtype() != q.dtype() ? k.dtype() : v.dtype()));
  }
  if (q.rank() != 4 || k.rank() != 4) {
    return call.Fail("takes q, k and v of shape [batch, positions, heads, width]");
  }
  if (k.shape() != v.shape()) return call.Fail("takes k and v of one shape");
  if (q.dim(0) != k.dim(0) || q.dim(3) != k.dim(3)) {
    return call.Fail("takes q, k and v of one batch, dimension 0, and one width, dimension 3");
  }
  if (k.dim(2) < 1 || q.dim(2) % k.dim(2) != 0) {
    return call.Fail(
        absl::StrCat("has ", k.dim(2), " heads of k, which must divide the ", q.dim(2), " of q"));
  }
  return AttentionOf({q, k, v}, q.shape(), k.dim(1), options, where);
}

Tensor Attention(const Tensor& qkv, const AttentionOptions& options, Where where) {
  Call call("Attention", where, {qkv});
  if (!call.ok()) return {};
  if (!IsFloat(qkv.dtype())) return call.Fail(kFloats);
  if (qkv.rank() != 5 || qkv.dim(2) != 3) {
    return call.Fail("takes q, k and v in one tensor of shape [batch, positions, 3, heads, width]");
  }
  return AttentionOf({qkv}, {qkv.dim(0), qkv.dim(1), qkv.dim(3), qkv.dim(4)}, qkv.dim(1), options, where);
}

Tensor Rope(const Tensor& x, const RopeOptions& options, Where where) {
  std::vector<Tensor> operands = {x};
  if (options.first_position.is_tensor()) operands.push_back(options.first_position.tensor());
  CompositeCall call("Rope", where, operands);
  if (!call.ok()) return {};
  if (x.rank() != 4 || !IsFloat(x.dtype()) || x.dim(3) % 2 != 0) {
    return call.Fail("takes floats [batch, positions, heads, width] of an even width");
  }
  if (std::string wrong = OutOfBounds("a base", options.base, {.above = 0}); !wrong.empty())
    return call.Fail(wrong);
  if (options.first_position.is_tensor()) {
    const Tensor& first = options.first_position.tensor();
    if ((first.rank() != 0 && first.shape() != Shape{x.dim(0)}) ||
        (first.dtype() != DType::kI32 && first.dtype() != DType::kI64)) {
      return call.Fail(absl::StrCat("needs a first_position of i32[] or i64[], or one of each example: i32[",
                                    x.dim(0), "]"));
    }
  }
  // Angles in f64 or f32: bf16 cannot tell positions apart.
  const DType in = x.dtype() == DType::kF64 ? DType::kF64 : DType::kF32;
  Builder b(x.function());
  const int64_t half = x.dim(3) / 2;
  const Tensor positions =
      Cast(options.first_position.is_tensor()
               ? b.Iota(I64, {x.dim(1), 1, 1}) + ByExample(Cast(options.first_position.tensor(), I64))
               : b.Iota(I64, {x.dim(1), 1, 1}) + options.first_position,
           in);
  const Tensor rates = Exp(b.Iota(in, {half}) * (-std::log(options.base) / static_cast<double>(half)));
  const Tensor angles = positions * rates, c = Cos(angles), s = Sin(angles);
  const Shape pairs = {x.dim(0), x.dim(1), x.dim(2), options.interleaved ? half : 2,
                       options.interleaved ? 2 : half};
  const int64_t dim = options.interleaved ? 4 : 3;
  const std::vector<Tensor> parts = Unbind(Reshape(Cast(x, in), pairs), dim);
  const Tensor turned = Stack({parts[0] * c - parts[1] * s, parts[1] * c + parts[0] * s}, dim);
  return Cast(Reshape(turned, x.shape()), x.dtype());
}

namespace {

std::string WrongAlibiHeads(int64_t heads) {
  if (heads >= 1 && (heads & (heads - 1)) == 0) return "";
  return absl::StrCat("has ", heads, " heads, which must be a power of two");
}

Tensor BiasOfDistance(Builder& b, int64_t heads, const Tensor& query, const Tensor& key) {
  const Tensor slopes = Exp2((b.Iota(F32, {heads, 1, 1}) + 1.0) * (-8.0 / static_cast<double>(heads)));
  return -(slopes * Abs(query - key));
}

}  // namespace

Tensor AlibiBias(Builder& b, int64_t heads, int64_t queries, int64_t keys, Where where) {
  const Tensor key = b.Iota(F32, {queries, keys}, 1, where);
  CompositeCall call("AlibiBias", where, {key});
  if (!call.ok()) return {};
  if (std::string wrong = WrongAlibiHeads(heads); !wrong.empty()) return call.Fail(wrong);
  if (queries > keys) return call.Fail("has more queries than keys, and they are the last positions");
  const Tensor query = b.Iota(F32, {queries, keys}, 0) + static_cast<double>(keys - queries);
  return BiasOfDistance(b, heads, query, key);
}

Tensor AlibiBias(Builder& b, int64_t heads, int64_t queries, int64_t keys, const Operand& first_query,
                 Where where) {
  const Tensor key = b.Iota(F32, {queries, keys}, 1, where);
  CompositeCall call("AlibiBias", where, {key});
  if (!call.ok()) return {};
  if (std::string wrong = WrongAlibiHeads(heads); !wrong.empty()) return call.Fail(wrong);
  const Tensor query = b.Iota(I32, {queries, keys}, 0) +
                       (first_query.is_tensor() ? ByExample(first_query.tensor()) : first_query);
  return query.ok() ? BiasOfDistance(b, heads, Cast(query, F32), key) : Tensor();
}

}  // namespace sinter
