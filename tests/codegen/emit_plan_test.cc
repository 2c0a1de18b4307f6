// Plan files of planned modules: their content, and that the bytes depend on nothing else.
#include "sinter/codegen/plan/emit_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <regex>

#include "llvm/Support/SHA256.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "runtime/plan_generated.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/codegen/plan/passes.h"
#include "sinter/codegen/steps/lowering.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/session/session.h"
#include "sinter/runtime/tensor/initializer.h"

namespace sinter::codegen {
namespace {

using ::testing::HasSubstr;

// y = relu(x w + b); the bias is updated; a constant of 64 values appears twice.
constexpr char kModule[] = R"mlir(
sinter.variable @w : tensor<8x16xf32> = uniform(-1.0, 1.0) seed 7 trainable loc("net.cc":3:1)
sinter.variable @b : tensor<16xf32> = constant(0.5, 0.0) seed 0
plan.function @step arena 1024 {
  %x = plan.input "x" : !plan.buffer<tensor<4x8xf32>>
  %w = plan.variable @w : !plan.buffer<tensor<8x16xf32>>
  %b = plan.variable @b : !plan.buffer<tensor<16xf32>>
  %c = plan.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0,
      9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]> : tensor<16xf32> : !plan.buffer<tensor<16xf32>>
  %d = plan.constant dense<[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0,
      9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]> : tensor<16xf32> : !plan.buffer<tensor<16xf32>>
  %m = plan.alloc at 0 : !plan.buffer<tensor<4x16xf32>>
  %y = plan.alloc at 256 : !plan.buffer<tensor<4x16xf32>>
  %s = plan.alloc at 512 : !plan.buffer<tensor<16xf32>>
  %row = plan.view %y at 64 : !plan.buffer<tensor<4x16xf32>> -> !plan.buffer<tensor<16xf32>>
  plan.call "matmul" ins(%x, %w : !plan.buffer<tensor<4x8xf32>>, !plan.buffer<tensor<8x16xf32>>)
      outs(%m : !plan.buffer<tensor<4x16xf32>>) by "library" {
  ^bb0(%0: tensor<4x8xf32>, %1: tensor<8x16xf32>):
    %2 = sinter.matmul %0, %1 : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    sinter.yield %2 : tensor<4x16xf32>
  } loc("Linear(16)"("net.cc":12:3))
  plan.call "relu" ins(%m, %b : !plan.buffer<tensor<4x16xf32>>, !plan.buffer<tensor<16xf32>>)
      outs(%y : !plan.buffer<tensor<4x16xf32>>) by "cpu.fused" {
  ^bb0(%0: tensor<4x16xf32>, %1: tensor<16xf32>):
    %2 = sinter.broadcast %1 [1] : tensor<16xf32> -> tensor<4x16xf32>
    %3 = sinter.add %0, %2 : tensor<4x16xf32>
    %4 = sinter.tanh %3 : tensor<4x16xf32>
    sinter.yield %4 : tensor<4x16xf32>
  } loc(fused["net.cc":13:3, "net.cc":14:3])
  plan.call "sum" ins(%row, %c, %d : !plan.buffer<tensor<16xf32>>, !plan.buffer<tensor<16xf32>>, !plan.buffer<tensor<16xf32>>)
      outs(%s : !plan.buffer<tensor<16xf32>>) by "cpu.fused" {
  ^bb0(%0: tensor<16xf32>, %1: tensor<16xf32>, %2: tensor<16xf32>):
    %3 = sinter.add %0, %1 : tensor<16xf32>
    %4 = sinter.mul %3, %2 : tensor<16xf32>
    sinter.yield %4 : tensor<16xf32>
  }
  plan.copy %s to %b : !plan.buffer<tensor<16xf32>>
  plan.output "y" %y : !plan.buffer<tensor<4x16xf32>>
}
)mlir";

class EmitPlanTest : public ::testing::Test {
 protected:
  EmitPlanTest() {
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    context_ = std::make_unique<mlir::MLIRContext>(registry);
    options_.targets = {*CpuTarget::Parse("x86-64-v3")};
    options_.name = "net";
  }

  mlir::OwningOpRef<mlir::ModuleOp> Parse(const std::string& text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, context_.get());
  }
  absl::StatusOr<std::string> Emit(const std::string& text) {
    auto module = Parse(text);
    EXPECT_TRUE(module);
    return EmitPlan(*module, options_);
  }

  std::unique_ptr<mlir::MLIRContext> context_;
  EmitOptions options_;
};

TEST_F(EmitPlanTest, HoldsTheProgram) {
  absl::StatusOr<std::string> bytes = Emit(kModule);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t*>(bytes->data()), bytes->size());
  ASSERT_TRUE(fb::VerifyPlanBuffer(verifier));
  const fb::Plan* plan = fb::GetPlan(bytes->data());
  EXPECT_EQ(plan->version(), Plan::LeastVersion({}));
  EXPECT_EQ(plan->name()->str(), "net");
  EXPECT_EQ(plan->target()->cpu()->str(), "x86-64-v3");
  ASSERT_EQ(plan->variables()->size(), 2u);
  const fb::Variable* w = plan->variables()->Get(0);
  EXPECT_EQ(w->name()->str(), "w");
  EXPECT_EQ(w->bytes(), 512u);
  EXPECT_TRUE(w->trainable());
  EXPECT_EQ(w->initializer()->seed(), 7);
  EXPECT_EQ(plan->locations()->Get(w->location())->line(), 3u);

  const fb::Function* step = plan->functions()->Get(0);
  EXPECT_EQ(step->arena_bytes(), 1024u);
  ASSERT_EQ(step->steps()->size(), 4u);
  const fb::MatmulStep* matmul = step->steps()->Get(0)->body_as_MatmulStep();
  ASSERT_NE(matmul, nullptr);
  EXPECT_EQ(matmul->m(), 4);
  EXPECT_EQ(matmul->n(), 16);
  EXPECT_EQ(matmul->k(), 8);
  EXPECT_EQ(step->steps()->Get(0)->flops(), 2 * 4 * 16 * 8);
  const fb::SourceLocation* line = plan->locations()->Get(step->steps()->Get(0)->locations()->Get(0));
  EXPECT_EQ(line->what()->str(), "Linear(16)");
  EXPECT_EQ(line->line(), 12u);
  EXPECT_EQ(step->steps()->Get(1)->locations()->size(), 2u);
  EXPECT_NE(step->steps()->Get(1)->body_as_KernelStep(), nullptr);
  EXPECT_EQ(step->steps()->Get(3)->body_as_CopyStep()->bytes(), 64u);

  // The view and both constants are buffer offsets now; equal constants share one.
  auto inputs = step->steps()->Get(2)->inputs();
  ASSERT_EQ(inputs->size(), 3u);
  const fb::Buffer* row = step->buffers()->Get(inputs->Get(0));
  EXPECT_EQ(row->space(), fb::Space::Arena);
  EXPECT_EQ(row->offset(), 320u);
  EXPECT_EQ(inputs->Get(1), inputs->Get(2));
  EXPECT_EQ(plan->constants()->size(), 64u);
  EXPECT_EQ((plan->constants()->data() - reinterpret_cast<const uint8_t*>(bytes->data())) % 64, 0);
  EXPECT_EQ((plan->shared_object()->data() - reinterpret_cast<const uint8_t*>(bytes->data())) % 64, 0);
  EXPECT_GT(plan->shared_object()->size(), 1000u);
}

TEST_F(EmitPlanTest, SameModuleSameBytes) {
  options_.threads = 1;
  absl::StatusOr<std::string> first = Emit(kModule);
  options_.threads = 3;
  absl::StatusOr<std::string> second = Emit(kModule);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(*first, *second);
}

TEST_F(EmitPlanTest, HashIsOfTheFileWithoutIt) {
  absl::StatusOr<std::string> bytes = Emit(kModule);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  auto* hash = fb::GetPlan(bytes->data())->content_hash();
  ASSERT_EQ(hash->size(), 32u);
  std::string stored(reinterpret_cast<const char*>(hash->data()), 32);
  bytes->replace(reinterpret_cast<const char*>(hash->data()) - bytes->data(), 32, 32, '\0');
  llvm::SHA256 sha;
  sha.update(llvm::StringRef(*bytes));
  std::array<uint8_t, 32> expected = sha.final();
  EXPECT_EQ(stored, std::string(expected.begin(), expected.end()));
}

TEST_F(EmitPlanTest, UnplacedBufferIsAnError) {
  absl::StatusOr<std::string> bytes = Emit(R"(
plan.function @f {
  %x = plan.input "x" : !plan.buffer<tensor<4xf32>>
  %y = plan.alloc : !plan.buffer<tensor<4xf32>> loc("net.cc":5:1)
  plan.copy %x to %y : !plan.buffer<tensor<4xf32>>
})");
  EXPECT_EQ(bytes.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(bytes.status().message()),
              HasSubstr("net.cc:5: a buffer of function 'f' has no place"));
}

TEST_F(EmitPlanTest, MissingWorkspaceIsAnErrorAndSelectKernelsSetsIt) {
  auto module = Parse(R"(
plan.function @f {
  %x = plan.input "x" : !plan.buffer<tensor<1000000xf32>>
  %y = plan.alloc at 0 : !plan.buffer<tensor<f32>>
  plan.call "sum" ins(%x : !plan.buffer<tensor<1000000xf32>>) outs(%y : !plan.buffer<tensor<f32>>) by "cpu.fused" {
  ^bb0(%0: tensor<1000000xf32>):
    %1 = sinter.sum %0 [0] : tensor<1000000xf32> -> tensor<f32>
    sinter.yield %1 : tensor<f32>
  }
  plan.output "y" %y : !plan.buffer<tensor<f32>>
})");
  absl::StatusOr<std::string> bytes = EmitPlan(*module, options_);
  EXPECT_THAT(std::string(bytes.status().message()), HasSubstr("bytes of workspace and has 0"));

  mlir::PassManager passes(context_.get());
  passes.addNestedPass<plan_ir::FunctionOp>(createSelectKernels());
  ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
  plan_ir::CallOp call;
  module->walk([&](plan_ir::CallOp op) { call = op; });
  EXPECT_GT(call.getWorkspaceBytes(), 0u);
  call.setWorkspaceOffset(64);
  bytes = EmitPlan(*module, options_);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  const fb::Function* f = fb::GetPlan(bytes->data())->functions()->Get(0);
  ASSERT_EQ(f->steps()->size(), 2u);
  EXPECT_EQ(f->steps()->Get(0)->outputs()->Get(0), f->steps()->Get(1)->inputs()->Get(0));
  EXPECT_EQ(f->buffers()->Get(f->steps()->Get(0)->outputs()->Get(0))->offset(), 64u);
}

TEST_F(EmitPlanTest, OverwritingWhatIsStillReadIsAnError) {
  absl::StatusOr<std::string> bytes = Emit(R"(
plan.function @f {
  %x = plan.alloc at 0 : !plan.buffer<tensor<4x4xf32>>
  %y = plan.alloc at 0 : !plan.buffer<tensor<4x4xf32>>
  plan.call "t" ins(%x : !plan.buffer<tensor<4x4xf32>>) outs(%y : !plan.buffer<tensor<4x4xf32>>) by "cpu.fused" {
  ^bb0(%0: tensor<4x4xf32>):
    %1 = sinter.transpose %0 [1, 0] : tensor<4x4xf32> -> tensor<4x4xf32>
    sinter.yield %1 : tensor<4x4xf32>
  } loc("net.cc":9:1)
})");
  EXPECT_THAT(std::string(bytes.status().message()),
              HasSubstr("net.cc:9: the call 't' may not write output 0 in place of input 0"));
}

// Variables cut in dimension 0, in dimension 1, by heads of three packed tensors, and in both dimensions.
constexpr char kCutVariables[] = R"mlir(
module attributes {sinter.mesh = #sinter.mesh<data 2, tensor 2>} {
  sinter.variable @rows : tensor<2x3xf32> = normal(0.0, 1.0) seed 3
    {sinter.box = #sinter.box<[2 of 4 from [0, 2, 0], 3] of tensor<4x3xf32>>}
  sinter.variable @columns : tensor<2x3xbf16> = uniform(0.0, 1.0) seed 4
    {sinter.box = #sinter.box<[2, 3 of 6 from [0, 0, 3]] of tensor<2x6xbf16>>}
  sinter.variable @heads : tensor<2x12xf32> = normal(0.0, 1.0) seed 5
    {sinter.box = #sinter.box<[2, 3, 2 of 4 from [2, 0, -2], 2] of tensor<2x24xf32>>}
  sinter.variable @both : tensor<2x3xf64> = normal(0.0, 1.0) seed 6
    {sinter.box = #sinter.box<[2 of 4 from [0, 2, 0], 3 of 6 from [0, 0, 3]] of tensor<4x6xf64>>}
  sinter.variable @whole : tensor<3xf32> = normal(0.0, 1.0) seed 7
  plan.function @f arena 0 {
    %r = plan.variable @rows : !plan.buffer<tensor<2x3xf32>>
    plan.output "rows" %r : !plan.buffer<tensor<2x3xf32>>
  }
}
)mlir";

TEST_F(EmitPlanTest, CutVariablesHaveTheBitsOfTheWhole) {
  setenv("SINTER_CPU_DEVICES", "4", 1);
  const absl::StatusOr<std::string> bytes = Emit(kCutVariables);
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  absl::StatusOr<Plan> plan = Plan::FromBytes(*bytes);
  ASSERT_TRUE(plan.ok()) << plan.status();
  absl::StatusOr<Session> session = Session::Create(*std::move(plan), {.threads = 1});
  ASSERT_TRUE(session.ok()) << session.status();
  Session& cut = *session;
  for (const VariableInfo& variable : cut.variables()) {
    EXPECT_EQ(variable.is_cut, variable.name != "whole");
    const HostTensor value = *cut.ReadVariable(variable.name);
    HostTensor expected = *HostTensor::Empty(variable.dtype, variable.shape);
    const fb::Variable& table =
        **std::ranges::find_if(*cut.plan().table().variables(),
                               [&](const fb::Variable* v) { return v->name()->str() == variable.name; });
    const InitialValues initial = {.kind = static_cast<InitialValues::Kind>(table.initializer()->kind()),
                                   .a = table.initializer()->a(),
                                   .b = table.initializer()->b(),
                                   .seed = table.initializer()->seed()};
    ASSERT_TRUE(
        FillInitialValues(initial, variable.dtype, variable.shape, expected.mutable_data(), ThreadPool(1))
            .ok());
    EXPECT_EQ(std::memcmp(value.data(), expected.data(), static_cast<size_t>(value.num_bytes())), 0)
        << variable.name;
  }
  absl::StatusOr<Outputs> out = cut.Run("f", {});
  ASSERT_TRUE(out.ok()) << out.status();
  EXPECT_EQ((*out)["rows"].shape(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(cut.ReadParts("rows")->size(), 2u);
  EXPECT_EQ(cut.ReadParts("heads")->size(), 2u);
  EXPECT_EQ(cut.ReadParts("both")->size(), 4u);
  unsetenv("SINTER_CPU_DEVICES");
}

TEST_F(EmitPlanTest, UnknownVariableIsAnError) {
  absl::StatusOr<std::string> bytes = Emit(R"(
plan.function @f arena 64 {
  %w = plan.variable @w : !plan.buffer<tensor<4xf32>> loc("net.cc":6:1)
  %y = plan.alloc at 0 : !plan.buffer<tensor<4xf32>>
  plan.copy %w to %y : !plan.buffer<tensor<4xf32>>
})");
  EXPECT_EQ(bytes.status().message(), "net.cc:6: the module has no variable @w");
}

// Returns a function that outputs one constant.
std::string ConstantText(const std::string& value, const std::string& type) {
  return "plan.function @f arena 64 {\n  %c = plan.constant " + value + " : " + type + " : !plan.buffer<" +
         type + "> loc(\"net.cc\":7:1)\n  plan.output \"c\" %c : !plan.buffer<" + type + ">\n}\n";
}

TEST_F(EmitPlanTest, ConstantsMustBeDense) {
  absl::StatusOr<std::string> bytes = Emit(ConstantText("sparse<[[0]], [1.0]>", "tensor<4xf32>"));
  EXPECT_EQ(bytes.status().code(), absl::StatusCode::kUnimplemented);
  EXPECT_THAT(std::string(bytes.status().message()), HasSubstr("net.cc:7: a plan stores dense values"));
}

TEST_F(EmitPlanTest, ConstantsMustFitAPlan) {
  absl::StatusOr<std::string> bytes = Emit(ConstantText("dense<1.0>", "tensor<536870912xf32>"));
  EXPECT_EQ(bytes.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(bytes.status().message()),
              HasSubstr("net.cc:7: a constant of 2147483648 bytes, after 0 of others, does not fit a plan"));
}

TEST_F(EmitPlanTest, LibraryOpWithoutAnEntryIsAnError) {
  auto module = Parse(R"(
func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = sinter.exp %x : tensor<4xf32> loc("net.cc":8:1)
  return %y : tensor<4xf32>
})");
  mlir::Operation* exp = nullptr;
  module->walk([&](ir::ExpOp op) { exp = op; });
  EXPECT_THAT(std::string(LibraryLowerings::Default().WorkspaceBytes(exp).status().message()),
              HasSubstr("net.cc:8: no CPU library or kernel computes sinter.exp; decompose it"));
}

// Returns a function with one call, on a GPU, whose text ends in `by`.
std::string CallText(const std::string& by) {
  return R"(
plan.function @f on [#sinter.device<gpu, 0>] arena 4096 {
  %x = plan.input "x" on <gpu, 0> : !plan.buffer<tensor<4x4xi32>>
  %y = plan.alloc at 0 on <gpu, 0> : !plan.buffer<tensor<4x4xi32>>
  plan.call "matmul" ins(%x : !plan.buffer<tensor<4x4xi32>>) outs(%y : !plan.buffer<tensor<4x4xi32>>) on <gpu, 0> )" +
         by + R"( {
  ^bb0(%0: tensor<4x4xi32>):
    %1 = sinter.matmul %0, %0 : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi32>
    sinter.yield %1 : tensor<4x4xi32>
  } loc("net.cc":4:1)
  plan.output "y" %y : !plan.buffer<tensor<4x4xi32>>
})";
}

TEST_F(EmitPlanTest, CallsNeedTheBackEndThatSelectKernelsChose) {
  EXPECT_EQ(Emit(CallText("")).status().message(),
            "net.cc:4: the call 'matmul' has no back end; run sinter-select-kernels first");
  EXPECT_EQ(
      Emit(CallText(R"(by "cuda.catalogue")")).status().message(),
      "net.cc:4: the call 'matmul' names the back end \"cuda.catalogue\"; back ends are collective, loop, "
      "cuda.catalog, cpu.user, library, cuda.fused, cpu.fused");
  EXPECT_EQ(Emit(CallText(R"(by "cpu.fused")")).status().message(),
            "net.cc:4: cpu.fused does not compute the call 'matmul' on gpu:0; run sinter-select-kernels");
  options_.gpu_architectures = {};
  EXPECT_THAT(std::string(Emit(CallText(R"(by "cuda.catalog")")).status().message()),
              HasSubstr("gpu_architectures is empty"));  // The call was emitted.
}

TEST_F(EmitPlanTest, LocationsWithoutALineSaySo) {
  EXPECT_EQ(UserLine(mlir::UnknownLoc::get(context_.get())), "unknown line");
}

TEST_F(EmitPlanTest, DumpsEveryForm) {
  auto module = Parse(kModule);
  EXPECT_THAT(*DumpKernels(*module, options_, KernelText::kMlir), HasSubstr("scf.for"));
  EXPECT_THAT(*DumpKernels(*module, options_, KernelText::kLlvm), HasSubstr("define void @relu_0"));
  EXPECT_THAT(*DumpKernels(*module, options_, KernelText::kOptimizedLlvm), HasSubstr("<8 x float>"));
  EXPECT_THAT(*DumpKernels(*module, options_, KernelText::kAssembly), HasSubstr("%ymm"));
}

// A fused call, a kernel of the catalogue in two launches, a copy by a kernel, and the same fused call again.
constexpr char kGpuModule[] = R"mlir(
plan.function @f on [#sinter.device<gpu, 0>] arena 8388608 {
  %x = plan.input "x" on <gpu, 0> : !plan.buffer<tensor<2x500000xf32>>
  %y = plan.alloc at 0 on <gpu, 0> : !plan.buffer<tensor<2x500000xf32>>
  %z = plan.alloc at 4194304 on <gpu, 0> : !plan.buffer<tensor<2x500000xf32>>
  plan.call "relu" ins(%x : !plan.buffer<tensor<2x500000xf32>>) outs(%y : !plan.buffer<tensor<2x500000xf32>>) on <gpu, 0> {
  ^bb0(%0: tensor<2x500000xf32>):
    %1 = sinter.relu %0 : tensor<2x500000xf32>
    sinter.yield %1 : tensor<2x500000xf32>
  }
  plan.call "cumsum" ins(%y : !plan.buffer<tensor<2x500000xf32>>) outs(%z : !plan.buffer<tensor<2x500000xf32>>) on <gpu, 0>
      attributes {workspace_offset = 8200000 : i64} {
  ^bb0(%0: tensor<2x500000xf32>):
    %1 = sinter.cumsum %0 dim 1 : tensor<2x500000xf32>
    sinter.yield %1 : tensor<2x500000xf32>
  }
  plan.copy %z to %y on <gpu, 0> : !plan.buffer<tensor<2x500000xf32>>
  plan.call "again" ins(%y : !plan.buffer<tensor<2x500000xf32>>) outs(%z : !plan.buffer<tensor<2x500000xf32>>) on <gpu, 0> {
  ^bb0(%0: tensor<2x500000xf32>):
    %1 = sinter.relu %0 : tensor<2x500000xf32>
    sinter.yield %1 : tensor<2x500000xf32>
  }
  plan.output "z" %z : !plan.buffer<tensor<2x500000xf32>>
}
)mlir";

// Returns the kernels that a CUDA text defines, in order.
std::vector<std::string> KernelsIn(const std::string& text) {
  std::vector<std::string> names;
  const std::regex kernel(R"(__launch_bounds__\([0-9, ]+\) (\w+)\()");
  for (std::sregex_iterator at(text.begin(), text.end(), kernel), end; at != end; ++at) {
    names.push_back((*at)[1].str());
  }
  return names;
}

TEST_F(EmitPlanTest, DumpsTheKernelsThatItEmits) {
  auto module = Parse(kGpuModule);
  ASSERT_TRUE(module);
  mlir::PassManager passes(context_.get());
  passes.addNestedPass<plan_ir::FunctionOp>(createSelectKernels());
  ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
  absl::StatusOr<std::string> text = DumpKernels(*module, options_, KernelText::kCuda);
  ASSERT_TRUE(text.ok()) << text.status();
  options_.gpu_architectures = {"sm_90"};
  absl::StatusOr<std::string> bytes = EmitPlan(*module, options_);
  if (absl::IsFailedPrecondition(bytes.status())) GTEST_SKIP() << bytes.status();  // No NVRTC here.
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  std::vector<std::string> emitted;
  for (const fb::GpuKernel* kernel : *fb::GetPlan(bytes->data())->gpu_kernels()) {
    emitted.push_back(kernel->symbol()->str());
  }
  EXPECT_GE(emitted.size(), 4u);
  EXPECT_EQ(KernelsIn(*text), emitted);
}

}  // namespace
}  // namespace sinter::codegen
