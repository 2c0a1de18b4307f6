#include "sinter/frontend/nn/attention.h"

#include "absl/strings/str_cat.h"

namespace sinter::nn {

namespace {

class MultiHeadAttentionLayer : public Layer {
 public:
  MultiHeadAttentionLayer(int64_t heads, const MultiHeadAttentionOptions& options)
      : heads_(heads), options_(options) {}
  std::string Describe() const override { return absl::StrCat("MultiHeadAttention(", heads_, ")"); }

 protected:
  Tensor Forward(const Tensor& x) override {
    if (x.rank() != 3) return Fail(x, "takes a tensor of shape [batch, time, width]");
    const int64_t width = options_.width == 0 ? x.dim(2) : options_.width;
    if (heads_ < 1 || width < 1 || width % heads_ != 0) {
      return Fail(x, absl::StrCat("has ", heads_, " heads, which must be at least 1 and divide the width of ",
                                  width));
    }
    MakeProjections(width, x.dim(2));
    Tensor qkv = Reshape((*qkv_)(x), {x.dim(0), x.dim(1), 3, heads_, width / heads_});
    Tensor mixed =
        Attention(qkv, {.causal = options_.causal, .scale = options_.scale, .math = options_.math});
    return (*out_)(Reshape(mixed, {x.dim(0), x.dim(1), width}));
  }

 private:
  // Called at the first use, when the input's width is known. Another width later is an error of the
  // projections.
  void MakeProjections(int64_t width, int64_t in) {
    if (qkv_) return;
    LinearOptions linear{.bias = options_.bias,
                         .weight = options_.weight,
                         .bias_init = options_.bias_init,
                         .math = options_.math};
    linear.out_dim = {{3}, {heads_, "heads"}, {width / heads_}};
    qkv_.emplace(3 * width, linear);
    linear.weight = options_.out_weight;
    linear.in_dim = {{heads_, "heads"}, {width / heads_}};
    linear.out_dim = {};
    out_.emplace(in, linear);
    Child("qkv", *qkv_);
    Child("out", *out_);
  }

  int64_t heads_;
  MultiHeadAttentionOptions options_;
  std::optional<Linear> qkv_, out_;
};

}  // namespace

MultiHeadAttention::MultiHeadAttention(int64_t heads, const MultiHeadAttentionOptions& options)
    : Module(std::make_shared<MultiHeadAttentionLayer>(heads, options)) {}

}  // namespace sinter::nn
