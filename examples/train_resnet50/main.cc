// Trains ResNet-50 on images. Uses bf16 on a GPU, momentum, weight decay, a cosine schedule, evaluation and
// checkpoints. Images are converted from bytes to floats on the device.
//
//   train_resnet50 --images train-images.idx --labels train-labels.idx \
//       --steps 100000 --checkpoint /tmp/resnet.safetensors
//   train_resnet50 --images train-images-idx3-ubyte.gz --labels train-labels-idx1-ubyte.gz \
//       --layers 14 --width 16 --classes 10
//   train_resnet50 --steps 50                                          # time of a step, on drawn images
//   train_resnet50 --steps 50 --batch 512 --device gpu:0,gpu:1         # two devices that share each batch
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/examples/device_flags.h"
#include "sinter/examples/device_text.h"
#include "sinter/examples/loss_file.h"
#include "sinter/examples/mesh_flags.h"
#include "sinter/examples/progress_bar.h"
#include "sinter/examples/resnet.h"
#include "sinter/sinter.h"

namespace {

namespace examples = sn::examples;
namespace optim = sn::optim;
using sn::HostTensor;

struct Options {
  examples::ResNetOptions net;
  std::string images, labels, checkpoint, plan, losses;
  int64_t size = 224, examples = 1024, batch = 256, steps = 1000, warmup = 100, report = 50, stop_after = 0;
  int64_t seed = 1;
  double learning_rate = 0.1, weight_decay = 1e-4;
  bool resume = false;
  sn::Precision precision = sn::Precision::kF32;
  std::vector<sn::Device> devices;
  examples::MeshFlags mesh;
  sn::World* world = nullptr;
  bool talks = true;  // In the first process.
};

struct Data {
  HostTensor images;  // u8 [n, channels, height, width], or without channels
  HostTensor labels;  // u8 or i32 [n]
  std::string source;

  int64_t count() const { return images.shape()[0]; }
  // [channels, height, width]
  sn::Shape image_shape() const {
    sn::Shape shape(images.shape().begin() + 1, images.shape().end());
    if (shape.size() == 2) shape.insert(shape.begin(), 1);
    return shape;
  }
};

// Draws noise whose brightness in each channel depends on the class: enough to see that the model learns.
absl::StatusOr<Data> DrawImages(const Options& o) {
  constexpr int64_t kChannels = 3;
  const int64_t pixels = o.size * o.size;
  SINTER_ASSIGN_OR_RETURN(HostTensor images,
                          HostTensor::Zeros(sn::U8, {o.examples, kChannels, o.size, o.size}));
  SINTER_ASSIGN_OR_RETURN(HostTensor labels, HostTensor::Zeros(sn::I32, {o.examples}));
  SINTER_ASSIGN_OR_RETURN(std::span<uint8_t> bytes, images.MutableSpan<uint8_t>());
  SINTER_ASSIGN_OR_RETURN(std::span<int32_t> classes, labels.MutableSpan<int32_t>());
  sn::SplitMix bits(static_cast<uint64_t>(o.seed), /*stream=*/1);
  for (int64_t i = 0; i < o.examples; ++i) {
    classes[i] = static_cast<int32_t>(bits.Below(static_cast<uint64_t>(o.net.classes)));
    sn::SplitMix tones(static_cast<uint64_t>(classes[i]), /*stream=*/2);
    for (int64_t c = 0; c < kChannels; ++c) {
      const uint64_t tone = tones.Below(128);
      for (uint8_t& byte : bytes.subspan((i * kChannels + c) * pixels, pixels)) {
        byte = static_cast<uint8_t>(tone + bits.Below(128));
      }
    }
  }
  return Data{std::move(images), std::move(labels), "images drawn by the generator"};
}

absl::Status CheckLabels(const Options& o, const HostTensor& labels) {
  int64_t largest = 0;
  if (labels.dtype() == sn::U8) {
    SINTER_ASSIGN_OR_RETURN(auto values, labels.Span<uint8_t>());
    for (uint8_t value : values) largest = std::max<int64_t>(largest, value);
  } else {
    SINTER_ASSIGN_OR_RETURN(auto values, labels.Span<int32_t>());
    for (int32_t value : values) {
      if (value < 0) return absl::InvalidArgumentError(o.labels + " has labels below 0");
      largest = std::max<int64_t>(largest, value);
    }
  }
  if (largest < o.net.classes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(o.labels, " has the label ", largest, ", but there are ",
                                                 o.net.classes, " classes; choose more --classes"));
}

// Reads IDX files: images u8 [n, channels, height, width] or [n, height, width], labels u8 or i32 [n].
absl::StatusOr<Data> ReadImages(const Options& o) {
  SINTER_ASSIGN_OR_RETURN(HostTensor images, sn::ReadIdx(o.images));
  SINTER_ASSIGN_OR_RETURN(HostTensor labels, sn::ReadIdx(o.labels));
  if (images.dtype() != sn::U8 || images.shape().size() < 3) {
    return absl::InvalidArgumentError(
        o.images + " holds no images: expected u8 [n, channels, height, width] or [n, height, width]");
  }
  if ((labels.dtype() != sn::U8 && labels.dtype() != sn::I32) || labels.shape().size() != 1) {
    return absl::InvalidArgumentError(o.labels + " holds no labels: expected u8, i16 or i32 [n]");
  }
  SINTER_RETURN_IF_ERROR(CheckLabels(o, labels));
  return Data{std::move(images), std::move(labels), o.images};
}

// Returns batches of the examples [begin, end), which it borrows.
absl::StatusOr<sn::BatchIterator> Batches(const Data& data, int64_t begin, int64_t end,
                                          const sn::BatchOptions& options) {
  std::vector<HostTensor> tensors;
  for (const HostTensor* t : {&data.images, &data.labels}) {
    sn::Shape shape = t == &data.images ? data.image_shape() : sn::Shape();
    shape.insert(shape.begin(), end - begin);
    const auto* first = static_cast<const std::byte*>(t->data()) + begin * (t->num_bytes() / data.count());
    SINTER_ASSIGN_OR_RETURN(HostTensor part, HostTensor::View(t->dtype(), shape, first));
    tensors.push_back(std::move(part));
  }
  sn::BatchOptions of_images = options;
  sn::BatchTransform widen;
  if (data.labels.dtype() == sn::U8) widen = sn::WidenToI32();
  of_images.transforms = {{}, widen};
  return sn::BatchIterator::Create(std::move(tensors), of_images);
}

// Adds the input "x" and converts its bytes to floats around zero, on the device.
sn::Tensor Images(sn::Builder& b, const Options& o, const Data& data) {
  sn::Shape shape = data.image_shape();
  shape.insert(shape.begin(), o.batch);
  return sn::Cast(b.Input("x", sn::U8, shape), sn::F32) * (1 / 64.0) - 2.0;
}

// Returns a graph with these functions and inputs:
//
//   train  x, y, lr  one step; logs "loss"
//   eval   x, y, w   outputs "correct": the sum of w over the correctly classified images
absl::StatusOr<sn::Graph> BuildGraph(const Options& o, const Data& data) {
  SINTER_ASSIGN_OR_RETURN(sn::nn::Module net, examples::ResNet(o.net));
  sn::Graph graph("resnet50", {.seed = o.seed, .precision = o.precision});
  graph.Function("train", sn::Mode::kTrain, [&](sn::Builder& b) {
    sn::Tensor y = b.Input("y", sn::I32, {o.batch});
    sn::Tensor loss = sn::SoftmaxCrossEntropy(net(Images(b, o, data)), y);
    std::optional<optim::LossScale> scale;
    if (o.precision == sn::Precision::kF16) scale.emplace();
    optim::Momentum{.learning_rate = b.Scalar("lr")}.Minimize(
        loss, {.hooks = {optim::Decay(o.weight_decay)}, .loss_scale = scale});
    b.Log("loss", loss);
  });
  graph.Function("eval", sn::Mode::kEval, [&](sn::Builder& b) {
    sn::Tensor y = b.Input("y", sn::I32, {o.batch});
    sn::Tensor hits = sn::Equal(sn::ArgMax(net(Images(b, o, data)), -1), y);
    b.Output("correct", sn::Sum(sn::Cast(hits, sn::F32) * b.Input("w", sn::F32, {o.batch})));
  });
  return graph;
}

absl::StatusOr<double> Accuracy(sn::Session& session, const Options& o, const Data& data, int64_t first) {
  SINTER_ASSIGN_OR_RETURN(
      sn::BatchIterator batches,
      Batches(data, first, data.count(),
              {.batch_size = o.batch, .shuffle = false, .last = sn::LastBatch::kPad, .max_epochs = 1}));
  double correct = 0;
  for (int64_t i = 0; i < batches.batches_per_epoch(); ++i) {
    SINTER_ASSIGN_OR_RETURN(sn::Batch batch, batches.Next());
    SINTER_ASSIGN_OR_RETURN(
        sn::Outputs outputs,
        session.Run("eval", {{"x", batch.tensors[0]}, {"y", batch.tensors[1]}, {"w", batch.weights}}));
    SINTER_ASSIGN_OR_RETURN(double hits, outputs.Scalar("correct"));
    correct += hits;
  }
  return correct / static_cast<double>(data.count() - first);
}

// Loads the checkpoint, restores the position of `batches`, and returns the number of finished steps.
absl::StatusOr<int64_t> Resume(sn::Session& session, const Options& o, sn::BatchIterator& batches) {
  SINTER_ASSIGN_OR_RETURN(sn::Metadata metadata, sn::LoadCheckpoint(session, o.checkpoint));
  SINTER_ASSIGN_OR_RETURN(sn::BatchState state, sn::BatchState::Parse(metadata["batches"]));
  SINTER_RETURN_IF_ERROR(batches.Restore(state));
  const int64_t step = state.epoch * batches.batches_per_epoch() + state.batch;
  if (o.talks) std::printf("resumed after step %ld\n", step);
  return step;
}

absl::Status Train(sn::Session& session, const Options& o, const Data& data) {
  // The last tenth is for evaluation.
  const int64_t kept = data.count() - data.count() / 10;
  SINTER_ASSIGN_OR_RETURN(
      sn::BatchIterator batches,
      Batches(data, 0, kept,
              {.batch_size = o.batch, .seed = static_cast<uint64_t>(o.seed), .last = sn::LastBatch::kDrop}));
  int64_t step = 0;
  if (o.resume) {
    SINTER_ASSIGN_OR_RETURN(step, Resume(session, o, batches));
  }
  const int64_t last = o.stop_after > 0 ? std::min(o.steps, step + o.stop_after) : o.steps;
  optim::RateSchedule rate = optim::WarmupCosine(o.learning_rate, o.warmup, o.steps);
  SINTER_RETURN_IF_ERROR(rate.status());
  SINTER_ASSIGN_OR_RETURN(auto ahead, sn::Prefetcher::Create([&] { return batches.Next(); }, /*depth=*/2));
  SINTER_ASSIGN_OR_RETURN(auto file, examples::LossFile::Create(o.talks ? o.losses : "", 1));
  // Steps between readings of the log; a reading waits for the device.
  constexpr int64_t kReading = 10;
  while (step < last) {
    const int64_t count = std::min(o.report, last - step);
    examples::ProgressBar bar(absl::StrCat("steps ", step + 1, " to ", step + count), count, "images",
                              o.talks);
    sn::BatchState reached;
    double total = 0;
    for (int64_t i = 1; i <= count; ++i, ++step) {
      SINTER_ASSIGN_OR_RETURN(sn::Batch batch, ahead->Next());
      SINTER_RETURN_IF_ERROR(
          session.Run("train", {{"x", batch.tensors[0]}, {"y", batch.tensors[1]}, {"lr", rate(step)}})
              .status());
      reached = batch.state_after;
      if (i % kReading != 0 && i < count) continue;
      SINTER_ASSIGN_OR_RETURN(sn::LogValues losses, session.ReadLog("loss"));
      total = std::accumulate(losses.values.begin(), losses.values.end(), total);
      file.Add(losses.values);
      bar.Update(i, total / static_cast<double>(i), i * o.batch);
    }
    bar.Finish("");
    SINTER_ASSIGN_OR_RETURN(double accuracy, Accuracy(session, o, data, kept));
    if (o.talks) std::printf("step %ld: accuracy %.4f\n", step, accuracy);
    if (o.checkpoint.empty()) continue;
    SINTER_RETURN_IF_ERROR(sn::SaveCheckpoint(session, o.checkpoint, {{"batches", reached.ToText()}}));
  }
  return file.Close();
}

double GiB(int64_t bytes) { return static_cast<double>(bytes) / (1 << 30); }

absl::Status Run(const Options& o) {
  if (o.talks) std::printf("%s\n", examples::DeviceText(o.devices).c_str());
  SINTER_ASSIGN_OR_RETURN(Data data, o.images.empty() ? DrawImages(o) : ReadImages(o));
  if (o.talks)
    std::printf("data: %s, %ld of u8[%s]\n", data.source.c_str(), data.count(),
                absl::StrJoin(data.image_shape(), ",").c_str());
  if (data.count() - data.count() / 10 < o.batch || data.count() < 10) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a batch of ", o.batch, " and a tenth to judge by need more than ", data.count(), " images"));
  }
  SINTER_ASSIGN_OR_RETURN(sn::Graph graph, BuildGraph(o, data));
  sn::CompileOptions compile{.device = o.devices.front()};
  SINTER_RETURN_IF_ERROR(o.mesh.Apply(compile));
  examples::MakeCpuDevices(compile.mesh, o.world);
  if (o.devices.size() > 1) compile.data_parallel.devices = o.devices;
  auto start = std::chrono::steady_clock::now();
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(graph, compile));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!o.plan.empty() && o.talks) SINTER_RETURN_IF_ERROR(plan.Save(o.plan));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan), {.world = o.world}));
  const sn::SessionMemory memory = session.memory();
  if (o.talks)
    std::printf("compiled in %.1f s; memory: %.3f GiB of variables, %.3f in all\n", seconds,
                GiB(memory.variables), GiB(memory.used));
  return Train(session, o, data);
}

void AddOptions(CLI::App& app, Options& o) {
  app.add_option("--layers", o.net.layers, "14, 26, 50, 101 or 152")->capture_default_str();
  app.add_option("--width", o.net.width, "channels of the first convolution")->capture_default_str();
  app.add_option("--classes", o.net.classes)->capture_default_str();
  auto* images = app.add_option("--images", o.images, "IDX file, u8 [n, c, h, w] or [n, h, w]");
  auto* labels = app.add_option("--labels", o.labels, "IDX file, u8, i16 or i32 [n]")->needs(images);
  images->needs(labels);
  app.add_option("--size", o.size, "height and width of generated images")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->excludes(images);
  app.add_option("--examples", o.examples, "number of generated images")
      ->capture_default_str()
      ->check(CLI::PositiveNumber)
      ->excludes(images);
  app.add_option("--batch", o.batch)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--steps", o.steps, "steps to train; the learning rate falls to 0 in them")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--lr", o.learning_rate, "highest learning rate")->capture_default_str();
  app.add_option("--warmup", o.warmup, "steps until the highest learning rate")->capture_default_str();
  app.add_option("--weight-decay", o.weight_decay)->capture_default_str();
  app.add_option("--report", o.report, "steps from one evaluation and checkpoint to the next")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", o.seed)->capture_default_str();
  auto* checkpoint = app.add_option("--checkpoint", o.checkpoint, "safetensors file");
  app.add_flag("--resume", o.resume, "continue from the checkpoint")->needs(checkpoint);
  app.add_option("--stop-after", o.stop_after, "end after this many steps; --resume continues");
  app.add_option("--plan", o.plan, "file for the plan");
  app.add_option("--losses", o.losses, "file for the loss of each step, a line each");
}

int Fail(std::string_view message, int code) {
  std::cerr << "train_resnet50: " << message << "\n";
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Trains ResNet-50, compiled ahead of time by Sinter."};
  AddOptions(app, options);
  examples::DeviceFlags flags;
  examples::AddPrecisionFlag(
      app, flags, "type of convolutions and the ops between them; default: bf16 on a GPU, f32 on a CPU");
  examples::AddDevicesFlag(app, flags);
  examples::AddMeshFlags(app, options.mesh);
  CLI11_PARSE(app, argc, argv);
  absl::StatusOr<examples::Processes> processes = examples::Processes::Start();
  if (!processes.ok()) return Fail(std::string(processes.status().message()), 1);
  options.world = processes->world();
  options.talks = processes->IsFirst();
  absl::StatusOr<std::vector<sn::Device>> devices = flags.Devices();
  if (!devices.ok()) return Fail(std::string(devices.status().message()), 2);
  options.devices = *std::move(devices);
  options.precision = flags.PrecisionOn(options.devices.front());
  absl::Status status = Run(options);
  return status.ok() ? 0 : Fail(std::string(status.message()), 1);
}
