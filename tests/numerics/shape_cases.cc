#include "sinter/tests/numerics/op_cases.h"

namespace sinter::numerics {
namespace {

constexpr OpClass kExact = OpClass::kExact;

std::vector<OpCase> ConstantCases() {
  return {
      {"constant",
       kExact,
       "%r = sinter.constant dense<[1, 2, 3]> : tensor<3x$T>",
       {},
       {"tensor<3x$T>"},
       kIntegers},
      {"constant_of_floats",
       kExact,
       "%r = sinter.constant dense<[[1.5, -2.0, 0.1]]> : tensor<1x3x$T>",
       {},
       {"tensor<1x3x$T>"},
       kFloats},
      {"iota", kExact, "%r = sinter.iota 1 : tensor<3x7x2x$T>", {}, {"tensor<3x7x2x$T>"}, kNumbers},
      {"iota_of_a_part",
       kExact,
       "%r = sinter.iota 1 origin %a : tensor<3x37x2x$T>",
       {{"tensor<i64>", 5, 60}},
       {"tensor<3x37x2x$T>"},
       kNumbers,
       false},
  };
}

std::vector<OpCase> ReshapeCases() {
  return {
      {"reshape",
       kExact,
       "%r = sinter.reshape %a : tensor<2x3x4x$T> -> tensor<6x2x2x$T>",
       {{"tensor<2x3x4x$T>"}},
       {"tensor<6x2x2x$T>"},
       kMoved},
      {"reshape_to_rank_0",
       kExact,
       "%r = sinter.reshape %a : tensor<1x1x$T> -> tensor<$T>",
       {{"tensor<1x1x$T>"}},
       {"tensor<$T>"},
       kMoved},
      {"reshape_of_nothing",
       kExact,
       "%r = sinter.reshape %a : tensor<0x3x$T> -> tensor<2x0x5x$T>",
       {{"tensor<0x3x$T>"}},
       {"tensor<2x0x5x$T>"},
       "f64 i8"},
      {"transpose",
       kExact,
       "%r = sinter.transpose %a [2, 0, 1] : tensor<2x3x5x$T> -> tensor<5x2x3x$T>",
       {{"tensor<2x3x5x$T>"}},
       {"tensor<5x2x3x$T>"},
       kMoved},
      {"transpose_large",
       kExact,
       "%r = sinter.transpose %a [1, 0] : tensor<317x133x$T> -> tensor<133x317x$T>",
       {{"tensor<317x133x$T>"}},
       {"tensor<133x317x$T>"},
       kMoved},
      {"broadcast_new_dims",
       kExact,
       "%r = sinter.broadcast %a [1] : tensor<3x$T> -> tensor<2x3x4x$T>",
       {{"tensor<3x$T>"}},
       {"tensor<2x3x4x$T>"},
       kMoved},
      {"broadcast_from_1",
       kExact,
       "%r = sinter.broadcast %a [0, 2] : tensor<1x4x$T> -> tensor<2x3x4x$T>",
       {{"tensor<1x4x$T>"}},
       {"tensor<2x3x4x$T>"},
       kMoved},
      {"broadcast_turned",
       kExact,
       "%r = sinter.broadcast %a [2, 0] : tensor<4x3x$T> -> tensor<3x2x4x$T>",
       {{"tensor<4x3x$T>"}},
       {"tensor<3x2x4x$T>"},
       kMoved},
      {"broadcast_turned_with_1",
       kExact,
       "%r = sinter.broadcast %a [3, 1, 0] : tensor<4x1x3x$T> -> tensor<3x2x2x4x$T>",
       {{"tensor<4x1x3x$T>"}},
       {"tensor<3x2x2x4x$T>"},
       kMoved},
      {"broadcast_rank_0",
       kExact,
       "%r = sinter.broadcast %a [] : tensor<$T> -> tensor<5x$T>",
       {{"tensor<$T>"}},
       {"tensor<5x$T>"},
       kMoved},
  };
}

// One kernel reads a transposed operand and a plain one.
std::vector<OpCase> TransposedCases() {
  return {
      {"transpose_added",
       OpClass::kArithmetic,
       "%0 = sinter.transpose %b [0, 2, 1] : tensor<3x45x70x$T> -> tensor<3x70x45x$T>\n  %r = sinter.add %a, "
       "%0 : "
       "tensor<3x70x45x$T>",
       {{"tensor<3x70x45x$T>"}, {"tensor<3x45x70x$T>"}},
       {"tensor<3x70x45x$T>"},
       "f64 f32 bf16 i32 i8",
       false}};
}

// Adds up the exponentials of parts [first, last) of 10 rows or 64 columns.
OpCase SliceCase(const std::string& name, const std::vector<std::pair<int64_t, int64_t>>& parts,
                 int64_t dim) {
  const std::string type = "tensor<10x64x$T>";
  OpCase c = {"slices_" + name, OpClass::kComposite, "", {{type}}, {"tensor<$T>"}, "f64 f32"};
  std::string sum;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto [first, last] = parts[i];
    const std::string n = std::to_string(i), begin = std::to_string(first), end = std::to_string(last);
    const std::string size = std::to_string(last - first), rows = dim == 0 ? size : "10",
                      columns = dim == 0 ? "64" : size, part = "tensor<" + rows + "x" + columns + "x$T>";
    const std::string starts = dim == 0 ? begin + ", 0" : "0, " + begin,
                      limits = dim == 0 ? end + ", 64" : "10, " + end;
    c.body += "%s" + n + " = sinter.slice %a [" + starts + "] [" + limits + "] [1, 1] : " + type + " -> " +
              part + "\n  %e" + n + " = sinter.exp %s" + n + " : " + part + "\n  %l" + n +
              " = sinter.sum %e" + n + " [0, 1] : " + part + " -> tensor<$T>\n  ";
    const std::string last_sum = i + 1 == parts.size() ? "%r" : "%t" + n;
    if (i > 0) c.body += last_sum + " = sinter.add " + sum + ", %l" + n + " : tensor<$T>\n  ";
    sum = i == 0 ? "%l0" : last_sum;
  }
  return c;
}

std::vector<OpCase> PartCases() {
  return {
      {"slice",
       kExact,
       "%r = sinter.slice %a [1, 2] [4, 9] [1, 3] : tensor<5x9x$T> -> tensor<3x3x$T>",
       {{"tensor<5x9x$T>"}},
       {"tensor<3x3x$T>"},
       kMoved},
      {"slice_nothing",
       kExact,
       "%r = sinter.slice %a [2] [2] [1] : tensor<5x$T> -> tensor<0x$T>",
       {{"tensor<5x$T>"}},
       {"tensor<0x$T>"},
       "f64 i8"},
      {"concat",
       kExact,
       "%r = sinter.concat %a, %b, %c dim 1 : (tensor<2x3x$T>, tensor<2x0x$T>, tensor<2x4x$T>) -> "
       "tensor<2x7x$T>",
       {{"tensor<2x3x$T>"}, {"tensor<2x0x$T>"}, {"tensor<2x4x$T>"}},
       {"tensor<2x7x$T>"},
       kMoved},
      // Their gradients are concats: adjacent, with gaps, overlapping, of columns, too many for a kernel.
      SliceCase("apart", {{0, 2}, {2, 3}, {5, 7}}, 0),
      SliceCase("overlapping", {{0, 3}, {1, 4}, {2, 5}, {4, 7}, {0, 7}}, 0),
      SliceCase("columns", {{0, 20}, {20, 64}}, 1),
      SliceCase("many", {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {5, 6}, {6, 7}, {7, 8}, {8, 9}, {9, 10}}, 0),
      SliceCase(
          "many_columns",
          {{0, 7}, {7, 14}, {14, 21}, {21, 28}, {28, 35}, {35, 42}, {42, 49}, {49, 56}, {56, 63}, {63, 64}},
          1),
      {"concat_with_itself",
       kExact,
       "%r = sinter.concat %a, %a dim 0 : (tensor<2x3x$T>, tensor<2x3x$T>) -> tensor<4x3x$T>",
       {{"tensor<2x3x$T>"}},
       {"tensor<4x3x$T>"},
       kMoved},
      {"split",
       kExact,
       "%r:3 = sinter.split %a dim 1 : tensor<2x7x$T> -> tensor<2x3x$T>, tensor<2x0x$T>, tensor<2x4x$T>",
       {{"tensor<2x7x$T>"}},
       {"tensor<2x3x$T>", "tensor<2x0x$T>", "tensor<2x4x$T>"},
       kMoved},
      {"pad",
       kExact,
       "%r = sinter.pad %a value 1.5 low [1, 0] high [0, 2] interior [0, 1] : tensor<2x3x$T> -> "
       "tensor<3x7x$T>",
       {{"tensor<2x3x$T>"}},
       {"tensor<3x7x$T>"},
       kFloats},
      {"pad_integers",
       kExact,
       "%r = sinter.pad %a value 3.0 low [2, 1] high [1, 2] interior [2, 0] : tensor<2x3x$T> -> "
       "tensor<7x6x$T>",
       {{"tensor<2x3x$T>"}},
       {"tensor<7x6x$T>"},
       kIntegers},
      {"pad_nothing",
       kExact,
       "%r = sinter.pad %a value 2.0 low [1] high [1] interior [3] : tensor<0x$T> -> tensor<2x$T>",
       {{"tensor<0x$T>"}},
       {"tensor<2x$T>"},
       "f64 f32 i8"},
      {"reverse",
       kExact,
       "%r = sinter.reverse %a [0, 2] : tensor<2x3x5x$T>",
       {{"tensor<2x3x5x$T>"}},
       {"tensor<2x3x5x$T>"},
       kMoved},
  };
}

std::vector<OpCase> ScatterAddCases() {
  return {
      {"scatter_add",
       OpClass::kArithmetic,
       "%r = sinter.scatter_add %a [%b], %c dim 1 : tensor<2x5x3x$T>, tensor<2x2xi32>, tensor<2x2x2x3x$T>",
       {{"tensor<2x5x3x$T>", 1, 2}, {"tensor<2x2xi32>", -1, 5}, {"tensor<2x2x2x3x$T>", 1, 2}},
       {"tensor<2x5x3x$T>"},
       kNumbers},
      // On a GPU, gathers: some indices are out of range, and some places get no update.
      {"scatter_add_known",
       OpClass::kComposite,
       "%i = sinter.constant dense<[0, 2, 0, -1, 1, 4, 0, 1]> : tensor<8xi32>\n"
       "  %r = sinter.scatter_add %a [%i], %b dim 1 : tensor<3x4x5x$T>, tensor<8xi32>, tensor<3x8x5x$T>",
       {{"tensor<3x4x5x$T>", 0, 1}, {"tensor<3x8x5x$T>", 0, 1}},
       {"tensor<3x4x5x$T>"},
       "f64 f32 bf16 f16 i32"},
      {"scatter_add_rows",
       OpClass::kComposite,
       "%r = sinter.scatter_add %a [%b], %c dim 0 : tensor<5x33x$T>, tensor<70xi64>, tensor<70x33x$T>",
       {{"tensor<5x33x$T>", 0, 1}, {"tensor<70xi64>", 0, 4}, {"tensor<70x33x$T>", 0, 1}},
       {"tensor<5x33x$T>"},
       "f64 f32 i32"},
      // Enough indices that a GPU sorts them: in one block, and in several.
      {"scatter_add_many",
       OpClass::kComposite,
       "%r = sinter.scatter_add %a [%b], %c dim 1 : tensor<2x300x12x$T>, tensor<3000xi32>, "
       "tensor<2x3000x12x$T>",
       {{"tensor<2x300x12x$T>", 0, 1}, {"tensor<3000xi32>", -5, 305}, {"tensor<2x3000x12x$T>", 0, 1}},
       {"tensor<2x300x12x$T>"},
       kNumbers,
       false},
      // Runs of equal indices that are longer than the parts that a GPU sums apart, and indices between them.
      {"scatter_add_long_runs",
       OpClass::kComposite,
       "%r = sinter.scatter_add %a [%b], %c dim 1 : tensor<2x4x6x$T>, tensor<1500xi32>, tensor<2x1500x6x$T>",
       {{"tensor<2x4x6x$T>", 0, 1}, {"tensor<1500xi32>", 0, 3}, {"tensor<2x1500x6x$T>", 0, 1}},
       {"tensor<2x4x6x$T>"},
       kNumbers,
       false},
      // Few indices into many rows, which a GPU copies.
      {"scatter_add_few_of_many",
       OpClass::kComposite,
       "%r = sinter.scatter_add %a [%b], %c dim 0 : tensor<5000x7x$T>, tensor<600xi64>, tensor<600x7x$T>",
       {{"tensor<5000x7x$T>", 0, 1}, {"tensor<600xi64>", -20, 5020}, {"tensor<600x7x$T>", 0, 1}},
       {"tensor<5000x7x$T>"},
       "f64 f32 bf16 i64 i8",
       false},
      {"scatter_add_very_many",
       OpClass::kComposite,
       "%r = sinter.scatter_add %a [%b], %c dim 0 : tensor<70000x$T>, tensor<20011xi64>, tensor<20011x$T>",
       {{"tensor<70000x$T>", 0, 1}, {"tensor<20011xi64>", -5, 70005}, {"tensor<20011x$T>", 0, 1}},
       {"tensor<70000x$T>"},
       "f32 f16 i32",
       false},
  };
}

std::vector<OpCase> ScatterCases() {
  return {
      {"scatter_set",
       kExact,
       "%r = sinter.scatter set %a [%b], %c dim 1 : tensor<2x5x3x$T>, tensor<2x2xi32>, tensor<2x2x2x3x$T>",
       {{"tensor<2x5x3x$T>"}, {"tensor<2x2xi32>", -1, 5}, {"tensor<2x2x2x3x$T>"}},
       {"tensor<2x5x3x$T>"},
       kNumbers},
      {"scatter_set_one",
       kExact,
       "%r = sinter.scatter set %a [%b], %c dim 1 : tensor<3x70x16x$T>, tensor<1xi32>, tensor<3x1x16x$T>",
       {{"tensor<3x70x16x$T>"}, {"tensor<1xi32>", 0, 69}, {"tensor<3x1x16x$T>"}},
       {"tensor<3x70x16x$T>"},
       "f32 bf16 i64 ui8"},
      {"scatter_max",
       kExact,
       "%r = sinter.scatter max %a [%b], %c dim 0 : tensor<9x33x$T>, tensor<20xi64>, tensor<20x33x$T>",
       {{"tensor<9x33x$T>"}, {"tensor<20xi64>", -2, 10}, {"tensor<20x33x$T>"}},
       {"tensor<9x33x$T>"},
       kNumbers},
      {"scatter_min",
       kExact,
       "%r = sinter.scatter min %a [%b], %c dim 0 : tensor<9x16x$T>, tensor<20xi64>, tensor<20x16x$T>",
       {{"tensor<9x16x$T>"}, {"tensor<20xi64>", -2, 10}, {"tensor<20x16x$T>"}},
       {"tensor<9x16x$T>"},
       kNumbers},
      {"scatter_mul",
       OpClass::kArithmetic,
       "%r = sinter.scatter mul %a [%b], %c dim 0 : tensor<9x5x$T>, tensor<12xi64>, tensor<12x5x$T>",
       {{"tensor<9x5x$T>", 1, 2}, {"tensor<12xi64>", -2, 10}, {"tensor<12x5x$T>", 1, 2}},
       {"tensor<9x5x$T>"},
       kNumbers},
      // Enough indices that a GPU sorts them.
      {"scatter_set_many",
       kExact,
       "%r = sinter.scatter set %a [%b], %c dim 1 : tensor<2x300x12x$T>, tensor<3000xi32>, "
       "tensor<2x3000x12x$T>",
       {{"tensor<2x300x12x$T>"}, {"tensor<3000xi32>", -5, 305}, {"tensor<2x3000x12x$T>"}},
       {"tensor<2x300x12x$T>"},
       "f32 bf16 i32",
       false},
      {"scatter_max_many",
       kExact,
       "%r = sinter.scatter max %a [%b], %c dim 1 : tensor<2x300x12x$T>, tensor<3000xi32>, "
       "tensor<2x3000x12x$T>",
       {{"tensor<2x300x12x$T>"}, {"tensor<3000xi32>", -5, 305}, {"tensor<2x3000x12x$T>"}},
       {"tensor<2x300x12x$T>"},
       "f32 bf16 i8",
       false},
  };
}

std::vector<OpCase> IndexedCases() {
  return {
      {"gather",
       kExact,
       "%r = sinter.gather %a [%b] dim 1 : tensor<2x5x3x$T>, tensor<2x2xi32> -> tensor<2x2x2x3x$T>",
       {{"tensor<2x5x3x$T>"}, {"tensor<2x2xi32>", -2, 6}},
       {"tensor<2x2x2x3x$T>"},
       kMoved},
      {"gather_rows",
       kExact,
       "%r = sinter.gather %a [%b] dim 0 : tensor<5x33x$T>, tensor<7xi64> -> tensor<7x33x$T>",
       {{"tensor<5x33x$T>"}, {"tensor<7xi64>", 0, 4}},
       {"tensor<7x33x$T>"},
       kMoved},
      {"take_along",
       kExact,
       "%r = sinter.take_along %a [%b] dim 1 : tensor<2x5x3x$T>, tensor<2x4x3xi64> -> tensor<2x4x3x$T>",
       {{"tensor<2x5x3x$T>"}, {"tensor<2x4x3xi64>", -2, 6}},
       {"tensor<2x4x3x$T>"},
       kMoved},
      {"one_hot",
       kExact,
       "%r = sinter.one_hot %a : tensor<3x2xi32> -> tensor<3x2x5x$T>",
       {{"tensor<3x2xi32>", -1, 5}},
       {"tensor<3x2x5x$T>"},
       kNumbers},
  };
}

}  // namespace

std::vector<OpCase> ShapeCases() {
  std::vector<OpCase> cases;
  for (const auto& family : {ConstantCases(), ReshapeCases(), TransposedCases(), PartCases(), IndexedCases(),
                             ScatterAddCases(), ScatterCases()}) {
    cases.insert(cases.end(), family.begin(), family.end());
  }
  return cases;
}

}  // namespace sinter::numerics
