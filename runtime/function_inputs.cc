#include "sinter/runtime/function_inputs.h"

#include <cstring>

#include "runtime/plan_generated.h"
#include "sinter/runtime/plan_devices.h"
#include "sinter/runtime/status.h"
#include "sinter/runtime/tensor.h"

namespace sinter::internal_session {
namespace {

// Kernels read inputs as vectors.
constexpr size_t kHostAlignment = 64;

// Inputs up to this size are packed: copying one costs less than another call of a driver.
constexpr size_t kPackedBytes = 16 << 10;

size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

template <typename Vector>
size_t SizeOrZero(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

}  // namespace

FunctionInputs::FunctionInputs(const fb::Plan& plan, const fb::Function& table, const Memory* memory)
    : memory_(memory), devices_(NumDevices(plan)) {
  const size_t count = SizeOrZero(table.inputs());
  bound_.resize(count);
  host_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const fb::TensorType& type = *table.inputs()->Get(i)->type();
    std::span<const int64_t> shape;
    if (type.shape() != nullptr) shape = {type.shape()->data(), type.shape()->size()};
    host_[i].bytes = static_cast<size_t>(*DenseBytes(static_cast<DType>(type.dtype()), shape));
  }
  std::vector<std::vector<bool>> is_read(devices_.size(), std::vector<bool>(count));
  for (size_t s = 0; s < SizeOrZero(table.steps()); ++s) {
    const fb::Step& step = *table.steps()->Get(s);
    for (size_t k = 0; k < SizeOrZero(step.inputs()); ++k) {
      const fb::Buffer& buffer = *table.buffers()->Get(step.inputs()->Get(k));
      if (buffer.space() != fb::Space::Input) continue;
      is_read[buffer.device()][buffer.index()] = true;
      if (memory->devices[buffer.device()].is_host) host_[buffer.index()].is_read = true;
    }
  }
  // Outputs that are inputs handed through come from main memory, wherever they are said to be.
  for (size_t i = 0; i < SizeOrZero(table.outputs()); ++i) {
    const fb::Buffer& buffer = *table.buffers()->Get(table.outputs()->Get(i)->buffer());
    if (buffer.space() == fb::Space::Input) host_[buffer.index()].is_read = true;
  }
  for (HostInput& input : host_) {
    if (!input.is_read) continue;
    input.staging_offset = staging_bytes_;
    staging_bytes_ += RoundUp(input.bytes, kHostAlignment);
  }
  for (uint32_t d = 0; d < devices_.size(); ++d) {
    if (!memory->devices[d].is_host) LayOut(d, is_read[d]);
  }
}

void FunctionInputs::LayOut(uint32_t device, const std::vector<bool>& is_read) {
  DeviceLayout& layout = devices_[device];
  const size_t alignment = static_cast<size_t>(memory_->devices[device].runtime->alignment());
  for (const bool is_packed : {true, false}) {
    for (uint32_t i = 0; i < is_read.size(); ++i) {
      if (!is_read[i] || (host_[i].bytes <= kPackedBytes) != is_packed) continue;
      (is_packed ? layout.packed : layout.single).push_back({i, layout.bytes});
      layout.bytes += RoundUp(host_[i].bytes, alignment);
    }
    if (is_packed) layout.packed_bytes = layout.bytes;
  }
  layout.staging_offset = staging_bytes_;
  staging_bytes_ += RoundUp(layout.packed_bytes, kHostAlignment);
}

std::byte* FunctionInputs::DeviceAddress(uint32_t device, uint32_t input) const {
  for (const std::vector<DeviceCopy>* copies : {&devices_[device].packed, &devices_[device].single}) {
    for (const DeviceCopy& copy : *copies) {
      if (copy.input == input) return memory_->devices[device].inputs + copy.offset;
    }
  }
  return nullptr;
}

absl::Status FunctionInputs::Bind(std::span<const InputValue> values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!host_[i].is_read) continue;
    const void* const data = values[i].address();
    bound_[i] = static_cast<const std::byte*>(data);
    // An earlier run's output, above all, would be overwritten while it is read.
    const bool in_place = values[i].data != nullptr &&
                          reinterpret_cast<uintptr_t>(data) % kHostAlignment == 0 &&
                          !memory_->IsWritten(data, host_[i].bytes);
    if (in_place) continue;
    std::byte* const staging = memory_->staging + host_[i].staging_offset;
    if (host_[i].bytes > 0) std::memcpy(staging, data, host_[i].bytes);
    bound_[i] = staging;
  }
  for (size_t d = 0; d < devices_.size(); ++d) {
    if (devices_[d].bytes == 0) continue;
    const DevicePlaces& places = memory_->devices[d];
    SINTER_RETURN_IF_ERROR(Upload(*places.runtime, devices_[d], places.inputs, values));
  }
  return absl::OkStatus();
}

absl::Status FunctionInputs::Upload(DeviceRuntime& runtime, const DeviceLayout& layout, std::byte* to,
                                    std::span<const InputValue> values) {
  std::byte* const staging = memory_->staging + layout.staging_offset;
  for (const DeviceCopy& copy : layout.packed) {
    if (host_[copy.input].bytes == 0) continue;
    std::memcpy(staging + copy.offset, values[copy.input].address(), host_[copy.input].bytes);
  }
  if (layout.packed_bytes > 0) {
    SINTER_RETURN_IF_ERROR(runtime.Upload(to, staging, layout.packed_bytes));
  }
  for (const DeviceCopy& copy : layout.single) {
    SINTER_RETURN_IF_ERROR(
        runtime.Upload(to + copy.offset, values[copy.input].address(), host_[copy.input].bytes));
  }
  return absl::OkStatus();
}

}  // namespace sinter::internal_session
