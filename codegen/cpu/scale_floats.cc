#include "sinter/codegen/cpu/scale_floats.h"

#include <cstdint>
#include <utility>

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsX86.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Transforms/Utils/Local.h"

namespace sinter::codegen {
namespace {

constexpr uint32_t kShifterBits = 0x4b400000, kOneBits = 0x3f800000;  // The bits of SN_SHIFTER_F32 and of 1.
constexpr uint32_t kSignBit = 0x80000000;
constexpr int kCurrentRounding = 4;

// p * 2^(shifted - SN_SHIFTER_F32).
struct Scaling {
  llvm::Value* p = nullptr;
  llvm::Value* shifted = nullptr;
};

bool MatchScaling(llvm::Instruction& instruction, Scaling& scaling) {
  using namespace llvm::PatternMatch;  // NOLINT(google-build-using-namespace): as it is meant to be used.
  auto* type = llvm::dyn_cast<llvm::FixedVectorType>(instruction.getType());
  if (type == nullptr || !type->getElementType()->isFloatTy()) return false;
  unsigned size = type->getNumElements();
  if (size != 4 && size != 8 && size != 16) return false;
  llvm::Value *bits, *half, *n;
  // Matches 2^x, where x may have other high bits: the shift drops them.
  auto power_of = [](const auto& x) {
    return m_BitCast(m_c_Add(m_Shl(x, m_SpecificInt(23)), m_SpecificInt(kOneBits)));
  };
  if (!match(&instruction, m_c_FMul(m_c_FMul(power_of(m_Value(half)), m_Value(scaling.p)),
                                    power_of(m_Sub(m_Value(bits), m_Deferred(half)))))) {
    return false;
  }
  if (!match(half, m_AShr(m_Value(n), m_SpecificInt(1)))) return false;
  // `bits`, from which half is subtracted, is n or the bits of the shifted sum: the shifter's low bits are
  // zeros.
  if (n != bits && !match(n, m_c_Add(m_Specific(bits), m_SpecificInt(-kShifterBits)))) return false;
  if (n == bits && !match(n, m_c_Add(m_Value(bits), m_SpecificInt(-kShifterBits)))) return false;
  return match(bits, m_BitCast(m_Value(scaling.shifted))) && scaling.shifted->getType() == type;
}

llvm::Value* EmitScaling(llvm::IRBuilder<>& b, const Scaling& scaling) {
  llvm::Type* type = scaling.p->getType();
  unsigned size = llvm::cast<llvm::FixedVectorType>(type)->getNumElements();
  auto length = llvm::ElementCount::getFixed(size);
  llvm::Value* minus_shifter =
      b.CreateBitCast(llvm::ConstantVector::getSplat(length, b.getInt32(kSignBit | kShifterBits)), type);
  // Exact, and already computed elsewhere.
  llvm::Value* exponent = b.CreateFAdd(scaling.shifted, minus_shifter);
  llvm::SmallVector<llvm::Value*> arguments = {scaling.p, exponent, llvm::Constant::getNullValue(type)};
  llvm::Intrinsic::ID id = llvm::Intrinsic::x86_avx512_mask_scalef_ps_512;
  if (size == 16) {
    arguments.append({b.getInt16(0xffff), b.getInt32(kCurrentRounding)});
  } else {
    id = size == 8 ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_256
                   : llvm::Intrinsic::x86_avx512_mask_scalef_ps_128;
    arguments.push_back(b.getInt8(0xff));
  }
  return b.CreateIntrinsic(id, {}, arguments);
}

}  // namespace

void ScaleByInstruction(llvm::Module& module) {
  llvm::SmallVector<std::pair<llvm::Instruction*, Scaling>> found;
  for (llvm::Function& function : module) {
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        Scaling scaling;
        if (MatchScaling(instruction, scaling)) found.emplace_back(&instruction, scaling);
      }
    }
  }
  for (auto& [instruction, scaling] : found) {
    llvm::IRBuilder<> b(instruction);
    instruction->replaceAllUsesWith(EmitScaling(b, scaling));
    llvm::RecursivelyDeleteTriviallyDeadInstructions(instruction);
  }
}

}  // namespace sinter::codegen
