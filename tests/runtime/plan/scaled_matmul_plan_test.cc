// Checks of a plan's matmuls of 8-bit floats with scales.
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::HasSubstr;

using Alter = std::function<void(fb::PlanT&, fb::MatmulStepT&)>;

// Returns a plan with a matmul of 48 x 64 by 32 x 64, with scales of rows, altered by `alter`.
absl::StatusOr<Plan> Make(const Alter& alter = [](auto&, auto&) {}) {
  TestPlan plan;
  plan.UseDevices({Device::Gpu(0)});
  plan.table.version = 10;
  TestFunction f(plan, "f");
  fb::MatmulStepT step;
  step.batch = 1, step.m = 48, step.n = 32, step.k = 64, step.transpose_b = true;
  step.dtype = fb::DType::F8E5M2, step.dtype_b = fb::DType::F8E4M3, step.scales = fb::MatmulScales::Rows;
  const uint32_t a = f.Arena(DType::kF8E5M2, {48, 64}), b = f.Arena(DType::kF8E4M3, {32, 64}),
                 of_rows = f.Arena(DType::kF32, {48}), of_columns = f.Arena(DType::kF32, {32});
  f.Matmul(step, {a, b, of_rows, of_columns}, {f.Arena(DType::kBf16, {48, 32})});
  alter(plan.table, *plan.table.functions[0]->steps[0]->body.AsMatmulStep());
  return plan.Make();
}

std::string MessageOf(const Alter& alter) { return std::string(Make(alter).status().message()); }

TEST(ScaledMatmulPlanTest, AGoodPlanLoads) {
  const absl::StatusOr<Plan> plan = Make();
  EXPECT_TRUE(plan.ok()) << plan.status();
}

TEST(ScaledMatmulPlanTest, OldPlansHaveNone) {
  EXPECT_THAT(MessageOf([](auto& plan, auto&) { plan.version = 9; }),
              HasSubstr("plans of version 9 have no matmul with scales of its operands"));
}

TEST(ScaledMatmulPlanTest, ScalesExist) {
  EXPECT_THAT(MessageOf([](auto&, auto& step) { step.scales = fb::MatmulScales{3}; }),
              HasSubstr("scales 3 do not exist"));
}

TEST(ScaledMatmulPlanTest, OperandsAreOf8BitFloats) {
  const std::string message = "matmuls with scales of their operands are of f8e4m3 and f8e5m2";
  EXPECT_THAT(MessageOf([](auto&, auto& step) { step.dtype = fb::DType::F32; }), HasSubstr(message));
  EXPECT_THAT(MessageOf([](auto&, auto& step) { step.dtype_b = fb::DType::I8; }), HasSubstr(message));
}

TEST(ScaledMatmulPlanTest, ThereIsNoEpilogue) {
  for (const auto& alter : std::vector<Alter>{
           [](auto&, auto& step) { step.has_bias = true; }, [](auto&, auto& step) { step.has_addend = true; },
           [](auto&, auto& step) { step.has_scale = true; },
           [](auto&, auto& step) { step.is_gradient = true; },
           [](auto&, auto& step) { step.result_is_i32 = true; },
           [](auto&, auto& step) { step.activation = fb::Activation::Relu; },
           [](auto&, auto& step) { step.math = fb::MathMode::Tf32; }}) {
    EXPECT_THAT(MessageOf(alter), HasSubstr("a matmul with scales of its operands has no epilogue"));
  }
}

TEST(ScaledMatmulPlanTest, CublasTakesTheLayout) {
  EXPECT_THAT(MessageOf([](auto&, auto& step) { step.transpose_b = false; }),
              HasSubstr("it has 8-bit floats, but cuBLASLt takes rows of 8-bit floats along k"));
  EXPECT_THAT(MessageOf([](auto&, auto& step) { step.dtype_b = fb::DType::F8E5M2; }),
              HasSubstr("cuBLASLt takes one operand of f8e5m2 at most"));
  EXPECT_THAT(MessageOf([](auto&, auto& step) { step.batch = 2; }),
              HasSubstr("cuBLASLt does it for a single matmul"));
  EXPECT_THAT(MessageOf([](auto&, auto& step) { step.m = 0; }), HasSubstr("a dimension is 0"));
  EXPECT_THAT(MessageOf([](auto&, auto& step) { step.k = 24; }),
              HasSubstr("cuBLASLt takes rows of a multiple of 16 elements of 8 bits"));
}

TEST(ScaledMatmulPlanTest, BuffersFitTheScales) {
  EXPECT_THAT(MessageOf([](auto&, auto& step) { step.scales = fb::MatmulScales::Tensors; }),
              HasSubstr("the scale of a"));
  EXPECT_THAT(MessageOf([](auto&, auto& step) { step.result_is_f32 = true; }), HasSubstr("the result"));
}

TEST(ScaledMatmulPlanTest, ItIsAStepOfGpus) {
  EXPECT_THAT(MessageOf([](auto& plan, auto&) { plan.devices[0]->kind = fb::DeviceKind::Cpu; }),
              HasSubstr("a matmul with scales of its operands is a step of GPUs"));
}

}  // namespace
}  // namespace sinter
