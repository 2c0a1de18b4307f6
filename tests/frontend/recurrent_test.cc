// Recurrent layers against plain loops in double, and their training against cells whose positions are
// written out.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <map>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

using RecurrentTest = DeviceTest;

constexpr int64_t kExamples = 3, kPositions = 5, kFeatures = 4, kUnits = 6;

using Weights = std::map<std::string, std::vector<float>>;

double Logistic(double x) { return 1 / (1 + std::exp(-x)); }

// The next h (and c, in place) of one example. `w` names end in `suffix`.
std::vector<double> NextState(const std::string& kind, const std::vector<double>& x,
                              const std::vector<double>& h, std::vector<double>& c, const Weights& w,
                              const std::string& suffix) {
  const size_t hidden = kind == "lstm" ? c.size() : h.size();
  const auto sum = [&](const char* side, const std::vector<double>& v, size_t row) {
    double total = w.at(std::string("bias_") + side + suffix)[row];
    for (size_t k = 0; k < v.size(); ++k) {
      total += w.at(std::string("weight_") + side + suffix)[row * v.size() + k] * v[k];
    }
    return total;
  };
  std::vector<double> next(hidden);
  for (size_t j = 0; j < hidden; ++j) {
    const auto both = [&](size_t gate) {
      return sum("ih", x, gate * hidden + j) + sum("hh", h, gate * hidden + j);
    };
    if (kind == "lstm") {
      c[j] = Logistic(both(1)) * c[j] + Logistic(both(0)) * std::tanh(both(2));
      next[j] = Logistic(both(3)) * std::tanh(c[j]);
    } else if (kind == "gru") {
      const double r = Logistic(both(0)), z = Logistic(both(1));
      const double n = std::tanh(sum("ih", x, 2 * hidden + j) + r * sum("hh", h, 2 * hidden + j));
      next[j] = (1 - z) * n + z * h[j];
    } else {
      next[j] = std::tanh(both(0));
    }
  }
  const auto projection = w.find("weight_hr" + suffix);
  if (projection == w.end()) return next;
  std::vector<double> projected(h.size(), 0);
  for (size_t i = 0; i < h.size(); ++i)
    for (size_t j = 0; j < hidden; ++j) projected[i] += projection->second[i * hidden + j] * next[j];
  return projected;
}

// The outputs [kPositions, directions * width] of one example of `length` positions after `layers` layers.
std::vector<std::vector<double>> Reference(const std::string& kind, std::vector<std::vector<double>> x,
                                           int64_t length, int layers, int directions, const Weights& w,
                                           size_t width = kUnits) {
  for (int layer = 0; layer < layers; ++layer) {
    std::vector<std::vector<double>> y(x.size());
    for (int direction = 0; direction < directions; ++direction) {
      const std::string suffix = "_l" + std::to_string(layer) + (direction == 1 ? "_reverse" : "");
      std::vector<double> h(width), c(kUnits);
      for (int64_t step = 0; step < kPositions; ++step) {
        const int64_t t = direction == 1 ? kPositions - 1 - step : step;
        const bool is_inside = t < length;
        if (is_inside) h = NextState(kind, x[t], h, c, w, suffix);
        for (double value : h) y[t].push_back(is_inside ? value : 0);
      }
    }
    x = std::move(y);
  }
  return x;
}

struct Made {
  Tensor y;
  std::vector<Tensor> last;
};

Made Layer(const std::string& kind, const Tensor& x, const Tensor& lengths,
           const nn::RecurrentOptions& options) {
  if (kind == "lstm") {
    auto [y, last] = nn::Lstm(kUnits, options)(x, {.lengths = lengths});
    return {y, {last.h, last.c}};
  }
  if (kind == "gru") {
    auto [y, last] = nn::Gru(kUnits, options)(x, {.lengths = lengths});
    return {y, {last}};
  }
  auto [y, last] = nn::Rnn(kUnits, options)(x, {.lengths = lengths});
  return {y, {last}};
}

TEST_F(RecurrentTest, LayersDirectionsAndLengthsAreThoseOfPlainLoops) {
  const std::vector<int32_t> lengths = {5, 2, 0};
  const HostTensor x = RandomFloats({kExamples, kPositions, kFeatures}, 11),
                   n = *HostTensor::FromVector<int32_t>({3}, lengths);
  for (const std::string kind : {"lstm", "gru", "rnn"}) {
    Graph graph(kind, {.seed = 5});
    graph.Function("f", Mode::kEval, [&](Builder& b) {
      Made made = Layer(kind, b.Input("x", F32, {kExamples, kPositions, kFeatures}),
                        b.Input("n", I32, {kExamples}), {.layers = 2, .bidirectional = true});
      b.Output("y", made.y);
      b.Output("h", made.last[0]);
    });
    Session session = MustStart(graph, {.device = TestDevice()});
    Weights w;
    for (const Variable& variable : graph.variables()) {
      w[std::string(variable.name())] = VariableFloats(session, variable.name());
    }
    ASSERT_EQ(w.size(), 16u);
    const std::vector<float> in = ToFloats(x), y = Floats(session, "f", {{"x", x}, {"n", n}}, "y");
    for (int64_t i = 0; i < kExamples; ++i) {
      std::vector<std::vector<double>> example(kPositions);
      for (int64_t t = 0; t < kPositions; ++t) {
        const auto* const begin = in.data() + (i * kPositions + t) * kFeatures;
        example[t].assign(begin, begin + kFeatures);
      }
      const auto expected = Reference(kind, example, lengths[i], 2, 2, w);
      for (int64_t t = 0; t < kPositions; ++t) {
        for (int64_t j = 0; j < 2 * kUnits; ++j) {
          EXPECT_NEAR(y[(i * kPositions + t) * 2 * kUnits + j], expected[t][j], 1e-6) << kind << i << t << j;
        }
      }
    }
  }
}

TEST_F(RecurrentTest, ProjectedLstmsAreThoseOfPlainLoops) {
  constexpr int64_t kProjected = 2;
  const std::vector<int32_t> lengths = {5, 2, 1};
  const HostTensor x = RandomFloats({kExamples, kPositions, kFeatures}, 11),
                   n = *HostTensor::FromVector<int32_t>({3}, lengths);
  Graph graph("g", {.seed = 5});
  nn::Lstm lstm(kUnits, {.layers = 2, .bidirectional = true, .projection = kProjected});
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor in = b.Input("x", F32, {kExamples, kPositions, kFeatures});
    const auto [y, last] = lstm(in, {.lengths = b.Input("n", I32, {kExamples})});
    EXPECT_EQ(last.h.shape(), (Shape{4, kExamples, kProjected}));
    EXPECT_EQ(last.c.shape(), (Shape{4, kExamples, kUnits}));
    b.Output("y", y);
    b.Output("h", last.h);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  Weights w;
  for (const Variable& variable : graph.variables()) {
    w[std::string(variable.name())] = VariableFloats(session, variable.name());
  }
  ASSERT_EQ(w.size(), 20u);
  EXPECT_EQ(w["weight_hr_l1_reverse"].size(), static_cast<size_t>(kProjected * kUnits));
  EXPECT_EQ(w["weight_hh_l0"].size(), static_cast<size_t>(4 * kUnits * kProjected));
  EXPECT_EQ(w["weight_ih_l1"].size(), static_cast<size_t>(4 * kUnits * 2 * kProjected));
  const auto outputs = session.Run("f", {{"x", x}, {"n", n}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  const std::vector<float> in = ToFloats(x), y = ToFloats((*outputs)["y"]), h = ToFloats((*outputs)["h"]);
  for (int64_t i = 0; i < kExamples; ++i) {
    std::vector<std::vector<double>> example(kPositions);
    for (int64_t t = 0; t < kPositions; ++t) {
      const auto* const begin = in.data() + (i * kPositions + t) * kFeatures;
      example[t].assign(begin, begin + kFeatures);
    }
    const auto expected = Reference("lstm", example, lengths[i], 2, 2, w, kProjected);
    for (int64_t j = 0; j < 2 * kProjected; ++j) {
      for (int64_t t = 0; t < kPositions; ++t)
        EXPECT_NEAR(y[(i * kPositions + t) * 2 * kProjected + j], expected[t][j], 1e-6) << i << t << j;
    }
    for (int64_t j = 0; j < kProjected; ++j) {
      EXPECT_NEAR(h[(2 * kExamples + i) * kProjected + j], expected[lengths[i] - 1][j], 1e-6);
      EXPECT_NEAR(h[(3 * kExamples + i) * kProjected + j], expected[0][kProjected + j], 1e-6);
    }
  }
}

TEST_F(RecurrentTest, ProjectedLstmsGoOnAndLearn) {
  const HostTensor x = RandomFloats({kExamples, kPositions, kFeatures}, 12);
  Graph graph("g", {.seed = 5});
  nn::Lstm lstm(kUnits, {.projection = 3});
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor in = b.Input("x", F32, {kExamples, kPositions, kFeatures});
    const auto [front, middle] = lstm(in[{Range{}, Range{0, 3}}]);
    b.Output("parts", Concat({front, lstm(in[{Range{}, Range{3, {}}}], {.first = middle}).first}, 1));
    b.Output("whole", lstm(in).first);
  });
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Tensor in = b.Input("x", F32, {kExamples, kPositions, kFeatures});
    const Tensor loss = MseLoss(lstm(in).first, Tanh(in[{Ellipsis, Range{0, 3}}]) * 0.5);
    b.Output("loss", loss);
    optim::Adam{.learning_rate = 0.05}.Minimize(loss);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "parts"),
              Pointwise(FloatNear(1e-6f), Floats(session, "f", {{"x", x}}, "whole")));
  const float first = Floats(session, "train", {{"x", x}}, "loss")[0];
  for (int step = 0; step < 60; ++step) Floats(session, "train", {{"x", x}}, "loss");
  EXPECT_LT(Floats(session, "train", {{"x", x}}, "loss")[0], first / 4);
}

// The last state, and training: three steps change the same weights alike.
TEST_F(RecurrentTest, TrainAsTheirCellsWrittenOut) {
  const HostTensor x = RandomFloats({kExamples, kPositions, kFeatures}, 21);
  std::map<std::string, std::vector<float>> results[2];
  std::map<std::string, HostTensor> first_weights;
  for (const bool is_layer : {true, false}) {
    Graph graph("lstm", {.seed = 9});
    graph.Function("train", Mode::kTrain, [&](Builder& b) {
      Tensor in = b.Input("x", F32, {kExamples, kPositions, kFeatures}), y;
      nn::LstmState last;
      if (is_layer) {
        std::tie(y, last) = nn::Lstm(kUnits)(in);
      } else {
        nn::LstmCell cell(kUnits);
        last = {b.Full(F32, {kExamples, kUnits}, 0.0), b.Full(F32, {kExamples, kUnits}, 0.0)};
        std::vector<Tensor> outputs;
        for (int64_t t = 0; t < kPositions; ++t) {
          last = cell(in[{Range{}, t}], last);
          outputs.push_back(last.h);
        }
        y = Stack(outputs, 1);
      }
      Tensor loss = Mean(Square(y)) + Sum(last.h * last.c);
      optim::Sgd{.learning_rate = 0.5}.Minimize(loss);
      b.Output("loss", loss);
    });
    Session session = MustStart(graph, {.device = TestDevice()});
    for (const char* name : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"}) {
      const std::string mine = is_layer ? std::string(name) + "_l0" : name;
      if (is_layer) {
        first_weights[name] = *session.ReadVariable(mine);
      } else {
        ASSERT_TRUE(session.WriteVariable(mine, first_weights[name]).ok());
      }
    }
    for (int step = 0; step < 3; ++step) {
      results[is_layer]["loss" + std::to_string(step)] = Floats(session, "train", {{"x", x}}, "loss");
    }
    for (const char* name : {"weight_ih", "weight_hh", "bias_ih", "bias_hh"}) {
      results[is_layer][name] = VariableFloats(session, is_layer ? std::string(name) + "_l0" : name);
    }
  }
  EXPECT_NE(results[0]["weight_hh"], ToFloats(first_weights["weight_hh"]));
  for (const auto& [name, values] : results[0]) {
    EXPECT_THAT(results[1][name], Pointwise(FloatNear(1e-5F), values)) << name;
  }
}

// A cell of one's own, in a layer.
class Decay : public nn::LayerOf<Tensor(const Tensor& x, const Tensor& state)> {
 protected:
  Tensor Forward(const Tensor& x, const Tensor& state) override { return state * 0.5 + x; }
};

TEST_F(RecurrentTest, TakesCellsOfOnesOwn) {
  Graph graph("decay");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    auto layer = nn::Recurrent(nn::Make<Decay>());
    auto [y, last] = layer(b.Input("x", F32, {1, 3, 2}), b.Full(F32, {1, 2}, 8.0));
    b.Output("y", y);
    b.Output("last", last);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = *HostTensor::FromVector<float>({1, 3, 2}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(Floats(session, "f", {{"x", x}}, "y"), (std::vector<float>{5, 6, 5.5, 7, 7.75, 9.5}));
  EXPECT_EQ(Floats(session, "f", {{"x", x}}, "last"), (std::vector<float>{7.75, 9.5}));
}

std::string LayerErrorOf(const std::function<void(Builder&, const Tensor&)>& body) {
  Graph graph("wrong");
  graph.Function("f", Mode::kEval, [&](Builder& b) { body(b, b.Input("x", F32, {3, 5, 4})); });
  return std::string(graph.status().message());
}

TEST(RecurrentErrorsTest, SayWhatIsWrong) {
  EXPECT_THAT(LayerErrorOf([](Builder& b, const Tensor& x) { nn::Lstm(6)(x[0]); }),
              HasSubstr("takes a tensor of floats of shape [batch, time, features]"));
  EXPECT_THAT(LayerErrorOf([](Builder& b, const Tensor& x) { nn::Gru(0)(x); }),
              HasSubstr("has 0 units and 1 layers; expected at least 1"));
  EXPECT_THAT(LayerErrorOf([](Builder& b, const Tensor& x) { nn::Gru(6)(x, {.first = x}); }),
              HasSubstr("is given a state of f32[3,5,4]; expected [1,3,6]"));
  EXPECT_THAT(LayerErrorOf([](Builder& b, const Tensor& x) { nn::Rnn(6)(x, {.lengths = x[{0, 0}]}); }),
              HasSubstr("is given lengths of f32[4]; expected i32[3]"));
  EXPECT_THAT(
      LayerErrorOf([](Builder& b, const Tensor& x) { nn::GruCell(6)(x[0], x[0]); }),
      HasSubstr(
          "takes x of shape [batch, features] and a state of shape [batch, 6], got a state of f32[5,4]"));
}

}  // namespace
}  // namespace sinter
