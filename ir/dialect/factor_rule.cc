#include "sinter/ir/dialect/factor_rule.h"

#include <cassert>

#include "llvm/ADT/StringExtras.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/scalar/float8.h"

namespace sinter::ir {

using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

namespace {

ArrayRef<int64_t> SizesOf(Value value) {
  auto type = llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
  return type ? type.getShape() : ArrayRef<int64_t>();
}

// The rule of ops that read all operands at affine coordinates of their only result.
FactorRule RuleOfMaps(FusibleInterface op) {
  FactorRule rule = WholeFactors(op);
  if (op->getNumResults() != 1) return rule;
  ArrayRef<int64_t> sizes = SizesOf(op->getResult(0));
  for (auto [d, size] : llvm::enumerate(sizes)) {
    rule.factors.push_back({size, FactorKind::kParallel, DimName(static_cast<int64_t>(d))});
    rule.results[0][d] = {static_cast<unsigned>(d)};
  }
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    mlir::AffineMap map = op.getOperandMap(i);
    // Such a read may depend on any coordinate.
    if (!map) return WholeFactors(op);
    for (auto [d, expr] : llvm::enumerate(map.getResults())) {
      auto plain = llvm::dyn_cast<mlir::AffineDimExpr>(expr);
      if (plain && sizes[plain.getPosition()] == SizesOf(operand)[d]) {
        rule.operands[i][d] = {plain.getPosition()};
        continue;
      }
      for (unsigned r = 0; r < sizes.size(); ++r) {
        if (expr.isFunctionOfDim(r)) rule.factors[r].kind = FactorKind::kWhole;
      }
    }
  }
  return rule;
}

FactorRule RuleOfReduction(ReductionInterface op) {
  FactorRule rule = WholeFactors(op);
  unsigned result_dim = 0;
  for (auto [d, size] : llvm::enumerate(SizesOf(op->getOperand(0)))) {
    const bool is_reduced = llvm::is_contained(op.getReducedDims(), static_cast<int64_t>(d));
    rule.factors.push_back(
        {size, is_reduced ? op.getReducedKind() : FactorKind::kParallel, DimName(static_cast<int64_t>(d))});
    rule.operands[0][d] = {static_cast<unsigned>(d)};
    if (!is_reduced) rule.results[0][result_dim++] = {static_cast<unsigned>(d)};
  }
  if (op.getReducedKind() == FactorKind::kSum) rule.linear_in = {{0}};
  return rule;
}

SmallVector<SmallVector<unsigned>> SetsOf(Linearity linearity, unsigned operands) {
  SmallVector<unsigned> all = llvm::to_vector(llvm::seq(operands));
  switch (linearity) {
    case Linearity::kNone:
      return {};
    case Linearity::kFirst:
      return {{0}};
    case Linearity::kEach:
      return llvm::map_to_vector(all, [](unsigned i) { return SmallVector<unsigned>{i}; });
    case Linearity::kAll:
      return {all};
    case Linearity::kAllButFirst:
      all.erase(all.begin());
      return {all};
  }
  return {};
}

// Gives each dimension without factors a whole one, and drops factors of size 1 and those that nothing names.
void Complete(mlir::Operation* op, FactorRule& rule) {
  constexpr unsigned kDropped = ~0U;
  SmallVector<Factor> kept;
  SmallVector<unsigned> number(rule.factors.size(), kDropped);
  auto complete = [&](Value value, ValueFactors& dims) {
    for (auto [size, dim] : llvm::zip_equal(SizesOf(value), dims)) {
      SmallVector<unsigned> old = std::move(dim);
      dim.clear();
      [[maybe_unused]] int64_t product = 1;
      for (unsigned f : old) {
        product *= rule.factors[f].size;
        if (rule.factors[f].size == 1) continue;
        if (number[f] == kDropped) {
          number[f] = kept.size();
          kept.push_back(rule.factors[f]);
        }
        dim.push_back(number[f]);
      }
      assert((old.empty() || product == size) && "the factors of a dimension multiply to its size");
      if (!old.empty() || size == 1) continue;
      dim.push_back(kept.size());
      kept.push_back({size, FactorKind::kWhole});
    }
  };
  for (auto [value, dims] : llvm::zip_equal(op->getOperands(), rule.operands)) complete(value, dims);
  for (auto [value, dims] : llvm::zip_equal(op->getResults(), rule.results)) complete(value, dims);
  rule.factors = std::move(kept);
}

// Nothing adds up bools and floats of 8 bits.
bool HasNumbers(mlir::Operation* op) {
  const auto adds_up = [](mlir::Type type) {
    const mlir::Type element = mlir::getElementTypeOrSelf(type);
    return !element.isInteger(1) && !IsStoredFloat(element);
  };
  const bool takes_stored = llvm::any_of(
      op->getOperandTypes(), [](mlir::Type type) { return IsStoredFloat(mlir::getElementTypeOrSelf(type)); });
  return op->getNumResults() > 0 && !takes_stored && llvm::all_of(op->getResultTypes(), adds_up);
}

const char* KindText(FactorKind kind) {
  static constexpr const char* kTexts[] = {"parallel", "sum", "max", "min", "owned", "whole"};
  return kTexts[static_cast<int>(kind)];
}

}  // namespace

bool FactorRule::Names(const ValueFactors& value, unsigned factor) {
  return llvm::any_of(value, [&](const auto& dim) { return llvm::is_contained(dim, factor); });
}

std::optional<ReduceKind> CombineOf(FactorKind kind) {
  switch (kind) {
    case FactorKind::kSum:
    case FactorKind::kOwned:
      return ReduceKind::sum;
    case FactorKind::kMax:
      return ReduceKind::max;
    case FactorKind::kMin:
      return ReduceKind::min;
    case FactorKind::kParallel:
    case FactorKind::kWhole:
      return std::nullopt;
  }
  return std::nullopt;
}

FactorRule FactorsOf(mlir::Operation* op) {
  auto shardable = llvm::dyn_cast<ShardableInterface>(op);
  auto reduction = llvm::dyn_cast<ReductionInterface>(op);
  auto fusible = llvm::dyn_cast<FusibleInterface>(op);
  FactorRule rule = shardable   ? shardable.getFactorRule()
                    : reduction ? RuleOfReduction(reduction)
                    : fusible   ? RuleOfMaps(fusible)
                                : WholeFactors(op);
  if (fusible && rule.linear_in.empty()) {
    rule.linear_in = SetsOf(fusible.getLinearity(), op->getNumOperands());
  }
  if (!HasNumbers(op)) rule.linear_in.clear();
  Complete(op, rule);
  return rule;
}

bool SplitFactor(FactorRule& rule, unsigned factor, ArrayRef<int64_t> sizes) {
  const Factor whole = rule.factors[factor];
  if (whole.is_counted || whole.kind == FactorKind::kWhole || whole.kind == FactorKind::kOwned) return false;
  SmallVector<unsigned> made;
  for (int64_t size : sizes) {
    if (size == 1) continue;
    Factor part = whole;
    part.size = size;
    if (made.empty()) {
      rule.factors[factor] = part;
      made.push_back(factor);
    } else {
      made.push_back(rule.factors.size());
      rule.factors.push_back(part);
    }
  }
  auto split = [&](ValueFactors& value) {
    for (auto& dim : value) {
      auto* found = llvm::find(dim, factor);
      if (found != dim.end()) dim.insert(found + 1, made.begin() + 1, made.end());
    }
  };
  llvm::for_each(rule.operands, split);
  llvm::for_each(rule.results, split);
  return true;
}

std::string FactorText(const FactorRule& rule) {
  auto values = [&](ArrayRef<ValueFactors> all) {
    SmallVector<std::string> texts;
    for (const ValueFactors& value : all) {
      SmallVector<std::string> words;
      for (const auto& dim : value) {
        std::string word = dim.empty() ? "1" : "";
        for (unsigned f : dim) word += rule.factors[f].name;
        words.push_back(word);
      }
      texts.push_back(llvm::join(words, " "));
    }
    return "(" + llvm::join(texts, ", ") + ")";
  };
  std::string text = values(rule.operands) + " -> " + values(rule.results);
  for (const Factor& factor : rule.factors) {
    if (factor.kind == FactorKind::kParallel || factor.name == '.') continue;
    text += std::string("; ") + factor.name + " " + KindText(factor.kind);
  }
  auto numbers = [](ArrayRef<unsigned> all) {
    return llvm::join(llvm::map_range(all, [](unsigned i) { return std::to_string(i); }), " + ");
  };
  if (!rule.counts_once.empty()) text += "; once " + numbers(rule.counts_once);
  for (auto [i, set] : llvm::enumerate(rule.linear_in)) {
    text += (i == 0 ? "; linear in " : ", in ") + numbers(set);
  }
  return text;
}

FactorRule WholeFactors(mlir::Operation* op) {
  FactorRule rule;
  for (Value operand : op->getOperands()) rule.operands.emplace_back(SizesOf(operand).size());
  for (Value result : op->getResults()) rule.results.emplace_back(SizesOf(result).size());
  return rule;
}

FactorRule SpellFactors(mlir::Operation* op, ArrayRef<Factor> factors, ArrayRef<std::string> operands,
                        ArrayRef<std::string> results) {
  FactorRule rule = WholeFactors(op);
  rule.factors.assign(factors.begin(), factors.end());
  auto spell = [&](ValueFactors& value, llvm::StringRef text) {
    SmallVector<llvm::StringRef> words;
    text.split(words, ' ', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
    assert(words.size() == value.size() && "a text has a word for each dimension");
    for (auto [dim, word] : llvm::zip_equal(value, words)) {
      if (word == ".") continue;
      for (char name : word) {
        const auto* found = llvm::find_if(factors, [&](const Factor& f) { return f.name == name; });
        assert(found != factors.end() && "a word has names of factors");
        dim.push_back(found - factors.begin());
      }
    }
  };
  for (auto [value, text] : llvm::zip_equal(rule.operands, operands)) spell(value, text);
  for (auto [value, text] : llvm::zip_equal(rule.results, results)) spell(value, text);
  return rule;
}

FactorRule SameFactors(mlir::Operation* op, llvm::function_ref<bool(int64_t dim)> is_cut) {
  FactorRule rule = WholeFactors(op);
  ArrayRef<int64_t> sizes = SizesOf(op->getNumResults() > 0 ? op->getResult(0) : op->getOperand(0));
  SmallVector<unsigned> factor_of(sizes.size());
  for (auto [d, size] : llvm::enumerate(sizes)) {
    if (!is_cut(static_cast<int64_t>(d))) continue;
    factor_of[d] = rule.factors.size();
    rule.factors.push_back({size, FactorKind::kParallel, DimName(static_cast<int64_t>(d))});
  }
  auto name = [&](ValueFactors& value) {
    if (value.size() != sizes.size()) return;
    for (size_t d = 0; d < sizes.size(); ++d) {
      if (is_cut(static_cast<int64_t>(d))) value[d] = {factor_of[d]};
    }
  };
  for (ValueFactors& value : rule.operands) name(value);
  for (ValueFactors& value : rule.results) name(value);
  return rule;
}

}  // namespace sinter::ir
