// Layers that programs write: of one and of several inputs and outputs, their names and their errors.
#include "sinter/frontend/nn/module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::vector<std::string> Names(const std::vector<Variable>& variables) {
  std::vector<std::string> names;
  for (const Variable& variable : variables) names.push_back(variable.name());
  return names;
}

struct State {
  Tensor h, c;
};

// A cell of an LSTM (Hochreiter and Schmidhuber, 1997), whose forget gates begin with a bias of 1.
class Cell : public nn::LayerOf<std::pair<Tensor, State>(const Tensor& x, const State& before)> {
 public:
  explicit Cell(int64_t width)
      : width_(width),
        in_(Child("in", nn::Linear(4 * width))),
        state_(Child("state", nn::Linear(4 * width, {.bias = false}))) {}

 protected:
  std::pair<Tensor, State> Forward(const Tensor& x, const State& before) override {
    const std::vector<Tensor> gates = Split(in_(x) + state_(before.h), Shape(4, width_), 1);
    State after;
    after.c = Sigmoid(gates[1] + 1.0) * before.c + Sigmoid(gates[0]) * Tanh(gates[2]);
    after.h = Sigmoid(gates[3]) * Tanh(after.c);
    return {after.h, after};
  }

 private:
  int64_t width_;
  nn::Linear in_, state_;
};

TEST(ModuleTest, ACellTakesAndReturnsItsState) {
  Graph graph("g");
  auto cell = nn::Make<Cell>(3);
  cell.Named("cell");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {2, 5}), zeros = b.Full(F32, {2, 3}, 0);
    auto [first, between] = cell(x, State{zeros, zeros + 1.0});
    auto [second, after] = cell(x, between);
    EXPECT_EQ(second.ToString(), "f32[2,3]");
    b.Output("y", second);
    const std::vector<Tensor> gradients = Gradients(Sum(second), {x});
    b.Output("dx", gradients[0]);
  });
  ASSERT_TRUE(graph.status().ok()) << graph.status();
  EXPECT_THAT(Names(graph.variables()),
              UnorderedElementsAre("cell.in.weight", "cell.in.bias", "cell.state.weight"));
  Session session = MustStart(graph);
  for (const char* name : {"cell.in.weight", "cell.state.weight"}) {
    const HostTensor old = *session.ReadVariable(name);
    const auto count = static_cast<size_t>(old.num_elements());
    HostTensor made = *HostTensor::FromVector<float>({old.shape().begin(), old.shape().end()},
                                                     std::vector<float>(count, 0));
    ASSERT_TRUE(session.WriteVariable(name, made).ok());
  }
  // The candidates are 0: each step keeps sigmoid(1) of the state, and half of it goes out.
  const HostTensor x = *HostTensor::FromVector<float>({2, 5}, std::vector<float>(10, 1));
  const float kept = 1 / (1 + std::exp(-1.0f));
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "y"), Each(FloatNear(0.5f * std::tanh(kept * kept), 1e-6f)));
}

struct Skips {
  Tensor first, second;
};

class Decoder : public nn::LayerOf<Tensor(const Tensor& x, const Skips& skips, std::optional<Tensor> time,
                                          std::vector<Tensor>* seen)> {
 protected:
  Tensor Forward(const Tensor& x, const Skips& skips, std::optional<Tensor> time,
                 std::vector<Tensor>* seen) override {
    Tensor y = Concat({x, skips.first, skips.second}, 1);
    if (time) y = y * *time;
    if (seen) seen->push_back(y);
    return y;
  }
};

TEST(ModuleTest, WhatIsAbsentIsAllowed) {
  Graph graph("g");
  auto decoder = nn::Make<Decoder>();
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {1, 2});
    std::vector<Tensor> seen;
    b.Output("a", decoder(x, {x, x + 1.0}, std::nullopt, nullptr));
    b.Output("b", decoder(x, {x, x}, b.Full(F32, {}, 2), &seen));
    EXPECT_EQ(seen.size(), 1u);
  });
  Session session = MustStart(graph);
  const HostTensor x = *HostTensor::FromVector<float>({1, 2}, {1, 2});
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "a"), ElementsAre(1, 2, 1, 2, 2, 3));
  EXPECT_THAT(Floats(session, "f", {{"x", x}}, "b"), ElementsAre(2, 4, 2, 4, 2, 4));
}

class Block : public nn::Layer {
 public:
  explicit Block(int64_t width) : up_(Child("up", nn::Sequential{nn::Linear(width), nn::Relu()})) {}

 protected:
  Tensor Forward(const Tensor& x) override {
    Tensor hidden = up_(x);
    kLine = Where::current().line() + 1;
    return x + hidden;
  }

 public:
  static inline uint32_t kLine = 0;  // Line of the sum.

 private:
  nn::Sequential up_;
};

class Stack : public nn::Layer {
 public:
  Stack(int64_t count, int64_t width)
      : blocks_(Children("blocks", count, [&](int64_t) { return nn::Make<Block>(width); })) {}
  std::string Describe() const override { return "Stack of " + std::to_string(blocks_.size()); }

 protected:
  Tensor Forward(const Tensor& x) override {
    Tensor y = x;
    for (const nn::Module& block : blocks_) y = block(y);
    return y;
  }

 private:
  std::vector<nn::Module> blocks_;
};

TEST(ModuleTest, ChildrenHaveNumbers) {
  Graph graph("g");
  nn::Module stack = nn::Make<Stack>(2, 4);
  stack.Named("net");
  graph.Function("f", Mode::kEval, [&](Builder& b) { b.Output("y", stack(b.Input("x", F32, {3, 4}))); });
  ASSERT_TRUE(graph.status().ok()) << graph.status();
  EXPECT_THAT(Names(stack.parameters()), ElementsAre("net.blocks.0.up.0.weight", "net.blocks.0.up.0.bias",
                                                     "net.blocks.1.up.0.weight", "net.blocks.1.up.0.bias"));
  ASSERT_EQ(stack.layer()->children().size(), 2u);
  EXPECT_EQ(stack.layer()->children()[1]->name(), "blocks.1");
  EXPECT_EQ(stack.layer()->children()[1]->path(), "net.blocks.1");
  EXPECT_EQ(stack.layer()->children()[1]->Describe(), "Block");
}

TEST(ModuleTest, ANameReplacesThePosition) {
  Graph graph("g");
  nn::Linear tail(2);
  nn::Sequential net{nn::Linear(3).Named("stem"), nn::Relu(), nn::Sequential{nn::Linear(4).Named("inner")},
                     tail};
  nn::Sequential other{nn::Relu(), tail};  // A second parent names nothing.
  net.Named("net");
  tail.Named("head");
  graph.Function("f", Mode::kEval, [&](Builder& b) { b.Output("y", net(b.Input("x", F32, {3, 5}))); });
  ASSERT_TRUE(graph.status().ok()) << graph.status();
  EXPECT_THAT(Names(net.parameters()), ElementsAre("net.stem.weight", "net.stem.bias", "net.2.inner.weight",
                                                   "net.2.inner.bias", "net.head.weight", "net.head.bias"));
}

TEST(ModuleTest, AParentThatIsGoneNamesNothing) {
  Graph graph("g");
  nn::Linear tail(2);
  {
    nn::Sequential gone{nn::Relu(), nn::Relu(), tail};
  }
  nn::Sequential net{nn::Relu(), tail};
  graph.Function("f", Mode::kEval, [&](Builder& b) { b.Output("y", net(b.Input("x", F32, {3, 5}))); });
  ASSERT_TRUE(graph.status().ok()) << graph.status();
  EXPECT_THAT(Names(net.parameters()), ElementsAre("1.weight", "1.bias"));
}

TEST(ModuleTest, ASummaryListsLayersAndWhatTheyHave) {
  Graph graph("g");
  nn::Linear tied(3);
  nn::Sequential net{nn::Linear(3).Named("stem"), nn::Sequential{nn::BatchNorm(), tied}, tied};
  net.Named("net");
  net.Freeze();
  graph.Function("f", Mode::kEval, [&](Builder& b) { b.Output("y", net(b.Input("x", F32, {2, 5}))); });
  EXPECT_EQ(net.Summary(),
            "net Sequential(3), frozen      f32[2,3]             0 parameters             0 bytes\n"
            "  stem Linear(3), frozen       f32[2,3]            18 parameters            72 bytes\n"
            "  1 Sequential(2), frozen      f32[2,3]             0 parameters             0 bytes\n"
            "    0 BatchNorm, frozen        f32[2,3]             6 parameters            48 bytes\n"
            "    1 Linear(3), frozen        f32[2,3]            12 parameters            48 bytes\n"
            "  1 Linear(3), frozen, shared  f32[2,3]             0 parameters             0 bytes\n"
            "together                                           36 parameters           168 bytes\n");
}

TEST(ModuleTest, FrozenModulesStayAsTheyAre) {
  Graph graph("g");
  nn::Linear body(4), head(2);
  body.Named("body").Freeze();
  head.Named("head");
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    optim::Sgd{.learning_rate = 0.1}.Minimize(Sum(Square(head(body(b.Input("x", F32, {3, 4}))))));
  });
  body.Freeze(false);
  graph.Function("all", Mode::kTrain, [&](Builder& b) {
    optim::Sgd{.learning_rate = 0.1}.Minimize(Sum(Square(head(body(b.Input("x", F32, {3, 4}))))),
                                              {.name = "all"});
  });
  EXPECT_THAT(Names(body.parameters()), ElementsAre("body.weight", "body.bias"));
  body.Freeze();
  EXPECT_TRUE(body.parameters().empty());
  EXPECT_THAT(Names(body.state()), ElementsAre("body.weight", "body.bias"));
  Session session = MustStart(graph);
  const HostTensor x = *HostTensor::FromVector<float>({3, 4}, std::vector<float>(12, 0.5f));
  const std::vector<float> before = VariableFloats(session, "body.weight");
  const std::vector<float> head_before = VariableFloats(session, "head.weight");
  ASSERT_TRUE(session.Run("train", {{"x", x}}).ok());
  EXPECT_EQ(VariableFloats(session, "body.weight"), before);
  EXPECT_NE(VariableFloats(session, "head.weight"), head_before);
  ASSERT_TRUE(session.Run("all", {{"x", x}}).ok());
  EXPECT_NE(VariableFloats(session, "body.weight"), before);
}

std::string At(uint32_t line) { return "module_test.cc:" + std::to_string(line); }

TEST(ModuleTest, AnErrorHasTheLineInForwardAndThatOfTheCall) {
  Graph graph("g");
  nn::Module stack = nn::Make<Stack>(2, 4);
  stack.Named("net");
  uint32_t call = 0;
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {3, 5});
    call = Where::current().line() + 1;
    b.Output("y", stack(x));
  });
  const std::string message(graph.status().message());
  EXPECT_THAT(message, HasSubstr(At(Block::kLine) + ": net.blocks.0 Block, called at "));
  EXPECT_THAT(message, HasSubstr(At(call) + ": Add(f32[3,5], f32[3,4])"));
  EXPECT_THAT(message, Not(HasSubstr("net.blocks.1")));
  EXPECT_THAT(message, Not(HasSubstr("layers.cc")));
}

TEST(ModuleTest, AnErrorOfSintersOwnLayersHasTheProgramsLine) {
  Graph graph("g");
  nn::Sequential net{nn::Sequential{nn::Linear(3), nn::Conv2d(4, 3)}, nn::Relu()};
  uint32_t call = 0;
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {3, 5});
    call = Where::current().line() + 1;
    b.Output("y", net(x));
  });
  EXPECT_THAT(
      std::string(graph.status().message()),
      AllOf(HasSubstr(At(call) + ": 0.1 Conv2d(4, 3x3): of f32[3,3] takes images of shape [N, C, H, W]"),
            Not(HasSubstr("called at")), Not(HasSubstr("layers.cc"))));
}

TEST(ModuleTest, WhatFailedIsReportedOnce) {
  Graph graph("g");
  auto cell = nn::Make<Cell>(3);
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {2, 5});
    const Tensor wrong = x + b.Input("y", F32, {3, 4});
    auto [y, state] = cell(x, State{wrong, x});
    EXPECT_FALSE(y.ok());
    EXPECT_FALSE(state.h.ok());
    b.Output("z", y);
  });
  const std::string message(graph.status().message());
  EXPECT_THAT(message, Not(HasSubstr("Cell")));
  EXPECT_THAT(message, HasSubstr("f32[3,4]"));
}

TEST(ModuleTest, ALayerNeedsTensorsOfTheFunction) {
  Graph graph("g"), other("h");
  auto decoder = nn::Make<Decoder>();
  Tensor foreign;
  other.Function("f", Mode::kEval, [&](Builder& b) { foreign = b.Input("x", F32, {1, 2}); });
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor x = b.Input("x", F32, {1, 2});
    b.Output("y", decoder(x, {x, foreign}, std::nullopt, nullptr));
  });
  EXPECT_THAT(std::string(graph.status().message()), HasSubstr("Decoder"));
}

}  // namespace
}  // namespace sinter
