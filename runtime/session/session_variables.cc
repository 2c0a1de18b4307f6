#include "sinter/runtime/session/session_variables.h"

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
SessionVariables::SessionVariables(const fb::Plan& plan, SessionBuffers* buffers, const ThreadPool& pool)
    : plan_(plan), buffers_(*buffers), pool_(pool) {
  const auto* const tables = plan_.variables();
  const uint32_t count = tables == nullptr ? 0 : tables->size();
  std::vector<size_t> listed(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (tables->Get(i)->replica_of() != 0) continue;
    listed[i] = infos_.size();
    infos_.push_back(DescribeVariable(plan_, *tables->Get(i)));
    copies_.emplace_back();
  }
  for (uint32_t i = 0; i < count; ++i) {
    const fb::Variable& table = *tables->Get(i);
    if (!buffers_.local.Has(table.device())) continue;
    const size_t variable = listed[table.replica_of() == 0 ? i : table.replica_of() - 1];
    copies_[variable].push_back(i);
  }
  for (size_t v = 0; v < infos_.size(); ++v) {
    if (copies_[v].empty()) continue;
    std::ranges::stable_partition(copies_[v], [&](uint32_t copy) { return TypeOf(copy) == infos_[v].dtype; });
    infos_[v].device = buffers_.local.NameOf(plan_, tables->Get(copies_[v].front())->device());
  }
}

DType SessionVariables::TypeOf(uint32_t copy) const {
  return static_cast<DType>(plan_.variables()->Get(copy)->type()->dtype());
}

const DeviceBuffers& SessionVariables::BuffersOf(uint32_t copy) const {
  return buffers_.devices[plan_.variables()->Get(copy)->device()];
}

absl::StatusOr<uint32_t> SessionVariables::FirstCopy(size_t variable) const {
  if (!copies_[variable].empty()) return copies_[variable].front();
  // No local copy: find the rank that runs the original's device.
  for (const fb::Variable* table : *plan_.variables()) {
    if (infos_[variable].name != table->name()->c_str()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "variable \"", infos_[variable].name, "\" is on ", DeviceOf(plan_, table->device()).ToString(),
        " of the plan, which rank ", buffers_.local.RankOf(table->device()),
        " runs and this process does not: use it there"));
  }
  return absl::InternalError("a variable without a table");
}

absl::Status SessionVariables::Write(size_t variable, const void* data) {
  SINTER_RETURN_IF_ERROR(WriteAt(variable, 0, data, static_cast<size_t>(infos_[variable].bytes)));
  for (const uint32_t copy : copies_[variable]) buffers_.in_doubt.Remove(copy);
  return absl::OkStatus();
}

absl::StatusOr<HostTensor> SessionVariables::View(size_t index) const {
  const VariableInfo& info = infos_[index];
  SINTER_ASSIGN_OR_RETURN(const uint32_t first, FirstCopy(index));
  for (const uint32_t copy : copies_[index]) SINTER_RETURN_IF_ERROR(buffers_.in_doubt.Check(copy));
  const std::byte* const data = buffers_.variables[first];
  const DeviceBuffers& buffers = BuffersOf(first);
  if (buffers.is_host) return HostTensor::View(info.dtype, info.shape, data);
  SINTER_ASSIGN_OR_RETURN(HostTensor copy, HostTensor::Empty(info.dtype, info.shape));
  if (info.bytes == 0) return copy;
  SINTER_RETURN_IF_ERROR(
      buffers.runtime->Download(copy.mutable_data(), data, static_cast<size_t>(info.bytes)));
  return copy;
}

absl::Status SessionVariables::WriteAt(size_t variable, size_t offset, const void* data, size_t bytes) {
  if (bytes == 0) return absl::OkStatus();
  for (const uint32_t copy : copies_[variable]) {
    if (TypeOf(copy) != infos_[variable].dtype) {
      SINTER_RETURN_IF_ERROR(WriteRounded(copy, offset, data, bytes));
      continue;
    }
    const DeviceBuffers& buffers = BuffersOf(copy);
    std::byte* const to = buffers_.variables[copy] + offset;
    if (buffers.is_host) {
      std::memmove(to, data, bytes);
    } else {
      SINTER_RETURN_IF_ERROR(buffers.runtime->Upload(to, data, bytes));
    }
  }
  return absl::OkStatus();
}

// `offset` and `bytes` are in bytes of the f32 variable, before rounding.
absl::Status SessionVariables::WriteRounded(uint32_t copy, size_t offset, const void* data, size_t bytes) {
  constexpr int64_t kWide = sizeof(float);
  const DType dtype = TypeOf(copy);
  const int64_t low = SizeOf(dtype), elements = static_cast<int64_t>(bytes) / kWide;
  const auto* const from = static_cast<const std::byte*>(data);
  std::byte* const to = buffers_.variables[copy] + static_cast<int64_t>(offset) / kWide * low;
  const auto round = [&](int64_t begin, int64_t count, std::byte* rounded) {
    auto* const round_to = dtype == DType::kBf16 ? &RoundTo<BFloat16> : &RoundTo<Float16>;
    round_to(from + begin * kWide, count, rounded, pool_);
  };
  const DeviceBuffers& buffers = BuffersOf(copy);
  if (buffers.is_host) {
    round(0, elements, to);
    return absl::OkStatus();
  }
  const int64_t most = std::min(elements, kPieceBytes / kWide);
  SINTER_ASSIGN_OR_RETURN(HostTensor piece, HostTensor::Empty(dtype, {most}));
  for (int64_t begin = 0; begin < elements; begin += most) {
    const int64_t count = std::min(most, elements - begin);
    round(begin, count, static_cast<std::byte*>(piece.mutable_data()));
    SINTER_RETURN_IF_ERROR(
        buffers.runtime->Upload(to + begin * low, piece.data(), static_cast<size_t>(count * low)));
  }
  return absl::OkStatus();
}

// Fills all copies with Fill if each copy's bytes are all equal; otherwise returns false.
absl::StatusOr<bool> SessionVariables::FillCopies(size_t index, const InitialValues& values) {
  for (const uint32_t copy : copies_[index]) {
    if (!RepeatedByte(values, TypeOf(copy)).has_value()) return false;
  }
  for (const uint32_t copy : copies_[index]) {
    const auto bytes = static_cast<size_t>(plan_.variables()->Get(copy)->bytes());
    SINTER_RETURN_IF_ERROR(
        BuffersOf(copy).runtime->Fill(buffers_.variables[copy], *RepeatedByte(values, TypeOf(copy)), bytes));
  }
  return true;
}

InitialValues SessionVariables::InitialValuesOf(size_t index) const {
  const auto* const tables = plan_.variables();
  const fb::Variable* table = tables->Get(copies_[index].front());
  if (table->replica_of() != 0) table = tables->Get(table->replica_of() - 1);
  const fb::Initializer& init = *table->initializer();
  return {.kind = static_cast<InitialValues::Kind>(init.kind()),
          .a = init.a(),
          .b = init.b(),
          .seed = init.seed()};
}

void SessionVariables::StartInitialValues() {
  prefetch_ = std::make_unique<InitialValuePrefetch>();
  for (size_t i = 0; i < infos_.size(); ++i) {
    if (copies_[i].empty() || infos_[i].device.is_host()) continue;
    prefetch_->Add(i, InitialValuesOf(i), infos_[i].dtype, infos_[i].bytes / SizeOf(infos_[i].dtype));
  }
  prefetch_->Start(pool_);
}

// Values are always computed on the CPU, so they have the same bits on every device.
absl::Status SessionVariables::InitializeVariable(size_t index, InitialValuePrefetch* prefetched) {
  if (copies_[index].empty()) return absl::OkStatus();
  const VariableInfo& variable = infos_[index];
  const uint32_t first = copies_[index].front();
  const InitialValues values = InitialValuesOf(index);
  if (BuffersOf(first).is_host) {
    std::byte* const data = buffers_.variables[first];
    SINTER_RETURN_IF_ERROR(FillInitialValues(values, variable.dtype, variable.shape, data, pool_));
    return copies_[index].size() == 1 ? absl::OkStatus() : Write(index, data);
  }
  return InitializeOnDevices(index, values, prefetched);
}

absl::Status SessionVariables::InitializeOnDevices(size_t index, const InitialValues& values,
                                                   InitialValuePrefetch* prefetched) {
  const VariableInfo& variable = infos_[index];
  // Fill avoids an upload, mostly for zeros in an optimizer's state.
  SINTER_ASSIGN_OR_RETURN(const bool is_filled, FillCopies(index, values));
  if (is_filled) return absl::OkStatus();
  const std::byte* const ready = prefetched == nullptr ? nullptr : prefetched->Find(index);
  if (ready != nullptr) return Write(index, ready);
  if (!IsByElement(values)) {
    SINTER_ASSIGN_OR_RETURN(HostTensor host, HostTensor::Empty(variable.dtype, variable.shape));
    SINTER_RETURN_IF_ERROR(
        FillInitialValues(values, variable.dtype, variable.shape, host.mutable_data(), pool_));
    return Write(index, host.data());
  }
  const int64_t size = SizeOf(variable.dtype), elements = variable.bytes / size;
  const int64_t most = std::min(elements, kPieceBytes / size);
  SINTER_ASSIGN_OR_RETURN(HostTensor piece, HostTensor::Empty(variable.dtype, {most}));
  for (int64_t begin = 0; begin < elements; begin += most) {
    const int64_t count = std::min(most, elements - begin);
    SINTER_RETURN_IF_ERROR(
        FillInitialElements(values, variable.dtype, begin, count, piece.mutable_data(), pool_));
    SINTER_RETURN_IF_ERROR(
        WriteAt(index, static_cast<size_t>(begin * size), piece.data(), static_cast<size_t>(count * size)));
  }
  return absl::OkStatus();
}

absl::Status SessionVariables::Initialize() {
  log_numbers_.clear();
  const std::unique_ptr<InitialValuePrefetch> prefetched = std::move(prefetch_);
  for (size_t i = 0; i < infos_.size(); ++i) {
    absl::Status status = InitializeVariable(i, prefetched.get());
    if (status.ok()) continue;
    return absl::Status(status.code(), absl::StrCat("variable \"", infos_[i].name, "\": ", status.message()));
  }
  return absl::OkStatus();
}

absl::StatusOr<size_t> SessionVariables::Find(std::string_view name) const {
  for (size_t i = 0; i < infos_.size(); ++i) {
    if (infos_[i].name == name) return i;
  }
  std::vector<std::pair<size_t, std::string>> near;
  for (const VariableInfo& variable : infos_)
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

absl::StatusOr<LogValues> SessionVariables::TakeLog(std::string_view name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < infos_.size(); ++i) {
    const std::string_view variable = infos_[i].name;
    if (!variable.starts_with(kLogPrefix)) continue;
    const std::string_view log = variable.substr(kLogPrefix.size());
    names.emplace_back(log);
    if (log != name) continue;
    SINTER_ASSIGN_OR_RETURN(const HostTensor ring, View(i));
    return TakeLogValues(ring, log_numbers_[i]);
  }
  return absl::NotFoundError(absl::StrCat("no function logs \"", std::string(name), "\"; ",
                                          names.empty() ? "the plan has no logs" : "the logs are ",
                                          absl::StrJoin(names, ", ")));
}

}  // namespace sinter::internal_session
