#include "sinter/frontend/data/dataset.h"

#include <numeric>
#include <set>
#include <utility>
#include <vector>

#include "sinter/tests/data/scratch_folder.h"

namespace sinter::data {
namespace {

using absl::StatusCode;
using testing::ElementsAre;

// Example i: x is i, f32 [2] of (i, 10 i); t is i32 i.
Dataset Numbers(int64_t count, const std::string& x = "x", const std::string& t = "t") {
  std::vector<float> values;
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < count; ++i) {
    values.insert(values.end(), {static_cast<float>(i), static_cast<float>(10 * i)});
    labels.push_back(static_cast<int32_t>(i));
  }
  return Tensors({{x, Tensor<float>({count, 2}, values)}, {t, Tensor<int32_t>({count}, labels)}}).value();
}

std::vector<int32_t> Labels(const Dataset& set) {
  SplitMix bits(0);
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < set.size(); ++i)
    labels.push_back(Values<int32_t>(set.Get(i, bits)->fields.back())[0]);
  return labels;
}

TEST(DatasetTest, TensorsGivesRows) {
  const Dataset set = Numbers(5);
  SplitMix bits(0);
  EXPECT_EQ(set.size(), 5);
  EXPECT_THAT(set.names(), ElementsAre("x", "t"));
  ASSERT_OK_AND_ASSIGN(const Example example, set.Get(3, bits));
  EXPECT_EQ(example.fields[0].ToString(), "f32[2]");
  EXPECT_THAT(Values<float>(example.fields[0]), ElementsAre(3, 30));
  EXPECT_EQ(example.fields[1].ToString(), "i32[]");
  EXPECT_ERROR(set.Get(5, bits), StatusCode::kOutOfRange, "there is no example 5 in a set of 5");
  EXPECT_ERROR(set.Get(-1, bits), StatusCode::kOutOfRange, "there is no example -1");
}

TEST(DatasetTest, TensorsErrors) {
  const HostTensor x = Tensor<float>({2}, {1, 2}), y = Tensor<float>({3}, {1, 2, 3}),
                   scalar = Tensor<float>({}, {1});
  EXPECT_ERROR(Tensors({}), StatusCode::kInvalidArgument, "needs at least one tensor");
  EXPECT_ERROR(Tensors({{"x", x}, {"y", y}}), StatusCode::kInvalidArgument,
               "'x' and 'y' have different numbers of examples: f32[2] and f32[3]");
  EXPECT_ERROR(Tensors({{"s", scalar}}), StatusCode::kInvalidArgument, "'s' is a scalar, f32[]");
  EXPECT_ERROR(Tensors({{"x", x}, {"x", x}}), StatusCode::kInvalidArgument,
               "two fields of a set are named 'x'");
  EXPECT_ERROR(Tensors({{"", x}}), StatusCode::kInvalidArgument, "empty name");
}

TEST(DatasetTest, ConcatSubsetAndZip) {
  const Dataset set = Numbers(3);
  ASSERT_OK_AND_ASSIGN(const Dataset odd, Subset(set, {2, 0, 2}));
  EXPECT_THAT(Labels(odd), ElementsAre(2, 0, 2));
  ASSERT_OK_AND_ASSIGN(const Dataset empty, Subset(set, {}));
  ASSERT_OK_AND_ASSIGN(const Dataset all, Concat({set, empty, odd}));
  EXPECT_THAT(Labels(all), ElementsAre(0, 1, 2, 2, 0, 2));
  ASSERT_OK_AND_ASSIGN(const Dataset zipped, Zip({set, *Subset(Numbers(3, "a", "b"), {2, 1, 0})}));
  EXPECT_THAT(zipped.names(), ElementsAre("x", "t", "a", "b"));
  SplitMix bits(0);
  ASSERT_OK_AND_ASSIGN(const Example example, zipped.Get(0, bits));
  EXPECT_THAT(Values<float>(example.fields[2]), ElementsAre(2, 20));
}

TEST(DatasetTest, ErrorsOfCombinations) {
  const Dataset set = Numbers(3);
  EXPECT_ERROR(Concat({}), StatusCode::kInvalidArgument, "Concat needs at least one set");
  EXPECT_ERROR(Concat({set, Numbers(3, "a", "b")}), StatusCode::kInvalidArgument,
               "Concat needs sets of equal names, got x, t and a, b");
  EXPECT_ERROR(Subset(set, {3}), StatusCode::kInvalidArgument, "Subset is asked for example 3 of a set of 3");
  EXPECT_ERROR(Zip({}), StatusCode::kInvalidArgument, "Zip needs at least one set");
  EXPECT_ERROR(Zip({set, Numbers(4, "a", "b")}), StatusCode::kInvalidArgument, "got 3 and 4 examples");
  EXPECT_ERROR(Zip({set, set}), StatusCode::kInvalidArgument, "two fields of a set are named 'x'");
}

TEST(DatasetTest, MapChangesExamplesAndNames) {
  const Dataset sums = Numbers(4).Map(
      [](Example e, SplitMix& bits) -> absl::StatusOr<Example> {
        const std::vector<float> x = Values<float>(e.fields[0]);
        Example sum;
        sum.fields.push_back(Tensor<float>({}, {x[0] + x[1]}));
        sum.fields.push_back(Tensor<int32_t>({}, {static_cast<int32_t>(bits.Below(1000))}));
        return sum;
      },
      {"sum", "draw"});
  EXPECT_THAT(sums.names(), ElementsAre("sum", "draw"));
  SplitMix bits(5), same(5);
  ASSERT_OK_AND_ASSIGN(const Example example, sums.Get(2, bits));
  EXPECT_THAT(Values<float>(example.fields[0]), ElementsAre(22));
  EXPECT_EQ(Values<int32_t>(example.fields[1])[0], static_cast<int32_t>(same.Below(1000)));

  const Dataset fewer = Numbers(4).Map([](Example e, SplitMix&) -> absl::StatusOr<Example> {
    e.fields.pop_back();
    return e;
  });
  EXPECT_ERROR(fewer.Get(0, bits), StatusCode::kInvalidArgument,
               "the function of Map gave 1 fields, the set's names are x, t; give Map the names");
}

TEST(DatasetTest, SplitPartsAreDisjointAndRepeatable) {
  const Dataset set = Numbers(103);
  ASSERT_OK_AND_ASSIGN(const std::vector<Dataset> parts, Split(set, {0.7, 0.2, 0.1}, 3));
  EXPECT_EQ(parts[0].size(), 72);
  EXPECT_EQ(parts[1].size(), 20);
  EXPECT_EQ(parts[2].size(), 11);
  std::set<int32_t> all;
  for (const Dataset& part : parts) {
    for (const int32_t label : Labels(part)) EXPECT_TRUE(all.insert(label).second) << label;
  }
  EXPECT_EQ(all.size(), 103u);
  EXPECT_EQ(Labels(Split(set, {0.7, 0.2, 0.1}, 3)->at(1)), Labels(parts[1]));
  EXPECT_NE(Labels(Split(set, {0.7, 0.2, 0.1}, 4)->at(1)), Labels(parts[1]));
  ASSERT_OK_AND_ASSIGN(const std::vector<Dataset> some, Split(set, {0.5}, 3));
  EXPECT_EQ(some[0].size(), 51);
  EXPECT_ERROR(Split(set, {0.7, 0.4}, 0), StatusCode::kInvalidArgument, "the shares of Split are 0.7, 0.4");
  EXPECT_ERROR(Split(set, {0.7, 0}, 0), StatusCode::kInvalidArgument, "must be above 0");
  EXPECT_ERROR(Split(set, {}, 0), StatusCode::kInvalidArgument, "must be above 0");
}

TEST(DatasetTest, FoldsValidateEachExampleOnce) {
  ASSERT_OK_AND_ASSIGN(const std::vector<Fold> folds, Folds(Numbers(10), 3, 1));
  std::multiset<int32_t> validated;
  for (const Fold& fold : folds) {
    EXPECT_EQ(fold.train.size() + fold.validation.size(), 10);
    std::set<int32_t> both;
    for (const int32_t label : Labels(fold.train)) both.insert(label);
    for (const int32_t label : Labels(fold.validation)) {
      validated.insert(label);
      both.insert(label);
    }
    EXPECT_EQ(both.size(), 10u);
  }
  EXPECT_EQ(validated.size(), 10u);
  EXPECT_EQ(std::set<int32_t>(validated.begin(), validated.end()).size(), 10u);
  EXPECT_ERROR(Folds(Numbers(3), 1, 0), StatusCode::kInvalidArgument,
               "2 folds to as many as examples, which are 3");
  EXPECT_ERROR(Folds(Numbers(3), 4, 0), StatusCode::kInvalidArgument, "it was asked for 4");
}

// A program's own source with a bug.
TEST(DatasetTest, SourcesThatContradictThemselves) {
  class Odd : public Source {
   public:
    int64_t size() const override { return 1; }
    absl::StatusOr<Example> Get(int64_t, SplitMix&) const override { return Example(); }
    std::vector<std::string> names() const override { return {"x"}; }
  };
  SplitMix bits(0);
  EXPECT_ERROR(Dataset(std::make_shared<Odd>()).Get(0, bits), StatusCode::kInternal,
               "gave an example of 0 fields, but it has 1 names");
}

}  // namespace
}  // namespace sinter::data
