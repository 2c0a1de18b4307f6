// Norms and softmax.
#include "sinter/bench/sweep/forms.h"

namespace sinter::bench {

namespace {

// The norm of Llama's code: in f32, then times the weight in x's type.
void RmsNormByHand(SweepCall& x) {
  const Tensor wide = Wide(x["x"]);
  const Tensor normal = wide * Rsqrt(Mean(Square(wide), {-1}, {.keep_dims = true}) + 1e-6);
  x.Result("y", Cast(normal, x["x"].dtype()) * x["w"]);
}

void GroupNormByHand(SweepCall& x) {
  const Tensor& image = x["x"];
  const Shape shape = image.shape();
  const Tensor groups = Reshape(image, {shape[0], x.Integer("groups"), -1});
  const Tensor centred = groups - Mean(groups, {-1}, {.keep_dims = true});
  const Tensor variance = Mean(Square(centred), {-1}, {.keep_dims = true});
  const Tensor normal = Reshape(centred * Rsqrt(variance + 1e-5), shape);
  const Shape channels = {shape[1], 1, 1};
  x.Result("y", normal * Reshape(x["scale"], channels) + Reshape(x["offset"], channels));
}

void MaskedSoftmax(SweepCall& x) {
  x.Result("y", Softmax(Select(x["mask"], x["x"] * x.Real("scale"), -1e9)));
}

void AddLayerNorm(SweepCall& x) {
  const Tensor sum = x["x"] + x["residual"];
  x.Result("y", LayerNorm(sum, x["scale"], x["offset"]));
  x.Result("sum", sum);
}

const SweepForm kForms[] = {
    {"layer_norm", [](SweepCall& x) { x.Result("y", LayerNorm(x["x"], x["scale"], x["offset"])); }},
    {"add_layer_norm", AddLayerNorm},
    {"rms_norm", [](SweepCall& x) { x.Result("y", RmsNorm(x["x"], x["w"], 1e-6)); }},
    {"rms_norm_by_hand", RmsNormByHand},
    {"group_norm",
     [](SweepCall& x) { x.Result("y", GroupNorm(x["x"], x.Integer("groups"), x["scale"], x["offset"])); }},
    {"group_norm_by_hand", GroupNormByHand},
    {"batch_norm",
     [](SweepCall& x) { x.Result("y", BatchNormTraining(x["x"], x["scale"], x["offset"]).result); }},
    {"batch_norm_last",
     [](SweepCall& x) { x.Result("y", BatchNormTraining(x["x"], x["scale"], x["offset"], -1).result); }},
    {"instance_norm",
     [](SweepCall& x) { x.Result("y", GroupNorm(x["x"], x["x"].dim(1), x["scale"], x["offset"])); }},
    {"l2_normalize", [](SweepCall& x) { x.Result("y", Normalize(x["x"])); }},
    {"softmax", [](SweepCall& x) { x.Result("y", Softmax(x["x"])); }},
    {"softmax_middle", [](SweepCall& x) { x.Result("y", Softmax(x["x"], 1)); }},
    {"masked_softmax", MaskedSoftmax},
    {"log_softmax", [](SweepCall& x) { x.Result("y", LogSoftmax(x["x"])); }},
    {"log_sum_exp", [](SweepCall& x) { x.Result("y", LogSumExp(x["x"], {-1})); }},
};

}  // namespace

std::span<const SweepForm> NormForms() { return kForms; }

}  // namespace sinter::bench
