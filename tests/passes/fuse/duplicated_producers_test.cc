// A table of programs on a GPU and of the ops that every reader computes again.
#include "sinter/passes/fuse/duplicated_producers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_replace.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "sinter/ir/register_dialects.h"

namespace sinter {
namespace {

struct RecomputedRow {
  const char* name;
  const char* body;     // A function of %x, %w (bf16), %s and %t (a number for each row), and %i (f32).
  const char* results;  // The values that the function returns, with their types.
  std::vector<std::string> again;
};

// $X, $W, $F and $S are the types, $D the device.
const RecomputedRow kRecomputedRows[] = {
    {"a cast to a wider type with two readers",
     R"(
  %wide = sinter.cast %x $D : $X -> $F
  %a = sinter.exp %wide $D : $F
  %b = sinter.sum %wide [0] $D : $F -> tensor<256xf32>)",
     "%a, %b : $F, tensor<256xf32>",
     {"sinter.cast"}},
    {"the same with one reader",
     R"(
  %wide = sinter.cast %x $D : $X -> $F
  %a = sinter.exp %wide $D : $F)",
     "%a : $F",
     {}},
    {"a cast to a narrower type",
     R"(
  %narrow = sinter.cast %i $D : $F -> $X
  %a = sinter.exp %narrow $D : $X
  %b = sinter.neg %narrow $D : $X)",
     "%a, %b : $X, $X",
     {}},
    {"a value past a library call, of fewer bytes than it has",
     R"(
  %wide = sinter.cast %x $D : $X -> $F
  %rows = sinter.broadcast %s [0] $D : $S -> $F
  %normal = sinter.mul %wide, %rows $D : $F
  %narrow = sinter.cast %normal $D : $F -> $X
  %product = sinter.matmul %narrow, %w $D : ($X, $W) -> $X
  %dy = sinter.cast %product $D : $X -> $F
  %a = sinter.mul %dy, %normal $D : $F)",
     "%a : $F",
     {"sinter.cast", "sinter.mul"}},
    {"an expensive value past a library call",
     R"(
  %e = sinter.exp %x $D : $X
  %p = sinter.matmul %e, %w $D : ($X, $W) -> $X
  %a = sinter.mul %p, %e $D : $X)",
     "%a : $X",
     {}},
    {"a value made of more bytes than it has",
     R"(
  %sum = sinter.add %x, %y $D : $X
  %n = sinter.neg %sum $D : $X
  %p = sinter.matmul %n, %w $D : ($X, $W) -> $X
  %a = sinter.mul %p, %sum $D : $X)",
     "%a : $X",
     {}},
    {"a mask of a value in memory",
     R"(
  %zero = sinter.constant dense<0.0> : $X
  %e = sinter.add %x, %x $D : $X
  %r = sinter.relu %e $D : $X
  %p = sinter.matmul %r, %w $D : ($X, $W) -> $X
  %dw = sinter.matmul %r, %p {transpose_a, sinter.device = #sinter.device<gpu, 0>} : ($X, $X) -> $W
  %m = sinter.compare gt %r, %zero $D : $X -> tensor<1024x256xi1>
  %a = sinter.select %m, %p, %zero $D : tensor<1024x256xi1>, $X)",
     "%a, %dw : $X, $W",
     {"sinter.compare"}},
};

std::vector<std::string> Recomputed(const RecomputedRow& row, const std::string& rows, bool on_gpu) {
  mlir::DialectRegistry registry;
  ir::RegisterDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  const std::string results = row.results;
  const std::string text = absl::StrReplaceAll(
      "func.func @f(%x: $X, %y: $X, %w: $W, %s: $S, %i: $F) -> (" + results.substr(results.find(" : ") + 3) +
          ") {" + row.body + "\n  return " + results + "\n}",
      {{"$X", "tensor<1024x256xbf16>"},
       {"$F", "tensor<1024x256xf32>"},
       {"$S", "tensor<1024xf32>"},
       {"$W", "tensor<256x256xbf16>"},
       {"$D", on_gpu ? "{sinter.device = #sinter.device<gpu, 0>}" : ""}});
  auto module =
      mlir::parseSourceString<mlir::ModuleOp>(absl::StrReplaceAll(text, {{"1024", rows}}), &context);
  EXPECT_TRUE(module) << text;
  if (!module) return {};
  mlir::Block& block = (*module->getOps<mlir::func::FuncOp>().begin()).getBody().front();
  ElementCost costs;
  const llvm::DenseSet<mlir::Operation*> found = FindRecomputed(block, costs);
  std::vector<std::string> names;
  for (mlir::Operation& op : block) {
    if (found.contains(&op)) names.push_back(op.getName().getStringRef().str());
  }
  return names;
}

TEST(RecomputedValuesTest, ComputesAgainWhatMovesFewerBytes) {
  for (const RecomputedRow& row : kRecomputedRows)
    EXPECT_THAT(Recomputed(row, "1024", /*on_gpu=*/true), ::testing::ElementsAreArray(row.again)) << row.name;
}

// Caches hold small values, and a CPU stores what it has computed.
TEST(RecomputedValuesTest, StoresSmallValuesAndThoseOfCpus) {
  for (const RecomputedRow& row : kRecomputedRows) {
    EXPECT_THAT(Recomputed(row, "64", /*on_gpu=*/true), ::testing::IsEmpty()) << row.name;
    EXPECT_THAT(Recomputed(row, "1024", /*on_gpu=*/false), ::testing::IsEmpty()) << row.name;
  }
}

}  // namespace
}  // namespace sinter
