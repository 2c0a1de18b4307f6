#include "sinter/runtime/execute/function_inputs.h"

#include <cstring>

#include "runtime/plan_generated.h"
#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"
#include "sinter/runtime/tensor/tensor.h"
#include "sinter/runtime/world/local_devices.h"

namespace sinter::internal_session {
namespace {

// Kernels read inputs with vector instructions.
constexpr size_t kHostAlignment = 64;

// Inputs up to this size are packed: a copy costs less than another driver call.
constexpr size_t kPackedBytes = 16 << 10;

// Copying these takes longer than waking the threads that launch.
constexpr size_t kSideBySideBytes = 256 << 10;

// Larger inputs get a staging buffer only when they need one.
constexpr size_t kStagedBytes = 1 << 20;

}  // namespace

FunctionInputs::FunctionInputs(const fb::Plan& plan, const fb::Function& table, const SessionBuffers* memory)
    : memory_(memory), devices_(NumDevices(plan)) {
  const size_t count = SizeOrZero(table.inputs());
  bound_.resize(count);
  host_.resize(count);
  all_.resize(count);
  const std::vector<std::vector<Hull>> hulls = FindHulls(table);
  for (uint32_t i = 0; i < count; ++i) {
    const fb::TensorType& type = *table.inputs()->Get(i)->type();
    std::span<const int64_t> shape;
    if (type.shape() != nullptr) shape = {type.shape()->data(), type.shape()->size()};
    rows_.push_back(shape.empty() ? 0 : static_cast<size_t>(shape[0]));
    const size_t bytes = static_cast<size_t>(*DenseBytes(static_cast<DType>(type.dtype()), shape));
    row_bytes_.push_back(rows_[i] == 0 ? 0 : bytes / rows_[i]);
    for (uint32_t d = 0; d < devices_.size(); ++d) {
      if (!memory->devices[d].is_here()) continue;
      all_[i].Add(hulls[d][i]);
      if (memory->devices[d].is_host) host_[i].hull.Add(hulls[d][i]);
    }
    // Inputs that are also outputs are read from main memory, on whichever device the plan has the output.
    host_[i].hull.Add(hulls.back()[i]);
    all_[i].Add(hulls.back()[i]);
  }
  size_t num_large = 0;
  for (HostInput& input : host_) {
    if (!input.hull.is_read()) continue;
    if (input.hull.bytes() > kStagedBytes) {
      input.large = num_large++;
      continue;
    }
    // Keeps the alignment of the whole input, because kernels use vector instructions.
    input.staging_offset = staging_bytes_ + input.hull.begin % kHostAlignment;
    staging_bytes_ += RoundUp(input.hull.begin % kHostAlignment + input.hull.bytes(), kHostAlignment);
  }
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    if (memory->devices[d].is_here() && !memory->devices[d].is_host) LayOut(d, hulls[d]);
  }
}

// Returns the hulls of each device, by input. The last entry has the other reads in main memory.
std::vector<std::vector<FunctionInputs::Hull>> FunctionInputs::FindHulls(const fb::Function& table) const {
  std::vector<std::vector<Hull>> hulls(devices_.size() + 1, std::vector<Hull>(host_.size()));
  const auto add = [](const fb::Buffer& buffer, std::vector<Hull>& to) {
    if (buffer.space() != fb::Space::Input) return;
    to[buffer.index()].Add(buffer.offset(), buffer.offset() + buffer.bytes());
  };
  for (uint32_t s = 0; s < SizeOrZero(table.steps()); ++s) {
    const fb::Step& step = *table.steps()->Get(s);
    for (uint32_t k = 0; k < SizeOrZero(step.inputs()); ++k) {
      const fb::Buffer& buffer = *table.buffers()->Get(step.inputs()->Get(k));
      // A copy of an input whose source device is in another process reads this process's main memory.
      const bool is_copied_here = IsCopyOfInput(table, step) && memory_->local.Has(step.device()) &&
                                  !memory_->local.Has(buffer.device());
      add(buffer, is_copied_here ? hulls.back() : hulls[buffer.device()]);
    }
  }
  for (uint32_t i = 0; i < SizeOrZero(table.outputs()); ++i) {
    const fb::Buffer* const buffer = LocalBuffer(table, *table.outputs()->Get(i), memory_->local);
    if (buffer != nullptr) add(*buffer, hulls.back());
  }
  return hulls;
}

void FunctionInputs::LayOut(uint32_t device, const std::vector<Hull>& hulls) {
  DeviceLayout& layout = devices_[device];
  const size_t alignment = static_cast<size_t>(memory_->devices[device].runtime->alignment());
  for (const bool is_packed : {true, false}) {
    for (uint32_t i = 0; i < hulls.size(); ++i) {
      const Hull& hull = hulls[i];
      if (!hull.is_read() || (hull.bytes() <= kPackedBytes) != is_packed) continue;
      const size_t offset = hull.begin % alignment;
      (is_packed ? layout.packed : layout.single).push_back({i, layout.bytes + offset, hull});
      layout.bytes += RoundUp(offset + hull.bytes(), alignment);
    }
    if (is_packed) layout.packed_bytes = layout.bytes;
  }
  layout.pieces.reserve(layout.single.size() + 1);
  has_large_uploads_ = has_large_uploads_ || layout.bytes - layout.packed_bytes >= kSideBySideBytes;
  layout.staging_offset = staging_bytes_;
  staging_bytes_ += RoundUp(layout.packed_bytes, kHostAlignment);
}

std::byte* FunctionInputs::DeviceAddress(uint32_t device, uint32_t input) const {
  for (const std::vector<DeviceCopy>* copies : {&devices_[device].packed, &devices_[device].single}) {
    for (const DeviceCopy& copy : *copies) {
      if (copy.input == input) return memory_->devices[device].inputs + copy.offset - copy.hull.begin;
    }
  }
  return nullptr;
}

std::optional<FunctionInputs::RowRange> FunctionInputs::Rows(size_t input) const {
  const Hull& hull = all_[input];
  const size_t row = row_bytes_[input];
  if (rows_[input] == 0) return std::nullopt;
  if (!hull.is_read()) return RowRange{0, 0};
  if (row == 0) return RowRange{0, static_cast<int64_t>(rows_[input])};
  if (hull.begin % row != 0 || hull.end % row != 0) return std::nullopt;
  return RowRange{static_cast<int64_t>(hull.begin / row), static_cast<int64_t>(hull.end / row)};
}

absl::StatusOr<std::byte*> FunctionInputs::StagingOf(const HostInput& input) const {
  if (!input.large.has_value()) return memory_->staging + input.staging_offset;
  const size_t offset = input.hull.begin % kHostAlignment;
  SINTER_ASSIGN_OR_RETURN(std::byte* const begin,
                          memory_->large_staging(*input.large, offset + input.hull.bytes()));
  return begin + offset;
}

absl::Status FunctionInputs::Bind(std::span<const InputValue> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    const Hull& hull = host_[i].hull;
    if (!hull.is_read()) continue;
    const std::byte* const data = values[i].At(hull.begin);
    bound_[i] = data - hull.begin;
    // Memory of the session, such as an earlier run's output, would be overwritten while steps read it.
    const bool in_place = values[i].data != nullptr &&
                          reinterpret_cast<uintptr_t>(bound_[i]) % kHostAlignment == 0 &&
                          !memory_->IsWritten(data, hull.bytes());
    if (in_place) continue;
    SINTER_ASSIGN_OR_RETURN(std::byte* const staging, StagingOf(host_[i]));
    if (hull.bytes() > 0) std::memcpy(staging, data, hull.bytes());
    bound_[i] = staging - hull.begin;
  }
  values_ = values;
  return absl::OkStatus();
}

absl::Status FunctionInputs::FinishUploads() {
  absl::Status status;
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    if (uploads(d)) status.Update(memory_->devices[d].runtime->FinishInputs());
  }
  values_ = {};
  return status;
}

absl::Status FunctionInputs::Upload(uint32_t device) {
  const std::span<const InputValue> values = values_;
  const DeviceBuffers& buffers = memory_->devices[device];
  DeviceLayout& layout = devices_[device];
  std::byte* const staging = memory_->staging + layout.staging_offset;
  for (const DeviceCopy& copy : layout.packed) {
    if (copy.hull.bytes() == 0) continue;
    std::memcpy(staging + copy.offset, values[copy.input].At(copy.hull.begin), copy.hull.bytes());
  }
  layout.pieces.clear();
  if (layout.packed_bytes > 0) layout.pieces.push_back({0, staging, layout.packed_bytes});
  for (const DeviceCopy& copy : layout.single) {
    layout.pieces.push_back({copy.offset, values[copy.input].At(copy.hull.begin), copy.hull.bytes()});
  }
  return buffers.runtime->UploadInputs(buffers.inputs, buffers.input_staging, layout.pieces, layout.bytes);
}

}  // namespace sinter::internal_session
