#include "sinter/tests/codegen/kernel_runner.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "sinter/codegen/cpu/fused_kernel.h"
#include "sinter/codegen/cpu/lower_kernels_to_llvm.h"
#include "sinter/codegen/cpu/shared_object.h"
#include "sinter/ir/dialect/dialect.h"
#include "sinter/ir/register_dialects.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

struct KernelRunner::Impl {
  mlir::DialectRegistry registry;
  std::unique_ptr<mlir::MLIRContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::unique_ptr<KernelModule> kernels;
  llvm::LLVMContext llvm_context;
  std::unique_ptr<llvm::Module> llvm_module;
  std::vector<KernelLaunch> launches;
  int64_t workspace_bytes = 0;
  void* handle = nullptr;

  void RunUnits(const KernelLaunch& launch, const std::vector<const void*>& ins,
                const std::vector<void*>& outs, std::byte* workspace, int part, int parts);
};

KernelRunner::KernelRunner(const std::string& text) : impl_(new Impl) { status_ = Compile(text); }

KernelRunner::~KernelRunner() {
  if (impl_->handle) dlclose(impl_->handle);
  delete impl_;
}

absl::Status KernelRunner::Compile(const std::string& text) {
  ir::RegisterDialects(impl_->registry);
  impl_->context =
      std::make_unique<mlir::MLIRContext>(impl_->registry, mlir::MLIRContext::Threading::DISABLED);
  impl_->module = mlir::parseSourceString<mlir::ModuleOp>(text, impl_->context.get());
  if (!impl_->module) return absl::InvalidArgumentError("the module does not parse");
  plan_ir::CallOp call;
  impl_->module->walk([&](plan_ir::CallOp op) { call = op; });
  impl_->kernels = std::make_unique<KernelModule>(impl_->context.get());
  SINTER_ASSIGN_OR_RETURN(impl_->launches, impl_->kernels->AddCall(call));
  SINTER_ASSIGN_OR_RETURN(impl_->workspace_bytes, FusedWorkspaceBytes(call, CpuLoopTarget()));
  if (std::getenv("SINTER_TEST_PRINT")) impl_->kernels->module().dump();
  SINTER_ASSIGN_OR_RETURN(impl_->llvm_module,
                          LowerKernelsToLlvm(impl_->kernels->module(), impl_->llvm_context));
  for (llvm::Function& f : *impl_->llvm_module) bodies_ += f.getName().starts_with(kBodyPrefix);
  SINTER_ASSIGN_OR_RETURN(CpuTarget target, CpuTarget::Host());
  SINTER_ASSIGN_OR_RETURN(std::string bytes,
                          EmitSharedObject(llvm::CloneModule(*impl_->llvm_module), target));
  int file = memfd_create("kernels", 0);
  if (write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    return absl::InternalError("memfd is not written");
  }
  impl_->handle = dlopen(absl::StrCat("/proc/self/fd/", file).c_str(), RTLD_NOW | RTLD_LOCAL);
  close(file);
  if (!impl_->handle) return absl::InternalError(dlerror());
  for (const KernelLaunch& l : impl_->launches) launches_.push_back({l.symbol, l.units, l.scratch_bytes});
  return absl::OkStatus();
}

void KernelRunner::Impl::RunUnits(const KernelLaunch& launch, const std::vector<const void*>& ins,
                                  const std::vector<void*>& outs, std::byte* workspace, int part, int parts) {
  using Kernel = void (*)(void* const*, int64_t, int64_t, void*);
  auto kernel = reinterpret_cast<Kernel>(dlsym(handle, launch.symbol.c_str()));
  SINTER_CHECK(kernel != nullptr) << launch.symbol;
  std::vector<void*> buffers;
  for (const auto* slots : {&launch.inputs, &launch.outputs}) {
    for (const Slot& slot : *slots) {
      buffers.push_back(slot.kind == Slot::Kind::kIn    ? const_cast<void*>(ins[slot.index])
                        : slot.kind == Slot::Kind::kOut ? outs[slot.index]
                                                        : workspace + slot.offset);
    }
  }
  void* scratch = std::aligned_alloc(64, (launch.scratch_bytes + 127) / 64 * 64);
  kernel(buffers.data(), launch.units * part / parts, launch.units * (part + 1) / parts, scratch);
  std::free(scratch);
}

void KernelRunner::Run(const std::vector<const void*>& ins, const std::vector<void*>& outs, int parts) {
  std::vector<std::byte> workspace(impl_->workspace_bytes);
  for (const KernelLaunch& launch : impl_->launches) {
    for (int part = parts; part-- > 0;) impl_->RunUnits(launch, ins, outs, workspace.data(), part, parts);
  }
}

void KernelRunner::RunPart(const std::vector<const void*>& ins, const std::vector<void*>& outs, int part,
                           int parts) {
  std::vector<std::byte> workspace(impl_->workspace_bytes);
  for (const KernelLaunch& launch : impl_->launches) {
    impl_->RunUnits(launch, ins, outs, workspace.data(), part, parts);
  }
}

std::string KernelRunner::Assembly(const std::string& cpu) const {
  auto target = CpuTarget::Parse(cpu);
  auto text = EmitAssembly(llvm::CloneModule(*impl_->llvm_module), *target);
  return text.ok() ? *text : text.status().ToString();
}

std::string CallText(const std::vector<std::string>& ins, const std::vector<std::string>& outs,
                     const std::string& body, const std::string& attributes) {
  std::string text = "plan.function @f {\n", names, types, arguments, out_names, out_types;
  for (size_t i = 0; i < ins.size(); ++i) {
    absl::StrAppend(&text, "  %i", i, " = plan.input \"i", i, "\" : !plan.buffer<", ins[i], ">\n");
    absl::StrAppend(&names, i ? ", " : "", "%i", i);
    absl::StrAppend(&types, i ? ", " : "", "!plan.buffer<", ins[i], ">");
    absl::StrAppend(&arguments, i ? ", " : "", "%a", i, ": ", ins[i]);
  }
  for (size_t i = 0; i < outs.size(); ++i) {
    absl::StrAppend(&text, "  %o", i, " = plan.alloc : !plan.buffer<", outs[i], ">\n");
    absl::StrAppend(&out_names, i ? ", " : "", "%o", i);
    absl::StrAppend(&out_types, i ? ", " : "", "!plan.buffer<", outs[i], ">");
  }
  std::string in_list = ins.empty() ? "" : absl::StrCat(names, " : ", types);
  absl::StrAppend(&text, "  plan.call \"k\" ins(", in_list, ") outs(", out_names, " : ", out_types, ") ",
                  attributes, " {\n  ^bb0", ins.empty() ? "" : absl::StrCat("(", arguments, ")"), ":\n", body,
                  "\n  }\n}\n");
  return text;
}

}  // namespace sinter::codegen
