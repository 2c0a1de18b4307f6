// Evaluates a small program element by element, through the interfaces of its ops and the folders of arith and math: slow
// and exact, with no code generator between. Fusible ops and reductions run as they say; scatter_add and cumsum, which
// have no scalar body, are written out here.
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

  // The elements of a value, row-major. They must be what its element type can hold.
  void Set(mlir::Value tensor, std::vector<double> elements);
  // Computes what `tensor` needs and remembers it.
  const std::vector<double>& Get(mlir::Value tensor);
  // Forgets everything computed or set.
  void Clear() { elements_.clear(); }

  // The constant that a scalar or index value folds to; reports a failure when it does not.
  mlir::Attribute Evaluate(mlir::Value value);
  double EvaluateNumber(Scalar scalar);

  mlir::OpBuilder& builder() { return builder_; }

 private:
  class Elements;

  std::vector<double> Compute(mlir::Operation* op, unsigned result);
  std::vector<double> ComputeReduction(mlir::Operation* op);

  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::OpBuilder builder_;
  llvm::DenseMap<mlir::Value, std::vector<double>> elements_;
  llvm::DenseMap<mlir::Value, mlir::Attribute> constants_;
};

}  // namespace sinter::ir

#endif  // SINTER_TESTS_IR_INTERPRETER_H_
