// Trains a small network on MNIST with the Trainer: evaluation, a log, a table, a plot, snapshots, resuming.
// Without MNIST's files the digits are drawn. Ctrl-C ends it with a snapshot; the next start goes on from
// there.
//
//   mnist_trainer --epochs 20 --out result --device gpu:0
#include <iostream>

#include "CLI/CLI.hpp"
#include "sinter/examples/device_flags.h"
#include "sinter/examples/mnist/mnist.h"

namespace {

namespace examples = sn::examples;
namespace train = sn::train;

absl::Status Main(sn::Device device, double epochs, const std::string& out) {
  SINTER_ASSIGN_OR_RETURN(const examples::Digits digits, examples::LoadDigits("mnist", ""));
  SINTER_ASSIGN_OR_RETURN(sn::NamedBatches stream, examples::DigitStream(digits.train, true));
  SINTER_ASSIGN_OR_RETURN(sn::NamedBatches test, examples::DigitStream(digits.test, false));
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(examples::MnistGraph(), {.device = device}));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan)));

  train::Trainer trainer(session, train::Updater(stream, "train"),
                         {.stop = train::Epochs(epochs), .out = out});
  trainer.Extend(train::Evaluator(test, "test"))
      .Extend(train::FailOnNonNumber())
      .Extend(train::Snapshot({.keep = 3, .autoload = true}))
      .Extend(train::Snapshot({.file = "best"}),
              {.trigger = train::OnBest("validation/main/accuracy", train::kMax)})
      .Extend(train::LogReport())
      .Extend(train::TensorBoard())
      .Extend(train::PlotReport({"main/loss", "validation/main/loss"}, {.file = "loss.svg"}))
      .Extend(train::PrintReport({"epoch", "main/loss", "validation/main/loss", "main/accuracy",
                                  "validation/main/accuracy", "elapsed_time"}))
      .Extend(train::ProgressBar());
  return trainer.Run();
}

}  // namespace

int main(int argc, char** argv) {
  double epochs = 20;
  std::string out = "result";
  CLI::App app{"Trains a small network on handwritten digits with Sinter's Trainer."};
  app.add_option("--epochs", epochs)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--out", out, "folder for the log and the snapshots")->capture_default_str();
  examples::DeviceFlags flags;
  examples::AddDeviceFlag(app, flags);
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<std::vector<sn::Device>> devices = flags.Devices();
  const absl::Status status = devices.ok() ? Main(devices->front(), epochs, out) : devices.status();
  if (!status.ok()) std::cerr << "mnist_trainer: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
