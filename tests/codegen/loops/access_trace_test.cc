// The position in memory of a value's element, as a function of the element's coordinates.
#include "sinter/codegen/loops/access_trace.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/tests/codegen/gpu_call_text.h"
#include "sinter/tests/codegen/loops/job_cases.h"

namespace sinter::codegen {
namespace {

using Strides = llvm::SmallVector<int64_t>;

// A call that stores `body`'s %r, of type `out`, from %a0 of type `in`.
std::string TracedText(const std::string& in, const std::string& body, const std::string& out) {
  return GpuCallText({in}, {out}, absl::StrCat(body, "\nsinter.yield %r : ", out));
}

TEST(AccessTraceTest, PositionsAreAffineInTheCoordinates) {
  struct Row {
    const char *in, *body, *out;
    Strides strides;
    int64_t constant;
  };
  const Row rows[] = {
      {"tensor<4x5xf32>", "%r = sinter.neg %a0 : tensor<4x5xf32>", "tensor<4x5xf32>", {5, 1}, 0},
      {"tensor<5x4xf32>",
       "%r = sinter.transpose %a0 [1, 0] : tensor<5x4xf32> -> tensor<4x5xf32>",
       "tensor<4x5xf32>",
       {1, 4},
       0},
      {"tensor<5xf32>",
       "%r = sinter.broadcast %a0 [1] : tensor<5xf32> -> tensor<4x5xf32>",
       "tensor<4x5xf32>",
       {0, 1},
       0},
      {"tensor<5x8xf32>",
       "%r = sinter.slice %a0 [1, 2] [5, 8] [2, 3] : tensor<5x8xf32> -> tensor<2x2xf32>",
       "tensor<2x2xf32>",
       {16, 3},
       10},
      // Dimensions of size 1 have the constant coordinate 0.
      {"tensor<1x5xf32>", "%r = sinter.neg %a0 : tensor<1x5xf32>", "tensor<1x5xf32>", {0, 1}, 0},
      // Through several ops: the last two dimensions of row 1, turned.
      {"tensor<3x4x5xf32>",
       "%s = sinter.slice %a0 [1, 0, 0] [2, 4, 5] [1, 1, 1] : tensor<3x4x5xf32> -> tensor<1x4x5xf32>\n"
       "%r = sinter.transpose %s [2, 0, 1] : tensor<1x4x5xf32> -> tensor<5x1x4xf32>",
       "tensor<5x1x4xf32>",
       {1, 0, 5},
       20},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.body);
    ParsedCall parsed(TracedText(row.in, row.body, row.out));
    const Trace trace = TraceElement(parsed.output(0));
    ASSERT_EQ(trace.accesses.size(), 1u);
    EXPECT_TRUE(trace.accesses[0].is_affine);
    EXPECT_EQ(trace.accesses[0].strides, row.strides);
    EXPECT_EQ(trace.accesses[0].constant, row.constant);
    EXPECT_TRUE(trace.pinned.none());
    EXPECT_TRUE(trace.reductions.empty());
  }
}

TEST(AccessTraceTest, PositionsThatDependOnDataAreNotAffine) {
  ParsedCall parsed(GpuCallText({"tensor<9x5xf32>", "tensor<4xi32>"}, {"tensor<4x5xf32>"}, R"(
    %r = sinter.gather %a0[%a1] dim 0 : tensor<9x5xf32>, tensor<4xi32> -> tensor<4x5xf32>
    sinter.yield %r : tensor<4x5xf32>)"));
  const Trace trace = TraceElement(parsed.output(0));
  mlir::Block& body = parsed.call().getBody().front();
  bool reads_table = false, reads_indices = false;
  for (const Access& access : trace.accesses) {
    if (access.tensor == body.getArgument(0)) {
      reads_table = true;
      EXPECT_FALSE(access.is_affine && access.strides[0] != 0);
      EXPECT_EQ(access.strides[1], 1);  // Along a row of the table the elements are neighbours.
    }
    if (access.tensor == body.getArgument(1)) {
      reads_indices = true;
      EXPECT_TRUE(access.is_affine);
      EXPECT_EQ(access.strides, (Strides{1, 0}));
    }
  }
  EXPECT_TRUE(reads_table && reads_indices);
}

TEST(AccessTraceTest, IndicesUsedAsNumbersPinTheirDimension) {
  ParsedCall parsed(TracedText("tensor<4x5xi32>",
                               "%i = sinter.iota 1 : tensor<4x5xi32>\n"
                               "%r = sinter.add %a0, %i : tensor<4x5xi32>",
                               "tensor<4x5xi32>"));
  const Trace trace = TraceElement(parsed.output(0));
  EXPECT_FALSE(trace.pinned.test(0));
  bool is_used = trace.pinned.test(1);
  for (const Access& access : trace.accesses) is_used |= !access.tensor && access.strides == Strides{0, 1};
  EXPECT_TRUE(is_used);
}

TEST(AccessTraceTest, NotesTheReductionsThatAnElementNeeds) {
  ParsedCall parsed(SoftmaxText("3", "45", "f32"));
  const Trace trace = TraceElement(parsed.output(0));
  std::vector<std::string> needed;
  for (int index : trace.reductions) {
    const Request& request = trace.requests[index];
    needed.push_back(request.tensor.getDefiningOp()->getName().getStringRef().str());
    EXPECT_EQ(request.dims, (llvm::SmallVector<int>{0})) << "of the element's own row";
  }
  std::sort(needed.begin(), needed.end());
  EXPECT_EQ(needed, (std::vector<std::string>{"sinter.max", "sinter.sum"}));
  EXPECT_GT(trace.cost,
            TraceElement(ParsedCall(TracedText("tensor<4xf32>", "%r = sinter.neg %a0 : tensor<4xf32>",
                                               "tensor<4xf32>"))
                             .output(0))
                .cost);
}

}  // namespace
}  // namespace sinter::codegen
