#include "sinter/frontend/losses/sequence_losses.h"

#include "absl/strings/str_cat.h"
#include "sinter/frontend/control/loops.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter {
namespace {

// log of a probability of 0 within loops, where -infinity would make gradients NaN.
constexpr double kImpossible = -1e30;

bool IsIndex(const Tensor& x) { return x.dtype() == DType::kI32 || x.dtype() == DType::kI64; }

std::vector<Tensor> Listed(std::vector<Tensor> tensors, std::initializer_list<std::optional<Tensor>> more) {
  for (const std::optional<Tensor>& tensor : more) {
    if (tensor) tensors.push_back(*tensor);
  }
  return tensors;
}

// Says what is wrong with x [batch, time, classes] and the lengths; empty if nothing is.
std::string WrongSequences(const Tensor& x, std::initializer_list<std::optional<Tensor>> lengths) {
  if (!IsFloat(x.dtype()) || x.rank() != 3 || x.dim(1) < 1 || x.dim(2) < 1) {
    return "takes floats [batch, time, classes], of at least one frame and class";
  }
  for (const std::optional<Tensor>& length : lengths) {
    if (!length || (IsIndex(*length) && length->shape() == Shape{x.dim(0)})) continue;
    return absl::StrCat("takes lengths of type ", TypeString(I32, {x.dim(0)}));
  }
  return "";
}

// [N, T] of the numbers 0 to T - 1.
Tensor Positions(const Tensor& x, int64_t batch, int64_t time) {
  return Builder(x.function()).Iota(I32, {batch, time}, 1);
}

// True where the position is in front of the length, [N, T].
Tensor Counts(const Tensor& x, const std::optional<Tensor>& lengths, int64_t time) {
  const Tensor positions = Positions(x, x.dim(0), time);
  return lengths ? positions < ExpandDims(Cast(*lengths, I32), -1) : positions < time;
}

Tensor Wide(const Tensor& x) { return x.dtype() == DType::kF64 ? x : Cast(x, F32); }

// x moved to later positions of the last dimension, with kImpossible in front.
Tensor Shifted(const Tensor& x, int64_t by) {
  if (x.dim(-1) <= by) return x * 0.0 + kImpossible;
  return Pad(SliceDim(x, -1, 0, x.dim(-1) - by), {0, by}, {0, 0}, kImpossible);
}

// The element of each row of x [N, L] at a position [N].
Tensor Picked(const Tensor& x, const Tensor& position) {
  return Squeeze(TakeAlong(x, ExpandDims(position, -1), -1), -1);
}

// The labels with blanks around each: [N, 2 S + 1].
Tensor WithBlanks(const Tensor& labels, int64_t blank) {
  const int64_t batch = labels.dim(0), count = labels.dim(1);
  Builder b(labels.function());
  const Tensor blanks = b.Full(I32, {batch, count, 1}, blank);
  const Tensor pairs = Reshape(Concat({blanks, ExpandDims(labels, -1)}, -1), {batch, 2 * count});
  return Concat({pairs, b.Full(I32, {batch, 1}, blank)}, 1);
}

// The negative log-likelihoods [N].
Tensor CtcOfExamples(const Tensor& x, const Tensor& given, const CtcOptions& o) {
  const int64_t batch = x.dim(0), time = x.dim(1), count = given.dim(1), states = 2 * count + 1;
  Builder b(x.function());
  const Tensor lengths = o.label_lengths ? Cast(*o.label_lengths, I32) : b.Full(I32, {batch}, count);
  const Tensor is_label = Positions(x, batch, count) < ExpandDims(lengths, -1);
  const Tensor labels = WithBlanks(Select(is_label, Cast(given, I32), o.blank), o.blank);
  const Tensor log_p = LogSoftmax(Wide(x));
  const Tensor emitted = TakeAlong(log_p, BroadcastTo(ExpandDims(labels, 1), {batch, time, states}), -1);
  // A label may follow another one without a blank if they differ.
  const Tensor before =
      states > 2 ? Pad(SliceDim(labels, 1, 0, states - 2), {0, 2}, {0, 0}, o.blank) : labels;
  const Tensor can_skip = NotEqual(labels, o.blank) && NotEqual(labels, before);
  const Tensor counts = Counts(x, o.input_lengths, time);
  const Tensor state = b.Iota(I32, {batch, states}, 1);
  const Tensor start = Select(Equal(state, 0), b.Zeros(log_p.dtype(), {batch, states}), kImpossible);
  const std::pair frames(Transpose(emitted, {1, 0, 2}), Transpose(counts, {1, 0}));
  const auto [alpha, none] =
      Scan(start, frames, [&](const Tensor& a, const std::pair<Tensor, Tensor>& frame) {
        const Tensor stay = LogAddExp(a, Shifted(a, 1));
        const Tensor next = LogAddExp(stay, Select(can_skip, Shifted(a, 2), kImpossible)) + frame.first;
        return std::pair(Select(ExpandDims(frame.second, -1), next, a), None{});
      });
  const Tensor last = Picked(alpha, lengths * 2);
  const Tensor label = Picked(alpha, Maximum(lengths * 2 - 1, 0));
  return -LogAddExp(last, Select(lengths > 0, label, kImpossible));
}

}  // namespace

Tensor CtcLoss(const Tensor& logits, const Tensor& labels, const CtcOptions& options, Where where) {
  CompositeCall call("CtcLoss", where,
                     Listed({logits, labels}, {options.input_lengths, options.label_lengths}));
  if (!call.ok()) return {};
  const std::string wrong = WrongSequences(logits, {options.input_lengths, options.label_lengths});
  if (!wrong.empty()) return call.Fail(wrong);
  if (!IsIndex(labels) || labels.rank() != 2 || labels.dim(0) != logits.dim(0)) {
    return call.Fail(absl::StrCat("takes labels i32 or i64 [", logits.dim(0), ", labels]"));
  }
  if (options.blank < 0 || options.blank >= logits.dim(2)) {
    return call.Fail(absl::StrCat("has ", logits.dim(2), " classes and the blank ", options.blank));
  }
  const Tensor each = CtcOfExamples(logits, labels, options);
  const Tensor is_possible = each < -0.1 * kImpossible;
  const Tensor infinite = options.zero_infinity ? each * 0.0 : -Log(Cast(is_possible, each.dtype()));
  const Tensor loss = Cast(Select(is_possible, each, infinite), logits.dtype());
  return options.reduction == Reduction::kNone  ? loss
         : options.reduction == Reduction::kSum ? Sum(loss)
                                                : Mean(loss);
}

CtcDecoded CtcGreedyDecode(const Tensor& logits, const std::optional<Tensor>& input_lengths, int64_t blank,
                           Where where) {
  CompositeCall call("CtcGreedyDecode", where, Listed({logits}, {input_lengths}));
  if (!call.ok()) return {};
  std::string wrong = WrongSequences(logits, {input_lengths});
  if (wrong.empty() && (blank < 0 || blank >= logits.dim(2))) {
    wrong = absl::StrCat("has ", logits.dim(2), " classes and the blank ", blank);
  }
  if (!wrong.empty()) {
    call.Fail(wrong);
    return {};
  }
  const int64_t batch = logits.dim(0), time = logits.dim(1);
  const Tensor best = ArgMax(logits, -1);
  const Tensor before =
      time > 1 ? Pad(SliceDim(best, 1, 0, time - 1), {0, 1}, {0, 0}, blank) : best * 0 + blank;
  const Tensor is_kept =
      NotEqual(best, blank) && NotEqual(best, before) && Counts(logits, input_lengths, time);
  const Tensor kept = Cast(is_kept, I32);
  // Kept labels go to their places in their row, the others to a place behind all rows.
  Builder b(logits.function());
  const Tensor place = CumSum(kept, 1) - 1 + b.Iota(I32, {batch, time}, 0) * time;
  const Tensor rows = ScatterAdd(b.Zeros(I32, {batch * time + 1}),
                                 Reshape(Select(is_kept, place, batch * time), {batch * time}),
                                 Reshape(kept * (best + 1), {batch * time}), 0);
  return {Reshape(SliceDim(rows, 0, 0, batch * time), {batch, time}) - 1, Sum(kept, {1})};
}

namespace {

std::string WrongCrf(const Tensor& emissions, const Crf& crf, const std::optional<Tensor>& lengths) {
  std::string wrong = WrongSequences(emissions, {lengths});
  if (!wrong.empty()) return wrong;
  const int64_t tags = emissions.dim(2);
  if (crf.transitions.dtype() != emissions.dtype() || crf.transitions.shape() != Shape{tags, tags}) {
    return absl::StrCat("takes transitions of type ", TypeString(emissions.dtype(), {tags, tags}));
  }
  for (const auto& ends : {crf.first, crf.last}) {
    if (!ends || (ends->dtype() == emissions.dtype() && ends->shape() == Shape{tags})) continue;
    return absl::StrCat("takes scores of the first and last tag of type ",
                        TypeString(emissions.dtype(), {tags}));
  }
  return "";
}

// Tensors that the loops of a field go over.
struct Field {
  Field(const Tensor& given, const Crf& crf, const std::optional<Tensor>& lengths)
      : emissions(Wide(given)), transitions(Wide(crf.transitions)) {
    const int64_t time = given.dim(1), tags = given.dim(2);
    const Tensor zeros = Builder(given.function()).Zeros(emissions.dtype(), {tags});
    first = crf.first ? Wide(*crf.first) : zeros;
    last = crf.last ? Wide(*crf.last) : zeros;
    counts = Counts(given, lengths, time);
    by_time = Transpose(emissions, {1, 0, 2});
    start = by_time[0] + first;
    rest = {SliceDim(by_time, 0, 1, time), SliceDim(Transpose(counts, {1, 0}), 0, 1, time)};
  }
  Tensor emissions, transitions, first, last, counts, by_time, start;
  std::pair<Tensor, Tensor> rest;  // Emissions and counts of the later positions.
};

// The scores [N] of the tags.
Tensor ScoreOf(const Field& f, const Tensor& given) {
  const int64_t time = f.emissions.dim(1), count = f.emissions.dim(2);
  const DType dtype = f.emissions.dtype();
  const Tensor tags = Select(f.counts, Cast(given, I32), 0);
  const Tensor weight = Cast(f.counts, dtype);
  const Tensor emitted = Squeeze(TakeAlong(f.emissions, ExpandDims(tags, -1), -1), -1);
  Tensor score = Sum(emitted * weight, {1}) + Gather(f.first, tags[{Range{}, 0}], 0);
  if (time > 1) {
    const Tensor pairs = SliceDim(tags, 1, 0, time - 1) * count + SliceDim(tags, 1, 1, time);
    const Tensor moved = Gather(Reshape(f.transitions, {count * count}), pairs, 0);
    score = score + Sum(moved * SliceDim(weight, 1, 1, time), {1});
  }
  const Tensor end = Maximum(Sum(Cast(f.counts, I32), {1}) - 1, 0);
  return score + Gather(f.last, Picked(tags, end), 0);
}

}  // namespace

Tensor CrfLogLikelihood(const Tensor& emissions, const Tensor& tags, const Crf& crf,
                        const std::optional<Tensor>& lengths, Where where) {
  CompositeCall call("CrfLogLikelihood", where,
                     Listed({emissions, tags, crf.transitions}, {crf.first, crf.last, lengths}));
  if (!call.ok()) return {};
  if (const std::string wrong = WrongCrf(emissions, crf, lengths); !wrong.empty()) return call.Fail(wrong);
  if (!IsIndex(tags) || tags.shape() != Shape{emissions.dim(0), emissions.dim(1)}) {
    return call.Fail(
        absl::StrCat("takes tags of type ", TypeString(I32, {emissions.dim(0), emissions.dim(1)})));
  }
  const Field f(emissions, crf, lengths);
  Tensor alpha = f.start;
  if (emissions.dim(1) > 1) {
    alpha = Scan(alpha, f.rest, [&](const Tensor& a, const std::pair<Tensor, Tensor>& at) {
              const Tensor next = LogSumExp(ExpandDims(a, -1) + f.transitions, {1}) + at.first;
              return std::pair(Select(ExpandDims(at.second, -1), next, a), None{});
            }).first;
  }
  return Cast(ScoreOf(f, tags) - LogSumExp(alpha + f.last, {1}), emissions.dtype());
}

CrfDecoded CrfDecode(const Tensor& emissions, const Crf& crf, const std::optional<Tensor>& lengths,
                     Where where) {
  CompositeCall call("CrfDecode", where,
                     Listed({emissions, crf.transitions}, {crf.first, crf.last, lengths}));
  if (!call.ok()) return {};
  if (const std::string wrong = WrongCrf(emissions, crf, lengths); !wrong.empty()) {
    call.Fail(wrong);
    return {};
  }
  const Field f(emissions, crf, lengths);
  const int64_t batch = emissions.dim(0), time = emissions.dim(1), count = emissions.dim(2);
  Tensor best = f.start, from;
  if (time > 1) {
    // The tag in front of each tag on its best path; behind the length it is the tag itself.
    const Tensor same = Builder(emissions.function()).Iota(I32, {batch, count}, 1);
    std::tie(best, from) = Scan(best, f.rest, [&](const Tensor& a, const std::pair<Tensor, Tensor>& at) {
      const Tensor paths = ExpandDims(a, -1) + f.transitions, here = ExpandDims(at.second, -1);
      return std::pair(Select(here, Max(paths, {1}) + at.first, a), Select(here, ArgMax(paths, 1), same));
    });
  }
  const Tensor scores = best + f.last;
  const Tensor last = ArgMax(scores, 1);
  Tensor tags = ExpandDims(last, 0);
  if (time > 1) {
    const auto [first, earlier] = Scan(last, from,
                                       [](const Tensor& tag, const Tensor& before) {
                                         const Tensor previous = Picked(before, tag);
                                         return std::pair(previous, previous);
                                       },
                                       {.reverse = true});
    tags = Concat({earlier, tags}, 0);
  }
  return {Select(f.counts, Transpose(tags, {1, 0}), -1), Cast(Max(scores, {1}), emissions.dtype())};
}

}  // namespace sinter
