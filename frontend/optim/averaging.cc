#include "sinter/frontend/optim/averaging.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/optim/averages.h"

namespace sinter::optim {

namespace {

Variable CountOf(Update& u) { return u.State(std::string(kAveraged), DType::kI64, {}, 0); }

// True in updates whose values are averaged: start + 1, start + 1 + every, ...
Tensor IsDue(Update& u, const Swa& swa) {
  const Tensor since = u.StepCount() - (swa.start + 1);
  return since >= 0 && Equal(Rem(since, swa.every), 0);
}

}  // namespace

std::string WrongIn(const Average& average) {
  if (const auto* ema = std::get_if<Ema>(&average)) {
    return WrongIn({{"a decay of averages", ema->decay, kFraction}});
  }
  const Swa& swa = std::get<Swa>(average);
  if (swa.start >= 0 && swa.every >= 1) return "";
  return absl::StrCat("needs averages that start at 0 or later and have a period of at least 1, got ",
                      swa.start, " and ", swa.every);
}

bool AddToAverages(Update& u, const std::vector<Target>& targets, const Average& average) {
  const Variable count_variable = CountOf(u);
  if (!count_variable.ok()) return false;
  const Tensor count = u.Read(count_variable);
  const auto* swa = std::get_if<Swa>(&average);
  const Tensor due = swa ? IsDue(u, *swa) : Tensor();
  for (const Target& target : targets) {
    const Variable slot = u.Slot(target.variable, kAverage, target.variable.shape());
    if (!slot.ok()) return false;
    const Tensor old = u.Read(slot), now = Cast(u.Read(target.variable), slot.dtype());
    if (swa) {
      const Tensor mean = old + (now - old) / u.Near(count + 1, old);
      u.Assign(slot, Select(IsPlaced(old) ? Copy(due, old) : due, mean, old));
    } else {
      const Operand decay = u.Value(std::get<Ema>(average).decay, old);
      const Operand rest = decay.is_tensor() ? Operand(1 - decay) : Operand(1 - decay.number().real());
      u.Assign(slot, Select(Equal(u.Near(count, old), 0), now, old * decay + now * rest));
    }
  }
  u.Assign(count_variable, swa ? Select(due, count + 1, count) : count + 1);
  return !u.failed();
}

namespace {

// Returns the optimiser whose averages to use. Null, with an error kept, if there is none, or more than one.
const OptimizerRecord* FindAveraging(Call& call, std::string_view name) {
  const OptimizerRecord* found = nullptr;
  for (const OptimizerRecord& record : call.graph().optimizers) {
    if (!record.averages || (!name.empty() && record.prefix != name)) continue;
    if (found) {
      call.Fail(absl::StrCat("finds two optimisers that keep averages, \"", found->prefix, "\" at ",
                             LineOf(found->where), " and \"", record.prefix, "\" at ", LineOf(record.where),
                             "; give the name of one"));
      return nullptr;
    }
    found = &record;
  }
  if (found == nullptr) {
    call.Fail(
        absl::StrCat("finds no optimiser ", name.empty() ? "" : absl::StrCat("\"", View(name), "\" "),
                     "that keeps averages; build a function before this one whose update has the option "
                     ".average"));
  }
  return found;
}

}  // namespace

UseAverages::UseAverages(Builder& b, std::string_view optimizer, Where where) {
  Call call("UseAverages", where, b.function());
  if (!call.ok()) return;
  if (call.function().has_substitute()) {
    call.Fail("is inside the scope of another; end that one first");
    return;
  }
  const OptimizerRecord* record = FindAveraging(call, optimizer);
  if (record == nullptr) return;
  GraphState& graph = call.graph();
  std::map<std::string, Variable> averages;
  for (const std::string& name : record->parameters) {
    averages[name] = VariableOf(
        graph, graph.variable_ops.at(absl::StrCat(record->prefix, "/", std::string(kAverage), "/", name)));
  }
  const Variable count =
      VariableOf(graph, graph.variable_ops.at(absl::StrCat(record->prefix, "/", std::string(kAveraged))));
  function_ = call.function().cell();
  call.function().SetSubstitute(
      [averages, count, &function = call.function(), where, made = std::map<std::string, Tensor>()](
          const Variable& variable, const Tensor& value) mutable {
        const auto found = averages.find(variable.name());
        if (found == averages.end()) return value;
        Tensor& result = made[variable.name()];
        // A value that was made in the body of a loop is not known outside of it.
        if (result.ok() && function.IsOpen(mlir::Value::getFromOpaquePointer(result.value()))) return result;
        Builder b(&function);
        const LocationScope scope(&function.graph(), where, "optim::UseAverages");
        const Tensor average = Cast(b.Read(found->second), value.dtype());
        const Tensor here = b.Read(count);
        return result = Select(Equal(IsPlaced(average) ? Copy(here, average) : here, 0), value, average);
      });
}

UseAverages::~UseAverages() {
  if (function_ && *function_) (*function_)->SetSubstitute(nullptr);
}

}  // namespace sinter::optim
