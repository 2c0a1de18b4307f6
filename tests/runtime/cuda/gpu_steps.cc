#include "sinter/tests/runtime/cuda/gpu_steps.h"

#include <cmath>

#include "sinter/runtime/host/status.h"

namespace sinter {
namespace {

constexpr uint8_t kPoison = 0xff;

// Allocates a tensor's memory on the GPU; its pointer is null for an empty tensor.
absl::StatusOr<Allocation> OnGpu(DeviceRuntime& gpu, int64_t bytes) {
  return gpu.allocator().Allocate(bytes, "test");
}

absl::StatusOr<std::vector<double>> Results(DeviceRuntime& gpu, const std::vector<Allocation>& memory,
                                            const std::vector<TensorType>& types) {
  std::vector<double> all;
  for (size_t i = 0; i < types.size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(HostTensor tensor, HostTensor::Zeros(types[i].dtype, types[i].shape));
    SINTER_RETURN_IF_ERROR(
        gpu.Download(tensor.mutable_data(), memory[i].ptr(), static_cast<size_t>(memory[i].bytes())));
    const std::vector<double> values = ToDoubles(tensor);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

bool SameBits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

}  // namespace

absl::StatusOr<std::vector<double>> GpuTest::TryOnGpu(const fb::PlanT& plan,
                                                      const std::vector<const HostTensor*>& inputs,
                                                      const std::vector<TensorType>& outputs) {
  const PackedPlan packed(plan);
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<Step> step, gpu().MakeStep(packed.plan(), packed.step()));
  std::vector<Allocation> memory;
  std::vector<void*> buffers;
  for (const HostTensor* input : inputs) {
    const int64_t bytes = input->num_elements() * SizeOf(input->dtype());
    SINTER_ASSIGN_OR_RETURN(Allocation allocation, OnGpu(gpu(), bytes));
    SINTER_RETURN_IF_ERROR(gpu().Upload(allocation.ptr(), input->data(), static_cast<size_t>(bytes)));
    buffers.push_back(allocation.ptr());
    memory.push_back(std::move(allocation));
  }
  std::vector<Allocation> results;
  for (const TensorType& output : outputs) {
    SINTER_ASSIGN_OR_RETURN(const int64_t bytes, DenseBytes(output.dtype, output.shape));
    SINTER_ASSIGN_OR_RETURN(Allocation result, OnGpu(gpu(), bytes));
    buffers.push_back(result.ptr());
    results.push_back(std::move(result));
  }
  SINTER_ASSIGN_OR_RETURN(Allocation workspace,
                          OnGpu(gpu(), static_cast<int64_t>(step->LibraryWorkspaceBytes())));
  const StepArgs args = {.buffers = buffers.data(),
                         .workspace = nullptr,
                         .scratch = nullptr,
                         .library_workspace = workspace.ptr()};
  std::vector<double> first;
  const int runs = step->capture_limit() == CaptureLimit::kNowhere ? 2 : 3;
  for (int run = 0; run < runs; ++run) {
    for (const Allocation& result : results) {
      SINTER_RETURN_IF_ERROR(gpu().Fill(result.ptr(), kPoison, static_cast<size_t>(result.bytes())));
    }
    SINTER_RETURN_IF_ERROR(gpu().Fill(workspace.ptr(), kPoison, static_cast<size_t>(workspace.bytes())));
    std::unique_ptr<CapturedGraph> captured;
    if (run < 2) {
      SINTER_RETURN_IF_ERROR(step->Run(args));
    } else {
      SINTER_ASSIGN_OR_RETURN(captured, gpu().Capture([&] { return step->Run(args); }));
      SINTER_RETURN_IF_ERROR(captured->Launch());
    }
    SINTER_ASSIGN_OR_RETURN(const std::vector<double> values, Results(gpu(), results, outputs));
    if (run == 0) first = values;
    EXPECT_TRUE(SameBits(values, first))
        << (run == 1 ? "the second run" : "captured work") << " gives other bits";
  }
  return first;
}

std::vector<double> GpuTest::RunOnGpu(const fb::PlanT& plan, const std::vector<const HostTensor*>& inputs,
                                      const TensorType& output) {
  absl::StatusOr<std::vector<double>> results = TryOnGpu(plan, inputs, output);
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? *results : std::vector<double>();
}

absl::Status GpuTest::MakeError(const fb::PlanT& plan) {
  const PackedPlan packed(plan);
  return gpu().MakeStep(packed.plan(), packed.step()).status();
}

void ExpectSums(const std::vector<double>& got, const std::vector<Sum>& want, SumTolerance tolerance,
                const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    const double allowed =
        tolerance.result * std::abs(want[i].value) + tolerance.sum * want[i].magnitude + 1e-30;
    ASSERT_LE(std::abs(got[i] - want[i].value), allowed)
        << what << ", element " << i << ": " << got[i] << " instead of " << want[i].value;
  }
}

}  // namespace sinter
