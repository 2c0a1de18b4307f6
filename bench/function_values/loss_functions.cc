// Losses, and densities, entropies and divergences of distributions.
#include "sinter/bench/function_values/cases.h"
#include "sinter/frontend/distributions/continuous.h"
#include "sinter/frontend/distributions/discrete.h"

namespace sinter::bench {

namespace {

namespace dist = distributions;

// Returns 1 where it is true, else -1.
Tensor SignOf(const Tensor& truth) { return Cast(truth, F32) * 2.0 - 1.0; }

const FunctionCase kLabelLosses[] = {
    {"SoftmaxCrossEntropy",
     {Floats({7, 5}), Integers({7}, 0, 5)},
     [](const Call& x) { return SoftmaxCrossEntropy(x[0], x[1]); }},
    {"SoftmaxCrossEntropy.smoothing",
     {Floats({7, 5}), Integers({7}, 0, 5)},
     [](const Call& x) { return SoftmaxCrossEntropy(x[0], x[1], {.label_smoothing = 0.1}); }},
    {"SoftmaxCrossEntropy.ignore",
     {Floats({4, 9, 5}), Integers({4, 9}, 0, 5)},
     [](const Call& x) { return SoftmaxCrossEntropy(x[0], x[1], {.ignore_label = 2}); }},
    {"SoftmaxCrossEntropy.weights",
     {Floats({9, 5}), Integers({9}, 0, 5), Floats({5}, 0.2, 2)},
     [](const Call& x) {
       const CrossEntropyOptions options = {
           .ignore_label = 1, .label_smoothing = 0.2, .class_weights = StopGradient(x[2])};
       return SoftmaxCrossEntropy(x[0], x[1], options);
     }},
    {"SoftmaxCrossEntropy.none",
     {Floats({9, 5}), Integers({9}, 0, 5), Floats({5}, 0.2, 2)},
     [](const Call& x) {
       const CrossEntropyOptions options = {
           .reduction = Reduction::kNone, .label_smoothing = 0.2, .class_weights = StopGradient(x[2])};
       return SoftmaxCrossEntropy(x[0], x[1], options);
     }},
    {"SoftmaxCrossEntropy.probabilities",
     {Floats({9, 5}), Floats({9, 5})},
     [](const Call& x) { return SoftmaxCrossEntropy(x[0], Softmax(x[1]), {.label_smoothing = 0.1}); }},
    {"NllLoss",
     {Floats({9, 5}), Integers({9}, 0, 5)},
     [](const Call& x) { return NllLoss(LogSoftmax(x[0]), x[1]); }},
    {"NllLoss.weights",
     {Floats({9, 5}), Integers({9}, 0, 5), Floats({5}, 0.2, 2)},
     [](const Call& x) {
       return NllLoss(LogSoftmax(x[0]), x[1], {.ignore_label = 0, .class_weights = StopGradient(x[2])});
     }},
    {"MultiMarginLoss",
     {Floats({9, 5}), Integers({9}, 0, 5)},
     [](const Call& x) {
       return Results{MultiMarginLoss(x[0], x[1]),
                      MultiMarginLoss(x[0], x[1], {.margin = 0.7, .power = 2, .reduction = Reduction::kSum})};
     }},
    {"MultiLabelMarginLoss",
     {Floats({6, 5}), Truths({6, 5})},
     [](const Call& x) { return MultiLabelMarginLoss(x[0], Cast(x[1], F32)); }},
    {"MultiLabelSoftMarginLoss",
     {Floats({6, 5}), Truths({6, 5})},
     [](const Call& x) { return MultiLabelSoftMarginLoss(x[0], Cast(x[1], F32)); }},
    {"CtcLoss",
     {Floats({4, 12, 6}), Integers({4, 4}, 1, 6), Integers({4}, 10, 13), Integers({4}, 1, 5)},
     [](const Call& x) {
       return CtcLoss(x[0], x[1],
                      {.input_lengths = x[2], .label_lengths = x[3], .reduction = Reduction::kNone});
     }},
    {"CtcLoss.repeated",
     {Floats({3, 9, 4}), Integers({3, 4}, 0, 3)},
     [](const Call& x) { return CtcLoss(x[0], x[1], {.blank = 3, .reduction = Reduction::kSum}); }},
    {"CtcLoss.infinite",
     {Floats({3, 5, 3}), Integers({3, 4}, 1, 3)},
     [](const Call& x) {
       return CtcLoss(x[0], x[1], {.reduction = Reduction::kNone, .zero_infinity = true});
     }},
};

const FunctionCase kLosses[] = {
    {"MseLoss", {Floats({4, 5}), Floats({4, 5})}, [](const Call& x) { return MseLoss(x[0], x[1]); }},
    {"MseLoss.sum",
     {Floats({4, 5}), Floats({4, 5})},
     [](const Call& x) { return MseLoss(x[0], x[1], Reduction::kSum); }},
    {"L1Loss",
     {Floats({4, 5}), Floats({4, 5})},
     [](const Call& x) { return L1Loss(x[0], x[1], Reduction::kNone); }},
    {"HuberLoss", {Floats({4, 5}), Floats({4, 5})}, [](const Call& x) { return HuberLoss(x[0], x[1], 0.7); }},
    {"SmoothL1Loss",
     {Floats({4, 5}), Floats({4, 5})},
     [](const Call& x) { return SmoothL1Loss(x[0], x[1], 0.7); }},
    {"BceWithLogitsLoss",
     {Floats({4, 5}, -9, 9), Floats({4, 5}, 0, 1)},
     [](const Call& x) { return BceWithLogitsLoss(x[0], x[1]); }},
    {"BceWithLogitsLoss.weights",
     {Floats({4, 5}, -9, 9), Floats({4, 5}, 0, 1), Floats({5}, 0.5, 3), Floats({4, 5}, 0, 2)},
     [](const Call& x) {
       return BceWithLogitsLoss(x[0], x[1],
                                {.positive_weight = StopGradient(x[2]), .weight = StopGradient(x[3])});
     }},
    {"BceLoss",
     {Floats({4, 5}, 0.05, 0.95), Floats({4, 5}, 0, 1)},
     [](const Call& x) { return BceLoss(x[0], x[1]); }},
    {"BceLoss.sure",
     {Truths({4, 5}), Truths({4, 5})},
     [](const Call& x) { return BceLoss(Cast(x[0], F32), Cast(x[1], F32), Reduction::kNone); }},
    {"FocalLoss",
     {Floats({4, 5}), Truths({4, 5})},
     [](const Call& x) { return FocalLoss(x[0], Cast(x[1], F32), {.alpha = 0.3, .gamma = 1.5}); }},
    {"KlDivLoss",
     {Floats({4, 5}), Floats({4, 5})},
     [](const Call& x) { return KlDivLoss(LogSoftmax(x[0]), Softmax(x[1]), Reduction::kSum); }},
    {"PoissonNllLoss",
     {Floats({4, 5}), Floats({4, 5}, 0, 6)},
     [](const Call& x) { return PoissonNllLoss(x[0], x[1]); }},
    {"PoissonNllLoss.full",
     {Floats({4, 5}), Floats({4, 5}, 0, 6)},
     [](const Call& x) { return PoissonNllLoss(x[0], x[1], {.full = true}); }},
    {"GaussianNllLoss.full",
     {Floats({4, 5}), Floats({4, 5}, 0.2, 2), Floats({4, 5})},
     [](const Call& x) { return GaussianNllLoss(x[0], x[1], x[2], {.full = true}); }},
    {"GaussianNllLoss",
     {Floats({4, 5}), Floats({4, 5}, 0.2, 2), Floats({4, 5})},
     [](const Call& x) { return GaussianNllLoss(x[0], x[1], x[2]); }},
    {"HingeLoss",
     {Floats({4, 5}), Truths({4, 5})},
     [](const Call& x) { return HingeLoss(x[0], SignOf(x[1]), 0.7); }},
    {"SoftMarginLoss",
     {Floats({4, 5}), Truths({4, 5})},
     [](const Call& x) { return SoftMarginLoss(x[0], SignOf(x[1])); }},
    {"MarginRankingLoss",
     {Floats({4, 5}), Floats({4, 5}), Truths({4, 5})},
     [](const Call& x) { return MarginRankingLoss(x[0], x[1], SignOf(x[2]), 0.3); }},
    {"CosineEmbeddingLoss",
     {Floats({6, 5}), Floats({6, 5}), Truths({6})},
     [](const Call& x) { return CosineEmbeddingLoss(x[0], x[1], SignOf(x[2]), 0.2); }},
    {"TripletMarginLoss",
     {Floats({6, 5}), Floats({6, 5}), Floats({6, 5})},
     [](const Call& x) { return TripletMarginLoss(x[0], x[1], x[2], 1.5); }},
    {"InfoNceLoss",
     {Floats({6, 5}), Floats({6, 5})},
     [](const Call& x) { return InfoNceLoss(x[0], x[1], 0.2); }},
    {"DiceLoss",
     {Floats({3, 4, 5}, 0, 1), Truths({3, 4, 5})},
     [](const Call& x) { return DiceLoss(x[0], Cast(x[1], F32)); }},
    {"NegativeSamplingLoss",
     {Floats({4, 5}), Integers({4}, 0, 9), Integers({4, 3}, 0, 9), Floats({9, 5})},
     [](const Call& x) { return NegativeSamplingLoss(x[0], x[1], x[2], x[3]); }},
    {"GaussianKlLoss",
     {Floats({4, 5}), Floats({4, 5})},
     [](const Call& x) { return GaussianKlLoss(x[0], x[1], Reduction::kSum); }},
    {"CrfLogLikelihood",
     {Floats({3, 4, 3}), Integers({3, 4}, 0, 3), Floats({3, 3}), Floats({3}), Floats({3})},
     [](const Call& x) {
       return CrfLogLikelihood(x[0], x[1], {.transitions = x[2], .first = x[3], .last = x[4]});
     }},
};

// The log-density of the first input, and the entropy, of a distribution of the other inputs.
template <typename D>
Results Density(const D& d, const Tensor& value) {
  return Results{d.LogProb(value), d.Entropy()};
}
template <typename D>
Results Moments(const D& d, const Tensor& value) {
  return Results{d.LogProb(value), d.Entropy(), d.Mean(), d.Variance()};
}

FunctionInput Positive(Shape shape = {4, 5}) { return Floats(std::move(shape), 0.4, 3); }
FunctionInput Real() { return Floats({4, 5}); }
FunctionInput Chance() { return Floats({4, 5}, 0.1, 0.9); }

const FunctionCase kContinuous[] = {
    {"dist.Normal",
     {Real(), Real(), Positive()},
     [](const Call& x) {
       const dist::Normal d(x[1], x[2]);
       return Results{d.LogProb(x[0]), d.Entropy(), d.Mean(), d.Variance(), d.Cdf(x[0])};
     }},
    {"dist.Normal.Quantile",
     {Chance(), Real(), Positive()},
     [](const Call& x) { return dist::Normal(x[1], x[2]).Quantile(x[0]); }},
    {"dist.LogNormal",
     {Positive(), Real(), Positive()},
     [](const Call& x) { return Moments(dist::LogNormal(x[1], x[2]), x[0]); }},
    {"dist.Uniform",
     {Floats({4, 5}, 0, 1), Floats({4, 5}, -1, 0), Floats({4, 5}, 1, 2)},
     [](const Call& x) { return Moments(dist::Uniform(x[1], x[2]), x[0]); }},
    {"dist.Laplace",
     {Real(), Real(), Positive()},
     [](const Call& x) { return Moments(dist::Laplace(x[1], x[2]), x[0]); }},
    {"dist.Cauchy",
     {Real(), Real(), Positive()},
     [](const Call& x) { return Density(dist::Cauchy(x[1], x[2]), x[0]); }},
    {"dist.Gumbel",
     {Real(), Real(), Positive()},
     [](const Call& x) { return Moments(dist::Gumbel(x[1], x[2]), x[0]); }},
    {"dist.StudentT",
     {Real(), Floats({4, 5}, 3, 6), Real(), Positive()},
     [](const Call& x) { return Moments(dist::StudentT(x[1], x[2], x[3]), x[0]); }},
    {"dist.Exponential",
     {Positive(), Positive()},
     [](const Call& x) { return Moments(dist::Exponential(x[1]), x[0]); }},
    {"dist.Gamma",
     {Positive(), Positive(), Positive()},
     [](const Call& x) { return Moments(dist::Gamma(x[1], x[2]), x[0]); }},
    {"dist.Beta",
     {Chance(), Positive(), Positive()},
     [](const Call& x) { return Moments(dist::Beta(x[1], x[2]), x[0]); }},
    {"dist.MultivariateNormal",
     {Real(), Real(), Positive()},
     [](const Call& x) { return Moments(dist::MultivariateNormal(x[1], x[2]), x[0]); }},
    {"dist.Dirichlet",
     {Real(), Positive()},
     [](const Call& x) { return Moments(dist::Dirichlet(x[1]), Softmax(x[0])); }},
};

const FunctionCase kDiscrete[] = {
    {"dist.Bernoulli",
     {Truths({4, 5}), Real()},
     [](const Call& x) { return Moments(dist::Bernoulli(x[1]), Cast(x[0], F32)); }},
    {"dist.Bernoulli.probabilities",
     {Truths({4, 5}), Chance()},
     [](const Call& x) { return Moments(dist::Bernoulli::OfProbabilities(x[1]), Cast(x[0], F32)); }},
    {"dist.Categorical",
     {Integers({4}, 0, 5), Real()},
     [](const Call& x) { return Density(dist::Categorical(x[1]), x[0]); }},
    {"dist.OneHotCategorical",
     {Integers({4}, 0, 5), Real()},
     [](const Call& x) { return Moments(dist::OneHotCategorical(x[1]), OneHot(x[0], 5)); }},
    {"dist.Geometric",
     {Integers({4, 5}, 0, 7), Chance()},
     [](const Call& x) { return Moments(dist::Geometric(x[1]), Cast(x[0], F32)); }},
    {"dist.Binomial",
     {Integers({4, 5}, 0, 8), Chance()},
     [](const Call& x) { return Moments(dist::Binomial(7, x[1]), Cast(x[0], F32)); }},
    {"dist.Poisson",
     {Integers({4, 5}, 0, 7), Positive()},
     [](const Call& x) {
       const dist::Poisson d(x[1]);
       return Results{d.LogProb(Cast(x[0], F32)), d.Mean(), d.Variance()};
     }},
};

template <typename D>
FunctionCase DivergenceOf(std::string name, std::vector<FunctionInput> inputs) {
  return {std::move(name), std::move(inputs), [](const Call& x) {
            if constexpr (std::is_constructible_v<D, Tensor, Tensor>) {
              return Results(dist::KlDivergence(D(x[0], x[1]), D(x[2], x[3])));
            } else {
              return Results(dist::KlDivergence(D(x[0]), D(x[1])));
            }
          }};
}

const FunctionCase kDivergences[] = {
    DivergenceOf<dist::Normal>("dist.KlDivergence.Normal", {Real(), Positive(), Real(), Positive()}),
    DivergenceOf<dist::LogNormal>("dist.KlDivergence.LogNormal", {Real(), Positive(), Real(), Positive()}),
    DivergenceOf<dist::Uniform>("dist.KlDivergence.Uniform", {Floats({5}, 0, 1), Floats({5}, 1, 2),
                                                              Floats({5}, -2, -1), Floats({5}, 3, 4)}),
    DivergenceOf<dist::Laplace>("dist.KlDivergence.Laplace", {Real(), Positive(), Real(), Positive()}),
    DivergenceOf<dist::Cauchy>("dist.KlDivergence.Cauchy", {Real(), Positive(), Real(), Positive()}),
    DivergenceOf<dist::Gumbel>("dist.KlDivergence.Gumbel", {Real(), Positive(), Real(), Positive()}),
    DivergenceOf<dist::Gamma>("dist.KlDivergence.Gamma", {Positive(), Positive(), Positive(), Positive()}),
    DivergenceOf<dist::Beta>("dist.KlDivergence.Beta", {Positive(), Positive(), Positive(), Positive()}),
    DivergenceOf<dist::MultivariateNormal>("dist.KlDivergence.MultivariateNormal",
                                           {Real(), Positive(), Real(), Positive()}),
    DivergenceOf<dist::Exponential>("dist.KlDivergence.Exponential", {Positive(), Positive()}),
    DivergenceOf<dist::Dirichlet>("dist.KlDivergence.Dirichlet", {Positive(), Positive()}),
    DivergenceOf<dist::Bernoulli>("dist.KlDivergence.Bernoulli", {Real(), Real()}),
    DivergenceOf<dist::Categorical>("dist.KlDivergence.Categorical", {Real(), Real()}),
    DivergenceOf<dist::OneHotCategorical>("dist.KlDivergence.OneHotCategorical", {Real(), Real()}),
    DivergenceOf<dist::Geometric>("dist.KlDivergence.Geometric", {Chance(), Chance()}),
    DivergenceOf<dist::Poisson>("dist.KlDivergence.Poisson", {Positive(), Positive()}),
};

std::vector<FunctionCase> AllLosses() {
  std::vector<FunctionCase> all(std::begin(kLabelLosses), std::end(kLabelLosses));
  all.insert(all.end(), std::begin(kLosses), std::end(kLosses));
  all.insert(all.end(), std::begin(kContinuous), std::end(kContinuous));
  all.insert(all.end(), std::begin(kDiscrete), std::end(kDiscrete));
  all.insert(all.end(), std::begin(kDivergences), std::end(kDivergences));
  return all;
}

}  // namespace

std::span<const FunctionCase> LossFunctions() {
  static const std::vector<FunctionCase> all = AllLosses();
  return all;
}

}  // namespace sinter::bench
