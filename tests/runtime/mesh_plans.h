// Plans over a mesh of ranks with known results, for fake GPUs and CPUs.
//
//   const MeshShape shape = {2, 3};
//   TestPlan plan = MeshPlan(shape, Device::Cpu());
//   ExpectMesh(session, shape, /*runs=*/3, /*first_row=*/0, /*rows=*/6);
#ifndef SINTER_TESTS_RUNTIME_MESH_PLANS_H_
#define SINTER_TESTS_RUNTIME_MESH_PLANS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/runtime/session/session.h"
#include "sinter/tests/runtime/device_plans.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {

struct MeshShape {
  uint32_t a, b;

  uint32_t ranks() const { return a * b; }
};

inline constexpr int64_t kMeshRow = 4;  // Elements of a rank's row.

inline fb::CollectiveStepT StepOfKind(fb::CollectiveKind kind) {
  fb::CollectiveStepT step;
  step.kind = kind;
  return step;
}

// The function "f" of a mesh `a` x `b`. Rank r has row r of x, f32[ranks, 4]. Outputs of all ranks together:
// over_a, over_b and over_all, each rank's sum of rows over these axes; scattered = ranks * over_b; numbers =
// 100 + 10 * (coordinate on a) + (coordinate on b). Variable w += sum of all rows.
inline TestPlan MeshPlan(const MeshShape& shape, Device device) {
  TestPlan plan;
  plan.UseDevices({device});
  plan.UseMesh({{"a", shape.a}, {"b", shape.b}});
  plan.AddVariable("w", DType::kF32, {kMeshRow}, 1);
  const uint32_t value = plan.AddRankValue(100, {10, 1});
  TestFunction f(plan, "f");
  const int64_t ranks = shape.ranks();
  const uint32_t x = f.Input("x", DType::kF32, {ranks, kMeshRow});
  const uint32_t own = f.RowsOf(x, 0, {kMeshRow}, {16 * int64_t{shape.b}, 16});
  const auto gather = [&](const std::string& name, uint32_t part, DType dtype, int64_t size) {
    const uint32_t whole = f.Arena(dtype, {ranks * size});
    f.ExchangeOver({0, 1}, StepOfKind(fb::CollectiveKind::AllGather), {part}, {whole});
    f.Output(name, whole);
    return whole;
  };
  const auto sum = [&](const std::string& name, std::vector<uint32_t> axes) {
    const uint32_t made = f.Arena(DType::kF32, {kMeshRow});
    f.ExchangeOver(std::move(axes), {}, {own}, {made});
    return std::pair(made, gather(name, made, DType::kF32, kMeshRow));
  };
  sum("over_a", {0});
  const uint32_t rows_over_b = sum("over_b", {1}).second;
  const uint32_t all = sum("over_all", {0, 1}).first;
  const uint32_t part = f.Arena(DType::kF32, {kMeshRow});
  f.ExchangeOver({0, 1}, StepOfKind(fb::CollectiveKind::ReduceScatter), {rows_over_b}, {part});
  gather("scattered", part, DType::kF32, kMeshRow);
  AddSum(f, plan, f.Variable(0), all, f.Variable(0));
  const uint32_t number = f.Arena(DType::kI64, {1});
  f.Copy(f.RankValue(value), number);
  gather("numbers", number, DType::kI64, 1);
  f.Output("w", f.Variable(0));
  return plan;
}

inline float MeshElement(int64_t rank, int64_t column) { return static_cast<float>(10 * rank + column); }

inline HostTensor MeshRows(int64_t first, int64_t rows) {
  std::vector<float> values;
  for (int64_t i = 0; i < rows * kMeshRow; ++i) {
    values.push_back(MeshElement(first + i / kMeshRow, i % kMeshRow));
  }
  return *HostTensor::FromVector<float>({rows, kMeshRow}, values);
}

// Gives rows [first, first + rows) of x alone. `w`: the value of w before.
inline void ExpectMesh(Session& session, const MeshShape& shape, int runs, int64_t first, int64_t rows,
                       float w = 1) {
  const uint32_t ranks = shape.ranks();
  const HostTensor x = MeshRows(first, rows);
  std::vector<float> over_a, over_b, over_all, scattered, sums(kMeshRow);
  std::vector<int64_t> numbers;
  for (uint32_t rank = 0; rank < ranks; ++rank) {
    numbers.push_back(100 + 10 * (rank / shape.b) + rank % shape.b);
    for (int64_t i = 0; i < kMeshRow; ++i) {
      float a = 0, b = 0, all = 0;
      for (uint32_t other = 0; other < ranks; ++other) {
        const float value = MeshElement(other, i);
        all += value;
        if (other % shape.b == rank % shape.b) a += value;
        if (other / shape.b == rank / shape.b) b += value;
      }
      over_a.push_back(a), over_b.push_back(b), over_all.push_back(all);
      scattered.push_back(b * static_cast<float>(ranks));
      sums[static_cast<size_t>(i)] = all;
    }
  }
  const auto values = [](const HostTensor& tensor) {
    const auto span = *tensor.Span<float>();
    return std::vector<float>(span.begin(), span.end());
  };
  for (int run = 1; run <= runs; ++run) {
    absl::StatusOr<Outputs> out = session.Run("f", {{"x", x}});
    ASSERT_TRUE(out.ok()) << out.status();
    EXPECT_EQ(values((*out)["over_a"]), over_a) << "run " << run;
    EXPECT_EQ(values((*out)["over_b"]), over_b);
    EXPECT_EQ(values((*out)["over_all"]), over_all);
    EXPECT_EQ(values((*out)["scattered"]), scattered);
    EXPECT_THAT(*(*out)["numbers"].Span<int64_t>(), ::testing::ElementsAreArray(numbers));
    std::vector<float> expected;
    for (const float sum : sums) expected.push_back(w + static_cast<float>(run) * sum);
    EXPECT_EQ(values((*out)["w"]), expected) << "run " << run;
  }
}

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_MESH_PLANS_H_
