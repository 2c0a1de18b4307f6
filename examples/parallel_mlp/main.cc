// Trains a perceptron split across two devices and the same perceptron on one device, and compares their
// losses. Uses two GPUs if the machine has them, else two virtual CPU devices.
//
//   parallel_mlp
//   parallel_mlp --units 400 --device0 cpu:0 --device1 cpu:1
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>

#include "CLI/CLI.hpp"
#include "sinter/examples/device_text.h"
#include "sinter/examples/parallel_mlp/parallel_mlp.h"
#include "sinter/frontend/data/batches.h"
#include "sinter/frontend/data/digits.h"
#include "sinter/frontend/data/transforms.h"
#include "sinter/runtime/status.h"
#include "sinter/runtime/device_info.h"

namespace {

struct Options {
  int64_t units = 2000, rows = 100, steps = 20;
  float learning_rate = 0.1f;
  std::string device0, device1;
};

// The losses stay on the device between readings, because reading waits for the device.
constexpr int64_t kStepsPerReading = 100;

struct Trained {
  std::vector<double> losses;
  sn::HostTensor logits;
};

absl::StatusOr<Trained> Train(const Options& options, sn::Device device0, sn::Device device1,
                              const sn::Batch& batch) {
  const sn::HostTensor &x = batch.tensors[0], &y = batch.tensors[1];
  sn::Graph graph = BuildParallelMlp({.units = options.units, .device0 = device0, .device1 = device1},
                                     options.rows, x.shape()[1]);
  sn::CompileReport report;
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(graph, {.report = true}, &report));
  std::cout << "on " << device0 << " and " << device1 << ": " << report.copies.size()
            << " values go from one device to another\n";
  for (const std::string& line : report.copies) std::cout << "  " << line << "\n";
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));
  Trained trained;
  for (int64_t step = 0; step < options.steps; ++step) {
    SINTER_RETURN_IF_ERROR(
        session.Run("train", {{"x", x}, {"y", y}, {"lr", options.learning_rate}}).status());
    if ((step + 1) % kStepsPerReading != 0 && step + 1 < options.steps) continue;
    SINTER_ASSIGN_OR_RETURN(sn::LogValues losses, session.ReadLog("loss"));
    trained.losses.insert(trained.losses.end(), losses.values.begin(), losses.values.end());
  }
  SINTER_ASSIGN_OR_RETURN(sn::Outputs out, session.Run("predict", {{"x", x}}));
  SINTER_ASSIGN_OR_RETURN(const sn::HostTensor* logits, out.Get("logits"));
  SINTER_ASSIGN_OR_RETURN(trained.logits, logits->Clone());
  return trained;
}

absl::StatusOr<sn::Batch> OneBatch(int64_t rows) {
  SINTER_ASSIGN_OR_RETURN(sn::ImageSet digits, sn::DrawDigits(rows, /*seed=*/1));
  std::vector<sn::HostTensor> tensors;
  tensors.push_back(std::move(digits.images));
  tensors.push_back(std::move(digits.labels));
  sn::BatchOptions options{.batch_size = rows};
  options.transforms = {sn::ScaleToF32(1 / 255.0f, 0, {784}), sn::WidenToI32()};
  SINTER_ASSIGN_OR_RETURN(sn::BatchIterator batches,
                          sn::BatchIterator::Create(std::move(tensors), std::move(options)));
  return batches.Next();
}

// Returns the largest difference of two elements divided by the largest element of `b`.
absl::StatusOr<double> Difference(const sn::HostTensor& a, const sn::HostTensor& b) {
  SINTER_ASSIGN_OR_RETURN(auto x, a.Span<float>());
  SINTER_ASSIGN_OR_RETURN(auto y, b.Span<float>());
  double most = 0, largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    most = std::max(most, std::abs(static_cast<double>(x[i]) - y[i]));
    largest = std::max(largest, std::abs(static_cast<double>(y[i])));
  }
  return most / largest;
}

absl::Status Run(const Options& options) {
  const bool gpus = sn::NumGpus() >= 2;
  sn::Device device0 = gpus ? sn::Device::Gpu(0) : sn::Device::Cpu(0);
  sn::Device device1 = gpus ? sn::Device::Gpu(1) : sn::Device::Cpu(1);
  if (!options.device0.empty()) {
    SINTER_ASSIGN_OR_RETURN(device0, sn::Device::Parse(options.device0));
  }
  if (!options.device1.empty()) {
    SINTER_ASSIGN_OR_RETURN(device1, sn::Device::Parse(options.device1));
  }
  std::cout << sn::examples::DeviceText({device0, device1}) << "\n";
  SINTER_ASSIGN_OR_RETURN(sn::Batch batch, OneBatch(options.rows));
  SINTER_ASSIGN_OR_RETURN(Trained two, Train(options, device0, device1, batch));
  SINTER_ASSIGN_OR_RETURN(Trained one, Train(options, device0, device0, batch));
  for (size_t step = 0; step < two.losses.size(); step += 5) {
    std::cout << "step " << step << ": loss " << two.losses[step] << " on two devices, " << one.losses[step]
              << " on one\n";
  }
  SINTER_ASSIGN_OR_RETURN(double difference, Difference(two.logits, one.logits));
  std::cout << "largest difference of the logits: " << difference << " of the largest\n";
  if (!(difference <= 1e-4)) return absl::InternalError("two devices do not compute what one does");
  std::cout << "two devices compute what one does\n";
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"A perceptron on two devices"};
  app.add_option("--units", options.units, "Units of a hidden layer, on both devices together");
  app.add_option("--batch", options.rows, "Examples in a batch");
  app.add_option("--steps", options.steps, "Training steps, all on one batch");
  app.add_option("--lr", options.learning_rate, "Learning rate");
  app.add_option("--device0", options.device0,
                 "Such as gpu:0; default: a GPU if there are two, else a virtual CPU device");
  app.add_option("--device1", options.device1, "The other one");
  CLI11_PARSE(app, argc, argv);
  // Creates two virtual CPU devices.
  setenv("SINTER_CPU_DEVICES", "2", /*overwrite=*/0);
  absl::Status status = Run(options);
  if (!status.ok()) std::cerr << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
