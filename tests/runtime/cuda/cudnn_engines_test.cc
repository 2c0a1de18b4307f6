// cuDNN has a deterministic engine for every convolution and attention that plans may hold.
// Needs cuDNN but no GPU: cuDNN answers for a described GPU as for a real one.
#include <dlfcn.h>

#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "gtest/gtest.h"
#include "sinter/runtime/cuda/cudnn/cudnn_attention.h"
#include "sinter/runtime/cuda/cudnn/cudnn_convolution.h"
#include "sinter/runtime/cuda/cudnn/cudnn_plans.h"
#include "sinter/tests/runtime/fault_points.h"

// Defined if leaks end the program, i.e. with the address sanitizer. GCC and Clang report it differently.
#if defined(__SANITIZE_ADDRESS__)
#define SINTER_TEST_FINDS_LEAKS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SINTER_TEST_FINDS_LEAKS
#endif
#endif

namespace sinter {
namespace {

// The JSON of CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR on an H100, with the names of cuDNN 9.19.
constexpr char kH100[] =
    R"({"deviceName":"NVIDIA H100 80GB HBM3","cudaDeviceId":0,"deviceVer":900,"multiProcessorCount":132,)"
    R"("driverVer":13000,"maxSharedMemoryPerBlockOptin":232448,"totalGlobalMem":85017755648,)"
    R"("maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"warpSize":32,)"
    R"("maxSharedMemoryPerBlock":49152,"reservedSharedMemoryPerBlock":1024,"maxRegistersPerSM":65536,)"
    R"("maxCtasPerSM":32,"maxThreadsPerBlock":1024,"maxThreadsPerSM":2048,"pciDeviceId":0,"isTccDriver":0,)"
    R"("supportCoopLaunch":1,"smClockRateKHz":1980000,"memClockRateKHz":2619000,"l2CacheSize":52428800})";

const Cudnn* real = nullptr;
cudnnBackendDescriptor_t gpu = nullptr;

// Passes the described GPU instead of a handle, which needs a real GPU.
cudnnStatus_t SetAttribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                           cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  if (name == CUDNN_ATTR_OPERATIONGRAPH_HANDLE) return CUDNN_STATUS_SUCCESS;
  if (name == CUDNN_ATTR_EXECUTION_PLAN_HANDLE) {
    return real->SetAttribute(descriptor, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                              1, &gpu);
  }
  if (name == CUDNN_ATTR_ENGINEHEUR_MODE) {
    const cudnnStatus_t status = real->SetAttribute(descriptor, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP,
                                                    CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &gpu);
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  return real->SetAttribute(descriptor, name, type, count, values);
}

// The same functions, which can fail for lack of memory.
constexpr cudnnStatus_t kNoMemory = CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED;
int live_descriptors = 0;

cudnnStatus_t FaultyCreate(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* made) {
  if (FaultPoints::Fails("create")) return kNoMemory;
  const cudnnStatus_t status = real->CreateDescriptor(type, made);
  live_descriptors += status == CUDNN_STATUS_SUCCESS ? 1 : 0;
  return status;
}
cudnnStatus_t FaultyDestroy(cudnnBackendDescriptor_t descriptor) {
  --live_descriptors;
  const cudnnStatus_t status = real->DestroyDescriptor(descriptor);
  return FaultPoints::Fails("destroy") ? CUDNN_STATUS_INTERNAL_ERROR : status;
}
cudnnStatus_t FaultyFinalize(cudnnBackendDescriptor_t descriptor) {
  return FaultPoints::Fails("finalize") ? kNoMemory : real->Finalize(descriptor);
}
cudnnStatus_t FaultySet(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                        cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  return FaultPoints::Fails("set") ? kNoMemory : SetAttribute(descriptor, name, type, count, values);
}
cudnnStatus_t FaultyGet(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                        cudnnBackendAttributeType_t type, int64_t count, int64_t* given, void* values) {
  return FaultPoints::Fails("get") ? kNoMemory
                                   : real->GetAttribute(descriptor, name, type, count, given, values);
}

class CudnnEnginesTest : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef SINTER_TEST_FINDS_LEAKS
    GTEST_SKIP() << "cuDNN and cuBLASLt leak, which is theirs to mend";
#endif
    // cuDNN prepares attention kernels with the driver. It finds a loaded driver by its name, wherever it
    // came from.
    if (dlopen("libcuda.so.1", RTLD_NOW) == nullptr) {
      ASSERT_NE(dlopen(SINTER_FAKE_DRIVER, RTLD_NOW | RTLD_GLOBAL), nullptr) << dlerror();
    }
    const absl::StatusOr<const Cudnn*> loaded = LoadCudnn();
    if (!loaded.ok()) GTEST_SKIP() << loaded.status();
    real = *loaded;
    functions_ = *real;
    functions_.SetAttribute = &SetAttribute;
    ASSERT_EQ(real->CreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &gpu), CUDNN_STATUS_SUCCESS);
    const auto length = static_cast<int64_t>(std::strlen(kH100));
    if (real->SetAttribute(gpu, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR, length, kH100) !=
            CUDNN_STATUS_SUCCESS ||
        real->Finalize(gpu) != CUDNN_STATUS_SUCCESS) {
      GTEST_SKIP() << "cuDNN " << real->GetVersion() << " describes GPUs in other words";
    }
  }

  void TearDown() override {
    if (gpu != nullptr) (void)real->DestroyDescriptor(gpu);
    gpu = nullptr;
  }

  CudnnHandle handle() const { return {.functions = &functions_, .handle = nullptr}; }

  Cudnn functions_ = {};
};

struct Geometry {
  int64_t batch, in, out, groups;
  std::array<int64_t, 2> size, kernel, strides, before, after, dilations;
};

constexpr Geometry kGeometries[] = {
    {2, 1, 20, 1, {12, 12}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
    {3, 20, 17, 1, {9, 7}, {5, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
    {2, 3, 5, 1, {11, 10}, {3, 2}, {2, 3}, {1, 2}, {0, 1}, {1, 1}},
    {2, 6, 4, 2, {8, 9}, {3, 3}, {1, 2}, {1, 1}, {1, 1}, {2, 1}},
    {2, 8, 8, 8, {7, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {1, 1, 1, 1, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
    {32, 64, 64, 1, {56, 56}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {32, 3, 64, 1, {224, 224}, {7, 7}, {2, 2}, {3, 3}, {3, 3}, {1, 1}},
};

ConvShape ShapeOf(const Geometry& g, bool channels_last) {
  const auto out = [&](size_t d) {
    return (g.size[d] + g.before[d] + g.after[d] - (g.kernel[d] - 1) * g.dilations[d] - 1) / g.strides[d] + 1;
  };
  ConvShape shape;
  shape.channels_last = channels_last;
  shape.x = PackedTensor({g.batch, g.in, g.size[0], g.size[1]}, channels_last);
  shape.y = PackedTensor({g.batch, g.out, out(0), out(1)}, channels_last);
  shape.weights = PackedTensor({g.out, g.in / g.groups, g.kernel[0], g.kernel[1]}, /*channels_last=*/false);
  shape.strides = g.strides, shape.dilations = g.dilations;
  shape.padding_before = g.before, shape.padding_after = g.after;
  return shape;
}

TEST_F(CudnnEnginesTest, ThereIsOneForEveryConvolution) {
  const std::pair<fb::DType, fb::MathMode> types[] = {{fb::DType::F64, fb::MathMode::Ieee},
                                                      {fb::DType::F32, fb::MathMode::Ieee},
                                                      {fb::DType::F32, fb::MathMode::Tf32},
                                                      {fb::DType::BF16, fb::MathMode::Ieee},
                                                      {fb::DType::F16, fb::MathMode::Ieee}};
  const ConvEpilogue epilogues[] = {{}, {.bias = true}, {.bias = true, .relu = true}};
  for (const auto& [dtype, math] : types) {
    for (const bool channels_last : {false, true}) {
      for (const Geometry& geometry : kGeometries) {
        ConvShape shape = ShapeOf(geometry, channels_last);
        shape.dtype = dtype, shape.math = math;
        for (const ConvEpilogue& epilogue : epilogues) {
          const auto plan = MakeConvolutionPlan(handle(), shape, epilogue);
          EXPECT_TRUE(plan.ok()) << plan.status();
        }
        for (const fb::ConvKind kind : {fb::ConvKind::InputGrad, fb::ConvKind::WeightGrad}) {
          shape.kind = kind;
          const auto plan = MakeConvolutionPlan(handle(), shape, {});
          EXPECT_TRUE(plan.ok()) << plan.status();
        }
      }
    }
  }
}

TEST_F(CudnnEnginesTest, SaysForWhatThereIsNone) {
  ConvShape shape = ShapeOf(kGeometries[0], /*channels_last=*/false);
  shape.strides = {0, 0};
  const absl::Status status = MakeConvolutionPlan(handle(), shape, {}).status();
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(std::string(status.message())
                .find("convolution Forward f32 Ieee nchw [2,1,12,12] by [20,1,3,3]: cuDNN "),
            0u)
      << status;
}

// If memory for an engine is missing, the plan fails. Another engine would give other bits.
TEST_F(CudnnEnginesTest, EveryCallOfAPlanFailsOnce) {
  functions_.CreateDescriptor = &FaultyCreate;
  functions_.DestroyDescriptor = &FaultyDestroy;
  functions_.Finalize = &FaultyFinalize;
  functions_.SetAttribute = &FaultySet;
  functions_.GetAttribute = &FaultyGet;
  ConvShape shape = ShapeOf(kGeometries[6], /*channels_last=*/true);
  shape.dtype = fb::DType::BF16;
  const auto wanted = MakeConvolutionPlan(handle(), shape, {.bias = true});
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  const int live = live_descriptors;
  for (int call = 1;; ++call) {
    FaultPoints::Arm(call);
    {
      const auto plan = MakeConvolutionPlan(handle(), shape, {.bias = true});
      const std::string name = FaultPoints::name();
      SCOPED_TRACE("call " + std::to_string(call) + ", " + name + ": " + plan.status().ToString());
      if (plan.ok()) {
        EXPECT_EQ((*plan)->engine(), (*wanted)->engine());
        EXPECT_TRUE(name == "destroy" || name == "nothing");
      } else {
        EXPECT_TRUE(absl::IsResourceExhausted(plan.status()));
        EXPECT_NE(plan.status().message().find("cuDNN could not "), absl::string_view::npos);
      }
    }
    EXPECT_EQ(live_descriptors, live) << call;
    const bool has_failed = FaultPoints::Disarm();
    const auto again = MakeConvolutionPlan(handle(), shape, {.bias = true});
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ((*again)->engine(), (*wanted)->engine());
    if (!has_failed || HasFailure()) {
      EXPECT_GT(call, 80);
      return;
    }
  }
}

// Each takes a second to prepare, so these are not all combinations.
constexpr CudnnAttention kAttentions[] = {
    {.packed = true,
     .causal = true,
     .batch = 8,
     .heads = 12,
     .key_heads = 12,
     .queries = 1024,
     .keys = 1024,
     .width = 64},
    {.dtype = fb::DType::F16,
     .packed = true,
     .batch = 3,
     .heads = 5,
     .key_heads = 5,
     .queries = 129,
     .keys = 129,
     .width = 64},
    {.causal = true, .batch = 2, .heads = 4, .key_heads = 4, .queries = 4096, .keys = 4096, .width = 128},
    {.dtype = fb::DType::F16,
     .causal = true,
     .batch = 2,
     .heads = 3,
     .key_heads = 3,
     .queries = 77,
     .keys = 77,
     .width = 40},
    {.batch = 1, .heads = 1, .key_heads = 1, .queries = 2, .keys = 2, .width = 8},
    // Masks, and heads that share keys.
    {.causal = true, .batch = 2, .heads = 8, .key_heads = 2, .queries = 64, .keys = 300, .width = 256},
    {.batch = 2, .heads = 4, .key_heads = 4, .queries = 128, .keys = 190, .width = 64, .window = 20},
    {.has_bias = true,
     .batch = 2,
     .heads = 4,
     .key_heads = 1,
     .queries = 77,
     .keys = 130,
     .width = 64,
     .bias_batch = 2,
     .bias_heads = 1,
     .bias_queries = 1},
    {.batch = 2, .heads = 2, .key_heads = 2, .queries = 64, .keys = 300, .width = 128},
    {.dtype = fb::DType::F16, .batch = 2, .heads = 2, .key_heads = 2, .queries = 300, .keys = 3, .width = 16},
    // A few heads of one example, in memory that holds more heads.
    {.packed = true,
     .causal = true,
     .batch = 1,
     .heads = 4,
     .key_heads = 4,
     .queries = 512,
     .keys = 512,
     .width = 64,
     .heads_in_memory = 12,
     .key_heads_in_memory = 12},
};

TEST_F(CudnnEnginesTest, ThereIsOneForEveryAttention) {
  for (CudnnAttention attention : kAttentions) {
    for (const bool has_stats : {false, true}) {
      attention.has_stats = has_stats;
      const auto plan = MakeAttentionPlan(handle(), attention);
      EXPECT_TRUE(plan.ok()) << plan.status();
    }
    attention.backward = true, attention.has_stats = false;
    const auto plan = MakeAttentionPlan(handle(), attention);
    EXPECT_TRUE(plan.ok()) << plan.status();
  }
}

// The workspace of a forward plan, and of a gradient that sums in any order, is much smaller than the scores.
// A gradient that sums in order stores one value per score, in the type of the operands.
TEST_F(CudnnEnginesTest, AttentionNeedsLittleMemory) {
  CudnnAttention attention = {
      .packed = true, .causal = true, .has_stats = true, .batch = 8, .heads = 12, .key_heads = 12};
  attention.queries = attention.keys = 1024, attention.width = 64;
  const size_t scores = size_t{8} * 12 * 1024 * 1024;
  const auto workspace = [&]() -> size_t {
    const auto plan = MakeAttentionPlan(handle(), attention);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return plan.ok() ? (*plan)->workspace_bytes() : 0;
  };
  EXPECT_LT(workspace(), scores / 16);
  attention.backward = true, attention.has_stats = false;
  const size_t in_order = workspace();
  EXPECT_LT(in_order, 5 * scores / 2);
  EXPECT_EQ(attention.ScoresBytes(), 2 * scores);
  EXPECT_GE(in_order, attention.ScoresBytes());
  attention.in_order = false;
  EXPECT_LT(workspace(), scores / 2);
}

// Equal steps build one plan; each has its own bindings.
TEST_F(CudnnEnginesTest, WhatIsAlikeIsBuildCache) {
  CudnnPlans plans;
  ConvShape shape = ShapeOf(kGeometries[6], /*channels_last=*/true);
  shape.dtype = fb::DType::BF16;
  const auto convolution = [&](const ConvEpilogue& epilogue, const std::optional<CudnnEngine>& only = {}) {
    auto plan = plans.Convolution(handle(), shape, epilogue, only);
    EXPECT_TRUE(plan.ok()) << plan.status();
    return *std::move(plan);
  };
  const std::unique_ptr<CudnnPlan> first = convolution({}), second = convolution({});
  EXPECT_EQ(plans.built(), 1u);
  EXPECT_NE(first, second);
  EXPECT_EQ(first->engine(), second->engine());
  EXPECT_EQ(first->workspace_bytes(), second->workspace_bytes());
  EXPECT_EQ(convolution({}, first->engine())->engine(), first->engine());
  EXPECT_EQ(plans.built(), 2u);
  convolution({.bias = true});
  convolution({.bias = true, .relu = true});
  EXPECT_EQ(plans.built(), 4u);
  shape.padding_before = {0, 0}, shape.padding_after = {2, 2};
  convolution({});
  EXPECT_EQ(plans.built(), 5u);
  EXPECT_FALSE(plans.Convolution(handle(), shape, {}, CudnnEngine{.number = 12345}).ok());
  EXPECT_EQ(plans.built(), 5u);

  CudnnAttention attention = {.batch = 1, .heads = 1, .key_heads = 1, .queries = 64, .keys = 64, .width = 64};
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(plans.Attention(handle(), attention).ok());
  EXPECT_EQ(plans.built(), 6u);
  attention.causal = true;
  EXPECT_TRUE(plans.Attention(handle(), attention).ok());
  EXPECT_EQ(plans.built(), 7u);
}

TEST_F(CudnnEnginesTest, SaysForWhichAttentionThereIsNone) {
  const CudnnAttention attention = {
      .causal = true, .batch = 2, .heads = 3, .key_heads = 3, .queries = 64, .keys = 64, .width = 7};
  const absl::Status status = MakeAttentionPlan(handle(), attention).status();
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(std::string(status.message())
                .find("attention forward bf16 causal [2,3,64,7] by 64 keys of 3 heads: cuDNN "),
            0u)
      << status;
}

}  // namespace
}  // namespace sinter
