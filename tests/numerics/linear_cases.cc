#include "sinter/tests/numerics/op_cases.h"

namespace sinter::numerics {
namespace {

std::string Typed(const std::string& dims) { return "tensor<" + dims + "x$T>"; }

void AddMatmuls(std::vector<OpCase>& cases) {
  auto make = [&](const std::string& name, const std::string& a, const std::string& b, const std::string& r,
                  const std::string& attributes, const std::string& dtypes) {
    cases.push_back(
        {"matmul_" + name,
         OpClass::kProduct,
         "%r = sinter.matmul %a, %b" + attributes + " : (" + Typed(a) + ", " + Typed(b) + ") -> " + Typed(r),
         {{Typed(a)}, {Typed(b)}},
         {Typed(r)},
         dtypes});
  };
  make("plain", "3x5", "5x4", "3x4", "", kNumbers);
  make("a_turned", "5x3", "5x4", "3x4", " {transpose_a}", kNumbers);
  make("b_turned", "3x5", "4x5", "3x4", " {transpose_b}", kNumbers);
  make("both_turned", "5x3", "4x5", "3x4", " {transpose_a, transpose_b}", kNumbers);
  make("batches", "2x3x5", "2x5x4", "2x3x4", "", kNumbers);
  make("batches_turned", "2x2x5x3", "2x2x4x5", "2x2x3x4", " {transpose_a, transpose_b}", kFloats);
  make("odd", "33x17", "17x7", "33x7", "", kNumbers);
  make("larger", "70x130", "130x65", "70x65", "", kFloats);
  make("vector", "1x64", "64x1", "1x1", "", kFloats);
  make("no_rows", "0x5", "5x4", "0x4", "", "f64 f32");
  make("no_terms", "3x0", "0x4", "3x4", "", "f64 f32");
  // CPUs compute every math mode in full precision.
  make("tf32", "3x5", "5x4", "3x4", " {math = 1 : i32}", "f32");
  cases.back().op_class = OpClass::kTf32Matmul;
  cases.back().has_gradient = false;
  // GPUs run these on a catalog kernel that splits k, into more parts than a cluster has blocks in the last.
  auto tf32 = [&](const std::string& name, const std::string& a, const std::string& b, const std::string& r,
                  const std::string& attributes, const std::string& bias = "") {
    make("tf32_" + name, a, b, r, (bias.empty() ? "" : " bias %c") + (" {math = 1 : i32" + attributes) + "}",
         "f32");
    OpCase& made = cases.back();
    if (!bias.empty()) {
      made.operands.push_back({Typed(bias)});
      made.body.replace(made.body.find(") ->"), 1, ", " + Typed(bias) + ")");
    }
    for (OperandCase& operand : made.operands) operand.low = -0.5, operand.high = 0.5;
    made.op_class = OpClass::kTf32Matmul;
    made.has_gradient = false;
  };
  tf32("split", "70x800", "800x20", "70x20", "");
  tf32("a_turned", "300x68", "300x65", "68x65", ", transpose_a");
  tf32("b_turned", "33x130", "65x130", "33x65", ", transpose_b");
  tf32("both_turned", "129x7", "66x129", "7x66", ", transpose_a, transpose_b");
  tf32("bias_relu", "65x256", "256x128", "65x128", ", activation = 1 : i32", "128");
  tf32("bias", "9x40", "40x10", "9x10", "", "10");
  tf32("bias_relu_split", "65x400", "400x70", "65x70", ", activation = 1 : i32", "70");
  tf32("bias_relu_many_parts", "3x2500", "2500x20", "3x20", ", activation = 1 : i32", "20");
  const char* const kActivations[] = {"none", "relu", "gelu", "gelu_tanh", "sigmoid", "tanh", "silu"};
  for (int i = 0; i < 7; ++i) {
    cases.push_back({std::string("matmul_bias_") + kActivations[i],
                     OpClass::kProduct,
                     "%r = sinter.matmul %a, %b bias %c {activation = " + std::to_string(i) + " : i32} : (" +
                         Typed("9x5") + ", " + Typed("5x4") + ", " + Typed("4") + ") -> " + Typed("9x4"),
                     {{Typed("9x5")}, {Typed("5x4")}, {Typed("4")}},
                     {Typed("9x4")},
                     kFloats,
                     i == 0});
  }
}

// Matmuls with an addend, a scale and an f32 result.
void AddMatmulSums(std::vector<OpCase>& cases) {
  auto make = [&](const std::string& name, const std::string& scale, const std::string& wide,
                  const std::string& dtypes, const std::string& more, bool has_gradient) {
    const std::string result = "tensor<9x8x" + wide + ">";
    OpCase c = {
        "matmul_" + name, OpClass::kProduct, "", {{Typed("9x16")}, {Typed("16x8")}}, {result}, dtypes};
    std::string types = Typed("9x16") + ", " + Typed("16x8"), operands = "%a, %b";
    for (const auto& [what, type] : {std::pair<std::string, std::string>("bias", "tensor<8x" + wide + ">"),
                                     {"addend", result},
                                     {"scale", scale.empty() ? "" : "tensor<" + scale + ">"}}) {
      if (more.find(what) == std::string::npos) continue;
      operands += " " + what + " %" + OperandName(c.operands.size());
      types += ", " + type;
      c.operands.push_back({type});
    }
    const size_t attributes = more.find('{');
    c.body = "%r = sinter.matmul " + operands +
             (attributes == std::string::npos ? "" : " " + more.substr(attributes)) + " : (" + types +
             ") -> " + result;
    c.has_gradient = has_gradient;
    cases.push_back(c);
  };
  make("addend", "", "$T", kFloats, "addend", true);
  make("scale", "$T", "$T", "f64 f32", "scale", true);
  make("addend_scale", "$T", "$T", "f64 f32", "addend scale", true);
  make("all", "f32", "$T", "f32 bf16 f16", "bias addend scale {activation = 3 : i32}", false);
  make("f32_of_narrow", "", "f32", "bf16 f16", "", false);
  make("f32_addend_of_narrow", "f32", "f32", "bf16 f16", "addend scale", false);
  make("f32_bias_of_narrow", "", "f32", "bf16 f16", "bias addend", false);
  make("f32_bias_relu_of_narrow", "", "f32", "bf16 f16", "bias addend {activation = 1 : i32}", false);
}

// Few rows in 16 bits: parts of k in several blocks, columns and elements of k beyond the last step.
void AddFewRows(std::vector<OpCase>& cases) {
  struct Sizes {
    int64_t m, n, k;
  };
  for (const Sizes& s : {Sizes{1, 72, 40}, {3, 64, 512}, {8, 136, 24}, {9, 200, 1032}, {16, 128, 768}}) {
    for (const bool turned : {false, true}) {
      const auto typed = [](int64_t rows, int64_t columns) {
        return Typed(std::to_string(rows) + "x" + std::to_string(columns));
      };
      const std::string x = typed(s.m, s.k), w = turned ? typed(s.n, s.k) : typed(s.k, s.n),
                        y = typed(s.m, s.n), bias = Typed(std::to_string(s.n));
      OpCase c = {"matmul_few_rows_" + std::to_string(s.m) + (turned ? "_turned" : ""),
                  OpClass::kProduct,
                  "%r = sinter.matmul %a, %b bias %c addend %d activation silu" +
                      std::string(turned ? " {transpose_b}" : "") + " : (" + x + ", " + w + ", " + bias +
                      ", " + y + ") -> " + y,
                  {{x, -0.5, 0.5}, {w, -0.5, 0.5}, {bias}, {y}},
                  {y},
                  "bf16 f16",
                  false};
      cases.push_back(c);
    }
  }
}

// Matmuls of i8 with a result of i32. On GPUs cuBLASLt computes those with rows of k and multiples of four.
void AddWideIntegerMatmuls(std::vector<OpCase>& cases) {
  const auto make = [&](const std::string& name, const std::string& a, const std::string& b,
                        const std::string& r, const std::string& attributes) {
    const std::string of_a = "tensor<" + a + "xi8>", of_b = "tensor<" + b + "xi8>",
                      of_r = "tensor<" + r + "xi32>";
    OpCase c = {"matmul_i8_" + name, OpClass::kProduct, "", {{of_a}, {of_b}}, {of_r}, "i8", false};
    c.body = "%r = sinter.matmul %a, %b" + attributes + " : (" + of_a + ", " + of_b + ") -> " + of_r;
    for (OperandCase& operand : c.operands) operand.low = -128, operand.high = 127;
    cases.push_back(c);
  };
  make("plain", "3x5", "5x4", "3x4", "");
  make("large", "70x1030", "1030x65", "70x65", "");
  make("a_turned", "130x67", "130x40", "67x40", " {transpose_a}");
  make("rows", "48x640", "260x640", "48x260", " {transpose_b}");
  make("odd_rows", "50x641", "259x641", "50x259", " {transpose_b}");
  make("few_rows", "3x200", "40x200", "3x40", " {transpose_b}");
  make("one_row", "1x132", "36x132", "1x36", " {transpose_b}");
  make("both_turned", "100x33", "20x100", "33x20", " {transpose_a, transpose_b}");
  make("batches", "2x8x64", "2x12x64", "2x8x12", " {transpose_b}");
  make("no_terms", "3x0", "4x0", "3x4", " {transpose_b}");
}

// CPUs have kernels for up to 16 rows, GPUs for up to 16 of 16-bit floats and 8 of f32.
void AddQuantizedMatmuls(std::vector<OpCase>& cases) {
  const auto make = [&](const std::string& name, int64_t m, int64_t n, int64_t k, int64_t groups, bool pairs,
                        const std::string& of_scales = "$T") {
    const auto typed = [](int64_t rows, int64_t columns, const std::string& element) {
      return "tensor<" + std::to_string(rows) + "x" + std::to_string(columns) + "x" + element + ">";
    };
    const std::string x = typed(m, k, "$T"), w = typed(n, pairs ? k / 2 : k, pairs ? "ui8" : "i8");
    const std::string scales = typed(n, groups, of_scales), result = typed(m, n, "$T");
    OpCase c = {"quantized_matmul_" + name, OpClass::kProduct, "",
                {{x}, {w}, {scales}},       {result},          "f32 bf16 f16"};
    c.body =
        "%r = sinter.quantized_matmul %a, %b scale %c : (" + x + ", " + w + ", " + scales + ") -> " + result;
    c.operands[1].low = pairs ? 0 : -128, c.operands[1].high = pairs ? 255 : 127;
    c.operands[2].low = 0.001, c.operands[2].high = 0.01;
    c.has_gradient = false;  // No f64.
    cases.push_back(c);
  };
  make("row", 1, 37, 512, 1, false);
  make("odd_row", 1, 20, 45, 1, false, "f32");
  make("rows", 7, 33, 1184, 1, false);
  make("groups", 3, 18, 576, 9, false);
  make("groups_16", 16, 18, 320, 5, false);
  make("many", 69, 18, 96, 1, false);
  make("many_groups", 19, 18, 96, 3, false, "f32");
  make("groups_128", 12, 40, 512, 4, false);
  make("groups_64", 2, 40, 320, 5, false, "f32");
  make("part_of_a_step", 9, 17, 208, 1, false);
  make("pairs_row", 1, 37, 544, 1, true);
  make("pairs_groups", 5, 18, 1152, 9, true, "f32");
  make("pairs_groups_row", 1, 260, 256, 2, true);
  make("pairs_many", 17, 18, 128, 2, true);
  make("pairs_groups_128", 16, 35, 640, 5, true, "f32");
  make("pairs_part_of_a_step", 3, 17, 96, 1, true);
  make("pairs_32", 2, 17, 96, 3, true);
  make("no_rows", 0, 8, 32, 1, false);
  make("no_terms", 2, 8, 0, 1, false);
}

// The result is wider than long. GPUs support row lengths that are multiples of 8.
void AddMatmulGradients(std::vector<OpCase>& cases) {
  for (const auto& [activation, dtypes] :
       {std::pair<std::string, std::string>("gelu_tanh", kFloats), {"relu", "f32"}, {"silu", "f64 bf16"}}) {
    for (const bool turned : {false, true}) {
      const std::string b = Typed(turned ? "32x16" : "16x32");
      cases.push_back({"matmul_grad_" + activation + (turned ? "_turned" : ""),
                       OpClass::kProduct,
                       "%r = sinter.matmul_grad %a, %b preactivation %c activation " + activation +
                           (turned ? " {transpose_b}" : "") + " : (" + Typed("24x16") + ", " + b + ", " +
                           Typed("24x32") + ") -> " + Typed("24x32"),
                       {{Typed("24x16")}, {b}, {Typed("24x32")}},
                       {Typed("24x32")},
                       dtypes});
      // A GPU's tanh has an error of 2^-11, which the tolerance allows for small operands.
      for (OperandCase& operand : cases.back().operands) operand.low = -0.5, operand.high = 0.5;
      cases.back().has_gradient = activation != "relu";
    }
  }
}

struct Conv {
  const char *name, *x, *weights, *y, *attributes;
  const char* bias = nullptr;
  const char* dtypes = kFloats;
};

// Cases in nchw, nhwc and nchw16n: strides, padding, dilations, groups, windows as large as the image.
const Conv kConvs[] = {
    {"plain", "2x3x5x6", "4x3x3x2", "2x4x3x5",
     "strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 "
     ": i64"},
    {"padded", "1x2x5x5", "3x2x3x3", "1x3x5x5",
     "strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 1 "
     ": i64",
     "3"},
    {"uneven", "1x2x6x5", "2x2x3x2", "1x2x3x4",
     "strides = array<i64: 2, 1>, padding = array<i64: 1, 0, 0, 1>, dilations = array<i64: 1, 2>, groups = 1 "
     ": i64"},
    {"groups", "1x4x4x4", "6x2x2x2", "1x6x3x3",
     "strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 2 "
     ": i64",
     "6"},
    {"depthwise", "1x3x5x5", "3x1x3x3", "1x3x3x3",
     "strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, groups = 3 "
     ": i64"},
    {"depthwise_twice", "2x3x6x5", "6x1x2x3", "2x6x3x3",
     "strides = array<i64: 2, 1>, padding = array<i64: 1, 0, 1, 1>, dilations = array<i64: 1, 2>, groups = 3 "
     ": i64",
     "6"},
    {"depthwise_padded", "1x2x2x2", "2x1x5x5", "1x2x6x6",
     "strides = array<i64: 1, 1>, padding = array<i64: 4, 4, 4, 4>, dilations = array<i64: 1, 1>, groups = 2 "
     ": i64"},
    {"depthwise_line", "2x4x1x9", "4x1x1x5", "2x4x1x9",
     "strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 4, 4>, dilations = array<i64: 1, 2>, groups = 4 "
     ": i64"},
    {"one_by_one", "2x3x3x3", "5x3x1x1", "2x5x3x3",
     "strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, groups = 1 "
     ": i64"},
    {"nhwc", "2x5x6x3", "4x3x3x2", "2x3x5x4",
     "layout = 1 : i32, strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, "
     "dilations = array<i64: 1, 1>, groups = 1 : i64",
     "4"},
    {"nhwc_strided", "1x7x7x2", "4x1x3x3", "1x4x4x4",
     "layout = 1 : i32, strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>, "
     "dilations = array<i64: 1, 1>, groups = 2 : i64"},
    {"nhwc_depthwise", "1x5x6x20", "20x1x3x3", "1x5x6x20",
     "layout = 1 : i32, strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, "
     "dilations = array<i64: 1, 1>, groups = 20 : i64",
     "20"},
    {"nhwc_depthwise_twice", "1x7x5x9", "18x1x5x3", "1x4x3x18",
     "layout = 1 : i32, strides = array<i64: 2, 2>, padding = array<i64: 2, 2, 1, 1>, "
     "dilations = array<i64: 1, 1>, groups = 9 : i64",
     "18"},
    {"nhwc_depthwise_dilated", "1x6x7x16", "16x1x3x2", "1x6x7x16",
     "layout = 1 : i32, strides = array<i64: 1, 1>, padding = array<i64: 3, 3, 1, 1>, "
     "dilations = array<i64: 3, 2>, groups = 16 : i64"},
    {"nchw16n", "2x3x5x6x16", "5x3x3x5", "2x5x3x5x16",
     "layout = 2 : i32, strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 1, 2>, "
     "dilations = array<i64: 1, 1>, groups = 1 : i64",
     "5", "f32"},
    {"nchw16n_strided", "1x4x7x8x16", "6x2x2x3", "1x6x3x5x16",
     "layout = 2 : i32, strides = array<i64: 2, 2>, padding = array<i64: 1, 0, 1, 2>, "
     "dilations = array<i64: 2, 1>, groups = 2 : i64",
     nullptr, "f32"},
};

void AddConvs(std::vector<OpCase>& cases) {
  for (const Conv& c : kConvs) {
    std::string x = Typed(c.x), w = Typed(c.weights), y = Typed(c.y),
                attributes = std::string(" {") + c.attributes;
    const bool all_floats = std::string(c.dtypes) == kFloats;
    auto grad = [&](const std::string& op, const std::string& a, const std::string& b, const std::string& r) {
      cases.push_back({op + "_" + c.name,
                       OpClass::kProduct,
                       "%r = sinter." + op + " %a, %b" + attributes + "} : (" + a + ", " + b + ") -> " + r,
                       {{a}, {b}},
                       {r},
                       c.dtypes,
                       all_floats});
    };
    grad("conv2d", x, w, y);
    grad("conv2d_input_grad", y, w, x);
    grad("conv2d_weight_grad", x, y, w);
    if (!c.bias) continue;
    for (int activation : {0, 1, 5}) {
      if (activation == 5 && !all_floats) continue;  // Layout nchw16n supports relu only.
      cases.push_back({std::string("conv2d_bias_") + c.name + std::to_string(activation),
                       OpClass::kProduct,
                       "%r = sinter.conv2d %a, %b bias %c" + attributes +
                           ", activation = " + std::to_string(activation) + " : i32} : (" + x + ", " + w +
                           ", " + Typed(c.bias) + ") -> " + y,
                       {{x}, {w}, {Typed(c.bias)}},
                       {y},
                       c.dtypes,
                       activation == 0 && all_floats});
      cases.back().needs_cpu = activation != 0;
    }
  }
}

// GPUs run those with few channels on catalog kernels: several chunks of channels and pixels, parts of an
// image, groups of images, partial tiles. CPUs compute every math mode in full precision.
const Conv kTf32Convs[] = {
    {"plain", "3x3x7x8", "4x3x3x2", "3x4x5x7",
     "strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>", "4"},
    {"padded", "2x2x5x6", "9x2x3x3", "2x9x5x6",
     "strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>", "9"},
    {"uneven", "2x2x7x6", "3x2x3x2", "2x3x4x5",
     "strides = array<i64: 2, 1>, padding = array<i64: 1, 1, 0, 1>, dilations = array<i64: 1, 2>"},
    {"dilated", "1x2x7x7", "3x2x2x3", "1x3x6x5",
     "strides = array<i64: 1, 1>, padding = array<i64: 0, 1, 1, 1>, dilations = array<i64: 2, 2>"},
    {"one_channel", "5x1x28x28", "20x1x3x3", "5x20x26x26",
     "strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>", "20"},
    {"chunks", "2x20x13x13", "50x20x5x5", "2x50x9x9",
     "strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>"},
    {"strided", "2x5x21x22", "40x5x3x3", "2x40x10x10",
     "strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>"},
    {"strided_chunks", "2x5x40x38", "48x5x2x2", "2x48x20x19",
     "strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>"},
    {"nhwc", "3x7x8x3", "4x3x3x2", "3x5x7x4",
     "layout = 1 : i32, strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: "
     "1, "
     "1>",
     "4"},
    {"nhwc_uneven", "2x7x6x37", "19x37x3x2", "2x4x5x19",
     "layout = 1 : i32, strides = array<i64: 2, 1>, padding = array<i64: 1, 1, 0, 1>, dilations = array<i64: "
     "1, "
     "2>"},
    {"nhwc_many_pixels", "16x64x40x4", "33x4x1x1", "16x64x40x33",
     "layout = 1 : i32, strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>, dilations = array<i64: "
     "1, "
     "1>",
     "33"},
    {"many_channels", "2x70x6x5", "70x70x3x3", "2x70x6x5",
     "strides = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>", "70"},
};

void AddTf32Convs(std::vector<OpCase>& cases) {
  for (const Conv& c : kTf32Convs) {
    const std::string x = Typed(c.x), w = Typed(c.weights), y = Typed(c.y);
    const std::string attributes = std::string(" {math = 1 : i32, groups = 1 : i64, ") + c.attributes;
    auto add = [&](const std::string& op, const std::vector<std::string>& operands, const std::string& bias,
                   const std::string& more, const std::string& r) {
      OpCase made = {op + "_tf32_" + c.name, OpClass::kTf32Matmul, "", {}, {r}, "f32",
                     /*has_gradient=*/false};
      std::string types;
      for (const std::string& type : operands) {
        // Small values, so that sums of thousands of terms stay within the tolerance.
        made.operands.push_back({type, -0.5, 0.5});
        types += (types.empty() ? "" : ", ") + type;
      }
      made.body = "%r = sinter." + op + " %a, %b" + bias + attributes + more + "} : (" + types + ") -> " + r;
      cases.push_back(made);
    };
    add("conv2d", {x, w}, "", "", y);
    add("conv2d_input_grad", {y, w}, "", "", x);
    add("conv2d_weight_grad", {x, y}, "", "", w);
    if (c.bias == nullptr) continue;
    add("conv2d", {x, w, Typed(c.bias)}, " bias %c", ", activation = 1 : i32", y);
    cases.back().name += "_relu";
  }
}

struct Pool {
  const char *name, *x, *y, *attributes;
  int64_t window;  // Elements.
  const char* dtypes = kFloats;
};

const Pool kPools[] = {
    {"plain", "2x2x4x6", "2x2x2x3",
     "window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>", 4},
    {"overlapping", "1x2x5x5", "1x2x3x3",
     "window = array<i64: 3, 3>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>", 9},
    {"padded", "1x2x5x5", "1x2x3x3",
     "window = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, 1>", 9},
    {"uneven", "1x2x5x4", "1x2x2x4",
     "window = array<i64: 3, 2>, strides = array<i64: 2, 1>, padding = array<i64: 1, 0, 0, 1>", 6},
    {"rest", "2x3x7x9", "2x3x2x4",
     "window = array<i64: 3, 2>, strides = array<i64: 3, 2>, padding = array<i64: 0, 0, 0, 0>", 6},
    // Enough pixels for several a thread on a GPU.
    {"runs", "8x16x34x128", "8x16x17x64",
     "window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, 0>", 4,
     "f32 bf16"},
    {"overlapping_runs", "8x16x18x74", "8x16x16x72",
     "window = array<i64: 3, 3>, strides = array<i64: 1, 1>, padding = array<i64: 0, 0, 0, 0>", 9,
     "f32 bf16"},
    {"nhwc", "2x4x6x3", "2x2x3x3",
     "layout = 1 : i32, window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, "
     "0>",
     4},
    {"nhwc_padded", "1x5x5x2", "1x3x3x2",
     "layout = 1 : i32, window = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, "
     "1>",
     9},
    {"nchw16n", "2x3x4x6x16", "2x3x2x3x16",
     "layout = 2 : i32, window = array<i64: 2, 2>, strides = array<i64: 2, 2>, padding = array<i64: 0, 0, 0, "
     "0>",
     4, "f32"},
    {"nchw16n_padded", "1x2x5x5x16", "1x2x3x3x16",
     "layout = 2 : i32, window = array<i64: 3, 3>, strides = array<i64: 2, 2>, padding = array<i64: 1, 1, 1, "
     "1>",
     9, "f32"},
};

void AddPools(std::vector<OpCase>& cases) {
  for (const Pool& p : kPools) {
    std::string x = Typed(p.x), y = Typed(p.y), position = std::string("tensor<") + p.y + "xui8>";
    std::string attributes = std::string(" {") + p.attributes + "}";
    const bool all_floats = std::string(p.dtypes) == kFloats;
    cases.push_back({std::string("max_pool2d_") + p.name,
                     OpClass::kExact,
                     "%r:2 = sinter.max_pool2d %a" + attributes + " : " + x + " -> " + y + ", " + position,
                     {{x, -50, 50}},
                     {y, position},
                     p.dtypes,
                     all_floats});
    cases.push_back({std::string("avg_pool2d_") + p.name,
                     OpClass::kComposite,
                     "%r = sinter.avg_pool2d %a" + attributes + " : " + x + " -> " + y,
                     {{x}},
                     {y},
                     p.dtypes,
                     all_floats});
    cases.push_back({std::string("avg_pool2d_grad_") + p.name,
                     OpClass::kComposite,
                     "%r = sinter.avg_pool2d_grad %a" + attributes + " : " + y + " -> " + x,
                     {{y}},
                     {x},
                     p.dtypes,
                     all_floats});
    // On a GPU, fusion makes this gradient part of the next kernel if the windows do not overlap.
    cases.push_back({std::string("avg_pool2d_grad_read_") + p.name,
                     OpClass::kComposite,
                     "%0 = sinter.avg_pool2d_grad %a" + attributes + " : " + y + " -> " + x +
                         "\n  %r = sinter.mul %0, %b : " + x,
                     {{y}, {x}},
                     {x},
                     p.dtypes,
                     false});
    cases.push_back({std::string("max_pool2d_and_grad_") + p.name,
                     OpClass::kComposite,
                     "%0:2 = sinter.max_pool2d %a" + attributes + " : " + x + " -> " + y + ", " + position +
                         "\n  %r = sinter.max_pool2d_grad %b, %0#1" + attributes + " : " + y + ", " +
                         position + " -> " + x,
                     {{x, -50, 50}, {y}},
                     {x},
                     p.dtypes,
                     false});
  }
}

}  // namespace

std::vector<OpCase> LinearCases() {
  std::vector<OpCase> cases;
  AddMatmuls(cases);
  AddMatmulSums(cases);
  AddWideIntegerMatmuls(cases);
  AddFewRows(cases);
  AddQuantizedMatmuls(cases);
  AddFloat8Products(cases);
  AddMatmulGradients(cases);
  AddConvs(cases);
  AddTf32Convs(cases);
  AddPools(cases);
  return cases;
}

}  // namespace sinter::numerics
