#include "sinter/frontend/train/trainer.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "sinter/frontend/train/signals.h"
#include "sinter/runtime/host/status.h"

namespace sinter::train {
namespace {

// Calls `body`; an exception becomes an Internal error.
template <typename F>
absl::Status Guarded(F body) {
  try {
    return body();
  } catch (const std::exception& exception) {
    return absl::InternalError(absl::StrCat("an exception was thrown: ", exception.what()));
  } catch (...) {
    return absl::InternalError("an exception was thrown that is no std::exception");
  }
}

absl::Status In(const std::string& where, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat(where, ": ", status.message()));
}

// An extension that is a function.
class FunctionExtension : public Extension {
 public:
  explicit FunctionExtension(std::function<absl::Status(Trainer&)> function)
      : function_(std::move(function)) {}
  absl::Status Run(Trainer& trainer) override {
    if (!function_) return absl::InvalidArgumentError("the function is empty");
    return function_(trainer);
  }

 private:
  std::function<absl::Status(Trainer&)> function_;
};

}  // namespace

Trainer::Trainer(Session& session, Updater updater, TrainerOptions options)
    : session_(&session), updater_(std::move(updater)), options_(std::move(options)) {
  for (const auto& [name, rate] : updater_.options().inputs) inputs_[name] = rate.At(0);
}

Trainer::~Trainer() = default;

Trainer& Trainer::Extend(std::function<absl::Status(Trainer&)> function, ExtendOptions options) {
  return Add(std::make_unique<FunctionExtension>(std::move(function)), std::move(options));
}

Trainer& Trainer::Add(std::unique_ptr<Extension> extension, ExtendOptions options) {
  const std::string wanted = options.name.empty() ? extension->name() : options.name;
  std::string name = wanted;
  const auto is_taken = [&] {
    return std::ranges::any_of(entries_, [&](const auto& entry) { return entry->name == name; });
  };
  for (int number = 1; is_taken(); ++number) name = absl::StrCat(wanted, "_", number);
  auto entry = std::make_unique<Entry>(Entry{.name = name,
                                             .extension = std::move(extension),
                                             .trigger = Every(1, kIteration),
                                             .priority = 0,
                                             .before_training = options.before_training});
  entry->trigger = options.trigger ? *options.trigger : entry->extension->trigger();
  entry->priority = options.priority ? *options.priority : entry->extension->priority();
  entry->extension->Rename(name);
  const auto is_lower = [&](const auto& other) { return other->priority < entry->priority; };
  entries_.insert(std::ranges::find_if(entries_, is_lower), std::move(entry));
  return *this;
}

int64_t Trainer::updates_per_epoch() const { return updater_.stream().batches_per_epoch(); }

double Trainer::ElapsedTime() const {
  return time_before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

template <typename T, typename Visit>
void Trainer::ForEachWindow(T& trainer, Visit visit) {
  for (const std::unique_ptr<Entry>& entry : trainer.entries_) {
    visit(absl::StrCat("extensions/", entry->name), entry->seen);
    visit(absl::StrCat("triggers/", entry->name), entry->seen_by_trigger);
  }
  visit(std::string("stop"), trainer.seen_by_stop_);
  visit(std::string("program"), trainer.seen_outside_);
}

absl::StatusOr<Values> Trainer::Take(Window& window) {
  const std::vector<std::string>& functions = updater_.options().functions;
  for (const std::string& function : functions) {
    SINTER_ASSIGN_OR_RETURN(const MetricTotals totals, TakeTotals(*session_, function));
    MetricTotals numbers;
    for (const auto& [name, total] : totals) {
      // Without runs since the last reading there is nothing to see.
      const bool has_runs = std::ranges::any_of(total.sums(), [](double sum) { return sum != 0; });
      if (total.is_number() && has_runs) numbers.emplace(name, total);
    }
    const std::string prefix = functions.size() == 1 ? "main/" : function + "/";
    ForEachWindow(*this, [&](const std::string& owner, Window& each) { AddTotals(numbers, prefix, each); });
  }
  const Window seen = std::exchange(window, {});
  return ValuesOf(seen);
}

absl::StatusOr<Values> Trainer::observation() { return Take(running_ ? running_->seen : seen_outside_); }

void Trainer::Observe(const std::string& name, double value) {
  const MetricTotals total = {{name, MetricTotal::OfNumber(value)}};
  ForEachWindow(*this, [&](const std::string& owner, Window& window) { AddTotals(total, "", window); });
}

absl::StatusOr<double> Trainer::Input(const std::string& name) const {
  const auto found = inputs_.find(name);
  if (found != inputs_.end()) return found->second;
  std::string names;
  for (const auto& [input, value] : inputs_) absl::StrAppend(&names, names.empty() ? "" : ", ", input);
  return absl::NotFoundError(absl::StrCat("the updater has no input \"", name,
                                          "\" in UpdaterOptions::inputs; it has ",
                                          names.empty() ? "none" : names));
}

absl::Status Trainer::SetInput(const std::string& name, double value) {
  SINTER_RETURN_IF_ERROR(Input(name).status());
  const auto rate = updater_.options().inputs.find(name);
  if (!rate->second.is_number())
    return absl::FailedPreconditionError(absl::StrCat("a function of the step decides the input \"", name,
                                                      "\"; give a number in UpdaterOptions::inputs"));
  inputs_[name] = value;
  return absl::OkStatus();
}

absl::Status Trainer::RunEntry(Entry& entry, absl::Status (Extension::*call)(Trainer&)) {
  running_ = &entry;
  const absl::Status status = Guarded([&] { return (entry.extension.get()->*call)(*this); });
  running_ = nullptr;
  return In(absl::StrCat("extension \"", entry.name, "\""), status);
}

absl::Status Trainer::Begin() {
  if (updates_per_epoch() < 1) return absl::InvalidArgumentError("the stream has no batches in an epoch");
  SINTER_RETURN_IF_ERROR(updater_.Start(*session_));
  std::error_code error;
  if (is_first() && !options_.out.empty()) std::filesystem::create_directories(options_.out, error);
  if (error)
    return absl::PermissionDeniedError(
        absl::StrCat("cannot make the folder ", options_.out, ": ", error.message()));
  for (const auto& entry : entries_) SINTER_RETURN_IF_ERROR(RunEntry(*entry, &Extension::Resume));
  start_ = std::chrono::steady_clock::now();
  for (const auto& entry : entries_) SINTER_RETURN_IF_ERROR(RunEntry(*entry, &Extension::Start));
  for (const auto& entry : entries_) {
    if (entry->before_training) SINTER_RETURN_IF_ERROR(RunEntry(*entry, &Extension::Run));
  }
  return absl::OkStatus();
}

absl::Status Trainer::Step() {
  absl::StatusOr<Batch> batch = absl::InternalError("");
  const auto asked = std::chrono::steady_clock::now();
  SINTER_RETURN_IF_ERROR(Guarded([&] {
    batch = updater_.stream().Next();
    return absl::OkStatus();
  }));
  progress_.input_wait += std::chrono::duration<double>(std::chrono::steady_clock::now() - asked).count();
  if (absl::IsOutOfRange(batch.status())) {
    Stop("the stream has no more epochs");
    return absl::OkStatus();
  }
  SINTER_RETURN_IF_ERROR(In("the next batch", batch.status()));
  for (const auto& [name, rate] : updater_.options().inputs) {
    if (!rate.is_number()) inputs_[name] = rate.At(progress_.iteration);
  }
  SINTER_RETURN_IF_ERROR(In(absl::StrCat("update ", progress_.iteration + 1),
                            Guarded([&] { return updater_.Update(*session_, *batch, inputs_); })));
  progress_.previous_iteration = progress_.iteration++;
  progress_.previous_epoch = progress_.epoch;
  progress_.epoch = batch->ends_epoch
                        ? static_cast<double>(batch->epoch + 1)
                        : static_cast<double>(batch->epoch) + static_cast<double>(batch->index + 1) /
                                                                  static_cast<double>(updates_per_epoch());
  for (const auto& entry : entries_) {
    progress_.elapsed_time = ElapsedTime();
    bool fires = false;
    SINTER_RETURN_IF_ERROR(
        In(absl::StrCat("trigger of extension \"", entry->name, "\""), Guarded([&]() -> absl::Status {
             SINTER_ASSIGN_OR_RETURN(
                 fires, entry->trigger.rule().Fires(progress_, [&] { return Take(entry->seen_by_trigger); }));
             return absl::OkStatus();
           })));
    if (fires) SINTER_RETURN_IF_ERROR(RunEntry(*entry, &Extension::Run));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Trainer::MustStop() {
  if (!stop_reason_.empty()) return true;
  if (!options_.stop) return false;
  progress_.elapsed_time = ElapsedTime();
  bool fires = false;
  SINTER_RETURN_IF_ERROR(In("the stop trigger", Guarded([&]() -> absl::Status {
                              SINTER_ASSIGN_OR_RETURN(fires, options_.stop->rule().Fires(progress_, [&] {
                                return Take(seen_by_stop_);
                              }));
                              return absl::OkStatus();
                            })));
  if (fires) Stop("the stop trigger fired");
  return fires;
}

absl::Status Trainer::Run() {
  if (has_run_)
    return absl::FailedPreconditionError("Trainer::Run was called before; make another Trainer to train on");
  has_run_ = true;
  SignalWatch signals(options_.world, options_.catch_signals);
  absl::Status status = Begin();
  while (status.ok()) {
    const absl::StatusOr<bool> must_stop = MustStop();
    status = must_stop.status();
    if (!status.ok() || *must_stop) break;
    status = Step();
    if (!status.ok()) continue;
    const absl::StatusOr<std::optional<SignalWatch::Signal>> signal = signals.After(progress_.iteration);
    status = signal.status();
    if (!status.ok() || !signal->has_value()) continue;
    const bool is_alone = options_.world == nullptr || options_.world->size() == 1;
    stop_reason_ = absl::StrCat("a signal, ", SignalScope::NameOf((*signal)->number),
                                is_alone ? "" : absl::StrCat(" at rank ", (*signal)->rank),
                                ", ended the training after update ", progress_.iteration);
    for (const auto& entry : entries_) {
      if (status.ok()) status = RunEntry(*entry, &Extension::Interrupt);
    }
    if (status.ok()) status = absl::CancelledError(stop_reason_);
  }
  return End(status);
}

absl::Status Trainer::End(absl::Status status) {
  progress_.elapsed_time = ElapsedTime();
  if (!status.ok() && !absl::IsCancelled(status)) {
    for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
      // A second error would only hide the first.
      Guarded([&] {
        (*entry)->extension->OnError(*this, status);
        return absl::OkStatus();
      }).IgnoreError();
    }
  }
  for (const auto& entry : entries_) {
    const absl::Status finished = RunEntry(*entry, &Extension::Finish);
    if (status.ok()) status = finished;
  }
  return status;
}

Metadata Trainer::Save() const {
  State state;
  state.SetInteger("iteration", progress_.iteration);
  state.SetInteger("previous_iteration", progress_.previous_iteration);
  state.SetNumber("epoch", progress_.epoch);
  state.SetNumber("previous_epoch", progress_.previous_epoch);
  state.SetNumber("elapsed_time", ElapsedTime());
  state.SetNumber("input_wait", progress_.input_wait);
  state.SetText("stream", updater_.stream().Save());
  for (const auto& [name, value] : inputs_) state.SetNumber("inputs/" + name, value);
  ForEachWindow(*this, [&](const std::string& owner, const Window& window) {
    state.SetTotals("seen/" + owner, window);
  });
  const auto save = [&](const std::string& key, const auto& what) {
    State part;
    what.Save(part);
    state.SetPart(key, part);
  };
  for (const std::unique_ptr<Entry>& entry : entries_) {
    save("extensions/" + entry->name, *entry->extension);
    save("triggers/" + entry->name, entry->trigger.rule());
  }
  if (options_.stop) save("stop", options_.stop->rule());
  State whole;
  whole.SetPart("trainer", state);
  return whole.entries();
}

absl::Status Trainer::Load(const Metadata& metadata) {
  State whole;
  for (const auto& [key, text] : metadata) whole.SetText(key, text);
  const State state = whole.Part("trainer");
  if (state.empty())
    return absl::InvalidArgumentError(
        "the checkpoint has no state of a Trainer; LoadCheckpoint loads its variables");
  Progress now;
  SINTER_ASSIGN_OR_RETURN(now.iteration, state.Integer("iteration"));
  SINTER_ASSIGN_OR_RETURN(now.previous_iteration, state.Integer("previous_iteration"));
  SINTER_ASSIGN_OR_RETURN(now.epoch, state.Number("epoch"));
  SINTER_ASSIGN_OR_RETURN(now.previous_epoch, state.Number("previous_epoch"));
  SINTER_ASSIGN_OR_RETURN(now.elapsed_time, state.Number("elapsed_time"));
  // Snapshots of former versions lack it.
  if (state.Has("input_wait")) {
    SINTER_ASSIGN_OR_RETURN(now.input_wait, state.Number("input_wait"));
  }
  SINTER_ASSIGN_OR_RETURN(const std::string position, state.Text("stream"));
  SINTER_RETURN_IF_ERROR(In("the stream's position", updater_.stream().Load(position)));
  progress_ = now;
  time_before_ = now.elapsed_time;
  start_ = std::chrono::steady_clock::now();
  for (auto& [name, value] : inputs_) {
    if (state.Has("inputs/" + name)) {
      SINTER_ASSIGN_OR_RETURN(value, state.Number("inputs/" + name));
    }
  }
  absl::Status status;
  ForEachWindow(*this, [&](const std::string& owner, Window& window) {
    absl::StatusOr<MetricTotals> seen = state.Totals("seen/" + owner);
    if (seen.ok())
      window = *std::move(seen);
    else if (status.ok())
      status = seen.status();
  });
  SINTER_RETURN_IF_ERROR(status);
  const auto load = [&](const std::string& key, auto& what) {
    const State part = state.Part(key);
    return part.empty() ? absl::OkStatus() : In(absl::StrCat("the saved state of ", key), what.Load(part));
  };
  for (const std::unique_ptr<Entry>& entry : entries_) {
    SINTER_RETURN_IF_ERROR(load("extensions/" + entry->name, *entry->extension));
    SINTER_RETURN_IF_ERROR(load("triggers/" + entry->name, entry->trigger.rule()));
  }
  if (options_.stop) SINTER_RETURN_IF_ERROR(load("stop", options_.stop->rule()));
  return absl::OkStatus();
}

}  // namespace sinter::train
