// Neural-network functions, computed from their formulas.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sinter/ir/dialect/ops.h"
#include "sinter/tests/reference/random.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::reference {
namespace {

// Returns one line for each place in the other dimensions: the offsets of its elements along `dim`.
std::vector<std::vector<int64_t>> LinesAlong(const Shape& shape, int64_t dim) {
  std::vector<std::vector<int64_t>> lines;
  Shape others = shape;
  others[dim] = 1;
  ForEachIndex(others, [&](const Shape& start) {
    lines.emplace_back();
    Shape at = start;
    for (at[dim] = 0; at[dim] < shape[dim]; ++at[dim]) lines.back().push_back(Offset(shape, at));
  });
  return lines;
}

// Returns the offsets of each channel's elements.
std::vector<std::vector<int64_t>> Channels(const Shape& shape, int64_t dim) {
  std::vector<std::vector<int64_t>> channels(shape[dim]);
  ForEachIndex(shape, [&](const Shape& at) { channels[at[dim]].push_back(Offset(shape, at)); });
  return channels;
}

double Largest(const Value& x, const std::vector<int64_t>& line) {
  double largest = -std::numeric_limits<double>::infinity();
  for (int64_t i : line) {
    if (std::isnan(x.reals[i])) return x.reals[i];
    largest = std::max(largest, x.reals[i]);
  }
  return largest;
}

double SumOfExp(const Value& x, const std::vector<int64_t>& line, double shift) {
  double sum = 0;
  for (int64_t i : line) sum += std::exp(x.reals[i] - shift);
  return sum;
}

std::vector<Value> Softmax(const Call& call) {
  Value r = call.in[0];
  for (const auto& line : LinesAlong(r.shape, call.Int("dim"))) {
    double top = Largest(call.in[0], line), sum = SumOfExp(call.in[0], line, top);
    for (int64_t i : line) r.reals[i] = std::exp(call.in[0].reals[i] - top) / sum;
  }
  return {r};
}

std::vector<Value> LogSoftmax(const Call& call) {
  Value r = call.in[0];
  for (const auto& line : LinesAlong(r.shape, call.Int("dim"))) {
    double top = Largest(call.in[0], line), sum = SumOfExp(call.in[0], line, top);
    for (int64_t i : line) r.reals[i] = call.in[0].reals[i] - top - std::log(sum);
  }
  return {r};
}

// Reduces the losses of the examples to one number; returns them unchanged for `none`.
Value ReduceLoss(const Call& call, ir::LossReduction reduction, const std::vector<double>& each,
                 double count) {
  Value r = call.Result();
  if (reduction == ir::LossReduction::none) {
    r.reals = each;
    return r;
  }
  for (double loss : each) r.reals[0] += loss;
  if (reduction == ir::LossReduction::mean) r.reals[0] /= count;
  return r;
}

std::vector<Value> SoftmaxCrossEntropy(const Call& call) {
  auto op = llvm::cast<ir::SoftmaxCrossEntropyOp>(call.op);
  const Value &logits = call.in[0], &labels = call.in[1];
  int64_t classes = logits.shape.back(), counted = 0;
  std::vector<double> each;
  for (int64_t example = 0; example < labels.size(); ++example) {
    int64_t label = labels.ints[example];
    if (op.getIgnoreLabel() && label == static_cast<int64_t>(*op.getIgnoreLabel())) {
      each.push_back(0);
      continue;
    }
    ++counted;
    if (label < 0 || label >= classes) {
      each.push_back(std::nan(""));
      continue;
    }
    std::vector<int64_t> line;
    for (int64_t c = 0; c < classes; ++c) line.push_back(example * classes + c);
    double top = Largest(logits, line);
    each.push_back(std::log(SumOfExp(logits, line, top)) - (logits.reals[line[label]] - top));
  }
  return {ReduceLoss(call, op.getReduction(), each, static_cast<double>(std::max<int64_t>(1, counted)))};
}

double Average(const Value& x, const std::vector<int64_t>& positions) {
  double sum = 0;
  for (int64_t i : positions) sum += x.reals[i];
  return sum / static_cast<double>(positions.size());
}

// Returns the biased variance.
double Variance(const Value& x, const std::vector<int64_t>& positions, double mean) {
  double sum = 0;
  for (int64_t i : positions) sum += (x.reals[i] - mean) * (x.reals[i] - mean);
  return sum / static_cast<double>(positions.size());
}

std::vector<Value> LayerNorm(const Call& call) {
  const Value &x = call.in[0], &scale = call.in[1], &offset = call.in[2];
  Value r = call.Result();
  for (const auto& line : LinesAlong(x.shape, static_cast<int64_t>(x.shape.size()) - 1)) {
    double mean = Average(x, line), deviation = std::sqrt(Variance(x, line, mean) + call.Real("epsilon"));
    for (size_t c = 0; c < line.size(); ++c) {
      r.reals[line[c]] = (x.reals[line[c]] - mean) / deviation * scale.reals[c] + offset.reals[c];
    }
  }
  return {r};
}

std::vector<Value> RmsNorm(const Call& call) {
  const Value &x = call.in[0], &scale = call.in[1];
  Value r = call.Result();
  for (const auto& line : LinesAlong(x.shape, static_cast<int64_t>(x.shape.size()) - 1)) {
    double size = std::sqrt(Variance(x, line, 0) + call.Real("epsilon"));
    for (size_t c = 0; c < line.size(); ++c) r.reals[line[c]] = x.reals[line[c]] / size * scale.reals[c];
  }
  return {r};
}

std::vector<Value> BatchNormTraining(const Call& call) {
  const Value &x = call.in[0], &scale = call.in[1], &offset = call.in[2];
  Value r = call.Result(0), mean = call.Result(1), variance = call.Result(2);
  auto channels = Channels(x.shape, call.Int("dim"));
  // Normalizes equal parts of the batch separately. Dimension 0 is the outermost.
  int64_t parts = call.op->hasAttr("groups") ? call.Int("groups") : 1;
  for (size_t c = 0; c < channels.size(); ++c) {
    for (int64_t part = 0; part < parts; ++part) {
      std::vector<int64_t> own;
      for (int64_t i : channels[c]) {
        if (i * parts / x.size() == part) own.push_back(i);
      }
      double part_mean = Average(x, own), part_variance = Variance(x, own, part_mean);
      double deviation = std::sqrt(part_variance + call.Real("epsilon"));
      for (int64_t i : own) {
        r.reals[i] = (x.reals[i] - part_mean) / deviation * scale.reals[c] + offset.reals[c];
      }
      mean.reals[c] += part_mean / static_cast<double>(parts);
      variance.reals[c] += part_variance / static_cast<double>(parts);
    }
  }
  return {r, mean, variance};
}

std::vector<Value> BatchNormInference(const Call& call) {
  const Value &x = call.in[0], &scale = call.in[1], &offset = call.in[2], &mean = call.in[3],
              &variance = call.in[4];
  Value r = call.Result();
  auto channels = Channels(x.shape, call.Int("dim"));
  for (size_t c = 0; c < channels.size(); ++c) {
    double deviation = std::sqrt(variance.reals[c] + call.Real("epsilon"));
    for (int64_t i : channels[c]) {
      r.reals[i] = (x.reals[i] - mean.reals[c]) / deviation * scale.reals[c] + offset.reals[c];
    }
  }
  return {r};
}

std::vector<Value> Dropout(const Call& call) {
  double keep = 1 - call.Real("probability");
  Value r = call.in[0];
  for (int64_t i = 0; i < r.size(); ++i) {
    uint32_t word =
        Philox(call.in[1].ints[0], call.in[2].ints[0], static_cast<uint32_t>(call.Int("stream")), i)[0];
    r.reals[i] = UniformF32(word) < keep ? r.reals[i] / keep : 0;
  }
  return {r};
}

template <typename Op>
std::vector<Value> Loss(const Call& call, const std::function<double(double x, double target)>& loss) {
  std::vector<double> each;
  for (int64_t i = 0; i < call.in[0].size(); ++i)
    each.push_back(loss(call.in[0].reals[i], call.in[1].reals[i]));
  auto reduction = llvm::cast<Op>(call.op).getReduction();
  return {ReduceLoss(call, reduction, each, static_cast<double>(each.size()))};
}

std::vector<Value> MseLoss(const Call& call) {
  return Loss<ir::MseLossOp>(call, [](double x, double target) { return (x - target) * (x - target); });
}
std::vector<Value> L1Loss(const Call& call) {
  return Loss<ir::L1LossOp>(call, [](double x, double target) { return std::fabs(x - target); });
}
std::vector<Value> HuberLoss(const Call& call) {
  double delta = call.Real("delta");
  return Loss<ir::HuberLossOp>(call, [&](double x, double target) {
    double d = std::fabs(x - target);
    return d <= delta ? 0.5 * d * d : delta * (d - delta / 2);
  });
}
std::vector<Value> BceWithLogitsLoss(const Call& call) {
  return Loss<ir::BceWithLogitsLossOp>(call, [](double x, double target) {
    return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))) - x * target;
  });
}

}  // namespace

void AddCompositeOps(OpTable& table) {
  table["sinter.softmax"] = Softmax;
  table["sinter.log_softmax"] = LogSoftmax;
  table["sinter.softmax_cross_entropy"] = SoftmaxCrossEntropy;
  table["sinter.layer_norm"] = LayerNorm;
  table["sinter.rms_norm"] = RmsNorm;
  table["sinter.batch_norm_training"] = BatchNormTraining;
  table["sinter.batch_norm_inference"] = BatchNormInference;
  table["sinter.dropout"] = Dropout;
  table["sinter.mse_loss"] = MseLoss;
  table["sinter.l1_loss"] = L1Loss;
  table["sinter.huber_loss"] = HuberLoss;
  table["sinter.bce_with_logits_loss"] = BceWithLogitsLoss;
}

}  // namespace sinter::reference
