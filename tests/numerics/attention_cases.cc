#include "sinter/tests/numerics/op_cases.h"

namespace sinter::numerics {
namespace {

struct Sizes {
  std::string name, q, k, o, stats;  // Empty k: q is packed and holds k and v too.
  std::string flags, scale;
  double low_stats = 2;
  bool has_gradient = true;  // False if the case is too large for f64 and finite differences.
  std::string bias = "";     // Empty: none.
};

// The element types that share a type of the stats and a tolerance.
struct Group {
  std::string name, dtypes, stats;
  // Class of the gradients. A score that a matmul rounds affects all of its row, so low precision needs more.
  OpClass op_class;
};
const Group kGroups[] = {{"f64", "f64", "f64", OpClass::kComposite},
                         {"f32", "f32", "f32", OpClass::kComposite},
                         {"narrow", "bf16 f16", "f32", OpClass::kGraph}};

void Add(std::vector<OpCase>& cases, const Sizes& s) {
  const std::string q = "tensor<" + s.q + "x$T>", k = "tensor<" + s.k + "x$T>", o = "tensor<" + s.o + "x$T>";
  const bool packed = s.k.empty();
  std::string inputs = packed ? "%a" : "%a, %b, %c", types = packed ? q : q + ", " + k + ", " + k;
  const std::string gradient_types = types;
  const std::string attributes = s.flags + " {scale = " + s.scale + " : f64} : (";
  std::vector<OperandCase> operands = {{q, -1.5, 1.5}};
  if (!packed) operands.insert(operands.end(), {{k, -1.5, 1.5}, {k, -1.5, 1.5}});
  const size_t gradients = operands.size();
  if (!s.bias.empty()) {
    const std::string bias = "tensor<" + s.bias + "x$T>";
    inputs += " bias %" + OperandName(gradients), types += ", " + bias;
    operands.push_back({bias, -1.5, 1.5});
  }
  const size_t n = operands.size();
  for (const Group& group : kGroups) {
    if (group.name == "f64" && !s.has_gradient) continue;
    // f32 differs from f64 in its type alone: one mask is enough.
    if (group.name == "f32" && !s.bias.empty() && s.name != "bias") continue;
    const std::string name = s.name + "_" + group.name, stats = "tensor<" + s.stats + "x" + group.stats + ">";
    const bool has_gradient = group.name == "f64";
    const std::string forward = "sinter.attention " + inputs + attributes + types + ") -> ";
    cases.push_back({"attention_" + name,
                     OpClass::kComposite,
                     "%r = " + forward + o,
                     operands,
                     {o},
                     group.dtypes,
                     has_gradient});
    // In low precision, compares the stats after rounding: the scores were rounded as well.
    const bool narrow = group.name == "narrow";
    const std::string rounded = "tensor<" + s.stats + "x$T>", both = forward + "(" + o + ", " + stats + ")";
    cases.push_back({"attention_with_stats_" + name, OpClass::kComposite,
                     narrow ? "%p:2 = " + both + "\n  %r = sinter.cast %p#1 : " + stats + " -> " + rounded
                            : "%r:2 = " + both,
                     operands,
                     narrow ? std::vector<std::string>{rounded} : std::vector<std::string>{o, stats},
                     group.dtypes, has_gradient});
    std::vector<OperandCase> backward = operands;
    // Stats close to those of the forward pass, so that the probabilities sum to about 1.
    backward.insert(backward.end(), {{o, -0.5, 0.5}, {stats, s.low_stats, s.low_stats + 1}, {o, -1, 1}});
    std::vector<std::string> results(gradients, k);
    results[0] = q;
    cases.push_back({"attention_grad_" + name, group.op_class,
                     "%r" + (packed ? std::string() : ":3") + " = sinter.attention_grad " + inputs +
                         " result %" + OperandName(n) + " stats %" + OperandName(n + 1) + " gradient %" +
                         OperandName(n + 2) + attributes + types + ", " + o + ", " + stats + ", " + o +
                         ") -> " + (packed ? q : "(" + gradient_types + ")"),
                     backward, results, group.dtypes, has_gradient});
  }
}

struct FewQueries {
  std::string name, q, k, o, attributes, bias = "";
  std::string key_row = "", value_row = "", flags = "";  // Empty: the caches take no position.
};

void AddFew(std::vector<OpCase>& cases, const FewQueries& s) {
  const std::string q = "tensor<" + s.q + "x$T>", k = "tensor<" + s.k + "x$T>", o = "tensor<" + s.o + "x$T>";
  OpCase c = {"few_queries_" + s.name,
              OpClass::kComposite,
              "",
              {{q, -1.5, 1.5}, {k, -1.5, 1.5}, {k, -1.5, 1.5}},
              {o},
              kFloats,
              false};
  std::string inputs = "%a, %b, %c", types = q + ", " + k + ", " + k;
  if (!s.bias.empty()) {
    const std::string bias = "tensor<" + s.bias + "x$T>";
    inputs += " bias %d", types += ", " + bias;
    c.operands.push_back({bias, -1.5, 1.5});
  }
  std::string results = o;
  if (!s.key_row.empty()) {
    const size_t n = c.operands.size();
    inputs += " rows %" + OperandName(n) + ", %" + OperandName(n + 1) + " at %" + OperandName(n + 2);
    for (const std::string& row : {s.key_row, s.value_row}) {
      c.operands.push_back({"tensor<" + row + "x$T>", -1.5, 1.5});
      types += ", " + c.operands.back().type;
    }
    c.operands.push_back({"tensor<1xi32>", 35, 42});
    types += ", tensor<1xi32>", results = "(" + o + ", " + k + ", " + k + ")";
    c.results = {o, k, k};
  }
  c.body = (s.key_row.empty() ? "%r" : "%r:3") + std::string(" = sinter.few_queries_attention ") + inputs +
           " heads " + s.attributes + " {scale = 0.35 : f64" + s.flags + "} : (" + types + ") -> " + results;
  cases.push_back(c);
}

// One query and several, groups of heads, rows in several blocks, all widths of a lane group, several parts
// of the positions, and a length that is no multiple of a chunk.
void AddFewQueries(std::vector<OpCase>& cases) {
  AddFew(cases, {"one", "2x1x3x8", "2x3x40x8", "2x1x3x8", "3 by_head"});
  AddFew(cases, {"by_position", "2x2x4x16", "2x40x2x16", "2x2x4x16", "4"});
  AddFew(cases, {"within", "2x1x9x8", "2x3x300x8", "2x1x3x8", "3 by_head", "1x1x1x300", "", "",
                 ", first_head = 4 : i64"});
  AddFew(cases, {"rows", "2x1x9x8", "2x3x41x8", "2x1x3x8", "3 by_head", "1x1x1x41", "2x1x9x8", "2x1x4x8",
                 ", first_head = 2 : i64, first_key = 5 : i64, first_value = 1 : i64"});
  AddFew(cases, {"rows_grouped", "1x3x8x16", "1x2x48x16", "1x3x8x16", "8 by_head causal", "", "1x1x2x16",
                 "1x1x2x16"});
  AddFew(cases, {"grouped", "1x1x8x64", "1x2x600x64", "1x1x8x64", "8 by_head", "1x8x1x600"});
  AddFew(cases, {"tiles", "2x5x6x80", "2x2x90x80", "2x5x6x80", "6 by_head causal", "2x1x5x90"});
  AddFew(cases, {"wide", "1x3x2x256", "1x1x50x256", "1x3x2x256", "2 by_head window 20"});
  AddFew(cases, {"width_96", "1x8x1x96", "1x1x33x96", "1x8x1x96", "1 by_head causal window 9"});
  AddFew(cases, {"width_128", "3x1x4x128", "3x2x129x128", "3x1x4x128", "4 by_head", "3x1x1x129"});
  // Other devices' form of what the kernel does not take.
  AddFew(cases, {"odd", "1x1x2x5", "1x2x7x5", "1x1x2x5", "2 by_head"});
}

}  // namespace

std::vector<OpCase> AttentionCases() {
  std::vector<OpCase> cases;
  Add(cases, {"heads", "2x3x2x8", "2x3x2x8", "2x3x2x8", "2x2x3", "", "0.35"});
  Add(cases, {"causal", "1x6x2x8", "1x6x2x8", "1x6x2x8", "1x2x6", " causal", "0.35"});
  Add(cases, {"cross", "1x3x2x8", "1x5x2x8", "1x3x2x8", "1x2x3", "", "-0.4"});
  Add(cases, {"packed", "1x4x3x1x8", "", "1x4x1x8", "1x1x4", "", "0.35"});
  Add(cases, {"packed_causal", "1x4x3x1x8", "", "1x4x1x8", "1x1x4", " causal", "0.5"});
  // cuDNN takes widths that are multiples of 8, and two positions or more.
  Add(cases, {"grouped", "2x3x4x4", "2x3x2x4", "2x3x4x4", "2x4x3", "", "0.5"});
  Add(cases, {"grouped_causal", "1x5x6x3", "1x5x2x3", "1x5x6x3", "1x6x5", " causal", "0.5"});
  Add(cases, {"one", "3x1x2x8", "3x1x2x8", "3x1x2x8", "3x2x1", "", "0.35"});
  Add(cases, {"no_examples", "0x4x2x8", "0x4x2x8", "0x4x2x8", "0x2x4", "", "0.35"});
  Add(cases, {"last", "1x3x2x8", "1x5x2x8", "1x3x2x8", "1x2x3", " causal", "0.35"});
  Add(cases, {"last_window", "1x3x2x8", "1x5x2x8", "1x3x2x8", "1x2x3", " causal window 2", "0.35"});
  Add(cases, {"bias", "2x3x2x8", "2x4x2x8", "2x3x2x8", "2x2x3", "", "0.35", 2, true, "2x2x3x4"});
  Add(cases, {"bias_of_keys", "2x3x2x8", "2x4x2x8", "2x3x2x8", "2x2x3", "", "0.35", 2, true, "2x1x1x4"});
  Add(cases, {"bias_of_heads", "1x3x4x8", "1x4x2x8", "1x3x4x8", "1x4x3", "", "0.35", 2, true, "1x4x1x4"});
  Add(cases,
      {"bias_grouped", "1x3x4x8", "1x4x2x8", "1x3x4x8", "1x4x3", " causal", "0.35", 2, true, "1x1x3x4"});
  Add(cases, {"bias_whole_groups", "2x3x4x4", "2x3x1x4", "2x3x4x4", "2x4x3", "", "0.35", 2, true, "2x4x3x3"});
  Add(cases, {"bias_packed", "2x4x3x2x8", "", "2x4x2x8", "2x2x4", " window 3", "0.35", 2, true, "1x2x4x4"});
  // Several tiles of a GPU kernel, and lengths that are no multiple of a tile.
  Add(cases, {"long", "2x65x2x32", "2x130x2x32", "2x65x2x32", "2x2x65", "", "0.17", 5, false});
  Add(cases, {"long_causal", "2x129x3x1x64", "", "2x129x1x64", "2x1x129", " causal", "0.125", 5, false});
  Add(cases, {"wide_causal", "1x77x3x2x128", "", "1x77x2x128", "1x2x77", " causal", "0.088", 5, false});
  Add(cases,
      {"long_grouped", "2x200x4x64", "2x333x2x64", "2x200x4x64", "2x4x200", " causal", "0.125", 5, false});
  Add(cases, {"long_heads", "1x300x3x2x64", "", "1x300x2x64", "1x2x300", "", "0.125", 5, false});
  Add(cases, {"long_bias", "2x65x4x64", "2x130x2x64", "2x65x4x64", "2x4x65", " causal window 40", "0.125", 5,
              false, "2x1x65x130"});
  AddFewQueries(cases);
  return cases;
}

}  // namespace sinter::numerics
