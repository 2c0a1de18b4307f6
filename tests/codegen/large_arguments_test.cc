#include "sinter/codegen/cpu/large_arguments.h"

#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/codegen/cpu/shared_object.h"
#include "sinter/kernels/cpu/math/vector_math.h"
#include "sinter/tests/codegen/kernel_module_builder.h"

namespace sinter::codegen {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
namespace intrinsic = llvm::Intrinsic;

// Doubles between elements of smaller types: vectors of doubles are wider than the CPU's. In loops of bytes
// the calls are made per element.
TEST(LargeArgumentsTest, AreRightInLoopsOfEveryVectorSize) {
  for (const char* cpu : {"x86-64-v3", "native"}) {
    for (int level : {0, 3}) {
      KernelModule kernels;
      llvm::Type *f64 = kernels.F64(), *f32 = kernels.F32(), *f16 = kernels.F16(),
                 *i8 = llvm::Type::getInt8Ty(kernels.context());
      KernelModule::Body cos = kernels.Calling(intrinsic::cos, f64);
      auto scaled = [&](llvm::IRBuilder<>& b, llvm::Value* x) {
        return cos(b, {b.CreateFMul(x, llvm::ConstantFP::get(f64, 0x1p45))});
      };
      kernels.AddLoop("f64", {f64}, f64, [&](auto& b, auto args) { return scaled(b, args[0]); });
      for (auto [name, type] : {std::pair("f32", f32), std::pair("f16", f16)}) {
        kernels.AddLoop(name, {type}, type, [&](auto& b, auto args) {
          return b.CreateFPTrunc(scaled(b, b.CreateFPExt(args[0], f64)), args[0]->getType());
        });
      }
      kernels.AddLoop("i8", {i8}, i8, [&](auto& b, auto args) {
        llvm::Value* y = scaled(b, b.CreateUIToFP(args[0], f64));
        return b.CreateZExt(b.CreateFCmpOGT(y, llvm::ConstantFP::get(f64, 0)), i8);
      });
      LoadedObject object(
          EmitSharedObject(kernels.Take(), CpuTarget::Parse(cpu).value(), {.opt_level = level}).value());
      ASSERT_TRUE(object.ok()) << object.error();
      constexpr int kCount = 1003;
      std::vector<double> x64(kCount), y64(kCount);
      std::vector<float> x32(kCount), y32(kCount);
      std::vector<uint16_t> x16(kCount), y16(kCount);
      std::vector<uint8_t> x8(kCount), y8(kCount);
      for (int i = 0; i < kCount; ++i) {
        // Values above 32 are far arguments: none, one or all of a vector.
        x8[i] = static_cast<uint8_t>(i < 500 ? i % 31 : i < 700 ? (i % 41 == 0 ? 200 : 3) : i % 256);
        x64[i] = x32[i] = x8[i];
        x16[i] = sn_f16_from_f32(x8[i]);
      }
      object.Function<void(double*, double*, int64_t)>("f64")(y64.data(), x64.data(), kCount);
      object.Function<void(float*, float*, int64_t)>("f32")(y32.data(), x32.data(), kCount);
      object.Function<void(uint16_t*, uint16_t*, int64_t)>("f16")(y16.data(), x16.data(), kCount);
      object.Function<void(uint8_t*, uint8_t*, int64_t)>("i8")(y8.data(), x8.data(), kCount);
      for (int i = 0; i < kCount; ++i) {
        double want = sn_cos_f64(x8[i] * 0x1p45);
        ASSERT_EQ(y64[i], want) << cpu << " " << i;
        ASSERT_EQ(y32[i], static_cast<float>(want)) << cpu << " " << i;
        ASSERT_EQ(y16[i], sn_f16_from_f64(want)) << cpu << " " << i;
        ASSERT_EQ(y8[i], want > 0) << cpu << " " << i;
      }
    }
  }
}

// Independent calls share one test. A call with another call's result needs its own test.
TEST(LargeArgumentsTest, AreRightInLoopsOfSeveralCalls) {
  KernelModule kernels;
  llvm::Type* f64 = kernels.F64();
  auto sin = kernels.Calling("sn_sin_f64", f64), cos = kernels.Calling("sn_cos_f64", f64),
       tan = kernels.Calling("sn_tan_f64", f64);
  kernels.AddLoop("sum", {f64, f64}, f64, [&](auto& b, auto args) {
    return b.CreateFAdd(b.CreateFAdd(sin(b, args[0]), cos(b, args[0])), tan(b, args[1]));
  });
  kernels.AddLoop("chain", {f64, f64}, f64,
                  [&](auto& b, auto args) { return sin(b, b.CreateFMul(cos(b, args[0]), args[1])); });
  LoadedObject object(EmitSharedObject(kernels.Take(), CpuTarget::Host().value()).value());
  ASSERT_TRUE(object.ok()) << object.error();
  constexpr int kCount = 100;
  std::vector<double> x(kCount), y(kCount), sum(kCount), chain(kCount);
  for (int i = 0; i < kCount; ++i) {
    x[i] = i % 11 == 0 ? i * 1e20 : i;
    y[i] = i % 7 == 0 ? i * 1e30 : i;
  }
  using Kernel = void(double*, const double*, const double*, int64_t);
  object.Function<Kernel>("sum")(sum.data(), x.data(), y.data(), kCount);
  object.Function<Kernel>("chain")(chain.data(), x.data(), y.data(), kCount);
  for (int i = 0; i < kCount; ++i) {
    EXPECT_EQ(sum[i], sn_sin_f64(x[i]) + sn_cos_f64(x[i]) + sn_tan_f64(y[i])) << i;
    EXPECT_EQ(chain[i], sn_sin_f64(sn_cos_f64(x[i]) * y[i])) << i;
  }
}

// The IR is vector code, has one test for both calls, and keeps no placeholder of the test.
TEST(LargeArgumentsTest, ALoopTestsAllItsElementsAtOnce) {
  KernelModule kernels;
  llvm::Type* f64 = kernels.F64();
  auto sin = kernels.Calling(intrinsic::sin, f64), cos = kernels.Calling(intrinsic::cos, f64);
  kernels.AddLoop("k", {f64}, f64,
                  [&](auto& b, auto args) { return b.CreateFAdd(sin(b, args), cos(b, args)); });
  std::string ir = EmitOptimizedIr(kernels.Take(), CpuTarget::Parse("x86-64-v3").value()).value();
  EXPECT_THAT(ir, AllOf(HasSubstr("llvm.vector.reduce.or.v4i1"), Not(HasSubstr("unless_far"))));
  size_t sin_call = ir.find("call void @sn_sin_far_f64"), cos_call = ir.find("call void @sn_cos_far_f64");
  ASSERT_NE(sin_call, std::string::npos);
  ASSERT_NE(cos_call, std::string::npos);
  auto [first, second] = std::minmax({sin_call, cos_call});
  EXPECT_THAT(ir.substr(first, second - first), Not(HasSubstr("br ")));
}

}  // namespace
}  // namespace sinter::codegen
