#include "sinter/runtime/session_state.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/initializer.h"
#include "sinter/runtime/plan_devices.h"
#include "sinter/runtime/process_allocator.h"
#include "sinter/runtime/status.h"

namespace sinter::internal_session {
namespace {

// Threads write to neighbouring pieces: two cache lines apart, because some CPUs fetch pairs.
constexpr size_t kScratchAlignment = 128;

template <typename F>
void ForEachStep(const fb::Plan& plan, F&& f) {
  if (plan.functions() == nullptr) return;
  for (const fb::Function* function : *plan.functions()) {
    if (function->steps() == nullptr) continue;
    for (const fb::Step* step : *function->steps()) f(*step);
  }
}

// Whether a function reads constants on a device.
bool ReadsConstants(const fb::Plan& plan, uint32_t device) {
  for (size_t i = 0; plan.functions() != nullptr && i < plan.functions()->size(); ++i) {
    const auto* const buffers = plan.functions()->Get(i)->buffers();
    for (size_t k = 0; buffers != nullptr && k < buffers->size(); ++k) {
      const fb::Buffer& buffer = *buffers->Get(k);
      if (buffer.space() == fb::Space::Constant && buffer.device() == device) return true;
    }
  }
  return false;
}

// The allocators that the options name, each for its own device.
absl::StatusOr<std::vector<CachingAllocator*>> GivenAllocators(const SessionOptions& options,
                                                               const Plan& plan) {
  std::vector<CachingAllocator*> given = options.allocators;
  if (options.allocator != nullptr) given.push_back(options.allocator);
  std::vector<Device> devices = plan.Devices();
  // Inputs and outputs pass through the main memory whatever the plan runs on.
  if (std::ranges::none_of(devices, &Device::is_cpu)) devices.push_back(Device::Cpu());
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] == nullptr) return absl::InvalidArgumentError("SessionOptions::allocators holds a null");
    const Device device = given[i]->device();
    if (std::ranges::find(devices, device) == devices.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "an allocator of ", device.ToString(), " is given, and the plan runs on ",
          absl::StrJoin(plan.Devices(), ", ",
                        [](std::string* out, Device d) { absl::StrAppend(out, d.ToString()); })));
    }
    for (size_t k = 0; k < i; ++k) {
      if (given[k]->device() != device) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("two allocators of ", device.ToString(), " are given: give one"));
    }
  }
  return given;
}

// Null: none is given.
CachingAllocator* FindAllocator(const std::vector<CachingAllocator*>& given, Device device) {
  const auto found = std::ranges::find(given, device, &CachingAllocator::device);
  return found == given.end() ? nullptr : *found;
}

size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t best = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = std::exchange(row[j], best);
    }
  }
  return row[b.size()];
}

}  // namespace

absl::StatusOr<std::unique_ptr<State>> State::Load(Plan plan, const SessionOptions& options,
                                                   const DeviceRuntimeFactory& make) {
  SINTER_RETURN_IF_ERROR(plan.CheckTarget());
  std::unique_ptr<State> state(new State(std::move(plan)));
  SINTER_RETURN_IF_ERROR(state->UseOptions(options));
  if (const auto* bytes = state->plan.table().shared_object(); bytes != nullptr && bytes->size() > 0) {
    SINTER_ASSIGN_OR_RETURN(state->code,
                            LoadedCode::Load(std::as_bytes(std::span(bytes->data(), bytes->size()))));
  }
  state->variables = state->plan.Variables();
  SINTER_RETURN_IF_ERROR(state->MakeRuntimes(options, make));
  SINTER_RETURN_IF_ERROR(state->LoadFunctions());
  SINTER_RETURN_IF_ERROR(state->Allocate());
  SINTER_RETURN_IF_ERROR(state->PlaceConstants());
  for (const Entry& entry : state->functions) entry.function->Place();
  SINTER_RETURN_IF_ERROR(state->InitializeVariables());
  return state;
}

State::~State() { Synchronize().IgnoreError(); }

absl::Status State::Synchronize() {
  absl::Status status;
  for (const std::unique_ptr<DeviceRuntime>& runtime : runtimes) status.Update(runtime->Synchronize());
  return status;
}

absl::Status State::UseOptions(const SessionOptions& options) {
  if (options.threads < 0 || options.threads > ThreadPool::kMaxThreads) {
    return absl::InvalidArgumentError(absl::StrCat("a session cannot have ", options.threads,
                                                   " threads: 1 to ", ThreadPool::kMaxThreads,
                                                   ", or 0 for one on each core"));
  }
  if (options.threads > 0) {
    pool = std::make_unique<ThreadPool>(options.threads);
  } else {
    SINTER_ASSIGN_OR_RETURN(ThreadPool made, ThreadPool::Create());
    pool = std::make_unique<ThreadPool>(made);
  }
  memory.poison = options.poison;
  return absl::OkStatus();
}

absl::Status State::MakeRuntimes(const SessionOptions& options, const DeviceRuntimeFactory& make) {
  SINTER_ASSIGN_OR_RETURN(const std::vector<CachingAllocator*> given, GivenAllocators(options, plan));
  StepContext context = {.pool = pool.get(), .shared_object = code.handle()};
  ForEachStep(plan.table(), [&](const fb::Step& step) {
    if (const fb::KernelStep* kernel = step.body_as_KernelStep(); kernel != nullptr) {
      context.scratch_stride = std::max<size_t>(context.scratch_stride, kernel->scratch_bytes());
    }
  });
  context.scratch_stride =
      (context.scratch_stride + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
  bool has_main_memory = false;
  for (const Device device : plan.Devices()) {
    absl::StatusOr<std::unique_ptr<DeviceRuntime>> made = make(device, FindAllocator(given, device), context);
    if (!made.ok()) {
      return absl::Status(made.status().code(),
                          absl::StrCat("cannot run the plan: ", made.status().message()));
    }
    SINTER_ASSIGN_OR_RETURN(DeviceShare share, DeviceShare::Make((*made)->allocator(), options.memory_limit));
    shares.push_back(std::move(share));
    memory.devices.push_back({.runtime = made->get(), .is_host = (*made)->is_host_memory()});
    has_main_memory = has_main_memory || (*made)->is_host_memory();
    runtimes.push_back(*std::move(made));
  }
  if (has_main_memory) return absl::OkStatus();
  CachingAllocator* main_memory = FindAllocator(given, Device::Cpu());
  if (main_memory == nullptr) {
    SINTER_ASSIGN_OR_RETURN(main_memory, ProcessAllocator());
  }
  SINTER_ASSIGN_OR_RETURN(DeviceShare share, DeviceShare::Make(*main_memory, options.memory_limit));
  shares.push_back(std::move(share));
  return absl::OkStatus();
}

absl::Status State::LoadFunctions() {
  const fb::Plan& table = plan.table();
  for (size_t i = 0; table.functions() != nullptr && i < table.functions()->size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(std::unique_ptr<FunctionState> function,
                            FunctionState::Load(table, *table.functions()->Get(i), &memory, *pool));
    BoundFunction bound(function.get());
    functions.push_back({std::move(function), std::move(bound)});
  }
  return absl::OkStatus();
}

DeviceShare& State::MainMemory() {
  for (size_t d = 0; d < memory.devices.size(); ++d) {
    if (memory.devices[d].is_host) return shares[d];
  }
  return shares.back();
}

void State::ListPieces() {
  memory.variables.resize(variables.size());
  for (size_t i = 0; i < variables.size(); ++i) {
    shares[plan.table().variables()->Get(i)->device()].Need("variable " + variables[i].name,
                                                            static_cast<size_t>(variables[i].bytes),
                                                            &SessionMemory::variables, &memory.variables[i]);
  }
  const auto* const constants = plan.table().constants();
  size_t staging = 0;
  for (const Entry& entry : functions) {
    staging = std::max(staging, entry.function->inputs().StagingBytes());
    memory.outputs_bytes = std::max(memory.outputs_bytes, entry.function->outputs().HostBytes());
  }
  for (uint32_t d = 0; d < memory.devices.size(); ++d) {
    DevicePlaces& places = memory.devices[d];
    size_t inputs = 0, library = 0, copied = 0;
    for (const Entry& entry : functions) {
      const FunctionState& function = *entry.function;
      places.arena_bytes =
          std::max(places.arena_bytes, static_cast<size_t>(function.info().device_arena_bytes[d]));
      inputs = std::max(inputs, function.inputs().DeviceBytes(d));
      library = std::max(library, function.LibraryWorkspaceBytes(d));
    }
    if (!places.is_host && constants != nullptr && ReadsConstants(plan.table(), d))
      copied = constants->size();
    DeviceShare& share = shares[d];
    share.Need("arena", places.arena_bytes, &SessionMemory::arena, &places.arena);
    share.Need("copies of inputs", inputs, &SessionMemory::input_copies, &places.inputs);
    share.Need("copy of constants", copied, &SessionMemory::constant_copies, &places.constants);
    share.Need("thread scratch", runtimes[d]->ScratchBytes(), &SessionMemory::thread_scratch,
               &places.scratch);
    share.Need("library workspace", library, &SessionMemory::library_workspace, &places.library_workspace);
  }
  MainMemory().Need("input staging", staging, &SessionMemory::input_staging, &memory.staging);
  MainMemory().Need("output copies", memory.outputs_bytes, &SessionMemory::output_copies, &memory.outputs);
}

absl::Status State::Allocate() {
  ListPieces();
  SINTER_RETURN_IF_ERROR(CheckRoom(shares));
  for (DeviceShare& share : shares) SINTER_RETURN_IF_ERROR(share.Take());
  memory.written.emplace_back(memory.outputs, memory.outputs_bytes);
  for (const DevicePlaces& places : memory.devices) {
    if (places.is_host) memory.written.emplace_back(places.arena, places.arena_bytes);
  }
  for (size_t i = 0; i < variables.size(); ++i) {
    if (!PlacesOf(i).is_host) continue;
    memory.written.emplace_back(memory.variables[i], static_cast<size_t>(variables[i].bytes));
  }
  return absl::OkStatus();
}

absl::Status State::PlaceConstants() {
  const auto* const constants = plan.table().constants();
  if (constants == nullptr || constants->size() == 0) return absl::OkStatus();
  // Steps do not write to them: the verifier has looked.
  auto* const data = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(constants->data()));
  MainMemory().report().constants = constants->size();
  for (size_t d = 0; d < memory.devices.size(); ++d) {
    DevicePlaces& places = memory.devices[d];
    if (places.is_host) {
      places.constants = data;
    } else if (shares[d].report().constant_copies > 0) {
      SINTER_RETURN_IF_ERROR(places.runtime->Upload(places.constants, data, constants->size()));
    }
  }
  return absl::OkStatus();
}

const DevicePlaces& State::PlacesOf(size_t variable) const {
  return memory.devices[plan.table().variables()->Get(static_cast<uint32_t>(variable))->device()];
}

const DeviceShare* State::FindShare(Device device) const {
  const auto found = std::ranges::find(shares, device, &DeviceShare::device);
  return found == shares.end() ? nullptr : &*found;
}

// Always computed by the CPU, so that the values have the same bits wherever they live.
absl::Status State::InitializeVariable(size_t index) {
  const VariableInfo& variable = variables[index];
  const fb::Initializer& init = *plan.table().variables()->Get(static_cast<uint32_t>(index))->initializer();
  const InitialValues values = {.kind = static_cast<InitialValues::Kind>(init.kind()),
                                .a = init.a(),
                                .b = init.b(),
                                .seed = init.seed()};
  const DevicePlaces& places = PlacesOf(index);
  if (places.is_host) {
    return FillInitialValues(values, variable.dtype, variable.shape, memory.variables[index], *pool);
  }
  SINTER_ASSIGN_OR_RETURN(HostTensor host, HostTensor::Empty(variable.dtype, variable.shape));
  SINTER_RETURN_IF_ERROR(
      FillInitialValues(values, variable.dtype, variable.shape, host.mutable_data(), *pool));
  if (variable.bytes == 0) return absl::OkStatus();
  return places.runtime->Upload(memory.variables[index], host.data(), static_cast<size_t>(variable.bytes));
}

absl::Status State::InitializeVariables() {
  for (size_t i = 0; i < variables.size(); ++i) {
    absl::Status status = InitializeVariable(i);
    if (status.ok()) continue;
    return absl::Status(status.code(),
                        absl::StrCat("variable \"", variables[i].name, "\": ", status.message()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Session> State::MakeSession(Plan plan, const SessionOptions& options,
                                           const DeviceRuntimeFactory& make) {
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<State> state, Load(std::move(plan), options, make));
  return Session(std::move(state));
}

absl::StatusOr<State::Entry*> State::Find(std::string_view name) {
  for (Entry& entry : functions) {
    if (entry.function->info().name == name) return &entry;
  }
  return plan.Function(name).status();
}

absl::StatusOr<size_t> State::FindVariable(std::string_view name) const {
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i].name == name) return i;
  }
  std::vector<std::pair<size_t, std::string>> near;
  for (const VariableInfo& variable : variables)
    near.emplace_back(EditDistance(name, variable.name), variable.name);
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  near.resize(std::min<size_t>(near.size(), 3));
  const auto append = [](std::string* out, const auto& candidate) {
    absl::StrAppend(out, "\"", candidate.second, "\"");
  };
  return absl::NotFoundError(absl::StrCat(
      "there is no variable \"", std::string(name), "\"; ",
      near.empty() ? "the plan has none" : "the nearest names are " + absl::StrJoin(near, ", ", append)));
}

}  // namespace sinter::internal_session
