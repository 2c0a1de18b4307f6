// ParseProgram reports texts on which MLIR's own parser would end the process.
#include "sinter/ir/parse_program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "mlir/IR/Diagnostics.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/register_dialects.h"

namespace sinter::ir {
namespace {

using ::testing::HasSubstr;

// Returns the errors of a text with their lines; empty if there is none.
std::string ErrorOf(const std::string& text) {
  mlir::DialectRegistry registry;
  RegisterDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  std::string error;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic& diagnostic) {
    auto line = llvm::dyn_cast<mlir::FileLineColLoc>(diagnostic.getLocation());
    error += (line ? std::to_string(line.getLine()) : "?") + ": " + diagnostic.str();
    return mlir::success();
  });
  auto module = ParseProgram(text, "test.mlir", &context);
  EXPECT_EQ(error.empty(), static_cast<bool>(module)) << error;
  return error;
}

std::string Returning(const std::string& value) {
  return "func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %r:2 = func.call @g(%x) : "
         "(tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)\n  return " +
         value +
         " : tensor<4xf32>\n}\nfunc.func private @g(tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)\n";
}

TEST(ParseProgramTest, NumbersOfResultsThatNoOpHas) {
  EXPECT_EQ(ErrorOf(Returning("%r#1")), "");
  EXPECT_EQ(ErrorOf(Returning("%r#2147483648")),
            "3: %r#2147483648 is a result that no op of this text can have; results are counted from 0");
  EXPECT_THAT(ErrorOf(Returning("%r // A comment.\n #99999999999999999999")),
              HasSubstr("4: %r#... is a result"));
  EXPECT_THAT(ErrorOf(Returning("%r#2")), HasSubstr("3: "));  // Reported by MLIR's parser.
  // Many names, each with a small enough count.
  std::string text = Returning("%r#1");
  for (int i = 0; i < 20; ++i) text += "%" + std::to_string(i) + "#200\n";
  EXPECT_THAT(ErrorOf(text), HasSubstr("is a result that no op of this text can have"));
}

TEST(ParseProgramTest, NumbersThatNameNoResults) {
  EXPECT_EQ(ErrorOf("// %r#2147483648\n" + Returning("%r#1")), "");
  EXPECT_EQ(ErrorOf("module attributes {test.text = \"\\\" %r#2147483648\"} {\n" + Returning("%r#1") + "}"),
            "");
  EXPECT_NE(ErrorOf("\"%r#2147483648"), "");
  EXPECT_NE(ErrorOf("%"), "");
  EXPECT_NE(ErrorOf("\"\\"), "");
}

}  // namespace
}  // namespace sinter::ir
