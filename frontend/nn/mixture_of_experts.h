// Mixture of experts: each token goes to a few of many MLPs, which a router chooses.
//
//   nn::MixtureOfExperts moe(8, {.hidden = 2048, .gated = true});
//   nn::MoeResult r = moe(x);                         // x [batch, time, width]
//   Tensor loss = task_loss + 0.01 * r.balance_loss;
//
// Shapes are static: an expert takes at most `capacity` tokens, and what does not fit is left out of its sum,
// first choices before second ones and earlier tokens before later ones (Lepikhin et al., "GShard", arXiv
// 2006.16668; Fedus et al., "Switch Transformers", arXiv 2101.03961).
//
// The router computes in the type of x. With GraphOptions::precision it is of that type too, like all that
// lies between products; the losses are in f32.
#ifndef SINTER_FRONTEND_NN_MIXTURE_OF_EXPERTS_H_
#define SINTER_FRONTEND_NN_MIXTURE_OF_EXPERTS_H_

#include <cstdint>

#include "sinter/frontend/nn/layers.h"

namespace sinter::nn {

struct MoeOptions {
  int64_t hidden = 0;             // Hidden elements of each expert; 0: 4 times the width.
  int64_t experts_per_token = 2;  // Experts of a token.
  // capacity = ceil(factor * tokens * experts_per_token / experts), at most the number of tokens.
  double capacity_factor = 1.25;
  bool gated = false;      // As in MlpOptions; else GELU.
  bool normalized = true;  // The weights of a token's experts sum to 1; else they are the probabilities.
  Initializer weight = LeCunNormal(), out_weight = LeCunNormal(), router = LeCunNormal();
  MathMode math = MathMode::kIeee;
};
struct MoeResult {
  Tensor y;  // Result of x's shape.
  // experts * the sum over experts of the share of tokens whose first choice it is, times its mean
  // probability: 1 if all experts are used alike. f32[] (f64 of f64).
  Tensor balance_loss;
  Tensor z_loss;   // Mean of the squared logsumexp of the router's logits (arXiv 2202.08906).
  Tensor dropped;  // The share of choices that did not fit.
};
// Parameters: router [in, experts], up [experts, in, hidden] (with `gated` also gate, of the same shape) and
// down [experts, hidden, in]; without biases. Their first dimensions are "experts" (parallel::Tensor).
class MixtureOfExperts : public ModuleOf<MoeResult(const Tensor& x)> {
 public:
  explicit MixtureOfExperts(int64_t experts, const MoeOptions& options = {});
};

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_MIXTURE_OF_EXPERTS_H_
