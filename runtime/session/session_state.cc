#include "sinter/runtime/session/session_state.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/printable_text.h"
#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/process_allocator.h"
#include "sinter/runtime/plan/plan_code.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/step_kind.h"
#include "sinter/runtime/world/world_agreement.h"

namespace sinter::internal_session {
namespace {

// Returns x86-64-v4 if the plan's target has all its features, so that library kernels use the same
// instructions as generated code.
kernels::Isa IsaOf(const fb::Plan& plan) {
#if defined(__x86_64__)
  const fb::Target* const target = plan.target();
  if (target == nullptr || target->features() == nullptr) return kernels::Isa::kV3;
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(*target->features(),
                               [&](const auto* feature) { return feature->string_view() == name; });
  };
  constexpr std::string_view kOfV4[] = {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"};
  return std::ranges::all_of(kOfV4, has) ? kernels::Isa::kV4 : kernels::Isa::kV3;
#else
  return kernels::Isa::kBaseline;
#endif
}

// Spacing of the threads' scratch: two cache lines, because some CPUs prefetch pairs.
constexpr size_t kScratchAlignment = 128;

template <typename F>
void ForEachStep(const fb::Plan& plan, F&& f) {
  if (plan.functions() == nullptr) return;
  for (const fb::Function* function : *plan.functions()) {
    if (function->steps() == nullptr) continue;
    for (const fb::Step* step : *function->steps()) f(*step);
  }
}

// Returns the first that is not null.
DeviceRuntime* FirstOf(const std::vector<DeviceRuntime*>& peers) {
  return *std::ranges::find_if(peers, [](const DeviceRuntime* peer) { return peer != nullptr; });
}

// True if a function reads constants on the device.
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

absl::Status CheckHash(const Plan& plan, const std::string& expected) {
  if (expected.empty()) return absl::OkStatus();
  const bool is_hash = expected.size() == plan.hash().size() &&
                       expected.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!is_hash) {
    return absl::InvalidArgumentError(
        absl::StrCat("SessionOptions::expected_hash is \"", PrintableText(expected),
                     "\", and a hash is 64 hexadecimal digits in lower case, as Plan::hash() gives them"));
  }
  if (plan.hash() == expected) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the plan is another one than expected, and nothing of it was loaded: its hash is ",
                   plan.hash(), ", and SessionOptions::expected_hash is ", expected));
}

// Returns the allocators in the options, at most one per device.
absl::StatusOr<std::vector<CachingAllocator*>> GivenAllocators(const SessionOptions& options,
                                                               std::vector<Device> devices) {
  const std::vector<Device> names = devices;
  std::vector<CachingAllocator*> given = options.allocators;
  if (options.allocator != nullptr) given.push_back(options.allocator);
  // Inputs and outputs always pass through main memory, so its allocator is allowed for every plan.
  if (std::ranges::none_of(devices, &Device::is_cpu)) devices.push_back(Device::Cpu());
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] == nullptr) return absl::InvalidArgumentError("SessionOptions::allocators holds a null");
    const Device device = given[i]->device();
    if (std::ranges::find(devices, device) == devices.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "an allocator of ", device.ToString(), " is given, and the plan runs on ",
          absl::StrJoin(names, ", ",
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

// Returns null if none is given for the device.
CachingAllocator* FindAllocator(const std::vector<CachingAllocator*>& given, Device device) {
  const auto found = std::ranges::find(given, device, &CachingAllocator::device);
  return found == given.end() ? nullptr : *found;
}

}  // namespace

SessionState::SessionState(Plan plan, const DeviceRuntimeFactory& make, std::shared_ptr<Sharing> shared)
    : plan(std::move(plan)),
      make(make),
      sharing(shared == nullptr ? std::make_shared<Sharing>() : shared),
      owns_variables(shared == nullptr) {
  memory.sharing = sharing.get().get();
}

absl::StatusOr<std::unique_ptr<SessionState>> SessionState::Load(Plan plan, const SessionOptions& options,
                                                                 const DeviceRuntimeFactory& make,
                                                                 std::shared_ptr<Sharing> sharing) {
  std::unique_ptr<SessionState> state(new SessionState(std::move(plan), make, std::move(sharing)));
  if (options.world != nullptr) state->memory.session = options.world->CountSession();
  const LoadTimes::Scope time = state->load_times.Time("other");
  SINTER_RETURN_IF_ERROR(AgreeOnPlan(options.world, state->plan));
  // Share each status: a failed rank must not leave the others waiting, neither for GPU connections nor in
  // the first run.
  SINTER_RETURN_IF_ERROR(AgreeOnStatus(options.world, state->LoadDevices(options)));
  SINTER_RETURN_IF_ERROR(AgreeOnStatus(options.world, state->LoadProgram()));
  return state;
}

absl::Status SessionState::LoadDevices(const SessionOptions& options) {
  SINTER_RETURN_IF_ERROR(CheckHash(plan, options.expected_hash));
  SINTER_ASSIGN_OR_RETURN(const PlanCode chosen, CodeForThisCpu(plan.table()));
  SINTER_RETURN_IF_ERROR(UseOptions(options));
  if (owns_variables && !chosen.shared_object.empty()) {
    const LoadTimes::Scope time = load_times.Time("generated code of CPUs");
    SINTER_ASSIGN_OR_RETURN(sharing->code, LoadedCode::Load(chosen.shared_object));
  }
  ListVariables();
  StartInitialValues();
  return MakeRuntimes(options);
}

absl::Status SessionState::LoadProgram() {
  for (uint32_t d = 0; d < memory.devices.size(); ++d) {
    if (memory.devices[d].is_here()) memory.devices[d].runtime->Prepare(plan.table(), d);
  }
  {
    // Finish this before the next phase, which may measure matmuls.
    const LoadTimes::Scope time = load_times.Time("compute initial values");
    initial_value_prefetch->Wait();
  }
  SINTER_RETURN_IF_ERROR(Connect());
  SINTER_RETURN_IF_ERROR(LoadFunctions());
  tuning.Finish();
  SINTER_RETURN_IF_ERROR(Allocate());
  SINTER_RETURN_IF_ERROR(PlaceConstants());
  for (const Entry& entry : functions) entry.function->ResolvePointers();
  const LoadTimes::Scope time = load_times.Time("initial values");
  const absl::Status status = owns_variables ? InitializeVariables() : absl::OkStatus();
  initial_value_prefetch.reset();
  return status;
}

SessionState::~SessionState() {
  Synchronize().IgnoreError();
  const bool may_be_written =
      (memory.world != nullptr && memory.world->MayStillWrite()) ||
      std::ranges::any_of(runtimes, [](const auto& runtime) { return runtime->MayStillWork(); });
  if (!may_be_written) return;
  for (MemoryReservation& share : shares) share.Abandon();
  KeepForever(sharing.get());
}

absl::Status SessionState::Synchronize() {
  absl::Status status;
  for (const std::unique_ptr<DeviceRuntime>& runtime : runtimes) status.Update(runtime->Synchronize());
  return status;
}

absl::Status SessionState::UseOptions(const SessionOptions& options) {
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
  SINTER_RETURN_IF_ERROR(pool->CheckAfterFork());
  memory.poison = options.poison;
  memory.load_times = &load_times;
  tuning = SessionTuning(options.tuning, plan.path());
  SINTER_ASSIGN_OR_RETURN(memory.local, LocalDevices::Of(plan.table(), options.world));
  if (!memory.local.is_alone) memory.world = options.world;
  return absl::OkStatus();
}

std::vector<Device> SessionState::LocalNames() const {
  std::vector<Device> names;
  for (uint32_t d = 0; d < memory.local.count; ++d) {
    names.push_back(memory.local.NameOf(plan.table(), memory.local.first + d));
  }
  return names;
}

absl::Status SessionState::MakeRuntimes(const SessionOptions& options) {
  SINTER_ASSIGN_OR_RETURN(const std::vector<CachingAllocator*> given, GivenAllocators(options, LocalNames()));
  StepContext context = {.pool = pool.get(),
                         .shared_object = sharing->code.handle(),
                         .isa = IsaOf(plan.table()),
                         .uses_onednn = options.cpu_matmuls == CpuMatmuls::kOneDnn,
                         .world = memory.world,
                         .local = memory.local,
                         .tuning = &tuning,
                         .load_times = &load_times,
                         .plan = &plan.table()};
  ForEachStep(plan.table(), [&](const fb::Step& step) {
    if (const fb::KernelStep* kernel = step.body_as_KernelStep(); kernel != nullptr) {
      context.scratch_stride = std::max<size_t>(context.scratch_stride, kernel->scratch_bytes());
    }
  });
  context.scratch_stride = RoundUp(context.scratch_stride, kScratchAlignment);
  bool has_main_memory = false;
  memory.devices.resize(NumDevices(plan.table()));
  for (uint32_t d = memory.local.first; d < memory.local.first + memory.local.count; ++d) {
    const Device device = memory.local.NameOf(plan.table(), d);
    const LoadTimes::Scope time = load_times.Time("reach the devices");
    absl::StatusOr<std::unique_ptr<DeviceRuntime>> made = make(device, FindAllocator(given, device), context);
    if (!made.ok()) {
      return absl::Status(made.status().code(),
                          absl::StrCat("cannot run the plan: ", made.status().message()));
    }
    SINTER_ASSIGN_OR_RETURN(MemoryReservation share,
                            MemoryReservation::Make((*made)->allocator(), options.memory_limit));
    shares.push_back(std::move(share));
    memory.devices[d].runtime = made->get();
    memory.devices[d].is_host = (*made)->is_host_memory();
    has_main_memory = has_main_memory || (*made)->is_host_memory();
    runtimes.push_back(*std::move(made));
  }
  if (has_main_memory) return absl::OkStatus();
  CachingAllocator* main_memory = FindAllocator(given, Device::Cpu());
  if (main_memory == nullptr) {
    SINTER_ASSIGN_OR_RETURN(main_memory, ProcessAllocator());
  }
  SINTER_ASSIGN_OR_RETURN(MemoryReservation share,
                          MemoryReservation::Make(*main_memory, options.memory_limit));
  shares.push_back(std::move(share));
  return absl::OkStatus();
}

absl::Status SessionState::Connect() {
  // By back end: its devices outside main memory, at their places in the plan.
  std::vector<std::vector<DeviceRuntime*>> backends;
  for (uint32_t d = 0; d < memory.devices.size(); ++d) {
    const DeviceBuffers& places = memory.devices[d];
    if (!places.is_here() || places.is_host) continue;
    auto peers = std::ranges::find_if(backends, [&](const std::vector<DeviceRuntime*>& others) {
      return &FirstOf(others)->backend() == &places.runtime->backend();
    });
    if (peers == backends.end()) peers = backends.emplace(peers, memory.devices.size());
    (*peers)[d] = places.runtime;
  }
  bool has_collectives = false;
  ForEachStep(plan.table(), [&](const fb::Step& step) {
    has_collectives = has_collectives || StepKindOf(step).is_exchange;
  });
  if (backends.empty() || !has_collectives) return absl::OkStatus();
  const LoadTimes::Scope time = load_times.Time("connect the devices");
  for (const std::vector<DeviceRuntime*>& peers : backends) {
    SINTER_RETURN_IF_ERROR(FirstOf(peers)->Connect(plan.table(), peers, memory.local, memory.world));
  }
  return absl::OkStatus();
}

absl::Status SessionState::LoadFunctions() {
  const fb::Plan& table = plan.table();
  for (size_t i = 0; table.functions() != nullptr && i < table.functions()->size(); ++i) {
    SINTER_ASSIGN_OR_RETURN(std::unique_ptr<LoadedFunction> function,
                            LoadedFunction::Load(table, *table.functions()->Get(i), &memory, *pool));
    BoundFunction bound(function.get());
    functions.push_back({std::move(function), std::move(bound)});
  }
  return absl::OkStatus();
}

MemoryReservation& SessionState::MainMemory() {
  for (uint32_t d = 0; d < memory.devices.size(); ++d) {
    if (memory.devices[d].is_here() && memory.devices[d].is_host) return ShareOf(d);
  }
  return shares.back();
}

void SessionState::ListPieces() {
  const auto* const tables = plan.table().variables();
  memory.variables.resize(tables == nullptr ? 0 : tables->size());
  for (uint32_t i = 0; i < memory.variables.size(); ++i) {
    const fb::Variable& table = *tables->Get(i);
    if (!BuffersOf(i).is_here()) continue;
    if (!owns_variables) {
      memory.variables[i] = sharing->variables[i];
      continue;
    }
    ShareOf(table.device())
        .Need("variable " + table.name()->str(), table.bytes(), &SessionMemory::variables,
              &memory.variables[i], /*is_shared=*/true);
  }
  const auto* const constants = plan.table().constants();
  size_t staging = 0;
  for (const Entry& entry : functions) {
    staging = std::max(staging, entry.function->inputs().StagingBytes());
    memory.outputs_bytes = std::max(memory.outputs_bytes, entry.function->outputs().HostBytes());
    memory.exchange_bytes = std::max(memory.exchange_bytes, entry.function->ExchangeBytes());
  }
  for (uint32_t d = 0; d < memory.devices.size(); ++d) {
    DeviceBuffers& places = memory.devices[d];
    if (!places.is_here()) continue;
    size_t inputs = 0, library = 0, copied = 0;
    for (const Entry& entry : functions) {
      const LoadedFunction& function = *entry.function;
      places.arena_bytes =
          std::max(places.arena_bytes, static_cast<size_t>(function.info().device_arena_bytes[d]));
      inputs = std::max(inputs, function.inputs().DeviceBytes(d));
      library = std::max(library, function.LibraryWorkspaceBytes(d));
    }
    if (owns_variables && !places.is_host && constants != nullptr && ReadsConstants(plan.table(), d)) {
      copied = constants->size();
    }
    MemoryReservation& share = ShareOf(d);
    share.Need("arena", places.arena_bytes, &SessionMemory::arena, &places.arena);
    share.Need("copies of inputs", inputs, &SessionMemory::input_copies, &places.inputs);
    share.Need("input_staging of inputs", places.runtime->uses_input_staging() ? inputs : 0,
               &SessionMemory::input_copies, &places.input_staging);
    share.Need("copy of constants", copied, &SessionMemory::constant_copies, &places.constants,
               /*is_shared=*/true);
    share.Need("thread scratch", places.runtime->ScratchBytes(), &SessionMemory::thread_scratch,
               &places.scratch);
    share.Need("library workspace", library, &SessionMemory::library_workspace, &places.library_workspace);
  }
  MainMemory().Need("input staging", staging, &SessionMemory::input_staging, &memory.staging);
  MainMemory().Need("output copies", memory.outputs_bytes, &SessionMemory::output_copies, &memory.outputs);
  MainMemory().Need("copies between back ends", memory.exchange_bytes, &SessionMemory::exchange_staging,
                    &memory.exchange);
}

absl::Status SessionState::Allocate() {
  const LoadTimes::Scope time = load_times.Time("memory");
  ListPieces();
  SINTER_RETURN_IF_ERROR(CheckRoom(shares));
  for (MemoryReservation& share : shares) SINTER_RETURN_IF_ERROR(share.Take(*sharing));
  memory.large_staging = [this](size_t number, size_t bytes) { return LargeStaging(number, bytes); };
  memory.written.emplace_back(memory.outputs, memory.outputs_bytes);
  for (const DeviceBuffers& places : memory.devices) {
    if (places.is_here() && places.is_host) {
      memory.written.emplace_back(places.arena, places.arena_bytes);
    }
  }
  for (uint32_t d = 0; d < memory.devices.size(); ++d) {
    const DeviceBuffers& places = memory.devices[d];
    if (!places.is_here() || !places.runtime->uses_input_staging()) continue;
    size_t inputs = 0;
    for (const Entry& entry : functions) inputs = std::max(inputs, entry.function->inputs().DeviceBytes(d));
    // UploadInputs copies the input_staging buffer in one piece, gaps between inputs included: initialize the
    // gaps.
    SINTER_RETURN_IF_ERROR(places.runtime->Fill(places.input_staging, 0, inputs));
    // Uploads of inputs are not ordered after other work: the fill must finish before the first input
    // arrives.
    SINTER_RETURN_IF_ERROR(places.runtime->Synchronize());
  }
  for (uint32_t i = 0; i < memory.variables.size(); ++i) {
    if (!BuffersOf(i).is_here() || !BuffersOf(i).is_host) continue;
    memory.written.emplace_back(memory.variables[i], plan.table().variables()->Get(i)->bytes());
  }
  return absl::OkStatus();
}

// All functions share the buffers, because only one runs at a time. A buffer that is too small is kept: the
// last run may still read it.
absl::StatusOr<std::byte*> SessionState::LargeStaging(size_t number, size_t bytes) {
  if (number >= large_staging.size()) large_staging.resize(number + 1);
  std::span<std::byte>& place = large_staging[number];
  if (place.size() < bytes) {
    SINTER_ASSIGN_OR_RETURN(
        std::byte* const data,
        MainMemory().TakeMore("input staging", bytes, &SessionMemory::input_staging,
                              "give inputs that start at a multiple of 64 bytes, which are "
                              "read where they are"));
    place = {data, bytes};
  }
  return place.data();
}

absl::Status SessionState::PlaceConstants() {
  if (!owns_variables) {
    for (uint32_t d = 0; d < memory.devices.size(); ++d) memory.devices[d].constants = sharing->constants[d];
    return absl::OkStatus();
  }
  const auto* const constants = plan.table().constants();
  const size_t bytes = constants == nullptr ? 0 : constants->size();
  const LoadTimes::Scope time = load_times.Time("constants");
  MainMemory().report().constants = static_cast<int64_t>(bytes);
  for (uint32_t d = 0; d < memory.devices.size() && bytes > 0; ++d) {
    DeviceBuffers& places = memory.devices[d];
    if (!places.is_here()) continue;
    // The const_cast is safe: the verifier has checked that no step writes constants.
    auto* const data = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(constants->data()));
    if (places.is_host) {
      places.constants = data;
    } else if (ShareOf(d).report().constant_copies > 0) {
      SINTER_RETURN_IF_ERROR(places.runtime->Upload(places.constants, data, bytes));
    }
  }
  for (const DeviceBuffers& places : memory.devices) sharing->constants.push_back(places.constants);
  sharing->variables = memory.variables;
  return absl::OkStatus();
}

const MemoryReservation* SessionState::FindShare(Device device) const {
  const auto found = std::ranges::find(shares, device, &MemoryReservation::device);
  return found == shares.end() ? nullptr : &*found;
}

absl::StatusOr<Session> SessionState::MakeSession(Plan plan, const SessionOptions& options,
                                                  const DeviceRuntimeFactory& make) {
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<SessionState> state, Load(std::move(plan), options, make));
  return Session(std::move(state));
}

absl::StatusOr<SessionState::Entry*> SessionState::Find(std::string_view name) {
  for (Entry& entry : functions) {
    if (entry.function->info().name == name) return &entry;
  }
  return plan.Function(name).status();
}

}  // namespace sinter::internal_session
