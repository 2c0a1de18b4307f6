// GPT-2 built from layers, and a graph with the functions of its training.
//
//   Graph graph = BuildGpt2({.layers = 12}, {.batch = 32});       // Functions "train", "eval" and "next".
//
// Radford et al., "Language Models are Unsupervised Multitask Learners", 2019.
#ifndef SINTER_EXAMPLES_TRAIN_GPT2_GPT2_H_
#define SINTER_EXAMPLES_TRAIN_GPT2_GPT2_H_

#include <vector>

#include "sinter/sinter.h"

namespace sinter::examples {

// The defaults are GPT-2 124M with a padded vocabulary.
struct Gpt2Sizes {
  int64_t layers = 12, heads = 12, width = 768, context = 1024, vocabulary = 50304;
};

// The model: learned positions, norms before attention and MLP, tanh GELU, biases, no dropout. The head
// shares the weights of the token embedding.
class Gpt2 {
 public:
  explicit Gpt2(const Gpt2Sizes& sizes);
  // Maps tokens i32 [batch, context] to rows [batch * context, width].
  Tensor Hidden(Builder& b, const Tensor& tokens);
  // Maps rows [n, width] to logits [n, vocabulary]. Call Hidden first: it creates the embedding.
  Tensor Logits(Builder& b, const Tensor& rows);
  // Returns the mean cross entropy of predicting y from x, both i32 [batch, context].
  Tensor Loss(Builder& b, const Tensor& x, const Tensor& y);

 private:
  Gpt2Sizes sizes_;
  nn::Embedding tokens_;
  std::vector<nn::Module> blocks_;
  nn::LayerNorm norm_;
};

struct Gpt2Training {
  int64_t batch = 32;
  int64_t parts = 1;  // Micro-batches per step.
  double weight_decay = 0.1, clip_norm = 0;
  Precision precision = Precision::kF32;
  Float8 float8 = {};
  int64_t seed = 1;
};

// Returns a graph with these functions and inputs. "train" exists if parts == 1; "accumulate" and "update"
// replace it otherwise.
//
//   train        x, y, lr    one step of AdamW; logs "loss"
//   accumulate   x, y        adds the gradients of one part; logs "loss"
//   update       lr          one step of AdamW with the accumulated gradients
//   eval         x, y        outputs "loss"
//   next         window, at  i32 [1, context] and i32 []: outputs "logits" [1, vocabulary], the prediction
//                            of the token after window[at]
Graph BuildGpt2(const Gpt2Sizes& sizes, const Gpt2Training& training);

}  // namespace sinter::examples

#endif  // SINTER_EXAMPLES_TRAIN_GPT2_GPT2_H_
