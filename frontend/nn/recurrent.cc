#include "sinter/frontend/nn/recurrent.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

namespace sinter::nn {

namespace {

enum class Gates { kLstm, kGru, kRnn };

int64_t CountGates(Gates gates) { return gates == Gates::kLstm ? 4 : gates == Gates::kGru ? 3 : 1; }

const char* NameOf(Gates gates) {
  return gates == Gates::kLstm ? "Lstm" : gates == Gates::kGru ? "Gru" : "Rnn";
}

// The parameters of one direction of a layer.
struct Weights {
  Tensor ih, hh;
  std::optional<Tensor> bias_ih, bias_hh, hr;
};

// The part of what a cell adds up that its input makes, for any number of leading dimensions.
Tensor OfInput(Gates gates, const Tensor& x, const Weights& w, MathMode math) {
  Tensor sum = MatMul(x, w.ih, {.transpose_b = true, .math = math});
  if (w.bias_ih) sum = sum + *w.bias_ih;
  // The reset gate of a GRU multiplies the other bias too.
  if (w.bias_hh && gates != Gates::kGru) sum = sum + *w.bias_hh;
  return sum;
}

// The next state, from OfInput's part of this position.
std::vector<Tensor> Next(Gates gates, const Tensor& of_input, const std::vector<Tensor>& state,
                         const Weights& w, bool relu, MathMode math) {
  Tensor of_state = MatMul(state[0], w.hh, {.transpose_b = true, .math = math});
  const int64_t width = of_state.dim(1) / CountGates(gates);
  const auto gate = [&](const Tensor& all, int64_t i) {
    return SliceDim(all, 1, i * width, (i + 1) * width);
  };
  if (gates == Gates::kLstm) {
    const Tensor z = of_input + of_state;
    const Tensor c =
        sinter::Sigmoid(gate(z, 1)) * state[1] + sinter::Sigmoid(gate(z, 0)) * sinter::Tanh(gate(z, 2));
    const Tensor h = sinter::Sigmoid(gate(z, 3)) * sinter::Tanh(c);
    return {w.hr ? MatMul(h, *w.hr, {.transpose_b = true, .math = math}) : h, c};
  }
  if (gates == Gates::kRnn)
    return {relu ? sinter::Relu(of_input + of_state) : sinter::Tanh(of_input + of_state)};
  if (w.bias_hh) of_state = of_state + *w.bias_hh;
  const Tensor r = sinter::Sigmoid(gate(of_input, 0) + gate(of_state, 0));
  const Tensor z = sinter::Sigmoid(gate(of_input, 1) + gate(of_state, 1));
  const Tensor n = sinter::Tanh(gate(of_input, 2) + r * gate(of_state, 2));
  return {(1.0 - z) * n + z * state[0]};
}

// The parameters, for layers and cells.
template <typename Signature>
class WithWeights : public LayerOf<Signature> {
 protected:
  WithWeights(Gates gates, int64_t hidden, bool bias, int64_t projection = 0)
      : gates_(gates), hidden_(hidden), bias_(bias), projection_(projection) {}

  // The width of the outputs and of the first tensor of the state.
  int64_t width() const { return projection_ > 0 ? projection_ : hidden_; }

  Weights Make(const Tensor& x, const std::string& suffix, int64_t inputs) {
    const double bound = hidden_ > 0 ? 1 / std::sqrt(static_cast<double>(hidden_)) : 0;
    const int64_t rows = CountGates(gates_) * hidden_;
    const auto make = [&](const char* name, const Shape& shape) {
      return this->MakeParameter(x, name + suffix, shape, Uniform(-bound, bound), 0, 0);
    };
    Weights w{make("weight_ih", {rows, inputs}), make("weight_hh", {rows, width()}), {}, {}, {}};
    if (bias_) w.bias_ih = make("bias_ih", {rows});
    if (bias_) w.bias_hh = make("bias_hh", {rows});
    if (projection_ > 0) w.hr = make("weight_hr", {projection_, hidden_});
    return w;
  }

  Gates gates_;
  int64_t hidden_;
  bool bias_;
  int64_t projection_;
};

template <typename State>
class RecurrentStack
    : public WithWeights<std::pair<Tensor, State>(const Tensor& x, const RecurrentContext<State>& context)> {
 public:
  RecurrentStack(Gates gates, int64_t hidden, const RecurrentOptions& options)
      : RecurrentStack::WithWeights(gates, hidden, options.bias, options.projection), options_(options) {}

  std::string Describe() const override {
    return absl::StrCat(NameOf(this->gates_), "(", this->hidden_, ")");
  }

 protected:
  std::pair<Tensor, State> Forward(const Tensor& x, const RecurrentContext<State>& context) override {
    if (const std::string wrong = WhatIsWrong(x, context); !wrong.empty())
      return {this->Fail(x, wrong), State()};
    const int64_t directions = options_.bidirectional ? 2 : 1;
    Tensor y = options_.time_first ? x : Transpose(x, {1, 0, 2});
    std::vector<std::vector<Tensor>> lasts;  // By layer and direction; of each state tensor.
    for (int64_t layer = 0; layer < options_.layers; ++layer) {
      if (layer > 0 && options_.dropout > 0 && this->ModeOf(x) == Mode::kTrain)
        y = sinter::Dropout(y, options_.dropout);
      std::vector<Tensor> outputs;
      for (int64_t direction = 0; direction < directions; ++direction) {
        const std::string suffix = absl::StrCat("_l", layer, direction == 1 ? "_reverse" : "");
        const Weights w = this->Make(x, suffix, y.dim(2));
        if (!w.ih.ok() || !w.hh.ok()) return {};
        auto [last, output] =
            Run(y, w, First(x, context, layer * directions + direction), context.lengths, direction == 1);
        if (!output.ok()) return {};
        lasts.push_back(last);
        outputs.push_back(output);
      }
      y = directions == 1 ? outputs[0] : Concat(outputs, 2);
    }
    State state;
    size_t part = 0;
    ForEachTensor(state, [&](Tensor& tensor) {
      std::vector<Tensor> all;
      for (const std::vector<Tensor>& last : lasts) all.push_back(last[part]);
      ++part;
      tensor = Stack(all, 0);
    });
    return {options_.time_first ? y : Transpose(y, {1, 0, 2}), state};
  }

 private:
  std::string WhatIsWrong(const Tensor& x, const RecurrentContext<State>& context) const {
    if (this->hidden_ < 1 || options_.layers < 1) {
      return absl::StrCat("has ", this->hidden_, " units and ", options_.layers,
                          " layers; expected at least 1");
    }
    if (options_.projection != 0 && this->gates_ != Gates::kLstm)
      return "has a projection, which is of Lstm alone";
    if (options_.projection < 0 || (options_.projection > 0 && options_.projection >= this->hidden_)) {
      return absl::StrCat("has a projection to ", options_.projection, "; expected less than its ",
                          this->hidden_, " units, or 0 for none");
    }
    if (x.rank() != 3 || !IsFloat(x.dtype())) {
      return options_.time_first ? "takes a tensor of floats of shape [time, batch, features]"
                                 : "takes a tensor of floats of shape [batch, time, features]";
    }
    const int64_t batch = x.dim(options_.time_first ? 1 : 0);
    // Units of a cell follow those of the outputs.
    Shape wanted = {options_.layers * (options_.bidirectional ? 2 : 1), batch, this->width()};
    std::string wrong;
    if (context.first) {
      ForEachTensor(*context.first, [&](const Tensor& tensor) {
        const Shape expected = std::exchange(wanted, {wanted[0], wanted[1], this->hidden_});
        if (tensor.shape() == expected && tensor.dtype() == x.dtype()) return;
        wrong = absl::StrCat("is given a state of ", tensor.ToString(), "; expected [", expected[0], ",",
                             expected[1], ",", expected[2],
                             "], [layers * directions, batch, units], of the input's type");
      });
    }
    if (context.lengths && (context.lengths->shape() != Shape{batch} ||
                            (context.lengths->dtype() != I32 && context.lengths->dtype() != I64))) {
      return absl::StrCat("is given lengths of ", context.lengths->ToString(), "; expected i32[", batch, "]");
    }
    return wrong;
  }

  // The first state of a layer and direction.
  std::vector<Tensor> First(const Tensor& x, const RecurrentContext<State>& context, int64_t number) {
    std::vector<Tensor> first;
    if (context.first) {
      ForEachTensor(*context.first, [&](const Tensor& tensor) { first.push_back(tensor[number]); });
      return first;
    }
    const int64_t batch = x.dim(options_.time_first ? 1 : 0);
    first.push_back(this->BuilderOf(x).Full(x.dtype(), {batch, this->width()}, 0.0));
    if (this->gates_ == Gates::kLstm)
      first.push_back(this->BuilderOf(x).Full(x.dtype(), {batch, this->hidden_}, 0.0));
    return first;
  }

  // y: [T, N, D].
  std::pair<std::vector<Tensor>, Tensor> Run(const Tensor& y, const Weights& w,
                                             const std::vector<Tensor>& first,
                                             const std::optional<Tensor>& lengths, bool reverse) {
    struct Position {
      Tensor of_input;
      std::optional<Tensor> is_inside;
    };
    Position positions{OfInput(this->gates_, y, w, options_.math), {}};
    if (lengths) {
      const Tensor time = this->BuilderOf(y).Iota(lengths->dtype(), {y.dim(0), 1, 1}, 0);
      positions.is_inside = time < Reshape(*lengths, {1, y.dim(1), 1});
    }
    auto [last, outputs] = Scan(first, positions,
                                [&](const std::vector<Tensor>& state, const Position& at) {
                                  std::vector<Tensor> next =
                                      Next(this->gates_, at.of_input, state, w, options_.relu, options_.math);
                                  if (!at.is_inside) return std::pair(next, next[0]);
                                  Tensor output = Select(*at.is_inside, next[0], 0.0);
                                  for (size_t i = 0; i < next.size(); ++i)
                                    next[i] = Select(*at.is_inside, next[i], state[i]);
                                  return std::pair(next, output);
                                },
                                {.reverse = reverse});
    return {last, outputs};
  }

  RecurrentOptions options_;
};

template <typename State>
class Cell : public WithWeights<State(const Tensor& x, const State& state)> {
 public:
  Cell(Gates gates, int64_t hidden, const CellOptions& options)
      : Cell::WithWeights(gates, hidden, options.bias), options_(options) {}

  std::string Describe() const override {
    return absl::StrCat(NameOf(this->gates_), "Cell(", this->hidden_, ")");
  }

 protected:
  State Forward(const Tensor& x, const State& state) override {
    std::vector<Tensor> parts;
    bool fits = x.rank() == 2 && this->hidden_ > 0;
    ForEachTensor(state, [&](const Tensor& tensor) {
      parts.push_back(tensor);
      fits = fits && tensor.shape() == Shape{x.dim(0), this->hidden_};
    });
    State next;
    if (!fits) {
      this->Fail(x, absl::StrCat("takes x of shape [batch, features] and a state of shape [batch, ",
                                 this->hidden_, "], got a state of ", parts[0].ToString()));
      return next;
    }
    const Weights w = this->Make(x, "", x.dim(1));
    if (!w.ih.ok() || !w.hh.ok()) return next;
    const Tensor of_input = OfInput(this->gates_, x, w, options_.math);
    parts = Next(this->gates_, of_input, parts, w, options_.relu, options_.math);
    size_t part = 0;
    ForEachTensor(next, [&](Tensor& tensor) { tensor = parts[part++]; });
    return next;
  }

 private:
  CellOptions options_;
};

}  // namespace

Lstm::Lstm(int64_t hidden, const RecurrentOptions& options)
    : ModuleOf(std::make_shared<RecurrentStack<LstmState>>(Gates::kLstm, hidden, options)) {}
Gru::Gru(int64_t hidden, const RecurrentOptions& options)
    : ModuleOf(std::make_shared<RecurrentStack<Tensor>>(Gates::kGru, hidden, options)) {}
Rnn::Rnn(int64_t hidden, const RecurrentOptions& options)
    : ModuleOf(std::make_shared<RecurrentStack<Tensor>>(Gates::kRnn, hidden, options)) {}

std::pair<Tensor, LstmState> Lstm::operator()(const Tensor& x, Where where) const {
  return (*this)(x, RecurrentContext<LstmState>(), where);
}
std::pair<Tensor, Tensor> Gru::operator()(const Tensor& x, Where where) const {
  return (*this)(x, RecurrentContext<Tensor>(), where);
}
std::pair<Tensor, Tensor> Rnn::operator()(const Tensor& x, Where where) const {
  return (*this)(x, RecurrentContext<Tensor>(), where);
}

LstmCell::LstmCell(int64_t hidden, const CellOptions& options)
    : ModuleOf(std::make_shared<Cell<LstmState>>(Gates::kLstm, hidden, options)) {}
GruCell::GruCell(int64_t hidden, const CellOptions& options)
    : ModuleOf(std::make_shared<Cell<Tensor>>(Gates::kGru, hidden, options)) {}
RnnCell::RnnCell(int64_t hidden, const CellOptions& options)
    : ModuleOf(std::make_shared<Cell<Tensor>>(Gates::kRnn, hidden, options)) {}

}  // namespace sinter::nn
