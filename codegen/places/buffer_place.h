// The memory of a plan.buffer: its space, device and offset, with views resolved.
//
//   BufferPlace place = PlaceOf(value);     // {kArena, nullptr, 4096, 1024}
//   Overlaps(PlaceOf(a), PlaceOf(b));
#ifndef SINTER_CODEGEN_PLACES_BUFFER_PLACE_H_
#define SINTER_CODEGEN_PLACES_BUFFER_PLACE_H_

#include <tuple>

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter::codegen {

struct BufferPlace {
  enum class Space { kArena, kVariable, kConstant, kInput, kUnplaced };
  Space space = Space::kUnplaced;
  mlir::Operation* root = nullptr;  // plan.alloc, plan.variable, plan.constant or plan.input.
  mlir::Attribute name;             // Name of the variable or the input.
  ir::DeviceAttr device;            // Device of the arena, variable, constant or copy of the input.
  int64_t offset = 0;
  int64_t bytes = 0;
};

BufferPlace PlaceOf(mlir::Value buffer);
llvm::SmallVector<BufferPlace> PlacesOf(mlir::ValueRange buffers);
// StartTogether is true if two buffers begin at the same byte; Overlaps is true if they share any byte.
bool StartTogether(const BufferPlace& a, const BufferPlace& b);
bool Overlaps(const BufferPlace& a, const BufferPlace& b);
// A map key: equal for two buffers exactly if they begin at the same byte.
std::tuple<BufferPlace::Space, const void*, const void*, int64_t> StartOf(const BufferPlace& place);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLACES_BUFFER_PLACE_H_
