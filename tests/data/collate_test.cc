#include "sinter/frontend/data/collate.h"

#include <utility>
#include <vector>

#include "sinter/tests/data/scratch_folder.h"

namespace sinter::data {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

Example TokensOf(const std::vector<int32_t>& ids, float label) {
  Example example;
  example.fields.push_back(Tensor<int32_t>({static_cast<int64_t>(ids.size())}, ids));
  example.fields.push_back(Tensor<float>({}, {label}));
  return example;
}

std::vector<Example> Some() {
  std::vector<Example> examples;
  examples.push_back(TokensOf({1, 2, 3}, 0.5f));
  examples.push_back(TokensOf({4}, 1.5f));
  examples.push_back(TokensOf({}, 2.5f));
  return examples;
}

absl::StatusOr<std::vector<HostTensor>> Join(const Collate& collate, const std::vector<Example>& examples,
                                             int64_t rows) {
  return collate.join({.examples = examples, .names = {"ids", "label"}, .rows = rows});
}

TEST(CollateTest, StackFillsRowsWithZeros) {
  std::vector<Example> examples;
  examples.push_back(TokensOf({1, 2}, 0.5f));
  examples.push_back(TokensOf({3, 4}, 1.5f));
  ASSERT_OK_AND_ASSIGN(const std::vector<HostTensor> batch, Join(Stack(), examples, 3));
  EXPECT_EQ(batch[0].ToString(), "i32[3,2]");
  EXPECT_THAT(Values<int32_t>(batch[0]), ElementsAre(1, 2, 3, 4, 0, 0));
  EXPECT_THAT(Values<float>(batch[1]), ElementsAre(0.5f, 1.5f, 0));
  EXPECT_ERROR(Join(Stack(), Some(), 3), StatusCode::kInvalidArgument,
               "field 'ids' is i32[3] in row 0 and i32[1] in row 1; Stack needs equal shapes: use Pad");
}

TEST(CollateTest, PadAddsLengths) {
  const Collate pad = Pad({"ids"}, {.value = -1});
  EXPECT_THAT(pad.names({"ids", "label"}), ElementsAre("ids", "label", "ids_lengths"));
  ASSERT_OK_AND_ASSIGN(const std::vector<HostTensor> batch, Join(pad, Some(), 4));
  EXPECT_EQ(batch[0].ToString(), "i32[4,3]");
  EXPECT_THAT(Values<int32_t>(batch[0]), ElementsAre(1, 2, 3, 4, -1, -1, -1, -1, -1, -1, -1, -1));
  EXPECT_THAT(Values<float>(batch[1]), ElementsAre(0.5f, 1.5f, 2.5f, 0));
  EXPECT_THAT(Values<int32_t>(batch[2]), ElementsAre(3, 1, 0, 0));
  ASSERT_OK_AND_ASSIGN(const std::vector<HostTensor> wide, Join(Pad({"ids"}, {.multiple = 8}), Some(), 3));
  EXPECT_EQ(wide[0].ToString(), "i32[3,8]");
}

TEST(CollateTest, PadKeepsTheOtherSizes) {
  std::vector<Example> examples(2);
  examples[0].fields.push_back(Tensor<uint8_t>({1, 2}, {1, 2}));
  examples[1].fields.push_back(Tensor<uint8_t>({2, 2}, {3, 4, 5, 6}));
  const Rows rows = {.examples = examples, .names = {"x"}, .rows = 2};
  ASSERT_OK_AND_ASSIGN(const std::vector<HostTensor> batch, Pad({"x"}).join(rows));
  EXPECT_EQ(batch[0].ToString(), "u8[2,2,2]");
  EXPECT_THAT(Values<uint8_t>(batch[0]), ElementsAre(1, 2, 0, 0, 3, 4, 5, 6));
  examples[1].fields[0] = Tensor<uint8_t>({1, 3}, {1, 2, 3});
  EXPECT_ERROR(Pad({"x"}).join({.examples = examples, .names = {"x"}, .rows = 2}),
               StatusCode::kInvalidArgument,
               "field 'x' is u8[1,2] in row 0 and u8[1,3] in row 1; Pad needs one type, and equal sizes");
}

TEST(CollateTest, BucketTakesTheSmallestLength) {
  EXPECT_EQ(Join(Bucket({"ids"}, {2, 4, 8}), Some(), 3)->at(0).ToString(), "i32[3,4]");
  EXPECT_EQ(Join(Bucket({"ids"}, {3}), Some(), 3)->at(0).ToString(), "i32[3,3]");
  EXPECT_ERROR(Join(Bucket({"ids"}, {1, 2}), Some(), 3), StatusCode::kInvalidArgument,
               "field 'ids' has length 3 in row 0, the largest bucket is 2; add a larger one");
  EXPECT_ERROR(Join(Bucket({"ids"}, {}), Some(), 3), StatusCode::kInvalidArgument,
               "must be above 0 and rise");
  EXPECT_ERROR(Join(Bucket({"ids"}, {4, 4}), Some(), 3), StatusCode::kInvalidArgument,
               "lengths of Bucket are 4, 4");
}

// The second field of an example is as long as the first, and one longer if `is_longer`.
std::vector<Example> Pairs(bool is_longer) {
  std::vector<Example> examples;
  for (const int64_t length : {1, 3, 2}) {
    Example example;
    example.fields.push_back(Tensor<int32_t>({length}, std::vector<int32_t>(length, 7)));
    const int64_t other = length + (is_longer ? 2 : 0);
    example.fields.push_back(Tensor<float>({other}, std::vector<float>(other, 0.5f)));
    examples.push_back(std::move(example));
  }
  return examples;
}

absl::StatusOr<std::vector<HostTensor>> JoinPairs(const Collate& collate, bool is_longer) {
  const std::vector<Example> examples = Pairs(is_longer);
  return collate.join({.examples = examples, .names = {"ids", "tags"}, .rows = 4});
}

TEST(CollateTest, OneBucketHoldsAllFields) {
  const std::vector<std::string> both = {"ids", "tags"};
  ASSERT_OK_AND_ASSIGN(const std::vector<HostTensor> batch, JoinPairs(Bucket(both, {4, 8}), true));
  EXPECT_EQ(batch[0].ToString(), "i32[4,8]");
  EXPECT_EQ(batch[1].ToString(), "f32[4,8]");
  EXPECT_THAT(Values<int32_t>(batch[2]), ElementsAre(1, 3, 2, 0));
  EXPECT_THAT(Values<int32_t>(batch[3]), ElementsAre(3, 5, 4, 0));
  ASSERT_OK_AND_ASSIGN(const std::vector<HostTensor> own,
                       JoinPairs(Bucket(both, {4, 8}, {.own_lengths = true}), true));
  EXPECT_EQ(own[0].ToString(), "i32[4,4]");
  EXPECT_EQ(own[1].ToString(), "f32[4,8]");
  ASSERT_OK_AND_ASSIGN(const std::vector<HostTensor> padded, JoinPairs(Pad(both), true));
  EXPECT_EQ(padded[0].ToString(), "i32[4,3]");
  EXPECT_EQ(padded[1].ToString(), "f32[4,5]");
  ASSERT_OK_AND_ASSIGN(const std::vector<HostTensor> wide,
                       JoinPairs(Pad(both, {.multiple = 2, .own_lengths = false}), true));
  EXPECT_EQ(wide[0].ToString(), "i32[4,6]");
}

TEST(CollateTest, LengthsAreOfFieldsOrExamples) {
  const std::vector<std::string> both = {"ids", "tags"};
  const Collate examples = Bucket(both, {4, 8}, {.lengths = LengthsOf::kExample});
  EXPECT_THAT(examples.names({"ids", "tags"}), ElementsAre("ids", "tags", "lengths"));
  ASSERT_OK_AND_ASSIGN(const std::vector<HostTensor> batch, JoinPairs(examples, false));
  ASSERT_EQ(batch.size(), 3u);
  EXPECT_THAT(Values<int32_t>(batch[2]), ElementsAre(1, 3, 2, 0));
  EXPECT_ERROR(
      JoinPairs(examples, true), StatusCode::kInvalidArgument,
      "field 'ids' has length 1 in row 0 and field 'tags' has 3; LengthsOf::kExample needs one length: "
      "use kEachField");
  const Collate none = Pad(both, {.lengths = LengthsOf::kNone});
  EXPECT_THAT(none.names({"ids", "tags"}), ElementsAre("ids", "tags"));
  ASSERT_OK_AND_ASSIGN(const std::vector<HostTensor> fields, JoinPairs(none, true));
  EXPECT_EQ(fields.size(), 2u);
}

TEST(CollateTest, PadErrors) {
  EXPECT_ERROR(Join(Pad({}), Some(), 3), StatusCode::kInvalidArgument,
               "Pad is given no field to pad; use Stack");
  EXPECT_ERROR(Join(Pad({"text"}), Some(), 3), StatusCode::kInvalidArgument,
               "Pad is to pad 'text', but the fields are ids, label");
  std::vector<Example> equal;
  equal.push_back(TokensOf({1}, 0));
  EXPECT_ERROR(Join(Pad({"label"}), equal, 1), StatusCode::kInvalidArgument,
               "field 'label' is a scalar, f32[]; Pad needs a dimension to pad");
  EXPECT_ERROR(Join(Pad({"ids"}, {.multiple = 0}), Some(), 3), StatusCode::kInvalidArgument, "multiple is 0");
  EXPECT_ERROR(Join(Pad({"ids"}, {.value = 0.5}), Some(), 3), StatusCode::kInvalidArgument,
               "0.5 is not a number of type i32");
}

}  // namespace
}  // namespace sinter::data
