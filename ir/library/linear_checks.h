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
// The activation is for floats, and math modes but ieee are for f32. Reports what is wrong.
mlir::LogicalResult CheckActivation(mlir::Operation* op, Activation activation, MathMode math,
                                    mlir::Type element);

}  // namespace sinter::ir

#endif  // SINTER_IR_LIBRARY_LINEAR_CHECKS_H_
