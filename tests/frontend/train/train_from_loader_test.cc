// Trains a classifier on drawn digits from a loader, with augmentation and padded batches, and resumes it.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "sinter/tests/frontend/run_graph.h"

namespace sinter {
namespace {

constexpr int64_t kRows = 32;

Session MakeClassifier() {
  Graph graph("digits", {.seed = 1});
  nn::Module net = nn::Linear(10).Named("net");
  const auto classify = [&](Builder& b, Tensor* scores) {
    *scores = net(b.Input("x", F32, {kRows, 28 * 28}));
    const Tensor losses =
        SoftmaxCrossEntropy(*scores, b.Input("t", I32, {kRows}), {.reduction = Reduction::kNone});
    const Tensor weights = b.Input("weights", F32, {kRows});
    return Sum(losses * weights) / Sum(weights);
  };
  graph.Function("train", Mode::kTrain, [&](Builder& b) {
    Tensor scores;
    const Tensor loss = classify(b, &scores);
    optim::Adam{.learning_rate = 1e-2}.Minimize(loss);
    b.Output("loss", loss);
  });
  return MustStart(graph);
}

// Each image moves by up to two pixels, as a Map does it at random.
data::Dataset Digits() {
  ImageSet drawn = DrawDigits(500, /*seed=*/1).value();
  std::vector<NamedTensor> fields;
  fields.push_back(
      {"x", HostTensor::Borrow(DType::kU8, {500, 1, 28, 28}, drawn.images.mutable_data())->Clone().value()});
  fields.push_back({"t", std::move(drawn.labels)});
  return data::OwnTensors(std::move(fields))
      ->Map(data::RandomCrop(28, {.padding = 2}))
      .Map(data::ToFloat())
      .Map([](data::Example e, SplitMix&) -> absl::StatusOr<data::Example> {
        data::Example flat;
        const int32_t label = e.fields[1].Span<uint8_t>().value()[0];
        const std::span<const float> pixels = *e.fields[0].Span<float>();
        SINTER_ASSIGN_OR_RETURN(HostTensor x,
                                HostTensor::FromVector<float>({784}, {pixels.begin(), pixels.end()}));
        SINTER_ASSIGN_OR_RETURN(HostTensor t, HostTensor::FromVector<int32_t>({}, {label}));
        flat.fields.push_back(std::move(x));
        flat.fields.push_back(std::move(t));
        return flat;
      });
}

data::Loader MakeLoader(int workers) {
  return data::Loader::Create(Digits(),
                              {.batch = kRows, .last = LastBatch::kPad, .seed = 3, .workers = workers})
      .value();
}

std::vector<double> Train(Session& session, data::Loader& loader, int64_t steps) {
  std::vector<double> losses;
  const absl::Status status = loader.Steps(steps, [&](const Batch& batch) -> absl::Status {
    SINTER_ASSIGN_OR_RETURN(Outputs out, session.Run("train", loader.Inputs(batch, "weights")));
    SINTER_ASSIGN_OR_RETURN(const double loss, out.Scalar("loss"));
    losses.push_back(loss);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  return losses;
}

TEST(TrainFromLoaderTest, LearnsAndResumesToTheBit) {
  Session session = MakeClassifier();
  data::Loader loader = MakeLoader(3);
  const std::vector<double> losses = Train(session, loader, 80);  // Five epochs of 16 batches.
  double first = 0, last = 0;
  for (size_t i = 0; i < 16; ++i) first += losses[i] / 16, last += losses[64 + i] / 16;
  EXPECT_LT(last, first / 2);

  const std::string path = testing::TempDir() + "/train_from_loader.safetensors";
  Session before = MakeClassifier();
  data::Loader half = MakeLoader(1);
  Train(before, half, 37);
  const absl::Status written = SaveCheckpoint(before, path, {{"loader", half.Save()}});
  ASSERT_TRUE(written.ok()) << written;
  Session after = MakeClassifier();
  data::Loader rest = MakeLoader(2);
  absl::StatusOr<Metadata> saved = LoadCheckpoint(after, path);
  ASSERT_TRUE(saved.ok()) << saved.status();
  const absl::Status loaded = rest.Load((*saved)["loader"]);
  ASSERT_TRUE(loaded.ok()) << loaded;
  EXPECT_EQ(Train(after, rest, 43), std::vector<double>(losses.begin() + 37, losses.end()));
}

}  // namespace
}  // namespace sinter
