// ParseProgram: reads a program's text from an untrusted source; any bytes give a module or diagnostics.
//
//   mlir::OwningOpRef<mlir::ModuleOp> module = ParseProgram(text, "lenet.mlir", &context);
//   if (!module) return failure();  // The context's diagnostic handler got the reason.
#ifndef SINTER_IR_PARSE_PROGRAM_H_
#define SINTER_IR_PARSE_PROGRAM_H_

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace sinter::ir {

// Returns null and reports an error at the line of the text (named `name`) if MLIR's parser refuses the text
// or if a result number belongs to no op. The second check is necessary: for %x#7 the parser allocates space
// for the number that it reads, and ends the process if the memory is not available. An op names the type of
// each result, so in a valid text the sum of the largest numbers of all names is below the text's length.
mlir::OwningOpRef<mlir::ModuleOp> ParseProgram(llvm::StringRef text, llvm::StringRef name,
                                               mlir::MLIRContext* context);

}  // namespace sinter::ir

#endif  // SINTER_IR_PARSE_PROGRAM_H_
