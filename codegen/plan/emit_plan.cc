#include "sinter/codegen/plan/emit_plan.h"

#include <chrono>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sinter/codegen/cpu/shared_object.h"
#include "sinter/codegen/places/user_line.h"
#include "sinter/codegen/plan/backends.h"
#include "sinter/codegen/plan/device_code.h"
#include "sinter/codegen/plan/plan_function.h"
#include "sinter/ir/dialect/initial_values.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/program/collective.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/plan.h"
#include "sinter/runtime/plan/plan_verifier.h"

namespace sinter::codegen {

using flatbuffers::Offset;

namespace {

constexpr size_t kSectionAlignment = 64;

static_assert(static_cast<int>(ir::Initializer::orthogonal) ==
              static_cast<int>(fb::InitializerKind::Orthogonal));
static_assert(static_cast<int>(ir::DeviceKind::cpu) == static_cast<int>(fb::DeviceKind::Cpu));
static_assert(static_cast<int>(ir::DeviceKind::gpu) == static_cast<int>(fb::DeviceKind::Gpu));

SharedObjectOptions CompileOptionsOf(const EmitOptions& options) {
  SharedObjectOptions compile;
  compile.opt_level = options.opt_level;
  compile.threads = options.threads;
  return compile;
}

ir::DeviceAttr DeviceOfVariable(ir::VariableOp variable) {
  ir::DeviceAttr device = ir::DeviceOf(variable.getOperation());
  return device ? device : ir::DeviceAttr::cpu(variable.getContext());
}

// Returns every device that holds or runs something, CPUs before GPUs; cpu:0 if nothing is placed.
std::vector<ir::DeviceAttr> DevicesOf(mlir::ModuleOp module) {
  std::vector<ir::DeviceAttr> devices;
  auto add = [&](ir::DeviceAttr device) {
    if (!llvm::is_contained(devices, device)) devices.push_back(device);
  };
  for (auto variable : module.getOps<ir::VariableOp>()) add(DeviceOfVariable(variable));
  for (auto function : module.getOps<plan_ir::FunctionOp>()) {
    for (ir::DeviceAttr device : function.deviceList()) add(device);
  }
  if (devices.empty()) add(ir::DeviceAttr::cpu(module.getContext()));
  llvm::sort(devices, [](ir::DeviceAttr a, ir::DeviceAttr b) { return a.before(b); });
  return devices;
}

// The part of the variable that a rank holds; 0 if it holds all.
Offset<fb::VariableBox> WriteBox(flatbuffers::FlatBufferBuilder& builder, ir::VariableOp variable) {
  auto box = variable->getAttrOfType<ir::BoxAttr>(ir::kBoxAttr);
  if (!box) return 0;
  std::vector<Offset<fb::BoxExtent>> extents;
  for (auto [size, part, first] : llvm::zip(box.getExtents(), box.getSizes(), box.getFirsts())) {
    const llvm::ArrayRef<int64_t> strides =
        first.empty() ? llvm::ArrayRef<int64_t>() : first.asArrayRef().drop_front();
    Offset<flatbuffers::Vector<int64_t>> list = 0;
    if (!strides.empty()) list = builder.CreateVector(strides.data(), strides.size());
    extents.push_back(fb::CreateBoxExtent(builder, size, part, first.empty() ? 0 : first[0], list));
  }
  const llvm::ArrayRef<int64_t> shape = box.getWhole().getShape();
  auto list = builder.CreateVector(shape.data(), shape.size());
  return fb::CreateVariableBox(builder, list, builder.CreateVector(extents));
}

// The axes over which ranks hold terms of the variable; 0 if they hold its value.
Offset<flatbuffers::Vector<uint32_t>> WriteSumAxes(flatbuffers::FlatBufferBuilder& builder,
                                                   ir::VariableOp variable) {
  auto names = variable->getAttrOfType<mlir::ArrayAttr>(ir::kSumAxesAttr);
  if (!names) return 0;
  const ir::MeshAttr mesh = ir::MeshOf(variable);
  std::vector<uint32_t> axes;
  for (auto name : names.getAsRange<mlir::StringAttr>()) {
    axes.push_back(static_cast<uint32_t>(*mesh.find(name)));
  }
  return builder.CreateVector(axes);
}

Offset<fb::Initializer> WriteInitializer(flatbuffers::FlatBufferBuilder& builder, ir::VariableOp variable) {
  auto kind = static_cast<fb::InitializerKind>(variable.getInitializer());
  double low = 0, high = 0;
  if (auto range = variable->getAttrOfType<mlir::DenseF64ArrayAttr>(ir::kInitialRangeAttr)) {
    kind = fb::InitializerKind::TruncatedNormal;
    low = range[0], high = range[1];
  }
  Offset<flatbuffers::Vector<uint8_t>> values;
  if (auto dense = variable->getAttrOfType<mlir::DenseElementsAttr>(ir::kInitialValuesAttr)) {
    kind = fb::InitializerKind::Values;
    if (!variable->hasAttr(ir::kReplicaOfAttr)) {
      const std::string bytes = RawBytes(dense);
      values = builder.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    }
  }
  return fb::CreateInitializer(builder, kind, variable.getA().convertToDouble(),
                               variable.getB().convertToDouble(), variable.getSeed(), low, high, values);
}

std::vector<Offset<fb::Variable>> WriteVariables(mlir::ModuleOp module, PlanContents& plan) {
  std::vector<Offset<fb::Variable>> variables;
  flatbuffers::FlatBufferBuilder& builder = plan.builder;
  // One more than the original's index; 0 for a variable that is no replica. Originals come before their
  // replicas.
  auto replica_of = [&](ir::VariableOp variable) -> uint32_t {
    auto original = variable->getAttrOfType<mlir::FlatSymbolRefAttr>(ir::kReplicaOfAttr);
    return original ? 1 + plan.variables.at(original.getValue().str()) : 0;
  };
  for (auto variable : module.getOps<ir::VariableOp>()) {
    plan.variables[variable.getSymName().str()] = variables.size();
    auto type = llvm::cast<mlir::RankedTensorType>(variable.getType());
    auto name = builder.CreateString(variable.getSymName().str());
    auto initializer = WriteInitializer(builder, variable);
    auto box = WriteBox(builder, variable);
    auto sum_axes = WriteSumAxes(builder, variable);
    llvm::SmallVector<UserLocation> lines = UserLocations(variable.getLoc());
    uint32_t location = plan.locations.Add(lines.empty() ? UserLocation{} : lines.front());
    variables.push_back(fb::CreateVariable(builder, name, WriteType(builder, type),
                                           plan_ir::TensorBytes(type), initializer, variable.getTrainable(),
                                           location, plan.DeviceIndex(DeviceOfVariable(variable)),
                                           replica_of(variable), box, sum_axes));
  }
  return variables;
}

Offset<flatbuffers::Vector<uint8_t>> WriteSection(flatbuffers::FlatBufferBuilder& builder,
                                                  const std::string& bytes) {
  // An empty vector would not be aligned; a missing one has the same meaning.
  if (bytes.empty()) return 0;
  // ForceVectorAlignment does not work here: FlatBuffers 2 asserts an alignment of at most 32.
  builder.PreAlign(bytes.size(), kSectionAlignment);
  return builder.CreateVector(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
}

Offset<fb::Target> WriteTarget(flatbuffers::FlatBufferBuilder& builder, const CpuTarget& target) {
  auto triple = builder.CreateString(target.triple), cpu = builder.CreateString(target.cpu);
  return fb::CreateTarget(builder, triple, cpu, builder.CreateVectorOfStrings(target.required_features));
}

// True if the CPU computes something. Copies and collectives do not count: they are the same on all CPUs.
bool ComputesOnCpus(mlir::ModuleOp module) {
  return module
      .walk([](plan_ir::CallOp call) {
        mlir::Operation* op = call.libraryOp();
        bool computes =
            ir::TargetModel::Of(call).kernels == ir::KernelForm::kLlvm && !(op && ir::Collective::Of(op));
        return computes ? mlir::WalkResult::interrupt() : mlir::WalkResult::advance();
      })
      .wasInterrupted();
}

// Writes the code of all targets except the last one, whose code is in the plan table itself.
using CodeTable = Offset<flatbuffers::Vector<Offset<fb::CpuCode>>>;
CodeTable WriteBetterCode(flatbuffers::FlatBufferBuilder& builder, const std::vector<CpuTarget>& targets,
                          const std::vector<std::string>& shared_objects) {
  if (shared_objects.size() < 2) return 0;
  std::vector<Offset<fb::CpuCode>> tables;
  for (size_t i = 0; i + 1 < shared_objects.size(); ++i) {
    auto code = WriteSection(builder, shared_objects[i]);
    tables.push_back(fb::CreateCpuCode(builder, WriteTarget(builder, targets[i]), code));
  }
  return builder.CreateVector(tables);
}

// Only registered kinds are named: the numbers of the others are those of the file.
Offset<fb::DeviceName> WriteDevice(flatbuffers::FlatBufferBuilder& builder, ir::DeviceAttr device) {
  const ir::DeviceKind kind = device.getKind();
  if (kind == ir::DeviceKind::cpu || kind == ir::DeviceKind::gpu) {
    return fb::CreateDeviceName(builder, static_cast<fb::DeviceKind>(kind), device.getIndex());
  }
  auto name = builder.CreateString(ir::stringifyDeviceKind(kind).str());
  return fb::CreateDeviceName(builder, fb::DeviceKind::Named, device.getIndex(), name);
}

// A plan for cpu:0 alone has no device list.
Offset<flatbuffers::Vector<Offset<fb::DeviceName>>> WriteDevices(PlanContents& plan) {
  if (plan.devices.size() == 1 && plan.devices[0] == ir::DeviceAttr::cpu(plan.devices[0].getContext()))
    return 0;
  std::vector<Offset<fb::DeviceName>> names;
  for (ir::DeviceAttr device : plan.devices) {
    names.push_back(WriteDevice(plan.builder, device));
  }
  return plan.builder.CreateVector(names);
}

// Returns the devices of all ranks that the plan uses, one rank after the other. `of_ranks` also has devices
// that the program names and nothing runs on.
std::vector<ir::DeviceAttr> UsedDevices(mlir::ArrayAttr of_ranks, int64_t ranks,
                                        llvm::ArrayRef<ir::DeviceAttr> used_by_first) {
  const std::vector<ir::DeviceAttr> all(of_ranks.getAsRange<ir::DeviceAttr>().begin(),
                                        of_ranks.getAsRange<ir::DeviceAttr>().end());
  const size_t cell = all.size() / static_cast<size_t>(ranks);
  std::vector<ir::DeviceAttr> used;
  for (size_t first = 0; first < all.size(); first += cell) {
    for (size_t i = 0; i < cell; ++i) {
      if (llvm::is_contained(used_by_first, all[i])) used.push_back(all[first + i]);
    }
  }
  return used;
}

// True if a reader finds these devices without a list: those of rank 0, then as many further indices for
// each rank.
bool AreInTurn(llvm::ArrayRef<ir::DeviceAttr> devices, llvm::ArrayRef<ir::DeviceAttr> of_first) {
  for (auto [i, device] : llvm::enumerate(devices)) {
    const ir::DeviceAttr first = of_first[i % of_first.size()];
    const auto further = static_cast<int64_t>(i / of_first.size() * of_first.size());
    if (device.getKind() != first.getKind() || device.getIndex() != first.getIndex() + further) return false;
  }
  return true;
}

// Returns 0 if the program has one rank.
Offset<fb::Mesh> WriteMesh(PlanContents& plan, mlir::ModuleOp module) {
  ir::MeshAttr mesh = ir::MeshOf(module);
  if (!mesh) return 0;
  flatbuffers::FlatBufferBuilder& builder = plan.builder;
  std::vector<Offset<fb::MeshAxis>> axes;
  for (auto [name, size] : llvm::zip_equal(mesh.getNames(), mesh.getSizes())) {
    axes.push_back(
        fb::CreateMeshAxis(builder, builder.CreateString(name.str()), static_cast<uint32_t>(size)));
  }
  std::vector<Offset<fb::DeviceName>> names;
  if (auto listed = module->getAttrOfType<mlir::ArrayAttr>(ir::kMeshDevicesAttr)) {
    const std::vector<ir::DeviceAttr> devices = UsedDevices(listed, mesh.ranks(), plan.devices);
    if (!AreInTurn(devices, plan.devices)) {
      for (ir::DeviceAttr device : devices) names.push_back(WriteDevice(builder, device));
    }
  }
  auto axis_table = builder.CreateVector(axes);
  Offset<flatbuffers::Vector<Offset<fb::DeviceName>>> device_table;
  if (!names.empty()) device_table = builder.CreateVector(names);
  return fb::CreateMesh(builder, axis_table, device_table);
}

Offset<flatbuffers::Vector<Offset<fb::RankValue>>> WriteRankValues(PlanContents& plan) {
  if (plan.rank_values.empty()) return 0;
  std::vector<Offset<fb::RankValue>> values;
  for (const RankNumber& number : plan.rank_values) {
    values.push_back(
        fb::CreateRankValue(plan.builder, number.constant, plan.builder.CreateVector(number.strides)));
  }
  return plan.builder.CreateVector(values);
}

// Returns 0 if no reason is known.
Offset<flatbuffers::Vector<Offset<fb::ExchangeReason>>> WriteReasons(PlanContents& plan) {
  std::vector<Offset<fb::ExchangeReason>> tables;
  for (const ExchangeReason& reason : plan.reasons.reasons()) {
    const auto text = plan.builder.CreateString(reason.text);
    tables.push_back(
        fb::CreateExchangeReason(plan.builder, text, plan.builder.CreateVector(reason.locations)));
  }
  if (tables.empty()) return 0;
  return plan.builder.CreateVector(tables);
}

Offset<flatbuffers::Vector<Offset<flatbuffers::String>>> WriteNotes(PlanContents& plan,
                                                                    const std::vector<std::string>& notes) {
  std::vector<std::string> texts;
  for (const std::string& note : notes) texts.push_back(ReasonText(note));
  if (texts.empty()) return 0;
  return plan.builder.CreateVectorOfStrings(texts);
}

using GpuKernelTable = Offset<flatbuffers::Vector<Offset<fb::GpuKernel>>>;

double MsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// Compiles the sources for every requested architecture. Returns an empty table if there are no GPU kernels.
absl::StatusOr<GpuKernelTable> WriteGpuKernels(PlanContents& plan, const std::vector<CudaSource>& sources,
                                               const EmitOptions& options, EmitTimes& times) {
  if (sources.empty()) return GpuKernelTable();
  if (options.gpu_architectures.empty()) {
    return absl::InvalidArgumentError(
        "the program runs on a GPU and gpu_architectures is empty; name what to compile for, such as sm_90");
  }
  const auto start = std::chrono::steady_clock::now();
  SINTER_ASSIGN_OR_RETURN(auto images,
                          CompileDeviceCode(sources, options.gpu_architectures, options.threads));
  times.cubins = MsSince(start);
  flatbuffers::FlatBufferBuilder& builder = plan.builder;
  std::vector<Offset<fb::GpuKernel>> kernels;
  for (auto [source, images_of_source] : llvm::zip(sources, images)) {
    std::vector<Offset<fb::GpuImage>> tables;
    for (auto [architecture, image] : llvm::zip(options.gpu_architectures, images_of_source)) {
      auto name = builder.CreateString(source.TargetOf(architecture));
      tables.push_back(fb::CreateGpuImage(builder, name, WriteSection(builder, image)));
    }
    auto symbol = builder.CreateString(source.symbol);
    kernels.push_back(
        fb::CreateGpuKernel(builder, symbol, builder.CreateVector(tables), source.has_programmatic_launch));
  }
  return builder.CreateVector(kernels);
}

// The tables of a plan's content, and its code for CPUs.
struct PlanTables {
  std::vector<Offset<fb::Variable>> variables;
  std::vector<Offset<fb::Function>> functions, fragments;
  Offset<fb::Mesh> mesh;
  std::vector<std::string> shared_objects;  // One a target; empty without code.
  bool computes_on_cpus = false;
};

absl::StatusOr<std::string> Finish(PlanContents& plan, const EmitOptions& options, const PlanTables& tables,
                                   const std::vector<CudaSource>& sources, EmitTimes& times) {
  flatbuffers::FlatBufferBuilder& builder = plan.builder;
  std::vector<Offset<fb::SourceLocation>> lines;
  for (const UserLocation& location : plan.locations.locations()) {
    auto file = builder.CreateString(location.file), what = builder.CreateString(location.what);
    lines.push_back(fb::CreateSourceLocation(builder, file, location.line, what));
  }
  auto locations = builder.CreateVector(lines);
  auto variable_table = builder.CreateVector(tables.variables);
  auto function_table = builder.CreateVector(tables.functions);
  Offset<flatbuffers::Vector<Offset<fb::Function>>> fragment_table;
  if (!tables.fragments.empty()) fragment_table = builder.CreateVector(tables.fragments);
  Offset<fb::Target> target = 0;
  if (tables.computes_on_cpus) target = WriteTarget(builder, options.targets.back());
  auto producer = builder.CreateString(options.producer), name = builder.CreateString(options.name);
  auto hash = builder.CreateVector(std::vector<uint8_t>(kPlanHashBytes, 0));
  auto constants = WriteSection(builder, plan.constants.bytes());
  const std::vector<std::string>& shared_objects = tables.shared_objects;
  auto code = shared_objects.empty() ? Offset<flatbuffers::Vector<uint8_t>>()
                                     : WriteSection(builder, shared_objects.back());
  auto better_code = WriteBetterCode(builder, options.targets, shared_objects);
  auto devices = WriteDevices(plan);
  auto rank_values = WriteRankValues(plan);
  auto reasons = WriteReasons(plan);
  auto notes = WriteNotes(plan, options.whole_notes);
  SINTER_ASSIGN_OR_RETURN(GpuKernelTable gpu_kernels, WriteGpuKernels(plan, sources, options, times));
  Plan::Content content = plan.content;
  content |= {.mesh = !tables.mesh.IsNull(), .fragments = !tables.fragments.empty()};
  fb::FinishPlanBuffer(builder, fb::CreatePlan(builder, Plan::LeastVersion(content), producer, name, hash,
                                               target, variable_table, function_table, locations, constants,
                                               code, devices, gpu_kernels, better_code, tables.mesh,
                                               rank_values, reasons, notes, fragment_table));
  std::string bytes(reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize());
  SINTER_RETURN_IF_ERROR(SealPlan(bytes));
  return bytes;
}

// Writes the functions of the module, and adds the code of all calls to `backends`.
absl::StatusOr<PlanTables> WriteTables(mlir::ModuleOp module, PlanContents& plan, Backends& backends) {
  PlanTables tables;
  plan.devices = DevicesOf(module);
  tables.variables = WriteVariables(module, plan);
  // A fragment is written before what runs it.
  for (auto function : module.getOps<plan_ir::FunctionOp>()) {
    SINTER_ASSIGN_OR_RETURN(const Offset<fb::Function> written, WriteFunction(function, plan, backends));
    (function.getFragment() ? tables.fragments : tables.functions).push_back(written);
  }
  tables.mesh = WriteMesh(plan, module);
  tables.computes_on_cpus = ComputesOnCpus(module);
  return tables;
}

// Returns the code for each target as text, with the target's name before it if there are several.
absl::StatusOr<std::string> CpuCodeText(CpuCode& code, const EmitOptions& options, KernelText kind) {
  const SharedObjectOptions compile = CompileOptionsOf(options);
  auto text_of = [&](std::unique_ptr<llvm::Module> module,
                     const CpuTarget& target) -> absl::StatusOr<std::string> {
    if (kind == KernelText::kAssembly) return EmitAssembly(std::move(module), target, compile);
    if (kind == KernelText::kOptimizedLlvm) return EmitOptimizedIr(std::move(module), target, compile);
    std::string text;
    llvm::raw_string_ostream stream(text);
    module->print(stream, nullptr);
    return text;
  };
  SINTER_ASSIGN_OR_RETURN(std::vector<std::string> texts, code.Compile(options.targets, text_of));
  std::string all;
  for (auto [target, text] : llvm::zip(options.targets, texts)) {
    if (options.targets.size() > 1) absl::StrAppend(&all, "// For ", target.cpu, "\n");
    all += text;
  }
  return all;
}

}  // namespace

absl::StatusOr<std::string> EmitPlan(mlir::ModuleOp module, const EmitOptions& options, EmitTimes* times) {
  EmitTimes ignored;
  if (!times) times = &ignored;
  PlanContents plan;
  Backends backends(module.getContext());
  SINTER_ASSIGN_OR_RETURN(PlanTables tables, WriteTables(module, plan, backends));
  if (!backends.cpu_code().empty()) {
    const auto start = std::chrono::steady_clock::now();
    const SharedObjectOptions compile = CompileOptionsOf(options);
    auto emit = [&](std::unique_ptr<llvm::Module> code, const CpuTarget& target) {
      return EmitSharedObject(std::move(code), target, compile);
    };
    SINTER_ASSIGN_OR_RETURN(tables.shared_objects, backends.cpu_code().Compile(options.targets, emit));
    times->shared_object = MsSince(start);
  }
  return Finish(plan, options, tables, backends.cuda_kernels().sources(), *times);
}

absl::StatusOr<std::string> DumpKernels(mlir::ModuleOp module, const EmitOptions& options, KernelText kind) {
  PlanContents plan;
  Backends backends(module.getContext());
  SINTER_RETURN_IF_ERROR(WriteTables(module, plan, backends).status());
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (kind == KernelText::kCuda) {
    for (const CudaSource& source : backends.cuda_kernels().sources()) stream << source.text << "\n";
    return text;
  }
  if (kind == KernelText::kMlir) {
    backends.cpu_code().fused().module().print(stream);
    return text;
  }
  return CpuCodeText(backends.cpu_code(), options, kind);
}

}  // namespace sinter::codegen
