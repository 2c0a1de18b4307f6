#include "sinter/runtime/host/load_times.h"

#include <algorithm>

namespace sinter {

LoadTimes::Scope::~Scope() {
  if (times_ != nullptr) times_->Enter(outer_);
}

LoadTimes::Scope LoadTimes::Time(std::string_view what) {
  auto found = std::ranges::find(stages_, what, &LoadStage::what);
  if (found == stages_.end()) found = stages_.insert(found, {.what = std::string(what)});
  const std::optional<size_t> outer = current_;
  Enter(static_cast<size_t>(found - stages_.begin()));
  return Scope(this, outer);
}

LoadTimes::Scope LoadTimes::Time(LoadTimes* times_or_null, std::string_view what) {
  if (times_or_null == nullptr) return {};
  return times_or_null->Time(what);
}

double LoadTimes::Total() const {
  double seconds = 0;
  for (const LoadStage& stage : stages_) seconds += stage.seconds;
  return seconds;
}

void LoadTimes::Enter(std::optional<size_t> stage) {
  const Clock::time_point now = Clock::now();
  if (current_.has_value()) {
    stages_[*current_].seconds += std::chrono::duration<double>(now - since_).count();
  }
  current_ = stage;
  since_ = now;
}

}  // namespace sinter
