// Every sharding rule keeps results: parts of the operands, computed apart and combined as the rule says,
// give what the op gives on whole operands. The reference evaluates both.
#include "sinter/ir/dialect/sharding_rule.h"

#include <algorithm>
#include <map>
#include <set>

#include "gtest/gtest.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/passes/passes.h"
#include "sinter/runtime/host/status.h"
#include "sinter/tests/numerics/comparison.h"
#include "sinter/tests/numerics/op_cases.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::numerics {
namespace {

using Bounds = std::vector<int64_t>;

constexpr int64_t kMostElements = 4096;  // Larger operands take long and show nothing more.

// Cases of rules that no case of the table has.
std::vector<OpCase> SplitCases() {
  std::vector<OpCase> cases = AllOpCases();
  cases.push_back({"pad_columns",
                   OpClass::kExact,
                   "%r = sinter.pad %a value 1.5 low [0, 1] high [0, 2] interior [0, 1] : tensor<5x3x$T> -> "
                   "tensor<5x8x$T>",
                   {{"tensor<5x3x$T>"}},
                   {"tensor<5x8x$T>"},
                   "f32"});
  return cases;
}

bool IsLarge(const OpCase& c, const std::string& dtype) {
  return std::ranges::any_of(c.operands, [&](const OperandCase& operand) {
    return reference::NumElements(ZerosOfText(Replace(operand.type, "$T", dtype)).shape) > kMostElements;
  });
}

mlir::RankedTensorType WithSize(mlir::Value value, int64_t dim, int64_t size) {
  auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
  llvm::SmallVector<int64_t> shape(type.getShape());
  shape[dim] = size;
  return mlir::RankedTensorType::get(shape, type.getElementType());
}

int64_t SizeAlong(mlir::Value value, int64_t dim) {
  return llvm::cast<mlir::RankedTensorType>(value.getType()).getDimSize(dim);
}

// Copies the elements of `part` to `whole`, or back if `extract`, from position `first` of `dim` on.
void MovePart(reference::Value& part, reference::Value& whole, int64_t dim, int64_t first, bool extract) {
  reference::ForEachIndex(part.shape, [&](const reference::Shape& at) {
    reference::Shape in_whole = at;
    in_whole[dim] += first;
    const int64_t p = reference::Offset(part.shape, at), w = reference::Offset(whole.shape, in_whole);
    extract ? part.Copy(p, whole, w) : whole.Copy(w, part, p);
  });
}

// Combines `part` with what the parts before it gave.
void Accumulate(reference::Value& sum, const reference::Value& part, ir::ReduceKind combine) {
  const auto combined = [&](auto a, auto b) {
    return combine == ir::ReduceKind::max   ? std::max(a, b)
           : combine == ir::ReduceKind::min ? std::min(a, b)
                                            : a + b;
  };
  for (size_t i = 0; i < sum.reals.size(); ++i)
    sum.reals[i] = reference::Round(sum.dtype, combined(sum.reals[i], part.reals[i]));
  for (size_t i = 0; i < sum.ints.size(); ++i)
    sum.ints[i] = reference::Wrap(sum.dtype, combined(sum.ints[i], part.ints[i]));
}

// The boundaries of `parts` parts of different sizes; fewer parts if there are fewer positions.
Bounds UnevenBounds(int64_t size, int64_t parts) {
  Bounds bounds = {0};
  for (int64_t part = 1; part < parts; ++part) bounds.push_back(std::min(size, (size * part + 1) / parts));
  bounds.push_back(size);
  return bounds;
}

class ShardingRuleTest : public ::testing::Test {
 protected:
  ShardingRuleTest() {
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    context_.appendDialectRegistry(registry);
    context_.loadAllAvailableDialects();
  }

  // Evaluates the case op by op, and compares every split of every op.
  void CompareOps(const OpCase& c);
  void CompareSplits(mlir::Operation* op, const std::vector<reference::Value>& operands,
                     const std::vector<reference::Value>& want, OpClass op_class);
  // Computes the op in these parts of the operands' split dimension.
  std::vector<reference::Value> InParts(mlir::Operation* op, const ir::ShardingRule& rule,
                                        const Bounds& bounds, const std::vector<reference::Value>& operands,
                                        const std::vector<reference::Value>& whole);

  mlir::MLIRContext context_{mlir::MLIRContext::Threading::DISABLED};
  std::set<std::string> split_;  // Names of the ops that were computed in parts.
  int compared_ = 0;
};

std::vector<reference::Value> ShardingRuleTest::InParts(mlir::Operation* op, const ir::ShardingRule& rule,
                                                        const Bounds& bounds,
                                                        const std::vector<reference::Value>& operands,
                                                        const std::vector<reference::Value>& whole) {
  std::vector<reference::Value> results = whole;  // Split results are overwritten part by part.
  for (size_t part = 0; part + 1 < bounds.size(); ++part) {
    mlir::Block block;
    mlir::IRMapping mapping;
    std::vector<reference::Value> own;
    for (auto [i, value] : llvm::enumerate(op->getOperands())) {
      const int64_t dim = rule.operands[i], size = bounds[part + 1] - bounds[part];
      mlir::Type type = dim == ir::kWhole ? value.getType() : mlir::Type(WithSize(value, dim, size));
      if (!mapping.contains(value)) mapping.map(value, block.addArgument(type, op->getLoc()));
      own.push_back(dim == ir::kWhole ? operands[i] : reference::ZerosOf(type));
      reference::Value from = operands[i];
      if (dim != ir::kWhole) MovePart(own.back(), from, dim, bounds[part], /*extract=*/true);
      if (part > 0 && rule.only_first == static_cast<int64_t>(i)) own.back() = reference::ZerosOf(type);
    }
    mlir::OpBuilder builder(&context_);
    builder.setInsertionPointToEnd(&block);
    mlir::Operation* clone = builder.clone(*op, mapping);
    const auto bound = [&](size_t p) { return bounds[p] * rule.numerator / rule.denominator; };
    for (auto [i, result] : llvm::enumerate(clone->getResults())) {
      if (rule.results[i] == ir::kWhole) continue;
      const int64_t size = bound(part + 1) - bound(part);
      result.setType(WithSize(result, rule.results[i], size));
      auto slice = llvm::dyn_cast<ir::SliceOp>(clone);
      if (!slice) continue;
      llvm::SmallVector<int64_t> limits(slice.getLimits());
      limits[rule.results[i]] = size;
      slice.setLimits(limits);
    }
    EXPECT_TRUE(mlir::succeeded(mlir::verify(clone)));
    absl::StatusOr<std::vector<reference::Value>> got = reference::EvaluateOp(clone, own);
    EXPECT_TRUE(got.ok()) << got.status();
    if (!got.ok()) return results;
    for (size_t i = 0; i < results.size(); ++i) {
      if (rule.results[i] != ir::kWhole) {
        MovePart((*got)[i], results[i], rule.results[i], bound(part), /*extract=*/false);
      } else if (part == 0) {
        results[i] = (*got)[i];
      } else {
        Accumulate(results[i], (*got)[i], *rule.partial);
      }
    }
  }
  return results;
}

void ShardingRuleTest::CompareSplits(mlir::Operation* op, const std::vector<reference::Value>& operands,
                                     const std::vector<reference::Value>& want, OpClass op_class) {
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    const int64_t rank = llvm::cast<mlir::RankedTensorType>(operand.getType()).getRank();
    for (int64_t dim = 0; dim < rank; ++dim) {
      const int64_t size = SizeAlong(operand, dim);
      const std::optional<ir::ShardingRule> rule = ir::ShardAlong(op, static_cast<unsigned>(i), dim);
      if (!rule || size < 2) continue;
      const std::string name = op->getName().getStringRef().str();
      SCOPED_TRACE(name + ", operand " + std::to_string(i) + " along " + std::to_string(dim));
      ASSERT_EQ(rule->operands.size(), operands.size());
      ASSERT_EQ(rule->results.size(), want.size());
      EXPECT_EQ(rule->operands[i], dim);
      EXPECT_EQ(llvm::is_contained(rule->results, ir::kWhole), rule->partial.has_value());
      for (auto [j, other] : llvm::enumerate(op->getOperands())) {
        if (rule->operands[j] != ir::kWhole) {
          ASSERT_EQ(SizeAlong(other, rule->operands[j]), size);
        }
      }
      for (const int64_t parts : {2, 3}) {
        const Bounds bounds = UnevenBounds(size, parts);
        if (llvm::any_of(bounds, [&](int64_t b) { return b * rule->numerator % rule->denominator != 0; }))
          continue;
        const std::vector<reference::Value> got = InParts(op, *rule, bounds, operands, want);
        for (size_t k = 0; k < want.size(); ++k) {
          // Sums of parts have another order and one more rounding.
          const OpClass judged =
              rule->partial == ir::ReduceKind::sum ? std::max(op_class, OpClass::kReduction) : op_class;
          EXPECT_EQ(Disagreement(got[k], want[k], judged, 2), "") << parts << " parts, result " << k;
        }
        split_.insert(name);
        ++compared_;
      }
    }
  }
}

void ShardingRuleTest::CompareOps(const OpCase& c) {
  const std::string dtype = DTypesOf(c).front();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(FunctionText(c, dtype, "f"), &context_);
  ASSERT_TRUE(module);
  mlir::PassManager manager(&context_);
  // Attention stays whole, as on a GPU.
  if (c.body.find("sinter.attention") == std::string::npos)
    manager.addNestedPass<mlir::func::FuncOp>(createDecompose());
  ASSERT_TRUE(mlir::succeeded(manager.run(*module)));
  mlir::Block& block = module->lookupSymbol<mlir::func::FuncOp>("f").getBody().front();
  llvm::DenseMap<mlir::Value, reference::Value> values;
  const std::vector<reference::Value> inputs = MakeOperands(c, dtype, 3);
  for (auto [i, argument] : llvm::enumerate(block.getArguments())) values[argument] = inputs[i];
  for (mlir::Operation& op : block.without_terminator()) {
    std::vector<reference::Value> operands;
    for (mlir::Value operand : op.getOperands()) operands.push_back(values.lookup(operand));
    absl::StatusOr<std::vector<reference::Value>> results = reference::EvaluateOp(&op, operands);
    ASSERT_TRUE(results.ok()) << results.status();
    CompareSplits(&op, operands, *results, c.op_class);
    for (auto [i, result] : llvm::enumerate(op.getResults())) values[result] = (*results)[i];
  }
}

TEST_F(ShardingRuleTest, PartsCombineToTheWhole) {
  for (const OpCase& c : SplitCases()) {
    // Ops with functions of their own, and ops that name devices, are never split.
    const bool is_placed = c.body.find("sinter.copy") != std::string::npos || !c.functions.empty();
    if (is_placed || c.special_values || IsLarge(c, DTypesOf(c).front())) continue;
    SCOPED_TRACE(c.name);
    CompareOps(c);
  }
  EXPECT_GT(compared_, 500);
  // The rules that ops state themselves were all used.
  for (mlir::RegisteredOperationName name : context_.getRegisteredOperations()) {
    if (name.hasInterface<ir::ShardableInterface>()) {
      EXPECT_TRUE(split_.contains(name.getStringRef().str())) << name.getStringRef().str();
    }
  }
}

}  // namespace
}  // namespace sinter::numerics
