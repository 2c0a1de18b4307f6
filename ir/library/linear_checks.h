// Checks that the verifiers of the linear family share.
//
//   if (failed(CheckActivation(*this, getActivation(), getMath(), element))) return mlir::failure();
//   return emitOpError() << "has sizes " << SizesText(shape);
#ifndef SINTER_IR_LIBRARY_LINEAR_CHECKS_H_
#define SINTER_IR_LIBRARY_LINEAR_CHECKS_H_

#include <string>

#include "sinter/ir/dialect/ops.h"

namespace sinter::ir {

// "[2, 3]".
std::string SizesText(llvm::ArrayRef<int64_t> sizes);
// Activations require floats; math modes other than ieee require f32. Reports a violation.
mlir::LogicalResult CheckActivation(mlir::Operation* op, Activation activation, MathMode math,
                                    mlir::Type element);

}  // namespace sinter::ir

#endif  // SINTER_IR_LIBRARY_LINEAR_CHECKS_H_
