// Several optimisers in one graph: the owner of each state, and groups of parameters.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAre;

std::vector<std::string> VariableNames(const Graph& graph) {
  std::vector<std::string> names;
  for (const Variable& v : graph.variables()) names.push_back(v.name());
  return names;
}

Variable Vector(Builder& b, std::string_view name, double start = 0) {
  return b.MakeVariable(name, F32, {1}, {.init = {.a = start}});
}

// Adam in double precision, for one number.
struct AdamByHand {
  double value, rate, beta1 = 0.5, beta2 = 0.9;
  double m = 0, v = 0;
  int step = 0;
  void Update(double gradient) {
    ++step;
    m = beta1 * m + (1 - beta1) * gradient;
    v = beta2 * v + (1 - beta2) * gradient * gradient;
    value -= rate * (m / (1 - std::pow(beta1, step))) / (std::sqrt(v / (1 - std::pow(beta2, step))) + 1e-8);
  }
};

double Sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double Softplus(double x) { return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0); }

constexpr int64_t kIdentityBatch = 6;

// A critic w x + v and a generator a z + c. A run makes one step of each.
struct GanByHand {
  AdamByHand w, v, a, c;
  double d_loss = 0, g_loss = 0;

  void Step(const std::vector<float>& x, const std::vector<float>& z) {
    d_loss = g_loss = 0;
    double dw = 0, dv = 0, da = 0, dc = 0;
    std::vector<double> fake;
    for (int i = 0; i < kIdentityBatch; ++i) {
      fake.push_back(a.value * z[i] + c.value);
      const double real_score = w.value * x[i] + v.value, fake_score = w.value * fake[i] + v.value;
      d_loss += (Softplus(-real_score) + Softplus(fake_score)) / kIdentityBatch;
      dw += (-Sigmoid(-real_score) * x[i] + Sigmoid(fake_score) * fake[i]) / kIdentityBatch;
      dv += (-Sigmoid(-real_score) + Sigmoid(fake_score)) / kIdentityBatch;
    }
    w.Update(dw);
    v.Update(dv);
    for (int i = 0; i < kIdentityBatch; ++i) {
      const double score = w.value * fake[i] + v.value;
      g_loss += Softplus(-score) / kIdentityBatch;
      da += -Sigmoid(-score) * w.value * z[i] / kIdentityBatch;
      dc += -Sigmoid(-score) * w.value / kIdentityBatch;
    }
    a.Update(da);
    c.Update(dc);
  }
};

TEST(OptimizerIdentityTest, AGanAgreesWithTwoAdamsInDouble) {
  Graph graph("gan");
  nn::Module d = nn::Linear(1, {.weight = nn::Constant(0.5), .bias_init = nn::Constant(-0.1)});
  nn::Module g = nn::Linear(1, {.weight = nn::Constant(0.8), .bias_init = nn::Constant(0.2)});
  d.Named("critic");
  g.Named("generator");
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor fake = g(b.Input("z", F32, {kIdentityBatch, 1}));
    Tensor d_loss = Mean(sinter::Softplus(-d(b.Input("x", F32, {kIdentityBatch, 1})))) +
                    Mean(sinter::Softplus(d(StopGradient(fake))));
    optim::Adam{.learning_rate = 0.05, .beta1 = 0.5, .beta2 = 0.9}.Minimize(d_loss,
                                                                            {.parameters = d.parameters()});
    Tensor g_loss = Mean(sinter::Softplus(-d(fake)));  // By the updated critic.
    optim::Adam{.learning_rate = 0.02, .beta1 = 0.5, .beta2 = 0.9}.Minimize(g_loss,
                                                                            {.parameters = g.parameters()});
    b.Output("d_loss", d_loss);
    b.Output("g_loss", g_loss);
  });
  EXPECT_THAT(VariableNames(graph), Contains("adam/m/critic.weight"));
  EXPECT_THAT(VariableNames(graph), Contains("adam_2/m/generator.weight"));
  Session session = MustStart(graph);
  GanByHand expected{{0.5, 0.05}, {-0.1, 0.05}, {0.8, 0.02}, {0.2, 0.02}};
  for (int step = 0; step < 20; ++step) {
    std::vector<float> x(kIdentityBatch), z(kIdentityBatch);
    for (int i = 0; i < kIdentityBatch; ++i) {
      x[i] = 2 + 0.5f * std::sin(static_cast<float>(7 * step + i));
      z[i] = std::cos(static_cast<float>(5 * step + 3 * i));
    }
    expected.Step(x, z);
    auto outputs = session.Run("train", {{"x", *HostTensor::FromVector<float>({kIdentityBatch, 1}, x)},
                                         {"z", *HostTensor::FromVector<float>({kIdentityBatch, 1}, z)}});
    ASSERT_TRUE(outputs.ok()) << outputs.status();
    EXPECT_NEAR(*outputs->Scalar("d_loss"), expected.d_loss, 1e-5) << step;
    EXPECT_NEAR(*outputs->Scalar("g_loss"), expected.g_loss, 1e-5) << step;
  }
  EXPECT_NEAR(VariableFloats(session, "critic.weight")[0], expected.w.value, 1e-5);
  EXPECT_NEAR(VariableFloats(session, "critic.bias")[0], expected.v.value, 1e-5);
  EXPECT_NEAR(VariableFloats(session, "generator.weight")[0], expected.a.value, 1e-5);
  EXPECT_NEAR(VariableFloats(session, "generator.bias")[0], expected.c.value, 1e-5);
}

TEST(OptimizerIdentityTest, EachUnnamedOneHasItsOwnCount) {
  Graph graph("g");
  for (const std::string name : {"a", "c"}) {
    graph.Function("f_" + name, Mode::kTrain, [&](Builder& b) {
      Variable w = Vector(b, name);
      optim::Adam{.learning_rate = 1.0}.Minimize(Sum(b.Read(w)), {.parameters = {w}});
    });
  }
  EXPECT_THAT(VariableNames(graph), UnorderedElementsAre("a", "adam/step", "adam/m/a", "adam/v/a", "c",
                                                         "adam_2/step", "adam_2/m/c", "adam_2/v/c"));
  Session session = MustStart(graph);
  for (const char* name : {"f_a", "f_c"}) ASSERT_TRUE(session.Run(name, {}).ok());
  EXPECT_NEAR(VariableFloats(session, "a")[0], -1, 1e-6);
  EXPECT_NEAR(VariableFloats(session, "c")[0], -1, 1e-6);
}

TEST(OptimizerIdentityTest, TheSameParametersAgainAreTheSameOptimiser) {
  Graph graph("g");
  for (double rate : {0.5, 0.25}) {
    graph.Function(rate == 0.5 ? "first" : "second", Mode::kTrain, [&](Builder& b) {
      optim::Adam{.learning_rate = rate}.Minimize(Sum(b.Read(Vector(b, "w")) * b.Read(Vector(b, "c", 1))));
    });
  }
  EXPECT_THAT(VariableNames(graph),
              UnorderedElementsAre("w", "c", "adam/step", "adam/m/w", "adam/v/w", "adam/m/c", "adam/v/c"));
  Session session = MustStart(graph);
  for (const char* name : {"first", "second"}) ASSERT_TRUE(session.Run(name, {}).ok());
  EXPECT_EQ((*session.ReadVariable("adam/step")->Span<int64_t>())[0], 2);
}

TEST(OptimizerIdentityTest, ANamePrefixesEveryVariable) {
  Graph graph("g");
  const optim::UpdateOptions<optim::Adam> mine = {.name = "mine", .loss_scale = optim::LossScale{}};
  graph.Function("f", Mode::kTrain,
                 [&](Builder& b) { optim::Adam{}.Accumulate(Sum(b.Read(Vector(b, "w"))), mine); });
  graph.Function("g", Mode::kTrain, [&](Builder& b) { optim::Adam{}.ApplyAccumulated(b, mine); });
  graph.Function("other", Mode::kTrain,
                 [&](Builder& b) { optim::Adam{}.Minimize(Sum(b.Read(Vector(b, "w")))); });
  ASSERT_TRUE(graph.status().ok()) << graph.status();
  EXPECT_THAT(VariableNames(graph),
              UnorderedElementsAre("w", "mine/loss_scale", "mine/good_steps", "mine/accumulated/w",
                                   "mine/accumulated_losses", "mine/step", "mine/m/w", "mine/v/w",
                                   "adam/step", "adam/m/w", "adam/v/w"));
}

TEST(OptimizerIdentityTest, LossScalesMoveByThemselves) {
  Graph graph("g");
  for (const std::string name : {"a", "c"}) {
    graph.Function("f_" + name, Mode::kTrain, [&](Builder& b) {
      Tensor loss = Sum(b.Read(Vector(b, name))) * b.Scalar("boost");
      optim::Sgd{}.Minimize(loss, {.loss_scale = optim::LossScale{.initial = 1024}});
    });
  }
  Session session = MustStart(graph);
  ASSERT_TRUE(session.Run("f_a", {{"boost", INFINITY}}).ok());
  ASSERT_TRUE(session.Run("f_c", {{"boost", 1.0f}}).ok());
  EXPECT_EQ(VariableFloats(session, "sgd/loss_scale")[0], 512);
  EXPECT_EQ(VariableFloats(session, "sgd_2/loss_scale")[0], 1024);
}

TEST(OptimizerIdentityTest, AccumulatedSumsAreOfOneOptimiserEach) {
  Graph graph("g");
  const optim::Sgd sgd{.learning_rate = 1.0};
  for (const std::string name : {"a", "c"}) {
    graph.Function("f_" + name, Mode::kTrain, [&](Builder& b) {
      Variable w = Vector(b, name);
      sgd.Accumulate(Sum(b.Read(w)), {.parameters = {w}, .name = name});
    });
  }
  graph.Function("update", Mode::kTrain, [&](Builder& b) {
    for (const char* name : {"a", "c"}) sgd.ApplyAccumulated(b, {.name = name});
  });
  Session session = MustStart(graph);
  for (const char* name : {"f_a", "f_c", "update"}) ASSERT_TRUE(session.Run(name, {}).ok());
  EXPECT_EQ(VariableFloats(session, "a")[0], -1);
  EXPECT_EQ(VariableFloats(session, "c")[0], -1);
}

// Sgd needs no name if it has no state.
TEST(OptimizerIdentityTest, SgdWithoutStateMayUpdateAnything) {
  Graph graph("g");
  graph.Function("both", Mode::kTrain, [](Builder& b) {
    optim::Sgd{}.Minimize(Sum(b.Read(Vector(b, "a")) + b.Read(Vector(b, "c"))));
  });
  graph.Function("one", Mode::kTrain, [](Builder& b) { optim::Sgd{}.Minimize(Sum(b.Read(Vector(b, "a")))); });
  EXPECT_TRUE(graph.status().ok()) << graph.status();
  EXPECT_THAT(VariableNames(graph), UnorderedElementsAre("a", "c"));
}

TEST(ParameterGroupTest, GroupsHaveTheirOwnSettingsAndOneCountAndNorm) {
  Graph graph("g");
  graph.Function("train", Mode::kTrain, [](Builder& b) {
    Tensor w = b.Read(b.MakeVariable("net.weight", F32, {1, 1}, {.init = {.a = 1}}));
    Tensor bias = b.Read(b.MakeVariable("net.bias", F32, {1}, {.init = {.a = 1}}));
    Tensor head = b.Read(b.MakeVariable("head.bias", F32, {1}, {.init = {.a = 1}}));
    Tensor loss = 3.0 * Sum(w) + 4.0 * Sum(bias) + 12.0 * Sum(head);  // Gradients of norm 13.
    optim::AdamW{.learning_rate = b.Scalar("lr"), .beta1 = 0, .weight_decay = 0.5}.Minimize(
        loss, {.groups = {{.of = Glob("head.*"), .rate_scale = 10},
                          {.of = RankBelow(2),
                           .with =
                               [](optim::AdamW& o) {
                                 o.weight_decay = 0;
                                 o.beta1 = 0.5;
                               }}},
               .hooks = {optim::ClipNorm(6.5)}});
    optim::Sgd{.learning_rate = 0.1}.Minimize(
        Sum(b.Read(b.MakeVariable("u", F32, {1}))) + Sum(b.Read(b.MakeVariable("t", F32, {1, 1}))),
        {.groups = {{.of = RankBelow(2), .rate_scale = 0.5}}});
  });
  Session session = MustStart(graph);
  ASSERT_TRUE(session.Run("train", {{"lr", 0.01f}}).ok());
  // The first step of Adam is the sign of the gradient.
  EXPECT_NEAR(VariableFloats(session, "net.weight")[0], 1 - 0.01 * (1 + 0.5), 1e-6);
  EXPECT_NEAR(VariableFloats(session, "net.bias")[0], 1 - 0.01, 1e-6);
  EXPECT_NEAR(VariableFloats(session, "head.bias")[0], 1 - 0.1 * (1 + 0.5), 1e-6);
  EXPECT_NEAR(VariableFloats(session, "adamw/m/net.weight")[0], 1.5, 1e-6);  // Clipped to half.
  EXPECT_NEAR(VariableFloats(session, "adamw/m/net.bias")[0], 0.5 * 2, 1e-6);
  EXPECT_NEAR(VariableFloats(session, "u")[0], -0.05, 1e-7);
  EXPECT_NEAR(VariableFloats(session, "t")[0], -0.1, 1e-7);
  EXPECT_EQ((*session.ReadVariable("adamw/step")->Span<int64_t>())[0], 1);
}

// Builds one function for each body, and returns the graph's error message.
std::string Says(const std::vector<std::function<void(Builder&)>>& bodies) {
  Graph graph("g");
  for (size_t i = 0; i < bodies.size(); ++i) graph.Function("f" + std::to_string(i), Mode::kTrain, bodies[i]);
  return std::string(graph.status().message());
}

std::function<void(Builder&)> Adam(const std::string& name, const std::vector<std::string>& parameters) {
  return [=](Builder& b) {
    Tensor loss;
    for (const std::string& parameter : parameters) {
      Tensor term = Sum(b.Read(Vector(b, parameter)));
      loss = loss.ok() ? loss + term : term;
    }
    optim::Adam{}.Minimize(loss, {.name = name});
  };
}

TEST(OptimizerIdentityTest, OneNameIsOneSetOfParameters) {
  const int line = __LINE__ - 5;
  const std::string at = "optimizer_identity_test.cc:" + std::to_string(line);
  EXPECT_THAT(Says({Adam("mine", {"a"}), Adam("mine", {"a", "c"})}),
              AllOf(HasSubstr(at + ": optim::Adam: Minimize(f32[]) has the name \"mine\""),
                    HasSubstr("that of the optim::Adam at"), HasSubstr("\"c\" is not among those"),
                    HasSubstr("another .name")));
  EXPECT_THAT(Says({Adam("mine", {"a", "c"}), Adam("mine", {"a"})}), HasSubstr("\"c\" is missing here"));
  EXPECT_THAT(Says({Adam("", {"a"}), Adam("adam", {"c"})}), HasSubstr("has the name \"adam\""));
  EXPECT_THAT(
      Says({Adam("mine", {"a"}),
            [](Builder& b) { optim::Momentum{}.Minimize(Sum(b.Read(Vector(b, "a"))), {.name = "mine"}); }}),
      AllOf(HasSubstr("optim::Momentum"), HasSubstr("that of the optim::Adam at")));
  EXPECT_EQ(Says({Adam("mine", {"a", "c"}), Adam("mine", {"c", "a"}), Adam("yours", {"a"}), Adam("", {"a"})}),
            "");
}

TEST(OptimizerIdentityTest, UnnamedOnesThatShareSomeParametersNeedNames) {
  EXPECT_THAT(
      Says({Adam("", {"a"}), Adam("", {"a", "c"})}),
      AllOf(HasSubstr("updates \"a\", as the optim::Adam at"), HasSubstr("optimizer_identity_test.cc:"),
            HasSubstr("\"c\" is not among those"), HasSubstr("give each a .name")));
  EXPECT_EQ(Says({Adam("one", {"a"}), Adam("two", {"a", "c"})}), "");
}

TEST(OptimizerIdentityTest, AccumulatingErrors) {
  auto accumulate = [](const std::string& name, bool scaled) {
    return [=](Builder& b) {
      Variable w = Vector(b, name);
      std::optional<optim::LossScale> scale;
      if (scaled) scale.emplace();
      optim::Adam{}.Accumulate(Sum(b.Read(w)), {.parameters = {w}, .loss_scale = scale});
    };
  };
  auto update = [](Builder& b) { optim::Adam{}.ApplyAccumulated(b); };
  EXPECT_THAT(Says({accumulate("a", false), accumulate("c", false), update}),
              AllOf(HasSubstr("finds gradients of two optimisers"), HasSubstr("give each a .name")));
  EXPECT_THAT(Says({accumulate("a", true), update}),
              AllOf(HasSubstr("has no loss scale"), HasSubstr("has one"), HasSubstr("give both the same")));
  EXPECT_THAT(Says({accumulate("a", true), accumulate("a", false)}), HasSubstr("has no loss scale"));
  EXPECT_EQ(Says({accumulate("a", false), update}), "");
}

TEST(OptimizerIdentityTest, SlotsAreTheOptimisersOwn) {
  EXPECT_THAT(Says({[](Builder& b) {
                b.MakeVariable("adam/m/w", F32, {1});
                optim::Adam{}.Minimize(Sum(b.Read(Vector(b, "w"))));
              }}),
              AllOf(HasSubstr("\"adam/m/w\" is of the program itself, which made it at"),
                    HasSubstr("give the optimiser a .name of its own")));
  EXPECT_THAT(
      Says({[](Builder& b) { optim::Adam{}.Minimize(Sum(b.Read(Vector(b, "w"))), {.name = "log"}); }}),
      HasSubstr("has a name that is a log's"));
}

TEST(OptimizerIdentityTest, WrongParametersAreErrors) {
  static Graph other("other");
  auto over = [](std::vector<Variable> more, bool twice = false) {
    return [=](Builder& b) {
      Variable w = Vector(b, "w");
      std::vector<Variable> variables = {w};
      if (twice) variables.push_back(w);
      variables.insert(variables.end(), more.begin(), more.end());
      optim::Adam{}.Minimize(Sum(b.Read(w)), {.parameters = variables});
    };
  };
  EXPECT_THAT(Says({over({Variable()})}), HasSubstr("was given a variable that was never made"));
  EXPECT_THAT(Says({over({}, /*twice=*/true)}), HasSubstr("was given \"w\" twice"));
  EXPECT_THAT(Says({over({other.Variable("u", F32, {1})})}), HasSubstr("\"u\", which is of another graph"));
}

TEST(ParameterGroupTest, WrongGroupsAreErrors) {
  auto with = [](const optim::Group<optim::Adam>& group) {
    return [=](Builder& b) { optim::Adam{}.Minimize(Sum(b.Read(Vector(b, "w"))), {.groups = {group}}); };
  };
  EXPECT_THAT(Says({with({.of = Glob("b*")})}),
              AllOf(HasSubstr("fits none of the 1 parameters"), HasSubstr("\"w\"")));
  EXPECT_THAT(Says({with({})}), HasSubstr("set .of"));
  EXPECT_THAT(Says({with({.of = Glob("*"), .rate_scale = -1})}),
              HasSubstr("a rate_scale of at least 0, got -1"));
  EXPECT_THAT(Says({with({.of = Glob("*"), .with = [](optim::Adam& o) { o.beta2 = 1; }})}),
              HasSubstr("a beta2 of at least 0 and below 1, got 1"));
}

TEST(VariableFilterTest, ChoosesByNameRankAndList) {
  Graph graph("g");
  const Variable w = graph.Variable("net.0.weight", F32, {2, 3}), b = graph.Variable("net.0.bias", F32, {3});
  EXPECT_TRUE(Glob("*.weight")(w) && Glob("net.?.*")(w) && Glob("*")(w) && Glob("net*0*weight")(w));
  EXPECT_FALSE(Glob("*.weight")(b) || Glob("weight")(w) || Glob("net.?")(w) || Glob("")(w));
  EXPECT_TRUE(RankBelow(2)(b) && !RankBelow(2)(w));
  EXPECT_TRUE(Among({b})(b) && !Among({b})(w));
}

}  // namespace
}  // namespace sinter
