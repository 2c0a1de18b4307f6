// Library ops that hand-written CUDA kernels compute (kernels/cuda/*.cuh): pooling, cumsum, scatter-add, permutation; matrix
// products that cuBLASLt lacks; in tf32 small products and convolutions of few channels. The kernels are compiled with the
// plan, so that its runtime knows nothing of them.
//
//   if (CudaCatalog::Default().Has(op)) {
//     SINTER_ASSIGN_OR_RETURN(CudaCatalogCall call, CudaCatalog::Default().Lower(op));
//   }
//
// Adding an op: a .cuh text, its name in kernels/CMakeLists.txt and kernels/cuda/embedded_cuda.h, a file catalog_<family>.cc,
// and one line in PopulateCudaCatalog.
#ifndef SINTER_CODEGEN_CUDA_CATALOG_CUDA_CATALOG_H_
#define SINTER_CODEGEN_CUDA_CATALOG_CUDA_CATALOG_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/Operation.h"
#include "sinter/codegen/cuda/cuda_source.h"
#include "sinter/codegen/loops/fused_stages.h"

namespace sinter::codegen {

// One launch. Slots: kIn counts the op's operands, kOut its results, kWorkspace has an offset in the call's workspace.
struct CudaCatalogLaunch {
  CudaSource source;
  int64_t grid = 0, block = 0, shared_bytes = 0;
  std::vector<Slot> inputs, outputs;
};

// The launches of one op, run one after the other.
struct CudaCatalogCall {
  std::vector<CudaCatalogLaunch> launches;
  int64_t workspace_bytes = 0;
  double flops = 0;
};

class CudaCatalog {
 public:
  using Lowering = absl::StatusOr<CudaCatalogCall> (*)(mlir::Operation* op);

  static const CudaCatalog& Default();

  // `computes`: which ops of the kind, by their element types and attributes; null: all.
  template <typename Op>
  void Add(Lowering lowering, bool (*computes)(mlir::Operation* op) = nullptr) {
    entries_[Op::getOperationName()] = {lowering, computes};
  }

  bool Has(mlir::Operation* op) const;
  // No launches where there is nothing to compute. UNIMPLEMENTED, with the user's line, for what no kernel computes: an op
  // that Has denies, a layout, a size.
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
