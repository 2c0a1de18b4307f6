#include "sinter/codegen/cpu/streaming_memory.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/Local.h"

namespace sinter::codegen {
namespace {

// Bytes of a cache line, and of the shortest vector that streams.
constexpr uint64_t kLine = 64, kHalfLine = 32;
// llvm.prefetch's locality, which selects the cache levels.
constexpr int kIntoFirst = 3, kIntoSecond = 2;

// Returns the number in the attribute of the parameter that `address` points into; nullopt without the
// attribute.
std::optional<int64_t> StreamedDistance(const llvm::Value* address) {
  auto* argument = llvm::dyn_cast<llvm::Argument>(llvm::getUnderlyingObject(address, /*MaxLookup=*/0));
  if (argument == nullptr) return std::nullopt;
  llvm::Attribute attribute =
      argument->getParent()->getAttributes().getParamAttr(argument->getArgNo(), kStreamedAttribute);
  int64_t distance = 0;
  if (!attribute.isValid() || attribute.getValueAsString().getAsInteger(10, distance)) return std::nullopt;
  return distance;
}

bool IsWholeVector(llvm::Type* type, const llvm::DataLayout& layout) {
  if (!type->isVectorTy()) return false;
  uint64_t bytes = layout.getTypeStoreSize(type).getFixedValue();
  return bytes == kLine || bytes == kHalfLine;
}

// A non-temporal store to a misaligned address would fault, so the alignment must be proven.
bool StreamStore(llvm::StoreInst& store, const llvm::DataLayout& layout) {
  llvm::Type* type = store.getValueOperand()->getType();
  if (!store.isSimple() || !IsWholeVector(type, layout)) return false;
  std::optional<int64_t> distance = StreamedDistance(store.getPointerOperand());
  if (!distance || *distance != 0) return false;
  llvm::Align needed(layout.getTypeStoreSize(type).getFixedValue());
  llvm::Align known =
      std::max(store.getAlign(), llvm::getKnownAlignment(store.getPointerOperand(), layout, &store));
  if (known < needed) return false;
  store.setAlignment(needed);
  llvm::LLVMContext& context = store.getContext();
  auto* one = llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), 1));
  store.setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(context, one));
  return true;
}

void PrefetchLoads(llvm::BasicBlock& block, const llvm::DataLayout& layout) {
  llvm::SmallVector<std::pair<llvm::LoadInst*, int64_t>> loads;
  for (llvm::Instruction& instruction : block) {
    auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction);
    if (load == nullptr || !IsWholeVector(load->getType(), layout)) continue;
    std::optional<int64_t> distance = StreamedDistance(load->getPointerOperand());
    if (distance && *distance > 0) loads.emplace_back(load, *distance);
  }
  for (auto [load, distance] : loads) {
    llvm::IRBuilder<> b(load);
    llvm::Value* ahead = b.CreateGEP(b.getInt8Ty(), load->getPointerOperand(), b.getInt64(distance));
    // A line needed only a row later would evict lines that this row needs from the first-level cache.
    int level = distance <= kPrefetchBytes ? kIntoFirst : kIntoSecond;
    b.CreateIntrinsic(llvm::Intrinsic::prefetch, {ahead->getType()},
                      {ahead, b.getInt32(/*read=*/0), b.getInt32(level), b.getInt32(/*data=*/1)});
  }
}

void Fence(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    auto* end = llvm::dyn_cast<llvm::ReturnInst>(block.getTerminator());
    if (end == nullptr) continue;
    llvm::IRBuilder<> b(end);
    b.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  }
}

}  // namespace

void StreamMemory(llvm::Module& module) {
  const llvm::DataLayout& layout = module.getDataLayout();
  llvm::SmallVector<llvm::Function*> functions;
  for (llvm::Function& function : module) {
    if (!function.isDeclaration()) functions.push_back(&function);
  }
  for (llvm::Function* function : functions) {
    llvm::SmallPtrSet<llvm::BasicBlock*, 4> blocks;
    for (llvm::BasicBlock& block : *function) {
      for (llvm::Instruction& instruction : block) {
        auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction);
        if (store != nullptr && StreamStore(*store, layout)) blocks.insert(&block);
      }
    }
    for (llvm::BasicBlock& block : *function) {
      if (blocks.contains(&block)) PrefetchLoads(block, layout);
    }
    if (!blocks.empty()) Fence(*function);
  }
}

}  // namespace sinter::codegen
