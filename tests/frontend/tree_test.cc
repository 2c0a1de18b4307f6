// The tensors of trees, in order.
#include "sinter/frontend/graph/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct Pair {
  Tensor h, c;
};
struct Everything {
  int64_t count = 0;
  std::optional<double> scale = {};
  Tensor first;
  std::string name = {};
  std::array<int64_t, 2> window = {};
  std::vector<Pair> states = {};
  std::function<void()> call = {};
  std::optional<Tensor> perhaps = {};
  Pair* elsewhere = nullptr;
  std::pair<Tensor, std::tuple<Tensor, int>> nested;
  const char* text = nullptr;
  void (*function)() = nullptr;
};

class TreeTest : public testing::Test {
 protected:
  // Returns a tensor with `size` elements.
  Tensor Of(int64_t size) {
    Tensor made;
    graph_.Function("f" + std::to_string(size), Mode::kEval,
                    [&](Builder& b) { made = b.Full(F32, {size}, 0); });
    return made;
  }
  template <typename T>
  std::vector<int64_t> Sizes(T& tree) {
    std::vector<int64_t> sizes;
    ForEachTensor(tree, [&](const Tensor& tensor) { sizes.push_back(tensor.size()); });
    return sizes;
  }

  Graph graph_{"g"};
};

TEST_F(TreeTest, ListsTheTensorsInOrder) {
  Pair other{Of(6), Of(7)};
  Everything all{.first = Of(1), .states = {{Of(2), Of(3)}, {Of(4), Of(5)}}, .nested = {Of(8), {Of(9), 3}}};
  EXPECT_THAT(Sizes(all), ElementsAre(1, 2, 3, 4, 5, 8, 9));
  all.elsewhere = &other;
  all.perhaps = Of(10);
  EXPECT_THAT(Sizes(all), ElementsAre(1, 2, 3, 4, 5, 10, 6, 7, 8, 9));
  const Everything& constant = all;
  EXPECT_THAT(Sizes(constant), ElementsAre(1, 2, 3, 4, 5, 10, 6, 7, 8, 9));
}

TEST_F(TreeTest, OtherThingsHaveNone) {
  int64_t number = 3;
  std::string text = "text";
  std::vector<double> numbers = {1, 2};
  MatMulOptions options;
  const std::vector<bool> bits = {true};
  EXPECT_THAT(Sizes(number), IsEmpty());
  EXPECT_THAT(Sizes(text), IsEmpty());
  EXPECT_THAT(Sizes(numbers), IsEmpty());
  EXPECT_THAT(Sizes(options), IsEmpty());
  EXPECT_THAT(Sizes(bits), IsEmpty());
}

TEST_F(TreeTest, TensorsCanBeReplaced) {
  Pair pair{Of(1), Of(2)};
  const Tensor three = Of(3);
  ForEachTensor(pair, [&](Tensor& tensor) { tensor = three; });
  EXPECT_THAT(Sizes(pair), ElementsAre(3, 3));
}

}  // namespace
}  // namespace sinter
