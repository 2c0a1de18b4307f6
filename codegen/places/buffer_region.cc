#include "sinter/codegen/places/buffer_region.h"

#include <numeric>

#include "llvm/ADT/TypeSwitch.h"

namespace sinter::codegen {

namespace {

// Returns the name or the op of a place's memory; null for an arena.
const void* OwnerOf(const BufferRegion& place) {
  switch (place.space) {
    case BufferRegion::Space::kArena:
      return nullptr;
    case BufferRegion::Space::kVariable:
      return place.name.getAsOpaquePointer();
    case BufferRegion::Space::kInput:
      // The start of a rank's part is not known here, so a part is memory of its own.
      return llvm::cast<plan_ir::InputOp>(place.root).getPart() ? place.root
                                                                : place.name.getAsOpaquePointer();
    case BufferRegion::Space::kConstant:
    case BufferRegion::Space::kRankValue:
    case BufferRegion::Space::kUnplaced:
      break;
  }
  return place.root;
}

bool SameMemory(const BufferRegion& a, const BufferRegion& b) { return MemoryOf(a) == MemoryOf(b); }

// True for the part of a stack that a trip of a loop reads or writes: it begins at a multiple of its bytes.
bool IsOfTrip(const BufferRegion& place) {
  auto function =
      place.root ? llvm::dyn_cast_or_null<plan_ir::FunctionOp>(place.root->getParentOp()) : nullptr;
  if (!function || !function.getFragment() || !place.name) return false;
  auto symbol = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(place.name);
  const llvm::StringRef name =
      symbol ? symbol.getValue() : llvm::cast<mlir::StringAttr>(place.name).getValue();
  return name.starts_with(ir::kSlicePrefix) || name.starts_with(ir::kStackPrefix);
}

int64_t SizeOf(mlir::Operation* buffer) {
  return llvm::cast<plan_ir::BufferType>(buffer->getResult(0).getType()).getBytes();
}

}  // namespace

bool BufferRegion::IsAligned(int64_t alignment) const {
  int64_t start = offset;
  if (auto input = llvm::dyn_cast_or_null<plan_ir::InputOp>(root); input && input.getPart()) {
    start = std::gcd(start, plan_ir::StartDivisor(*input.getPart()));
  }
  if (IsOfTrip(*this)) start = std::gcd(start, SizeOf(root));
  return start % alignment == 0;
}

MemoryKey MemoryOf(const BufferRegion& place) {
  return {place.space, place.device.getAsOpaquePointer(), OwnerOf(place)};
}

BufferRegion RegionOf(mlir::Value buffer) {
  using Space = BufferRegion::Space;
  BufferRegion place;
  place.bytes = llvm::cast<plan_ir::BufferType>(buffer.getType()).getBytes();
  while (auto view = buffer.getDefiningOp<plan_ir::ViewOp>()) {
    place.offset += view.getOffset();
    buffer = view.getSource();
  }
  place.root = buffer.getDefiningOp();
  place.device = ir::DeviceOf(place.root);
  llvm::TypeSwitch<mlir::Operation*>(place.root)
      .Case<plan_ir::AllocOp>([&](plan_ir::AllocOp op) {
        if (!op.getOffset()) return;
        place.space = Space::kArena;
        place.offset += *op.getOffset();
      })
      .Case<plan_ir::VariableOp>([&](plan_ir::VariableOp op) {
        place.space = Space::kVariable;
        place.name = op.getVariableAttr();
      })
      .Case<plan_ir::InputOp>([&](plan_ir::InputOp op) {
        place.space = Space::kInput;
        place.name = op.getNameAttr();
      })
      .Case<plan_ir::ConstantOp>([&](plan_ir::ConstantOp) { place.space = Space::kConstant; })
      .Case<plan_ir::RankValueOp>([&](plan_ir::RankValueOp) { place.space = Space::kRankValue; });
  return place;
}

llvm::SmallVector<BufferRegion> RegionsOf(mlir::ValueRange buffers) {
  llvm::SmallVector<BufferRegion> places;
  for (mlir::Value buffer : buffers) places.push_back(RegionOf(buffer));
  return places;
}

std::pair<MemoryKey, int64_t> StartOf(const BufferRegion& place) { return {MemoryOf(place), place.offset}; }

bool StartTogether(const BufferRegion& a, const BufferRegion& b) {
  return SameMemory(a, b) && a.offset == b.offset;
}

bool Overlaps(const BufferRegion& a, const BufferRegion& b) {
  return SameMemory(a, b) && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace sinter::codegen
