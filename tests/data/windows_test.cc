#include "sinter/frontend/data/sets/windows.h"

#include <numeric>
#include <vector>

#include "sinter/frontend/data/collate.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter::data {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

std::vector<int32_t> FieldOf(const Dataset& set, int64_t i, size_t field) {
  SplitMix bits(0);
  return Values<int32_t>(set.Get(i, bits)->fields[field]);
}

TokenSet Count(uint16_t tokens) {
  std::vector<uint16_t> values(tokens);
  std::iota(values.begin(), values.end(), uint16_t{0});
  return TokenSet::FromVector(std::move(values)).value();
}

TEST(WindowsTest, CoversTheTokens) {
  ASSERT_OK_AND_ASSIGN(const Dataset set, Windows(Count(10), {.time = 3}));
  EXPECT_EQ(set.size(), 3);
  EXPECT_THAT(FieldOf(set, 2, 0), ElementsAre(6, 7, 8));
  EXPECT_THAT(FieldOf(set, 2, 1), ElementsAre(7, 8, 9));
  EXPECT_EQ(Windows(Count(9), {.time = 3})->size(), 2);
  ASSERT_OK_AND_ASSIGN(const Dataset dense,
                       Windows(Count(10), {.time = 3, .stride = 1, .names = {"a", "b"}}));
  EXPECT_EQ(dense.size(), 7);
  EXPECT_THAT(FieldOf(dense, 6, 1), ElementsAre(7, 8, 9));
  EXPECT_THAT(dense.names(), ElementsAre("a", "b"));
  const ScratchFolder scratch;
  ASSERT_OK_AND_ASSIGN(const Dataset file,
                       Windows(scratch.Write("t", std::string("\1\0\2\0\3\1", 6)), {.time = 2}));
  EXPECT_THAT(FieldOf(file, 0, 1), ElementsAre(2, 259));
}

TEST(WindowsTest, Errors) {
  EXPECT_ERROR(Windows(Count(10), {}), StatusCode::kInvalidArgument,
               "a time and a stride of at least 1, and 2 names; got 0");
  EXPECT_ERROR(Windows(Count(10), {.time = 3, .stride = -1}), StatusCode::kInvalidArgument, "got 3, -1");
  EXPECT_ERROR(Windows(Count(10), {.time = 10}), StatusCode::kInvalidArgument,
               "a window of 10 tokens and the one behind it do not fit in 10 tokens");
  EXPECT_ERROR(Windows(Count(10), {.time = 3, .names = {"x"}}), StatusCode::kInvalidArgument, "2 names");
}

// Example i has i tokens, all i; example 0 has none.
class Lengths : public Source {
 public:
  explicit Lengths(int64_t extra = 0) : extra_(extra) {}
  int64_t size() const override { return 6; }
  std::vector<std::string> names() const override { return {"ids"}; }
  absl::StatusOr<Example> Get(int64_t i, SplitMix&) const override {
    Example example;
    const std::vector<int32_t> ids(static_cast<size_t>(i + extra_), static_cast<int32_t>(i));
    example.fields.push_back(Tensor<int32_t>({static_cast<int64_t>(ids.size())}, ids));
    return example;
  }

 private:
  const int64_t extra_;
};

TEST(PackTest, JoinsExamples) {
  const Dataset set(std::make_shared<Lengths>());
  // 1 2 2 3 3 3 4 4 4 4 5 5 5 5 5
  ASSERT_OK_AND_ASSIGN(const Dataset packed, Pack(set, {.time = 4}));
  EXPECT_EQ(packed.size(), 3);
  EXPECT_THAT(FieldOf(packed, 0, 0), ElementsAre(1, 2, 2, 3));
  EXPECT_THAT(FieldOf(packed, 0, 1), ElementsAre(2, 2, 3, 3));
  EXPECT_THAT(FieldOf(packed, 1, 0), ElementsAre(3, 3, 4, 4));
  EXPECT_THAT(FieldOf(packed, 2, 1), ElementsAre(4, 5, 5, 5));
  // 9 1 9 2 2 9 3 3 3 9 4 4 4 4 9 5 5 5 5 5 9
  ASSERT_OK_AND_ASSIGN(const Dataset marked,
                       Pack(set, {.time = 10, .separator = 9, .lengths = {0, 1, 2, 3, 4, 5}}));
  EXPECT_EQ(marked.size(), 2);
  EXPECT_THAT(FieldOf(marked, 0, 0), ElementsAre(9, 1, 9, 2, 2, 9, 3, 3, 3, 9));
  EXPECT_THAT(FieldOf(marked, 1, 1), ElementsAre(4, 4, 4, 9, 5, 5, 5, 5, 5, 9));
}

TEST(PackTest, Errors) {
  const Dataset set(std::make_shared<Lengths>());
  EXPECT_ERROR(Pack(set, {.time = 4, .lengths = {1}}), StatusCode::kInvalidArgument,
               "Pack is given 1 lengths for 6 examples");
  EXPECT_ERROR(Pack(set, {.time = 4, .lengths = {0, 1, 2, 3, 4, -5}}), StatusCode::kInvalidArgument,
               "the length -5");
  EXPECT_ERROR(Pack(set, {.time = 15}), StatusCode::kInvalidArgument, "do not fit in 15 tokens");
  EXPECT_ERROR(Pack(set, {}), StatusCode::kInvalidArgument, "a time and a stride of at least 1");
  const Dataset floats = Tensors({{"x", Tensor<float>({2}, {1, 2})}}).value();
  EXPECT_ERROR(Pack(floats, {.time = 1}), StatusCode::kInvalidArgument,
               "whose first field is i32 [length]; that of example 0 is f32[]");
  const Dataset longer(std::make_shared<Lengths>(1));
  SplitMix bits(0);
  EXPECT_ERROR(Pack(longer, {.time = 4, .lengths = {0, 1, 2, 3, 4, 5}})->Get(0, bits),
               StatusCode::kInvalidArgument,
               "example 1 has 2 tokens, but had 1 when the lengths were counted");
}

}  // namespace
}  // namespace sinter::data
