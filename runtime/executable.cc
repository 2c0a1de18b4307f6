#include "sinter/runtime/executable.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/argument_value.h"
#include "sinter/runtime/plan_devices.h"
#include "sinter/runtime/plan_verifier.h"
#include "sinter/runtime/status.h"
#include "sinter/runtime/steps.h"

namespace sinter::internal_session {
namespace {

// To replay a single step costs no less than to run it.
constexpr size_t kLeastRecorded = 2;

using Clock = std::chrono::steady_clock;
double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <typename Vector>
size_t SizeOrZero(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

std::string InputList(const FunctionInfo& info) {
  if (info.inputs.empty()) return "it has none";
  return absl::StrCat("its inputs are ",
                      absl::StrJoin(info.inputs, ", ", [](std::string* out, const TensorInfo& input) {
                        absl::StrAppend(out, input.name, " ", input.TypeString());
                      }));
}

std::vector<bool> HostDevices(const Memory& memory) {
  std::vector<bool> is_host;
  for (const DevicePlaces& places : memory.devices) is_host.push_back(places.is_host);
  return is_host;
}

}  // namespace

FunctionState::FunctionState(const fb::Plan& plan, const fb::Function& table, Memory* memory,
                             const ThreadPool& pool)
    : plan_(&plan),
      table_(&table),
      memory_(memory),
      pool_(&pool),
      info_(DescribeFunction(plan, table)),
      inputs_(plan, table, memory),
      outputs_(table, info_.outputs, memory),
      library_workspace_bytes_(memory->devices.size()) {}

absl::StatusOr<std::unique_ptr<FunctionState>> FunctionState::Load(const fb::Plan& plan,
                                                                   const fb::Function& table, Memory* memory,
                                                                   const ThreadPool& pool) {
  std::unique_ptr<FunctionState> state(new FunctionState(plan, table, memory, pool));
  SINTER_RETURN_IF_ERROR(state->LoadSteps());
  LaunchOrder order = MakeLaunchOrder(plan, table, HostDevices(*memory));
  for (Launch& launch : order.launches) {
    const bool may_record = !memory->devices[launch.device].is_host && launch.steps.size() >= kLeastRecorded;
    state->launches_.push_back({std::move(launch), may_record, nullptr});
  }
  state->last_waits_ = std::move(order.last);
  return state;
}

absl::Status FunctionState::LoadSteps() {
  for (size_t i = 0; i < SizeOrZero(table_->steps()); ++i) {
    const fb::Step& table = *table_->steps()->Get(i);
    std::unique_ptr<Step> step;
    if (!IsBetweenDevices(*table_, table)) {
      absl::StatusOr<std::unique_ptr<Step>> made = RuntimeOf(table.device()).MakeStep(*plan_, table);
      if (!made.ok()) return AtStep(i, made.status());
      step = *std::move(made);
      size_t& workspace = library_workspace_bytes_[table.device()];
      workspace = std::max(workspace, step->LibraryWorkspaceBytes());
    }
    steps_.push_back({std::move(step), &table, slots_.size()});
    for (const auto* indices : {table.inputs(), table.outputs()}) {
      for (size_t k = 0; k < SizeOrZero(indices); ++k) {
        const fb::Buffer& buffer = *table_->buffers()->Get(indices->Get(k));
        if (buffer.space() == fb::Space::Input && memory_->devices[buffer.device()].is_host) {
          input_slots_.push_back({slots_.size(), buffer.index(), buffer.offset()});
        }
        slots_.push_back(nullptr);
      }
    }
  }
  return absl::OkStatus();
}

std::byte* FunctionState::PointerOf(uint32_t index) const {
  const fb::Buffer& buffer = *table_->buffers()->Get(index);
  if (buffer.space() != fb::Space::Input) return memory_->AddressOf(buffer);
  if (memory_->devices[buffer.device()].is_host) return nullptr;  // Of each run's caller.
  return inputs_.DeviceAddress(buffer.device(), buffer.index()) + buffer.offset();
}

void FunctionState::Place() {
  size_t slot = 0;
  for (const LoadedStep& step : steps_) {
    for (const auto* indices : {step.table->inputs(), step.table->outputs()}) {
      for (size_t k = 0; k < SizeOrZero(indices); ++k) slots_[slot++] = PointerOf(indices->Get(k));
    }
  }
  outputs_.Place();
}

int FunctionState::FindInput(std::string_view name) const {
  for (size_t i = 0; i < info_.inputs.size(); ++i) {
    if (info_.inputs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

absl::Status FunctionState::Bind(const Argument& argument, InputValue* bound) const {
  const int index = FindInput(argument.name());
  if (index < 0) {
    return absl::NotFoundError(
        absl::StrCat("there is no input \"", std::string(argument.name()), "\"; ", InputList(info_)));
  }
  const TensorInfo& want = info_.inputs[static_cast<size_t>(index)];
  InputValue value{.is_set = true};
  if (const HostTensor* tensor = argument.tensor(); tensor != nullptr) {
    if (tensor->dtype() != want.dtype || tensor->shape() != want.shape) {
      return absl::InvalidArgumentError(absl::StrCat("input \"", want.name, "\" is ", want.TypeString(),
                                                     ", and ", tensor->ToString(), " is given"));
    }
    value.data = tensor->data();  // Null only if there are no elements.
  } else {
    if (!want.shape.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input \"", want.name, "\" is ", want.TypeString(), ", and a single number is given"));
    }
    const absl::Status stored = argument.is_integer()
                                    ? StoreNumber(argument.integer(), want.dtype, value.number)
                                    : StoreNumber(argument.real(), want.dtype, value.number);
    if (!stored.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("input \"", want.name, "\": ", stored.message()));
    }
  }
  *bound = value;
  return absl::OkStatus();
}

absl::Status FunctionState::CheckAllSet(std::span<const InputValue> inputs) const {
  if (std::all_of(inputs.begin(), inputs.end(), [](const InputValue& value) { return value.is_set; })) {
    return absl::OkStatus();
  }
  std::vector<std::string> missing;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_set) continue;
    missing.push_back(
        absl::StrCat("input \"", info_.inputs[i].name, "\", ", info_.inputs[i].TypeString(), ", is missing"));
  }
  return absl::InvalidArgumentError(absl::StrJoin(missing, "; "));
}

absl::Status FunctionState::FillArenas() {
  for (const DevicePlaces& places : memory_->devices) {
    if (places.arena_bytes == 0) continue;
    SINTER_RETURN_IF_ERROR(places.runtime->Fill(places.arena, 0xff, places.arena_bytes));
  }
  return absl::OkStatus();
}

absl::Status FunctionState::Run(std::span<const InputValue> inputs, Profile* profile) {
  const Clock::time_point start = Clock::now();
  SINTER_RETURN_IF_ERROR(CheckAllSet(inputs));
  ++memory_->runs;
  SINTER_RETURN_IF_ERROR(inputs_.Bind(inputs));
  for (const InputSlot& patch : input_slots_) {
    slots_[patch.slot] = const_cast<std::byte*>(inputs_.bound(patch.input)) + patch.offset;
  }
  if (memory_->poison) SINTER_RETURN_IF_ERROR(FillArenas());
  pool_->BindCallingThread();
  SINTER_RETURN_IF_ERROR(profile == nullptr ? RunLaunches() : RunOneByOne(profile));
  has_run_ = true;
  outputs_.Finish(inputs_);
  if (profile != nullptr) {
    ++profile->runs;
    profile->seconds_total += SecondsSince(start);
  }
  return absl::OkStatus();
}

absl::Status FunctionState::RunStep(size_t index) {
  const LoadedStep& step = steps_[index];
  const fb::Step& table = *step.table;
  void* const* const buffers = slots_.data() + step.first_slot;
  const DevicePlaces& places = memory_->devices[table.device()];
  if (step.step == nullptr) {
    const uint32_t from = table_->buffers()->Get(table.inputs()->Get(0))->device();
    const size_t bytes = table.body_as_CopyStep()->bytes();
    return bytes == 0 ? absl::OkStatus()
                      : places.runtime->CopyFrom(RuntimeOf(from), buffers[1], buffers[0], bytes);
  }
  return step.step->Run(
      {.buffers = buffers,
       .workspace = table.workspace_bytes() == 0 ? nullptr : places.arena + table.workspace_offset(),
       .scratch = places.scratch,
       .library_workspace = places.library_workspace});
}

absl::Status FunctionState::RunSteps(const Launch& launch) {
  for (const uint32_t index : launch.steps) {
    if (absl::Status status = RunStep(index); !status.ok()) return AtStep(index, status);
  }
  return absl::OkStatus();
}

absl::Status FunctionState::RunLaunch(LoadedLaunch& loaded) {
  DeviceRuntime& runtime = RuntimeOf(loaded.launch.device);
  absl::Status status;
  if (loaded.may_record && has_run_) {
    absl::StatusOr<std::unique_ptr<RecordedWork>> recorded =
        runtime.Record([this, &loaded] { return RunSteps(loaded.launch); });
    status = recorded.status();
    if (status.ok()) {
      loaded.recorded = *std::move(recorded);
      loaded.may_record = false;
    }
  }
  if (status.ok() && loaded.recorded == nullptr) return RunSteps(loaded.launch);
  if (status.ok()) status = loaded.recorded->Launch();
  if (status.ok()) return status;
  return absl::Status(
      status.code(),
      absl::StrCat("function \"", info_.name, "\", steps ", loaded.launch.steps.front(), " to ",
                   loaded.launch.steps.back(), " on ", runtime.device().ToString(), ": ", status.message()));
}

absl::Status FunctionState::RunLaunches() {
  for (LoadedLaunch& loaded : launches_) {
    for (const uint32_t other : loaded.launch.others) {
      SINTER_RETURN_IF_ERROR(RuntimeOf(loaded.launch.device).WaitFor(RuntimeOf(other)));
    }
    SINTER_RETURN_IF_ERROR(RunLaunch(loaded));
  }
  for (const Wait& wait : last_waits_) {
    SINTER_RETURN_IF_ERROR(RuntimeOf(wait.waiter).WaitFor(RuntimeOf(wait.other)));
  }
  return absl::OkStatus();
}

// Nobody waits for anybody: each device is idle before the next step.
absl::Status FunctionState::RunOneByOne(Profile* profile) {
  PrepareProfile(profile);
  for (const DevicePlaces& places : memory_->devices) {
    SINTER_RETURN_IF_ERROR(places.runtime->Synchronize());
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    const Clock::time_point start = Clock::now();
    absl::Status status = RunStep(i);
    if (status.ok()) status = RuntimeOf(steps_[i].table->device()).Synchronize();
    if (!status.ok()) return AtStep(i, status);
    const double seconds = SecondsSince(start);
    profile->steps[i].seconds_total += seconds;
    profile->steps[i].seconds_min = std::min(profile->steps[i].seconds_min, seconds);
  }
  return absl::OkStatus();
}

absl::Status FunctionState::AtStep(size_t index, const absl::Status& status) const {
  const fb::Step& table = *table_->steps()->Get(static_cast<uint32_t>(index));
  return absl::Status(status.code(), absl::StrCat("function \"", info_.name, "\", step ", index, " (",
                                                  table.name() == nullptr ? "" : table.name()->c_str(),
                                                  "): ", status.message()));
}

void FunctionState::PrepareProfile(Profile* profile) const {
  if (profile->function == info_.name && profile->steps.size() == steps_.size()) return;
  *profile = Profile();
  profile->function = info_.name;
  for (const LoadedStep& step : steps_) {
    const fb::Step& table = *step.table;
    StepTimes times;
    if (table.name() != nullptr) times.name = table.name()->str();
    times.kind = StepKind(table);
    times.device = DeviceOf(*plan_, table.device());
    for (size_t k = 0; k < SizeOrZero(table.locations()); ++k) {
      times.locations.push_back(LocationText(*plan_, table.locations()->Get(k)));
    }
    times.seconds_min = std::numeric_limits<double>::infinity();
    times.flops = table.flops();
    times.bytes = table.bytes();
    profile->steps.push_back(std::move(times));
  }
}

}  // namespace sinter::internal_session
