#include "absl/strings/str_cat.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/runtime/host/status.h"

// Losses of classes at dimension 1.
namespace sinter::onnx {
namespace {

// The loss of log-probabilities [N, C, ...] and labels [N, ...].
absl::StatusOr<Tensor> NegativeLikelihood(Node& node, const Tensor& logs) {
  const Tensor labels = node.In(1);
  if (logs.rank() < 2 || labels.rank() != logs.rank() - 1)
    return node.Bad("x is no [N, C, ...] of labels [N, ...]");
  const std::string reduction = node.Text("reduction", "mean");
  Tensor factor;  // Factor of each element; absent: 1.
  Tensor safe = AsIndex(labels);
  if (node.Has(2)) {
    // Labels that are ignored may be out of range; Gather limits them.
    factor = Gather(node.In(2), safe, 0);
  }
  if (node.HasAttr("ignore_index")) {
    const int64_t ignored = node.Int("ignore_index", 0);
    const Tensor counts = NotEqual(safe, ignored);
    safe = Select(counts, safe, 0);
    const Tensor one = factor.ok() ? factor : node.b().Full(logs.dtype(), labels.shape(), 1);
    factor = Select(counts, one, 0);
  }
  Tensor loss = -Squeeze(TakeAlong(logs, ExpandDims(safe, 1), 1), 1);
  if (factor.ok()) loss = loss * factor;
  if (reduction == "none") return loss;
  const Tensor sum = Sum(loss);
  if (reduction == "sum") return sum;
  if (reduction != "mean") return node.Bad(absl::StrCat("reduction '", reduction, "'"));
  return factor.ok() ? sum / Sum(factor) : Mean(loss);
}

absl::StatusOr<Values> NllOf(Node& node) {
  SINTER_ASSIGN_OR_RETURN(const Tensor loss, NegativeLikelihood(node, node.In(0)));
  return Values(loss);
}

absl::StatusOr<Values> CrossEntropyOf(Node& node) {
  const Tensor logs = LogSoftmax(node.In(0), 1);
  SINTER_ASSIGN_OR_RETURN(const Tensor loss, NegativeLikelihood(node, logs));
  return Values{loss, logs};
}

constexpr OpRecord kLosses[] = {
    {"NegativeLogLikelihoodLoss", 12, NllOf},
    {"SoftmaxCrossEntropyLoss", 12, CrossEntropyOf},
};

}  // namespace

std::span<const OpRecord> LossOps() { return kLosses; }

}  // namespace sinter::onnx
