// Trains a small network on MNIST without the Trainer: the whole loop, with metrics, evaluation and resuming.
//
//   mnist_by_hand --epochs 20 --checkpoint mnist.safetensors
#include <filesystem>
#include <iostream>

#include "CLI/CLI.hpp"
#include "sinter/examples/device_flags.h"
#include "sinter/examples/mnist/mnist.h"

namespace {

namespace examples = sn::examples;
namespace train = sn::train;

absl::Status Main(sn::Device device, int64_t epochs, const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(const examples::Digits digits, examples::LoadDigits("mnist", ""));
  SINTER_ASSIGN_OR_RETURN(sn::NamedBatches stream, examples::DigitStream(digits.train, true));
  SINTER_ASSIGN_OR_RETURN(sn::NamedBatches test, examples::DigitStream(digits.test, false));
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(examples::MnistGraph(), {.device = device}));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));
  if (std::filesystem::exists(path)) {
    SINTER_ASSIGN_OR_RETURN(const sn::Metadata metadata, sn::LoadCheckpoint(session, path));
    SINTER_RETURN_IF_ERROR(stream.Load(metadata.at("stream")));
  }
  while (true) {
    SINTER_ASSIGN_OR_RETURN(const sn::Batch batch, stream.Next());
    if (batch.epoch >= epochs) return absl::OkStatus();
    SINTER_RETURN_IF_ERROR(
        session.Run("train", {{"x", batch.tensors[0]}, {"t", batch.tensors[1]}, {"weights", batch.weights}})
            .status());
    if (!batch.ends_epoch) continue;
    SINTER_ASSIGN_OR_RETURN(sn::MetricValues seen, sn::ReadMetrics(session, "train"));
    SINTER_ASSIGN_OR_RETURN(train::Values tested, train::Evaluate(session, test, "test"));
    std::cout << "epoch " << batch.epoch + 1 << ": loss " << seen.numbers["loss"] << ", test accuracy "
              << tested["accuracy"] << std::endl;
    SINTER_RETURN_IF_ERROR(sn::SaveCheckpoint(session, path, {{"stream", stream.Save()}}));
  }
}

}  // namespace

int main(int argc, char** argv) {
  int64_t epochs = 20;
  std::string path = "mnist.safetensors";
  CLI::App app{"Trains a small network on handwritten digits with a loop of its own."};
  app.add_option("--epochs", epochs)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--checkpoint", path, "written after each epoch; an existing one is continued")
      ->capture_default_str();
  examples::DeviceFlags flags;
  examples::AddDeviceFlag(app, flags);
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<std::vector<sn::Device>> devices = flags.Devices();
  const absl::Status status = devices.ok() ? Main(devices->front(), epochs, path) : devices.status();
  if (!status.ok()) std::cerr << "mnist_by_hand: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
