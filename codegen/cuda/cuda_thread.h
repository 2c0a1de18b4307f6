// The code of one GPU thread for one job, as the nests of all modes build it.
//
//   CudaThread t(s, job, schedule, place_of);
//   t.SetParallel(schedule.parallel, position);       // The thread's coordinates in the domain.
//   t.UseLanes(lanes);                                 // The neighbours that the thread computes next.
//   t.StoreFullOutputs(/*phase=*/0, lanes);
//
// The code is in the dialects func, scf, arith and math and LLVM's memory ops. The functions that it calls
// (sn_barrier, sn_shuffle_xor) are in kernels/cuda/prelude.cuh.
#ifndef SINTER_CODEGEN_CUDA_CUDA_THREAD_H_
#define SINTER_CODEGEN_CUDA_CUDA_THREAD_H_

#include <functional>
#include <utility>
#include <vector>

#include "sinter/codegen/cuda/cuda_schedule.h"
#include "sinter/codegen/cuda/lane_emitter.h"

namespace sinter::codegen {

using Scalars = llvm::SmallVector<ir::Scalar>;

// Neighbouring elements that a thread computes: their coordinates in the domain, and a condition under
// which they exist (null: always).
struct Lanes {
  std::vector<llvm::SmallVector<mlir::Value>> coords;
  mlir::Value exists;
  mlir::Value index;  // Position of the first element along the flat reduced loop; null in maps.
  size_t number = 0;  // In kept rows: the number of the thread's vector.
};

class CudaThread {
 public:
  // Memory of a slot: its pointer, whether no code of the kernel writes there, and whether it is aligned to
  // 16 bytes.
  struct Place {
    mlir::Value pointer;
    bool is_read_only = false;
    bool is_aligned = false;
  };
  using PlaceOfSlot = std::function<Place(const Slot&)>;
  using Action = llvm::function_ref<void()>;
  using FullValues = std::vector<std::pair<const JobOutput*, Scalars>>;

  CudaThread(ir::ScalarBuilder& s, Job& job, const CudaSchedule& schedule, PlaceOfSlot place_of);

  mlir::OpBuilder& b() { return b_; }
  ir::ScalarBuilder& s() { return s_; }
  LaneEmitter& e() { return e_; }
  Job& job() { return job_; }
  const CudaSchedule& schedule() const { return schedule_; }
  Place RegionOf(const Slot& slot) const { return place_of_(slot); }
  // Coordinates in the domain; the parallel ones are set before the phases.
  llvm::SmallVector<mlir::Value>& coords() { return coords_; }

  // Runs `action` where `condition` holds; null: everywhere.
  void If(mlir::Value condition, Action action);
  // A null operand is true.
  mlir::Value And(mlir::Value a, mlir::Value b);
  mlir::Value Select(mlir::Value condition, mlir::Value a, mlir::Value b);
  void Barrier();
  ir::Scalar ShuffleXor(ir::Scalar x, int64_t mask);

  void SetParallel(llvm::ArrayRef<Loop> loops, mlir::Value position);
  llvm::SmallVector<mlir::Value> ParallelCoords(llvm::ArrayRef<mlir::Value> coords) const;
  mlir::Value ParallelPosition(llvm::ArrayRef<mlir::Value> coords);
  void UseLanes(const Lanes& lanes);

  // True if the following stores of vectors are streaming: they keep the caches for values that are read
  // again.
  void SetStreamingStores(bool streams) { streams_stores_ = streams; }
  // Stores neighbours from `position`, a multiple of their number, in one access.
  void StoreVector(mlir::Value pointer, mlir::Type element, mlir::Value position,
                   llvm::ArrayRef<ir::Scalar> values);
  void StoreFullOutputs(int phase, const Lanes& lanes);
  // The two halves of StoreFullOutputs: all values are computed before any store, as an output may overwrite
  // an input.
  FullValues ComputeFullOutputs(int phase, const Lanes& lanes);
  void StoreFullValues(const FullValues& values, const Lanes& lanes);
  void EmitReducedOutputs(llvm::ArrayRef<mlir::Value> coords, mlir::Value writes);

 private:
  void StoreLanes(const JobOutput& output, const Lanes& lanes, llvm::ArrayRef<ir::Scalar> values);
  // True if a reduced output overwrites an input.
  bool OverwritesRowValue();

  mlir::OpBuilder& b_;
  ir::ScalarBuilder& s_;
  Job& job_;
  const CudaSchedule& schedule_;
  PlaceOfSlot place_of_;
  LaneEmitter e_;
  llvm::SmallVector<mlir::Value> coords_;
  bool streams_stores_ = false;
};

// A part of a nest's code: what CudaThread has, under short names.
class ThreadPart {
 protected:
  explicit ThreadPart(CudaThread& t)
      : t_(t), b_(t.b()), s_(t.s()), e_(t.e()), job_(t.job()), schedule_(t.schedule()), coords_(t.coords()) {}

  CudaThread& t_;
  mlir::OpBuilder& b_;
  ir::ScalarBuilder& s_;
  LaneEmitter& e_;
  Job& job_;
  const CudaSchedule& schedule_;
  llvm::SmallVector<mlir::Value>& coords_;
};

}  // namespace sinter::codegen

#endif  // SINTER_CODEGEN_CUDA_CUDA_THREAD_H_
