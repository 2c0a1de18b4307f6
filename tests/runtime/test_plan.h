// Builds plans for tests field by field, including invalid ones.
//
//   TestPlan plan;
//   plan.AddVariable("w", DType::kF32, {4}, 0.5);
//   TestFunction f(plan, "double");
//   uint32_t x = f.Input("x", DType::kF32, {4}), y = f.Arena(DType::kF32, {4});
//   f.Kernel("add_f32", {x, x}, {y}, 4);
//   f.Output("y", y);
//   absl::StatusOr<Plan> made = plan.Make();        // Or alter plan.table first.
//
// For several devices, call UseDevices first. A step runs on the device of its first output.
//   plan.UseDevices({Device::Cpu(0), Device::Cpu(1)});
//   uint32_t far = f.Arena(DType::kF32, {4}, /*device=*/1);
//   f.Copy(y, far);
//
// For a mesh of ranks, call UseMesh. The devices are then those of rank 0.
//   plan.UseMesh({{"data", 2}, {"tensor", 3}});
//   uint32_t rows = f.RowsOf(x, 0, {2}, {8, 0});        // Two elements for each coordinate on `data`.
//   f.ExchangeOver({1}, {}, {a}, {b});                  // An all-reduce over `tensor`.
//
// The code is test_kernels.c.
#ifndef SINTER_TESTS_RUNTIME_TEST_PLAN_H_
#define SINTER_TESTS_RUNTIME_TEST_PLAN_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/dtype.h"
#include "sinter/runtime/memory/device.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/session/session.h"

namespace sinter {

struct TestPlan {
  TestPlan();

  void UseDevices(const std::vector<Device>& devices);
  void UseMesh(const std::vector<std::pair<std::string, uint32_t>>& axes);
  // Returns the index into Plan.rank_values.
  uint32_t AddRankValue(int64_t constant, std::vector<int64_t> strides);
  // Returns the index into Plan.variables.
  uint32_t AddVariable(const std::string& name, DType dtype, const std::vector<int64_t>& shape,
                       double value = 0, uint32_t device = 0);
  // Returns the offset into the constants, a multiple of 64.
  uint64_t AddConstant(const void* data, size_t bytes);
  // Returns the index into Plan.gpu_kernels. The kernel's image runs on no GPU.
  uint32_t AddGpuKernel(const std::string& symbol);
  // Loads the code of test_kernels.c.
  void UseTestKernels();

  std::string Bytes() const;  // Sealed with the content hash.
  absl::StatusOr<Plan> Make() const { return Plan::FromBytes(Bytes()); }
  absl::StatusOr<Session> MakeSession(const SessionOptions& options = {}) const;

  fb::PlanT table;
};

fb::TensorTypeT MakeType(DType dtype, const std::vector<int64_t>& shape);
uint64_t BytesOf(DType dtype, const std::vector<int64_t>& shape);

// A function of the plan; the constructor adds it. Buffers are indices into Function.buffers.
class TestFunction {
 public:
  TestFunction(TestPlan& plan, const std::string& name) : TestFunction(plan, plan.table.functions, name) {}
  // Adds to a list such as the plan's fragments:
  //   TestFunction body(plan, plan.table.fragments, "body");
  TestFunction(TestPlan& plan, std::vector<std::unique_ptr<fb::FunctionT>>& list, const std::string& name);

  uint32_t Input(const std::string& name, DType dtype, const std::vector<int64_t>& shape,
                 uint32_t device = 0);
  // Takes the next free bytes of the arena.
  uint32_t Arena(DType dtype, const std::vector<int64_t>& shape, uint32_t device = 0);
  uint32_t Variable(uint32_t index);
  // Returns a buffer for a new parameter of a fragment.
  uint32_t Parameter(DType dtype, const std::vector<int64_t>& shape, bool is_written = false);
  uint32_t Buffer(fb::Space space, uint32_t index, uint64_t offset, DType dtype,
                  const std::vector<int64_t>& shape, uint32_t device = 0);
  // Returns a buffer for the same input on another device.
  uint32_t InputOn(uint32_t buffer, uint32_t device);
  // Returns a buffer for a part of the input, which moves by `rank_strides` bytes.
  uint32_t RowsOf(uint32_t input, uint64_t offset, const std::vector<int64_t>& shape,
                  std::vector<int64_t> rank_strides);
  uint32_t RankValue(uint32_t index, uint32_t device = 0);
  // Sets the ranks: [begin, end) for each axis.
  void RunsOn(const std::vector<std::pair<uint32_t, uint32_t>>& ranges);
  void Output(const std::string& name, uint32_t buffer);

  fb::StepT& Kernel(const std::string& symbol, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs,
                    int64_t units, int64_t grain = 1, uint64_t scratch_bytes = 0);
  // Adds the step and its GPU kernel.
  fb::StepT& GpuKernel(const std::string& symbol, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs,
                       uint32_t grid, uint32_t block = 1);
  fb::StepT& Copy(uint32_t from, uint32_t to);
  fb::StepT& Catalog(const std::string& kernel, std::vector<int64_t> parameters, std::vector<uint32_t> inputs,
                     std::vector<uint32_t> outputs);
  fb::StepT& Matmul(const fb::MatmulStepT& step, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs);
  fb::StepT& Conv(const fb::ConvStepT& step, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs);
  // Adds the step on the device of the group's member `step.rank`.
  fb::StepT& CollectiveLayout(const fb::CollectiveStepT& step, std::vector<uint32_t> inputs,
                              std::vector<uint32_t> outputs);
  // Adds an exchange over axes. Sets its type, its sizes, and the next epoch and channel.
  fb::StepT& ExchangeOver(std::vector<uint32_t> axes, fb::CollectiveStepT step, std::vector<uint32_t> inputs,
                          std::vector<uint32_t> outputs);
  fb::StepT& Attention(const fb::AttentionStepT& step, std::vector<uint32_t> inputs,
                       std::vector<uint32_t> outputs);
  // Needs fragments that are complete: the workspace is as large as the arena of the fragment.
  fb::StepT& Loop(uint32_t fragment, int64_t trips, const std::vector<fb::LoopArgumentT>& arguments,
                  std::vector<uint32_t> inputs, std::vector<uint32_t> outputs);
  fb::StepT& Pool(const fb::PoolStepT& step, std::vector<uint32_t> inputs, std::vector<uint32_t> outputs);

  fb::FunctionT& table() { return *table_; }

 private:
  template <typename Body>
  fb::StepT& Add(const std::string& name, const Body& body, std::vector<uint32_t> inputs,
                 std::vector<uint32_t> outputs);

  TestPlan& plan_;
  fb::FunctionT* table_;
  uint64_t exchanges_ = 0;
};

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_TEST_PLAN_H_
