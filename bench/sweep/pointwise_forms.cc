// Chains of functions of elements, with broadcasting.
#include "sinter/bench/sweep/forms.h"

namespace sinter::bench {

namespace {

void QuantizeRows(SweepCall& x) {
  const Tensor wide = Wide(x["x"]);
  const Tensor scale = Maximum(Max(Abs(wide), {-1}, {.keep_dims = true}), 1e-8) / 127;
  x.Result("y", Cast(Clamp(Round(wide / scale), -127, 127), I8));
  x.Result("scale", scale);
}

void Modulate(SweepCall& x) {
  x.Result("y", x["x"] * (ExpandDims(x["scale"], 1) + 1) + ExpandDims(x["shift"], 1));
}

const SweepForm kChains[] = {
    {"chain", [](SweepCall& x) { x.Result("y", GeluTanh(x["x"] * 1.5 + 0.5) * Sigmoid(x["z"]) + x["x"]); }},
    {"bias_gelu_residual", [](SweepCall& x) { x.Result("y", Gelu(x["x"] + x["bias"]) + x["residual"]); }},
    {"bias_relu", [](SweepCall& x) { x.Result("y", Relu(x["x"] + x["bias"])); }},
    {"squared_relu", [](SweepCall& x) { x.Result("y", Square(Relu(x["x"]))); }},
    {"masked_fill", [](SweepCall& x) { x.Result("y", Select(x["mask"], x["x"], -1e4)); }},
    {"outer_sum",
     [](SweepCall& x) { x.Result("y", ExpandDims(x["a"], 1) * ExpandDims(x["b"], 0) + x["c"]); }},
    {"dropout_residual",
     [](SweepCall& x) { x.Result("y", Dropout(x["x"], x.Real("probability")) + x["residual"]); }},
    {"quantize_rows", QuantizeRows},
    {"modulate", Modulate},
    {"tanh_clip", [](SweepCall& x) { x.Result("y", Tanh(x["x"] / 30) * 30); }},
    {"lerp", [](SweepCall& x) { x.Result("y", x["x"] + (x["z"] - x["x"]) * Sigmoid(x["gate"])); }},
};

}  // namespace

std::span<const SweepForm> PointwiseForms() { return kChains; }

}  // namespace sinter::bench
