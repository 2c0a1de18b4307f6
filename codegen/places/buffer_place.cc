#include "sinter/codegen/places/buffer_place.h"

#include "llvm/ADT/TypeSwitch.h"

namespace sinter::codegen {

namespace {

// Identifies the memory of a place, except for its device.
const void* MemoryOf(const BufferPlace& place) {
  switch (place.space) {
    case BufferPlace::Space::kArena:
      return nullptr;
    case BufferPlace::Space::kVariable:
    case BufferPlace::Space::kInput:
      return place.name.getAsOpaquePointer();
    case BufferPlace::Space::kConstant:
    case BufferPlace::Space::kUnplaced:
      break;
  }
  return place.root;
}

bool SameMemory(const BufferPlace& a, const BufferPlace& b) {
  return a.space == b.space && a.device == b.device && MemoryOf(a) == MemoryOf(b);
}

}  // namespace

BufferPlace PlaceOf(mlir::Value buffer) {
  using Space = BufferPlace::Space;
  BufferPlace place;
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
      .Case<plan_ir::ConstantOp>([&](plan_ir::ConstantOp) { place.space = Space::kConstant; });
  return place;
}

llvm::SmallVector<BufferPlace> PlacesOf(mlir::ValueRange buffers) {
  llvm::SmallVector<BufferPlace> places;
  for (mlir::Value buffer : buffers) places.push_back(PlaceOf(buffer));
  return places;
}

std::tuple<BufferPlace::Space, const void*, const void*, int64_t> StartOf(const BufferPlace& place) {
  return {place.space, place.device.getAsOpaquePointer(), MemoryOf(place), place.offset};
}

bool StartTogether(const BufferPlace& a, const BufferPlace& b) {
  return SameMemory(a, b) && a.offset == b.offset;
}

bool Overlaps(const BufferPlace& a, const BufferPlace& b) {
  return SameMemory(a, b) && a.offset < b.offset + b.bytes && b.offset < a.offset + a.bytes;
}

}  // namespace sinter::codegen
