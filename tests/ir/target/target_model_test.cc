// The rows of the targets and of the models of GPUs, and the reasons of their libraries.
#include "sinter/ir/target/target_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "sinter/ir/fusion/fusion_domain.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/ir/target/gpu_models.h"

namespace sinter::ir {
namespace {

class TargetModelTest : public ::testing::Test {
 protected:
  TargetModelTest() {
    mlir::DialectRegistry registry;
    RegisterDialects(registry);
    context_ = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  }

  // Returns the only op of type Op in a function with these arguments.
  template <typename Op>
  Op Parse(const std::string& arguments, const std::string& op) {
    module_ = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @f(" + arguments + ") {\n%r = " + op + "\nreturn\n}", context_.get());
    Op found;
    if (module_) module_->walk([&](Op here) { found = here; });
    EXPECT_TRUE(found) << op;
    return found;
  }
  MatmulOp Matmul(const std::string& type, const std::string& more = "") {
    const std::string tensor = "tensor<512x512x" + type + ">";
    return Parse<MatmulOp>(
        "%a: " + tensor, "sinter.matmul %a, %a" + more + " : (" + tensor + ", " + tensor + ") -> " + tensor);
  }

  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

const TargetModel& Cpu() { return TargetModel::Of(DeviceKind::cpu); }
const TargetModel& Gpu() { return TargetModel::Of(DeviceKind::gpu); }

TEST_F(TargetModelTest, EveryKindOfDeviceHasOneRow) {
  std::set<DeviceKind> kinds;
  for (const TargetModel& model : TargetModels()) {
    EXPECT_TRUE(kinds.insert(model.kind).second) << model.name;
    EXPECT_NE(model.libraries, nullptr) << model.name;
    EXPECT_FALSE(model.name.empty());
    EXPECT_GE(model.library_alignment, 1) << model.name;
    EXPECT_GE(model.channel_multiple, 1) << model.name;
    EXPECT_GT(model.cached_bytes, 0) << model.name;
  }
  for (uint32_t kind = 0; symbolizeDeviceKind(kind); ++kind) {
    EXPECT_EQ(TargetModel::Of(*symbolizeDeviceKind(kind)).kind, *symbolizeDeviceKind(kind));
  }
}

TEST_F(TargetModelTest, IsFoundByTheDeviceOfTheOp) {
  MatmulOp op = Matmul("f32");
  EXPECT_EQ(&TargetModel::Of(op), &Cpu());
  EXPECT_EQ(&TargetModel::Of(DeviceAttr()), &Cpu());
  SetDevice(op, DeviceAttr::gpu(context_.get(), 3));
  EXPECT_EQ(&TargetModel::Of(op), &Gpu());
}

// A registered kind is parsed, printed and found by its name, and behaves as its row says.
TEST_F(TargetModelTest, AProgramAddsKinds) {
  const std::string text = "#sinter.device<custom, 2>";
  const auto parse = [&] { return mlir::parseAttribute(text, context_.get()); };
  context_->loadDialect<SinterDialect>();
  {
    std::string message;
    mlir::ScopedDiagnosticHandler handler(context_.get(), [&](mlir::Diagnostic& d) { message += d.str(); });
    EXPECT_FALSE(parse());
    EXPECT_THAT(message,
                ::testing::HasSubstr("there are no devices of kind \"custom\"; expected cpu or gpu"));
  }
  TargetModel model = Gpu();
  model.cached_bytes = 12345;
  const std::optional<DeviceKind> kind = RegisterTargetModel("custom", model);
  ASSERT_TRUE(kind);
  EXPECT_FALSE(RegisterTargetModel("custom", model));
  EXPECT_FALSE(RegisterTargetModel("gpu", model));
  const auto device = llvm::dyn_cast_or_null<DeviceAttr>(parse());
  ASSERT_TRUE(device);
  EXPECT_EQ(device.getKind(), *kind);
  EXPECT_EQ(device.text(), "custom:2");
  EXPECT_EQ(device, DeviceAttr::parse(context_.get(), "custom:2"));
  std::string printed;
  llvm::raw_string_ostream(printed) << device;
  EXPECT_EQ(printed, text);
  EXPECT_TRUE(DeviceAttr::gpu(context_.get(), 7).before(device));
  EXPECT_EQ(TargetModel::Of(device).cached_bytes, 12345);
  EXPECT_EQ(TargetModel::Of(device).kind, *kind);
  EXPECT_EQ(DeviceKindNames(), "cpu, gpu or custom");
  // The form of the kernels decides how reductions are cut, as on a GPU.
  EXPECT_TRUE(IsChunked({2, 16384}, {1}, *kind));
  EXPECT_FALSE(IsChunked({2, 16384}, {1}, DeviceKind::cpu));
}

// The decisions that follow from the rows: each is asked by a pass.
TEST_F(TargetModelTest, RowsSayWhatTheTargetsDo) {
  EXPECT_FALSE(Cpu().low_precision_layout || Cpu().f32_layout);
  EXPECT_EQ(Gpu().low_precision_layout, ImageLayout::nhwc);
  EXPECT_EQ(Gpu().f32_layout, ImageLayout::nchw);
  EXPECT_TRUE(Cpu().has_blocked_images);
  EXPECT_FALSE(Gpu().has_blocked_images);
  EXPECT_EQ(Cpu().channel_multiple, 1);
  EXPECT_EQ(Cpu().product_alignment, 1);
  EXPECT_EQ(Gpu().product_alignment, 16);
  EXPECT_EQ(Gpu().channel_multiple, 8);
  EXPECT_EQ(Cpu().library_alignment, 1);
  EXPECT_EQ(Gpu().library_alignment, 16);
  EXPECT_EQ(Cpu().cached_bytes, 1 << 20);
  EXPECT_EQ(Gpu().cached_bytes, 48 << 20);
  EXPECT_EQ(Cpu().most_streams, 32);
  EXPECT_FALSE(Gpu().most_streams);
  for (bool TargetModel::* only_on_gpus :
       {&TargetModel::computes_attention, &TargetModel::matmul_adds, &TargetModel::launches_cost,
        &TargetModel::recomputes_cheap_values, &TargetModel::sums_columns_of_rows,
        &TargetModel::stores_from_chunks, &TargetModel::has_own_memory, &TargetModel::runs_steps_side_by_side,
        &TargetModel::exchanges_beside_steps}) {
    EXPECT_FALSE(Cpu().*only_on_gpus);
    EXPECT_TRUE(Gpu().*only_on_gpus);
  }
}

TEST_F(TargetModelTest, LibrariesSayWhichEpiloguesOfMatmulsTheyLack) {
  const std::string activations[] = {"none", "relu", "gelu", "gelu_tanh", "sigmoid", "tanh", "silu"};
  for (const std::string& name : activations) {
    const Activation activation = *symbolizeActivation(name);
    EXPECT_EQ(Cpu().libraries->againstEpilogue(Matmul("f64"), activation), "");
    EXPECT_EQ(Gpu().libraries->againstEpilogue(Matmul("f64"), activation),
              "cuBLASLt has no epilogues in f64");
    const std::string want = name == "none" || name == "gelu_tanh" ? ""
                             : name == "relu"                      ? "cuBLASLt's relu may turn NaN into 0"
                                                                   : "cuBLASLt applies gelu_tanh only";
    for (const char* type : {"f32", "bf16", "f16"}) {
      EXPECT_EQ(Gpu().libraries->againstEpilogue(Matmul(type), activation), want) << name << " " << type;
    }
  }
  // A small matmul in tf32 is a hand-written kernel, whose relu keeps NaN.
  auto small = Parse<MatmulOp>("%a: tensor<64x64xf32>",
                               "sinter.matmul %a, %a math tf32 : (tensor<64x64xf32>, tensor<64x64xf32>) -> "
                               "tensor<64x64xf32>");
  EXPECT_EQ(Gpu().libraries->againstEpilogue(small, Activation::relu), "");
}

TEST_F(TargetModelTest, LibrariesSayWhichActivationsOfConvolutionsTheyLack) {
  auto conv =
      Parse<Conv2dOp>("%x: tensor<16x8x8x8xf32>, %w: tensor<8x8x1x1xf32>",
                      "sinter.conv2d %x, %w {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, "
                      "dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<16x8x8x8xf32>, "
                      "tensor<8x8x1x1xf32>) -> tensor<16x8x8x8xf32>");
  EXPECT_EQ(Gpu().libraries->againstEpilogue(conv, Activation::none), "");
  EXPECT_EQ(Gpu().libraries->againstEpilogue(conv, Activation::relu), "cuDNN's relu turns NaN into 0");
  EXPECT_EQ(Gpu().libraries->againstEpilogue(conv, Activation::tanh), "cuDNN applies no activation");
  EXPECT_EQ(Cpu().libraries->againstEpilogue(conv, Activation::tanh), "");
  conv.setLayout(ImageLayout::nchw16n);
  EXPECT_EQ(Cpu().libraries->againstEpilogue(conv, Activation::relu), "");
  EXPECT_EQ(Cpu().libraries->againstEpilogue(conv, Activation::tanh),
            "a convolution in layout nchw16n applies relu only");
}

TEST_F(TargetModelTest, CpusHaveNoLibraryForWholeAttentionNorGradientsOfActivations) {
  AttentionShape attention = {1, 8, 8, 2, 2, 64, false, mlir::Float16Type::get(context_.get())};
  EXPECT_EQ(Gpu().libraries->againstAttention(attention, 0.125), "");
  EXPECT_NE(Cpu().libraries->againstAttention(attention, 0.125), "");
  mlir::Type element = mlir::BFloat16Type::get(context_.get());
  const MatmulSizes sizes = {1, 8, 8, 8};
  EXPECT_EQ(Gpu().libraries->againstMatmulGradient(sizes, element, element, Activation::gelu_tanh), "");
  EXPECT_NE(Cpu().libraries->againstMatmulGradient(sizes, element, element, Activation::gelu_tanh), "");
}

// A plan runs on every model that it holds code for, so what was decided for kPlannedGpu must fit the others.
TEST(GpuModelsTest, SchedulesForThePlannedGpuFitEveryModel) {
  std::set<std::string_view> names;
  for (const GpuModel& gpu : kGpuModels) {
    EXPECT_TRUE(names.insert(gpu.architecture).second) << gpu.architecture;
    EXPECT_FALSE(gpu.description.empty());
    EXPECT_GE(gpu.block_threads, kPlannedGpu.block_threads) << gpu.architecture;
    EXPECT_GE(gpu.shared_bytes, kPlannedGpu.shared_bytes) << gpu.architecture;
    EXPECT_GE(gpu.most_shared_bytes, gpu.shared_bytes) << gpu.architecture;
    // Two of the largest blocks of the planned GPU, with as many registers a thread.
    EXPECT_GE(gpu.multiprocessor_threads, kPlannedGpu.multiprocessor_threads) << gpu.architecture;
    EXPECT_GE(gpu.registers, kPlannedGpu.registers) << gpu.architecture;
  }
  EXPECT_THAT(names, ::testing::ElementsAre("sm_100", "sm_80", "sm_90"));
}

// The decisions that follow from the planned GPU's multiprocessors and threads.
TEST(GpuModelsTest, FiguresOfThePlannedGpuDecide) {
  const int64_t m = kPlannedGpu.multiprocessors;
  EXPECT_EQ(m, 132);
  // Rows of a chunked reduction: fewer than half of the multiprocessors.
  EXPECT_TRUE(IsChunked({m / 2 - 1, 16384}, {1}, DeviceKind::gpu));
  EXPECT_FALSE(IsChunked({m / 2, 16384}, {1}, DeviceKind::gpu));
  // Columns of rows: 16 rows for each block, of which a multiprocessor holds 8 here.
  EXPECT_TRUE(SumsColumns({16 * 8 * m, 768}, {1}, {0}));
  EXPECT_FALSE(SumsColumns({16 * 8 * m - 1, 768}, {1}, {0}));
}

}  // namespace
}  // namespace sinter::ir
