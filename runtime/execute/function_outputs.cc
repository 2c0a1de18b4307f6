#include "sinter/runtime/execute/function_outputs.h"

#include <cstring>

#include "absl/strings/str_cat.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"

namespace sinter::internal_session {
FunctionOutputs::FunctionOutputs(const fb::Plan& plan, const fb::Function& table,
                                 const std::vector<TensorInfo>& infos, SessionBuffers* memory)
    : plan_(&plan), infos_(infos), memory_(memory) {
  for (uint32_t i = 0; i < infos.size(); ++i) {
    const fb::Port& port = *table.outputs()->Get(i);
    const fb::Buffer* buffer = LocalBuffer(table, port, memory->local);
    if (buffer == nullptr) {
      buffer = table.buffers()->Get(port.buffer());
      outputs_.push_back({.kind = Kind::kElsewhere, .buffer = buffer, .tensor = HostTensor()});
      continue;
    }
    Kind kind = memory->devices[buffer->device()].is_host ? Kind::kInPlace : Kind::kDownloaded;
    if (buffer->space() == fb::Space::Input) kind = Kind::kHandedThrough;
    outputs_.push_back({.kind = kind, .buffer = buffer, .host_offset = host_bytes_, .tensor = HostTensor()});
    if (kind != Kind::kInPlace) host_bytes_ += RoundUp(buffer->bytes(), HostTensor::kAlignment);
  }
}

void FunctionOutputs::Place() {
  for (size_t i = 0; i < outputs_.size(); ++i) {
    Output& output = outputs_[i];
    if (output.kind == Kind::kElsewhere) continue;
    const std::byte* const data = output.kind == Kind::kInPlace ? memory_->AddressOf(*output.buffer)
                                                                : memory_->outputs + output.host_offset;
    // The verifier has checked the type. The element alignment follows from the buffer's alignment.
    output.tensor = *HostTensor::View(infos_[i].dtype, infos_[i].shape, data);
  }
}

void FunctionOutputs::Finish(const FunctionInputs& inputs) {
  run_ = memory_->runs;
  for (const Output& output : outputs_) {
    if (output.kind != Kind::kHandedThrough || output.buffer->bytes() == 0) continue;
    std::memmove(memory_->outputs + output.host_offset,
                 inputs.bound(output.buffer->index()) + output.buffer->offset(), output.buffer->bytes());
  }
}

absl::StatusOr<const HostTensor*> FunctionOutputs::Get(size_t i) {
  Output& output = outputs_[i];
  if (output.kind == Kind::kElsewhere) {
    const uint32_t device = output.buffer->device();
    return absl::FailedPreconditionError(
        absl::StrCat("output \"", infos_[i].name, "\" is on ", DeviceOf(*plan_, device).ToString(),
                     " of the plan, which rank ", memory_->local.RankOf(device),
                     " runs and this process does not: read it there"));
  }
  if (output.kind != Kind::kDownloaded || output.downloaded_run == run_) return &output.tensor;
  if (run_ != memory_->runs) {
    return absl::FailedPreconditionError(absl::StrCat(
        "output \"", infos_[i].name,
        "\" is gone: the session has run since, and it was not read before, which brings it from ",
        memory_->devices[output.buffer->device()].runtime->device().ToString()));
  }
  SINTER_ASSIGN_OR_RETURN(const SessionUse::Scope use, memory_->use.Begin());
  DeviceRuntime& runtime = *memory_->devices[output.buffer->device()].runtime;
  if (output.buffer->bytes() > 0) {
    SINTER_RETURN_IF_ERROR(runtime.Download(memory_->outputs + output.host_offset,
                                            memory_->AddressOf(*output.buffer), output.buffer->bytes()));
  }
  output.downloaded_run = run_;
  return &output.tensor;
}

}  // namespace sinter::internal_session
