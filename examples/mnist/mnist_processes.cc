// Trains a small network on MNIST in several processes with a device each, as Chainer's
// MultiprocessParallelUpdater. Every process reads its own rows of each batch; the first one prints and
// writes the files. The losses are those of one process, up to rounding.
//
//   mpirun -n 2 mnist_processes --epochs 20 --out result
#include <iostream>

#include "CLI/CLI.hpp"
#include "sinter/examples/mesh_flags.h"
#include "sinter/examples/mnist/mnist.h"

namespace {

namespace examples = sn::examples;
namespace train = sn::train;

absl::Status Main(sn::World* world, double epochs, const std::string& out) {
  const sn::data::RankRows rows{.rank = world ? world->rank() : 0, .ranks = world ? world->size() : 1};
  SINTER_ASSIGN_OR_RETURN(const examples::Digits digits, examples::LoadDigits("mnist", ""));
  SINTER_ASSIGN_OR_RETURN(sn::data::Loader stream, examples::DigitLoader(digits.train, true, rows));
  SINTER_ASSIGN_OR_RETURN(sn::data::Loader test, examples::DigitLoader(digits.test, false, rows));
  // A plan for all processes: the r-th one runs on a device of its own, whatever the number here.
  sn::CompileOptions options;
  for (int rank = 0; rank < rows.ranks; ++rank) {
    options.data_parallel.devices.push_back(sn::NumGpus() > 0 ? sn::Device::Gpu(rank)
                                                              : sn::Device::Cpu(rank));
  }
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(examples::MnistGraph(), options));
  SINTER_ASSIGN_OR_RETURN(sn::Session session, sn::Session::Create(std::move(plan), {.world = world}));

  train::Trainer trainer(session, train::Updater(stream, "train"),
                         {.stop = train::Epochs(epochs), .out = out, .world = world});
  trainer.Extend(train::Evaluator(test, "test"))
      .Extend(train::Snapshot({.keep = 3, .autoload = true, .asynchronous = true}))
      .Extend(train::LogReport())
      .Extend(train::PrintReport({"epoch", "main/loss", "validation/main/loss", "validation/main/accuracy",
                                  "input_wait", "elapsed_time"}))
      .Extend(train::ProgressBar());
  return trainer.Run();
}

}  // namespace

int main(int argc, char** argv) {
  double epochs = 20;
  std::string out = "result";
  CLI::App app{"Trains a small network on handwritten digits, in several processes under mpirun."};
  app.add_option("--epochs", epochs)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--out", out, "folder for the log and the snapshots")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  const absl::StatusOr<examples::Processes> processes = examples::Processes::Start();
  const absl::Status status = processes.ok() ? Main(processes->world(), epochs, out) : processes.status();
  if (!status.ok()) std::cerr << "mnist_processes: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
