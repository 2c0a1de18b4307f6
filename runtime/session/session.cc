#include "sinter/runtime/session/session.h"

#include <algorithm>
#include <cstring>
#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "sinter/runtime/device/device_runtimes.h"
#include "sinter/runtime/execute/loaded_function.h"
#include "sinter/runtime/host/number.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/session/bucket_runner.h"
#include "sinter/runtime/session/session_state.h"

namespace sinter {

using internal_session::BucketRunner;
using internal_session::InputValue;
using internal_session::LoadedFunction;
using internal_session::SessionState;
using internal_session::SessionUse;

// Outputs.

namespace {

const HostTensor& OrAbort(const absl::StatusOr<const HostTensor*>& tensor) {
  if (!tensor.ok()) {
    std::cerr << tensor.status().message() << std::endl;
    std::abort();
  }
  return **tensor;
}

}  // namespace

size_t Outputs::size() const { return function_->info().outputs.size(); }
std::string_view Outputs::name(size_t i) const { return function_->info().outputs[i].name; }
absl::StatusOr<const HostTensor*> Outputs::At(size_t i) const {
  return bucket_ != nullptr ? bucket_->Get(i) : function_->outputs().Get(i);
}
const HostTensor& Outputs::tensor(size_t i) const { return OrAbort(At(i)); }

absl::StatusOr<const HostTensor*> Outputs::Get(std::string_view name) const {
  for (size_t i = 0; i < size(); ++i) {
    if (this->name(i) == name) return At(i);
  }
  std::vector<std::string> names;
  for (const TensorInfo& output : function_->info().outputs) names.push_back(output.name);
  return absl::NotFoundError(
      absl::StrCat("function \"", function_->info().name, "\" has no output \"", std::string(name), "\"; ",
                   names.empty() ? "it has none" : "its outputs are ", absl::StrJoin(names, ", ")));
}

const HostTensor& Outputs::operator[](std::string_view name) const { return OrAbort(Get(name)); }

absl::StatusOr<double> Outputs::Scalar(std::string_view name) const {
  SINTER_ASSIGN_OR_RETURN(const HostTensor* tensor, Get(name));
  if (tensor->num_elements() != 1) {
    return absl::InvalidArgumentError(absl::StrCat("output \"", std::string(name), "\" is ",
                                                   tensor->ToString(),
                                                   ", which is not one number: read its elements with Span"));
  }
  return LoadNumber(tensor->dtype(), tensor->data());
}

// BoundFunction.

BoundFunction::BoundFunction(LoadedFunction* function)
    : function_(function), inputs_(function->info().inputs.size()) {}
BoundFunction::BoundFunction(BoundFunction&&) noexcept = default;
BoundFunction& BoundFunction::operator=(BoundFunction&&) noexcept = default;
BoundFunction::~BoundFunction() = default;

absl::Status BoundFunction::Set(const Argument& argument) {
  const int index = function_->FindInput(argument.name());
  InputValue value;
  SINTER_RETURN_IF_ERROR(function_->Bind(argument, &value));
  inputs_[static_cast<size_t>(index)] = value;
  return absl::OkStatus();
}
absl::Status BoundFunction::SetInput(std::string_view name, const HostTensor& tensor) {
  return Set(Argument(name, tensor));
}
absl::Status BoundFunction::SetScalar(std::string_view name, Number value) {
  return Set(Argument(name, value));
}

absl::Status BoundFunction::Run(Profile* profile) {
  SINTER_ASSIGN_OR_RETURN(const SessionUse::Scope use, function_->memory().use.Begin());
  return function_->Run(inputs_, profile);
}

Outputs BoundFunction::outputs() const { return Outputs(function_); }
std::span<const TensorInfo> BoundFunction::inputs() const { return function_->info().inputs; }
std::span<const TensorInfo> BoundFunction::output_infos() const { return function_->info().outputs; }

// Session.

Session::Session(std::unique_ptr<SessionState> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

absl::StatusOr<Session> Session::Create(Plan plan, const SessionOptions& options) {
  return SessionState::MakeSession(std::move(plan), options, MakeDeviceRuntime);
}

absl::StatusOr<Outputs> Session::Run(std::string_view function, std::initializer_list<Argument> arguments,
                                     Profile* profile) {
  return Run(function, std::span<const Argument>(arguments.begin(), arguments.size()), profile);
}

absl::StatusOr<Outputs> Session::Run(std::string_view function, std::span<const Argument> arguments,
                                     Profile* profile) {
  SINTER_ASSIGN_OR_RETURN(const SessionUse::Scope use, state_->buffers().use.Begin());
  absl::StatusOr<BucketRunner*> buckets = state_->FindBuckets(function);
  if (!buckets.ok()) return state_->buffers().GiveUp(buckets.status());
  if (*buckets != nullptr) {
    absl::StatusOr<BucketRunner::Fitted> fitted = (*buckets)->Fit(arguments);
    if (!fitted.ok()) return state_->buffers().GiveUp(fitted.status());
    SINTER_ASSIGN_OR_RETURN(SessionState::Entry * entry, state_->Find(fitted->function->info().name));
    SINTER_RETURN_IF_ERROR(state_->Run(*entry, fitted->arguments, profile));
    return Outputs(entry->function.get(), fitted->outputs);
  }
  const absl::StatusOr<SessionState::Entry*> found = state_->Find(function);
  if (!found.ok()) return state_->buffers().GiveUp(found.status());
  SINTER_RETURN_IF_ERROR(state_->Run(**found, arguments, profile));
  return Outputs((*found)->function.get());
}

absl::StatusOr<BoundFunction> Session::Bind(std::string_view function) {
  SINTER_ASSIGN_OR_RETURN(BucketRunner* const buckets, state_->FindBuckets(function));
  if (buckets != nullptr) {
    return absl::InvalidArgumentError(absl::StrCat("\"", std::string(function), "\" has the buckets ",
                                                   buckets->group().Names(), ": bind one of them"));
  }
  SINTER_ASSIGN_OR_RETURN(SessionState::Entry * entry, state_->Find(function));
  return BoundFunction(entry->function.get());
}

std::span<const VariableInfo> Session::variables() const { return state_->variables().infos(); }

absl::StatusOr<HostTensor> Session::ReadVariable(std::string_view name) const {
  SINTER_ASSIGN_OR_RETURN(const SessionUse::Scope use, state_->buffers().use.Begin());
  SINTER_ASSIGN_OR_RETURN(const size_t index, state_->variables().Find(name));
  SINTER_ASSIGN_OR_RETURN(HostTensor tensor, state_->variables().View(index));
  if (tensor.is_owning()) return tensor;
  return tensor.Clone();
}

absl::StatusOr<HostTensor> Session::ViewVariable(std::string_view name) const {
  SINTER_ASSIGN_OR_RETURN(const SessionUse::Scope use, state_->buffers().use.Begin());
  SINTER_ASSIGN_OR_RETURN(const size_t index, state_->variables().Find(name));
  return state_->variables().View(index);
}

absl::StatusOr<std::vector<VariablePart>> Session::ReadParts(std::string_view name) const {
  SINTER_ASSIGN_OR_RETURN(const SessionUse::Scope use, state_->buffers().use.Begin());
  const internal_session::SessionVariables& variables = state_->variables();
  SINTER_ASSIGN_OR_RETURN(const size_t index, variables.Find(name));
  SINTER_RETURN_IF_ERROR(variables.CheckReadable(index));
  std::vector<VariablePart> read;
  for (const auto& part : variables.PartsOf(index)) {
    SINTER_ASSIGN_OR_RETURN(HostTensor value, variables.ViewPart(part));
    if (!value.is_owning()) {
      SINTER_ASSIGN_OR_RETURN(value, value.Clone());
    }
    read.push_back({.rank = part.rank, .box = part.box, .value = std::move(value)});
  }
  return read;
}

absl::Status Session::WriteVariable(std::string_view name, const HostTensor& tensor) {
  SINTER_ASSIGN_OR_RETURN(const SessionUse::Scope use, state_->buffers().use.Begin());
  SINTER_ASSIGN_OR_RETURN(const size_t index, state_->variables().Find(name));
  const VariableInfo& info = state_->variables().infos()[index];
  if (tensor.dtype() != info.dtype || tensor.shape() != info.shape) {
    return absl::InvalidArgumentError(absl::StrCat("variable \"", info.name, "\" is ", info.TypeString(),
                                                   ", and ", tensor.ToString(), " is given"));
  }
  SINTER_RETURN_IF_ERROR(state_->CheckNotShared());
  // memmove semantics are needed: the tensor may be an output, a view of the session's own memory.
  return state_->variables().Write(index, tensor.data());
}

absl::Status Session::ResetVariables() {
  SINTER_ASSIGN_OR_RETURN(const SessionUse::Scope use, state_->buffers().use.Begin());
  SINTER_RETURN_IF_ERROR(state_->CheckNotShared());
  SINTER_RETURN_IF_ERROR(state_->variables().Initialize());
  state_->buffers().in_doubt.Clear();
  return absl::OkStatus();
}

absl::StatusOr<Session> Session::Share(const SessionOptions& options) const {
  SINTER_ASSIGN_OR_RETURN(const SessionUse::Scope use, state_->buffers().use.Begin());
  return state_->Share(options);
}

absl::StatusOr<LogValues> Session::ReadLog(std::string_view name) {
  SINTER_ASSIGN_OR_RETURN(const SessionUse::Scope use, state_->buffers().use.Begin());
  return state_->variables().TakeLog(name);
}

absl::Status Session::Synchronize() {
  SINTER_ASSIGN_OR_RETURN(const SessionUse::Scope use, state_->buffers().use.Begin());
  return state_->devices().Synchronize();
}

const Plan& Session::plan() const { return state_->plan(); }
const fb::Plan& Session::program() const { return state_->program(); }
const TuningReport& Session::tuning() const { return state_->tuning().report(); }
const LoadTimes& Session::load_times() const { return state_->load_times(); }
int Session::threads() const { return state_->pool().threads(); }

SessionMemory Session::memory() const {
  SessionMemory sum;
  for (const internal_session::MemoryReservation& reservation : state_->devices().reservations()) {
    sum += reservation.report();
  }
  return sum;
}
SessionMemory Session::memory(Device device) const {
  const internal_session::MemoryReservation* const reservation = state_->devices().Find(device);
  return reservation == nullptr ? SessionMemory() : reservation->report();
}

CachingAllocator& Session::allocator() const { return state_->devices().reservations().front().allocator(); }
CachingAllocator* Session::allocator(Device device) const {
  const internal_session::MemoryReservation* const reservation = state_->devices().Find(device);
  return reservation == nullptr ? nullptr : &reservation->allocator();
}

}  // namespace sinter
