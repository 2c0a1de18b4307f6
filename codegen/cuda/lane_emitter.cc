#include "sinter/codegen/cuda/lane_emitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace sinter::codegen {

namespace LLVM = mlir::LLVM;
using ir::Scalar;
using mlir::Value;

namespace {

// True if code at the builder's place may use the value: a vector that a loop has read is gone behind the
// loop.
bool IsVisible(Value value, mlir::OpBuilder& builder) {
  return value.getParentRegion()->isAncestor(builder.getInsertionBlock()->getParent());
}

// A coordinate as a sum of a value, null for a constant, and a constant.
struct Shifted {
  Value base;
  int64_t constant = 0;
};

Shifted ShiftedOf(Value coord) {
  Shifted result{coord};
  while (result.base) {
    const Coordinate at = Coordinate::Of(result.base);
    if (!at.value) return {Value(), result.constant + at.constant};
    auto add = at.value.getDefiningOp<mlir::arith::AddIOp>();
    auto sub = at.value.getDefiningOp<mlir::arith::SubIOp>();
    if (!add && !sub) break;
    const Coordinate right = Coordinate::Of(add ? add.getRhs() : sub.getRhs());
    if (right.value) break;
    result.base = add ? add.getLhs() : sub.getLhs();
    result.constant += add ? right.constant : -right.constant;
  }
  return result;
}

}  // namespace

std::optional<LaneEmitter::Lane> LaneEmitter::LaneOf(Value coord) const {
  if (const auto* same = llvm::find(lanes_, coord); same != lanes_.end())
    return Lane{static_cast<size_t>(same - lanes_.begin()), 0};
  const auto count = static_cast<int64_t>(lanes_.size());
  const Shifted at = ShiftedOf(coord);
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    const Shifted own = ShiftedOf(lanes_[lane]);
    const int64_t shift = at.constant - own.constant;
    if (at.base && at.base == own.base && shift % count == 0) return Lane{lane, shift};
  }
  return std::nullopt;
}

void LaneEmitter::SetTensor(Value tensor, Value pointer, bool is_read_only, bool is_aligned) {
  SetMemory(tensor, pointer);
  sources_[tensor] = {is_read_only, is_aligned};
}

void LaneEmitter::SetLanes(llvm::ArrayRef<Value> lanes) {
  lanes_.assign(lanes.begin(), lanes.end());
  reads_.clear();
}

Value LaneEmitter::LoadRaw(Value pointer, mlir::Type stored, mlir::Type element, Value position,
                           bool is_read_only) {
  auto load = s().builder().create<LLVM::LoadOp>(s().loc(), stored, Address(pointer, element, position));
  load.setInvariant(is_read_only);
  return load;
}

std::optional<Scalar> LaneEmitter::FromVector(Value memory, mlir::RankedTensorType type,
                                              mlir::ValueRange coords, const Source& source) {
  if (lanes_.size() < 2 || !source.is_aligned || coords.empty()) return std::nullopt;
  const std::optional<Lane> lane = LaneOf(coords.back());
  // A shifted vector has elements that no lane reads. They exist if rows are whole vectors.
  if (!lane || (lane->shift != 0 && type.getShape().back() % static_cast<int64_t>(lanes_.size()) != 0))
    return std::nullopt;
  // Lane 0's position must be a multiple of the lane count, so the other coordinates must move it by whole
  // vectors.
  int64_t count = lanes_.size();
  for (auto [d, coord] : llvm::enumerate(coords.drop_back())) {
    int64_t stride = 1;
    for (int64_t size : type.getShape().drop_front(d + 1)) stride *= size;
    Coordinate at = Coordinate::Of(coord);
    bool fits = at.value ? stride % count == 0 : at.constant * stride % count == 0;
    if (!fits) return std::nullopt;
  }
  llvm::SmallVector<Value> first(coords.begin(), coords.end());
  first.back() = lanes_.front();
  Coordinates key;
  for (Value coord : first) key.push_back(Coordinate::Of(coord));
  Value vector;
  for (const Read& read : reads_) {
    if (read.pointer == memory && read.first == key && read.shift == lane->shift &&
        IsVisible(read.vector, s().builder()))
      vector = read.vector;
  }
  if (!vector) {
    mlir::Type stored = StoredType(type.getElementType());
    auto array = LLVM::LLVMArrayType::get(stored, count);
    if (lane->shift != 0) first.back() = add(first.back(), index(lane->shift));
    vector =
        LoadRaw(memory, array, type.getElementType(), linearize(first, type.getShape()), source.is_read_only);
    // Values that vary only along the lanes are read again for the next row.
    const bool is_of_row = llvm::any_of(llvm::ArrayRef(key).drop_back(),
                                        [](const Coordinate& at) { return static_cast<bool>(at.value); });
    vector.getDefiningOp<LLVM::LoadOp>().setNontemporal(are_last_reads_ && is_of_row);
    reads_.push_back({memory, key, lane->shift, vector});
  }
  Value stored = s().builder().create<LLVM::ExtractValueOp>(
      s().loc(), vector, llvm::ArrayRef<int64_t>{static_cast<int64_t>(lane->number)});
  return Widen(stored, type.getElementType());
}

std::optional<Scalar> LaneEmitter::Leaf(Value tensor, mlir::ValueRange coords, const Coordinates& key) {
  Value held = tensor;
  if (!MemoryOf(held)) held = StripReshapes(tensor);
  Value memory = MemoryOf(held);
  if (!memory) return std::nullopt;
  const Source& source = sources_.at(held);
  auto type = llvm::cast<mlir::RankedTensorType>(tensor.getType());
  if (std::optional<Scalar> lane = FromVector(memory, type, coords, source)) return lane;
  Value stored = LoadRaw(memory, StoredType(type.getElementType()), type.getElementType(),
                         linearize(coords, type.getShape()), source.is_read_only);
  return Widen(stored, type.getElementType());
}

}  // namespace sinter::codegen
