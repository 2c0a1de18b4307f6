#include "sinter/tests/codegen/loops/job_cases.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "mlir/Parser/Parser.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tests/codegen/gpu_call_text.h"

namespace sinter::codegen {
namespace {

std::string TensorText(const std::string& shape, const std::string& dtype) {
  return absl::StrCat("tensor<", shape, shape.empty() ? "" : "x", dtype, ">");
}

std::string NegativeText(const std::string& shape, const std::string& dtype) {
  const std::string x = TensorText(shape, dtype);
  return GpuCallText({x}, {x}, absl::StrCat("%r = sinter.neg %a0 : ", x, "\nsinter.yield %r : ", x));
}

// Adds a vector along dimension `dim`.
std::string BiasText(const std::string& shape, const std::string& bias, int dim) {
  const std::string x = TensorText(shape, "f32"), b = TensorText(bias, "f32");
  return GpuCallText({x, b}, {x},
                     absl::StrCat("%b = sinter.broadcast %a1 [", dim, "] : ", b, " -> ", x,
                                  "\n%r = sinter.add %a0, %b : ", x, "\nsinter.yield %r : ", x));
}

std::string ReduceText(const std::string& op, const std::string& from, const std::string& dims,
                       const std::string& to, const std::string& dtype) {
  const std::string x = TensorText(from, dtype), r = TensorText(to, op == "argmax" ? "i64" : dtype);
  return GpuCallText(
      {x}, {r},
      absl::StrCat("%r = sinter.", op, " %a0 ", dims, " : ", x, " -> ", r, "\nsinter.yield %r : ", r));
}

// Stores exp(x) and its column sums.
std::string StoredSumsText(int rows, int columns) {
  const std::string x = absl::StrCat("tensor<", rows, "x", columns, "xf32>"),
                    c = absl::StrCat("tensor<", columns, "xf32>");
  return GpuCallText({x}, {x, c},
                     absl::StrCat("%e = sinter.exp %a0 : ", x, "\n%r = sinter.sum %e [0] : ", x, " -> ", c,
                                  "\nsinter.yield %e, %r : ", x, ", ", c));
}

// Divides by the root of a channel's variance, as an inference batch norm in nhwc does.
std::string ChannelsText(int rows) {
  const std::string x = absl::StrCat("tensor<", rows, "x256xbf16>"),
                    w = absl::StrCat("tensor<", rows, "x256xf32>");
  const std::string body = R"(
    %wide = sinter.cast %a0 : $X -> $W
    %mean = sinter.broadcast %a1 [1] : tensor<256xf32> -> $W
    %left = sinter.sub %wide, %mean : $W
    %root = sinter.sqrt %a2 : tensor<256xf32>
    %deviation = sinter.broadcast %root [1] : tensor<256xf32> -> $W
    %normal = sinter.div %left, %deviation : $W
    %index32 = sinter.cast %normal : $W -> $X
    sinter.yield %index32 : $X)";
  return GpuCallText({x, "tensor<256xf32>", "tensor<256xf32>"}, {x},
                     absl::StrReplaceAll(body, {{"$X", x}, {"$W", w}}));
}

// Stores rows minus their sums, the column sums of x and those of the difference.
std::string RowsAndColumnsText(int rows, int columns) {
  const std::string x = absl::StrCat("tensor<", rows, "x", columns, "xf32>"),
                    r = absl::StrCat("tensor<", rows, "xf32>"), c = absl::StrCat("tensor<", columns, "xf32>");
  const std::string body = R"(
    %all = sinter.sum %a0 [0] : $X -> $C
    %row = sinter.sum %a0 [1] : $X -> $R
    %rows = sinter.broadcast %row [0] : $R -> $X
    %left = sinter.sub %a0, %rows : $X
    %sum = sinter.sum %left [0] : $X -> $C
    sinter.yield %left, %all, %sum : $X, $C, $C)";
  return GpuCallText({x}, {x, c, c}, absl::StrReplaceAll(body, {{"$X", x}, {"$C", c}, {"$R", r}}));
}

}  // namespace

std::vector<JobCase> AllJobCases() {
  return {
      {"flat", NegativeText("4096", "f32")},
      {"flat with a tail", NegativeText("70003", "bf16")},
      {"one number", NegativeText("", "f32")},
      {"rows of a map", BiasText("64x100", "100", 1)},
      {"odd rows of a map", BiasText("5x33", "33", 1)},
      {"long rows of a map", BiasText("8x20000", "8", 0)},
      {"much of a map", BiasText("32768x1000", "1000", 1)},
      {"transposed", AddTransposedText("f32")},
      {"transposed bytes", AddTransposedText("i8")},
      {"channels", ChannelsText(33792)},
      {"channels with a tail", ChannelsText(33800)},
      {"channels in passes", ChannelsText(401408)},
      {"short rows", SoftmaxText("33", "45", "f32")},
      {"rows of a warp", SoftmaxText("19", "250", "bf16")},
      {"many rows of a warp", SoftmaxText("4227", "300", "f32")},
      {"rows of warps", SoftmaxText("3", "3001", "f32")},
      {"rows in place", SoftmaxText("66", "1024", "f16", /*in_place=*/true)},
      {"rows not kept", SoftmaxText("66", "33003", "f32")},
      {"longest rows", ReduceText("max", "1024x50304", "[1]", "1024", "bf16")},
      {"rows of thousands", ReduceText("sum", "8192x4096", "[1]", "8192", "bf16")},
      {"outer and inner", ReduceText("sum", "8x64x32", "[0, 2]", "64", "f32")},
      {"middle", ReduceText("sum", "8x64x32", "[1]", "8x32", "f32")},
      {"everything", ReduceText("sum", "1048576", "[0]", "", "f32")},
      {"everything of odd size", ReduceText("sum", "1000003", "[0]", "", "f32")},
      {"place of the largest", ReduceText("argmax", "200000x3", "dim 0", "3", "f32")},
      {"few columns", ReduceText("sum", "100003x7", "[0]", "7", "f32")},
      {"columns", ReduceText("sum", "50x33", "[0]", "33", "f32")},
      {"columns in chunks", ReduceText("sum", "65536x256", "[0]", "256", "bf16")},
      {"wide columns in chunks", ReduceText("sum", "65536x2304", "[0]", "2304", "f32")},
      {"stored columns in chunks", StoredSumsText(4096, 512)},
      {"rows and columns", RowsAndColumnsText(16896, 128)},
      {"long rows and columns", RowsAndColumnsText(4224, 4096)},
      {"few rows and columns", RowsAndColumnsText(40, 4096)},
  };
}

std::string JobCaseText(const std::string& name) {
  for (const JobCase& c : AllJobCases()) {
    if (c.name == name) return c.text;
  }
  SINTER_CHECK(false) << "no case " << name;
  return "";
}

ParsedCall::ParsedCall(const std::string& text) : context_(mlir::MLIRContext::Threading::DISABLED) {
  mlir::DialectRegistry registry;
  ir::RegisterDialects(registry);
  context_.appendDialectRegistry(registry);
  context_.loadAllAvailableDialects();
  module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
  SINTER_CHECK(module_) << text;
  module_->walk([&](plan_ir::CallOp op) { call_ = op; });
}

}  // namespace sinter::codegen
