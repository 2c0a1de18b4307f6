// Losses of several labels for an example, of segmentations, of samples, and of variational models.
//
//   Tensor loss = MultiLabelSoftMarginLoss(logits, tags) + DiceLoss(Sigmoid(mask), target);
//
// Conventions are those of ops/losses.h. Multi-label targets are 1 for the labels of the example and 0
// elsewhere, of the type of x.
#ifndef SINTER_FRONTEND_LOSSES_LABEL_LOSSES_H_
#define SINTER_FRONTEND_LOSSES_LABEL_LOSSES_H_

#include "sinter/frontend/ops/losses.h"

namespace sinter {

// max(0, margin - x[label] + x[i])^power, summed over the other classes and divided by their number with the
// label's; for x [..., classes] and labels i32 or i64 [...]. The power is 1 or 2.
struct MultiMarginOptions {
  double margin = 1;
  int64_t power = 1;
  Reduction reduction = Reduction::kMean;
};
Tensor MultiMarginLoss(const Tensor& x, const Tensor& labels, const MultiMarginOptions& options = {},
                       Where where = Where::current());
// max(0, 1 - x[j] + x[i]), summed over labels j and classes i that are none, and divided by the classes.
// Takes time and memory for classes^2. PyTorch's targets are lists of labels instead.
Tensor MultiLabelMarginLoss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::kMean,
                            Where where = Where::current());
// Binary cross entropy with logits, as a mean over the classes of each example.
Tensor MultiLabelSoftMarginLoss(const Tensor& x, const Tensor& target, Reduction reduction = Reduction::kMean,
                                Where where = Where::current());
// 1 - (2 sum(p t) + smooth) / (sum(p) + sum(t) + smooth) of each example of probabilities [N, ...]
// (Milletari et al., "V-Net", arXiv 1606.04797).
Tensor DiceLoss(const Tensor& probabilities, const Tensor& target, double smooth = 1,
                Reduction reduction = Reduction::kMean, Where where = Where::current());
// -log(sigmoid(x . w[target])) - the sum of log(sigmoid(-x . w[i])) over sampled ids i: for x [N, width],
// targets [N], samples [N, samples] and vectors w [ids, width] (Mikolov et al., arXiv 1310.4546). Draw the
// samples with RandomCategorical of 0.75 * log(frequencies), or RandomInt.
Tensor NegativeSamplingLoss(const Tensor& x, const Tensor& targets, const Tensor& samples,
                            const Tensor& vectors, Reduction reduction = Reduction::kMean,
                            Where where = Where::current());
// The divergence of a standard normal distribution from one of this mean and this logarithm of the variance,
// element by element: (exp(v) + mean^2 - 1 - v) / 2 (Kingma and Welling, arXiv 1312.6114).
Tensor GaussianKlLoss(const Tensor& mean, const Tensor& log_variance, Reduction reduction = Reduction::kMean,
                      Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_LOSSES_LABEL_LOSSES_H_
