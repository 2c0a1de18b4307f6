// Each NVRTC call fails once: the result is a complete cubin or an error, and the next attempt succeeds.
#include "sinter/codegen/cuda/nvrtc.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>

#include "sinter/tests/runtime/fault_points.h"

extern "C" void* __real_dlsym(void* handle, const char* name);

namespace sinter::codegen {
namespace {

using ::testing::HasSubstr;
using Program = struct Opaque*;

int programs = 0;

// An NVRTC function that may report that memory is exhausted.
template <size_t kNumber, typename... Arguments>
struct Faulty {
  static inline const char* name = nullptr;
  static inline int (*next)(Arguments...) = nullptr;

  static int Call(Arguments... arguments) {
    constexpr int kOutOfMemory = 1;
    const bool fails = FaultPoints::Fails(name);
    const bool makes = std::string_view(name) == "nvrtcCreateProgram";
    const bool ends = std::string_view(name) == "nvrtcDestroyProgram";
    // A function that ends a program does so, and then reports a failure.
    if (fails && !ends) return kOutOfMemory;
    const int result = next(arguments...);
    programs += makes && result == 0 ? 1 : ends ? -1 : 0;
    return fails ? kOutOfMemory : result;
  }
};

template <typename F>
void* Wrap(const char* name, void* next) {
  F::name = name;
  F::next = reinterpret_cast<decltype(F::next)>(next);
  return reinterpret_cast<void*>(&F::Call);
}

using Wrapper = void* (*)(const char* name, void* next);
const std::map<std::string_view, Wrapper>& Wrappers() {
  using Texts = const char* const*;
  static const auto& wrappers = *new std::map<std::string_view, Wrapper>{
      {"nvrtcVersion", &Wrap<Faulty<0, int*, int*>>},
      {"nvrtcGetNumSupportedArchs", &Wrap<Faulty<1, int*>>},
      {"nvrtcGetSupportedArchs", &Wrap<Faulty<2, int*>>},
      {"nvrtcCreateProgram", &Wrap<Faulty<3, Program*, const char*, const char*, int, Texts, Texts>>},
      {"nvrtcDestroyProgram", &Wrap<Faulty<4, Program*>>},
      {"nvrtcCompileProgram", &Wrap<Faulty<5, Program, int, Texts>>},
      {"nvrtcGetProgramLogSize", &Wrap<Faulty<6, Program, size_t*>>},
      {"nvrtcGetProgramLog", &Wrap<Faulty<7, Program, char*>>},
      {"nvrtcGetCUBINSize", &Wrap<Faulty<8, Program, size_t*>>},
      {"nvrtcGetCUBIN", &Wrap<Faulty<9, Program, char*>>}};
  return wrappers;
}

absl::StatusOr<std::string> Compile(const std::string& text) {
  absl::StatusOr<const Nvrtc*> nvrtc = Nvrtc::Get();
  if (!nvrtc.ok()) return nvrtc.status();
  return (*nvrtc)->Compile(text, "k.cu", "sm_90");
}

TEST(NvrtcTest, EveryCallFailsOnce) {
  constexpr char kText[] = "extern \"C\" __global__ void k(float* x) { *x += 1; }";
  std::string wanted;
  // The first few calls open the library, unless an earlier test has done so.
  for (int call = 1;; ++call) {
    FaultPoints::Arm(call);
    const absl::StatusOr<std::string> cubin = Compile(kText);
    const bool has_failed = FaultPoints::Disarm();
    if (absl::IsFailedPrecondition(cubin.status())) GTEST_SKIP() << cubin.status();
    SCOPED_TRACE("call " + std::to_string(call) + " fails, " + FaultPoints::name());
    EXPECT_EQ(programs, 0);
    const absl::StatusOr<std::string> again = Compile(kText);
    ASSERT_TRUE(again.ok()) << again.status();
    if (wanted.empty()) wanted = *again;
    EXPECT_TRUE(*again == wanted);
    if (cubin.ok()) {
      EXPECT_TRUE(*cubin == wanted);
    } else {
      EXPECT_TRUE(absl::IsResourceExhausted(cubin.status())) << cubin.status();
      EXPECT_THAT(std::string(cubin.status().message()), HasSubstr("NVRTC could not "));
    }
    if (!has_failed || HasFailure()) {
      EXPECT_GE(call, 6);
      return;
    }
  }
}

// A text of the smaller language gives the same bytes. The names that it lacks are an error there alone.
TEST(NvrtcTest, TheMinimalLanguage) {
  const auto nvrtc = Nvrtc::Get();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status();
  auto compile = [&](const std::string& text, CudaLanguage language) {
    return (*nvrtc)->Compile(text, "k.cu", "sm_90", language);
  };
  const std::string plain = "extern \"C\" __global__ void k(float* x) { *x = __expf(*x) + threadIdx.x; }\n";
  const auto whole = compile(plain, CudaLanguage::kWhole), minimal = compile(plain, CudaLanguage::kMinimal);
  ASSERT_TRUE(whole.ok()) << whole.status();
  ASSERT_TRUE(minimal.ok()) << minimal.status();
  EXPECT_TRUE(*whole == *minimal);
  const std::vector<std::string> options = (*nvrtc)->Options("sm_90", CudaLanguage::kMinimal);
  if (options.back() != "--minimal") GTEST_SKIP() << "NVRTC " << (*nvrtc)->version() << " is older than 12.4";
  const std::string texture =
      "extern \"C\" __global__ void k(cudaTextureObject_t t, float* x) { *x = tex1Dfetch<float>(t, 0); }\n";
  EXPECT_TRUE(compile(texture, CudaLanguage::kWhole).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(compile(texture, CudaLanguage::kMinimal).status()));
}

// The text is invalid. The error says so even if the log cannot be read.
TEST(NvrtcTest, ALogThatCannotBeRead) {
  if (const auto nvrtc = Nvrtc::Get(); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status();
  for (const char* const call : {"nvrtcGetProgramLogSize", "nvrtcGetProgramLog"}) {
    FaultPoints::Arm(1, call);
    const absl::Status status = Compile("no program").status();
    EXPECT_TRUE(FaultPoints::Disarm());
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr("its log"));
    EXPECT_EQ(programs, 0);
  }
}

}  // namespace
}  // namespace sinter::codegen

extern "C" void* __wrap_dlsym(void* handle, const char* name) {
  void* const found = __real_dlsym(handle, name);
  const auto& wrappers = sinter::codegen::Wrappers();
  const auto wrapper = wrappers.find(name);
  return found == nullptr || wrapper == wrappers.end() ? found
                                                       : wrapper->second(wrapper->first.data(), found);
}
