// Library ops that hand-written CUDA kernels (kernels/cuda/*.cuh) compute.
// These are pooling, cumsum, scatter-add and permutation, matmuls that cuBLASLt lacks, and, in tf32, small
// matmuls and convolutions of few channels. The kernels are compiled with the plan, so the runtime need not
// know them.
//
//   if (CudaCatalog::Default().Has(op)) {
//     SINTER_ASSIGN_OR_RETURN(CudaCatalogCall call, CudaCatalog::Default().Lower(op));
//   }
//
// To add an op, add a .cuh text, a file catalog_<family>.cc, and its line in catalog_kernels.cc.
#ifndef SINTER_CODEGEN_CUDA_CATALOG_CUDA_CATALOG_H_
#define SINTER_CODEGEN_CUDA_CATALOG_CUDA_CATALOG_H_

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/statusor.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/Operation.h"
#include "sinter/codegen/cuda/cuda_source.h"
#include "sinter/codegen/loops/fused_launches.h"

namespace sinter::codegen {

// One launch. In slots, kIn counts the op's operands, kOut its results, and kWorkspace has an offset in the
// call's workspace.
struct CudaCatalogLaunch {
  // Builds the kernel's text, so that a lowering of which only the numbers are needed builds none. The op
  // must still exist.
  std::function<CudaSource()> source;
  int64_t grid = 0, block = 0, shared_bytes = 0;
  std::vector<Slot> inputs, outputs;
};

// The launches of one op, in order.
struct CudaCatalogCall {
  std::vector<CudaCatalogLaunch> launches;
  int64_t workspace_bytes = 0;
  double flops = 0;
};

class CudaCatalog {
 public:
  using Lowering = absl::StatusOr<CudaCatalogCall> (*)(mlir::Operation* op);

  static const CudaCatalog& Default();

  // `computes` selects ops by element types and attributes; null: all ops of this kind.
  template <typename Op>
  void Add(Lowering lowering, bool (*computes)(mlir::Operation* op) = nullptr) {
    entries_[Op::getOperationName()] = {lowering, computes};
  }

  bool Has(mlir::Operation* op) const;
  // Returns no launches if there is nothing to compute. UNIMPLEMENTED, with the user's line, if no kernel
  // computes the op: an op for which Has is false, an unsupported layout or size.
  absl::StatusOr<CudaCatalogCall> Lower(mlir::Operation* op) const;

 private:
  struct Entry {
    Lowering lowering = nullptr;
    bool (*computes)(mlir::Operation* op) = nullptr;
  };
  llvm::StringMap<Entry> entries_;
};

void PopulateCudaCatalog(CudaCatalog& catalog);

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CATALOG_CUDA_CATALOG_H_
