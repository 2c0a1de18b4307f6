// Builds LLVM modules of loops over arrays, and loads the shared objects that are made of them.
//
//   KernelModule kernels;
//   auto negate = [](auto& b, auto args) { return b.CreateFNeg(args[0]); };
//   kernels.AddLoop("k", {kernels.F32()}, kernels.F32(), negate);
//   LoadedObject object(EmitSharedObject(kernels.Take(), target).value());
//   object.Function<void(float*, const float*, int64_t)>("k")(out, in, n);
#ifndef SINTER_TESTS_CODEGEN_KERNEL_MODULE_BUILDER_H_
#define SINTER_TESTS_CODEGEN_KERNEL_MODULE_BUILDER_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

namespace sinter::codegen {

class KernelModule {
 public:
  using Types = std::vector<llvm::Type*>;
  using Body = std::function<llvm::Value*(llvm::IRBuilder<>&, llvm::ArrayRef<llvm::Value*>)>;

  KernelModule() : module_(std::make_unique<llvm::Module>("kernels", context_)) {}

  llvm::LLVMContext& context() { return context_; }
  llvm::Module& module() { return *module_; }
  llvm::Type* F32() { return llvm::Type::getFloatTy(context_); }
  llvm::Type* F64() { return llvm::Type::getDoubleTy(context_); }
  llvm::Type* F16() { return llvm::Type::getHalfTy(context_); }
  llvm::Type* Bf16() { return llvm::Type::getBFloatTy(context_); }

  // Adds void name(Result* noalias out, const Arg* noalias in..., int64_t n): out[i] = body(in[i]...).
  void AddLoop(const std::string& name, const Types& args, llvm::Type* result, const Body& body);

  // Returns a loop body that calls a function by name, or an intrinsic.
  Body Calling(const std::string& function, llvm::Type* type);
  Body Calling(llvm::Intrinsic::ID intrinsic, llvm::Type* type);

  // Returns the module; the builder has none afterwards.
  std::unique_ptr<llvm::Module> Take() { return std::move(module_); }

 private:
  llvm::LLVMContext context_;
  std::unique_ptr<llvm::Module> module_;
};

// A shared object loaded from memory. The destructor unloads it.
class LoadedObject {
 public:
  explicit LoadedObject(const std::string& bytes);
  LoadedObject(const LoadedObject&) = delete;
  ~LoadedObject();

  bool ok() const { return handle_ != nullptr; }
  const std::string& error() const { return error_; }
  void* Symbol(const std::string& name) const;

  template <typename Signature>
  Signature* Function(const std::string& name) const {
    return reinterpret_cast<Signature*>(Symbol(name));
  }

 private:
  // Stays open while the object is loaded: the loader identifies objects by path, and the path contains this
  // number.
  int descriptor_ = -1;
  void* handle_ = nullptr;
  std::string error_;
};

}  // namespace sinter::codegen

#endif  // SINTER_TESTS_CODEGEN_KERNEL_MODULE_BUILDER_H_
