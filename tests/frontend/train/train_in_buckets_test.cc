// Trains a tagger on text of unequal lengths: bucketed batches of two padded fields, and a bucketed function.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

constexpr int64_t kBatchRows = 8, kWords = 12, kTags = 3, kSentences = 100;
const std::vector<int64_t> kLengths = {4, 8, 16};

int64_t LengthOf(int64_t sentence) { return 1 + (sentence * 7) % 16; }

// Sentences of 1 to 16 words, and the tag of each word, which depends on the word and on the one before it.
class Sentences final : public data::Source {
 public:
  int64_t size() const override { return kSentences; }
  std::vector<std::string> names() const override { return {"ids", "tags"}; }
  absl::StatusOr<data::Example> Get(int64_t i, SplitMix&) const override {
    std::vector<int32_t> ids, tags;
    for (int64_t t = 0; t < LengthOf(i); ++t) {
      ids.push_back(static_cast<int32_t>((i * i + 5 * t * t + 3 * i * t) % kWords));
      tags.push_back((ids[t] + (t > 0 ? ids[t - 1] : 0)) % static_cast<int32_t>(kTags));
    }
    const std::vector<int64_t> shape = {LengthOf(i)};
    data::Example example;
    SINTER_ASSIGN_OR_RETURN(HostTensor words, HostTensor::FromVector<int32_t>(shape, ids));
    SINTER_ASSIGN_OR_RETURN(HostTensor labels, HostTensor::FromVector<int32_t>(shape, tags));
    example.fields.push_back(std::move(words));
    example.fields.push_back(std::move(labels));
    return example;
  }
};

// The mean loss of the words that exist: padding of a row counts for nothing.
Tensor LossOf(Builder& b, const nn::Module& words, const nn::Module& head, int64_t time) {
  const Tensor ids = b.Input("ids", I32, {kBatchRows, time}), tags = b.Input("tags", I32, {kBatchRows, time});
  const Tensor lengths = b.Input("lengths", I32, {kBatchRows});
  const Tensor word = words(ids),
               before = Pad(Slice(word, {0, 0, 0}, {kBatchRows, time - 1, 8}), {0, 1, 0}, {0, 0, 0});
  const Tensor losses =
      SoftmaxCrossEntropy(head(Concat({word, before}, 2)), tags, {.reduction = Reduction::kNone});
  const Tensor exists = Cast(b.Iota(I32, {kBatchRows, time}, 1) < ExpandDims(lengths, 1), F32);
  Metric(b, "loss", metrics::Mean(losses, exists));
  return Sum(losses * exists) / Sum(exists);
}

TEST(TrainInBucketsTest, OneBucketHoldsAllPaddedFields) {
  Graph graph("tagger", {.seed = 1});
  const nn::Module words = nn::Embedding(kWords, 8).Named("words");
  const nn::Module head = nn::Linear(kTags).Named("head");
  graph.Buckets("train", Mode::kTrain, kLengths, [&](Builder& b, int64_t time) {
    const Tensor loss = LossOf(b, words, head, time);
    optim::Adam{.learning_rate = 0.03}.Minimize(loss);
    b.Output("loss", loss);
  });
  Session session = MustStart(graph);
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < kSentences; ++i) lengths.push_back(LengthOf(i));
  data::Loader loader =
      data::Loader::Create(
          data::Dataset(std::make_shared<Sentences>()),
          {.batch = kBatchRows,
           .order = data::ByLength(lengths, kBatchRows),
           .collate = data::Bucket({"ids", "tags"}, kLengths, {.lengths = data::LengthsOf::kExample}),
           .last = LastBatch::kPad,
           .seed = 3})
          .value();
  EXPECT_EQ(loader.names(), (std::vector<std::string>{"ids", "tags", "lengths"}));
  std::set<int64_t> seen;
  std::vector<double> means;
  for (int epoch = 0; epoch < 30; ++epoch) {
    const absl::Status status = loader.Epoch([&](const Batch& batch) -> absl::Status {
      seen.insert(batch.tensors[0].shape()[1]);
      return session.Run("train", loader.Inputs(batch)).status();
    });
    ASSERT_TRUE(status.ok()) << status;
    absl::StatusOr<MetricValues> values = ReadMetrics(session, "train");
    ASSERT_TRUE(values.ok()) << values.status();
    means.push_back(values->numbers["loss"]);
  }
  EXPECT_THAT(seen, ::testing::ElementsAre(4, 8, 16));
  EXPECT_LT(means.back(), means.front() / 3);
}

// The Trainer passes the same batches to the function.
TEST(TrainInBucketsTest, TheTrainerRunsBuckets) {
  Graph graph("tagger", {.seed = 1});
  const nn::Module words = nn::Embedding(kWords, 8).Named("words");
  const nn::Module head = nn::Linear(kTags).Named("head");
  graph.Buckets("train", Mode::kTrain, kLengths, [&](Builder& b, int64_t time) {
    optim::Adam{.learning_rate = 0.03}.Minimize(LossOf(b, words, head, time));
  });
  Session session = MustStart(graph);
  data::Loader loader =
      data::Loader::Create(
          data::Dataset(std::make_shared<Sentences>()),
          {.batch = kBatchRows,
           .collate = data::Bucket({"ids", "tags"}, kLengths, {.lengths = data::LengthsOf::kExample}),
           .last = LastBatch::kDrop})
          .value();
  train::Trainer trainer(session, train::Updater(loader, "train"), {.stop = train::Epochs(2)});
  double loss = 0;
  trainer.Extend(
      [&](train::Trainer& t) -> absl::Status {
        SINTER_ASSIGN_OR_RETURN(train::Values values, t.observation());
        loss = values["main/loss"];
        return absl::OkStatus();
      },
      {.trigger = train::Every(1, train::kEpoch)});
  const absl::Status status = trainer.Run();
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_GT(loss, 0);
  EXPECT_LT(loss, 1.2);
}

}  // namespace
}  // namespace sinter
