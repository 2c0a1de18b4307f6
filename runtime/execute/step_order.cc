#include "sinter/runtime/execute/step_order.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace sinter {

StepOrder::StepOrder(std::vector<Step> steps) : steps_(std::move(steps)), leads_to_exchange_(steps_.size()) {
  if (std::ranges::none_of(steps_, &Step::is_exchange)) return;
  for (size_t i = steps_.size(); i-- > 0;) {
    bool leads = steps_[i].is_exchange;
    for (size_t k = i + 1; k < steps_.size() && !leads; ++k) {
      leads = leads_to_exchange_[k] && MustFollow(steps_[k].touched, steps_[i].touched);
    }
    leads_to_exchange_[i] = leads;
  }
}

void StepOrder::Add() {
  const size_t i = before_.size();
  before_.emplace_back();
  follows_.emplace_back(i);
  for (size_t k = i; k-- > 0;) {
    if (!follows()[k] && MustFollow(steps_[i].touched, steps_[k].touched)) Follow(static_cast<uint32_t>(k));
  }
  if (!leads_to_exchange_[i]) {
    for (const uint32_t earlier : before_exchanges_) Follow(earlier);
  }
  if (!steps_[i].is_exchange) return;
  std::ranges::copy_if(before_[i], std::back_inserter(before_exchanges_),
                       [&](uint32_t step) { return !steps_[step].is_exchange; });
  if (last_exchange_.has_value()) Follow(*last_exchange_);
  last_exchange_ = static_cast<uint32_t>(i);
}

void StepOrder::Follow(uint32_t earlier) {
  std::vector<bool>& known = follows_.back();
  if (known[earlier]) return;
  const std::vector<bool>& implied = follows_[earlier];
  std::vector<uint32_t>& direct = before_.back();
  std::erase_if(direct, [&](uint32_t step) { return step < earlier && implied[step]; });
  direct.insert(std::ranges::upper_bound(direct, earlier), earlier);
  known[earlier] = true;
  for (size_t step = 0; step < earlier; ++step) known[step] = known[step] || implied[step];
}

}  // namespace sinter
