#include "sinter/frontend/compile/compile.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "sinter/codegen/cpu/target_machine.h"
#include "sinter/codegen/plan/emit_plan.h"
#include "sinter/codegen/plan/passes.h"
#include "sinter/frontend/compile/find_exchanges.h"
#include "sinter/frontend/compile/gpu_architectures.h"
#include "sinter/frontend/compile/program_mesh.h"
#include "sinter/frontend/compile/stages.h"
#include "sinter/frontend/graph/diagnostics.h"
#include "sinter/frontend/graph/graph_state.h"
#include "sinter/ir/parse_program.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/passes/passes.h"
#include "sinter/runtime/execute/index_checks.h"
#include "sinter/runtime/host/cpu_features.h"
#include "sinter/runtime/host/environment.h"
#include "sinter/runtime/host/status.h"
#include "sinter/runtime/plan/gpu_limits.h"

namespace sinter {

namespace {

absl::Status CheckBytes(const CompileOptions& options) {
  for (auto [name, bytes] : {std::pair("memory_limit", options.memory_limit),
                             std::pair("row_chunk_bytes", options.row_chunk_bytes)}) {
    if (bytes >= 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("CompileOptions::", name, " is ", bytes, ": give a number of bytes, or 0 for no limit"));
  }
  if (options.copied_sum_bytes < 0) {
    return absl::InvalidArgumentError(absl::StrCat("CompileOptions::copied_sum_bytes is ",
                                                   options.copied_sum_bytes,
                                                   ": give the bytes of the smallest sums that are exchanged "
                                                   "by copies, or 0 to let the compiler choose"));
  }
  if (options.scan_segments < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("CompileOptions::scan_segments is ", options.scan_segments,
                     ": give a number of segments, 1 for none, or 0 to let the compiler choose"));
  }
  if (options.exchange_parts < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("CompileOptions::exchange_parts is ", options.exchange_parts,
                     ": give a number of parts, 1 for none, or 0 to let the compiler choose"));
  }
  if (options.memory_limit > 0 && !options.reuse_memory) {
    return absl::InvalidArgumentError(
        "CompileOptions::memory_limit cannot be kept where every value has bytes of its own: set "
        "reuse_memory");
  }
  return absl::OkStatus();
}

// Most segments that loops are cut into for a memory limit.
constexpr int64_t kMostSegments = 64;

// Dumps of the generated kernels, in addition to the stages.
constexpr std::pair<const char*, codegen::KernelText> kKernelDumps[] = {
    {"kernels", codegen::KernelText::kMlir},
    {"llvm", codegen::KernelText::kOptimizedLlvm},
    {"assembly", codegen::KernelText::kAssembly},
    {"cuda", codegen::KernelText::kCuda}};

double MsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

std::string Print(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, mlir::OpPrintingFlags().enableDebugInfo(/*enable=*/false));
  return text;
}

// The stage of a name in CompileOptions::dump_stages, which may be a name that the stage had earlier.
std::string_view StageOf(std::string_view name) { return name == "schedule" ? "order-calls" : name; }

absl::Status CheckDumpNames(const std::vector<std::string>& names) {
  std::vector<std::string> known = StageNames();
  for (const std::string& name : names) {
    if (name == "all" || std::find(known.begin(), known.end(), StageOf(name)) != known.end()) continue;
    std::string list;
    for (const std::string& k : known) absl::StrAppend(&list, list.empty() ? "" : ", ", k);
    return absl::InvalidArgumentError(
        absl::StrCat("dump_stages names \"", name, "\"; stages are all, ", list));
  }
  return absl::OkStatus();
}

// Returns LLVM's level for code of CPUs.
absl::StatusOr<int> CpuOptimization() {
  const std::string text = Environment("SINTER_CPU_OPTIMIZATION");
  if (text.empty()) return codegen::EmitOptions{}.opt_level;
  if (text.size() == 1 && text[0] >= '0' && text[0] <= '3') return text[0] - '0';
  return absl::InvalidArgumentError(
      absl::StrCat("SINTER_CPU_OPTIMIZATION is \"", text, "\": write 0, 1, 2 or 3"));
}

// Returns a number that differs, but for a chance of 2^-64, if the module has changed. Attributes are unique
// objects of their context, so their addresses stand for them. mlir::OperationFingerPrint is a SHA-1, which
// took four times as many samples of a profile.
uint64_t FingerPrint(mlir::ModuleOp module) {
  llvm::hash_code hash = 0;
  module->walk<mlir::WalkOrder::PreOrder>([&](mlir::Operation* op) {
    hash = llvm::hash_combine(hash, op, op->getParentOp(), op->getName().getAsOpaquePointer(),
                              op->getRawDictionaryAttrs().getAsOpaquePointer(), op->hashProperties(),
                              op->getLoc().getAsOpaquePointer());
    for (mlir::Type type : op->getResultTypes()) hash = llvm::hash_combine(hash, type.getAsOpaquePointer());
    for (mlir::Value operand : op->getOperands())
      hash = llvm::hash_combine(hash, operand.getAsOpaquePointer());
    for (mlir::Region& region : op->getRegions()) {
      for (mlir::Block& block : region) {
        for (mlir::BlockArgument argument : block.getArguments())
          hash = llvm::hash_combine(hash, argument.getAsOpaquePointer(),
                                    argument.getType().getAsOpaquePointer());
      }
    }
  });
  return hash;
}

// Simplifies a module, unless nothing has changed it since the last time. Most models have no loops, images
// or unit dimensions to rewrite, and simplifying a long program takes longer than finding that.
class Simplifier {
 public:
  mlir::LogicalResult Run(mlir::ModuleOp module, bool verify) {
    if (last_ == FingerPrint(module)) return mlir::success();
    mlir::PassManager manager(module.getContext(), mlir::ModuleOp::getOperationName());
    manager.enableVerifier(verify);
    AddSimplify(manager);
    const mlir::LogicalResult result = manager.run(module);
    last_ = FingerPrint(module);
    return result;
  }

 private:
  std::optional<uint64_t> last_;
};

bool WantsDump(const CompileOptions& options, const std::string& stage) {
  return std::any_of(options.dump_stages.begin(), options.dump_stages.end(),
                     [&](const std::string& s) { return s == "all" || StageOf(s) == stage; });
}

// A run of the pipeline.
struct Staged {
  absl::Status status;
  std::string failed_stage;  // Empty if none failed.
  CompileReport report;
  std::vector<std::string> whole_notes;
};

// Runs every stage on `module`, which is modified.
Staged RunStages(mlir::ModuleOp module, const CompileOptions& options) {
  Diagnostics diagnostics(module.getContext());
  Staged run;
  Simplifier simplifier;
  for (const Stage& stage : Pipeline()) {
    auto start = std::chrono::steady_clock::now();
    mlir::PassManager manager(module.getContext(), mlir::ModuleOp::getOperationName());
    manager.enableVerifier(options.verify_each_pass);
    stage.add(manager, options);
    if (options.verify_each_pass) manager.addPass(createVerifyPlacement());
    if (mlir::failed(manager.run(module)) ||
        (stage.simplifies && mlir::failed(simplifier.Run(module, options.verify_each_pass)))) {
      run.failed_stage = stage.name;
      run.status = diagnostics.Error(stage.name);
      return run;
    }
    std::vector<std::string> remarks = diagnostics.TakeRemarks();
    if (stage.explains_ranks) run.whole_notes.insert(run.whole_notes.end(), remarks.begin(), remarks.end());
    if (stage.remarks) {
      std::vector<std::string>& lines = run.report.*stage.remarks;
      lines.insert(lines.end(), remarks.begin(), remarks.end());
    }
    run.report.stage_ms.emplace_back(stage.name, MsSince(start));
    if (stage.name == "localise") run.report.exchanges = FindExchanges(module);
    if (!WantsDump(options, stage.name)) continue;
    run.report.dumps[stage.name] = Print(module);
    for (const std::string& name : options.dump_stages) {
      if (StageOf(name) == stage.name) run.report.dumps[name] = run.report.dumps[stage.name];
    }
  }
  return run;
}

bool HasLoopsAndGradients(mlir::ModuleOp module) {
  bool loops = false, gradients = false;
  module.walk([&](mlir::Operation* op) {
    loops |= llvm::isa<ir::ScanOp>(op), gradients |= llvm::isa<ir::GradientsOp>(op);
  });
  return loops && gradients;
}

// Runs every stage on `module`, which becomes the plan's. If the plan does not fit the memory limit, cuts
// loops into twice as many segments, and again. After the last trial the error is that of the one that needs
// the least memory.
Staged RunStagesToFit(mlir::OwningOpRef<mlir::ModuleOp>& module, CompileOptions options) {
  const bool may_cut =
      options.memory_limit > 0 && options.scan_segments == 0 && HasLoopsAndGradients(*module);
  if (!may_cut) return RunStages(*module, options);
  std::optional<Staged> best;
  int64_t least_bytes = 0;
  for (options.scan_segments = 1; options.scan_segments <= kMostSegments; options.scan_segments *= 2) {
    mlir::OwningOpRef<mlir::ModuleOp> trial = module->clone();
    Staged run = RunStages(*trial, options);
    if (run.failed_stage != "rematerialise") {
      module = std::move(trial);
      return run;
    }
    const int64_t bytes = (*trial)->getAttrOfType<mlir::IntegerAttr>(kLeastBytesAttr).getInt();
    if (best.has_value() && bytes >= least_bytes) continue;
    least_bytes = bytes;
    best = std::move(run);
  }
  return *std::move(best);
}

// Runs every stage on `module` and emits the plan. `unnamed` is the plan's name if the module has none.
absl::StatusOr<Plan> CompileModule(mlir::OwningOpRef<mlir::ModuleOp> owned, const std::string& unnamed,
                                   const CompileOptions& given, CompileReport& report) {
  SINTER_RETURN_IF_ERROR(CheckDumpNames(given.dump_stages));
  SINTER_RETURN_IF_ERROR(CheckBytes(given));
  SINTER_ASSIGN_OR_RETURN(const CompileOptions options, WithMesh(given, *owned));
  if (options.threads < 0) {
    return absl::InvalidArgumentError(absl::StrCat("CompileOptions::threads is ", options.threads,
                                                   ": give a number of threads, or 0 for one a core"));
  }
  SINTER_RETURN_IF_ERROR(CheckRunningCpu());
  SINTER_ASSIGN_OR_RETURN(std::vector<codegen::CpuTarget> targets,
                          codegen::ParseCpuTargets(options.target_cpu.names));
  SINTER_ASSIGN_OR_RETURN(const int opt_level, CpuOptimization());
  {
    Diagnostics diagnostics(owned->getContext());
    if (mlir::failed(mlir::verify(*owned))) return diagnostics.Error("verify");
  }
  SINTER_RETURN_IF_ERROR(SetMesh(*owned, options));
  Staged run = RunStagesToFit(owned, options);
  report = std::move(run.report);
  SINTER_RETURN_IF_ERROR(run.status);
  mlir::ModuleOp module = *owned;
  codegen::EmitOptions emit{.targets = std::move(targets),
                            .name = module.getName().value_or(unnamed).str(),
                            .opt_level = opt_level,
                            .threads = options.threads,
                            .gpu_architectures = ArchitecturesOf(options.gpu_architectures, module),
                            .whole_notes = std::move(run.whole_notes)};
  for (const auto& [name, kind] : kKernelDumps) {
    if (!WantsDump(options, name)) continue;
    SINTER_ASSIGN_OR_RETURN(report.dumps[name], codegen::DumpKernels(module, emit, kind));
  }
  auto start = std::chrono::steady_clock::now();
  codegen::EmitTimes times;
  SINTER_ASSIGN_OR_RETURN(std::string bytes, codegen::EmitPlan(module, emit, &times));
  report.stage_ms.emplace_back("emit", MsSince(start) - times.shared_object - times.cubins);
  report.stage_ms.emplace_back("shared-object", times.shared_object);
  report.stage_ms.emplace_back("cubins", times.cubins);
  return Plan::FromBytes(bytes);
}

}  // namespace

std::string CompileReport::ToString() const {
  std::string text;
  double total = 0;
  for (const auto& [stage, ms] : stage_ms) {
    absl::StrAppendFormat(&text, "%-21s %8.2f ms\n", stage, ms);
    total += ms;
  }
  absl::StrAppendFormat(&text, "%-21s %8.2f ms\n", "total", total);
  for (const std::string& line : fusion) absl::StrAppend(&text, line, "\n");
  for (const std::string& line : copies) absl::StrAppend(&text, line, "\n");
  for (const Exchange& exchange : exchanges) absl::StrAppend(&text, exchange.ToString(), "\n");
  for (const std::string& line : casts) absl::StrAppend(&text, line, "\n");
  for (const std::string& line : kernels) absl::StrAppend(&text, line, "\n");
  for (const std::string& line : memory) absl::StrAppend(&text, line, "\n");
  return text;
}

std::vector<std::string> StageNames() {
  std::vector<std::string> names;
  for (const Stage& stage : Pipeline()) names.push_back(stage.name);
  for (const auto& [name, kind] : kKernelDumps) names.push_back(name);
  return names;
}

absl::StatusOr<Plan> Compile(const Graph& graph, const CompileOptions& options, CompileReport* report) {
  SINTER_RETURN_IF_ERROR(graph.status());
  if (graph.state()->functions.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("graph \"", graph.name(), "\" has no function; add one by Function()"));
  }
  mlir::OwningOpRef<mlir::ModuleOp> module = graph.state()->module().clone();
  CompileReport ignored;
  return CompileModule(std::move(module), graph.name(), options, report ? *report : ignored);
}

absl::StatusOr<Plan> CompileText(std::string_view mlir, std::string_view name, const CompileOptions& options,
                                 CompileReport* report) {
  mlir::DialectRegistry registry;
  ir::RegisterDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  mlir::OwningOpRef<mlir::ModuleOp> module;
  {
    Diagnostics diagnostics(&context);
    module = ir::ParseProgram(llvm::StringRef(mlir.data(), mlir.size()),
                              llvm::StringRef(name.data(), name.size()), &context);
    if (!module) return diagnostics.Error("parse");
  }
  CompileReport ignored;
  return CompileModule(std::move(module), std::filesystem::path(name).stem().string(), options,
                       report ? *report : ignored);
}

}  // namespace sinter
