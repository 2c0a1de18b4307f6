// Branches: of several bodies one runs.
#include <gmock/gmock.h>

#include <functional>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

using BranchesTest = DeviceTest;

HostTensor Truth(bool value) {
  HostTensor tensor = *HostTensor::Zeros(DType::kI1, {});
  *static_cast<uint8_t*>(tensor.mutable_data()) = value ? 1 : 0;
  return tensor;
}

HostTensor Number(int32_t value) { return *HostTensor::FromVector<int32_t>({}, {value}); }

// The branch that runs counts itself in a variable of its own.
TEST_F(BranchesTest, OneBodyRuns) {
  Graph graph("branches");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {3}), w = b.Input("w", F32, {3, 3});
    Variable yes = b.MakeVariable("yes", F32, {}, {.trainable = false}),
             no = b.MakeVariable("no", F32, {}, {.trainable = false});
    const auto count = [&](const Variable& v) { b.Assign(v, b.Read(v) + 1); };
    struct Two {
      Tensor y, total;
    };
    const Two two = Cond(
        b.Input("p", I1, {}),
        [&] {
          count(yes);
          const Tensor y = Tanh(MatMul(Reshape(x, {1, 3}), w));
          return Two{Reshape(y, {3}), Sum(y)};
        },
        [&] {
          count(no);
          return Two{x * 2.0, Sum(w)};
        });
    b.Output("y", two.y);
    b.Output("total", two.total);
    b.Output("yes", b.Read(yes));
    b.Output("no", b.Read(no));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = RandomFloats({3}, 1), w = RandomFloats({3, 3}, 2);
  int counts[2] = {0, 0};
  for (const bool p : {false, true, true, false, true}) {
    auto outputs = session.Run("f", {{"x", x}, {"w", w}, {"p", Truth(p)}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    std::vector<float> expected;
    float total = 0;
    const std::vector<float> xs = ToFloats(x), ws = ToFloats(w);
    for (int i = 0; i < 3; ++i) {
      expected.push_back(p ? std::tanh(xs[0] * ws[i] + xs[1] * ws[3 + i] + xs[2] * ws[6 + i]) : 2 * xs[i]);
      for (int k = 0; k < 3; ++k) total += p ? 0 : ws[3 * i + k];
    }
    if (p) total = expected[0] + expected[1] + expected[2];
    ++counts[p];
    EXPECT_THAT(ToFloats((*outputs)["y"]), Pointwise(FloatNear(1e-6F), expected));
    EXPECT_THAT(ToFloats((*outputs)["total"]), ElementsAre(FloatNear(total, 1e-5F)));
    EXPECT_THAT(ToFloats((*outputs)["yes"]), ElementsAre(counts[1]));
    EXPECT_THAT(ToFloats((*outputs)["no"]), ElementsAre(counts[0]));
  }
}

// A body may return what is around it, or a constant, without work of its own.
TEST_F(BranchesTest, BodiesMayBeEmpty) {
  Graph graph("empty");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {2}), y = b.Input("y", F32, {2}), p = b.Input("p", I1, {});
    b.Output("else", Cond(p, [&] { return x + y; }, [&] { return x; }));
    b.Output("then", Cond(p, [&] { return x; }, [&] { return x + y; }));
    b.Output("both", Cond(p, [&] { return x; }, [&] { return y; }));
    b.Output("constant", Cond(p, [&] { return b.Full(F32, {2}, 7.0); }, [&] { return Exp(x); }));
    Variable v = b.MakeVariable("v", F32, {2}, {.trainable = false});
    Cond(p, [&] { b.Assign(v, x); });
    b.Output("v", b.Read(v));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = *HostTensor::FromVector<float>({2}, {1, 2}),
                   y = *HostTensor::FromVector<float>({2}, {10, 20});
  const auto run = [&](bool p, const char* output) {
    return Floats(session, "f", {{"x", x}, {"y", y}, {"p", Truth(p)}}, output);
  };
  EXPECT_THAT(run(false, "v"), ElementsAre(0, 0));
  EXPECT_THAT(run(true, "else"), ElementsAre(11, 22));
  EXPECT_THAT(run(false, "else"), ElementsAre(1, 2));
  EXPECT_THAT(run(true, "then"), ElementsAre(1, 2));
  EXPECT_THAT(run(false, "then"), ElementsAre(11, 22));
  EXPECT_THAT(run(true, "both"), ElementsAre(1, 2));
  EXPECT_THAT(run(false, "both"), ElementsAre(10, 20));
  EXPECT_THAT(run(true, "constant"), ElementsAre(7, 7));
  EXPECT_THAT(run(false, "constant"), ElementsAre(FloatNear(2.7182817F, 1e-6F), FloatNear(7.389056F, 1e-5F)));
  EXPECT_THAT(run(false, "v"), ElementsAre(1, 2));
}

// The body that does not run gives no gradient, where a Select of a value that is not finite would give NaN.
TEST_F(BranchesTest, GradientsFlowThroughTheBodyThatRan) {
  Graph graph("gradients");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {3}), w = b.Input("w", F32, {3}), p = b.Input("p", I1, {});
    const Tensor y = Cond(p, [&] { return Sqrt(x) * w; }, [&] { return x * x; });
    std::vector<Tensor> gradients = Gradients(Sum(y * y), {x, w});
    b.Output("gx", gradients[0]);
    b.Output("gw", gradients[1]);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const auto run = [&](bool p, std::vector<float> x, const char* output) {
    return Floats(session, "f",
                  {{"x", *HostTensor::FromVector<float>({3}, std::move(x))},
                   {"w", *HostTensor::FromVector<float>({3}, {1, 2, 3})},
                   {"p", Truth(p)}},
                  output);
  };
  // (sqrt(x) w)^2 = x w^2, and x^4.
  EXPECT_THAT(run(true, {4, 9, 16}, "gx"), Pointwise(FloatNear(1e-5F), std::vector<float>{1, 4, 9}));
  EXPECT_THAT(run(true, {4, 9, 16}, "gw"), Pointwise(FloatNear(1e-4F), std::vector<float>{8, 36, 96}));
  EXPECT_THAT(run(false, {-1, 0, 2}, "gx"), ElementsAre(-4, 0, 32));
  EXPECT_THAT(run(false, {-1, 0, 2}, "gw"), ElementsAre(0, 0, 0));
}

// The loss is trained only where the branch of the step says so.
TEST_F(BranchesTest, AStepMayBeSkipped) {
  Graph graph("skip", {.seed = 1});
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {4, 3});
    Variable w = b.MakeVariable("w", F32, {3, 1}, {.init = nn::Uniform(-1, 1).Resolve(0, 0)});
    const Tensor loss = Mean(Square(MatMul(x, b.Read(w)) - Sum(x, {1}, {.keep_dims = true})));
    Cond(loss > 0.1, [&] { optim::Adam{.learning_rate = 0.1}.Minimize(loss); });
    b.Output("loss", loss);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = RandomFloats({4, 3}, 5);
  std::vector<float> losses;
  for (int i = 0; i < 60; ++i) losses.push_back(Floats(session, "train", {{"x", x}}, "loss")[0]);
  EXPECT_GT(losses.front(), 0.1F);
  EXPECT_LE(losses.back(), 0.1F);
  EXPECT_EQ(losses[58], losses[59]);
}

TEST_F(BranchesTest, SwitchTakesTheBodyOfItsNumber) {
  Graph graph("switch");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {2}), i = b.Input("i", I32, {});
    Tensor y = Switch<Tensor>(i, {[&] { return x; }, [&] { return x * 10.0; }, [&] { return -x; }});
    b.Output("y", y);
    b.Output("one", Switch<Tensor>(i, {[&] { return x + 1.0; }}));
    b.Output("g", Gradients(Sum(y * y), {x})[0]);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  const HostTensor x = *HostTensor::FromVector<float>({2}, {1, 2});
  const auto run = [&](int32_t i, const char* output) {
    return Floats(session, "f", {{"x", x}, {"i", Number(i)}}, output);
  };
  for (const int32_t i : {0, -5}) EXPECT_THAT(run(i, "y"), ElementsAre(1, 2));
  EXPECT_THAT(run(1, "y"), ElementsAre(10, 20));
  for (const int32_t i : {2, 3, 100}) EXPECT_THAT(run(i, "y"), ElementsAre(-1, -2));
  EXPECT_THAT(run(1, "one"), ElementsAre(2, 3));
  EXPECT_THAT(run(1, "g"), ElementsAre(200, 400));
  EXPECT_THAT(run(2, "g"), ElementsAre(2, 4));
}

// Branches within branches and loops.
TEST_F(BranchesTest, Nest) {
  Graph graph("nested");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    Tensor x = b.Input("x", F32, {6});
    // The length of the Collatz sequence from each x.
    auto [none, lengths] = Scan(None{}, x, [&](None n, const Tensor& start) {
      struct State {
        Tensor value, length;
      };
      const State last = While(
          State{start, b.Zeros(F32, {})}, [](const State& s) { return s.value > 1.0; },
          [&](const State& s) {
            const Tensor half = Floor(s.value * 0.5);
            const Tensor next = Cond(
                Equal(half * 2.0, s.value), [&] { return half; },
                [&] {
                  return Cond(
                      s.value > 1e6, [&] { return s.value * 0.0; }, [&] { return s.value * 3.0 + 1.0; });
                });
            return State{next, s.length + 1};
          },
          {.at_most = 1000});
      return std::pair(n, last.length);
    });
    b.Output("lengths", lengths);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  for (int run = 0; run < 2; ++run) {
    EXPECT_THAT(Floats(session, "f", {{"x", *HostTensor::FromVector<float>({6}, {1, 2, 3, 7, 27, 2000001})}},
                       "lengths"),
                ElementsAre(0, 1, 7, 16, 111, 1));
  }
}

std::string BranchErrorOf(const std::function<void(Builder&, Tensor)>& body) {
  Graph graph("wrong");
  graph.Function("f", Mode::kEval, [&](Builder& b) { body(b, b.Input("x", F32, {4})); });
  return std::string(graph.status().message());
}

TEST(BranchErrorsTest, SayWhatIsWrong) {
  EXPECT_THAT(
      BranchErrorOf([](Builder&, const Tensor& x) { Cond(x > 0.0, [&] { return x; }, [&] { return -x; }); }),
      HasSubstr(
          "gets i1[4] as its condition; expected i1[], one truth value: All or Any makes it of several"));
  EXPECT_THAT(BranchErrorOf([](Builder& b, const Tensor& x) { Cond(x > 0.0, [&] {}); }),
              HasSubstr("gets i1[4] as its condition; expected i1[]"));
  EXPECT_THAT(BranchErrorOf([](Builder&, const Tensor& x) {
                Cond(Any(x > 0.0), [&] { return x; }, [&] { return Sum(x); });
              }),
              HasSubstr("gives f32[4] as tensor 0, and another body f32[]; expected the same types"));
  EXPECT_THAT(
      BranchErrorOf([](Builder&, const Tensor& x) {
        Cond(Any(x > 0.0), [&] { return std::vector<Tensor>{x}; }, [&] { return std::vector<Tensor>{x, x}; });
      }),
      HasSubstr("gives 1 tensors, and another body 2; expected the same tree"));
  EXPECT_THAT(BranchErrorOf([](Builder&, const Tensor& x) { Switch<Tensor>(x, {[&] { return x; }}); }),
              HasSubstr("expected an index of type i32[] or i64[]"));
  EXPECT_THAT(BranchErrorOf([](Builder& b, const Tensor&) { Switch<Tensor>(b.Zeros(I32, {}), {}); }),
              HasSubstr("has no bodies; expected at least one"));
  EXPECT_THAT(BranchErrorOf([](Builder& b, const Tensor& x) {
                Tensor leaked;
                Cond(Any(x > 0.0), [&] { leaked = x * 2.0; });
                b.Output("y", leaked);
              }),
              HasSubstr("takes a tensor of a loop's body, which has ended"));
}

}  // namespace
}  // namespace sinter
