#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/nn/layers.h"
#include "sinter/frontend/nn/module.h"

namespace sinter::nn {

Cloning*& Cloning::Current() {
  static thread_local Cloning* current = nullptr;
  return current;
}

std::shared_ptr<AnyLayer> Cloning::TwinOf(const std::shared_ptr<AnyLayer>& layer) {
  Cloning* const current = Current();
  if (current == nullptr || layer == nullptr || current->are_copies_.contains(layer.get())) return layer;
  return current->CopyOf(layer);
}

std::shared_ptr<AnyLayer> Cloning::CopyOf(const std::shared_ptr<AnyLayer>& layer) {
  if (const auto found = copies_.find(layer.get()); found != copies_.end()) return found->second;
  if (layer->copy_ == nullptr) {
    why_not_ = absl::StrCat("cannot copy ", layer->Describe(),
                            ", whose class has no copy constructor; make a new one instead");
    return layer;
  }
  const std::shared_ptr<AnyLayer> copy = layer->copy_(*layer);
  if (copying_ != Copying::kInit) copy->original_ = layer;
  if (copying_ == Copying::kShare) {
    copy->owned_ = layer->owned_;
    copy->shares_ = true;
  }
  copies_[layer.get()] = copy;
  are_copies_.insert(copy.get());
  return copy;
}

std::shared_ptr<AnyLayer> Cloning::Clone(const std::shared_ptr<AnyLayer>& layer, Copying copying,
                                         std::string& why_not) {
  Cloning cloning(copying);
  // A copy constructor may clone, too.
  Cloning* const outer = std::exchange(Current(), &cloning);
  std::shared_ptr<AnyLayer> copy;
  try {
    copy = cloning.CopyOf(layer);
  } catch (...) {
    Current() = outer;
    throw;
  }
  Current() = outer;
  if (outer != nullptr) outer->are_copies_.merge(cloning.are_copies_);
  why_not = cloning.why_not_;
  if (!why_not.empty()) return nullptr;
  copy->name_.clear();
  copy->has_given_name_ = false;
  copy->SetParentPath("");
  return copy;
}

void Cloning::Follow(AnyLayer& layer, const std::shared_ptr<AnyLayer>& original, bool shares) {
  layer.is_orphan_ = original == nullptr;
  layer.original_ = original;
  layer.shares_ = shares && original != nullptr;
  if (layer.shares_) layer.owned_ = original->owned_;
  for (const auto& child : layer.children_) {
    std::shared_ptr<AnyLayer> twin;
    if (original != nullptr) {
      const auto found = std::ranges::find(original->children_, child->name_, &AnyLayer::name_);
      if (found != original->children_.end()) twin = *found;
    }
    Follow(*child, twin, shares);
  }
}

Sequential Repeat(int64_t count, const Module& module, Copying copying, Where where) {
  if (count < 0) {
    return Sequential{Module(std::make_shared<WrongLayer<Tensor(const Tensor&)>>(
        "Repeat", absl::StrCat("of ", count, " modules; expected 0 or more"), where))};
  }
  std::vector<Module> clones;
  for (int64_t i = 0; i < count; ++i) clones.push_back(module.Clone(copying, where));
  return Sequential(clones);
}

}  // namespace sinter::nn
