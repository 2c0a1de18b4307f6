#include "sinter/frontend/data/batches.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "sinter/frontend/data/transforms.h"
#include "sinter/tests/data/scratch_folder.h"

namespace sinter {
namespace {

using testing::Each;
using testing::ElementsAre;

// Example i is {i, i} in the first tensor and 10 + i in the second.
std::vector<HostTensor> Examples(int count) {
  std::vector<uint8_t> pairs;
  std::vector<int32_t> values;
  for (int i = 0; i < count; ++i) {
    pairs.insert(pairs.end(), 2, static_cast<uint8_t>(i));
    values.push_back(10 + i);
  }
  std::vector<HostTensor> tensors;
  tensors.push_back(Tensor<uint8_t>({count, 2}, pairs));
  tensors.push_back(Tensor<int32_t>({count}, values));
  return tensors;
}

BatchIterator Make(int examples, BatchOptions options) {
  return BatchIterator::Create(Examples(examples), std::move(options)).value();
}

std::vector<int32_t> Ids(const Batch& batch) { return Values<int32_t>(batch.tensors[1]); }

std::vector<int32_t> Epoch(BatchIterator& batches) {
  std::vector<int32_t> ids;
  while (true) {
    const Batch batch = batches.Next().value();
    const std::vector<int32_t> some = Ids(batch);
    ids.insert(ids.end(), some.begin(), some.begin() + batch.num_examples);
    if (batch.ends_epoch) return ids;
  }
}

TEST(BatchesTest, KeepGivesASmallerLastBatch) {
  BatchIterator batches = Make(5, {.batch_size = 2, .shuffle = false});
  EXPECT_EQ(batches.batches_per_epoch(), 3);
  EXPECT_THAT(Ids(batches.Next().value()), ElementsAre(10, 11));
  EXPECT_THAT(Ids(batches.Next().value()), ElementsAre(12, 13));
  const Batch last = batches.Next().value();
  EXPECT_THAT(Ids(last), ElementsAre(14));
  EXPECT_THAT(Values<uint8_t>(last.tensors[0]), ElementsAre(4, 4));
  EXPECT_EQ(last.tensors[0].ToString(), "u8[1,2]");
  EXPECT_THAT(Values<float>(last.weights), ElementsAre(1));
  EXPECT_EQ(last.rows, 1);
  EXPECT_TRUE(last.ends_epoch);
  const Batch next = batches.Next().value();
  EXPECT_EQ(next.epoch, 1);
  EXPECT_EQ(next.index, 0);
  EXPECT_THAT(Ids(next), ElementsAre(10, 11));
}

TEST(BatchesTest, DropLeavesTheRestOut) {
  BatchIterator batches = Make(5, {.batch_size = 2, .shuffle = false, .last = LastBatch::kDrop});
  EXPECT_EQ(batches.batches_per_epoch(), 2);
  EXPECT_THAT(Epoch(batches), ElementsAre(10, 11, 12, 13));
  EXPECT_THAT(Epoch(batches), ElementsAre(10, 11, 12, 13));
}

TEST(BatchesTest, PadFillsWithWeightlessZeros) {
  BatchIterator batches = Make(5, {.batch_size = 4, .shuffle = false, .last = LastBatch::kPad});
  EXPECT_THAT(Values<float>(batches.Next()->weights), ElementsAre(1, 1, 1, 1));
  const Batch last = batches.Next().value();
  EXPECT_THAT(Ids(last), ElementsAre(14, 0, 0, 0));
  EXPECT_THAT(Values<float>(last.weights), ElementsAre(1, 0, 0, 0));
  EXPECT_EQ(last.rows, 4);
  EXPECT_EQ(last.num_examples, 1);
  BatchIterator even = Make(4, {.batch_size = 4, .last = LastBatch::kPad});
  EXPECT_EQ(even.batches_per_epoch(), 1);
}

TEST(BatchesTest, ShufflesEveryEpochAnewAndKeepsRowsTogether) {
  BatchIterator batches = Make(100, {.batch_size = 7, .seed = 3});
  const std::vector<int32_t> first = Epoch(batches);
  const std::vector<int32_t> second = Epoch(batches);
  EXPECT_NE(first, second);
  std::vector<int32_t> all(100);
  std::iota(all.begin(), all.end(), 10);
  EXPECT_THAT(first, testing::UnorderedElementsAreArray(all));
  EXPECT_THAT(second, testing::UnorderedElementsAreArray(all));
  BatchIterator other_size = Make(100, {.batch_size = 32, .seed = 3});
  EXPECT_EQ(Epoch(other_size), first);
  BatchIterator other_seed = Make(100, {.batch_size = 7, .seed = 4});
  EXPECT_NE(Epoch(other_seed), first);
  const Batch batch = batches.Next().value();
  const std::vector<uint8_t> pairs = Values<uint8_t>(batch.tensors[0]);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(pairs[2 * i] + 10, Ids(batch)[i]);
}

// A seed guarantees this order: no compiler, platform or later version may change it.
TEST(BatchesTest, OrderIsFixed) {
  BatchIterator batches = Make(10, {.batch_size = 10, .seed = 1});
  EXPECT_THAT(Epoch(batches), ElementsAre(17, 14, 13, 18, 15, 19, 12, 10, 16, 11));
}

TEST(BatchesTest, RestoreContinuesWithTheSameBatches) {
  const BatchOptions options = {.batch_size = 3, .seed = 5};
  BatchIterator whole = Make(10, options);
  for (int done = 0; done < 9; ++done) {
    const BatchState saved = whole.state();
    BatchIterator resumed = Make(10, options);
    ASSERT_OK(resumed.Restore(BatchState::Parse(saved.ToText()).value()));
    EXPECT_EQ(resumed.state(), saved);
    const Batch expected = whole.Next().value();
    const Batch batch = resumed.Next().value();
    EXPECT_EQ(Ids(batch), Ids(expected)) << done;
    EXPECT_EQ(batch.epoch, expected.epoch);
    EXPECT_EQ(batch.state_after, whole.state());
  }
}

TEST(BatchesTest, RestoreRefusesOtherData) {
  BatchIterator batches = Make(10, {.batch_size = 3, .seed = 5});
  const BatchState state = batches.state();
  const auto refuse = [&](BatchState other, const std::string& text) {
    EXPECT_ERROR(batches.Restore(other), absl::StatusCode::kInvalidArgument, text);
  };
  BatchState other = state;
  other.num_examples = 11;
  refuse(other, "cannot resume: the saved number of examples is 11, here it is 10; batches would differ");
  other = state;
  other.batch_size = 4;
  refuse(other, "the saved batch_size is 4, here it is 3");
  other = state;
  other.seed = 6;
  refuse(other, "the saved seed is 6, here it is 5");
  other = state;
  other.shuffle = false;
  refuse(other, "the saved shuffle is 0, here it is 1");
  other = state;
  other.last = LastBatch::kPad;
  refuse(other, "the saved last batch rule is pad, here it is keep");
  other = state;
  other.batch = 4;
  refuse(other, "there is no batch 4 of epoch 0; an epoch has 4 batches");
}

TEST(BatchesTest, StateParsesOnlyItsOwnText) {
  const std::string text = BatchState{.epoch = 2, .batch = 3, .seed = ~uint64_t{0}}.ToText();
  EXPECT_EQ(BatchState::Parse(text)->seed, ~uint64_t{0});
  for (const std::string& bad :
       {std::string(), text + " x=1", text.substr(1), text.substr(0, text.size() - 1) + "3"}) {
    EXPECT_ERROR(BatchState::Parse(bad), absl::StatusCode::kInvalidArgument, "no state of a batch iterator");
  }
}

TEST(BatchesTest, EndsAfterMaxEpochs) {
  BatchIterator batches = Make(2, {.batch_size = 1, .max_epochs = 2});
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(batches.Next().ok());
  EXPECT_ERROR(batches.Next(), absl::StatusCode::kOutOfRange, "no more batches after 2 epochs");
}

TEST(BatchesTest, BadArguments) {
  const auto bad = [](std::vector<HostTensor> tensors, BatchOptions options, const std::string& text) {
    EXPECT_ERROR(BatchIterator::Create(std::move(tensors), std::move(options)),
                 absl::StatusCode::kInvalidArgument, text);
  };
  bad({}, {}, "at least one tensor");
  bad(Examples(0), {}, "there are no examples in u8[0,2]");
  bad(Examples(3), {.batch_size = 0}, "batch_size is 0, it must be at least 1");
  bad(Examples(3), {.max_epochs = -1}, "max_epochs is -1");
  bad(Examples(3), {.batch_size = 4, .last = LastBatch::kDrop}, "there are 3 examples for a batch_size of 4");
  bad(Examples(3), {.transforms = {WidenToI32()}}, "there are 1 transforms for 2 tensors");
  std::vector<HostTensor> tensors = Examples(3);
  tensors.push_back(Tensor<float>({2}, {0, 0}));
  bad(std::move(tensors), {}, "tensors 0 and 2 have different numbers of examples: u8[3,2] and f32[2]");
  tensors = Examples(3);
  tensors.push_back(Tensor<float>({}, {0}));
  bad(std::move(tensors), {}, "tensor 2 is a scalar, f32[]");
}

TEST(TransformsTest, ScaleAndWiden) {
  BatchOptions options = {.batch_size = 2, .shuffle = false, .last = LastBatch::kPad};
  options.transforms = {ScaleToF32(0.5f, -1, {1, 2}), nullptr};
  BatchIterator batches = Make(3, options);
  ASSERT_OK_AND_ASSIGN(const Batch batch, batches.Next());
  EXPECT_EQ(batch.tensors[0].ToString(), "f32[2,1,2]");
  EXPECT_THAT(Values<float>(batch.tensors[0]), ElementsAre(-1, -1, -0.5f, -0.5f));
  EXPECT_THAT(Ids(batch), ElementsAre(10, 11));
  options.transforms = {WidenToI32(), nullptr};
  EXPECT_THAT(Values<int32_t>(Make(3, options).Next()->tensors[0]), ElementsAre(0, 0, 1, 1));
}

TEST(TransformsTest, ErrorsLeaveTheStateAlone) {
  BatchOptions options = {.batch_size = 2};
  options.transforms = {nullptr, WidenToI32()};
  BatchIterator wrong_type = Make(3, options);
  EXPECT_ERROR(wrong_type.Next(), absl::StatusCode::kInvalidArgument,
               "WidenToI32 takes u8, it was given i32[2]");
  EXPECT_EQ(wrong_type.state().batch, 0);
  options.transforms = {ScaleToF32(1, 0, {3}), nullptr};
  EXPECT_ERROR(Make(3, options).Next(), absl::StatusCode::kInvalidArgument,
               "ScaleToF32 cannot make f32[2,3] of u8[2,2]: other numbers of elements");
  options.transforms = {[](HostTensor, SplitMix&) { return HostTensor::Zeros(DType::kF32, {1}); }, nullptr};
  EXPECT_ERROR(Make(3, options).Next(), absl::StatusCode::kInvalidArgument,
               "the transform of tensor 0 made f32[1] of 2 rows");
}

TEST(TransformsTest, RandomBitsDependOnTheBatchOnly) {
  BatchOptions options = {.batch_size = 1, .seed = 9};
  const BatchTransform noise = [](HostTensor, SplitMix& bits) {
    return HostTensor::FromVector<int64_t>({1}, {static_cast<int64_t>(bits.Next())});
  };
  options.transforms = {noise, noise};
  BatchIterator batches = Make(2, options);
  std::vector<int64_t> drawn;
  std::vector<BatchState> states;
  for (int i = 0; i < 4; ++i) {
    states.push_back(batches.state());
    const Batch batch = batches.Next().value();
    for (const HostTensor& tensor : batch.tensors) drawn.push_back(Values<int64_t>(tensor)[0]);
  }
  BatchIterator resumed = Make(2, options);
  ASSERT_OK(resumed.Restore(states[3]));
  EXPECT_EQ(Values<int64_t>(resumed.Next()->tensors[1])[0], drawn[7]);
  std::ranges::sort(drawn);
  EXPECT_EQ(std::ranges::adjacent_find(drawn), drawn.end());
}

TEST(SplitMixTest, KnownValuesAndRanges) {
  SplitMix bits(0);
  SplitMix same(0);
  SplitMix other_stream(0, 1);
  const uint64_t first = bits.Next();
  EXPECT_EQ(same.Next(), first);
  EXPECT_NE(other_stream.Next(), first);
  std::vector<int> counts(6);
  for (int i = 0; i < 6000; ++i) ++counts[bits.Below(6)];
  EXPECT_THAT(counts, Each(testing::AllOf(testing::Gt(880), testing::Lt(1120))));
  for (int i = 0; i < 1000; ++i) {
    const float u = bits.Uniform(-1, 1);
    EXPECT_TRUE(u >= -1 && u < 1) << u;
  }
}

}  // namespace
}  // namespace sinter
