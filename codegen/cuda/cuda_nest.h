// Emits the work of one GPU thread for one job, for cuda_printer.h.
// The code is in the dialects func, scf, arith and math and LLVM's memory ops. The functions that it calls
// (sn_barrier, sn_shuffle_xor) are in kernels/cuda/prelude.cuh.
//
//   CudaNest nest(s, job, schedule, pointer_of);
//   nest.Emit(block, thread, length);     // The job's block, the thread in the block, kFlat's loop length.
#ifndef SINTER_CODEGEN_CUDA_CUDA_NEST_H_
#define SINTER_CODEGEN_CUDA_CUDA_NEST_H_

#include <functional>

#include "sinter/codegen/cuda/cuda_rescaled_sums.h"
#include "sinter/codegen/cuda/cuda_schedule.h"
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
    Coordinates first;
    mlir::Value vector;
  };

  mlir::Value LoadRaw(mlir::Value pointer, mlir::Type stored, mlir::Type element, mlir::Value position,
                      bool is_read_only);
  std::optional<ir::Scalar> FromVector(mlir::Value memory, mlir::RankedTensorType type,
                                       mlir::ValueRange coords, const Source& source);

  llvm::DenseMap<mlir::Value, Source> sources_;
  llvm::SmallVector<mlir::Value> lanes_;
  std::vector<Read> reads_;
  bool are_last_reads_ = false;
};

class CudaNest {
 public:
  // Memory of a slot: its pointer, whether no code of the kernel writes there, and whether it is aligned to
  // 16 bytes.
  struct Place {
    mlir::Value pointer;
    bool is_read_only = false;
    bool is_aligned = false;
  };
  using PlaceOfSlot = std::function<Place(const Slot&)>;

  CudaNest(ir::ScalarBuilder& s, Job& job, const CudaSchedule& schedule, PlaceOfSlot place_of);

  void Emit(mlir::Value block, mlir::Value thread, mlir::Value length);

 private:
  using Scalars = llvm::SmallVector<ir::Scalar>;
  using Action = llvm::function_ref<void()>;
  // Neighbouring elements that a thread computes: their coordinates in the domain, and a condition under
  // which they exist (null: always).
  struct Lanes {
    std::vector<llvm::SmallVector<mlir::Value>> coords;
    mlir::Value exists;
    mlir::Value index;  // Position of the first element along the flat reduced loop; null in maps.
    size_t number = 0;  // In kept rows: the number of the thread's vector.
  };

  using FullValues = std::vector<std::pair<const JobOutput*, Scalars>>;

  void EmitFlat(mlir::Value block, mlir::Value thread, mlir::Value length);
  void EmitMap(mlir::Value block, mlir::Value thread);
  void EmitStrips(mlir::Value block, mlir::Value thread);
  // Emits `unroll` rows from row `first` on, at the thread's columns. All rows are read before any is stored.
  void EmitStripRows(llvm::ArrayRef<mlir::Value> columns, mlir::Value first);
  Lanes StripLanes(llvm::ArrayRef<mlir::Value> columns);
  void EmitTiles(mlir::Value block, mlir::Value thread);
  void EmitRow(mlir::Value block, mlir::Value thread);
  void EmitRowPhases(mlir::Value lane, mlir::Value row_exists);
  // Rows with column reductions: the block's rows one after the other, then their partial results.
  void EmitRowGroup(mlir::Value block, mlir::Value lane, mlir::Value in_block);
  // Prefetches to L2 the thread's part of the inputs that the phases will read of row `row`.
  void PrefetchRow(mlir::Value lane, mlir::Value row);
  struct RowInput {
    mlir::Value pointer;
    Access access;
  };
  std::vector<RowInput> RowInputs();
  // Sets the coordinates of row `row`; returns the condition under which it exists (null: always).
  mlir::Value SetRow(mlir::Value row);
  void EmitColumn(mlir::Value block, mlir::Value thread);

  mlir::Value SplitChunk(mlir::Value block);
  void SetParallel(llvm::ArrayRef<Loop> loops, mlir::Value position);
  // RowLanes returns the lanes of vector number `vector` of the (chunk of the) reduced loops; ColumnLanes
  // those of a reduced position.
  Lanes RowLanes(mlir::Value vector, mlir::Value exists);
  Lanes ColumnLanes(mlir::Value position);
  mlir::Value ReducedVectors();
  void UseLanes(const Lanes& lanes);

  // Adds the lanes to the accumulators of the phase's reductions, and stores the phase's full outputs.
  void Accumulate(int phase, const Lanes& lanes, std::vector<Scalars>& accumulators);
  void AccumulateColumns(int phase, const Lanes& lanes);
  void StoreColumnSums(mlir::Value block, mlir::Value lane, mlir::Value in_block);
  void StoreFullOutputs(int phase, const Lanes& lanes);
  // The two halves of StoreFullOutputs: all values are computed before any store, as an output may overwrite
  // an input.
  FullValues ComputeFullOutputs(int phase, const Lanes& lanes);
  void StoreFullValues(const FullValues& values, const Lanes& lanes);
  std::vector<Scalars> Identities(int phase);
  // Runs `body` for every lane group of this thread in the row or column. The loop carries the accumulators.
  std::vector<Scalars> ReduceInLoop(int phase, mlir::Value first, mlir::Value end,
                                    llvm::function_ref<Lanes(mlir::Value)> lanes_at);
  Scalars Lift(JobReduction& reduction, llvm::ArrayRef<mlir::Value> coords, mlir::Value index);
  void FinishPhase(int phase, llvm::ArrayRef<Scalars> totals, llvm::ArrayRef<mlir::Value> coords,
                   mlir::Value writes);
  // kTiles: moves an input of a square to shared memory, or an output from there.
  llvm::SmallVector<mlir::Value> CoordsOf(const KeptValue& kept);
  void InSquare(mlir::Value thread, mlir::Value row_first, mlir::Value column_first, const Loop& row_loop,
                const Loop& column_loop,
                llvm::function_ref<void(mlir::Value row, mlir::Value column)> action);
  // True if a reduced output overwrites an input.
  bool OverwritesRowValue();
  void EmitReducedOutputs(llvm::ArrayRef<mlir::Value> coords, mlir::Value writes);

  // Combine values across threads; every thread gets the result.
  Scalars CombineWarp(JobReduction& reduction, Scalars scalars, int64_t width, mlir::Value lane);
  Scalars CombineRow(JobReduction& reduction, Scalars scalars, mlir::Value lane);
  // The threads of a block are `deep` rows of `width` columns.
  Scalars CombineColumn(JobReduction& reduction, Scalars scalars, mlir::Value row, mlir::Value column,
                        int64_t deep, int64_t width);
  llvm::SmallVector<mlir::Value> SharedArrays(llvm::ArrayRef<ir::Scalar> like, int64_t size);
  // Arrays with an element for each thread of the block. All columns and sums use them in turn, because
  // separate arrays would exceed shared memory.
  llvm::SmallVector<mlir::Value> ColumnArrays(llvm::ArrayRef<ir::Scalar> like);
  void Barrier();
  ir::Scalar ShuffleXor(ir::Scalar x, int64_t mask);

  void If(mlir::Value condition, Action action);
  mlir::Value And(mlir::Value a, mlir::Value b);
  mlir::Value Select(mlir::Value condition, mlir::Value a, mlir::Value b);
  void StoreLanes(const JobOutput& output, const Lanes& lanes, llvm::ArrayRef<ir::Scalar> values);
  // Stores neighbours from `position`, a multiple of their number, in one access.
  void StoreVector(mlir::Value pointer, mlir::Type element, mlir::Value position,
                   llvm::ArrayRef<ir::Scalar> values);
  llvm::SmallVector<mlir::Value> ParallelCoords(llvm::ArrayRef<mlir::Value> coords) const;
  mlir::Value ParallelPosition(llvm::ArrayRef<mlir::Value> coords);
  // Returns the reductions that the pass computes, including rescaled sums with their maxima.
  std::vector<size_t> ReductionsOf(int phase) const;
  // Null if a separate pass computes the reduction.
  const RescaledSum* RescaledSumOf(size_t reduction) const;
  // Adds the exponentials of these lanes to `sum`. They are relative to `max`; the terms in `sum` are
  // relative to `max_before`.
  ir::Scalar AddExponentials(const RescaledSum& rescaled, const Lanes& lanes, ir::Scalar sum,
                             ir::Scalar max_before, ir::Scalar max);
  // Combines a phase's reductions over all threads of a row.
  std::vector<Scalars> CombineRows(int phase, const std::vector<Scalars>& sums, mlir::Value lane);

  mlir::OpBuilder& b_;
  ir::ScalarBuilder& s_;
  Job& job_;
  const CudaSchedule& schedule_;
  PlaceOfSlot place_of_;
  LaneEmitter e_;
  // Coordinates in the domain; the parallel ones are set before the phases.
  llvm::SmallVector<mlir::Value> coords_;
  mlir::Value chunk_, chunk_low_, chunk_high_;
  llvm::SmallVector<std::pair<mlir::Type, mlir::Value>> column_arrays_;
  // Column reductions in rows: sums for each of the thread's vectors, each reduction and each lane.
  std::vector<std::vector<std::vector<Scalars>>> column_sums_;
  llvm::SmallVector<RescaledSum> rescaled_;  // Rescaled sums of rows that are not kept.
  bool stores_past_caches_ = false;  // Streaming stores: keep the caches for values that are read again.
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_NEST_H_
