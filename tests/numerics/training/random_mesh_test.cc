// Random models on random meshes, alone and in several processes: their losses, variables and evaluations are
// those of one CPU, and no rank computes more than its share of the products. SINTER_MESH_CASES=200 trains
// 200 cases of each kind in place of a few, SINTER_MESH_SEED=7 other ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "sinter/tests/numerics/training/mesh_comparison.h"
#include "sinter/tests/runtime/world_threads.h"

namespace sinter::numerics {
namespace {

// The number of random cases of a kind, and what to choose them by: SINTER_MESH_SEED, or this seed.
int NumRandomCases() {
  const char* const cases = std::getenv("SINTER_MESH_CASES");
  return cases == nullptr ? 8 : std::atoi(cases);
}
std::mt19937 RandomChoices(unsigned seed) {
  const char* const given = std::getenv("SINTER_MESH_SEED");
  return std::mt19937(given == nullptr ? seed : static_cast<unsigned>(std::atoi(given)));
}

TEST_F(MeshTrainingTest, RandomCases) {
  std::mt19937 random = RandomChoices(5);
  auto pick = [&](const auto& list) { return list[random() % list.size()]; };
  const std::vector<std::string> models = {"mlp", "lenet", "gpt", "resnet", "rnn", "twins"};
  const std::vector<double> dropouts = {0, 0, 0.3};
  for (int i = 0; i < NumRandomCases() && !HasFailure(); ++i) {
    const auto ranks = static_cast<int64_t>(2 + random() % 15);
    TrainingSetup setup{.model = pick(models),
                        .batch = pick(std::vector<int64_t>{1, 2, ranks - 1, ranks, ranks + 1, 2 * ranks}),
                        .optimizer = pick(OptimizerNames())};
    setup.steps = 8;  // After 20 steps of Adam rounding errors may have grown to 1e-12.
    setup.parts = static_cast<int>(1 + random() % 2);
    setup.dropout = pick(dropouts);
    MeshCase mesh = UnevenData(ranks);
    mesh.bucket_bytes = pick(std::vector<int64_t>{64, 4096, int64_t{25} << 20});
    const int64_t parts = pick(std::vector<int64_t>{1, 2, 4});
    std::cout << i << ": " << setup.text() << " on " << mesh.text() << ", parts " << parts << std::endl;
    Compare({setup, mesh, [=](CompileOptions& o) { o.exchange_parts = parts; }});
  }
}

// A model on a mesh of any axes in any order, with any tactics.
Comparison RandomComparison(std::mt19937& random) {
  auto pick = [&](const auto& list) { return list[random() % list.size()]; };
  using Strings = std::vector<std::string>;
  MeshCase mesh;
  const bool cuts_layers = random() % 4 != 0, cuts_batch = !cuts_layers || random() % 3 != 0;
  TrainingSetup setup{.model = pick(cuts_layers ? Strings{"mlp", "gpt", "gpt with a head", "llama"}
                                                : Strings{"mlp", "lenet", "gpt", "llama", "resnet", "rnn"}),
                      .optimizer = pick(OptimizerNames())};
  if (cuts_layers) {
    const auto sizes = setup.model == "mlp" ? std::vector<int64_t>{2, 3, 4} : std::vector<int64_t>{2};
    mesh.axes.emplace_back("tensor", pick(sizes));
    mesh.rows = random() % 2 == 0;
  }
  int64_t batch_ranks = 1;
  if (cuts_batch) {
    batch_ranks = static_cast<int64_t>(2 + random() % 3);
    mesh.axes.emplace_back("data", batch_ranks);
    mesh.zero = static_cast<int>(random() % 4);
    mesh.even = random() % 3 != 0;
    if (mesh.even && mesh.ranks() <= 8 && random() % 3 == 0) {
      mesh.axes.emplace_back("replica", 2);
      batch_ranks *= 2;
    }
  }
  std::ranges::shuffle(mesh.axes, random);
  setup.batch = batch_ranks * static_cast<int64_t>(1 + random() % 3);
  if (!mesh.even) setup.batch = std::max<int64_t>(setup.batch - static_cast<int64_t>(random() % 3), 1);
  setup.steps = 6;
  setup.parts = static_cast<int>(1 + random() % 2);
  setup.dropout = pick(std::vector<double>{0, 0, 0.3});
  setup.evaluates = random() % 2 == 0;
  mesh.bucket_bytes = pick(std::vector<int64_t>{64, 4096, int64_t{25} << 20});
  const int64_t parts = pick(std::vector<int64_t>{0, 1, 2, 4});
  const int64_t copied = pick(std::vector<int64_t>{0, 1, 2000});
  std::cout << setup.text() << " on " << mesh.text() << ", exchanges in " << parts << ", sums by copies from "
            << copied << std::endl;
  return {setup, mesh, [=](CompileOptions& o) { o.exchange_parts = parts, o.copied_sum_bytes = copied; }};
}

TEST_F(MeshTrainingTest, RandomMeshes) {
  std::mt19937 random = RandomChoices(6);
  for (int i = 0; i < NumRandomCases() && !HasFailure(); ++i) {
    const Comparison comparison = RandomComparison(random);
    const Trained got = Compare(comparison);
    // Ranks share the products, but for those of layers that no axis cuts. One example has no parts.
    if (comparison.setup.batch == 1) continue;
    EXPECT_LE(got.product_flops, 1.4 * OnOneCpu(comparison.setup).product_flops);
  }
}

// In several processes a mesh computes the same bits.
TEST_F(MeshTrainingTest, RandomMeshesInProcesses) {
  if (TestDevice().is_gpu()) GTEST_SKIP() << "a process has no GPU of its own here";
  std::mt19937 random = RandomChoices(8);
  for (int i = 0; i < NumRandomCases() && !HasFailure(); ++i) {
    const Comparison comparison = RandomComparison(random);
    CompileOptions options = OptionsOf(comparison.mesh);
    comparison.with(options);
    const Trained alone = Train(comparison.setup, options);
    std::vector<int> numbers;
    for (int processes = 2; processes <= comparison.mesh.ranks(); ++processes) {
      if (comparison.mesh.ranks() % processes == 0) numbers.push_back(processes);
    }
    const int processes = numbers[random() % numbers.size()];
    std::vector<Trained> trained(static_cast<size_t>(processes));
    RunInWorld(processes, [&](World& world) {
      trained[static_cast<size_t>(world.rank())] = Train(comparison.setup, options, &world);
    });
    for (const Trained& one : trained) {
      EXPECT_EQ(one.losses, alone.losses) << processes << " processes";
      for (const auto& [name, value] : alone.variables) {
        const HostTensor& got = one.variables.at(name);
        ASSERT_EQ(got.num_bytes(), value.num_bytes()) << name;
        EXPECT_EQ(std::memcmp(got.data(), value.data(), static_cast<size_t>(value.num_bytes())), 0)
            << name << " in " << processes << " processes";
      }
    }
  }
}

}  // namespace
}  // namespace sinter::numerics
