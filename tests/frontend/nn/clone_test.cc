// Clones of modules: what they share with the original, what they are named, and their errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>

#include "sinter/frontend/nn/copy_parameters.h"
#include "sinter/frontend/nn/layers.h"
#include "sinter/frontend/nn/parametrization.h"
#include "sinter/frontend/nn/transformer.h"
#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/nn/module_values.h"

namespace sinter {
namespace {

using nn::Copying;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using CloneTest = DeviceTest;

std::vector<std::string> NamesOf(const std::vector<Variable>& variables) {
  std::vector<std::string> names;
  for (const Variable& variable : variables) names.push_back(variable.name());
  return names;
}

// A layer of a program: members are modules, one of them twice, and a function that holds one.
class Twice : public nn::Layer {
 public:
  explicit Twice(int64_t width)
      : in_(Child("in", nn::Linear(width))),
        again_(in_),
        norm_(Child("norm", nn::BatchNorm())),
        last_([norm = norm_](const Tensor& x) { return norm(x) + 1; }) {}

 protected:
  Tensor Forward(const Tensor& x) override { return last_(again_(in_(x))); }

 private:
  nn::Linear in_;
  nn::Module again_;
  nn::BatchNorm norm_;
  std::function<Tensor(const Tensor&)> last_;
};

nn::Module Net() {
  return nn::Sequential{nn::Make<Twice>(4), nn::Relu(),
                        nn::Linear(4, {.weight = nn::Orthogonal()}).Named("head")};
}

const std::vector<std::string> kNames = {"0.in.weight",   "0.in.bias",   "0.norm.scale",
                                         "0.norm.offset", "head.weight", "head.bias"};

Tensor Batch(Builder& b) { return b.Constant(*HostTensor::FromVector<double>({2, 4}, Waves(8))); }

// The values of the two modules' variables by name, at the start.
Values Start(const std::function<void(Builder&)>& body) { return ModuleRun(body, Mode::kTrain).variables; }

TEST_F(CloneTest, HasValuesOfItsOwn) {
  for (const bool is_clone_first : {false, true}) {
    for (const Copying copying : {Copying::kValues, Copying::kInit}) {
      const Values values = Start([&](Builder& b) {
        nn::Module net = Net();
        if (!is_clone_first) net.Named("net"), net(Batch(b));
        nn::Module clone = net.Clone(copying).Named("clone");
        net.Named("net");
        clone(Batch(b)), net(Batch(b));
      });
      EXPECT_EQ(values.size(), 16u);
      for (const std::string& name : kNames) {
        const bool is_random = name.ends_with("weight");
        EXPECT_EQ(values.at("net." + name) == values.at("clone." + name),
                  copying == Copying::kValues || !is_random)
            << name;
      }
    }
  }
}

TEST_F(CloneTest, SharesVariables) {
  for (const bool is_clone_first : {false, true}) {
    Graph graph("g");
    graph.Function("f", Mode::kTrain, [&](Builder& b) {
      const nn::Module net = Net().Named("net");
      nn::Module clone = net.Clone(Copying::kShare).Named("another").Freeze();
      is_clone_first ? clone(Batch(b)), net(Batch(b)) : net(Batch(b)), clone(Batch(b));
      EXPECT_EQ(NamesOf(clone.state()).size(), 8u);
      EXPECT_EQ(NamesOf(net.state()),
                (std::vector<std::string>{"net.0.norm.running_mean", "net.0.norm.running_variance"}));
      EXPECT_TRUE(clone.parameters().empty());
      EXPECT_EQ(net.parameters().size(), kNames.size());
    });
    EXPECT_TRUE(graph.status().ok()) << graph.status();
    EXPECT_EQ(graph.variables().size(), 8u);
    for (const Variable& variable : graph.variables()) EXPECT_TRUE(variable.name().starts_with("net."));
  }
}

TEST_F(CloneTest, ClonesOfClonesAndInsideOfModules) {
  const Values values = Start([](Builder& b) {
    const nn::Module net = nn::Linear(4).Named("net");
    const nn::Module second = net.Clone(Copying::kValues);
    nn::Module all = nn::Sequential{second, second.Clone(Copying::kValues), net.Clone(Copying::kShare),
                                    second.Clone(Copying::kInit).Named("new")};
    all.Named("all");
    all(Batch(b));
    EXPECT_THAT(NamesOf(all.parameters()),
                ElementsAre("all.0.weight", "all.0.bias", "all.1.weight", "all.1.bias", "net.weight",
                            "net.bias", "all.new.weight", "all.new.bias"));
  });
  EXPECT_EQ(values.at("all.0.weight"), values.at("net.weight"));
  EXPECT_EQ(values.at("all.1.weight"), values.at("net.weight"));
  EXPECT_NE(values.at("all.new.weight"), values.at("net.weight"));
}

TEST_F(CloneTest, RepeatsAModule) {
  const Values values = Start([](Builder& b) {
    nn::Module deep = nn::Repeat(2, nn::Linear(4)).Named("deep");
    nn::Module like = nn::Repeat(2, deep, Copying::kValues).Named("like");
    nn::Module same = nn::Repeat(3, deep, Copying::kShare).Named("same");
    Tensor y = deep(Batch(b));
    b.Output("two", deep(y));
    b.Output("shared", nn::Repeat(2, deep, Copying::kShare)(y) - deep(deep(y)));
    like(y), same(y), nn::Repeat(0, deep)(y);
    EXPECT_EQ(same.parameters().size(), 4u);
  });
  EXPECT_EQ(values.size(), 12u);
  EXPECT_NE(values.at("deep.0.weight"), values.at("deep.1.weight"));
  EXPECT_EQ(values.at("deep.0.weight"), values.at("like.1.0.weight"));
  EXPECT_EQ(values.at("deep.1.weight"), values.at("like.0.1.weight"));
}

TEST_F(CloneTest, LayersThatMakeChildrenAtTheirFirstUse) {
  for (const bool is_cloned_first : {false, true}) {
    const Values values = Start([&](Builder& b) {
      const nn::Module mlp = nn::WeightNorm(nn::Mlp({.hidden = 3}).Named("mlp"));
      nn::Module before = mlp.Clone(Copying::kValues);
      mlp(Batch(b));
      nn::Module clone = (is_cloned_first ? before : mlp.Clone(Copying::kValues)).Named("clone");
      clone(Batch(b));
      mlp.Clone(Copying::kShare)(Batch(b));
    });
    EXPECT_EQ(values.size(), 12u) << ::testing::PrintToString(values);
    for (const std::string name : {"up.weight", "down.weight", "up.weight_scale"})
      EXPECT_EQ(values.at("mlp." + name), values.at("clone." + name));
  }
}

// Training of one changes nothing of the other, but for what CopyParameters moves: targets of Q-learning.
TEST_F(CloneTest, TargetNetwork) {
  Graph graph("g", {.seed = 2});
  const nn::Module net = Net().Named("q");
  nn::Module target = net.Clone(Copying::kValues).Named("target").Freeze();
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Tensor x = Batch(b);
    const Tensor loss = Mean(Square(net(x) - (1.0 + 0.9 * Max(target(x + 0.5), {1}, {.keep_dims = true}))));
    optim::Sgd{.learning_rate = 0.1}.Minimize(loss);
  });
  graph.Function("follow", Mode::kEval, [&](Builder& b) { nn::CopyParameters(b, net, target, 0.25); });
  Session session = MustStart(graph, {.device = TestDevice()});
  const auto read = [&](const std::string& name) { return Doubles(*session.ReadVariable(name)); };
  const std::vector<double> start = read("q.head.weight");
  EXPECT_EQ(read("target.head.weight"), start);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(session.Run("train", {}).ok());
  EXPECT_EQ(read("target.head.weight"), start);
  const std::vector<double> trained = read("q.head.weight");
  EXPECT_NE(trained, start);
  ASSERT_TRUE(session.Run("follow", {}).ok());
  std::vector<double> want;
  for (size_t i = 0; i < start.size(); ++i) want.push_back(start[i] + (trained[i] - start[i]) * 0.25);
  ExpectNear(read("target.head.weight"), want);
  EXPECT_EQ(read("q.head.weight"), trained);
}

TEST_F(CloneTest, InBucketsAndSeveralFunctions) {
  Graph graph("g");
  const nn::Module net = Net().Named("net"), clone = net.Clone(Copying::kValues).Named("clone");
  graph.Function("train", Mode::kTrain, [&](Builder& b) { clone(b.Input("x", F64, {3, 4})); });
  graph.Buckets("predict", Mode::kEval, {1, 4}, [&](Builder& b, int64_t n) {
    const Tensor x = b.Input("x", F64, {n, 4});
    b.Output("difference", net(x) - clone(x));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  auto outputs = session.Run("predict", {{"x", *HostTensor::FromVector<double>({2, 4}, Waves(8))}});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  EXPECT_EQ(Doubles((*outputs)["difference"]), std::vector<double>(8, 0));
}

class Unique : public nn::Layer {
 public:
  Unique() = default;
  Unique(const Unique&) = delete;

 protected:
  Tensor Forward(const Tensor& x) override { return x; }
};

class CloneErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(CloneErrorTest, Says) { ExpectSays(GetParam(), "clone_test.cc:"); }
INSTANTIATE_TEST_SUITE_P(
    Cases, CloneErrorTest,
    ::testing::Values(
        In("Copy",
           [](Builder& b) { nn::Sequential{nn::Relu(), nn::Make<Unique>()}.Clone(Copying::kInit)(X(b)); },
           {"cannot copy Unique, whose class has no copy constructor; make a new one instead"}),
        In("Unnamed",
           [](Builder& b) {
             const nn::Module net = nn::Linear(2);
             net(X(b)), net.Clone(Copying::kValues)(X(b));
           },
           {"\"weight\"", "give one of them a name"}),
        In("BeforeItsOriginal", [](Builder& b) { nn::Mlp().Named("mlp").Clone(Copying::kShare)(X(b)); },
           {"belongs to a clone, and the original makes its counterpart at its first use; use that before"}),
        In("Types",
           [](Builder& b) {
             const nn::Module net = nn::Linear(2).Named("net");
             net(X(b)), net.Clone(Copying::kValues).Named("clone")(Cast(X(b), F64));
           },
           {"was first used with", "use another module here"}),
        In("Count", [](Builder& b) { nn::Repeat(-1, nn::Relu())(X(b)); },
           {"of -1 modules; expected 0 or more"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
