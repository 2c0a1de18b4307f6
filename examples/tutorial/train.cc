// Learns to which of two spirals a point belongs: the training program of the tutorial (docs/tutorial).
//
//   tutorial_train spirals.csv out          writes out/spirals.plan and out/spirals.safetensors
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include "sinter/sinter.h"

namespace {

namespace data = sn::data;
namespace nn = sn::nn;
namespace train = sn::train;

constexpr int64_t kBatch = 64;

// Examples with the fields x, f32 [2], and t, i32 []: 0 for red and 1 for blue.
absl::StatusOr<data::Dataset> Points(const std::string& path) {
  return data::Csv(path, {{.name = "x", .columns = {"x", "y"}},
                          {.name = "t", .columns = {"arm"}, .categories = {"red", "blue"}}});
}

sn::Graph Spirals() {
  sn::Graph graph("spirals", {.seed = 1});
  auto net = nn::Sequential{nn::Linear(64), nn::Relu(), nn::Linear(64), nn::Relu(), nn::Linear(2)};
  const auto classify = [&](sn::Builder& b) {
    const sn::Tensor logits = net(b.Input("x", sn::F32, {kBatch, 2}));
    const sn::Tensor t = b.Input("t", sn::I32, {kBatch}), weights = b.Input("weights", sn::F32, {kBatch});
    const sn::Tensor losses = sn::SoftmaxCrossEntropy(logits, t, {.reduction = sn::Reduction::kNone});
    const sn::metrics::Mean loss(losses, weights);
    sn::Metric(b, "loss", loss);
    sn::Metric(b, "accuracy", sn::metrics::Accuracy(logits, t, {.weights = weights}));
    return loss.value();
  };
  graph.Function("train", sn::Mode::kTrain,
                 [&](sn::Builder& b) { sn::optim::Adam{.learning_rate = 3e-3}.Minimize(classify(b)); });
  graph.Function("test", sn::Mode::kEval, [&](sn::Builder& b) { classify(b); });
  graph.Function("serve", sn::Mode::kEval,
                 [&](sn::Builder& b) { b.Output("p", sn::Softmax(net(b.Input("point", sn::F32, {1, 2})))); });
  return graph;
}

absl::Status Train(const std::string& table, const std::string& out) {
  SINTER_ASSIGN_OR_RETURN(const data::Dataset points, Points(table));
  SINTER_ASSIGN_OR_RETURN(const std::vector<data::Dataset> parts,
                          data::Split(points, {0.8, 0.2}, /*seed=*/1));
  SINTER_ASSIGN_OR_RETURN(
      data::Loader batches,
      data::Loader::Create(parts[0], {.batch = kBatch, .last = sn::LastBatch::kPad, .seed = 1}));
  SINTER_ASSIGN_OR_RETURN(data::Loader tests, data::Loader::Create(parts[1], {.batch = kBatch,
                                                                              .order = data::Sequential(),
                                                                              .last = sn::LastBatch::kPad}));

  const sn::Device device = sn::TryGpu();
  std::cout << "trains on " << device << " with " << batches.num_examples() << " points\n";
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(Spirals(), {.device = device}));
  std::filesystem::create_directories(out);
  SINTER_RETURN_IF_ERROR(plan.Save(out + "/spirals.plan"));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));

  train::Trainer trainer(session, train::Updater(batches, "train"), {.stop = train::Epochs(60), .out = out});
  trainer.Extend(train::Evaluator(tests, "test"))
      .Extend(train::FailOnNonNumber())
      .Extend(train::LogReport({.trigger = train::Every(10, train::kEpoch)}))
      .Extend(train::PrintReport({"epoch", "main/loss", "main/accuracy", "validation/main/accuracy"}));
  SINTER_RETURN_IF_ERROR(trainer.Run());
  return sn::SaveCheckpoint(session, out + "/spirals.safetensors", {{"data", table}});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::cerr << "usage: tutorial_train TABLE.csv FOLDER\n", 2;
  const absl::Status status = Train(argv[1], argv[2]);
  if (!status.ok()) std::cerr << "tutorial_train: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
