#include "sinter/codegen/cpu/large_arguments.h"

#include <string>
#include <vector>

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"
#include "sinter/kernels/cpu/math/vector_math.h"

namespace sinter::codegen {
namespace {

struct FarFunction {
  const char* unless_far;  // double (double x, double near)
  const char* far;         // void (const double* x, double* y, int64_t count)
};
constexpr FarFunction kFarFunctions[] = {{"sn_sin_unless_far_f64", "sn_sin_far_f64"},
                                         {"sn_cos_unless_far_f64", "sn_cos_far_f64"},
                                         {"sn_tan_unless_far_f64", "sn_tan_far_f64"}};

// The largest size is that of a loop over 16-bit elements in 512-bit vectors. A loop over bytes makes scalar
// calls.
constexpr unsigned kVectorSizes[] = {2, 4, 8, 16, 32};

// Strings that live as long as the process, because VecDesc keeps references to them.
struct VectorForms {
  std::vector<std::string> names;
  std::vector<std::string> prefixes;
  std::vector<llvm::VecDesc> descriptions;
};

const VectorForms& AllVectorForms() {
  static const auto* forms = [] {
    auto* result = new VectorForms();
    for (const FarFunction& f : kFarFunctions) {
      for (unsigned size : kVectorSizes) {
        result->names.push_back(std::string(f.unless_far) + "_x" + std::to_string(size));
        // LLVM's vector ABI, unmasked, with two vector operands.
        result->prefixes.push_back("_ZGV_LLVM_N" + std::to_string(size) + "vv");
      }
    }
    for (size_t i = 0; i < result->names.size(); ++i) {
      result->descriptions.emplace_back(
          kFarFunctions[i / std::size(kVectorSizes)].unless_far, result->names[i],
          llvm::ElementCount::getFixed(kVectorSizes[i % std::size(kVectorSizes)]),
          /*Masked=*/false, result->prefixes[i]);
    }
    return result;
  }();
  return *forms;
}

// Returns null for other names.
const FarFunction* FindFarFunction(llvm::StringRef name) {
  for (const FarFunction& f : kFarFunctions) {
    if (name == f.unless_far) return &f;
  }
  const VectorForms& forms = AllVectorForms();
  for (const auto& [form, description] : llvm::zip_equal(forms.names, forms.descriptions)) {
    if (name == form) return FindFarFunction(description.getScalarFnName());
  }
  return nullptr;
}

llvm::SmallVector<llvm::CallInst*> CallsOf(llvm::Function& function) {
  llvm::SmallVector<llvm::CallInst*> calls;
  for (llvm::User* user : function.users()) {
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(user)) calls.push_back(call);
  }
  return calls;
}

llvm::FunctionCallee DeclareFar(llvm::Module& module, const char* name) {
  llvm::IRBuilder<> b(module.getContext());
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {b.getPtrTy(), b.getPtrTy(), b.getInt64Ty()}, false);
  llvm::FunctionCallee callee = module.getOrInsertFunction(name, type);
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setVisibility(llvm::GlobalValue::HiddenVisibility);
  function->setDSOLocal(true);
  function->setDoesNotThrow();
  function->setWillReturn();
  function->setOnlyAccessesArgMemory();
  function->addFnAttr(llvm::Attribute::Cold);
  return callee;
}

// Consecutive calls of one block whose results no instruction uses before the last call.
using Group = llvm::SmallVector<llvm::CallInst*>;

// One test for all calls of a loop's body splits the body into two pieces instead of many.
llvm::SmallVector<Group> GroupsOf(llvm::BasicBlock& block) {
  llvm::SmallVector<Group> groups;
  llvm::SmallPtrSet<const llvm::Value*, 4> open;  // The calls of the last group.
  for (llvm::Instruction& instruction : block) {
    if (llvm::any_of(instruction.operands(),
                     [&](const llvm::Use& used) { return open.contains(used.get()); })) {
      open.clear();
    }
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    if (call == nullptr || call->getCalledFunction() == nullptr) continue;
    if (!IsUnlessFar(call->getCalledFunction()->getName())) continue;
    if (open.empty()) groups.emplace_back();
    open.insert(call);
    groups.back().push_back(call);
  }
  return groups;
}

llvm::Value* IsAnyFar(llvm::IRBuilder<>& b, llvm::Value* x) {
  llvm::Value* is_far = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x),
                                        llvm::ConstantFP::get(x->getType(), SN_FAR_F64));
  return x->getType()->isVectorTy() ? b.CreateOrReduce(is_far) : is_far;
}

// Replaces each call by its second operand or, in a separate block, by the result of far(&x, &near, size).
void Expand(const Group& group) {
  llvm::Instruction* last = group.back();
  llvm::Function& function = *last->getFunction();
  llvm::IRBuilder<> b(last);
  llvm::SmallDenseMap<llvm::Value*, llvm::Value*> is_far_of;
  llvm::Value* is_far = b.getFalse();
  for (llvm::CallInst* call : group) {
    llvm::Value*& test = is_far_of[call->getArgOperand(0)];
    if (test != nullptr) continue;
    test = IsAnyFar(b, call->getArgOperand(0));
    is_far = b.CreateOr(is_far, test);
  }
  llvm::MDNode* rarely = llvm::MDBuilder(b.getContext()).createUnlikelyBranchWeights();
  llvm::Instruction* end = llvm::SplitBlockAndInsertIfThen(is_far, last, /*Unreachable=*/false, rarely);
  for (llvm::CallInst* call : group) {
    llvm::Value *x = call->getArgOperand(0), *near = call->getArgOperand(1);
    llvm::Type* type = x->getType();
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
    const FarFunction* f = FindFarFunction(call->getCalledFunction()->getName());
    b.SetInsertPoint(function.getEntryBlock().begin());
    llvm::Value *from = b.CreateAlloca(type), *to = b.CreateAlloca(type);
    b.SetInsertPoint(end);
    b.CreateStore(x, from);
    b.CreateStore(near, to);
    b.CreateCall(DeclareFar(*function.getParent(), f->far),
                 {from, to, b.getInt64(vector != nullptr ? vector->getNumElements() : 1)});
    llvm::Value* mended = b.CreateLoad(type, to);
    b.SetInsertPoint(last->getParent()->begin());
    llvm::PHINode* result = b.CreatePHI(type, 2);
    result->addIncoming(mended, end->getParent());
    result->addIncoming(near, end->getParent()->getSinglePredecessor());
    call->replaceAllUsesWith(result);
  }
  for (llvm::CallInst* call : group) call->eraseFromParent();
}

}  // namespace

bool IsUnlessFar(llvm::StringRef name) { return FindFarFunction(name) != nullptr; }

void PrepareFarCalls(llvm::Module& module) {
  for (const FarFunction& f : kFarFunctions) {
    llvm::Function* function = module.getFunction(f.unless_far);
    if (function == nullptr) continue;
    // The bitcode's noundef attribute would forbid speculation.
    function->setAttributes({});
    for (llvm::CallInst* call : CallsOf(*function)) call->setAttributes({});
    function->setDoesNotAccessMemory();
    function->setDoesNotThrow();
    function->setWillReturn();
    function->setNoSync();
    function->setDoesNotFreeMemory();
    function->setSpeculatable();
  }
}

llvm::ArrayRef<llvm::VecDesc> FarVectorForms() { return AllVectorForms().descriptions; }

void ExpandFarCalls(llvm::Module& module) {
  llvm::SmallVector<llvm::Function*> functions;
  for (llvm::Function& function : module) {
    if (IsUnlessFar(function.getName())) functions.push_back(&function);
  }
  if (functions.empty()) return;
  // The vectoriser adds all vector forms to the used lists; remove them.
  llvm::removeFromUsedLists(
      module, [](llvm::Constant* used) { return IsUnlessFar(used->stripPointerCasts()->getName()); });
  llvm::SmallVector<Group> groups;
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) llvm::append_range(groups, GroupsOf(block));
  }
  for (const Group& group : groups) Expand(group);
  for (llvm::Function* function : functions) function->eraseFromParent();
}

}  // namespace sinter::codegen
