#include "sinter/passes/fuse/dim_factors.h"

#include <algorithm>
#include <cassert>

#include "llvm/ADT/STLExtras.h"

namespace sinter {

using llvm::ArrayRef;
using llvm::SmallVector;

DimFactors::Dim DimFactors::add(int64_t size) {
  parent_.push_back(parent_.size());
  classes_.emplace_back().size = size;
  return parent_.back();
}

DimFactors::Dim DimFactors::find(Dim dim) const {
  while (parent_[dim] != dim) dim = parent_[dim] = parent_[parent_[dim]];
  return dim;
}

void DimFactors::unite(Dim a, Dim b) {
  a = find(a), b = find(b);
  if (a == b) return;
  assert(classes_[a].size == classes_[b].size && classes_[a].splits.empty() && classes_[b].splits.empty());
  parent_[b] = a;
  classes_[a].is_pinned |= classes_[b].is_pinned;
  classes_[a].is_dropped |= classes_[b].is_dropped;
  llvm::append_range(classes_[a].rules, classes_[b].rules);
}

void DimFactors::pin(Dim dim) { classes_[find(dim)].is_pinned = true; }

void DimFactors::drop(Dim dim) {
  Class& own = classes_[find(dim)];
  if (own.size == 1 && !own.is_pinned) own.is_dropped = true;
}

unsigned DimFactors::addRule(Rule rule) {
  const unsigned number = rules_.size();
  for (ArrayRef<Dim> side : {ArrayRef<Dim>(rule.a), ArrayRef<Dim>(rule.b)}) {
    for (Dim dim : side) classes_[find(dim)].rules.push_back(number);
  }
  rules_.push_back(std::move(rule));
  return number;
}

void DimFactors::bound(Dim a, Dim b, int64_t step) { addRule({{a}, {b}, step}); }

bool DimFactors::align(ArrayRef<Dim> a, ArrayRef<Dim> b) {
  changed_.clear();
  work_ = {addRule({Dims(a), Dims(b), 0})};
  while (!work_.empty()) {
    if (apply(rules_[work_.pop_back_val()])) continue;
    work_.clear();
    for (auto& [dim, splits] : llvm::reverse(changed_)) classes_[dim].splits = splits;
    // The last rule is the new one.
    for (ArrayRef<Dim> side : {a, b}) {
      for (Dim dim : side) llvm::erase(classes_[find(dim)].rules, rules_.size() - 1);
    }
    rules_.pop_back();
    return false;
  }
  return true;
}

bool DimFactors::apply(const Rule& rule) {
  if (rule.step != 0)
    return applyBound(rule.a[0], rule.b[0], rule.step) && applyBound(rule.b[0], rule.a[0], rule.step);
  const Splits a = positions(rule.a), b = positions(rule.b);
  return insertPositions(rule.a, b) && insertPositions(rule.b, a);
}

bool DimFactors::applyBound(Dim from, Dim to, int64_t step) {
  for (int64_t split : Splits(classes_[find(from)].splits)) {
    if (step % split != 0 || !insert(to, split)) return false;
  }
  return true;
}

// Splits `dim`, if it is not split there. Returns false if it cannot be.
bool DimFactors::insert(Dim dim, int64_t split) {
  dim = find(dim);
  Class& own = classes_[dim];
  if (split == 1 || split == own.size) return true;
  auto at = llvm::lower_bound(own.splits, split);
  if (at != own.splits.end() && *at == split) return true;
  const int64_t before = at == own.splits.begin() ? 1 : *(at - 1),
                behind = at == own.splits.end() ? own.size : *at;
  if (own.is_pinned || split % before != 0 || behind % split != 0) return false;
  changed_.emplace_back(dim, own.splits);
  own.splits.insert(at, split);
  work_.append(own.rules);
  return true;
}

// Returns the elements between neighbours along each factor of a row-major shape, fastest first.
DimFactors::Splits DimFactors::positions(ArrayRef<Dim> dims) const {
  Splits found;
  int64_t stride = 1;
  for (Dim dim : llvm::reverse(dims)) {
    const Class& own = classes_[find(dim)];
    for (int64_t split : own.splits) found.push_back(stride * split);
    stride *= own.size;
    if (own.size != 1) found.push_back(stride);
  }
  return found;
}

// Splits the dimensions at all these strides.
bool DimFactors::insertPositions(ArrayRef<Dim> dims, ArrayRef<int64_t> positions) {
  int64_t stride = 1;
  for (Dim dim : llvm::reverse(dims)) {
    const int64_t end = stride * classes_[find(dim)].size;
    for (int64_t position : positions) {
      if (position <= stride || position >= end) continue;
      if (position % stride != 0 || !insert(dim, position / stride)) return false;
    }
    stride = end;
  }
  return true;
}

int64_t DimFactors::split(Dim dim) const {
  const Splits& splits = classes_[find(dim)].splits;
  return splits.empty() ? 1 : splits.back();
}

SmallVector<int64_t> DimFactors::factors(Dim dim) const {
  const Class& own = classes_[find(dim)];
  if (own.is_dropped && !own.is_pinned) return {};
  SmallVector<int64_t> factors;
  int64_t size = own.size;
  for (int64_t split : llvm::reverse(own.splits)) {
    factors.push_back(size / split);
    size = split;
  }
  factors.push_back(size);
  return factors;
}

SmallVector<int64_t> DimFactors::factors(ArrayRef<Dim> dims) const {
  SmallVector<int64_t> all;
  for (Dim dim : dims) llvm::append_range(all, factors(dim));
  return all;
}

}  // namespace sinter
