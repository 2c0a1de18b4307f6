#include "sinter/runtime/plan/plan_verifier.h"

#include <sys/mman.h>

#include <cstring>
#include <functional>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sinter/tests/runtime/test_plan.h"

namespace sinter {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void AddBetterCode(fb::PlanT& plan, int count, std::string_view bytes) {
  plan.target = std::make_unique<fb::TargetT>();
  for (int i = 0; i < count; ++i) {
    plan.better_code.push_back(std::make_unique<fb::CpuCodeT>());
    plan.better_code.back()->target = std::make_unique<fb::TargetT>();
    plan.better_code.back()->shared_object.assign(bytes.begin(), bytes.end());
  }
}

// Returns a valid plan with a step of every kind. Each function is named after its steps.
TestPlan GoodPlan() {
  TestPlan plan;
  plan.AddVariable("w", DType::kF32, {4, 4}, 1);
  plan.AddVariable("v", DType::kF32, {4, 4}, 1);
  const float ones[16] = {1, 1, 1, 1};
  const uint64_t offset = plan.AddConstant(ones, sizeof(ones));
  {
    TestFunction f(plan, "kernel");
    const uint32_t x = f.Input("x", DType::kF32, {4, 4}), y = f.Arena(DType::kF32, {4, 4});
    const uint32_t c = f.Buffer(fb::Space::Constant, 0, offset, DType::kF32, {4, 4});
    f.Kernel("add_f32", {x, c}, {y}, 16, 4, 128);
    f.Copy(y, f.Variable(0));
    f.Output("y", y);
    f.Output("w", f.Variable(0));
  }
  {
    TestFunction f(plan, "matmul");
    const uint32_t a = f.Arena(DType::kF32, {2, 3}), b = f.Arena(DType::kF32, {3, 5}),
                   bias = f.Arena(DType::kF32, {5});
    fb::MatmulStepT step;
    step.batch = 1, step.m = 2, step.n = 5, step.k = 3, step.dtype = fb::DType::F32, step.has_bias = true;
    f.Matmul(step, {a, b, bias}, {f.Arena(DType::kF32, {2, 5})});
  }
  {
    TestFunction f(plan, "conv");
    const uint32_t x = f.Arena(DType::kF32, {2, 4, 6, 6}), w = f.Arena(DType::kF32, {6, 2, 3, 3});
    fb::ConvStepT step;
    step.dtype = fb::DType::F32, step.batch = 2, step.in_channels = 4, step.out_channels = 6, step.groups = 2;
    step.in_size = {6, 6}, step.out_size = {4, 4}, step.kernel = {3, 3}, step.strides = {1, 1},
    step.dilations = {1, 1};
    step.padding = {0, 0, 0, 0};
    f.Conv(step, {x, w}, {f.Arena(DType::kF32, {2, 6, 4, 4})});
  }
  {
    TestFunction f(plan, "pool");
    const uint32_t x = f.Arena(DType::kF32, {2, 4, 6, 6});
    fb::PoolStepT step;
    step.dtype = fb::DType::F32, step.batch = 2, step.channels = 4, step.in_size = {6, 6},
    step.out_size = {3, 3};
    step.window = {2, 2}, step.strides = {2, 2}, step.padding = {0, 0, 0, 0};
    f.Pool(step, {x}, {f.Arena(DType::kF32, {2, 4, 3, 3}), f.Arena(DType::kU8, {2, 4, 3, 3})});
  }
  TestFunction f(plan, "catalog");
  const uint32_t x = f.Arena(DType::kI32, {2, 3});
  f.Catalog("cumsum", {5, 2, 3, 1, 0}, {x}, {x});
  return plan;
}

struct Alteration {
  const char* name;
  std::function<void(fb::PlanT&)> alter;
  const char* message;
};
void PrintTo(const Alteration& alteration, std::ostream* out) { *out << alteration.name; }

fb::StepT& StepAt(fb::PlanT& plan, int function, int step = 0) {
  return *plan.functions[function]->steps[step];
}
fb::BufferT& BufferOf(fb::PlanT& plan, int function, int buffer) {
  return *plan.functions[function]->buffers[buffer];
}

// Returns the convolution, changed to layout nchw16n.
fb::ConvStepT& InBlocks(fb::PlanT& plan) {
  fb::ConvStepT& step = *StepAt(plan, 2).body.AsConvStep();
  step.layout = fb::ImageLayout::Nchw16n;
  step.batch = 16;
  return step;
}

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

const Alteration kAlterations[] = {
    {"version", [](auto& p) { p.version = 11; },
     "the plan has format version 11, and this build reads versions 1 to 10"},
    {"version 0", [](auto& p) { p.version = 0; }, "the plan has format version 0, and"},
    {"no hash", [](auto& p) { p.content_hash.clear(); }, "the plan has no content hash"},
    // Variables.
    {"variable name", [](auto& p) { p.variables[1]->name = "w"; },
     "variable 1: the name \"w\" is used twice"},
    {"variable unnamed", [](auto& p) { p.variables[1]->name = ""; }, "variable 1: it has no name"},
    {"variable newline", [](auto& p) { p.variables[1]->name = "a\nb"; },
     "its name holds a control character"},
    {"variable bytes", [](auto& p) { p.variables[0]->bytes = 60; },
     "variable 0: it has 60 bytes, and its type has 64"},
    {"no type", [](auto& p) { p.variables[0]->type = nullptr; }, "variable 0: it has no type"},
    {"dtype", [](auto& p) { p.variables[0]->type->dtype = fb::DType{15}; },
     "element type 15 does not exist in this build"},
    {"rank", [](auto& p) { p.variables[0]->type->shape.assign(9, 1); }, "its rank is 9: at most 8"},
    {"negative size", [](auto& p) { p.variables[0]->type->shape = {-4, 4}; }, "has a negative size, -4"},
    {"overflow", [](auto& p) { p.variables[0]->type->shape = {kHuge, kHuge}; },
     "more bytes than 64 bits can count"},
    {"address space", [](auto& p) { p.variables[0]->type->shape = {kHuge / 16}; },
     "more than an address space"},
    {"initializer", [](auto& p) { p.variables[0]->initializer = nullptr; }, "it has no initializer"},
    {"initializer kind", [](auto& p) { p.variables[0]->initializer->kind = fb::InitializerKind{6}; },
     "initializer kind 6 does not exist"},
    {"infinite parameter",
     [](auto& p) {
       p.variables[0]->initializer->kind = fb::InitializerKind::Normal;
       p.variables[0]->initializer->b = INFINITY;
     },
     "parameters are not finite"},
    {"random integers",
     [](auto& p) {
       p.variables[0]->initializer->kind = fb::InitializerKind::Normal;
       p.variables[0]->type->dtype = fb::DType::I32;
     },
     "only floats have random initial values"},
    {"orthogonal vector",
     [](auto& p) {
       p.variables[0]->initializer->kind = fb::InitializerKind::Orthogonal;
       p.variables[0]->type->shape = {16};
     },
     "orthogonal initial values need rank 2 or more, not 1"},
    {"truncated without a range",
     [](auto& p) { p.variables[0]->initializer->kind = fb::InitializerKind::TruncatedNormal; },
     "its truncated normal initializer has no range"},
    {"initial values of another size",
     [](auto& p) {
       p.variables[0]->initializer->kind = fb::InitializerKind::Values;
       p.variables[0]->initializer->values = {1, 2, 3};
     },
     "it has initial values of 3 bytes, and its type has"},
    {"all variables",
     [](auto& p) {
       for (auto& variable : p.variables) {
         variable->type->shape = {int64_t{3} << 43};
         variable->bytes = uint64_t{3} << 45;
       }
     },
     "all variables exceed an address space"},
    {"variable location", [](auto& p) { p.variables[0]->location = 1; }, "source location 1 of 1"},
    // Functions, ports, buffers.
    {"function name", [](auto& p) { p.functions[1]->name = "kernel"; },
     "function 1: the name \"kernel\" is used twice"},
    {"arena", [](auto& p) { p.functions[0]->arena_bytes = ~0ull; }, "function \"kernel\": its arena exceeds"},
    {"input type", [](auto& p) { p.functions[0]->inputs[0]->type->shape = {16}; },
     "function \"kernel\": input 0: its type is not that of its buffer"},
    {"input buffer", [](auto& p) { p.functions[0]->inputs[0]->buffer = 99; }, "input 0: buffer 99 of"},
    {"input elsewhere", [](auto& p) { p.functions[0]->inputs[0]->buffer = 1; },
     "input 0: its buffer is not the input itself"},
    {"output buffer", [](auto& p) { p.functions[0]->outputs[0]->buffer = 99; }, "output 0: buffer 99 of"},
    {"output type", [](auto& p) { p.functions[0]->outputs[0]->type->dtype = fb::DType::I32; },
     "output 0: its type is not that of its buffer"},
    {"output name", [](auto& p) { p.functions[0]->outputs[1]->name = "y"; },
     "output 1: the name \"y\" is used twice"},
    {"buffer bytes", [](auto& p) { BufferOf(p, 0, 1).bytes = 1; },
     "buffer 1: it has 1 bytes, and its type has 64"},
    {"buffer offset", [](auto& p) { BufferOf(p, 0, 1).offset = 4; },
     "buffer 1: bytes 4 to 4 + 64 are outside its arena of 64"},
    {"buffer wraps", [](auto& p) { BufferOf(p, 0, 1).offset = ~0ull - 3; }, "are outside its arena"},
    {"alignment",
     [](auto& p) {
       BufferOf(p, 0, 1).offset = 2;
       p.functions[0]->arena_bytes = 128;
     },
     "offset 2 is not aligned to its elements of 4 bytes"},
    {"constant offset", [](auto& p) { BufferOf(p, 0, 2).offset = 4; },
     "are outside its constants of 64 bytes"},
    {"variable index", [](auto& p) { BufferOf(p, 0, 3).index = 5; }, "buffer 3: variable 5 of 2"},
    {"input index", [](auto& p) { BufferOf(p, 0, 0).index = 5; }, "buffer 0: input 5 of 1"},
    {"space", [](auto& p) { BufferOf(p, 0, 1).space = fb::Space{6}; }, "space 6 does not exist"},
    {"parameter", [](auto& p) { BufferOf(p, 0, 1).space = fb::Space::Parameter; },
     "buffer 1: parameter 0 of 0"},
    // Steps in general.
    {"step input", [](auto& p) { StepAt(p, 0).inputs = {0, 77}; },
     "step 0 (add_f32): input 1 is buffer 77 of"},
    {"step output", [](auto& p) { StepAt(p, 0).outputs = {77}; },
     "step 0 (add_f32): output 0 is buffer 77 of"},
    {"writes constant", [](auto& p) { StepAt(p, 0).outputs = {2}; }, "it writes to a constant"},
    {"writes input", [](auto& p) { StepAt(p, 0).outputs = {0}; }, "it writes to an input"},
    {"workspace", [](auto& p) { StepAt(p, 0).workspace_bytes = 65; },
     "its workspace, bytes 0 to 0 + 65, is outside the arena"},
    {"workspace wraps",
     [](auto& p) {
       StepAt(p, 0).workspace_bytes = 64;
       StepAt(p, 0).workspace_offset = ~0ull - 63;
     },
     "is outside the arena"},
    {"workspace offset",
     [](auto& p) {
       StepAt(p, 0).workspace_bytes = 8;
       StepAt(p, 0).workspace_offset = 8;
     },
     "its workspace's offset, 8, is not a multiple of 64"},
    {"step location", [](auto& p) { StepAt(p, 0).locations = {3}; }, "source location 3 of 1"},
    {"no body", [](auto& p) { StepAt(p, 0).body.Reset(); }, "its kind, 0, does not exist"},
    // Kernels and copies.
    {"symbol", [](auto& p) { StepAt(p, 0).body.AsKernelStep()->symbol = ""; }, "its kernel has no symbol"},
    {"no code", [](auto& p) { p.shared_object.clear(); },
     "it calls the kernel add_f32, and the plan holds no code"},
    {"better code than none", [](auto& p) { AddBetterCode(p, 1, "x"), p.target.reset(); },
     "its better code 0 is better than none: the plan has no target or no code of its own"},
    {"better code for no CPU", [](auto& p) { AddBetterCode(p, 1, "x"), p.better_code[0]->target.reset(); },
     "its better code 0 does not say for which CPU"},
    {"empty better code", [](auto& p) { AddBetterCode(p, 1, ""); }, "its better code 0 is empty"},
    {"much better code", [](auto& p) { AddBetterCode(p, 16, "x"); },
     "its better code 15 is one too many: a plan has at most 16 targets"},
    {"units", [](auto& p) { StepAt(p, 0).body.AsKernelStep()->units = -1; },
     "-1 units in parts of 4 are out of range"},
    {"grain", [](auto& p) { StepAt(p, 0).body.AsKernelStep()->grain = 0; },
     "16 units in parts of 0 are out of range"},
    {"scratch", [](auto& p) { StepAt(p, 0).body.AsKernelStep()->scratch_bytes = ~0ull; },
     "bytes of scratch memory a thread"},
    {"no outputs", [](auto& p) { StepAt(p, 0).outputs.clear(); }, "its kernel has no outputs"},
    {"copy bytes", [](auto& p) { StepAt(p, 0, 1).body.AsCopyStep()->bytes = 8; },
     "step 1 (copy): it copies 8 bytes from a buffer of 64 to one of 64"},
    {"copy operands", [](auto& p) { StepAt(p, 0, 1).inputs.clear(); },
     "it has 0 inputs and 1 outputs, not 1 and 1"},
    // Matmuls.
    {"matmul k", [](auto& p) { StepAt(p, 1).body.AsMatmulStep()->k = 4; },
     "a has 24 bytes, and the step's parameters make 32"},
    {"matmul n", [](auto& p) { StepAt(p, 1).body.AsMatmulStep()->n = 4; },
     "b has 60 bytes, and the step's parameters make 48"},
    {"matmul negative", [](auto& p) { StepAt(p, 1).body.AsMatmulStep()->m = -2; },
     "the size -2 is out of range"},
    {"matmul overflow", [](auto& p) { StepAt(p, 1).body.AsMatmulStep()->batch = kHuge; }, "is out of range"},
    {"matmul bias", [](auto& p) { StepAt(p, 1).body.AsMatmulStep()->has_bias = false; },
     "it has 3 inputs and 1 outputs, not 2 and 1"},
    {"matmul dtype", [](auto& p) { StepAt(p, 1).body.AsMatmulStep()->dtype = fb::DType::BF16; },
     "a holds f32, not bf16"},
    {"matmul bool", [](auto& p) { StepAt(p, 1).body.AsMatmulStep()->dtype = fb::DType::I1; },
     "element type i1 is not supported"},
    {"matmul type", [](auto& p) { StepAt(p, 1).body.AsMatmulStep()->dtype = fb::DType{77}; },
     "element type 77 does not exist"},
    {"integer activation",
     [](auto& p) {
       StepAt(p, 1).body.AsMatmulStep()->dtype = fb::DType::I32;
       StepAt(p, 1).body.AsMatmulStep()->activation = fb::Activation::Gelu;
     },
     "integers have no such activation"},
    {"activation", [](auto& p) { StepAt(p, 1).body.AsMatmulStep()->activation = fb::Activation{7}; },
     "activation 7 does not exist"},
    {"matmul addend", [](auto& p) { StepAt(p, 1).body.AsMatmulStep()->has_addend = true; },
     "it has 3 inputs and 1 outputs, not 4 and 1"},
    {"matmul scale",
     [](auto& p) {
       StepAt(p, 1).body.AsMatmulStep()->has_bias = false;
       StepAt(p, 1).body.AsMatmulStep()->has_scale = true;
     },
     "the scale has 20 bytes, and the step's parameters make 4"},
    {"matmul addend size",
     [](auto& p) {
       StepAt(p, 1).body.AsMatmulStep()->has_bias = false;
       StepAt(p, 1).body.AsMatmulStep()->has_addend = true;
     },
     "the addend has 20 bytes, and the step's parameters make 40"},
    {"matmul integer addend",
     [](auto& p) {
       StepAt(p, 1).body.AsMatmulStep()->dtype = fb::DType::I32;
       StepAt(p, 1).body.AsMatmulStep()->has_addend = true;
     },
     "matmuls of integers have neither addend nor scale"},
    {"matmul wide result", [](auto& p) { StepAt(p, 1).body.AsMatmulStep()->result_is_f32 = true; },
     "only matmuls of bf16 and f16 have a result of f32 for it"},
    {"matmul wide integers", [](auto& p) { StepAt(p, 1).body.AsMatmulStep()->result_is_i32 = true; },
     "only matmuls of i8 have a result of i32 for it"},
    {"matmul wide integers of an old plan",
     [](auto& p) {
       p.version = 8;
       StepAt(p, 1).body.AsMatmulStep()->dtype = fb::DType::I8;
       StepAt(p, 1).body.AsMatmulStep()->result_is_i32 = true;
     },
     "plans of version 8 have no matmul of i8 with a result of i32"},
    {"matmul gradient with bias", [](auto& p) { StepAt(p, 1).body.AsMatmulStep()->is_gradient = true; },
     "a matmul with an activation's gradient has neither bias, addend nor scale"},
    {"matmul gradient with scale",
     [](auto& p) {
       StepAt(p, 1).body.AsMatmulStep()->has_bias = false;
       StepAt(p, 1).body.AsMatmulStep()->is_gradient = true;
       StepAt(p, 1).body.AsMatmulStep()->has_scale = true;
     },
     "a matmul with an activation's gradient has neither bias, addend nor scale"},
    {"matmul gradient of nothing",
     [](auto& p) {
       StepAt(p, 1).body.AsMatmulStep()->has_bias = false;
       StepAt(p, 1).body.AsMatmulStep()->is_gradient = true;
     },
     "it has the gradient of no activation"},
    {"matmul gradient on a CPU",
     [](auto& p) {
       StepAt(p, 1).inputs[2] = StepAt(p, 1).outputs[0];  // Has the preactivation's shape.
       StepAt(p, 1).body.AsMatmulStep()->has_bias = false;
       StepAt(p, 1).body.AsMatmulStep()->is_gradient = true;
       StepAt(p, 1).body.AsMatmulStep()->activation = fb::Activation::GeluTanh;
     },
     "it runs on cpu:0, and a matmul with an activation's gradient is a step of GPUs"},
    {"matmul preactivation size",
     [](auto& p) {
       StepAt(p, 1).body.AsMatmulStep()->has_bias = false;
       StepAt(p, 1).body.AsMatmulStep()->is_gradient = true;
       StepAt(p, 1).body.AsMatmulStep()->activation = fb::Activation::GeluTanh;
     },
     "the preactivation has 20 bytes, and the step's parameters make 40"},
    // Convolutions.
    {"conv kind", [](auto& p) { StepAt(p, 2).body.AsConvStep()->kind = fb::ConvKind{3}; },
     "convolution kind 3 does not exist"},
    {"conv layout", [](auto& p) { StepAt(p, 2).body.AsConvStep()->layout = fb::ImageLayout{9}; },
     "image layout 9 does not exist"},
    {"conv blocks", [](auto& p) { StepAt(p, 2).body.AsConvStep()->layout = fb::ImageLayout::Nchw16n; },
     "a batch of 2 is not in blocks"},
    {"conv blocks type", [](auto& p) { InBlocks(p).dtype = fb::DType::BF16; },
     "images in blocks of 16 are of f32 only"},
    {"conv blocks activation", [](auto& p) { InBlocks(p).activation = fb::Activation::Gelu; },
     "images in blocks of 16 have no such activation"},
    {"conv blocks empty",
     [](auto& p) {
       InBlocks(p).in_size[0] = 0;
       InBlocks(p).out_size[0] = 0;
     },
     "images in blocks of 16 may not be empty"},
    {"conv dtype", [](auto& p) { StepAt(p, 2).body.AsConvStep()->dtype = fb::DType::I32; },
     "element type i32 is not supported"},
    {"conv groups", [](auto& p) { StepAt(p, 2).body.AsConvStep()->groups = 4; },
     "4 groups do not divide 4 and 6 channels"},
    {"conv no groups", [](auto& p) { StepAt(p, 2).body.AsConvStep()->groups = 0; }, "0 groups do not divide"},
    {"conv list", [](auto& p) { StepAt(p, 2).body.AsConvStep()->strides = {1}; },
     "strides has 1 numbers, not 2"},
    {"conv no list", [](auto& p) { StepAt(p, 2).body.AsConvStep()->padding.clear(); },
     "padding has 0 numbers, not 4"},
    {"conv stride", [](auto& p) { StepAt(p, 2).body.AsConvStep()->strides = {0, 1}; },
     "strides holds 0, which is out of range"},
    {"conv large stride", [](auto& p) { StepAt(p, 2).body.AsConvStep()->strides = {int64_t{1} << 31, 1}; },
     "strides holds 2147483648, which is out of range"},
    {"conv window", [](auto& p) { StepAt(p, 2).body.AsConvStep()->padding = {1, 0, 0, 0}; },
     "its output has 4 rows, and its window makes 5"},
    {"conv columns", [](auto& p) { StepAt(p, 2).body.AsConvStep()->dilations = {1, 2}; },
     "its output has 4 columns, and its window makes 2"},
    {"conv channels", [](auto& p) { StepAt(p, 2).body.AsConvStep()->in_channels = 2; },
     "input 0 has 1152 bytes, and the step's parameters make 576"},
    {"conv grad", [](auto& p) { StepAt(p, 2).body.AsConvStep()->kind = fb::ConvKind::InputGrad; },
     "input 0 has 1152 bytes"},
    {"conv grad bias",
     [](auto& p) {
       StepAt(p, 2).body.AsConvStep()->kind = fb::ConvKind::InputGrad;
       StepAt(p, 2).body.AsConvStep()->activation = fb::Activation::Relu;
     },
     "has neither bias nor activation"},
    // Pools.
    {"pool kind", [](auto& p) { StepAt(p, 3).body.AsPoolStep()->kind = fb::PoolKind{4}; },
     "pooling kind 4 does not exist"},
    {"pool operands", [](auto& p) { StepAt(p, 3).body.AsPoolStep()->kind = fb::PoolKind::Avg; },
     "it has 1 inputs and 2 outputs, not 1 and 1"},
    {"pool window", [](auto& p) { StepAt(p, 3).body.AsPoolStep()->window = {3, 2}; },
     "its output has 3 rows, and its window makes 2"},
    {"pool padding",
     [](auto& p) {
       StepAt(p, 3).body.AsPoolStep()->padding = {2, 0, 0, 0};
       StepAt(p, 3).body.AsPoolStep()->out_size = {4, 3};
     },
     "padding of 2 leaves windows of 2 without elements"},
    {"pool positions",
     [](auto& p) {
       auto& step = *StepAt(p, 3).body.AsPoolStep();
       step.window = {17, 17}, step.padding = {11, 0, 11, 0}, step.strides = {1, 1}, step.out_size = {1, 1};
     },
     "a window of 17 x 17 has more than 256 positions"},
    {"pool position type", [](auto& p) { StepAt(p, 3).outputs[1] = 1; }, "the positions holds f32, not u8"},
    // The catalog.
    {"catalog kernel", [](auto& p) { StepAt(p, 4).body.AsCatalogStep()->kernel = "sorted"; },
     "the catalogue has no kernel \"sorted\""},
    {"catalog parameters", [](auto& p) { StepAt(p, 4).body.AsCatalogStep()->parameters.pop_back(); },
     "the kernel cumsum has 5 parameters, not 4"},
    {"catalog operands", [](auto& p) { StepAt(p, 4).inputs.clear(); },
     "it has 0 inputs and 1 outputs, not 1 and 1"},
    {"catalog sizes", [](auto& p) { StepAt(p, 4).body.AsCatalogStep()->parameters[2] = 4; },
     "x has 6 elements of i32, and the parameters make 8 of i32"},
};

class AlteredPlanTest : public ::testing::TestWithParam<Alteration> {};

TEST_P(AlteredPlanTest, IsRefusedByName) {
  TestPlan plan = GoodPlan();
  GetParam().alter(plan.table);
  const absl::Status status = plan.Make().status();
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(std::string(status.message()), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(PlanVerifier, AlteredPlanTest, ::testing::ValuesIn(kAlterations),
                         [](const ::testing::TestParamInfo<Alteration>& info) {
                           std::string name;
                           for (const char* c = info.param.name; *c != 0; ++c) name += *c == ' ' ? '_' : *c;
                           return name;
                         });

TEST(PlanVerifierTest, AGoodPlanPasses) {
  const absl::Status status = GoodPlan().Make().status();
  EXPECT_TRUE(status.ok()) << status;
}

TEST(PlanVerifierTest, WeightGradientsInBlocksNeedWorkspace) {
  TestPlan plan;
  TestFunction f(plan, "f");
  fb::ConvStepT step;
  step.kind = fb::ConvKind::WeightGrad, step.layout = fb::ImageLayout::Nchw16n, step.dtype = fb::DType::F32;
  step.batch = 16, step.in_channels = 2, step.out_channels = 3, step.groups = 1;
  step.in_size = {3, 3}, step.out_size = {2, 2}, step.kernel = {2, 2}, step.strides = {1, 1},
  step.dilations = {1, 1}, step.padding = {0, 0, 0, 0};
  const uint32_t x = f.Arena(DType::kF32, {1, 2, 3, 3, 16}), g = f.Arena(DType::kF32, {1, 3, 2, 2, 16});
  f.Conv(step, {x, g}, {f.Arena(DType::kF32, {3, 2, 2, 2})});
  EXPECT_THAT(std::string(plan.Make().status().message()),
              AllOf(HasSubstr("the convolution needs "), HasSubstr(" bytes of workspace, and has 0")));
}

// FlatBuffers aligns every list to the size of its elements. This function moves the list of `field` by four
// bytes, so that the low half of the first element is read as the length, and returns the verifier's message.
std::string MessageOfMoved(const TestPlan& plan, const std::function<const void*(const fb::Plan&)>& table,
                           flatbuffers::voffset_t field) {
  std::string bytes = plan.Bytes();
  const auto* at = static_cast<const flatbuffers::Table*>(table(*fb::GetPlan(bytes.data())));
  char* const offset = bytes.data() + (reinterpret_cast<const char*>(at->GetAddressOf(field)) - bytes.data());
  const auto moved = flatbuffers::ReadScalar<flatbuffers::uoffset_t>(offset) + 4;
  flatbuffers::WriteScalar<flatbuffers::uoffset_t>(offset, moved);
  const absl::Status sealed = SealPlan(bytes);
  EXPECT_TRUE(sealed.ok()) << sealed;
  return std::string(Plan::FromBytes(bytes).status().message());
}

TEST(PlanVerifierTest, ListsThatAreNotAligned) {
  const auto first_step = [](const fb::Plan& p, int function) {
    return p.functions()->Get(function)->steps()->Get(0);
  };
  const auto shape_of_w = [](const fb::Plan& p) { return p.variables()->Get(0)->type(); };
  EXPECT_THAT(MessageOfMoved(GoodPlan(), shape_of_w, fb::TensorType::VT_SHAPE),
              HasSubstr("variable 0: its shape is not aligned to 8 bytes"));
  const auto cumsum = [&](const fb::Plan& p) { return first_step(p, 4)->body_as_CatalogStep(); };
  EXPECT_THAT(MessageOfMoved(GoodPlan(), cumsum, fb::CatalogStep::VT_PARAMETERS),
              HasSubstr("its parameters are not aligned to 8 bytes"));
  TestPlan strided = GoodPlan();
  StepAt(strided.table, 2).body.AsConvStep()->strides = {2, 2};
  const auto conv = [&](const fb::Plan& p) { return first_step(p, 2)->body_as_ConvStep(); };
  EXPECT_THAT(MessageOfMoved(strided, conv, fb::ConvStep::VT_STRIDES),
              HasSubstr("strides is not aligned to 8 bytes"));
  TestPlan constants = GoodPlan();
  constants.table.constants.assign(128, 0);
  constants.table.constants[0] = 1;
  const auto whole = [](const fb::Plan& p) { return &p; };
  EXPECT_THAT(MessageOfMoved(constants, whole, fb::Plan::VT_CONSTANTS),
              HasSubstr("its constants are not aligned to 64 bytes"));
}

TEST(PlanVerifierTest, PlansOf2GiBAreRefused) {
  // The memory is mapped and not touched: only its first page takes space.
  const size_t size = size_t{1} << 31;
  void* const memory =
      mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  std::memcpy(static_cast<char*>(memory) + 4, fb::PlanIdentifier(), 4);
  EXPECT_EQ(VerifyPlan({static_cast<const std::byte*>(memory), size}).message(),
            "the plan has 2147483648 bytes, and a plan has less than 2 GiB");
  munmap(memory, size);
}

TEST(PlanVerifierTest, MissingVectorsAreEmpty) {
  TestPlan plan;
  plan.table.locations.clear();
  plan.table.functions.push_back(std::make_unique<fb::FunctionT>());
  plan.table.functions[0]->name = "f";
  EXPECT_TRUE(plan.Make().ok());
}

}  // namespace
}  // namespace sinter
