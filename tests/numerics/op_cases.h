// The table of cases for every op, which the tests of gradients, compiled code and decompositions run.
//
//   for (const OpCase& c : AllOpCases()) {
//     for (const std::string& dtype : DTypesOf(c)) module += FunctionText(c, dtype, "f");
//   }
//
// In texts `$T` is the element type. Operands are %a, %b, %c, ...; the body defines %r, or %r:N.
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
  double high = 2;  // Inclusive for integers.
};

struct OpCase {
  std::string name;
  OpClass op_class = OpClass::kExact;
  std::string body;
  std::vector<OperandCase> operands;
  std::vector<std::string> results;
  std::string dtypes;           // The values of $T, e.g. "f64 f32".
  bool has_gradient = true;     // Checked against finite differences, with f64 for $T.
  bool special_values = false;  // Operands hold zeros, infinities, NaN and the ends of ranges.
  // More functions of the module. Their names begin with `$F`, which becomes the name of the case's function.
  std::string functions = {};
  bool needs_cpu = false;  // No library or kernel of GPUs computes it.
};

inline constexpr char kFloats[] = "f64 f32 bf16 f16";
inline constexpr char kIntegers[] = "i64 i32 i8 ui8 i16 ui16 ui32 ui64";
inline constexpr char kNumbers[] = "f64 f32 bf16 f16 i64 i32 i8 ui8 i16 ui16 ui32 ui64";
inline constexpr char kAnything[] = "f64 f32 bf16 f16 i64 i32 i8 ui8 i16 ui16 ui32 ui64 i1";
// With the types that are moved and cast only.
inline constexpr char kMoved[] = "f64 f32 bf16 f16 i64 i32 i8 ui8 i16 ui16 ui32 ui64 i1 f8E4M3FN f8E5M2";

std::vector<OpCase> AllOpCases();
// All of the table, and cases of rules (ir/dialect/factor_rule.h) that the table lacks.
std::vector<OpCase> ShardedCases();
// The families of the table.
std::vector<OpCase> PointwiseCases();
std::vector<OpCase> ShapeCases();
std::vector<OpCase> ReduceCases();
std::vector<OpCase> LinearCases();
std::vector<OpCase> MatrixCases();
std::vector<OpCase> FourierCases();
std::vector<OpCase> RandomCases();
std::vector<OpCase> CompositeCases();
std::vector<OpCase> AttentionCases();
std::vector<OpCase> PlacementCases();
std::vector<OpCase> ControlCases();
std::vector<OpCase> CustomCases();
// Adds the part of LinearCases with floats of 8 bits.
void AddFloat8Products(std::vector<OpCase>& cases);

std::vector<std::string> DTypesOf(const OpCase& c);
// Those for case number `number` where time is short: types that differ from each other in size or sign alone
// take turns.
std::vector<std::string> DTypesInTurn(const OpCase& c, size_t number);
// False for layout nchw16n and for activations that no kernel for GPUs applies.
inline bool RunsOnGpus(const OpCase& c) {
  return c.name.find("nchw16n") == std::string::npos && !c.needs_cpu;
}
// Returns `text` with every `from` replaced by `to`.
std::string Replace(std::string text, const std::string& from, const std::string& to);
// Returns zeros of a tensor type: "tensor<2x3xf32>" has shape {2, 3} and element type f32.
reference::Value ZerosOfText(const std::string& type);
// Returns a func.func of this name, with inputs a, b, ... and outputs r0, r1, ...
std::string FunctionText(const OpCase& c, const std::string& dtype, const std::string& function);
// Returns the operand's name: 'a', 'b', ...
inline std::string OperandName(size_t i) { return std::string(1, static_cast<char>('a' + i)); }
// Returns "%r" for a single result, "%r#i" for one of several.
std::string ResultName(const OpCase& c, size_t i);
// Returns random operands in their ranges, drawn from `seed`.
std::vector<reference::Value> MakeOperands(const OpCase& c, const std::string& dtype, uint64_t seed);

}  // namespace sinter::numerics

#endif  // SINTER_TESTS_NUMERICS_OP_CASES_H_
