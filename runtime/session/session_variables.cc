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
#include "sinter/runtime/plan/mesh.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/plan/plan_verifier.h"
#include "sinter/runtime/session/variable_gather.h"
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

static_assert(static_cast<int>(InitialValues::Kind::kValues) ==
              static_cast<int>(fb::InitializerKind::Values));
InitialValues ValuesOf(const fb::Initializer& init) {
  return {.kind = static_cast<InitialValues::Kind>(init.kind()),
          .a = init.a(),
          .b = init.b(),
          .seed = init.seed(),
          .low = init.low(),
          .high = init.high(),
          .values = init.values() == nullptr ? nullptr : init.values()->data()};
}

}  // namespace

const SessionVariables::Part* FindPart(std::span<const SessionVariables::Part> parts, const TensorBox& box) {
  const auto found =
      std::ranges::find_if(parts, [&](const auto& part) { return part.box == box && part.term == 0; });
  return found == parts.end() ? nullptr : &*found;
}

// Lists each variable once. Of a part's copies the program sees the full-precision one on the first local
// device. The verifier guarantees a full-precision copy on every device that has a low-precision one.
SessionVariables::SessionVariables(const RankProgram& program, SessionBuffers* buffers,
                                   const ThreadPool& pool)
    : file_(program.file()), plan_(program.table()), buffers_(*buffers), pool_(pool) {
  const auto* const tables = plan_.variables();
  const uint32_t count = tables == nullptr ? 0 : tables->size();
  std::vector<size_t> listed(count);
  for (uint32_t i = 0; i < count; ++i) {
    if (tables->Get(i)->replica_of() != 0) continue;
    listed[i] = infos_.size();
    infos_.push_back(DescribeVariable(plan_, *tables->Get(i)));
    infos_.back().is_sum = SizeOrZero(file_.variables()->Get(i)->sum_axes()) > 0;
    originals_.push_back(i);
    parts_.emplace_back();
  }
  const RankMesh no_mesh(plan_), mesh(file_);
  for (uint32_t i = 0; i < count; ++i) {
    const fb::Variable& table = *tables->Get(i);
    if (!buffers_.local.Has(table.device())) continue;
    const size_t variable = listed[table.replica_of() == 0 ? i : table.replica_of() - 1];
    std::vector<Part>& parts = parts_[variable];
    const uint32_t rank = file_.mesh() == nullptr ? 0 : table.device() / NumDevices(file_);
    const uint32_t term = TermOf(mesh, *file_.variables()->Get(originals_[variable]), rank);
    TensorBox box = PartOf(no_mesh, table, 0);
    auto part = std::ranges::find_if(parts, [&](const Part& p) { return p.box == box && p.term == term; });
    if (part == parts.end()) {
      part = parts.insert(
          parts.end(),
          {.box = std::move(box), .term = term, .rank = rank, .number = num_parts_++, .copies = {}});
    }
    part->copies.push_back(i);
  }
  for (size_t v = 0; v < infos_.size(); ++v) {
    for (Part& part : parts_[v]) {
      std::ranges::stable_partition(part.copies,
                                    [&](uint32_t copy) { return TypeOf(copy) == infos_[v].dtype; });
    }
    if (parts_[v].empty()) continue;
    infos_[v].device = buffers_.local.NameOf(plan_, tables->Get(parts_[v][0].copies.front())->device());
  }
}

DType SessionVariables::TypeOf(uint32_t copy) const {
  return static_cast<DType>(plan_.variables()->Get(copy)->type()->dtype());
}

const DeviceBuffers& SessionVariables::BuffersOf(uint32_t copy) const {
  return buffers_.devices[plan_.variables()->Get(copy)->device()];
}

std::vector<RankedPart> SessionVariables::PartsOfAllRanks(size_t variable) const {
  return sinter::PartsOf(RankMesh(file_), *file_.variables()->Get(originals_[variable]));
}

std::vector<RankedPart> SessionVariables::PartsOfLocalRanks(size_t variable) const {
  const RankMesh mesh(file_);
  const fb::Variable& table = *file_.variables()->Get(originals_[variable]);
  const uint32_t cell = file_.mesh() == nullptr ? buffers_.local.count : NumDevices(file_);
  std::vector<RankedPart> parts;
  for (uint32_t device = 0; device < buffers_.local.count; device += cell) {
    const uint32_t rank = file_.mesh() == nullptr ? 0 : (buffers_.local.first + device) / cell;
    parts.push_back({PartOf(mesh, table, rank), rank, TermOf(mesh, table, rank)});
  }
  return parts;
}

int SessionVariables::ProcessOf(uint32_t rank) const {
  return buffers_.local.RankOf(rank * (file_.mesh() == nullptr ? 1 : NumDevices(file_)));
}

absl::Status SessionVariables::CheckReadable(size_t variable) const {
  for (const Part& part : parts_[variable]) {
    for (const uint32_t copy : part.copies) SINTER_RETURN_IF_ERROR(buffers_.in_doubt.Check(copy));
  }
  if (!parts_[variable].empty()) return absl::OkStatus();
  // No local copy: find the rank that runs the original's device.
  const uint32_t device = plan_.variables()->Get(originals_[variable])->device();
  return absl::FailedPreconditionError(
      absl::StrCat("variable \"", infos_[variable].name, "\" is on ", DeviceOf(plan_, device).ToString(),
                   " of the plan, which rank ", buffers_.local.RankOf(device),
                   " runs and this process does not: use it there"));
}

absl::StatusOr<HostTensor> SessionVariables::ViewPart(const Part& part) const {
  const fb::Variable& table = *plan_.variables()->Get(part.copies.front());
  const auto* const dims = table.type()->shape();
  const std::vector<int64_t> shape =
      dims == nullptr ? std::vector<int64_t>() : std::vector<int64_t>(dims->begin(), dims->end());
  const DType dtype = TypeOf(part.copies.front());
  if (BuffersOf(part.copies.front()).is_host) {
    return HostTensor::View(dtype, shape, buffers_.variables[part.copies.front()]);
  }
  SINTER_ASSIGN_OR_RETURN(HostTensor copy, HostTensor::Empty(dtype, shape));
  SINTER_RETURN_IF_ERROR(ReadPart(part, 0, part.box.num_elements(), copy.mutable_data()));
  return copy;
}

absl::StatusOr<HostTensor> SessionVariables::View(size_t index) const {
  const VariableInfo& info = infos_[index];
  const bool is_shared_out = info.is_cut || info.is_sum;
  if (is_shared_out && buffers_.world != nullptr) {
    return GatherVariable(*this, index, *buffers_.world, buffers_.session);
  }
  SINTER_RETURN_IF_ERROR(CheckReadable(index));
  return is_shared_out ? Assemble(index) : ViewPart(parts_[index].front());
}

// All parts are here.
absl::StatusOr<HostTensor> SessionVariables::Assemble(size_t index) const {
  const VariableInfo& info = infos_[index];
  SINTER_ASSIGN_OR_RETURN(HostTensor whole, HostTensor::Empty(info.dtype, info.shape));
  for (const Part& part : parts_[index]) {
    SINTER_ASSIGN_OR_RETURN(const HostTensor own, ViewPart(part));
    const int64_t elements = part.box.num_elements();
    if (part.term > 0) {
      AddPart(part.box, 0, elements, own.data(), info.dtype, whole.mutable_data());
    } else {
      PutPart(part.box, 0, elements, own.data(), SizeOf(info.dtype), whole.mutable_data());
    }
  }
  return whole;
}

absl::Status SessionVariables::ReadPart(const Part& part, int64_t begin, int64_t count, void* to) const {
  const uint32_t copy = part.copies.front();
  const int64_t size = SizeOf(TypeOf(copy));
  const auto bytes = static_cast<size_t>(count * size);
  if (bytes == 0) return absl::OkStatus();
  const std::byte* const from = buffers_.variables[copy] + begin * size;
  const DeviceBuffers& buffers = BuffersOf(copy);
  if (!buffers.is_host) return buffers.runtime->Download(to, from, bytes);
  std::memcpy(to, from, bytes);
  return absl::OkStatus();
}

absl::Status SessionVariables::Write(size_t variable, const void* data) {
  const int64_t size = SizeOf(infos_[variable].dtype);
  for (const Part& part : parts_[variable]) {
    if (part.term > 0) {
      SINTER_RETURN_IF_ERROR(ZeroPart(part));
      continue;
    }
    const int64_t elements = part.box.num_elements(), most = std::min(elements, kPieceBytes / size);
    if (part.box.is_whole()) {
      SINTER_RETURN_IF_ERROR(WritePart(part, 0, elements, data));
      continue;
    }
    SINTER_ASSIGN_OR_RETURN(HostTensor piece, HostTensor::Empty(infos_[variable].dtype, {most}));
    for (int64_t begin = 0; begin < elements; begin += most) {
      const int64_t count = std::min(most, elements - begin);
      TakePart(part.box, begin, count, data, size, piece.mutable_data());
      SINTER_RETURN_IF_ERROR(WritePart(part, begin, count, piece.data()));
    }
  }
  MarkWritten(variable);
  return absl::OkStatus();
}

void SessionVariables::MarkWritten(size_t variable) {
  for (const Part& part : parts_[variable]) {
    for (const uint32_t copy : part.copies) buffers_.in_doubt.Remove(copy);
  }
  buffers_.has_initial_values = false;
}

absl::Status SessionVariables::WritePart(const Part& part, int64_t begin, int64_t count, const void* data) {
  const DType dtype = TypeOf(part.copies.front());
  const auto offset = static_cast<size_t>(begin * SizeOf(dtype)),
             bytes = static_cast<size_t>(count * SizeOf(dtype));
  if (bytes == 0) return absl::OkStatus();
  for (const uint32_t copy : part.copies) {
    if (TypeOf(copy) != dtype) {
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
absl::StatusOr<bool> SessionVariables::FillCopies(const Part& part, const InitialValues& values) {
  for (const uint32_t copy : part.copies) {
    if (!RepeatedByte(values, TypeOf(copy)).has_value()) return false;
  }
  for (const uint32_t copy : part.copies) {
    const auto bytes = static_cast<size_t>(plan_.variables()->Get(copy)->bytes());
    SINTER_RETURN_IF_ERROR(
        BuffersOf(copy).runtime->Fill(buffers_.variables[copy], *RepeatedByte(values, TypeOf(copy)), bytes));
  }
  return true;
}

InitialValues SessionVariables::InitialValuesOf(size_t index) const {
  return ValuesOf(*plan_.variables()->Get(originals_[index])->initializer());
}

void SessionVariables::StartInitialValues() {
  prefetch_ = std::make_unique<InitialValuePrefetch>();
  for (size_t i = 0; i < infos_.size(); ++i) {
    if (infos_[i].device.is_host()) continue;
    for (const Part& part : parts_[i]) {
      prefetch_->Add(part.number, InitialValuesOf(i), infos_[i].dtype, part.box);
    }
  }
  prefetch_->Start(pool_);
}

// Values are always computed on the CPU, so they have the same bits on every device. A part has the bits that
// it has in the whole.
absl::Status SessionVariables::InitializeVariable(size_t index, InitialValuePrefetch* prefetched) {
  if (parts_[index].empty()) return absl::OkStatus();
  const VariableInfo& variable = infos_[index];
  const InitialValues values = InitialValuesOf(index);
  if (!IsByElement(values)) {
    const Part& part = parts_[index].front();
    const bool is_here = part.box.is_whole() && BuffersOf(part.copies.front()).is_host;
    HostTensor whole;
    if (!is_here) {
      SINTER_ASSIGN_OR_RETURN(whole, HostTensor::Empty(variable.dtype, variable.shape));
    }
    void* const data = is_here ? buffers_.variables[part.copies.front()] : whole.mutable_data();
    SINTER_RETURN_IF_ERROR(FillInitialValues(values, variable.dtype, variable.shape, data, pool_));
    return is_here && part.copies.size() == 1 ? absl::OkStatus() : Write(index, data);
  }
  for (const Part& part : parts_[index]) {
    SINTER_RETURN_IF_ERROR(InitializePart(part, values, prefetched));
  }
  return absl::OkStatus();
}

absl::Status SessionVariables::InitializePart(const Part& part, const InitialValues& values,
                                              InitialValuePrefetch* prefetched) {
  const uint32_t first = part.copies.front();
  if (!BuffersOf(first).is_host) return InitializeOnDevices(part, values, prefetched);
  std::byte* const data = buffers_.variables[first];
  const int64_t elements = part.box.num_elements();
  SINTER_RETURN_IF_ERROR(FillInitialPart(values, TypeOf(first), part.box, 0, elements, data, pool_));
  return part.copies.size() == 1 ? absl::OkStatus() : WritePart(part, 0, elements, data);
}

absl::Status SessionVariables::InitializeOnDevices(const Part& part, const InitialValues& values,
                                                   InitialValuePrefetch* prefetched) {
  // Fill avoids an upload, mostly for zeros in an optimizer's state.
  SINTER_ASSIGN_OR_RETURN(const bool is_filled, FillCopies(part, values));
  if (is_filled) return absl::OkStatus();
  const int64_t elements = part.box.num_elements();
  const std::byte* const ready = prefetched == nullptr ? nullptr : prefetched->Find(part.number);
  if (ready != nullptr) return WritePart(part, 0, elements, ready);
  const DType dtype = TypeOf(part.copies.front());
  const int64_t most = std::min(elements, kPieceBytes / SizeOf(dtype));
  SINTER_ASSIGN_OR_RETURN(HostTensor piece, HostTensor::Empty(dtype, {most}));
  for (int64_t begin = 0; begin < elements; begin += most) {
    const int64_t count = std::min(most, elements - begin);
    SINTER_RETURN_IF_ERROR(
        FillInitialPart(values, dtype, part.box, begin, count, piece.mutable_data(), pool_));
    SINTER_RETURN_IF_ERROR(WritePart(part, begin, count, piece.data()));
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
  buffers_.has_initial_values = true;
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
