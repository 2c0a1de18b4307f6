// Test fixture that parses a program from text and returns its first function.
#ifndef SINTER_TESTS_IR_PROGRAM_TEXT_H_
#define SINTER_TESTS_IR_PROGRAM_TEXT_H_

#include <gtest/gtest.h>

#include <string>

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/register_dialects.h"

namespace sinter::ir {

// A context with every dialect loaded.
class ProgramText : public testing::Test {
 protected:
  ProgramText() : context_(Registry()) { context_.loadAllAvailableDialects(); }

  // Returns the first function of `text`. It lives as long as the test.
  mlir::func::FuncOp Parse(const std::string& text) {
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, &context_);
    if (!module_) {
      ADD_FAILURE() << "does not parse: " << text;
      return {};
    }
    return *module_->getOps<mlir::func::FuncOp>().begin();
  }

  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;

 private:
  static mlir::DialectRegistry Registry() {
    mlir::DialectRegistry registry;
    RegisterDialects(registry);
    return registry;
  }
};

}  // namespace sinter::ir

#endif  // SINTER_TESTS_IR_PROGRAM_TEXT_H_
