// Loops that their data ends.
#include <gmock/gmock.h>

#include <functional>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

using WhileTest = DeviceTest;

HostTensor Vector(std::vector<float> values) {
  const auto size = static_cast<int64_t>(values.size());
  return *HostTensor::FromVector<float>({size}, std::move(values));
}

struct Root {
  Tensor x, trips;
};

// Newton's iteration for square roots, until all of them are close.
Root SquareRoots(const Tensor& of, const Tensor& zero, WhileOptions options = {}) {
  return While(
      Root{0.0 * of + 1.0, zero}, [&](const Root& r) { return Any(Abs(r.x * r.x - of) > 1e-4 * of); },
      [&](const Root& r) { return Root{0.5 * (r.x + of / r.x), r.trips + 1}; }, options);
}

std::pair<std::vector<float>, int> RootsWritten(const std::vector<float>& of, int at_most) {
  std::vector<float> x(of.size(), 1);
  int trips = 0;
  const auto goes_on = [&] {
    for (size_t i = 0; i < x.size(); ++i) {
      if (std::abs(x[i] * x[i] - of[i]) > 1e-4F * of[i]) return true;
    }
    return false;
  };
  for (; goes_on() && trips < at_most; ++trips) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = 0.5F * (x[i] + of[i] / x[i]);
  }
  return {x, trips};
}

Graph RootGraph(WhileOptions options = {}) {
  Graph graph("roots");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Root root = SquareRoots(b.Input("x", F32, {3}), b.Zeros(F32, {}), options);
    b.Output("root", root.x);
    b.Output("trips", root.trips);
  });
  return graph;
}

// How many trips a run makes depends on what it gets; runs follow each other with other counts, also none.
TEST_F(WhileTest, MakesAsManyTripsAsItsDataAsksFor) {
  Session session = MustStart(RootGraph(), {.device = TestDevice()});
  for (const std::vector<float>& of :
       {std::vector<float>{1, 1, 1}, {2, 3, 4}, {1e6F, 2, 3}, {1, 1, 1}, {9e6F, 1e-4F, 16}, {2, 2, 2}}) {
    const auto [root, trips] = RootsWritten(of, 1000);
    EXPECT_THAT(Floats(session, "f", {{"x", Vector(of)}}, "root"), Pointwise(testing::FloatEq(), root));
    EXPECT_THAT(Floats(session, "f", {{"x", Vector(of)}}, "trips"), ElementsAre(trips)) << of[0];
  }
}

TEST_F(WhileTest, MakesNoMoreThanAtMost) {
  for (const int64_t most : {0, 1, 2, 5}) {
    Session session = MustStart(RootGraph({.at_most = most}), {.device = TestDevice()});
    for (const std::vector<float>& of : {std::vector<float>{1, 1, 1}, {1e6F, 2, 3}, {2, 2, 2}}) {
      const auto [root, trips] = RootsWritten(of, static_cast<int>(most));
      EXPECT_THAT(Floats(session, "f", {{"x", Vector(of)}}, "root"), Pointwise(testing::FloatEq(), root));
      EXPECT_THAT(Floats(session, "f", {{"x", Vector(of)}}, "trips"), ElementsAre(trips)) << most;
    }
  }
}

// A gradient is that of the trips that a run makes: the program written out for each count gives it.
TEST_F(WhileTest, GradientsAreThoseOfTheTripsMade) {
  const auto step = [](const Tensor& x, const Tensor& w) { return Tanh(MatMul(x, w)) * 1.5; };
  Graph graph("gradients");
  graph.Function("loop", Mode::kEval, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {2, 4}), w = b.Input("w", F32, {4, 4}), limit = b.Input("limit", F32, {});
    struct State {
      Tensor x, count;
    };
    const State last = While(
        State{x, b.Zeros(F32, {})}, [&](const State& s) { return s.count < limit; },
        [&](const State& s) { return State{step(s.x, w), s.count + 1}; }, {.at_most = 6});
    std::vector<Tensor> gradients = Gradients(Sum(Square(last.x)), {x, w});
    b.Output("y", last.x);
    b.Output("gx", gradients[0]);
    b.Output("gw", gradients[1]);
  });
  for (int trips = 0; trips <= 6; ++trips) {
    graph.Function("written" + std::to_string(trips), Mode::kEval, [&](Builder& b) {
      Tensor x = b.Input("x", F32, {2, 4}), w = b.Input("w", F32, {4, 4}), y = x + 0.0 * Sum(w);
      for (int i = 0; i < trips; ++i) y = step(y, w);
      std::vector<Tensor> gradients = Gradients(Sum(Square(y)), {x, w});
      b.Output("y", y);
      b.Output("gx", gradients[0]);
      b.Output("gw", gradients[1]);
    });
  }
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = RandomFloats({2, 4}, 1), w = RandomFloats({4, 4}, 2);
  for (const int trips : {3, 0, 6, 1, 9, 2}) {
    const HostTensor limit = *HostTensor::FromVector<float>({}, {static_cast<float>(trips)});
    for (const char* output : {"y", "gx", "gw"}) {
      EXPECT_THAT(Floats(session, "loop", {{"x", x}, {"w", w}, {"limit", limit}}, output),
                  Pointwise(FloatNear(2e-5F), Floats(session, "written" + std::to_string(std::min(trips, 6)),
                                                     {{"x", x}, {"w", w}}, output)))
          << output << " of " << trips;
    }
  }
}

// Loops within each other: for each row, halve it until it is small, and count all halvings.
TEST_F(WhileTest, NestsInLoopsAndLoopsNestInIt) {
  struct State {
    Tensor x, count;
  };
  Graph graph("nested");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {3, 2});
    const auto halve = [&](const State& s) {
      return While(
          s, [](const State& t) { return Max(t.x, {}) > 1.0; },
          [](const State& t) { return State{t.x * 0.5, t.count + 1}; }, {.at_most = 100});
    };
    auto [count, rows] = Scan(b.Zeros(F32, {}), x, [&](const Tensor& c, const Tensor& row) {
      const State s = halve({row, c});
      return std::pair(s.count, s.x);
    });
    // Outer trips until ten halvings are made, each of which begins anew; inner trips of a fixed number.
    struct Outer {
      Tensor count, sum;
    };
    const Outer outer = While(
        Outer{b.Zeros(F32, {}), b.Zeros(F32, {2})}, [](const Outer& o) { return o.count < 10.0; },
        [&](const Outer& o) {
          const State s = halve({x[0], o.count});
          auto [sum, none] = Scan(o.sum, Steps{3},
                                  [&](const Tensor& t, const Tensor&) { return std::pair(t + s.x, None{}); });
          return Outer{s.count, sum};
        },
        {.at_most = 50});
    b.Output("count", count);
    b.Output("rows", rows);
    b.Output("outer", outer.count);
    b.Output("sum", outer.sum);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = *HostTensor::FromVector<float>({3, 2}, {5, 3, 0.5F, 1, 16, 2});
  for (int run = 0; run < 3; ++run) {
    EXPECT_THAT(Floats(session, "f", {{"x", x}}, "count"), ElementsAre(7));
    EXPECT_THAT(Floats(session, "f", {{"x", x}}, "rows"), ElementsAre(0.625F, 0.375F, 0.5F, 1, 1, 0.125F));
    EXPECT_THAT(Floats(session, "f", {{"x", x}}, "outer"), ElementsAre(12));
    EXPECT_THAT(Floats(session, "f", {{"x", x}}, "sum"), ElementsAre(7.5F, 4.5F));
  }
}

// Trains until the loss is small, in one run; the next run goes on from there.
TEST_F(WhileTest, TrainsUntilTheLossIsSmall) {
  Graph graph("line", {.seed = 3});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {8, 3}), goal = b.Input("goal", F32, {});
    Variable w = b.MakeVariable("w", F32, {3, 1}, {.init = nn::Uniform(-1, 1).Resolve(0, 0)});
    struct State {
      Tensor loss, steps;
    };
    const auto loss = [&] { return Mean(Square(MatMul(x, b.Read(w)) - Sum(x, {1}, {.keep_dims = true}))); };
    const State last = While(
        State{loss(), b.Zeros(F32, {})}, [&](const State& s) { return s.loss > goal; },
        [&](const State& s) {
          optim::Sgd{.learning_rate = 0.05}.Minimize(loss());
          return State{loss(), s.steps + 1};
        },
        {.at_most = 5000});
    b.Output("loss", last.loss);
    b.Output("steps", last.steps);
    b.Output("w", b.Read(w));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = RandomFloats({8, 3}, 7);
  float steps = 0;
  for (const float goal : {1e-2F, 1e-4F, 1e-6F}) {
    const HostTensor limit = *HostTensor::FromVector<float>({}, {goal});
    auto outputs = session.Run("train", {{"x", x}, {"goal", limit}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_LE(ToFloats((*outputs)["loss"])[0], goal);
    EXPECT_GT(ToFloats((*outputs)["steps"])[0], 0);
    EXPECT_EQ(ToFloats((*outputs)["w"]), VariableFloats(session, "w"));
    steps += ToFloats((*outputs)["steps"])[0];
    // Reached: a further run makes no step, and changes nothing.
    auto again = session.Run("train", {{"x", x}, {"goal", limit}});
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_THAT(ToFloats((*again)["steps"]), ElementsAre(0));
    EXPECT_EQ(ToFloats((*again)["w"]), ToFloats((*outputs)["w"]));
  }
  EXPECT_LT(steps, 5000);
  EXPECT_THAT(VariableFloats(session, "w"), Pointwise(FloatNear(0.02F), std::vector<float>{1, 1, 1}));
}

TEST_F(WhileTest, RandomNumbersDifferBetweenTrips) {
  struct Draws {
    Tensor rows, count;
  };
  Graph graph("draws");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    Tensor count = b.Input("count", I64, {});
    const Draws last = While(
        Draws{b.Zeros(F32, {6, 2}), b.Zeros(I64, {})}, [&](const Draws& d) { return d.count < count; },
        [&](const Draws& d) {
          return Draws{DynamicUpdateSlice(d.rows, b.RandomNormal(F32, {1, 2}), {d.count, 0}), d.count + 1};
        });
    b.Output("rows", last.rows);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor six = *HostTensor::FromVector<int64_t>({}, {6});
  std::vector<float> first = Floats(session, "f", {{"count", six}}, "rows");
  const std::vector<float> second = Floats(session, "f", {{"count", six}}, "rows");
  first.insert(first.end(), second.begin(), second.end());
  std::sort(first.begin(), first.end());
  EXPECT_EQ(std::adjacent_find(first.begin(), first.end()), first.end());
  EXPECT_EQ(std::count(first.begin(), first.end(), 0.0F), 0);
}

std::string WhileErrorOf(const std::function<void(Builder&, Tensor)>& body) {
  Graph graph("wrong");
  graph.Function("f", Mode::kEval, [&](Builder& b) { body(b, b.Input("x", F32, {4})); });
  return std::string(graph.status().message());
}

TEST(WhileErrorsTest, SayWhatIsWrong) {
  const auto same = [](const Tensor& x) { return x; };
  EXPECT_THAT(WhileErrorOf([&](Builder&, const Tensor& x) {
                While(x, [](const Tensor& y) { return y > 0.0; }, same);
              }),
              HasSubstr("gets i1[4] as its condition; expected i1[], one truth value: All or Any makes it"));
  EXPECT_THAT(WhileErrorOf(
                  [&](Builder&, const Tensor& x) { While(x, [](const Tensor& y) { return Sum(y); }, same); }),
              HasSubstr("gets f32[] as its condition; expected i1[]"));
  EXPECT_THAT(WhileErrorOf([&](Builder&, const Tensor& x) {
                While(
                    x, [](const Tensor& y) { return Any(y > 0.0); },
                    [](const Tensor& y) { return Concat({y, y}, 0); });
              }),
              HasSubstr("gets carry 0 as f32[4], and its body returns f32[8]; expected the same type"));
  EXPECT_THAT(WhileErrorOf([&](Builder&, const Tensor& x) {
                While(x, [](const Tensor& y) { return Any(y > 0.0); }, same, {.at_most = -1});
              }),
              HasSubstr("makes -1 trips; expected 0 to 2147483647"));
  EXPECT_THAT(WhileErrorOf([&](Builder& b, const Tensor& x) {
                While(
                    x, [](const Tensor& y) { return Any(y > 0.0); },
                    [&](const Tensor& y) {
                      b.Output("y", y);
                      return y;
                    });
              }),
              HasSubstr("is in the body of a loop; return the value from the body"));
}

TEST(WhileErrorsTest, AGradientNeedsABound) {
  Graph graph("unbounded");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {4});
    const Tensor y =
        While(x, [](const Tensor& t) { return Any(t > 1.0); }, [](const Tensor& t) { return t * 0.5; });
    b.Output("g", Gradients(Sum(y), {x})[0]);
  });
  const absl::Status status = Compile(graph).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("has no bound on its trips"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("WhileOptions{.at_most = n}"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("while_test.cc:"));
}

}  // namespace
}  // namespace sinter
