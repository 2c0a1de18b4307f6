#include "sinter/runtime/executable.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/plan_generated.h"
#include "sinter/runtime/argument_value.h"
#include "sinter/runtime/plan_verifier.h"
#include "sinter/runtime/status.h"
#include "sinter/runtime/steps.h"
#include "sinter/runtime/thread_pool.h"

namespace sinter::internal_session {
namespace {

constexpr size_t kAlignment = 64;

size_t RoundUp(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

using Clock = std::chrono::steady_clock;
double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <typename Vector>
size_t SizeOrZero(const Vector* vector) {
  return vector == nullptr ? 0 : vector->size();
}

std::string InputList(const FunctionInfo& info) {
  if (info.inputs.empty()) return "it has none";
  return absl::StrCat("its inputs are ",
                      absl::StrJoin(info.inputs, ", ", [](std::string* out, const TensorInfo& input) {
                        absl::StrAppend(out, input.name, " ", input.TypeString());
                      }));
}

}  // namespace

absl::StatusOr<std::unique_ptr<FunctionState>> FunctionState::Load(const fb::Plan& plan,
                                                                   const fb::Function& table,
                                                                   const StepContext& context) {
  std::unique_ptr<FunctionState> state(new FunctionState(plan, table, context));
  state->LayOutInputs();
  for (size_t i = 0; i < SizeOrZero(table.steps()); ++i) {
    const fb::Step& step = *table.steps()->Get(i);
    absl::StatusOr<std::unique_ptr<Step>> made = MakeStep(step, context);
    if (!made.ok()) {
      return absl::Status(
          made.status().code(),
          absl::StrCat("function \"", state->info_.name, "\", step ", i, " (",
                       step.name() == nullptr ? "" : step.name()->c_str(), "): ", made.status().message()));
    }
    state->library_workspace_bytes_ =
        std::max(state->library_workspace_bytes_, (*made)->LibraryWorkspaceBytes());
    state->steps_.push_back({*std::move(made), &step, state->slots_.size()});
    for (const auto* indices : {step.inputs(), step.outputs()}) {
      for (size_t k = 0; k < SizeOrZero(indices); ++k) {
        const fb::Buffer& buffer = *table.buffers()->Get(indices->Get(k));
        if (buffer.space() == fb::Space::Input) {
          state->input_slots_.push_back({state->slots_.size(), buffer.index(), buffer.offset()});
        }
        state->slots_.push_back(nullptr);
      }
    }
  }
  state->LayOutOutputs();
  return state;
}

void FunctionState::LayOutInputs() {
  const auto info = [](const fb::Port& port) {
    TensorInfo tensor;
    tensor.name = port.name()->str();
    tensor.dtype = static_cast<DType>(port.type()->dtype());
    if (port.type()->shape() != nullptr)
      tensor.shape.assign(port.type()->shape()->begin(), port.type()->shape()->end());
    return tensor;
  };
  info_.name = table_->name()->str();
  info_.arena_bytes = static_cast<int64_t>(table_->arena_bytes());
  info_.steps = static_cast<int64_t>(SizeOrZero(table_->steps()));
  for (size_t i = 0; i < SizeOrZero(table_->inputs()); ++i) {
    info_.inputs.push_back(info(*table_->inputs()->Get(i)));
    input_bytes_.push_back(*DenseBytes(info_.inputs.back().dtype, info_.inputs.back().shape));
    staging_offsets_.push_back(staging_bytes_);
    staging_bytes_ += RoundUp(input_bytes_.back());
  }
  bound_.resize(info_.inputs.size());
  for (size_t i = 0; i < SizeOrZero(table_->outputs()); ++i)
    info_.outputs.push_back(info(*table_->outputs()->Get(i)));
}

void FunctionState::LayOutOutputs() {
  for (size_t i = 0; i < info_.outputs.size(); ++i) {
    const fb::Buffer& buffer = *table_->buffers()->Get(table_->outputs()->Get(i)->buffer());
    if (buffer.space() != fb::Space::Input) continue;
    copies_.push_back({buffer.index(), buffer.offset(), output_copy_bytes_, buffer.bytes(), i});
    output_copy_bytes_ += RoundUp(buffer.bytes());
  }
}

std::byte* FunctionState::PointerOf(uint32_t index) const {
  const fb::Buffer& buffer = *table_->buffers()->Get(index);
  switch (buffer.space()) {
    case fb::Space::Arena:
      return memory_->arena + buffer.offset();
    case fb::Space::Variable:
      return memory_->variables[buffer.index()] + buffer.offset();
    case fb::Space::Constant:
      // Steps do not write to it: the verifier has looked.
      return const_cast<std::byte*>(memory_->constants) + buffer.offset();
    case fb::Space::Input:
      break;
  }
  return nullptr;
}

void FunctionState::Place(const Memory* memory, std::byte* output_copies) {
  memory_ = memory;
  output_copies_ = output_copies;
  size_t slot = 0;
  for (const LoadedStep& step : steps_) {
    for (const auto* indices : {step.table->inputs(), step.table->outputs()}) {
      for (size_t k = 0; k < SizeOrZero(indices); ++k) slots_[slot++] = PointerOf(indices->Get(k));
    }
  }
  auto copy = copies_.begin();
  for (size_t i = 0; i < info_.outputs.size(); ++i) {
    const void* data = PointerOf(table_->outputs()->Get(i)->buffer());
    if (copy != copies_.end() && copy->output == i) data = output_copies + (copy++)->copy_offset;
    // The verifier has checked the type, and alignment to the element follows from the buffer's.
    outputs_.push_back(*HostTensor::View(info_.outputs[i].dtype, info_.outputs[i].shape, data));
  }
}

int FunctionState::FindInput(std::string_view name) const {
  for (size_t i = 0; i < info_.inputs.size(); ++i) {
    if (info_.inputs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

absl::Status FunctionState::Bind(const Argument& argument, InputValue* bound) const {
  const int index = FindInput(argument.name());
  if (index < 0) {
    return absl::NotFoundError(
        absl::StrCat("there is no input \"", std::string(argument.name()), "\"; ", InputList(info_)));
  }
  const TensorInfo& want = info_.inputs[static_cast<size_t>(index)];
  InputValue value{.is_set = true};
  if (const HostTensor* tensor = argument.tensor(); tensor != nullptr) {
    if (tensor->dtype() != want.dtype || tensor->shape() != want.shape) {
      return absl::InvalidArgumentError(absl::StrCat("input \"", want.name, "\" is ", want.TypeString(),
                                                     ", and ", tensor->ToString(), " is given"));
    }
    value.data = tensor->data();
    if (value.data == nullptr) value.data = memory_->staging;  // No elements.
  } else {
    if (!want.shape.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("input \"", want.name, "\" is ", want.TypeString(), ", and a single number is given"));
    }
    const absl::Status stored = argument.is_integer()
                                    ? StoreNumber(argument.integer(), want.dtype, value.number)
                                    : StoreNumber(argument.real(), want.dtype, value.number);
    if (!stored.ok()) {
      return absl::InvalidArgumentError(absl::StrCat("input \"", want.name, "\": ", stored.message()));
    }
  }
  *bound = value;
  return absl::OkStatus();
}

absl::Status FunctionState::CheckAllSet(std::span<const InputValue> inputs) const {
  if (std::all_of(inputs.begin(), inputs.end(), [](const InputValue& value) { return value.is_set; })) {
    return absl::OkStatus();
  }
  std::vector<std::string> missing;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].is_set) continue;
    missing.push_back(
        absl::StrCat("input \"", info_.inputs[i].name, "\", ", info_.inputs[i].TypeString(), ", is missing"));
  }
  return absl::InvalidArgumentError(absl::StrJoin(missing, "; "));
}

bool FunctionState::IsOurs(const void* data, size_t bytes) const {
  const std::byte* const begin = static_cast<const std::byte*>(data);
  const auto overlaps = [&](const std::byte* with, size_t with_bytes) {
    return std::less<>()(begin, with + with_bytes) && std::less<>()(with, begin + bytes);
  };
  if (overlaps(memory_->arena, memory_->arena_bytes)) return true;
  for (size_t i = 0; i < memory_->variables.size(); ++i) {
    if (overlaps(memory_->variables[i], memory_->variable_bytes[i])) return true;
  }
  return false;
}

void FunctionState::PatchInputs(std::span<const InputValue> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::byte* const staging = memory_->staging + staging_offsets_[i];
    bound_[i] = staging;
    if (inputs[i].data == nullptr) {
      std::memcpy(staging, inputs[i].number, input_bytes_[i]);
    } else if (reinterpret_cast<uintptr_t>(inputs[i].data) % kAlignment != 0 ||
               IsOurs(inputs[i].data, input_bytes_[i])) {
      // An earlier run's output, above all, would be overwritten while it is read.
      std::memcpy(staging, inputs[i].data, input_bytes_[i]);
    } else {
      bound_[i] = inputs[i].data;
    }
  }
  for (const InputSlot& patch : input_slots_) {
    slots_[patch.slot] =
        const_cast<std::byte*>(static_cast<const std::byte*>(bound_[patch.input])) + patch.offset;
  }
}

absl::Status FunctionState::Run(std::span<const InputValue> inputs, Profile* profile) {
  const Clock::time_point start = Clock::now();
  SINTER_RETURN_IF_ERROR(CheckAllSet(inputs));
  PatchInputs(inputs);
  if (memory_->poison && memory_->arena_bytes > 0) std::memset(memory_->arena, 0xff, memory_->arena_bytes);
  context_.pool->BindCallingThread();
  SINTER_RETURN_IF_ERROR(RunSteps(profile));
  for (const OutputCopy& copy : copies_) {
    if (copy.bytes == 0) continue;
    std::memmove(output_copies_ + copy.copy_offset,
                 static_cast<const std::byte*>(bound_[copy.input]) + copy.input_offset, copy.bytes);
  }
  if (profile != nullptr) {
    ++profile->runs;
    profile->seconds_total += SecondsSince(start);
  }
  return absl::OkStatus();
}

absl::Status FunctionState::RunSteps(Profile* profile) {
  if (profile != nullptr) PrepareProfile(profile);
  for (size_t i = 0; i < steps_.size(); ++i) {
    const LoadedStep& step = steps_[i];
    const fb::Step& table = *step.table;
    const StepArgs args = {
        .buffers = slots_.data() + step.first_slot,
        .workspace = table.workspace_bytes() == 0 ? nullptr : memory_->arena + table.workspace_offset(),
        .scratch = memory_->thread_scratch,
        .library_workspace = memory_->library_workspace};
    const Clock::time_point start = profile == nullptr ? Clock::time_point() : Clock::now();
    if (absl::Status status = step.step->Run(args); !status.ok()) {
      return absl::Status(status.code(), absl::StrCat("function \"", info_.name, "\", step ", i, " (",
                                                      table.name() == nullptr ? "" : table.name()->c_str(),
                                                      "): ", status.message()));
    }
    if (profile == nullptr) continue;
    const double seconds = SecondsSince(start);
    profile->steps[i].seconds_total += seconds;
    profile->steps[i].seconds_min = std::min(profile->steps[i].seconds_min, seconds);
  }
  return absl::OkStatus();
}

void FunctionState::PrepareProfile(Profile* profile) const {
  if (profile->function == info_.name && profile->steps.size() == steps_.size()) return;
  *profile = Profile();
  profile->function = info_.name;
  for (const LoadedStep& step : steps_) {
    const fb::Step& table = *step.table;
    StepTimes times;
    if (table.name() != nullptr) times.name = table.name()->str();
    times.kind = StepKind(table);
    for (size_t k = 0; k < SizeOrZero(table.locations()); ++k) {
      times.locations.push_back(LocationText(*plan_, table.locations()->Get(k)));
    }
    times.seconds_min = std::numeric_limits<double>::infinity();
    times.flops = table.flops();
    times.bytes = table.bytes();
    profile->steps.push_back(std::move(times));
  }
}

}  // namespace sinter::internal_session
