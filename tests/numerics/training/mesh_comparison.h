// Trains a model on a mesh and on one CPU, and compares all that comes of it.
//
//   TEST_F(MeshTrainingTest, AnMlp) { Compare({.model = "mlp"}, Data(4)); }
#ifndef SINTER_TESTS_NUMERICS_TRAINING_MESH_COMPARISON_H_
#define SINTER_TESTS_NUMERICS_TRAINING_MESH_COMPARISON_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <string>

#include "sinter/tests/numerics/test_device.h"
#include "sinter/tests/numerics/training/training_models.h"

namespace sinter::numerics {

// f64 differs by the order of sums alone.
inline constexpr double kMostOfF64 = 1e-12;
// Adam divides a gradient by its size, so a gradient that is zero but for rounding moves a variable.
inline constexpr double kMostOfAdamOnGpus = 1e-7;
// For the losses of 20 steps, relative.
inline constexpr double kMostOfF32 = 1e-5, kMostOfF16 = 5e-3, kMostOfBf16 = 2e-2;

inline MeshCase Data(int64_t ranks) { return {.axes = {{"data", ranks}}}; }
inline MeshCase UnevenData(int64_t ranks) { return {.axes = {{"data", ranks}}, .even = false}; }

struct Comparison {
  TrainingSetup setup;
  MeshCase mesh;
  std::function<void(CompileOptions&)> with = {};         // Further options for the mesh.
  std::optional<TrainingSetup> reference = std::nullopt;  // Trained by one CPU, if not `setup`.
};

class MeshTrainingTest : public ::testing::Test {
 protected:
  MeshTrainingTest() {
    setenv("SINTER_CPU_DEVICES", "16", /*overwrite=*/1);
    // Each mesh has the same loops in its kernels; LLVM would take two thirds of the time of this test.
    setenv("SINTER_CPU_OPTIMIZATION", "0", /*overwrite=*/0);
  }
  ~MeshTrainingTest() override { unsetenv("SINTER_CPU_DEVICES"); }

  void SetUp() override {
    if (const std::string why = MissingTestDevice(); !why.empty()) GTEST_SKIP() << why;
    if (TestDevice().is_gpu() && NumGpus() < 2) GTEST_SKIP() << "2 GPUs are needed";
  }
  void TearDown() override {
    if (left_out_ > 0 && compared_ == 0 && !IsSkipped()) GTEST_SKIP() << "all cases need more GPUs";
    if (left_out_ > 0) std::cout << left_out_ << " cases need more GPUs" << std::endl;
  }

  // Trains on the mesh and on one CPU. Returns the results of the mesh; none if there are too few GPUs.
  Trained Compare(const Comparison& comparison);
  Trained Compare(const TrainingSetup& setup, const MeshCase& mesh) {
    return Compare({.setup = setup, .mesh = mesh});
  }
  // Trains once for all meshes of all tests.
  const Trained& OnOneCpu(const TrainingSetup& setup);

 private:
  static inline std::map<std::string, Trained> on_one_cpu_;
  int compared_ = 0, left_out_ = 0;
};

// Expects equal values, or f64 values that differ by kMostOfF64 of the largest. f32 values may be any.
void ExpectSame(const std::string& name, const HostTensor& got, const HostTensor& want);

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_TRAINING_MESH_COMPARISON_H_
