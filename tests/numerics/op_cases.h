// One table of cases for every op: what the numerics tests (gradients, compiled code, decompositions) run.
//
//   for (const OpCase& c : AllOpCases()) {
//     for (const std::string& dtype : DTypesOf(c)) module += FunctionText(c, dtype, "f");
//   }
//
// Texts hold `$T` for the element type. Operands are %a, %b, %c, ...; the body defines %r, or %r:N.
#ifndef SINTER_TESTS_NUMERICS_OP_CASES_H_
#define SINTER_TESTS_NUMERICS_OP_CASES_H_

#include <string>
#include <vector>

#include "sinter/tests/numerics/tolerances.h"
#include "sinter/tests/reference/value.h"

namespace sinter::numerics {

struct OperandCase {
  std::string type;  // "tensor<2x3x$T>".
  double low = -2;
  double high = 2;  // Integers: included.
};

struct OpCase {
  std::string name;
  OpClass op_class = OpClass::kExact;
  std::string body;
  std::vector<OperandCase> operands;
  std::vector<std::string> results;
  std::string dtypes;           // "f64 f32": the values of $T.
  bool has_gradient = true;     // Checked against finite differences, with f64 for $T.
  bool special_values = false;  // Operands hold zeros, infinities, NaN, ends of ranges.
  // More functions of the module, whose names begin with `$F`: the name of the one with the body.
  std::string functions = {};
  bool has_cpu_activation = false;  // One that nothing on a GPU applies to such an op.
};

inline constexpr char kFloats[] = "f64 f32 bf16 f16";
inline constexpr char kIntegers[] = "i64 i32 i8 ui8";
inline constexpr char kNumbers[] = "f64 f32 bf16 f16 i64 i32 i8 ui8";
inline constexpr char kAnything[] = "f64 f32 bf16 f16 i64 i32 i8 ui8 i1";

std::vector<OpCase> AllOpCases();
// The families of the table.
std::vector<OpCase> PointwiseCases();
std::vector<OpCase> ShapeCases();
std::vector<OpCase> ReduceCases();
std::vector<OpCase> LinearCases();
std::vector<OpCase> RandomCases();
std::vector<OpCase> CompositeCases();
std::vector<OpCase> AttentionCases();
std::vector<OpCase> PlacementCases();
std::vector<OpCase> CustomCases();

std::vector<std::string> DTypesOf(const OpCase& c);
// Not in layout nchw16n, nor with an activation that no kernel for GPUs applies.
inline bool RunsOnGpus(const OpCase& c) {
  return c.name.find("nchw16n") == std::string::npos && !c.has_cpu_activation;
}
// `text` with every `from` replaced.
std::string Replace(std::string text, const std::string& from, const std::string& to);
// "2x3x" of "tensor<2x3xf32>" becomes {2, 3}; the element type is what is left.
reference::Value ZerosOfText(const std::string& type);
// A func.func of this name, with inputs a, b, ... and outputs r0, r1, ...
std::string FunctionText(const OpCase& c, const std::string& dtype, const std::string& function);
// The operands' names: 'a', 'b', ...
inline std::string OperandName(size_t i) { return std::string(1, static_cast<char>('a' + i)); }
// "%r" of one result, "%r#i" of several.
std::string ResultName(const OpCase& c, size_t i);
// Seeded by `seed`; values of the operand's type within its range.
std::vector<reference::Value> MakeOperands(const OpCase& c, const std::string& dtype, uint64_t seed);

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_OP_CASES_H_
