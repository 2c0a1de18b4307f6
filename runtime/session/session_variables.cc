// The part of session_state.h that handles variables.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/half.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/session/session_state.h"
#include "sinter/runtime/tensor/initializer.h"

namespace sinter::internal_session {
namespace {

// Bytes computed at a time for a variable on a GPU: enough for many threads, and small enough for their
// caches.
constexpr int64_t kPieceBytes = int64_t{4} << 20;

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

// Smallest number of elements worth a thread when rounding.
constexpr int64_t kRoundGrain = 16384;

// Rounds floats at any address.
template <typename Half>
void RoundTo(const std::byte* from, int64_t count, std::byte* to, const ThreadPool& pool) {
  pool.ParallelFor(count, kRoundGrain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      float value;
      std::memcpy(&value, from + i * int64_t{sizeof(float)}, sizeof(float));
      const Half half = Half::FromFloat(value);
      std::memcpy(to + i * int64_t{sizeof(Half)}, &half, sizeof(Half));
    }
  });
}

}  // namespace

// Lists each variable once. Of its replicas the program sees the full-precision one on the first local
// device. The verifier guarantees a full-precision copy on every device that has a low-precision one.
void SessionState::ListVariables() {
  const auto* const tables = plan.table().variables();
  const uint32_t count = tables == nullptr ? 0 : tables->size();
  std::vector<size_t> listed(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (tables->Get(i)->replica_of() != 0) continue;
    listed[i] = variables.size();
    variables.push_back(DescribeVariable(plan.table(), *tables->Get(i)));
    copies.emplace_back();
  }
  for (uint32_t i = 0; i < count; ++i) {
    const fb::Variable& table = *tables->Get(i);
    if (!memory.local.Has(table.device())) continue;
    const size_t variable = listed[table.replica_of() == 0 ? i : table.replica_of() - 1];
    copies[variable].push_back(i);
  }
  for (size_t v = 0; v < variables.size(); ++v) {
    if (copies[v].empty()) continue;
    std::ranges::stable_partition(copies[v],
                                  [&](uint32_t copy) { return TypeOf(copy) == variables[v].dtype; });
    variables[v].device = memory.local.NameOf(plan.table(), tables->Get(copies[v].front())->device());
  }
}

DType SessionState::TypeOf(uint32_t plan_variable) const {
  return static_cast<DType>(plan.table().variables()->Get(plan_variable)->type()->dtype());
}

const DeviceBuffers& SessionState::BuffersOf(uint32_t plan_variable) const {
  return memory.devices[plan.table().variables()->Get(plan_variable)->device()];
}

absl::StatusOr<uint32_t> SessionState::FirstCopy(size_t variable) const {
  if (!copies[variable].empty()) return copies[variable].front();
  // No local copy: find the rank that runs the original's device.
  for (const fb::Variable* table : *plan.table().variables()) {
    if (variables[variable].name != table->name()->c_str()) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("variable \"", variables[variable].name, "\" is on ",
                     DeviceOf(plan.table(), table->device()).ToString(), " of the plan, which rank ",
                     memory.local.RankOf(table->device()), " runs and this process does not: use it there"));
  }
  return absl::InternalError("a variable without a table");
}

absl::Status SessionState::WriteCopies(size_t variable, const void* data) {
  SINTER_RETURN_IF_ERROR(WriteCopies(variable, 0, data, static_cast<size_t>(variables[variable].bytes)));
  for (const uint32_t copy : copies[variable]) memory.in_doubt.Remove(copy);
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> SessionState::ViewVariable(size_t index) const {
  const VariableInfo& info = variables[index];
  SINTER_ASSIGN_OR_RETURN(const uint32_t first, FirstCopy(index));
  for (const uint32_t copy : copies[index]) SINTER_RETURN_IF_ERROR(memory.in_doubt.Check(copy));
  const std::byte* const data = memory.variables[first];
  const DeviceBuffers& places = BuffersOf(first);
  if (places.is_host) return HostTensor::View(info.dtype, info.shape, data);
  SINTER_ASSIGN_OR_RETURN(HostTensor copy, HostTensor::Empty(info.dtype, info.shape));
  if (info.bytes == 0) return copy;
  SINTER_RETURN_IF_ERROR(
      places.runtime->Download(copy.mutable_data(), data, static_cast<size_t>(info.bytes)));
  return copy;
}

absl::Status SessionState::WriteCopies(size_t variable, size_t offset, const void* data, size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  for (const uint32_t copy : copies[variable]) {
    if (TypeOf(copy) != variables[variable].dtype) {
      SINTER_RETURN_IF_ERROR(WriteLowPrecisionCopy(copy, offset, data, bytes));
      continue;
    }
    const DeviceBuffers& places = BuffersOf(copy);
    std::byte* const to = memory.variables[copy] + offset;
    if (places.is_host) {
      std::memmove(to, data, bytes);
    } else {
      SINTER_RETURN_IF_ERROR(places.runtime->Upload(to, data, bytes));
    }
  }
  return absl::OkStatus();
}

// `offset` and `bytes` are in bytes of the f32 variable, before rounding.
absl::Status SessionState::WriteLowPrecisionCopy(uint32_t plan_variable, size_t offset, const void* data,
                                                 size_t bytes) {
  constexpr int64_t kWide = sizeof(float);
  const DType dtype = TypeOf(plan_variable);
  const int64_t narrow = SizeOf(dtype), elements = static_cast<int64_t>(bytes) / kWide;
  const auto* const from = static_cast<const std::byte*>(data);
  std::byte* const to = memory.variables[plan_variable] + static_cast<int64_t>(offset) / kWide * narrow;
  const auto round = [&](int64_t begin, int64_t count, std::byte* rounded) {
    auto* const round_to = dtype == DType::kBf16 ? &RoundTo<BFloat16> : &RoundTo<Float16>;
    round_to(from + begin * kWide, count, rounded, *pool);
  };
  const DeviceBuffers& places = BuffersOf(plan_variable);
  if (places.is_host) {
    round(0, elements, to);
    return absl::OkStatus();
  }
  const int64_t most = std::min(elements, kPieceBytes / kWide);
  SINTER_ASSIGN_OR_RETURN(HostTensor piece, HostTensor::Empty(dtype, {most}));
  for (int64_t begin = 0; begin < elements; begin += most) {
    const int64_t count = std::min(most, elements - begin);
    round(begin, count, static_cast<std::byte*>(piece.mutable_data()));
    SINTER_RETURN_IF_ERROR(
        places.runtime->Upload(to + begin * narrow, piece.data(), static_cast<size_t>(count * narrow)));
  }
  return absl::OkStatus();
}

// Fills all copies with Fill if each copy's bytes are all equal; otherwise returns false.
absl::StatusOr<bool> SessionState::FillCopies(size_t index, const InitialValues& values) {
  for (const uint32_t copy : copies[index]) {
    if (!RepeatedByte(values, TypeOf(copy)).has_value()) return false;
  }
  for (const uint32_t copy : copies[index]) {
    const auto bytes = static_cast<size_t>(plan.table().variables()->Get(copy)->bytes());
    SINTER_RETURN_IF_ERROR(
        BuffersOf(copy).runtime->Fill(memory.variables[copy], *RepeatedByte(values, TypeOf(copy)), bytes));
  }
  return true;
}

InitialValues SessionState::InitialValuesOf(size_t index) const {
  const auto* const tables = plan.table().variables();
  const fb::Variable* table = tables->Get(copies[index].front());
  if (table->replica_of() != 0) table = tables->Get(table->replica_of() - 1);
  const fb::Initializer& init = *table->initializer();
  return {.kind = static_cast<InitialValues::Kind>(init.kind()),
          .a = init.a(),
          .b = init.b(),
          .seed = init.seed()};
}

void SessionState::StartInitialValues() {
  initial_value_prefetch = std::make_unique<InitialValuePrefetch>();
  if (!owns_variables) return;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (copies[i].empty() || variables[i].device.is_host()) continue;
    initial_value_prefetch->Add(i, InitialValuesOf(i), variables[i].dtype,
                                variables[i].bytes / SizeOf(variables[i].dtype));
  }
  initial_value_prefetch->Start(*pool);
}

// Values are always computed on the CPU, so they have the same bits on every device.
absl::Status SessionState::InitializeVariable(size_t index) {
  if (copies[index].empty()) return absl::OkStatus();
  const VariableInfo& variable = variables[index];
  const uint32_t first = copies[index].front();
  const InitialValues values = InitialValuesOf(index);
  if (BuffersOf(first).is_host) {
    std::byte* const data = memory.variables[first];
    SINTER_RETURN_IF_ERROR(FillInitialValues(values, variable.dtype, variable.shape, data, *pool));
    return copies[index].size() == 1 ? absl::OkStatus() : WriteCopies(index, data);
  }
  return InitializeOnDevices(index, values);
}

absl::Status SessionState::InitializeOnDevices(size_t index, const InitialValues& values) {
  const VariableInfo& variable = variables[index];
  // Fill avoids an upload, mostly for zeros in an optimizer's state.
  SINTER_ASSIGN_OR_RETURN(const bool is_filled, FillCopies(index, values));
  if (is_filled) return absl::OkStatus();
  if (const std::byte* const ahead =
          initial_value_prefetch == nullptr ? nullptr : initial_value_prefetch->Find(index);
      ahead != nullptr) {
    return WriteCopies(index, ahead);
  }
  if (!IsByElement(values)) {
    SINTER_ASSIGN_OR_RETURN(HostTensor host, HostTensor::Empty(variable.dtype, variable.shape));
    SINTER_RETURN_IF_ERROR(
        FillInitialValues(values, variable.dtype, variable.shape, host.mutable_data(), *pool));
    return WriteCopies(index, host.data());
  }
  const int64_t size = SizeOf(variable.dtype), elements = variable.bytes / size;
  const int64_t most = std::min(elements, kPieceBytes / size);
  SINTER_ASSIGN_OR_RETURN(HostTensor piece, HostTensor::Empty(variable.dtype, {most}));
  for (int64_t begin = 0; begin < elements; begin += most) {
    const int64_t count = std::min(most, elements - begin);
    SINTER_RETURN_IF_ERROR(
        FillInitialElements(values, variable.dtype, begin, count, piece.mutable_data(), *pool));
    SINTER_RETURN_IF_ERROR(WriteCopies(index, static_cast<size_t>(begin * size), piece.data(),
                                       static_cast<size_t>(count * size)));
  }
  return absl::OkStatus();
}

absl::Status SessionState::InitializeVariables() {
  for (size_t i = 0; i < variables.size(); ++i) {
    absl::Status status = InitializeVariable(i);
    if (status.ok()) continue;
    return absl::Status(status.code(),
                        absl::StrCat("variable \"", variables[i].name, "\": ", status.message()));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> SessionState::FindVariable(std::string_view name) const {
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
