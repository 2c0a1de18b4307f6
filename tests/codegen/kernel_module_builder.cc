#include "sinter/tests/codegen/kernel_module_builder.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sinter::codegen {

void KernelModule::AddLoop(const std::string& name, const Types& args, llvm::Type* result, const Body& body) {
  llvm::IRBuilder<> builder(context_);
  llvm::Type* pointer = builder.getPtrTy();
  std::vector<llvm::Type*> parameters(args.size() + 1, pointer);
  parameters.push_back(builder.getInt64Ty());
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), parameters, false);
  auto* function = llvm::Function::Create(type, llvm::GlobalValue::ExternalLinkage, name, *module_);
  for (unsigned i = 0; i <= args.size(); ++i) function->addParamAttr(i, llvm::Attribute::NoAlias);
  auto* entry = llvm::BasicBlock::Create(context_, "entry", function);
  auto* loop = llvm::BasicBlock::Create(context_, "loop", function);
  auto* exit = llvm::BasicBlock::Create(context_, "exit", function);
  llvm::Value* count = function->getArg(args.size() + 1);
  builder.SetInsertPoint(entry);
  builder.CreateCondBr(builder.CreateICmpSGT(count, builder.getInt64(0)), loop, exit);
  builder.SetInsertPoint(loop);
  llvm::PHINode* index = builder.CreatePHI(builder.getInt64Ty(), 2);
  index->addIncoming(builder.getInt64(0), entry);
  std::vector<llvm::Value*> values;
  for (unsigned i = 0; i < args.size(); ++i) {
    llvm::Value* address = builder.CreateInBoundsGEP(args[i], function->getArg(i + 1), index);
    values.push_back(builder.CreateLoad(args[i], address));
  }
  llvm::Value* value = body(builder, values);
  builder.CreateStore(value, builder.CreateInBoundsGEP(result, function->getArg(0), index));
  llvm::Value* next = builder.CreateAdd(index, builder.getInt64(1), "", true, true);
  index->addIncoming(next, loop);
  builder.CreateCondBr(builder.CreateICmpEQ(next, count), exit, loop);
  builder.SetInsertPoint(exit);
  builder.CreateRetVoid();
}

KernelModule::Body KernelModule::Calling(const std::string& function, llvm::Type* type) {
  return
      [this, function, type](llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::Value*> args) -> llvm::Value* {
        std::vector<llvm::Type*> types;
        for (llvm::Value* arg : args) types.push_back(arg->getType());
        return builder.CreateCall(
            module_->getOrInsertFunction(function, llvm::FunctionType::get(type, types, false)), args);
      };
}

KernelModule::Body KernelModule::Calling(llvm::Intrinsic::ID intrinsic, llvm::Type* type) {
  return [intrinsic, type](llvm::IRBuilder<>& builder, llvm::ArrayRef<llvm::Value*> args) -> llvm::Value* {
    return builder.CreateIntrinsic(intrinsic, {type}, args);
  };
}

LoadedObject::LoadedObject(const std::string& bytes) {
  descriptor_ = memfd_create("kernels", MFD_CLOEXEC);
  if (write(descriptor_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    error_ = "cannot write the object";
  } else {
    handle_ = dlopen(("/proc/self/fd/" + std::to_string(descriptor_)).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) error_ = dlerror();
  }
}

LoadedObject::~LoadedObject() {
  if (handle_ != nullptr) dlclose(handle_);
  close(descriptor_);
}

void* LoadedObject::Symbol(const std::string& name) const { return dlsym(handle_, name.c_str()); }

}  // namespace sinter::codegen
