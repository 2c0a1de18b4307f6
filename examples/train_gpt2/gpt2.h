// GPT-2 (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019) from layers, and the functions of its
// training.
//
//   Graph graph = BuildGpt2({.layers = 12}, {.batch = 32});       // Functions "train", "eval" and "next".
#ifndef SINTER_EXAMPLES_TRAIN_GPT2_GPT2_H_
#define SINTER_EXAMPLES_TRAIN_GPT2_GPT2_H_

#include <vector>

#include "sinter/sinter.h"

namespace sinter::examples {

// By default GPT-2 124M, its vocabulary padded.
struct Gpt2Sizes {
  int64_t layers = 12, heads = 12, width = 768, context = 1024, vocabulary = 50304;
};

// Learned positions, norms before attention and MLP, tanh GELU, biases, no dropout, and a head that is the table of tokens.
class Gpt2 {
 public:
  explicit Gpt2(const Gpt2Sizes& sizes);
  // Tokens i32 [batch, context] to rows [batch * context, width].
  Tensor Hidden(Builder& b, const Tensor& tokens);
  // Rows [n, width] to [n, vocabulary]; after Hidden, which makes the table.
  Tensor Logits(Builder& b, const Tensor& rows);
  // The mean cross entropy of predicting y from x, both i32 [batch, context].
  Tensor Loss(Builder& b, const Tensor& x, const Tensor& y);

 private:
  Gpt2Sizes sizes_;
  nn::Embedding tokens_;
  std::vector<nn::Module> blocks_;
  nn::LayerNorm norm_;
};

struct Gpt2Training {
  int64_t batch = 32;
  int64_t parts = 1;  // Micro-batches a step.
  double weight_decay = 0.1, clip_norm = 0;
  Precision precision = Precision::kF32;
  int64_t seed = 1;
};

// train        x, y, lr    one step of AdamW; logs "loss". If there is one part alone; else instead of it
// accumulate   x, y        adds the gradients of a part; logs "loss"
// update       lr          a step with what was accumulated
// eval         x, y        gives loss
// next         window, at  i32 [1, context], i32 []: gives logits [1, vocabulary] of what follows window[at]
Graph BuildGpt2(const Gpt2Sizes& sizes, const Gpt2Training& training);

}  // namespace sinter::examples

#endif  // SINTER_EXAMPLES_TRAIN_GPT2_GPT2_H_
