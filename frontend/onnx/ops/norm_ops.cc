#include "absl/strings/str_cat.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/importing.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/runtime/host/status.h"

// Norms, and dropout.
namespace sinter::onnx {
namespace {

Tensor InF32(const Tensor& x) { return x.dtype() == DType::kF64 ? x : Cast(x, DType::kF32); }

// With training_mode the statistics are those of the batch; the running ones are further results.
absl::StatusOr<Values> BatchNormalizationOf(Node& node) {
  const Tensor x = node.In(0), scale = node.In(1), offset = node.In(2), mean = node.In(3),
               variance = node.In(4);
  const double epsilon = node.Real("epsilon", 1e-5), momentum = node.Real("momentum", 0.9);
  if (node.version() < 9 && node.Int("spatial", 1) == 0) {
    return node.Unsupported("OP_FORM", "spatial is 0: a mean of each element");
  }
  const bool trains = node.version() >= 14 ? node.Int("training_mode", 0) != 0
                      : node.version() < 7 ? node.Int("is_test", 0) == 0 && node.num_outputs() > 1
                                           : node.num_outputs() > 1;
  if (!trains) return Values(BatchNormInference(x, scale, offset, mean, variance, 1, epsilon));
  const BatchNormResult result = BatchNormTraining(x, scale, offset, 1, epsilon);
  const auto running = [&](const Tensor& old, const Tensor& now) {
    return old * momentum + now * (1 - momentum);
  };
  Values values(result.result);
  values.push_back(running(mean, result.mean));
  values.push_back(running(variance, result.variance));
  if (node.version() < 14) {
    values.push_back(result.mean);
    values.push_back(result.variance);
  }
  return values;
}

absl::StatusOr<Values> InstanceNormalizationOf(Node& node) {
  const Tensor x = node.In(0);
  return Values(GroupNorm(x, x.dim(1), node.In(1), node.In(2), node.Real("epsilon", 1e-5)));
}

// Computes in the type of stash_type, f32 by default.
absl::StatusOr<Values> LayerNormalizationOf(Node& node) {
  const Tensor x = node.In(0);
  const double epsilon = node.Real("epsilon", 1e-5);
  const int64_t axis = node.Axis(node.Int("axis", -1), x.rank());
  SINTER_RETURN_IF_ERROR(node.status());
  if (axis == x.rank() - 1 && node.Has(2) && !node.WantsOutput(1) && !node.WantsOutput(2)) {
    return Values(LayerNorm(x, node.In(1), node.In(2), epsilon));
  }
  Shape dims;
  for (int64_t d = axis; d < x.rank(); ++d) dims.push_back(d);
  const Tensor wide = InF32(x);
  const Tensor mean = Mean(wide, dims, {.keep_dims = true});
  const Tensor distance = wide - mean;
  const Tensor inverse = Rsqrt(Mean(Square(distance), dims, {.keep_dims = true}) + epsilon);
  Tensor y = Cast(distance * inverse, x.dtype()) * node.In(1);
  if (node.Has(2)) y = y + node.In(2);
  return Values{y, mean, inverse};
}

absl::StatusOr<Values> RmsNormalizationOf(Node& node) {
  const Tensor x = node.In(0);
  const int64_t axis = node.Axis(node.Int("axis", -1), x.rank());
  SINTER_RETURN_IF_ERROR(node.status());
  Shape dims;
  for (int64_t d = axis; d < x.rank(); ++d) dims.push_back(d);
  const Tensor wide = InF32(x);
  const Tensor inverse = Rsqrt(Mean(Square(wide), dims, {.keep_dims = true}) + node.Real("epsilon", 1e-5));
  return Values(Cast(wide * inverse, x.dtype()) * node.In(1));
}

// From version 21 on scale and offset have one number a channel, before one a group.
absl::StatusOr<Values> GroupNormalizationOf(Node& node) {
  const Tensor x = node.In(0);
  const int64_t groups = node.Int("num_groups", 0);
  if (groups < 1 || x.rank() < 2 || x.dim(1) % groups != 0)
    return node.Bad("the groups do not divide the channels");
  Tensor scale = node.In(1), offset = node.In(2);
  if (node.version() < 21) {
    scale = Repeat(scale, x.dim(1) / groups, 0);
    offset = Repeat(offset, x.dim(1) / groups, 0);
  }
  return Values(GroupNorm(x, groups, scale, offset, node.Real("epsilon", 1e-5)));
}

absl::StatusOr<Values> MeanVarianceNormalizationOf(Node& node) {
  const Tensor x = node.In(0);
  const Shape dims = node.Axes(node.Ints("axes", {0, 2, 3}), x.rank());
  SINTER_RETURN_IF_ERROR(node.status());
  const Tensor distance = x - Mean(x, dims, {.keep_dims = true});
  return Values(distance / (Sqrt(Mean(Square(distance), dims, {.keep_dims = true})) + 1e-9));
}

// An even size has one more channel behind than in front.
absl::StatusOr<Values> LrnOf(Node& node) {
  const Tensor x = node.In(0);
  const int64_t size = node.Int("size", 0);
  if (size < 1 || size > 1 << 16 || x.rank() < 2) return node.Bad("size is below 1");
  const double alpha = node.Real("alpha", 1e-4), beta = node.Real("beta", 0.75), bias = node.Real("bias", 1);
  Shape low(static_cast<size_t>(x.rank()), 0), high = low;
  low[1] = (size - 1) / 2;
  high[1] = size - 1 - low[1];
  const Tensor squares = Pad(Square(x), low, high, 0);
  Tensor sum;
  for (int64_t i = 0; i < size; ++i) {
    const Tensor part = SliceDim(squares, 1, i, i + x.dim(1));
    sum = i == 0 ? part : sum + part;
  }
  return Values(x / Pow(sum * (alpha / static_cast<double>(size)) + bias, beta));
}

absl::StatusOr<Values> LpNormalizationOf(Node& node) {
  const Tensor x = node.In(0);
  const int64_t axis = node.Axis(node.Int("axis", -1), x.rank());
  SINTER_RETURN_IF_ERROR(node.status());
  const Tensor norm = Norm(x, {axis}, {.p = static_cast<double>(node.Int("p", 2)), .keep_dims = true});
  return Values(Select(Equal(norm, 0), x * 0, x / norm));
}

// In inference x itself, and a mask of ones.
absl::StatusOr<Values> DropoutOf(Node& node) {
  const Tensor x = node.In(0);
  double ratio = node.Real("ratio", 0.5);
  bool trains = node.version() < 7 && node.HasAttr("is_test") && node.Int("is_test", 0) == 0;
  if (node.version() >= 12) {
    if (node.Has(1)) {
      SINTER_ASSIGN_OR_RETURN(ratio, node.Real(1));
    }
    if (node.Has(2)) {
      SINTER_ASSIGN_OR_RETURN(const int64_t flag, node.Int(2));
      trains = flag != 0;
    }
  }
  const DType of_mask = node.version() < 10 ? x.dtype() : DType::kI1;
  if (!trains || ratio == 0) return Values{x, node.b().Full(of_mask, x.shape(), 1)};
  if (!(ratio > 0 && ratio < 1)) return node.Bad("the ratio is not from 0 to below 1");
  if (!node.importing().options().own_random) {
    return node.Unsupported("OTHER_RANDOM_GENERATOR",
                            "drops elements in training; own_random allows Sinter's numbers");
  }
  const Tensor kept = node.b().RandomBernoulli(x.shape(), 1 - ratio);
  return Values{Select(kept, x * (1 / (1 - ratio)), x * 0),
                of_mask == DType::kI1 ? kept : Cast(kept, of_mask)};
}

constexpr OpRecord kNorms[] = {
    {"BatchNormalization", 1, BatchNormalizationOf},
    {"Dropout", 1, DropoutOf},
    {"GroupNormalization", 18, GroupNormalizationOf},
    {"InstanceNormalization", 1, InstanceNormalizationOf},
    {"LRN", 1, LrnOf},
    {"LayerNormalization", 17, LayerNormalizationOf},
    {"LpNormalization", 1, LpNormalizationOf},
    {"MeanVarianceNormalization", 9, MeanVarianceNormalizationOf},
    {"RMSNormalization", 23, RmsNormalizationOf},
};

}  // namespace

std::span<const OpRecord> NormOps() { return kNorms; }

}  // namespace sinter::onnx
