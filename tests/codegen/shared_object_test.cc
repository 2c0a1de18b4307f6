#include "sinter/codegen/cpu/shared_object.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "llvm/Object/ELFObjectFile.h"
#include "sinter/tests/codegen/kernel_module_builder.h"

namespace sinter::codegen {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::UnorderedElementsAre;
namespace intrinsic = llvm::Intrinsic;

CpuTarget Host() { return CpuTarget::Host().value(); }

// Returns the distance in units in the last place of T.
template <typename T>
double UlpError(T got, double want) {
  T rounded = static_cast<T>(want);
  if (std::isnan(rounded) || std::isnan(got)) return std::isnan(rounded) == std::isnan(got) ? 0 : INFINITY;
  if (got == rounded) return 0;
  T next = std::nextafter(std::abs(rounded), std::numeric_limits<T>::infinity());
  return std::abs(static_cast<double>(got) - want) / (static_cast<double>(next) - std::abs(rounded));
}

template <typename T>
std::vector<T> Inputs() {
  std::vector<T> inputs = {0,     -0.0, INFINITY, -INFINITY, NAN, 1, -1, std::numeric_limits<T>::denorm_min(),
                           88.8f, 710};
  // Only some elements of a vector need the slow path. Some of them are infinite as a float.
  for (double far : {1e16, -1e22, 0x1p1000, -1e300, 0x1.fffffffffffffp+1023}) {
    inputs.insert(inputs.end(), {static_cast<T>(far), T{1}, static_cast<T>(-2.5)});
  }
  for (int i = -2000; i < 2000; ++i) inputs.push_back(static_cast<T>(i * 0.0137));
  return inputs;
}

struct NamedFunction {
  const char* name;
  intrinsic::ID intrinsic;  // not_intrinsic: called by its C name.
  double (*reference)(double);
};

const NamedFunction kUnary[] = {{"exp", intrinsic::exp, std::exp},
                                {"exp2", intrinsic::exp2, std::exp2},
                                {"log", intrinsic::log, std::log},
                                {"log2", intrinsic::log2, std::log2},
                                {"log10", intrinsic::log10, std::log10},
                                {"sin", intrinsic::sin, std::sin},
                                {"cos", intrinsic::cos, std::cos},
                                {"tan", intrinsic::tan, std::tan},
                                {"atan", intrinsic::atan, std::atan},
                                {"tanh", intrinsic::tanh, std::tanh},
                                {"sqrt", intrinsic::sqrt, std::sqrt},
                                {"floor", intrinsic::floor, std::floor},
                                {"ceil", intrinsic::ceil, std::ceil},
                                {"rint", intrinsic::rint, std::rint},
                                {"round", intrinsic::round, std::round},
                                {"trunc", intrinsic::trunc, std::trunc},
                                {"fabs", intrinsic::fabs, std::fabs},
                                {"expm1", intrinsic::not_intrinsic, std::expm1},
                                {"log1p", intrinsic::not_intrinsic, std::log1p},
                                {"erf", intrinsic::not_intrinsic, std::erf}};

template <typename T>
void RunUnary(const CpuTarget& target, const SharedObjectOptions& options) {
  constexpr bool kIsFloat = sizeof(T) == 4;
  KernelModule kernels;
  llvm::Type* type = kIsFloat ? kernels.F32() : kernels.F64();
  for (const NamedFunction& f : kUnary) {
    kernels.AddLoop(std::string("c_") + f.name, {type}, type,
                    kernels.Calling(f.name + std::string(kIsFloat ? "f" : ""), type));
    if (f.intrinsic == intrinsic::not_intrinsic) continue;
    kernels.AddLoop(std::string("llvm_") + f.name, {type}, type, kernels.Calling(f.intrinsic, type));
  }
  absl::StatusOr<std::string> bytes = EmitSharedObject(kernels.Take(), target, options);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  LoadedObject object(*bytes);
  ASSERT_TRUE(object.ok()) << object.error();
  std::vector<T> inputs = Inputs<T>();
  std::vector<T> outputs(inputs.size());
  for (const NamedFunction& f : kUnary) {
    for (std::string prefix : {"c_", "llvm_"}) {
      auto* kernel = object.Function<void(T*, const T*, int64_t)>(prefix + f.name);
      if (kernel == nullptr && f.intrinsic == intrinsic::not_intrinsic) continue;
      ASSERT_NE(kernel, nullptr) << prefix << f.name;
      kernel(outputs.data(), inputs.data(), static_cast<int64_t>(inputs.size()));
      for (size_t i = 0; i < inputs.size(); ++i) {
        ASSERT_LE(UlpError<T>(outputs[i], f.reference(inputs[i])), 4.0)
            << prefix << f.name << " of " << inputs[i] << " is " << outputs[i];
      }
    }
  }
}

TEST(SharedObjectTest, UnaryMathAgreesWithLibmInF32) { RunUnary<float>(Host(), {}); }
TEST(SharedObjectTest, UnaryMathAgreesWithLibmInF64) { RunUnary<double>(Host(), {}); }

TEST(SharedObjectTest, TheOldestTargetGivesTheSameResults) {
  absl::StatusOr<CpuTarget> target = CpuTarget::Parse("x86-64-v3");
  ASSERT_TRUE(target.ok()) << target.status();
  RunUnary<float>(*target, {});
  RunUnary<double>(*target, {});
}

TEST(SharedObjectTest, EveryOptimisationLevelGivesTheSameResults) {
  for (int level : {0, 1, 2}) RunUnary<float>(Host(), {.opt_level = level});
}

TEST(SharedObjectTest, BinaryMathAgreesWithLibm) {
  KernelModule kernels;
  llvm::Type* f32 = kernels.F32();
  kernels.AddLoop("pow", {f32, f32}, f32, kernels.Calling(intrinsic::pow, f32));
  kernels.AddLoop("c_pow", {f32, f32}, f32, kernels.Calling("powf", f32));
  kernels.AddLoop("atan2", {f32, f32}, f32, kernels.Calling("atan2f", f32));
  kernels.AddLoop("frem", {f32, f32}, f32, [](auto& b, auto args) { return b.CreateFRem(args[0], args[1]); });
  kernels.AddLoop("fmod", {f32, f32}, f32, kernels.Calling("fmodf", f32));
  kernels.AddLoop("fmax", {f32, f32}, f32, kernels.Calling("fmaxf", f32));
  absl::StatusOr<std::string> bytes = EmitSharedObject(kernels.Take(), Host());
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  LoadedObject object(*bytes);
  ASSERT_TRUE(object.ok()) << object.error();
  std::vector<float> x, y;
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 64; ++j) {
      x.push_back(static_cast<float>((i - 32) * 0.25));
      y.push_back(static_cast<float>((j - 32) * 0.5));
    }
  }
  std::vector<float> outputs(x.size());
  const std::pair<const char*, double (*)(double, double)> cases[] = {
      {"pow", std::pow},   {"c_pow", std::pow}, {"atan2", std::atan2},
      {"frem", std::fmod}, {"fmod", std::fmod}, {"fmax", std::fmax}};
  for (const auto& [name, reference] : cases) {
    object.Function<void(float*, const float*, const float*, int64_t)>(name)(outputs.data(), x.data(),
                                                                             y.data(), x.size());
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_LE(UlpError<float>(outputs[i], reference(x[i], y[i])), 3.0)
          << name << " of " << x[i] << ", " << y[i];
    }
  }
}

TEST(SharedObjectTest, ConvertsToSixteenBitFloatsAndBack) {
  KernelModule kernels;
  auto truncate = [](llvm::Type* to) {
    return [to](llvm::IRBuilder<>& b, llvm::ArrayRef<llvm::Value*> args) {
      return b.CreateFPTrunc(args[0], to);
    };
  };
  auto extend = [](llvm::Type* to) {
    return
        [to](llvm::IRBuilder<>& b, llvm::ArrayRef<llvm::Value*> args) { return b.CreateFPExt(args[0], to); };
  };
  llvm::Type *f32 = kernels.F32(), *f64 = kernels.F64(), *f16 = kernels.F16(), *bf16 = kernels.Bf16();
  kernels.AddLoop("to_bf16", {f32}, bf16, truncate(bf16));
  kernels.AddLoop("from_bf16", {bf16}, f32, extend(f32));
  kernels.AddLoop("f64_to_f16", {f64}, f16, truncate(f16));
  kernels.AddLoop("f32_to_f16", {f32}, f16, truncate(f16));
  kernels.AddLoop("bf16_exp", {bf16}, bf16, kernels.Calling(intrinsic::exp, bf16));
  kernels.AddLoop("bf16_add", {bf16, bf16}, bf16,
                  [](auto& b, auto args) { return b.CreateFAdd(args[0], args[1]); });
  absl::StatusOr<std::string> bytes = EmitSharedObject(kernels.Take(), Host());
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  LoadedObject object(*bytes);
  ASSERT_TRUE(object.ok()) << object.error();
  // Ties to even, a denormal, overflow to infinity.
  std::vector<float> inputs = {1.00390625f, 1.01171875f, 0x1p-130f, 3.4e38f, -2.5f};
  std::vector<uint16_t> bits(inputs.size());
  std::vector<float> back(inputs.size());
  object.Function<void(uint16_t*, const float*, int64_t)>("to_bf16")(bits.data(), inputs.data(),
                                                                     inputs.size());
  EXPECT_THAT(bits, ::testing::ElementsAre(0x3f80, 0x3f82, 0x0008, 0x7f80, 0xc020));
  object.Function<void(float*, const uint16_t*, int64_t)>("from_bf16")(back.data(), bits.data(), bits.size());
  EXPECT_THAT(back, ::testing::ElementsAre(1.0f, 1.015625f, 0x1p-130f, INFINITY, -2.5f));
  // Just above a tie: rounding to f32 first would give the tie, and then the even neighbour.
  std::vector<double> doubles = {1.0 + 0x1p-11 + 0x1p-40, 1.0 + 0x1p-11, 65520.0, 0x1p-24};
  object.Function<void(uint16_t*, const double*, int64_t)>("f64_to_f16")(bits.data(), doubles.data(), 4);
  EXPECT_THAT(std::vector<uint16_t>(bits.begin(), bits.begin() + 4),
              ::testing::ElementsAre(0x3c01, 0x3c00, 0x7c00, 0x0001));
  std::vector<uint16_t> one = {0x3f80};
  object.Function<void(uint16_t*, const uint16_t*, int64_t)>("bf16_exp")(bits.data(), one.data(), 1);
  EXPECT_EQ(bits[0], 0x402e);  // 2.71875
  object.Function<void(uint16_t*, const uint16_t*, const uint16_t*, int64_t)>("bf16_add")(
      bits.data(), one.data(), one.data(), 1);
  EXPECT_EQ(bits[0], 0x4000);
}

std::string ExpAssembly(const std::string& cpu) {
  KernelModule kernels;
  kernels.AddLoop("k", {kernels.F32()}, kernels.F32(), kernels.Calling(intrinsic::exp, kernels.F32()));
  return EmitAssembly(kernels.Take(), CpuTarget::Parse(cpu).value()).value();
}

TEST(SharedObjectTest, LoopsOverMathUseWideVectors) {
  EXPECT_THAT(ExpAssembly("x86-64-v4"), AllOf(HasSubstr("%zmm"), Not(HasSubstr("call"))));
  EXPECT_THAT(ExpAssembly("icelake-server"), HasSubstr("%zmm"));
  EXPECT_THAT(ExpAssembly("x86-64-v3"),
              AllOf(HasSubstr("%ymm"), Not(HasSubstr("%zmm")), Not(HasSubstr("call"))));
}

TEST(SharedObjectTest, EveryMathFunctionVectorises) {
  for (const char* type_name : {"_f32", "_f64"}) {
    for (const char* name :
         {"exp", "exp2", "expm1", "log",   "log2", "log10", "log1p", "tanh",  "sigmoid", "erf", "sin",
          "cos", "tan",  "atan",  "atan2", "pow",  "sqrt",  "rsqrt", "floor", "ceil",    "rint"}) {
      for (const char* cpu : {"x86-64-v3", "x86-64-v4"}) {
        KernelModule kernels;
        bool is_f32 = type_name == std::string("_f32");
        llvm::Type* type = is_f32 ? kernels.F32() : kernels.F64();
        bool is_binary = name == std::string("atan2") || name == std::string("pow");
        std::vector<llvm::Type*> args(is_binary ? 2 : 1, type);
        kernels.AddLoop("k", args, type, kernels.Calling(std::string("sn_") + name + type_name, type));
        std::string ir = EmitOptimizedIr(kernels.Take(), CpuTarget::Parse(cpu).value()).value();
        EXPECT_THAT(ir, HasSubstr(is_f32 ? " x float>" : " x double>"))
            << name << type_name << " for " << cpu;
        EXPECT_THAT(ir, Not(ContainsRegex("call (float|double) @sn_"))) << name;
      }
    }
  }
}

TEST(SharedObjectTest, PowersThatAreProductsAreNotComputedAsPowers) {
  for (auto [exponent, instruction] : {std::pair(2.0, "fmul"), std::pair(-1.0, "fdiv")}) {
    KernelModule kernels;
    llvm::Type* f32 = kernels.F32();
    kernels.AddLoop(
        "k", {f32}, f32, [&](llvm::IRBuilder<>& b, llvm::ArrayRef<llvm::Value*> args) -> llvm::Value* {
          return b.CreateIntrinsic(intrinsic::pow, {f32}, {args[0], llvm::ConstantFP::get(f32, exponent)});
        });
    std::string ir = EmitOptimizedIr(kernels.Take(), Host()).value();
    EXPECT_THAT(ir, AllOf(HasSubstr(instruction), Not(HasSubstr("double"))));
  }
}

TEST(SharedObjectTest, RandomNumbersVectorise) {
  KernelModule kernels;
  llvm::Type *i32 = llvm::Type::getInt32Ty(kernels.context()),
             *i64 = llvm::Type::getInt64Ty(kernels.context());
  kernels.AddLoop("k", {i64}, kernels.F32(), [&](llvm::IRBuilder<>& b, llvm::ArrayRef<llvm::Value*> args) {
    auto philox = kernels.module().getOrInsertFunction(
        "sn_philox", llvm::FunctionType::get(i32, {i64, i64, i32, i64, i32}, false));
    llvm::Value* word =
        b.CreateCall(philox, {b.getInt64(7), b.getInt64(1), b.getInt32(3), args[0], b.getInt32(0)});
    return b.CreateCall(kernels.module().getOrInsertFunction(
                            "sn_uniform_f32", llvm::FunctionType::get(kernels.F32(), {i32}, false)),
                        {word});
  });
  std::string assembly = EmitAssembly(kernels.Take(), CpuTarget::Parse("x86-64-v3").value()).value();
  EXPECT_THAT(assembly, AllOf(HasSubstr("vpmuludq"), HasSubstr("%ymm"), Not(HasSubstr("call"))));
}

std::unique_ptr<llvm::Module> ManyKernels(KernelModule& kernels, int count) {
  for (int i = 0; i < count; ++i) {
    const NamedFunction& f = kUnary[i % std::size(kUnary)];
    kernels.AddLoop("kernel" + std::to_string(i), {kernels.F32(), kernels.F32()}, kernels.F32(),
                    [&](llvm::IRBuilder<>& b, llvm::ArrayRef<llvm::Value*> args) {
                      llvm::Value* sum = b.CreateFAdd(args[0], args[1]);
                      return kernels.Calling(f.name + std::string("f"), kernels.F32())(b, {sum});
                    });
  }
  return kernels.Take();
}

TEST(SharedObjectTest, TheSameModuleGivesTheSameBytesWithAnyNumberOfThreads) {
  std::vector<std::string> emitted;
  for (int threads : {1, 2, 5}) {
    KernelModule kernels;
    emitted.push_back(EmitSharedObject(ManyKernels(kernels, 20), Host(), {.threads = threads}).value());
  }
  EXPECT_EQ(emitted[0], emitted[1]);
  EXPECT_EQ(emitted[0], emitted[2]);
  EXPECT_THAT(emitted[0], Not(HasSubstr("/proc/self")));
}

TEST(SharedObjectTest, MayBeCalledFromSeveralThreads) {
  std::vector<std::string> emitted(4);
  std::vector<std::thread> threads;
  for (std::string& bytes : emitted) {
    threads.emplace_back([&bytes] {
      KernelModule kernels;
      bytes = EmitSharedObject(ManyKernels(kernels, 10), Host()).value();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(emitted, ::testing::Each(emitted[0]));
}

struct Symbols {
  std::vector<std::string> defined;
  std::vector<std::string> undefined;
  bool needs_library = false;
};

Symbols DynamicSymbols(const std::string& bytes) {
  Symbols result;
  auto object = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(bytes, "object"));
  auto* elf = llvm::cast<llvm::object::ELF64LEObjectFile>(object->get());
  for (llvm::object::ELFSymbolRef symbol : elf->getDynamicSymbolIterators()) {
    bool is_undefined = (symbol.getFlags().get() & llvm::object::SymbolRef::SF_Undefined) != 0;
    (is_undefined ? result.undefined : result.defined).push_back(symbol.getName()->str());
  }
  auto entries = elf->getELFFile().dynamicEntries();
  for (const auto& entry : *entries) result.needs_library |= entry.d_tag == llvm::ELF::DT_NEEDED;
  return result;
}

// Adds loops that LLVM turns into memcpy and memset.
void AddCopyAndFill(KernelModule& kernels) {
  kernels.AddLoop("copy", {kernels.F32()}, kernels.F32(), [](auto&, auto args) { return args[0]; });
  kernels.AddLoop("fill", {}, kernels.F32(),
                  [&](auto&, auto) { return llvm::ConstantFP::get(kernels.F32(), 0.0); });
}

TEST(SharedObjectTest, ExportsOnlyTheKernelsAndNeedsNothing) {
  KernelModule kernels;
  AddCopyAndFill(kernels);
  kernels.AddLoop("bf16_add", {kernels.Bf16()}, kernels.Bf16(),
                  [](auto& b, auto args) { return b.CreateFAdd(args[0], args[0]); });
  kernels.AddLoop("rem", {kernels.F32(), kernels.F32()}, kernels.F32(),
                  kernels.Calling("fmodf", kernels.F32()));
  std::string bytes = EmitSharedObject(kernels.Take(), Host()).value();
  Symbols symbols = DynamicSymbols(bytes);
  EXPECT_THAT(symbols.defined, UnorderedElementsAre("copy", "fill", "bf16_add", "rem"));
  EXPECT_THAT(symbols.undefined, IsEmpty());
  EXPECT_FALSE(symbols.needs_library);
}

TEST(SharedObjectTest, BlockCopiesAndFillsOfEverySizeAreRight) {
  KernelModule kernels;
  AddCopyAndFill(kernels);
  KernelModule again;
  AddCopyAndFill(again);
  EXPECT_THAT(EmitAssembly(again.Take(), Host()).value(), AllOf(HasSubstr("memcpy"), HasSubstr("memset")));
  LoadedObject object(EmitSharedObject(kernels.Take(), Host()).value());
  ASSERT_TRUE(object.ok()) << object.error();
  for (int64_t n : {1, 3, 8, 17, 63, 511, 512, 5000}) {
    std::vector<float> input(n), output(n + 1, -1.0f);
    for (int64_t i = 0; i < n; ++i) input[i] = static_cast<float>(i);
    object.Function<void(float*, const float*, int64_t)>("copy")(output.data(), input.data(), n);
    EXPECT_TRUE(std::equal(input.begin(), input.end(), output.begin())) << n;
    EXPECT_EQ(output[n], -1.0f) << n;
    object.Function<void(float*, int64_t)>("fill")(output.data(), n);
    EXPECT_EQ(std::count(output.begin(), output.end(), 0.0f), n);
    EXPECT_EQ(output[n], -1.0f) << n;
  }
}

TEST(SharedObjectTest, AFunctionThatNobodyProvidesIsNamed) {
  for (const char* name : {"cbrtf", "my_helper"}) {
    KernelModule kernels;
    kernels.AddLoop("k", {kernels.F32()}, kernels.F32(), kernels.Calling(name, kernels.F32()));
    absl::Status status = EmitSharedObject(kernels.Take(), Host()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(
        std::string(status.message()),
        AllOf(HasSubstr(std::string("calls \"") + name + "\", which nothing provides"), HasSubstr("log1p")));
  }
  KernelModule kernels;
  kernels.AddLoop("k", {kernels.F32()}, kernels.F32(), kernels.Calling(intrinsic::sinh, kernels.F32()));
  EXPECT_THAT(std::string(EmitSharedObject(kernels.Take(), Host()).status().message()),
              HasSubstr("\"llvm.sinh.f32\""));
}

TEST(SharedObjectTest, AMathFunctionDeclaredWithOtherTypesIsAnError) {
  KernelModule kernels;
  kernels.AddLoop("k", {kernels.F64()}, kernels.F64(), kernels.Calling("expf", kernels.F64()));
  absl::Status status = EmitSharedObject(kernels.Take(), Host()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("declares \"expf\" with other types than C's"));
}

TEST(SharedObjectTest, AMalformedModuleIsAnError) {
  KernelModule kernels;
  auto* type = llvm::FunctionType::get(kernels.F32(), false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, "k", kernels.module());
  llvm::BasicBlock::Create(kernels.context(), "no_terminator", function);
  absl::Status status = EmitSharedObject(kernels.Take(), Host()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("malformed LLVM module"));
}

TEST(SharedObjectTest, AnOptimisationLevelThatDoesNotExistIsAnError) {
  KernelModule kernels;
  AddCopyAndFill(kernels);
  absl::Status status = EmitSharedObject(kernels.Take(), Host(), {.opt_level = 7}).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("optimisation level 7 is not one of 0, 1, 2, 3"));
}

}  // namespace
}  // namespace sinter::codegen
