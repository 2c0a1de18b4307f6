// The catalogue of hand-written CUDA kernels: the kernels of each op, and that NVRTC compiles them.
//
// NVRTC compiles for the architectures of plans. The test needs no GPU. tests/numerics/op_test.cc checks the
// results on a GPU.
#include "sinter/codegen/cuda/catalog/cuda_catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "sinter/codegen/cuda/compile_cubins.h"
#include "sinter/codegen/cuda/nvrtc.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/tests/codegen/cuda_catalog_cases.h"

namespace sinter::codegen {
namespace {

using ::testing::HasSubstr;

class CudaCatalogTest : public ::testing::Test {
 protected:
  CudaCatalogTest() {
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    context_ = std::make_unique<mlir::MLIRContext>(registry);
    context_->loadAllAvailableDialects();
  }

  // Returns the only op of the function, with location model.cc:7.
  mlir::Operation* Parse(const std::string& arguments, const std::string& op) {
    const bool has_two = op.find("max_pool2d %a") != std::string::npos || op.starts_with("sinter.top_k") ||
                         op.starts_with("sinter.sort");
    const bool has_three =
        op.find(" rows %") != std::string::npos || op.starts_with("sinter.attention_grad %q");
    const char* const results = has_three ? "%r:3 = " : has_two ? "%r:2 = " : "%r = ";
    std::string text = absl::StrCat("func.func @f(", arguments, ") {\n  ", results, op,
                                    " loc(\"model.cc\":7:1)\n  return\n}\n");
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, context_.get());
    if (!module_) ADD_FAILURE() << text;
    return module_ ? &*module_->lookupSymbol<mlir::func::FuncOp>("f").getBody().front().begin() : nullptr;
  }
  mlir::Operation* Parse(const Case& c, const std::string& dtype) {
    return Parse(absl::StrReplaceAll(c.arguments, {{"$T", dtype}}),
                 absl::StrReplaceAll(c.op, {{"$T", dtype}}));
  }
  absl::StatusOr<CudaCatalogCall> Lower(const std::string& arguments, const std::string& op) {
    mlir::Operation* parsed = Parse(arguments, op);
    if (!parsed) return absl::InternalError("not parsed");
    return CudaCatalog::Default().Lower(parsed);
  }

  // Lowers every case in every type. `sources` gets each distinct source once, by its text.
  void LowerAll(const std::vector<Case>& cases, std::map<std::string, CudaSource>& sources) {
    for (const Case& c : cases) {
      std::vector<std::string> dtypes = absl::StrSplit(c.dtypes, ' ');
      for (const std::string& dtype : dtypes) {
        SCOPED_TRACE(absl::StrCat(c.name, " in ", dtype));
        mlir::Operation* op = Parse(c, dtype);
        ASSERT_NE(op, nullptr);
        EXPECT_TRUE(CudaCatalog::Default().Has(op));
        absl::StatusOr<CudaCatalogCall> call = CudaCatalog::Default().Lower(op);
        ASSERT_TRUE(call.ok()) << call.status();
        Check(op, *call, c);
        for (const CudaCatalogLaunch& launch : call->launches)
          sources.emplace(launch.source().text, launch.source());
      }
    }
  }

  // Checks the guarantees for the plan: launches, buffers inside the workspace, every result written.
  void Check(mlir::Operation* op, const CudaCatalogCall& call, const Case& c) {
    std::vector<bool> is_written(op->getNumResults(), false);
    ASSERT_EQ(call.launches.size(), c.kernels.size());
    for (size_t i = 0; i < call.launches.size(); ++i) {
      const CudaCatalogLaunch& launch = call.launches[i];
      const CudaSource source = launch.source();
      const std::string& symbol = source.symbol;
      EXPECT_EQ(symbol.substr(0, symbol.rfind('_')), c.kernels[i]);
      EXPECT_THAT(source.text, HasSubstr(absl::StrCat(" ", symbol, "(const __grid_constant__ Buffers b)")));
      EXPECT_THAT(source.text,
                  HasSubstr(absl::StrCat("char* p[", launch.inputs.size() + launch.outputs.size(), "];")));
      EXPECT_GT(launch.grid, 0);
      EXPECT_EQ(launch.block % 32, 0);
      for (const auto* slots : {&launch.inputs, &launch.outputs}) {
        for (const Slot& slot : *slots) {
          if (slot.kind != Slot::Kind::kWorkspace) continue;
          EXPECT_EQ(slot.offset % 256, 0);
          EXPECT_LE(slot.offset + plan_ir::TensorBytes(slot.type), call.workspace_bytes);
        }
      }
      for (const Slot& slot : launch.outputs) {
        EXPECT_NE(slot.kind, Slot::Kind::kIn);
        if (slot.kind == Slot::Kind::kOut) is_written[slot.index] = true;
      }
    }
    EXPECT_THAT(is_written, ::testing::Each(true));
  }

  void Compile(const std::vector<Case>& cases) {
    std::map<std::string, CudaSource> sources;
    LowerAll(cases, sources);
    if (auto nvrtc = Nvrtc::Get(); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
    // Distributes the sources over the architectures, so that every kernel meets each architecture with some
    // type.
    const std::vector<std::string> architectures = {"sm_80", "sm_90", "sm_100"};
    std::vector<std::vector<CudaSource>> parts(architectures.size());
    size_t next = 0;
    for (const auto& [text, source] : sources) parts[next++ % parts.size()].push_back(source);
    for (size_t i = 0; i < parts.size(); ++i) {
      auto cubins = CompileCubins(parts[i], {architectures[i]}, {.cache_folder = "off"});
      EXPECT_TRUE(cubins.ok()) << architectures[i] << ": " << cubins.status();
    }
  }

  std::unique_ptr<mlir::MLIRContext> context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

TEST_F(CudaCatalogTest, PoolsCompile) { Compile(PoolCases()); }
TEST_F(CudaCatalogTest, CumsumsCompile) { Compile(CumsumCases()); }
TEST_F(CudaCatalogTest, TopKsCompile) {
  Compile({{"top_k",
            kNumbers,
            "%a: tensor<8x50257x$T>",
            "sinter.top_k %a k 40 : tensor<8x50257x$T> -> tensor<8x40x$T>, tensor<8x40xi32>",
            {"top_k"}}});
}
TEST_F(CudaCatalogTest, AttentionsOfFewQueriesCompile) {
  Compile(
      {{"one query of groups",
        "f32 bf16 f16",
        "%a: tensor<2x1x8x64x$T>, %b: tensor<2x2x1000x64x$T>, %c: tensor<2x1x1x1000x$T>",
        "sinter.few_queries_attention %a, %b, %b bias %c heads 8 by_head {scale = 0.125 : f64} : "
        "(tensor<2x1x8x64x$T>, tensor<2x2x1000x64x$T>, tensor<2x2x1000x64x$T>, tensor<2x1x1x1000x$T>) -> "
        "tensor<2x1x8x64x$T>",
        {"few_queries_attention"}},
       {"new rows of caches",
        "f32 bf16 f16",
        "%a: tensor<1x2x12x256x$T>, %b: tensor<1x2x100x256x$T>, %c: tensor<1x1x12x256x$T>, %d: tensor<1xi64>",
        "sinter.few_queries_attention %a, %b, %b rows %c, %c at %d heads 8 by_head causal {scale = 0.125 : "
        "f64, "
        "first_head = 4 : i64, first_value = 10 : i64} : (tensor<1x2x12x256x$T>, tensor<1x2x100x256x$T>, "
        "tensor<1x2x100x256x$T>, tensor<1x1x12x256x$T>, tensor<1x1x12x256x$T>, tensor<1xi64>) -> "
        "(tensor<1x2x8x256x$T>, tensor<1x2x100x256x$T>, tensor<1x2x100x256x$T>)",
        {"few_queries_attention"}}});
}
TEST_F(CudaCatalogTest, SortsCompile) { Compile(SortCases()); }
TEST_F(CudaCatalogTest, ScattersCompile) { Compile(ScatterCases()); }
TEST_F(CudaCatalogTest, PermutationsCompile) { Compile(PermutationCases()); }
TEST_F(CudaCatalogTest, MatmulsCompile) { Compile(MatmulCases()); }
TEST_F(CudaCatalogTest, ConvolutionsCompile) { Compile(ConvCases()); }

// Kernels for plans for GPUs of compute capability 9.0 alone, with heads and masks that they know.
TEST_F(CudaCatalogTest, AttentionGradientsCompileForHopper) {
  const auto gradient = [](const std::string& attributes, const std::string& dtype) {
    const std::string o = absl::StrCat("tensor<2x200x6x64x", dtype, ">"),
                      kv = absl::StrCat("tensor<2x333x3x64x", dtype, ">"), stats = "tensor<2x6x200xf32>";
    return Case{
        "attention_grad of groups",
        dtype,
        absl::StrCat("%q: ", o, ", %k: ", kv, ", %v: ", kv, ", %o: ", o, ", %s: ", stats, ", %g: ", o),
        absl::StrCat("sinter.attention_grad %q, %k, %v result %o stats %s gradient %g ", attributes, " : (",
                     o, ", ", kv, ", ", kv, ", ", o, ", ", stats, ", ", o, ") -> (", o, ", ", kv, ", ", kv,
                     ")"),
        {"attention_query_grad", "attention_key_grad"}};
  };
  const auto packed = [](const std::string& attributes, const std::string& dtype, int width) {
    const std::string o = absl::StrCat("tensor<2x1024x12x", width, "x", dtype, ">"),
                      qkv = absl::StrCat("tensor<2x1024x3x12x", width, "x", dtype, ">"),
                      stats = "tensor<2x12x1024xf32>";
    return Case{"attention_grad",
                dtype,
                absl::StrCat("%x: ", qkv, ", %o: ", o, ", %s: ", stats, ", %g: ", o),
                absl::StrCat("sinter.attention_grad %x result %o stats %s gradient %g ", attributes, " : (",
                             qkv, ", ", o, ", ", stats, ", ", o, ") -> ", qkv),
                {"attention_query_grad", "attention_key_grad"}};
  };
  std::map<std::string, CudaSource> sources;
  for (const std::string dtype : {"bf16", "f16"}) {
    LowerAll({gradient("causal {scale = 0.125 : f64, sinter.hopper}", dtype),
              gradient("{scale = 0.125 : f64, sinter.hopper}", dtype),
              packed("causal {scale = 0.125 : f64, sinter.hopper}", dtype, 64)},
             sources);
  }
  EXPECT_EQ(sources.size(), 12u);
  const auto has = [&](const Case& c) { return CudaCatalog::Default().Has(Parse(c, c.dtypes)); };
  EXPECT_FALSE(has(packed("causal {scale = 0.125 : f64}", "bf16", 64)));
  EXPECT_FALSE(has(packed("causal {scale = 0.125 : f64, sinter.hopper}", "bf16", 80)));
  EXPECT_FALSE(has(packed("causal window 100 {scale = 0.125 : f64, sinter.hopper}", "bf16", 64)));
  if (auto nvrtc = Nvrtc::Get(); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  std::vector<CudaSource> all;
  for (const auto& [text, source] : sources) all.push_back(source);
  auto cubins = CompileCubins(all, {"sm_90"}, {.cache_folder = "off"});
  EXPECT_TRUE(cubins.ok()) << cubins.status();
}

TEST_F(CudaCatalogTest, SameOpSameText) {
  const std::string arguments = "%a: tensor<2x1000000xf32>",
                    op = "sinter.cumsum %a dim 1 : tensor<2x1000000xf32>";
  absl::StatusOr<CudaCatalogCall> first = Lower(arguments, op), second = Lower(arguments, op);
  ASSERT_TRUE(first.ok() && second.ok());
  ASSERT_EQ(first->launches.size(), second->launches.size());
  for (size_t i = 0; i < first->launches.size(); ++i) {
    EXPECT_EQ(first->launches[i].source().symbol, second->launches[i].source().symbol);
    EXPECT_EQ(first->launches[i].source().text, second->launches[i].source().text);
  }
  EXPECT_EQ(first->workspace_bytes, second->workspace_bytes);
  EXPECT_EQ(first->flops, 2e6);
}

TEST_F(CudaCatalogTest, EmptyTensorsLaunchNothing) {
  for (const auto& [arguments, op] : std::map<std::string, std::string>{
           {"%a: tensor<0x3x4x4xf32>",
            "sinter.avg_pool2d %a {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = "
            "array<i64: 0, 0, 0, 0>} : "
            "tensor<0x3x4x4xf32> -> tensor<0x3x2x2xf32>"},
           {"%a: tensor<4x0xi32>", "sinter.cumsum %a dim 1 : tensor<4x0xi32>"},
           {"%a: tensor<0x4xf32>, %b: tensor<3xi32>, %c: tensor<3x4xf32>",
            "sinter.scatter_add %a [%b], %c dim 0 : tensor<0x4xf32>, tensor<3xi32>, tensor<3x4xf32>"},
           {"%a: tensor<i64>, %b: tensor<i64>",
            "sinter.random_permutation %a, %b stream 1 : tensor<i64>, tensor<i64> -> tensor<0xi32>"},
           {"%a: tensor<0x3xi32>, %b: tensor<3x4xi32>",
            "sinter.matmul %a, %b : (tensor<0x3xi32>, tensor<3x4xi32>) -> tensor<0x4xi32>"}}) {
    absl::StatusOr<CudaCatalogCall> call = Lower(arguments, op);
    ASSERT_TRUE(call.ok()) << op << call.status();
    EXPECT_TRUE(call->launches.empty()) << op;
    EXPECT_EQ(call->workspace_bytes, 0) << op;
  }
}

// Empty updates and empty sums still give a result.
TEST_F(CudaCatalogTest, EmptyOperandsStillGiveAResult) {
  absl::StatusOr<CudaCatalogCall> scatter =
      Lower("%a: tensor<5x4xf32>, %b: tensor<0xi32>, %c: tensor<0x4xf32>",
            "sinter.scatter_add %a [%b], %c dim 0 : tensor<5x4xf32>, tensor<0xi32>, tensor<0x4xf32>");
  ASSERT_TRUE(scatter.ok()) << scatter.status();
  EXPECT_EQ(scatter->launches.size(), 1u);
  absl::StatusOr<CudaCatalogCall> matmul =
      Lower("%a: tensor<3x0xi32>, %b: tensor<0x4xi32>",
            "sinter.matmul %a, %b : (tensor<3x0xi32>, tensor<0x4xi32>) -> tensor<3x4xi32>");
  ASSERT_TRUE(matmul.ok()) << matmul.status();
  EXPECT_EQ(matmul->launches.size(), 1u);
}

TEST_F(CudaCatalogTest, PositionsHave64BitsWhereTheyMust) {
  auto text_of = [&](const std::string& rows) {
    std::string type = absl::StrCat("tensor<", rows, "x3000xf32>");
    absl::StatusOr<CudaCatalogCall> call =
        Lower("%a: " + type, absl::StrCat("sinter.cumsum %a dim 1 : ", type));
    return call.ok() ? call->launches[0].source().text : call.status().ToString();
  };
  EXPECT_THAT(text_of("1000"), HasSubstr("typedef i32 idx;"));
  EXPECT_THAT(text_of("1000000"), HasSubstr("typedef i64 idx;"));
}

// Convolutions that are exact, large, grouped, or of other types or layouts.
TEST_F(CudaCatalogTest, LeavesOtherConvolutionsToTheLibrary) {
  auto has = [&](const std::string& x, const std::string& w, const std::string& y, const std::string& dtype,
                 const std::string& attributes) {
    auto type = [&](const std::string& dims) { return absl::StrCat("tensor<", dims, "x", dtype, ">"); };
    mlir::Operation* parsed = Parse(
        absl::StrCat("%a: ", type(x), ", %b: ", type(w)),
        absl::StrCat(
            "sinter.conv2d %a, %b {strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = "
            "array<i64: 1, 1>, ",
            attributes, "} : (", type(x), ", ", type(w), ") -> ", type(y)));
    return parsed && CudaCatalog::Default().Has(parsed);
  };
  const std::string tf32 = "math = 1 : i32, groups = 1 : i64";
  EXPECT_TRUE(has("4x4x8x8", "6x4x3x3", "4x6x6x6", "f32", tf32));
  EXPECT_FALSE(has("4x4x8x8", "6x4x3x3", "4x6x6x6", "f32", "groups = 1 : i64"));
  EXPECT_FALSE(has("4x4x8x8", "6x4x3x3", "4x6x6x6", "f64", "groups = 1 : i64"));
  EXPECT_TRUE(has("4x4x8x8", "6x4x3x3", "4x6x6x6", "bf16", "groups = 1 : i64"));
  EXPECT_FALSE(has("4x4x8x8", "6x2x3x3", "4x6x6x6", "bf16", "groups = 2 : i64"));
  EXPECT_FALSE(has("64x64x58x58", "64x64x3x3", "64x64x56x56", "bf16", "groups = 1 : i64"));
  EXPECT_FALSE(has("4x4x8x8", "6x2x3x3", "4x6x6x6", "f32", "math = 1 : i32, groups = 2 : i64"));
  EXPECT_TRUE(has("4x8x8x4", "6x4x3x3", "4x6x6x6", "f32", absl::StrCat("layout = 1 : i32, ", tf32)));
  EXPECT_FALSE(has("4x8x8x4", "6x4x3x3", "4x6x6x6", "f32", "layout = 1 : i32, groups = 1 : i64"));
  EXPECT_FALSE(has("0x4x8x8", "6x4x3x3", "0x6x6x6", "f32", tf32));
  EXPECT_TRUE(has("4x4x8x8", "65x4x3x3", "4x65x6x6", "f32", tf32));
  EXPECT_FALSE(has("64x64x58x58", "64x64x3x3", "64x64x56x56", "f32", tf32));
  EXPECT_FALSE(
      has("64x58x58x64", "64x64x3x3", "64x56x56x64", "f32", absl::StrCat("layout = 1 : i32, ", tf32)));
}

// An image a block pays for many images of few channels. A few images have few blocks, so pixels and channels
// are distributed instead, in either layout.
TEST_F(CudaCatalogTest, ConvolutionsOfFewImagesHaveManyBlocks) {
  auto call_of = [&](const std::string& x, const std::string& w, const std::string& y, int layout) {
    auto type = [](const std::string& dims) { return absl::StrCat("tensor<", dims, "xf32>"); };
    absl::StatusOr<CudaCatalogCall> call = Lower(
        absl::StrCat("%a: ", type(x), ", %b: ", type(w)),
        absl::StrCat("sinter.conv2d %a, %b {math = 1 : i32, groups = 1 : i64, strides = array<i64: 1, 1>, "
                     "padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, layout = ",
                     layout, " : i32} : (", type(x), ", ", type(w), ") -> ", type(y)));
    EXPECT_TRUE(call.ok()) << call.status();
    return call.ok() ? call->launches[0] : CudaCatalogLaunch();
  };
  const CudaCatalogLaunch many = call_of("256x20x13x13", "50x20x5x5", "256x50x9x9", 0);
  EXPECT_THAT(many.source().text, HasSubstr("  Convolve("));
  EXPECT_EQ(many.grid, 256);
  for (const int layout : {0, 1}) {
    const CudaCatalogLaunch few = layout == 0 ? call_of("3x128x12x16", "3x128x5x5", "3x3x8x12", 0)
                                              : call_of("3x12x16x128", "3x128x5x5", "3x8x12x3", 1);
    EXPECT_THAT(few.source().text, HasSubstr("  ConvolveDirectly("));
    EXPECT_GE(few.grid, 18);
  }
}

// If images are larger than g, or strides are not 1: columns and their sum. Otherwise: a convolution with the
// flipped weights.
TEST_F(CudaCatalogTest, GradientsOfImagesGoTheShorterWay) {
  auto text_of = [&](const std::string& g, const std::string& w, const std::string& x,
                     const std::string& strides, const std::string& padding) {
    auto type = [](const std::string& dims) { return absl::StrCat("tensor<", dims, "xf32>"); };
    absl::StatusOr<CudaCatalogCall> call =
        Lower(absl::StrCat("%a: ", type(g), ", %b: ", type(w)),
              absl::StrCat(
                  "sinter.conv2d_input_grad %a, %b {math = 1 : i32, groups = 1 : i64, strides = array<i64: ",
                  strides, ">, padding = array<i64: ", padding, ">, dilations = array<i64: 1, 1>} : (",
                  type(g), ", ", type(w), ") -> ", type(x)));
    return call.ok() ? call->launches[0].source().text : call.status().ToString();
  };
  const std::string columns = "  ImageGrad(", turned = "  Convolve(";
  EXPECT_THAT(text_of("256x50x9x9", "50x20x5x5", "256x20x13x13", "1, 1", "0, 0, 0, 0"), HasSubstr(columns));
  EXPECT_THAT(text_of("4x6x3x3", "6x4x3x3", "4x4x8x8", "2, 2", "0, 0, 0, 0"), HasSubstr(columns));
  EXPECT_THAT(text_of("7x16x32x32", "16x16x3x3", "7x16x32x32", "1, 1", "1, 1, 1, 1"), HasSubstr(turned));
}

TEST_F(CudaCatalogTest, LeavesMatmulsToTheLibrary) {
  const std::string plain = "sinter.matmul %a, %b : (tensor<4x4x$T>, tensor<4x4x$T>) -> tensor<4x4x$T>";
  const std::string fused =
      "sinter.matmul %a, %b bias %c {activation = $A : i32} : (tensor<4x4x$T>, tensor<4x4x$T>, tensor<4x$T>) "
      "-> tensor<4x4x$T>";
  auto has = [&](const std::string& op, const std::string& dtype, const std::string& activation) {
    mlir::Operation* parsed = Parse(
        absl::StrReplaceAll("%a: tensor<4x4x$T>, %b: tensor<4x4x$T>, %c: tensor<4x$T>", {{"$T", dtype}}),
        absl::StrReplaceAll(op, {{"$T", dtype}, {"$A", activation}}));
    return parsed && CudaCatalog::Default().Has(parsed);
  };
  for (std::string dtype : {"f64", "bf16", "f16"}) EXPECT_FALSE(has(plain, dtype, "")) << dtype;
  for (std::string dtype : {"i64", "i32", "i8", "ui8"}) EXPECT_TRUE(has(plain, dtype, "")) << dtype;
  // In tf32 the catalogue takes matmuls of few tiles.
  const auto tf32 = [&](const std::string& size, const std::string& more) {
    const std::string type = absl::StrCat("tensor<", size, "x", size, "xf32>");
    mlir::Operation* parsed = Parse(
        absl::StrCat("%a: ", type, ", %b: ", type),
        absl::StrCat("sinter.matmul %a, %b {math = 1 : i32", more, "} : (", type, ", ", type, ") -> ", type));
    return parsed && CudaCatalog::Default().Has(parsed);
  };
  EXPECT_TRUE(tf32("4", ""));
  EXPECT_TRUE(tf32("256", ", activation = 1 : i32"));
  EXPECT_FALSE(tf32("256", ", activation = 3 : i32"));
  EXPECT_FALSE(tf32("512", ""));
  for (std::string activation : {"0", "3"}) {
    EXPECT_FALSE(has(fused, "bf16", activation)) << activation;
    EXPECT_TRUE(has(fused, "f64", activation)) << activation;
  }
  for (std::string activation : {"1", "2", "4", "5", "6"})
    EXPECT_TRUE(has(fused, "bf16", activation)) << activation;
  // In f32 the catalogue takes matmuls of few rows.
  const auto f32 = [&](int64_t m, int64_t n, int64_t k, const std::string& more = "") {
    const std::string a = absl::StrCat("tensor<", m, "x", k, "xf32>"),
                      b = absl::StrCat("tensor<", k, "x", n, "xf32>"),
                      y = absl::StrCat("tensor<", m, "x", n, "xf32>");
    mlir::Operation* parsed = Parse(absl::StrCat("%a: ", a, ", %b: ", b, ", %y: ", y),
                                    absl::StrCat("sinter.matmul %a, %b", more, " : (", a, ", ", b,
                                                 more.empty() ? "" : absl::StrCat(", ", y), ") -> ", y));
    return parsed && CudaCatalog::Default().Has(parsed);
  };
  EXPECT_TRUE(f32(16, 512, 128));
  EXPECT_TRUE(f32(16, 512, 2048));
  EXPECT_FALSE(f32(16, 512, 2049));
  EXPECT_FALSE(f32(16, 513, 2048));
  EXPECT_TRUE(f32(32, 256, 2048));
  EXPECT_FALSE(f32(17, 257, 2048));
  EXPECT_FALSE(f32(33, 8, 8));
  EXPECT_FALSE(f32(16, 512, 128, " addend %y"));
}

// Messages for ops without a kernel name the user's line and a remedy.
TEST_F(CudaCatalogTest, Messages) {
  auto message = [&](const std::string& arguments, const std::string& op) {
    absl::Status status = Lower(arguments, op).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kUnimplemented);
    return std::string(status.message());
  };
  EXPECT_EQ(
      message(
          "%a: tensor<1x3x4x4x16xf32>",
          "sinter.avg_pool2d %a {layout = 2 : i32, window = array<i64: 2, 2>, strides = array<i64: 2, 2>, "
          "padding = array<i64: 0, 0, 0, 0>} : tensor<1x3x4x4x16xf32> -> tensor<1x3x2x2x16xf32>"),
      "model.cc:7: sinter.avg_pool2d in layout nchw16n has no kernel for GPUs; expected nchw or nhwc, "
      "nchw16n is for CPUs");
  EXPECT_EQ(message("%a: tensor<4xf32>", "sinter.exp %a : tensor<4xf32>"),
            "model.cc:7: sinter.exp has no kernel for GPUs");
  EXPECT_EQ(message("%a: tensor<4x4xf64>",
                    "sinter.matmul %a, %a : (tensor<4x4xf64>, tensor<4x4xf64>) -> tensor<4x4xf64>"),
            "model.cc:7: sinter.matmul to tensor<4x4xf64> has no kernel in the catalogue for GPUs; a library "
            "computes it");
  EXPECT_EQ(
      message("%a: tensor<4x4xf32>, %b: tensor<f32>",
              "sinter.matmul %a, %a scale %b activation gelu : (tensor<4x4xf32>, tensor<4x4xf32>, "
              "tensor<f32>) -> tensor<4x4xf32>"),
      "model.cc:7: a matmul with an addend, a scale or a result of f32 from 16-bit operands is cuBLASLt's "
      "on a GPU, which has no activation but gelu_tanh, and in f64 neither bias nor activation: leave those "
      "out of it");
  EXPECT_EQ(
      message(
          "%a: tensor<i64>, %b: tensor<i64>",
          "sinter.random_permutation %a, %b stream 1 : tensor<i64>, tensor<i64> -> tensor<3000000000xi64>"),
      "model.cc:7: a random_permutation on a GPU has at most 2147483647 numbers, not 3000000000; permute "
      "parts");
  EXPECT_EQ(message("%a: tensor<5xi8>, %b: tensor<3000000000xi32>, %c: tensor<3000000000xi8>",
                    "sinter.scatter_add %a [%b], %c dim 0 : tensor<5xi8>, tensor<3000000000xi32>, "
                    "tensor<3000000000xi8>"),
            "model.cc:7: a scatter on a GPU has at most 2147483647 indices, not 3000000000; scatter parts of "
            "the updates");
  EXPECT_EQ(
      message(
          "%a: tensor<5000000000xi8>, %b: tensor<2000xi64>, %c: tensor<2000xi8>",
          "sinter.scatter_add %a [%b], %c dim 0 : tensor<5000000000xi8>, tensor<2000xi64>, tensor<2000xi8>"),
      "model.cc:7: a scatter on a GPU indexes at most 4294967294 places, not 5000000000; split the "
      "dimension");
  EXPECT_EQ(
      message("%a: tensor<100000000000x1000xf64>", "sinter.cumsum %a dim 1 : tensor<100000000000x1000xf64>"),
      "model.cc:7: sinter.cumsum is too large for a GPU: it takes 100000000000 blocks of threads and a "
      "launch has at most "
      "2147483647; split the tensor");
}

}  // namespace
}  // namespace sinter::codegen
