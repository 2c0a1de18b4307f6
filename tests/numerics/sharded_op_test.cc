// The rule of every op holds: parts of its factors, computed apart and combined as the rule says, give what
// the op gives on whole operands. The reference evaluates both.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "gtest/gtest.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "sinter/ir/dialect/local_op.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/passes/passes.h"
#include "sinter/tests/numerics/comparison.h"
#include "sinter/tests/numerics/op_cases.h"
#include "sinter/tests/reference/reference.h"

namespace sinter::numerics {
namespace {

using ir::FactorKind;
using ir::FactorRule;
using reference::Value;

constexpr int64_t kMostElements = 4096;   // Larger operands take long and show nothing more.
constexpr int64_t kMostOfTwoCuts = 1500;  // Operands of ops of which two factors are cut at once.

bool IsLarge(const OpCase& c, const std::string& dtype) {
  return std::ranges::any_of(c.operands, [&](const OperandCase& operand) {
    return reference::NumElements(ZerosOfText(Replace(operand.type, "$T", dtype)).shape) > kMostElements;
  });
}

struct Range {
  int64_t begin, size;
};
using Ranges = std::vector<Range>;  // One for each factor.

// Copies the elements of `part` to `whole`, or back if `extract`.
void MovePart(Value& part, Value& whole, const FactorRule& rule, const ir::ValueFactors& dims,
              const Ranges& ranges, bool extract) {
  reference::ForEachIndex(part.shape, [&](const reference::Shape& at) {
    reference::Shape in_whole(at.size());
    for (size_t d = 0; d < at.size(); ++d) {
      int64_t local = at[d], stride = 1;
      for (const unsigned f : llvm::reverse(dims[d])) {
        in_whole[d] += (local % ranges[f].size + ranges[f].begin) * stride;
        local /= ranges[f].size;
        stride *= rule.factors[f].size;
      }
    }
    const int64_t p = reference::Offset(part.shape, at), w = reference::Offset(whole.shape, in_whole);
    extract ? part.Copy(p, whole, w) : whole.Copy(w, part, p);
  });
}

// Combines `part` with what the parts before it gave.
void Accumulate(Value& sum, const Value& part, FactorKind kind) {
  const auto combined = [&](auto a, auto b) {
    return kind == FactorKind::kMax ? std::max(a, b) : kind == FactorKind::kMin ? std::min(a, b) : a + b;
  };
  for (size_t i = 0; i < sum.reals.size(); ++i)
    sum.reals[i] = reference::Round(sum.dtype, combined(sum.reals[i], part.reals[i]));
  for (size_t i = 0; i < sum.ints.size(); ++i)
    sum.ints[i] = reference::Wrap(sum.dtype, combined(sum.ints[i], part.ints[i]));
}

// A factor and the number of its parts. The larger parts come first.
struct Cut {
  unsigned factor;
  int64_t parts;

  Range RangeOf(int64_t size, int64_t part) const {
    const int64_t least = size / parts, larger = size % parts;
    return {part * least + std::min(part, larger), least + (part < larger ? 1 : 0)};
  }
};

class ShardedOpTest : public ::testing::Test {
 protected:
  ShardedOpTest() {
    mlir::DialectRegistry registry;
    ir::RegisterDialects(registry);
    context_.appendDialectRegistry(registry);
    context_.loadAllAvailableDialects();
  }

  // Calls `visit` for each op of the case, with the values of its operands and results.
  using Visit = std::function<void(mlir::Operation* op, const std::vector<Value>& operands,
                                   const std::vector<Value>& results)>;
  void ForEachOp(const OpCase& c, const Visit& visit);
  static std::vector<OpCase> Cases();

  void CompareOp(mlir::Operation* op, const std::vector<Value>& operands, const std::vector<Value>& want,
                 OpClass op_class);
  void CompareCuts(mlir::Operation* op, const FactorRule& rule, const std::vector<std::vector<Cut>>& all,
                   const std::vector<Value>& operands, const std::vector<Value>& want, OpClass op_class);
  void CompareSums(mlir::Operation* op, const FactorRule& rule, const std::vector<Value>& operands,
                   const std::vector<Value>& want, OpClass op_class);
  // Computes the op in all parts of these cuts, and puts the results together.
  std::vector<Value> InParts(mlir::Operation* op, const FactorRule& rule, const std::vector<Cut>& cuts,
                             const std::vector<Value>& operands);
  // Computes part `at` of the cuts and adds it to `results`.
  void AddPart(mlir::Operation* op, const FactorRule& rule, const std::vector<Cut>& cuts,
               const std::vector<int64_t>& at, const std::vector<Value>& operands,
               std::vector<Value>& results);
  std::vector<Value> EvaluatePart(mlir::Operation* op, const FactorRule& rule, const Ranges& ranges,
                                  const std::vector<Value>& operands);

  mlir::MLIRContext context_{mlir::MLIRContext::Threading::DISABLED};
  std::set<std::string> cut_, linear_;  // Names of ops that were computed in parts, and on terms of sums.
  int compared_ = 0, splits_ = 0;
};

std::vector<Value> ShardedOpTest::EvaluatePart(mlir::Operation* op, const FactorRule& rule,
                                               const Ranges& ranges, const std::vector<Value>& operands) {
  mlir::Block block;
  mlir::OpBuilder builder(&context_);
  builder.setInsertionPointToEnd(&block);
  std::vector<Value> values = operands;
  llvm::SmallVector<mlir::Value> arguments;
  llvm::SmallVector<ir::FactorPart> parts;
  for (auto [factor, range] : llvm::zip_equal(rule.factors, ranges)) {
    parts.push_back({range.size});
    if (range.size != factor.size) parts.back().offset = builder.getI64IntegerAttr(range.begin);
  }
  for (auto [operand, dims] : llvm::zip_equal(op->getOperands(), rule.operands)) {
    arguments.push_back(block.addArgument(ir::LocalType(ir::TypeOf(operand), dims, parts), op->getLoc()));
  }
  // Offsets of odd parts are numbers that are known when the program runs.
  for (auto [part, range] : llvm::zip_equal(parts, ranges)) {
    if (part.offset.isNull() || range.begin % 2 == 0) continue;
    auto type = mlir::RankedTensorType::get({}, builder.getI64Type());
    part.offset = block.addArgument(type, op->getLoc());
    values.push_back(reference::ZerosOf(type));
    values.back().ints = {range.begin};
  }
  const llvm::SmallVector<mlir::Value> results = ir::BuildOnPart(builder, op, arguments, rule, parts);
  for (mlir::Operation& made : block) EXPECT_TRUE(mlir::succeeded(mlir::verify(&made)));
  for (auto [result, whole, dims] : llvm::zip_equal(results, op->getResults(), rule.results)) {
    EXPECT_EQ(result.getType(), ir::LocalType(ir::TypeOf(whole), dims, parts));
  }
  builder.create<mlir::func::ReturnOp>(op->getLoc(), results);
  absl::StatusOr<std::vector<Value>> got = reference::EvaluateBlock(block, values);
  EXPECT_TRUE(got.ok()) << got.status();
  return got.ok() ? *got : std::vector<Value>();
}

void ShardedOpTest::AddPart(mlir::Operation* op, const FactorRule& rule, const std::vector<Cut>& cuts,
                            const std::vector<int64_t>& at, const std::vector<Value>& operands,
                            std::vector<Value>& results) {
  Ranges ranges;
  for (const ir::Factor& factor : rule.factors) ranges.push_back({0, factor.size});
  for (size_t c = 0; c < cuts.size(); ++c) {
    ranges[cuts[c].factor] = cuts[c].RangeOf(rule.factors[cuts[c].factor].size, at[c]);
  }
  const auto piece_of = [&](const Value& whole, const ir::ValueFactors& dims) {
    reference::Shape shape;
    for (const auto& dim : dims) {
      shape.push_back(1);
      for (const unsigned f : dim) shape.back() *= ranges[f].size;
    }
    return Value::Zeros(whole.dtype, shape);
  };
  std::vector<Value> own;
  for (unsigned i = 0; i < operands.size(); ++i) {
    own.push_back(piece_of(operands[i], rule.operands[i]));
    bool is_zero = false;
    for (size_t c = 0; c < cuts.size(); ++c) {
      is_zero |= llvm::is_contained(rule.counts_once, i) && at[c] > 0 &&
                 rule.factors[cuts[c].factor].kind == FactorKind::kSum &&
                 !rule.operandNames(i, cuts[c].factor);
    }
    Value whole = operands[i];
    if (!is_zero) MovePart(own.back(), whole, rule, rule.operands[i], ranges, /*extract=*/true);
  }
  std::vector<Value> got = EvaluatePart(op, rule, ranges, own);
  if (got.size() != results.size()) return;
  for (unsigned i = 0; i < results.size(); ++i) {
    bool is_first = true;
    FactorKind kind = FactorKind::kSum;
    for (size_t c = 0; c < cuts.size(); ++c) {
      if (rule.resultNames(i, cuts[c].factor)) continue;
      kind = rule.factors[cuts[c].factor].kind;
      EXPECT_NE(kind, FactorKind::kParallel) << "result " << i << " does not name the factor";
      is_first &= at[c] == 0;
    }
    if (!is_first) {
      Value before = piece_of(results[i], rule.results[i]);
      MovePart(before, results[i], rule, rule.results[i], ranges, /*extract=*/true);
      Accumulate(got[i], before, kind);
    }
    MovePart(got[i], results[i], rule, rule.results[i], ranges, /*extract=*/false);
  }
}

std::vector<Value> ShardedOpTest::InParts(mlir::Operation* op, const FactorRule& rule,
                                          const std::vector<Cut>& cuts, const std::vector<Value>& operands) {
  std::vector<Value> results;
  for (mlir::Type type : op->getResultTypes()) {
    results.push_back(reference::ZerosOf(type));
    // Elements that no part gives are wrong.
    std::ranges::fill(results.back().reals, 12345.0);
    std::ranges::fill(results.back().ints, 99);
  }
  std::vector<int64_t> at(cuts.size(), 0);
  while (true) {
    AddPart(op, rule, cuts, at, operands, results);
    size_t c = 0;
    while (c < cuts.size() && ++at[c] == cuts[c].parts) at[c++] = 0;
    if (c == cuts.size()) return results;
  }
}

void ShardedOpTest::CompareOp(mlir::Operation* op, const std::vector<Value>& operands,
                              const std::vector<Value>& want, OpClass op_class) {
  const FactorRule rule = ir::FactorsOf(op);
  SCOPED_TRACE(op->getName().getStringRef().str() + " " + ir::FactorText(rule));
  std::vector<unsigned> factors;
  for (unsigned f = 0; f < rule.factors.size(); ++f) {
    if (rule.factors[f].kind != FactorKind::kWhole && rule.factors[f].size >= 2) factors.push_back(f);
  }
  int64_t elements = 0;
  for (const Value& operand : operands) elements += operand.size();
  std::vector<std::vector<Cut>> all;
  for (const unsigned f : factors) {
    all.push_back({{f, 2}});
    if (rule.factors[f].size >= 3) all.push_back({{f, 3}});
    for (const unsigned g : factors) {
      if (g > f && elements <= kMostOfTwoCuts) all.push_back({{f, 2}, {g, 2}});
    }
  }
  CompareCuts(op, rule, all, operands, want, op_class);
  // The inner part of a split factor, and both parts.
  for (const unsigned f : factors) {
    const int64_t size = rule.factors[f].size, outer = size % 2 == 0 ? 2 : 3;
    FactorRule split = rule;
    if (size % outer != 0 || size / outer < 2 || !ir::SplitFactor(split, f, {outer, size / outer})) continue;
    const unsigned inner = split.factors.size() - 1;
    CompareCuts(op, split, {{{inner, 2}}, {{f, 2}, {inner, 2}}}, operands, want, op_class);
    ++splits_;
  }
  CompareSums(op, rule, operands, want, op_class);
}

void ShardedOpTest::CompareCuts(mlir::Operation* op, const FactorRule& rule,
                                const std::vector<std::vector<Cut>>& all, const std::vector<Value>& operands,
                                const std::vector<Value>& want, OpClass op_class) {
  for (const std::vector<Cut>& cuts : all) {
    std::string text;
    bool adds = false;
    for (const Cut& cut : cuts) {
      text += std::string(1, rule.factors[cut.factor].name) + " in " + std::to_string(cut.parts) + " ";
      adds |= rule.factors[cut.factor].kind == FactorKind::kSum;
    }
    const std::vector<Value> got = InParts(op, rule, cuts, operands);
    for (size_t i = 0; i < want.size(); ++i) {
      // Sums of parts have another order and one more rounding.
      const OpClass judged = adds ? std::max(op_class, OpClass::kReduction) : op_class;
      EXPECT_EQ(Disagreement(got[i], want[i], judged, 2), "")
          << text << ", result " << i << ": " << ir::FactorText(rule);
    }
    cut_.insert(op->getName().getStringRef().str());
    ++compared_;
  }
}

// Splits operands into two terms, and adds the results of both.
void ShardedOpTest::CompareSums(mlir::Operation* op, const FactorRule& rule,
                                const std::vector<Value>& operands, const std::vector<Value>& want,
                                OpClass op_class) {
  // Infinities have no terms.
  const auto finite = [](const Value& value) {
    return std::ranges::all_of(value.reals, [](double x) { return std::isfinite(x); });
  };
  if (!std::ranges::all_of(operands, finite)) return;
  std::mt19937 random(17);
  for (const llvm::SmallVector<unsigned>& set : rule.linear_in) {
    std::vector<Value> terms[2] = {operands, operands};
    for (const unsigned i : set) {
      Value &first = terms[0][i], &second = terms[1][i];
      // These factors and 1 less them are exact in all types.
      constexpr double kFactors[] = {0, 0.5, -1, 2};
      for (size_t k = 0; k < first.reals.size(); ++k) {
        first.reals[k] *= kFactors[random() % 4];
        second.reals[k] -= first.reals[k];
      }
      for (size_t k = 0; k < first.ints.size(); ++k) {
        first.ints[k] = reference::Wrap(first.dtype, static_cast<int64_t>(random() % 7) - 3);
        second.ints[k] = reference::Wrap(first.dtype, second.ints[k] - first.ints[k]);
      }
    }
    absl::StatusOr<std::vector<Value>> got = reference::EvaluateOp(op, terms[0]);
    absl::StatusOr<std::vector<Value>> more = reference::EvaluateOp(op, terms[1]);
    ASSERT_TRUE(got.ok() && more.ok()) << got.status() << more.status();
    for (size_t i = 0; i < want.size(); ++i) {
      Accumulate((*got)[i], (*more)[i], FactorKind::kSum);
      EXPECT_EQ(Disagreement((*got)[i], want[i], std::max(op_class, OpClass::kReduction), 4), "")
          << "sums of operand " << set[0] << ", result " << i;
    }
    linear_.insert(op->getName().getStringRef().str());
  }
}

std::vector<OpCase> ShardedOpTest::Cases() {
  std::vector<OpCase> cases = ShardedCases();
  // Ops with functions of their own are never cut.
  std::erase_if(cases, [](const OpCase& c) {
    return !c.functions.empty() || c.special_values || IsLarge(c, DTypesOf(c).front());
  });
  return cases;
}

void ShardedOpTest::ForEachOp(const OpCase& c, const Visit& visit) {
  const std::string dtype = DTypesOf(c).front();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(FunctionText(c, dtype, "f"), &context_);
  ASSERT_TRUE(module);
  mlir::PassManager manager(&context_);
  // Library ops stay whole, as on a GPU.
  const bool is_library = c.body.find("sinter.attention") != std::string::npos ||
                          c.body.find("sinter.few_queries_attention") != std::string::npos ||
                          c.body.find("sinter.matmul_grad") != std::string::npos ||
                          c.body.find("sinter.scaled_matmul") != std::string::npos;
  if (!is_library) manager.addNestedPass<mlir::func::FuncOp>(createDecompose());
  ASSERT_TRUE(mlir::succeeded(manager.run(*module)));
  mlir::Block& block = module->lookupSymbol<mlir::func::FuncOp>("f").getBody().front();
  llvm::DenseMap<mlir::Value, Value> values;
  const std::vector<Value> inputs = MakeOperands(c, dtype, 3);
  for (auto [i, argument] : llvm::enumerate(block.getArguments())) values[argument] = inputs[i];
  for (mlir::Operation& op : block.without_terminator()) {
    std::vector<Value> operands;
    for (mlir::Value operand : op.getOperands()) operands.push_back(values.lookup(operand));
    absl::StatusOr<std::vector<Value>> results = reference::EvaluateOp(&op, operands);
    ASSERT_TRUE(results.ok()) << results.status();
    visit(&op, operands, *results);
    for (auto [i, result] : llvm::enumerate(op.getResults())) values[result] = (*results)[i];
  }
}

TEST_F(ShardedOpTest, PartsCombineToTheWhole) {
  for (const OpCase& c : Cases()) {
    SCOPED_TRACE(c.name);
    ForEachOp(c, [&](mlir::Operation* op, const std::vector<Value>& operands,
                     const std::vector<Value>& results) { CompareOp(op, operands, results, c.op_class); });
  }
  EXPECT_GT(compared_, 1500);
  EXPECT_GT(splits_, 200);
  EXPECT_GT(linear_.size(), 25);
  // All rules that ops state themselves were used, but those of ops that are always whole.
  const std::set<std::string> whole = {"sinter.elementwise_kernel",
                                       "sinter.random_permutation",
                                       "sinter.reduce",
                                       "sinter.broadcast_from",
                                       "sinter.all_gather",
                                       "sinter.recv",
                                       "sinter.reduce_scatter",
                                       "sinter.all_to_all",
                                       "sinter.send",
                                       "sinter.ring_shift",
                                       "sinter.loop"};
  for (mlir::RegisteredOperationName name : context_.getRegisteredOperations()) {
    if (!name.hasInterface<ir::ShardableInterface>()) continue;
    EXPECT_NE(cut_.contains(name.getStringRef().str()), whole.contains(name.getStringRef().str()))
        << name.getStringRef().str();
  }
}

// The first row of a part may have a number that no i32 holds, and then indices of i32 are widened.
TEST_F(ShardedOpTest, RowsBeyondTheRangeOfI32AreNamedByI64) {
  for (const std::string rows : {"2147483647", "2147483648"}) {
    auto module = mlir::parseSourceString<mlir::ModuleOp>(
        "func.func @f(%i: tensor<2xi32>) {\n  %0 = sinter.one_hot %i : tensor<2xi32> -> tensor<2x" + rows +
            "xi8>\n  return\n}",
        &context_);
    ASSERT_TRUE(module);
    mlir::Block& block = module->lookupSymbol<mlir::func::FuncOp>("f").getBody().front();
    mlir::OpBuilder builder(block.getTerminator());
    const FactorRule rule = ir::FactorsOf(&block.front());
    llvm::SmallVector<ir::FactorPart> parts = ir::WholeParts(rule);
    parts.back() = {7, builder.getI64IntegerAttr(100)};
    const auto made = ir::BuildOnPart(builder, &block.front(), block.getArgument(0), rule, parts);
    EXPECT_EQ(ir::TypeOf(made[0]).getShape().back(), 7);
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*module)));
    mlir::Type index = ir::TypeOf(made[0].getDefiningOp()->getOperand(0)).getElementType();
    EXPECT_EQ(index.getIntOrFloatBitWidth(), rows == "2147483647" ? 32U : 64U) << rows;
  }
}

// Factors of a dimension multiply to its size; a dimension of size 1 has none.
TEST_F(ShardedOpTest, FactorsMultiplyToSizes) {
  for (const OpCase& c : Cases()) {
    SCOPED_TRACE(c.name);
    ForEachOp(c, [&](mlir::Operation* op, const std::vector<Value>&, const std::vector<Value>&) {
      const FactorRule rule = ir::FactorsOf(op);
      const auto whole = ir::WholeParts(rule);
      for (auto [value, dims] : llvm::zip_equal(op->getOperands(), rule.operands))
        EXPECT_EQ(ir::LocalType(ir::TypeOf(value), dims, whole), value.getType()) << ir::FactorText(rule);
      for (auto [value, dims] : llvm::zip_equal(op->getResults(), rule.results))
        EXPECT_EQ(ir::LocalType(ir::TypeOf(value), dims, whole), value.getType()) << ir::FactorText(rule);
      for (const ir::Factor& factor : rule.factors) EXPECT_NE(factor.size, 1) << ir::FactorText(rule);
    });
  }
}

// The table of docs/factor_rules.md, one row for each op, and for these cases more.
TEST_F(ShardedOpTest, TheTableOfRulesIsThatOfTheDocument) {
  const std::set<std::string> more = {
      "matmul_bias_addend_scale", "matmul_bias_relu",           "conv2d_groups",
      "attention_packed_heads",   "conv2d_bias_padded0",        "reshape_2x1x5x24",
      "slice_of_some_rows",       "attention_grad_grouped_f64", "attention_grouped_f64"};
  // The first row of an op is its example with the most factors.
  std::map<std::string, std::vector<std::string>> rows;
  std::map<std::string, size_t> most;
  for (const OpCase& c : Cases()) {
    ForEachOp(c, [&](mlir::Operation* op, const std::vector<Value>&, const std::vector<Value>&) {
      const FactorRule rule = ir::FactorsOf(op);
      const std::string name = op->getName().stripDialect().str();
      std::vector<std::string>& of_op = rows[name];
      const bool is_added = more.contains(c.name), is_first = of_op.empty();
      if (!is_first && !is_added && rule.factors.size() <= most[name]) return;
      std::string types;
      llvm::raw_string_ostream text(types);
      llvm::interleaveComma(op->getOperandTypes(), text);
      text << " -> ";
      llvm::interleaveComma(op->getResultTypes(), text);
      const std::string row = "| `" + name + "` | `" + ir::FactorText(rule) + "` | " + types + " |\n";
      if (!is_first && is_added) {
        if (!llvm::is_contained(of_op, row)) of_op.push_back(row);
        return;
      }
      of_op.resize(std::max<size_t>(of_op.size(), 1));
      of_op[0] = row;
      most[name] = rule.factors.size();
    });
  }
  std::string table;
  for (const auto& [op, of_op] : rows) {
    for (const std::string& row : of_op) table += row;
  }
  const std::string path = std::string(SINTER_SOURCE_DIR) + "/docs/factor_rules.md";
  std::stringstream file;
  file << std::ifstream(path).rdbuf();
  const std::string header = "|---|---|---|\n", text = file.str();
  const size_t begin = text.find(header);
  ASSERT_NE(begin, std::string::npos) << path;
  if (std::getenv("SINTER_WRITE_FACTOR_RULES")) {
    std::ofstream(path) << text.substr(0, begin + header.size()) << table;
  } else {
    EXPECT_EQ(text.substr(begin + header.size()), table)
        << "run this test with SINTER_WRITE_FACTOR_RULES=1, which writes the table to " << path;
  }
}

}  // namespace
}  // namespace sinter::numerics
