#include "sinter/frontend/optim/lookahead.h"

#include "absl/strings/str_cat.h"

namespace sinter::optim {

std::string WrongIn(const Lookahead& lookahead) {
  if (lookahead.every < 1) {
    return absl::StrCat("needs a period of .lookahead of at least 1, got ", lookahead.every);
  }
  return WrongIn({{"a rate of .lookahead", lookahead.rate, {.above = 0, .high = 1}}});
}

bool LookAhead(Update& u, const std::vector<Target>& targets, const Lookahead& lookahead) {
  const Variable count_variable = u.State("lookahead_steps", DType::kI64, {}, 0);
  if (!count_variable.ok()) return false;
  const Tensor before = u.Read(count_variable), count = before + 1;
  const Tensor is_first = Equal(before, 0), due = Equal(Rem(count, lookahead.every), 0);
  for (const Target& target : targets) {
    const Variable slot = u.Slot(target.variable, "slow", target.variable.shape());
    if (!slot.ok()) return false;
    const Tensor kept = u.Read(slot), fast = u.Read(target.variable);
    const auto here = [&](const Tensor& x) { return IsPlaced(kept) ? Copy(x, kept) : x; };
    const Tensor old = Select(here(is_first), Cast(target.now, slot.dtype()), kept);
    const Tensor moved = old + (Cast(fast, slot.dtype()) - old) * u.Value(lookahead.rate, old);
    u.Assign(slot, Select(here(due), moved, old));
    u.Assign(target.variable, Select(here(due), Cast(moved, fast.dtype()), fast));
  }
  u.Assign(count_variable, count);
  return !u.failed();
}

}  // namespace sinter::optim
