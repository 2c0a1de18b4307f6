#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/importing.h"
#include "sinter/frontend/ops/ops.h"
#include "sinter/runtime/host/status.h"

// Random numbers, and ops that a static engine cannot mean, each with its reason.
namespace sinter::onnx {
namespace {

absl::StatusOr<Values> OpenSize(Node& node) {
  return node.Unsupported("SIZE_DEPENDS_ON_VALUES", "the size of the result depends on the values of x");
}

absl::StatusOr<Values> OfStrings(Node& node) {
  return node.Unsupported("STRINGS", "takes and gives strings");
}

absl::StatusOr<Values> OtherRandom(Node& node) {
  return node.Unsupported("OTHER_RANDOM_GENERATOR", "its numbers are those of another program's generator");
}

// Random numbers of the operand's shape, or of the attribute's.
absl::StatusOr<Values> RandomOf(Node& node) {
  if (!node.importing().options().own_random) return OtherRandom(node);
  const bool is_like = node.op().ends_with("Like") || node.op() == "Bernoulli";
  const Shape shape = is_like ? node.shape(0) : node.Ints("shape");
  const DType like = is_like && IsFloat(node.dtype(0)) ? node.dtype(0) : DType::kF32;
  SINTER_ASSIGN_OR_RETURN(const DType dtype, TypeAttr(node, "dtype", like));
  Builder& b = node.b();
  if (node.op() == "Bernoulli") {
    const Tensor is_one = b.RandomUniform(DType::kF32, shape) < Cast(node.In(0), DType::kF32);
    return Values(dtype == DType::kI1 ? is_one : Cast(is_one, dtype));
  }
  if (node.op().starts_with("RandomNormal")) {
    return Values(b.RandomNormal(dtype, shape, node.Real("mean", 0), node.Real("scale", 1)));
  }
  return Values(b.RandomUniform(dtype, shape, node.Real("low", 0), node.Real("high", 1)));
}

constexpr OpRecord kRefused[] = {
    {"Bernoulli", 15, RandomOf},    {"Multinomial", 7, OtherRandom},    {"NonMaxSuppression", 10, OpenSize},
    {"NonZero", 9, OpenSize},       {"RandomNormal", 1, RandomOf},      {"RandomNormalLike", 1, RandomOf},
    {"RandomUniform", 1, RandomOf}, {"RandomUniformLike", 1, RandomOf}, {"StringNormalizer", 10, OfStrings},
    {"Unique", 11, OpenSize},
};

}  // namespace

std::span<const OpRecord> RefusedOps() { return kRefused; }

}  // namespace sinter::onnx
