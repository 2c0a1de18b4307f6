#include "sinter/frontend/nn/transformer.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/graph/number_bounds.h"
#include "sinter/frontend/nn/kv_cache.h"

namespace sinter::nn {
namespace {

class SinusoidalPositionsLayer : public Layer {
 public:
  explicit SinusoidalPositionsLayer(double base) : base_(base) {}
  std::string Describe() const override { return "SinusoidalPositions"; }

 protected:
  Tensor Forward(const Tensor& x) override {
    if (x.rank() != 3 || x.dim(2) % 2 != 0) return Fail(x, "takes a tensor [batch, time, width], width even");
    if (std::string wrong = OutOfBounds("a base", base_, {.above = 0}); !wrong.empty()) return Fail(x, wrong);
    Builder b = BuilderOf(x);
    const int64_t time = x.dim(1), half = x.dim(2) / 2;
    Tensor place = b.Iota(I32, {time, half, 1}, 0);
    const Operand first = FirstPosition(x);
    if (first.is_tensor()) {
      // With a position for each row, [rows, time, half, 1].
      const int64_t rows = first.tensor().size();
      place =
          place + (first.tensor().rank() == 1 ? Reshape(first.tensor(), {rows, 1, 1, 1}) : first.tensor());
    }
    const Tensor position = Cast(place, F32);
    const Tensor pair = Cast(b.Iota(I32, {time, half, 1}, 1), F32);
    const Tensor angle = position * Exp(pair * (-std::log(base_) / static_cast<double>(half)));
    const Tensor table = Concat({Sin(angle), Cos(angle)}, -1);
    Shape shape = {time, x.dim(2)};
    if (table.rank() == 4) shape.insert(shape.begin(), table.dim(0));
    return x + Cast(Reshape(table, shape), x.dtype());
  }

 private:
  double base_;
};

class MlpLayer : public Layer {
 public:
  explicit MlpLayer(const MlpOptions& options) : options_(options) {}
  std::string Describe() const override { return absl::StrCat("Mlp(", options_.hidden, ")"); }

 protected:
  Tensor Forward(const Tensor& x) override {
    if (x.rank() < 1) return Fail(x, "takes a tensor of rank 1 or more");
    if (options_.gated && options_.activation) return Fail(x, "is gated by silu, and has an activation");
    if (options_.hidden < 0) return Fail(x, absl::StrCat("has ", options_.hidden, " hidden elements"));
    MakeProjections(x.dim(-1));
    const Tensor up = (*up_)(x);
    if (!up.ok()) return {};
    const Tensor hidden = options_.gated        ? sinter::SwiGlu(up)
                          : options_.activation ? options_.activation(up)
                                                : sinter::Gelu(up);
    return (*down_)(drop_(hidden));
  }

 private:
  void MakeProjections(int64_t in) {
    if (up_) return;
    const int64_t hidden = options_.hidden == 0 ? 4 * in : options_.hidden;
    LinearOptions linear{.bias = options_.bias, .weight = options_.weight, .math = options_.math};
    linear.out_dim = options_.gated ? DimName{{2}, {hidden, "mlp"}} : DimName("mlp");
    up_.emplace(options_.gated ? 2 * hidden : hidden, linear);
    linear.weight = options_.out_weight;
    linear.in_dim = "mlp";
    linear.out_dim = {};
    down_.emplace(in, linear);
    Child("up", *up_);
    Child("down", *down_);
  }

  MlpOptions options_;
  Dropout drop_ = Child("dropout", Dropout(options_.dropout));
  std::optional<Linear> up_, down_;
};

Module NormOf(const TransformerOptions& o) {
  if (o.norm == BlockNorm::kRmsNorm) return RmsNorm(o.epsilon);
  return LayerNorm(o.epsilon);
}

Module MlpOf(const TransformerOptions& o) {
  if (o.mlp) return o.mlp();
  return Mlp({.hidden = o.hidden,
              .gated = o.gated,
              .activation = o.activation,
              .bias = o.bias,
              .dropout = o.dropout,
              .weight = o.weight,
              .out_weight = o.out_weight,
              .math = o.math});
}

MultiHeadAttentionOptions AttentionOf(const TransformerOptions& o, bool causal) {
  return {.causal = causal,
          .bias = o.bias,
          .weight = o.weight,
          .out_weight = o.out_weight,
          .math = o.math,
          .kv_heads = o.kv_heads,
          .rope = o.rope,
          .window = o.window,
          .dropout = o.dropout};
}

CrossAttentionOptions CrossOf(const TransformerOptions& o) {
  return {
      .bias = o.bias, .weight = o.weight, .out_weight = o.out_weight, .math = o.math, .dropout = o.dropout};
}

// Adds a part of a block to x, with its norm in front or behind.
template <typename Part>
Tensor Added(const Tensor& x, const Module& norm, const Dropout& drop, bool norm_first, const Part& part) {
  const Tensor y = part(norm_first ? norm(x) : x);
  if (!y.ok()) return {};
  const Tensor sum = x + drop(y);
  return norm_first ? sum : norm(sum);
}

class EncoderBlockLayer : public LayerOf<Tensor(const Tensor&, const SequenceMask&)> {
 public:
  EncoderBlockLayer(int64_t heads, const TransformerOptions& o)
      : norm_first_(o.norm_first),
        norm1_(Child("norm1", NormOf(o))),
        attention_(Child("attention", MaskedAttention(heads, AttentionOf(o, o.causal)))),
        norm2_(Child("norm2", NormOf(o))),
        mlp_(Child("mlp", MlpOf(o))),
        drop_(Child("dropout", Dropout(o.dropout))) {}
  std::string Describe() const override { return "TransformerEncoderBlock"; }

 protected:
  Tensor Forward(const Tensor& x, const SequenceMask& mask) override {
    const Tensor seen =
        Added(x, norm1_, drop_, norm_first_, [&](const Tensor& in) { return attention_(in, mask); });
    if (!seen.ok()) return {};
    return Added(seen, norm2_, drop_, norm_first_, [&](const Tensor& in) { return mlp_(in); });
  }

 private:
  bool norm_first_;
  Module norm1_;
  MaskedAttention attention_;
  Module norm2_, mlp_;
  Dropout drop_;
};

class DecoderBlockLayer : public LayerOf<Tensor(const Tensor&, const SequenceMask&, const Memory&)> {
 public:
  DecoderBlockLayer(int64_t heads, const TransformerOptions& o)
      : norm_first_(o.norm_first),
        norm1_(Child("norm1", NormOf(o))),
        attention_(Child("attention", MaskedAttention(heads, AttentionOf(o, /*causal=*/true)))),
        norm2_(Child("norm2", NormOf(o))),
        cross_(Child("cross", CrossAttention(heads, CrossOf(o)))),
        norm3_(Child("norm3", NormOf(o))),
        mlp_(Child("mlp", MlpOf(o))),
        drop_(Child("dropout", Dropout(o.dropout))) {}
  std::string Describe() const override { return "TransformerDecoderBlock"; }

 protected:
  Tensor Forward(const Tensor& x, const SequenceMask& mask, const Memory& memory) override {
    Tensor y = Added(x, norm1_, drop_, norm_first_, [&](const Tensor& in) { return attention_(in, mask); });
    if (!y.ok()) return {};
    y = Added(y, norm2_, drop_, norm_first_, [&](const Tensor& in) { return cross_(in, memory); });
    if (!y.ok()) return {};
    return Added(y, norm3_, drop_, norm_first_, [&](const Tensor& in) { return mlp_(in); });
  }

 private:
  bool norm_first_;
  Module norm1_;
  MaskedAttention attention_;
  Module norm2_;
  CrossAttention cross_;
  Module norm3_, mlp_;
  Dropout drop_;
};

// Blocks with these inputs beside x, one after the other.
template <typename Block, typename... More>
class StackLayer : public LayerOf<Tensor(const Tensor&, const More&...)> {
 public:
  StackLayer(std::string what, int64_t blocks, int64_t heads, const TransformerOptions& options)
      : what_(std::move(what)),
        blocks_(this->Children("blocks", blocks, [&](int64_t) { return Block(heads, options); })) {
    if (options.norm_first) norm_ = this->Child("norm", NormOf(options));
  }
  std::string Describe() const override { return absl::StrCat(what_, "(", blocks_.size(), ")"); }

 protected:
  Tensor Forward(const Tensor& x, const More&... more) override {
    Tensor y = x;
    for (const Block& block : blocks_) {
      y = block(y, more...);
      if (!y.ok()) return {};
    }
    return norm_ ? (*norm_)(y) : y;
  }

 private:
  std::string what_;
  std::vector<Block> blocks_;
  std::optional<Module> norm_;
};

}  // namespace

SinusoidalPositions::SinusoidalPositions(double base)
    : Module(std::make_shared<SinusoidalPositionsLayer>(base)) {}
Mlp::Mlp(const MlpOptions& options) : Module(std::make_shared<MlpLayer>(options)) {}
TransformerEncoderBlock::TransformerEncoderBlock(int64_t heads, const TransformerOptions& options)
    : ModuleOf(std::make_shared<EncoderBlockLayer>(heads, options)) {}
TransformerDecoderBlock::TransformerDecoderBlock(int64_t heads, const TransformerOptions& options)
    : ModuleOf(std::make_shared<DecoderBlockLayer>(heads, options)) {}
TransformerEncoder::TransformerEncoder(int64_t blocks, int64_t heads, const TransformerOptions& options)
    : ModuleOf(std::make_shared<StackLayer<TransformerEncoderBlock, SequenceMask>>("TransformerEncoder",
                                                                                   blocks, heads, options)) {}
TransformerDecoder::TransformerDecoder(int64_t blocks, int64_t heads, const TransformerOptions& options)
    : ModuleOf(std::make_shared<StackLayer<TransformerDecoderBlock, SequenceMask, Memory>>(
          "TransformerDecoder", blocks, heads, options)) {}

}  // namespace sinter::nn
