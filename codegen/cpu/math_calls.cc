#include "sinter/codegen/cpu/math_calls.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "sinter/codegen/cpu/large_arguments.h"
#include "sinter/kernels/cpu/math/embedded_kernels.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {
namespace {

using llvm::Intrinsic::ID;
using Scalars = llvm::ArrayRef<llvm::Value*>;

struct MathFunction {
  const char* name;  // The name in C and, between "sn_" and "_f32", in vector_math.h.
  int arity;
  ID intrinsic;  // not_intrinsic if LLVM has no intrinsic.
};

// C functions and LLVM intrinsics that the vector math provides.
constexpr MathFunction kVectorMath[] = {{"exp", 1, llvm::Intrinsic::exp},
                                        {"exp2", 1, llvm::Intrinsic::exp2},
                                        {"expm1", 1, llvm::Intrinsic::not_intrinsic},
                                        {"log", 1, llvm::Intrinsic::log},
                                        {"log2", 1, llvm::Intrinsic::log2},
                                        {"log10", 1, llvm::Intrinsic::log10},
                                        {"log1p", 1, llvm::Intrinsic::not_intrinsic},
                                        {"tanh", 1, llvm::Intrinsic::tanh},
                                        {"erf", 1, llvm::Intrinsic::not_intrinsic},
                                        {"sin", 1, llvm::Intrinsic::sin},
                                        {"cos", 1, llvm::Intrinsic::cos},
                                        {"tan", 1, llvm::Intrinsic::tan},
                                        {"atan", 1, llvm::Intrinsic::atan},
                                        {"atan2", 2, llvm::Intrinsic::not_intrinsic},
                                        {"pow", 2, llvm::Intrinsic::pow}};

// C functions for which LLVM has instructions.
constexpr MathFunction kInstructions[] = {{"fabs", 1, llvm::Intrinsic::fabs},
                                          {"floor", 1, llvm::Intrinsic::floor},
                                          {"ceil", 1, llvm::Intrinsic::ceil},
                                          {"rint", 1, llvm::Intrinsic::rint},
                                          {"nearbyint", 1, llvm::Intrinsic::nearbyint},
                                          {"sqrt", 1, llvm::Intrinsic::sqrt},
                                          {"round", 1, llvm::Intrinsic::round},
                                          {"roundeven", 1, llvm::Intrinsic::roundeven},
                                          {"trunc", 1, llvm::Intrinsic::trunc},
                                          {"copysign", 2, llvm::Intrinsic::copysign},
                                          {"fma", 3, llvm::Intrinsic::fma},
                                          {"fmin", 2, llvm::Intrinsic::minnum},
                                          {"fmax", 2, llvm::Intrinsic::maxnum}};

// Intrinsics that the back end would lower to calls of missing C functions.
constexpr ID kUnsupported[] = {llvm::Intrinsic::acos,  llvm::Intrinsic::asin,   llvm::Intrinsic::cosh,
                               llvm::Intrinsic::sinh,  llvm::Intrinsic::exp10,  llvm::Intrinsic::ldexp,
                               llvm::Intrinsic::frexp, llvm::Intrinsic::lround, llvm::Intrinsic::llround};

constexpr const char* kSupportedNames =
    "exp, exp2, expm1, log, log2, log10, log1p, tanh, erf, sin, cos, tan, atan, atan2, pow, fmod, sqrt, "
    "fabs, floor, "
    "ceil, round, roundeven, rint, trunc, copysign, fma, fmin, fmax and the sn_* functions of vector_math.h";

absl::Status NotProvided(llvm::StringRef name) {
  return absl::InvalidArgumentError(absl::StrCat("the module calls \"", name.str(),
                                                 "\", which nothing provides; generated code can call ",
                                                 kSupportedNames));
}

// Replaces math instructions by calls of sn_* functions, which need not be defined yet.
class MathRewriter {
 public:
  explicit MathRewriter(llvm::Module& module) : module_(module), builder_(module.getContext()) {
    for (const MathFunction& f : kVectorMath) {
      by_name_[f.name] = by_name_[absl::StrCat(f.name, "f")] = &f;
      if (f.intrinsic != llvm::Intrinsic::not_intrinsic) by_intrinsic_[f.intrinsic] = &f;
    }
    for (const MathFunction& f : kInstructions) {
      instruction_by_name_[f.name] = instruction_by_name_[absl::StrCat(f.name, "f")] = &f;
    }
  }

  absl::Status Run() {
    std::vector<llvm::Instruction*> instructions;
    for (llvm::Function& function : module_) {
      for (llvm::Instruction& instruction : llvm::instructions(function))
        instructions.push_back(&instruction);
    }
    for (llvm::Instruction* instruction : instructions) {
      builder_.SetInsertPoint(instruction);
      if (auto* call = llvm::dyn_cast<llvm::CallInst>(instruction)) {
        SINTER_RETURN_IF_ERROR(RewriteCall(*call));
      } else if (instruction->getOpcode() == llvm::Instruction::FRem) {
        ReplaceElementwise(*instruction, {instruction->getOperand(0), instruction->getOperand(1)},
                           [&](Scalars args) { return CallVectorMath("rem", args); });
      } else if (auto* truncation = llvm::dyn_cast<llvm::FPTruncInst>(instruction)) {
        RewriteTruncation(*truncation);
      } else if (auto* extension = llvm::dyn_cast<llvm::FPExtInst>(instruction)) {
        RewriteExtension(*extension);
      }
    }
    return absl::OkStatus();
  }

 private:
  // Replaces `instruction` by the result of `make` for its operands; vectors are processed element by
  // element.
  void ReplaceElementwise(llvm::Instruction& instruction, llvm::SmallVector<llvm::Value*, 3> operands,
                          const std::function<llvm::Value*(Scalars)>& make) {
    llvm::Value* result = nullptr;
    if (auto* type = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType())) {
      result = llvm::PoisonValue::get(type);
      for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
        llvm::SmallVector<llvm::Value*, 3> elements;
        for (llvm::Value* operand : operands) {
          bool is_vector = operand->getType()->isVectorTy();
          elements.push_back(is_vector ? builder_.CreateExtractElement(operand, lane) : operand);
        }
        result = builder_.CreateInsertElement(result, make(elements), lane);
      }
    } else {
      result = make(operands);
    }
    instruction.replaceAllUsesWith(result);
    instruction.eraseFromParent();
  }

  // Computes 16-bit operands in f32.
  llvm::Value* CallVectorMath(llvm::StringRef name, Scalars args) {
    llvm::Type* type = args[0]->getType();
    if (!type->isFloatTy() && !type->isDoubleTy()) {
      llvm::SmallVector<llvm::Value*, 3> wide;
      for (llvm::Value* arg : args) wide.push_back(Extend(arg, builder_.getFloatTy()));
      return Truncate(CallVectorMath(name, wide), type);
    }
    if (name == "pow") {
      if (llvm::Value* matmul = SimplePower(args[0], args[1])) return matmul;
    }
    std::string full_name = absl::StrCat("sn_", name.str(), type->isFloatTy() ? "_f32" : "_f64");
    llvm::SmallVector<llvm::Type*, 3> types(args.size(), type);
    return builder_.CreateCall(
        module_.getOrInsertFunction(full_name, llvm::FunctionType::get(type, types, false)), args);
  }

  // Expands pow for constant exponents 1, 2 and -1, which pow itself would not see after inlining; null for
  // other exponents.
  llvm::Value* SimplePower(llvm::Value* x, llvm::Value* exponent) {
    auto* constant = llvm::dyn_cast<llvm::ConstantFP>(exponent);
    if (constant == nullptr) return nullptr;
    if (constant->isExactlyValue(1.0)) return x;
    if (constant->isExactlyValue(2.0)) return builder_.CreateFMul(x, x);
    if (constant->isExactlyValue(-1.0))
      return builder_.CreateFDiv(llvm::ConstantFP::get(x->getType(), 1.0), x);
    return nullptr;
  }

  llvm::Value* Truncate(llvm::Value* x, llvm::Type* type) {
    if (type->isHalfTy() && x->getType()->isFloatTy()) return builder_.CreateFPTrunc(x, type);
    std::string name = absl::StrCat(type->isHalfTy() ? "sn_f16" : "sn_bf16",
                                    x->getType()->isDoubleTy() ? "_from_f64" : "_from_f32");
    auto* function_type = llvm::FunctionType::get(builder_.getInt16Ty(), {x->getType()}, false);
    llvm::Value* bits = builder_.CreateCall(module_.getOrInsertFunction(name, function_type), {x});
    return builder_.CreateBitCast(bits, type);
  }

  llvm::Value* Extend(llvm::Value* x, llvm::Type* type) {
    if (!x->getType()->isBFloatTy()) return builder_.CreateFPExt(x, type);
    llvm::Value* bits =
        builder_.CreateZExt(builder_.CreateBitCast(x, builder_.getInt16Ty()), builder_.getInt32Ty());
    llvm::Value* wide = builder_.CreateBitCast(builder_.CreateShl(bits, 16), builder_.getFloatTy());
    return type->isFloatTy() ? wide : builder_.CreateFPExt(wide, type);
  }

  // Rewrites every conversion to bf16, and f64 to f16. The hardware's bf16 instruction flushes denormals, and
  // without it LLVM would call a function for each element.
  void RewriteTruncation(llvm::FPTruncInst& truncation) {
    llvm::Type* to = truncation.getType()->getScalarType();
    llvm::Type* from = truncation.getOperand(0)->getType()->getScalarType();
    if (!to->isBFloatTy() && !(to->isHalfTy() && from->isDoubleTy())) return;
    ReplaceElementwise(truncation, {truncation.getOperand(0)},
                       [&](Scalars args) { return Truncate(args[0], to); });
  }

  void RewriteExtension(llvm::FPExtInst& extension) {
    if (!extension.getOperand(0)->getType()->getScalarType()->isBFloatTy()) return;
    llvm::Type* to = extension.getType()->getScalarType();
    ReplaceElementwise(extension, {extension.getOperand(0)},
                       [&](Scalars args) { return Extend(args[0], to); });
  }

  absl::Status RewriteCall(llvm::CallInst& call) {
    llvm::Function* callee = call.getCalledFunction();
    if (callee == nullptr || !callee->isDeclaration()) return absl::OkStatus();
    llvm::SmallVector<llvm::Value*, 3> args(call.args());
    if (callee->isIntrinsic()) {
      ID id = callee->getIntrinsicID();
      if (llvm::is_contained(kUnsupported, id)) return NotProvided(callee->getName());
      if (auto found = by_intrinsic_.find(id); found != by_intrinsic_.end()) {
        const char* name = found->second->name;
        ReplaceElementwise(call, args, [&](Scalars scalars) { return CallVectorMath(name, scalars); });
      } else if (id == llvm::Intrinsic::powi) {
        ReplaceElementwise(call, args, [&](Scalars scalars) { return CallPowi(scalars[0], scalars[1]); });
      }
      return absl::OkStatus();
    }
    llvm::StringRef name = callee->getName();
    if (name == "fmod" || name == "fmodf") return RewriteNamed(call, args, 2, "rem");
    if (auto found = by_name_.find(name); found != by_name_.end()) {
      return RewriteNamed(call, args, found->second->arity, found->second->name);
    }
    if (auto found = instruction_by_name_.find(name); found != instruction_by_name_.end()) {
      SINTER_RETURN_IF_ERROR(CheckSignature(call, found->second->arity));
      llvm::Value* result = builder_.CreateIntrinsic(found->second->intrinsic, {call.getType()}, args);
      call.replaceAllUsesWith(result);
      call.eraseFromParent();
    }
    return absl::OkStatus();
  }

  absl::Status RewriteNamed(llvm::CallInst& call, Scalars args, int arity, const char* name) {
    SINTER_RETURN_IF_ERROR(CheckSignature(call, arity));
    call.replaceAllUsesWith(CallVectorMath(name, args));
    call.eraseFromParent();
    return absl::OkStatus();
  }

  // A 32-bit exponent needs the range of f64.
  llvm::Value* CallPowi(llvm::Value* x, llvm::Value* exponent) {
    llvm::Type* type = x->getType();
    llvm::Type* wide = builder_.getDoubleTy();
    llvm::Value* base = type->isDoubleTy() ? x : Extend(x, wide);
    llvm::Value* power = CallVectorMath("pow", {base, builder_.CreateSIToFP(exponent, wide)});
    if (type->isDoubleTy()) return power;
    return type->isFloatTy() ? builder_.CreateFPTrunc(power, type) : Truncate(power, type);
  }

  static absl::Status CheckSignature(const llvm::CallInst& call, int arity) {
    llvm::StringRef name = call.getCalledFunction()->getName();
    bool is_float = name.ends_with("f") && name != "erf";
    const llvm::Type* type = call.getType();
    bool matches = (is_float ? type->isFloatTy() : type->isDoubleTy()) &&
                   static_cast<int>(call.arg_size()) == arity &&
                   llvm::all_of(call.args(), [&](const llvm::Use& arg) { return arg->getType() == type; });
    if (matches) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat("the module declares \"", name.str(),
                                                   "\" with other types than C's: ", "it takes ", arity,
                                                   " and returns ", is_float ? "float" : "double"));
  }

  llvm::Module& module_;
  llvm::IRBuilder<> builder_;
  llvm::StringMap<const MathFunction*> by_name_;
  llvm::StringMap<const MathFunction*> instruction_by_name_;
  llvm::DenseMap<ID, const MathFunction*> by_intrinsic_;
};

bool NeedsAnyOf(const llvm::Module& module, const llvm::Module& provider) {
  for (const llvm::Function& function : provider) {
    if (function.isDeclaration() && !function.isMaterializable()) continue;
    const llvm::Function* wanted = module.getFunction(function.getName());
    if (wanted != nullptr && wanted->isDeclaration() && !wanted->use_empty()) return true;
  }
  return false;
}

absl::Status LinkBitcode(llvm::Module& module) {
  llvm::StringSet<> own;
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration()) own.insert(function.getName());
  }
  for (const EmbeddedFile& file : VectorMathBitcode()) {
    llvm::MemoryBufferRef buffer(llvm::StringRef(file.data, file.size), file.name);
    llvm::Expected<std::unique_ptr<llvm::Module>> provider =
        llvm::getLazyBitcodeModule(buffer, module.getContext(), /*ShouldLazyLoadMetadata=*/true);
    if (!provider) {
      return absl::InternalError(absl::StrCat("cannot read the embedded bitcode of ", file.name, ": ",
                                              llvm::toString(provider.takeError())));
    }
    if (!NeedsAnyOf(module, **provider)) continue;
    (*provider)->setDataLayout(module.getDataLayout());
    (*provider)->setTargetTriple(module.getTargetTriple());
    if (llvm::Linker::linkModules(module, std::move(*provider), llvm::Linker::Flags::LinkOnlyNeeded)) {
      return absl::InternalError(absl::StrCat("cannot link the embedded bitcode of ", file.name));
    }
  }
  for (llvm::Function& function : module) {
    if (function.isDeclaration() || own.contains(function.getName())) continue;
    function.setVisibility(llvm::GlobalValue::DefaultVisibility);
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.setDSOLocal(true);
  }
  return absl::OkStatus();
}

// True for functions of kernels/cpu/math/freestanding.c that a module may call, before or after optimisation.
bool IsFreestanding(llvm::StringRef name) {
  return name == "memcpy" || name == "memmove" || name == "memset" || IsUnlessFar(name);
}

}  // namespace

absl::Status LinkVectorMath(llvm::Module& module) {
  SINTER_RETURN_IF_ERROR(MathRewriter(module).Run());
  SINTER_RETURN_IF_ERROR(LinkBitcode(module));
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() || function.isIntrinsic() || function.use_empty()) continue;
    if (!IsFreestanding(function.getName())) return NotProvided(function.getName());
  }
  return absl::OkStatus();
}

}  // namespace sinter::codegen
