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

namespace sinter::codegen {
namespace {

using ::testing::HasSubstr;

constexpr char kFloats[] = "f64 f32 bf16 f16";
constexpr char kIntegers[] = "i64 i32 i8 ui8";
constexpr char kNumbers[] = "f64 f32 bf16 f16 i64 i32 i8 ui8";

// An op with each of the types `dtypes` for $T, and the names of the kernels that it lowers to.
struct Case {
  std::string name, dtypes, arguments, op;
  std::vector<std::string> kernels;
};

std::vector<Case> PoolCases() {
  std::vector<Case> cases;
  auto add = [&](std::string name, const std::string& x, const std::string& y,
                 const std::string& attributes) {
    std::string large = absl::StrCat("tensor<", x, "x$T>"), small = absl::StrCat("tensor<", y, "x$T>"),
                marks = absl::StrCat("tensor<", y, "xui8>");
    absl::StrAppend(&name, " ");
    cases.push_back(
        {name + "max",
         kFloats,
         "%a: " + large,
         absl::StrCat("sinter.max_pool2d %a {", attributes, "} : ", large, " -> ", small, ", ", marks),
         {"max_pool2d"}});
    cases.push_back({name + "max_grad",
                     kFloats,
                     absl::StrCat("%a: ", small, ", %b: ", marks),
                     absl::StrCat("sinter.max_pool2d_grad %a, %b {", attributes, "} : ", small, ", ", marks,
                                  " -> ", large),
                     {"max_pool2d_grad"}});
    cases.push_back({name + "avg",
                     kFloats,
                     "%a: " + large,
                     absl::StrCat("sinter.avg_pool2d %a {", attributes, "} : ", large, " -> ", small),
                     {"avg_pool2d"}});
    cases.push_back({name + "avg_grad",
                     kFloats,
                     "%a: " + small,
                     absl::StrCat("sinter.avg_pool2d_grad %a {", attributes, "} : ", small, " -> ", large),
                     {"avg_pool2d_grad"}});
  };
  add("halves", "8x3x32x32", "8x3x16x16",
      "window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>");
  add("overlapping", "8x64x57x57", "8x64x29x29",
      "window = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>");
  add("whole image", "2x5x14x14", "2x5x1x1",
      "window = array<i64: 14, 14>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>");
  add("channels last", "16x56x56x64", "16x28x28x64",
      "layout = 1 : i32, window = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1, "
      "1, 1>");
  return cases;
}

std::vector<std::string> SortKernels(const std::string& name, int passes) {
  std::vector<std::string> kernels;
  for (int pass = 0; pass < passes; ++pass) {
    for (const char* part : {"_count", "_place", "_move"}) kernels.push_back(name + part);
  }
  return kernels;
}

std::vector<Case> CumsumCases() {
  auto cumsum = [](const std::string& name, const std::string& dims, int dim,
                   std::vector<std::string> kernels) {
    std::string type = absl::StrCat("tensor<", dims, "x$T>");
    return Case{"cumsum " + name, kNumbers, "%a: " + type,
                absl::StrCat("sinter.cumsum %a dim ", dim, " : ", type), std::move(kernels)};
  };
  std::vector<Case> cases = {
      cumsum("of short rows", "1000x7", 1, {"cumsum"}),
      cumsum("of rows", "5000x3000", 1, {"cumsum"}),
      cumsum("of long rows", "2x1000000", 1, {"cumsum_totals", "cumsum"}),
      cumsum("of columns", "64x100x512", 1, {"cumsum"}),
      cumsum("of long columns", "100000x3", 0, {"cumsum_totals", "cumsum"}),
  };
  Case reverse = cumsum("from the end", "3x5000", 1, {"cumsum"});
  reverse.op = absl::StrReplaceAll(reverse.op, {{" : ", " {reverse} : "}});
  reverse.dtypes = "f32 i8";
  cases.push_back(reverse);
  return cases;
}

std::vector<Case> ScatterCases() {
  auto scatter = [](const std::string& name, const std::string& x, const std::string& indices,
                    const std::string& updates, std::vector<std::string> kernels) {
    std::string type = absl::StrCat("tensor<", x, "x$T>"), from = absl::StrCat("tensor<", updates, "x$T>"),
                at = absl::StrCat("tensor<", indices, ">");
    return Case{"scatter_add " + name, kNumbers, absl::StrCat("%a: ", type, ", %b: ", at, ", %c: ", from),
                absl::StrCat("sinter.scatter_add %a [%b], %c dim 0 : ", type, ", ", at, ", ", from),
                std::move(kernels)};
  };
  std::vector<std::string> sorted = SortKernels("scatter_add", 2);
  sorted.insert(sorted.begin(), "scatter_add_copy");
  sorted.push_back("scatter_add_runs");
  return {
      scatter("of few", "5x33", "70xi64", "70x33", {"scatter_add"}),
      scatter("of some", "300x24", "5000xi32", "5000x24",
              {"scatter_add_copy", "scatter_add_sort", "scatter_add_runs"}),
      scatter("of many", "50257x768", "32768xi64", "32768x768", sorted),
      Case{"scatter",
           kNumbers,
           "%a: tensor<8x1024x64x$T>, %b: tensor<1xi64>, %c: tensor<8x1x64x$T>",
           "sinter.scatter set %a [%b], %c dim 1 : tensor<8x1024x64x$T>, tensor<1xi64>, tensor<8x1x64x$T>",
           {"scatter_set"}},
      Case{"scatter of some",
           kNumbers,
           "%a: tensor<300x24x$T>, %b: tensor<5000xi64>, %c: tensor<5000x24x$T>",
           "sinter.scatter mul %a [%b], %c dim 0 : tensor<300x24x$T>, tensor<5000xi64>, tensor<5000x24x$T>",
           {"scatter_mul_copy", "scatter_mul_sort", "scatter_mul_runs"}},
  };
}

std::vector<Case> PermutationCases() {
  auto permutation = [](const std::string& count, std::vector<std::string> kernels) {
    return Case{
        "permutation of " + count, "i64 i32", "%a: tensor<i64>, %b: tensor<i64>",
        absl::StrCat("sinter.random_permutation %a, %b stream 7 : tensor<i64>, tensor<i64> -> tensor<", count,
                     "x$T>"),
        std::move(kernels)};
  };
  return {permutation("1000", {"random_permutation_sort"}), permutation("5000", {"random_permutation_sort"}),
          permutation("20011", SortKernels("random_permutation", 4))};
}

std::vector<Case> MatmulCases() {
  const std::string a = "tensor<2x70x33x$T>", b = "tensor<2x33x65x$T>", bias = "tensor<65x$T>",
                    result = "tensor<2x70x65x$T>";
  std::vector<Case> cases = {{"matmul of integers",
                              kIntegers,
                              absl::StrCat("%a: ", a, ", %b: ", b),
                              absl::StrCat("sinter.matmul %a, %b : (", a, ", ", b, ") -> ", result),
                              {"matmul"}}};
  for (const char* turned : {"", ", transpose_a", ", transpose_b"}) {
    const bool is_a = std::string(turned) == ", transpose_a", is_b = std::string(turned) == ", transpose_b";
    const std::string left = is_a ? "tensor<800x256xf32>" : "tensor<256x800xf32>",
                      right = is_b ? "tensor<128x800xf32>" : "tensor<800x128xf32>";
    cases.push_back({absl::StrCat("matmul of few tiles", turned),
                     "f32",
                     absl::StrCat("%a: ", left, ", %b: ", right),
                     absl::StrCat("sinter.matmul %a, %b {math = 1 : i32", turned, "} : (", left, ", ", right,
                                  ") -> tensor<256x128xf32>"),
                     {"matmul_tf32_split", "matmul_tf32"}});
  }
  for (int activation = 0; activation < 7; ++activation) {
    // For these two, cuBLASLt computes the other types with a bias. Its relu does not keep NaN.
    const bool only_f64 = activation == 0 || activation == 3;
    cases.push_back({absl::StrCat("matmul with activation ", activation),
                     only_f64 ? "f64" : kFloats,
                     absl::StrCat("%a: ", a, ", %b: ", b, ", %c: ", bias),
                     absl::StrCat("sinter.matmul %a, %b bias %c {activation = ", activation, " : i32} : (", a,
                                  ", ", b, ", ", bias, ") -> ", result),
                     {"matmul"}});
  }
  return cases;
}

std::vector<Case> ConvCases() {
  std::vector<Case> cases;
  auto add = [&](const std::string& name, const std::string& x, const std::string& w, const std::string& y,
                 const std::string& padding) {
    const std::string images = absl::StrCat("tensor<", x, "xf32>"),
                      weights = absl::StrCat("tensor<", w, "xf32>"),
                      result = absl::StrCat("tensor<", y, "xf32>");
    const std::string attributes =
        absl::StrCat(" {math = 1 : i32, strides = array<i64: 1, 1>, padding = array<i64: ", padding,
                     ">, dilations = array<i64: 1, 1>, groups = 1 : i64} : (");
    auto conv = [&](std::string op, std::string a, std::string b, std::string r,
                    std::vector<std::string> kernels) {
      cases.push_back({absl::StrCat(op, " ", name), "f32", absl::StrCat("%a: ", a, ", %b: ", b),
                       absl::StrCat("sinter.", op, " %a, %b", attributes, a, ", ", b, ") -> ", r),
                       std::move(kernels)});
    };
    conv("conv2d", images, weights, result, {"conv2d"});
    conv("conv2d_input_grad", result, weights, images, {"conv2d_input_grad"});
    conv("conv2d_weight_grad", images, result, weights, {"conv2d_weight_grad_groups", "conv2d_weight_grad"});
  };
  add("of one channel", "256x1x28x28", "20x1x3x3", "256x20x26x26", "0, 0, 0, 0");
  add("of few channels", "256x20x13x13", "50x20x5x5", "256x50x9x9", "0, 0, 0, 0");
  add("of small results", "9x24x8x8", "32x24x3x3", "9x32x6x6", "0, 0, 0, 0");
  add("padded", "7x3x32x32", "16x3x3x3", "7x16x32x32", "1, 1, 1, 1");
  add("unevenly padded", "1x5x9x7", "3x5x2x3", "1x3x9x8", "0, 1, 2, 1");
  return cases;
}

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
    std::string text = absl::StrCat("func.func @f(", arguments, ") {\n  ", has_two ? "%r:2 = " : "%r = ", op,
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
std::vector<Case> SortCases() {
  auto sort = [](const std::string& name, const std::string& x, const std::string& dtypes,
                 std::vector<std::string> kernels) {
    const std::string type = absl::StrCat("tensor<", x, "x$T>"), at = absl::StrCat("tensor<", x, "xi32>");
    return Case{"sort " + name, dtypes, "%a: " + type,
                absl::StrCat("sinter.sort %a descending : ", type, " -> ", type, ", ", at),
                std::move(kernels)};
  };
  std::vector<std::string> one_word = SortKernels("sort", 4), two_words = one_word;
  for (const std::vector<std::string>& more : {SortKernels("sort", 4), SortKernels("sort", 1)}) {
    two_words.insert(two_words.end(), more.begin(), more.end());
  }
  one_word.push_back("sort_take"), two_words.push_back("sort_take");
  return {sort("of short rows", "1000x50", kNumbers, {"sort_row"}),
          sort("of rows that fill a block", "3x4096", kNumbers, {"sort_row"}),
          sort("of a long row", "100000", "f32 bf16 i8", one_word),
          sort("of long rows", "5x100000", "f64 i64", two_words)};
}

TEST_F(CudaCatalogTest, SortsCompile) { Compile(SortCases()); }
TEST_F(CudaCatalogTest, ScattersCompile) { Compile(ScatterCases()); }
TEST_F(CudaCatalogTest, PermutationsCompile) { Compile(PermutationCases()); }
TEST_F(CudaCatalogTest, MatmulsCompile) { Compile(MatmulCases()); }
TEST_F(CudaCatalogTest, ConvolutionsCompile) { Compile(ConvCases()); }

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
  EXPECT_FALSE(has("4x4x8x8", "6x4x3x3", "4x6x6x6", "bf16", "groups = 1 : i64"));
  EXPECT_FALSE(has("4x4x8x8", "6x2x3x3", "4x6x6x6", "f32", "math = 1 : i32, groups = 2 : i64"));
  EXPECT_FALSE(has("4x8x8x4", "6x4x3x3", "4x6x6x6", "f32", absl::StrCat("layout = 1 : i32, ", tf32)));
  EXPECT_FALSE(has("0x4x8x8", "6x4x3x3", "0x6x6x6", "f32", tf32));
  EXPECT_FALSE(has("4x4x8x8", "65x4x3x3", "4x65x6x6", "f32", tf32));
  EXPECT_FALSE(has("4x64x58x58", "64x64x3x3", "4x64x56x56", "f32", tf32));
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
  for (std::string dtype : {"f64", "f32", "bf16", "f16"}) EXPECT_FALSE(has(plain, dtype, "")) << dtype;
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
    EXPECT_FALSE(has(fused, "f32", activation)) << activation;
    EXPECT_TRUE(has(fused, "f64", activation)) << activation;
  }
  for (std::string activation : {"1", "2", "4", "5", "6"})
    EXPECT_TRUE(has(fused, "bf16", activation)) << activation;
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
  EXPECT_EQ(message("%a: tensor<4x4xf32>",
                    "sinter.matmul %a, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>"),
            "model.cc:7: sinter.matmul to tensor<4x4xf32> has no kernel in the catalogue for GPUs; a library "
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
            "model.cc:7: a scatter_add on a GPU has at most 2147483647 indices, not 3000000000; add parts of "
            "the updates");
  EXPECT_EQ(
      message(
          "%a: tensor<5000000000xi8>, %b: tensor<1000xi64>, %c: tensor<1000xi8>",
          "sinter.scatter_add %a [%b], %c dim 0 : tensor<5000000000xi8>, tensor<1000xi64>, tensor<1000xi8>"),
      "model.cc:7: a scatter_add on a GPU indexes at most 4294967294 places, not 5000000000; split the "
      "dimension");
  EXPECT_EQ(
      message("%a: tensor<100000000000x1000xf64>", "sinter.cumsum %a dim 1 : tensor<100000000000x1000xf64>"),
      "model.cc:7: sinter.cumsum is too large for a GPU: it takes 100000000000 blocks of threads and a "
      "launch has at most "
      "2147483647; split the tensor");
}

}  // namespace
}  // namespace sinter::codegen
