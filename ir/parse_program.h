// A program's text, from somewhere else: any bytes give a module or diagnostics.
//
//   mlir::OwningOpRef<mlir::ModuleOp> module = ParseProgram(text, "lenet.mlir", &context);
//   if (!module) return failure();  // A handler of the context has been told why.
#ifndef SINTER_IR_PARSE_PROGRAM_H_
#define SINTER_IR_PARSE_PROGRAM_H_

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace sinter::ir {

// Null, and an error at the line of the text, which is called `name`: what MLIR's parser refuses, and numbers of results that
// are no op's. For as many results as the number of %x#7 says the parser makes room, and it ends the process where there is
// no memory for them. An op names the type of each result, so that in a valid text the largest numbers of all names are
// together fewer than its characters.
mlir::OwningOpRef<mlir::ModuleOp> ParseProgram(llvm::StringRef text, llvm::StringRef name,
                                               mlir::MLIRContext* context);

}  // namespace sinter::ir

#endif  // SINTER_IR_PARSE_PROGRAM_H_
