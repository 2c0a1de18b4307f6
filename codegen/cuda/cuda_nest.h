// Emits what one thread of a GPU does for one job: func, scf, arith, math and LLVM's memory ops, for cuda_printer.h.
//
//   CudaNest nest(s, job, schedule, pointer_of);
//   nest.Emit(block, thread, length);     // the job's block number, the thread's in it; length: of kFlat's loop
//
// The functions that the text calls (sn_barrier, sn_shuffle_xor) are those of kernels/cuda/prelude.cuh.
#ifndef SINTER_CODEGEN_CUDA_CUDA_NEST_H_
#define SINTER_CODEGEN_CUDA_CUDA_NEST_H_

#include <functional>

#include "sinter/codegen/cuda/cuda_rescaled_sums.h"
#include "sinter/codegen/cuda/cuda_schedule.h"
#include "sinter/codegen/loops/element_emitter.h"

namespace sinter::codegen {

// Reads neighbouring elements in one access. Lane j of a thread's vector is at the coordinates of lane 0, except that one
// coordinate is j more.
class LaneEmitter : public KernelEmitter {
 public:
  explicit LaneEmitter(ir::ScalarBuilder& s) : KernelEmitter(s) {}

  // `is_read_only`: nothing in the kernel writes there. `is_aligned`: the pointer is a multiple of 16 bytes.
  void SetTensor(mlir::Value tensor, mlir::Value pointer, bool is_read_only, bool is_aligned);
  // The coordinates of the lanes, lane 0 first: a multiple of their number. Forgets the vectors read so far.
  void SetLanes(llvm::ArrayRef<mlir::Value> lanes);
  // Whether the vectors of rows that are read from now on are read for the last time.
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
  // What memory a slot is: its pointer, whether the kernel never writes there, and whether it starts at a multiple of 16.
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
  // Elements side by side that a thread computes: their coordinates in the domain, and whether they exist (null: yes).
  struct Lanes {
    std::vector<llvm::SmallVector<mlir::Value>> coords;
    mlir::Value exists;
    mlir::Value index;  // Of the first along the flat reduced loop; null in maps.
    size_t number = 0;  // In rows that are kept: which of the thread's vectors.
  };

  using FullValues = std::vector<std::pair<const JobOutput*, Scalars>>;

  void EmitFlat(mlir::Value block, mlir::Value thread, mlir::Value length);
  void EmitMap(mlir::Value block, mlir::Value thread);
  void EmitStrips(mlir::Value block, mlir::Value thread);
  // `unroll` rows, the first of which is number `first`, at the thread's columns; all are read before any is stored.
  void EmitStripRows(llvm::ArrayRef<mlir::Value> columns, mlir::Value first);
  Lanes StripLanes(llvm::ArrayRef<mlir::Value> columns);
  void EmitTiles(mlir::Value block, mlir::Value thread);
  void EmitRow(mlir::Value block, mlir::Value thread);
  void EmitRowPhases(mlir::Value lane, mlir::Value row_exists);
  // Rows with column reductions: the block's rows one after the other, then what they leave.
  void EmitRowGroup(mlir::Value block, mlir::Value lane, mlir::Value in_block);
  // Asks for the thread's part of what the phases will read of row number `row`, so that it comes from L2 then.
  void PrefetchRow(mlir::Value lane, mlir::Value row);
  struct RowInput {
    mlir::Value pointer;
    Access access;
  };
  std::vector<RowInput> RowInputs();
  // Sets the coordinates of row number `row`; returns whether it exists (null: yes).
  mlir::Value SetRow(mlir::Value row);
  void EmitColumn(mlir::Value block, mlir::Value thread);

  mlir::Value SplitChunk(mlir::Value block);
  void SetParallel(llvm::ArrayRef<Loop> loops, mlir::Value position);
  // The lanes of vector number `vector` of the (chunk of the) reduced loops, in rows; of reduced position `vector`, in columns.
  Lanes RowLanes(mlir::Value vector, mlir::Value exists);
  Lanes ColumnLanes(mlir::Value position);
  mlir::Value ReducedVectors();
  void UseLanes(const Lanes& lanes);

  // Adds the lanes to the accumulators of the phase's reductions; stores the phase's full outputs.
  void Accumulate(int phase, const Lanes& lanes, std::vector<Scalars>& accumulators);
  void AccumulateColumns(int phase, const Lanes& lanes);
  void StoreColumnSums(mlir::Value block, mlir::Value lane, mlir::Value in_block);
  void StoreFullOutputs(int phase, const Lanes& lanes);
  // Its two halves. All values before any store: an output may overwrite an input.
  FullValues ComputeFullOutputs(int phase, const Lanes& lanes);
  void StoreFullValues(const FullValues& values, const Lanes& lanes);
  std::vector<Scalars> Identities(int phase);
  // Runs `body` for every lane group of the row or column that is this thread's; accumulators go through the loop.
  std::vector<Scalars> ReduceInLoop(int phase, mlir::Value first, mlir::Value end,
                                    llvm::function_ref<Lanes(mlir::Value)> lanes_at);
  Scalars Lift(JobReduction& reduction, llvm::ArrayRef<mlir::Value> coords, mlir::Value index);
  void FinishPhase(int phase, llvm::ArrayRef<Scalars> totals, llvm::ArrayRef<mlir::Value> coords,
                   mlir::Value writes);
  // kTiles: one input of a square to shared memory, or an output of it from there.
  llvm::SmallVector<mlir::Value> CoordsOf(const KeptValue& kept);
  void InSquare(mlir::Value thread, mlir::Value row_first, mlir::Value column_first, const Loop& row_loop,
                const Loop& column_loop,
                llvm::function_ref<void(mlir::Value row, mlir::Value column)> action);
  // Whether a reduced output takes the place of an input.
  bool OverwritesRowValue();
  void EmitReducedOutputs(llvm::ArrayRef<mlir::Value> coords, mlir::Value writes);

  // Combinations across threads; every thread has the result.
  Scalars CombineWarp(JobReduction& reduction, Scalars scalars, int64_t width, mlir::Value lane);
  Scalars CombineRow(JobReduction& reduction, Scalars scalars, mlir::Value lane);
  // The threads of a block are `deep` rows of `width` columns.
  Scalars CombineColumn(JobReduction& reduction, Scalars scalars, mlir::Value row, mlir::Value column,
                        int64_t deep, int64_t width);
  llvm::SmallVector<mlir::Value> SharedArrays(llvm::ArrayRef<ir::Scalar> like, int64_t size);
  // One element for each thread of the block, in turn for all columns and sums: arrays of their own would add up to more than
  // there is.
  llvm::SmallVector<mlir::Value> ColumnArrays(llvm::ArrayRef<ir::Scalar> like);
  void Barrier();
  ir::Scalar ShuffleXor(ir::Scalar x, int64_t mask);

  void If(mlir::Value condition, Action action);
  mlir::Value And(mlir::Value a, mlir::Value b);
  mlir::Value Select(mlir::Value condition, mlir::Value a, mlir::Value b);
  void StoreLanes(const JobOutput& output, const Lanes& lanes, llvm::ArrayRef<ir::Scalar> values);
  // Neighbours from `position`, a multiple of their number, in one access.
  void StoreVector(mlir::Value pointer, mlir::Type element, mlir::Value position,
                   llvm::ArrayRef<ir::Scalar> values);
  llvm::SmallVector<mlir::Value> ParallelCoords(llvm::ArrayRef<mlir::Value> coords) const;
  mlir::Value ParallelPosition(llvm::ArrayRef<mlir::Value> coords);
  // Those that the pass computes: rescaled sums with their maxima.
  std::vector<size_t> ReductionsOf(int phase) const;
  // Null: a pass of its own computes it.
  const RescaledSum* RescaledSumOf(size_t reduction) const;
  // The sum with the exponentials of these lanes, all behind `max`, where those in it are behind `max_before`.
  ir::Scalar AddExponentials(const RescaledSum& rescaled, const Lanes& lanes, ir::Scalar sum,
                             ir::Scalar max_before, ir::Scalar max);
  // A phase's reductions, by all threads of a row.
  std::vector<Scalars> CombineRows(int phase, const std::vector<Scalars>& sums, mlir::Value lane);

  mlir::OpBuilder& b_;
  ir::ScalarBuilder& s_;
  Job& job_;
  const CudaSchedule& schedule_;
  PlaceOfSlot place_of_;
  LaneEmitter e_;
  llvm::SmallVector<mlir::Value> coords_;  // Of the domain; the parallel ones are set before the phases.
  mlir::Value chunk_, chunk_low_, chunk_high_;
  llvm::SmallVector<std::pair<mlir::Type, mlir::Value>> column_arrays_;
  // Of column reductions in rows: for each of the thread's vectors each reduction, lane by lane.
  std::vector<std::vector<std::vector<Scalars>>> column_sums_;
  llvm::SmallVector<RescaledSum> rescaled_;  // Of rows that are not kept.
  bool stores_past_caches_ = false;          // What is read again has their room.
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_NEST_H_
