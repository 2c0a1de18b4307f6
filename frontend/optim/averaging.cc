#include "sinter/frontend/optim/averaging.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/optim/averages.h"
#include "sinter/frontend/optim/update_targets.h"

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

Tensor CaughtUp(const Tensor& averages, const Tensor& values, const Tensor& now, const Tensor& last) {
  const Tensor left = AlongRows(Cast(Exp(now - last), averages.dtype()), averages.shape(), Where::current());
  return averages * left + values * (1 - left);
}

namespace {

// Logarithm of a decay that leaves nothing: exp of it is 0 in f64.
constexpr double kForgotten = -1e4;

// The decays of averages of touched rows in this update.
class RowDecays {
 public:
  // `count` is the number of updates in the averages before this one; `due` is not ok for an Ema.
  RowDecays(Update& u, const Average& average, const Tensor& count, const Tensor& due)
      : u_(u), log_variable_(u.State(std::string(kAverageLog), DType::kF64, {}, 0)) {
    if (!log_variable_.ok()) return;
    before_ = u.Read(log_variable_);
    const Tensor n = Cast(count, F64);
    if (due.ok()) {
      keep_ = Select(due, n / (n + 1), 1);
    } else {
      const Operand decay = u.Value(std::get<Ema>(average).decay, before_);
      const Tensor wide = decay.is_tensor()
                              ? decay.tensor()
                              : u.builder().Full(DType::kF64, {}, decay.number().real(), u.where());
      keep_ = Select(Equal(count, 0), 0, wide);
    }
    if (!keep_.ok()) return;
    after_ = before_ + Maximum(Log(keep_), kForgotten);
    u.Assign(log_variable_, after_);
  }

  // Adds the value of the rows of a part to their averages. False, with an error kept, if it cannot.
  bool Add(const AveragedPart& part, const Variable& averages) {
    const std::string name = absl::StrCat(std::string(kAverageLog), "/", part.variable.name());
    const Variable logs = u_.State(name, DType::kF64, {part.variable.shape()[0]}, 0);
    if (!logs.ok() || !after_.ok()) return false;
    const Where where = u_.where();
    const Tensor old = part.rows->Of(u_.Read(averages), where);
    const auto here = [&](const Tensor& x) { return IsPlaced(old) ? Copy(x, old) : x; };
    const Tensor last = part.rows->Of(u_.Read(logs), where);
    const Tensor now = Cast(part.rows->Of(u_.Read(part.variable), where), old.dtype());
    const Tensor keep = u_.Near(keep_, old), rest = u_.Near(1 - keep_, old);
    u_.AssignRows(averages, *part.rows, CaughtUp(old, part.before, here(before_), last) * keep + now * rest);
    u_.AssignRows(logs, *part.rows, BroadcastTo(here(after_), last.shape()));
    return !u_.failed();
  }

 private:
  Update& u_;
  Variable log_variable_;
  Tensor before_, after_, keep_;
};

// Keeps an error if another call of the optimiser keeps the average of all rows and this one of the touched
// rows, or the other way round.
bool CheckRows(Update& u, const AveragedPart& part) {
  const GraphState& graph = u.builder().function()->graph();
  const auto has = [&](std::string_view slot) {
    return graph.variable_ops.contains(
        absl::StrCat(u.prefix(), "/", std::string(slot), "/", part.variable.name()));
  };
  if (!u.FindsOwner()) return false;
  if (!has(kAverage) || has(kAverageLog) == (part.rows != nullptr)) return true;
  u.Fail(absl::StrCat("keeps the average of \"", part.variable.name(), "\" ",
                      part.rows ? "by touched rows" : "as a whole", ", and another call of this optimiser ",
                      part.rows ? "as a whole" : "by touched rows",
                      "; give both the same groups with touched_rows_only, or two names (.name)"));
  return false;
}

}  // namespace

bool AddToAverages(Update& u, const std::vector<AveragedPart>& parts, const Average& average) {
  const Variable count_variable = CountOf(u);
  if (!count_variable.ok()) return false;
  const Tensor count = u.Read(count_variable);
  const auto* swa = std::get_if<Swa>(&average);
  const Tensor due = swa ? IsDue(u, *swa) : Tensor();
  std::optional<RowDecays> decays;
  for (const AveragedPart& part : parts) {
    if (!CheckRows(u, part)) return false;
    const Variable slot = u.Slot(part.variable, kAverage, part.variable.shape());
    if (!slot.ok()) return false;
    if (part.rows) {
      if (!decays) decays.emplace(u, average, count, due);
      if (!decays->Add(part, slot)) return false;
      continue;
    }
    const Tensor old = u.Read(slot), now = Cast(u.Read(part.variable), slot.dtype());
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

// The average of a parameter, and the logarithms of its rows; the latter is not ok if it has none.
struct Kept {
  Variable average, logs;
};

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
  // Returns a variable of the optimiser; one that is not ok if there is none of this name.
  const auto find = [&](std::string_view slot, const std::string& name = "") {
    const auto found = graph.variable_ops.find(absl::StrCat(record->prefix, "/", std::string(slot), name));
    return found == graph.variable_ops.end() ? Variable() : VariableOf(graph, found->second);
  };
  std::map<std::string, Kept> averages;
  for (const std::string& name : record->parameters) {
    averages[name] = {find(kAverage, absl::StrCat("/", name)), find(kAverageLog, absl::StrCat("/", name))};
  }
  const Variable count = find(kAveraged), log = find(kAverageLog);
  function_ = call.function().cell();
  call.function().SetSubstitute(
      [averages, count, log, &function = call.function(), where, made = std::map<std::string, Tensor>()](
          const Variable& variable, const Tensor& value) mutable {
        const auto found = averages.find(variable.name());
        if (found == averages.end()) return value;
        Tensor& result = made[variable.name()];
        // A value that was made in the body of a loop is not known outside of it.
        if (result.ok() && function.IsOpen(mlir::Value::getFromOpaquePointer(result.value()))) return result;
        Builder b(&function);
        const LocationScope scope(&function.graph(), where, "optim::UseAverages");
        const auto& [kept, logs] = found->second;
        Tensor average = b.Read(kept);
        const auto here = [&](const Tensor& x) { return IsPlaced(average) ? Copy(x, average) : x; };
        if (logs.ok()) {
          average = CaughtUp(average, Cast(value, average.dtype()), here(b.Read(log)), b.Read(logs));
        }
        average = Cast(average, value.dtype());
        return result = Select(Equal(here(b.Read(count)), 0), value, average);
      });
}

UseAverages::~UseAverages() {
  if (function_ && *function_) (*function_)->SetSubstitute(nullptr);
}

}  // namespace sinter::optim
