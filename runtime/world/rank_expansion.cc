#include "sinter/runtime/world/rank_expansion.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/plan/collective.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/plan_vectors.h"

namespace sinter {
namespace {

// More than a table takes without its lists and strings: its fields, its offset in a list, and its alignment.
constexpr uint64_t kTableBytes = 256;
constexpr uint64_t kImageAlignment = 64;

uint64_t TypeBytes(const fb::TensorType& type) {
  return kTableBytes + 8 * uint64_t{SizeOrZero(type.shape())};
}

// More than a step's body takes.
uint64_t BodyBytes(const fb::Step& step) {
  uint64_t bytes = 2 * kTableBytes;
  if (const auto* const kernel = step.body_as_KernelStep()) bytes += SizeOrZero(kernel->symbol());
  if (const auto* const call = step.body_as_CatalogStep()) {
    bytes += SizeOrZero(call->kernel()) + 8 * uint64_t{SizeOrZero(call->parameters())};
  }
  if (const auto* const c = step.body_as_CollectiveStep()) {
    bytes += 8 * (uint64_t{SizeOrZero(c->elements())} + SizeOrZero(c->parts()));
  }
  return bytes;
}

bool IsOverAxes(const fb::Step& step) {
  const fb::CollectiveStep* const collective = step.body_as_CollectiveStep();
  return collective != nullptr && SizeOrZero(collective->axes()) > 0;
}

template <typename T>
flatbuffers::Offset<flatbuffers::Vector<T>> Copy(flatbuffers::FlatBufferBuilder& builder,
                                                 const flatbuffers::Vector<T>* list) {
  if (SizeOrZero(list) == 0) return 0;
  return builder.CreateVector(list->data(), list->size());
}

flatbuffers::Offset<flatbuffers::String> Copy(flatbuffers::FlatBufferBuilder& builder,
                                              const flatbuffers::String* text) {
  return text == nullptr ? 0 : builder.CreateString(text);
}

flatbuffers::Offset<fb::TensorType> Copy(flatbuffers::FlatBufferBuilder& builder,
                                         const fb::TensorType& type) {
  return fb::CreateTensorType(builder, type.dtype(), Copy(builder, type.shape()));
}

flatbuffers::Offset<fb::Initializer> Copy(flatbuffers::FlatBufferBuilder& builder,
                                          const fb::Initializer& init) {
  flatbuffers::Offset<flatbuffers::Vector<uint8_t>> values;
  if (init.values() != nullptr) values = Copy(builder, init.values());
  return fb::CreateInitializer(builder, init.kind(), init.a(), init.b(), init.seed(), init.low(), init.high(),
                               values);
}

// The box of one rank, without strides.
flatbuffers::Offset<fb::VariableBox> BoxOfRank(flatbuffers::FlatBufferBuilder& builder, const RankMesh& mesh,
                                               const fb::Variable& variable, uint32_t rank) {
  if (variable.box() == nullptr) return 0;
  std::vector<flatbuffers::Offset<fb::BoxExtent>> extents;
  for (uint32_t i = 0; i < SizeOrZero(variable.box()->extents()); ++i) {
    const fb::BoxExtent& extent = *variable.box()->extents()->Get(i);
    extents.push_back(fb::CreateBoxExtent(builder, extent.size(), extent.part(),
                                          mesh.ValueOf(rank, extent.first(), extent.rank_strides())));
  }
  const auto shape = Copy(builder, variable.box()->shape());
  return fb::CreateVariableBox(builder, shape, builder.CreateVector(extents));
}

// The ranks share the fragments: what runs one knows its device.
flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::Function>>> Fragments(
    flatbuffers::FlatBufferBuilder& builder, const fb::Plan& plan) {
  std::vector<flatbuffers::Offset<fb::Function>> made;
  for (uint32_t i = 0; i < SizeOrZero(plan.fragments()); ++i) {
    fb::FunctionT fragment;
    plan.fragments()->Get(i)->UnPackTo(&fragment);
    made.push_back(fb::CreateFunction(builder, &fragment));
  }
  if (made.empty()) return 0;
  return builder.CreateVector(made);
}

}  // namespace

RankExpansion::RankExpansion(const fb::Plan& plan, uint32_t first, uint32_t count)
    : plan_(plan),
      mesh_(plan),
      first_(first),
      count_(count),
      cell_(NumDevices(plan)),
      num_variables_(SizeOrZero(plan.variables())) {}

// Sizes ----------------------------------------------------------------------------------------------------

uint64_t RankExpansion::BytesOfFunction(const fb::Function& function, uint64_t ranks) const {
  uint64_t bytes = kTableBytes + 8 * uint64_t{cell_} * mesh_.num_ranks();
  for (uint32_t i = 0; i < SizeOrZero(function.buffers()); ++i) {
    bytes += TypeBytes(*function.buffers()->Get(i)->type()) + ranks * kTableBytes;
  }
  std::set<AxisMask> groups;
  for (uint32_t i = 0; i < SizeOrZero(function.steps()); ++i) {
    const fb::Step& step = *function.steps()->Get(i);
    bytes += SizeOrZero(step.name()) + 4 * uint64_t{SizeOrZero(step.locations())} + BodyBytes(step);
    bytes +=
        ranks * (2 * kTableBytes + 4 * (uint64_t{SizeOrZero(step.inputs())} + SizeOrZero(step.outputs())));
    const fb::CollectiveStep* const collective = step.body_as_CollectiveStep();
    if (collective == nullptr) continue;
    const AxisMask axes = MaskOf(collective->axes());
    if (axes != 0 && collective->parts() == nullptr) bytes += 8 * uint64_t{mesh_.GroupSize(axes)};
    if (axes != 0 && groups.insert(axes).second) bytes += 4 * ranks * cell_ * mesh_.GroupSize(axes);
    bytes += 4 * ranks * SizeOrZero(collective->group());
  }
  for (const auto* ports : {function.inputs(), function.outputs()}) {
    for (uint32_t i = 0; i < SizeOrZero(ports); ++i) {
      const fb::Port& port = *ports->Get(i);
      bytes += kTableBytes + SizeOrZero(port.name()) + TypeBytes(*port.type());
      bytes += 4 * ranks * (1 + uint64_t{SizeOrZero(port.replicas())});
    }
  }
  return bytes;
}

uint64_t RankExpansion::MostBytes() const {
  uint64_t bytes = kTableBytes * (2 + uint64_t{cell_} * mesh_.num_ranks());
  for (uint32_t i = 0; i < SizeOrZero(plan_.locations()); ++i) {
    const fb::SourceLocation& location = *plan_.locations()->Get(i);
    bytes += kTableBytes + SizeOrZero(location.file()) + SizeOrZero(location.what());
  }
  for (uint32_t i = 0; i < SizeOrZero(plan_.gpu_kernels()); ++i) {
    const fb::GpuKernel& kernel = *plan_.gpu_kernels()->Get(i);
    bytes += kTableBytes + SizeOrZero(kernel.symbol());
    for (const fb::GpuImage* image : *kernel.images()) {
      bytes += 2 * kTableBytes + SizeOrZero(image->architecture()) + SizeOrZero(image->cubin());
    }
  }
  for (uint32_t i = 0; i < num_variables_; ++i) {
    const fb::Variable& variable = *plan_.variables()->Get(i);
    bytes += kTableBytes + TypeBytes(*variable.type()) + count_ * (kTableBytes + SizeOrZero(variable.name()));
    if (variable.box() == nullptr) continue;
    const uint64_t numbers = SizeOrZero(variable.box()->shape()),
                   extents = SizeOrZero(variable.box()->extents());
    bytes += count_ * (kTableBytes * (1 + extents) + 8 * numbers);
  }
  for (const Variants& variants : FunctionVariants(plan_)) {
    std::map<const fb::Function*, uint64_t> ranks;
    for (uint32_t i = 0; i < count_; ++i) ++ranks[VariantOf(mesh_, variants, first_ + i)];
    for (const auto& [function, count] : ranks) bytes += BytesOfFunction(*function, count);
  }
  return bytes;
}

// The plan -------------------------------------------------------------------------------------------------

flatbuffers::DetachedBuffer RankExpansion::Build() {
  const auto locations = builder_.CreateVector(Locations());
  const auto devices = builder_.CreateVector(Devices());
  const auto kernels = builder_.CreateVector(GpuKernels());
  const auto variables = builder_.CreateVector(Variables());
  Tables<fb::Function> functions;
  for (const Variants& variants : FunctionVariants(plan_)) functions.push_back(Function(variants));
  const auto function_list = builder_.CreateVector(functions);
  const auto producer = Copy(builder_, plan_.producer()), name = Copy(builder_, plan_.name());
  const auto fragments = Fragments(builder_, plan_);
  builder_.Finish(fb::CreatePlan(builder_, plan_.version(), producer, name, 0, 0, variables, function_list,
                                 locations, 0, 0, devices, kernels, 0, 0, 0, 0, 0, fragments),
                  fb::PlanIdentifier());
  return builder_.Release();
}

RankExpansion::Tables<fb::SourceLocation> RankExpansion::Locations() {
  Tables<fb::SourceLocation> made;
  for (uint32_t i = 0; i < SizeOrZero(plan_.locations()); ++i) {
    const fb::SourceLocation& location = *plan_.locations()->Get(i);
    const auto file = Copy(builder_, location.file()), what = Copy(builder_, location.what());
    made.push_back(fb::CreateSourceLocation(builder_, file, location.line(), what));
  }
  return made;
}

RankExpansion::Tables<fb::DeviceName> RankExpansion::Devices() {
  Tables<fb::DeviceName> made;
  std::map<DeviceKind, Offset<flatbuffers::String>> names;
  for (uint32_t rank = 0; rank < mesh_.num_ranks(); ++rank) {
    for (uint32_t d = 0; d < cell_; ++d) {
      const Device device = DeviceOfRank(plan_, rank, d);
      if (device.is_cpu() || device.is_gpu()) {
        const fb::DeviceKind kind = device.is_cpu() ? fb::DeviceKind::Cpu : fb::DeviceKind::Gpu;
        made.push_back(fb::CreateDeviceName(builder_, kind, device.index()));
        continue;
      }
      Offset<flatbuffers::String>& name = names[device.kind()];
      if (name.IsNull()) name = builder_.CreateString(std::string(DeviceKindName(device.kind())));
      made.push_back(fb::CreateDeviceName(builder_, fb::DeviceKind::Named, device.index(), name));
    }
  }
  return made;
}

// Devices look for the kernels of a step in the step's own plan.
RankExpansion::Tables<fb::GpuKernel> RankExpansion::GpuKernels() {
  Tables<fb::GpuKernel> made;
  for (uint32_t i = 0; i < SizeOrZero(plan_.gpu_kernels()); ++i) {
    const fb::GpuKernel& kernel = *plan_.gpu_kernels()->Get(i);
    Tables<fb::GpuImage> images;
    for (const fb::GpuImage* image : *kernel.images()) {
      const auto architecture = Copy(builder_, image->architecture());
      builder_.PreAlign(image->cubin()->size(), kImageAlignment);
      images.push_back(fb::CreateGpuImage(builder_, architecture, Copy(builder_, image->cubin())));
    }
    const auto symbol = Copy(builder_, kernel.symbol());
    const auto list = builder_.CreateVector(images);
    made.push_back(fb::CreateGpuKernel(builder_, symbol, list, kernel.has_programmatic_launch()));
  }
  return made;
}

RankExpansion::Tables<fb::Variable> RankExpansion::Variables() {
  Tables<fb::Variable> made(size_t{count_} * num_variables_);
  for (uint32_t i = 0; i < num_variables_; ++i) {
    const fb::Variable& variable = *plan_.variables()->Get(i);
    const auto type = Copy(builder_, *variable.type());
    const auto initializer = Copy(builder_, *variable.initializer());
    for (uint32_t k = 0; k < count_; ++k) {
      const std::string suffix = k == 0 ? "" : absl::StrCat("#", first_ + k);
      const auto name = builder_.CreateString(variable.name()->str() + suffix);
      const auto box = BoxOfRank(builder_, mesh_, variable, first_ + k);
      const uint32_t original = variable.replica_of() != 0 ? variable.replica_of() : k == 0 ? 0 : i + 1;
      made[k * num_variables_ + i] =
          fb::CreateVariable(builder_, name, type, variable.bytes(), initializer, variable.trainable(),
                             variable.location(), DeviceOf(first_ + k, variable.device()), original, box);
    }
  }
  return made;
}

// Functions ------------------------------------------------------------------------------------------------

RankExpansion::Offset<fb::Function> RankExpansion::Function(const Variants& variants) {
  channel_ = 0;
  channels_.clear();
  std::map<const fb::Function*, SharedTables> shared;
  std::vector<LocalRank> ranks;
  Tables<fb::Buffer> buffers;
  for (uint32_t k = 0; k < count_; ++k) {
    const fb::Function* const function = VariantOf(mesh_, variants, first_ + k);
    if (!shared.contains(function)) shared[function] = Share(*function);
    ranks.push_back({.rank = first_ + k, .function = function, .shared = &shared[function]});
    AddBuffers(ranks.back(), buffers);
  }
  const fb::Function& first = *ranks.front().function;
  Tables<fb::Port> inputs, outputs;
  for (uint32_t i = 0; i < SizeOrZero(first.inputs()); ++i) {
    inputs.push_back(Port(ranks, *first.inputs()->Get(i), /*is_output=*/false, i));
  }
  for (uint32_t i = 0; i < SizeOrZero(first.outputs()); ++i) {
    outputs.push_back(Port(ranks, *first.outputs()->Get(i), /*is_output=*/true, i));
  }
  const auto step_list = builder_.CreateVector(Steps(ranks));
  const auto input_list = builder_.CreateVector(inputs), output_list = builder_.CreateVector(outputs);
  const auto buffer_list = builder_.CreateVector(buffers);
  uint64_t first_arena = 0;
  const auto more_arenas = MoreArenas(ranks, &first_arena);
  const auto name = Copy(builder_, first.name());
  return fb::CreateFunction(builder_, name, input_list, output_list, buffer_list, step_list, first_arena,
                            more_arenas);
}

RankExpansion::SharedTables RankExpansion::Share(const fb::Function& function) {
  SharedTables shared;
  for (uint32_t i = 0; i < SizeOrZero(function.buffers()); ++i) {
    shared.types.push_back(Copy(builder_, *function.buffers()->Get(i)->type()));
  }
  for (uint32_t i = 0; i < SizeOrZero(function.steps()); ++i) {
    const fb::Step& step = *function.steps()->Get(i);
    if (IsOverAxes(step)) shared.exchanges.push_back(i);
    shared.steps.push_back(ShareStep(step));
  }
  return shared;
}

RankExpansion::SharedTables::Step RankExpansion::ShareStep(const fb::Step& step) {
  SharedTables::Step made = {.name = Copy(builder_, step.name()),
                             .locations = Copy(builder_, step.locations())};
  const fb::CollectiveStep* const collective = step.body_as_CollectiveStep();
  if (collective == nullptr) {
    fb::StepBodyUnion body;
    body.type = step.body_type();
    body.value = fb::StepBodyUnion::UnPack(step.body(), step.body_type(), nullptr);
    made.body = body.Pack(builder_);
    return made;
  }
  made.elements = Copy(builder_, collective->elements());
  made.parts = Copy(builder_, collective->parts());
  made.axes = Copy(builder_, collective->axes());
  const CollectiveTraits::Parts parts = TraitsOf(collective->kind()).parts;
  if (!IsOverAxes(step) || !made.parts.IsNull() || parts == CollectiveTraits::Parts::kNone) return made;
  const uint32_t members = mesh_.GroupSize(MaskOf(collective->axes()));
  const int64_t given = collective->elements()->Get(0);
  const int64_t part = parts == CollectiveTraits::Parts::kInputs ? given : given / members;
  VectorOf<int64_t>& equal = equal_parts_[{members, part}];
  if (equal.IsNull()) equal = builder_.CreateVector(std::vector<int64_t>(members, part));
  made.parts = equal;
  return made;
}

void RankExpansion::AddBuffers(LocalRank& local, Tables<fb::Buffer>& buffers) {
  local.first_buffer = static_cast<uint32_t>(buffers.size());
  const uint32_t number = local.rank - first_;
  for (uint32_t i = 0; i < SizeOrZero(local.function->buffers()); ++i) {
    const fb::Buffer& buffer = *local.function->buffers()->Get(i);
    uint32_t index = buffer.index();
    uint64_t offset = buffer.offset();
    if (buffer.space() == fb::Space::Variable) index += number * num_variables_;
    if (buffer.space() == fb::Space::RankValue) index += number * SizeOrZero(plan_.rank_values());
    if (buffer.rank_strides() != nullptr) {
      offset = static_cast<uint64_t>(
          mesh_.ValueOf(local.rank, static_cast<int64_t>(offset), buffer.rank_strides()));
    }
    buffers.push_back(fb::CreateBuffer(builder_, buffer.space(), index, offset, local.shared->types[i],
                                       buffer.bytes(), DeviceOf(local.rank, buffer.device())));
  }
}

// An output has the buffers of all ranks, the first rank's first.
RankExpansion::Offset<fb::Port> RankExpansion::Port(const std::vector<LocalRank>& ranks, const fb::Port& port,
                                                    bool is_output, uint32_t index) {
  std::vector<uint32_t> buffers;
  for (const LocalRank& local : ranks) {
    const fb::Function& function = *local.function;
    const fb::Port& own = *(is_output ? function.outputs() : function.inputs())->Get(index);
    buffers.push_back(local.first_buffer + own.buffer());
    if (!is_output) break;
    for (uint32_t i = 0; i < SizeOrZero(own.replicas()); ++i) {
      buffers.push_back(local.first_buffer + own.replicas()->Get(i));
    }
  }
  const auto name = Copy(builder_, port.name());
  const auto type = Copy(builder_, *port.type());
  const auto replicas = builder_.CreateVector(buffers.data() + 1, buffers.size() - 1);
  return fb::CreatePort(builder_, name, type, buffers.front(), replicas);
}

RankExpansion::VectorOf<uint64_t> RankExpansion::MoreArenas(const std::vector<LocalRank>& ranks,
                                                            uint64_t* first_arena) {
  std::vector<uint64_t> arenas(size_t{mesh_.num_ranks()} * cell_);
  for (const LocalRank& local : ranks) {
    for (uint32_t d = 0; d < cell_; ++d) arenas[DeviceOf(local.rank, d)] = ArenaBytes(*local.function, d);
  }
  *first_arena = arenas.front();
  return builder_.CreateVector(arenas.data() + 1, arenas.size() - 1);
}

// Steps ----------------------------------------------------------------------------------------------------

// All functions of one name have the same exchanges in the same order. The ranks take turns: each runs to its
// next exchange, and then they exchange.
RankExpansion::Tables<fb::Step> RankExpansion::Steps(std::vector<LocalRank>& ranks) {
  Tables<fb::Step> steps;
  const size_t exchanges = ranks.front().shared->exchanges.size();
  for (size_t exchange = 0; exchange < exchanges; ++exchange) {
    for (LocalRank& local : ranks) AddStepsUpTo(local, local.shared->exchanges[exchange], steps);
    AddExchange(ranks, exchange, steps);
  }
  for (LocalRank& local : ranks) AddStepsUpTo(local, SizeOrZero(local.function->steps()), steps);
  return steps;
}

void RankExpansion::AddStepsUpTo(LocalRank& local, uint32_t end, Tables<fb::Step>& steps) {
  for (; local.next_step < end; ++local.next_step) {
    const fb::Step& step = *local.function->steps()->Get(local.next_step);
    const Offset<void> body = step.body_as_CollectiveStep() != nullptr
                                  ? GroupBody(local, local.next_step)
                                  : local.shared->steps[local.next_step].body;
    steps.push_back(Step(local, local.next_step, step.body_type(), body));
  }
}

// Several groups may exchange at once. Their order follows the first rank of each group, which may be in
// another process: so all processes have the same order.
void RankExpansion::AddExchange(std::vector<LocalRank>& ranks, size_t exchange, Tables<fb::Step>& steps) {
  const LocalRank& any = ranks.front();
  const fb::Step& step = *any.function->steps()->Get(any.shared->exchanges[exchange]);
  const AxisMask axes = MaskOf(step.body_as_CollectiveStep()->axes());
  std::vector<std::pair<uint32_t, LocalRank*>> members;
  for (LocalRank& local : ranks) members.emplace_back(mesh_.FirstOf(local.rank, axes), &local);
  std::ranges::stable_sort(members, {}, [](const auto& member) { return member.first; });
  for (size_t i = 0; i < members.size(); ++i) {
    if (i == 0 || members[i].first != members[i - 1].first) ++channel_;
    LocalRank& local = *members[i].second;
    const uint32_t index = local.shared->exchanges[exchange];
    steps.push_back(Step(local, index, fb::StepBody::CollectiveStep, ExchangeBody(local, index)));
    local.next_step = index + 1;
  }
}

RankExpansion::Offset<fb::Step> RankExpansion::Step(const LocalRank& local, uint32_t index, fb::StepBody type,
                                                    Offset<void> body) {
  const fb::Step& step = *local.function->steps()->Get(index);
  const SharedTables::Step& shared = local.shared->steps[index];
  const auto numbers = [&](const flatbuffers::Vector<uint32_t>* list) -> VectorOf<uint32_t> {
    if (SizeOrZero(list) == 0) return 0;
    std::vector<uint32_t> buffers(list->begin(), list->end());
    for (uint32_t& buffer : buffers) buffer += local.first_buffer;
    return builder_.CreateVector(buffers);
  };
  const auto inputs = numbers(step.inputs()), outputs = numbers(step.outputs());
  return fb::CreateStep(builder_, shared.name, type, body, inputs, outputs, step.workspace_offset(),
                        step.workspace_bytes(), shared.locations, step.flops(), step.bytes(),
                        DeviceOf(local.rank, step.device()));
}

// An exchange among the devices of one rank.
RankExpansion::Offset<void> RankExpansion::GroupBody(const LocalRank& local, uint32_t index) {
  const fb::CollectiveStep& s = *local.function->steps()->Get(index)->body_as_CollectiveStep();
  const SharedTables::Step& shared = local.shared->steps[index];
  const auto [channel, is_new] = channels_.emplace(std::pair(local.rank, s.channel()), channel_ + 1);
  if (is_new) ++channel_;
  std::vector<uint32_t> group(s.group()->begin(), s.group()->end());
  for (uint32_t& device : group) device = DeviceOf(local.rank, device);
  const auto list = builder_.CreateVector(group);
  return fb::CreateCollectiveStep(builder_, s.kind(), s.combine(), s.dtype(), channel->second, list, s.rank(),
                                  s.root(), shared.elements, shared.parts, s.is_flat())
      .Union();
}

RankExpansion::Offset<void> RankExpansion::ExchangeBody(const LocalRank& local, uint32_t index) {
  const fb::Step& step = *local.function->steps()->Get(index);
  const fb::CollectiveStep& s = *step.body_as_CollectiveStep();
  const SharedTables::Step& shared = local.shared->steps[index];
  const AxisMask axes = MaskOf(s.axes());
  const auto group = DevicesOfGroup(local.rank, axes, step.device());
  return fb::CreateCollectiveStep(builder_, s.kind(), s.combine(), s.dtype(), channel_, group,
                                  mesh_.PositionOf(local.rank, axes), s.root(), shared.elements, shared.parts,
                                  s.is_flat(), shared.axes, s.epoch())
      .Union();
}

RankExpansion::VectorOf<uint32_t> RankExpansion::DevicesOfGroup(uint32_t rank, AxisMask axes,
                                                                uint32_t device) {
  VectorOf<uint32_t>& written = groups_[{mesh_.FirstOf(rank, axes), axes, device}];
  if (!written.IsNull()) return written;
  std::vector<uint32_t> devices = mesh_.GroupOf(rank, axes);
  for (uint32_t& member : devices) member = DeviceOf(member, device);
  written = builder_.CreateVector(devices);
  return written;
}

}  // namespace sinter
