// Loops of the builder: each against the same program with its trips written out.
#include <gmock/gmock.h>

#include <functional>

#include "runtime/plan_generated.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using testing::Contains;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

using LoopsTest = DeviceTest;

struct State {
  Tensor h, c;
};

// A cell with a product, gates and two carries.
State Cell(State s, const Tensor& x, const Tensor& w) {
  Tensor z = MatMul(Concat({x, s.h}, 1), w);
  const int64_t width = s.h.dim(1);
  Tensor gate = Sigmoid(Slice(z, {0, 0}, {z.dim(0), width}));
  Tensor value = Tanh(Slice(z, {0, width}, {z.dim(0), 2 * width}));
  s.c = gate * s.c + (1.0 - gate) * value;
  s.h = Tanh(s.c) * gate;
  return s;
}

constexpr int64_t kTrips = 7, kBatch = 3, kInputs = 4, kWidth = 5;

struct Built {
  State last;
  Tensor hs;
};

Built Looped(const Tensor& x, State first, const Tensor& w, bool reverse) {
  auto [last, hs] = Scan(first, x,
                         [&](State s, const Tensor& slice) {
                           s = Cell(s, slice, w);
                           return std::pair(s, s.h);
                         },
                         {.reverse = reverse});
  return {last, hs};
}

Built Unrolled(const Tensor& x, State s, const Tensor& w, bool reverse) {
  std::vector<Tensor> hs(x.dim(0));
  for (int64_t i = 0; i < x.dim(0); ++i) {
    const int64_t at = reverse ? x.dim(0) - 1 - i : i;
    s = Cell(s, x[at], w);
    hs[at] = s.h;
  }
  return {s, Stack(hs, 0)};
}

Graph CellGraph(const std::function<Built(const Tensor&, State, const Tensor&, bool)>& run, bool reverse) {
  Graph graph("cell");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {kTrips, kBatch, kInputs}),
           w = b.Input("w", F32, {kInputs + kWidth, 2 * kWidth});
    State first{b.Input("h", F32, {kBatch, kWidth}), b.Input("c", F32, {kBatch, kWidth})};
    Built built = run(x, first, w, reverse);
    b.Output("h", built.last.h);
    b.Output("c", built.last.c);
    b.Output("hs", built.hs);
  });
  return graph;
}

TEST_F(LoopsTest, ScanIsTheProgramWrittenOut) {
  for (const bool reverse : {false, true}) {
    Session looped = MustStart(CellGraph(Looped, reverse), {.device = TestDevice()});
    Session unrolled = MustStart(CellGraph(Unrolled, reverse), {.device = TestDevice()});
    const HostTensor x = RandomFloats({kTrips, kBatch, kInputs}, 1),
                     w = RandomFloats({kInputs + kWidth, 2 * kWidth}, 2);
    const HostTensor h = RandomFloats({kBatch, kWidth}, 3), c = RandomFloats({kBatch, kWidth}, 4);
    for (const char* output : {"h", "c", "hs"}) {
      for (int run = 0; run < 3; ++run) {
        EXPECT_THAT(Floats(looped, "f", {{"x", x}, {"w", w}, {"h", h}, {"c", c}}, output),
                    Pointwise(FloatNear(1e-6F),
                              Floats(unrolled, "f", {{"x", x}, {"w", w}, {"h", h}, {"c", c}}, output)))
            << output << (reverse ? " reverse" : "");
      }
    }
  }
}

// The loss reads the last state and the stack; its gradients go to all that the loop takes.
Graph GradientGraph(const std::function<Built(const Tensor&, State, const Tensor&, bool)>& run,
                    bool reverse) {
  Graph graph("cell");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {kTrips, kBatch, kInputs}),
           w = b.Input("w", F32, {kInputs + kWidth, 2 * kWidth});
    State first{b.Input("h", F32, {kBatch, kWidth}), b.Input("c", F32, {kBatch, kWidth})};
    Built built = run(x, first, w, reverse);
    Tensor loss = Sum(Square(built.hs)) + 3.0 * Sum(built.last.h * built.last.c);
    std::vector<Tensor> gradients = Gradients(loss, {x, w, first.h, first.c});
    b.Output("loss", loss);
    for (size_t i = 0; i < gradients.size(); ++i) b.Output("g" + std::to_string(i), gradients[i]);
  });
  return graph;
}

TEST_F(LoopsTest, GradientsAreThoseOfTheProgramWrittenOut) {
  for (const bool reverse : {false, true}) {
    Session looped = MustStart(GradientGraph(Looped, reverse), {.device = TestDevice()});
    Session unrolled = MustStart(GradientGraph(Unrolled, reverse), {.device = TestDevice()});
    const HostTensor x = RandomFloats({kTrips, kBatch, kInputs}, 1),
                     w = RandomFloats({kInputs + kWidth, 2 * kWidth}, 2);
    const HostTensor h = RandomFloats({kBatch, kWidth}, 3), c = RandomFloats({kBatch, kWidth}, 4);
    for (const char* output : {"loss", "g0", "g1", "g2", "g3"}) {
      EXPECT_THAT(Floats(looped, "f", {{"x", x}, {"w", w}, {"h", h}, {"c", c}}, output),
                  Pointwise(FloatNear(2e-5F),
                            Floats(unrolled, "f", {{"x", x}, {"w", w}, {"h", h}, {"c", c}}, output)))
          << output << (reverse ? " reverse" : "");
    }
  }
}

// In segments a gradient keeps less, and gives the same.
TEST_F(LoopsTest, SegmentsSaveMemoryAndChangeNothing) {
  constexpr int64_t kLong = 64;
  size_t arenas[2];
  std::vector<float> results[2];
  const HostTensor x = RandomFloats({kLong, kBatch, kInputs}, 1),
                   w = RandomFloats({kInputs + kWidth, 2 * kWidth}, 2);
  for (const bool is_cut : {false, true}) {
    Graph graph("segments");
    graph.Function("f", Mode::kEval, [&](Builder& b) {
      Tensor in = b.Input("x", F32, {kLong, kBatch, kInputs}),
             weight = b.Input("w", F32, {kInputs + kWidth, 2 * kWidth});
      const Tensor zeros = b.Full(F32, {kBatch, kWidth}, 0.0);
      auto [last, hs] = Scan(State{zeros, zeros}, in,
                             [&](State s, const Tensor& slice) {
                               s = Cell(s, slice, weight);
                               return std::pair(s, Sum(s.h));
                             },
                             {.reverse = true, .segments = is_cut ? 8 : 1});
      b.Output("g", Gradients(Sum(hs * hs) + Sum(last.c), {weight})[0]);
    });
    absl::StatusOr<Plan> plan = Compile(graph, {.device = TestDevice()});
    ASSERT_TRUE(plan.ok()) << plan.status();
    arenas[is_cut] = plan->table().functions()->Get(0)->arena_bytes();
    absl::StatusOr<Session> session = Session::Create(*std::move(plan));
    ASSERT_TRUE(session.ok()) << session.status();
    results[is_cut] = Floats(*session, "f", {{"x", x}, {"w", w}}, "g");
  }
  EXPECT_THAT(results[1], Pointwise(FloatNear(2e-5F), results[0]));
  EXPECT_LT(2 * arenas[1], arenas[0]);
}

// A recurrence over 50 trips, in whose body the number of the trip counts, with its gradient.
Graph LongRecurrence(bool reverse) {
  constexpr int64_t kTrips = 50;
  Graph graph("long");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    Tensor in = b.Input("x", F32, {kTrips, kBatch, kInputs}),
           weight = b.Input("w", F32, {kInputs + kWidth, 2 * kWidth});
    const Tensor zeros = b.Full(F32, {kBatch, kWidth}, 0.0),
                 numbers = Cast(b.Iota(I32, {kTrips}, 0), F32) * 0.02;
    auto step = [&](State s, std::pair<Tensor, Tensor> slices) {
      s = Cell(s, slices.first * slices.second, weight);
      return std::pair(s, Sum(s.h));
    };
    auto [last, hs] = Scan(State{zeros, zeros}, std::pair(in, numbers), step, {.reverse = reverse});
    auto counted = Scan(last.h, Steps{kTrips},
                        [&](const Tensor& h, const Tensor& trip) {
                          const Tensor next = Tanh(h * (Cast(trip, F32) * 0.02 + 0.5));
                          return std::pair(next, next);
                        },
                        {.reverse = reverse});
    b.Output("hs", hs);
    b.Output("all", counted.second);
    b.Output("g", Gradients(Sum(hs * hs) + Sum(last.c) + Sum(Square(counted.second)), {weight})[0]);
  });
  return graph;
}

std::vector<float> RunRecurrence(Plan plan) {
  absl::StatusOr<Session> session = Session::Create(std::move(plan));
  SINTER_CHECK(session.ok()) << session.status();
  const HostTensor x = RandomFloats({50, kBatch, kInputs}, 1),
                   w = RandomFloats({kInputs + kWidth, 2 * kWidth}, 2);
  std::vector<float> all;
  for (const char* output : {"hs", "all", "g"}) {
    for (float value : Floats(*session, "f", {{"x", x}, {"w", w}}, output)) all.push_back(value);
  }
  return all;
}

// Numbers of segments that do and do not divide the trips.
TEST_F(LoopsTest, CutsLoopsOnItsOwn) {
  for (const bool reverse : {false, true}) {
    const Graph graph = LongRecurrence(reverse);
    const std::vector<float> whole = RunRecurrence(*Compile(graph, {.device = TestDevice()}));
    for (const int64_t segments : {2, 5, 7, 26, 50}) {
      SCOPED_TRACE(absl::StrCat(segments, " segments, reverse ", reverse));
      CompileReport report;
      absl::StatusOr<Plan> plan =
          Compile(graph, {.device = TestDevice(), .scan_segments = segments, .report = true}, &report);
      ASSERT_TRUE(plan.ok()) << plan.status();
      EXPECT_THAT(report.memory,
                  Contains(HasSubstr(
                      absl::StrCat("keeps carries every ", (50 + segments - 1) / segments, " of 50 trips"))))
          << segments;
      EXPECT_THAT(RunRecurrence(*std::move(plan)), Pointwise(FloatNear(2e-5F), whole));
    }
  }
}

// Under a memory limit loops are cut into as few segments as fit; an error says the least that could be.
TEST_F(LoopsTest, CutsLoopsToFitAMemoryLimit) {
  const Graph graph = LongRecurrence(false);
  const auto compile = [&](int64_t limit, CompileReport* report) {
    return Compile(graph, {.device = TestDevice(), .memory_limit = limit, .report = true}, report);
  };
  CompileReport report;
  absl::StatusOr<Plan> free = compile(int64_t{1} << 30, &report);
  ASSERT_TRUE(free.ok()) << free.status();
  EXPECT_THAT(report.memory, testing::Each(testing::Not(HasSubstr("keeps carries"))));
  const int64_t whole = free->Function("f")->arena_bytes;
  const std::vector<float> expected = RunRecurrence(*std::move(free));

  absl::StatusOr<Plan> cut = compile(whole * 7 / 10, &report);
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_LE(cut->Function("f")->arena_bytes, whole * 7 / 10);
  EXPECT_THAT(report.memory, Contains(testing::ContainsRegex("keeps carries every (25|13) of 50 trips")));
  EXPECT_THAT(RunRecurrence(*std::move(cut)), Pointwise(FloatNear(2e-5F), expected));

  const std::string message(compile(1000, nullptr).status().message());
  const std::string start = "needs at least ";
  ASSERT_THAT(message, HasSubstr(start));
  const int64_t least = std::stoll(message.substr(message.find(start) + start.size()));
  EXPECT_LT(least, whole * 7 / 10);
  EXPECT_TRUE(compile(least, nullptr).ok());
  EXPECT_FALSE(compile(least - 1, nullptr).ok());
  EXPECT_EQ(Compile(graph, {.scan_segments = -1}).status().message(),
            "CompileOptions::scan_segments is -1: give a number of segments, 1 for none, or 0 to let the "
            "compiler choose");
}

// Rows of a triangle: an inner loop that depends on the outer's carry, weights shared by both.
Tensor Nested(const Tensor& x, const Tensor& w, bool is_loop) {
  auto inner = [&](Tensor s, const Tensor& row) {
    s = Tanh(MatMul(s, w) + row);
    return std::pair(s, s);
  };
  if (is_loop) {
    auto [last, rows] = Scan(x[0][0] * 0.0, x, [&](const Tensor& s, const Tensor& block) {
      auto [end, stack] = Scan(s, block, inner);
      return std::pair(end * 0.5, Sum(stack, {0}));
    });
    return Sum(Square(rows)) + Sum(last);
  }
  Tensor s = x[0][0] * 0.0, total;
  for (int64_t i = 0; i < x.dim(0); ++i) {
    std::vector<Tensor> stack;
    for (int64_t k = 0; k < x.dim(1); ++k) {
      s = inner(s, x[i][k]).first;
      stack.push_back(s);
    }
    Tensor part = Sum(Square(Sum(Stack(stack, 0), {0})));
    total = i == 0 ? part : total + part;
    s = s * 0.5;
  }
  return total + Sum(s);
}

TEST_F(LoopsTest, LoopsNest) {
  const HostTensor x = RandomFloats({3, 4, 2, 5}, 5), w = RandomFloats({5, 5}, 6);
  std::vector<std::vector<float>> results[2];
  for (const bool is_loop : {false, true}) {
    Graph graph("nested");
    graph.Function("f", Mode::kEval, [&](Builder& b) {
      Tensor in = b.Input("x", F32, {3, 4, 2, 5}), weight = b.Input("w", F32, {5, 5});
      Tensor loss = Nested(in, weight, is_loop);
      std::vector<Tensor> gradients = Gradients(loss, {in, weight});
      b.Output("loss", loss);
      b.Output("gx", gradients[0]);
      b.Output("gw", gradients[1]);
    });
    Session session = MustStart(graph, {.device = TestDevice()});
    for (const char* output : {"loss", "gx", "gw"}) {
      results[is_loop].push_back(Floats(session, "f", {{"x", x}, {"w", w}}, output));
    }
  }
  for (size_t i = 0; i < 3; ++i) EXPECT_THAT(results[1][i], Pointwise(FloatNear(2e-5F), results[0][i])) << i;
}

// A line through points, trained for `count` steps of a run.
Graph Training(int64_t count) {
  Graph graph("line", {.seed = 3});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {8, 3}), y = b.Input("y", F32, {8, 1});
    Variable w = b.MakeVariable("w", F32, {3, 1}, {.init = nn::Uniform(-1, 1).Resolve(0, 0)});
    auto step = [&] { optim::Adam{.learning_rate = 0.1}.Minimize(Mean(Square(MatMul(x, b.Read(w)) - y))); };
    if (count == 1) {
      step();
    } else {
      Repeat(count, [&](const Tensor&) { step(); });
    }
    b.Output("w", b.Read(w));
  });
  return graph;
}

TEST_F(LoopsTest, TrainingStepsInOneRunAreThoseOfAsManyRuns) {
  Session one = MustStart(Training(1), {.device = TestDevice()}),
          five = MustStart(Training(5), {.device = TestDevice()});
  const HostTensor x = RandomFloats({8, 3}, 7), y = RandomFloats({8, 1}, 8);
  // A GPU's kernels are other ones in a loop, and may round differently.
  const float allowed = TestDevice().is_gpu() ? 1e-5F : 0;
  for (int round = 0; round < 3; ++round) {
    std::vector<float> expected;
    for (int i = 0; i < 5; ++i) expected = Floats(one, "train", {{"x", x}, {"y", y}}, "w");
    const std::vector<float> looped = Floats(five, "train", {{"x", x}, {"y", y}}, "w");
    EXPECT_THAT(looped, Pointwise(FloatNear(allowed), expected));
    EXPECT_EQ(VariableFloats(five, "w"), looped);
    EXPECT_THAT(VariableFloats(five, "adam/m/w"),
                Pointwise(FloatNear(allowed), VariableFloats(one, "adam/m/w")));
  }
}

// A loss from before the loop has its gradient there: each trip takes the same step.
TEST_F(LoopsTest, ALossFromAroundHasAGradient) {
  Graph graph("around");
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {2});
    Variable w = b.MakeVariable("w", F32, {2});
    const Tensor loss = Sum(Square(b.Read(w) - x));
    Repeat(3, [&](const Tensor&) { optim::Sgd{.learning_rate = 0.25}.Minimize(loss); });
    auto [sum, zeros] = Scan(x, Steps{2}, [&](const Tensor& s, const Tensor&) {
      const std::vector<Tensor> g = Gradients(loss, {x, s}, {.allow_unused = true});
      return std::pair(s + g[0], g[1]);
    });
    b.Output("sum", sum);
    b.Output("zeros", zeros);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = *HostTensor::FromVector<float>({2}, {1, -2});
  // The gradient of w is -2 x at w = 0; that of x is 2 x.
  EXPECT_EQ(Floats(session, "train", {{"x", x}}, "sum"), (std::vector<float>{5, -10}));
  EXPECT_EQ(VariableFloats(session, "w"), (std::vector<float>{1.5F, -3}));
  EXPECT_EQ(Floats(session, "train", {{"x", x}}, "zeros"), (std::vector<float>{0, 0, 0, 0}));
}

// Tensors from before the body are constants of the body's loss, also where they depend on the same
// tensor.
TEST_F(LoopsTest, ALossOfTheBodyGoesThroughTheBodyAlone) {
  Graph graph("inside");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    Tensor w = b.Input("w", F32, {2});
    const Tensor twice = 2.0 * w;
    auto [last, gradients] = Scan(w, Steps{1}, [&](const Tensor& x, const Tensor&) {
      return std::pair(x, Gradients(Sum(twice * w), {w})[0]);
    });
    b.Output("g", gradients);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor w = *HostTensor::FromVector<float>({2}, {1, -3});
  EXPECT_EQ(Floats(session, "f", {{"w", w}}, "g"), (std::vector<float>{2, -6}));
}

TEST_F(LoopsTest, RandomNumbersDifferBetweenTripsAndRuns) {
  Graph graph("draws");
  graph.Function("f", Mode::kTrain, [&](Builder& b) {
    auto [none, rows] = Scan(None{}, Steps{4}, [&](None n, const Tensor&) {
      auto [inner, draws] = Scan(
          None{}, Steps{3}, [&](None m, const Tensor&) { return std::pair(m, b.RandomNormal(F32, {2})); });
      return std::pair(n, draws);
    });
    b.Output("rows", rows);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  std::vector<float> first = Floats(session, "f", {}, "rows"), second = Floats(session, "f", {}, "rows");
  first.insert(first.end(), second.begin(), second.end());
  ASSERT_EQ(first.size(), 48u);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(std::adjacent_find(first.begin(), first.end()), first.end());
}

TEST_F(LoopsTest, TripsAreCountedAndMayBeNone) {
  Graph graph("count");
  for (const int64_t trips : {int64_t{0}, int64_t{1}, int64_t{5}}) {
    graph.Function("f" + std::to_string(trips), Mode::kEval, [&](Builder& b) {
      Tensor x = b.Input("x", F32, {2});
      auto [sum, squares] = Scan(x, Steps{trips}, [&](const Tensor& s, const Tensor& i) {
        Tensor number = Cast(i, F32);
        return std::pair(s + number, number * number);
      });
      b.Output("sum", sum);
      b.Output("squares", squares);
      b.Output("g", Gradients(Sum(sum * sum), {x})[0]);
    });
  }
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = *HostTensor::FromVector<float>({2}, {1, 2});
  EXPECT_EQ(Floats(session, "f0", {{"x", x}}, "sum"), (std::vector<float>{1, 2}));
  EXPECT_EQ(Floats(session, "f0", {{"x", x}}, "squares"), std::vector<float>());
  EXPECT_EQ(Floats(session, "f0", {{"x", x}}, "g"), (std::vector<float>{2, 4}));
  EXPECT_EQ(Floats(session, "f1", {{"x", x}}, "sum"), (std::vector<float>{1, 2}));
  EXPECT_EQ(Floats(session, "f5", {{"x", x}}, "sum"), (std::vector<float>{11, 12}));
  EXPECT_EQ(Floats(session, "f5", {{"x", x}}, "squares"), (std::vector<float>{0, 1, 4, 9, 16}));
  EXPECT_EQ(Floats(session, "f5", {{"x", x}}, "g"), (std::vector<float>{22, 24}));
}

// The error of a function that goes through its body.
std::string LoopErrorOf(const std::function<void(Builder&, Tensor)>& body) {
  Graph graph("wrong");
  graph.Function("f", Mode::kEval, [&](Builder& b) { body(b, b.Input("x", F32, {4, 3})); });
  return std::string(graph.status().message());
}

TEST(LoopErrorsTest, SayWhatIsWrong) {
  auto same = [](const Tensor& s, const Tensor&) { return std::pair(s, s); };
  EXPECT_THAT(LoopErrorOf([&](Builder& b, const Tensor& x) { Scan(x, Steps{-1}, same); }),
              HasSubstr("makes -1 trips"));
  EXPECT_THAT(LoopErrorOf([&](Builder& b, const Tensor& x) { Scan(x, Sum(x), same); }),
              HasSubstr("goes over a tensor of rank 0; expected a dimension 0 that counts the trips"));
  EXPECT_THAT(LoopErrorOf([&](Builder& b, const Tensor& x) {
                Scan(None{}, std::pair(x, x[0]), [](None n, const auto& s) { return std::pair(n, s); });
              }),
              HasSubstr("goes over f32[4,3] and f32[3], whose dimension 0 differs"));
  EXPECT_THAT(LoopErrorOf([&](Builder& b, const Tensor& x) {
                Scan(x[0], x, [](const Tensor& s, const Tensor&) { return std::pair(Sum(s), None{}); });
              }),
              HasSubstr("gets carry 0 as f32[3], and its body returns f32[]; expected the same type"));
  EXPECT_THAT(LoopErrorOf([&](Builder& b, const Tensor& x) { Scan(x[0], x, same, {.segments = 3}); }),
              HasSubstr("cuts 4 trips into 3 segments, which must divide them"));
  EXPECT_THAT(LoopErrorOf([&](Builder& b, const Tensor& x) {
                Tensor leaked;
                Scan(x[0], x, [&](const Tensor& s, const Tensor& row) {
                  leaked = s + row;
                  return std::pair(s, None{});
                });
                b.Output("y", leaked);
              }),
              HasSubstr("takes a tensor of a loop's body, which has ended"));
  EXPECT_THAT(LoopErrorOf([&](Builder& b, const Tensor& x) {
                Repeat(2, [&](const Tensor& i) { b.Output("y", i); });
              }),
              HasSubstr("is in the body of a loop; return the value from the body"));
  EXPECT_THAT(LoopErrorOf([&](Builder& b, const Tensor& x) {
                Repeat(2, [&](const Tensor&) { b.Input("y", F32, {}); });
              }),
              HasSubstr("is in the body of a loop; make the input before the loop"));
}

}  // namespace
}  // namespace sinter
