#include "sinter/frontend/nn/parametrization.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter::nn::internal_parametrization {
namespace {

// The dimension of the outputs of a weight; nullopt if it has no such dimension.
std::optional<int64_t> OutputDim(const Tensor& weight, std::optional<int64_t> asked) {
  const int64_t rank = weight.rank();
  const int64_t dim = asked.value_or(rank == 2 ? 1 : 0);
  if (dim < -rank || dim >= rank) return std::nullopt;
  return dim < 0 ? dim + rank : dim;
}

Shape OtherDims(const Tensor& weight, int64_t dim) {
  Shape others;
  for (int64_t d = 0; d < weight.rank(); ++d) {
    if (d != dim) others.push_back(d);
  }
  return others;
}

// Returns the root of the mean sum of squares of `count` elements with these initial values.
double MeanNorm(const VariableInit& init, double count) {
  const double a = init.a.real(), b = init.b;
  switch (init.kind) {
    case VariableInit::Kind::kConstant:
      return std::fabs(a) * std::sqrt(count);
    case VariableInit::Kind::kUniform:
      return std::sqrt(count * (a * a + a * b + b * b) / 3);
    case VariableInit::Kind::kNormal:
      return std::sqrt(count * (a * a + b * b));
    case VariableInit::Kind::kTruncatedNormal:
      // About: the range takes a part of the deviation.
      return std::sqrt(count * (a * a + b * b));
    case VariableInit::Kind::kValues:
      return 1;
    case VariableInit::Kind::kOrthogonal:
      return std::fabs(a);
  }
  return 1;
}

std::string WrongDim(const Tensor& weight, std::optional<int64_t> dim) {
  return absl::StrCat("has a weight ", weight.ToString(), " without a dimension ", *dim);
}

}  // namespace

void AddWeightNorm(AnyLayer& layer, const WeightNormOptions& options, Where where) {
  layer.Parametrize({"WeightNorm",
                     [options](ParameterMaker& maker, const Tensor& weight) -> Tensor {
                       const std::optional<int64_t> dim = OutputDim(weight, options.dim);
                       if (!dim) return maker.Fail(WrongDim(weight, options.dim));
                       Shape outputs(static_cast<size_t>(weight.rank()), 1);
                       outputs[static_cast<size_t>(*dim)] = weight.dim(*dim);
                       const double each = static_cast<double>(weight.size()) /
                                           static_cast<double>(std::max<int64_t>(weight.dim(*dim), 1));
                       const Tensor scale =
                           maker.Parameter("weight_scale", outputs, {.a = MeanNorm(maker.init(), each)});
                       if (!scale.ok()) return {};
                       return weight * (scale / Norm(weight, OtherDims(weight, *dim), {.keep_dims = true}));
                     }},
                    where);
}

void AddSpectralNorm(AnyLayer& layer, const SpectralNormOptions& options, Where where) {
  layer.Parametrize(
      {"SpectralNorm",
       [options](ParameterMaker& maker, const Tensor& weight) -> Tensor {
         const std::optional<int64_t> dim = OutputDim(weight, options.dim);
         if (!dim) return maker.Fail(WrongDim(weight, options.dim));
         if (options.iterations < 1) {
           return maker.Fail(absl::StrCat("makes ", options.iterations, " iterations; expected 1 or more"));
         }
         const std::string wrong = OutOfBounds("an epsilon", options.epsilon, {.above = 0});
         if (!wrong.empty()) return maker.Fail(wrong);
         const int64_t outputs = weight.dim(*dim);
         Shape permutation = OtherDims(weight, *dim);
         permutation.insert(permutation.begin(), *dim);
         const Tensor matrix = Reshape(Transpose(weight, permutation), {outputs, -1});
         const Tensor fixed = StopGradient(matrix);
         const Variable state = maker.State("weight_u", {outputs, 1}, {VariableInit::Kind::kNormal, 0, 1});
         if (!state.ok()) return {};
         const auto unit = [&](const Tensor& x) { return Normalize(x, 0, options.epsilon); };
         Tensor u = unit(maker.Read(state));
         Tensor v = unit(MatMul(fixed, u, {.transpose_a = true}));
         if (maker.is_training()) {
           for (int64_t i = 0; i < options.iterations; ++i) {
             u = unit(MatMul(fixed, v));
             v = unit(MatMul(fixed, u, {.transpose_a = true}));
           }
           maker.Write(state, u);
         }
         const Tensor sigma = Sum(u * MatMul(matrix, v));
         return weight / sigma;
       }},
      where);
}

}  // namespace sinter::nn::internal_parametrization
