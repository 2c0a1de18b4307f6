#include "sinter/tests/codegen/cuda_catalog_cases.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace sinter::codegen {
namespace {

std::vector<std::string> SortKernels(const std::string& name, int passes) {
  std::vector<std::string> kernels;
  for (int pass = 0; pass < passes; ++pass) {
    for (const char* part : {"_count", "_place", "_move"}) kernels.push_back(name + part);
  }
  return kernels;
}

// Matmuls of few tiles in tf32: parts of k in a cluster, and more of them than a cluster has blocks.
std::vector<Case> SplitMatmulCases() {
  std::vector<Case> cases;
  for (const char* turned : {"", ", transpose_a", ", transpose_b"}) {
    const bool is_a = std::string(turned) == ", transpose_a", is_b = std::string(turned) == ", transpose_b";
    const std::string left = is_a ? "tensor<800x256xf32>" : "tensor<256x800xf32>",
                      right = is_b ? "tensor<128x800xf32>" : "tensor<800x128xf32>";
    cases.push_back({absl::StrCat("matmul of few tiles", turned),
                     "f32",
                     absl::StrCat("%a: ", left, ", %b: ", right),
                     absl::StrCat("sinter.matmul %a, %b {math = 1 : i32", turned, "} : (", left, ", ", right,
                                  ") -> tensor<256x128xf32>"),
                     {"matmul_tf32"}});
  }
  cases.push_back({"matmul of more parts than a cluster has blocks",
                   "f32",
                   "%a: tensor<3x2500xf32>, %b: tensor<2500x20xf32>, %c: tensor<20xf32>",
                   "sinter.matmul %a, %b bias %c {math = 1 : i32, activation = 1 : i32} : "
                   "(tensor<3x2500xf32>, tensor<2500x20xf32>, tensor<20xf32>) -> tensor<3x20xf32>",
                   {"matmul_tf32_split", "matmul_tf32"}});
  return cases;
}

}  // namespace

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
  sorted.push_back("scatter_add_join");
  return {
      scatter("of few", "5x33", "70xi64", "70x33", {"scatter_add"}),
      scatter("of some", "300x24", "5000xi32", "5000x24",
              {"scatter_add_copy", "scatter_add_sort", "scatter_add_runs", "scatter_add_join"}),
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
  for (Case& split : SplitMatmulCases()) cases.push_back(std::move(split));
  // m, n, k: several tiles and chunks, and parts of them.
  for (const auto& [m, n, k] : {std::array{13, 70, 33}, {32, 40, 1100}, {1, 9, 600}, {3, 1, 1}}) {
    for (const bool turned : {false, true}) {
      for (const int activation : {0, 1, 5}) {
        const std::string left = absl::StrCat("tensor<", m, "x", k, "xf32>"),
                          right = turned ? absl::StrCat("tensor<", n, "x", k, "xf32>")
                                         : absl::StrCat("tensor<", k, "x", n, "xf32>"),
                          bias = absl::StrCat("tensor<", n, "xf32>");
        cases.push_back(
            {absl::StrCat("matmul of few rows ", m, " ", n, " ", k, turned ? " turned " : " ", activation),
             "f32",
             absl::StrCat("%a: ", left, ", %b: ", right, ", %c: ", bias),
             absl::StrCat("sinter.matmul %a, %b ", activation == 0 ? "" : "bias %c ",
                          "{activation = ", activation, " : i32", turned ? ", transpose_b" : "", "} : (",
                          left, ", ", right, activation == 0 ? "" : absl::StrCat(", ", bias), ") -> tensor<",
                          m, "x", n, "xf32>"),
             {"matmul_few_rows"}});
      }
    }
  }
  // In 16 bits: blocks that share k, and columns beyond the end.
  for (const auto& [m, n, k] : {std::array{16, 768, 768}, {1, 2304, 776}, {9, 40, 24}}) {
    for (const bool turned : {false, true}) {
      const std::string left = absl::StrCat("tensor<", m, "x", k, "x$T>"),
                        right = turned ? absl::StrCat("tensor<", n, "x", k, "x$T>")
                                       : absl::StrCat("tensor<", k, "x", n, "x$T>"),
                        of_n = absl::StrCat("tensor<", n, "xf32>"),
                        whole = absl::StrCat("tensor<", m, "x", n, "xf32>");
      cases.push_back(
          {absl::StrCat("matmul of few rows in 16 bits ", m, " ", n, " ", k, turned ? " turned" : ""),
           "bf16 f16",
           absl::StrCat("%a: ", left, ", %b: ", right, ", %c: ", of_n, ", %d: ", whole),
           absl::StrCat("sinter.matmul %a, %b bias %c addend %d activation gelu_tanh ",
                        turned ? "{transpose_b} : (" : ": (", left, ", ", right, ", ", of_n, ", ", whole,
                        ") -> ", whole),
           {"matmul_few_rows"}});
    }
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
                 const std::string& padding, const std::string& layout = "0") {
    const std::string images = absl::StrCat("tensor<", x, "xf32>"),
                      weights = absl::StrCat("tensor<", w, "xf32>"),
                      result = absl::StrCat("tensor<", y, "xf32>");
    const std::string attributes =
        absl::StrCat(" {layout = ", layout,
                     " : i32, math = 1 : i32, strides = array<i64: 1, 1>, padding = array<i64: ", padding,
                     ">, dilations = array<i64: 1, 1>, groups = 1 : i64} : (");
    auto conv = [&](std::string op, std::string a, std::string b, std::string r,
                    std::vector<std::string> kernels) {
      cases.push_back({absl::StrCat(op, " ", name), "f32", absl::StrCat("%a: ", a, ", %b: ", b),
                       absl::StrCat("sinter.", op, " %a, %b", attributes, a, ", ", b, ") -> ", r),
                       std::move(kernels)});
    };
    conv("conv2d", images, weights, result, {"conv2d"});
    if (layout != "0") return;
    conv("conv2d_input_grad", result, weights, images, {"conv2d_input_grad"});
    conv("conv2d_weight_grad", images, result, weights, {"conv2d_weight_grad_groups", "conv2d_weight_grad"});
  };
  add("of one channel", "256x1x28x28", "20x1x3x3", "256x20x26x26", "0, 0, 0, 0");
  add("of few channels", "256x20x13x13", "50x20x5x5", "256x50x9x9", "0, 0, 0, 0");
  add("of small results", "9x24x8x8", "32x24x3x3", "9x32x6x6", "0, 0, 0, 0");
  add("padded", "7x3x32x32", "16x3x3x3", "7x16x32x32", "1, 1, 1, 1");
  add("unevenly padded", "1x5x9x7", "3x5x2x3", "1x3x9x8", "0, 1, 2, 1");
  add("with channels last", "3x12x16x128", "3x128x5x5", "3x12x16x3", "2, 2, 2, 2", "1");
  add("of many pixels with channels last", "16x64x40x8", "33x8x1x1", "16x64x40x33", "0, 0, 0, 0", "1");
  return cases;
}

}  // namespace sinter::codegen
