// ChunkSearch: which steps of a function are computed in parts, to hide exchanges (pass `chunk-exchanges`).
//
//   ChunkSearch search(variants, prices);                     // A function, or all variants of one.
//   const ChunkChoice choice = search.fastest();              // By the predicted time; or forced(2).
//   for (const StepPart& part : search.orderOf(choice)) ...   // The steps and parts, one after the other.
//
// An exchange in parts needs computations around it that work by rows, without an exchange between: those
// that it depends on, and those that depend on it. Each part of them needs only the same part of the others.
// Between two exchanges all first parts come first: while the second parts are computed, the first part of
// the second exchange travels, and so on. So the time of a part of the computations hides a part of an
// exchange, whatever their order.
#ifndef SINTER_PASSES_PLAN_CHUNK_SEARCH_H_
#define SINTER_PASSES_PLAN_CHUNK_SEARCH_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sinter/passes/op_prices.h"
#include "sinter/passes/plan/call_parts.h"
#include "sinter/passes/plan/exchange_order.h"
#include "sinter/passes/plan/row_exchanges.h"
#include "sinter/passes/plan/step_graph.h"

namespace sinter {

struct ChunkChoice {
  int64_t count = 1;                 // Parts of each step that is in parts.
  llvm::SmallVector<bool> in_parts;  // By step.
  double seconds = 0;                // The predicted time of the function.

  bool any() const { return llvm::is_contained(in_parts, true); }
};

struct StepPart {
  unsigned step;
  int64_t part;  // 0 for a step that is whole.
};

class ChunkSearch {
 public:
  // All variants get the same parts: their exchanges stay the same.
  ChunkSearch(llvm::ArrayRef<plan_ir::FunctionOp> variants, OpPrices& prices);

  llvm::ArrayRef<mlir::Operation*> steps(size_t variant) const { return steps_[variant]; }
  // True if all variants have equal steps in an equal order.
  bool areAlike() const;
  // The choice with nothing in parts.
  ChunkChoice whole();
  // The choice with the lowest predicted time; nothing in parts if that is not worthwhile.
  ChunkChoice fastest();
  // Every exchange that can be in `count` parts is.
  ChunkChoice forced(int64_t count);

  // The order in which the steps and parts are computed.
  llvm::SmallVector<StepPart> orderOf(const ChunkChoice& choice);
  // How a step of a variant is computed in parts. It must be in parts.
  const CallParts& partsOf(size_t variant, unsigned step, int64_t count) const {
    return parts_.find({count, step})->second->of_variants[variant];
  }
  // Why an exchange stays whole whose time `whole` exposes; empty if it could be in parts.
  std::string problemOf(unsigned exchange, int64_t count);
  double exposedOf(unsigned exchange) const { return whole_times_.exposed[exchange]; }

 private:
  struct Parts {
    std::vector<CallParts> of_variants;
    double seconds = 0;  // Time of one part.
  };
  struct Expansion;

  const std::optional<Parts>& findParts(unsigned step, int64_t count);
  bool isCandidate(unsigned step, int64_t count);
  const RowExchanges& rowExchanges(int64_t count);
  ChunkChoice choose(int64_t count, llvm::ArrayRef<unsigned> exchanges);
  bool spread(ChunkChoice& choice, unsigned exchange, bool upwards);
  bool isAligned(int64_t count, unsigned from, unsigned to);
  Expansion expand(const ChunkChoice& choice);
  OrderTimes timesOf(const Expansion& expansion) const;
  void predict(ChunkChoice& choice);
  ChunkChoice withoutUseless(ChunkChoice best, llvm::SmallVector<unsigned> exchanges);

  OpPrices& prices_;
  std::vector<llvm::SmallVector<mlir::Operation*>> steps_;  // By variant.
  StepGraph graph_;  // Order of the first variant; all below is of it too.
  llvm::SmallVector<double> seconds_;
  llvm::SmallVector<bool> is_exchange_;
  llvm::SmallVector<unsigned> depth_;  // Exchanges, one after the other, that must come before a step.
  // The same without those that scatter rows. Each part of a group comes as a whole: what follows a scatter
  // is little, and gathers wait for it.
  llvm::SmallVector<unsigned> group_;
  OrderTimes whole_times_;
  std::map<std::pair<int64_t, unsigned>, std::optional<Parts>> parts_;
  std::map<int64_t, RowExchanges> row_exchanges_;  // By count.
};

}  // namespace sinter

#endif  // SINTER_PASSES_PLAN_CHUNK_SEARCH_H_
