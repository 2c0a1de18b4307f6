// Trains LeNet on MNIST or Fashion-MNIST; if their files are missing, on digits drawn by a small generator.
// Builds the graph, compiles it ahead of time to a plan, and runs the plan. Prints the accuracy after each
// epoch and, at the end, the gain of fusion.
//
//   train_lenet --epochs 10 --checkpoint /tmp/lenet.safetensors
//   train_lenet --epochs 10 --checkpoint /tmp/lenet.safetensors --resume
#include <chrono>
#include <iostream>
#include <numeric>
#include <optional>

#include "CLI/CLI.hpp"
#include "sinter/examples/device_flags.h"
#include "sinter/examples/device_text.h"
#include "sinter/examples/lenet.h"
#include "sinter/examples/progress_bar.h"
#include "sinter/sinter.h"

namespace {

namespace nn = sn::nn;
namespace optim = sn::optim;
namespace examples = sn::examples;

struct Options {
  std::string dataset = "mnist";
  std::string folder;
  int64_t epochs = 10;
  int64_t batch = 256;
  float learning_rate = 0.4f;
  int64_t seed = 1;
  std::string checkpoint;
  bool resume = false;
  int64_t stop_after = 0;
  std::string plan;
  sn::Device device;
  sn::Precision precision = sn::Precision::kF32;
};

// Reading the losses waits for the device, so the loop reads them only every few steps.
constexpr int64_t kStepsPerReading = 10;

void AddTraining(sn::Graph& graph, nn::Module& net, sn::Precision precision, int64_t rows) {
  graph.Function(examples::FunctionName("train", rows), sn::Mode::kTrain, [&](sn::Builder& b) {
    auto x = b.Input("x", sn::F32, {rows, 1, 28, 28});
    auto y = b.Input("y", sn::I32, {rows});
    auto loss = sn::SoftmaxCrossEntropy(net(x), y);
    std::optional<optim::LossScale> scale;
    if (precision == sn::Precision::kF16) scale.emplace();
    optim::Sgd{.learning_rate = b.Scalar("lr")}.Minimize(loss, {.loss_scale = scale});
    b.Output("loss", loss);
    // The log keeps the loss, summed over the batch, on the device until it is read.
    b.Log("loss", loss * static_cast<double>(rows));
  });
}

sn::Graph BuildGraph(const Options& options, const examples::Digits& data) {
  sn::Graph graph("lenet", {.seed = options.seed, .precision = options.precision});
  nn::Module net = examples::LeNet();
  for (int64_t rows : examples::BatchSizes(data.train, options.batch)) {
    AddTraining(graph, net, options.precision, rows);
  }
  for (int64_t rows : examples::BatchSizes(data.test, options.batch))
    examples::AddEvaluation(graph, net, rows);
  return graph;
}

absl::StatusOr<sn::BatchIterator> TrainingBatches(const examples::Digits& data, const Options& options) {
  return examples::MakeBatches(data.train, {.batch_size = options.batch,
                                            .seed = static_cast<uint64_t>(options.seed),
                                            .max_epochs = options.epochs});
}

// Returns the milliseconds of the fastest of `runs` training steps.
absl::StatusOr<double> StepMs(sn::Session& session, const sn::Batch& batch, int runs) {
  double best = 1e30;
  for (int i = 0; i < runs + 3; ++i) {
    auto start = std::chrono::steady_clock::now();
    SINTER_RETURN_IF_ERROR(session
                               .Run(examples::FunctionName("train", batch.rows),
                                    {{"x", batch.tensors[0]}, {"y", batch.tensors[1]}, {"lr", 0.0f}})
                               .status());
    SINTER_RETURN_IF_ERROR(session.Synchronize());
    double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (i >= 3) best = std::min(best, ms);
  }
  return best;
}

absl::Status CompareFusion(const sn::Graph& graph, sn::Session& fused, const examples::Digits& data,
                           const Options& options) {
  SINTER_ASSIGN_OR_RETURN(
      sn::Plan plan, sn::Compile(graph, {.device = options.device, .fuse = false, .fuse_epilogues = false}));
  SINTER_ASSIGN_OR_RETURN(sn::Session unfused, sn::Session::Create(std::move(plan)));
  SINTER_ASSIGN_OR_RETURN(sn::BatchIterator batches, TrainingBatches(data, options));
  SINTER_ASSIGN_OR_RETURN(sn::Batch batch, batches.Next());
  SINTER_ASSIGN_OR_RETURN(double fused_ms, StepMs(fused, batch, 20));
  SINTER_ASSIGN_OR_RETURN(double unfused_ms, StepMs(unfused, batch, 20));
  std::printf("one training step of %ld images: %.2f ms fused, %.2f ms unfused, ratio %.2f\n", batch.rows,
              fused_ms, unfused_ms, unfused_ms / fused_ms);
  return absl::OkStatus();
}

absl::Status Train(sn::Session& session, const examples::Digits& data, const Options& options) {
  SINTER_ASSIGN_OR_RETURN(sn::BatchIterator batches, TrainingBatches(data, options));
  int64_t steps = batches.batches_per_epoch();
  if (options.resume) {
    SINTER_ASSIGN_OR_RETURN(auto metadata, sn::LoadCheckpoint(session, options.checkpoint));
    SINTER_ASSIGN_OR_RETURN(sn::BatchState state, sn::BatchState::Parse(metadata["batches"]));
    SINTER_RETURN_IF_ERROR(batches.Restore(state));
    std::printf("resumed after epoch %ld\n", state.epoch);
  }
  int64_t first = batches.state().epoch;
  // The rate is an input of the step, so a schedule needs no recompilation.
  optim::RateSchedule rate =
      optim::WarmupCosine(options.learning_rate, /*warmup_steps=*/steps, options.epochs * steps);
  SINTER_RETURN_IF_ERROR(rate.status());
  SINTER_ASSIGN_OR_RETURN(auto ahead, sn::Prefetcher::Create([&] { return batches.Next(); }, /*depth=*/2));
  for (int64_t epoch = first; epoch < options.epochs; ++epoch) {
    examples::ProgressBar bar("epoch " + std::to_string(epoch + 1) + "/" + std::to_string(options.epochs),
                              steps);
    sn::BatchState reached;
    int64_t images = 0;
    double total = 0;
    for (int64_t i = 0; i < steps; ++i) {
      SINTER_ASSIGN_OR_RETURN(sn::Batch batch, ahead->Next());
      SINTER_RETURN_IF_ERROR(
          session
              .Run(examples::FunctionName("train", batch.rows),
                   {{"x", batch.tensors[0]}, {"y", batch.tensors[1]}, {"lr", rate(epoch * steps + i)}})
              .status());
      images += batch.rows;
      reached = batch.state_after;
      if ((i + 1) % kStepsPerReading != 0 && i + 1 < steps) continue;
      SINTER_ASSIGN_OR_RETURN(sn::LogValues losses, session.ReadLog("loss"));
      total = std::accumulate(losses.values.begin(), losses.values.end(), total);
      bar.Update(i + 1, total / static_cast<double>(images), images);
    }
    SINTER_ASSIGN_OR_RETURN(double accuracy, examples::Accuracy(session, data.test, options.batch));
    char text[64];
    std::snprintf(text, sizeof(text), "test accuracy %.2f %%", 100 * accuracy);
    bar.Finish(text);
    if (!options.checkpoint.empty()) {
      SINTER_RETURN_IF_ERROR(
          sn::SaveCheckpoint(session, options.checkpoint, {{"batches", reached.ToText()}}));
    }
    if (options.stop_after > 0 && epoch + 1 - first >= options.stop_after) break;
  }
  return absl::OkStatus();
}

absl::Status Run(const Options& options) {
  std::printf("%s\n", examples::DeviceText({options.device}).c_str());
  SINTER_ASSIGN_OR_RETURN(examples::Digits data, examples::LoadDigits(options.dataset, options.folder));
  std::printf("data: %s, %ld train, %ld test\n", data.source.c_str(), data.train.images.shape()[0],
              data.test.images.shape()[0]);

  sn::Graph graph = BuildGraph(options, data);
  auto start = std::chrono::steady_clock::now();
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(graph, {.device = options.device}));
  double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  std::printf("compiled %zu functions in %.0f ms to a plan of %.0f kB\n", plan.Functions().size(), ms,
              static_cast<double>(plan.bytes().size()) / 1e3);
  if (!options.plan.empty()) SINTER_RETURN_IF_ERROR(plan.Save(options.plan));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));

  SINTER_RETURN_IF_ERROR(Train(session, data, options));
  SINTER_ASSIGN_OR_RETURN(double accuracy, examples::Accuracy(session, data.test, options.batch));
  std::printf("test acc: %.4f\n", accuracy);
  return CompareFusion(graph, session, data, options);
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Trains LeNet on handwritten digits, compiled ahead of time by Sinter."};
  app.add_option("--dataset", options.dataset, "mnist or fashion-mnist")->capture_default_str();
  app.add_option("--data", options.folder, "folder with the IDX files; default: $SINTER_DATA/<dataset>");
  app.add_option("--epochs", options.epochs)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--batch", options.batch)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--lr", options.learning_rate,
                 "highest learning rate; the rate rises in the first epoch and then falls as a cosine")
      ->capture_default_str();
  app.add_option("--seed", options.seed)->capture_default_str();
  auto* checkpoint =
      app.add_option("--checkpoint", options.checkpoint, "safetensors file, written after each epoch");
  app.add_flag("--resume", options.resume, "continue from the checkpoint")->needs(checkpoint);
  app.add_option("--stop-after", options.stop_after, "end after this many epochs; --resume continues");
  app.add_option("--plan", options.plan, "file for the plan");
  examples::DeviceFlags flags;
  examples::AddPrecisionFlag(app, flags, "type of matmuls and convolutions: f32, bf16 or f16")
      ->default_str("f32");
  examples::AddDeviceFlag(app, flags);
  CLI11_PARSE(app, argc, argv);
  absl::StatusOr<std::vector<sn::Device>> devices = flags.Devices();
  if (!devices.ok()) {
    std::cerr << "train_lenet: " << devices.status().message() << "\n";
    return 2;
  }
  options.device = devices->front();
  options.precision = flags.precision.value_or(sn::Precision::kF32);
  absl::Status status = Run(options);
  if (!status.ok()) {
    std::cerr << "train_lenet: " << status.message() << "\n";
    return 1;
  }
  return 0;
}
