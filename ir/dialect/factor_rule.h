// FactorRule: how an op iterates, from which its behaviour on parts of its operands follows.
// A factor is one loop of the op. It runs along dimensions of the operands and results that name it.
//
//   FactorRule rule = FactorsOf(matmul);      // Of [m, k] and [k, n]; FactorText(rule) is
//                                             // "(m k, k n) -> (m n); k sum; linear in 0, in 1"
//   rule.factors[rule.operands[0][1][0]].kind == FactorKind::kSum      // Parts of k give terms of a sum.
//
// If a factor is cut, each part has its range of every value that names the factor, and all of the others. A
// result that names the factor is then cut too. A result that does not name it is partial: the factor's kind
// combines the parts' results. The field calls these factors too (Shardy's sharding rules).
#ifndef SINTER_IR_DIALECT_FACTOR_RULE_H_
#define SINTER_IR_DIALECT_FACTOR_RULE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/OpDefinition.h"
#include "sinter/ir/dialect/device_attr.h"

namespace sinter::ir {

enum class FactorKind : uint8_t {
  kParallel,  // All results name the factor.
  kSum,       // Partial results are terms of a sum.
  kMax,
  kMin,
  // Rows that other values name by number. A part handles the numbers of its own rows: it subtracts its
  // offset, and numbers out of its range give zeros. Partial results are terms of a sum.
  kOwned,
  kWhole,  // The factor cannot be cut.
};

// In which operands an op is linear: sums of these give sums of the results.
enum class Linearity : uint8_t { kNone, kFirst, kEach, kAll, kAllButFirst };

struct Factor {
  int64_t size;  // Iterations; never 1.
  FactorKind kind = FactorKind::kParallel;
  char name = '.';          // For texts. All factors that no rule names are whole and have the name '.'.
  bool is_counted = false;  // Elements depend on the number of their iteration.
};

// The factors of each dimension of a value, major first. The dimension's size is their product. A dimension
// of size 1 has none.
using ValueFactors = llvm::SmallVector<llvm::SmallVector<unsigned>>;

struct FactorRule {
  llvm::SmallVector<Factor> factors;
  llvm::SmallVector<ValueFactors> operands, results;  // Values that are no tensors have no dimensions.
  // If a kSum factor is cut that these operands do not name: only the first part reads them, others read
  // zeros.
  llvm::SmallVector<unsigned> counts_once;
  // Sets of operands. If all operands of a set are partial sums and all others are whole, the results are
  // partial sums.
  llvm::SmallVector<llvm::SmallVector<unsigned>> linear_in;

  bool operandNames(unsigned operand, unsigned factor) const { return Names(operands[operand], factor); }
  bool resultNames(unsigned result, unsigned factor) const { return Names(results[result], factor); }
  static bool Names(const ValueFactors& value, unsigned factor);
};

// Any op has a rule. The factors of an op that says nothing about itself are whole.
FactorRule FactorsOf(mlir::Operation* op);

// Returns how partial results of a factor combine; nullopt for a factor that gives none.
std::optional<ReduceKind> CombineOf(FactorKind kind);

// Returns "(m k, k n) -> (m n); k sum": a word for each dimension. A dimension of size 1 is "1".
std::string FactorText(const FactorRule& rule);

// Splits a factor into factors of these sizes, major first, whose product is its size: `n` of a matmul into
// the {3, heads, width} of packed q, k and v. The first takes the factor's place, the others come behind all
// factors. Returns false and changes nothing if the op counts the factor's iterations, or if the factor is
// whole.
bool SplitFactor(FactorRule& rule, unsigned factor, llvm::ArrayRef<int64_t> sizes);

// One factor of an op on one part.
struct FactorPart {
  int64_t size;  // Iterations of the part: the factor's if it is not cut.
  // Number of the first iteration: an i64 attribute, or a value of type tensor<i64>. Null if the factor is
  // not cut.
  mlir::OpFoldResult offset = {};
};

// For the rules that ops state themselves -------------------------------------------------------------------

// Writes a rule in letters: `factors` have names; a text has a word for each dimension of the value, with the
// names of its factors. "." stands for a dimension that no factor shares. Example: "b t hg .".
FactorRule SpellFactors(mlir::Operation* op, llvm::ArrayRef<Factor> factors,
                        llvm::ArrayRef<std::string> operands, llvm::ArrayRef<std::string> results);
// The rule of an op whose tensors of the first result's rank (or of the first operand's, without results) all
// have the same factors: one parallel factor for each dimension of which `is_cut` is true.
FactorRule SameFactors(mlir::Operation* op, llvm::function_ref<bool(int64_t dim)> is_cut);
// The rule of an op that needs all of its operands.
FactorRule WholeFactors(mlir::Operation* op);
// The name of the factor of dimension `dim`, 0 to 7: 'i' to 'p'.
inline char DimName(int64_t dim) { return static_cast<char>('i' + dim); }

}  // namespace sinter::ir

#endif  // SINTER_IR_DIALECT_FACTOR_RULE_H_
