#include "sinter/codegen/cpu/lower_kernels_to_llvm.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "llvm/ADT/TypeSwitch.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "sinter/codegen/cpu/fused_kernel.h"
#include "sinter/codegen/cpu/streaming_memory.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace LLVM = mlir::LLVM;
namespace math = mlir::math;

namespace {

// Returns the vector math's name for a math op that has no instruction.
std::optional<const char*> VectorMathName(mlir::Operation* op) {
  using Name = std::optional<const char*>;
  return llvm::TypeSwitch<mlir::Operation*, Name>(op)
      .Case<math::ExpOp>([](auto) { return "exp"; })
      .Case<math::Exp2Op>([](auto) { return "exp2"; })
      .Case<math::ExpM1Op>([](auto) { return "expm1"; })
      .Case<math::LogOp>([](auto) { return "log"; })
      .Case<math::Log2Op>([](auto) { return "log2"; })
      .Case<math::Log10Op>([](auto) { return "log10"; })
      .Case<math::Log1pOp>([](auto) { return "log1p"; })
      .Case<math::TanhOp>([](auto) { return "tanh"; })
      .Case<math::ErfOp>([](auto) { return "erf"; })
      .Case<math::SinOp>([](auto) { return "sin"; })
      .Case<math::CosOp>([](auto) { return "cos"; })
      .Case<math::TanOp>([](auto) { return "tan"; })
      .Case<math::AtanOp>([](auto) { return "atan"; })
      .Case<math::Atan2Op>([](auto) { return "atan2"; })
      .Case<math::PowFOp>([](auto) { return "pow"; })
      .Default([](auto) { return Name(); });
}

void CallVectorMath(mlir::ModuleOp module) {
  llvm::SmallVector<mlir::Operation*> ops;
  module.walk([&](mlir::Operation* op) {
    if (VectorMathName(op)) ops.push_back(op);
  });
  for (mlir::Operation* op : ops) {
    mlir::OpBuilder b(op);
    std::string name =
        absl::StrCat("sn_", *VectorMathName(op), op->getResult(0).getType().isF32() ? "_f32" : "_f64");
    if (!module.lookupSymbol(name)) {
      mlir::OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(module.getBody());
      auto type = b.getFunctionType(op->getOperandTypes(), op->getResultTypes());
      b.create<mlir::func::FuncOp>(op->getLoc(), name, type).setPrivate();
    }
    auto call = b.create<mlir::func::CallOp>(op->getLoc(), name, op->getResultTypes(), op->getOperands());
    op->replaceAllUsesWith(call);
    op->erase();
  }
}

// Replaces maximum and minimum by one comparison and a rule for NaN. LLVM's own lowering also distinguishes
// -0 from 0, at twice the cost.
template <typename Op>
void SelectInstead(mlir::ModuleOp module, mlir::arith::CmpFPredicate x_wins) {
  namespace arith = mlir::arith;  // NOLINT(misc-unused-alias-decls): used in templates.
  module.walk([&](Op op) {
    mlir::OpBuilder b(op);
    mlir::Value x = op.getLhs(), y = op.getRhs();
    mlir::Value wins = b.create<arith::CmpFOp>(op.getLoc(), x_wins, x, y);
    mlir::Value is_nan = b.create<arith::CmpFOp>(op.getLoc(), arith::CmpFPredicate::UNO, x, x);
    mlir::Value number = b.create<arith::SelectOp>(op.getLoc(), wins, x, y);
    mlir::Value result = b.create<arith::SelectOp>(op.getLoc(), is_nan, x, number);
    op.replaceAllUsesWith(result);
    op.erase();
  });
}

// Finds numbers of 16 bits that were widened to f32 and not changed since. To narrow them again would take a
// rounding of eight instructions, in which LLVM does not see that nothing is lost.
class MovedBits {
 public:
  // Returns the value of type `narrow` that `wide` was widened from, or a choice between such values and
  // constants if `wide` is one; null if there is none.
  mlir::Value Of(mlir::Value wide, mlir::Type narrow) {
    auto [known, is_new] = found_.try_emplace({wide, narrow});
    if (!is_new) return known->second;
    mlir::Value result = Find(wide, narrow);
    found_[{wide, narrow}] = result;
    return result;
  }

 private:
  static mlir::Value Find(mlir::arith::ConstantOp constant, mlir::Type narrow) {
    auto number = llvm::dyn_cast<mlir::FloatAttr>(constant.getValue());
    if (!number) return nullptr;
    llvm::APFloat value = number.getValue();
    bool loses = false;
    value.convert(llvm::cast<mlir::FloatType>(narrow).getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                  &loses);
    if (loses || value.isNaN()) return nullptr;
    mlir::OpBuilder b(constant);
    return b.create<mlir::arith::ConstantOp>(constant.getLoc(), b.getFloatAttr(narrow, value));
  }

  // A bf16 is widened as KernelEmitter::Widen does: 16 zeros below its bits.
  static mlir::Value Find(mlir::arith::BitcastOp bits, mlir::Type narrow) {
    namespace arith = mlir::arith;
    auto shift = bits.getIn().getDefiningOp<arith::ShLIOp>();
    auto widened = shift ? shift.getLhs().getDefiningOp<arith::ExtUIOp>() : nullptr;
    auto count = shift ? shift.getRhs().getDefiningOp<arith::ConstantOp>() : nullptr;
    if (!narrow.isBF16() || !widened || !widened.getIn().getType().isInteger(16) || !count) return nullptr;
    if (llvm::cast<mlir::IntegerAttr>(count.getValue()).getInt() != 16) return nullptr;
    mlir::OpBuilder b(bits);
    return b.create<arith::BitcastOp>(bits.getLoc(), narrow, widened.getIn());
  }

  mlir::Value Find(mlir::Value wide, mlir::Type narrow) {
    namespace arith = mlir::arith;
    if (!wide.getType().isF32()) return nullptr;
    if (auto extension = wide.getDefiningOp<arith::ExtFOp>())
      return extension.getIn().getType() == narrow ? extension.getIn() : nullptr;
    if (auto constant = wide.getDefiningOp<arith::ConstantOp>()) return Find(constant, narrow);
    if (auto bits = wide.getDefiningOp<arith::BitcastOp>()) return Find(bits, narrow);
    auto select = wide.getDefiningOp<arith::SelectOp>();
    if (!select) return nullptr;
    mlir::Value on_true = Of(select.getTrueValue(), narrow);
    mlir::Value on_false = on_true ? Of(select.getFalseValue(), narrow) : nullptr;
    if (!on_false) return nullptr;
    mlir::OpBuilder b(select);
    return b.create<arith::SelectOp>(select.getLoc(), select.getCondition(), on_true, on_false);
  }

  llvm::DenseMap<std::pair<mlir::Value, mlir::Type>, mlir::Value> found_;
};

// Moves numbers of 16 bits as they are, also NaNs.
void MoveBits(mlir::ModuleOp module) {
  MovedBits moved;
  module.walk([&](mlir::arith::TruncFOp narrowed) {
    mlir::Value bits = moved.Of(narrowed.getIn(), narrowed.getType());
    if (!bits) return;
    narrowed.replaceAllUsesWith(bits);
    narrowed.erase();
  });
}

// True if an index is known not to be negative. Numbers of units, which functions take, are not.
bool IsNonNegative(mlir::Value index) {
  namespace arith = mlir::arith;
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(index)) {
    auto loop = llvm::dyn_cast<mlir::scf::ForOp>(argument.getOwner()->getParentOp());
    if (!loop) return llvm::isa<mlir::func::FuncOp>(argument.getOwner()->getParentOp());
    return argument == loop.getInductionVar() && IsNonNegative(loop.getLowerBound());
  }
  mlir::Operation* op = index.getDefiningOp();
  if (auto constant = llvm::dyn_cast<arith::ConstantIndexOp>(op)) return constant.value() >= 0;
  if (llvm::isa<arith::MaxSIOp>(op)) return llvm::any_of(op->getOperands(), IsNonNegative);
  return llvm::isa<arith::AddIOp, arith::MulIOp, arith::DivSIOp, arith::RemSIOp, arith::MinSIOp>(op) &&
         llvm::all_of(op->getOperands(), IsNonNegative);
}

// Returns the number of loops around the innermost block whose arguments decide the value.
int LoopsThatDecide(mlir::Value index) {
  int depth = 0;
  if (auto argument = llvm::dyn_cast<mlir::BlockArgument>(index)) {
    for (mlir::Operation* op = argument.getOwner()->getParentOp(); op != nullptr; op = op->getParentOp())
      ++depth;
    return depth;
  }
  for (mlir::Value operand : index.getDefiningOp()->getOperands())
    depth = std::max(depth, LoopsThatDecide(operand));
  return depth;
}

void CollectTerms(mlir::Value sum, llvm::SmallVectorImpl<mlir::Value>& terms) {
  if (auto add = sum.getDefiningOp<mlir::arith::AddIOp>()) {
    CollectTerms(add.getLhs(), terms);
    CollectTerms(add.getRhs(), terms);
  } else {
    terms.push_back(sum);
  }
}

// Adds the terms of a position to the pointer one after another, those of outer loops first. LLVM makes an
// `or` of a sum whose terms share no bits, such as 128 * row and a column below 64. Once it has forgotten
// why, it cannot tell where the loop reads next, and does not vectorise it. Terms that are not negative keep
// every partial sum within the tensor.
void AddTermsApart(mlir::ModuleOp module) {
  module.walk([](LLVM::GEPOp address) {
    if (address.getDynamicIndices().size() != 1) return;
    auto cast = address.getDynamicIndices()[0].getDefiningOp<mlir::arith::IndexCastOp>();
    llvm::SmallVector<mlir::Value> terms;
    if (cast) CollectTerms(cast.getIn(), terms);
    if (terms.size() < 2 || !llvm::all_of(terms, IsNonNegative)) return;
    llvm::stable_sort(terms,
                      [](mlir::Value a, mlir::Value b) { return LoopsThatDecide(a) < LoopsThatDecide(b); });
    mlir::OpBuilder b(address);
    mlir::Value pointer = address.getBase();
    for (mlir::Value term : terms) {
      mlir::Value offset = b.create<mlir::arith::IndexCastOp>(cast.getLoc(), cast.getType(), term);
      pointer = b.create<LLVM::GEPOp>(address.getLoc(), address.getType(), address.getElemType(), pointer,
                                      llvm::ArrayRef<LLVM::GEPArg>{offset}, /*inbounds=*/true);
    }
    address.replaceAllUsesWith(pointer);
    address.erase();
  });
}

// Removes the functions' streaming attributes and returns them by function name.
using StreamedDistances = llvm::StringMap<llvm::SmallVector<int64_t>>;
StreamedDistances TakeStreamedDistances(mlir::ModuleOp module) {
  StreamedDistances result;
  module.walk([&](mlir::func::FuncOp function) {
    auto distances = function->getAttrOfType<mlir::DenseI64ArrayAttr>(kStreamedDistances);
    if (!distances) return;
    result[function.getName()].assign(distances.asArrayRef().begin(), distances.asArrayRef().end());
    function->removeAttr(kStreamedDistances);
  });
  return result;
}

void SetStreamedAttributes(llvm::Function& function, llvm::ArrayRef<int64_t> distances) {
  for (auto [i, distance] : llvm::enumerate(distances)) {
    if (distance == kNotStreamed) continue;
    function.addParamAttr(
        i, llvm::Attribute::get(function.getContext(), kStreamedAttribute, std::to_string(distance)));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<llvm::Module>> LowerKernelsToLlvm(mlir::ModuleOp module,
                                                                 llvm::LLVMContext& context) {
  mlir::MLIRContext* mlir_context = module.getContext();
  mlir::DialectRegistry registry;
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir_context->appendDialectRegistry(registry);
  StreamedDistances streamed = TakeStreamedDistances(module);
  CallVectorMath(module);
  SelectInstead<mlir::arith::MaximumFOp>(module, mlir::arith::CmpFPredicate::OGT);
  SelectInstead<mlir::arith::MinimumFOp>(module, mlir::arith::CmpFPredicate::OLT);

  MoveBits(module);
  AddTermsApart(module);

  std::string diagnostics;
  mlir::ScopedDiagnosticHandler handler(mlir_context, [&](mlir::Diagnostic& diagnostic) {
    absl::StrAppend(&diagnostics, diagnostics.empty() ? "" : "; ", diagnostic.str());
    return mlir::success();
  });
  mlir::PassManager passes(mlir_context);
  passes.addPass(mlir::createCSEPass());
  passes.addPass(mlir::createConvertSCFToCFPass());
  passes.addPass(mlir::createConvertMathToLLVMPass());
  passes.addPass(mlir::createArithToLLVMConversionPass());
  passes.addPass(mlir::createConvertControlFlowToLLVMPass());
  passes.addPass(mlir::createConvertFuncToLLVMPass());
  passes.addPass(mlir::createReconcileUnrealizedCastsPass());
  if (mlir::failed(passes.run(module))) {
    return absl::InternalError(absl::StrCat("lowering the kernels to LLVM failed: ", diagnostics));
  }
  std::unique_ptr<llvm::Module> result = mlir::translateModuleToLLVMIR(module, context, "sinter");
  if (!result)
    return absl::InternalError(absl::StrCat("translating the kernels to LLVM failed: ", diagnostics));
  for (llvm::Function& function : *result) {
    function.addFnAttr(llvm::Attribute::NoUnwind);
    if (function.isDeclaration() || !function.getName().starts_with(kBodyPrefix)) continue;
    // A separate function keeps its pointers' noalias attributes.
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr(llvm::Attribute::NoInline);
    SetStreamedAttributes(function, streamed.lookup(function.getName()));
  }
  return result;
}

}  // namespace sinter::codegen
