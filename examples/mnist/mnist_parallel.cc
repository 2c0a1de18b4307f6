// Trains a small network on MNIST on several devices, each with a part of every batch. But for one line it is
// the program for one device. Losses and accuracies count every example once.
//
//   mnist_parallel --epochs 20 --out result --device gpu:0,gpu:1
#include <iostream>

#include "CLI/CLI.hpp"
#include "sinter/examples/device_flags.h"
#include "sinter/examples/mnist/mnist.h"

namespace {

namespace examples = sn::examples;
namespace train = sn::train;

absl::Status Main(const std::vector<sn::Device>& devices, double epochs, const std::string& out) {
  SINTER_ASSIGN_OR_RETURN(const examples::Digits digits, examples::LoadDigits("mnist", ""));
  SINTER_ASSIGN_OR_RETURN(sn::NamedBatches stream, examples::DigitStream(digits.train, true));
  SINTER_ASSIGN_OR_RETURN(sn::NamedBatches test, examples::DigitStream(digits.test, false));
  sn::CompileOptions options;
  options.data_parallel = {.devices = devices, .even = false};  // The only line of devices.
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(examples::MnistGraph(), options));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));

  train::Trainer trainer(session, train::Updater(stream, "train"),
                         {.stop = train::Epochs(epochs), .out = out});
  trainer.Extend(train::Evaluator(test, "test"))
      .Extend(train::Snapshot({.keep = 3, .autoload = true}))
      .Extend(train::LogReport())
      .Extend(train::PrintReport({"epoch", "main/loss", "validation/main/loss", "validation/main/accuracy"}))
      .Extend(train::ProgressBar());
  return trainer.Run();
}

}  // namespace

int main(int argc, char** argv) {
  double epochs = 20;
  std::string out = "result";
  CLI::App app{"Trains a small network on handwritten digits, on several devices."};
  app.add_option("--epochs", epochs)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--out", out, "folder for the log and the snapshots")->capture_default_str();
  examples::DeviceFlags flags;
  examples::AddDevicesFlag(app, flags);
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<std::vector<sn::Device>> devices = flags.Devices();
  const absl::Status status = devices.ok() ? Main(*devices, epochs, out) : devices.status();
  if (!status.ok()) std::cerr << "mnist_parallel: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
