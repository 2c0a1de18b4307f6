// A table of two ops and why they must stay two kernels, or may be one.
#include "sinter/passes/fuse/fusion_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "mlir/Parser/Parser.h"
#include "sinter/ir/register_dialects.h"

namespace sinter {
namespace {

struct RulesRow {
  const char* name;
  const char* body;  // The first op and the last one are the two groups.
  const char* why;   // A part of the refusal; "" if they may be one kernel.
};

// $D becomes the device of the row, {} for a CPU.
constexpr RulesRow kRulesRows[] = {
    {"a map and its reader", R"(
  %a = sinter.exp %x $D : tensor<64x64xf32>
  %b = sinter.neg %a $D : tensor<64x64xf32>
  return %b : tensor<64x64xf32>)",
     ""},
    {"two maps of one value", R"(
  %a = sinter.exp %x $D : tensor<64x64xf32>
  %b = sinter.neg %x $D : tensor<64x64xf32>
  return %a, %b : tensor<64x64xf32>, tensor<64x64xf32>)",
     ""},
    {"a map and a sum of it", R"(
  %a = sinter.exp %x $D : tensor<64x64xf32>
  %b = sinter.sum %a [1] $D : tensor<64x64xf32> -> tensor<64xf32>
  return %b : tensor<64xf32>)",
     ""},
    {"loops of different shapes", R"(
  %a = sinter.exp %x $D : tensor<64x64xf32>
  %b = sinter.exp %v $D : tensor<64xf32>
  return %a, %b : tensor<64x64xf32>, tensor<64xf32>)",
     "they share no loop"},
    {"a library call between", R"(
  %a = sinter.exp %x $D : tensor<64x64xf32>
  %m = sinter.matmul %a, %x $D : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %b = sinter.add %m, %a $D : tensor<64x64xf32>
  return %b : tensor<64x64xf32>)",
     FusionRules::kComputedBetween},
    {"an expensive value read through an index map", R"(
  %a = sinter.exp %v $D : tensor<64xf32>
  %c = sinter.broadcast %a [1] $D : tensor<64xf32> -> tensor<64x64xf32>
  %b = sinter.add %x, %c $D : tensor<64x64xf32>
  return %b : tensor<64x64xf32>)",
     "sinter.exp would be read through an index map more than once: 4096 elements computed instead of 64"},
    {"a cheap value read through an index map", R"(
  %a = sinter.neg %v $D : tensor<64xf32>
  %c = sinter.broadcast %a [1] $D : tensor<64xf32> -> tensor<64x64xf32>
  %b = sinter.add %x, %c $D : tensor<64x64xf32>
  return %b : tensor<64x64xf32>)",
     ""},
};

class FusionRulesTest : public ::testing::Test {
 protected:
  FusionRulesTest() {
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    context_.appendDialectRegistry(registry);
    context_.loadAllAvailableDialects();
  }

  // Parses a function of %x, %v and %y. Its ops are on gpu:0, or say nothing.
  void Parse(const std::string& body, bool on_gpu) {
    const std::string text = absl::StrCat(
        "func.func @f(%x: tensor<64x64xf32>, %v: tensor<64xf32>, %y: tensor<8192x256xf32>) -> $R {", body,
        "\n}");
    const size_t result = body.rfind(" : ");
    const std::string filled =
        absl::StrReplaceAll(text, {{"$D", on_gpu ? "{sinter.device = #sinter.device<gpu, 0>}" : ""},
                                   {"$R", absl::StrCat("(", body.substr(result + 3), ")")}});
    module_ = mlir::parseSourceString<mlir::ModuleOp>(filled, &context_);
    ASSERT_TRUE(module_) << filled;
    function_ = *module_->getOps<mlir::func::FuncOp>().begin();
    costs_ = ElementCost();
    graph_.emplace(function_.getBody().front(), costs_);
  }
  // The group of op number `i` of the function.
  unsigned Group(unsigned i) {
    mlir::Operation* op = &*std::next(function_.getBody().front().begin(), i);
    return graph_->groupOf(static_cast<unsigned>(graph_->nodeOf(op->getResult(0))));
  }
  std::string Refuse(unsigned i, unsigned j, size_t most_ops = 256, size_t most_buffers = 4095) {
    return FusionRules(*graph_, costs_, most_ops, most_buffers).refuse(Group(i), Group(j));
  }

  mlir::MLIRContext context_{mlir::MLIRContext::Threading::DISABLED};
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp function_;
  ElementCost costs_;
  std::optional<FusionGraph> graph_;
};

// Returns the number of the op before the return.
unsigned LastOp(mlir::func::FuncOp function) {
  return static_cast<unsigned>(function.getBody().front().getOperations().size()) - 2;
}

TEST_F(FusionRulesTest, RefusesForAReason) {
  for (const RulesRow& row : kRulesRows) {
    for (const bool on_gpu : {false, true}) {
      SCOPED_TRACE(std::string(row.name) + (on_gpu ? " on a GPU" : " on a CPU"));
      Parse(row.body, on_gpu);
      const std::string why = Refuse(0, LastOp(function_));
      if (std::string_view(row.why).empty()) {
        EXPECT_EQ(why, "");
      }
      EXPECT_THAT(why, ::testing::HasSubstr(row.why));
      // Neither order of the two changes the answer.
      EXPECT_EQ(Refuse(LastOp(function_), 0).empty(), why.empty());
    }
  }
}

TEST_F(FusionRulesTest, LimitsOpsAndBuffers) {
  Parse(R"(
  %a = sinter.exp %x $D : tensor<64x64xf32>
  %b = sinter.add %a, %x $D : tensor<64x64xf32>
  return %b : tensor<64x64xf32>)",
        /*on_gpu=*/true);
  EXPECT_EQ(Refuse(0, 1, /*most_ops=*/2, /*most_buffers=*/2), "");
  EXPECT_EQ(Refuse(0, 1, /*most_ops=*/1), "the kernel would have 2 ops, more than 1");
  EXPECT_EQ(Refuse(0, 1, 256, /*most_buffers=*/1), "the kernel would work on 2 buffers, more than 1");
}

TEST_F(FusionRulesTest, ChunksStoreFullResultsOnAGpuOnly) {
  constexpr char kStored[] = R"(
  %a = sinter.exp %y $D : tensor<8192x256xf32>
  %b = sinter.sum %a [0] $D : tensor<8192x256xf32> -> tensor<256xf32>
  return %a, %b : tensor<8192x256xf32>, tensor<256xf32>)";
  Parse(kStored, /*on_gpu=*/true);
  EXPECT_EQ(Refuse(0, 1), "");
  Parse(kStored, /*on_gpu=*/false);
  EXPECT_EQ(Refuse(0, 1),
            "2097152 elements are reduced to 256 in chunks, where full results cannot be stored");
  // A value that depends on the sum waits for all chunks.
  Parse(R"(
  %a = sinter.sum %y [0] $D : tensor<8192x256xf32> -> tensor<256xf32>
  %c = sinter.broadcast %a [1] $D : tensor<256xf32> -> tensor<8192x256xf32>
  %b = sinter.sub %y, %c $D : tensor<8192x256xf32>
  return %b : tensor<8192x256xf32>)",
        /*on_gpu=*/true);
  EXPECT_THAT(Refuse(0, 2), ::testing::HasSubstr("in chunks, where full results cannot be stored"));
}

TEST_F(FusionRulesTest, DevicesDoNotShareAKernel) {
  Parse(R"(
  %a = sinter.exp %x {sinter.device = #sinter.device<gpu, 0>} : tensor<64x64xf32>
  %b = sinter.neg %x {sinter.device = #sinter.device<gpu, 1>} : tensor<64x64xf32>
  return %b : tensor<64x64xf32>)",
        /*on_gpu=*/false);
  EXPECT_EQ(Refuse(0, 1), "one runs on gpu:0, the other on gpu:1");
}

TEST_F(FusionRulesTest, NamesTheOpAtABoundary) {
  Parse(R"(
  %a = sinter.exp %x $D : tensor<64x64xf32>
  %m = sinter.matmul %a, %x $D : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = sinter.reshape %m $D : tensor<64x64xf32> -> tensor<4096xf32>
  %c = sinter.clone %r $D : tensor<4096xf32>
  %b = sinter.neg %c $D : tensor<4096xf32>
  return %b : tensor<4096xf32>)",
        /*on_gpu=*/true);
  const FusionRules rules(*graph_, costs_, 256, 4095);
  EXPECT_EQ(rules.boundary(0, 1), "sinter.matmul is a library call");
  EXPECT_EQ(rules.boundary(0, 2), "a reshape that regroups dimensions is a view of memory");
  EXPECT_EQ(rules.boundary(3, 4), "sinter.clone moves memory");
  EXPECT_EQ(rules.boundary(0, 4), "");
  EXPECT_EQ(rules.boundary(4, 5), "");  // Results of the function.
}

// On a GPU two ops and what lies between them may be one kernel, if all of it is loops.
TEST_F(FusionRulesTest, JoinsWhatLiesBetweenOnAGpu) {
  constexpr char kBetween[] = R"(
  %a = sinter.exp %x $D : tensor<64x64xf32>
  %c = sinter.neg %a $D : tensor<64x64xf32>
  %b = sinter.add %a, %c $D : tensor<64x64xf32>
  return %b : tensor<64x64xf32>)";
  Parse(kBetween, /*on_gpu=*/true);
  EXPECT_EQ(Refuse(0, 2), FusionRules::kComputedBetween);
  EXPECT_THAT(FusionRules(*graph_, costs_, 256, 4095).joinable(Group(0), Group(2)),
              ::testing::ElementsAre(Group(1)));
  Parse(kBetween, /*on_gpu=*/false);
  EXPECT_TRUE(FusionRules(*graph_, costs_, 256, 4095).joinable(Group(0), Group(2)).empty());
}

}  // namespace
}  // namespace sinter
