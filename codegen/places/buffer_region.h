// The memory of a plan.buffer: its space, device and offset, with views resolved.
//
//   BufferRegion place = RegionOf(value);     // {kArena, nullptr, 4096, 1024}
//   Overlaps(RegionOf(a), RegionOf(b));
#ifndef SINTER_CODEGEN_PLACES_BUFFER_REGION_H_
#define SINTER_CODEGEN_PLACES_BUFFER_REGION_H_

#include <tuple>
#include <utility>

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Operation.h"
#include "sinter/ir/plan/plan_ops.h"

namespace sinter::codegen {

struct BufferRegion {
  enum class Space { kArena, kVariable, kConstant, kInput, kRankValue, kUnplaced };
  Space space = Space::kUnplaced;
  // plan.alloc, plan.variable, plan.constant, plan.input or plan.rank_value.
  mlir::Operation* root = nullptr;
  mlir::Attribute name;   // Name of the variable or the input.
  ir::DeviceAttr device;  // Device of the arena, variable, constant or copy of the input.
  int64_t offset = 0;
  int64_t bytes = 0;

  // True if the place begins at a multiple of `alignment` bytes, at most 64, wherever its memory is. A rank's
  // part of an input begins where it does in the whole input.
  bool IsAligned(int64_t alignment) const;
};

BufferRegion RegionOf(mlir::Value buffer);
llvm::SmallVector<BufferRegion> RegionsOf(mlir::ValueRange buffers);
// StartTogether is true if two buffers begin at the same byte; Overlaps is true if they share any byte.
bool StartTogether(const BufferRegion& a, const BufferRegion& b);
bool Overlaps(const BufferRegion& a, const BufferRegion& b);
// Map keys: MemoryOf is equal for two buffers exactly if offsets in them count from the same byte; StartOf is
// equal exactly if they begin at the same byte.
using MemoryKey = std::tuple<BufferRegion::Space, const void*, const void*>;
MemoryKey MemoryOf(const BufferRegion& place);
std::pair<MemoryKey, int64_t> StartOf(const BufferRegion& place);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_PLACES_BUFFER_REGION_H_
