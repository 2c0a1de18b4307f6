// The reference evaluator: evaluates `sinter` functions slowly and simply, in double precision.
//
//   absl::StatusOr<std::vector<Value>> outputs = EvaluateFunction(func, {x, y});
//
// Each op has one plain function, written from the op records. It shares nothing with ir/'s scalar bodies,
// decompositions and gradients. Each result is rounded to its element type; keep_double turns this off for
// finite differences of f32 graphs. The evaluator does not handle `sinter.gradients`: run the pass
// `differentiate` first.
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
  bool keep_double = false;  // Keep results in double: no rounding to f32, bf16 or f16.
};

absl::StatusOr<std::vector<Value>> EvaluateFunction(mlir::func::FuncOp function,
                                                    const std::vector<Value>& inputs,
                                                    const EvaluateOptions& options = {});
// Returns the values that the block's terminator returns or yields.
absl::StatusOr<std::vector<Value>> EvaluateBlock(mlir::Block& block, const std::vector<Value>& arguments,
                                                 const EvaluateOptions& options = {});
// Evaluates one op on the values of its operands.
absl::StatusOr<std::vector<Value>> EvaluateOp(mlir::Operation* op, const std::vector<Value>& operands,
                                              const EvaluateOptions& options = {});

// Returns the registered ops of the `sinter` dialect that are not structural and have no reference function.
std::vector<std::string> OpsWithoutReference(mlir::MLIRContext* context);
// True if the op holds a program together and computes nothing.
bool IsStructural(const std::string& op_name);

DType DTypeOf(mlir::Type element);
// Returns a tensor of zeros of this type.
Value ZerosOf(mlir::Type type);
Value ValueOf(mlir::DenseElementsAttr attribute);

// For the files of the op families
// -----------------------------------------------------------------------------

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

// Returns the results of an op, not rounded yet. Empty if the function does not know this variant of the op.
using OpFunction = std::vector<Value> (*)(const Call& call);
using OpTable = std::map<std::string, OpFunction>;

void AddPlacementOps(OpTable& table);
void AddPointwiseOps(OpTable& table);
void AddLogicOps(OpTable& table);
void AddShapeOps(OpTable& table);
void AddReduceOps(OpTable& table);
void AddLinearOps(OpTable& table);
void AddMatrixOps(OpTable& table);
void AddFourierOps(OpTable& table);
void AddRandomOps(OpTable& table);
void AddCompositeOps(OpTable& table);
void AddAttentionOps(OpTable& table);
void AddCollectiveOps(OpTable& table);
void AddControlOps(OpTable& table);
void AddCustomOps(OpTable& table);

}  // namespace sinter::reference

#endif  // SINTER_TESTS_REFERENCE_REFERENCE_H_
