// Finds which memory the computation of one element of a fused value reads.
//
//   Trace trace = TraceElement(value);
//   trace.accesses[0].strides    // position in the tensor = constant + sum of strides[d] * coordinate[d]
//
// The trace emits the element once, on trial, at symbolic coordinates. It therefore works for every op: it
// records which tensors the ops read and at which positions, which reduction results they need and at which
// coordinates, and the cost.
#ifndef SINTER_CODEGEN_LOOPS_ACCESS_TRACE_H_
#define SINTER_CODEGEN_LOOPS_ACCESS_TRACE_H_

#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Operation.h"
#include "mlir/IR/Value.h"

namespace sinter::codegen {

// A position as a function of the coordinates: of a tensor element, or, if `tensor` is null, an index used as
// a number.
struct Access {
  mlir::Value tensor;
  llvm::SmallVector<int64_t> strides;  // One stride for each domain dimension.
  int64_t constant = 0;
  bool is_affine = true;  // If false, the dimensions on which the position depends in another way are pinned.
};

// A read of a tensor's element at coordinates that are coordinates of the domain.
struct Request {
  static constexpr int kConstant = -1;
  static constexpr int kComputed = -2;

  mlir::Value tensor;
  // For each coordinate of the tensor: its domain dimension, or one of the constants above.
  llvm::SmallVector<int> dims;
  llvm::SmallVector<int64_t> constants;  // Value of each coordinate that is constant.
  int parent = -1;                       // The request that needs this one; -1: the traced value itself.
  double own_cost = 0;                   // Scalar operations of its op alone.
  double total_cost = 0;                 // Scalar operations including those of its operands.
};

struct Trace {
  llvm::SmallVector<Access> accesses;
  llvm::SmallVector<Request> requests;  // In the order of first use; a tensor may appear again.
  llvm::SmallVector<int> reductions;    // Indices into `requests` of reduction results.
  llvm::SmallBitVector pinned;          // Dimensions whose coordinate itself is needed.
  double cost = 0;
};

// Traces an element at the coordinates of the value's own shape. Dimensions of size 1 have the constant
// coordinate 0.
Trace TraceElement(mlir::Value value);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_LOOPS_ACCESS_TRACE_H_
