#include "sinter/codegen/cpu/element_emitter.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "sinter/ir/ops.h"
#include "sinter/runtime/status.h"

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
  // The same bytes under another shape: no need to take the position apart.
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
  Type stored = element.isInteger(1) || element.isUnsignedInteger()
                    ? Type(b.getIntegerType(std::max(8u, element.getIntOrFloatBitWidth())))
                    : element;
  Value offset = b.create<arith::IndexCastOp>(s().loc(), b.getI64Type(), position);
  return b.create<LLVM::GEPOp>(s().loc(), pointer.getType(), stored, pointer,
                               llvm::ArrayRef<LLVM::GEPArg>{offset}, /*inbounds=*/true);
}

Scalar KernelEmitter::Load(Value pointer, Type element, Value position) {
  mlir::OpBuilder& b = s().builder();
  mlir::Location loc = s().loc();
  Value address = Address(pointer, element, position);
  Type i8 = b.getI8Type(), i16 = b.getIntegerType(16), i32 = b.getI32Type(), f32 = b.getF32Type();
  if (element.isInteger(1)) {
    Value byte = b.create<LLVM::LoadOp>(loc, i8, address);
    Value zero = b.create<arith::ConstantOp>(loc, b.getIntegerAttr(i8, 0));
    return s().wrap(b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, byte, zero));
  }
  if (element.isBF16()) {
    Value half = b.create<LLVM::LoadOp>(loc, i16, address);
    Value bits = b.create<arith::ExtUIOp>(loc, i32, half);
    Value sixteen = b.create<arith::ConstantOp>(loc, b.getIntegerAttr(i32, 16));
    Value shifted = b.create<arith::ShLIOp>(loc, bits, sixteen);
    return s().wrap(b.create<arith::BitcastOp>(loc, f32, shifted));
  }
  if (element.isF16()) {
    Value narrow = b.create<LLVM::LoadOp>(loc, element, address);
    return s().wrap(b.create<arith::ExtFOp>(loc, f32, narrow));
  }
  Value value = b.create<LLVM::LoadOp>(loc, ir::ScalarBuilder::ComputeType(element), address);
  return s().wrap(value, ir::ScalarBuilder::IsUnsigned(element));
}

void KernelEmitter::Store(Value pointer, Type element, Value position, Scalar scalar) {
  mlir::OpBuilder& b = s().builder();
  mlir::Location loc = s().loc();
  Value value = scalar.value;
  if (element.isInteger(1)) {
    value = b.create<arith::ExtUIOp>(loc, b.getI8Type(), value);
  } else if (element.isBF16() || element.isF16()) {
    value = b.create<arith::TruncFOp>(loc, element, value);
  }
  b.create<LLVM::StoreOp>(loc, value, Address(pointer, element, position));
}

}  // namespace sinter::codegen
