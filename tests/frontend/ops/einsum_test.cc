// Sums of products: results, gradients, how they are computed, and errors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "sinter/tests/frontend/error_case.h"
#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;

using EinsumTest = DeviceTest;

// Small whole numbers, whose sums of products are exact.
float Element(size_t operand, size_t i) { return static_cast<float>((i * 7 + operand * 3) % 5) - 2; }

struct EinsumCase {
  std::string equation;
  std::vector<std::string> labels;  // By operand, without an ellipsis.
  std::string result;
  std::map<char, int64_t> sizes;
};

Shape ShapeOf(const std::string& labels, const std::map<char, int64_t>& sizes) {
  Shape shape;
  for (const char label : labels) shape.push_back(sizes.at(label));
  return shape;
}

// Computes the sum by loops over all labels.
std::vector<float> Expected(const EinsumCase& c) {
  std::string all = c.result;
  for (const std::string& labels : c.labels) {
    for (const char label : labels) {
      if (all.find(label) == std::string::npos) all += label;
    }
  }
  int64_t count = 1, results = 1;
  for (const char label : all) count *= c.sizes.at(label);
  for (const char label : c.result) results *= c.sizes.at(label);
  std::vector<float> sums(static_cast<size_t>(results));
  for (int64_t i = 0; i < count; ++i) {
    std::map<char, int64_t> at;
    int64_t rest = i;
    for (size_t k = all.size(); k-- > 0;) {
      at[all[k]] = rest % c.sizes.at(all[k]);
      rest /= c.sizes.at(all[k]);
    }
    const auto place = [&](const std::string& labels) {
      int64_t p = 0;
      for (const char label : labels) p = p * c.sizes.at(label) + at[label];
      return static_cast<size_t>(p);
    };
    float product = 1;
    for (size_t o = 0; o < c.labels.size(); ++o) product *= Element(o, place(c.labels[o]));
    sums[place(c.result)] += product;
  }
  return sums;
}

TEST_F(EinsumTest, IsTheSumOfProducts) {
  const std::map<char, int64_t> ij = {{'i', 2}, {'j', 3}};
  const std::map<char, int64_t> ijk = {{'i', 2}, {'j', 3}, {'k', 4}};
  const std::map<char, int64_t> bijk = {{'b', 2}, {'i', 3}, {'j', 4}, {'k', 5}};
  const std::vector<EinsumCase> cases = {
      {"ij->ji", {"ij"}, "ji", ij},
      {"ij->", {"ij"}, "", ij},
      {"ij->j", {"ij"}, "j", ij},
      {"ii->i", {"ii"}, "i", {{'i', 3}}},
      {"ii", {"ii"}, "", {{'i', 3}}},
      {"iji->j", {"iji"}, "j", ij},
      {"iii->i", {"iii"}, "i", {{'i', 3}}},
      {"iijj->ji", {"iijj"}, "ji", ij},
      {"ij,jk->ik", {"ij", "jk"}, "ik", ijk},
      {"ij,jk", {"ij", "jk"}, "ik", ijk},
      {"ji,jk->ki", {"ji", "jk"}, "ki", ijk},
      {"ij,kj->ik", {"ij", "kj"}, "ik", ijk},
      {"ij,ij->", {"ij", "ij"}, "", ij},
      {"ij,ij->ij", {"ij", "ij"}, "ij", ij},
      {"i,j->ij", {"i", "j"}, "ij", ij},
      {"ij,j->i", {"ij", "j"}, "i", ij},
      {"i,ij->j", {"i", "ij"}, "j", ij},
      {"bij,bjk->bik", {"bij", "bjk"}, "bik", bijk},
      {"bik,bjk->bij", {"bik", "bjk"}, "bij", bijk},
      {"ibk,jkb->jbi", {"ibk", "jkb"}, "jbi", bijk},
      {"ij,jk,k->i", {"ij", "jk", "k"}, "i", ijk},
      {"ij,jk,ki->", {"ij", "jk", "ki"}, "", ijk},
      {"ijk,i,j,k->", {"ijk", "i", "j", "k"}, "", ijk},
      {"ij,k->j", {"ij", "k"}, "j", ijk},
      {" b i j , b j -> b i ", {"bij", "bj"}, "bi", bijk},
      {"bij,jkk->bik", {"bij", "jkk"}, "bik", bijk},
      {"...ij,...jk->...ik", {"bij", "bjk"}, "bik", bijk},
      {"...ij,jk->...ik", {"bij", "jk"}, "bik", bijk},
      {"...j,ij", {"bkj", "ij"}, "bki", bijk},
      {"i...->...", {"ibk"}, "bk", bijk},
      {"Ba,aB->aB", {"Ba", "aB"}, "aB", {{'a', 2}, {'B', 3}}},
  };
  Graph graph("g");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    for (size_t n = 0; n < cases.size(); ++n) {
      std::vector<Tensor> xs;
      for (size_t o = 0; o < cases[n].labels.size(); ++o) {
        const Shape shape = ShapeOf(cases[n].labels[o], cases[n].sizes);
        const int64_t size = std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
        HostTensor values = HostTensor::Empty(F32, shape).value();
        for (int64_t i = 0; i < size; ++i) {
          values.MutableSpan<float>().value()[static_cast<size_t>(i)] = Element(o, static_cast<size_t>(i));
        }
        xs.push_back(b.Constant(values));
      }
      const Tensor y = Einsum(cases[n].equation, xs);
      EXPECT_EQ(y.shape(), ShapeOf(cases[n].result, cases[n].sizes)) << cases[n].equation;
      b.Output("y" + std::to_string(n), y);
    }
  });
  ASSERT_TRUE(graph.status().ok()) << graph.status();
  Session session = MustStart(graph, {.device = TestDevice()});
  const absl::StatusOr<Outputs> outputs = session.Run("f", {});
  ASSERT_TRUE(outputs.ok()) << outputs.status();
  for (size_t n = 0; n < cases.size(); ++n) {
    EXPECT_EQ(ToFloats((*outputs)["y" + std::to_string(n)]), Expected(cases[n])) << cases[n].equation;
  }
}

TEST_F(EinsumTest, DimensionsOfAnEllipsisBroadcast) {
  Graph graph("g");
  graph.Function("f", Mode::kEval, [&](Builder& b) {
    const Tensor x = Reshape(b.Iota(F32, {4}), {2, 1, 2}), y = Reshape(b.Iota(F32, {6}), {3, 2});
    b.Output("y", Einsum("...i,...i->...", {x, y}));
    b.Output("whole", Cast(Einsum("ij,j->i", {b.Iota(I32, {2, 3}, 1), b.Iota(I32, {3})}), F32));
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  EXPECT_THAT(Floats(session, "f", {}, "y"), ElementsAre(1, 3, 5, 3, 13, 23));
  EXPECT_THAT(Floats(session, "f", {}, "whole"), ElementsAre(5, 5)) << "integers";
}

TEST_F(EinsumTest, HasGradients) {
  Graph graph("g");
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    const Tensor x = b.Read(graph.Variable("x", F32, {2, 3})), y = b.Read(graph.Variable("y", F32, {3, 2}));
    const Tensor loss = Einsum("ij,jk->", {x + 1, y + 2});
    b.Output("gradient", sinter::Gradients(loss, {x})[0]);
  });
  Session session = MustStart(graph, {.device = TestDevice()});
  EXPECT_THAT(Floats(session, "train", {}, "gradient"), ElementsAre(4, 4, 4, 4, 4, 4));
}

class EinsumErrorTest : public ::testing::TestWithParam<ErrorCase> {};
TEST_P(EinsumErrorTest, Says) { ExpectSays(GetParam(), "einsum_test.cc:"); }

INSTANTIATE_TEST_SUITE_P(
    Cases, EinsumErrorTest,
    ::testing::Values(
        In("Operands", [](Builder& b) { Einsum("ij,jk", {X(b)}); },
           {"Einsum(f32[2,3]) \"ij,jk\" names 2 operands, and there are 1"}),
        In("Dimensions", [](Builder& b) { Einsum("ijk->i", {X(b)}); },
           {"names 3 dimensions of operand 0, f32[2,3]"}),
        In("EllipsisDimensions", [](Builder& b) { Einsum("...ijk->i", {X(b)}); },
           {"names 3 dimensions of operand 0"}),
        In("Sizes", [](Builder& b) { Einsum("ij,jk->ik", {X(b), X(b)}); },
           {"has label j of size 3, and of size 2 in operand 1"}),
        In("Diagonal", [](Builder& b) { Einsum("ii", {X(b)}); },
           {"has label i of size 2, and of size 3 in operand 0"}),
        In("Result", [](Builder& b) { Einsum("ij->k", {X(b)}); }, {"has label k in its result alone"}),
        In("ResultTwice", [](Builder& b) { Einsum("ij->ii", {X(b)}); }, {"has label i twice in its result"}),
        In("Arrows", [](Builder& b) { Einsum("ij->i->j", {X(b)}); }, {"has more than one ->"}),
        In("Letters", [](Builder& b) { Einsum("i1->i", {X(b)}); }, {"has '1': labels are letters"}),
        In("TwoEllipses", [](Builder& b) { Einsum("...i...", {X(b)}); }, {"has '.': labels are letters"}),
        In("NoEllipsis", [](Builder& b) { Einsum("...i->i", {X(b)}); },
           {"needs ... in its result, as in its operands"}),
        In("EllipsisSizes", [](Builder& b) { Einsum("...i,...i->...", {X(b), X(b, {4, 3})}); },
           {"has a dimension of ... of size 2, and of size 4 in operand 1"}),
        In("Types", [](Builder& b) { Einsum("ij,ij->", {X(b), X(b, {2, 3}, F64)}); },
           {"needs operands of one element type"}),
        In("Nothing", [](Builder&) { Einsum("", {}); }, {"Einsum"})),
    ErrorCaseName);

}  // namespace
}  // namespace sinter
