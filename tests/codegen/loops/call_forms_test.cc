#include "sinter/codegen/loops/call_forms.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "sinter/ir/register_dialects.h"

namespace sinter::codegen {
namespace {

constexpr char kBuffer[] = "!plan.buffer<tensor<256xf32>>";

// A call that adds two buffers, with these offsets in the arena.
struct Places {
  int64_t a, b, out;
  std::string name = "add";
};

class CallFormsTest : public ::testing::Test {
 protected:
  CallFormsTest() : context_(mlir::MLIRContext::Threading::DISABLED) {
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    context_.appendDialectRegistry(registry);
    context_.loadAllAvailableDialects();
  }

  // Returns the numbers of the calls' forms.
  std::vector<unsigned> Numbers(const std::vector<Places>& calls, const std::string& last_op = "add") {
    std::string text = "plan.function @f {\n";
    for (size_t i = 0; i < calls.size(); ++i) {
      auto alloc = [&](const char* name, int64_t offset) {
        absl::StrAppend(&text, "%", name, i, " = plan.alloc at ", offset, " : ", kBuffer, "\n");
      };
      alloc("a", calls[i].a), alloc("b", calls[i].b), alloc("o", calls[i].out);
      absl::StrAppend(&text, absl::StrReplaceAll(R"(plan.call "$N" ins(%a$I, %b$I : $B, $B) outs(%o$I : $B) {
        ^bb0(%x: tensor<256xf32>, %y: tensor<256xf32>):
          %z = sinter.$OP %x, %y : tensor<256xf32>
          sinter.yield %z : tensor<256xf32>
        }
)",
                                                 {{"$N", calls[i].name},
                                                  {"$I", absl::StrCat(i)},
                                                  {"$B", kBuffer},
                                                  {"$OP", i + 1 == calls.size() ? last_op : "add"}}));
    }
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text + "}\n", &context_);
    EXPECT_TRUE(module_) << text;
    CallForms forms;
    std::vector<unsigned> numbers;
    module_->walk([&](plan_ir::CallOp call) { numbers.push_back(forms.NumberOf(call)); });
    return numbers;
  }

 private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

using Forms = std::vector<unsigned>;

TEST_F(CallFormsTest, NamesAndPlacesAreNoPartOfTheForm) {
  EXPECT_EQ(Numbers({{0, 1024, 2048}, {8192, 4096, 0, "other"}}), (Forms{0, 0}));
}

TEST_F(CallFormsTest, TheBodyIsPartOfTheForm) {
  EXPECT_EQ(Numbers({{0, 1024, 2048}, {0, 1024, 2048}}, "mul"), (Forms{0, 1}));
}

TEST_F(CallFormsTest, SharedMemoryIsPartOfTheForm) {
  const Places apart = {0, 1024, 2048};
  EXPECT_EQ(Numbers({apart, {0, 0, 2048}}), (Forms{0, 1})) << "one input twice";
  EXPECT_EQ(Numbers({apart, {0, 1024, 0}}), (Forms{0, 1})) << "the output overwrites an input";
  EXPECT_EQ(Numbers({{0, 1024, 1024}, {0, 1024, 0}}), (Forms{0, 1})) << "it overwrites another input";
  EXPECT_EQ(Numbers({{0, 1024, 0}, {4096, 1024, 4096}}), (Forms{0, 0})) << "both overwrite the first input";
  EXPECT_EQ(Numbers({apart, {0, 1024, 512}}), (Forms{0, 1})) << "the output overlaps both inputs";
  EXPECT_EQ(Numbers({{0, 4096, 512}, {0, 4096, 256}}), (Forms{0, 1})) << "by another distance";
}

TEST_F(CallFormsTest, AlignmentIsPartOfTheForm) {
  EXPECT_EQ(Numbers({{0, 1024, 2048}, {0, 1024, 2064}}), (Forms{0, 1}));
  EXPECT_EQ(Numbers({{0, 1024, 2064}, {0, 1024, 4112}}), (Forms{0, 0}));
}

}  // namespace
}  // namespace sinter::codegen
