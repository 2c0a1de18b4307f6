#include "sinter/tests/numerics/op_cases.h"

namespace sinter::numerics {
namespace {

struct Reduction {
  const char* name;
  OpClass op_class;
  const char* dtypes;
  double low, high;
};

const Reduction kReductions[] = {
    {"sum", OpClass::kReduction, kNumbers, -2, 2}, {"prod", OpClass::kReduction, kNumbers, 0.5, 1.5},
    {"max", OpClass::kExact, kNumbers, -50, 50},   {"min", OpClass::kExact, kNumbers, -50, 50},
    {"any", OpClass::kExact, "i1", 0, 1},          {"all", OpClass::kExact, "i1", 0, 1},
    {"mean", OpClass::kReduction, kFloats, -2, 2}, {"logsumexp", OpClass::kReduction, kFloats, -2, 2},
    {"norm", OpClass::kReduction, kFloats, -2, 2},
};

struct Shapes {
  const char* name;
  const char* operand;
  const char* dims;
  const char* result;
};

const Shapes kReducedShapes[] = {
    {"rows", "33x17x", "[1]", "33x"},      {"columns", "33x17x", "[0]", "17x"},
    {"all", "7x5x", "[0, 1]", ""},         {"middle", "3x4x5x", "[1]", "3x5x"},
    {"ends", "3x4x5x", "[0, 2]", "4x"},    {"nothing", "4x0x", "[1]", "4x"},
    {"to_nothing", "0x4x", "[1]", "0x"},   {"no_dims", "7x", "[]", "7x"},
    {"long_row", "1x20011x", "[1]", "1x"}, {"long", "100003x", "[0]", ""},
    {"tall", "2003x9x", "[0]", "9x"},      {"single", "1x", "[0]", ""},
};

void AddCumsums(std::vector<OpCase>& cases) {
  for (const char* reverse : {"", " {reverse}"}) {
    std::string suffix = *reverse ? "_reverse" : "";
    cases.push_back({"cumsum_rows" + suffix,
                     OpClass::kReduction,
                     std::string("%r = sinter.cumsum %a dim 1") + reverse + " : tensor<3x7x$T>",
                     {{"tensor<3x7x$T>"}},
                     {"tensor<3x7x$T>"},
                     kNumbers});
    cases.push_back({"cumsum_middle" + suffix,
                     OpClass::kReduction,
                     std::string("%r = sinter.cumsum %a dim 1") + reverse + " : tensor<2x5x3x$T>",
                     {{"tensor<2x5x3x$T>"}},
                     {"tensor<2x5x3x$T>"},
                     kNumbers});
    // Long enough that several threads share a row, and several chunks share a row or a column.
    for (const char* sizes : {"3x700", "2x5003", "1x20011"}) {
      std::string type = std::string("tensor<") + sizes + "x$T>";
      cases.push_back({std::string("cumsum_long_") + sizes + suffix,
                       OpClass::kReduction,
                       std::string("%r = sinter.cumsum %a dim 1") + reverse + " : " + type,
                       {{type}},
                       {type},
                       "f64 f32 f16 i32 i8",
                       false});
    }
    cases.push_back({"cumsum_long_columns" + suffix,
                     OpClass::kReduction,
                     std::string("%r = sinter.cumsum %a dim 0") + reverse + " : tensor<5003x3x$T>",
                     {{"tensor<5003x3x$T>"}},
                     {"tensor<5003x3x$T>"},
                     "f64 f32 bf16 i64 ui8",
                     false});
  }
}

// Types of few values have many equal elements.
void AddTopKs(std::vector<OpCase>& cases) {
  struct Sizes {
    const char *name, *operand, *result, *k;
    bool has_gradient;
  };
  const Sizes all[] = {{"rows", "5x17x", "5x3x", "3", true},
                       {"all", "2x3x7x", "2x3x7x", "7", true},
                       {"one", "33x", "1x", "1", true},
                       {"alone", "4x1x", "4x1x", "1", false},
                       {"no_rows", "0x4x", "0x2x", "2", false},
                       {"long", "3x5003x", "3x40x", "40", false},
                       {"whole_packs", "2x4096x", "2x70x", "70", false}};
  for (const Sizes& s : all) {
    for (bool special : {false, true}) {
      const std::string from = std::string("tensor<") + s.operand + "$T>",
                        to = std::string("tensor<") + s.result + "$T>",
                        positions = std::string("tensor<") + s.result + "i32>";
      OpCase made{
          std::string("top_k_") + s.name + (special ? "_special" : ""),
          OpClass::kExact,
          "%r:2 = sinter.top_k %a k " + std::string(s.k) + " : " + from + " -> " + to + ", " + positions,
          {{from, -100, 100}},
          {to, positions},
          kNumbers,
          s.has_gradient && !special};
      made.special_values = special;
      cases.push_back(made);
    }
  }
}

// Types of few values have many equal elements. Long rows are sorted word by word on GPUs.
void AddSorts(std::vector<OpCase>& cases) {
  struct Sizes {
    const char *name, *shape, *dtypes;
    bool has_gradient;
  };
  const Sizes all[] = {{"rows", "5x17x", kNumbers, true},
                       {"one", "3x1x", "f32 i32", true},
                       {"padded", "2x3x1000x", kNumbers, false},
                       {"no_rows", "0x4x", "f32", false},
                       {"empty", "3x0x", "f32", false},
                       {"long", "4103x", kNumbers, false},
                       {"long_rows", "3x4200x", "f64 f32 bf16 i64 i8", false},
                       {"very_long", "20011x", "f32 i64", false}};
  for (const Sizes& s : all) {
    for (bool descending : {false, true}) {
      for (bool special : {false, true}) {
        const std::string type = std::string("tensor<") + s.shape + "$T>",
                          positions = std::string("tensor<") + s.shape + "i32>";
        OpCase made{
            std::string("sort_") + s.name + (descending ? "_descending" : "") + (special ? "_special" : ""),
            OpClass::kExact,
            std::string("%r:2 = sinter.sort %a ") + (descending ? "descending" : "") + " : " + type + " -> " +
                type + ", " + positions,
            {{type, -100, 100}},
            {type, positions},
            s.dtypes,
            s.has_gradient && !special};
        made.special_values = special;
        cases.push_back(made);
      }
    }
  }
}

}  // namespace

std::vector<OpCase> ReduceCases() {
  std::vector<OpCase> cases;
  for (const Reduction& r : kReductions) {
    for (const Shapes& s : kReducedShapes) {
      std::string from = std::string("tensor<") + s.operand + "$T>",
                  to = std::string("tensor<") + s.result + "$T>";
      std::string name = std::string(r.name) + "_" + s.name;
      // Skips large cases of prod: a product of many factors leaves every range.
      bool is_large = std::string(s.operand).size() >= 7 || std::string(s.name) == "tall";
      if (std::string(r.name) == "prod" && is_large) continue;
      cases.push_back({name,
                       r.op_class,
                       std::string("%r = sinter.") + r.name + " %a " + s.dims + " : " + from + " -> " + to,
                       {{from, r.low, r.high}},
                       {to},
                       r.dtypes,
                       std::string(r.dtypes) != "i1"});
      // f16 cannot hold a sum of 1e5 integers, and bf16 is too coarse for these tolerances.
      if (is_large && r.op_class == OpClass::kReduction && std::string(r.dtypes) != kNumbers)
        cases.back().dtypes = "f64 f32";
    }
  }
  for (const char* name : {"max", "min"}) {
    cases.push_back({std::string(name) + "_special",
                     OpClass::kExact,
                     std::string("%r = sinter.") + name + " %a [1] : tensor<40x3x$T> -> tensor<40x$T>",
                     {{"tensor<40x3x$T>"}},
                     {"tensor<40x$T>"},
                     kNumbers,
                     false,
                     true});
  }
  for (const char* name : {"argmax", "argmin"}) {
    for (const char* index : {"i32", "i64"}) {
      std::string result = std::string("x") + index + ">";
      std::string op = std::string("%r = sinter.") + name;
      auto make = [&](const std::string& what, const std::string& operand, const std::string& dim,
                      const std::string& to, bool special) {
        cases.push_back({std::string(name) + what + index,
                         OpClass::kExact,
                         op + " %a dim " + dim + " : " + operand + " -> " + to,
                         {{operand, -3, 3}},
                         {to},
                         kNumbers,
                         false,
                         special});
      };
      make("_rows_", "tensor<33x17x$T>", "1", "tensor<33" + result, false);
      make("_columns_", "tensor<33x17x$T>", "0", "tensor<17" + result, false);
      make("_special_", "tensor<40x5x$T>", "1", "tensor<40" + result, true);
      make("_long_", "tensor<20011x$T>", "0", std::string("tensor<") + index + ">", false);
    }
  }
  AddCumsums(cases);
  AddTopKs(cases);
  AddSorts(cases);
  return cases;
}

}  // namespace sinter::numerics
