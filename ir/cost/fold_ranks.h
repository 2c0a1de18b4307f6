// FoldRanks: a simulation of one rank for each set of ranks that cannot differ.
//
//   const FoldedRanks folded = FoldRanks(simulation);
//   folded.count[0]                        // Ranks that rank 0 of folded.simulation stands for.
//
// Ranks are equal if they have the same program and slowdown, and if their groups have equally many members
// of each set of equal ranks, in each partition. This is the coarsest equitable partition of the ranks
// (colour refinement). Equal ranks then do the same at the same time: ports belong to ranks, so nothing is
// shared unevenly.
#ifndef SINTER_IR_COST_FOLD_RANKS_H_
#define SINTER_IR_COST_FOLD_RANKS_H_

#include <cstdint>
#include <vector>

#include "sinter/ir/cost/simulation.h"

namespace sinter::cost {

struct FoldedRanks {
  Simulation simulation;
  std::vector<uint32_t> first;  // By rank of `simulation`: the first rank that it stands for.
  std::vector<uint32_t> count;  // And their number.
};

// The simulation must be valid.
FoldedRanks FoldRanks(const Simulation& simulation);

}  // namespace sinter::cost

#endif  // SINTER_IR_COST_FOLD_RANKS_H_
