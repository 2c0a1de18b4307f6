#include "sinter/runtime/execute/function_steps.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/device/loop_step.h"
#include "sinter/runtime/execute/device_exchange.h"
#include "sinter/runtime/host/load_times.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/plan/step_kind.h"

namespace sinter::internal_session {

FunctionSteps::FunctionSteps(const fb::Plan& plan, const fb::Function& table, SessionBuffers* memory,
                             const FunctionInputs& inputs)
    : plan_(plan),
      table_(table),
      memory_(memory),
      inputs_(inputs),
      library_workspace_bytes_(memory->devices.size()),
      exchange_workspace_bytes_(memory->devices.size()) {
  while (plan.functions()->Get(index_) != &table) ++index_;
}

// Loading --------------------------------------------------------------------------------------------------

absl::Status FunctionSteps::Load() {
  for (size_t i = 0; i < SizeOrZero(table_.steps()); ++i) {
    const fb::Step& table = *table_.steps()->Get(static_cast<uint32_t>(i));
    const bool is_between = IsBetweenDevices(table_, table);
    bool is_here = memory_->local.Has(table.device());
    if (is_between && !IsCopyOfInput(table_, table)) {
      const bool has_source = memory_->local.Has(table_.buffers()->Get(table.inputs()->Get(0))->device());
      if (is_here != has_source) SINTER_RETURN_IF_ERROR(CheckCopyBetweenProcesses(i));
      if (is_here && has_source) exchange_bytes_ = std::max(exchange_bytes_, ExchangeBytesOf(table));
      is_here = is_here || has_source;
    }
    steps_.push_back({nullptr, &table, slots_.size(), is_here, WritesVariables(table), num_here_});
    if (is_here) ++num_here_;
    for (const auto* indices : {table.inputs(), table.outputs()}) {
      for (size_t k = 0; k < SizeOrZero(indices); ++k) {
        const fb::Buffer& buffer = *table_.buffers()->Get(indices->Get(k));
        const DeviceBuffers& device_buffers = memory_->devices[buffer.device()];
        const bool is_in_main_memory = device_buffers.is_here() ? device_buffers.is_host : is_here;
        if (buffer.space() == fb::Space::Input && is_in_main_memory) {
          input_slots_.push_back({slots_.size(), buffer.index(), buffer.offset()});
        }
        slots_.push_back(nullptr);
      }
    }
  }
  for (const LoadedStep& step : steps_) exchanges_ = exchanges_ || IsBetweenProcesses(*step.table);
  if (exchanges_) SetPatience();
  // The device may still be preparing slow steps (DeviceRuntime::Prepare).
  for (const MakeCost cost : {MakeCost::kQuick, MakeCost::kSlow}) {
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (StepKindOf(*steps_[i].table).make_cost == cost) SINTER_RETURN_IF_ERROR(MakeStep(i));
    }
  }
  return absl::OkStatus();
}

// Only CPUs copy between processes; GPUs use collectives.
absl::Status FunctionSteps::CheckCopyBetweenProcesses(size_t index) const {
  const fb::Step& copy = *table_.steps()->Get(static_cast<uint32_t>(index));
  const uint32_t from = table_.buffers()->Get(copy.inputs()->Get(0))->device(), to = copy.device();
  if (DeviceOf(plan_, to).is_host()) return absl::OkStatus();
  return AtStep(index, absl::UnimplementedError(absl::StrCat(
                           "it copies from ", DeviceOf(plan_, from).ToString(), " of rank ",
                           memory_->local.RankOf(from), " to ", DeviceOf(plan_, to).ToString(), " of rank ",
                           memory_->local.RankOf(to),
                           ": between GPUs of several processes values move by collectives alone, such as "
                           "send and recv")));
}

size_t FunctionSteps::ExchangeBytesOf(const fb::Step& copy) const {
  const uint32_t from = table_.buffers()->Get(copy.inputs()->Get(0))->device();
  return ExchangeStagingBytes(RuntimeOf(from), RuntimeOf(copy.device()), copy.body_as_CopyStep()->bytes());
}

bool FunctionSteps::WritesVariables(const fb::Step& step) {
  bool writes = false;
  for (size_t k = 0; k < SizeOrZero(step.outputs()); ++k) {
    const fb::Buffer& buffer = *table_.buffers()->Get(step.outputs()->Get(static_cast<uint32_t>(k)));
    if (buffer.space() != fb::Space::Variable) continue;
    writes = true;
    if (std::ranges::find(written_, buffer.index()) == written_.end()) written_.push_back(buffer.index());
  }
  return writes;
}

std::vector<uint32_t> FunctionSteps::MembersOf(const fb::Step& step) const {
  if (const fb::CollectiveStep* const collective = step.body_as_CollectiveStep(); collective != nullptr) {
    return {collective->group()->begin(), collective->group()->end()};
  }
  if (!IsBetweenDevices(table_, step) || IsCopyOfInput(table_, step)) return {step.device()};
  return {table_.buffers()->Get(step.inputs()->Get(0))->device(), step.device()};
}

// Gives the same answer in all processes.
bool FunctionSteps::IsBetweenProcesses(const fb::Step& step) const {
  const int rank = memory_->local.RankOf(step.device());
  return std::ranges::any_of(MembersOf(step),
                             [&](uint32_t device) { return memory_->local.RankOf(device) != rank; });
}

// A process that this one has exchanged with in a run has left the user's code. Processes of GPUs have all
// met before the run.
void FunctionSteps::SetPatience() {
  const std::chrono::milliseconds within = memory_->patience.WithinRun(plan_, table_);
  std::vector<bool> has_begun(static_cast<size_t>(memory_->world->size()), !DeviceOf(plan_, 0).is_host());
  has_begun[static_cast<size_t>(memory_->world->rank())] = true;
  for (LoadedStep& step : steps_) {
    if (!step.is_here || !IsBetweenProcesses(*step.table)) continue;
    step.patience = within;
    for (const uint32_t device : MembersOf(*step.table)) {
      const auto process = static_cast<size_t>(memory_->local.RankOf(device));
      if (!has_begun[process]) step.patience = memory_->patience.FromUserCode();
    }
    for (const uint32_t device : MembersOf(*step.table)) {
      has_begun[static_cast<size_t>(memory_->local.RankOf(device))] = true;
    }
  }
}

absl::Status FunctionSteps::MakeStep(size_t index) {
  const fb::Step& table = *steps_[index].table;
  if (!steps_[index].is_here || IsBetweenDevices(table_, table)) return absl::OkStatus();
  // The local CPU members of a collective share one HostCollective.
  if (StepKindOf(table).is_exchange && memory_->devices[table.device()].is_host) {
    return absl::OkStatus();
  }
  const LoadTimes::Scope time =
      LoadTimes::Time(memory_->load_times, absl::StrCat("steps: ", std::string(StepKindName(table))));
  DeviceRuntime& runtime = RuntimeOf(table.device());
  absl::StatusOr<std::unique_ptr<Step>> made = table.body_as_LoopStep() != nullptr
                                                   ? MakeLoopStep(plan_, table, runtime)
                                                   : runtime.MakeStep(plan_, table);
  if (!made.ok()) return AtStep(index, made.status());
  steps_[index].step = *std::move(made);
  NeedLibraryWorkspace(table.device(), steps_[index].step->LibraryWorkspaceBytes());
  size_t& exchanged = exchange_workspace_bytes_[table.device()];
  exchanged = std::max(exchanged, steps_[index].step->ExchangeWorkspaceBytes());
  return absl::OkStatus();
}

void FunctionSteps::NeedLibraryWorkspace(uint32_t device, size_t bytes) {
  library_workspace_bytes_[device] = std::max(library_workspace_bytes_[device], bytes);
}

std::byte* FunctionSteps::PointerOf(uint32_t index) const {
  const fb::Buffer& buffer = *table_.buffers()->Get(index);
  if (!memory_->local.Has(buffer.device())) return nullptr;
  if (buffer.space() != fb::Space::Input) return memory_->AddressOf(buffer);
  if (memory_->devices[buffer.device()].is_host) return nullptr;  // Set in each run.
  return inputs_.DeviceAddress(buffer.device(), buffer.index()) + buffer.offset();
}

void FunctionSteps::ResolvePointers() {
  size_t slot = 0;
  for (const LoadedStep& step : steps_) {
    for (const auto* indices : {step.table->inputs(), step.table->outputs()}) {
      for (size_t k = 0; k < SizeOrZero(indices); ++k) slots_[slot++] = PointerOf(indices->Get(k));
    }
  }
}

void FunctionSteps::SetInputs() {
  for (const InputSlot& patch : input_slots_) {
    slots_[patch.slot] = const_cast<std::byte*>(inputs_.bound(patch.input)) + patch.offset;
  }
}

// Running --------------------------------------------------------------------------------------------------

absl::Status FunctionSteps::Run(size_t index) {
  const LoadedStep& step = steps_[index];
  const fb::Step& table = *step.table;
  void* const* const buffers = slots_.data() + step.first_slot;
  const DeviceBuffers& device_buffers = memory_->devices[table.device()];
  if (step.writes_variables) has_written_.store(true, std::memory_order_relaxed);
  if (step.step == nullptr) {
    const uint32_t from = table_.buffers()->Get(table.inputs()->Get(0))->device();
    const size_t bytes = table.body_as_CopyStep()->bytes();
    if (!memory_->local.Has(from) && IsCopyOfInput(table_, table)) {
      return bytes == 0 ? absl::OkStatus() : device_buffers.runtime->Upload(buffers[1], buffers[0], bytes);
    }
    if (!device_buffers.is_here() || !memory_->local.Has(from)) return RunCopyBetweenProcesses(index);
    return CopyBetween(RuntimeOf(from), buffers[0], *device_buffers.runtime, buffers[1], bytes,
                       {memory_->exchange, memory_->exchange_bytes});
  }
  return step.step->Run(
      {.buffers = buffers,
       .workspace = table.workspace_bytes() == 0 ? nullptr : device_buffers.arena + table.workspace_offset(),
       .scratch = device_buffers.scratch,
       .library_workspace = device_buffers.library_workspace + step.library_workspace,
       .exchange_workspace = device_buffers.exchange_workspace});
}

absl::Status FunctionSteps::RunCopyBetweenProcesses(size_t index) {
  const LoadedStep& step = steps_[index];
  const uint32_t from = table_.buffers()->Get(step.table->inputs()->Get(0))->device();
  const bool is_send = memory_->local.Has(from);
  const size_t bytes = step.table->body_as_CopyStep()->bytes();
  if (bytes == 0) return absl::OkStatus();
  const World::Transfer transfer = {.peer = memory_->local.RankOf(is_send ? step.table->device() : from),
                                    .data = slots_[step.first_slot + (is_send ? 0 : 1)],
                                    .bytes = bytes,
                                    .is_send = is_send};
  return memory_->world->Exchange({&transfer, 1}, OperationOf("copy", index, step.patience));
}

absl::Status FunctionSteps::RunAndWait(size_t index) {
  absl::Status status = Run(index);
  if (status.ok() && steps_[index].step != nullptr) status = steps_[index].step->Wait();
  return status.ok() ? status : AtStep(index, status);
}

void FunctionSteps::SayWritten(const Launch& launch) {
  const bool writes =
      std::ranges::any_of(launch.steps, [&](uint32_t step) { return steps_[step].writes_variables; });
  if (writes) has_written_.store(true, std::memory_order_relaxed);
}

World::Operation FunctionSteps::OperationOf(std::string_view name, uint64_t number,
                                            std::chrono::milliseconds patience) const {
  return {.name = name,
          .tag = World::TagOf(number),
          .session = memory_->session,
          .run = memory_->exchanging_runs,
          .function = index_,
          .patience = patience};
}

// Errors --------------------------------------------------------------------------------------------------

std::string FunctionSteps::Describe(size_t index) const {
  const fb::Step& table = *table_.steps()->Get(static_cast<uint32_t>(index));
  return absl::StrCat("function \"", table_.name()->c_str(), "\", step ", index, " (",
                      table.name() == nullptr ? "" : table.name()->c_str(), ")");
}

std::string FunctionSteps::DescribeCollective(size_t index) const {
  const uint32_t step = static_cast<uint32_t>(index);
  const fb::Step& table = *table_.steps()->Get(step);
  const fb::CollectiveStep& collective = *table.body_as_CollectiveStep();
  if (SizeOrZero(collective.axes()) == 0) return Describe(BeginOfChannel(table_, step));
  const std::string line =
      SizeOrZero(table.locations()) == 0 ? "" : LocationText(plan_, table.locations()->Get(0));
  return absl::StrCat("function \"", table_.name()->c_str(), "\", epoch ", collective.epoch(), " (",
                      Text(table.name()), line.empty() ? "" : ", ", line, ")");
}

absl::Status FunctionSteps::AtStep(size_t index, const absl::Status& status) const {
  return absl::Status(status.code(), absl::StrCat(Describe(index), ": ", status.message()));
}

absl::Status FunctionSteps::AtLaunch(const Launch& launch, const absl::Status& status) const {
  return absl::Status(status.code(),
                      absl::StrCat("function \"", table_.name()->c_str(), "\", steps ", launch.steps.front(),
                                   " to ", launch.steps.back(), " on ",
                                   RuntimeOf(launch.device).device().ToString(), ": ", status.message()));
}

}  // namespace sinter::internal_session
