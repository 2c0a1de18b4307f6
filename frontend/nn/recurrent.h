// Recurrent layers: LSTM, GRU and plain RNN, their cells, and layers of cells of one's own.
//
//   nn::Lstm lstm(512, {.layers = 2, .dropout = 0.2});
//   auto [y, last] = lstm(x);                             // x: f32[N,T,D]; y: f32[N,T,512]
//   auto [z, end] = lstm(x, {.first = last, .lengths = lengths});
//
// Parameters have the names, shapes and gate order of PyTorch: for layer k, "weight_ih_lk" [G H, D],
// "weight_hh_lk" [G H, H], "bias_ih_lk" and "bias_hh_lk" [G H], and with the suffix "_reverse" those of the
// second direction. G is 4 for an LSTM (input, forget, cell, output), 3 for a GRU (reset, update, new), 1
// for an RNN. All are uniform in (-1/sqrt(H), 1/sqrt(H)) at first.
#ifndef SINTER_FRONTEND_NN_RECURRENT_H_
#define SINTER_FRONTEND_NN_RECURRENT_H_

#include <memory>
#include <optional>
#include <utility>

#include "sinter/frontend/control/loops.h"
#include "sinter/frontend/nn/module.h"
#include "sinter/frontend/ops/ops.h"

namespace sinter::nn {

// The state of an LSTM: its output and its cell. Of a cell [N, H], of a layer [layers * directions, N, H].
struct LstmState {
  Tensor h, c;
};

struct RecurrentOptions {
  int64_t layers = 1;
  bool bidirectional = false;  // A second direction from the last position to the first; outputs are joined.
  double dropout = 0;          // Between layers, in Mode::kTrain.
  bool time_first = false;     // x and y are [T, N, ...] instead of [N, T, ...].
  bool bias = true;
  bool relu = false;  // Activation of Rnn: relu instead of tanh. Others ignore it.
  MathMode math = MathMode::kIeee;
  // Width to which Lstm projects its outputs h, below the number of units (Sak et al., arXiv 1402.1128). 0:
  // it does not. Outputs and h have this width, c has not. Others have no projection.
  int64_t projection = 0;
};

// The further arguments of a recurrent layer.
template <typename State>
struct RecurrentContext {
  std::optional<State> first = {};  // The state before the first position. Zeros if there is none.
  // i32[N] or i64[N]: positions of each example. The state stays as it is at later positions, where outputs
  // are zero; the second direction begins at the example's last position.
  std::optional<Tensor> lengths = {};
};

// Hochreiter and Schmidhuber, "Long Short-Term Memory" (1997), with forget gates: c' = f c + i g and
// h' = o tanh(c'). Maps x [N, T, D] to [N, T, H] (2 H if bidirectional), and returns the last state too.
class Lstm
    : public ModuleOf<std::pair<Tensor, LstmState>(const Tensor& x, const RecurrentContext<LstmState>&)> {
 public:
  explicit Lstm(int64_t hidden, const RecurrentOptions& options = {});
  using ModuleOf::operator();
  std::pair<Tensor, LstmState> operator()(const Tensor& x, Where where = Where::current()) const;
};

// Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder" (arXiv 1406.1078), with the reset
// gate behind the product: n = tanh(x W_n + b_n + r (h U_n + d_n)) and h' = (1 - z) n + z h.
class Gru : public ModuleOf<std::pair<Tensor, Tensor>(const Tensor& x, const RecurrentContext<Tensor>&)> {
 public:
  explicit Gru(int64_t hidden, const RecurrentOptions& options = {});
  using ModuleOf::operator();
  std::pair<Tensor, Tensor> operator()(const Tensor& x, Where where = Where::current()) const;
};

// Elman, "Finding structure in time" (1990): h' = tanh(x W + b + h U + d).
class Rnn : public ModuleOf<std::pair<Tensor, Tensor>(const Tensor& x, const RecurrentContext<Tensor>&)> {
 public:
  explicit Rnn(int64_t hidden, const RecurrentOptions& options = {});
  using ModuleOf::operator();
  std::pair<Tensor, Tensor> operator()(const Tensor& x, Where where = Where::current()) const;
};

struct CellOptions {
  bool bias = true;
  bool relu = false;  // Activation of RnnCell: relu instead of tanh.
  MathMode math = MathMode::kIeee;
};

// One position: maps x [N, D] and the state to the next state. Parameters "weight_ih", "weight_hh",
// "bias_ih", "bias_hh", as above.
class LstmCell : public ModuleOf<LstmState(const Tensor& x, const LstmState& state)> {
 public:
  explicit LstmCell(int64_t hidden, const CellOptions& options = {});
};
class GruCell : public ModuleOf<Tensor(const Tensor& x, const Tensor& h)> {
 public:
  explicit GruCell(int64_t hidden, const CellOptions& options = {});
};
class RnnCell : public ModuleOf<Tensor(const Tensor& x, const Tensor& h)> {
 public:
  explicit RnnCell(int64_t hidden, const CellOptions& options = {});
};

// A layer of a cell of one's own, whose state S is a tree of tensors; the first tensor is the output. Maps
// x [N, T, D] and the first state to the outputs [N, T, H] and the last state.
//
//   auto layer = nn::Recurrent(nn::Make<MyCell>(64));
//   auto [y, last] = layer(x, first);
template <typename S>
class RecurrentLayer : public LayerOf<std::pair<Tensor, S>(const Tensor& x, const S& first)> {
 public:
  explicit RecurrentLayer(ModuleOf<S(const Tensor&, const S&)> cell) : cell_(this->Child("cell", cell)) {}

 protected:
  std::pair<Tensor, S> Forward(const Tensor& x, const S& first) override {
    if (x.rank() < 2) return {this->Fail(x, "takes a tensor of shape [batch, time, ...]"), S()};
    Shape turned = {1, 0};
    for (int64_t d = 2; d < x.rank(); ++d) turned.push_back(d);
    auto [last, outputs] = Scan(first, Transpose(x, turned), [&](const S& state, const Tensor& now) {
      S next = cell_(now, state);
      Tensor output;
      bool is_first = true;
      ForEachTensor(next, [&](const Tensor& tensor) {
        if (std::exchange(is_first, false)) output = tensor;
      });
      return std::pair(next, output);
    });
    if (!outputs.ok()) return {};
    turned.resize(2);
    for (int64_t d = 2; d < outputs.rank(); ++d) turned.push_back(d);
    return {Transpose(outputs, turned), last};
  }

 private:
  ModuleOf<S(const Tensor&, const S&)> cell_;
};

template <typename S>
ModuleOf<std::pair<Tensor, S>(const Tensor&, const S&)> Recurrent(ModuleOf<S(const Tensor&, const S&)> cell) {
  return ModuleOf<std::pair<Tensor, S>(const Tensor&, const S&)>(
      std::make_shared<RecurrentLayer<S>>(std::move(cell)));
}

}  // namespace sinter::nn

#endif  // SINTER_FRONTEND_NN_RECURRENT_H_
