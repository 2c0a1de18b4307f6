// Steps of matmuls with an addend, a scale or an activation's gradient, and messages for unsupported ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "mlir/Parser/Parser.h"
#include "sinter/codegen/steps/lowering.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/plan/plan_ops.h"
#include "sinter/ir/register_dialects.h"

namespace sinter::codegen {
namespace {

using ::testing::HasSubstr;

class LowerLinearTest : public ::testing::Test {
 protected:
  LowerLinearTest() {
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    context_ = std::make_unique<mlir::MLIRContext>(registry);
  }

  // Returns the step of one op in a call on this device. `operands` and `result` are the op's types.
  absl::StatusOr<fb::MatmulStepT> Lower(const std::string& op, const std::string& operands,
                                        const std::string& result, const std::string& device) {
    std::string ins, types, names;
    for (int i = 0; const std::string& type : Split(operands)) {
      absl::StrAppend(&ins, i == 0 ? "" : ", ", "!plan.buffer<", type, ">");
      absl::StrAppend(&types, i == 0 ? "" : ", ", "%", std::string(1, static_cast<char>('a' + i)), ": ",
                      type);
      absl::StrAppend(&names, i == 0 ? "" : ", ", "%i", i);
      ++i;
    }
    std::string text = "plan.function @f on [#sinter.device<cpu, 0>, #sinter.device<gpu, 0>] {\n";
    for (int i = 0; const std::string& type : Split(operands)) {
      absl::StrAppend(&text, "%i", i++, " = plan.alloc on ", device, " : !plan.buffer<", type, ">\n");
    }
    absl::StrAppend(&text, "%o = plan.alloc on ", device, " : !plan.buffer<", result, ">\n");
    absl::StrAppend(&text, "plan.call \"c\" ins(", names, " : ", ins, ") outs(%o : !plan.buffer<", result,
                    ">) on ", device, " {\n^bb0(", types, "):\n%r = ", op, " : (", operands, ") -> ", result,
                    " loc(\"model.cc\":7:1)\nsinter.yield %r : ", result, "\n}\n}\n");
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, context_.get());
    EXPECT_TRUE(module_) << text;
    if (!module_) return absl::InternalError("no module");
    mlir::Operation* found = nullptr;
    module_->walk([&](plan_ir::CallOp call) { found = &call.getBody().front().front(); });
    flatbuffers::FlatBufferBuilder builder;
    absl::StatusOr<LibraryStep> step = LibraryLowerings::Default().Lower(found, builder);
    if (!step.ok()) return step.status();
    builder.Finish(flatbuffers::Offset<fb::MatmulStep>(step->body.o));
    fb::MatmulStepT table;
    flatbuffers::GetRoot<fb::MatmulStep>(builder.GetBufferPointer())->UnPackTo(&table);
    return table;
  }
  std::string Error(const std::string& op, const std::string& operands, const std::string& result,
                    const std::string& device = "<gpu, 0>") {
    const absl::Status status = Lower(op, operands, result, device).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    return std::string(status.message());
  }

  static std::vector<std::string> Split(const std::string& types) {
    std::vector<std::string> parts;
    for (size_t at = 0; at < types.size();) {
      const size_t end = std::min(types.find(", ", at), types.size());
      parts.push_back(types.substr(at, end - at));
      at = end + 2;
    }
    return parts;
  }

  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

TEST_F(LowerLinearTest, AddendScaleAndResultOfF32) {
  const auto table = Lower("sinter.matmul %a, %b addend %c scale %d {transpose_a}",
                           "tensor<5x3xbf16>, tensor<5x4xbf16>, tensor<3x4xf32>, tensor<f32>",
                           "tensor<3x4xf32>", "<cpu, 0>");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->m, 3);
  EXPECT_EQ(table->n, 4);
  EXPECT_EQ(table->k, 5);
  EXPECT_EQ(table->dtype, fb::DType::BF16);
  EXPECT_TRUE(table->result_is_f32 && table->has_addend && table->has_scale && table->transpose_a);
  EXPECT_FALSE(table->has_bias || table->is_gradient);
}

TEST_F(LowerLinearTest, GradientOfAnActivationOnAGpu) {
  const auto table =
      Lower("sinter.matmul_grad %a, %b preactivation %c activation gelu_tanh {transpose_b}",
            "tensor<24x16xbf16>, tensor<32x16xbf16>, tensor<24x32xbf16>", "tensor<24x32xbf16>", "<gpu, 0>");
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_TRUE(table->is_gradient && table->transpose_b);
  EXPECT_FALSE(table->has_bias || table->has_addend || table->has_scale || table->result_is_f32);
  EXPECT_EQ(table->activation, fb::Activation::GeluTanh);
}

TEST_F(LowerLinearTest, RefusesGradientsByName) {
  const auto error = [&](const std::string& a, const std::string& b, const std::string& x,
                         const std::string& activation = "gelu_tanh",
                         const std::string& device = "<gpu, 0>") {
    return Error("sinter.matmul_grad %a, %b preactivation %c activation " + activation,
                 absl::StrCat("tensor<", a, ">, tensor<", b, ">, tensor<", x, ">"),
                 absl::StrCat("tensor<", x, ">"), device);
  };
  EXPECT_EQ(
      error("24x16xbf16", "16x32xbf16", "24x32xbf16", "gelu_tanh", "<cpu, 0>"),
      "model.cc:7: no library computes this sinter.matmul_grad in one call: it is on a CPU, where no library "
      "does it; decompose it before lower-to-plan");
  EXPECT_THAT(error("24x16xf32", "16x32xf32", "24x32xf32"), HasSubstr("for matmuls of bf16 and f16"));
  EXPECT_THAT(error("24x0xbf16", "0x32xbf16", "24x32xbf16"), HasSubstr("a dimension is 0"));
  EXPECT_THAT(error("24x16xbf16", "16x32xbf16", "24x32xbf16", "relu"),
              HasSubstr("has the gradient of gelu_tanh only"));
  EXPECT_THAT(error("24x16xbf16", "16x32xbf16", "24x32xf32"),
              HasSubstr("what gelu_tanh is applied to in 16 bits"));
  EXPECT_THAT(error("24x16xbf16", "16x12xbf16", "24x12xbf16"), HasSubstr("rows of a multiple of 8 elements"));
  EXPECT_THAT(error("2x24x16xbf16", "2x16x32xbf16", "2x24x32xbf16"), HasSubstr("for a single matmul"));
}

// cuDNN's relu turns NaN into 0, and cuDNN has no other activation.
TEST_F(LowerLinearTest, RefusesActivationsOfConvolutionsOnAGpu) {
  const auto error = [&](const std::string& activation) {
    return Error(
        "sinter.conv2d %a, %b activation " + activation +
            " {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, "
            "1>, groups = 1 : i64}",
        "tensor<1x2x4x4xf32>, tensor<8x2x1x1xf32>", "tensor<1x8x4x4xf32>");
  };
  EXPECT_EQ(
      error("relu"),
      "model.cc:7: this convolution applies no relu: cuDNN's relu turns NaN into 0; leave it out of the "
      "convolution and write it as an op behind it");
  EXPECT_EQ(error("tanh"),
            "model.cc:7: this convolution applies no tanh: cuDNN applies no activation; leave it out of the "
            "convolution and write it as an op behind it");
}

}  // namespace
}  // namespace sinter::codegen
