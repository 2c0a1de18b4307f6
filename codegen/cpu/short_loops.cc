#include "sinter/codegen/cpu/short_loops.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Transforms/Scalar/LoopPassManager.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

namespace sinter::codegen {
namespace {

// Loops of more iterations become vectors; the loop around a shorter one may.
constexpr unsigned kUnrolled = 4;
// The most iterations for which a masked last vector pays at a remainder of less than half a vector.
constexpr unsigned kMostMasked = 64;

constexpr char kNoUnrolling[] = "llvm.loop.unroll.disable",
               kMasked[] = "llvm.loop.vectorize.predicate.enable";

bool WorthMasks(unsigned count) {
  unsigned rest = count % kVectorFloats;
  if (rest == 0 || llvm::isPowerOf2_32(count)) return false;
  return count < (rest > kVectorFloats / 2 ? kLongestMaskedRow : kMostMasked);
}

// True if the loop reads from an object that it writes, such as accumulators. A masked store delays the next
// load of the same bytes.
bool ReadsBack(const llvm::Loop& loop) {
  llvm::SmallPtrSet<const llvm::Value*, 8> written;
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (llvm::Instruction& i : *block) {
      if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&i))
        written.insert(llvm::getUnderlyingObject(store->getPointerOperand(), /*MaxLookup=*/0));
    }
  }
  for (llvm::BasicBlock* block : loop.blocks()) {
    for (llvm::Instruction& i : *block) {
      auto* load = llvm::dyn_cast<llvm::LoadInst>(&i);
      if (load != nullptr &&
          written.contains(llvm::getUnderlyingObject(load->getPointerOperand(), /*MaxLookup=*/0)))
        return true;
    }
  }
  return false;
}

// Keeps innermost loops of known length for the vectoriser.
class KeepShortLoops : public llvm::PassInfoMixin<KeepShortLoops> {
 public:
  llvm::PreservedAnalyses run(llvm::Loop& loop, llvm::LoopAnalysisManager&,
                              llvm::LoopStandardAnalysisResults& analyses, llvm::LPMUpdater&) {
    if (loop.isInnermost() && analyses.SE.getSmallConstantTripCount(&loop) > kUnrolled)
      llvm::addStringMetadataToLoop(&loop, kNoUnrolling, 1);
    return llvm::PreservedAnalyses::all();
  }
};

// Lets innermost loops be unrolled again, and asks for masked vectors where they pay.
class HintVectors : public llvm::PassInfoMixin<HintVectors> {
 public:
  explicit HintVectors(bool has_masks) : has_masks_(has_masks) {}

  llvm::PreservedAnalyses run(llvm::Function& function, llvm::FunctionAnalysisManager& analyses) {
    auto& evolution = analyses.getResult<llvm::ScalarEvolutionAnalysis>(function);
    for (llvm::Loop* loop : analyses.getResult<llvm::LoopAnalysis>(function).getLoopsInPreorder()) {
      if (!loop->isInnermost() || !llvm::getBooleanLoopAttribute(loop, kNoUnrolling)) continue;
      loop->setLoopID(
          llvm::makePostTransformationMetadata(function.getContext(), loop->getLoopID(), {kNoUnrolling}, {}));
      if (has_masks_ && WorthMasks(evolution.getSmallConstantTripCount(loop)) && !ReadsBack(*loop))
        llvm::addStringMetadataToLoop(loop, kMasked, 1);
    }
    return llvm::PreservedAnalyses::all();
  }

 private:
  bool has_masks_;
};

}  // namespace

void VectoriseShortLoops(llvm::PassBuilder& builder, int vector_bits) {
  builder.registerLateLoopOptimizationsEPCallback(
      [](llvm::LoopPassManager& passes, llvm::OptimizationLevel) { passes.addPass(KeepShortLoops()); });
  builder.registerVectorizerStartEPCallback(
      [vector_bits](llvm::FunctionPassManager& passes, llvm::OptimizationLevel) {
        passes.addPass(HintVectors(vector_bits >= 512));
      });
}

}  // namespace sinter::codegen
