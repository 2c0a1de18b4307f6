// Small models of the kinds that users train, and what some steps of training make of them.
//
//   const TrainingSetup setup{.model = "gpt", .batch = 8, .optimizer = "adamw"};
//   Trained one = Train(setup, {}), four = Train(setup, OptionsOf({.axes = {{"data", 4}}}));
//
// The models are "mlp", "lenet", "gpt", "gpt with a head" (of its own weights, which no axis cuts), "resnet",
// "rnn" and "twins" (a loss over all pairs of examples). The
// examples of a step depend only on their numbers, so every mesh trains on the same ones.
#ifndef SINTER_TESTS_NUMERICS_TRAINING_TRAINING_MODELS_H_
#define SINTER_TESTS_NUMERICS_TRAINING_TRAINING_MODELS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sinter/frontend/sinter.h"

namespace sinter::numerics {

// A mesh of virtual CPUs or of GPUs, and how they share the work.
struct MeshCase {
  // Names and sizes. Empty: one CPU. "data" and "replica" share the batch, "tensor" cuts wide layers.
  std::vector<std::pair<std::string, int64_t>> axes = {};
  int zero = 0;       // The level of ZeRO along "data"; 0: without.
  bool rows = false;  // "tensor" also cuts rows.
  int64_t devices_of_rank = 1;
  BatchStatistics batch_norm = BatchStatistics::kSynchronized;
  bool even = true;
  int64_t bucket_bytes = DataParallel().bucket_bytes;

  int64_t ranks() const;
  // "data 4".
  std::string text() const;
};

// The device of a mesh with this index: a CPU, or a GPU if SINTER_TEST_DEVICE is one (test_device.h).
Device DeviceAt(int64_t index);

CompileOptions OptionsOf(const MeshCase& mesh);

// A program that trains.
struct TrainingSetup {
  std::string model;
  int64_t batch = 16;             // Examples of one run.
  DType dtype = F64;              // Element type of parameters and images.
  std::string optimizer = "sgd";  // One of OptimizerNames().
  int parts = 1;                  // Runs whose gradients one update takes.
  double dropout = 0;
  Precision precision = Precision::kF32;
  // 0: batch norms are nn::BatchNorm. Else they are composed of other ops, which compute the statistics of
  // this many equal parts of the batch, and so what BatchStatistics::kPerDevice must compute on as many
  // ranks.
  int64_t parts_of_batch_norm = 0;
  bool is_placed = false;  // The second half of an "mlp" is on cpu:1.
  bool evaluates = true;   // Adds an evaluation. It takes as long to compile as the forward pass.
  int steps = 20;

  // The fields in words.
  std::string text() const;
};

// Every optimizer of frontend/optim, with gradient clipping, groups of parameters and loss scales.
std::vector<std::string> OptimizerNames();

Graph BuildTraining(const TrainingSetup& setup);

// The images or tokens and the labels of examples 0 to `count`.
std::vector<HostTensor> ExamplesOf(const TrainingSetup& setup, int64_t count);

struct Trained {
  std::vector<double> losses;                   // Losses of every run, which the program logs.
  std::map<std::string, HostTensor> variables;  // After the last step.
  HostTensor logits;                            // Logits of an evaluation; empty without one.
  double correct = 0;
  double product_flops = 0;  // Operations of products and convolutions in a run that computes gradients.
};

// Trains with a learning rate that rises and falls, then evaluates. Ends the program if a step fails.
// `world`: the processes that train together, each of which makes the call; null if there is one.
Trained Train(const TrainingSetup& setup, const CompileOptions& options, World* world = nullptr);

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_TRAINING_TRAINING_MODELS_H_
