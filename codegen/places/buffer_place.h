// Where a plan.buffer's bytes are, views followed to what they look into.
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
  mlir::Attribute name;             // Of the variable or the input.
  ir::DeviceAttr device;  // Whose arena, or whose copy of the input; a variable's and a constant's own.
  int64_t offset = 0;
  int64_t bytes = 0;
};

BufferPlace PlaceOf(mlir::Value buffer);
// The places of some buffers.
llvm::SmallVector<BufferPlace> PlacesOf(mlir::ValueRange buffers);
// Whether two buffers begin at the same byte, and whether they have any byte in common.
bool StartTogether(const BufferPlace& a, const BufferPlace& b);
bool Overlaps(const BufferPlace& a, const BufferPlace& b);
// The same for two buffers exactly if they begin at the same byte: a key of maps.
std::tuple<BufferPlace::Space, const void*, const void*, int64_t> StartOf(const BufferPlace& place);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLACES_BUFFER_PLACE_H_
