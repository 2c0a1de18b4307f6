// Losses of sequences of labels, and their decoders: CTC and linear-chain conditional random fields.
//
//   Tensor loss = CtcLoss(logits, labels, {.input_lengths = frames, .label_lengths = letters});
//   Tensor loss = -Mean(CrfLogLikelihood(emissions, tags, {.transitions = transitions}, lengths));
//
// Sequences are [batch, time, ...], as in nn/recurrent.h. Lengths are i32 or i64 [batch]; without them all
// positions count. What lies behind a length may be anything. Sums of probabilities are of logarithms, in f32
// (f64 for f64), by loops over the time.
#ifndef SINTER_FRONTEND_LOSSES_SEQUENCE_LOSSES_H_
#define SINTER_FRONTEND_LOSSES_SEQUENCE_LOSSES_H_

#include <cstdint>
#include <optional>

#include "sinter/frontend/ops/losses.h"

namespace sinter {

struct CtcOptions {
  std::optional<Tensor> input_lengths = {}, label_lengths = {};
  int64_t blank = 0;                       // The class that stands for no label.
  Reduction reduction = Reduction::kMean;  // kMean is the mean over examples, whatever their lengths.
  // The loss of labels that do not fit into the input is infinite, or with this 0. Its gradient is 0.
  bool zero_infinity = false;
};
// Connectionist temporal classification (Graves et al., 2006): -log of the probability that the frames of
// logits [batch, time, classes], of which repetitions are merged and blanks are then left out, give the
// labels, i32 or i64 [batch, labels]. Logarithms of probabilities may be given as logits.
Tensor CtcLoss(const Tensor& logits, const Tensor& labels, const CtcOptions& options = {},
               Where where = Where::current());

// Labels i32 [batch, time], -1 behind the last, and their number, i32 [batch].
struct CtcDecoded {
  Tensor labels, lengths;
};
// The labels of the most probable class of each frame (best path decoding).
CtcDecoded CtcGreedyDecode(const Tensor& logits, const std::optional<Tensor>& input_lengths = {},
                           int64_t blank = 0, Where where = Where::current());

// Scores of a conditional random field (Lafferty et al., 2001): of tag j after tag i, [tags, tags], and of
// the first and the last tag, [tags]; without them 0.
struct Crf {
  Tensor transitions;
  std::optional<Tensor> first = {}, last = {};
};
// log of the probability of the tags, i32 or i64 [batch, time], for emissions [batch, time, tags]: float
// [batch]. Lengths are at least 1.
Tensor CrfLogLikelihood(const Tensor& emissions, const Tensor& tags, const Crf& crf,
                        const std::optional<Tensor>& lengths = {}, Where where = Where::current());
// The most probable tags, i32 [batch, time], -1 behind the length, and their scores [batch] (Viterbi, 1967).
struct CrfDecoded {
  Tensor tags, scores;
};
CrfDecoded CrfDecode(const Tensor& emissions, const Crf& crf, const std::optional<Tensor>& lengths = {},
                     Where where = Where::current());

}  // namespace sinter

#endif  // SINTER_FRONTEND_LOSSES_SEQUENCE_LOSSES_H_
