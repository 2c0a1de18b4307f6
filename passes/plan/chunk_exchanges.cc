#include <cmath>

#include "llvm/ADT/MapVector.h"
#include "sinter/ir/dialect/mesh.h"
#include "sinter/ir/dialect/ops.h"
#include "sinter/passes/passes.h"
#include "sinter/passes/plan/chunk_search.h"
#include "sinter/passes/plan/plan_steps.h"

namespace sinter {

#define GEN_PASS_DEF_CHUNKEXCHANGES
#include "passes/passes.h.inc"

namespace {

using mlir::Operation;

// True if every exchange of the function is among ranks along axes, and there is one.
bool ExchangesOverAxes(plan_ir::FunctionOp function) {
  bool any = false;
  for (Operation* step : StepsOf(function)) {
    const auto collective = CollectiveOf(step);
    if (!collective) continue;
    if (collective->axes.empty()) return false;
    any = true;
  }
  return any;
}

// Says in the reason of an exchange that this is a part of it.
void ExplainPart(Operation* exchange, int64_t count) {
  auto because = exchange->getAttrOfType<mlir::ArrayAttr>(ir::kBecauseAttr);
  if (!because) return;
  llvm::SmallVector<mlir::Attribute> reason(because.getValue());
  const std::string text = llvm::cast<mlir::StringAttr>(reason.front()).str() + "; in " +
                           std::to_string(count) + " parts, each beside the computation of another";
  reason.front() = mlir::StringAttr::get(exchange->getContext(), text);
  exchange->setAttr(ir::kBecauseAttr, mlir::ArrayAttr::get(exchange->getContext(), reason));
}

class ChunkExchangesPass : public impl::ChunkExchangesBase<ChunkExchangesPass> {
 public:
  using ChunkExchangesBase::ChunkExchangesBase;

  void runOnOperation() override {
    if (parts == 1) return;
    llvm::MapVector<llvm::StringRef, llvm::SmallVector<plan_ir::FunctionOp>> functions;
    for (auto function : getOperation().getOps<plan_ir::FunctionOp>()) {
      functions[function.planName()].push_back(function);
    }
    OpPrices prices;
    for (auto& [name, variants] : functions) {
      if (llvm::all_of(variants, ExchangesOverAxes)) chunk(variants, prices);
    }
  }

 private:
  void chunk(llvm::ArrayRef<plan_ir::FunctionOp> variants, OpPrices& prices) {
    const llvm::SmallVector<Operation*> steps = StepsOf(variants.front());
    if (parts == 0 && !ExchangesOnGpus(steps)) return;
    ChunkSearch search(variants, prices);
    if (!search.areAlike()) return;
    const ChunkChoice choice = parts == 0 ? search.fastest() : search.forced(parts);
    if (report) reportChoice(variants.front(), search, choice);
    if (!choice.any()) return;
    const llvm::SmallVector<StepPart> order = search.orderOf(choice);
    for (auto [v, variant] : llvm::enumerate(variants)) rewrite(variant, v, search, choice, order);
  }

  void reportChoice(plan_ir::FunctionOp function, ChunkSearch& search, const ChunkChoice& choice) {
    constexpr double kMicroseconds = 1e6;
    auto text = [&](double seconds) { return std::to_string(std::llround(seconds * kMicroseconds)); };
    if (choice.any() && parts == 0) {
      mlir::emitRemark(function.getLoc())
          << "takes " << text(choice.seconds) << " us with exchanges in parts, "
          << text(search.whole().seconds) << " us without (predicted)";
    }
    for (auto [s, step] : llvm::enumerate(search.steps(0))) {
      const auto collective = CollectiveOf(step);
      if (!collective) continue;
      const std::string kind = collective->op->getName().stripDialect().str();
      if (choice.in_parts[s]) {
        mlir::emitRemark(step->getLoc())
            << kind << " of " << BytesOf(step->getOperand(0)) << " bytes travels in " << choice.count
            << " parts, each beside the computation of another";
        continue;
      }
      if (parts == 0 && search.exposedOf(s) == 0) continue;
      const std::string problem = search.problemOf(s, choice.any() ? choice.count : 2);
      mlir::emitRemark(step->getLoc())
          << kind
          << " travels whole: " << (problem.empty() ? "parts would gain less than they cost" : problem);
    }
  }

  // Inserts the parts in the place of their steps, and numbers the exchanges in their new order.
  static void rewrite(plan_ir::FunctionOp function, size_t variant, const ChunkSearch& search,
                      const ChunkChoice& choice, llvm::ArrayRef<StepPart> order) {
    mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(&function.getBody().front());
    const llvm::ArrayRef<Operation*> steps = search.steps(variant);
    int64_t channel = 0;
    for (const auto [s, k] : order) {
      Operation* step = steps[s];
      if (choice.in_parts[s]) {
        step = search.partsOf(variant, s, choice.count).build(builder, k);
      } else {
        step->moveBefore(builder.getInsertionBlock(), builder.getInsertionPoint());
      }
      const auto collective = CollectiveOf(step);
      if (!collective) continue;
      collective->op->setAttr("channel", builder.getI64IntegerAttr(channel++));
      if (choice.in_parts[s]) ExplainPart(collective->op, choice.count);
    }
    for (auto [s, step] : llvm::enumerate(steps)) {
      if (choice.in_parts[s]) step->erase();
    }
    ArrangeBody(function, StepsOf(function));
  }
};

}  // namespace
}  // namespace sinter
