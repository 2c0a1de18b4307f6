#include "sinter/runtime/execute/executable.h"

#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/cpu/steps.h"
#include "sinter/runtime/host/load_times.h"
#include "sinter/runtime/host/number.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/tensor/tensor.h"
#include "sinter/runtime/plan/step_kind.h"

namespace sinter::internal_session {
namespace {

// Replaying a single step costs no less than running it.
constexpr size_t kLeastRecorded = 2;

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
      outputs_(plan, table, info_.outputs, memory),
      index_checks_(plan, info_.name),
      library_workspace_bytes_(memory->devices.size()) {
  while (plan.functions()->Get(index_) != &table) ++index_;
}

absl::StatusOr<std::unique_ptr<FunctionState>> FunctionState::Load(const fb::Plan& plan,
                                                                   const fb::Function& table, Memory* memory,
                                                                   const ThreadPool& pool) {
  std::unique_ptr<FunctionState> state(new FunctionState(plan, table, memory, pool));
  SINTER_RETURN_IF_ERROR(state->LoadSteps());
  SINTER_RETURN_IF_ERROR(state->LoadLaunches());
  return state;
}

absl::Status FunctionState::LoadLaunches() {
  LaunchOrder order = MakeLaunchOrder(*plan_, *table_, HostDevices(*memory_), &memory_->local);
  for (Launch& launch : order.launches) {
    const bool is_host = memory_->devices[launch.device].is_host;
    is_all_host_ = is_all_host_ && is_host;
    LoadedLaunch loaded;
    if (!is_host && !launch.is_between) {
      loaded.may_record_with_marks = !launch.steps.empty();
      // Either all members of a collective record it, or none.
      loaded.joins = FindJoins(*table_, launch.steps);
      loaded.may_record = launch.steps.size() >= kLeastRecorded || !loaded.joins.empty();
      if (loaded.may_record && loaded.joins.empty()) loaded.order = OrderOf(launch);
    }
    if (is_host && launch.is_collective) {
      loaded.collective = MakeHostCollective(launch);
      for (const uint32_t step : launch.steps) {
        loaded.operands.push_back(slots_.data() + steps_[step].first_slot);
      }
    }
    loaded.launch = std::move(launch);
    launches_.push_back(std::move(loaded));
  }
  last_waits_ = std::move(order.last);
  for (uint32_t i = 0; i < steps_.size(); ++i) {
    if (std::vector<uint32_t> unit = StepsRunWith(i); !unit.empty()) units_.push_back(std::move(unit));
  }
  MakeThreads();
  ListMeeting();
  return absl::OkStatus();
}

// Gives the same answer in all processes.
bool FunctionState::IsBetweenProcesses(const fb::Step& step) const {
  const int rank = memory_->local.RankOf(step.device());
  if (const fb::CollectiveStep* const collective = step.body_as_CollectiveStep(); collective != nullptr) {
    return std::ranges::any_of(*collective->group(),
                               [&](uint32_t device) { return memory_->local.RankOf(device) != rank; });
  }
  if (!IsBetweenDevices(*table_, step) || IsCopyOfInput(*table_, step)) return false;
  return memory_->local.RankOf(table_->buffers()->Get(step.inputs()->Get(0))->device()) != rank;
}

// GPUs exchange data without call stamps. So their processes compare stamps before the run.
void FunctionState::ListMeeting() {
  for (const LoadedStep& step : steps_) exchanges_ = exchanges_ || IsBetweenProcesses(*step.table);
  if (!exchanges_ || DeviceOf(*plan_, 0).is_cpu()) return;
  for (int peer = 0; peer < memory_->world->size(); ++peer) {
    if (peer == memory_->world->rank()) continue;
    for (const bool is_send : {true, false}) meeting_.push_back({.peer = peer, .is_send = is_send});
  }
}

World::Operation FunctionState::OperationOf(std::string_view name, size_t step) const {
  constexpr uint32_t kTags = 32768;
  return {.name = name,
          .tag = static_cast<uint32_t>(step % kTags),
          .session = memory_->session,
          .run = memory_->exchanging_runs,
          .function = index_};
}

StepOrder FunctionState::OrderOf(const Launch& launch) {
  std::vector<size_t> library_workspaces;
  for (const uint32_t step : launch.steps) {
    library_workspaces.push_back(steps_[step].step->LibraryWorkspaceBytes());
  }
  StepOrder order = FindOrder(*table_, launch.steps, library_workspaces);
  for (size_t i = 0; i < launch.steps.size(); ++i) {
    steps_[launch.steps[i]].library_workspace = order.workspace_offsets[i];
  }
  size_t& workspace = library_workspace_bytes_[launch.device];
  workspace = std::max(workspace, order.workspace_bytes);
  return order;
}

// Returns the step alone, or all local members of its collective if the step is their first. Empty for a step
// of another process and for a later member.
std::vector<uint32_t> FunctionState::StepsRunWith(uint32_t index) const {
  if (!steps_[index].is_here) return {};
  const fb::CollectiveStep* const collective = steps_[index].table->body_as_CollectiveStep();
  if (collective == nullptr) return {index};
  std::vector<uint32_t> members;
  const uint32_t first = index - collective->rank();
  for (uint32_t member = first; member < first + collective->group()->size(); ++member) {
    if (steps_[member].is_here) members.push_back(member);
  }
  if (members.front() != index) members.clear();
  return members;
}

// If several non-CPU devices exchange data, each gets its own launching thread.
void FunctionState::MakeThreads() {
  std::vector<bool> exchanges(memory_->devices.size());
  for (const LoadedLaunch& loaded : launches_) {
    if (!loaded.joins.empty()) exchanges[loaded.launch.device] = true;
  }
  const auto count = std::ranges::count(exchanges, true);
  has_device_collectives_ = count > 0;
  if (count < 2) return;
  threads_ = std::make_unique<LaunchThreads>(
      exchanges, [this](const LaunchThreads::Task& task) { return RunTask(task); },
      [this](const absl::Status& status) { AbortDevices(status); });
}

std::unique_ptr<HostCollective> FunctionState::MakeHostCollective(const Launch& launch) {
  const fb::Step& first = *steps_[launch.steps.front()].table;
  const fb::CollectiveStep& table = *first.body_as_CollectiveStep();
  // The first member's index, which is the same in every process.
  const size_t place = launch.steps.front() - table.rank();
  const std::string name = absl::StrCat(std::string(CollectiveName(table.kind())), ", ", PlaceOf(place));
  const World::Operation operation = OperationOf(name, place);
  std::unique_ptr<HostCollective> made = HostCollective::Make(*table_, CollectiveGroup{launch.steps},
                                                              {.pool = pool_,
                                                               .local = memory_->local,
                                                               .world = memory_->world,
                                                               .name = name,
                                                               .tag = operation.tag,
                                                               .session = operation.session,
                                                               .function = operation.function});
  size_t& workspace = library_workspace_bytes_[launch.device];
  workspace = std::max(workspace, made->WorkspaceBytes());
  return made;
}

// Only CPUs copy between processes; GPUs use collectives.
absl::Status FunctionState::CheckCopyBetweenProcesses(size_t index) const {
  const fb::Step& copy = *table_->steps()->Get(static_cast<uint32_t>(index));
  const uint32_t from = table_->buffers()->Get(copy.inputs()->Get(0))->device(), to = copy.device();
  if (DeviceOf(*plan_, to).is_cpu()) return absl::OkStatus();
  return AtStep(index, absl::UnimplementedError(absl::StrCat(
                           "it copies from ", DeviceOf(*plan_, from).ToString(), " of rank ",
                           memory_->local.RankOf(from), " to ", DeviceOf(*plan_, to).ToString(), " of rank ",
                           memory_->local.RankOf(to),
                           ": between GPUs of several processes values move by collectives alone, such as "
                           "send and recv")));
}

absl::Status FunctionState::LoadSteps() {
  for (size_t i = 0; i < SizeOrZero(table_->steps()); ++i) {
    const fb::Step& table = *table_->steps()->Get(static_cast<uint32_t>(i));
    const bool is_between = IsBetweenDevices(*table_, table);
    bool is_here = memory_->local.Has(table.device());
    if (is_between && !IsCopyOfInput(*table_, table)) {
      const bool has_source = memory_->local.Has(table_->buffers()->Get(table.inputs()->Get(0))->device());
      if (is_here != has_source) SINTER_RETURN_IF_ERROR(CheckCopyBetweenProcesses(i));
      is_here = is_here || has_source;
    }
    steps_.push_back({nullptr, &table, slots_.size(), is_here, WritesVariables(table), num_here_});
    if (is_here) ++num_here_;
    for (const auto* indices : {table.inputs(), table.outputs()}) {
      for (size_t k = 0; k < SizeOrZero(indices); ++k) {
        const fb::Buffer& buffer = *table_->buffers()->Get(indices->Get(k));
        const DevicePlaces& places = memory_->devices[buffer.device()];
        const bool is_in_main_memory = places.is_here() ? places.is_host : is_here;
        if (buffer.space() == fb::Space::Input && is_in_main_memory) {
          input_slots_.push_back({slots_.size(), buffer.index(), buffer.offset()});
        }
        slots_.push_back(nullptr);
      }
    }
  }
  // Attention steps last: the device may still be preparing them (DeviceRuntime::Prepare).
  for (const bool is_attention : {false, true}) {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if ((steps_[i].table->body_type() == fb::StepBody::AttentionStep) != is_attention) continue;
      SINTER_RETURN_IF_ERROR(MakeStep(i));
    }
  }
  return absl::OkStatus();
}

bool FunctionState::WritesVariables(const fb::Step& step) {
  bool writes = false;
  for (size_t k = 0; k < SizeOrZero(step.outputs()); ++k) {
    const fb::Buffer& buffer = *table_->buffers()->Get(step.outputs()->Get(static_cast<uint32_t>(k)));
    if (buffer.space() != fb::Space::Variable) continue;
    writes = true;
    if (std::ranges::find(written_, buffer.index()) == written_.end()) written_.push_back(buffer.index());
  }
  return writes;
}

absl::Status FunctionState::MakeStep(size_t index) {
  const fb::Step& table = *steps_[index].table;
  if (!steps_[index].is_here || IsBetweenDevices(*table_, table)) return absl::OkStatus();
  // The local CPU members of a collective share one HostCollective.
  if (table.body_type() == fb::StepBody::CollectiveStep && memory_->devices[table.device()].is_host) {
    return absl::OkStatus();
  }
  const LoadTimes::Scope time =
      LoadTimes::Time(memory_->load_times, absl::StrCat("steps: ", std::string(StepKind(table))));
  absl::StatusOr<std::unique_ptr<Step>> made = RuntimeOf(table.device()).MakeStep(*plan_, table);
  if (!made.ok()) return AtStep(index, made.status());
  steps_[index].step = *std::move(made);
  size_t& workspace = library_workspace_bytes_[table.device()];
  workspace = std::max(workspace, steps_[index].step->LibraryWorkspaceBytes());
  return absl::OkStatus();
}

std::byte* FunctionState::PointerOf(uint32_t index) const {
  const fb::Buffer& buffer = *table_->buffers()->Get(index);
  if (!memory_->local.Has(buffer.device())) return nullptr;
  if (buffer.space() != fb::Space::Input) return memory_->AddressOf(buffer);
  if (memory_->devices[buffer.device()].is_host) return nullptr;  // Set in each run.
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

absl::Status FunctionState::FitTensor(const HostTensor& tensor, size_t index, InputValue* value) const {
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

absl::Status FunctionState::Bind(const Argument& argument, InputValue* bound) const {
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
  return absl::InvalidArgumentError(
      absl::StrCat("cannot run \"", info_.name, "\": ", absl::StrJoin(missing, "; ")));
}

absl::Status FunctionState::CheckVariables() const {
  SINTER_RETURN_IF_ERROR(memory_->in_doubt.Check());
  const int sessions = written_.empty() ? 1 : memory_->sharing->sessions.load(std::memory_order_acquire);
  if (sessions == 1) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "function \"", info_.name, "\" writes variable \"",
      plan_->variables()->Get(written_.front())->name()->c_str(), "\", which ", sessions,
      " sessions share: run it in a session of its own (Session::Create), or when the others are gone"));
}

absl::Status FunctionState::FillArenas() {
  for (const DevicePlaces& places : memory_->devices) {
    if (!places.is_here() || places.arena_bytes == 0) continue;
    SINTER_RETURN_IF_ERROR(places.runtime->Fill(places.arena, 0xff, places.arena_bytes));
  }
  return absl::OkStatus();
}

absl::Status FunctionState::Prepare(std::span<const InputValue> inputs) {
  SINTER_RETURN_IF_ERROR(CheckVariables());
  SINTER_RETURN_IF_ERROR(CheckAllSet(inputs));
  ++memory_->runs;
  if (exchanges_) ++memory_->exchanging_runs;
  SINTER_RETURN_IF_ERROR(inputs_.Bind(inputs));
  for (const InputSlot& patch : input_slots_) {
    slots_[patch.slot] = const_cast<std::byte*>(inputs_.bound(patch.input)) + patch.offset;
  }
  if (memory_->poison) SINTER_RETURN_IF_ERROR(FillArenas());
  pool_->BindCallingThread();
  return meeting_.empty() ? absl::OkStatus() : memory_->world->Exchange(meeting_, OperationOf(info_.name, 0));
}

absl::Status FunctionState::Run(std::span<const InputValue> inputs, Profile* profile) {
  const auto start = std::chrono::steady_clock::now();
  SINTER_RETURN_IF_ERROR(memory_->given_up);
  if (absl::Status status = Prepare(inputs); !status.ok()) return memory_->GiveUp(status);
  has_written_.store(false, std::memory_order_relaxed);
  if (absl::Status status = profile == nullptr ? RunLaunches() : RunProfiled(profile); !status.ok()) {
    if (has_device_collectives_) AbortDevices(status);
    if (has_written_.load(std::memory_order_relaxed)) memory_->in_doubt.Add(info_.name, written_, *plan_);
    return memory_->GiveUp(status);
  }
  has_run_ = true;
  outputs_.Finish(inputs_);
  if (profile != nullptr) AddRun(start, profile);
  return index_checks_.Check(*memory_);
}

}  // namespace sinter::internal_session
