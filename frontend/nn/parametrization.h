// Parameters that are functions of other parameters: weight and spectral normalisation of any layers.
//
//   nn::Module net = nn::WeightNorm(nn::Linear(64));
//   nn::Module critic = nn::SpectralNorm(nn::Sequential{nn::Conv2d(64, 3), nn::Relu(), nn::Conv2d(1, 3)});
//
// They change what the parameters named "weight", of rank 2 or more, of the module and those below it stand
// for, and return the module. An error after the module's first use. Checkpoints hold the parameters
// themselves, and optimisers update them.
#ifndef SINTER_FRONTEND_NN_PARAMETRIZATION_H_
#define SINTER_FRONTEND_NN_PARAMETRIZATION_H_

#include <cstdint>
#include <optional>
#include <utility>

#include "sinter/frontend/nn/module.h"

namespace sinter::nn {

struct WeightNormOptions {
  // The dimension of the outputs, each of which has its own norm. nullopt: the last of weights of rank 2, as
  // Linear's, and the first of others, as Conv2d's.
  std::optional<int64_t> dim = std::nullopt;
};
struct SpectralNormOptions {
  std::optional<int64_t> dim = std::nullopt;  // As in WeightNormOptions.
  int64_t iterations = 1;                     // Steps of the power method in each call in Mode::kTrain.
  double epsilon = 1e-12;                     // The least norm that is divided by.
};

namespace internal_parametrization {
void AddWeightNorm(AnyLayer& layer, const WeightNormOptions& options, Where where);
void AddSpectralNorm(AnyLayer& layer, const SpectralNormOptions& options, Where where);
}  // namespace internal_parametrization

// The weight is weight_scale * weight / |weight|, for each output (Salimans and Kingma, arXiv 1602.07868).
// weight_scale starts at the norm that the weight's initializer gives on average, or at 1 for initial values
// that a function computes.
template <typename M>
M WeightNorm(M module, const WeightNormOptions& options = {}, Where where = Where::current()) {
  internal_parametrization::AddWeightNorm(*module.layer(), options, where);
  return module;
}
// The weight is divided by its largest singular value as a matrix of outputs by all else (Miyato et al.,
// arXiv 1802.05957). The power method goes on from the state weight_u, which starts random; calls in
// Mode::kTrain move it.
template <typename M>
M SpectralNorm(M module, const SpectralNormOptions& options = {}, Where where = Where::current()) {
  internal_parametrization::AddSpectralNorm(*module.layer(), options, where);
  return module;
}

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_PARAMETRIZATION_H_
