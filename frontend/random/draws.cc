// Keys, and the draws that all other random numbers are made of.
#include "sinter/frontend/random/draws.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/graph/literals.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {
namespace {

// The stream from which keys are made; draws with keys count theirs from 0.
constexpr int64_t kKeyStream = 0xFFFFFFFF;

// Returns a key of 106 random bits.
Key KeyOf(Call& call, mlir::Value seed, mlir::Value step, int64_t stream, Where where) {
  const Tensor u = call.Done(call.b().builder().create<ir::RandomUniformOp>(
      call.loc(), call.type(DType::kF64, {2}), seed, step, stream, llvm::APFloat(0.0), llvm::APFloat(1.0),
      mlir::ValueRange(), nullptr));
  const LocationScope scope(&call.graph(), where, call.graph().ScopeOr("Key"));
  const Tensor words = Cast(u * 0x1p53, I64);
  return {words[0], words[1]};
}

bool IsIndexScalar(const Tensor& x) {
  return x.rank() == 0 && (x.dtype() == DType::kI64 || x.dtype() == DType::kI32);
}

uint64_t Mixed(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

// A draw of a key: its operands are checked, and its op gets the operands' values.
struct Keyed {
  Keyed(std::string_view name, const Key& key, Where where) : call(name, where, {key.seed, key.step}) {
    if (!call.ok()) return;
    for (const Tensor& part : {key.seed, key.step}) {
      if (part.dtype() == DType::kI64 && part.rank() == 0) continue;
      call.Fail(absl::StrCat("has a key of ", part.ToString(), ", not i64[]; make it with NewKey"));
      return;
    }
    is_ok = true;
  }
  template <typename Op, typename... Rest>
  Tensor Draw(DType dtype, const Shape& shape, int64_t stream, Rest... rest) {
    return call.Done(call.b().builder().create<Op>(call.loc(), call.type(dtype, shape), call.value(0),
                                                   call.value(1), stream, rest...));
  }
  Call call;
  bool is_ok = false;
};

Tensor UniformOf(const Key& key, DType dtype, const Shape& shape, double low, double high, int64_t stream,
                 Where where) {
  Keyed keyed("RandomUniform", key, where);
  if (!keyed.is_ok) return {};
  if (!IsFloat(dtype))
    return keyed.call.Fail(absl::StrCat("gives floats, not ", std::string(DTypeName(dtype))));
  if (!(low < high && std::isfinite(high - low))) {
    return keyed.call.Fail(absl::StrCat("needs finite low < high, got ", low, " and ", high));
  }
  if (!keyed.call.CheckShape(dtype, shape) || !CheckLiteral(keyed.call, low, dtype) ||
      !CheckLiteral(keyed.call, high, dtype)) {
    return {};
  }
  return keyed.Draw<ir::RandomUniformOp>(dtype, shape, stream, llvm::APFloat(low), llvm::APFloat(high),
                                         mlir::ValueRange(), nullptr);
}

Tensor NormalOf(const Key& key, DType dtype, const Shape& shape, double mean, double stddev, int64_t stream,
                Where where) {
  Keyed keyed("RandomNormal", key, where);
  if (!keyed.is_ok) return {};
  if (!IsFloat(dtype))
    return keyed.call.Fail(absl::StrCat("gives floats, not ", std::string(DTypeName(dtype))));
  if (!(std::isfinite(mean) && std::isfinite(stddev) && stddev >= 0)) {
    return keyed.call.Fail(absl::StrCat("needs a finite mean and a standard deviation of at least 0, got ",
                                        mean, " and ", stddev));
  }
  if (!keyed.call.CheckShape(dtype, shape) || !CheckLiteral(keyed.call, mean, dtype) ||
      !CheckLiteral(keyed.call, stddev, dtype)) {
    return {};
  }
  return keyed.Draw<ir::RandomNormalOp>(dtype, shape, stream, llvm::APFloat(mean), llvm::APFloat(stddev),
                                        mlir::ValueRange(), nullptr);
}

Tensor PermutationOf(const Key& key, DType dtype, int64_t n, int64_t stream, Where where) {
  Keyed keyed("RandomPermutation", key, where);
  if (!keyed.is_ok) return {};
  if (dtype != DType::kI32 && dtype != DType::kI64) return keyed.call.Fail("gives i32 or i64");
  if (n < 0) return keyed.call.Fail(absl::StrCat("of ", n, " numbers"));
  if (!keyed.call.CheckShape(dtype, {n}) || (n > 0 && !CheckLiteral(keyed.call, n - 1, dtype))) return {};
  return keyed.Draw<ir::RandomPermutationOp>(dtype, {n}, stream);
}

}  // namespace

Key Key::Fold(const Operand& number, Where where) const {
  std::vector<Tensor> operands = {seed, step};
  if (number.is_tensor()) operands.push_back(number.tensor());
  CompositeCall call("Fold", where, operands);
  if (!call.ok()) return {};
  const bool is_whole = number.is_tensor() ? IsIndexScalar(number.tensor()) : number.number().is_integer();
  if (!is_whole) {
    call.Fail("takes a whole number, or a tensor of type i64[] or i32[]");
    return {};
  }
  const Tensor moved = step + (number.is_tensor() ? Operand(Cast(number.tensor(), I64)) : number);
  Keyed keyed("Fold", {seed, moved}, where);
  if (!keyed.is_ok) return {};
  return KeyOf(keyed.call, keyed.call.value(0), keyed.call.value(1), kKeyStream, where);
}

std::vector<Key> Key::Split(int64_t n, Where where) const {
  std::vector<Key> keys;
  for (int64_t i = 0; i < n; ++i) keys.push_back(Fold(i, where));
  return keys;
}

Key NewKey(const Tensor& seed, Where where) {
  CompositeCall call("NewKey", where, {seed});
  if (!call.ok()) return {};
  if (!IsIndexScalar(seed)) {
    call.Fail("takes a seed of type i64[] or i32[]");
    return {};
  }
  const Tensor wide = Cast(seed, I64);
  return {wide, wide * 0};
}

Key NewKey(Builder& b, std::string_view name, Where where) {
  Call call("NewKey", where, b.function());
  if (!call.ok()) return {};
  uint64_t hash = 14695981039346656037ull;  // FNV-1a of the name.
  for (const char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211ull;
  const auto seed = static_cast<uint64_t>(call.graph().seed());
  return {b.Full(I64, {}, static_cast<int64_t>(Mixed(seed + 0x9E3779B97F4A7C15ull) ^ hash), where),
          b.Full(I64, {}, static_cast<int64_t>(Mixed(hash)), where)};
}

Key NewKey(Builder& b, Where where) {
  Call call("NewKey", where, b.function());
  if (!call.ok()) return {};
  const FunctionBuilder::Random random = call.function().NextRandom(where);
  return KeyOf(call, random.seed, random.step, random.stream, where);
}

Tensor RandomUniform(const Key& key, DType dtype, const Shape& shape, double low, double high, Where where) {
  return UniformOf(key, dtype, shape, low, high, 0, where);
}

Tensor RandomNormal(const Key& key, DType dtype, const Shape& shape, double mean, double stddev,
                    Where where) {
  return NormalOf(key, dtype, shape, mean, stddev, 0, where);
}

Tensor RandomPermutation(const Key& key, DType dtype, int64_t n, Where where) {
  return PermutationOf(key, dtype, n, 0, where);
}

Tensor RandomBernoulli(const Key& key, const Shape& shape, double probability, Where where) {
  Keyed keyed("RandomBernoulli", key, where);
  if (!keyed.is_ok) return {};
  if (!(probability >= 0 && probability <= 1)) {
    return keyed.call.Fail(absl::StrCat("needs a probability between 0 and 1, got ", probability));
  }
  if (!keyed.call.CheckShape(DType::kI1, shape)) return {};
  return keyed.Draw<ir::RandomBernoulliOp>(DType::kI1, shape, 0, llvm::APFloat(probability),
                                           mlir::ValueRange(), nullptr);
}

Tensor Draws::Uniform(DType dtype, const Shape& shape) {
  return key_ ? UniformOf(*key_, dtype, shape, 0, 1, next_++, where_)
              : b_.RandomUniform(dtype, shape, 0, 1, where_);
}
Tensor Draws::Positive(DType dtype, const Shape& shape) {
  return Maximum(Uniform(dtype, shape), kLeastUniform);
}
Tensor Draws::Normal(DType dtype, const Shape& shape) {
  return key_ ? NormalOf(*key_, dtype, shape, 0, 1, next_++, where_)
              : b_.RandomNormal(dtype, shape, 0, 1, where_);
}
Tensor Draws::Gumbel(DType dtype, const Shape& shape) { return -Log(-Log(Positive(dtype, shape))); }
Tensor Draws::Permutation(DType dtype, int64_t n) {
  return key_ ? PermutationOf(*key_, dtype, n, next_++, where_) : b_.RandomPermutation(dtype, n, where_);
}

// Marsaglia and Tsang: d * v is a gamma number if v = (1 + c * normal)^3 is accepted. The tries are a first
// dimension, of which the first accepted one is taken. A concentration a below 1 takes a number of a + 1
// times u^(1 / a).
Tensor Draws::LogGamma(const Tensor& concentration) {
  constexpr int64_t kTries = 8;  // Each fails with a probability of at most 0.049.
  const Tensor a = StopGradient(concentration);
  if (!a.ok()) return {};
  const DType dtype = a.dtype();
  Shape tries = a.shape();
  tries.insert(tries.begin(), kTries);
  const Tensor is_low = a < 1.0;
  const Tensor d = Select(is_low, a + 1.0, a) - 1.0 / 3;
  const Tensor x = Normal(dtype, tries);
  const Tensor log_u = Log(Positive(dtype, tries));
  const Tensor root = x * Rsqrt(d * 9.0);  // v is the cube of 1 + root.
  const Tensor is_above = root > -1.0;
  const Tensor log_v = Log1p(Select(is_above, root, 0.0)) * 3.0;
  const Tensor is_taken = is_above && log_u < Square(x) * 0.5 + d * (1.0 - Exp(log_v) + log_v);
  const Tensor number = b_.Iota(I32, tries, 0, where_);
  const Tensor first = Min(Select(is_taken, number, kTries), {0}, {.keep_dims = true});
  const Tensor taken = Sum(Select(Equal(number, first), log_v, 0.0), {0});
  const Tensor raised = Select(is_low, Log(Positive(dtype, a.shape())) / a, 0.0);
  const Tensor nan = Log(Minimum(a, -1.0));
  return Select(a > 0.0, Log(d) + taken + raised, nan);
}

}  // namespace sinter
