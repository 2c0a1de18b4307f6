// Trains LeNet on several devices that share each batch, and prints accuracy and time. This is "Training on
// Multiple GPUs" of Dive into Deep Learning, compiled ahead of time. The graph is the same as for a single
// device; only CompileOptions::data_parallel differs.
//
//   data_parallel                                              # all GPUs, or two virtual CPU devices
//   data_parallel --devices gpu:0,gpu:1 --dataset fashion-mnist --data FOLDER
//   data_parallel --devices cpu:0,cpu:1,cpu:2 --epochs 2 --batch 100 --uneven
//   mpirun -n 4 data_parallel                                  # four processes, one device each (needs MPI)
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "CLI/CLI.hpp"
#include "sinter/examples/device_flags.h"
#include "sinter/examples/device_text.h"
#include "sinter/examples/lenet.h"
#include "sinter/sinter.h"
#ifdef SINTER_WITH_MPI
#include "sinter/runtime/mpi/mpi_world.h"
#endif

namespace {

namespace examples = sn::examples;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string dataset = "fashion-mnist", folder;
  std::vector<std::string> device_names;
  sn::World* world = nullptr;  // The processes that share the devices; null: one process.
  std::vector<sn::Device> devices;
  int64_t epochs = 10, batch = 256;
  float learning_rate = 0.2f;
  bool uneven = false, report = false;
};

// True for the process that prints.
bool Talks(const Options& options) { return options.world == nullptr || options.world->rank() == 0; }

sn::Graph BuildGraph(const Options& options, const examples::Digits& data) {
  sn::Graph graph("lenet", {.seed = 1});
  sn::nn::Module net = examples::LeNet();
  for (int64_t rows : examples::BatchSizes(data.train, options.batch)) {
    graph.Function(examples::FunctionName("train", rows), sn::Mode::kTrain, [&](sn::Builder& b) {
      sn::Tensor x = b.Input("x", sn::F32, {rows, 1, 28, 28}), y = b.Input("y", sn::I32, {rows});
      sn::Tensor loss = sn::SoftmaxCrossEntropy(net(x), y);
      sn::optim::Sgd{.learning_rate = b.Scalar("lr")}.Minimize(loss);
      b.Output("loss", loss);
    });
  }
  for (int64_t rows : examples::BatchSizes(data.test, options.batch))
    examples::AddEvaluation(graph, net, rows);
  return graph;
}

// Trains the model and returns the seconds, with the preparation of batches and without evaluation. Never
// fetches the loss.
absl::StatusOr<double> Train(sn::Session& session, const examples::Digits& data, const Options& options) {
  SINTER_ASSIGN_OR_RETURN(
      sn::BatchIterator batches,
      examples::MakeBatches(data.train,
                            {.batch_size = options.batch, .seed = 1, .max_epochs = options.epochs}));
  int64_t steps = batches.batches_per_epoch();
  SINTER_ASSIGN_OR_RETURN(auto ahead, sn::Prefetcher::Create([&] { return batches.Next(); }, /*depth=*/2));
  double seconds = 0;
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    Clock::time_point start = Clock::now();
    for (int64_t i = 0; i < steps; ++i) {
      SINTER_ASSIGN_OR_RETURN(sn::Batch batch, ahead->Next());
      SINTER_RETURN_IF_ERROR(
          session
              .Run(examples::FunctionName("train", batch.rows),
                   {{"x", batch.tensors[0]}, {"y", batch.tensors[1]}, {"lr", options.learning_rate}})
              .status());
    }
    SINTER_RETURN_IF_ERROR(session.Synchronize());
    seconds += std::chrono::duration<double>(Clock::now() - start).count();
    SINTER_ASSIGN_OR_RETURN(double accuracy, examples::Accuracy(session, data.test, options.batch));
    if (Talks(options)) std::cout << "epoch " << epoch + 1 << ": test acc " << accuracy << std::endl;
  }
  return seconds;
}

// Returns one device per process if there are several processes; else all GPUs, or two virtual CPU devices.
std::vector<std::string> DefaultDevices(int processes) {
  const int gpus = sn::NumGpus();
  const int count = processes > 1 ? processes : std::max(gpus, 1) * (gpus == 0 ? 2 : 1);
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back((gpus == 0 ? "cpu:" : "gpu:") + std::to_string(i));
  return names;
}

absl::Status Run(const Options& options) {
  SINTER_ASSIGN_OR_RETURN(examples::Digits data, examples::LoadDigits(options.dataset, options.folder));
  if (Talks(options)) std::cout << examples::DeviceText(options.devices) << "\ndata: " << data.source << "\n";
  sn::Graph graph = BuildGraph(options, data);
  sn::CompileOptions compile{.report = options.report};
  compile.data_parallel.devices = options.devices;
  compile.data_parallel.even = !options.uneven;
  sn::CompileReport report;
  SINTER_ASSIGN_OR_RETURN(sn::Plan plan, sn::Compile(graph, compile, &report));
  if (Talks(options)) {
    for (const std::string& line : report.copies) std::cout << line << "\n";
  }
  SINTER_ASSIGN_OR_RETURN(sn::Session session,
                          sn::Session::Create(std::move(plan), {.world = options.world}));
  SINTER_ASSIGN_OR_RETURN(double seconds, Train(session, data, options));
  SINTER_ASSIGN_OR_RETURN(double accuracy, examples::Accuracy(session, data.test, options.batch));
  if (!Talks(options)) return absl::OkStatus();
  std::cout << "test acc: " << accuracy << ", " << seconds / static_cast<double>(options.epochs)
            << " sec/epoch on [";
  for (size_t i = 0; i < options.devices.size(); ++i) std::cout << (i == 0 ? "" : ", ") << options.devices[i];
  std::cout << "]\n";
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app{"Trains LeNet on several devices that share each batch."};
  app.add_option("--devices", options.device_names,
                 "such as gpu:0,gpu:1; default: all GPUs, or two virtual CPU devices")
      ->delimiter(',');
  app.add_option("--dataset", options.dataset, "mnist or fashion-mnist")->capture_default_str();
  app.add_option("--data", options.folder, "folder with the IDX files; default: $SINTER_DATA/<dataset>");
  app.add_option("--epochs", options.epochs)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--batch", options.batch, "images in a step, over all devices")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  app.add_option("--lr", options.learning_rate)->capture_default_str();
  app.add_flag("--uneven", options.uneven, "allow parts of the batch that differ by one image");
  app.add_flag("--report", options.report, "list the copies between devices");
  CLI11_PARSE(app, argc, argv);
  int processes = 1;
#ifdef SINTER_WITH_MPI
  absl::StatusOr<std::unique_ptr<sn::MpiWorld>> world = sn::MpiWorld::Create();
  if (!world.ok()) {
    std::cerr << "data_parallel: " << world.status().message() << "\n";
    return 1;
  }
  options.world = world->get();
  processes = options.world->size();
  const std::string note = options.world->rank() == 0 ? (*world)->CoreNote() : "";
  if (!note.empty()) std::cerr << "note: " << note << "\n";
#endif
  if (options.device_names.empty()) options.device_names = DefaultDevices(processes);
  absl::StatusOr<std::vector<sn::Device>> devices = examples::ParseDevices(options.device_names);
  if (!devices.ok()) {
    std::cerr << "data_parallel: " << devices.status().message() << "\n";
    return 2;
  }
  options.devices = *std::move(devices);
  // SINTER_CPU_DEVICES creates virtual CPU devices; each process gets an equal share.
  const size_t own =
      (options.devices.size() + static_cast<size_t>(processes) - 1) / static_cast<size_t>(processes);
  setenv("SINTER_CPU_DEVICES", std::to_string(own).c_str(), /*overwrite=*/0);
  absl::Status status = Run(options);
  if (!status.ok()) std::cerr << "data_parallel: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
