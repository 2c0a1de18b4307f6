#include <algorithm>

#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/dialect/placed_builder.h"
#include "sinter/ir/dialect/tensor_types.h"
#include "sinter/ir/library/matmul_sizes.h"
#include "sinter/ir/target/target_model.h"
#include "sinter/passes/layout/product_padding.h"
#include "sinter/passes/layout/wide_values.h"
#include "sinter/passes/op_prices.h"
#include "sinter/passes/passes.h"

namespace sinter {

#define GEN_PASS_DEF_PADPRODUCTS
#include "passes/passes.h.inc"

using ir::TypeOf;
using llvm::SmallVector;
using mlir::Operation;
using mlir::Value;

namespace {

// A value that must be copied to be wide, at the price of reading it and writing it.
double SecondsOfCopy(OpPrices& prices, Value value, Operation* op) {
  return prices.secondsOfReading(ir::DeviceOf(op), 2.0 * static_cast<double>(ir::NumBytes(value)));
}

// The products that read a value. They share the price of its copy.
int64_t ProductsOf(Value value) {
  return std::max<int64_t>(1, llvm::count_if(value.getUsers(), llvm::IsaPred<ir::MatmulOp>));
}

// True if a kernel computes the value, which can then store it wide. A cast of a variable is none: its
// replica is read as it is (pass `keep-casts`).
bool IsOfKernel(Value value) {
  Operation* op = value.getDefiningOp();
  while (op && llvm::isa<ir::CastOp, ir::ReshapeOp, ir::TransposeOp>(op)) {
    value = op->getOperand(0);
    op = value.getDefiningOp();
  }
  return op && llvm::isa<ir::FusibleInterface, ir::ReductionInterface>(op) && !llvm::isa<ir::ConstantOp>(op);
}

// True if a library call or the program's caller reads the value, and so needs it without padding. Products
// take their operands padded as well.
bool NeedsNarrow(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation* user) {
    if (llvm::isa<ir::ReshapeOp, ir::CastOp>(user)) return NeedsNarrow(user->getResult(0));
    if (user->hasTrait<mlir::OpTrait::IsTerminator>()) return true;
    return llvm::isa<ir::StepInterface>(user) && !llvm::isa<ir::MatmulOp>(user);
  });
}

// Pads the products of one block.
class PaddedProducts {
 public:
  PaddedProducts(mlir::Block& block, bool always, bool report)
      : values_(block), always_(always), report_(report) {}

  void pad(ir::MatmulOp op);
  void finish() { values_.finish(); }

 private:
  double copies(ir::MatmulOp op, const PaddedSizes& padded);
  void build(ir::MatmulOp op, const PaddedSizes& padded);

  WideValues values_;
  OpPrices prices_;
  bool always_, report_;
};

// Returns the seconds of copies that padding needs.
double PaddedProducts::copies(ir::MatmulOp op, const PaddedSizes& padded) {
  double seconds = 0;
  auto count = [&](Value operand, Dims dims) {
    if (!operand || dims == 0 || values_.has(operand, dims)) return;
    if (values_.isComputedWide(operand, dims) || IsOfKernel(operand)) return;
    seconds += SecondsOfCopy(prices_, operand, op) / static_cast<double>(ProductsOf(operand));
  };
  count(op.getA(), padded.ofA());
  count(op.getB(), padded.ofB());
  count(op.getAddend(), padded.ofResult());
  const bool cuts_rows = padded.m && (op.getType().getRank() > 2 || padded.n);
  const bool copies_result = padded.n || cuts_rows;
  if (copies_result && NeedsNarrow(op.getResult())) seconds += SecondsOfCopy(prices_, op.getResult(), op);
  return seconds;
}

void PaddedProducts::pad(ir::MatmulOp op) {
  const PaddedSizes padded = PaddedSizes::Wanted(op, always_ ? 1 : kLeastSize);
  if (!padded.any()) return;
  const double gain = padded.gain(op, prices_.seconds(op)), lost = copies(op, padded);
  const bool pays = always_ || gain - lost > kLeastGain;
  if (report_) {
    auto remark = mlir::emitRemark(op.getLoc());
    remark << (pays ? "pads" : "does not pad") << padded.text(op) << " of a product of "
           << op.getA().getType() << " and " << op.getB().getType() << ": it would save "
           << static_cast<int64_t>(gain * 1e6) << " us, and copies would take "
           << static_cast<int64_t>(lost * 1e6) << " us";
  }
  if (pays) build(op, padded);
}

void PaddedProducts::build(ir::MatmulOp op, const PaddedSizes& padded) {
  const Value a = values_.zeroed(op.getA(), padded.ofA(), padded.termsOfA());
  const Value b = values_.zeroed(op.getB(), padded.ofB(), padded.termsOfB());
  const Dims of_result = padded.ofResult();
  const Value bias = op.getBias() && padded.n ? values_.any(op.getBias(), 1) : op.getBias();
  const Value addend = op.getAddend() ? values_.any(op.getAddend(), of_result) : Value();
  ir::PlacedBuilder at(op);
  auto wide = llvm::cast<ir::MatmulOp>(at.clone(*op.getOperation()));
  wide.getAMutable().assign(a);
  wide.getBMutable().assign(b);
  if (bias) wide.getBiasMutable().assign(bias);
  if (addend) wide.getAddendMutable().assign(addend);
  wide.getResult().setType(WideType(op.getType(), of_result));
  if (of_result == 0) {
    op.getResult().replaceAllUsesWith(wide.getResult());
  } else {
    const bool keeps_zeros = op.getActivation() != ir::Activation::sigmoid &&
                             (!addend || values_.hasZeros(addend)) && (!padded.m || !bias);
    const bool is_zero = (!padded.n || values_.hasZeros(b)) && (!padded.m || values_.hasZeros(a));
    values_.replace(op.getResult(), wide.getResult(), of_result, keeps_zeros && is_zero);
  }
  values_.discard(op);
}

class PadProductsPass : public impl::PadProductsBase<PadProductsPass> {
 public:
  using PadProductsBase::PadProductsBase;
  void runOnOperation() override {
    if (getOperation().isExternal()) return;
    mlir::Block& block = getOperation().getBody().front();
    SmallVector<ir::MatmulOp> products;
    for (auto matmul : block.getOps<ir::MatmulOp>()) products.push_back(matmul);
    PaddedProducts padded(block, always, report);
    for (ir::MatmulOp matmul : products) padded.pad(matmul);
    padded.finish();
  }
};

}  // namespace
}  // namespace sinter
