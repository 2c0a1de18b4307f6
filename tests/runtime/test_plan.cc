#include "sinter/tests/runtime/test_plan.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "sinter/runtime/formats/file.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan_devices.h"
#include "sinter/runtime/tensor/tensor.h"

namespace sinter {

uint64_t BytesOf(DType dtype, const std::vector<int64_t>& shape) {
  return static_cast<uint64_t>(DenseBytes(dtype, shape).value_or(0));
}

fb::TensorTypeT MakeType(DType dtype, const std::vector<int64_t>& shape) {
  fb::TensorTypeT type;
  type.dtype = static_cast<fb::DType>(dtype);
  type.shape = shape;
  return type;
}

TestPlan::TestPlan() {
  table.version = Plan::LeastVersion({});
  table.producer = "test";
  table.name = "test plan";
  table.content_hash.resize(32);
  auto location = std::make_unique<fb::SourceLocationT>();
  location->file = "net.cc";
  location->line = 12;
  location->what = "Linear(4)";
  table.locations.push_back(std::move(location));
}

void TestPlan::UseDevices(const std::vector<Device>& devices) {
  SINTER_CHECK(table.functions.empty()) << "devices come first";
  table.devices.clear();
  for (const Device device : devices) table.devices.push_back(MakeDeviceName(device));
}

void TestPlan::UseMesh(const std::vector<std::pair<std::string, uint32_t>>& axes) {
  table.version = Plan::LeastVersion({.mesh = true});
  table.mesh = std::make_unique<fb::MeshT>();
  for (const auto& [name, size] : axes) {
    table.mesh->axes.push_back(std::make_unique<fb::MeshAxisT>());
    table.mesh->axes.back()->name = name;
    table.mesh->axes.back()->size = size;
  }
}

uint32_t TestPlan::AddRankValue(int64_t constant, std::vector<int64_t> strides) {
  table.rank_values.push_back(std::make_unique<fb::RankValueT>());
  table.rank_values.back()->constant = constant;
  table.rank_values.back()->strides = std::move(strides);
  return static_cast<uint32_t>(table.rank_values.size() - 1);
}

uint32_t TestPlan::AddGpuKernel(const std::string& symbol) {
  auto image = std::make_unique<fb::GpuImageT>();
  image->architecture = "sm_90";
  image->cubin = {1, 2, 3};
  auto kernel = std::make_unique<fb::GpuKernelT>();
  kernel->symbol = symbol;
  kernel->images.push_back(std::move(image));
  table.gpu_kernels.push_back(std::move(kernel));
  return static_cast<uint32_t>(table.gpu_kernels.size() - 1);
}

uint32_t TestPlan::AddVariable(const std::string& name, DType dtype, const std::vector<int64_t>& shape,
                               double value, uint32_t device) {
  auto variable = std::make_unique<fb::VariableT>();
  variable->device = device;
  variable->name = name;
  variable->type = std::make_unique<fb::TensorTypeT>(MakeType(dtype, shape));
  variable->bytes = BytesOf(dtype, shape);
  variable->initializer = std::make_unique<fb::InitializerT>();
  variable->initializer->a = value;
  variable->trainable = true;
  table.variables.push_back(std::move(variable));
  return static_cast<uint32_t>(table.variables.size() - 1);
}

uint64_t TestPlan::AddConstant(const void* data, size_t bytes) {
  const size_t offset = (table.constants.size() + 63) / 64 * 64;
  table.constants.resize(offset + bytes);
  std::memcpy(table.constants.data() + offset, data, bytes);
  return offset;
}

void TestPlan::UseTestKernels() {
  // Tests that were built on another machine find the kernels through SINTER_TEST_KERNELS.
  const char* const brought = std::getenv("SINTER_TEST_KERNELS");
  absl::StatusOr<FileBytes> file = FileBytes::Read(brought == nullptr ? SINTER_TEST_KERNELS : brought);
  SINTER_CHECK(file.ok()) << file.status();
  const auto* const bytes = reinterpret_cast<const uint8_t*>(file->bytes().data());
  table.shared_object.assign(bytes, bytes + file->bytes().size());
}

namespace {

// Replaces Plan::Pack: FlatBuffers 2 refuses to align vectors to 64.
flatbuffers::Offset<flatbuffers::Vector<uint8_t>> PackAligned(flatbuffers::FlatBufferBuilder& builder,
                                                              const std::vector<uint8_t>& bytes) {
  if (bytes.empty()) return 0;
  builder.PreAlign(bytes.size(), 64);
  return builder.CreateVector(bytes);
}

template <typename Table>
auto PackAll(flatbuffers::FlatBufferBuilder& builder,
             const std::vector<std::unique_ptr<typename Table::NativeTableType>>& tables) {
  std::vector<flatbuffers::Offset<Table>> offsets;
  for (const auto& table : tables) offsets.push_back(Table::Pack(builder, table.get()));
  return builder.CreateVector(offsets);
}

}  // namespace

std::string TestPlan::Bytes() const {
  flatbuffers::FlatBufferBuilder builder;
  const auto constants = PackAligned(builder, table.constants);
  const auto shared_object = PackAligned(builder, table.shared_object);
  const auto producer = builder.CreateString(table.producer), name = builder.CreateString(table.name);
  const auto hash = builder.CreateVector(table.content_hash);
  const auto target = table.target == nullptr ? 0 : fb::Target::Pack(builder, table.target.get());
  const auto variables = PackAll<fb::Variable>(builder, table.variables);
  const auto functions = PackAll<fb::Function>(builder, table.functions);
  const auto locations = PackAll<fb::SourceLocation>(builder, table.locations);
  // Omits empty lists, as earlier file versions do.
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::DeviceName>>> devices = 0;
  if (!table.devices.empty()) devices = PackAll<fb::DeviceName>(builder, table.devices);
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::GpuKernel>>> gpu_kernels = 0;
  if (!table.gpu_kernels.empty()) gpu_kernels = PackAll<fb::GpuKernel>(builder, table.gpu_kernels);
  std::vector<flatbuffers::Offset<fb::CpuCode>> better_code;
  for (const auto& code : table.better_code) {
    const auto bytes = PackAligned(builder, code->shared_object);
    const auto whose = code->target == nullptr ? 0 : fb::Target::Pack(builder, code->target.get());
    better_code.push_back(fb::CreateCpuCode(builder, whose, bytes));
  }
  const auto better = better_code.empty() ? 0 : builder.CreateVector(better_code);
  const auto mesh = table.mesh == nullptr ? 0 : fb::Mesh::Pack(builder, table.mesh.get());
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::RankValue>>> rank_values = 0;
  if (!table.rank_values.empty()) rank_values = PackAll<fb::RankValue>(builder, table.rank_values);
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::ExchangeReason>>> reasons = 0;
  if (!table.exchange_reasons.empty()) reasons = PackAll<fb::ExchangeReason>(builder, table.exchange_reasons);
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>> notes = 0;
  if (!table.whole_notes.empty()) notes = builder.CreateVectorOfStrings(table.whole_notes);
  flatbuffers::Offset<flatbuffers::Vector<flatbuffers::Offset<fb::Function>>> fragments = 0;
  if (!table.fragments.empty()) fragments = PackAll<fb::Function>(builder, table.fragments);
  builder.Finish(fb::CreatePlan(builder, table.version, producer, name, hash, target, variables, functions,
                                locations, constants, shared_object, devices, gpu_kernels, better, mesh,
                                rank_values, reasons, notes, fragments),
                 fb::PlanIdentifier());
  std::string bytes(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  // Ignores the error of a plan without room for the hash: some tests want such a plan.
  (void)SealPlan(bytes);
  return bytes;
}

absl::StatusOr<Session> TestPlan::MakeSession(const SessionOptions& options) const {
  SINTER_ASSIGN_OR_RETURN(Plan plan, Make());
  return Session::Create(std::move(plan), options);
}

TestFunction::TestFunction(TestPlan& plan, std::vector<std::unique_ptr<fb::FunctionT>>& list,
                           const std::string& name)
    : plan_(plan) {
  if (&list == &plan.table.fragments) plan.table.version = Plan::LeastVersion({.fragments = true});
  list.push_back(std::make_unique<fb::FunctionT>());
  table_ = list.back().get();
  table_->name = name;
  if (plan.table.devices.size() > 1) table_->more_arena_bytes.resize(plan.table.devices.size() - 1);
}

uint32_t TestFunction::Buffer(fb::Space space, uint32_t index, uint64_t offset, DType dtype,
                              const std::vector<int64_t>& shape, uint32_t device) {
  auto buffer = std::make_unique<fb::BufferT>();
  buffer->space = space;
  buffer->index = index;
  buffer->offset = offset;
  buffer->device = device;
  buffer->type = std::make_unique<fb::TensorTypeT>(MakeType(dtype, shape));
  buffer->bytes = BytesOf(dtype, shape);
  table_->buffers.push_back(std::move(buffer));
  return static_cast<uint32_t>(table_->buffers.size() - 1);
}

uint32_t TestFunction::Input(const std::string& name, DType dtype, const std::vector<int64_t>& shape,
                             uint32_t device) {
  auto port = std::make_unique<fb::PortT>();
  port->name = name;
  port->type = std::make_unique<fb::TensorTypeT>(MakeType(dtype, shape));
  port->buffer =
      Buffer(fb::Space::Input, static_cast<uint32_t>(table_->inputs.size()), 0, dtype, shape, device);
  table_->inputs.push_back(std::move(port));
  return table_->inputs.back()->buffer;
}

uint32_t TestFunction::InputOn(uint32_t buffer, uint32_t device) {
  table_->buffers.push_back(std::make_unique<fb::BufferT>(*table_->buffers[buffer]));
  table_->buffers.back()->device = device;
  return static_cast<uint32_t>(table_->buffers.size() - 1);
}

uint32_t TestFunction::Arena(DType dtype, const std::vector<int64_t>& shape, uint32_t device) {
  uint64_t& arena_bytes = device == 0 ? table_->arena_bytes : table_->more_arena_bytes[device - 1];
  const uint64_t offset = (arena_bytes + 63) / 64 * 64;
  arena_bytes = offset + BytesOf(dtype, shape);
  return Buffer(fb::Space::Arena, 0, offset, dtype, std::move(shape), device);
}

uint32_t TestFunction::Variable(uint32_t index) {
  const fb::TensorTypeT& type = *plan_.table.variables[index]->type;
  return Buffer(fb::Space::Variable, index, 0, static_cast<DType>(type.dtype), type.shape,
                plan_.table.variables[index]->device);
}

uint32_t TestFunction::RowsOf(uint32_t input, uint64_t offset, const std::vector<int64_t>& shape,
                              std::vector<int64_t> rank_strides) {
  const fb::BufferT whole = *table_->buffers[input];
  const uint32_t made = Buffer(fb::Space::Input, whole.index, offset, static_cast<DType>(whole.type->dtype),
                               shape, whole.device);
  table_->buffers[made]->rank_strides = std::move(rank_strides);
  return made;
}

uint32_t TestFunction::RankValue(uint32_t index, uint32_t device) {
  return Buffer(fb::Space::RankValue, index, 0, DType::kI64, {}, device);
}

void TestFunction::RunsOn(const std::vector<std::pair<uint32_t, uint32_t>>& ranges) {
  table_->ranks.clear();
  for (const auto& [begin, end] : ranges) table_->ranks.emplace_back(begin, end);
}

void TestFunction::Output(const std::string& name, uint32_t buffer) {
  auto port = std::make_unique<fb::PortT>();
  port->name = name;
  port->type = std::make_unique<fb::TensorTypeT>(*table_->buffers[buffer]->type);
  port->buffer = buffer;
  table_->outputs.push_back(std::move(port));
}

template <typename Body>
fb::StepT& TestFunction::Add(const std::string& name, const Body& body, std::vector<uint32_t> inputs,
                             std::vector<uint32_t> outputs) {
  auto step = std::make_unique<fb::StepT>();
  step->name = name;
  step->body.Set(Body(body));
  step->inputs = std::move(inputs);
  step->outputs = std::move(outputs);
  step->locations = {0};
  if (!step->outputs.empty()) step->device = table_->buffers[step->outputs[0]]->device;
  table_->steps.push_back(std::move(step));
  return *table_->steps.back();
}

fb::StepT& TestFunction::Kernel(const std::string& symbol, std::vector<uint32_t> inputs,
                                std::vector<uint32_t> outputs, int64_t units, int64_t grain,
                                uint64_t scratch_bytes) {
  if (plan_.table.shared_object.empty()) plan_.UseTestKernels();
  fb::KernelStepT body;
  body.symbol = symbol;
  body.units = units;
  body.grain = grain;
  body.scratch_bytes = scratch_bytes;
  return Add(symbol, body, std::move(inputs), std::move(outputs));
}

fb::StepT& TestFunction::GpuKernel(const std::string& symbol, std::vector<uint32_t> inputs,
                                   std::vector<uint32_t> outputs, uint32_t grid, uint32_t block) {
  fb::GpuKernelStepT body;
  body.kernel = plan_.AddGpuKernel(symbol);
  body.grid = grid;
  body.block = block;
  return Add(symbol, body, std::move(inputs), std::move(outputs));
}

fb::StepT& TestFunction::Copy(uint32_t from, uint32_t to) {
  fb::CopyStepT body;
  body.bytes = table_->buffers[from]->bytes;
  return Add("copy", body, {from}, {to});
}

uint32_t TestFunction::Parameter(DType dtype, const std::vector<int64_t>& shape, bool is_written) {
  auto parameter = std::make_unique<fb::ParameterT>();
  parameter->bytes = BytesOf(dtype, shape);
  parameter->is_written = is_written;
  table_->parameters.push_back(std::move(parameter));
  return Buffer(fb::Space::Parameter, static_cast<uint32_t>(table_->parameters.size() - 1), 0, dtype, shape);
}

fb::StepT& TestFunction::Loop(uint32_t fragment, int64_t trips,
                              const std::vector<fb::LoopArgumentT>& arguments, std::vector<uint32_t> inputs,
                              std::vector<uint32_t> outputs) {
  fb::LoopStepT body;
  body.fragment = fragment;
  body.trips = trips;
  for (const fb::LoopArgumentT& argument : arguments) {
    body.arguments.push_back(std::make_unique<fb::LoopArgumentT>(argument));
  }
  const uint64_t frame = plan_.table.fragments[fragment]->arena_bytes;
  fb::StepT& step = Add("loop", body, std::move(inputs), std::move(outputs));
  step.workspace_bytes = frame;
  step.workspace_offset = (table_->arena_bytes + 63) / 64 * 64;
  if (frame > 0) table_->arena_bytes = step.workspace_offset + frame;
  return step;
}

fb::StepT& TestFunction::Catalog(const std::string& kernel, std::vector<int64_t> parameters,
                                 std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) {
  fb::CatalogStepT body;
  body.kernel = kernel;
  body.parameters = std::move(parameters);
  return Add(kernel, body, std::move(inputs), std::move(outputs));
}

fb::StepT& TestFunction::Matmul(const fb::MatmulStepT& step, std::vector<uint32_t> inputs,
                                std::vector<uint32_t> outputs) {
  const uint32_t least = Plan::LeastVersion({.wide_integer_matmul = step.result_is_i32});
  plan_.table.version = std::max(plan_.table.version, least);
  return Add("matmul", step, std::move(inputs), std::move(outputs));
}
fb::StepT& TestFunction::CollectiveLayout(const fb::CollectiveStepT& step, std::vector<uint32_t> inputs,
                                          std::vector<uint32_t> outputs) {
  fb::StepT& made = Add("exchange", step, std::move(inputs), std::move(outputs));
  made.device = step.group[step.rank];
  return made;
}
fb::StepT& TestFunction::ExchangeOver(std::vector<uint32_t> axes, fb::CollectiveStepT step,
                                      std::vector<uint32_t> inputs, std::vector<uint32_t> outputs) {
  const std::vector<uint32_t>& tensors = inputs.empty() ? outputs : inputs;
  step.dtype = table_->buffers[tensors[0]]->type->dtype;
  for (const uint32_t tensor : tensors) {
    const fb::BufferT& buffer = *table_->buffers[tensor];
    step.elements.push_back(static_cast<int64_t>(buffer.bytes) / SizeOf(static_cast<DType>(step.dtype)));
  }
  step.axes = std::move(axes);
  step.epoch = ++exchanges_;
  step.channel = static_cast<uint32_t>(exchanges_);
  const uint32_t device = table_->buffers[tensors[0]]->device;
  fb::StepT& made = Add("exchange", step, std::move(inputs), std::move(outputs));
  made.device = device;
  return made;
}
fb::StepT& TestFunction::Conv(const fb::ConvStepT& step, std::vector<uint32_t> inputs,
                              std::vector<uint32_t> outputs) {
  return Add("conv", step, std::move(inputs), std::move(outputs));
}
fb::StepT& TestFunction::Attention(const fb::AttentionStepT& step, std::vector<uint32_t> inputs,
                                   std::vector<uint32_t> outputs) {
  return Add("attention", step, std::move(inputs), std::move(outputs));
}
fb::StepT& TestFunction::Pool(const fb::PoolStepT& step, std::vector<uint32_t> inputs,
                              std::vector<uint32_t> outputs) {
  return Add("pool", step, std::move(inputs), std::move(outputs));
}

}  // namespace sinter
