// A model trains the same on any mesh: its losses, its variables and its evaluation are those of one CPU.
// SINTER_TEST_DEVICE=gpu:0 trains on GPUs the cases for which there are enough.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "sinter/frontend/data/batches.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/session/checkpoint.h"
#include "sinter/tests/numerics/training/mesh_comparison.h"

namespace sinter::numerics {
namespace {

TEST_F(MeshTrainingTest, AnMlp) {
  for (int64_t ranks : {2, 8, 16}) Compare({.model = "mlp"}, Data(ranks));
  for (int64_t ranks : {3, 15}) Compare({.model = "mlp", .batch = 15}, Data(ranks));
  // Batches that do not divide, and one with fewer examples than ranks.
  for (int64_t ranks : {2, 7, 12}) Compare({.model = "mlp", .batch = 13}, UnevenData(ranks));
  for (int64_t ranks : {4, 16}) Compare({.model = "mlp", .batch = 3}, UnevenData(ranks));
}

TEST_F(MeshTrainingTest, ALeNet) {
  for (int64_t ranks : {2, 16}) Compare({.model = "lenet"}, Data(ranks));
  Compare({.model = "lenet", .batch = 11}, UnevenData(3));
  Compare({.model = "lenet", .dtype = F32}, Data(8));
}

TEST_F(MeshTrainingTest, AGpt) {
  for (int64_t ranks : {2, 8}) Compare({.model = "gpt", .batch = 8, .evaluates = false}, Data(ranks));
  Compare({.model = "gpt", .batch = 5}, UnevenData(3));
  Compare({.model = "gpt", .batch = 8, .dtype = F32, .evaluates = false}, Data(4));
}

TEST_F(MeshTrainingTest, AResNetWithStatisticsOfTheWholeBatch) {
  Compare({.model = "resnet", .batch = 8}, Data(4));
  Compare({.model = "resnet", .batch = 7}, UnevenData(3));
  // Variants with many exchanges, whose operands and readers could share kernels.
  MeshCase small_buckets = UnevenData(15);
  small_buckets.bucket_bytes = 64;
  Compare({.model = "resnet", .batch = 16, .optimizer = "sgd clipped", .evaluates = false, .steps = 4},
          small_buckets);
}

TEST_F(MeshTrainingTest, AResNetWithStatisticsOfEachRank) {
  for (int64_t ranks : {2, 4}) {
    const TrainingSetup setup{.model = "resnet", .batch = 8};
    TrainingSetup composed = setup;
    composed.parts_of_batch_norm = ranks;
    MeshCase mesh = Data(ranks);
    mesh.batch_norm = BatchStatistics::kPerDevice;
    Compare({.setup = setup, .mesh = mesh, .reference = composed});
  }
}

TEST_F(MeshTrainingTest, ARecurrentNetwork) {
  Compare({.model = "rnn", .batch = 9}, Data(3));
  Compare({.model = "rnn", .batch = 9, .optimizer = "adamw"}, UnevenData(4));
}

TEST_F(MeshTrainingTest, PairsOfExamplesOfTheWholeBatch) {
  for (int64_t ranks : {2, 6}) Compare({.model = "twins", .batch = 6}, Data(ranks));
  Compare({.model = "twins", .batch = 7}, UnevenData(3));
}

TEST_F(MeshTrainingTest, EveryOptimizer) {
  for (const std::string& optimizer : OptimizerNames()) {
    Compare({.model = "mlp", .batch = 7, .optimizer = optimizer, .evaluates = false}, UnevenData(3));
  }
  Compare({.model = "gpt", .batch = 8, .optimizer = "adamw", .evaluates = false}, Data(2));
}

// The mask belongs to the example, not to the rank.
TEST_F(MeshTrainingTest, Dropout) {
  for (int64_t ranks : {4, 16}) Compare({.model = "mlp", .dropout = 0.4}, Data(ranks));
  Compare({.model = "lenet", .batch = 10, .dropout = 0.3}, UnevenData(4));
  Compare({.model = "gpt", .batch = 4, .dropout = 0.2, .evaluates = false}, Data(2));
}

TEST_F(MeshTrainingTest, AccumulatedGradients) {
  for (const std::string optimizer : {"adam scaled", "adamw"}) {
    Compare({.model = "mlp", .batch = 6, .optimizer = optimizer, .parts = 3, .dropout = 0.2}, Data(3));
  }
  Compare({.model = "mlp", .batch = 5, .optimizer = "nesterov clipped", .parts = 2}, UnevenData(4));
  Compare({.model = "resnet", .batch = 4, .optimizer = "momentum", .parts = 2}, Data(2));
  Compare({.model = "gpt", .batch = 4, .optimizer = "adamw", .parts = 2, .evaluates = false},
          {.axes = {{"data", 2}, {"tensor", 2}}});
  Compare({.model = "mlp", .dtype = F32, .parts = 2, .precision = Precision::kBf16}, Data(4));
  for (int level : {1, 2}) {
    Compare({.model = "mlp", .optimizer = "adam scaled", .parts = 2},
            {.axes = {{"replica", 2}, {"data", 2}, {"tensor", 2}}, .zero = level});
  }
  Compare({.model = "mlp", .batch = 13, .optimizer = "adamw", .parts = 2},
          {.axes = {{"data", 3}}, .zero = 1, .even = false});
  TrainingSetup setup{.model = "mlp", .optimizer = "adamw", .parts = 2}, placed = setup;
  placed.is_placed = true;
  MeshCase mesh = Data(4);
  mesh.devices_of_rank = 2;
  Compare({.setup = placed, .mesh = mesh, .reference = setup});
}

// A gradient that no f16 holds on one rank stops the step on all of them.
TEST_F(MeshTrainingTest, LossScalesOfF16) {
  const TrainingSetup setup{.model = "mlp",
                            .batch = 7,
                            .dtype = F32,
                            .optimizer = "sgd scaled",
                            .precision = Precision::kF16,
                            .evaluates = false};
  auto scale = [](const Trained& trained) {
    return trained.variables.at("sgd/loss_scale").Span<float>().value()[0];
  };
  const float want = scale(OnOneCpu(setup));
  EXPECT_LT(want, 0x1p22f) << "nothing has overflowed";
  const Trained got = Compare(setup, UnevenData(3));
  if (!got.losses.empty()) {
    EXPECT_EQ(scale(got), want);
  }
}

TEST_F(MeshTrainingTest, Gradients16BitsWide) {
  Compare({.model = "mlp", .dtype = F32, .precision = Precision::kBf16}, Data(4));
  Compare({.model = "gpt", .batch = 4, .dtype = F32, .precision = Precision::kBf16, .evaluates = false},
          Data(2));
}

// Each rank has two devices, and each half of the network an exchange of its own.
TEST_F(MeshTrainingTest, RanksOfTwoDevices) {
  TrainingSetup setup{.model = "mlp", .optimizer = "adamw"}, placed = setup;
  placed.is_placed = true;
  MeshCase mesh = Data(4);
  mesh.devices_of_rank = 2;
  Compare({.setup = placed, .mesh = mesh, .reference = setup});
}

// Each rank has some heads, hidden units and words.
TEST_F(MeshTrainingTest, TensorParallelism) {
  for (int64_t ranks : {2, 4, 8}) Compare({.model = "mlp"}, {.axes = {{"tensor", ranks}}});
  Compare({.model = "mlp", .dropout = 0.4}, {.axes = {{"data", 4}, {"tensor", 4}}});
  Compare({.model = "mlp", .batch = 13, .optimizer = "adamw"},
          {.axes = {{"data", 3}, {"tensor", 2}}, .even = false});
  Compare({.model = "gpt", .batch = 4}, {.axes = {{"tensor", 2}}});
  Compare({.model = "gpt", .batch = 4, .optimizer = "adamw", .dropout = 0.2, .evaluates = false},
          {.axes = {{"data", 2}, {"tensor", 2}}});
}

TEST_F(MeshTrainingTest, GroupsOfHeads) {
  Compare({.model = "llama", .batch = 4}, Data(2));
  Compare({.model = "llama", .batch = 4}, {.axes = {{"tensor", 2}}});
  Compare({.model = "llama", .batch = 4}, {.axes = {{"tensor", 2}}, .rows = true});
  const TrainingSetup trains{.model = "llama", .batch = 4, .optimizer = "adamw", .evaluates = false};
  const MeshCase mesh = {.axes = {{"data", 2}, {"tensor", 2}}, .zero = 3};
  Compare(trains, mesh);
  // No exchange comes that the tactics do not imply.
  CompileOptions options = OptionsOf(mesh);
  options.reshards = Reshards::kExplicit;
  EXPECT_EQ(Compile(BuildTraining(trains), options).status(), absl::OkStatus());
}

// Between its heads, hidden units and words, each rank has some rows: examples, or tokens where the ranks do
// not divide the examples of a part.
TEST_F(MeshTrainingTest, RowsBesideTensorParallelism) {
  Compare({.model = "mlp"}, {.axes = {{"tensor", 8}}, .rows = true});
  Compare({.model = "mlp", .batch = 9, .dropout = 0.4}, {.axes = {{"tensor", 3}}, .rows = true});
  // Parts of five and four rows stay whole.
  Compare({.model = "mlp", .batch = 13, .optimizer = "adamw"},
          {.axes = {{"data", 3}, {"tensor", 2}}, .rows = true, .even = false});
  Compare({.model = "gpt", .batch = 2, .steps = 6}, {.axes = {{"tensor", 2}}, .rows = true});
  const TrainingSetup gpt{
      .model = "gpt", .batch = 4, .optimizer = "adamw", .dropout = 0.2, .evaluates = false, .steps = 6};
  Compare(gpt, {.axes = {{"data", 2}, {"tensor", 2}}, .zero = 3, .rows = true});
  Compare(gpt, {.axes = {{"data", 4}, {"tensor", 2}}, .zero = 1, .rows = true});
  TrainingSetup with_head = gpt;
  with_head.model = "gpt with a head";
  Compare(with_head, {.axes = {{"tensor", 2}, {"data", 2}}, .rows = true});
}

// Sums of terms travel in parts, and the rows around them are computed in parts, dropout included. Scattered
// rows are then other ones on each rank.
TEST_F(MeshTrainingTest, ExchangesInParts) {
  // Without sums by copies, which travel whole beside rows and which the compiler prefers on GPUs.
  auto in_parts = [](int64_t parts) {
    return [=](CompileOptions& o) { o.exchange_parts = parts, o.copied_sum_bytes = INT64_MAX; };
  };
  const TrainingSetup gpt{
      .model = "gpt", .batch = 8, .optimizer = "adamw", .dropout = 0.2, .evaluates = false, .steps = 6};
  Compare({gpt, {.axes = {{"tensor", 2}}}, in_parts(2)});
  Compare({gpt, {.axes = {{"data", 2}, {"tensor", 2}}, .zero = 3}, in_parts(4)});
  TrainingSetup by_rows = gpt;
  by_rows.dropout = 0;
  const MeshCase rows = {.axes = {{"data", 2}, {"tensor", 2}}, .rows = true};
  Compare({by_rows, rows, in_parts(2)});
  CompileOptions options = OptionsOf(rows);
  in_parts(2)(options);
  options.report = true;
  CompileReport report;
  ASSERT_TRUE(Compile(BuildTraining(by_rows), options, &report).ok());
  for (const std::string kind : {"all_reduce", "reduce_scatter", "all_gather"}) {
    EXPECT_THAT(report.copies,
                ::testing::Contains(::testing::ContainsRegex(kind + " of .* travels in 2 parts")));
  }
  const TrainingSetup mlp{.model = "mlp", .dropout = 0.4};
  for (int64_t parts : {2, 8}) Compare({mlp, {.axes = {{"tensor", 4}}}, in_parts(parts)});
  // Parts of five and four rows stay whole.
  Compare(
      {{.model = "mlp", .batch = 13}, {.axes = {{"data", 3}, {"tensor", 2}}, .even = false}, in_parts(2)});
}

// Ranks send each other the terms of sums, and add them: two ranks, or any number that share a sum.
TEST_F(MeshTrainingTest, SumsByCopies) {
  auto by_copies = [](int64_t parts) {
    return [=](CompileOptions& o) { o.copied_sum_bytes = 1, o.exchange_parts = parts; };
  };
  const TrainingSetup gpt{
      .model = "gpt", .batch = 8, .optimizer = "adamw", .dropout = 0.2, .evaluates = false, .steps = 6};
  for (const int64_t parts : {1, 2}) Compare({gpt, {.axes = {{"tensor", 2}}}, by_copies(parts)});
  Compare({gpt, {.axes = {{"data", 2}}, .zero = 3}, by_copies(1)});
  Compare({gpt, {.axes = {{"data", 2}, {"tensor", 2}}, .zero = 2, .rows = true}, by_copies(2)});
  MeshCase small_buckets = Data(2);
  small_buckets.bucket_bytes = 1;
  Compare({{.model = "lenet"}, small_buckets, by_copies(1)});
  const TrainingSetup mlp{.model = "mlp", .batch = 12, .optimizer = "adamw"};
  Compare({mlp, {.axes = {{"data", 3}}, .zero = 2}, by_copies(1)});
  Compare({mlp, {.axes = {{"data", 5}}, .zero = 1, .even = false}, by_copies(1)});
  Compare({{.model = "mlp", .dtype = F32, .precision = Precision::kBf16},
           {.axes = {{"data", 4}}, .zero = 3},
           by_copies(1)});
}

TEST_F(MeshTrainingTest, Zero) {
  for (int level : {1, 2, 3}) {
    Compare({.model = "mlp", .optimizer = "adamw", .parts = 2}, {.axes = {{"data", 4}}, .zero = level});
    Compare({.model = "lenet", .optimizer = "nesterov clipped"}, {.axes = {{"data", 2}}, .zero = level});
    Compare({.model = "mlp", .batch = 13, .optimizer = "adam scaled"},
            {.axes = {{"data", 3}}, .zero = level, .even = false});
  }
  Compare({.model = "gpt", .batch = 8, .optimizer = "adamw", .evaluates = false},
          {.axes = {{"data", 4}}, .zero = 3});
  Compare({.model = "resnet", .batch = 8, .optimizer = "momentum"}, {.axes = {{"data", 2}}, .zero = 3});
}

// Parts within a replica, copies across replicas; and parts of parts.
TEST_F(MeshTrainingTest, ZeroBesideOtherAxes) {
  for (int level : {1, 3}) {
    Compare({.model = "mlp", .optimizer = "adamw"}, {.axes = {{"replica", 2}, {"data", 4}}, .zero = level});
    Compare({.model = "mlp", .optimizer = "adamw"},
            {.axes = {{"replica", 2}, {"data", 2}, {"tensor", 4}}, .zero = level});
    Compare({.model = "gpt", .batch = 4, .optimizer = "adamw", .evaluates = false},
            {.axes = {{"data", 2}, {"tensor", 2}}, .zero = level});
  }
  // One example: the axis "data" cuts nothing but variables.
  Compare({.model = "gpt", .batch = 1, .evaluates = false, .steps = 6},
          {.axes = {{"data", 2}, {"tensor", 2}}, .zero = 3, .even = false});
}

TEST_F(MeshTrainingTest, OtherCompileOptions) {
  MeshCase small_buckets = Data(4);
  small_buckets.bucket_bytes = 256;
  const TrainingSetup gpt{.model = "gpt", .batch = 8, .evaluates = false}, lenet{.model = "lenet"};
  Compare({gpt, small_buckets, [](CompileOptions& o) { o.row_chunk_bytes = 1024; }});
  Compare({gpt, Data(2), [](CompileOptions& o) { o.memory_limit = 372736; }});
  Compare({lenet, UnevenData(3), [](CompileOptions& o) { o.fuse = o.fuse_epilogues = o.in_place = false; }});
  Compare({lenet, Data(2), [](CompileOptions& o) { o.image_layout = Layout::kNhwc; }});
  Compare({lenet, Data(4), [](CompileOptions& o) { o.check_indices = true; }});
}

// A part of a training run, as a user writes it: it continues from the checkpoint, if there is one, with the
// iterator's position in its metadata, and saves both.
struct RunPart {
  int steps = 0;
  MeshCase mesh = {};
  bool restores_position = true, restores_masks = true;
};

absl::StatusOr<std::vector<double>> TrainPart(const TrainingSetup& setup, const RunPart& part,
                                              const std::string& path) {
  SINTER_ASSIGN_OR_RETURN(Plan plan, Compile(BuildTraining(setup), OptionsOf(part.mesh)));
  SINTER_ASSIGN_OR_RETURN(Session session, Session::Create(std::move(plan), {.threads = 1}));
  SINTER_ASSIGN_OR_RETURN(
      BatchIterator batches,
      BatchIterator::Create(ExamplesOf(setup, 4 * setup.batch + 3),
                            {.batch_size = setup.batch, .seed = 5, .last = LastBatch::kDrop}));
  if (std::filesystem::exists(path)) {
    SINTER_ASSIGN_OR_RETURN(Metadata metadata, LoadCheckpoint(session, path));
    SINTER_ASSIGN_OR_RETURN(const BatchState position, BatchState::Parse(metadata["batches"]));
    if (part.restores_position) SINTER_RETURN_IF_ERROR(batches.Restore(position));
    if (!part.restores_masks) {
      SINTER_RETURN_IF_ERROR(session.WriteVariable("random/step", HostTensor::Zeros(I64, {}).value()));
    }
  }
  std::vector<double> losses;
  for (int step = 0; step < part.steps; ++step) {
    SINTER_ASSIGN_OR_RETURN(const Batch batch, batches.Next());
    SINTER_ASSIGN_OR_RETURN(
        const Outputs outputs,
        session.Run("train", {{"x", batch.tensors[0]}, {"y", batch.tensors[1]}, {"lr", 0.02}}));
    SINTER_ASSIGN_OR_RETURN(losses.emplace_back(), outputs.Scalar("loss"));
  }
  SINTER_RETURN_IF_ERROR(SaveCheckpoint(session, path, {{"batches", batches.state().ToText()}}));
  return losses;
}

// The losses of all parts, one after the other.
std::vector<double> TrainInParts(const TrainingSetup& setup, const std::vector<RunPart>& parts) {
  std::string folder = testing::TempDir() + "/sinter_training_XXXXXX";
  EXPECT_NE(mkdtemp(folder.data()), nullptr);
  std::vector<double> all;
  for (const RunPart& part : parts) {
    const absl::StatusOr<std::vector<double>> losses = TrainPart(setup, part, folder + "/run.safetensors");
    EXPECT_TRUE(losses.ok()) << losses.status();
    if (losses.ok()) all.insert(all.end(), losses->begin(), losses->end());
  }
  std::filesystem::remove_all(folder);
  return all;
}

// The position of the random numbers is a variable, and that of the data is metadata. Both are of the run,
// not of the mesh, so a run continues on any other. Epochs have four batches.
TEST_F(MeshTrainingTest, AResumedRunContinuesOnAnyMesh) {
  const MeshCase data = {.axes = {{"data", 2}}, .zero = 3}, tensor = {.axes = {{"tensor", 2}}};
  const TrainingSetup mlp{
      .model = "mlp", .batch = 8, .optimizer = "adamw", .dropout = 0.3, .evaluates = false};
  TrainingSetup gpt = mlp;
  gpt.model = "gpt";
  const double most = TestDevice().is_gpu() ? kMostOfAdamOnGpus : kMostOfF64;
  for (const TrainingSetup& setup : {mlp, gpt}) {
    const std::vector<double> whole = TrainInParts(setup, {{.steps = 12}});
    const std::vector<double> parts =
        TrainInParts(setup, {{.steps = 5, .mesh = data}, {.steps = 4, .mesh = tensor}, {.steps = 3}});
    ASSERT_EQ(parts.size(), whole.size());
    for (size_t i = 0; i < whole.size(); ++i) {
      EXPECT_NEAR(parts[i], whole[i], most * whole[i]) << setup.text() << ", step " << i;
    }
  }
  // Both positions matter.
  const std::vector<double> whole = TrainInParts(mlp, {{.steps = 6}});
  for (const RunPart& other : {RunPart{.steps = 1, .mesh = tensor, .restores_position = false},
                               RunPart{.steps = 1, .mesh = tensor, .restores_masks = false}}) {
    EXPECT_GT(std::abs(TrainInParts(mlp, {{.steps = 5}, other})[5] - whole[5]), 1e-6 * whole[5]);
  }
}

}  // namespace
}  // namespace sinter::numerics
