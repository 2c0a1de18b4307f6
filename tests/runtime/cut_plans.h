// Plans over a mesh whose variables are cut, with the same values on every mesh.
//
//   TestPlan plan = CutPlan({2, 2}, Device::Cpu());
//   for (const std::string& name : CutPlanVariables()) ...
#ifndef SINTER_TESTS_RUNTIME_CUT_PLANS_H_
#define SINTER_TESTS_RUNTIME_CUT_PLANS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sinter/tests/runtime/device_plans.h"
#include "sinter/tests/runtime/mesh_plans.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {

// An extent of a view, and the first iteration of a rank's part of it. No strides: not cut.
struct CutExtent {
  int64_t size;
  int64_t part;
  int64_t first = 0;
  std::vector<int64_t> strides = {};
};

inline std::unique_ptr<fb::VariableBoxT> MakeBox(const std::vector<int64_t>& shape,
                                                 const std::vector<CutExtent>& extents) {
  auto box = std::make_unique<fb::VariableBoxT>();
  box->shape = shape;
  for (const CutExtent& extent : extents) {
    auto made = std::make_unique<fb::BoxExtentT>();
    made->size = extent.size;
    made->part = extent.part;
    made->first = extent.first;
    made->rank_strides = extent.strides;
    box->extents.push_back(std::move(made));
  }
  return box;
}

// Adds a variable of this whole shape; `part` is the shape of a rank's part.
inline uint32_t AddCutVariable(TestPlan& plan, const std::string& name, DType dtype,
                               const std::vector<int64_t>& shape, const std::vector<int64_t>& part,
                               const std::vector<CutExtent>& extents, fb::InitializerKind kind, double a = 0,
                               double b = 1) {
  const uint32_t index = plan.AddVariable(name, dtype, part, a);
  fb::VariableT& variable = *plan.table.variables[index];
  variable.initializer->kind = kind;
  variable.initializer->b = b;
  variable.initializer->seed = 7 + index;
  variable.box = MakeBox(shape, extents);
  return index;
}

// A mesh `a` x `b`; both divide 12. Rank (i, j) has:
//   rows     f32[12,10]    the (i b + j)-th of a b blocks of rows; with a narrow copy
//   columns  bf16[6,12]    the j-th of b blocks of columns, equal for all i
//   heads    f32[8,144]    heads j of three tensors of 12 heads of 4 elements
//   both     f64[12,24]    block of rows i, backwards, of block of columns j
//   orthogonal f32[12,6]   rows as `columns`; flags i1[24], half i64[12]: constants
//   whole    f32[5], steps i64[]
//   sum      f32[6]        a term for each i, equal for all j
//   sums     f32[4,12]     a term for each i, of the j-th of b blocks of columns
// The function "double" doubles `rows`, and "narrow" returns all ranks' narrow rows. "collect" adds row i of
// t, f32[a,6], to rank (i, j)'s term of `sum`, and row i b + j of u, f32[a b,48/b], to that of `sums`.
inline TestPlan CutPlan(const MeshShape& mesh, Device device) {
  using Kind = fb::InitializerKind;
  const int64_t a = mesh.a, b = mesh.b, n = a * b;
  TestPlan plan;
  plan.UseDevices({device});
  plan.UseMesh({{"a", mesh.a}, {"b", mesh.b}});
  const std::vector<CutExtent> rows = {{12, 12 / n, 0, {12 / n * b, 12 / n}}, {10, 10}};
  AddCutVariable(plan, "rows", DType::kF32, {12, 10}, {12 / n, 10}, rows, Kind::Normal);
  AddCutVariable(plan, "rows#bf16", DType::kBf16, {12, 10}, {12 / n, 10}, rows, Kind::Normal);
  plan.table.variables[1]->replica_of = 1;
  AddCutVariable(plan, "columns", DType::kBf16, {6, 12}, {6, 12 / b}, {{6, 6}, {12, 12 / b, 0, {0, 12 / b}}},
                 Kind::Uniform);
  AddCutVariable(plan, "heads", DType::kF32, {8, 144}, {8, 144 / b},
                 {{8, 8}, {3, 3}, {12, 12 / b, 0, {0, 12 / b}}, {4, 4}}, Kind::Normal);
  AddCutVariable(plan, "both", DType::kF64, {12, 24}, {12 / a, 24 / b},
                 {{12, 12 / a, 12 - 12 / a, {-12 / a, 0}}, {24, 24 / b, 0, {0, 24 / b}}}, Kind::Uniform);
  AddCutVariable(plan, "orthogonal", DType::kF32, {12, 6}, {12 / b, 6},
                 {{12, 12 / b, 0, {0, 12 / b}}, {6, 6}}, Kind::Orthogonal, 1);
  AddCutVariable(plan, "flags", DType::kI1, {24}, {24 / n}, {{24, 24 / n, 0, {24 / n * b, 24 / n}}},
                 Kind::Constant, 1);
  AddCutVariable(plan, "half", DType::kI64, {12}, {12 / a}, {{12, 12 / a, 0, {12 / a, 0}}}, Kind::Constant,
                 3);
  plan.AddVariable("whole", DType::kF32, {5}, 2);
  plan.AddVariable("steps", DType::kI64, {}, 4);
  const uint32_t sum = plan.AddVariable("sum", DType::kF32, {6});
  const uint32_t sums = AddCutVariable(plan, "sums", DType::kF32, {4, 12}, {4, 12 / b},
                                       {{4, 4}, {12, 12 / b, 0, {0, 12 / b}}}, Kind::Constant);
  if (a > 1) plan.table.variables[sum]->sum_axes = plan.table.variables[sums]->sum_axes = {0};
  TestFunction f(plan, "double");
  const uint32_t own = f.Variable(0);
  const uint32_t flat = f.Buffer(fb::Space::Variable, 0, 0, DType::kF32, {120 / n});
  AddSum(f, plan, flat, flat, flat);
  f.Output("own", own);
  TestFunction g(plan, "narrow");
  const uint32_t all = g.Arena(DType::kBf16, {12, 10});
  g.ExchangeOver({0, 1}, StepOfKind(fb::CollectiveKind::AllGather), {g.Variable(1)}, {all});
  g.Output("all", all);
  TestFunction h(plan, "collect");
  const uint32_t t = h.Input("t", DType::kF32, {a, 6}), u = h.Input("u", DType::kF32, {n, 48 / b});
  const uint32_t own_sums = h.Buffer(fb::Space::Variable, sums, 0, DType::kF32, {48 / b});
  AddSum(h, plan, h.Variable(sum), h.RowsOf(t, 0, {6}, {24, 0}), h.Variable(sum));
  AddSum(h, plan, own_sums, h.RowsOf(u, 0, {48 / b}, {4 * 48, 4 * 48 / b}), own_sums);
  return plan;
}

inline std::vector<std::string> CutPlanVariables() {
  return {"rows", "columns", "heads", "both", "orthogonal", "flags", "half", "whole", "steps", "sum", "sums"};
}

inline std::string BytesOfTensor(const HostTensor& tensor) {
  return {static_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.num_bytes())};
}

// The bytes of all variables of the plan, which must be readable.
inline std::vector<std::string> BytesOfVariables(const Session& session) {
  std::vector<std::string> bytes;
  for (const std::string& name : CutPlanVariables()) {
    const absl::StatusOr<HostTensor> value = session.ReadVariable(name);
    EXPECT_TRUE(value.ok()) << name << ": " << value.status();
    bytes.push_back(value.ok() ? BytesOfTensor(*value) : "");
  }
  return bytes;
}

// Gives every variable values that tell its elements apart, but for the flags.
inline void WriteCountedValues(Session& session, int first) {
  for (const std::string& name : CutPlanVariables()) {
    HostTensor value = *session.ReadVariable(name);
    auto* const bytes = static_cast<unsigned char*>(value.mutable_data());
    for (int64_t i = 0; i < value.num_bytes(); ++i) {
      bytes[i] =
          static_cast<unsigned char>(name == "flags" ? (i + first) % 2 : (i * 7 + first + i / 251) % 113);
    }
    ASSERT_TRUE(session.WriteVariable(name, value).ok()) << name;
  }
}

}  // namespace sinter

#endif  // SINTER_TESTS_RUNTIME_CUT_PLANS_H_
