// Emits the elements of a thread's vector: neighbours are read in one access.
//
//   LaneEmitter e(s);
//   e.SetTensor(tensor, pointer, /*is_read_only=*/true, /*is_aligned=*/true);
//   e.SetLanes({i0, i1, i2, i3});
//   e.element(tensor, {row, i1});                // A part of one load of 16 bytes.
#ifndef SINTER_CODEGEN_CUDA_LANE_EMITTER_H_
#define SINTER_CODEGEN_CUDA_LANE_EMITTER_H_

#include <optional>
#include <vector>

#include "sinter/codegen/loops/element_emitter.h"

namespace sinter::codegen {

// Reads neighbouring elements in one access. Lane j of a thread's vector has the coordinates of lane 0, with
// j added to one coordinate.
class LaneEmitter : public KernelEmitter {
 public:
  explicit LaneEmitter(ir::ScalarBuilder& s) : KernelEmitter(s) {}

  // `is_read_only`: no code of the kernel writes there. `is_aligned`: the pointer is a multiple of 16 bytes.
  void SetTensor(mlir::Value tensor, mlir::Value pointer, bool is_read_only, bool is_aligned);
  // Sets the coordinates of the lanes, lane 0 first: a multiple of the number of lanes. Forgets the vectors
  // read so far.
  void SetLanes(llvm::ArrayRef<mlir::Value> lanes);
  // True if the following reads of rows' vectors are the last ones.
  void SetLastReads(bool are_last) { are_last_reads_ = are_last; }

 protected:
  std::optional<ir::Scalar> Leaf(mlir::Value tensor, mlir::ValueRange coords,
                                 const Coordinates& key) override;

 private:
  struct Source {
    bool is_read_only, is_aligned;
  };
  struct Read {
    mlir::Value pointer;
    Coordinates first;  // Coordinates of lane 0, without the shift.
    int64_t shift = 0;
    mlir::Value vector;
  };
  // The lane whose coordinate, plus a multiple of the number of lanes, is another: that of a slice.
  struct Lane {
    size_t number;
    int64_t shift;
  };

  std::optional<Lane> LaneOf(mlir::Value coord) const;
  mlir::Value LoadRaw(mlir::Value pointer, mlir::Type stored, mlir::Type element, mlir::Value position,
                      bool is_read_only);
  std::optional<ir::Scalar> FromVector(mlir::Value memory, mlir::RankedTensorType type,
                                       mlir::ValueRange coords, const Source& source);

  llvm::DenseMap<mlir::Value, Source> sources_;
  llvm::SmallVector<mlir::Value> lanes_;
  std::vector<Read> reads_;
  bool are_last_reads_ = false;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_LANE_EMITTER_H_
