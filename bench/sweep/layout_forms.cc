// Forms that move elements: halves of a tensor, transposes, parts and joins.
#include "sinter/bench/sweep/forms.h"

namespace sinter::bench {

namespace {

std::vector<Tensor> Halves(const Tensor& x) { return Split(x, {x.dim(-1) / 2, x.dim(-1) / 2}, -1); }

void RopeBySlices(SweepCall& x) {
  const std::vector<Tensor> halves = Halves(x["x"]);
  const Tensor &cos = x["cos"], &sin = x["sin"];
  x.Result("y", Concat({halves[0] * cos - halves[1] * sin, halves[1] * cos + halves[0] * sin}, -1));
}

void SwiGluByHand(SweepCall& x) {
  const std::vector<Tensor> halves = Halves(x["x"]);
  x.Result("y", Silu(halves[0]) * halves[1]);
}

void GeGlu(SweepCall& x) {
  const std::vector<Tensor> halves = Halves(x["x"]);
  x.Result("y", Gelu(halves[0]) * halves[1]);
}

void ConcatAlong(SweepCall& x) {
  std::vector<Tensor> parts;
  for (const DrawnOperand& operand : x.draw.operands) parts.push_back(x[operand.name]);
  x.Result("y", Concat(parts, x.Integer("dim")));
}

void SliceAndPad(SweepCall& x) {
  const Tensor part = Slice(x["x"], x.Integers("starts"), x.Integers("limits"));
  x.Result("y", Pad(part, x.Integers("low"), x.Integers("high")));
}

void StridedSlice(SweepCall& x) {
  x.Result("y", Slice(x["x"], x.Integers("starts"), x["x"].shape(), x.Integers("strides")));
}

void HeadsApart(SweepCall& x) {
  const Shape shape = x["x"].shape();
  const Tensor heads = Reshape(x["x"], {shape[0], shape[1], x.Integer("heads"), -1});
  x.Result("y", Transpose(heads, {0, 2, 1, 3}));
}

const SweepForm kLayouts[] = {
    {"rope", RopeBySlices},
    {"swiglu", SwiGluByHand},
    {"geglu", GeGlu},
    {"add_transposed", [](SweepCall& x) { x.Result("y", x["x"] + Transpose(x["t"], {1, 0})); }},
    {"permute", [](SweepCall& x) { x.Result("y", Transpose(x["x"], x.Integers("permutation"))); }},
    {"heads_apart", HeadsApart},
    {"concat", ConcatAlong},
    {"slice_pad", SliceAndPad},
    {"flip", [](SweepCall& x) { x.Result("y", Reverse(x["x"], x.Integers("dims"))); }},
    {"roll", [](SweepCall& x) { x.Result("y", Roll(x["x"], x.Integer("shift"), x.Integer("dim"))); }},
    {"strided_slice", StridedSlice},
    {"cast_scale",
     [](SweepCall& x) {
       const DType other = x["x"].dtype() == F32 ? BF16 : F32;
       x.Result("y", Cast(x["x"] * x.Real("scale"), other));
     }},
};

}  // namespace

std::span<const SweepForm> LayoutForms() { return kLayouts; }

}  // namespace sinter::bench
