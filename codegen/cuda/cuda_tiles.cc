// Tiles of a map with transposed inputs. Shared memory lets threads read rows and use columns.
#include <algorithm>

#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sinter/codegen/cuda/cuda_nests.h"
#include "sinter/codegen/cuda/cuda_printer.h"
#include "sinter/ir/scalar/float8.h"

namespace sinter::codegen {

namespace LLVM = mlir::LLVM;
namespace scf = mlir::scf;
using ir::Scalar;
using llvm::SmallVector;
using mlir::Value;

namespace {

class TileNest : private ThreadPart {
 public:
  explicit TileNest(CudaThread& t) : ThreadPart(t) {}

  void EmitTiles(Value block, Value thread);

 private:
  // A side of a tile: a loop, its first position, and the tile's positions of it.
  struct Side {
    Loop loop;
    Value first;
    int64_t size;
  };
  void InTile(Value thread, const Side& rows, const Side& columns,
              llvm::function_ref<void(Value row, Value column)> action);
};

// Runs `action` for each existing position of the tile that belongs to this thread, with coords_ set.
// Threads run along the columns, and then along the rows.
void TileNest::InTile(Value thread, const Side& rows, const Side& columns,
                      llvm::function_ref<void(Value, Value)> action) {
  const int64_t rows_at_once = schedule_.block / columns.size;
  Value column = e_.rem(thread, e_.index(columns.size)), first = e_.div(thread, e_.index(columns.size));
  auto loop = b_.create<scf::ForOp>(s_.loc(), first, e_.index(rows.size), e_.index(rows_at_once));
  loop->setAttr(kUnrollAttr, b_.getI64IntegerAttr(std::max<int64_t>(1, rows.size / rows_at_once)));
  mlir::OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(loop.getBody()->getTerminator());
  ElementEmitter::Scope scope(e_);
  Value row = loop.getInductionVar();
  coords_[rows.loop.dim] = e_.add(rows.first, row);
  coords_[columns.loop.dim] = e_.add(columns.first, column);
  Value exists;
  for (const Side* side : {&rows, &columns}) {
    if (side->loop.size % side->size == 0) continue;
    exists = t_.And(exists, e_.lt(coords_[side->loop.dim], e_.index(side->loop.size)));
  }
  t_.If(exists, [&] { action(row, column); });
}

void TileNest::EmitTiles(Value block, Value thread) {
  Side inner = {schedule_.parallel.back(), Value(), schedule_.tile_inner};
  Side cross = {schedule_.parallel[schedule_.cross], Value(), schedule_.tile_cross};
  SmallVector<Loop> tiles = schedule_.parallel;
  tiles[schedule_.cross].size = llvm::divideCeilSigned(cross.loop.size, cross.size);
  tiles.back().size = llvm::divideCeilSigned(inner.loop.size, inner.size);
  t_.SetParallel(tiles, block);
  for (Side* side : {&inner, &cross}) side->first = e_.mul(coords_[side->loop.dim], e_.index(side->size));
  // From a row to the next there is one element more than a row has, so that a column's elements are in
  // different banks.
  const int64_t pitch = cross.size + 1;

  auto pointer = LLVM::LLVMPointerType::get(b_.getContext(), kSharedSpace);
  Value size =
      b_.create<LLVM::ConstantOp>(s_.loc(), b_.getI64Type(), b_.getI64IntegerAttr(inner.size * pitch));
  SmallVector<Value> arrays;
  SmallVector<mlir::Type> types;
  for (const KeptValue& kept : schedule_.crossing) {
    mlir::Type element = llvm::cast<mlir::RankedTensorType>(kept.tensor.getType()).getElementType();
    types.push_back(ir::IsStoredFloat(element) ? element : ir::ScalarBuilder::ComputeType(element));
    arrays.push_back(b_.create<LLVM::AllocaOp>(s_.loc(), pointer, e_.StoredType(types.back()), size));
  }
  auto place = [&](Value row, Value column) { return e_.add(e_.mul(row, e_.index(pitch)), column); };
  InTile(thread, inner, cross, [&](Value row, Value column) {
    t_.UseLanes({{coords_}, Value(), Value()});
    for (auto [kept, array, type] : llvm::zip_equal(schedule_.crossing, arrays, types))
      e_.Store(array, type, place(row, column), e_.element(kept.tensor, KeptCoords(t_, kept)));
  });
  t_.Barrier();
  InTile(thread, cross, inner, [&](Value row, Value column) {
    Lanes single = {{coords_}, Value(), Value()};
    t_.UseLanes(single);
    for (auto [kept, array, type] : llvm::zip_equal(schedule_.crossing, arrays, types)) {
      Scalar x = e_.Load(array, type, place(column, row));
      mlir::Type element = llvm::cast<mlir::RankedTensorType>(kept.tensor.getType()).getElementType();
      x.is_unsigned = ir::ScalarBuilder::IsUnsigned(element);
      Coordinates key;
      for (Value coord : KeptCoords(t_, kept)) key.push_back(Coordinate::Of(coord));
      e_.Bind(kept.tensor, key, x);
    }
    t_.StoreFullOutputs(0, single);
  });
}

}  // namespace

SmallVector<Value> KeptCoords(CudaThread& t, const KeptValue& kept) {
  SmallVector<Value> coords;
  for (auto [dim, constant] : llvm::zip_equal(kept.dims, kept.constants))
    coords.push_back(dim == Request::kConstant ? t.e().index(constant) : t.coords()[dim]);
  return coords;
}

void EmitTiles(CudaThread& t, Value block, Value thread) { TileNest(t).EmitTiles(block, thread); }

}  // namespace sinter::codegen
