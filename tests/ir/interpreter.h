// Evaluates a small program element by element through its ops' interfaces and the folders of arith and math.
//
// This is slow and exact, and needs no code generator. Fusible ops and reductions run as their interfaces
// define them. scatters and cumsum have no scalar body, so this file implements them.
//
//   Interpreter run(context);
//   run.Set(argument, {1, 2, 3});
//   std::vector<double> y = run.Get(result);
#ifndef SINTER_TESTS_IR_INTERPRETER_H_
#define SINTER_TESTS_IR_INTERPRETER_H_

#include <vector>

#include "mlir/IR/MLIRContext.h"
#include "sinter/ir/dialect/ops.h"

namespace sinter::ir {

class Interpreter {
 public:
  explicit Interpreter(mlir::MLIRContext* context);
  ~Interpreter();

  // Sets the elements of a value, row-major. Its element type must represent each one exactly.
  void Set(mlir::Value tensor, std::vector<double> elements);
  // Computes `tensor` and its operands, and caches the results.
  const std::vector<double>& Get(mlir::Value tensor);
  // Forgets all computed and set values.
  void Clear() { elements_.clear(); }

  // Returns the constant that a scalar or index value folds to. Reports a test failure if it does not fold.
  mlir::Attribute Evaluate(mlir::Value value);
  double EvaluateNumber(Scalar scalar);

  mlir::OpBuilder& builder() { return builder_; }

 private:
  class Elements;

  std::vector<double> Compute(mlir::Operation* op, unsigned result);
  std::vector<double> ComputeReduction(mlir::Operation* op);
  template <typename Op, typename Combine>
  std::vector<double> ComputeScatter(Op scatter, const Combine& combine);

  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::OpBuilder builder_;
  llvm::DenseMap<mlir::Value, std::vector<double>> elements_;
  llvm::DenseMap<mlir::Value, mlir::Attribute> constants_;
};

}  // namespace sinter::ir

#endif  // SINTER_TESTS_IR_INTERPRETER_H_
