#include "sinter/runtime/session/session_devices.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/load_times.h"
#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/memory/process_allocator.h"
#include "sinter/runtime/plan/all_steps.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/step_kind.h"

namespace sinter::internal_session {
namespace {

// Spacing of the threads' scratch: two cache lines, because some CPUs prefetch pairs.
constexpr size_t kScratchAlignment = 128;

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

// Returns the largest scratch of a thread that a kernel needs.
size_t ScratchStride(const fb::Plan& plan) {
  size_t bytes = 0;
  ForEachStep(plan, [&](const fb::Step& step) {
    const fb::KernelStep* const kernel = step.body_as_KernelStep();
    if (kernel != nullptr) bytes = std::max<size_t>(bytes, kernel->scratch_bytes());
  });
  return RoundUp(bytes, kScratchAlignment);
}

// Returns the bytes of the copies of inputs on a device.
size_t InputBytes(LoadedFunctions functions, uint32_t device) {
  size_t bytes = 0;
  for (LoadedFunction* const function : functions) {
    bytes = std::max(bytes, function->inputs().DeviceBytes(device));
  }
  return bytes;
}

}  // namespace

std::vector<Device> SessionDevices::LocalNames() const {
  std::vector<Device> names;
  for (uint32_t d = 0; d < buffers_.local.count; ++d) {
    names.push_back(buffers_.local.NameOf(plan_, buffers_.local.first + d));
  }
  return names;
}

absl::Status SessionDevices::Open(const DeviceRuntimeFactory& make, const SessionOptions& options,
                                  StepContext context) {
  const std::vector<Device> names = LocalNames();
  SINTER_ASSIGN_OR_RETURN(const std::vector<CachingAllocator*> given, GivenAllocators(options, names));
  context.scratch_stride = ScratchStride(plan_);
  buffers_.devices.resize(NumDevices(plan_));
  for (uint32_t d = 0; d < buffers_.local.count; ++d) {
    SINTER_RETURN_IF_ERROR(
        OpenDevice(make, buffers_.local.first + d, FindAllocator(given, names[d]), options, context));
  }
  if (std::ranges::any_of(runtimes_, [](const auto& runtime) { return runtime->is_host_memory(); })) {
    return absl::OkStatus();
  }
  CachingAllocator* main_memory = FindAllocator(given, Device::Cpu());
  if (main_memory == nullptr) {
    SINTER_ASSIGN_OR_RETURN(main_memory, ProcessAllocator());
  }
  SINTER_ASSIGN_OR_RETURN(MemoryReservation reservation,
                          MemoryReservation::Make(*main_memory, options.memory_limit));
  reservations_.push_back(std::move(reservation));
  return absl::OkStatus();
}

absl::Status SessionDevices::OpenDevice(const DeviceRuntimeFactory& make, uint32_t device,
                                        CachingAllocator* allocator, const SessionOptions& options,
                                        const StepContext& context) {
  const LoadTimes::Scope time = LoadTimes::Time(context.load_times, "reach the devices");
  absl::StatusOr<std::unique_ptr<DeviceRuntime>> made =
      make(buffers_.local.NameOf(plan_, device), allocator, context);
  if (!made.ok()) {
    const absl::Status missing = LastMissing(make, buffers_.local.NameOf(plan_, device), context);
    const absl::Status& status = missing.ok() ? made.status() : missing;
    return absl::Status(status.code(), absl::StrCat("cannot run the plan: ", status.message()));
  }
  SINTER_ASSIGN_OR_RETURN(MemoryReservation reservation,
                          MemoryReservation::Make((*made)->allocator(), options.memory_limit));
  reservations_.push_back(std::move(reservation));
  buffers_.devices[device].runtime = made->get();
  buffers_.devices[device].is_host = (*made)->is_host_memory();
  runtimes_.push_back(*std::move(made));
  return absl::OkStatus();
}

absl::Status SessionDevices::LastMissing(const DeviceRuntimeFactory& make, Device device,
                                         const StepContext& context) const {
  Device last = device;
  for (const Device name : LocalNames()) {
    if (name.kind() == last.kind() && name.index() > last.index()) last = name;
  }
  return last == device ? absl::OkStatus() : make(last, nullptr, context).status();
}

void SessionDevices::Prepare() {
  for (uint32_t d = 0; d < buffers_.devices.size(); ++d) {
    if (buffers_.devices[d].is_here()) buffers_.devices[d].runtime->Prepare(plan_, d);
  }
}

absl::Status SessionDevices::Connect() {
  // By back end: its devices outside main memory, at their positions in the plan.
  std::vector<std::vector<DeviceRuntime*>> backends;
  for (uint32_t d = 0; d < buffers_.devices.size(); ++d) {
    const DeviceBuffers& buffers = buffers_.devices[d];
    if (!buffers.is_here() || buffers.is_host) continue;
    auto peers = std::ranges::find_if(backends, [&](const std::vector<DeviceRuntime*>& others) {
      return &FirstOf(others)->backend() == &buffers.runtime->backend();
    });
    if (peers == backends.end()) peers = backends.emplace(peers, buffers_.devices.size());
    (*peers)[d] = buffers.runtime;
  }
  bool has_collectives = false;
  ForEachStep(plan_, [&](const fb::Step& step) {
    has_collectives = has_collectives || StepKindOf(step).is_exchange;
  });
  if (backends.empty() || !has_collectives) return absl::OkStatus();
  const LoadTimes::Scope time = LoadTimes::Time(buffers_.load_times, "connect the devices");
  for (const std::vector<DeviceRuntime*>& peers : backends) {
    SINTER_RETURN_IF_ERROR(FirstOf(peers)->Connect(plan_, peers, buffers_.local, buffers_.world));
  }
  return absl::OkStatus();
}

DeviceBuffers& SessionDevices::BuffersOf(uint32_t variable) {
  return buffers_.devices[plan_.variables()->Get(variable)->device()];
}

MemoryReservation& SessionDevices::MainMemory() {
  for (uint32_t d = 0; d < buffers_.devices.size(); ++d) {
    if (buffers_.devices[d].is_here() && buffers_.devices[d].is_host) return ReservationOf(d);
  }
  return reservations_.back();
}

void SessionDevices::ListVariables(const Sharing& sharing, bool owns_variables) {
  const auto* const tables = plan_.variables();
  buffers_.variables.resize(tables == nullptr ? 0 : tables->size());
  for (uint32_t i = 0; i < buffers_.variables.size(); ++i) {
    const fb::Variable& table = *tables->Get(i);
    if (!BuffersOf(i).is_here()) continue;
    if (!owns_variables) {
      buffers_.variables[i] = sharing.variables[i];
      continue;
    }
    ReservationOf(table.device())
        .Need("variable " + table.name()->str(), table.bytes(), &SessionMemory::variables,
              &buffers_.variables[i], /*is_shared=*/true);
  }
}

void SessionDevices::ListBuffers(LoadedFunctions functions, bool owns_variables) {
  const size_t rank_values = program_.rank_values().size_bytes();
  size_t staging = 0;
  for (LoadedFunction* const function : functions) {
    staging = std::max(staging, function->inputs().StagingBytes());
    buffers_.outputs_bytes = std::max(buffers_.outputs_bytes, function->outputs().HostBytes());
    buffers_.exchange_bytes = std::max(buffers_.exchange_bytes, function->ExchangeBytes());
  }
  for (uint32_t d = 0; d < buffers_.devices.size(); ++d) {
    DeviceBuffers& buffers = buffers_.devices[d];
    if (!buffers.is_here()) continue;
    size_t library = 0, exchanges = 0, copied = 0;
    for (LoadedFunction* const function : functions) {
      buffers.arena_bytes =
          std::max(buffers.arena_bytes, static_cast<size_t>(function->info().device_arena_bytes[d]));
      library = std::max(library, function->LibraryWorkspaceBytes(d));
      exchanges = std::max(exchanges, function->ExchangeWorkspaceBytes(d));
    }
    if (owns_variables && !buffers.is_host && ReadsConstants(plan_, d)) copied = program_.constants().size();
    const size_t inputs = InputBytes(functions, d);
    MemoryReservation& reservation = ReservationOf(d);
    reservation.Need("arena", buffers.arena_bytes, &SessionMemory::arena, &buffers.arena);
    reservation.Need("copies of inputs", inputs, &SessionMemory::input_copies, &buffers.inputs);
    reservation.Need("staging of inputs", buffers.runtime->uses_input_staging() ? inputs : 0,
                     &SessionMemory::input_copies, &buffers.input_staging);
    reservation.Need("copy of constants", copied, &SessionMemory::constant_copies, &buffers.constants,
                     /*is_shared=*/true);
    reservation.Need("rank values", buffers.is_host ? 0 : rank_values, &SessionMemory::constant_copies,
                     &buffers.rank_values);
    reservation.Need("thread scratch", buffers.runtime->ScratchBytes(), &SessionMemory::thread_scratch,
                     &buffers.scratch);
    reservation.Need("library workspace", library, &SessionMemory::library_workspace,
                     &buffers.library_workspace);
    reservation.Need("exchange workspace", exchanges, &SessionMemory::exchange_workspace,
                     &buffers.exchange_workspace);
  }
  MainMemory().Need("input staging", staging, &SessionMemory::input_staging, &buffers_.staging);
  MainMemory().Need("output copies", buffers_.outputs_bytes, &SessionMemory::output_copies,
                    &buffers_.outputs);
  MainMemory().Need("copies between back ends", buffers_.exchange_bytes, &SessionMemory::exchange_staging,
                    &buffers_.exchange);
}

absl::Status SessionDevices::Allocate(LoadedFunctions functions, Sharing& sharing, bool owns_variables) {
  const LoadTimes::Scope time = LoadTimes::Time(buffers_.load_times, "memory");
  ListVariables(sharing, owns_variables);
  ListBuffers(functions, owns_variables);
  SINTER_RETURN_IF_ERROR(CheckRoom(reservations_));
  for (MemoryReservation& reservation : reservations_) SINTER_RETURN_IF_ERROR(reservation.Take(sharing));
  buffers_.large_staging = [this](size_t number, size_t bytes) { return LargeStaging(number, bytes); };
  buffers_.written.emplace_back(buffers_.outputs, buffers_.outputs_bytes);
  for (const DeviceBuffers& buffers : buffers_.devices) {
    if (buffers.is_here() && buffers.is_host) {
      buffers_.written.emplace_back(buffers.arena, buffers.arena_bytes);
    }
  }
  SINTER_RETURN_IF_ERROR(ClearInputStaging(functions));
  for (uint32_t i = 0; i < buffers_.variables.size(); ++i) {
    if (!BuffersOf(i).is_here() || !BuffersOf(i).is_host) continue;
    buffers_.written.emplace_back(buffers_.variables[i], plan_.variables()->Get(i)->bytes());
  }
  return absl::OkStatus();
}

// UploadInputs copies the staging buffer in one piece, gaps between inputs included, so the gaps are
// initialised.
absl::Status SessionDevices::ClearInputStaging(LoadedFunctions functions) {
  for (uint32_t d = 0; d < buffers_.devices.size(); ++d) {
    const DeviceBuffers& buffers = buffers_.devices[d];
    if (!buffers.is_here() || !buffers.runtime->uses_input_staging()) continue;
    SINTER_RETURN_IF_ERROR(buffers.runtime->Fill(buffers.input_staging, 0, InputBytes(functions, d)));
    // Uploads of inputs are not ordered after other work: the fill must finish before the first input
    // arrives.
    SINTER_RETURN_IF_ERROR(buffers.runtime->Synchronize());
  }
  return absl::OkStatus();
}

// All functions share the buffers, because only one runs at a time. A buffer that is too small is kept: the
// last run may still read it.
absl::StatusOr<std::byte*> SessionDevices::LargeStaging(size_t number, size_t bytes) {
  if (number >= large_staging_.size()) large_staging_.resize(number + 1);
  std::span<std::byte>& buffer = large_staging_[number];
  if (buffer.size() < bytes) {
    SINTER_ASSIGN_OR_RETURN(
        std::byte* const data,
        MainMemory().TakeMore("input staging", bytes, &SessionMemory::input_staging,
                              "give inputs that start at a multiple of 64 bytes, which are "
                              "read where they are"));
    buffer = {data, bytes};
  }
  return buffer.data();
}

absl::Status SessionDevices::PlaceRankValues() {
  const std::span<const int64_t> values = program_.rank_values();
  for (DeviceBuffers& buffers : buffers_.devices) {
    if (!buffers.is_here() || values.empty()) continue;
    if (buffers.is_host) {
      // The const_cast is safe: the verifier has checked that no step writes rank values.
      buffers.rank_values = reinterpret_cast<std::byte*>(const_cast<int64_t*>(values.data()));
    } else {
      SINTER_RETURN_IF_ERROR(
          buffers.runtime->Upload(buffers.rank_values, values.data(), values.size_bytes()));
    }
  }
  return absl::OkStatus();
}

absl::Status SessionDevices::PlaceConstants(Sharing& sharing, bool owns_variables) {
  SINTER_RETURN_IF_ERROR(PlaceRankValues());
  if (!owns_variables) {
    for (uint32_t d = 0; d < buffers_.devices.size(); ++d) {
      buffers_.devices[d].constants = sharing.constants[d];
    }
    return absl::OkStatus();
  }
  const std::span<const std::byte> constants = program_.constants();
  const LoadTimes::Scope time = LoadTimes::Time(buffers_.load_times, "constants");
  MainMemory().report().constants = static_cast<int64_t>(constants.size());
  for (uint32_t d = 0; d < buffers_.devices.size() && !constants.empty(); ++d) {
    DeviceBuffers& buffers = buffers_.devices[d];
    if (!buffers.is_here()) continue;
    // The const_cast is safe: the verifier has checked that no step writes constants.
    auto* const data = const_cast<std::byte*>(constants.data());
    if (buffers.is_host) {
      buffers.constants = data;
    } else if (ReadsConstants(plan_, d)) {
      SINTER_RETURN_IF_ERROR(buffers.runtime->Upload(buffers.constants, data, constants.size()));
    }
  }
  for (const DeviceBuffers& buffers : buffers_.devices) sharing.constants.push_back(buffers.constants);
  sharing.variables = buffers_.variables;
  return absl::OkStatus();
}

absl::Status SessionDevices::Synchronize() {
  absl::Status status;
  for (const std::unique_ptr<DeviceRuntime>& runtime : runtimes_) status.Update(runtime->Synchronize());
  return status;
}

bool SessionDevices::MayStillWork() const {
  return std::ranges::any_of(runtimes_, [](const auto& runtime) { return runtime->MayStillWork(); });
}

void SessionDevices::Abandon() {
  for (MemoryReservation& reservation : reservations_) reservation.Abandon();
}

const MemoryReservation* SessionDevices::Find(Device device) const {
  const auto found = std::ranges::find(reservations_, device, &MemoryReservation::device);
  return found == reservations_.end() ? nullptr : &*found;
}

}  // namespace sinter::internal_session
