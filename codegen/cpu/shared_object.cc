#include "sinter/codegen/cpu/shared_object.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/Utils/SplitModule.h"
#include "sinter/codegen/cpu/large_arguments.h"
#include "sinter/codegen/cpu/link_shared_object.h"
#include "sinter/codegen/cpu/math_calls.h"
#include "sinter/codegen/cpu/scale_floats.h"
#include "sinter/codegen/cpu/short_loops.h"
#include "sinter/codegen/cpu/streaming_memory.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {
namespace {

enum class Output { kObject, kAssembly, kIr };

absl::Status Verify(const llvm::Module& module, const char* when) {
  std::string message;
  llvm::raw_string_ostream stream(message);
  if (!llvm::verifyModule(module, &stream)) return absl::OkStatus();
  return absl::InternalError(absl::StrCat("malformed LLVM module ", when, ": ", message));
}

// LLVM may introduce block copies and fills, which freestanding.c provides. It must know no other C function,
// because a call of such a function could not be linked.
llvm::TargetLibraryInfoImpl FreestandingLibrary(const llvm::Triple& triple) {
  llvm::TargetLibraryInfoImpl library(triple);
  library.disableAllFunctions();
  for (llvm::LibFunc function : {llvm::LibFunc_memcpy, llvm::LibFunc_memmove, llvm::LibFunc_memset}) {
    library.setAvailable(function);
  }
  library.addVectorizableFunctions(FarVectorForms());
  return library;
}

// Gives all functions one target, so that each can be inlined into any other.
void SetTarget(llvm::Module& module, const CpuTarget& target) {
  for (llvm::Function& function : module) {
    for (const char* attribute : {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width"}) {
      function.removeFnAttr(attribute);
    }
    if (!function.isDeclaration()) {
      function.addFnAttr("prefer-vector-width", std::to_string(target.vector_bits));
    }
  }
}

void Optimize(llvm::Module& module, llvm::TargetMachine& machine, const llvm::TargetLibraryInfoImpl& library,
              int opt_level, int vector_bits) {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = opt_level >= 2;
  tuning.SLPVectorization = opt_level >= 2;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager sccs;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(&machine, tuning);
  if (opt_level >= 2) VectoriseShortLoops(builder, vector_bits);
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(sccs);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, sccs, modules);

  llvm::ModulePassManager passes;
  passes.addPass(llvm::AlwaysInlinerPass());
  passes.addPass(llvm::GlobalDCEPass());
  switch (opt_level) {
    case 0:
      passes.addPass(builder.buildO0DefaultPipeline(llvm::OptimizationLevel::O0));
      break;
    case 1:
      passes.addPass(builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1));
      break;
    case 2:
      passes.addPass(builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2));
      break;
    default:
      passes.addPass(builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3));
  }
  passes.run(module, modules);
}

absl::StatusOr<std::string> Compile(llvm::Module& module, const CpuTarget& target, int opt_level,
                                    Output output) {
  SINTER_ASSIGN_OR_RETURN(std::unique_ptr<llvm::TargetMachine> machine,
                          target.CreateTargetMachine(opt_level));
  module.setTargetTriple(target.triple);
  module.setDataLayout(machine->createDataLayout());
  SINTER_RETURN_IF_ERROR(Verify(module, "given to the CPU code generator"));
  SINTER_RETURN_IF_ERROR(LinkVectorMath(module));
  PrepareFarCalls(module);
  SetTarget(module, target);
  SINTER_RETURN_IF_ERROR(Verify(module, "after linking the vector math"));
  llvm::TargetLibraryInfoImpl library = FreestandingLibrary(llvm::Triple(target.triple));
  Optimize(module, *machine, library, opt_level, target.vector_bits);
  ExpandFarCalls(module);
  if (target.vector_bits >= 512) ScaleByInstruction(module);
  StreamMemory(module);

  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  if (output == Output::kIr) {
    module.print(stream, nullptr);
    return std::string(bytes.data(), bytes.size());
  }
  auto file_type =
      output == Output::kObject ? llvm::CodeGenFileType::ObjectFile : llvm::CodeGenFileType::AssemblyFile;
  llvm::legacy::PassManager passes;
  passes.add(new llvm::TargetLibraryInfoWrapperPass(library));
  if (machine->addPassesToEmitFile(passes, stream, nullptr, file_type)) {
    return absl::InternalError(absl::StrCat("LLVM cannot emit this kind of file for ", target.triple));
  }
  passes.run(module);
  return std::string(bytes.data(), bytes.size());
}

int CountExported(const llvm::Module& module) {
  return static_cast<int>(std::count_if(module.begin(), module.end(), [](const llvm::Function& function) {
    return !function.isDeclaration() && !function.hasLocalLinkage();
  }));
}

// Splits the module into parts, each as bitcode: an LLVMContext serves only one thread.
std::vector<std::string> Split(llvm::Module& module, int parts) {
  std::vector<std::string> result;
  llvm::SplitModule(
      module, parts,
      [&](std::unique_ptr<llvm::Module> part) {
        if (part->empty() && part->global_empty()) return;
        std::string bitcode;
        llvm::raw_string_ostream stream(bitcode);
        llvm::WriteBitcodeToFile(*part, stream);
        stream.flush();
        result.push_back(std::move(bitcode));
      },
      /*PreserveLocals=*/true, /*RoundRobin=*/true);
  return result;
}

absl::StatusOr<std::string> CompileBitcode(const std::string& bitcode, const CpuTarget& target,
                                           int opt_level) {
  llvm::LLVMContext context;
  llvm::Expected<std::unique_ptr<llvm::Module>> module =
      llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "kernels"), context);
  if (!module) {
    return absl::InternalError(
        absl::StrCat("cannot reread a part of the module: ", llvm::toString(module.takeError())));
  }
  return Compile(**module, target, opt_level, Output::kObject);
}

absl::StatusOr<std::vector<std::string>> CompileParts(const std::vector<std::string>& parts,
                                                      const CpuTarget& target,
                                                      const SharedObjectOptions& options) {
  std::vector<absl::StatusOr<std::string>> objects(parts.size(), absl::UnknownError("not compiled"));
  std::atomic<size_t> next = 0;
  auto work = [&] {
    for (size_t i = next++; i < parts.size(); i = next++) {
      objects[i] = CompileBitcode(parts[i], target, options.opt_level);
    }
  };
  size_t threads = options.threads > 0 ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> pool;
  for (size_t i = 1; i < std::min(threads, parts.size()); ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  std::vector<std::string> result;
  for (absl::StatusOr<std::string>& object : objects) {
    if (!object.ok()) return object.status();
    result.push_back(*std::move(object));
  }
  return result;
}

}  // namespace

absl::StatusOr<std::string> EmitSharedObject(std::unique_ptr<llvm::Module> module, const CpuTarget& target,
                                             const SharedObjectOptions& options) {
  int per_part = std::max(1, options.functions_per_part);
  int parts = (CountExported(*module) + per_part - 1) / per_part;
  std::vector<std::string> objects;
  if (parts <= 1) {
    SINTER_ASSIGN_OR_RETURN(std::string object, Compile(*module, target, options.opt_level, Output::kObject));
    objects.push_back(std::move(object));
  } else {
    SINTER_RETURN_IF_ERROR(Verify(*module, "given to the CPU code generator"));
    SINTER_ASSIGN_OR_RETURN(objects, CompileParts(Split(*module, parts), target, options));
  }
  return LinkSharedObject(objects);
}

absl::StatusOr<std::string> EmitAssembly(std::unique_ptr<llvm::Module> module, const CpuTarget& target,
                                         const SharedObjectOptions& options) {
  return Compile(*module, target, options.opt_level, Output::kAssembly);
}

absl::StatusOr<std::string> EmitOptimizedIr(std::unique_ptr<llvm::Module> module, const CpuTarget& target,
                                            const SharedObjectOptions& options) {
  return Compile(*module, target, options.opt_level, Output::kIr);
}

}  // namespace sinter::codegen
