// Losses: how far results are from what they should be.
//
//   Tensor loss = SoftmaxCrossEntropy(logits, labels, {.label_smoothing = 0.1});
//
// Reduction::kNone returns a value for each example (or element); kSum and kMean return a rank-0 tensor. A
// target is a tensor of the results' type, or a number. Losses do not broadcast. ops.h includes this header.
#ifndef SINTER_FRONTEND_OPS_LOSSES_H_
#define SINTER_FRONTEND_OPS_LOSSES_H_

#include <cstdint>
#include <optional>

#include "sinter/frontend/graph/tensor.h"

namespace sinter {

enum class Reduction { kNone, kSum, kMean };

struct CrossEntropyOptions {
  Reduction reduction = Reduction::kMean;
  // Examples with this label count neither in the sum nor in the mean.
  std::optional<int64_t> ignore_label = {};
  // From 0 to 1: the part of each target that all classes share (Szegedy et al., arXiv 1512.00567).
  double label_smoothing = 0;
  // Factor of each class, [classes] of the logits' type. The mean then divides by the sum of the factors of
  // the examples' labels.
  std::optional<Tensor> class_weights = {};
};
// Logits are [..., classes]: Transpose(logits, {0, 2, 3, 1}) moves classes at dimension 1, as PyTorch has
// them, to the end. Targets are labels, integers [...], or probabilities of the logits' type, whose
// mean is over all examples. For a label outside of the classes that is not ignored the loss, and with it the
// sum or mean, is NaN. CompileOptions::check_indices makes such a label an error.
Tensor SoftmaxCrossEntropy(const Tensor& logits, const Tensor& targets,
                           const CrossEntropyOptions& options = {}, Where where = Where::current());
// -log_probabilities[label], as after LogSoftmax. The options are those of SoftmaxCrossEntropy.
Tensor NllLoss(const Tensor& log_probabilities, const Tensor& labels, const CrossEntropyOptions& options = {},
               Where where = Where::current());

Tensor MseLoss(const Tensor& x, const Operand& target, Reduction reduction = Reduction::kMean,
               Where where = Where::current());
Tensor L1Loss(const Tensor& x, const Operand& target, Reduction reduction = Reduction::kMean,
              Where where = Where::current());
// d * d / 2 of the distance d up to delta, and linear beyond. SmoothL1Loss divides it by beta.
Tensor HuberLoss(const Tensor& x, const Operand& target, double delta = 1.0,
                 Reduction reduction = Reduction::kMean, Where where = Where::current());
Tensor SmoothL1Loss(const Tensor& x, const Operand& target, double beta = 1.0,
                    Reduction reduction = Reduction::kMean, Where where = Where::current());

// Binary cross entropy of logits, or of probabilities; the logarithm of a probability is at least -100.
Tensor BceWithLogitsLoss(const Tensor& x, const Operand& target, Reduction reduction = Reduction::kMean,
                         Where where = Where::current());
// Factors of the parts of the loss: `positive_weight` of the part of a target that is 1, and `weight` of the
// whole loss. Both are numbers, or tensors of x's type that broadcast to its shape: [classes] for x [N,
// classes].
struct BceWithLogitsOptions {
  Operand positive_weight = 1;
  Operand weight = 1;
  Reduction reduction = Reduction::kMean;
};
Tensor BceWithLogitsLoss(const Tensor& x, const Operand& target, const BceWithLogitsOptions& options,
                         Where where = Where::current());
Tensor BceLoss(const Tensor& probabilities, const Operand& target, Reduction reduction = Reduction::kMean,
               Where where = Where::current());
// Binary cross entropy in which well classified examples count less: times (1 - p)^gamma for the probability
// p of the right answer, and alpha for positive, 1 - alpha for negative targets (Lin et al., "Focal Loss for
// Dense Object Detection", arXiv 1708.02002). Targets are 0 or 1.
struct FocalLossOptions {
  double alpha = 0.25, gamma = 2;
  Reduction reduction = Reduction::kMean;
};
Tensor FocalLoss(const Tensor& logits, const Operand& target, const FocalLossOptions& options = {},
                 Where where = Where::current());
// p * (log(p) - log_q): the Kullback-Leibler divergence of q from p, element by element. Its sum divided by
// the rows is the divergence of a batch of distributions.
Tensor KlDivLoss(const Tensor& log_q, const Tensor& p, Reduction reduction = Reduction::kMean,
                 Where where = Where::current());

// -log of the likelihood of the target under a Poisson distribution of the mean exp(log_mean), without the
// target's own term; and under a normal distribution, without the constant, whose variance is at least
// epsilon.
Tensor PoissonNllLoss(const Tensor& log_mean, const Operand& target, Reduction reduction = Reduction::kMean,
                      Where where = Where::current());
Tensor GaussianNllLoss(const Tensor& mean, const Tensor& variance, const Operand& target,
                       double epsilon = 1e-6, Reduction reduction = Reduction::kMean,
                       Where where = Where::current());
// Likelihoods with `full` have the terms that are left out above: log(2 pi) / 2, and by Stirling's formula
// log(target!) of targets above 1. Without `is_log` x is the mean itself, to which epsilon is added in its
// logarithm.
struct PoissonNllOptions {
  bool is_log = true;
  bool full = false;
  double epsilon = 1e-8;
  Reduction reduction = Reduction::kMean;
};
Tensor PoissonNllLoss(const Tensor& x, const Operand& target, const PoissonNllOptions& options,
                      Where where = Where::current());
struct GaussianNllOptions {
  bool full = false;
  double epsilon = 1e-6;
  Reduction reduction = Reduction::kMean;
};
Tensor GaussianNllLoss(const Tensor& mean, const Tensor& variance, const Operand& target,
                       const GaussianNllOptions& options, Where where = Where::current());

// max(0, margin - target * x) for targets of -1 and 1, and log(1 + exp(-target * x)).
Tensor HingeLoss(const Tensor& x, const Operand& target, double margin = 1,
                 Reduction reduction = Reduction::kMean, Where where = Where::current());
Tensor SoftMarginLoss(const Tensor& x, const Operand& target, Reduction reduction = Reduction::kMean,
                      Where where = Where::current());
// max(0, margin - target * (x - y)): a target of 1 wants x above y, -1 below.
Tensor MarginRankingLoss(const Tensor& x, const Tensor& y, const Operand& target, double margin = 0,
                         Reduction reduction = Reduction::kMean, Where where = Where::current());
// 1 - cos(x, y) for pairs with target 1, max(0, cos(x, y) - margin) for those with -1. x and y are [...,
// features], the target is [...].
Tensor CosineEmbeddingLoss(const Tensor& x, const Tensor& y, const Operand& target, double margin = 0,
                           Reduction reduction = Reduction::kMean, Where where = Where::current());
// max(0, |anchor - positive| - |anchor - negative| + margin) of [..., features] (Schroff et al., "FaceNet",
// arXiv 1503.03832). epsilon is added to each difference, so that equal vectors have a gradient.
Tensor TripletMarginLoss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                         double margin = 1, double epsilon = 1e-6, Reduction reduction = Reduction::kMean,
                         Where where = Where::current());
// The contrastive loss of two views [N, features], of which row i of one belongs to row i of the other and
// all other rows do not (van den Oord et al., arXiv 1807.03748): the cross entropy of their cosines divided
// by the temperature.
Tensor InfoNceLoss(const Tensor& queries, const Tensor& keys, double temperature = 0.07,
                   Reduction reduction = Reduction::kMean, Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_OPS_LOSSES_H_
