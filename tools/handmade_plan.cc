#include "sinter/tools/handmade_plan.h"

#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "sinter/runtime/host/cpu_features.h"
#include "sinter/runtime/host/round_up.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/plan/step_sizes.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter::tools {
namespace {

constexpr uint64_t kArenaAlignment = 512;

std::unique_ptr<fb::TensorTypeT> MakeTensorType(DType dtype, std::vector<int64_t> shape) {
  auto type = std::make_unique<fb::TensorTypeT>();
  type->dtype = static_cast<fb::DType>(dtype);
  type->shape = std::move(shape);
  return type;
}

uint32_t AddBuffer(fb::FunctionT& function, fb::BufferT buffer) {
  function.buffers.push_back(std::make_unique<fb::BufferT>(std::move(buffer)));
  return static_cast<uint32_t>(function.buffers.size() - 1);
}

absl::string_view Text(std::string_view text) { return {text.data(), text.size()}; }

double Flops(double a, double b, double c) { return 2 * a * b * c; }

// Workspace of a convolution in layout nchw16n.
uint64_t WorkspaceOf(const fb::ConvStepT& step) {
  if (step.layout != fb::ImageLayout::Nchw16n) return 0;
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::CreateConvStep(builder, &step));
  return BatchConvWorkspaceBytes(*flatbuffers::GetRoot<fb::ConvStep>(builder.GetBufferPointer()));
}

}  // namespace

HandmadePlan::HandmadePlan(const std::vector<Device>& devices, const std::string& producer,
                           const std::string& name) {
  table_.version = Plan::LeastVersion({});
  table_.producer = producer;
  table_.name = name;
  table_.content_hash.resize(32);
  for (const Device device : devices) table_.devices.push_back(MakeDeviceName(device));
  // Kernels for CPUs use the instructions of their plan's target: those that a plan for this CPU would have.
  table_.target = std::make_unique<fb::TargetT>();
  table_.target->triple = absl::StrCat(Text(RunningArchitecture()), "-unknown-linux-gnu");
  for (const std::string_view feature : {"avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"}) {
    if (RunningCpuHas(feature)) table_.target->features.emplace_back(feature);
  }
}

fb::FunctionT& HandmadePlan::AddFunction(const std::string& name) {
  table_.functions.push_back(std::make_unique<fb::FunctionT>());
  table_.functions.back()->name = name;
  table_.functions.back()->more_arena_bytes.resize(table_.devices.size() - 1);
  return *table_.functions.back();
}

uint32_t HandmadePlan::Operand(fb::FunctionT& function, DType dtype, const Shape& shape, uint32_t device,
                               int set) {
  const auto [known, is_new] =
      variables_.try_emplace({dtype, shape, device, set}, static_cast<uint32_t>(table_.variables.size()));
  if (is_new) {
    auto variable = std::make_unique<fb::VariableT>();
    variable->name = absl::StrCat("v", table_.variables.size());
    variable->type = MakeTensorType(dtype, shape);
    variable->bytes = static_cast<uint64_t>(*DenseBytes(dtype, shape));
    variable->device = device;
    variable->initializer = std::make_unique<fb::InitializerT>();
    variable->initializer->kind = fb::InitializerKind::Uniform;
    variable->initializer->a = -1;
    variable->initializer->b = 1;
    variable->initializer->seed = static_cast<int64_t>(table_.variables.size());
    table_.variables.push_back(std::move(variable));
  }
  fb::BufferT buffer;
  buffer.space = fb::Space::Variable;
  buffer.index = known->second;
  buffer.type = MakeTensorType(dtype, shape);
  buffer.bytes = table_.variables[known->second]->bytes;
  buffer.device = device;
  return AddBuffer(function, std::move(buffer));
}

uint32_t HandmadePlan::Result(fb::FunctionT& function, DType dtype, const Shape& shape, uint32_t device) {
  uint64_t& arena = device == 0 ? function.arena_bytes : function.more_arena_bytes[device - 1];
  fb::BufferT buffer;
  buffer.type = MakeTensorType(dtype, shape);
  buffer.bytes = static_cast<uint64_t>(*DenseBytes(dtype, shape));
  buffer.offset = RoundUp(arena, kArenaAlignment);
  buffer.device = device;
  arena = buffer.offset + buffer.bytes;
  return AddBuffer(function, std::move(buffer));
}

template <typename Body>
fb::StepT& HandmadePlan::AddStep(fb::FunctionT& function, Body body, std::vector<uint32_t> inputs,
                                 std::vector<uint32_t> outputs, double flops, uint32_t device) {
  auto step = std::make_unique<fb::StepT>();
  step->name = function.name;
  step->body.Set(std::move(body));
  for (const uint32_t buffer : inputs) step->bytes += static_cast<double>(function.buffers[buffer]->bytes);
  for (const uint32_t buffer : outputs) step->bytes += static_cast<double>(function.buffers[buffer]->bytes);
  step->inputs = std::move(inputs);
  step->outputs = std::move(outputs);
  step->flops = flops;
  step->device = device;
  function.steps.push_back(std::move(step));
  return *function.steps.back();
}

void HandmadePlan::AddCopy(const std::string& name, int64_t floats, int times) {
  fb::FunctionT& function = AddFunction(name);
  const uint32_t from = Operand(function, DType::kF32, {floats}),
                 to = Result(function, DType::kF32, {floats});
  fb::CopyStepT copy;
  copy.bytes = function.buffers[from]->bytes;
  for (int i = 0; i < times; ++i) AddStep(function, copy, {from}, {to}, 0);
}

void HandmadePlan::AddMatmulStep(fb::FunctionT& function, const MatmulSizes& s,
                                 const std::vector<uint32_t>& buffers, uint32_t device) {
  fb::MatmulStepT matmul;
  matmul.batch = s.batch, matmul.m = s.m, matmul.n = s.n, matmul.k = s.k;
  matmul.transpose_a = s.transpose_a, matmul.transpose_b = s.transpose_b;
  matmul.dtype = static_cast<fb::DType>(s.type.dtype);
  matmul.math = s.type.math;
  const double flops = static_cast<double>(s.batch) *
                       Flops(static_cast<double>(s.m), static_cast<double>(s.n), static_cast<double>(s.k));
  AddStep(function, std::move(matmul), {buffers[0], buffers[1]}, {buffers[2]}, flops, device);
}

void HandmadePlan::AddMatmul(const std::string& name, const MatmulSizes& s, int times) {
  fb::FunctionT& function = AddFunction(name);
  const auto shape = [&s](int64_t rows, int64_t columns) {
    return s.batch == 1 ? Shape{rows, columns} : Shape{s.batch, rows, columns};
  };
  const DType dtype = s.type.dtype;
  const Shape second = s.transpose_b ? shape(s.n, s.k) : shape(s.k, s.n);
  std::vector<uint32_t> buffers = {
      Operand(function, dtype, s.transpose_a ? shape(s.k, s.m) : shape(s.m, s.k)),
      Operand(function, dtype, second), Result(function, dtype, shape(s.m, s.n))};
  for (int i = 0; i < times; ++i) {
    if (i > 0 && !s.transpose_a) buffers[1] = Operand(function, dtype, second, 0, i);
    if (i > 0 && s.transpose_a && function.buffers[buffers[2]]->bytes > kArenaAlignment) {
      // Results share a few bytes, so that a device computes one after the other.
      function.arena_bytes -= kArenaAlignment;
      buffers[2] = Result(function, dtype, shape(s.m, s.n));
    }
    AddMatmulStep(function, s, buffers, 0);
  }
}

void HandmadePlan::AddConv(const std::string& name, const ConvSizes& s, int times) {
  fb::FunctionT& function = AddFunction(name);
  const auto images = [&s](int64_t channels, int64_t size) -> Shape {
    switch (s.layout) {
      case fb::ImageLayout::Nchw:
        return {s.batch, channels, size, size};
      case fb::ImageLayout::Nhwc:
        return {s.batch, size, size, channels};
      case fb::ImageLayout::Nchw16n:
        break;
    }
    return {s.batch / 16, channels, size, size, 16};
  };
  fb::ConvStepT conv;
  conv.kind = s.kind, conv.layout = s.layout;
  conv.dtype = static_cast<fb::DType>(s.type.dtype), conv.math = s.type.math;
  conv.batch = s.batch, conv.in_channels = s.in_channels, conv.out_channels = s.out_channels;
  conv.in_size = {s.in_size, s.in_size}, conv.out_size = {s.out_size(), s.out_size()};
  conv.kernel = {s.kernel, s.kernel}, conv.strides = {s.stride, s.stride};
  conv.padding = {0, 0, 0, 0}, conv.dilations = {1, 1}, conv.groups = 1;
  const DType dtype = s.type.dtype;
  const Shape x = images(s.in_channels, s.in_size), y = images(s.out_channels, s.out_size());
  const Shape weights = {s.out_channels, s.in_channels, s.kernel, s.kernel};
  const bool is_forward = s.kind == fb::ConvKind::Forward, is_input = s.kind == fb::ConvKind::InputGrad;
  const uint32_t first = Operand(function, dtype, is_input ? y : x);
  const uint32_t second = Operand(function, dtype, s.kind == fb::ConvKind::WeightGrad ? y : weights);
  const uint32_t result = Result(function, dtype, is_forward ? y : is_input ? x : weights);
  const double flops =
      Flops(static_cast<double>(s.batch * s.out_size() * s.out_size()), static_cast<double>(s.out_channels),
            static_cast<double>(s.in_channels * s.kernel * s.kernel));
  const uint64_t workspace = WorkspaceOf(conv), offset = RoundUp(function.arena_bytes, kArenaAlignment);
  if (workspace > 0) function.arena_bytes = offset + workspace;
  for (int i = 0; i < times; ++i) {
    fb::StepT& step = AddStep(function, conv, {first, second}, {result}, flops);
    step.workspace_bytes = workspace;
    step.workspace_offset = workspace > 0 ? offset : 0;
  }
}

void HandmadePlan::AddAttention(const std::string& name, const AttentionSizes& s, int times) {
  fb::FunctionT& function = AddFunction(name);
  fb::AttentionStepT step;
  step.dtype = static_cast<fb::DType>(s.dtype), step.backward = s.backward;
  step.packed = step.causal = true, step.has_stats = !s.backward;
  step.batch = s.batch, step.queries = step.keys = s.tokens, step.heads = step.key_heads = s.heads;
  step.width = s.width, step.scale = 0.125;
  const Shape packed = {s.batch, s.tokens, 3, s.heads, s.width}, o = {s.batch, s.tokens, s.heads, s.width};
  const Shape stats = {s.batch, s.heads, s.tokens};
  std::vector<uint32_t> inputs = {Operand(function, s.dtype, packed)}, outputs;
  if (s.backward) {
    inputs.push_back(Operand(function, s.dtype, o));
    inputs.push_back(Operand(function, DType::kF32, stats));
    inputs.push_back(Operand(function, s.dtype, o));
    outputs = {Result(function, s.dtype, packed)};
  } else {
    outputs = {Result(function, s.dtype, o), Result(function, DType::kF32, stats)};
  }
  const double square = Flops(static_cast<double>(s.batch * s.heads),
                              static_cast<double>(s.tokens * s.tokens), static_cast<double>(s.width));
  for (int i = 0; i < times; ++i) AddStep(function, step, inputs, outputs, (s.backward ? 2.5 : 1) * square);
}

void HandmadePlan::AddCollective(const std::string& name, fb::CollectiveKind kind, int64_t floats, int times,
                                 const MatmulSizes* matmul, bool has_collective) {
  fb::FunctionT& function = AddFunction(name);
  const auto devices = static_cast<uint32_t>(table_.devices.size());
  const int64_t part = floats / devices;
  const bool gathers = kind == fb::CollectiveKind::AllGather,
             scatters = kind == fb::CollectiveKind::ReduceScatter;
  std::vector<std::pair<uint32_t, uint32_t>> tensors;
  std::vector<std::vector<uint32_t>> matmuls;
  for (uint32_t d = 0; d < devices; ++d) {
    if (has_collective) {
      tensors.emplace_back(Operand(function, DType::kF32, {gathers ? part : floats}, d),
                           Result(function, DType::kF32, {scatters ? part : floats}, d));
    }
    if (matmul == nullptr) continue;
    matmuls.push_back({Operand(function, matmul->type.dtype, {matmul->m, matmul->k}, d),
                       Operand(function, matmul->type.dtype, {matmul->k, matmul->n}, d),
                       Result(function, matmul->type.dtype, {matmul->m, matmul->n}, d)});
  }
  for (int i = 0; i < times; ++i) {
    for (uint32_t d = 0; d < devices && has_collective; ++d) {
      fb::CollectiveStepT step;
      step.kind = kind, step.dtype = fb::DType::F32;
      step.channel = static_cast<uint32_t>(i);
      for (uint32_t member = 0; member < devices; ++member) step.group.push_back(member);
      step.rank = d;
      step.elements = {gathers ? part : floats};
      if (gathers || scatters) step.parts.assign(devices, part);
      AddStep(function, std::move(step), {tensors[d].first}, {tensors[d].second}, 0, d);
    }
    for (uint32_t d = 0; d < devices && matmul != nullptr; ++d)
      AddMatmulStep(function, *matmul, matmuls[d], d);
  }
}

absl::StatusOr<Plan> HandmadePlan::Make() const {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(fb::Plan::Pack(builder, &table_), fb::PlanIdentifier());
  std::string bytes(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  SINTER_RETURN_IF_ERROR(SealPlan(bytes));
  return Plan::FromBytes(bytes);
}

}  // namespace sinter::tools
