// The limits of libraries that the compiler knows (ir/target/cuda_libraries.h) are those that plans are
// verified by.
#include "sinter/runtime/plan/gpu_limits.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "sinter/codegen/steps/lowering.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/ir/target/cuda_libraries.h"
#include "sinter/ir/target/gpu_models.h"

namespace sinter::codegen {
namespace {

using ir::Activation;

class GpuLimitsTest : public ::testing::Test {
 protected:
  GpuLimitsTest() {
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    context_ = std::make_unique<mlir::MLIRContext>(registry);
    context_->loadAllAvailableDialects();
    mlir::OpBuilder b(context_.get());
    types_ = {b.getF64Type(), b.getF32Type(), b.getBF16Type(), b.getF16Type(),
              b.getI64Type(), b.getI32Type(), b.getI8Type(),   b.getIntegerType(8, /*isSigned=*/false),
              b.getI1Type()};
  }

  // Calls `check` for every activation.
  template <typename Check>
  void ForActivations(Check check) {
    for (uint32_t value = 0; ir::symbolizeActivation(value); ++value) {
      check(*ir::symbolizeActivation(value), static_cast<fb::Activation>(value));
    }
  }

  std::unique_ptr<mlir::MLIRContext> context_;
  std::vector<mlir::Type> types_;
};

TEST_F(GpuLimitsTest, ActivationsHaveTheSameNumbersInBoth) {
  int count = 0;
  ForActivations([&](Activation, fb::Activation) { ++count; });
  EXPECT_EQ(count, static_cast<int>(fb::Activation::MAX) + 1);
}

// New plans have no relu in a library, which older plans may have.
TEST_F(GpuLimitsTest, EpiloguesOfMatmuls) {
  int computed = 0;
  ForActivations([&](Activation activation, fb::Activation of_plan) {
    for (mlir::Type type : types_) {
      for (const bool has_bias : {false, true}) {
        const fb::DType dtype = DTypeOf(type);
        const bool allowed = CublasTypeSupported(dtype) && of_plan != fb::Activation::Relu &&
                             CublasEpilogueSupported(of_plan, has_bias, dtype);
        EXPECT_EQ(ir::cuda::AgainstCublas(type, activation, has_bias).empty(), allowed)
            << ir::stringifyActivation(activation).str() << fb::EnumNameDType(dtype) << has_bias;
        computed += allowed;
      }
    }
  });
  EXPECT_EQ(computed, 13);  // Two activations with and without bias in three types, and f64 plain.
}

TEST_F(GpuLimitsTest, ActivationsOfConvolutions) {
  ForActivations([&](Activation activation, fb::Activation of_plan) {
    EXPECT_EQ(ir::cuda::AgainstCudnnActivation(activation).empty(),
              CudnnEpilogueSupported(of_plan) && of_plan != fb::Activation::Relu)
        << ir::stringifyActivation(activation).str();
  });
}

TEST_F(GpuLimitsTest, GradientsOfActivations) {
  int computed = 0;
  ForActivations([&](Activation activation, fb::Activation of_plan) {
    for (mlir::Type type : types_) {
      for (const bool widens : {false, true}) {
        for (const ir::MatmulSizes s : {ir::MatmulSizes{1, 8, 8, 8},
                                        {1, 8, 12, 8},
                                        {1, 8, 7, 8},
                                        {1, 3, 16, 5},
                                        {2, 8, 8, 8},
                                        {1, 0, 8, 8},
                                        {1, 8, 0, 8},
                                        {1, 8, 8, 0},
                                        {0, 8, 8, 8}}) {
          const mlir::Type result = widens ? mlir::Type(mlir::Float32Type::get(context_.get())) : type;
          fb::MatmulStepT table;
          table.batch = s.batch, table.m = s.m, table.n = s.n, table.k = s.k;
          table.dtype = DTypeOf(type);
          table.result_is_f32 = result != type;
          table.activation = of_plan;
          const std::string_view reason = ir::cuda::AgainstCublasGradient(s, type, result, activation);
          EXPECT_EQ(reason, CublasGradientProblem(table))
              << s.batch << " " << s.m << " " << s.n << " " << s.k;
          computed += reason.empty();
        }
      }
    }
  });
  EXPECT_EQ(computed, 4);  // Two types of 16 bits, two sizes.
}

// cuda_libraries.h reads an op, which has legal types alone.
TEST_F(GpuLimitsTest, MatmulsOfIntegers) {
  int computed = 0;
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const bool widens : {false, true}) {
        for (const ir::MatmulSizes s : {ir::MatmulSizes{1, 3, 8, 12},
                                        {2, 4, 8, 16},
                                        {1, 4, 6, 8},
                                        {1, 4, 8, 6},
                                        {1, 0, 8, 8},
                                        {1, 8, 8, 0}}) {
          mlir::OpBuilder builder(context_.get());
          mlir::Location loc = builder.getUnknownLoc();
          mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
          builder.setInsertionPointToStart(module->getBody());
          const auto value = [&](int64_t rows, int64_t columns) {
            auto type = mlir::RankedTensorType::get({s.batch, rows, columns}, builder.getI8Type());
            return builder.create<ir::IotaOp>(loc, type, 0, mlir::Value());
          };
          auto a = value(transpose_a ? s.k : s.m, transpose_a ? s.m : s.k);
          auto b = value(transpose_b ? s.n : s.k, transpose_b ? s.k : s.n);
          const mlir::Type element = widens ? mlir::Type(builder.getI32Type()) : builder.getI8Type();
          auto op = builder.create<ir::MatmulOp>(
              loc, mlir::RankedTensorType::get({s.batch, s.m, s.n}, element), a, b, mlir::Value(),
              transpose_a, transpose_b, Activation::none, ir::MathMode::ieee);
          fb::MatmulStepT table;
          table.batch = s.batch, table.m = s.m, table.n = s.n, table.k = s.k, table.dtype = fb::DType::I8;
          table.transpose_a = transpose_a, table.transpose_b = transpose_b, table.result_is_i32 = widens;
          const std::string_view reason = ir::cuda::AgainstCublasIntegers(op);
          EXPECT_EQ(reason, CublasIntegersProblem(table)) << s.m << " " << s.n << " " << s.k;
          computed += reason.empty();
        }
      }
    }
  }
  EXPECT_EQ(computed, 2);  // One layout of the two larger sizes.
}

TEST_F(GpuLimitsTest, MatmulsOf8BitFloats) {
  int computed = 0;
  mlir::OpBuilder builder(context_.get());
  const mlir::Location loc = builder.getUnknownLoc();
  const mlir::Type e4m3 = mlir::Float8E4M3FNType::get(context_.get());
  const mlir::Type e5m2 = mlir::Float8E5M2Type::get(context_.get());
  for (const mlir::Type of_a : {e4m3, e5m2}) {
    for (const mlir::Type of_b : {e4m3, e5m2}) {
      for (const ir::MatmulSizes s :
           {ir::MatmulSizes{1, 3, 16, 32}, {1, 16, 8, 32}, {1, 16, 16, 24}, {1, 0, 16, 16}, {1, 16, 16, 0}}) {
        mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(loc);
        builder.setInsertionPointToStart(module->getBody());
        const auto value = [&](llvm::ArrayRef<int64_t> shape, mlir::Type element) -> mlir::Value {
          auto type = mlir::RankedTensorType::get(shape, element);
          return builder
              .create<mlir::UnrealizedConversionCastOp>(loc, mlir::TypeRange{type}, mlir::ValueRange{})
              .getResult(0);
        };
        const mlir::Value scale = value({}, builder.getF32Type());
        auto op = builder.create<ir::ScaledMatmulOp>(
            loc, mlir::RankedTensorType::get({s.m, s.n}, builder.getBF16Type()), value({s.m, s.k}, of_a),
            value({s.n, s.k}, of_b), scale, scale, /*fast=*/false);
        fb::MatmulStepT table;
        table.batch = 1, table.m = s.m, table.n = s.n, table.k = s.k, table.transpose_b = true;
        table.dtype = DTypeOf(of_a), table.dtype_b = DTypeOf(of_b);
        const std::string_view reason = ir::cuda::AgainstCublasFloat8(op);
        EXPECT_EQ(reason, CublasFloat8Problem(table)) << s.m << " " << s.n << " " << s.k;
        computed += reason.empty();
      }
    }
  }
  EXPECT_EQ(computed, 3);  // One of the sizes, and not two operands of f8e5m2.
}

TEST_F(GpuLimitsTest, WholeAttention) {
  int computed = 0;
  for (mlir::Type type : types_) {
    for (const int64_t width : {0, 4, 8, 12, 64, 120, 128, 136, 256, 264}) {
      for (const int64_t key_heads : {1, 4, 8}) {
        for (const int64_t queries : {0, 1, 2, 7}) {
          for (const int64_t keys : {1, 2, 64}) {
            for (const double scale : {-1.0, 0.0, 0.125, std::numeric_limits<double>::quiet_NaN()}) {
              const ir::AttentionShape shape = {2, queries, keys, 4, key_heads, width, false, type};
              const bool allowed =
                  CudnnAttentionSupported(DTypeOf(type), width, std::min(queries, keys), scale);
              EXPECT_EQ(ir::cuda::AgainstCudnnAttention(shape, scale).empty(), allowed)
                  << width << " " << key_heads << " " << queries << " " << keys << " " << scale;
              computed += allowed;
            }
          }
        }
      }
    }
  }
  EXPECT_EQ(computed, 2 * 7 * 3 * 2 * 2);  // Types, widths, heads of k, queries, keys.
}

TEST(GpuModelsTest, PlansAllowTheLaunchesOfEveryModel) {
  for (const ir::GpuModel& gpu : ir::kGpuModels) {
    EXPECT_EQ(gpu.block_threads, kMaxGpuBlock) << gpu.architecture;
    EXPECT_EQ(gpu.shared_bytes, kGpuSharedBytesWithoutAsking) << gpu.architecture;
  }
}

}  // namespace
}  // namespace sinter::codegen
