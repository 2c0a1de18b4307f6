#include "sinter/runtime/execute/loaded_function.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/number.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::internal_session {
namespace {

std::string InputList(const FunctionInfo& info) {
  if (info.inputs.empty()) return "it has none";
  return absl::StrCat("its inputs are ",
                      absl::StrJoin(info.inputs, ", ", [](std::string* out, const TensorInfo& input) {
                        absl::StrAppend(out, input.name, " ", input.TypeString());
                      }));
}

}  // namespace

LoadedFunction::LoadedFunction(const fb::Plan& plan, const fb::Function& table, SessionBuffers* memory,
                               const ThreadPool& pool)
    : plan_(&plan),
      memory_(memory),
      pool_(&pool),
      info_(DescribeFunction(plan, table)),
      inputs_(plan, table, memory),
      outputs_(plan, table, info_.outputs, memory),
      index_checks_(plan, info_.name),
      steps_(plan, table, memory, inputs_),
      launches_(steps_, pool),
      profiled_(steps_, launches_) {}

absl::StatusOr<std::unique_ptr<LoadedFunction>> LoadedFunction::Load(const fb::Plan& plan,
                                                                     const fb::Function& table,
                                                                     SessionBuffers* memory,
                                                                     const ThreadPool& pool) {
  std::unique_ptr<LoadedFunction> function(new LoadedFunction(plan, table, memory, pool));
  SINTER_RETURN_IF_ERROR(function->steps_.Load());
  SINTER_RETURN_IF_ERROR(function->launches_.Load());
  function->ListMeeting();
  return function;
}

void LoadedFunction::ResolvePointers() {
  steps_.ResolvePointers();
  outputs_.Place();
}

// GPUs exchange data without call stamps. So their processes compare stamps before the run.
void LoadedFunction::ListMeeting() {
  if (!steps_.exchanges() || DeviceOf(*plan_, 0).is_host()) return;
  meeting_place_ = absl::StrCat("the start of a run, function \"", info_.name, "\"");
  for (int peer = 0; peer < memory_->world->size(); ++peer) {
    if (peer == memory_->world->rank()) continue;
    for (const bool is_send : {true, false}) meeting_.push_back({.peer = peer, .is_send = is_send});
  }
}

int LoadedFunction::FindInput(std::string_view name) const {
  for (size_t i = 0; i < info_.inputs.size(); ++i) {
    if (info_.inputs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

absl::Status LoadedFunction::FitTensor(const HostTensor& tensor, size_t index, InputValue* value) const {
  const TensorInfo& want = info_.inputs[index];
  value->data = tensor.data();  // Null only if there are no elements.
  if (tensor.dtype() == want.dtype && tensor.shape() == want.shape) return absl::OkStatus();
  std::string also;
  const std::optional<FunctionInputs::RowRange> rows =
      memory_->local.is_alone ? std::nullopt : inputs_.Rows(index);
  if (rows.has_value()) {
    TensorInfo part = want;
    part.shape[0] = rows->end - rows->begin;
    if (tensor.dtype() == part.dtype && tensor.shape() == part.shape) {
      const int64_t row = want.shape[0] == 0 ? 0 : *DenseBytes(want.dtype, want.shape) / want.shape[0];
      value->first_byte = static_cast<size_t>(rows->begin * row);
      return absl::OkStatus();
    }
    also = absl::StrCat(", of which rank ", memory_->world->rank(), " may give rows ", rows->begin, " to ",
                        rows->end, " alone, ", part.TypeString());
  }
  return absl::InvalidArgumentError(absl::StrCat("input \"", want.name, "\" is ", want.TypeString(), also,
                                                 ", and ", tensor.ToString(), " is given"));
}

absl::Status LoadedFunction::Bind(const Argument& argument, InputValue* bound) const {
  const int index = FindInput(argument.name());
  if (index < 0) {
    return absl::NotFoundError(
        absl::StrCat("there is no input \"", std::string(argument.name()), "\"; ", InputList(info_)));
  }
  const TensorInfo& want = info_.inputs[static_cast<size_t>(index)];
  InputValue value{.is_set = true};
  if (const HostTensor* tensor = argument.tensor(); tensor != nullptr) {
    SINTER_RETURN_IF_ERROR(FitTensor(*tensor, static_cast<size_t>(index), &value));
  } else {
    if (!want.shape.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input \"", want.name, "\" is ", want.TypeString(), ", and a single number is given"));
    }
    const absl::Status stored = StoreNumber(argument.number(), want.dtype, value.number);
    if (!stored.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("input \"", want.name, "\": ", stored.message()));
    }
  }
  *bound = value;
  return absl::OkStatus();
}

absl::Status LoadedFunction::CheckAllSet(std::span<const InputValue> inputs) const {
  if (std::all_of(inputs.begin(), inputs.end(), [](const InputValue& value) { return value.is_set; })) {
    return absl::OkStatus();
  }
  std::vector<std::string> missing;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_set) continue;
    missing.push_back(
        absl::StrCat("input \"", info_.inputs[i].name, "\", ", info_.inputs[i].TypeString(), ", is missing"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("cannot run \"", info_.name, "\": ", absl::StrJoin(missing, "; ")));
}

absl::Status LoadedFunction::CheckVariables() const {
  SINTER_RETURN_IF_ERROR(memory_->in_doubt.Check());
  const int sessions =
      steps_.written().empty() ? 1 : memory_->sharing->sessions.load(std::memory_order_acquire);
  if (sessions == 1) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "function \"", info_.name, "\" writes variable \"",
      plan_->variables()->Get(steps_.written().front())->name()->c_str(), "\", which ", sessions,
      " sessions share: run it in a session of its own (Session::Create), or when the others are gone"));
}

absl::Status LoadedFunction::FillArenas() {
  for (const DeviceBuffers& buffers : memory_->devices) {
    if (!buffers.is_here() || buffers.arena_bytes == 0) continue;
    SINTER_RETURN_IF_ERROR(buffers.runtime->Fill(buffers.arena, 0xff, buffers.arena_bytes));
  }
  return absl::OkStatus();
}

absl::Status LoadedFunction::Prepare(std::span<const InputValue> inputs) {
  SINTER_RETURN_IF_ERROR(CheckVariables());
  SINTER_RETURN_IF_ERROR(CheckAllSet(inputs));
  ++memory_->runs;
  if (steps_.exchanges()) ++memory_->exchanging_runs;
  SINTER_RETURN_IF_ERROR(inputs_.Bind(inputs));
  SINTER_RETURN_IF_ERROR(launches_.UploadInputs(inputs_));
  steps_.SetInputs();
  if (memory_->poison) SINTER_RETURN_IF_ERROR(FillArenas());
  pool_->BindCallingThread();
  return meeting_.empty()
             ? absl::OkStatus()
             : memory_->world->Exchange(
                   meeting_, steps_.OperationOf(meeting_place_, 0, memory_->patience.FromUserCode()));
}

absl::Status LoadedFunction::Run(std::span<const InputValue> inputs, Profile* profile) {
  const auto start = std::chrono::steady_clock::now();
  SINTER_RETURN_IF_ERROR(memory_->given_up);
  if (absl::Status status = Prepare(inputs); !status.ok()) {
    inputs_.FinishUploads().IgnoreError();
    return memory_->GiveUp(status);
  }
  steps_.ForgetWritten();
  if (!steps_.written().empty()) memory_->has_initial_values = false;
  absl::Status status = profile == nullptr ? launches_.Run(has_run_, /*timers=*/nullptr)
                                           : profiled_.Run(info_, has_run_, profile);
  const bool is_launched = status.ok();
  // Before the wait for the inputs, which may come after a failed exchange.
  if (!is_launched && launches_.has_device_collectives()) launches_.Abort(status);
  const absl::Status finished = inputs_.FinishUploads();
  if (is_launched) status = finished;
  if (!status.ok()) {
    if (is_launched && launches_.has_device_collectives()) launches_.Abort(status);
    if (steps_.has_written()) memory_->in_doubt.Add(info_.name, steps_.written(), *plan_);
    return memory_->GiveUp(status);
  }
  has_run_ = true;
  outputs_.Finish(inputs_);
  if (profile != nullptr) ProfiledRun::AddRun(start, profile);
  return index_checks_.Check(*memory_);
}

}  // namespace sinter::internal_session
