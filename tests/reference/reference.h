// The judge: evaluates functions of the `sinter` dialect, slowly and obviously, in double precision.
//
//   absl::StatusOr<std::vector<Value>> outputs = EvaluateFunction(func, {x, y});
//
// One plain function an op, written from the op records and sharing nothing with ir/'s scalar bodies, decompositions
// and gradients. Each op's result is rounded to its element type, unless asked not to (for finite differences of f32
// graphs). `sinter.gradients` is not evaluated: the pass `differentiate` replaces it first.
#ifndef SINTER_TESTS_REFERENCE_REFERENCE_H_
#define SINTER_TESTS_REFERENCE_REFERENCE_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "sinter/tests/reference/value.h"

namespace sinter::reference {

struct EvaluateOptions {
  bool keep_double = false;  // Do not round to f32, bf16 or f16.
};

absl::StatusOr<std::vector<Value>> EvaluateFunction(mlir::func::FuncOp function,
                                                    const std::vector<Value>& inputs,
                                                    const EvaluateOptions& options = {});
// The values that the block's terminator returns or yields.
absl::StatusOr<std::vector<Value>> EvaluateBlock(mlir::Block& block, const std::vector<Value>& arguments,
                                                 const EvaluateOptions& options = {});
// One op on its operands' values.
absl::StatusOr<std::vector<Value>> EvaluateOp(mlir::Operation* op, const std::vector<Value>& operands,
                                              const EvaluateOptions& options = {});

// The registered ops of the `sinter` dialect that no function here evaluates, and that are not structural.
std::vector<std::string> OpsWithoutReference(mlir::MLIRContext* context);
// Ops that hold a program together and compute nothing.
bool IsStructural(const std::string& op_name);

DType DTypeOf(mlir::Type element);
// A tensor of zeros of the type.
Value ZerosOf(mlir::Type type);
Value ValueOf(mlir::DenseElementsAttr attribute);

// For the family files -----------------------------------------------------------------------------------------------

struct Call {
  mlir::Operation* op;
  const std::vector<Value>& in;
  EvaluateOptions options;

  Value Result(unsigned i = 0) const { return ZerosOf(op->getResult(i).getType()); }
  int64_t Int(const char* name) const;
  double Real(const char* name) const;
  bool Flag(const char* name) const { return op->hasAttr(name); }
  Shape Ints(const char* name) const;
};

// Results are not rounded yet. No results: it does not know this op of the kind.
using OpFunction = std::vector<Value> (*)(const Call& call);
using OpTable = std::map<std::string, OpFunction>;

void AddPlacementOps(OpTable& table);
void AddPointwiseOps(OpTable& table);
void AddLogicOps(OpTable& table);
void AddShapeOps(OpTable& table);
void AddReduceOps(OpTable& table);
void AddLinearOps(OpTable& table);
void AddRandomOps(OpTable& table);
void AddCompositeOps(OpTable& table);
void AddAttentionOps(OpTable& table);
void AddCollectiveOps(OpTable& table);
void AddCustomOps(OpTable& table);

}  // namespace sinter::reference

#endif  // SINTER_TESTS_REFERENCE_REFERENCE_H_
