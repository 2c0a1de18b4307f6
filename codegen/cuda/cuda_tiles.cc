// Tiles: squares of a map with transposed inputs. Shared memory lets threads read rows and use columns.
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

// Elements from a row to the next: one more than a row has, so that a column's elements are in different
// banks.
constexpr int64_t kPitch = kCudaTile + 1;

class TileNest : private ThreadPart {
 public:
  explicit TileNest(CudaThread& t) : ThreadPart(t) {}

  void EmitTiles(Value block, Value thread);

 private:
  void InSquare(Value thread, Value row_first, Value column_first, const Loop& row_loop,
                const Loop& column_loop, llvm::function_ref<void(Value row, Value column)> action);
};

// Runs `action` for each existing position of the square that belongs to this thread, with coords_ set.
// Threads run along the columns and have every eighth row.
void TileNest::InSquare(Value thread, Value row_first, Value column_first, const Loop& row_loop,
                        const Loop& column_loop, llvm::function_ref<void(Value, Value)> action) {
  const int64_t rows_at_once = schedule_.block / kCudaTile;
  Value column = e_.rem(thread, e_.index(kCudaTile)), first = e_.div(thread, e_.index(kCudaTile));
  auto loop = b_.create<scf::ForOp>(s_.loc(), first, e_.index(kCudaTile), e_.index(rows_at_once));
  loop->setAttr(kUnrollAttr, b_.getI64IntegerAttr(kCudaTile / rows_at_once));
  mlir::OpBuilder::InsertionGuard guard(b_);
  b_.setInsertionPoint(loop.getBody()->getTerminator());
  ElementEmitter::Scope scope(e_);
  Value row = loop.getInductionVar();
  coords_[row_loop.dim] = e_.add(row_first, row);
  coords_[column_loop.dim] = e_.add(column_first, column);
  Value exists;
  for (const Loop* edge : {&row_loop, &column_loop}) {
    if (edge->size % kCudaTile != 0) exists = t_.And(exists, e_.lt(coords_[edge->dim], e_.index(edge->size)));
  }
  t_.If(exists, [&] { action(row, column); });
}

void TileNest::EmitTiles(Value block, Value thread) {
  const Loop inner = schedule_.parallel.back(), cross = schedule_.parallel[schedule_.cross];
  SmallVector<Loop> squares = schedule_.parallel;
  for (Loop* loop : {&squares[schedule_.cross], &squares.back()})
    loop->size = (loop->size + kCudaTile - 1) / kCudaTile;
  t_.SetParallel(squares, block);
  Value cross_first = e_.mul(coords_[cross.dim], e_.index(kCudaTile));
  Value inner_first = e_.mul(coords_[inner.dim], e_.index(kCudaTile));

  auto pointer = LLVM::LLVMPointerType::get(b_.getContext(), kSharedSpace);
  Value size =
      b_.create<LLVM::ConstantOp>(s_.loc(), b_.getI64Type(), b_.getI64IntegerAttr(kCudaTile * kPitch));
  SmallVector<Value> arrays;
  SmallVector<mlir::Type> types;
  for (const KeptValue& kept : schedule_.crossing) {
    mlir::Type element = llvm::cast<mlir::RankedTensorType>(kept.tensor.getType()).getElementType();
    types.push_back(ir::IsStoredFloat(element) ? element : ir::ScalarBuilder::ComputeType(element));
    arrays.push_back(b_.create<LLVM::AllocaOp>(s_.loc(), pointer, e_.StoredType(types.back()), size));
  }
  auto place = [&](Value row, Value column) { return e_.add(e_.mul(row, e_.index(kPitch)), column); };
  InSquare(thread, inner_first, cross_first, inner, cross, [&](Value row, Value column) {
    t_.UseLanes({{coords_}, Value(), Value()});
    for (auto [kept, array, type] : llvm::zip_equal(schedule_.crossing, arrays, types))
      e_.Store(array, type, place(row, column), e_.element(kept.tensor, KeptCoords(t_, kept)));
  });
  t_.Barrier();
  InSquare(thread, cross_first, inner_first, cross, inner, [&](Value row, Value column) {
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
