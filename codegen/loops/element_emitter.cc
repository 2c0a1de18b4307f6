#include "sinter/codegen/loops/element_emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/ir/scalar/float8.h"
#include "sinter/runtime/host/status.h"

namespace sinter::codegen {

namespace arith = mlir::arith;
namespace LLVM = mlir::LLVM;
using ir::Scalar;
using mlir::Type;
using mlir::Value;

Coordinate Coordinate::Of(Value value) {
  if (auto constant = value.getDefiningOp<arith::ConstantIndexOp>()) return {Value(), constant.value()};
  return {value, 0};
}

Value StripReshapes(Value tensor) {
  while (auto reshape = tensor.getDefiningOp<ir::ReshapeOp>()) tensor = reshape.getX();
  return tensor;
}

Scalar ElementEmitter::element(Value tensor, mlir::ValueRange coords) {
  Coordinates key;
  for (Value coord : coords) key.push_back(Coordinate::Of(coord));
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto known = scope->find(tensor);
    if (known == scope->end()) continue;
    for (auto& [at, scalar] : known->second) {
      if (at != key) continue;
      Again(tensor, key);
      return scalar;
    }
  }
  Scalar result;
  if (std::optional<Scalar> leaf = Leaf(tensor, coords, key)) {
    result = *leaf;
  } else {
    BeforeCompute(tensor, key);
    auto op_result = llvm::cast<mlir::OpResult>(tensor);
    auto fusible = llvm::cast<ir::FusibleInterface>(op_result.getOwner());
    result = fusible.emitElement(*this, coords, op_result.getResultNumber());
    AfterCompute(tensor, key, result);
  }
  Bind(tensor, key, result);
  return result;
}

void ElementEmitter::Bind(Value tensor, const Coordinates& coords, Scalar scalar) {
  SINTER_CHECK(!scopes_.empty());
  scopes_.back()[tensor].emplace_back(coords, scalar);
}

KernelEmitter::Cache* KernelEmitter::FindCache(Value tensor) {
  auto found = caches_.find(tensor);
  return found == caches_.end() ? nullptr : &found->second;
}

std::optional<Scalar> KernelEmitter::Leaf(Value tensor, mlir::ValueRange coords, const Coordinates& key) {
  auto type = llvm::cast<mlir::RankedTensorType>(tensor.getType());
  if (Cache* cache = FindCache(tensor); cache && cache->is_written && cache->coords == key) {
    Type compute = ir::ScalarBuilder::ComputeType(type.getElementType());
    Scalar loaded = Load(cache->pointer, compute, cache->position);
    loaded.is_unsigned = ir::ScalarBuilder::IsUnsigned(type.getElementType());
    return loaded;
  }
  if (auto memory = memory_.find(tensor); memory != memory_.end()) {
    return Load(memory->second, type.getElementType(), linearize(coords, type.getShape()));
  }
  // A reshape has the same bytes, so the linear position is the same.
  if (tensor.getDefiningOp<ir::ReshapeOp>()) {
    if (auto memory = memory_.find(StripReshapes(tensor)); memory != memory_.end()) {
      return Load(memory->second, type.getElementType(), linearize(coords, type.getShape()));
    }
  }
  return std::nullopt;
}

void KernelEmitter::AfterCompute(Value tensor, const Coordinates& key, Scalar scalar) {
  Cache* cache = FindCache(tensor);
  if (!cache || cache->is_written || cache->coords != key) return;
  Store(cache->pointer, scalar.type(), cache->position, scalar);
}

Value KernelEmitter::Address(Value pointer, Type element, Value position) {
  mlir::OpBuilder& b = s().builder();
  const bool is_builtin =
      !element.isInteger(1) && !element.isUnsignedInteger() && !ir::IsStoredFloat(element);
  Type stored = is_builtin ? element : Type(b.getIntegerType(std::max(8u, element.getIntOrFloatBitWidth())));
  Value offset = b.create<arith::IndexCastOp>(s().loc(), b.getI64Type(), position);
  return b.create<LLVM::GEPOp>(s().loc(), pointer.getType(), stored, pointer,
                               llvm::ArrayRef<LLVM::GEPArg>{offset}, /*inbounds=*/true);
}

Type KernelEmitter::StoredType(Type element) {
  mlir::OpBuilder& b = s().builder();
  if (element.isInteger(1) || ir::IsStoredFloat(element)) return b.getI8Type();
  // Stored as bits, because not every target has bf16 arithmetic.
  if (element.isBF16()) return b.getIntegerType(16);
  return element.isF16() ? element : ir::ScalarBuilder::ComputeType(element);
}

Scalar KernelEmitter::Widen(Value stored, Type element) {
  mlir::OpBuilder& b = s().builder();
  mlir::Location loc = s().loc();
  if (element.isInteger(1)) {
    Value zero = b.create<arith::ConstantOp>(loc, b.getIntegerAttr(b.getI8Type(), 0));
    return s().wrap(b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, stored, zero));
  }
  if (element.isBF16()) {
    Type i32 = b.getI32Type();
    Value bits = b.create<arith::ExtUIOp>(loc, i32, stored);
    Value sixteen = b.create<arith::ConstantOp>(loc, b.getIntegerAttr(i32, 16));
    Value shifted = b.create<arith::ShLIOp>(loc, bits, sixteen);
    return s().wrap(b.create<arith::BitcastOp>(loc, b.getF32Type(), shifted));
  }
  if (ir::IsStoredFloat(element)) return s().wrapStored(stored, element);
  if (element.isF16()) return s().wrap(b.create<arith::ExtFOp>(loc, b.getF32Type(), stored));
  return s().wrap(stored, ir::ScalarBuilder::IsUnsigned(element));
}

Value KernelEmitter::Narrow(Scalar scalar, Type element) {
  mlir::OpBuilder& b = s().builder();
  if (element.isInteger(1)) return b.create<arith::ExtUIOp>(s().loc(), b.getI8Type(), scalar.value);
  if (ir::IsStoredFloat(element)) {
    return scalar.stored ? scalar.stored
                         : ir::NarrowToFloat8(b, s().loc(), scalar.value, element, s().castsToFloat8());
  }
  if (element.isBF16() || element.isF16()) {
    return b.create<arith::TruncFOp>(s().loc(), element, scalar.value);
  }
  return scalar.value;
}

Scalar KernelEmitter::Load(Value pointer, Type element, Value position) {
  mlir::OpBuilder& b = s().builder();
  Value address = Address(pointer, element, position);
  return Widen(b.create<LLVM::LoadOp>(s().loc(), StoredType(element), address), element);
}

void KernelEmitter::Store(Value pointer, Type element, Value position, Scalar scalar) {
  mlir::OpBuilder& b = s().builder();
  Value value = Narrow(scalar, element);
  b.create<LLVM::StoreOp>(s().loc(), value, Address(pointer, element, position));
}

}  // namespace sinter::codegen
