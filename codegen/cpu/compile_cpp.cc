#include "sinter/codegen/cpu/compile_cpp.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "clang/Basic/DiagnosticOptions.h"
#include "clang/CodeGen/CodeGenAction.h"
#include "clang/Frontend/CompilerInstance.h"
#include "clang/Frontend/CompilerInvocation.h"
#include "clang/Frontend/TextDiagnosticPrinter.h"
#include "clang/Lex/PreprocessorOptions.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/VirtualFileSystem.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace {

constexpr char kFile[] = "kernel.cc";

// Returns arguments for the compiler's front end, `clang -cc1`.
std::vector<std::string> Arguments(const CpuTarget& target) {
  std::vector<std::string> arguments = {"-triple", target.triple, "-target-cpu", target.cpu};
  for (absl::string_view feature : absl::StrSplit(target.features, ',', absl::SkipEmpty())) {
    arguments.insert(arguments.end(), {"-target-feature", std::string(feature)});
  }
  // Multiplications and additions round as in the kernels generated from ops: no contraction to fused
  // multiply-add.
  arguments.insert(arguments.end(), {"-std=c++20",
                                     "-O2",
                                     "-disable-llvm-passes",
                                     "-emit-llvm-only",
                                     "-ffreestanding",
                                     "-ffp-contract=off",
                                     "-fno-rtti",
                                     "-fno-threadsafe-statics",
                                     "-nostdsysteminc",
                                     "-nobuiltininc",
                                     "-mrelocation-model",
                                     "pic",
                                     "-pic-level",
                                     "2",
                                     "-w",
                                     "-ferror-limit",
                                     "8",
                                     "-x",
                                     "c++",
                                     kFile});
  return arguments;
}

// Reports undefined symbols. Math functions are linked later and are exempt.
absl::Status CheckDefined(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() || function.isIntrinsic() || function.use_empty()) continue;
    llvm::StringRef name = function.getName();
    if (name.starts_with("sn_") || name == "memcpy" || name == "memmove" || name == "memset") continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "the function ", name.str(), " is declared, called and not defined: a kernel is complete in itself"));
  }
  return absl::OkStatus();
}

void HideAllBut(const std::string& symbol, llvm::Module& module) {
  auto hide = [&](llvm::GlobalObject& object) {
    if (object.isDeclaration() || object.getName() == symbol) return;
    object.setComdat(nullptr);
    object.setVisibility(llvm::GlobalValue::DefaultVisibility);
    // Global constructors are found by the name and the linkage of their list.
    if (!object.hasAppendingLinkage()) object.setLinkage(llvm::GlobalValue::InternalLinkage);
  };
  for (llvm::Function& function : module) hide(function);
  for (llvm::GlobalVariable& variable : module.globals()) hide(variable);
}

}  // namespace

absl::StatusOr<std::unique_ptr<llvm::Module>> CompileCpp(const std::string& text, const std::string& symbol,
                                                         const CpuTarget& target,
                                                         llvm::LLVMContext& context) {
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  llvm::IntrusiveRefCntPtr<clang::DiagnosticOptions> printing = new clang::DiagnosticOptions;
  printing->ShowPresumedLoc = true;  // Line numbers follow #line directives.
  clang::TextDiagnosticPrinter printer(stream, printing.get());
  llvm::IntrusiveRefCntPtr<clang::DiagnosticsEngine> diagnostics =
      clang::CompilerInstance::createDiagnostics(printing.get(), &printer, /*ShouldOwnClient=*/false);

  std::vector<std::string> arguments = Arguments(target);
  std::vector<const char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(argument.c_str());
  auto invocation = std::make_shared<clang::CompilerInvocation>();
  if (!clang::CompilerInvocation::CreateFromArgs(*invocation, pointers, *diagnostics)) {
    return absl::InternalError(absl::StrCat("Clang refuses its arguments: ", messages));
  }
  auto files = llvm::makeIntrusiveRefCnt<llvm::vfs::InMemoryFileSystem>();
  files->addFile(kFile, 0, llvm::MemoryBuffer::getMemBufferCopy(text, kFile));
  clang::CompilerInstance compiler;
  compiler.setInvocation(std::move(invocation));
  compiler.setDiagnostics(diagnostics.get());
  compiler.setVerboseOutputStream(llvm::nulls());
  compiler.setFileManager(new clang::FileManager(clang::FileSystemOptions(), files));
  clang::EmitLLVMOnlyAction action(&context);
  if (!compiler.ExecuteAction(action)) return absl::InvalidArgumentError(messages);
  std::unique_ptr<llvm::Module> module = action.takeModule();
  if (!module) return absl::InternalError(absl::StrCat("Clang made no module: ", messages));
  if (module->getNamedGlobal("llvm.global_ctors")) {
    return absl::InvalidArgumentError(
        "the kernel has variables that must be constructed before it runs; give them constant initial "
        "values");
  }
  // Removes the compiler's name and version, so that the bytes do not depend on them.
  if (llvm::NamedMDNode* ident = module->getNamedMetadata("llvm.ident")) module->eraseNamedMetadata(ident);
  SINTER_RETURN_IF_ERROR(CheckDefined(*module));
  HideAllBut(symbol, *module);
  return module;
}

bool HasCppCompiler() { return true; }

}  // namespace sinter::codegen
