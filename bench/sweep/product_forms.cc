// Products of matrices, and attention.
#include "sinter/bench/sweep/forms.h"

namespace sinter::bench {

namespace {

Tensor Product(const SweepCall& x, const Tensor& a, const Tensor& b) {
  return MatMul(a, b, {.math = a.dtype() == F32 ? x.math : MathMode::kIeee});
}

AttentionOptions Options(const SweepCall& x) {
  return {.math = x["q"].dtype() == F32 ? x.math : MathMode::kIeee};
}

void CausalAttention(SweepCall& x) {
  AttentionOptions options = Options(x);
  options.causal = true;
  x.Result("y", Attention(x["q"], x["k"], x["v"], options));
}

void BiasedAttention(SweepCall& x) {
  AttentionOptions options = Options(x);
  options.bias = x["bias"];
  x.Result("y", Attention(x["q"], x["k"], x["v"], options));
}

void MaskedAttention(SweepCall& x) {
  AttentionOptions options = Options(x);
  options.mask = x["mask"];
  x.Result("y", Attention(x["q"], x["k"], x["v"], options));
}

const SweepForm kProducts[] = {
    {"linear_gelu", [](SweepCall& x) { x.Result("y", Gelu(Product(x, x["x"], x["w"]) + x["bias"])); }},
    {"linear", [](SweepCall& x) { x.Result("y", Product(x, x["x"], x["w"]) + x["bias"]); }},
    {"batched_matmul", [](SweepCall& x) { x.Result("y", Product(x, x["a"], x["b"])); }},
    {"mlp",
     [](SweepCall& x) {
       const Tensor hidden = Gelu(Product(x, x["x"], x["w1"]) + x["b1"]);
       x.Result("y", Product(x, hidden, x["w2"]) + x["b2"]);
     }},
    {"causal_attention", CausalAttention},
    {"biased_attention", BiasedAttention},
    {"masked_attention", MaskedAttention},
};

}  // namespace

std::span<const SweepForm> ProductForms() { return kProducts; }

}  // namespace sinter::bench
