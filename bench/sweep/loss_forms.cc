// Losses, computed in f32 as users compute them.
#include "sinter/bench/sweep/forms.h"

namespace sinter::bench {

namespace {

const SweepForm kLosses[] = {
    {"cross_entropy", [](SweepCall& x) { x.Result("loss", SoftmaxCrossEntropy(Wide(x["x"]), x["labels"])); }},
    {"smoothed_cross_entropy",
     [](SweepCall& x) {
       x.Result("loss", SoftmaxCrossEntropy(Wide(x["x"]), x["labels"], {.label_smoothing = 0.1}));
     }},
    {"bce_with_logits",
     [](SweepCall& x) { x.Result("loss", BceWithLogitsLoss(Wide(x["x"]), Wide(x["target"]))); }},
    {"smooth_l1", [](SweepCall& x) { x.Result("loss", SmoothL1Loss(Wide(x["x"]), Wide(x["target"]))); }},
    {"huber", [](SweepCall& x) { x.Result("loss", HuberLoss(Wide(x["x"]), Wide(x["target"]), 0.5)); }},
    {"mse", [](SweepCall& x) { x.Result("loss", MseLoss(Wide(x["x"]), Wide(x["target"]))); }},
    {"kl_divergence",
     [](SweepCall& x) {
       const Tensor log_q = LogSoftmax(Wide(x["x"])), log_p = LogSoftmax(Wide(x["target"]));
       const auto rows = static_cast<double>(x["x"].dim(0));
       x.Result("loss", Sum(Exp(log_p) * (log_p - log_q)) / rows);
     }},
};

}  // namespace

std::span<const SweepForm> LossForms() { return kLosses; }

}  // namespace sinter::bench
