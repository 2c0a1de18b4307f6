#include "sinter/ir/fusion/op_forms.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/register_dialects.h"

namespace sinter::ir {
namespace {

class OpFormsTest : public ::testing::Test {
 protected:
  OpFormsTest() {
    mlir::DialectRegistry registry;
    RegisterDialects(registry);
    context_ = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  }

  mlir::OwningOpRef<mlir::ModuleOp> Parse(const std::string& text) {
    return mlir::parseSourceString<mlir::ModuleOp>(text, context_.get());
  }

  // Returns the form of the ops of a function of two arguments %a and %b that returns %r.
  std::vector<uint64_t> Form(const std::string& ops, const std::string& type = "tensor<4x8xf32>") {
    const std::string text = absl::StrReplaceAll(
        "func.func @f(%a: $T, %b: $T) -> $T {\n" + ops + "\n  return %r : $T\n}", {{"$T", type}});
    modules_.push_back(Parse(text));
    EXPECT_TRUE(modules_.back()) << text;
    mlir::Block& body = (*modules_.back()->getOps<mlir::func::FuncOp>().begin()).getBody().front();
    llvm::SmallVector<mlir::Operation*> list;
    for (mlir::Operation& op : body.without_terminator()) list.push_back(&op);
    llvm::SmallVector<uint64_t> form;
    forms_.append(list, body.getTerminator()->getOperands(), form);
    return {form.begin(), form.end()};
  }

 private:
  std::unique_ptr<mlir::MLIRContext> context_;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> modules_;
  OpForms forms_;
};

TEST_F(OpFormsTest, LinesAndOuterValuesAreNoPartOfTheForm) {
  const auto form = Form("%x = sinter.add %a, %b : $T\n %r = sinter.exp %x : $T");
  EXPECT_EQ(form, Form("%x = sinter.add %b, %a : $T\n\n\n %r = sinter.exp %x : $T"));
}

TEST_F(OpFormsTest, WhichOuterValuesAreOneIsPartOfTheForm) {
  EXPECT_NE(Form("%r = sinter.add %a, %b : $T"), Form("%r = sinter.add %a, %a : $T"));
  EXPECT_EQ(Form("%r = sinter.add %b, %b : $T"), Form("%r = sinter.add %a, %a : $T"));
}

TEST_F(OpFormsTest, OpsTypesAttributesAndOutputsArePartOfTheForm) {
  const std::string product = "%x = sinter.mul %a, %b : $T\n ";
  const auto form = Form(product + "%r = sinter.exp %x : $T");
  EXPECT_NE(form, Form(product + "%r = sinter.tanh %x : $T"));
  EXPECT_NE(form, Form(product + "%r = sinter.exp %x : $T", "tensor<8x4xf32>"));
  // The same ops with another output.
  EXPECT_NE(form, Form("%r = sinter.mul %a, %b : $T\n %x = sinter.exp %r : $T"));
  // The same ops with operands in another order.
  EXPECT_NE(Form("%x = sinter.exp %a : $T\n %r = sinter.sub %x, %b : $T"),
            Form("%x = sinter.exp %a : $T\n %r = sinter.sub %b, %x : $T"));
  const std::string square = "tensor<8x8xf32>";
  EXPECT_NE(Form("%r = sinter.transpose %a [1, 0] : $T -> $T", square),
            Form("%r = sinter.transpose %a [0, 1] : $T -> $T", square));
}

TEST_F(OpFormsTest, TypesOfOuterValuesArePartOfTheForm) {
  auto module = Parse(R"(func.func @f(%a: tensor<4xf16>, %b: tensor<4xbf16>, %c: tensor<4xf16>) {
    %0 = sinter.cast %a : tensor<4xf16> -> tensor<4xf32>
    %1 = sinter.cast %b : tensor<4xbf16> -> tensor<4xf32>
    %2 = sinter.cast %c : tensor<4xf16> -> tensor<4xf32>
    return
  })");
  ASSERT_TRUE(module);
  OpForms forms;
  std::vector<std::vector<uint64_t>> found;
  module->walk([&](CastOp op) {
    llvm::SmallVector<uint64_t> form;
    forms.append({op}, op->getResults(), form);
    found.emplace_back(form.begin(), form.end());
  });
  ASSERT_EQ(found.size(), 3u);
  EXPECT_NE(found[0], found[1]);
  EXPECT_EQ(found[0], found[2]);
}

TEST_F(OpFormsTest, AResultIsComputedOnceAForm) {
  auto module = Parse(R"(func.func @f(%a: tensor<4xf32>, %b: tensor<4xf32>) {
    %0 = sinter.exp %a : tensor<4xf32>
    %1 = sinter.exp %b : tensor<4xf32>
    %2 = sinter.tanh %b : tensor<4xf32>
    return
  })");
  ASSERT_TRUE(module);
  ByOpForm<int> results;
  int computed = 0;
  std::vector<int> found;
  module->walk([&](mlir::Operation* op) {
    if (llvm::isa<ExpOp, TanhOp>(op))
      found.push_back(results.of({op}, op->getResults(), [&] { return ++computed; }));
  });
  EXPECT_EQ(found, (std::vector<int>{1, 1, 2}));
}

}  // namespace
}  // namespace sinter::ir
