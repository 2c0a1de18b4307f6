#include "sinter/tests/numerics/training/mesh_comparison.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace sinter::numerics {
namespace {

bool IsAdamOnGpus(const TrainingSetup& setup) {
  return TestDevice().is_gpu() && setup.dtype == F64 && setup.optimizer.starts_with("adam");
}

}  // namespace

const Trained& MeshTrainingTest::OnOneCpu(const TrainingSetup& setup) {
  auto [found, is_new] = on_one_cpu_.try_emplace(setup.text());
  if (!is_new) return found->second;
  found->second = Train(setup, OptionsOf({}));
  // The last run sees the same examples as one of the first.
  const std::vector<double>& losses = found->second.losses;
  EXPECT_GT(std::abs(losses.back() - losses[(losses.size() - 1) % (2 * setup.parts)]), 1e-4 * losses.back())
      << setup.text() << " learns nothing";
  return found->second;
}

void ExpectSame(const std::string& name, const HostTensor& got, const HostTensor& want) {
  ASSERT_EQ(got.ToString(), want.ToString()) << name;
  if (want.dtype() == F64) {
    const auto a = got.Span<double>().value(), b = want.Span<double>().value();
    double largest = 0;
    for (double x : b) largest = std::max(largest, std::abs(x));
    for (size_t i = 0; i < b.size(); ++i) {
      ASSERT_NEAR(a[i], b[i], kMostOfF64 * largest) << name << "[" << i << "]";
    }
  } else if (want.dtype() != F32) {
    EXPECT_EQ(std::memcmp(got.data(), want.data(), static_cast<size_t>(want.num_bytes())), 0) << name;
  }
}

Trained MeshTrainingTest::Compare(const Comparison& comparison) {
  const TrainingSetup& setup = comparison.setup;
  SCOPED_TRACE(setup.text() + " on " + comparison.mesh.text());
  if (!CheckDevice(DeviceAt(comparison.mesh.ranks() * comparison.mesh.devices_of_rank - 1)).ok()) {
    ++left_out_;
    return {};
  }
  ++compared_;
  const Trained& one = OnOneCpu(comparison.reference.value_or(setup));
  CompileOptions options = OptionsOf(comparison.mesh);
  if (comparison.with) comparison.with(options);
  Trained got = Train(setup, options);
  const double most = setup.precision == Precision::kBf16  ? kMostOfBf16
                      : setup.precision == Precision::kF16 ? kMostOfF16
                      : IsAdamOnGpus(setup)                ? kMostOfAdamOnGpus
                      : setup.dtype == F64                 ? kMostOfF64
                                                           : kMostOfF32;
  EXPECT_EQ(got.losses.size(), one.losses.size());
  for (size_t i = 0; i < one.losses.size(); ++i) {
    EXPECT_NEAR(got.losses[i], one.losses[i], most * std::abs(one.losses[i])) << "run " << i;
  }
  if (setup.precision == Precision::kF32) {
    EXPECT_EQ(got.correct, one.correct);
  }
  if (IsAdamOnGpus(setup)) return got;
  ExpectSame("logits", got.logits, one.logits);
  for (const auto& [name, want] : one.variables) {
    // The losses of the log have been compared.
    if (!name.starts_with("log/")) ExpectSame(name, got.variables.at(name), want);
  }
  return got;
}

}  // namespace sinter::numerics
