// Strips: maps whose threads keep their vector position and iterate over rows (cuda_persistent_rows.cc says
// when).
#include "llvm/Support/MathExtras.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "sinter/codegen/cuda/cuda_nests.h"
#include "sinter/codegen/cuda/cuda_reduction_passes.h"

namespace sinter::codegen {

namespace scf = mlir::scf;
using llvm::ArrayRef;
using llvm::SmallVector;
using mlir::Value;

namespace {

class StripNest : private ThreadPart {
 public:
  explicit StripNest(CudaThread& t) : ThreadPart(t), passes_(t) {}

  void EmitStrips(Value block, Value thread);

 private:
  // Emits `unroll` rows from row `first` on, at the thread's columns. All rows are read before any is stored.
  void EmitStripRows(ArrayRef<Value> columns, Value first);
  Lanes StripLanes(ArrayRef<Value> columns);
  // The dimension of a thread's vector.
  int LaneDim() const { return (Reduces() ? schedule_.reduced : schedule_.parallel).back().dim; }
  bool Reduces() const { return !schedule_.reduced.empty(); }
  // Reduces one vector and returns the values of the reduced outputs.
  Scalars ReduceVector(const Lanes& lanes);

  ReductionPasses passes_;
};

Scalars StripNest::ReduceVector(const Lanes& lanes) {
  Lanes all = lanes;
  all.exists = Value();
  std::vector<Scalars> sums = passes_.Identities(0);
  passes_.Accumulate(0, all, sums);
  passes_.FinishPhase(0, sums, coords_, Value());
  Scalars values;
  for (JobOutput& output : job_.reduced_outputs)
    values.push_back(e_.element(output.value, t_.ParallelCoords(coords_)));
  return values;
}

void StripNest::EmitStrips(Value block, Value thread) {
  const Loop& inner = schedule_.parallel.back();
  const int64_t vectors = inner.size * TripCount(schedule_.reduced) / schedule_.vector,
                rows = TripCount(schedule_.parallel) / inner.size;
  const int64_t step = schedule_.side_by_side, group = step * schedule_.unroll * schedule_.passes;
  const int64_t groups = llvm::divideCeilSigned(rows, group), threads = groups * step * vectors;
  Value position = e_.add(e_.mul(block, e_.index(schedule_.block)), thread);
  t_.If(threads % schedule_.block == 0 ? Value() : e_.lt(position, e_.index(threads)), [&] {
    SmallVector<Value> at = e_.delinearize(position, {groups, step, vectors});
    Value first = Reduces() ? e_.index(0) : e_.mul(at[2], e_.index(schedule_.vector)),
          row = e_.add(e_.mul(at[0], e_.index(group)), at[1]);
    if (Reduces()) coords_[inner.dim] = at[2];
    SmallVector<Value> columns;
    for (int64_t j = 0; j < schedule_.vector; ++j) columns.push_back(e_.add(first, e_.index(j)));
    t_.UseLanes(StripLanes(columns));
    for (const KeptValue& kept : schedule_.along) {
      for (Value column : columns) {
        coords_[LaneDim()] = column;
        e_.element(kept.tensor, KeptCoords(t_, kept));
      }
    }
    if (schedule_.passes == 1) return EmitStripRows(columns, row);
    auto loop = b_.create<scf::ForOp>(s_.loc(), e_.index(0), e_.index(schedule_.passes), e_.index(1));
    mlir::OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPoint(loop.getBody()->getTerminator());
    ElementEmitter::Scope scope(e_);
    EmitStripRows(columns, e_.add(row, e_.mul(loop.getInductionVar(), e_.index(step * schedule_.unroll))));
  });
}

Lanes StripNest::StripLanes(ArrayRef<Value> columns) {
  Lanes lanes;
  for (Value column : columns) {
    lanes.coords.push_back(coords_);
    lanes.coords.back()[LaneDim()] = column;
  }
  return lanes;
}

void StripNest::EmitStripRows(ArrayRef<Value> columns, Value first) {
  ArrayRef<Loop> outer = ArrayRef(schedule_.parallel).drop_back();
  const int64_t rows = TripCount(outer), step = schedule_.side_by_side;
  std::vector<Lanes> lanes;
  std::vector<CudaThread::FullValues> values;
  std::vector<std::pair<Value, Scalars>> reduced;  // The position and the values of each row.
  for (int64_t k = 0; k < schedule_.unroll; ++k) {
    Value row = e_.add(first, e_.index(k * step)), exists;
    if (rows % (step * schedule_.unroll * schedule_.passes) != 0) {
      // Computes the last row again without storing it: a branch would keep rows from being read together.
      exists = e_.lt(row, e_.index(rows));
      row = e_.min(row, e_.index(rows - 1));
    }
    t_.SetParallel(outer, row);
    lanes.push_back(StripLanes(columns));
    lanes.back().exists = exists;
    t_.UseLanes(lanes.back());
    if (Reduces()) {
      Scalars sums = ReduceVector(lanes.back());
      reduced.emplace_back(t_.ParallelPosition(coords_), std::move(sums));
    }
    values.push_back(t_.ComputeFullOutputs(0, lanes.back()));
  }
  for (auto [row_lanes, row_values] : llvm::zip(lanes, values)) t_.StoreFullValues(row_values, row_lanes);
  for (auto [row_lanes, row] : llvm::zip(lanes, reduced)) {
    t_.If(row_lanes.exists, [&, &row = row] {
      for (auto [output, scalar] : llvm::zip(job_.reduced_outputs, row.second)) {
        e_.Store(t_.RegionOf(output.slot).pointer, output.slot.type.getElementType(), row.first, scalar);
      }
    });
  }
}

}  // namespace

void EmitStrips(CudaThread& t, Value block, Value thread) { StripNest(t).EmitStrips(block, thread); }

}  // namespace sinter::codegen
