#include <array>
#include <functional>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/control/loops.h"
#include "sinter/frontend/onnx/converters.h"
#include "sinter/frontend/onnx/ops/forms.h"
#include "sinter/runtime/host/status.h"

// RNN, GRU and LSTM as a Scan for each direction.
namespace sinter::onnx {
namespace {

using Activation = std::function<Tensor(const Tensor&)>;
using States = std::vector<Tensor>;  // h, and c of an LSTM: [batch, hidden].

absl::StatusOr<Activation> ActivationOf(Node& node, const std::string& name, double alpha, double beta) {
  if (name == "Sigmoid") return Activation([](const Tensor& x) { return Sigmoid(x); });
  if (name == "Tanh") return Activation([](const Tensor& x) { return Tanh(x); });
  if (name == "Relu") return Activation([](const Tensor& x) { return Relu(x); });
  if (name == "Softsign") return Activation([](const Tensor& x) { return Softsign(x); });
  if (name == "Softplus") return Activation([](const Tensor& x) { return Softplus(x); });
  if (name == "Affine") return Activation([=](const Tensor& x) { return x * alpha + beta; });
  if (name == "LeakyRelu") return Activation([=](const Tensor& x) { return LeakyRelu(x, alpha); });
  if (name == "HardSigmoid") {
    return Activation([=](const Tensor& x) { return Clamp(x * alpha + beta, 0, 1); });
  }
  return node.Unsupported("OP_FORM", absl::StrCat("the activation '", name, "'"));
}

// One direction: weights with gates in the standard's order.
struct Direction {
  Tensor w, r;       // [gates * hidden, input] and [gates * hidden, hidden].
  Tensor wb, rb;     // [gates * hidden]; not ok without a bias.
  Tensor peepholes;  // [3 * hidden] of an LSTM; not ok without.
  States first;
  std::vector<Activation> activations;
};

// The part of a tensor [directions, ...] that is of direction d.
Tensor PartOf(const Tensor& x, int64_t d) { return Squeeze(SliceDim(x, 0, d, d + 1), 0); }

struct Cell {
  int64_t gates, states, hidden;
  bool reset_behind = false;  // GRU with linear_before_reset.
  bool coupled = false;       // LSTM with input_forget.
  double clip = 0;
};

std::vector<Tensor> GatesOf(const Tensor& x, const Cell& cell, int64_t count) {
  return Split(x, Shape(static_cast<size_t>(count), cell.hidden), -1);
}

Tensor Clipped(const Tensor& x, const Cell& cell) {
  return cell.clip > 0 ? Clamp(x, -cell.clip, cell.clip) : x;
}

States LstmStep(const Cell& cell, const Direction& d, const Tensor& x, const States& s) {
  const std::vector<Tensor> g = GatesOf(x + MatMul(s[0], d.r, {.transpose_b = true}), cell, 4);  // i o f c
  std::vector<Tensor> p(3);
  if (d.peepholes.ok()) p = Split(d.peepholes, Shape(3, cell.hidden), 0);  // i o f
  const auto with = [&](const Tensor& gate, const Tensor& peephole, const Tensor& c) {
    return Clipped(peephole.ok() ? gate + peephole * c : gate, cell);
  };
  const Tensor i = d.activations[0](with(g[0], p[0], s[1]));
  const Tensor f = cell.coupled ? 1 - i : d.activations[0](with(g[2], p[2], s[1]));
  const Tensor c = f * s[1] + i * d.activations[1](Clipped(g[3], cell));
  const Tensor o = d.activations[0](with(g[1], p[1], c));
  return {o * d.activations[2](c), c};
}

States GruStep(const Cell& cell, const Direction& d, const Tensor& x, const States& s) {
  const std::vector<Tensor> g = GatesOf(x, cell, 3);  // z r h
  const std::vector<Tensor> r = Split(d.r, Shape(3, cell.hidden), 0);
  const auto times = [&](const Tensor& h, const Tensor& weights) {
    return MatMul(h, weights, {.transpose_b = true});
  };
  const Tensor z = d.activations[0](Clipped(g[0] + times(s[0], r[0]), cell));
  const Tensor reset = d.activations[0](Clipped(g[1] + times(s[0], r[1]), cell));
  Tensor inner;
  if (cell.reset_behind) {
    Tensor h = times(s[0], r[2]);
    if (d.rb.ok()) h = h + SliceDim(d.rb, 0, 2 * cell.hidden, 3 * cell.hidden);
    inner = reset * h;
  } else {
    inner = times(reset * s[0], r[2]);
  }
  const Tensor n = d.activations[1](Clipped(g[2] + inner, cell));
  return {(1 - z) * n + z * s[0]};
}

States RnnStep(const Cell& cell, const Direction& d, const Tensor& x, const States& s) {
  return {d.activations[0](Clipped(x + MatMul(s[0], d.r, {.transpose_b = true}), cell))};
}

using Step = States (*)(const Cell& cell, const Direction& d, const Tensor& x, const States& s);

// x [time, batch, input]: the states of all steps [time, batch, hidden], and the last ones.
std::pair<Tensor, States> RunDirection(Node& node, const Cell& cell, const Direction& d, Step step,
                                       const Tensor& x, const Tensor& lengths, bool back) {
  Tensor bias = d.wb;
  if (bias.ok() && cell.reset_behind) {
    // The bias of the last gate is reset too.
    Shape low = {0}, high = {cell.hidden};
    bias = bias + Pad(SliceDim(d.rb, 0, 0, 2 * cell.hidden), low, high, 0);
  } else if (bias.ok()) {
    bias = bias + d.rb;
  }
  Tensor gates = MatMul(x, d.w, {.transpose_b = true});
  if (bias.ok()) gates = gates + bias;
  const Tensor number = node.b().Iota(DType::kI64, {x.dim(0)});
  auto [last, all] = Scan(d.first, std::vector<Tensor>{gates, number},
                          [&](States s, std::vector<Tensor> slice) {
                            States next = step(cell, d, slice[0], s);
                            Tensor shown = next[0];
                            if (lengths.ok()) {
                              // Beyond its length an example keeps its states and shows zeros.
                              const Tensor is_within = ExpandDims(slice[1] < lengths, 1);
                              for (size_t i = 0; i < next.size(); ++i)
                                next[i] = Select(is_within, next[i], s[i]);
                              shown = Select(is_within, shown, shown * 0);
                            }
                            return std::pair(std::move(next), shown);
                          },
                          {.reverse = back});
  return {all, last};
}

absl::StatusOr<std::vector<Activation>> ActivationsOf(Node& node, int64_t d,
                                                      const std::vector<std::string>& defaults) {
  const std::vector<std::string> names = node.Texts("activations");
  const std::vector<double> alphas = node.Reals("activation_alpha"), betas = node.Reals("activation_beta");
  std::vector<Activation> result;
  for (size_t i = 0; i < defaults.size(); ++i) {
    const size_t at = static_cast<size_t>(d) * defaults.size() + i;
    const std::string name = names.empty() ? defaults[i] : at < names.size() ? names[at] : "";
    const double alpha = at < alphas.size()      ? alphas[at]
                         : name == "LeakyRelu"   ? 0.01
                         : name == "HardSigmoid" ? 0.2
                                                 : 1;
    const double beta = at < betas.size() ? betas[at] : name == "HardSigmoid" ? 0.5 : 0;
    SINTER_ASSIGN_OR_RETURN(Activation activation, ActivationOf(node, name, alpha, beta));
    result.push_back(std::move(activation));
  }
  return result;
}

absl::StatusOr<Values> Recurrent(Node& node, Cell cell, Step step,
                                 const std::vector<std::string>& activations) {
  const bool by_batch = node.Int("layout", 0) != 0;
  Tensor x = node.In(0);
  const Tensor w = node.In(1), r = node.In(2);
  if (x.rank() != 3 || w.rank() != 3 || r.rank() != 3) return node.Bad("x, W and R are not [.., .., ..]");
  if (by_batch) x = Transpose(x, {1, 0, 2});
  cell.hidden = r.dim(2);
  cell.clip = node.Real("clip", 0);
  const std::string direction = node.Text("direction", "forward");
  const int64_t directions = direction == "bidirectional" ? 2 : 1;
  if (w.dim(0) != directions || r.dim(0) != directions ||
      cell.hidden != node.Int("hidden_size", cell.hidden)) {
    return node.Bad("W or R do not fit direction and hidden_size");
  }
  const Tensor lengths = node.Has(4) ? Cast(node.In(4), DType::kI64) : Tensor();
  std::vector<Tensor> shown, lasts[2];
  for (int64_t d = 0; d < directions; ++d) {
    Direction one{.w = PartOf(w, d),
                  .r = PartOf(r, d),
                  .wb = {},
                  .rb = {},
                  .peepholes = {},
                  .first = {},
                  .activations = {}};
    if (node.Has(3)) {
      const std::vector<Tensor> biases = Split(PartOf(node.In(3), d), Shape(2, cell.gates * cell.hidden), 0);
      if (biases.size() != 2) return node.Bad("B does not fit");
      one.wb = biases[0];
      one.rb = biases[1];
    }
    if (cell.states == 2 && node.Has(7)) one.peepholes = PartOf(node.In(7), d);
    for (int64_t i = 0; i < cell.states; ++i) {
      const auto at = static_cast<size_t>(5 + i);
      Tensor first =
          node.Has(at) ? node.In(at) : node.b().Full(x.dtype(), {directions, x.dim(1), cell.hidden}, 0);
      if (by_batch && node.Has(at)) first = Transpose(first, {1, 0, 2});
      one.first.push_back(PartOf(first, d));
    }
    SINTER_ASSIGN_OR_RETURN(one.activations, ActivationsOf(node, d, activations));
    auto [all, last] = RunDirection(node, cell, one, step, x, lengths, direction == "reverse" || d == 1);
    shown.push_back(all);
    for (size_t i = 0; i < last.size() && i < 2; ++i) lasts[i].push_back(last[i]);
  }
  Tensor y = Stack(shown, 1);  // [time, directions, batch, hidden]
  if (by_batch) y = Transpose(y, {2, 0, 1, 3});
  Values values(y);
  for (int64_t i = 0; i < cell.states; ++i) {
    const Tensor last = Stack(lasts[i], 0);
    values.push_back(by_batch ? Transpose(last, {1, 0, 2}) : last);
  }
  return values;
}

absl::StatusOr<Values> RnnOf(Node& node) {
  return Recurrent(node, {.gates = 1, .states = 1, .hidden = 0}, RnnStep, {"Tanh"});
}

absl::StatusOr<Values> GruOf(Node& node) {
  return Recurrent(
      node, {.gates = 3, .states = 1, .hidden = 0, .reset_behind = node.Int("linear_before_reset", 0) != 0},
      GruStep, {"Sigmoid", "Tanh"});
}

absl::StatusOr<Values> LstmOf(Node& node) {
  return Recurrent(node, {.gates = 4, .states = 2, .hidden = 0, .coupled = node.Int("input_forget", 0) != 0},
                   LstmStep, {"Sigmoid", "Tanh", "Tanh"});
}

constexpr OpRecord kRecurrent[] = {
    {"GRU", 3, GruOf},
    {"LSTM", 1, LstmOf},
    {"RNN", 1, RnnOf},
};

}  // namespace

std::span<const OpRecord> RecurrentOps() { return kRecurrent; }

}  // namespace sinter::onnx
