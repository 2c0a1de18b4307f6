#include "sinter/codegen/cuda/cuda_thread_reducer.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "sinter/codegen/cuda/cuda_printer.h"
#include "sinter/codegen/cuda/gpu_units.h"

namespace sinter::codegen {

namespace LLVM = mlir::LLVM;
using ir::Scalar;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

SmallVector<Value> ThreadReducer::SharedArrays(ArrayRef<Scalar> like, int64_t size) {
  SmallVector<Value> arrays;
  auto pointer = LLVM::LLVMPointerType::get(b_.getContext(), kSharedSpace);
  Value count = b_.create<LLVM::ConstantOp>(s_.loc(), b_.getI64Type(), b_.getI64IntegerAttr(size));
  for (const Scalar& scalar : like) {
    mlir::Type stored = e_.StoredType(scalar.type());
    arrays.push_back(b_.create<LLVM::AllocaOp>(s_.loc(), pointer, stored, count));
  }
  return arrays;
}

Scalars ThreadReducer::ReduceWarp(JobReduction& reduction, Scalars scalars, int64_t width, Value lane) {
  for (int64_t mask = width / 2; mask > 0; mask /= 2) {
    Scalars other;
    for (Scalar x : scalars) other.push_back(t_.ShuffleXor(x, mask));
    if (scalars.size() > 1) {
      // The lower lane's value comes first, so that all lanes compute the same bits.
      Value bit = e_.rem(e_.div(lane, e_.index(mask)), e_.index(2));
      Value is_upper = e_.ge(bit, e_.index(1));
      for (auto [x, y] : llvm::zip(scalars, other)) {
        Value mine = x.value;
        x.value = t_.Select(is_upper, y.value, mine);
        y.value = t_.Select(is_upper, mine, y.value);
      }
    }
    scalars = reduction.op.emitCombine(s_, scalars, other);
  }
  return scalars;
}

Scalars ThreadReducer::ReduceRow(JobReduction& reduction, Scalars scalars, Value lane) {
  int64_t threads = schedule_.threads;
  if (threads <= kWarp) return ReduceWarp(reduction, std::move(scalars), threads, lane);
  Value in_warp = e_.rem(lane, e_.index(kWarp)), warp = e_.div(lane, e_.index(kWarp));
  scalars = ReduceWarp(reduction, std::move(scalars), kWarp, in_warp);
  int64_t warps = threads / kWarp;
  SmallVector<Value> arrays = SharedArrays(scalars, warps);
  Value is_first = e_.lt(in_warp, e_.index(1));
  t_.If(is_first, [&] {
    for (auto [array, scalar] : llvm::zip(arrays, scalars)) e_.Store(array, scalar.type(), warp, scalar);
  });
  t_.Barrier();
  // Every warp combines the results of all warps, in the same way.
  Value from = warps == kWarp ? in_warp : e_.min(in_warp, e_.index(warps - 1));
  Value exists = warps == kWarp ? Value() : e_.lt(in_warp, e_.index(warps));
  Scalars identity = reduction.op.emitIdentity(s_), loaded;
  for (auto [array, like] : llvm::zip(arrays, identity)) {
    Scalar x = e_.Load(array, like.type(), from);
    loaded.push_back(s_.wrap(exists ? t_.Select(exists, x.value, like.value) : x.value, like.is_unsigned));
  }
  int64_t width = 1;
  while (width < warps) width *= 2;
  loaded = ReduceWarp(reduction, loaded, width, in_warp);
  // Lanes from `width` on have combined only identities, so all lanes take lane 0's result.
  if (width == kWarp) return loaded;
  Scalars first;
  for (Scalar x : loaded) {
    auto call =
        b_.create<mlir::func::CallOp>(s_.loc(), "sn_shuffle_first", x.type(), mlir::ValueRange{x.value});
    first.push_back(s_.wrap(call.getResult(0), x.is_unsigned));
  }
  return first;
}

SmallVector<Value> ThreadReducer::ColumnArrays(ArrayRef<Scalar> like) {
  SmallVector<Value> arrays;
  bool in_use = false;
  for (const Scalar& scalar : like) {
    const mlir::Type stored = e_.StoredType(scalar.type());
    auto* found = llvm::find_if(column_arrays_, [&](const auto& array) {
      return array.first == stored && !llvm::is_contained(arrays, array.second);
    });
    in_use |= found != column_arrays_.end();
    if (found == column_arrays_.end()) {
      column_arrays_.push_back({stored, SharedArrays(scalar, schedule_.block).front()});
      found = column_arrays_.end() - 1;
    }
    arrays.push_back(found->second);
  }
  // Other threads may still read the previous contents.
  if (in_use) t_.Barrier();
  return arrays;
}

Scalars ThreadReducer::ReduceColumn(JobReduction& reduction, Scalars scalars, Value row, Value column,
                                    int64_t deep, int64_t width) {
  if (deep == 1) return scalars;
  SmallVector<Value> arrays = ColumnArrays(scalars);
  Value place = e_.add(e_.mul(row, e_.index(width)), column);
  for (auto [array, scalar] : llvm::zip(arrays, scalars)) e_.Store(array, scalar.type(), place, scalar);
  t_.Barrier();
  Scalars total;
  for (int64_t t = 0; t < deep; ++t) {
    Scalars loaded;
    Value at = e_.add(e_.index(t * width), column);
    for (auto [array, like] : llvm::zip(arrays, scalars)) {
      Scalar x = e_.Load(array, like.type(), at);
      loaded.push_back(s_.wrap(x.value, like.is_unsigned));
    }
    total = t == 0 ? loaded : reduction.op.emitCombine(s_, total, loaded);
  }
  return total;
}

}  // namespace sinter::codegen
