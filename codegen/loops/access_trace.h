// What computing one element of a fused value touches, found by emitting it once, on trial, at symbolic coordinates.
//
//   Trace trace = TraceElement(value);
//   trace.accesses[0].strides    // position in the tensor = constant + sum of strides[d] * coordinate[d]
//
// It sees what the ops really do, whatever they are: which tensors they read and where, which reduction results they need
// and at which coordinates, and what it costs.
#ifndef SINTER_CODEGEN_LOOPS_ACCESS_TRACE_H_
#define SINTER_CODEGEN_LOOPS_ACCESS_TRACE_H_

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace sinter::codegen {

// A place that moves with the coordinates: of a tensor element, or (tensor null) a position used as a number.
struct Access {
  mlir::Value tensor;
  llvm::SmallVector<int64_t> strides;  // One a domain dimension.
  int64_t constant = 0;
  bool is_affine = true;  // Otherwise the dimensions that it depends on in another way are pinned.
};

// A tensor asked for at coordinates that are coordinates of the domain.
struct Request {
  static constexpr int kConstant = -1;
  static constexpr int kComputed = -2;

  mlir::Value tensor;
  llvm::SmallVector<int> dims;  // For each coordinate the domain dimension that it is, or one of the above.
  llvm::SmallVector<int64_t> constants;  // Its value where it is a constant.
  int parent = -1;                       // The request that asked for it; -1: the traced value itself.
  double own_cost = 0;                   // Scalar operations of its op alone,
  double total_cost = 0;                 // and with all that it asks for.
};

struct Trace {
  llvm::SmallVector<Access> accesses;
  llvm::SmallVector<Request> requests;  // In order of first use; the same tensor may appear again.
  llvm::SmallVector<int> reductions;    // Indices of requests of reduction results.
  llvm::SmallBitVector pinned;          // Dimensions whose coordinate itself is needed.
  double cost = 0;
};

// At the coordinates of the value's own shape; dimensions of size 1 have the constant coordinate 0.
Trace TraceElement(mlir::Value value);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_LOOPS_ACCESS_TRACE_H_
