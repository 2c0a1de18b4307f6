#include "sinter/passes/topological_list.h"

#include <iterator>

namespace sinter {

namespace {

// Labels are this far apart if there is room, so that others fit between two. The first is in the middle of
// the range.
constexpr uint64_t kGap = uint64_t{1} << 32;
constexpr uint64_t kFirst = uint64_t{1} << 62;

}  // namespace

TopologicalList::TopologicalList(unsigned count) {
  for (unsigned item = 0; item < count; ++item) {
    label_.push_back(kFirst + item * kGap);
    item_of_.emplace_hint(item_of_.end(), label_.back(), item);
  }
}

void TopologicalList::remove(unsigned item) {
  if (item >= label_.size()) label_.resize(item + 1, 0);
  if (label_[item] == 0) return;
  item_of_.erase(label_[item]);
  label_[item] = 0;
}

void TopologicalList::insert(unsigned place, llvm::ArrayRef<unsigned> items, bool behind) {
  for (unsigned item : items) remove(item);
  const Label room = (items.size() + 1) * kGap;
  Label low = 0, high = 0, step = 0;
  while (true) {
    auto at = item_of_.find(label_[place]);
    if (behind) {
      low = at->first;
      high = std::next(at) == item_of_.end() ? low + room : std::next(at)->first;
    } else {
      high = at->first;
      low = at == item_of_.begin() ? high - room : std::prev(at)->first;
    }
    step = (high - low) / (items.size() + 1);
    if (step > 0) break;
    spread();
  }
  for (unsigned item : items) {
    label_[item] = low += step;
    item_of_[low] = item;
  }
}

void TopologicalList::pushFront(unsigned item) {
  if (!item_of_.empty()) return moveBefore(item_of_.begin()->second, item);
  remove(item);
  label_[item] = kFirst;
  item_of_[kFirst] = item;
}

void TopologicalList::replace(unsigned item, unsigned other) {
  const Label label = label_[item];
  remove(item);
  remove(other);
  label_[other] = label;
  item_of_[label] = other;
}

std::vector<unsigned> TopologicalList::items() const {
  std::vector<unsigned> items;
  for (auto [label, item] : item_of_) items.push_back(item);
  return items;
}

void TopologicalList::spread() {
  std::map<Label, unsigned> old;
  old.swap(item_of_);
  Label label = kFirst;
  for (auto [ignored, item] : old) {
    item_of_.emplace_hint(item_of_.end(), label, item);
    label_[item] = label;
    label += kGap;
  }
}

}  // namespace sinter
