#include "llvm/ADT/StringExtras.h"
#include "sinter/ir/dialect/function_attrs.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/precision_attr.h"
#include "sinter/ir/library/matmul_sizes.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_FLOAT8PRODUCTS
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;
using mlir::Value;

// Every dimension of a product is the inner one of it or of a gradient's.
constexpr int64_t kMultiple = 16;

// The variable that a value is a cast, a transpose, a reshape or a slice of a loop of; empty if there is
// none.
std::string VariableOf(Value value) {
  while (Operation* op = value.getDefiningOp()) {
    if (!llvm::isa<ir::CastOp, ir::TransposeOp, ir::ReshapeOp>(op)) return "";
    value = op->getOperand(0);
  }
  auto argument = llvm::cast<mlir::BlockArgument>(value);
  Operation* const parent = argument.getOwner()->getParentOp();
  if (auto scan = llvm::dyn_cast<ir::ScanOp>(parent)) {
    // Argument 0 is the number of the trip. Carries change from trip to trip.
    const auto given = static_cast<int64_t>(argument.getArgNumber()) - 1;
    const auto carries = static_cast<int64_t>(scan.getCarries().size());
    return given < carries ? "" : VariableOf(scan->getOperand(static_cast<unsigned>(given)));
  }
  auto function = llvm::dyn_cast<mlir::func::FuncOp>(parent);
  if (!function) return "";
  auto name = function.getArgAttrOfType<mlir::FlatSymbolRefAttr>(argument.getArgNumber(), ir::kVariableAttr);
  return name ? name.getValue().str() : "";
}

// True if the value is what a classification's loss compares with labels, perhaps after a bias.
bool AreLogits(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation* user) {
    if (llvm::isa<ir::SoftmaxCrossEntropyOp, ir::LogSoftmaxOp>(user)) return true;
    return llvm::isa<ir::CastOp, ir::ReshapeOp, ir::AddOp>(user) && AreLogits(user->getResult(0));
  });
}

// The attribute `sinter.float8`.
struct Settings {
  ir::Float8Recipe recipe = ir::Float8Recipe::tensorwise;
  int64_t least_features = 256;
  bool logits = false;
  llvm::SmallVector<llvm::StringRef> exclude;

  // Returns the fault of an entry; empty if there is none.
  std::string set(mlir::NamedAttribute entry) {
    const llvm::StringRef name = entry.getName();
    if (name == "recipe") {
      auto text = llvm::dyn_cast<mlir::StringAttr>(entry.getValue());
      const auto named = text ? ir::symbolizeFloat8Recipe(text.getValue()) : std::nullopt;
      if (!named) return "expected recipe tensorwise, rowwise or rowwise_with_bf16_weight_gradient";
      recipe = *named;
    } else if (name == "least_features") {
      auto number = llvm::dyn_cast<mlir::IntegerAttr>(entry.getValue());
      if (!number || number.getInt() < 0) return "expected least_features of at least 0";
      least_features = number.getInt();
    } else if (name == "logits") {
      auto value = llvm::dyn_cast<mlir::BoolAttr>(entry.getValue());
      if (!value) return "expected logits true or false";
      logits = value.getValue();
    } else if (name == "exclude") {
      auto names = llvm::dyn_cast<mlir::ArrayAttr>(entry.getValue());
      if (!names || !llvm::all_of(names, llvm::IsaPred<mlir::StringAttr>))
        return "expected exclude a list of strings";
      for (auto part : names.getAsRange<mlir::StringAttr>()) exclude.push_back(part.getValue());
    } else {
      return "expected the entries recipe, least_features, logits and exclude";
    }
    return "";
  }
};

class Float8ProductsPass : public impl::Float8ProductsBase<Float8ProductsPass> {
 public:
  using Float8ProductsBase::Float8ProductsBase;

  void runOnOperation() override {
    const mlir::Attribute given = getOperation()->getAttr(ir::kFloat8Attr);
    if (!given) return;
    if (mlir::failed(readSettings(given))) return signalPassFailure();
    llvm::SmallVector<ir::MatmulOp> matmuls;
    getOperation().walk([&](ir::MatmulOp matmul) { matmuls.push_back(matmul); });
    bool found = false;
    for (ir::MatmulOp matmul : matmuls) {
      const std::string reason = against(matmul);
      if (report) remark(matmul, reason);
      if (!reason.empty()) continue;
      found = true;
      if (mlir::failed(checkDevice(matmul))) return signalPassFailure();
      replace(matmul);
    }
    if (found) return;
    getOperation().emitError() << "GraphOptions::float8 applies to no product: it takes matmuls of bf16 by a "
                               << "variable of at least " << settings_.least_features
                               << " rows and columns, whose sizes are multiples of " << kMultiple
                               << "; set precision to bf16, or lower Float8::least_features";
    signalPassFailure();
  }

 private:
  mlir::LogicalResult readSettings(mlir::Attribute given) {
    settings_ = {};
    auto entries = llvm::dyn_cast<mlir::DictionaryAttr>(given);
    std::string fault = entries ? "" : "expected a dictionary";
    for (mlir::NamedAttribute entry : entries ? entries.getValue() : llvm::ArrayRef<mlir::NamedAttribute>()) {
      if (fault.empty()) fault = settings_.set(entry);
    }
    if (fault.empty()) return mlir::success();
    return getOperation().emitError() << "has " << ir::kFloat8Attr << " = " << given << "; " << fault;
  }

  // Returns why a product stays as it is; empty if it becomes one of 8-bit floats.
  std::string against(ir::MatmulOp matmul) const {
    if (matmul.getType().getRank() != 2) return "it has a batch of matrices";
    if (!matmul.getA().getType().getElementType().isBF16() || !matmul.getType().getElementType().isBF16()) {
      return "its operands and its result are not all of bf16";
    }
    if (matmul.getBias() || matmul.getAddend() || matmul.getScale() ||
        matmul.getActivation() != ir::Activation::none) {
      return "it has an epilogue";
    }
    const std::string variable = VariableOf(matmul.getB());
    if (variable.empty()) return "its second operand is no variable";
    const ir::MatmulSizes s = ir::MatmulSizes::Of(matmul);
    if (s.m % kMultiple != 0 || s.n % kMultiple != 0 || s.k % kMultiple != 0 || s.m == 0) {
      return "its sizes are not all multiples of " + std::to_string(kMultiple);
    }
    if (std::min(s.n, s.k) < settings_.least_features) {
      return "its weights have fewer than " + std::to_string(settings_.least_features) + " rows or columns";
    }
    if (!settings_.logits && AreLogits(matmul.getResult())) return "it computes logits";
    for (const llvm::StringRef part : settings_.exclude) {
      if (llvm::StringRef(variable).contains(part)) return "\"" + variable + "\" is excluded";
    }
    return "";
  }

  void replace(ir::MatmulOp matmul) const {
    ir::PlacedBuilder at(matmul);
    auto product =
        at.create<ir::Float8MatmulOp>(matmul.getLoc(), matmul.getType(), matmul.getA(), matmul.getB(),
                                      settings_.recipe, matmul.getTransposeA(), matmul.getTransposeB());
    matmul.getResult().replaceAllUsesWith(product.getResult());
    matmul.erase();
  }

  void remark(ir::MatmulOp matmul, const std::string& reason) const {
    const ir::MatmulSizes s = ir::MatmulSizes::Of(matmul);
    mlir::InFlightDiagnostic remark = mlir::emitRemark(matmul.getLoc());
    remark << "product of " << s.m << "x" << s.k << " by " << s.k << "x" << s.n;
    if (reason.empty()) {
      remark << " in float8, " << ir::stringifyFloat8Recipe(settings_.recipe);
    } else {
      remark << " stays in " << matmul.getA().getType().getElementType() << ": " << reason;
    }
  }

  // On a GPU the plan's architectures must have 8-bit floats.
  mlir::LogicalResult checkDevice(ir::MatmulOp matmul) {
    const bool is_on_gpu = ir::TargetModel::Of(matmul).kernels == ir::KernelForm::kCuda;
    const bool is_tensorwise = settings_.recipe == ir::Float8Recipe::tensorwise;
    llvm::ArrayRef<std::string> lacking = is_tensorwise ? without : withoutRows;
    if (!is_on_gpu || lacking.empty()) return mlir::success();
    return matmul.emitError() << "GraphOptions::float8 asks for products of 8-bit floats, which GPUs of "
                              << llvm::join(lacking, ", ")
                              << " lack: set CompileOptions::gpu_architectures to "
                              << (is_tensorwise ? "sm_89, sm_90 or newer"
                                                : "sm_90, or the recipe to kTensorwise")
                              << ", or leave float8 out";
  }

  Settings settings_;
};

}  // namespace
}  // namespace sinter
